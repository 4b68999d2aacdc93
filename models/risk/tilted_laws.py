r"""Laws under a tilt, and numbers that add up over increments (for `depl.models.risk.tilted_bound`).

An increment Y = c X of the gain is looked at under its law tilted by e**(-s Y). Its *share* is u = s c, and
all that is said of it here is free of units:

    H(u) = KL(tilted | law) = -ln E e**(-u X) - u E_u X      the divergence,
    D(u) = u (E X - E_u X)                                   what the tilt takes off the mean,
    W(u) = u**2 Var_u X,  T(u) = u**3 kappa_3(u)             variance and third cumulant,
    F(u)                                                     for the remainder: see below.

H, D, W and T of independent increments add up. With Z = u (X - E_u X) under the tilted law,

    ln E_u e**(i y Z) = -W y**2 / 2 - i T y**3 / 6 + theta F y**4 / 24,   |theta| <= 1.

*Generalised gamma convolutions* without left tail, among them inverse gamma and lognormal laws (Halgreen 1979
and Thorin 1977; Bondesson 1992, Springer LNS 76): ln E e**(-u X) = -a u - int ln(1 + u / t) U(dt). The tilted
law has U shifted by u. With v = (u / (t + u))**2 in (0, 1) and m(dv) = v U(dt),

    W = int m,   T = 2 int sqrt(v) dm,   F = u**4 kappa_4(u) = 6 int v dm,
    H = int (1/2 + sqrt(v) / 3 + v / 4 + ...) dm >= W / 2,   dH/du = u kappa_2(u),
    |E_u e**(i y Z)| = exp(-d(y)),   d(y) = int ln(1 + y**2 v) / (2 v) dm.

The law has jumps to the right only, so kappa_j(u), the integral of x**j e**(-u x) over its Levy measure, is
positive and falls in u for j >= 2, and F is right for all y because of
|e**(i x) - 1 - i x + x**2 / 2 + i x**3 / 6| <= x**4 / 24. Jensen's inequality gives

    0 <= T <= 2 (W F / 6)**(1/2),   d(y) >= 3 W**2 / F ln(1 + y**2 F / (6 W)),
    H - W / 2 - T / 6 = int (v / 4 + v**(3/2) / 5 + ...) dm >= T / 2 (r / 4 + r**2 / 5 + ...),  r = F / (3 T),

the last one under the measure sqrt(v) m(dv). All of that passes on to sums. A normal law is the case v = 0:
H = W / 2, T = F = 0, d = W y**2 / 2.

Every table is rounded to the safe side by what its sums in double precision may be off (`_ROUNDING`).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from depl.models.epochs import NoiseLaw
from depl.models.laws import FloatArray, InverseGamma, Lognormal, Normal

STEP = 0.01
"""Distance of the nodes of a table, in ln u."""

_LEFT, _RIGHT = -745.0, -42.0
_FINEST, _COARSEST = 0.4, 0.2
_CHUNK = 512
_ROUNDING = 1e-13


def covers(law: NoiseLaw) -> bool:
    """Whether epochs may follow the law: those whose characteristic functions fall for good."""
    return isinstance(law, InverseGamma | Lognormal | Normal)


def unit_of(law: NoiseLaw) -> float:
    """What u is counted in: the mean of a positive law, the standard deviation of a normal one."""
    mean, variance = law.moments()
    return math.sqrt(variance) if isinstance(law, Normal) else mean


@dataclass(frozen=True, eq=False)
class TiltedTable:
    """H and D of one law at nodes ln u = start + i STEP, for values in between by linear interpolation.

    With x = ln u: dH/dx = W, d2H/dx2 = 2 W - T, dD/dx = D + W, d2D/dx2 = D + 3 W - T. On an interval
    [u, u'] the falling cumulants give W <= u'**2 kappa_2(u) and T <= u'**3 kappa_3(u), so a chord is off by
    at most STEP**2 / 8 times what follows; that is put into the nodes.

    Attributes
    ----------
    start : float
        ln u of the first node.
    lost_low : ndarray
        Interpolated: at most D.
    low, high : ndarray
        Interpolated: at most and at least H.
    fourth_low, fourth_high : ndarray
        The same for F, from what it is at the ends of an interval.
    ratio, rest, steep, lean : ndarray
        At most W / H, at least (H - W / 2 - T / 6) / F, F / H and F / T, between a node and the next;
        ``rest`` but for `unclear`.
    """

    start: float
    lost_low: FloatArray
    low: FloatArray
    high: FloatArray
    fourth_low: FloatArray
    fourth_high: FloatArray
    ratio: FloatArray
    rest: FloatArray
    steep: FloatArray
    lean: FloatArray

    @classmethod
    def of(cls, law: NoiseLaw, first: float, last: float) -> "TiltedTable":
        """Tabulate a covered law for ln u between two values."""
        count = math.ceil((last - first) / STEP) + 2
        u = np.exp(first + STEP * np.arange(count))
        if isinstance(law, Normal):
            ones, zeros = np.ones(count), np.zeros(count)
            divergence, lost, second, third, fourth = u**2 / 2, u**2, ones, zeros, zeros
        else:
            divergence, lost, second, third, fourth = _tilted(*_points(law, float(u[0])), u)
        off, unclear = _ROUNDING * (1 + u), 10 * _ROUNDING * second**2
        above = u[1:] ** 2 * second[:-1]  # W on an interval, at most
        low = u[:-1] ** 4 * np.maximum(fourth - unclear, 0.0)[1:]
        high = u[1:] ** 4 * (fourth + np.where(fourth > 0, unclear, 0.0))[:-1]
        least = u[:-1] ** 2 * second[1:]
        bend = STEP**2 / 8
        curved = np.maximum(u[1:] ** 3 * third[:-1] - 2 * least, 0.0)
        return cls(
            first,
            lost - off - _greatest_beside(bend * (lost[1:] + 3 * above)),
            divergence - off - _greatest_beside(bend * 2 * above),
            divergence + off + _greatest_beside(bend * curved),
            -_greatest_beside(-low),
            _greatest_beside(high),
            _least_ratio(law, u, least, second, divergence + off),
            _greatest_rest(divergence - u**2 * second / 2 - u**3 * third / 6 - off, low),
            high / np.maximum(divergence - off, u**2 * second / 2)[:-1] * (1 + 1e-9),
            _greatest_lean(u, second, third, fourth, high),
        )

    def ratios(self, first: float, last: float, most: float) -> tuple[float, float, float, float]:
        """The four ratios for all ln u between two values with H <= most."""
        begin = min(max(0, math.floor((first - self.start) / STEP)), len(self.ratio) - 1)
        end = min(math.ceil((last - self.start) / STEP), int(np.searchsorted(self.low, most))) + 1
        rows = slice(begin, max(begin + 1, end))
        rest, steep, lean = (float(table[rows].max()) for table in (self.rest, self.steep, self.lean))
        return float(self.ratio[rows].min()), rest, steep, lean


def unclear(shares: float) -> float:
    """What H - W / 2 - T / 6 may be off in all, for shares that sum up to a value with 1 for each of them."""
    return 3 * _ROUNDING * shares


def _least_ratio(
    law: NoiseLaw, u: FloatArray, least: FloatArray, second: FloatArray, divergence: FloatArray
) -> FloatArray:
    """W / H of every interval: H from its table, or H <= u**2 kappa_2(0) / 2, which is exact for small u."""
    by_table = least / divergence[1:]
    variance = law.moments()[1] / unit_of(law) ** 2
    if not math.isfinite(variance):
        return np.asarray(by_table * (1 - 1e-9))
    return np.asarray(np.maximum(by_table, 2 * least / (u[1:] ** 2 * variance)) * (1 - 1e-9))


def _greatest_rest(beyond: FloatArray, fourth: FloatArray) -> FloatArray:
    """(H - W / 2 - T / 6) / F of every interval: the numerator rises, its slope in ln u is F / 6."""
    rest = np.zeros(len(fourth))
    np.divide(np.maximum(beyond[1:], 0.0), fourth, out=rest, where=fourth > 0)
    return rest


def _greatest_lean(
    u: FloatArray, second: FloatArray, third: FloatArray, fourth: FloatArray, high: FloatArray
) -> FloatArray:
    """F / T of every interval, F up to ``high``; never more than 3, as v <= 1."""
    unclear = 10 * _ROUNDING * np.sqrt(second * (fourth + 3 * second**2))
    least = u[:-1] ** 3 * np.maximum(third - unclear, 0.0)[1:]
    lean = np.divide(high, least, out=np.where(high > 0, 3.0, 0.0), where=least > 0)
    return np.asarray(np.minimum(lean * (1 + 1e-9), 3.0))


def _tilted(points: FloatArray, weights: FloatArray, u: FloatArray) -> tuple[FloatArray, ...]:
    """H, D, kappa_2, kappa_3 and kappa_4 of a positive law of mean 1 at some u."""
    found = np.empty((5, len(u)))
    for begin in range(0, len(u), _CHUNK):
        rows = slice(begin, begin + _CHUNK)
        share = u[rows, None]
        exponents = -share * (points - 1)
        highest = exponents.max(axis=1, keepdims=True)
        tilted = np.exp(exponents - highest) * weights
        total = tilted.sum(axis=1, keepdims=True)
        tilted /= total
        mean = (tilted * points).sum(axis=1)
        centred = points - mean[:, None]
        second, third, fourth = ((tilted * centred**power).sum(axis=1) for power in (2, 3, 4))
        divergence = -(np.log(total) + highest)[:, 0] - u[rows] * (mean - 1)
        found[:, rows] = divergence, u[rows] * (1 - mean), second, third, fourth - 3 * second**2
    return tuple(np.maximum(row, 0.0) for row in found)


def _points(law: NoiseLaw, least: float) -> tuple[FloatArray, FloatArray]:
    """The law of X / E X as points and weights: the trapezoidal rule for its logarithm.

    The density of ln X is analytic and falls double exponentially or like a normal one, so that the rule is
    exact to rounding; to the left it goes as far as any tilt can move the law, to the right to where X has
    no mass left, and further where E X comes from far out, until e**(-u X) is nothing for the ``least`` u.
    """
    mean = law.moments()[0]
    if isinstance(law, InverseGamma):
        shape, scale = law.shape_scale()
        spread = math.sqrt(float(special.polygamma(1, shape)))
        step = min(_FINEST * spread, _COARSEST)
        peak = math.log(scale / shape)
        last = min(peak + max(-_RIGHT / (shape - 1), 12 * spread), math.log(-_LEFT * mean / least) + 1)
        ends = math.log(scale / (shape - _LEFT)), max(last, peak - _RIGHT / shape)
        grid = np.arange(ends[0] - 0.5, ends[1] + 1, step)
        logarithms = -shape * (grid - peak) - scale * np.exp(-grid) + shape
    elif isinstance(law, Lognormal):
        centre, spread = law.log_parameters()
        step = min(_FINEST * spread, _COARSEST)
        grid = np.arange(centre - 38 * spread, centre + spread**2 + 11 * spread, step)
        logarithms = -((grid - centre) ** 2) / (2 * spread**2)
    else:
        raise TypeError(f"no table of a {type(law).__name__}")
    weights = np.exp(logarithms)
    kept = weights > 0
    points, weights = np.exp(grid[kept]) / mean, weights[kept]
    return points, weights / weights.sum()


def _greatest_beside(gaps: FloatArray) -> FloatArray:
    """At every node the greater of its two intervals."""
    greatest: FloatArray = np.maximum(np.append(gaps, gaps[-1]), np.insert(gaps, 0, gaps[0]))
    return greatest
