"""Whether two measured values are the same, where a value of another machine or another code is compared."""

from typing import Any

TOLERANCE = 1e-9
"""Relative difference up to which numbers count as equal.

A change that only reorders sums or products, and other processors and libraries, move the last digits:
formulas that were compared differ by 4e-16, and plans sum at most some hundred terms. The toolkit itself
takes costs, times and losses within 1e-9 for the same; what differs by more may also be judged differently.
"""


def equal(old: Any, new: Any, absolute: float = 0.0) -> bool:
    """Whether two values are equal: numbers up to `TOLERANCE`, everything else exactly.

    Parameters
    ----------
    absolute : float
        Difference up to which numbers are equal, however small they are.
    """
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(equal(*pair, absolute) for pair in zip(old, new, strict=True))
    if isinstance(old, float) and isinstance(new, float):
        return abs(old - new) <= max(TOLERANCE * max(abs(old), abs(new)), absolute)
    return bool(old == new)
