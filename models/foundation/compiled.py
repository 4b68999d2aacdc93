"""What numba makes of kernels, kept on disk where that can be done, and usable where it cannot.

numba keeps them beside the source or in a cache folder of the user; where neither can be written, or the disk
is full, they are compiled all the same.
"""

import contextlib
import numbers
import pickle
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, cast

import numba
from numba.core import event
from numba.core.caching import FunctionCache, NullCache
from numba.core.registry import CPUDispatcher

from depl.models.foundation.compiling import METER, Kernel, read_by

_njit: Any = numba.njit


def dispatcher_of(kernel: Kernel) -> Any:
    """What compiles a kernel at its first call for each kind of arguments.

    What the function reads from its module numba takes from a copy of the names there, in which kernels are
    what numba knows them as.
    """
    function: Any = kernel.py_func
    called = {name: item.dispatcher for name, item in read_by(function) if isinstance(item, Kernel)}
    names = {**function.__globals__, **called}
    copy = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__qualname__, copy.__kwdefaults__ = function.__qualname__, function.__kwdefaults__
    made = _njit(**kernel.options)(copy)
    made.__class__, made.kernel, made._cache = _InTime, kernel, _cache_of(function)
    return made


def is_kept(kernel: Kernel) -> bool:
    """Whether there is a file of it that still counts, which is read in no time."""
    try:
        return bool(kernel.dispatcher._cache._cache_file._load_index())
    except Exception:  # noqa: BLE001 - not kept at all, or cut: loading it says why
        return False


class _InTime(CPUDispatcher):
    """Nothing is compiled that would outlast the time limit of the solve it is needed for."""

    kernel: Kernel

    def _compile_for_args(self, *args: Any, **named: Any) -> Any:
        """What numba calls for types that it has not seen."""
        self.kernel.require_time()
        return cast(Any, super())._compile_for_args(*args, **named)


def _cache_of(function: Callable[..., Any]) -> FunctionCache | NullCache:
    """Where numba keeps its files, or nowhere."""
    try:
        return _Kept(function)
    except RuntimeError:  # numba's "no locator available"
        METER.in_vain = True
        return NullCache()


class _Listener(event.Listener):
    """Tells the meter when something is compiled."""

    def on_start(self, event: object) -> None:
        """A kernel is compiled from now on."""
        METER.begin()

    def on_end(self, event: object) -> None:
        """It is compiled."""
        METER.end()


cast(Any, event).register("numba:compile", _Listener())  # numba has no types


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
            METER.in_vain = True
            METER.say()


def _stamps(function: Callable[..., Any]) -> Iterator[object]:
    """Constants that a kernel reads, and stamps of the kernels that it calls: both are compiled into it."""
    for name, item in read_by(function):
        if isinstance(item, Kernel) and isinstance(item.dispatcher._cache, _Kept):
            yield item.dispatcher._cache._cache_file._source_stamp
        elif isinstance(item, numbers.Number):
            yield name, complex(cast(Any, item))
