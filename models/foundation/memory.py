"""The memory that a solve may take: what is large is estimated before it is begun, and refused in words.

Whatever holds a table that grows with a product of sizes calls `require_memory` with the bytes that it is
about to take. The ceiling is that of the solve that it works for; outside of one it is `MEMORY`. What a solve
takes besides (libraries, compiled kernels, the instance) is some 0.3 GiB.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from depl.models.foundation.errors import InvalidInputError, NotCoveredError

MEMORY = 8.0
"""GiB that a table of a solve may take unless the caller says otherwise. Set by hand: a laptop has as much,
and what needs more takes hours."""

GIBIBYTE = 2.0**30

_ENTRY = 500
"""Bytes of a pair of models in a table: a few Python objects, or some dozens of doubles with their copies.
Set by hand, so that what `MEMORY` allows, 17 million of them, takes a minute or a few of plain Python."""

_CURRENT: ContextVar[float] = ContextVar("memory", default=MEMORY)


@contextmanager
def memory_ceiling(gibibytes: float) -> Iterator[None]:
    """Let `require_memory` know the ceiling of the work inside [GiB]."""
    token = _CURRENT.set(gibibytes)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def require_gibibytes(memory: object) -> float:
    """The ceiling as a number, if a caller may ask for it.

    Raises
    ------
    InvalidInputError
        If it is not a positive number.
    """
    number = isinstance(memory, int | float) and not isinstance(memory, bool)
    if not number or not float(memory) > 0:  # type: ignore[arg-type]
        raise InvalidInputError(f"must be a positive number of GiB, not {memory!r:.80}", "memory")
    return float(memory)  # type: ignore[arg-type]


def require_memory(needed: float, what: str, remedy: str) -> None:
    """Refuse a table before it is begun if it takes more than the ceiling.

    Parameters
    ----------
    needed : float
        Bytes, with copies on the way.
    what : str
        What takes them, as the beginning of a sentence.
    remedy : str
        What to do about it, as the end of one.

    Raises
    ------
    NotCoveredError
        With what, how much, and what to do.
    """
    ceiling = _CURRENT.get()
    if needed > ceiling * GIBIBYTE:
        raise NotCoveredError(
            f"{what} would take {needed / GIBIBYTE:.3g} GiB of memory, of at most {ceiling:g} GiB that are "
            f"allowed; {remedy}, or allow more (memory, --memory)"
        )


def require_tabulated(models: int, what: str, repeated: int = 1) -> None:
    """Refuse pairs of models that are too many for a table, before hours and gigabytes go into it.

    Parameters
    ----------
    models : int
    what : str
        What would hold the table, for the message.
    repeated : int
        How often every pair occurs: once per epoch, for instance.

    Raises
    ------
    NotCoveredError
        As `require_memory`.
    """
    times, rest = (f", {repeated} times each", ", or epochs") if repeated > 1 else ("", "")
    whole = f"{what} (every pair of {models} models{times})"
    require_memory(float(_ENTRY * repeated * models**2), whole, f"leave out models{rest}")
