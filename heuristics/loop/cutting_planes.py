"""The program that finds prices: the cuts of `depl.heuristics.loop.dual` at all corners of a range."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

from depl.heuristics.loop.requirement import VarianceRange
from depl.models.laws import FloatArray

_LARGEST_PRICE = 1e4


class Prices(NamedTuple):
    """lam [cost / time], gamma [cost / loss], nu [cost / loss**2]; of B under a tilt [cost]."""

    time: float
    gain: float
    variance: float
    excess: float = 0.0


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
        self._units: tuple[float, float, float, float, float] | None = None
        self._solver = highspy.Highs()  # type: ignore[no-untyped-call]
        self._solver.setOptionValue("output_flag", False)
        self._waiting = list(cuts)
        self._variance = max(piece.high, 1e-300)
        finite = piece.excess_high < math.inf
        self._excess = max(abs(piece.excess_low), piece.excess_high if finite else 0.0, 1e-300)
        spread = _LARGEST_PRICE if piece.excess_high > piece.excess_low else 0.0
        self._excess_prices = -spread, spread if finite else 0.0
        self._most_excess = math.inf if finite else 0.0

    def add(self, cut: Cut) -> None:
        """Rows of a cut, one for each corner."""
        if self._units is None:
            self._begin(cut)
        self._rows([cut])

    def solve(self) -> tuple[float, Prices | None]:
        """The ceiling of the bound and where it is attained."""
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal or self._units is None:
            return math.inf, None
        ceiling, *values = self._solver.getSolution().col_value
        cost, *units = self._units
        time, gain, variance, excess = (v * cost / unit for v, unit in zip(values, units, strict=True))
        prices = Prices(max(time, 0.0), max(gain, 0.0), variance, min(excess, self._most_excess))
        return ceiling * cost + self._part.paid, prices

    def _begin(self, cut: Cut) -> None:
        """Units from the first sequence, so that all numbers are of a size."""
        used = cut.uses > 0
        cost = max(cut.cost + float(cut.uses[used] @ self._part.charges[used]), self._least_unit, 1e-12)
        time = self._limit if self._limit is not None else 1.0
        self._units = cost, time, max(abs(self._fall), 1e-12), self._variance, self._excess
        free = highspy.kHighsInf
        timed = _LARGEST_PRICE if self._limit is not None else 0.0
        fixed = self._fixed * time / cost if self._fixed is not None else None
        spread = _LARGEST_PRICE if self._ends[-1][0] > 0 else 0.0
        lower = np.array([-free, 1e-9 if timed else 0.0, 0.0, -spread, self._excess_prices[0]])
        upper = np.array([free, timed, _LARGEST_PRICE, spread, self._excess_prices[1]])
        if fixed is not None:
            lower[1] = upper[1] = fixed
        self._solver.addVars(5, lower, upper)
        self._solver.changeColCost(0, -1.0)
        self._rows(self._waiting)

    def _rows(self, cuts: Sequence[Cut]) -> None:
        """Rows for every cut, one for each corner of the range."""
        if self._units is None or not cuts:
            return
        cost, time, gain, variance, spread = self._units
        charges = np.where(np.isinf(self._part.charges), 0.0, self._part.charges)  # of sites in use
        sums = np.array(
            [
                (cut.cost + float(cut.uses @ charges), cut.time, cut.gain, cut.variance, cut.excess)
                for cut in cuts
            ]
        )
        late = 0.0 if self._limit is None else (sums[:, 1] - self._limit) / time
        rows = np.ones((len(cuts), len(self._ends), 5))
        for place, (end, excess, margin) in enumerate(self._ends):
            rows[:, place, 1] = -late
            rows[:, place, 2] = -(self._fall + margin - sums[:, 2]) / gain
            rows[:, place, 3] = -(sums[:, 3] - end) / variance
            rows[:, place, 4] = -(sums[:, 4] - excess) / spread
        count = rows.shape[0] * rows.shape[1]
        self._solver.addRows(
            count,
            np.full(count, -highspy.kHighsInf),
            np.repeat(sums[:, 0] / cost, len(self._ends)),
            5 * count,
            np.arange(0, 5 * count, 5, dtype=np.int32),
            np.tile(np.arange(5, dtype=np.int32), count),
            rows.ravel(),
        )
