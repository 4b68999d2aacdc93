"""The proved lower bound of an instance, and what stands in the way of every plan.

Two proofs, the better one counts: the dual under what two moments and the inequality of Berry and Esseen ask
of every plan (`depl.heuristics.bounds.requirement`), and, where all laws allow it, the duals of all classes
of plans under their own tilts (`depl.heuristics.bounds.tilted_bound`), which lose next to nothing where
epochs are many. Where all sites are listed they are evaluated on them. Where a frontier stands for them, a
guide finds the prices and an evaluation on the full frontier, over all clusters, proves them: step by step
(`depl.heuristics.bounds.stages`), so that a bound comes early and is refined as long as time lasts.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from depl.heuristics.bounds.cutting_planes import Part, Prices
from depl.heuristics.bounds.dual import Dual, start_prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.outlook import Outlook
from depl.heuristics.bounds.requirement import (
    Requirement,
    VarianceRange,
    certified_requirement,
    fall_of,
    largest_variance,
)
from depl.heuristics.bounds.stages import Stages, Stop
from depl.heuristics.bounds.tilted_bound import Classes
from depl.heuristics.bounds.tilted_learning import COARSE, FEW_EPOCHS, FINE, TiltedLearning
from depl.heuristics.bounds.volume_bound import Frontier
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
from depl.models.problem.epochs import Term, compute
from depl.models.problem.instance import Instance
from depl.models.risk.lower_bound.switches import TiltedSwitch

_FREE = Prices(0.0, 1.0, 0.0)
"""Prices at which only the gain counts."""
_INTERVALS, _FEW_INTERVALS = 400, 150
"""Intervals of volume; few to begin with where those that decide are divided later."""


@dataclass(frozen=True)
class LowerBound:
    """What is proved before any plan is known.

    Attributes
    ----------
    value : float
        No feasible plan costs less [cost].
    infeasible : bool
        It is proved that there is no plan, but not why; the value then is what no plan exceeds.
    """

    value: float
    infeasible: bool = False


@dataclass(eq=False)
class Proof:
    """What the bound of one instance is made of.

    Parameters
    ----------
    outlook : Outlook or None
        Without one all sites are listed.

    Attributes
    ----------
    highest_cost : float
        No plan costs more [cost].
    """

    instance: Instance
    learning: Learning
    factors: DataFactors
    outlook: Outlook | None

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

    def bound(self, stop: Stop = lambda: False) -> LowerBound:
        """The better of two bounds, where no obstacle is known; what is at hand when ``stop`` says so."""
        return list(self.steps(stop))[-1]

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
            lowest = min(lowest, self.dual.value(self.part, single, guided.prices))
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
        stages = Stages(self.instance, self.factors, on_guide, full, expected)
        yield from stages.run(start, stop)

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
    free = _free_of(part)
    idle = dual.without_cost()
    least, _ = idle.cheapest(free, _FREE)
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
    epochs = range(1, instance.target.maximum_epochs + 1)
    tabled = any(model.compute is not None for model in instance.models)
    best = math.inf
    for model in instance.models:
        work = min(compute(instance, k, model.name, d) for k in (epochs if tabled else (1,)) for d in names)
        for place in instance.clusters:
            time = work / (place.nodes * place.capacity) + model.size / place.bandwidth
            best = min(best, time)
    return best


def _free_of(part: Part) -> Part:
    """The same sites, without charges."""
    return Part(np.where(np.isinf(part.charges), math.inf, 0.0))


def _highest_cost(instance: Instance) -> float:
    full = max(place.nodes * place.unit_cost * place.capacity for place in instance.clusters)
    return instance.target.maximum_epochs * full + math.fsum(row.cost for row in instance.transfers)
