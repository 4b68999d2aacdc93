"""Every plan of a tiny instance, listed to refute or confirm a lower bound of the cost.

A plan is an assignment of data to clusters and a sequence of clusters and models; its resources are the
cheapest (`depl.models.verifier.resources`). Sequences grow epoch by epoch, and with them what adds up: the
sums that tell whether equation (3) may hold, the least time, and the least value of all epochs at a few
prices lam of time. That value less lam T_max is a lower bound of the cost, whatever lam is. Only plans for
which it is below the claim, and that may meet (3), are looked at more closely.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.verifier.dual import NUMBERS_AT_ONCE, Assignment, assignments, may_switch, moving_cost
from depl.models.verifier.reading import EpochFacts, facts_of
from depl.models.verifier.requirements import BoolArray, Requirement
from depl.models.verifier.resources import least_costs, least_prices, shortest_times
from depl.models.verifier.sites import fits, may_be_last
from depl.models.verifier.tolerances import CLAIM_TOLERANCE, TIME_TOLERANCE

MOST_PLANS = 20_000
"""Most pairs of a sequence and an assignment that are listed."""

_PRICES = 64
"""Prices of time at which sequences are bounded: set by hand. Any price is sound; fewer leave more sequences
to be costed one by one."""

_LOWEST_PRICE = 12.0  # of log lam, below that at which the first epoch takes all resources
_COSTS_AT_ONCE = 256
"""Sequences costed in one call: set by hand. Fewer cost more calls, more cost plans that a refutation makes
needless; the answer is the same."""

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Listing:
    """What listing the plans says about a lower bound.

    Attributes
    ----------
    plans : int
        How many pairs of a sequence and an assignment there are.
    refuting : float or None
        Cost of a plan that is cheaper than the bound and certainly feasible [cost].
    open_cost : float or None
        Cost of one that is cheaper and may be feasible, if none certainly is [cost].
    """

    plans: int
    refuting: float | None
    open_cost: float | None


def listed(instance: Instance, requirement: Requirement, claimed: float, most: int) -> Listing | None:
    """Look for a plan that is cheaper than ``claimed`` and meets its target.

    Returns
    -------
    Listing or None
        None if there are more than ``most`` plans, or to judge those found would take too long.
    """
    count = plan_count(instance, most)
    if count is None:
        return None
    open_cost: float | None = None
    for cost, plan in _cheaper(instance, requirement, claimed * (1.0 - CLAIM_TOLERANCE)):
        found = requirement.verdict(plan)
        if found is None:
            return None
        if found[1]:
            return Listing(count, cost, None)
        open_cost = cost if found[0] and open_cost is None else open_cost
    return Listing(count, None, open_cost)


def plan_count(instance: Instance, most: int) -> int | None:
    """Number of pairs of a sequence of 1 ... K_max epochs and an assignment; None if above ``most``."""
    count, models = 0, range(len(instance.models))
    choices = len(instance.datasets) * len(instance.clusters)
    if instance.target.maximum_epochs and (2**choices - 1) * len(models) > most:
        return None  # too many assignments even to go through
    for assignment in assignments(instance):
        places = [place for place, data in enumerate(assignment) if data is not None]
        options = sum(fits(instance, model, place) for model in models for place in places)
        for length in range(1, instance.target.maximum_epochs + 1):
            count += options**length
            if count > most:
                return None
    return count


class _Candidate(NamedTuple):
    """A sequence that the quick tests leave, with its transfers."""

    moved: float
    facts: tuple[EpochFacts, ...]
    plan: Plan


@dataclass(frozen=True, eq=False)
class _Block:
    """Sequences of one length: options (P, k), sums (P, V), priced values (P, L), least times (P,)."""

    options: IntArray
    sums: FloatArray
    values: FloatArray
    times: FloatArray

    def some(self, chosen: BoolArray | slice) -> "_Block":
        """A part of the sequences."""
        return _Block(self.options[chosen], self.sums[chosen], self.values[chosen], self.times[chosen])


@dataclass(frozen=True, eq=False)
class _Sums:
    """What epochs and switches add to the sums, each computed once."""

    requirement: Requirement
    epoch: Callable[[int, int, frozenset[str]], FloatArray]
    switch: Callable[[int, int, int], FloatArray]


def _cheaper(instance: Instance, requirement: Requirement, below: float) -> Iterator[tuple[float, Plan]]:
    """Cost and plan of all that cost less than ``below`` and pass the quick tests."""
    if below > 0.0 and may_be_last(instance, instance.target.initial_model):
        yield 0.0, Plan()
    sums = _Sums(requirement, functools.cache(requirement.epoch), functools.cache(requirement.switch))
    found = itertools.chain.from_iterable(
        _Grower(instance, sums, assignment).candidates(below) for assignment in assignments(instance)
    )
    target = instance.target
    known: dict[tuple[EpochFacts, ...], float] = {}
    while rows := list(itertools.islice(found, _COSTS_AT_ONCE)):
        keys = [tuple(sorted(row.facts, key=dataclasses.astuple)) for row in rows]
        new = [key for key in dict.fromkeys(keys) if key not in known]
        if new:
            costs = least_costs(new, target.maximum_time, target.round_deadline)
            known.update(zip(new, costs.tolist(), strict=True))
        for row, key in zip(rows, keys, strict=True):
            if row.moved + known[key] < below:
                yield row.moved + known[key], row.plan


class _Grower:
    """All sequences on one assignment, without those that miss a limit of time."""

    def __init__(self, instance: Instance, sums: _Sums, assignment: Assignment) -> None:
        self._instance, self._sums = instance, sums
        self._data = {place: data for place, data in enumerate(assignment) if data is not None}
        self._moved = moving_cost(instance, assignment)
        models = range(len(instance.models))
        pairs = itertools.product(self._data, models)
        self._options = [(place, model) for place, model in pairs if fits(instance, model, place)]
        self._ending = np.array(
            [may_be_last(instance, instance.models[model].name) for _, model in self._options]
        )
        self._facts = [self._facts_at(number) for number in range(1, instance.target.maximum_epochs + 1)]
        self._prices = _prices(list(itertools.chain(*self._facts)), instance.target.maximum_time)
        deadline = instance.target.round_deadline
        self._values = [least_prices(row, self._prices, deadline).T for row in self._facts]
        self._times = [shortest_times(row) for row in self._facts]

    def candidates(self, below: float) -> Iterator[_Candidate]:
        """The sequences on exactly these clusters that may cost less than ``below`` and meet (3)."""
        charge = self._prices * (self._instance.target.maximum_time or 0.0)
        for block in self._blocks():
            cheap = self._moved + (block.values - charge).max(axis=1) < below
            ended = self._ending[block.options[:, -1]]
            rest = block.some(cheap & ended & self._on_all_clusters(block.options))
            for row in rest.options[self._sums.requirement.possible(rest.sums)]:
                facts = tuple(self._facts[index][option] for index, option in enumerate(row))
                yield _Candidate(self._moved, facts, self._plan(row))

    def _blocks(self) -> Iterator[_Block]:
        """Sequences of 1 ... K_max epochs."""
        sums = self._sums.requirement.nothing()
        empty = np.zeros((1, 0), dtype=np.int64)
        waiting = [_Block(empty, sums[None], np.zeros((1, len(self._prices))), np.zeros(1))]
        at_once = max(1, NUMBERS_AT_ONCE // (len(sums) + len(self._prices)))
        while waiting:
            block = waiting.pop()
            length = block.options.shape[1]
            if length:
                yield block
            if length < self._instance.target.maximum_epochs:
                pairs = itertools.product(range(len(self._options)), self._models_at(length))
                longer = _joined([self._longer(block, option, before) for option, before in pairs])
                cuts = range(0, len(longer.times), at_once)
                waiting += [longer.some(slice(first, first + at_once)) for first in cuts]

    def _models_at(self, length: int) -> Sequence[int | None]:
        """Models that an epoch after ``length`` others may follow; None for none."""
        if length:
            return range(len(self._instance.models))
        names: list[str | None] = [model.name for model in self._instance.models]
        start = self._instance.target.initial_model
        return [None if start is None else names.index(start)]

    def _longer(self, block: _Block, option: int, before: int | None) -> _Block:
        """The sequences of a block that end with model ``before``, with one more epoch."""
        place, model = self._options[option]
        length = block.options.shape[1]
        chosen = np.ones(len(block.times), dtype=bool)
        if length:
            models = np.array([trained for _, trained in self._options])
            chosen = models[block.options[:, -1]] == before
        if before is not None and not may_switch(self._instance, before, model):
            chosen[:] = False
        part = block.some(chosen)
        added = self._sums.epoch(length + 1, model, self._data[place])
        if before is not None and before != model and chosen.any():
            added = added + self._sums.switch(length + 1, before, model)
        last = np.full((len(part.times), 1), option, dtype=np.int64)
        longer = _Block(
            np.concatenate([part.options, last], axis=1),
            part.sums + added,
            part.values + self._values[length][option],
            part.times + self._times[length][option],
        )
        limit = self._instance.target.maximum_time
        late = False if limit is None else longer.times > limit * (1.0 + TIME_TOLERANCE)
        return longer.some(np.isfinite(longer.values).all(axis=1) & ~np.asarray(late))

    def _on_all_clusters(self, options: IntArray) -> BoolArray:
        places = np.array([place for place, _ in self._options])[options]
        return np.asarray(np.all([(places == place).any(axis=1) for place in self._data], axis=0))

    def _facts_at(self, number: int) -> list[EpochFacts]:
        clusters, models = self._instance.clusters, self._instance.models
        return [
            facts_of(self._instance, number, models[model], clusters[place], self._data[place])
            for place, model in self._options
        ]

    def _plan(self, row: IntArray) -> Plan:
        """The discrete part of a plan; its resources do not matter to the loss."""
        clusters, models = self._instance.clusters, self._instance.models
        epochs = [self._options[option] for option in row]
        return Plan(
            data=tuple(
                ClusterData(cluster=clusters[place].name, datasets=tuple(sorted(data)))
                for place, data in self._data.items()
            ),
            epochs=tuple(
                PlannedEpoch(model=models[model].name, cluster=clusters[place].name, resources=0.0)
                for place, model in epochs
            ),
        )


def _joined(blocks: Sequence[_Block]) -> _Block:
    return _Block(
        *(
            np.concatenate([getattr(block, field.name) for block in blocks])
            for field in dataclasses.fields(_Block)
        )
    )


def _prices(facts: Sequence[EpochFacts], maximum_time: float | None) -> FloatArray:
    """A few prices of time around those at which epochs begin to take all resources, and 0."""
    scales = [
        np.log(fact.price) + 2.0 * np.log(fact.capacity) - np.log(fact.work)
        for fact in facts
        if fact.work > 0.0 and fact.price > 0.0
    ]
    if maximum_time is None or not scales:
        return np.zeros(1)
    return np.concatenate([[0.0], np.exp(np.linspace(min(scales) - _LOWEST_PRICE, max(scales), _PRICES))])
