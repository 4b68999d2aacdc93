r"""How much gain a plan needs at least, seen from under an exponential tilt: sharp for many increments.

Let G be the total gain of a plan, a sum of independent increments, s > 0 a rate and Q the law tilted by
e**(-s G). With H = KL(Q | P), mu = E_Q G and Z = s (G - mu),

    P(G < g) = e**(-H) A(Delta),   A(Delta) = E_Q[e**Z; Z < -Delta],   Delta = s (mu - g).

A falls in Delta, so a plan with P(G < g) <= p has s mu >= s g + Delta* for every Delta* with
A(Delta*) > p e**H. H, mu, and the numbers W, T, F of Z under Q add up (`depl.models.risk.tilted_laws`); the
tilt takes the heavy tails off, and what is left of a sum of many is nearly normal. Two bounds of A:

*Characteristic function.* e**z for z < -Delta has the transform e**(-(1 - i y) Delta) / (1 - i y), so

    A = e**(-Delta) / pi  Re int_0^infinity e**(i y Delta) f(y) / (1 - i y) dy,   f(y) = E_Q e**(i y Z).

Up to some Y, f is exp(-W y**2 / 2 - i T y**3 / 6) within e**(-W y**2 / 2) (e**(F y**4 / 24) - 1), or closer
with a term in F (`_remainders`). Everywhere |f(y)| <= exp(-d(y)), d(y) = 3 W**2 / F ln(1 + y**2 F / (6 W)),
which also makes the integral converge. For plans with H and F in a cell, W and T lie in known intervals; the
least A over them is taken on a grid, less what A changes within half a step.

*Jensen*: with q = Q(Z < c), Cauchy and Schwarz give E_Q[Z; Z < c] = -E_Q[Z; Z >= c] >= -(W q (1 - q))**(1/2),
so A(-c) >= q e**(-(W (1 - q) / q)**(1/2)), which rises in q, and q >= c**2 / (W + c**2) by Cantelli:
A(-c) >= c**2 / (W + c**2) e**(-W / c). It needs nothing but W.

For normal increments H = W / 2, T = F = 0: the first bound is Phi itself, and nothing is lost.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.laws import FloatArray

ComplexArray = NDArray[np.complex128]

_PANEL, _PANELS = 0.6, 12
_LEGENDRE = np.polynomial.legendre.leggauss(8)
_FURTHEST, _TAIL = 1e5, 60
_CIRCLE = 200
_VARIANCES, _THIRDS = 20, 3
_SHIFTS = np.concatenate([np.arange(-2.4, -1.0, 0.05), np.arange(-1.0, 0.6, 0.008)])
_FALLBACKS = np.geomspace(0.2, 50.0, 400)
_LARGE = 0.4
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Spread:
    """What is known of W and T of a plan with a given H, and how far f is known.

    Attributes
    ----------
    variance_low, variance_high : float
        Of W / H.
    third_low, third_high : float
        Of what T may lie below 0 and above 2 (W F / 6)**(1/2), per H.
    rest : float
        Of (H - W / 2 - T / 6) / F of runs, at most.
    short : float
        Of 2 - W / H of switches, at most, and 0.
    switch_fourth : float
        F of all switches, at most.
    widest : float
        Greatest Y.
    """

    variance_low: float = 2.0
    variance_high: float = 2.0
    third_low: float = 0.0
    third_high: float = 0.0
    rest: float = 0.0
    short: float = 0.0
    switch_fourth: float = 0.0
    widest: float = math.inf

    def least_variance(self, divergence: float, fourth: float) -> float:
        """At most W for an H and F up to a value: H - W / 2 <= T / 6 + rest F."""
        third = 2 * math.sqrt(self.variance_high * divergence * fourth / 6)
        least = (2 - self.short) * divergence - third / 3 - 2 * self.rest * fourth
        return max(self.variance_low * divergence, least)

    def greatest_variance(self, divergence: float, fourth: float) -> float:
        """At least W for an H, and F from a value on: H - W / 2 >= 7 / 72 F for runs."""
        return self.variance_high * divergence - 7 / 36 * max(fourth - self.switch_fourth, 0.0)

    def thirds(self, divergence: float, variance: float, fourths: tuple[float, float]) -> tuple[float, float]:
        """Between which T lies."""
        low = max(fourths[0] - self.switch_fourth, 0.0) / 3 + self.third_low * divergence
        high = 2 * math.sqrt(variance * fourths[1] / 6) + self.third_high * divergence
        return low, max(low, high)


def tilted_margins(budget: float, ends: FloatArray, fourths: FloatArray, spread: Spread) -> FloatArray:
    """Delta* for plans with H and F in cells, shape (len(fourths) - 1, len(ends) - 1).

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
    plain = np.array([_jensen(w, p) for w, p in zip(spread.variance_high * ends[1:], allowed, strict=True)])
    found = np.tile(plain, (len(fourths) - 1, 1))
    if ends[0] > 0:
        for row, (low, high) in enumerate(itertools.pairwise(fourths.tolist())):
            if math.isfinite(high):
                found[row] = np.maximum(plain, _near(allowed, ends, (low, high), spread))
    return np.asarray(found - _ROUNDING * (1 + abs(found)))


def plane(ends: FloatArray, fourths: FloatArray, values: FloatArray) -> tuple[float, float, float]:
    """A plane below values on cells: at the first corner, and its slopes in H and in F.

    Shapes (n + 1,), (m + 1,) and (m, n). With an infinite end of F it does not depend on F.
    """
    if not np.isfinite(values).all():
        return -math.inf, 0.0, 0.0
    middle = values.mean(axis=0)
    slopes = {0.0, (middle[-1] - middle[0]) / (ends[-2] - ends[0]) if len(middle) > 1 else 0.0}
    others = {0.0}
    if math.isfinite(fourths[-1]) and len(values) > 1:
        others.add(float((values[-1] - values[0]).mean() / (fourths[-2] - fourths[0])))
    best = -math.inf, 0.0, 0.0, 0.0
    for slope, other in itertools.product(slopes, others):
        along = (ends[1:] if slope > 0 else ends[:-1]) - ends[0]
        rest = values - slope * along
        if other:
            rest = rest - other * ((fourths[1:] if other > 0 else fourths[:-1]) - fourths[0])[:, None]
        corner = float(rest.min())
        across = other * (fourths[-1] - fourths[0]) if other else 0.0
        best = max(best, (corner + (slope * (ends[-1] - ends[0]) + across) / 2, corner, slope, other))
    return best[1:]


def _near(allowed: FloatArray, ends: FloatArray, fourths: tuple[float, float], spread: Spread) -> FloatArray:
    """Delta* of the cells of H, for F between two values; -infinity where f is not known well enough."""
    lows = np.array([spread.least_variance(float(end), fourths[1]) for end in ends[:-1]])
    highs = np.array([spread.greatest_variance(float(end), fourths[0]) for end in ends[1:]])
    found = np.full(len(allowed), -math.inf)
    if not 0 < lows.min() < highs.max():
        return found
    variances = np.geomspace(lows.min(), highs.max() * (1 + 1e-12), _VARIANCES)
    half = math.sqrt(variances[1] / variances[0])
    thirds = np.linspace(*spread.thirds(float(ends[-1]), float(variances[-1]), fourths), _THIRDS)
    panels = _Panels.of(float(variances[0]))
    for remainder in _remainders(panels.y, fourths, spread.switch_fourth):
        least = _least(variances, half, thirds, fourths, spread.widest, panels, remainder)
        for index, limit in enumerate(allowed):
            rows = (variances * half >= lows[index] * (1 - 1e-9)) & (
                variances / half <= highs[index] * (1 + 1e-9)
            )
            proved = np.flatnonzero(least[rows].min(axis=0, initial=math.inf) > limit)  # all without plans
            if proved.size:
                found[index] = max(found[index], _SHIFTS[proved[-1]])
    return found


def _least(
    variances: FloatArray,
    half: float,
    thirds: FloatArray,
    fourths: tuple[float, float],
    widest: float,
    panels: "_Panels",
    remainder: tuple[ComplexArray, FloatArray],
) -> FloatArray:
    """A from below around every W, for all of some T, at `_SHIFTS`."""
    y, weights = panels.y, panels.weights
    offset, radius = remainder
    w = (variances / half)[:, None]
    modulus = np.exp(np.minimum(-w * y**2 / 2 + offset.real, 300.0))
    taken = weights / np.sqrt(1 + y**2) * modulus * np.expm1(np.minimum(radius, 300.0))
    lost, last = _lost(w, fourths[1], widest, panels, taken)
    used = y < last
    y, weights, offset = y[used], weights[used], offset[used]
    normal = weights * modulus[:, used] / np.sqrt(1 + y**2)
    lost = lost + variances * (half - 1) * (normal @ y**2) / 2 + _ROUNDING
    lost = lost + (thirds[1] - thirds[0]) / 2 * (normal @ y**3) / 6
    turned = np.exp(1j * np.outer(y, _SHIFTS)) * (weights * np.exp(offset) / (1 - 1j * y))[:, None]
    near = np.exp(-variances[:, None, None] * y**2 / 2 - 1j * thirds[:, None] * y**3 / 6)
    flat = near.reshape(-1, len(y))
    real = np.concatenate([flat.real, -flat.imag], axis=1) @ np.concatenate([turned.real, turned.imag])
    inner = real.reshape(len(variances), _THIRDS, -1).min(axis=1)
    return np.asarray((inner - lost[:, None]) * np.exp(-_SHIFTS))


def _remainders(
    y: FloatArray, fourths: tuple[float, float], switches: float
) -> list[tuple[ComplexArray, FloatArray]]:
    """What stands in f beside W and T, and how far off it may be: nothing and F y**4 / 24; or c(y) F / 6.

    For runs, ln f + W y**2 / 2 + i T y**3 / 6 is the integral of k(w, y) w**2 over m with w = v**(1/2),
    k = ((-ln(1 - i y w) - i y w) / w**2 + y**2 / 2 + i y**3 w / 3) / w**2 from y**4 / 4 at w = 0 on: within a
    circle around some c(y). What F of switches may be, of all, is off by y**4 / 4 around 0.
    """
    plain = np.zeros(len(y), dtype=np.complex128), fourths[1] * y**4 / 24
    if fourths[0] < _LARGE:
        return [plain]
    centre, radius = _circle(y)
    own = min(switches, fourths[1])
    off = fourths[1] * radius + (fourths[1] - fourths[0]) / 2 * abs(centre)
    off += own * np.maximum(abs(centre) + y**4 / 4 - radius, 0.0)
    return [plain, (centre * (fourths[0] + fourths[1]) / 12, off / 6)]


def _circle(y: FloatArray) -> tuple[ComplexArray, FloatArray]:
    """Centre and radius of a circle around k(w, y), 0 <= w <= 1, for every y.

    k(w, y) = y**4 g(y w); g is looked up at equal steps and moves less than ``between`` within one.
    """
    x = np.linspace(0.0, 1.0, _CIRCLE + 1) * float(y.max())
    turned = np.where(x < 0.1, 1.0, x)
    g = (-np.log1p(-1j * turned) - 1j * turned + turned**2 / 2 + 1j * turned**3 / 3) / turned**4
    g = np.where(x < 0.1, 1 / 4 + 1j * x / 5 - x**2 / 6 - 1j * x**3 / 7, g)  # next to 0 by its series
    between = float(np.abs(np.diff(g)).max())
    last = np.minimum(np.searchsorted(x, y), _CIRCLE)
    centre = (g[0] + g[last]) / 2
    seen = np.abs(g - centre[:, None])
    radius = np.where(np.arange(len(g)) <= last[:, None], seen, 0.0).max(axis=1) + between
    return centre * y**4, radius * y**4


def _lost(
    w: FloatArray, fourth: float, widest: float, panels: "_Panels", taken: FloatArray
) -> tuple[FloatArray, float]:
    """What the remainder may take off up to Y and what lies beyond, at the best Y, by W; and that Y."""
    near = np.add.accumulate(panels.sums(taken), axis=1)
    beyond = panels.sums(panels.weights * _modulus(w, fourth, panels.y) / np.sqrt(1 + panels.y**2))
    rest = np.add.accumulate(beyond[:, ::-1], axis=1)[:, ::-1]
    far, widths = panels.tail()  # |f| falls: from the left of every step of ln y
    after = np.sum(widths * _modulus(w, fourth, far[:-1]), axis=1, keepdims=True)
    power = 6 * w**2 / fourth if fourth > 0 else np.full_like(w, math.inf)  # then |f| falls like a power
    after = after + _modulus(w, fourth, far[-1:]) / power / math.pi
    after = after + np.concatenate([rest[:, 1:], np.zeros_like(w)], axis=1)
    total = np.where(panels.ends <= widest, near + after, math.inf)
    best = int(np.argmin(total[len(total) // 2]))
    return np.asarray(total[:, best]) * (1 + 1e-6), float(panels.ends[best])


def _modulus(w: FloatArray, fourth: float, y: FloatArray) -> FloatArray:
    """At least |f|."""
    if fourth <= 0:
        return np.asarray(np.exp(-w * y**2 / 2))
    return np.asarray(np.exp(-3 * w**2 / fourth * np.log1p(y**2 * fourth / (6 * w))))


@dataclass(frozen=True, eq=False)
class _Panels:
    """Gauss-Legendre nodes for y from 0 on, weights over pi, and the ends of the panels."""

    y: FloatArray
    weights: FloatArray
    ends: FloatArray

    @classmethod
    def of(cls, variance: float) -> "_Panels":
        """As far as a normal law of at least this variance goes."""
        points, weights = _LEGENDRE
        width = _PANEL / math.sqrt(variance)
        y = width * (np.arange(_PANELS)[:, None] + (points + 1) / 2)
        share = np.tile(weights * width / 2 / math.pi, _PANELS)
        ends: FloatArray = np.arange(1.0, _PANELS + 1) * width
        return cls(y.ravel(), share, ends)

    def sums(self, values: FloatArray) -> FloatArray:
        """By panel."""
        return np.asarray(values.reshape(len(values), _PANELS, -1).sum(axis=2))

    def tail(self) -> tuple[FloatArray, FloatArray]:
        """Points beyond the panels, and steps of ln y over pi."""
        logs = math.log(self.ends[-1]) + np.linspace(0.0, math.log(_FURTHEST), _TAIL + 1)
        return np.exp(logs), np.diff(logs) / math.pi


def _jensen(variance: float, allowed: float) -> float:
    """-c for the least c of a grid with A(-c) > ``allowed``; -infinity if there is none."""
    c, w = _FALLBACKS, variance
    proved = np.flatnonzero(c**2 / (w + c**2) * np.exp(-w / c) > allowed)
    return -float(c[proved[0]]) if proved.size else -math.inf
