"""Work that waits until somebody needs it, so that ``import depl`` does not pay for it."""

import threading
from collections.abc import Callable


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


METHODS = Later()
"""What registers the methods that come with the toolkit (`depl.models.solving.methods`)."""
