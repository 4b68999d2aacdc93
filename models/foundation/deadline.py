"""The end of a solve's time, seen from deep inside its work.

Methods look at the clock between their steps, but a step can be long. So whatever may take long calls
`keep_time` every few milliseconds, which raises `OutOfTimeError` once its solve is late by `LEEWAY`; whoever
holds a plan or a bound catches it, as it catches an interrupt, and ends with that. Work outside of a solve
has no deadline, and neither have the certificate and the check of the plan that a solve returns. The clock
counts wall seconds, or CPU seconds where a measurement shares its machine.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

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


LEEWAY = 0.5
"""Seconds of lateness before work is broken off, and again before what follows it is. Set by hand: most steps
end by themselves in that time, and a limit is to be kept to 2 seconds."""


class OutOfTimeError(Exception):
    """The time limit was reached; whoever holds nothing may leave it to the caller."""


@dataclass
class _Deadline:
    """Seconds since the time of a solve was over, negative while there is time, and how many are allowed."""

    lateness: Callable[[], float]
    allowed: float = LEEWAY


_CURRENT: ContextVar[_Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def deadline(lateness: Callable[[], float]) -> Iterator[None]:
    """Let `keep_time` know when the time of the work inside is over; an outer deadline waits meanwhile.

    Parameters
    ----------
    lateness : callable
        Seconds since the time was over; negative while there is time. It may wait.
    """
    token = _CURRENT.set(_Deadline(lateness))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def keep_time() -> None:
    """Called by work that may take long, every few milliseconds.

    It does not raise again for a while, so that what was caught can be put in order.

    Raises
    ------
    OutOfTimeError
        If the solve that it is done for is late by more than is allowed.
    """
    current = _CURRENT.get()
    if current is not None and (late := current.lateness()) >= current.allowed:
        current.allowed = late + LEEWAY
        raise OutOfTimeError


def time_left() -> float:
    """Seconds until `keep_time` would raise, infinite outside of a solve [s]: for a step that has no look."""
    current = _CURRENT.get()
    return math.inf if current is None else current.allowed - current.lateness()
