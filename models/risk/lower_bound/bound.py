"""How much gain a plan needs at least, seen from under an exponential tilt: sharp for many increments.

With H = KL(Q | P) of the law Q tilted by e**(-s G), mu = E_Q G, Z = s (G - mu) and Delta = s (mu - g),

    P(G < g) = e**(-H) A(Delta),   A(Delta) = E_Q[e**Z; Z < -Delta].

Two bounds of A, by the characteristic function of Z and by Jensen's inequality, are derived on the page "The
loop with bounds" (``loop``), under "Under a tilt nothing is lost for many epochs".
"""

import itertools
import math

import numpy as np

from depl.models.problem.laws import FloatArray
from depl.models.risk.lower_bound.spread import Spread
from depl.models.risk.lower_bound.transform import largest_shifts

_FALLBACKS = np.geomspace(0.2, 50.0, 400)
_ROUNDING = 1e-9
"""Relative amount by which every number is moved to the safe side, on which soundness rests: exponents in
double precision are below 745, so exponentials are off by 745 times 2**-53 = 8e-14 for each of about ten
roundings. What sums and integrals may be off is counted where they are made."""

_NO_PLANS = 2.0
"""Corner where no plan is, so that any value is sound: that of `transform._HIGHEST`, the greatest Delta* that
the first bound gives to cells with plans."""


def tilted_margins(budget: float, ends: FloatArray, excesses: FloatArray, spread: Spread) -> FloatArray:
    """Delta* for plans with H and B in cells, shape (len(excesses) - 1, len(ends) - 1).

    It is infinite where lines show that no plan is in a cell, and -infinite where nothing is known.

    Parameters
    ----------
    budget : float
        p = 1 - omega.
    ends : ndarray
        Rising ends of the cells of H, from 0 on.
    excesses : ndarray
        The same for B; the last may be infinite, and the first negative.
    spread : depl.models.risk.lower_bound.spread.Spread
        What else is known of these plans.
    """
    allowed = budget * np.exp(ends[1:]) * (1 + _ROUNDING)
    found = np.empty((len(excesses) - 1, len(ends) - 1))
    for row, (least, most) in enumerate(itertools.pairwise(excesses.tolist())):
        if math.isfinite(most + spread.roughness) and spread.widest > 0:
            found[row] = _near(allowed, ends, (least, most), spread)
        else:
            found[row] = _jensen(np.maximum(2 * (ends[1:] - least), 0.0), allowed)
    finite = np.where(np.isfinite(found), found, 0.0)
    return np.asarray(found - _ROUNDING * (1 + abs(finite)))


def plane(ends: FloatArray, excesses: FloatArray, values: FloatArray) -> tuple[float, float, float]:
    """A plane below values on cells: at the first corner, and its slopes in H and in B.

    Shapes (n + 1,), (m + 1,) and (m, n). It is the one that lies least below on average; with an infinite end
    of B it does not depend on B. Cells without plans do not count; where there are no others, the plane asks
    for more than any plan needs.
    """
    if np.isneginf(values).any():
        return -math.inf, 0.0, 0.0
    if np.isposinf(values).all():
        return _NO_PLANS, 0.0, 0.0
    slopes, others = {0.0, _slope(values.T, ends)}, {0.0}
    if math.isfinite(excesses[-1]):
        others.add(_slope(values, excesses))
    best = -math.inf, 0.0, 0.0, 0.0
    for slope, other in itertools.product(slopes, others):
        along = (ends[1:] if slope > 0 else ends[:-1]) - ends[0]
        rest = values - slope * along
        if other:
            rest = rest - other * ((excesses[1:] if other > 0 else excesses[:-1]) - excesses[0])[:, None]
        corner = float(rest.min())
        below = float((rest - corner)[np.isfinite(values)].mean())
        best = max(best, (-below, corner, slope, other))
    return best[1:]


def _slope(values: FloatArray, ends: FloatArray) -> float:
    """From the first row with plans to the last one, between the left ends of their cells."""
    known = np.flatnonzero(np.isfinite(values).any(axis=1))
    first, last = int(known[0]), int(known[-1])
    both = np.isfinite(values[first]) & np.isfinite(values[last])
    if first == last or not both.any():
        return 0.0
    return float((values[last][both] - values[first][both]).mean() / (ends[last] - ends[first]))


def _near(allowed: FloatArray, ends: FloatArray, excesses: tuple[float, float], spread: Spread) -> FloatArray:
    """Delta* of the cells of H, by the characteristic function or else by Jensen."""
    cells = list(itertools.pairwise(ends.tolist()))
    variances = np.array([spread.variances(cell, excesses) for cell in cells])
    thirds = np.array([spread.thirds(high, excesses) for _, high in cells])
    fourths = np.array([spread.fourths(high, excesses) for _, high in cells])
    near = largest_shifts(allowed, variances, thirds, fourths, spread.switch_fourth, spread.widest)
    return np.maximum(near, _jensen(np.maximum(variances[:, 1], 0.0), allowed))


def _jensen(variances: FloatArray, allowed: FloatArray) -> FloatArray:
    """-c for the least c of a grid with A(-c) > ``allowed``; -infinity if there is none."""
    c, w = _FALLBACKS, (variances * (1 + _ROUNDING) + _ROUNDING)[:, None]
    proved = c**2 / (w + c**2) * np.exp(-w / c) > allowed[:, None]
    found: FloatArray = np.full(len(allowed), -math.inf)
    some = proved.any(axis=1)
    found[some] = -c[proved[some].argmax(axis=1)]
    return found
