r"""The ledger of one run in plain doubles: the arithmetic of `depl.models.policy.grid`, one number at a time.

What is certified of a policy is certified of the chain of these indices. So a controller has to come to the
same index as the arrays of `grid` do, double for double, and the operations stand in the same order here.
Nothing but the standard library is imported, as training programs import this.
"""

import math

EDGE = 1e-6
"""By how much of a step a number may exceed the edge of a cell and still count as on it, on which soundness
rests: steps are at least 1e-7 of the losses, so this is 1e-13 of them, and sums and quotients of a few
doubles are off by 1e-15."""

_FAR = 2**62
"""In the place of an index beyond it, which no whole number of 64 bits holds; grids have 2**22 at most."""


def rounded_up(value: float, step: float) -> int:
    """ceil(value / step), where what exceeds an edge by at most `EDGE` counts as on it."""
    scaled = value / step - EDGE
    if -_FAR < scaled < _FAR:
        return math.ceil(scaled)
    return _FAR if scaled > 0 else -_FAR


def first_index(loss: float, origin: float, step: float) -> int:
    """The ledger of a run that begins with a loss, and of any run where the loss itself is the state."""
    return max(0, rounded_up(loss - origin, step))


def next_index(
    index: int, loss: float, following: float, shift: float, retention: float, origin: float, step: float
) -> int:
    """The ledger after an epoch that moved the loss to ``following`` = shift + retention * loss + noise."""
    noise = following - (shift + retention * loss)
    image = rounded_up(shift + retention * (origin + index * step) - origin, step)
    return max(0, image + rounded_up(noise, step))
