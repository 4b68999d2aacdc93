"""Bounds far out in a tail, where other evaluators are only exact to so many digits after the point.

One jump: if every Y_i <= x_i, with the sum of all x_i at most g, then the sum of all Y_i is at most g. All
x_i are quantiles of one level, the least with which they fit into g, so that no other choice is better by
more than the number of summands; equal shares of g are tried, too. It is exact for one summand.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import FloatArray, Law, Normal, StudentT

_GRANTED = 1e-6
"""Relative error granted to distribution functions far out, on which soundness rests: what the rounding of a
parameter changes grows with the logarithm of the probability. 1e-9 is the most seen down to 1e-290."""

_LEAST = 1e-290
"""Least probability that is told from 0: below, distribution functions underflow."""

_NEAR_AN_END = 1e-3
"""Distance from the end of a truncated law, in scales, from which on the density times it is a better bound
than a difference of distribution functions: set by hand, any value is sound."""

_HALVINGS = 40
"""Halvings of the range of log q: 290 decades to 6e-10 of one."""


def jump_bound(loss: FinalLoss, value: float) -> float:
    """The bound of the module's docstring for P(loss > value)."""
    gap = Fraction(value) - Fraction(loss.constant)
    alike = [gap / sum(count for _, count in loss.terms)] * len(loss.terms)
    bounds = [_union(loss.terms, alike)]
    low, high = math.log(_LEAST), math.log(0.5)
    if _fits(loss.terms, high, gap):
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if _fits(loss.terms, middle, gap) else (middle, high)
        bounds.append(_union(loss.terms, [Fraction(place) for place in _places(loss.terms, high)]))
    return min(bounds)


def _union(terms: Sequence[tuple[Term, int]], places: Sequence[Fraction]) -> float:
    pairs = zip(terms, places, strict=True)
    parts = [count * beyond(term, place)[1] for (term, count), place in pairs]
    return min(math.fsum(parts) * (1 + 1e-12), 1.0)


def beyond(term: Term, value: Fraction) -> tuple[float, float]:
    """Bounds of P(coefficient * X > value) of one increment."""
    law, place = term.law, value / Fraction(term.coefficient)
    granted = max(_GRANTED, law.tail_error)
    if law.has_atoms:
        atoms, weights = law.atoms()
        above = [Fraction(term.coefficient) * Fraction(atom) > value for atom in atoms.tolist()]
        found = float(weights[above].sum())
        return found * (1 - granted), found * (1 + granted)
    if isinstance(law, Normal):
        place, law = place - Fraction(law.mean), Normal(mean=0.0, variance=law.variance)
    upper = term.coefficient > 0
    end = law.support()[1 if upper else 0]
    if math.isfinite(end) and (place >= Fraction(end) if upper else place <= Fraction(end)):
        return 0.0, 0.0
    low, high = _tail(law, place, upper)
    if isinstance(law, StudentT) and law.truncated:
        least, most = _next_to_the_end(law, place, Fraction(end))
        low, high = max(low, least), min(high, most)
    return max(low * (1 - granted), 0.0), min(max(high * (1 + granted), _LEAST), 1.0)


def _tail(law: Law, place: Fraction, upper: bool) -> tuple[float, float]:
    """P(X > place), or P(X < place), asked on both sides of a place that may be rounded."""
    nearest = float(place)
    moved = 8 * 2.0**-53 * abs(nearest)
    near, far = (nearest - moved, nearest + moved) if upper else (nearest + moved, nearest - moved)
    ends: FloatArray = np.array([far, near])
    tailed = law.tailed
    if tailed is not None:
        low, high = tailed.exceedance(ends) if upper else tailed.shortfall(ends)
        return float(low[0]), float(high[1])
    values = law.survival(ends) if upper else law.cdf(ends)
    least, most = values.tolist()
    return (least, most) if 0 <= least <= most <= 1 else (0.0, 1.0)


def _next_to_the_end(law: StudentT, place: Fraction, end: Fraction) -> tuple[float, float]:
    """The distance to the end times the density at either side, between which it is monotone."""
    distance = abs(end - place)
    between = min(place, end) < Fraction(law.location) < max(place, end)
    if between or distance > Fraction(_NEAR_AN_END * law.scale):
        return 0.0, 1.0
    densities = law.density(np.array([float(place), float(end)]))
    return float(distance) * float(densities.min()), float(distance) * float(densities.max())


def _places(terms: Sequence[tuple[Term, int]], logarithm: float) -> list[float]:
    """What coefficient * X exceeds with about the probability exp(logarithm), for every term."""
    level = math.exp(logarithm)
    return [
        term.coefficient * float(term.law.quantile(level, upper=term.coefficient > 0)) * (1 + 4 * 2.0**-53)
        for term, _ in terms
    ]


def _fits(terms: Sequence[tuple[Term, int]], logarithm: float, gap: Fraction) -> bool:
    places = _places(terms, logarithm)
    if not all(map(math.isfinite, places)):
        return False
    return sum(count * Fraction(place) for (_, count), place in zip(terms, places, strict=True)) <= gap
