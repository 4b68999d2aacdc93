"""Expectations of P(R > v - S) over the tails of a heavy switch S, by bounds of both at finitely many points.

H(s) = P(R > v - s) does not fall in s. It is bounded at *knots* u = v - s by contours, and knots serve every
v. With edges b = e_0 < ... < e_n above the core, of which v - e_i are knots, summation by parts puts
E[H(S); S > b] between

    sum_i P(S > e_i) (H(e_i) - H(e_{i-1})),                 H(e_{-1}) = 0,      and
    P(S > e_0) H(e_0) + sum_i P(S > e_i) (H(e_{i+1}) - H(e_i)),   H(e_{n+1}) = 1,

which stay bounds when H and the survival function are replaced by bounds of theirs. The left tail is summed
cell by cell. Cells are halved where the difference is largest, as long as there is room for knots.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from depl.models.problem.laws import FloatArray, TailedLaw
from depl.models.problem.laws.law import Bounds
from depl.models.risk.contour import Contour, distribution
from depl.models.risk.labels import Labels
from depl.models.risk.transforms import EPSILON

_FARTHEST = 1e9
"""Distance of the first knots from the mean at most, in spreads: set by hand. Beyond it H is bounded by the
last knot, 0 or 1; sound for any value, with wider intervals for tails heavier than that."""

_MOST_KNOTS = 4096
"""Most knots, which bounds time and the roundings of a sum (see `conditioning._OUTWARD`): set by hand. Half
as many make intervals wider where a tail is hard to resolve."""

_LEAST_KNOTS = 150
"""Knots for which there is time in any case: the 120 that are taken first, and 30 to refine them where the
integrand is. Fewer leave those cells as wide as they are; any number is sound."""

_ROUNDS = 40
"""Refinements at most: set by hand; the accuracy, or the number of knots, may end them sooner. Fewer leave
wider intervals."""


@dataclass(frozen=True)
class SmoothTail:
    """P(R > value) from several contours, the best of which counts at each value."""

    constant: float
    mean: float
    variance: float
    contours: tuple[tuple[Contour, Labels], ...]

    def __call__(self, values: FloatArray) -> Bounds:
        """Lower and upper bounds, monotone in the value."""
        deviation = self.mean - values  # R > v means G - E G < mean - v
        doubt = 8 * EPSILON * (abs(self.mean) + np.abs(values) + abs(self.constant))
        lower, upper = np.zeros(values.shape), np.ones(values.shape)
        if math.isfinite(self.variance):
            square = np.maximum(deviation - doubt, 0.0) ** 2  # Cantelli
            lower = square / (self.variance + square) * (1 - 1e-9)
        for contour, labels in self.contours:
            many = labels[np.zeros(len(values), dtype=np.intp)]
            lower = np.maximum(lower, distribution(contour, many, deviation - doubt)[0])
            upper = np.minimum(upper, distribution(contour, many, deviation + doubt)[1])
        # both are bounds of a nonincreasing function of the value: let each value profit from all
        order = np.argsort(values, kind="stable")
        back = np.argsort(order, kind="stable")
        lower = np.maximum.accumulate(lower[order][::-1])[::-1][back]
        return lower, np.minimum.accumulate(upper[order])[back]


@dataclass
class Knots:
    """Bounds of P(R > u) at points u that are kept, increasing.

    Attributes
    ----------
    smooth : SmoothTail
        R.
    spread : float
        About the width of the law of R [loss].
    most : int
        How many points there is time for; some are taken in any case.
    """

    smooth: SmoothTail
    spread: float
    most: int
    _points: FloatArray = field(default_factory=lambda: np.zeros(0), init=False)
    _low: FloatArray = field(default_factory=lambda: np.zeros(0), init=False)
    _high: FloatArray = field(default_factory=lambda: np.zeros(0), init=False)

    def __post_init__(self) -> None:
        """Take the first points: evenly where R is likely, and ever fewer away from there."""
        self.most = min(max(self.most, _LEAST_KNOTS), _MOST_KNOTS)
        away = self.spread * np.geomspace(9, _FARTHEST, 30)
        near = self.spread * np.linspace(-9, 9, 60)
        self._add(self.smooth.mean + np.concatenate([-away, near, away]))

    def expectation(
        self, law: TailedLaw, core: TailedLaw, value: float, enough: float, known: float
    ) -> tuple[float, float]:
        """Bounds of E[P(R > value - S); S outside of its core], to a relative ``enough`` if there is room.

        ``known`` is a number against which a difference counts as well.
        """
        lower, upper = core.support()
        self._add(value - np.array([lower, upper]))
        for _ in range(_ROUNDS):
            right, left = self._right(law, upper, value), self._left(law, lower, value)
            low, high = right[0] + left[0], right[1] + left[1]
            gaps, middles = np.concatenate([right[2], left[2]]), np.concatenate([right[3], left[3]])
            if high - low <= enough * max(high, known):
                break
            chosen = np.flatnonzero(gaps > 0.25 * gaps.sum() / max(len(gaps), 1))
            chosen = chosen[np.argsort(gaps[chosen])[::-1][: max(self.most - len(self._points), 0)]]
            if not self._add(middles[chosen]):
                break
        return low, high

    def exceeded(self, law: TailedLaw, core: TailedLaw, value: float, times: int) -> float:
        """Upper bound of E[min(1, 2**(times - 1) P(R > value - times * S)); S outside of its core]."""
        lower, upper = core.support()
        heights = np.minimum(2.0 ** (times - 1) * np.append(1.0, self._high), 1.0)
        below = int(np.searchsorted(self._points, value - times * upper, side="right"))
        points, rising = self._points[:below][::-1], heights[: below + 1][::-1]
        edges = (value - points - 4 * EPSILON * (abs(value) + np.abs(points))) / times
        masses = law.exceedance(np.append(upper, np.maximum(edges, upper)))[1]
        right = float(masses[0] * rising[0] + masses[1:] @ np.diff(rising))
        place = int(np.searchsorted(self._points, value - times * lower, side="right"))
        return right + float(law.shortfall(np.array([lower]))[1][0]) * float(heights[place])

    def _right(self, law: TailedLaw, upper: float, value: float) -> "_Side":
        """The sums of the module's docstring above the core, and what every cell adds to their difference."""
        inside = slice(None, int(np.searchsorted(self._points, value - upper, side="right")))
        points, low, high = (row[inside][::-1] for row in (self._points, self._low, self._high))
        masses = law.exceedance(np.append(upper, value - points[1:]))
        least = masses[0][0] * low[0] + masses[0][1:] @ np.diff(low)
        most = masses[1][0] * high[0] + masses[1] @ np.append(np.diff(high), 1 - high[-1])
        gaps = (masses[1][:-1] - masses[0][1:]) * (high[1:] - low[:-1])
        return float(least), float(most), gaps, (points[1:] + points[:-1]) / 2

    def _left(self, law: TailedLaw, lower: float, value: float) -> "_Side":
        """The same below the core, cell by cell."""
        inside = slice(int(np.searchsorted(self._points, value - lower)), None)
        points, low, high = (row[inside] for row in (self._points, self._low, self._high))
        masses = law.shortfall(np.append(lower, value - points[1:]))
        cells = np.maximum(masses[0][:-1] - masses[1][1:], 0.0), masses[1][:-1] - masses[0][1:]
        most = cells[1] @ high[:-1] + masses[1][-1] * high[-1]
        gaps = cells[1] * high[:-1] - cells[0] * low[1:]
        return float(cells[0] @ low[1:]), float(most), gaps, (points[1:] + points[:-1]) / 2

    def _add(self, points: FloatArray) -> bool:
        """Bound H at more knots; false if there are none that are new."""
        fresh = np.setdiff1d(points, self._points)
        if not len(fresh):
            return False
        low, high = self.smooth(fresh)
        order = np.argsort(np.append(self._points, fresh), kind="stable")
        self._points = np.append(self._points, fresh)[order]
        # what is known at one knot is a bound at others
        self._low = np.maximum.accumulate(np.append(self._low, low)[order][::-1])[::-1]
        self._high = np.minimum.accumulate(np.append(self._high, high)[order])
        return True


_Side = tuple[float, float, FloatArray, FloatArray]
"""Lower and upper bound, the part of every cell in their difference, and the middle of every cell."""
