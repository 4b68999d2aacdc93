"""Every plan of a tiny instance, listed to refute or confirm a lower bound of the cost.

A plan is an assignment of data to clusters and a sequence of clusters and models; its resources are the
cheapest (`depl.models.verifier.resources`). For any price lam of time, the least value of all epochs at that
price less lam T_max is a lower bound of the cost; only plans for which it is below the claim at a few prices
are costed, and only those that are then cheaper than the claim are held against equation (3).
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.verifier.dual import Assignment, assignments, may_switch, moving_cost
from depl.models.verifier.reading import EpochFacts, facts_of
from depl.models.verifier.requirements import Requirement
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


@dataclass(frozen=True)
class Listing:
    """What listing the plans says about a lower bound.

    Attributes
    ----------
    plans : int
        How many pairs of a sequence and an assignment there are.
    refuting : float or None
        Cost of a plan that is cheaper than the bound and certainly feasible [cost].
    """

    plans: int
    refuting: float | None


def listed(instance: Instance, requirement: Requirement, claimed: float, most: int) -> Listing | None:
    """Look for a plan that is cheaper than ``claimed`` and meets its target.

    Returns
    -------
    Listing or None
        None if there are more than ``most`` plans, or those found are not judged: it would take too long, or
        one of them may be feasible and none certainly is.
    """
    count = plan_count(instance, most)
    if count is None:
        return None
    undecided = False
    for cost, plan in _cheaper(instance, claimed * (1.0 - CLAIM_TOLERANCE)):
        found = requirement.verdict(plan)
        if found is None:
            return None
        if found[1]:
            return Listing(count, cost)
        undecided |= found[0]
    return None if undecided else Listing(count, None)


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


def _cheaper(instance: Instance, below: float) -> Iterator[tuple[float, Plan]]:
    """Cost and plan of all that cost less than ``below``, equation (3) apart."""
    target = instance.target
    if below > 0.0 and may_be_last(instance, target.initial_model):
        yield 0.0, Plan()
    on_all = (_OnClusters(instance, assignment) for assignment in assignments(instance))
    found = itertools.chain.from_iterable(one.candidates(below) for one in on_all)
    known: dict[tuple[EpochFacts, ...], float] = {}
    while rows := list(itertools.islice(found, _COSTS_AT_ONCE)):
        keys = [tuple(sorted(facts, key=dataclasses.astuple)) for _, facts, _ in rows]
        if new := [key for key in dict.fromkeys(keys) if key not in known]:
            costs = least_costs(new, target.maximum_time, target.round_deadline)
            known.update(zip(new, costs.tolist(), strict=True))
        for (moved, _, plan), key in zip(rows, keys, strict=True):
            if moved + known[key] < below:
                yield moved + known[key], plan


class _OnClusters:
    """All sequences on exactly the clusters of one assignment."""

    def __init__(self, instance: Instance, assignment: Assignment) -> None:
        self._instance, self._moved = instance, moving_cost(instance, assignment)
        self._data = {place: data for place, data in enumerate(assignment) if data is not None}
        models = range(len(instance.models))
        self._options = [
            (place, model) for place in self._data for model in models if fits(instance, model, place)
        ]

    def candidates(self, below: float) -> Iterator[tuple[float, tuple[EpochFacts, ...], Plan]]:
        """Transfers, facts and discrete part of plans that may cost less than ``below`` and be in time."""
        target, clusters, models = self._instance.target, self._instance.clusters, self._instance.models
        facts = [
            [
                facts_of(self._instance, number, models[m], clusters[n], self._data[n])
                for n, m in self._options
            ]
            for number in range(1, target.maximum_epochs + 1)
        ]
        limit = target.maximum_time
        prices = _prices(list(itertools.chain(*facts)), limit)
        values = [least_prices(row, prices, target.round_deadline).T for row in facts]
        times = [shortest_times(row) for row in facts]
        for rows in map(self._allowed, range(1, target.maximum_epochs + 1)):
            value, time = np.full((len(rows), len(prices)), self._moved), np.zeros(len(rows))
            for number, options in enumerate(rows.T):
                value += values[number][options]
                time += times[number][options]
            kept = (value - prices * (limit or 0.0)).max(axis=1) < below
            if limit is not None:
                kept &= time <= limit * (1.0 + TIME_TOLERANCE)
            for row in rows[kept].tolist():
                yield self._moved, tuple(facts[k][option] for k, option in enumerate(row)), self._plan(row)

    def _allowed(self, length: int) -> NDArray[np.int64]:
        """Sequences by the numbers of their options: allowed switches, an allowed end, on all clusters."""
        instance, start = self._instance, self._instance.target.initial_model
        names = [model.name for model in instance.models]
        many = range(len(names))
        may_follow = np.array([[may_switch(instance, before, after) for after in many] for before in many])
        rows = np.array(list(itertools.product(range(len(self._options)), repeat=length)), dtype=np.int64)
        rows = rows.reshape(-1, length)
        places, models = (np.array(self._options, dtype=np.int64).reshape(-1, 2)[rows, i] for i in (0, 1))
        kept = np.array([may_be_last(instance, name) for name in names])[models[:, -1]]
        kept &= may_follow[models[:, :-1], models[:, 1:]].all(axis=1)
        if start is not None:
            kept &= may_follow[names.index(start), models[:, 0]]
        for place in self._data:
            kept &= (places == place).any(axis=1)
        return np.asarray(rows[kept])

    def _plan(self, row: Sequence[int]) -> Plan:
        """The discrete part of a plan; its resources do not matter to the loss."""
        clusters, models = self._instance.clusters, self._instance.models
        data = [
            ClusterData(cluster=clusters[place].name, datasets=tuple(sorted(names)))
            for place, names in self._data.items()
        ]
        epochs = [
            PlannedEpoch(model=models[model].name, cluster=clusters[place].name, resources=0.0)
            for place, model in (self._options[option] for option in row)
        ]
        return Plan(data=tuple(data), epochs=tuple(epochs))


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
