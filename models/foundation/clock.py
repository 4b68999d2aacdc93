"""The clock that time limits look at: wall seconds, or CPU seconds where a measurement shares its machine."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

_counts_cpu = False


def now() -> float:
    """Seconds since some moment."""
    return time.process_time() if _counts_cpu else time.perf_counter()


@contextmanager
def cpu_seconds() -> Iterator[None]:
    """Inside, limits count the CPU seconds of this process: of a method on one thread, what it works itself.

    For processes that do nothing else: limits that were made outside are not meant to be looked at inside.
    """
    global _counts_cpu
    before, _counts_cpu = _counts_cpu, True
    try:
        yield
    finally:
        _counts_cpu = before
