r"""The proved lower bound of an instance, and what stands in the way of every plan.

Two proofs, the better one counts: the dual under what two moments and the inequality of Berry and Esseen ask
of every plan (`depl.heuristics.bounds.requirement`), and, where all laws allow it, the duals of all classes
of plans under their own tilts (`depl.heuristics.bounds.tilted_bound`), which lose next to nothing where
epochs are many. Where all sites are listed they are evaluated on them. Where a frontier stands for them, a
guide finds the prices and an evaluation on the full frontier, over all clusters, proves them: step by step
(`Stages`), so that a bound comes early and is refined as long as time lasts.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from depl.heuristics.bounds.dual import Dual, Part, Prices, start_prices
from depl.heuristics.bounds.frontier import Frontier, least_work
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.outlook import Outlook
from depl.heuristics.bounds.requirement import (
    Requirement,
    VarianceRange,
    certified_requirement,
    fall_of,
    largest_variance,
)
from depl.heuristics.bounds.tilted_bound import DEEPEST, Classes, Opened
from depl.heuristics.bounds.tilted_learning import COARSE, FEW_EPOCHS, FINE, TiltedLearning
from depl.heuristics.bounds.windows import divided_bounds
from depl.heuristics.data.sites import (
    DataFactors,
    Places,
    Sites,
    listed_sites,
    may_be_listed,
)
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.foundation.wording import number, probability
from depl.models.problem.epochs import Term
from depl.models.problem.instance import Instance
from depl.models.risk.lower_bound.switches import TiltedSwitch

_FREE = Prices(0.0, 1.0, 0.0)
"""Prices at which only the gain counts."""
_INTERVALS, _FEW_INTERVALS = 400, 150
"""Intervals of volume; few to begin with where those that decide are divided later."""


Stop = Callable[[], bool]
"""Whether to be content with what is proved so far."""


@dataclass(frozen=True)
class LowerBound:
    """No feasible plan costs less than ``value``, or it is proved that there is none, but not why.

    Where there is none the value is what no plan exceeds [cost].
    """

    value: float
    infeasible: bool = False


@dataclass(eq=False)
class Proof:
    """What the bound of one instance is made of; without an outlook all sites are listed.

    No plan costs more than ``highest_cost`` [cost]. There are ``stages`` where a frontier stands for the
    sites, once the steps have come to them.
    """

    instance: Instance
    learning: Learning
    factors: DataFactors
    outlook: Outlook | None
    stages: "Stages | None" = field(default=None, init=False)

    def __post_init__(self) -> None:
        """All sites, or what stands for them."""
        instance, self.places, self.highest_cost = self.instance, self._places(), _highest_cost(self.instance)
        self._tilted: dict[tuple[Term, float, bool], TiltedSwitch] = {}
        charges = np.zeros(len(self.places.factors))
        if isinstance(self.places, Sites):
            charges = self.places.transfers / instance.target.maximum_epochs
        self.part = Part(charges)
        self.dual = Dual(self.learning, self.places, instance.target.maximum_time, self.highest_cost)
        largest = largest_variance(self.learning.variances, self.learning.switch_variances)
        self.requirement = certified_requirement(instance, self.learning.third_ratio, largest)

    @classmethod
    def of(cls, instance: Instance, learning: Learning, factors: DataFactors) -> "Proof":
        """With an outlook where sites cannot be listed."""
        outlook = None if may_be_listed(instance) else Outlook(instance, learning, factors)
        return cls(instance, learning, factors, outlook)

    def obstacle(self) -> str:
        """Why there is no plan, by stage, if that can be proved."""
        return _obstacle(self.instance, self.dual, self.part, self.requirement)

    def steps(self, stop: Stop, expected: float = math.nan) -> Iterator[LowerBound]:
        """The bound after every step that may raise it, one at least.

        Once ``stop`` says so, one more is returned; asked again with time, the steps go on.

        Parameters
        ----------
        stop : callable
            Asked before every step.
        expected : float, optional
            What plans are expected to cost, if that is known: only says where to look [cost].
        """
        tilted, value = TiltedLearning.covers(self.instance, self.learning), 0.0
        while self.requirement is not None and (self.outlook is None or not tilted):
            value = max(value, self._by_moments(self.requirement, stop))
            if self.outlook is None or not stop():
                break
            yield self._known(value)
            if stop():  # who asks for more has time again
                return
        while tilted:
            try:
                for found in self._by_tilts(stop, expected):
                    value = max(value, found)
                    yield self._known(value)
                break
            except OutOfTimeError:
                yield self._known(value)
                if stop():
                    return
        yield self._known(value)

    def _known(self, value: float) -> LowerBound:
        if value == math.inf:  # the nearest reachable quantile is for a search to say
            return LowerBound(self.highest_cost, infeasible=True)
        return LowerBound(float(value))

    def _places(self) -> Places:
        if self.outlook is None:
            return Sites.of(self.instance, listed_sites(self.instance), self.factors)
        refined = TiltedLearning.covers(self.instance, self.learning)
        return Frontier.of(self.instance, self.factors, _FEW_INTERVALS if refined else _INTERVALS)

    def _by_moments(self, requirement: Requirement, stop: Stop) -> float:
        """Under what two moments and Berry and Esseen ask."""
        if self.outlook is None:
            start = start_prices(self.dual, self.part, requirement)
            return self.dual.bound(self.part, requirement, start).value
        start, lowest = self.outlook.start(requirement), math.inf
        for piece in requirement.ranges:
            if stop():
                return 0.0
            single = replace(requirement, ranges=(piece,))
            guided = self.outlook.bound(single, start)
            lowest = min(lowest, *self.dual.values(self.part, single, guided.prices))
        return lowest

    def _by_tilts(self, stop: Stop, expected: float = math.nan) -> Iterator[float]:
        """Under what holds under the tilt of every class of plans, after every step."""
        guide, part, dual = self.places, self.part, self.dual
        if self.outlook is not None:
            guide, part, dual = self.outlook.guide.places, self.outlook.part, self.outlook.guide
        tables = self._tables(guide, stop)
        tilts = tables.tilts()
        if stop():
            raise OutOfTimeError
        if not all(tilt.says_something for tilt in tilts):
            return
        plain = Requirement(fall_of(self.instance), (VarianceRange(0.0, 1.0, 0.0, 0.0),))
        latest = None if self.outlook is None else self.outlook.latest
        start = latest or start_prices(dual, part, plain)
        limit = self.instance.target.maximum_time
        if self.outlook is None or not isinstance(self.places, Frontier):
            opened = Classes(tables, guide, part, limit, self.highest_cost, tilts).priced(start, stop)
            stopped = stop()
            yield min(item.value for item in opened)
            if stopped:
                raise OutOfTimeError
            return
        on_guide = Classes(tables, guide, part, limit, math.inf, tilts)
        charged = self.outlook.charged
        places = self.places if charged is None else self.places.charged(*charged)
        full = Classes(tables, places, Part(np.zeros(len(places.low))), limit, self.highest_cost, tilts)
        self.stages = Stages(self.instance, self.factors, on_guide, full, expected)
        yield from self.stages.run(start, stop)

    def _tables(self, guide: Places, stop: Stop) -> TiltedLearning:
        known = np.concatenate([places.low[places.low > 0] for places in (self.places, guide)])
        high = max(float(places.high.max()) for places in (self.places, guide))
        fineness = COARSE if self.instance.target.maximum_epochs <= FEW_EPOCHS else FINE
        return TiltedLearning(
            self.instance, self.learning, float(known.min()), high, fineness, stop, self._tilted
        )


def _obstacle(instance: Instance, dual: Dual, part: Part, requirement: Requirement | None) -> str:
    """A proof that the mean of no sequence can reach what is certainly needed, with the nearest value."""
    target = instance.target
    needed = -math.inf
    if requirement is not None:
        lowest = min(min(piece.margin_low, piece.margin_high) for piece in requirement.ranges)
        needed = requirement.fall + lowest
    free = Part(np.where(np.isinf(part.charges), math.inf, 0.0))
    least, _ = dual.without_cost().cheapest(free, _FREE)
    if least == math.inf:
        return _no_epoch(instance)
    if dual.learning.end_charge and least >= dual.learning.end_charge / 2:
        return "models: no sequence of models ends with one that may be the last"
    if -least < needed:
        reached = target.initial_loss + least
        return (
            f"models: target {number(target.maximum_loss)} "
            f"at omega {probability(target.quantile_level)} is out "
            f"of reach within {target.maximum_epochs} epochs; the lowest expected loss is {number(reached)}"
        )
    if target.maximum_time is None or needed == -math.inf:
        return ""
    limit = target.maximum_time * (1 + TIME_TOLERANCE)
    fastest = _least_time(dual, free, needed, limit)
    if fastest > limit:
        return (
            f"resources: reaching the target takes at least {number(fastest)}, and maximum_time is "
            f"{number(target.maximum_time)}"
        )
    return ""


def _least_time(dual: Dual, part: Part, needed: float, limit: float) -> float:
    """A lower bound of the time that any sequence with the needed mean gain takes; any, if one is in time."""
    timed = dual.with_times()
    low, high, best = 1e-12, 1e12, 0.0
    for _ in range(50):
        price = math.sqrt(low * high)
        least, cut = timed.cheapest(part, Prices(0.0, price, 0.0))
        if cut is None:
            return math.inf
        best = max(best, least + price * needed)
        if cut.gain >= needed and cut.cost <= limit:
            return best
        low, high = (price, high) if cut.gain < needed else (low, price)
    return best


def _no_epoch(instance: Instance) -> str:
    """Why not even one epoch can be trained."""
    quickest, deadline = _fastest_epoch(instance), instance.target.round_deadline
    if deadline is None or quickest <= deadline:
        return "models: no model that may follow the initial one keeps the round deadline"
    return (
        f"resources: no epoch keeps the round deadline {number(deadline)} on any cluster; the fastest takes "
        f"{number(quickest)}"
    )


def _fastest_epoch(instance: Instance) -> float:
    """Least time of an epoch with one dataset and full resources [time]."""
    names = [frozenset({item.name}) for item in instance.datasets]
    works = [(min(least_work(instance, model, data) for data in names), model) for model in instance.models]
    return min(
        work / (place.nodes * place.capacity) + model.size / place.bandwidth
        for work, model in works
        for place in instance.clusters
    )


def _highest_cost(instance: Instance) -> float:
    full = max(place.nodes * place.unit_cost * place.capacity for place in instance.clusters)
    return instance.target.maximum_epochs * full + math.fsum(row.cost for row in instance.transfers)


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


@dataclass(eq=False)
class Stages:
    """What is proved so far of all ranges of all classes (``items``), and what raises it.

    Prices are found by the ``guide``, on few places, where nothing is proved, and proved on the frontier of
    ``full``; what plans are ``expected`` to cost, if that is known, only says where to look [cost].
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

    def divided(self, cost: float, stop: Stop) -> Iterator[float]:
        """Rising bounds once nothing else raises them, up to the cost of a plan that is held."""
        if isinstance(self.full.places, Frontier):
            yield from divided_bounds(self.full, self.full.places, self.items, cost, stop)

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
        return any(way(item) for way in (*ways, self._settled))

    def _open(self, start: Prices) -> None:
        """All ranges at the start prices, with the better of two weights of H: the guide's and the tilt's."""
        for index, dual in enumerate(self.guide.duals):
            weights = start.variance, start.gain * dual.tilt.rate / 2
            tried = (dual.prices_from(start.time, start.gain, weight) for weight in weights)
            opened = [self.guide.opened(index, prices) for prices in tried]
            self.items += max(opened, key=lambda items: min(item.value for item in items))
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
        asked = self.full.asked(item.tilt, mine)
        values = self.full.duals[item.tilt].values(self.full.part, asked, item.prices)
        for other, value in zip(mine, values, strict=True):
            other.proved = max(other.proved, value)
            if other.prices == item.prices:
                other.proved_at = self._frontiers, item.prices

    def _raise(self, item: Opened) -> None:
        """Better prices for a range, by the guide, and for others of its class if they are worth more."""
        enough, before = self.expected * _BEYOND, item.value
        item.raised = True
        if before < enough:
            self.guide.duals[item.tilt].same_time = True
            self.guide.better(item, enough)
        if item.value > before:
            self.guide.adopt(item.tilt, item, [other for other in self.items if not other.raised])

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

    def _settled(self, item: Opened) -> bool:
        """Prices of its own on the frontier itself, where those of the guide are not the best."""
        if item.settled:
            return False
        item.settled, own = True, replace(item, value=item.proved)
        self.full.settle(own)
        if own.value > item.proved:
            item.prices = own.prices
            self._prove(item)
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
        finer = Frontier.between(self.instance, self.factors, ends, rates)
        finer = replace(finer, weights=places.weights, stretches=places.stretches)
        self.full = self.full.on(finer, Part(np.zeros(len(finer.low))))
        self._frontiers += 1
        return True
