"""Kernels: functions that numba compiles once that is worth it, and keeps on disk where that can be done.

Compiling takes up to a minute, more than most first solves take otherwise. So a kernel that is marked for it
runs as the Python function that it is until it is worth compiling, with the same results bit for bit, and
goes on so where the time limit would end before it is compiled. Other kernels end the solve then. numba
itself is imported with the first kernel that is compiled (`depl.models.foundation.compiled`).
"""

import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, cast

import numpy as np

from depl.models.foundation.deadline import OutOfTimeError, time_left

_Function = TypeVar("_Function", bound=Callable[..., Any])

_INTERPRETED_SECONDS = 0.05
"""CPU seconds for which a kernel is interpreted at most before it is compiled, which takes 0.3 to 10. Set by
hand: a first solve of `tiny` takes 1.4 CPU-s with it and 13 with none, a later one 2.5 if it reads kernels
from disk, so every process begins like this. More would cost the more where kernels are needed for long."""

_INTERPRETED_NUMBERS = 100_000
"""Greatest number of array entries with which a call is interpreted, as a call cannot be broken off. Set by
hand: a loop of Python over so many takes 0.05 s, a nested one that goes over them again up to a second."""

_SECONDS_OF_BYTE = 1.2e-3
"""CPU seconds that compiling takes for a byte of a function's code of Python. Measured: 0.8e-3 to 1.6e-3 for
the kernels that take more than 0.3 s. Nothing rests on it but when a solve ends that has to compile its
kernels."""

_FIRST_SECONDS = 1.4
"""CPU seconds that the first kernel of a process takes besides, as numba is imported then with what it
compiles with. Measured: 0.8 to 1.4; nothing else rests on it, either."""


def kernel(*, interpreted: bool = False, **options: object) -> Callable[[_Function], _Function]:
    """Compile a function with ``numba.njit`` and keep the result on disk; the function's type is kept, too.

    Parameters
    ----------
    interpreted : bool
        Whether it may run uncompiled for its first `_INTERPRETED_SECONDS`. Both ways have to give the same
        bits: sums one by one, only operations that round alike (no powers, no exponentials), no single
        precision (to which a number of Python's would be rounded), stable sorts, no division by zero. A call
        has to be short: what it repeats beyond its arrays are calls of such kernels, which are compiled in
        their turn.
    options
        Those of ``numba.njit``, such as ``error_model``; none by default.
    """

    def compiled(function: _Function) -> _Function:
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            return function
        return cast(_Function, Kernel(function, interpreted, options))

    return compiled


class Kernel:
    """A function that is compiled once it is due, and then is what numba made of it.

    It is not compiled where that would outlast the time limit of the solve it is needed for.
    """

    first = True

    def __init__(self, function: Callable[..., Any], interpreted: bool, options: dict[str, object]) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.interpreted, self.options = function, interpreted, options
        self._due, self._spent = not interpreted, 0.0
        self._estimate: float | None = None

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Its result."""
        if self._due or self._is_due((*args, *named.values())):
            self._due = True
            return self.dispatcher(*args, **named)
        began = time.thread_time()
        try:
            with np.errstate(all="ignore"):  # as compiled
                return _boxed(self.py_func(*args, **named))
        finally:
            self._spent += time.thread_time() - began

    @functools.cached_property
    def dispatcher(self) -> Any:
        """What numba calls it by; nothing is compiled yet."""
        from depl.models.foundation.compiled import dispatcher_of

        return dispatcher_of(self)

    @property
    def overloads(self) -> Any:
        """What is compiled, by the types of the arguments."""
        return self.dispatcher.overloads if "dispatcher" in vars(self) else {}

    def in_time(self) -> bool:
        """Whether it is compiled, or will be in the time that is left."""
        if self.overloads:
            return True
        first = Kernel.first * _FIRST_SECONDS
        if first > time_left():
            return False
        if self._estimate is None:
            from depl.models.foundation.compiled import is_kept

            size = sum(len(made.py_func.__code__.co_code) for made in _uncompiled(self, {}))
            self._estimate = 0.0 if is_kept(self) else _SECONDS_OF_BYTE * size
        return self._estimate + first <= time_left()

    def require_time(self) -> None:
        """As its compiling begins.

        Raises
        ------
        OutOfTimeError
            If it would end too late.
        """
        if not self.in_time():
            raise OutOfTimeError
        Kernel.first = False

    def _is_due(self, args: tuple[Any, ...]) -> bool:
        if _numbers(args) > _INTERPRETED_NUMBERS:
            return True
        return bool(self.overloads) or (self._spent >= _INTERPRETED_SECONDS and self.in_time())


def _uncompiled(made: Kernel, seen: dict[int, Kernel]) -> Iterable[Kernel]:
    """The kernel and those that it calls, as far as they are not compiled."""
    if id(made) not in seen and not made.overloads:
        seen[id(made)] = made
        for _, item in read_by(made.py_func):
            if isinstance(item, Kernel):
                _uncompiled(item, seen)
    return seen.values()


def read_by(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """What a function takes from its module, by name."""
    return ((name, function.__globals__.get(name)) for name in function.__code__.co_names)


def _numbers(items: tuple[Any, ...]) -> int:
    """Entries of all arrays."""
    return sum(_numbers(item) if isinstance(item, tuple) else getattr(item, "size", 1) for item in items)


def _boxed(found: Any) -> Any:
    """A result as numba hands it to Python: its numbers are Python's."""
    if isinstance(found, np.generic):
        return found.item()
    if isinstance(found, tuple):
        items = map(_boxed, found)
        return type(found)(*items) if hasattr(found, "_fields") else tuple(items)
    return found


@contextlib.contextmanager
def compiled_at_once() -> Iterator[None]:
    """No kernel is interpreted inside: for what prepares a machine or is timed afterwards."""
    global _INTERPRETED_SECONDS
    usual, _INTERPRETED_SECONDS = _INTERPRETED_SECONDS, 0.0
    try:
        yield
    finally:
        _INTERPRETED_SECONDS = usual


class Meter:
    """Adds up what is spent on compiling; kernels that are compiled for others are within theirs."""

    def __init__(self) -> None:
        self.seconds, self._begun, self._said, self.in_vain = 0.0, list[float](), set[str](), False

    def begin(self) -> None:
        """A kernel is compiled from now on, which is said once where somebody may be waiting."""
        if self.in_vain or (sys.stderr is not None and sys.stderr.isatty()):
            self.say()
        self._begun.append(time.process_time())

    def say(self) -> None:
        """Whether compiling will be repeated, on standard error."""
        how = "once for this machine"
        if self.in_vain:
            how = "in every process, as they cannot be kept (NUMBA_CACHE_DIR names a folder to keep them in)"
        if sys.stderr is not None and how not in self._said:
            sys.stderr.write(f"depl: compiling kernels, {how}: about half a minute in all\n")
        self._said.add(how)

    def end(self) -> None:
        """It is compiled."""
        started = self._begun.pop()
        if not self._begun:
            self.seconds += time.process_time() - started


METER = Meter()


def compiling_seconds() -> float:
    """CPU seconds that this process has spent on compiling so far [s]."""
    return METER.seconds
