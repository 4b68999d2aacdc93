"""Laws under a tilt, and numbers that add up over increments (for `depl.models.risk.lower_bound.bound`).

An increment Y = c X of the gain is looked at under its law tilted by e**(-s Y), at its *share* u = s c: H(u)
is the divergence KL(tilted | law), D(u) = u (E X - E_u X) what the tilt takes off the mean, W = u**2 Var_u X,
T and F are the third and fourth cumulants of u X, and B = H - W / 2 is the excess. What holds of them, and of
their derivatives in ln u, is derived on the page "The loop with bounds" (``loop``).

Every table is rounded to the safe side by what its sums in double precision may be off (`_ROUNDING`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.laws import FloatArray, Law

STEP = 0.01
"""Distance of the nodes of a table, in ln u."""

_CHUNK = 512
"""Rows of points at once: some hundred points each, so a few MB; it changes memory, not values."""

_ROUNDING = 1e-13
"""What sums may be off, relative to 1 + u, on which soundness rests; T, F and W get three times as much. It
is set by hand, 900 units of 2**-53: H, W, T / 2 and F / 6 are at most u for generalised gamma convolutions,
and sums in pairs take some 30 roundings. The subtraction of 3 W**2 in F may take more for W above some 50;
then `spread._SLACK`, which every line through F gets, has to cover it."""

Kind = Literal["third", "fourth"]
"""T or F."""


def covers(law: Law) -> bool:
    """Whether epochs may follow the law: those whose characteristic functions fall for good."""
    return law.tilts


@dataclass(frozen=True, eq=False)
class TiltedTable:
    """H and D of one law at nodes ln u = start + i STEP, for values in between by linear interpolation.

    d2H/dx2 = 2 W - T, d2D/dx2 = D + 3 W - T, and d2B/dx2 = (3 T - F) / 2 lies between 0 and 3 T / 2. A chord
    is off by at most STEP**2 / 8 times what these may be on its interval [u, u'], where falling cumulants
    give K_j <= u'**j kappa_j(u); that is put into the nodes.
    """

    start: float  # ln u of the first node
    lost_low: FloatArray  # Interpolated: at most D
    # Interpolated: at most and at least H and B; those of B rise.
    low: FloatArray
    high: FloatArray
    excess_low: FloatArray
    excess_high: FloatArray
    nodes: "Reach"  # H, B, T and F at all nodes

    @classmethod
    def of(cls, law: Law, first: float, last: float) -> "TiltedTable":
        """Tabulate a covered law for ln u between two values."""
        count = math.ceil((last - first) / STEP) + 2
        u = np.exp(first + STEP * np.arange(count))
        divergence, lost, second, third, fourth = _tilted_cumulants(law, u)
        w, third, fourth = u**2 * second, u**3 * third, u**4 * fourth
        off, excess = _ROUNDING * (1 + u), np.maximum(divergence - w / 2, 0.0)
        grown = np.exp(STEP * np.arange(2, 5))[:, None]
        above, thirds, fourths = (rows[:-1] * r for rows, r in zip((w, third, fourth), grown, strict=True))
        bend = STEP**2 / 8
        curved = np.maximum(thirds - 2 * w[1:] / grown[0], 0.0)
        nodes = Reach(
            np.maximum(divergence, w / 2),
            excess,
            third,
            fourth,
            _greatest_beside(thirds),
            _greatest_beside(fourths),
            3 * off,
        )
        return cls(
            first,
            lost - off - _greatest_beside(bend * (lost[1:] + 3 * above)),
            divergence - off - _greatest_beside(bend * 2 * above),
            divergence + off + _greatest_beside(bend * curved),
            _rising_below(excess - 2 * off - bend * 1.5 * nodes.greatest_third),
            np.maximum.accumulate(excess + 2 * off),
            nodes,
        )

    def reach(self, first: float, last: float, most: float) -> "Reach":
        """Nodes around all ln u between two values with H <= most."""
        begin = min(max(0, math.floor((first - self.start) / STEP)), len(self.low) - 2)
        end = min(math.ceil((last - self.start) / STEP), int(np.searchsorted(self.low, most))) + 1
        return Reach(*(values[begin : max(begin + 2, end)] for values in self.nodes))


class Reach(NamedTuple):
    """Neighbouring nodes of tables, between which all u lie that some runs may have.

    H, B, T and F at the nodes, shape (n,); ``greatest_third`` and ``greatest_fourth`` are at least T and F on
    both intervals beside a node, and ``rounding`` is what it may change in any of them.
    """

    divergence: FloatArray
    excess: FloatArray
    third: FloatArray
    fourth: FloatArray
    greatest_third: FloatArray
    greatest_fourth: FloatArray
    rounding: FloatArray

    @classmethod
    def joined(cls, reaches: Sequence["Reach"]) -> "Reach":
        """Those of several laws."""
        return cls(*map(np.concatenate, zip(*reaches, strict=True)))

    def lines(self, kind: Kind, slopes: Sequence[float], *, above: bool) -> list[float]:
        """The least a >= 0 with T <= a H + slope B, or the greatest a <= 0 with >=; or for F. Slopes >= 0.

        With q = T - a H - slope B, or -q from below, q'' in ln u is at least -``bent``, so inside an interval
        q exceeds its values at the ends by at most STEP**2 / 8 of that: T'' = 9 T - 7 F + K_5 lies between
        -7 F and 9 T, and F'' = 16 F - 9 K_5 + K_6 between -20 F and 16 F. What rounding adds to sums is left
        to `unclear`.
        """
        some = self.divergence > 0
        divergence, excess, rounding, third, fourth, values = (
            row[some]
            for row in (
                self.divergence,
                self.excess,
                self.rounding,
                self.greatest_third,
                self.greatest_fourth,
                self.third if kind == "third" else self.fourth,
            )
        )
        own = 20 * fourth if kind == "fourth" else 7 * fourth if above else 9 * third
        slope = np.array(slopes)[:, None]
        bent = 1.5 * slope * third + own if above else own
        sign = 1.0 if above else -1.0
        over = sign * (values - slope * excess) + STEP**2 / 8 * bent - (1 + slope) * rounding
        greatest = (over / divergence).max(axis=1, initial=0.0)
        found: list[float] = (sign * greatest * (1 + STEP**2)).tolist()  # |a H''| <= 4 |a| H
        return found

    def greatest_ratio(self) -> float:
        """B / H, at most, but for `unclear`: both rise in u."""
        excess, least = self.excess[1:] - self.rounding[1:], self.divergence[:-1]
        ratios = np.divide(excess, least, out=np.zeros(len(least)), where=least > 0)
        return float(ratios.max(initial=0.0))


def unclear(shares: float) -> float:
    """What rounding may change in sums over shares that sum up to a value with 1 for each of them."""
    return 3 * _ROUNDING * shares


def _tilted_cumulants(law: Law, u: FloatArray) -> tuple[FloatArray, ...]:
    """H, D, kappa_2, kappa_3 and kappa_4 in units of the law at some u, by a closed form or by points."""
    closed = law.tilted_cumulants(u)
    if closed is not None:
        return closed
    points = law.tilt_points(float(u[0]))
    if points is None:
        raise NotCoveredError(f"{type(law).__name__} offers no tilt, so it has no table")
    return _tilted(*points, u)


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


def _rising_below(values: FloatArray) -> FloatArray:
    """At every node the least value from there on."""
    return np.asarray(np.minimum.accumulate(values[::-1])[::-1])


def _greatest_beside(gaps: FloatArray) -> FloatArray:
    """At every node the greater of its two intervals."""
    greatest: FloatArray = np.maximum(np.append(gaps, gaps[-1]), np.insert(gaps, 0, gaps[0]))
    return greatest
