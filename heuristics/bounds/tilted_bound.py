"""The least bound over all classes of plans (`depl.heuristics.bounds.tilted_learning`).

Every plan is in one of the classes, so the least of their bounds holds for all plans. Prices of one class
give prices to begin with for the next; a class is left as soon as its bound is as good as the least so far.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from depl.heuristics.bounds.cutting_planes import Cut, Part, Prices
from depl.heuristics.bounds.learning import in_time
from depl.heuristics.bounds.requirement import Requirement, VarianceRange
from depl.heuristics.bounds.tilted_dual import TiltedDual
from depl.heuristics.bounds.tilted_learning import Tilt, TiltedLearning
from depl.heuristics.data.sites import Places, Priced

_CLOSE = 1.001
"""Ranges get prices of their own until their bound is so many times the least of those that have them. Set by
hand: at 1 the least bound on these places is the same; above, ranges just beyond it are raised, too."""
_DIVISIONS, DEEPEST = 40, 6
"""Ranges that are divided, and how often one may be. Set by hand: each division makes four ranges, halves of
the one in H and in B, so six leave 1/64 of each; more make the least bound better and take more time."""


@dataclass(eq=False)
class Opened:
    """A range of a class: the best bound so far and the prices that prove it.

    ``raised`` says whether it had its own prices, ``depth`` how often it was divided. ``proved`` is what is
    proved of it on a frontier, ``proved_at`` where its prices were last evaluated
    (`depl.heuristics.bounds.stages`).
    """

    tilt: int
    piece: VarianceRange
    value: float
    prices: Prices
    raised: bool = False
    depth: int = 0
    proved: float = -math.inf
    proved_at: tuple[int, Prices] | None = None


@dataclass(eq=False)
class Classes:
    """All classes on some places.

    Parameters
    ----------
    tables : TiltedLearning
    places : Places
    part : Part
    maximum_time : float or None
    highest_cost : float
        No plan costs more [cost].
    tilts : list of Tilt
    """

    tables: TiltedLearning
    places: Places
    part: Part
    maximum_time: float | None
    highest_cost: float
    tilts: list[Tilt]
    _psi: dict[float, Priced] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """One dual for every class; what psi is at a price of time is shared."""
        self.duals = []
        for tilt in self.tilts:
            dual = TiltedDual(self.tables, tilt, self.places, self.maximum_time, self.highest_cost)
            dual.share(self._psi)
            self.duals.append(dual)

    def priced(self, start: Prices, stop: Callable[[], bool] = lambda: False) -> list[Opened]:
        """All ranges with prices that prove the least bound over them, or nearly as much, or so far."""
        indices = in_time(range(len(self.duals)), lambda: not stop())
        found = [item for index in indices for item in self._opened(index, start)]
        self._settle(found, stop)
        for _ in range(_DIVISIONS):
            item = min(found, key=lambda item: item.value)
            if stop() or item.depth == DEEPEST or not 0 < item.value < math.inf:
                break
            found.remove(item)
            found += self.quarters(item)
            self._settle(found, stop)
        return found

    def at_prices(self, item: Opened) -> tuple[float, Cut | None]:
        """What the prices of a range prove of it on these places, and the cheapest sequence at them."""
        dual = self.duals[item.tilt]
        requirement = Requirement(dual.tilt.requirement.fall, (item.piece,))
        (value,), cut = dual.valued(self.part, requirement, item.prices)
        return value, cut

    def on(self, places: Places, part: Part) -> "Classes":
        """The same classes on other places of the instance."""
        return Classes(self.tables, places, part, self.maximum_time, self.highest_cost, self.tilts)

    def _settle(self, found: Sequence[Opened], stop: Callable[[], bool]) -> None:
        """Raise ranges until the least bound over all of them is that of one that was raised, or nearly."""
        least = min((item.value for item in found if item.raised), default=math.inf)
        left = [item for item in found if not item.raised]
        while left:
            item = min(left, key=lambda item: (least == math.inf and item.piece.excess_low > 0, item.value))
            left.remove(item)
            if item.value >= least * _CLOSE or stop():
                break
            self._raise(item, least)
            item.raised = True
            if item.value < least:
                least = item.value
                for index in range(len(self.duals)):
                    self.adopt(index, item, left)
            else:
                self.adopt(item.tilt, item, left)

    def quarters(self, item: Opened) -> list[Opened]:
        """The quarters of a range that plans may be in, with what its prices are worth for them."""
        dual = self.duals[item.tilt]
        pieces = tuple(self.tables.divided(dual.tilt.rate, item.piece))
        requirement = Requirement(dual.tilt.requirement.fall, pieces)
        return [
            Opened(item.tilt, piece, value, item.prices, depth=item.depth + 1)
            for piece, value in zip(pieces, dual.values(self.part, requirement, item.prices), strict=True)
        ]

    def _raise(self, item: Opened, least: float) -> None:
        """Better prices for one range: with the time as it is, if that is enough, or with all of them.

        What is left of a range needs next to the same price of time, and that of psi takes long.
        """
        dual = self.duals[item.tilt]
        single = Requirement(dual.tilt.requirement.fall, (item.piece,))
        ways = (True,) if item.depth else (True, False) if least < math.inf else (False,)
        for same in ways:
            dual.same_time = same
            bound = dual.bound(self.part, single, item.prices, least * _CLOSE)
            if bound.value > item.value:
                item.value, item.prices = bound.value, bound.prices
            if item.value >= least * _CLOSE:
                break

    def adopt(self, index: int, found: Opened, left: Sequence[Opened]) -> None:
        """What the prices of one range are worth for those of a class that are left."""
        mine = [item for item in left if item.tilt == index]
        if not mine:
            return
        dual, prices = self.duals[index], found.prices
        if index != found.tilt:
            weight = self.duals[found.tilt].variance_price(prices)
            prices = dual.prices_from(prices.time, prices.gain, weight)
        requirement = Requirement(dual.tilt.requirement.fall, tuple(item.piece for item in mine))
        for item, value in zip(mine, dual.values(self.part, requirement, prices), strict=True):
            if value > item.value:
                item.value, item.prices = value, prices

    def _opened(self, index: int, start: Prices) -> list[Opened]:
        dual = self.duals[index]
        prices = dual.prices_from(start.time, start.gain, start.gain * dual.tilt.rate / 2)
        values = dual.values(self.part, dual.tilt.requirement, prices)
        return [
            Opened(index, piece, value, prices)
            for piece, value in zip(dual.tilt.requirement.ranges, values, strict=True)
        ]
