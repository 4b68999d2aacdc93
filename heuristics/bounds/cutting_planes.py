"""The program that finds prices: the cuts of `depl.heuristics.bounds.dual` at all corners of a range."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.bounds.requirement import VarianceRange
from depl.models.problem.laws import FloatArray
from depl.models.programs.cut_program import CutProgram

MOST_CUTS = 60
"""Sequences asked for in one run of the cutting planes. Set by hand: a run ends at `CLOSED`; one that does
not keeps its best bound, which is valid all the same, so fewer make some bounds weaker and runs shorter."""

CLOSED = 1e-5
"""Relative gap between the ceiling of the program and the best bound at which a run ends. Set by hand: a
bound is at most that much below the best; a smaller gap asks for more sequences in every run."""

_INWARDS = 0.3
"""Share of the way from the newest prices back to the best ones so far. Set by hand: 0 is Kelley's method,
whose prices jump; nearer to 1, each cut moves the prices less. The bound it converges to is the same."""

_LARGEST_PRICE = 1e4
"""Bounds of the prices in units of the first sequence's cost per T_max, fall and range, so that the program
has an optimum from its first cut on. Set by hand: every price proves a bound, so a bound that needs a greater
one is weaker, never wrong."""
_SIGNS = np.array([1.0, -1.0, 1.0, 1.0, 1.0])
"""Of time, gain, variance, excess and roughness in a row: a plan has at most T_max and at least the gain."""


class Prices(NamedTuple):
    """lam [cost / time], gamma [cost / loss], nu [cost / loss**2]; of B and roughness under a tilt [cost]."""

    time: float
    gain: float
    variance: float
    excess: float = 0.0
    roughness: float = 0.0


def between(newest: Prices, best: Prices) -> Prices:
    """Where to ask next: the prices of the program, a little towards the best ones so far."""
    return Prices(*(new + _INWARDS * (old - new) for new, old in zip(newest, best, strict=True)))


@dataclass(frozen=True, eq=False)
class Part:
    """Plans on some sites.

    Attributes
    ----------
    charges : ndarray
        Charge of an epoch on each site, infinite where it may not be used, shape (O,) [cost].
    paid : float
        Transfers that all these plans pay [cost].
    """

    charges: FloatArray
    paid: float = 0.0


@dataclass(frozen=True, eq=False)
class Cut:
    """One sequence: models and sites of its epochs, and its sums at the price it was found at.

    ``cost`` counts kappa x alone, ``uses`` how many epochs train on each site, shape (O,).
    """

    models: NDArray[np.int64]
    sites: NDArray[np.int64]
    cost: float
    time: float
    gain: float
    variance: float
    uses: NDArray[np.int64]
    excess: float = 0.0
    roughness: float = 0.0


class CuttingPlanes:
    """max z subject to z <= the value of every cut at the prices and at both ends of the range."""

    def __init__(
        self,
        part: Part,
        fall: float,
        piece: VarianceRange,
        cuts: Sequence[Cut],
        start: Prices,
        limit: float | None,
        same_time: bool,
    ) -> None:
        self._part, self._fall = part, fall
        self._least_unit = start.gain * abs(fall) / 10
        self._limit = limit
        self._fixed = start.time if same_time else None
        self._ends = piece.corners
        self._units: FloatArray | None = None
        self._program: CutProgram | None = None
        self._waiting = list(cuts)
        ends = (
            (piece.low, piece.high),
            (piece.excess_low, piece.excess_high),
            (piece.rough_low, piece.rough_high),
        )
        self._extents = [_Extent.of(*pair) for pair in ends]

    def add(self, cut: Cut) -> None:
        """Rows of a cut, one for each corner."""
        if self._units is None:
            self._begin(cut)
        self._rows([cut])

    def solve(self) -> tuple[float, Prices | None]:
        """The ceiling of the bound and where it is attained; none where HiGHS refused a cut."""
        found = None if self._program is None else self._program.solve()
        if found is None or self._units is None:
            return math.inf, None
        cost = self._units[0]
        time, gain, *sums = (found.point * cost / self._units[1:]).tolist()
        capped = (min(price, e.greatest_price) for price, e in zip(sums, self._extents, strict=True))
        return float(found.ceiling * cost) + self._part.paid, Prices(max(time, 0.0), max(gain, 0.0), *capped)

    def _begin(self, cut: Cut) -> None:
        """Units from the first sequence, so that all numbers are of a size."""
        used = cut.uses > 0
        cost = max(cut.cost + float(cut.uses[used] @ self._part.charges[used]), self._least_unit, 1e-12)
        time = self._limit if self._limit is not None else 1.0
        fall = max(abs(self._fall), 1e-12)
        self._units = np.array([cost, time, fall, *(extent.unit for extent in self._extents)])
        timed = _LARGEST_PRICE if self._limit is not None else 0.0
        prices = [extent.prices for extent in self._extents]
        lower = np.array([1e-9 if timed else 0.0, 0.0, *(low for low, _ in prices)])
        upper = np.array([timed, _LARGEST_PRICE, *(high for _, high in prices)])
        if self._fixed is not None:
            lower[0] = upper[0] = self._fixed * time / cost
        self._program = CutProgram(lower, upper)
        self._rows(self._waiting)

    def _rows(self, cuts: Sequence[Cut]) -> None:
        """Rows for every cut, one per corner of the range; a time without end is expensive at any price."""
        cuts = [cut for cut in cuts if self._limit is None or math.isfinite(cut.time)]
        if self._units is None or self._program is None or not cuts:
            return
        charges = np.where(np.isinf(self._part.charges), 0.0, self._part.charges)  # of sites in use
        limit = 0.0 if self._limit is None else self._limit
        sums = np.array(
            [
                (
                    cut.cost + float(cut.uses @ charges),
                    0.0 if self._limit is None else cut.time,
                    cut.gain,
                    cut.variance,
                    cut.excess,
                    cut.roughness,
                )
                for cut in cuts
            ]
        )
        rows = np.empty((len(cuts), len(self._ends), len(self._units) - 1))
        for place, (end, excess, rough, margin) in enumerate(self._ends):
            asked = limit, self._fall + margin, end, excess, rough
            rows[:, place] = (np.array(asked) - sums[:, 1:]) * _SIGNS / self._units[1:]
        rights = np.repeat(sums[:, 0] / self._units[0], len(self._ends))
        self._program.add(rows.reshape(len(rights), -1), rights)


@dataclass(frozen=True)
class _Extent:
    """Unit and prices of a sum that lies in a range; where that has no end, nothing is paid for more."""

    unit: float
    prices: tuple[float, float]
    greatest_price: float

    @classmethod
    def of(cls, low: float, high: float) -> "_Extent":
        if high == math.inf:
            return cls(abs(low) or 1.0, (-_LARGEST_PRICE, 0.0), 0.0)
        return cls(max(abs(low), abs(high)) or 1.0, (-_LARGEST_PRICE, _LARGEST_PRICE), math.inf)
