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

    0 <= T <= 2 (W F / 6)**(1/2),   d(y) >= 3 W**2 / F ln(1 + y**2 F / (6 W)).

All of that passes on to sums. A normal law is the case v = 0: H = W / 2, T = F = 0, d = W y**2 / 2.

*Any law with moments* has F = E_u Z**4 + 6 W**2 as long as W y**2 <= 1. For w = 1 - E_u e**(i y Z) then has
|w| <= W y**2 / 2 <= 1 / 2, so that |ln(1 - w) + w| <= |w|**2 <= W**2 y**4 / 4, and w is
W y**2 / 2 + i T y**3 / 6 up to E_u Z**4 y**4 / 24. For a switch F is raised until the bound of d(y) holds,
too, which then adds up with those of runs: W phi(F / W) with a falling convex phi is superadditive.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from depl.models.epochs import NoiseLaw, Term
from depl.models.laws import Empirical, FloatArray, InverseGamma, Lognormal, Normal, StudentT

STEP = 0.01
"""Distance of the nodes of a table, in ln u."""

_CUT = 0.01
_LEFT, _RIGHT = -745.0, -42.0
_FINEST, _COARSEST = 0.4, 0.2
_CHUNK = 512
_FINE = 0.06
_NEAR, _FARTHEST = 0.25, 100.0
_RAISED = (1.2, 1.5, 2.0, 3.0, 5.0, 10.0)
_CELLS = 300


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
    ratio, rest, steep : ndarray
        At most W / H, at least (H - W / 2 - T / 6) / F and F / H, between a node and the next.
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

    @classmethod
    def of(cls, law: NoiseLaw, first: float, last: float) -> "TiltedTable":
        """Tabulate a covered law for ln u between two values."""
        count = math.ceil((last - first) / STEP) + 2
        u = np.exp(first + STEP * np.arange(count))
        if isinstance(law, Normal):
            ones, zeros = np.ones(count), np.zeros(count)
            divergence, lost, second, third, fourth = u**2 / 2, u**2, ones, zeros, zeros
        else:
            divergence, lost, second, third, fourth = _tilted(*_points(law), u)
        above = u[1:] ** 2 * second[:-1]  # W on an interval, at most
        least = u[:-1] ** 2 * second[1:]
        bend = STEP**2 / 8
        beyond = divergence - u**2 * second / 2 - u**3 * third / 6  # rises: its slope in ln u is F / 6
        low = u[:-1] ** 4 * fourth[1:]
        curved = np.maximum(u[1:] ** 3 * third[:-1] - 2 * least, 0.0)
        return cls(
            first,
            lost - _greatest_beside(bend * (lost[1:] + 3 * above)),
            divergence - _greatest_beside(bend * 2 * above),
            divergence + _greatest_beside(bend * curved),
            -_greatest_beside(-low),
            _greatest_beside(u[1:] ** 4 * fourth[:-1]),
            least / divergence[1:],
            np.divide(np.maximum(beyond[1:], 0.0), low, out=np.zeros(count - 1), where=low > 0),
            u[1:] ** 4 * fourth[:-1] / divergence[:-1],
        )

    def ratios(self, first: float, last: float, most: float) -> tuple[float, float, float]:
        """The three ratios for all ln u between two values with H <= most."""
        begin = min(max(0, math.floor((first - self.start) / STEP)), len(self.ratio) - 1)
        end = min(math.ceil((last - self.start) / STEP), int(np.searchsorted(self.low, most))) + 1
        rows = slice(begin, max(begin + 1, end))
        return float(self.ratio[rows].min()), float(self.rest[rows].max()), float(self.steep[rows].max())


@dataclass(frozen=True)
class TiltedSwitch:
    """A switch under the tilt.

    Attributes
    ----------
    loss : float
        Mean loss under the tilted law [loss].
    divergence, variance, third, fourth : float
        H, and -ln of what was cut off; W, T, F.
    widest : float
        Greatest y at which F holds.
    """

    loss: float
    divergence: float
    variance: float
    third: float
    fourth: float
    widest: float

    @classmethod
    def of(cls, term: Term, rate: float) -> "TiltedSwitch":
        """Tilt the gain -c X of a switch by a rate s > 0 [1 / loss]."""
        share, law = -rate * term.coefficient, term.law
        if isinstance(law, Normal):
            w = share**2 * law.variance
            loss = term.coefficient * (law.mean - share * law.variance)
            return cls(loss, w / 2, w, 0.0, 0.0, math.inf)
        points, weights, cut, bounded = _switch_points(law, abs(share))
        exponents = -share * points
        highest = float(exponents.max())
        tilted = weights * np.exp(exponents - highest)
        total = float(tilted.sum())
        tilted /= total
        mean = float(tilted @ points)
        z = share * (points - mean)
        w, third, fourth = (float(tilted @ z**power) for power in (2, 3, 4))
        divergence = -(math.log(total) + highest) - share * mean
        peak = _peak(bounded, share, highest) / total / abs(share)
        return cls(
            term.coefficient * mean,
            max(divergence, 0.0) * (1 + 1e-9) + cut,
            w,
            third,
            _decaying(z, tilted, peak, w, fourth + 6 * w**2),
            1 / math.sqrt(w) if w > 0 else math.inf,
        )


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
        mean = tilted @ points
        centred = points - mean[:, None]
        second, third, fourth = ((tilted * centred**power).sum(axis=1) for power in (2, 3, 4))
        divergence = -(np.log(total) + highest)[:, 0] - u[rows] * (mean - 1)
        found[:, rows] = divergence, u[rows] * (1 - mean), second, third, fourth - 3 * second**2
    return tuple(np.maximum(row, 0.0) for row in found)


def _points(law: NoiseLaw) -> tuple[FloatArray, FloatArray]:
    """The law of X / E X as points and weights: the trapezoidal rule for its logarithm.

    The density of ln X is analytic and falls double exponentially or like a normal one, so that the rule is
    exact to rounding; to the left it goes as far as any tilt can move the law.
    """
    mean = law.moments()[0]
    if isinstance(law, InverseGamma):
        shape, scale = law.shape_scale()
        spread = math.sqrt(float(special.polygamma(1, shape)))
        step = min(_FINEST * spread, _COARSEST)
        peak = math.log(scale / shape)
        ends = math.log(scale / (shape - _LEFT)), peak + max(-_RIGHT / (shape - 1), 12 * spread)
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


def _switch_points(law: NoiseLaw, share: float) -> tuple[FloatArray, FloatArray, float, StudentT | None]:
    """Points and weights of a law on an interval, -ln of the mass that was cut off, and the law if bounded.

    Where tails are cut off, P(gain < g) is at least the mass that is left times what it is without them.
    """
    if isinstance(law, Empirical):
        return *law.atoms(), 0.0, None
    if not isinstance(law, StudentT):
        points, weights = _points(law)
        return points * law.moments()[0], weights, 0.0, None
    cut = 0.0
    if law.lower is None:
        freedom = law.degrees_of_freedom
        mass = min(_CUT * (share * law.scale) ** 2 / 2, 1e-2)
        width = law.scale * min(float(-special.stdtrit(freedom, mass / 2)), max(4.0, 3 / (share * law.scale)))
        law = StudentT(
            degrees_of_freedom=freedom,
            location=law.location,
            scale=law.scale,
            lower=law.location - width,
            upper=law.location + width,
        )
        cut = -math.log(law.interval_mass()) * (1 + 1e-9)
    return *law.quadrature(), cut, law


def _peak(law: StudentT | None, share: float, highest: float) -> float:
    """At least the density of a truncated law times e**(-share x - highest)."""
    if law is None:
        return math.inf
    low, high = ((end - law.location) / law.scale for end in law.support())
    ends = np.sinh(np.linspace(math.asinh(low), math.asinh(high), _CELLS))
    nearest = np.where(ends[1:] < 0, ends[1:], np.maximum(ends[:-1], 0.0))
    density = stats.t.pdf(nearest, law.degrees_of_freedom) / (law.scale * law.interval_mass())
    exponents = -share * (law.location + law.scale * ends) - highest
    return float(np.max(density * np.exp(np.maximum(exponents[:-1], exponents[1:]))))


def _decaying(z: FloatArray, weights: FloatArray, peak: float, w: float, fourth: float) -> float:
    """F raised until |E e**(i y Z)| <= (1 + y**2 F' / (6 W))**(-3 W**2 / F') for all y; infinite if in vain.

    With x = y**2 F / (6 W) and F' = c F, -ln of the left side is at least W y**2 / 2 (1 - x / 2), and that of
    the right side is W y**2 / 2 ln(1 + c x) / (c x) <= W y**2 / 2 (1 - c x / 2 + c**2 x**2 / 3): less up to
    x = 3 (c - 1) / (2 c**2). Beyond, the left side is looked up at some y, with what may change in between,
    min(sqrt(W), W y) per unit of y. The tilted density of a truncated Student-t has at most two stationary
    points, so its total variation is at most 4 times its peak: |E e**(i y Z)| <= 4 peak / y, which falls
    faster than the right side, since F >= 6 W**2.
    """
    if w <= 0 or not math.isfinite(peak):
        return fourth if w <= 0 else math.inf
    first, last = _NEAR / math.sqrt(w), 16 * peak
    if not first < last < _FARTHEST / math.sqrt(w):
        return math.inf
    y = np.geomspace(first, last, math.ceil(math.log(last / first) / _FINE) + 1)
    between = np.diff(y) / 2 * np.minimum(math.sqrt(w), w * y[1:])
    seen = np.abs(np.exp(1j * np.outer(y, z)) @ weights)
    seen = np.append(np.maximum(seen[:-1], seen[1:]) + between, 0.25)  # on every interval, and beyond
    y = np.append(y[1:], last)
    x = first**2 * fourth / (6 * w)
    for factor in _RAISED:
        raised = factor * fourth
        allowed = -3 * w**2 / raised * np.log1p(y**2 * raised / (6 * w))
        if x <= 1.5 * (factor - 1) / factor**2 and np.all(np.log(seen) <= allowed):
            return raised
    return math.inf


def _greatest_beside(gaps: FloatArray) -> FloatArray:
    """At every node the greater of its two intervals."""
    greatest: FloatArray = np.maximum(np.append(gaps, gaps[-1]), np.insert(gaps, 0, gaps[0]))
    return greatest
