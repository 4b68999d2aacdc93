"""Losses of atoms and one or two Student-t laws, whole or cut, and nothing else that is random.

The probability is a sum over the atoms, of tails of one law or of one integral over two; formulas, panels and
the error of the rule are on the page "Risk" (``risk``).
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from depl.models.foundation.interval import Interval
from depl.models.problem.epochs import FinalLoss
from depl.models.problem.laws import StudentT
from depl.models.problem.laws.log_variable import EPSILON
from depl.models.problem.laws.student_t import graded_edges, panel_masses
from depl.models.risk.discrete import few_atoms

EVALUATOR = "closed sum"

_MOST_ATOMS, _MOST_BESIDE_TWO = 20_000, 16
"""Most atoms beside one law and beside two: set by hand. A probability takes some milliseconds with the
former, and two or three for each of the latter; beyond, the grid answers with a wider interval."""

_FARTHEST = 1e12
"""Reach of the panels in scales and distances of what is asked for: set by hand. It adds two panels for each
factor of 8; what lies beyond is bounded."""

_CLEAR = 1e-12
"""Least width of a density relative to the distance of the value: set by hand, so that panels beside a centre
are longer than rounding by far. Farther out, each of the two laws gets half of the distance."""

_LEAST_MASS = 1e-3
"""Least probability of an interval that a law is cut to, on which the bound of the rule rests: it divides
both factors, and 3**-80 exp(24) / 1e-6 = 2e-22 is far below the smallest budget."""

_OUTWARD = 1e-10
"""Relative widening of integrals for rounding, on which soundness rests: weights are off by as many units as
their exponent (nu + 1) / 2 log1p(z**2 / nu) <= 750 is great, sums of some 10**4 positive numbers by 10**4."""

_EXPANSIONS, _CLOSE = 80, 1e-12
"""Triplings of a distance, and how close the ends of a quantile are to the best, relative to their distance
from the mean: set by hand. Ends are certified at any value; each halving costs an evaluation."""


def closed_violation(loss: FinalLoss, maximum_loss: float) -> Interval | None:
    """Interval of P(l(K) > maximum_loss); None where the loss is made of other laws, or of too many atoms."""
    bounds = _bounds_of(loss)
    return None if bounds is None else Interval(*bounds(maximum_loss), EVALUATOR)


def closed_quantile(loss: FinalLoss, budget: Fraction) -> Interval | None:
    """Interval of the (1 - budget)-quantile of l(K), an end infinite if it is not found; None as above."""
    bounds = _bounds_of(loss)
    if bounds is None:
        return None
    sizes = (
        count * abs(term.coefficient) * math.sqrt(term.law.typical_square()) for term, count in loss.terms
    )
    spread = math.fsum(sizes)
    return Interval(*quantile_by(bounds, budget, loss.mean(), spread), EVALUATOR)


def quantile_by(
    bounds: Callable[[float], tuple[float, float]],
    budget: Fraction,
    centre: float,
    spread: float,
    close: float = _CLOSE,
) -> tuple[float, float]:
    """Bounds of the (1 - budget)-quantile by bounds of P(loss > value); infinite where none is found."""
    lower = _edge(lambda value: bounds(value)[0] > budget, centre, spread, close)[0]
    start, first = (lower, close * spread) if math.isfinite(lower) else (centre, spread)
    return lower, _edge(lambda value: bounds(value)[1] > budget, start, first, close)[1]


def _edge(holds: Callable[[float], bool], centre: float, first: float, close: float) -> tuple[float, float]:
    """Two values close together of which something holds at the lower, and not at the upper.

    They are sought at ``first`` from the centre, and farther away; infinite if not found.
    """
    ends = [-math.inf, math.inf]
    for side, sign in enumerate((-1.0, 1.0)):
        steps = (centre + sign * first * 3.0**step for step in range(_EXPANSIONS))
        ends[side] = next((value for value in steps if holds(value) is (side == 0)), ends[side])
    low, high = ends
    while math.isfinite(high - low) and high - low > close * (abs(low - centre) + first):
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def _bounds_of(loss: FinalLoss) -> Callable[[float], tuple[float, float]] | None:
    """What bounds P(loss > value) by the formulas above."""
    atoms = tuple((term, count) for term, count in loss.terms if term.law.has_atoms)
    others = [(term, count) for term, count in loss.terms if not term.law.has_atoms]
    tailed = [law for term, count in others for law in [term.tailed] * min(count, 3)]
    laws = [law for law in tailed if law is not None]
    if not 1 <= len(tailed) == len(laws) <= 2:
        return None
    if len(laws) == 2 and min(law.interval_mass() for law in laws) < _LEAST_MASS:
        return None
    found = few_atoms(FinalLoss(loss.constant, atoms), _MOST_ATOMS if len(laws) == 1 else _MOST_BESIDE_TWO)
    if found is None:
        return None
    values, weights, moved = found
    laws.sort(key=lambda law: law.truncated)  # points are best those of a law that is cut
    size = max(abs(end) for law in laws for end in (law.location, *law.support()) if math.isfinite(end))

    def bounds(value: float) -> tuple[float, float]:
        doubt = 4 * EPSILON * (abs(value) + np.abs(values) + size)
        near, far = value - values - doubt - moved, value - values + doubt
        if len(laws) == 1:
            low, high, outward = laws[0].exceedance(far)[0], laws[0].exceedance(near)[1], 0.0
        else:
            ends = zip(near.tolist(), far.tolist(), strict=True)
            (low, high), outward = (
                np.transpose([_integral(laws[0], laws[-1], *pair) for pair in ends]),
                _OUTWARD,
            )
        outward += EPSILON * (len(weights) + 4)
        lower, upper = float(weights @ low), float(weights @ high)
        return max(lower * (1 - outward), 0.0), min(upper * (1 + outward), 1.0)

    return bounds


def _integral(one: StudentT, other: StudentT, near: float, far: float) -> tuple[float, float]:
    """Bounds of P(one + other > far) and > near, by points of ``other``, counted from its location."""
    if min(one.panel_width, other.panel_width) < _CLEAR * abs(far):
        below = sum(float(law.shortfall(np.array([far / 2]))[1][0]) for law in (one, other))
        above = sum(float(law.exceedance(np.array([near / 2]))[1][0]) for law in (one, other))
        return max(1 - below, 0.0), min(above, 1.0)
    near, far = near - other.location, far - other.location
    reach = _FARTHEST * (one.scale + other.scale + abs(far - one.location))
    start, stop = (min(max(end - other.location, -reach), reach) for end in other.support())
    kinks = [far - end for end in one.support() if start < far - end < stop]
    centres = ((0.0, other.panel_width), (far - one.location, one.panel_width))
    pieces = itertools.pairwise([start, *sorted(kinks), stop])
    points, mass = panel_masses(other, np.concatenate([graded_edges(*ends, centres) for ends in pieces]))
    low, high = float(mass @ one.exceedance(far - points)[0]), float(mass @ one.exceedance(near - points)[1])
    if other.truncated:
        return low, high
    ends = np.array([start, stop])
    left, right = other.shortfall(other.location + ends)[1][0], other.exceedance(other.location + ends)[1][1]
    low *= 1 - left - right
    return low, high + right + left * float(one.exceedance(near - ends)[1][0])
