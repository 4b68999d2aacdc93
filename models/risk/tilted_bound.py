r"""How much gain a plan needs at least, seen from under an exponential tilt: sharp for many increments.

Let G be the total gain of a plan, a sum of independent increments, s > 0 a rate and Q the law tilted by
e**(-s G). With H = KL(Q | P), mu = E_Q G and Z = s (G - mu),

    P(G < g) = e**(-H) A(Delta),   A(Delta) = E_Q[e**Z; Z < -Delta],   Delta = s (mu - g).

A falls in Delta, so a plan with P(G < g) <= p has s mu > s g + Delta* for every Delta* with
A(Delta*) > p e**H. H, mu, and the numbers W, T, F of Z under Q add up (`depl.models.risk.tilted_laws`); the
tilt takes the heavy tails off, and what is left of a sum of many is nearly normal. Two bounds of A:

*Characteristic function.* e**z for z < -Delta has the transform e**(-(1 - i y) Delta) / (1 - i y), so

    A = e**(-Delta) / pi  Re int_0^infinity e**(i y Delta) f(y) / (1 - i y) dy,   f(y) = E_Q e**(i y Z).

|f(y)| <= exp(-d(y)), d(y) = 3 W**2 / F ln(1 + y**2 F / (6 W)), falls like a power, so the integral converges.
What is known of f up to some Y, and what the integral then is at least, is in
`depl.models.risk.tilted_transform`. For plans with H and F in a cell, W and T lie in known intervals
(`Spread`); the least A over them counts.

*Jensen*: with q = Q(Z < c), Cauchy and Schwarz give E_Q[Z; Z < c] = -E_Q[Z; Z >= c] >= -(W q (1 - q))**(1/2),
so A(-c) >= q e**(-(W (1 - q) / q)**(1/2)), which rises in q, and q >= c**2 / (W + c**2) by Cantelli:
A(-c) >= c**2 / (W + c**2) e**(-W / c). It needs nothing but W, and no W above the true one.

For normal increments H = W / 2, T = F = 0: the first bound is Phi itself, and nothing is lost.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from depl.models.laws import FloatArray
from depl.models.risk.tilted_transform import largest_shifts

_FALLBACKS = np.geomspace(0.2, 50.0, 400)
_ROUNDING = 1e-9
_REST_TERMS = 12
_NO_PLANS = 2.0


@dataclass(frozen=True)
class Spread:
    """What is known of W and T of a plan with a given H, and how far f is known.

    *Known* switches are those with a finite F; a plan with others has an infinite F.

    Attributes
    ----------
    variance_low, variance_high : float
        Of W / H of runs and known switches; ``variance_high`` is at least 2.
    any_variance : float
        W / H, at most, of all increments.
    third_low, third_high : float
        Of T / H of known switches, and 0.
    rest : float
        Of (H - W / 2 - T / 6) / F of runs, at most.
    odd_low, odd_high : float
        Of (H - W / 2 - T / 6) / H of known switches, and 0.
    short : float
        Of 2 - W / H of known switches, at most, and 0.
    switch_fourth : float
        F of all known switches of a plan, at most.
    widest : float
        Greatest Y.
    lean : float
        F / T of runs, at most.
    """

    variance_low: float = 2.0
    variance_high: float = 2.0
    any_variance: float = 2.0
    third_low: float = 0.0
    third_high: float = 0.0
    rest: float = 0.0
    odd_low: float = 0.0
    odd_high: float = 0.0
    short: float = 0.0
    switch_fourth: float = 0.0
    widest: float = math.inf
    lean: float = 3.0

    def least_variance(self, divergence: float, fourth: float) -> float:
        """At most W for an H from a value on and F up to a value: H - W / 2 <= T / 6 + rest F for runs.

        The line rises in H where it is positive.
        """
        third = 2 * math.sqrt(self.variance_high * divergence * fourth / 6)
        least = (2 - self.short) * divergence - third / 3 - 2 * self.rest * fourth
        return max(self.variance_low * divergence, least) * (1 - _ROUNDING) - _ROUNDING

    def greatest_variance(self, divergence: float, fourth: float) -> float:
        """At least W for an H up to a value and F from a value on: H - W / 2 >= T / 6 + F / 24 for runs."""
        runs = max(fourth - self.switch_fourth, 0.0)
        beyond = runs / (3 * self.lean) + runs / 12
        return (self.variance_high * divergence - beyond) * (1 + _ROUNDING) + _ROUNDING

    def seconds(
        self, divergences: tuple[float, float], variance: float, fourths: tuple[float, float]
    ) -> tuple[float, float, float, float]:
        """Between which T + 3 W and T lie, for H and F in intervals and W up to a value.

        Runs have H - W / 2 - T / 6 <= rest F, and F / lean <= T <= 2 (W F / 6)**(1/2). From below, what is
        at least H - W / 2 - T / 6 rises in F and falls in T.
        """
        low, high = divergences
        runs = max(fourths[0] - self.switch_fourth, 0.0)
        slack = _ROUNDING * (1 + high + fourths[1])
        third = 2 * math.sqrt(max(variance, 0.0) * fourths[1] / 6)
        return (
            6 * (low - self.rest * fourths[1] - self.odd_high * high) - slack,
            6 * (high - _least_rest(runs, third) - self.odd_low * high) + slack,
            runs / self.lean + self.third_low * high - slack,
            third + self.third_high * high + slack,
        )


def tilted_margins(budget: float, ends: FloatArray, fourths: FloatArray, spread: Spread) -> FloatArray:
    """Delta* for plans with H and F in cells, shape (len(fourths) - 1, len(ends) - 1).

    It is infinite where no plan can be in a cell, and -infinite where nothing is known.

    Parameters
    ----------
    budget : float
        p = 1 - omega.
    ends : ndarray
        Rising ends of the cells of H, from 0 on.
    fourths : ndarray
        The same for F; the last may be infinite.
    spread : Spread
        What else is known of these plans.
    """
    allowed = budget * np.exp(ends[1:]) * (1 + _ROUNDING)
    found = np.empty((len(fourths) - 1, len(ends) - 1))
    for row, (low, high) in enumerate(itertools.pairwise(fourths.tolist())):
        if math.isfinite(high):
            plain = _jensen(spread.variance_high * ends[1:], allowed)
            found[row] = np.maximum(plain, _near(allowed, ends, (low, high), spread))
        else:
            found[row] = _jensen(spread.any_variance * ends[1:], allowed)
    finite = np.where(np.isfinite(found), found, 0.0)
    return np.asarray(found - _ROUNDING * (1 + abs(finite)))


def plane(ends: FloatArray, fourths: FloatArray, values: FloatArray) -> tuple[float, float, float]:
    """A plane below values on cells: at the first corner, and its slopes in H and in F.

    Shapes (n + 1,), (m + 1,) and (m, n). It is the one that lies least below on average; with an infinite end
    of F it does not depend on F. Cells without plans do not count; where there are no others, the plane asks
    for more than any plan needs.
    """
    if np.isneginf(values).any():
        return -math.inf, 0.0, 0.0
    if np.isposinf(values).all():
        return _NO_PLANS, 0.0, 0.0
    slopes, others = {0.0, _slope(values.T, ends)}, {0.0}
    if math.isfinite(fourths[-1]):
        others.add(_slope(values, fourths))
    best = -math.inf, 0.0, 0.0, 0.0
    for slope, other in itertools.product(slopes, others):
        along = (ends[1:] if slope > 0 else ends[:-1]) - ends[0]
        rest = values - slope * along
        if other:
            rest = rest - other * ((fourths[1:] if other > 0 else fourths[:-1]) - fourths[0])[:, None]
        corner = float(rest.min())
        below = float((rest - corner)[np.isfinite(values)].mean())
        best = max(best, (-below, corner, slope, other))
    return best[1:]


def _least_rest(fourth: float, third: float) -> float:
    """At most H - W / 2 - T / 6 of runs with F from a value on and T up to a value; F / 24 and more."""
    if third <= 0:
        return fourth / 24
    share = min(fourth / (3 * third), 1.0)
    return third / 2 * sum(share**n / (n + 3) for n in range(1, _REST_TERMS + 1))


def _slope(values: FloatArray, ends: FloatArray) -> float:
    """From the first row with plans to the last one, between the left ends of their cells."""
    known = np.flatnonzero(np.isfinite(values).any(axis=1))
    first, last = int(known[0]), int(known[-1])
    both = np.isfinite(values[first]) & np.isfinite(values[last])
    if first == last or not both.any():
        return 0.0
    return float((values[last][both] - values[first][both]).mean() / (ends[last] - ends[first]))


def _near(allowed: FloatArray, ends: FloatArray, fourths: tuple[float, float], spread: Spread) -> FloatArray:
    """Delta* of the cells of H by the characteristic function; -infinity where f is not known well enough."""
    cells = list(itertools.pairwise(ends.tolist()))
    variances = np.array(
        [
            (spread.least_variance(low, fourths[1]), spread.greatest_variance(high, fourths[0]))
            for low, high in cells
        ]
    )
    seconds = np.array(
        [spread.seconds(cell, row[1], fourths) for cell, row in zip(cells, variances, strict=True)]
    )
    return largest_shifts(allowed, variances, seconds, np.array(fourths), spread.switch_fourth, spread.widest)


def _jensen(variances: FloatArray, allowed: FloatArray) -> FloatArray:
    """-c for the least c of a grid with A(-c) > ``allowed``; -infinity if there is none."""
    c, w = _FALLBACKS, (variances * (1 + _ROUNDING) + _ROUNDING)[:, None]
    proved = c**2 / (w + c**2) * np.exp(-w / c) > allowed[:, None]
    found: FloatArray = np.full(len(allowed), -math.inf)
    some = proved.any(axis=1)
    found[some] = -c[proved[some].argmax(axis=1)]
    return found
