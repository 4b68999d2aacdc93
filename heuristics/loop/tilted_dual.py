"""The dual of `depl.heuristics.loop.dual` for the plans of one tilt.

The gain is the mean gain under the tilt, c E X h - D / s for an epoch, the divergence H takes the place of
the variance, and F has a price, too. D, H and F come from tables in ln h, rounded so that the bound stays one
(`depl.heuristics.loop.tilted_learning`). All three rise with h. Where h is only known to lie in an interval,
what is paid for them counts at its low end and what is earned with them at its high end.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.loop.dual import Dual, Part, Prices
from depl.heuristics.loop.sites import Places, Priced
from depl.heuristics.loop.tilted_kernels import tilted_costs
from depl.heuristics.loop.tilted_learning import Tilt, TiltedLearning
from depl.models.laws import FloatArray
from depl.models.risk.tilted_laws import STEP


class TiltedDual(Dual):
    """The dual of one instance on some places under one tilt."""

    def __init__(
        self, tables: TiltedLearning, tilt: Tilt, places: Places, maximum_time: float | None, dearest: float
    ) -> None:
        learning = replace(
            tables.learning, switch_losses=tilt.switch_losses, switch_variances=tilt.switch_divergences
        )
        super().__init__(learning, places, maximum_time, dearest)
        self.tables, self.tilt = tables, tilt
        self._switch_fourths = tilt.switch_fourths
        self._low, self._high = (_columns(h) for h in (places.low, places.high))
        self._apart = bool(np.any(places.high > places.low))

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
        rising, falling = self.tables.penalties(lost_price, prices.variance, prices.fourth)
        rising = rising if self._apart else rising + falling
        tilted_costs(
            priced.psi,
            priced.rows_of(len(weights)),
            part.charges,
            self.learning.gains,
            self.places.factors,
            self.places.low,
            prices.gain,
            self.tilt.places,
            self.tables.rows,
            self._low,
            rising,
            self._high,
            falling,
            self._apart,
            np.minimum.accumulate(rising[:, ::-1], axis=1)[:, ::-1],
            np.minimum.accumulate(falling, axis=1),
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
            read(prices.fourth >= 0, tables.fourth_low, tables.fourth_high),
        )


def _columns(factors: FloatArray) -> FloatArray:
    """How many columns of the tables h moves to the right; h = 0 lies before the first."""
    logarithms = np.log(np.where(factors > 0, factors, 1.0))
    return np.where(factors > 0, logarithms / STEP, -np.inf)
