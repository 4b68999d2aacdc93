r"""What the target asks of a plan's moments: mean gain at least g + a margin that depends on the variance.

Plans are divided by their variance V into ranges, in which a line between two ends bounds the margin. It is
*certified* if no plan with less meets the target (`least_score`): where z(V) >= 0 the margin z sqrt(V) is
concave, so that the chord lies below it, where z < 0 it is convex, so that a tangent does. It is *calibrated*
if it is what a plan was seen to need, at its own variance and in proportion to the deviation at others: that
proves nothing and says where to look.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import special

from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray

_RATIO = 1.5
"""Ratio of the ends of a certified range of variance: the chord of sqrt(V) over it is at most 0.5 % too low,
and so is the margin. A larger ratio needs fewer ranges and gives a weaker bound."""
_CERTIFIED_RANGES = 24
"""Certified ranges at most: they reach down to a ten-thousandth of the largest variance, 1.5**-23, a
hundredth of its deviation. Set by hand: plans below are in one range without a margin at its low end."""
_STEPS = (1 / 27, 1 / 9, 1 / 3, 1.0, 3.0, 24.0)
"""Ends of the calibrated ranges in units of the seen variance. Set by hand: factors of 3, as margins are
guesses there; each range costs one run of the cutting planes."""

ESSEEN = 0.56
"""C for sums of independent increments that are not alike (Shevtsova 2010, Doklady Mathematics 82)."""

_ROUNDING = 1e-9
"""Relative amount by which every number is moved to the safe side: soundness rests on its being above the
rounding of a dozen operations in double precision, about 1e-14. It costs sharpness for budgets of 1e-9 or
less alone: the level then stays below 1 - 1e-9, the score below 6."""


@dataclass(frozen=True)
class VarianceRange:
    """Plans whose variance lies in a range, and the margin they need at its ends [loss**2], [loss].

    Under a tilt (`depl.heuristics.bounds.tilted_learning`) the divergence H takes the place of the variance,
    and the range is one of the excess B, too: the margin changes by ``slope`` per unit of B; and one of the
    roughness of switches.
    """

    low: float
    high: float
    margin_low: float
    margin_high: float
    excess_low: float = 0.0
    excess_high: float = 0.0
    slope: float = 0.0
    rough_low: float = 0.0
    rough_high: float = 0.0

    @property
    def corners(self) -> list[tuple[float, float, float, float]]:
        """Variance, B, roughness and margin where the range ends; no price rewards what has no end."""
        ends = {(self.low, self.margin_low), (self.high, self.margin_high)}
        excesses = {self.excess_low, self.excess_high} - {math.inf}
        roughs = {self.rough_low, self.rough_high} - {math.inf}
        return sorted(
            (end, excess, rough, margin + self.slope * (excess - self.excess_low))
            for end, margin in ends
            for excess in excesses
            for rough in roughs
        )

    @property
    def deviation(self) -> float:
        """A standard deviation in the range [loss]."""
        return math.sqrt(self.high / 3 if self.low < self.high / 9 else math.sqrt(self.low * self.high))


@dataclass(frozen=True)
class Requirement:
    """A plan in some range has a mean gain of at least ``fall`` and that range's margin [loss]."""

    fall: float
    ranges: tuple[VarianceRange, ...]


def fall_of(instance: Instance) -> float:
    """l(0) - l_max less the tolerance of atoms [loss]."""
    target = instance.target
    return target.initial_loss - target.maximum_loss - ATOM_TOLERANCE


def least_score(budget: Fraction | float, third_ratio: float, variance: float) -> float:
    """z(V): a plan of variance V that meets its target gains at least g + z(V) sqrt(V) on average.

    By Cantelli and by Berry and Esseen, whichever says more (the page "The loop with bounds", ``loop``).

    Parameters
    ----------
    budget : Fraction or float
        p = 1 - omega.
    third_ratio : float
        t: at least E |Y - E Y|**3 / Var Y of every increment; may be infinite [loss].
    variance : float
        V > 0, finite [loss**2].
    """
    share = float(budget)
    cantelli = -math.sqrt(share / (1 - share)) * (1 + _ROUNDING)
    error = ESSEEN * third_ratio / math.sqrt(variance) if variance > 0 else math.inf
    level = (1 - share - error) * (1 - _ROUNDING)
    if not level > 0:
        return cantelli
    normal = float(special.ndtri(level))
    return max(cantelli, normal - _ROUNDING * abs(normal))


def certified_requirement(instance: Instance, third_ratio: float, largest: float) -> Requirement | None:
    """What every plan that meets the target gains on average; None where variances are infinite.

    Parameters
    ----------
    third_ratio : float
        As for `least_score` [loss].
    largest : float
        At least the variance of every plan [loss**2].
    """
    if not math.isfinite(largest):
        return None
    budget = instance.target.violation_budget
    if largest == 0:
        return Requirement(fall_of(instance), (VarianceRange(0.0, 0.0, 0.0, 0.0),))
    ends = [largest]
    while len(ends) < _CERTIFIED_RANGES and least_score(budget, third_ratio, ends[-1]) > 0:
        ends.append(ends[-1] / _RATIO)
    ends = [0.0, *reversed(ends)] if ends[-1] > 0 else ends[::-1]
    ranges = []
    for low, high in itertools.pairwise(ends):
        score = least_score(budget, third_ratio, low)
        if score >= 0:
            margins = score * math.sqrt(low), score * math.sqrt(high)
        else:  # below the tangent of z sqrt(V) in the middle of the range
            middle = math.sqrt(high) / 2
            margins = score * (middle / 2 + low / (2 * middle)), score * (middle / 2 + high / (2 * middle))
        ranges.append(VarianceRange(low, high, *margins))
    return Requirement(fall_of(instance), tuple(ranges))


def calibrated_requirement(
    instance: Instance, margin: float, deviation: float, largest: float
) -> Requirement:
    """What plans are expected to need if one of a given spread needs a given margin.

    Parameters
    ----------
    margin : float
        Mean gain beyond l(0) - l_max that the seen plan needs [loss].
    deviation : float
        Its standard deviation [loss].
    largest : float
        At least the variance of every plan [loss**2].
    """
    variance = deviation**2
    if variance <= 0 or margin <= 0:
        offset = min(margin, 0.0)
        return Requirement(fall_of(instance), (VarianceRange(0.0, max(largest, variance), offset, offset),))
    ends = [0.0, *(variance * step for step in _STEPS)]
    ends = [end for end in ends if end < largest] + [max(largest, variance)]
    score = margin / deviation
    ranges = [
        VarianceRange(low, high, score * math.sqrt(low), score * math.sqrt(high))
        for low, high in itertools.pairwise(ends)
    ]
    # the likely ones first: what they cost ends the search in the others early
    ranges.sort(key=lambda piece: max(piece.low / variance, variance / piece.high))
    return Requirement(fall_of(instance), tuple(ranges))


def largest_variance(variances: FloatArray, switches: FloatArray) -> float:
    """At least the variance of every sequence: the largest of every epoch and switch summed [loss**2]."""
    each = variances.max(axis=1, initial=0.0) + switches.max(initial=0.0)
    return float(np.sum(each)) * (1 + 1e-9)
