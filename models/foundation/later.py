"""Work that waits until somebody needs it, so that ``import depl`` does not pay for it."""

import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any


class Later:
    """Calls that are made once, at the first need, in the order in which they came.

    A call that fails, or is interrupted, is made again at the next need. A second thread waits for the first.
    """

    def __init__(self) -> None:
        self._calls: list[Callable[[], object]] = []
        self._lock = threading.RLock()

    def add(self, call: Callable[[], object]) -> None:
        """Let a call wait."""
        with self._lock:
            self._calls.append(call)

    def need(self) -> None:
        """Make the calls that wait; what they do may need the same again, and goes on without."""
        with self._lock:
            while self._calls:
                call = self._calls.pop(0)
                try:
                    call()
                except BaseException:
                    self._calls.insert(0, call)
                    raise


class Deferred:
    """A function of another module, which is imported when the function is first called."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.__name__ = module, name

    def __call__(self, *given: Any, **named: Any) -> Any:
        """What the function returns."""
        return self.function(*given, **named)

    @functools.cached_property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        found: Callable[..., Any] = getattr(importlib.import_module(self.module), self.__name__)
        return found


METHODS = Later()
"""What registers the methods that come with the toolkit (`depl.models.solving.methods`)."""
