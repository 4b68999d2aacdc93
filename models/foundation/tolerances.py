"""Tolerances that more than one room uses, each with its reason; the verifier keeps its own.

A tolerance that one file alone uses stands there, beside what it is for.
"""

import math
import sys
from fractions import Fraction

TIME_TOLERANCE = 1e-9
"""Relative amount by which T_max and tau may be exceeded.

Times are sums of some hundred quotients, off by 1e-13 at most, while limits are often written so that a plan
just keeps them: 2.4 for two epochs of 1.2. What exceeds them by rounding alone has to count as in time.
"""

EXACT_ATOM_TOLERANCE = Fraction(1, 10**9)
"""An atom of the final loss that exceeds l_max by at most this much counts as met [loss].

Sums of decimals miss decimals: 0.3 - 0.1 - 0.2 is not 0 in doubles. A loss without atoms needs no such
leniency, and its certified tail gets none. `depl.models.problem.instance.SMALLEST_LOSS_SCALE` keeps this a
matter of rounding.
"""

ATOM_TOLERANCE = float(EXACT_ATOM_TOLERANCE)
"""`EXACT_ATOM_TOLERANCE` where losses are doubles: sampled, traced or added up along a path [loss]."""

PROOF_TOLERANCE = 1e-9
"""Relative difference of a cost and its lower bound that counts as none: the cost is proved.

Costs are taken within `TIME_TOLERANCE` of T_max, and bounds come from solvers that keep rows to 1e-9, so
nothing closer can be told apart; costs themselves are exact to about 1e-13.
"""

SEARCH_TOLERANCE = PROOF_TOLERANCE / 2
"""Relative difference below which a search looks for nothing better.

Half of `PROOF_TOLERANCE`: the other half is left to the rounding of bounds and costs that are told.
"""

_ROUNDING = 4 * sys.float_info.epsilon
"""Relative error of two products and a difference, doubled: ``28 * 0.95`` is below ``28 - 28 * 0.05``
in doubles, and a search that stops at the one has reached the gap that the other asks for."""


_LEAST_SUM_ROUNDING = 1e-12
"""Rounding granted to any sum of the epochs of a plan: far above that of 4,000 numbers, and far below every
tolerance, so that what is proved does not hang on the number of epochs until they are more."""


def sum_rounding(epochs: int) -> float:
    """What a sum over so many epochs may be off, relative to the sizes that are added; proofs rest on it.

    A sum of n numbers in any order is off by (n - 1) u of their sizes to first order, u = 2**-53 (Higham,
    Accuracy and Stability of Numerical Algorithms, Sec. 4.2). An epoch adds two numbers at most, a run's and
    a switch's, that are off by a few u themselves; 8 more epochs stand for that, for what the sum is compared
    with, and for higher orders.
    """
    return max(_LEAST_SUM_ROUNDING, (epochs + 8) * sys.float_info.epsilon)


def counts_as_proved(value: float, lower_bound: float, within: float = PROOF_TOLERANCE) -> bool:
    """Whether a lower bound meets a value that is held, up to a relative difference.

    Parameters
    ----------
    value : float
        Infinite if nothing is held: then nothing can be held only if the bound is infinite, too.
    lower_bound : float
        Nothing has a smaller value.
    within : float
        Relative difference that is allowed, of the size of the value.
    """
    return lower_bound >= (value - (within + _ROUNDING) * abs(value) if math.isfinite(value) else value)
