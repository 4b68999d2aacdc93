"""Switches under a tilt (for `depl.models.risk.lower_bound.bound`).

A switch adds a loss X of either sign, so its gain is -X and its share u = -s. H, W and T are what they are
for runs, but they need not obey what those of runs obey. Tails that a tilt does not tame are cut off, and -ln
of the probability that is left is added to H. F is raised until (1 + y**2 F / (6 W))**(-3 W**2 / F) bounds
the characteristic function (the page "The loop with bounds", ``loop``); else, and with atoms, F is infinite.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import Term
from depl.models.problem.laws import FloatArray, Law, StudentT

_FLOOR = 1e-14
"""What is added to H against rounding, and so that it is positive: soundness rests on it where H is small. It
is set by hand, 90 units of 2**-53 for a difference of sums over up to 16,000 points; errors that do not all
have one sign stay below it, the worst case has no proof."""

_FINE = 0.08
"""Step of ln y at which the characteristic function is looked up: set by hand. What may change in between is
counted, so any value is sound; halves cost twice the time and let F be raised less."""

_NEAR, _FARTHEST = 0.25, 60.0
_RAISED = (1.2, 1.5, 2.0, 3.0, 5.0, 10.0)
_TURN, _MOST_PANELS = 30.0, 400
_ROUNDING = 1e-9
"""What the sums over points are granted, on which soundness rests: panels of 40 points for a turn of 30
integrate to rounding, and sums over 16,000 nonnegative weights are off by 16,000 times 2**-53 = 2e-12 at
worst."""


def covers_switch(law: Law) -> bool:
    """Whether switches may follow the law: those that can be tilted on an interval."""
    return law.is_normal or law.has_atoms or law.tailed is not None


@dataclass(frozen=True)
class TiltedSwitch:
    """A switch under the tilt."""

    loss: float  # Mean loss under the tilted law [loss]
    # H, with -ln of what was cut off and a little more than rounding, so that it is positive; W, T, F.
    divergence: float
    variance: float
    third: float
    fourth: float
    widest: float  # greatest y at which F holds

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
        NotCoveredError
            If the law is not one of those that `covers_switch` knows.
        """
        share, law = -rate * term.coefficient, term.law
        if law.is_normal:
            mean, variance = law.moments()
            w = share**2 * variance
            loss = term.coefficient * (mean - share * variance)
            return cls(loss, w / 2 * (1 + 1e-12) + _FLOOR, w, 0.0, 0.0, math.inf)
        if law.has_atoms:
            return replace(cls._by_points(term.coefficient, share, *law.atoms()), fourth=math.inf)
        if law.tailed is None:
            raise NotCoveredError(f"{type(law).__name__} offers no tilt for the change at a switch")
        bounded, cut = law.tailed.on_interval(abs(share))
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


def _quadrature(law: StudentT, slope: float) -> tuple[FloatArray, FloatArray]:
    """Points and weights for integrands that turn or grow by a slope, no panel by more than `_TURN`."""
    low, high = law.support()
    return law.quadrature(max(_TURN / slope, (high - low) / _MOST_PANELS))


def _decaying(law: StudentT, share: float, w: float, fourth: float) -> float:
    """F raised until |E e**(i y Z)| <= (1 + y**2 F' / (6 W))**(-3 W**2 / F') for all y; infinite if in vain.

    With x = y**2 F / (6 W) and F' = c F, -ln of the left side is at least W y**2 / 2 (1 - x / 2), and that of
    the right side is W y**2 / 2 ln(1 + c x) / (c x) <= W y**2 / 2 (1 - c x / 2 + c**2 x**2 / 3): less up to
    x = 3 (c - 1) / (2 c**2). Beyond, the left side is looked up at some y, with what may change in between,
    min(sqrt(W), W y) per unit of y. The tilted density has at most two stationary
    points, so its total variation is at most 4 times its peak: |E e**(i y Z)| <= 4 peak / y, which falls
    faster than the right side, since F >= 6 W**2.
    """
    logarithm = _tilted(share, *_quadrature(law, abs(share)))[1]
    if not w > 0:
        return math.inf
    peak = law.tilted_peak(share, logarithm) * (1 + _ROUNDING)
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
