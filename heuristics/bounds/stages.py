"""The bound over all classes on a frontier, one step after another: early, then better as long as time lasts.

Every plan is in a range of a class, so the least of what is proved of all ranges holds for every plan, and
that is the bound at any moment. A step works at the range that decides. It is evaluated on the frontier, over
all clusters, at the prices that the guide has for it; the guide looks for better prices; the range is divided
in H and B; or the intervals of volume that its cheapest sequence uses are divided. All ranges share one price
of time, the guide's, as psi at another price takes long on a frontier.

Nothing that was proved is lost: it holds on every frontier and for all parts of a range.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from depl.heuristics.bounds.cutting_planes import Part, Prices
from depl.heuristics.bounds.requirement import Requirement
from depl.heuristics.bounds.tilted_bound import DEEPEST, Classes, Opened
from depl.heuristics.bounds.volume_bound import Frontier
from depl.heuristics.data.sites import DataFactors
from depl.models.problem.instance import Instance

_BEYOND = 1.03
"""Ranges get better prices until the guide's bound is so many times what plans are expected to cost. Set by
hand: a first frontier proves up to two per cent less than the guide, and such a range then does not decide;
more would take longer for ranges in which no plan near the optimum lies."""
_PARTS, _MOST_ENTRIES = 6, 1200
"""Parts of an interval that is divided, and the entries of a frontier from which on none is. Set by hand:
time and memory of every later step are in proportion to the entries."""
_DIVISIONS, _FRONTIERS = 40, 8
"""Ranges that are divided, and frontiers with finer intervals than the first. Set by hand: where no time is
limited the steps have to end; at full size fewer of both are reached in the time that is usual."""

Stop = Callable[[], bool]
"""Whether to be content with what is proved so far."""


@dataclass(eq=False)
class Stages:
    """What is proved so far, and what raises it.

    Parameters
    ----------
    instance : Instance
    factors : DataFactors
    guide : `depl.heuristics.bounds.tilted_bound.Classes`
        On few places, where prices are found; nothing is proved on them.
    full : `depl.heuristics.bounds.tilted_bound.Classes`
        On a frontier over all clusters.
    expected : float
        What plans are expected to cost, if that is known: only says where to look [cost].

    Attributes
    ----------
    items : list of Opened
        All ranges of all classes.
    """

    instance: Instance
    factors: DataFactors
    guide: Classes
    full: Classes
    expected: float = math.nan
    items: list[Opened] = field(default_factory=list, init=False)
    _frontiers: int = field(default=0, init=False)
    _divisions: int = field(default=_DIVISIONS, init=False)

    @property
    def value(self) -> float:
        """No plan costs less; infinite if no plan is in any range [cost]."""
        return min((item.proved for item in self.items), default=math.inf)

    def run(self, start: Prices, stop: Stop) -> Iterator[float]:
        """The bound after every step; the first one comes once all classes were evaluated.

        Where ``stop`` says so, 0 or the same bound is returned again, and the steps go on if there is time.
        """
        self._open(start)
        for first in self._first_of_classes():
            if stop():
                yield 0.0
                if stop():
                    return
            self._prove(first)
        yield self.value
        yield from self._better(stop)

    def _better(self, stop: Stop) -> Iterator[float]:
        """The bound after every step that works at the range that decides, until none is of use."""
        while self.items:
            if stop():
                yield self.value
                if stop():  # who asks for more has time again
                    return
            item = min(self.items, key=lambda item: item.proved)
            if item.proved == math.inf or not self._improved(item):
                return
            yield self.value

    def _improved(self, item: Opened) -> bool:
        """Do what may raise what is proved of a range; False if nothing is left to be done."""
        if item.proved_at != (self._frontiers, item.prices):
            self._prove(item)
            return True
        if not item.raised:
            self._raise(item)
            return True
        ways = [self._finer, self._divided]
        if self.expected - item.value > item.value - item.proved:
            ways.reverse()
        return any(way(item) for way in ways)

    def _open(self, start: Prices) -> None:
        """All ranges at the start prices, with the better of two weights of H: the guide's and the tilt's."""
        for index, dual in enumerate(self.guide.duals):
            ranges, best = dual.tilt.requirement.ranges, None
            for weight in (start.variance, start.gain * dual.tilt.rate / 2):
                prices = dual.prices_from(start.time, start.gain, weight)
                values = dual.values(self.guide.part, dual.tilt.requirement, prices)
                if best is None or min(values) > min(best[0]):
                    best = values, prices
            if best is not None:
                pairs = zip(ranges, best[0], strict=True)
                self.items += [Opened(index, piece, v, best[1]) for piece, v in pairs]
        if math.isnan(self.expected):
            least = min(self.items, key=lambda item: item.value)
            self.expected = math.inf
            self._raise(least)
            self.expected = least.value

    def _first_of_classes(self) -> list[Opened]:
        """The range of every class whose prices it is evaluated at first: that of least value."""
        groups = itertools.groupby(self.items, key=lambda item: item.tilt)
        return [min(group, key=lambda item: item.value) for _, group in groups]

    def _prove(self, item: Opened) -> None:
        """What the prices of a range prove of all ranges of its class on the frontier."""
        mine = [other for other in self.items if other.tilt == item.tilt]
        dual = self.full.duals[item.tilt]
        pieces = tuple(other.piece for other in mine)
        requirement = Requirement(dual.tilt.requirement.fall, pieces)
        values = dual.values(self.full.part, requirement, item.prices)
        for other, value in zip(mine, values, strict=True):
            other.proved = max(other.proved, value)
            if other.prices == item.prices:
                other.proved_at = self._frontiers, item.prices

    def _single(self, item: Opened) -> Requirement:
        return Requirement(self.guide.duals[item.tilt].tilt.requirement.fall, (item.piece,))

    def _raise(self, item: Opened) -> None:
        """Better prices for a range, by the guide, and for others of its class if they are worth more."""
        dual, enough = self.guide.duals[item.tilt], self.expected * _BEYOND
        item.raised = True
        if item.value >= enough:
            return
        dual.same_time = True
        bound = dual.bound(self.guide.part, self._single(item), item.prices, enough)
        if not bound.value > item.value:
            return
        item.value, item.prices = bound.value, bound.prices
        left = [other for other in self.items if other.tilt == item.tilt and not other.raised]
        self.guide.adopt(item.tilt, item, left)

    def _divided(self, item: Opened) -> bool:
        """Four ranges in the place of one; what was proved of it holds for them."""
        if self._divisions == 0 or item.depth >= DEEPEST or not 0 < item.value < math.inf:
            return False
        self._divisions -= 1
        quarters = self.guide.quarters(item)
        for quarter in quarters:
            quarter.proved = item.proved
        self.items.remove(item)
        self.items += quarters
        return True

    def _finer(self, item: Opened) -> bool:
        """A frontier whose intervals are divided where the cheapest sequence of a range is."""
        places = self.full.places
        if self._frontiers >= _FRONTIERS or not isinstance(places, Frontier):
            return False
        if len(places.low) > _MOST_ENTRIES:
            return False
        _, cut = self.full.at_prices(item)
        if cut is None:
            return False
        ends = places.finer_ends(cut.sites.tolist(), _PARTS)
        rates = places.relative_rates(self.instance, item.prices.time, cut.models, cut.sites)
        finer = Frontier.between(self.instance, self.factors, ends, rates).like(places)
        self.full = self.full.on(finer, Part(np.zeros(len(finer.low))))
        self._frontiers += 1
        return True
