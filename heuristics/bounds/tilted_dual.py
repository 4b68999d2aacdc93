"""The dual of `depl.heuristics.bounds.dual` for the plans of one tilt.

The gain is the mean gain under the tilt, c E X h - D / s for an epoch, the divergence H takes the place of
the variance, and the excess B has a price, too. D, H and B come from tables in ln h, rounded so that the
bound stays one (`depl.heuristics.bounds.tilted_learning`). All three rise with h. Where h is only known to
lie in an interval (`depl.heuristics.bounds.volume_bound`), what is paid for them counts along a line below h
and what is earned with them along a line above h: `Chords`.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from depl.heuristics.bounds.cutting_planes import Part, Prices
from depl.heuristics.bounds.dual import Dual
from depl.heuristics.bounds.tilted_kernels import tilted_costs
from depl.heuristics.bounds.tilted_learning import Tilt, TiltedLearning
from depl.heuristics.data.sites import Places, Priced
from depl.models.problem.laws import FloatArray
from depl.models.risk.lower_bound.laws import STEP

_NARROW = 4
"""Columns that an interval may span for its chord to be used."""


class TiltedDual(Dual):
    """The dual of one instance on some places under one tilt."""

    def __init__(
        self,
        tables: TiltedLearning,
        tilt: Tilt,
        places: Places,
        maximum_time: float | None,
        highest_cost: float,
    ) -> None:
        learning = replace(
            tables.learning, switch_losses=tilt.switch_losses, switch_variances=tilt.switch_divergences
        )
        super().__init__(learning, places, maximum_time, highest_cost)
        self.tables, self.tilt = tables, tilt
        self._switch_excesses = tilt.switch_excesses
        self._switch_roughness = tilt.switch_roughness
        self._low, self._high = (_columns(h) for h in (places.low, places.high))
        self._apart = bool(np.any(places.high > places.low))
        self._rises = Chords.of(places.below, places.low, self._apart)
        self._falls = Chords.of(places.factors, places.high, self._apart)

    def prices_from(self, time: float, gain: float, variance: float) -> Prices:
        """Prices that weigh a variance as given: D is nearly s V and H nearly s**2 V / 2."""
        rate = self.tilt.rate
        return Prices(time, gain, 2 * (variance - gain * rate) / rate**2)

    def variance_price(self, prices: Prices) -> float:
        """The other way round [cost / loss**2]."""
        rate = self.tilt.rate
        return prices.gain * rate + prices.variance * rate**2 / 2

    def share(self, priced: dict[float, Priced]) -> None:
        """Remember psi together with other duals on these places."""
        self._priced = priced

    def _reduced(self, priced: Priced, part: Part, prices: Prices) -> NDArray[np.int64]:
        weights, chosen = self._work
        lost_price = prices.gain / self.tilt.rate
        rising, falling = self.tables.penalties(lost_price, prices.variance, prices.excess)
        rising = rising if self._apart else rising + falling
        tilted_costs(
            priced.psi,
            priced.rows_of(len(weights)),
            part.charges,
            self.learning.gains,
            (self.places.factors, self.places.low),
            prices.gain,
            self.tilt.places,
            self.tables.rows,
            _with_floors(rising, from_left=False),
            self._rises.columns,
            _with_floors(falling, from_left=True),
            self._falls.columns,
            self._apart,
            weights,
            chosen,
        )
        return chosen

    def _learned(
        self, prices: Prices, models: NDArray[np.int64], sites: NDArray[np.int64]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        tables, k = self.tables, np.arange(len(models))
        gain = self.learning.gains[k, models]
        factor = np.where(gain > 0, self.places.factors[sites], self.places.low[sites])
        rows, start = tables.rows[k, models], self.tilt.places[k, models]

        def read(rises: bool, low: FloatArray, high: FloatArray) -> FloatArray:
            """Rounded as it counts at these prices."""
            table, columns = (low, self._low) if rises else (high, self._high)
            return tables.read(table, rows, start + columns[sites])

        lost = read(True, tables.lost, tables.lost) / self.tilt.rate
        divergences = read(prices.variance >= 0, tables.low, tables.high)
        return (
            factor * gain - lost,
            divergences,
            read(prices.excess >= 0, tables.excess_low, tables.excess_high),
        )


@dataclass(frozen=True, eq=False)
class Chords:
    """Where tables are read for sites of which h is only known to lie in an interval, two for each.

    Along a line of h over the interval a penalty is at least its chord in ln h less what it sags below that:
    with second differences of at most C over s columns, C s / 4 for each of the s + 1 nodes that may lie
    inside. In h itself a chord in ln h sags by at most Delta (ln h_1 - ln h_0) / 8 more, where Delta is how
    much it rises or falls, as ln h lies above its own chord by (ln h_1 - ln h_0)**2 / 8 at most. So a line
    through the table's values at both ends, less that, is below the penalty, and the reduced cost with it is
    concave on the interval: its ends count. Wide intervals are read at one end.

    Attributes
    ----------
    columns : tuple of ndarray
        Column of every site, of the left end of its interval, and s (s + 1) / 4 or 0; shape (O,).
    """

    columns: tuple[FloatArray, FloatArray, FloatArray]

    @classmethod
    def of(cls, line: FloatArray, end: FloatArray, apart: bool) -> "Chords":
        """Lines of h, and the end that counts where an interval is wide."""
        own, fallback = _columns(line), _columns(end)
        if not apart:
            return cls((fallback, fallback, np.zeros(len(end))))
        first, last = np.repeat(own[::2], 2), np.repeat(own[1::2], 2)
        with np.errstate(invalid="ignore"):
            span = last - first
        narrow = (span > 0) & (span <= _NARROW)
        weight = np.where(narrow, span * (np.floor(span) + 1) / 4, 0.0)
        return cls((np.where(narrow, own, fallback), np.where(narrow, first, fallback), weight))


def _with_floors(table: FloatArray, *, from_left: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A table, what `Chords` take off for a weight of 1, and the least that is read from or up to a column.

    To a second difference of C a change by d per column adds d `STEP` / 2: over s columns the change is up to
    s d, ln h changes by s `STEP`, and s d s `STEP` / 8 is less than the weight of d `STEP` / 2.
    """
    slopes = np.diff(table, axis=1)
    bends = np.zeros(table.shape)
    bends[:, 0], bends[:, 1:-1] = slopes[:, 0], np.diff(slopes, axis=1)
    bends = np.maximum(bends, 0.0)
    bends[:, :-1] += STEP / 2 * np.abs(slopes)
    size = _NARROW + 2
    ahead = scipy.ndimage.maximum_filter1d(bends, size, axis=1, origin=-(size // 2), mode="constant")
    around = scipy.ndimage.maximum_filter1d(ahead, size + 1, axis=1, origin=size // 2, mode="nearest")
    least = table - _NARROW * (_NARROW + 1) / 4 * around
    if from_left:
        return table, ahead, np.minimum.accumulate(least, axis=1)
    return table, ahead, np.ascontiguousarray(np.minimum.accumulate(least[:, ::-1], axis=1)[:, ::-1])


def _columns(factors: FloatArray) -> FloatArray:
    """How many columns of the tables h moves to the right; h = 0 lies before the first."""
    logarithms = np.log(np.where(factors > 0, factors, 1.0))
    return np.where(factors > 0, logarithms / STEP, -np.inf)
