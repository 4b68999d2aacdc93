"""The dual of `depl.heuristics.loop.dual` for the plans of one tilt.

The gain is the mean gain under the tilt, c E X h - D / s for an epoch, and the divergence H takes the place of
the variance. D and H come from tables in ln h (`depl.heuristics.loop.tilted_learning`), rounded so that the
bound stays one. Where h is only known to lie in an interval, a price that rises in h is taken at its low end.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.loop.dual import Bound, Dual, Part, Prices
from depl.heuristics.loop.sites import Places, Priced
from depl.heuristics.loop.tilted_kernels import tilted_costs
from depl.heuristics.loop.tilted_learning import Tilt, TiltedLearning
from depl.models.laws import FloatArray
from depl.models.risk.tilted_laws import STEP


@dataclass(eq=False)
class TiltedDual(Dual):
    """The dual of one instance on some places under one tilt; made by `tilted_dual`."""

    tables: TiltedLearning
    tilt: Tilt

    def __init__(
        self, tables: TiltedLearning, tilt: Tilt, places: Places, maximum_time: float | None, dearest: float
    ) -> None:
        learning = replace(
            tables.learning, switch_losses=tilt.switch_losses, switch_variances=tilt.switch_divergences
        )
        super().__init__(learning, places, maximum_time, dearest)
        self.tables, self.tilt = tables, tilt
        low = np.where(places.low > 0, places.low, 1.0)
        self._shifts = np.where(places.low > 0, np.log(low) / STEP, -np.inf)

    def prices_from(self, time: float, gain: float, variance: float) -> Prices:
        """Prices that weigh a variance as given: D is nearly s V and H nearly s**2 V / 2."""
        rate = self.tilt.rate
        return Prices(time, gain, 2 * (variance - gain * rate) / rate**2)

    def variance_price(self, prices: Prices) -> float:
        """The other way round [cost / loss**2]."""
        rate = self.tilt.rate
        return prices.gain * rate + prices.variance * rate**2 / 2

    def best(self, part: Part, start: Prices, cutoff: float) -> Bound:
        """The bound of the class; may stop at any value from the cutoff on."""
        return self.bound(part, self.tilt.requirement, start, cutoff)

    def _reduced(self, priced: Priced, part: Part, prices: Prices) -> NDArray[np.int64]:
        weights, chosen = self._work
        tilted_costs(
            priced.psi,
            part.charges,
            self.learning.gains,
            self.places.factors,
            self.places.low,
            prices.gain,
            self.tilt.places,
            self._shifts,
            self.tables.rows,
            self.tables.penalties(prices.gain / self.tilt.rate, prices.variance),
            weights,
            chosen,
        )
        return chosen

    def _learned(
        self, prices: Prices, models: NDArray[np.int64], sites: NDArray[np.int64]
    ) -> tuple[FloatArray, FloatArray]:
        tables, k = self.tables, np.arange(len(models))
        gain = self.learning.gains[k, models]
        factor = np.where(gain > 0, self.places.factors[sites], self.places.low[sites])
        rows, places = tables.rows[k, models], self.tilt.places[k, models] + self._shifts[sites]
        lost = tables.read(tables.lost, rows, places) / self.tilt.rate
        return factor * gain - lost, tables.read(
            tables.low if prices.variance >= 0 else tables.high, rows, places
        )
