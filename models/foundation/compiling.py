"""Compiled kernels, kept on disk where that can be done, and usable where it cannot.

Compiling takes up to a minute, more than most first solves take otherwise. So a kernel that is marked for it
runs as the Python function that it is until it is worth compiling, with the same results bit for bit, and
goes on so where the time limit would end before it is compiled. Other kernels end the solve then. numba keeps
them beside the source or in a cache folder of the user; where neither can be written, a folder of the user's
own for temporary files comes next, then none, and where the disk is full they are compiled all the same.
"""

import contextlib
import numbers
import os
import pickle
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event
from numba.core.caching import FunctionCache, NullCache
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher

from depl.models.foundation.deadline import OutOfTimeError, time_left

_Function = TypeVar("_Function", bound=Callable[..., Any])

_njit: Any = numba.njit
_config: Any = numba.config

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

_FIRST_SECONDS = 1.0
"""CPU seconds that the first kernel of a process takes besides, as numba then imports what it compiles with.
Measured: 0.5 to 1; nothing else rests on it, either."""


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
        made = _njit(**options)(function)
        if isinstance(made, Dispatcher):  # else NUMBA_DISABLE_JIT is set
            cast(Any, made)._cache = _cache_of(function)
            if interpreted:
                cast(Any, made).__class__, cast(Any, made)._spent = _Interpreted, 0.0
            else:
                cast(Any, made).__class__ = _Kernel
        return cast(_Function, made)

    return compiled


class _Kernel(CPUDispatcher):
    """A kernel that is not compiled where that would outlast the time limit of the solve it is needed for."""

    _estimate: float | None = None
    _first = True

    def _compile_for_args(self, *args: Any, **named: Any) -> Any:
        """What numba calls for types that it has not seen."""
        if not self._in_time():
            raise OutOfTimeError
        _Kernel._first = False
        return cast(Any, super())._compile_for_args(*args, **named)

    def _in_time(self) -> bool:
        """Whether it is compiled, or will be in the time that is left."""
        if self.overloads:
            return True
        if self._estimate is None:
            size = sum(len(made.py_func.__code__.co_code) for made in _uncompiled(self, {}))
            self._estimate = 0.0 if _is_kept(self) else _SECONDS_OF_BYTE * size
        return self._estimate + _Kernel._first * _FIRST_SECONDS <= time_left()


class _Interpreted(_Kernel):
    """A kernel that is interpreted; it turns into what numba made of it once it is to be compiled."""

    _spent: float

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Its result."""
        if self._is_due((*args, *named.values())):
            cast(Any, self).__class__ = _Kernel
            return self(*args, **named)
        began = time.thread_time()
        try:
            with np.errstate(all="ignore"):  # as compiled
                return _boxed(self.py_func(*args, **named))
        finally:
            self._spent += time.thread_time() - began

    def _is_due(self, args: tuple[Any, ...]) -> bool:
        if _numbers(args) > _INTERPRETED_NUMBERS:
            return True
        return bool(self.overloads) or (self._spent >= _INTERPRETED_SECONDS and self._in_time())


def _uncompiled(made: Dispatcher, seen: dict[int, Dispatcher]) -> Iterable[Any]:
    """The kernel and those that it calls, as far as they are not compiled."""
    if id(made) not in seen and not cast(Any, made).overloads:
        seen[id(made)] = made
        for _, item in _read_by(cast(Any, made).py_func):
            if isinstance(item, Dispatcher):
                _uncompiled(item, seen)
    return seen.values()


def _read_by(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """What a function takes from its module, by name."""
    return ((name, function.__globals__.get(name)) for name in function.__code__.co_names)


def _is_kept(made: Any) -> bool:
    """Whether there is a file of it that still counts, which is read in no time."""
    try:
        return bool(made._cache._cache_file._load_index())
    except Exception:  # noqa: BLE001 - not kept at all, or cut: loading it says why
        return False


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


def _cache_of(function: Callable[..., Any]) -> FunctionCache | NullCache:
    """Where numba keeps its files, or in the folder for temporary files, or nowhere."""
    usual = _config.CACHE_DIR
    try:
        with contextlib.suppress(RuntimeError):  # numba's "no locator available"
            return _Kept(function)
        if (folder := temporary_folder()) is not None:
            _config.CACHE_DIR = str(folder)
            with contextlib.suppress(RuntimeError):
                return _Kept(function)
    finally:
        _config.CACHE_DIR = usual
    _METER.in_vain = True
    return NullCache()


def temporary_folder() -> Path | None:
    """A folder for temporary files that is the user's alone; None if there is none.

    What lies in it is executed, and its name is known to all: one that somebody else has made, or may write
    to, is not used.
    """
    number = os.getuid() if hasattr(os, "getuid") else None
    try:
        folder = Path(tempfile.gettempdir(), "depl-kernels" if number is None else f"depl-kernels-{number}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    others = number is not None and (found.st_uid != number or found.st_mode & 0o077)
    return None if others or not stat.S_ISDIR(found.st_mode) else folder


class _Meter(event.Listener):
    """Adds up what is spent on compiling; kernels that are compiled for others are within theirs."""

    def __init__(self) -> None:
        self.seconds, self._begun, self._said, self.in_vain = 0.0, list[float](), set[str](), False

    def on_start(self, event: object) -> None:
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

    def on_end(self, event: object) -> None:
        """It is compiled."""
        started = self._begun.pop()
        if not self._begun:
            self.seconds += time.process_time() - started


_METER = _Meter()
cast(Any, event).register("numba:compile", _METER)  # numba has no types


def compiling_seconds() -> float:
    """CPU seconds that this process has spent on compiling so far [s]."""
    return _METER.seconds


class _Kept(FunctionCache):
    """numba's cache of one function; where it fails, the function is compiled all the same.

    What was kept counts as long as neither the file of the function has changed, which is all that numba
    looks at, nor what the function takes from elsewhere.
    """

    _cache_file: Any

    def __init__(self, function: Callable[..., Any]) -> None:
        cast(Any, super()).__init__(function)
        self._cache_file._source_stamp = (self._cache_file._source_stamp, *_stamps(function))

    def load_overload(self, signature: object, context: object) -> Any:
        """What was kept; None, so that it is compiled, where there is nothing or it cannot be read."""
        parent: Any = super()
        try:
            return parent.load_overload(signature, context)
        except Exception:  # noqa: BLE001 - a cut pickle, or machine code, may raise anything
            with contextlib.suppress(OSError):
                parent.flush()
            return None

    def save_overload(self, signature: object, made: object) -> None:
        """Keep it, if there is room; otherwise it is said that there is none."""
        parent: Any = super()
        try:
            parent.save_overload(signature, made)
        except (OSError, EOFError, pickle.UnpicklingError):
            _METER.in_vain = True
            _METER.say()


def _stamps(function: Callable[..., Any]) -> Iterator[object]:
    """Constants that a kernel reads, and stamps of the kernels that it calls: both are compiled into it."""
    for name, item in _read_by(function):
        if isinstance(item, Dispatcher) and isinstance(getattr(item, "_cache", None), _Kept):
            yield cast(Any, item)._cache._cache_file._source_stamp
        elif isinstance(item, numbers.Number):
            yield name, complex(cast(Any, item))
