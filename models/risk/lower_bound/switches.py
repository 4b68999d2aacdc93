r"""Switches under a tilt (for `depl.models.risk.lower_bound.bound`).

A switch adds a loss X of either sign, so its gain is -X and its share u = -s. H, W and T are what they are
for runs (`depl.models.risk.lower_bound.laws`),

    H = -ln E e**(-u X) - u E_u X,   W = u**2 Var_u X,   T = u**3 E_u (X - E_u X)**3,

but they need not obey what those of runs obey.

*Tails that a tilt does not tame* are cut off: X is put on an interval I of probability q, so that
P(gain < g) >= q P(gain < g | X in I), and -ln q is added to H.

*F.* For w = 1 - E_u e**(i y Z) and W y**2 <= 1 is |w| <= W y**2 / 2 <= 1 / 2, so that
|ln(1 - w) + w| <= |w|**2 <= W**2 y**4 / 4, and w is W y**2 / 2 + i T y**3 / 6 up to E_u Z**4 y**4 / 24. So
F = E_u Z**4 + 6 W**2 serves up to y = W**(-1/2). It is raised until |E_u e**(i y Z)| <= exp(-d(y)) with
d(y) = 3 W**2 / F ln(1 + y**2 F / (6 W)) for all y. That adds up with the bounds of runs:
d = W phi(F / W) with a convex phi, and such a function of sums is at most the sum of the functions. A law for
which this fails, and every law with atoms, has an infinite F.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from depl.models.problem.epochs import Term
from depl.models.problem.laws import Empirical, FloatArray, Normal, StudentT

_CUT = 0.01
_FLOOR = 1e-14
_FINE = 0.08
_NEAR, _FARTHEST = 0.25, 60.0
_RAISED = (1.2, 1.5, 2.0, 3.0, 5.0, 10.0)
_CELLS = 300
_TURN, _MOST_TURNS, _MOST_PANELS = 30.0, 2000.0, 400
_ROUNDING = 1e-9


@dataclass(frozen=True)
class TiltedSwitch:
    """A switch under the tilt.

    Attributes
    ----------
    loss : float
        Mean loss under the tilted law [loss].
    divergence, variance, third, fourth : float
        H, with -ln of what was cut off and a little more than rounding, so that it is positive; W, T, F.
    widest : float
        Greatest y at which F holds.
    """

    loss: float
    divergence: float
    variance: float
    third: float
    fourth: float
    widest: float

    @property
    def roughness(self) -> float:
        """No less than F, 4 |T| and 20 |B|."""
        return max(self.fourth, 4 * abs(self.third), 20 * abs(self.excess))

    @property
    def excess(self) -> float:
        """B = H - W / 2, of either sign."""
        return self.divergence - self.variance / 2

    @classmethod
    def of(cls, term: Term, rate: float, with_fourth: bool = True) -> "TiltedSwitch":
        """Tilt the gain -c X of a switch by a rate s > 0 [1 / loss]; F only if it is asked for.

        Raises
        ------
        TypeError
            If the law is none of a switch.
        """
        share, law = -rate * term.coefficient, term.law
        if isinstance(law, Normal):
            w = share**2 * law.variance
            loss = term.coefficient * (law.mean - share * law.variance)
            return cls(loss, w / 2 * (1 + 1e-12) + _FLOOR, w, 0.0, 0.0, math.inf)
        if isinstance(law, Empirical):
            return replace(cls._by_points(term.coefficient, share, *law.atoms()), fourth=math.inf)
        if not isinstance(law, StudentT):
            raise TypeError(f"a switch does not follow a {type(law).__name__}")
        bounded, cut = _on_interval(law, abs(share))
        found = cls._by_points(term.coefficient, share, *_quadrature(bounded, abs(share)))
        fourth = _decaying(bounded, share, found.variance, found.fourth) if with_fourth else math.inf
        return replace(found, divergence=found.divergence + cut, fourth=fourth)

    @classmethod
    def _by_points(
        cls, coefficient: float, share: float, points: FloatArray, weights: FloatArray
    ) -> "TiltedSwitch":
        """With E Z**4 + 6 W**2 for F; H from X less its mean, where it loses no digits."""
        centre = float(weights @ points)
        tilted, logarithm = _tilted(share, points - centre, weights)
        moved = float(tilted @ (points - centre))
        z = share * (points - centre - moved)
        w, third, fourth = (float(tilted @ z**power) for power in (2, 3, 4))
        divergence = max(-logarithm - share * moved, 0.0)
        return cls(
            coefficient * (centre + moved),
            divergence * (1 + 1e-12) + _FLOOR * (1 + abs(logarithm)),
            w,
            third,
            (fourth + 6 * w**2) * (1 + _ROUNDING),
            1 / math.sqrt(w) if w > 0 else math.inf,
        )


def _tilted(share: float, points: FloatArray, weights: FloatArray) -> tuple[FloatArray, float]:
    """Weights under the tilt, and ln E e**(-u X)."""
    exponents = -share * points
    highest = float(exponents.max())
    tilted = weights * np.exp(exponents - highest)
    total = float(tilted.sum())
    return tilted / total, math.log(total) + highest


def _on_interval(law: StudentT, share: float) -> tuple[StudentT, float]:
    """A law on an interval that a tilt can move about in, and -ln of the probability of the interval."""
    freedom, scale = law.degrees_of_freedom, law.scale
    if law.lower is None or law.upper is None:
        mass = min(_CUT * (share * scale) ** 2 / 2, 1e-2)
        width = scale * min(float(-special.stdtrit(freedom, mass / 2)), max(4.0, 3 / (share * scale)))
        low, high = law.location - width, law.location + width
    else:
        low, high = law.lower, law.upper
        if share * (high - low) <= 2 * _MOST_TURNS:
            return law, 0.0
    middle = float(law.inverse_cdf(0.5))
    reach = _MOST_TURNS / share
    bounded = StudentT(
        degrees_of_freedom=freedom,
        location=law.location,
        scale=scale,
        lower=max(low, middle - reach),
        upper=min(high, middle + reach),
    )
    return bounded, -math.log(bounded.interval_mass() / law.interval_mass()) * (1 + _ROUNDING)


def _quadrature(law: StudentT, slope: float) -> tuple[FloatArray, FloatArray]:
    """Points and weights for integrands that turn or grow by a slope, no panel by more than `_TURN`."""
    low, high = law.support()
    return law.quadrature(40, max(_TURN / slope, (high - low) / _MOST_PANELS))


def _peak(law: StudentT, share: float, logarithm: float) -> float:
    """At least the density of u X under the tilt: on every cell the greatest of both factors."""
    low, high = ((end - law.location) / law.scale for end in law.support())
    ends = np.sinh(np.linspace(math.asinh(low), math.asinh(high), _CELLS))
    nearest = np.where(ends[1:] < 0, ends[1:], np.maximum(ends[:-1], 0.0))
    freedom = law.degrees_of_freedom
    highest = 1 / (
        math.sqrt(freedom) * float(special.beta(0.5, freedom / 2)) * law.scale * law.interval_mass()
    )
    density = highest * (1 + nearest**2 / freedom) ** (-(freedom + 1) / 2)
    exponents = -share * (law.location + law.scale * ends) - logarithm
    return float(np.max(density * np.exp(np.maximum(exponents[:-1], exponents[1:])))) / abs(share)


def _decaying(law: StudentT, share: float, w: float, fourth: float) -> float:
    """F raised until |E e**(i y Z)| <= (1 + y**2 F' / (6 W))**(-3 W**2 / F') for all y; infinite if in vain.

    With x = y**2 F / (6 W) and F' = c F, -ln of the left side is at least W y**2 / 2 (1 - x / 2), and that of
    the right side is W y**2 / 2 ln(1 + c x) / (c x) <= W y**2 / 2 (1 - c x / 2 + c**2 x**2 / 3): less up to
    x = 3 (c - 1) / (2 c**2). Beyond, the left side is looked up at some y, with what may change in between,
    min(sqrt(W), W y) per unit of y. The tilted density of a truncated Student-t has at most two stationary
    points, so its total variation is at most 4 times its peak: |E e**(i y Z)| <= 4 peak / y, which falls
    faster than the right side, since F >= 6 W**2.
    """
    logarithm = _tilted(share, *_quadrature(law, abs(share)))[1]
    if not w > 0:
        return math.inf
    peak = _peak(law, share, logarithm) * (1 + _ROUNDING)
    first, last = _NEAR / math.sqrt(w), 16 * peak
    low, high = law.support()
    turns = last * abs(share) * (high - low)
    if not first < last < _FARTHEST / math.sqrt(w) or turns > _TURN * _MOST_PANELS:
        return math.inf
    y = np.geomspace(first, last, math.ceil(math.log(last / first) / _FINE) + 1)
    between = np.diff(y) / 2 * np.minimum(math.sqrt(w), w * y[1:])
    points, weights = _quadrature(law, max(last, 1.0) * abs(share))
    tilted = _tilted(share, points, weights)[0]
    angles = np.outer(y, share * points)
    seen = np.hypot(np.cos(angles) @ tilted, np.sin(angles) @ tilted) + _ROUNDING
    seen = np.append(np.maximum(seen[:-1], seen[1:]) + between, 0.25)  # on every interval, and beyond
    y = np.append(y[1:], last)
    x = first**2 * fourth / (6 * w)
    for factor in _RAISED:
        raised = factor * fourth
        allowed = -3 * w**2 / raised * np.log1p(y**2 * raised / (6 * w))
        if x <= 1.5 * (factor - 1) / factor**2 and np.all(np.log(seen) <= allowed):
            return raised
    return math.inf
