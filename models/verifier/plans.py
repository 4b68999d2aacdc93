"""Every plan of a tiny instance, listed to refute or confirm a lower bound of the cost.

A plan is an assignment of data to clusters and a sequence of clusters and models; its resources are the
cheapest (`depl.models.verifier.resources`). For any price lam of time, the least value of all epochs at that
price less lam T_max is a lower bound of the cost; only plans for which it is below the claim at a few prices
are costed, and only those that are then cheaper than the claim are held against equation (3).
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.verifier.dual import Assignment, assignments, may_switch, moving_cost
from depl.models.verifier.laws import decimal, expectation, variance_of
from depl.models.verifier.losses import LossFacts
from depl.models.verifier.reading import (
    EpochFacts,
    assignment_count,
    facts_of,
    fits,
    loss_facts,
    may_be_last,
)
from depl.models.verifier.resources import least_costs, least_prices, shortest_times
from depl.models.verifier.runs import seen_in
from depl.models.verifier.scenarios import DrawnSample, counted
from depl.models.verifier.tolerances import ATOM_TOLERANCE, CLAIM_TOLERANCE, TIME_TOLERANCE

MOST_PLANS = 20_000
"""Most pairs of a sequence and an assignment that are listed."""

MOST_PROBABILITIES = 100
"""Most final losses whose distribution is computed for one lower bound, or counted under a traced law."""

_PRICES = 64
"""Prices of time at which sequences are bounded: set by hand. Any price is sound; fewer leave more sequences
to be costed one by one."""

_COSTS_AT_ONCE = 256
"""Sequences costed in one call: set by hand. Fewer cost more calls, more cost plans that a refutation makes
needless; the answer is the same."""

_LOWEST_PRICE = 12.0  # of log lam, below that at which the first epoch takes all resources

_ROUNDING = 1e-13
"""What sums over epochs may be off relative to their sizes, so that rounding excludes no plan: 900 units of
2**-53. Listed plans have at most 13 epochs if there is a choice, as there are `MOST_PLANS` of them.
"""

_CLEARLY = 2e-9
"""More than an atom may exceed a bound by, so that the least loss seen is not below itself."""


def listed(
    instance: Instance, sample: DrawnSample | None, claimed: float, most: int
) -> tuple[int, float | None] | None:
    """Look for a plan that is cheaper than ``claimed`` and meets its target, under the law or on a sample.

    Returns
    -------
    tuple of int and float, or None
        How many plans there are, and the cost of one that refutes the claim, if any does. None if there are
        more than ``most``, or those found are not judged: it would take too long, or one of them may be
        feasible and none certainly is.
    """
    count = plan_count(instance, most)
    if count is None:
        return None
    requirement, undecided = Requirement(instance, sample), False
    for cost, plan in _cheaper(instance, claimed * (1.0 - CLAIM_TOLERANCE)):
        found = requirement.verdict(plan)
        if found is None:
            return None
        if found[1]:
            return count, cost
        undecided |= found[0]
    return None if undecided else (count, None)


def plan_count(instance: Instance, most: int) -> int | None:
    """Number of pairs of a sequence of 1 ... K_max epochs and an assignment; None if above ``most``."""
    count, longest = 0, instance.target.maximum_epochs
    if longest and assignment_count(instance) > most:  # too many even to go through
        return None
    for assignment in assignments(instance) if longest else ():
        options = len(_options(instance, assignment))
        for length in range(1, longest + 1):
            count += options**length
            if count > most:
                return None
    return count


class Requirement:
    """Equation (3) as a test of listed plans: a probability under the law, or a count of scenarios.

    Under a traced law the quantile may besides not be below every loss that was seen.
    """

    def __init__(self, instance: Instance, sample: DrawnSample | None = None) -> None:
        self._instance, self._sample = instance, sample
        self._budget = 1 - decimal(instance.target.quantile_level)
        self._known: dict[object, tuple[bool, bool]] = {}

    def verdict(self, plan: Plan) -> tuple[bool, bool] | None:
        """Whether a plan may meet it, and whether it certainly does; None if that would take too long."""
        loss = loss_facts(self._instance, plan)
        if loss.undefined:
            return False, False
        return self._by_law(loss) if self._sample is None else self._by_count(loss, plan, self._sample)

    def _by_law(self, loss: LossFacts) -> tuple[bool, bool] | None:
        limit = loss.on_scale(self._instance.target.maximum_loss)
        gap = loss.gap(limit)
        if gap is None:
            return False, False
        if not loss.declared:
            return True, False
        if excluded(loss, limit, self._instance.target.quantile_level):
            return False, False
        key = gap, loss.beyond, loss.increments
        if key not in self._known:
            if len(self._known) == MOST_PROBABILITIES:
                return None
            found = loss.exceeding(gap, self._budget)
            self._known[key] = found.lower <= self._budget, found.upper <= self._budget
        may, certainly = self._known[key]
        may = may and not below_all_seen(self._instance, loss)
        return may, may and certainly

    def _by_count(self, loss: LossFacts, plan: Plan, sample: DrawnSample) -> tuple[bool, bool] | None:
        if self._instance.has_memory:
            if below_all_seen(self._instance, loss):
                return False, False
            if len(self._known) == MOST_PROBABILITIES:
                return None
            self._known[len(self._known)] = False, False
        count = counted(self._instance, sample, plan)
        return count.certain <= count.allowed, count.possible <= count.allowed


def excluded(loss: LossFacts, limit: float, level: float) -> bool:
    """Whether Cantelli's inequality excludes that the loss is at most l_max with probability omega.

    P(l(K) <= l_max) <= V / (V + (E - l_max)^2) with the mean E > l_max and the variance V. An infinite
    variance excludes nothing, nor does what rounding may have done.
    """
    means = [float(loss.certain)]
    means += [item.count * item.factor * expectation(item.law) for item in loss.increments]
    spread = sum(item.count * item.factor**2 * variance_of(item.law) for item in loss.increments)
    rounding = _ROUNDING * (abs(limit) + sum(map(abs, means)))
    excess = sum(means) - limit - ATOM_TOLERANCE - rounding
    return excess > 0 and spread * (1 + _ROUNDING) < level * (spread + excess**2)


def below_all_seen(instance: Instance, loss: LossFacts) -> bool:
    """Whether a traced law has the omega-quantile below every loss that any of its runs ever had."""
    if instance.traced_law is None or loss.undefined:
        return False
    least = seen_in(instance.traced_law).least
    budget: Fraction = 1 - decimal(instance.target.quantile_level)
    gap = decimal(least - _CLEARLY * max(1.0, abs(least))) - loss.certain
    return loss.exceeding(gap, budget).upper <= budget


def _options(instance: Instance, assignment: Assignment) -> list[tuple[int, int]]:
    """Cluster and model of the epochs that are possible on an assignment."""
    places = [place for place, data in enumerate(assignment) if data is not None]
    models = range(len(instance.models))
    return [(place, model) for place in places for model in models if fits(instance, model, place)]


def _cheaper(instance: Instance, below: float) -> Iterator[tuple[float, Plan]]:
    """Cost and plan of all that cost less than ``below``, equation (3) apart."""
    target = instance.target
    if below > 0.0 and may_be_last(instance, target.initial_model):
        yield 0.0, Plan()
    found = (
        (moved, facts, plan)
        for assignment in (assignments(instance) if target.maximum_epochs else ())
        for moved in [moving_cost(instance, assignment)]
        for facts, plan in _sequences(instance, assignment, below - moved)
    )
    known: dict[tuple[EpochFacts, ...], float] = {}
    while rows := list(itertools.islice(found, _COSTS_AT_ONCE)):
        keys = [tuple(sorted(facts, key=dataclasses.astuple)) for _, facts, _ in rows]
        if new := [key for key in dict.fromkeys(keys) if key not in known]:
            costs = least_costs(new, target.maximum_time, target.round_deadline)
            known.update(zip(new, costs.tolist(), strict=True))
        for (moved, _, plan), key in zip(rows, keys, strict=True):
            if moved + known[key] < below:
                yield moved + known[key], plan


def _sequences(
    instance: Instance, assignment: Assignment, below: float
) -> Iterator[tuple[list[EpochFacts], Plan]]:
    """Facts and discrete part of plans on exactly these clusters that may cost less and be in time.

    Epochs cost and take no less than nothing, so what begins with too much is left out.
    """
    target, limit = instance.target, instance.target.maximum_time
    options, count = _options(instance, assignment), len(instance.models)
    names = [model.name for model in instance.models]
    may_follow = np.array([[may_switch(instance, m, n) for n in range(count)] for m in range(count)])
    may_begin = np.ones((1, count), dtype=bool)
    if target.initial_model is not None:
        may_begin = may_follow[[names.index(target.initial_model)]]
    may_end = np.array([may_be_last(instance, name) for name in names])
    places, models = np.array(options).T
    table = [
        [
            facts_of(instance, number, instance.models[m], instance.clusters[n], assignment[n] or frozenset())
            for n, m in options
        ]
        for number in range(1, target.maximum_epochs + 1)
    ]
    prices = _prices([facts for row in table for facts in row], limit)
    rows, value, time = np.empty((1, 0), dtype=int), np.zeros((1, len(prices))), np.zeros(1)
    for number, facts in enumerate(table, start=1):
        allowed = may_follow[models[rows[:, -1]]] if number > 1 else may_begin
        before, option = np.nonzero(allowed[:, models])
        rows = np.column_stack([rows[before], option])
        value = value[before] + least_prices(facts, prices, target.round_deadline).T[option]
        time = time[before] + shortest_times(facts)[option]
        kept = (value - prices * (limit or 0.0)).max(axis=1) < below
        if limit is not None:
            kept &= time <= limit * (1.0 + TIME_TOLERANCE)
        rows, value, time = rows[kept], value[kept], time[kept]
        for row in rows[may_end[models[rows[:, -1]]]].tolist():
            if set(places[row].tolist()) == set(places.tolist()):
                yield [table[k][o] for k, o in enumerate(row)], _plan(instance, assignment, options, row)


def _plan(
    instance: Instance, assignment: Assignment, options: Sequence[tuple[int, int]], row: Sequence[int]
) -> Plan:
    """The discrete part of a plan; its resources do not matter to the loss."""
    clusters, models = instance.clusters, instance.models
    data = [
        ClusterData(cluster=place.name, datasets=tuple(sorted(names)))
        for place, names in zip(clusters, assignment, strict=True)
        if names is not None
    ]
    epochs = [
        PlannedEpoch(model=models[model].name, cluster=clusters[place].name, resources=0.0)
        for place, model in (options[option] for option in row)
    ]
    return Plan(data=tuple(data), epochs=tuple(epochs))


def _prices(facts: Sequence[EpochFacts], maximum_time: float | None) -> FloatArray:
    """A few prices of time around those at which epochs begin to take all resources, and 0."""
    scales = [
        math.log(fact.price) + 2.0 * math.log(fact.capacity) - math.log(fact.work)
        for fact in facts
        if fact.work > 0.0 and fact.price > 0.0
    ]
    if maximum_time is None or not scales:
        return np.zeros(1)
    return np.concatenate([[0.0], np.exp(np.linspace(min(scales) - _LOWEST_PRICE, max(scales), _PRICES))])
