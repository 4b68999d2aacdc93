"""The least bound over all classes of plans (`depl.heuristics.loop.tilted_learning`).

Every plan is in one of the classes, so the least of their bounds holds for all plans. Prices of one class
give prices to begin with for the next; a class is left as soon as its bound is as good as the least so far.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from depl.heuristics.loop.dual import Part, Prices
from depl.heuristics.loop.requirement import Requirement, VarianceRange
from depl.heuristics.loop.sites import Places, Priced
from depl.heuristics.loop.tilted_dual import TiltedDual
from depl.heuristics.loop.tilted_learning import Tilt, TiltedLearning

_CLOSE = 1.001
_ENOUGH = 1.01
_FAR = 1e30


@dataclass(eq=False)
class Opened:
    """A range of a class: the best bound so far, and the prices that prove it."""

    tilt: int
    piece: VarianceRange
    value: float
    prices: Prices


@dataclass(eq=False)
class Classes:
    """All classes on some places.

    Parameters
    ----------
    tables : TiltedLearning
    places : Places
    part : Part
    maximum_time : float or None
    dearest : float
        No plan costs more [cost].
    tilts : list of Tilt
    """

    tables: TiltedLearning
    places: Places
    part: Part
    maximum_time: float | None
    dearest: float
    tilts: list[Tilt]
    _psi: dict[float, Priced] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """One dual for every class; what psi is at a price of time is shared."""
        self.duals = []
        for tilt in self.tilts:
            dual = TiltedDual(self.tables, tilt, self.places, self.maximum_time, self.dearest)
            dual.share(self._psi)
            self.duals.append(dual)

    def priced(self, start: Prices) -> list[Opened]:
        """All ranges with prices that prove the least bound over them, or nearly as much."""
        found = [item for index in range(len(self.duals)) for item in self._opened(index, start)]
        first = [(item.value, item.prices) for item in found]
        least, known = math.inf, None
        for item in sorted(found, key=lambda item: item.value):
            if item.value >= least * _CLOSE:
                continue
            dual = self.duals[item.tilt]
            begin = item.prices if known is None else dual.prices_from(*known)
            single = Requirement(dual.tilt.requirement.fall, (item.piece,))
            bound = dual.bound(self.part, single, begin, least * _CLOSE)
            if bound.value > item.value:
                item.value, item.prices = bound.value, bound.prices
            if item.value < least:
                least = item.value
                known = item.prices.time, item.prices.gain, dual.variance_price(item.prices)
        for item, (value, prices) in zip(found, first, strict=True):
            _hold_back(item, value, prices, least * _ENOUGH)
        return found

    def proved(self, guided: list[Opened]) -> float:
        """The least bound that prices found elsewhere prove; each is tried on all ranges of its class."""
        least = min(item.value for item in guided)
        lowest = math.inf
        for index, dual in enumerate(self.duals):
            mine = [item for item in guided if item.tilt == index]
            proved = np.full(len(mine), -math.inf)
            for place in sorted(range(len(mine)), key=lambda place: mine[place].value):
                if proved[place] < least:
                    values = dual.values(self.part, dual.tilt.requirement, mine[place].prices)
                    proved = np.maximum(proved, values)
            lowest = min(lowest, float(proved.min(initial=math.inf)))
        return lowest

    def _opened(self, index: int, start: Prices) -> list[Opened]:
        dual = self.duals[index]
        prices = dual.prices_from(start.time, start.gain, start.gain * dual.tilt.rate / 2)
        values = dual.values(self.part, dual.tilt.requirement, prices)
        return [
            Opened(index, piece, value, prices)
            for piece, value in zip(dual.tilt.requirement.ranges, values, strict=True)
        ]


def _hold_back(item: Opened, value: float, prices: Prices, enough: float) -> None:
    """Go back towards the first prices as far as enough is proved: where plans are few, prices run away.

    The dual is concave, so in between it is at least the line from the first value to the last one.
    """
    if not -math.inf < value < enough < item.value:
        return
    share = (enough - value) / (min(item.value, _FAR) - value)
    between = (old + share * (new - old) for old, new in zip(prices, item.prices, strict=True))
    item.value, item.prices = enough, Prices(*between)
