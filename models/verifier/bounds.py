"""What a plan claims about all others: lower bounds of the cost, proved again where that needs no solver.

A dual bound is proved again from its two prices (`depl.models.verifier.dual`), a lower bound that does not
exceed it holds with it, and the plans of a tiny instance are listed: assignments of data to clusters with
sequences of clusters and models, their resources the cheapest. For any price lam of time, the least value of
all epochs at that price less lam T_max is a lower bound of the cost; only plans for which it is below the
claim at a few prices are held against equation (3), and only those that may meet it are costed. What is left
is the bound of a search tree that is not there any more: it is repeated, not proved.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import Claims, ClusterData, Plan, PlannedEpoch
from depl.models.verifier.dual import Assignment, assignments, dual_finding, moving_cost
from depl.models.verifier.findings import CLAIM, Finding, Kind, failed, passed, repeated, undecided
from depl.models.verifier.laws import decimal, expectation, merged, variance_of
from depl.models.verifier.losses import LossFacts
from depl.models.verifier.reading import (
    EpochFacts,
    assignment_count,
    budget_of,
    facts_of,
    fits,
    loss_facts,
    may_be_last,
    may_switch,
)
from depl.models.verifier.resources import full_prices, least_cost, least_prices, shortest_times
from depl.models.verifier.runs import seen_in
from depl.models.verifier.scenarios import DrawnSample, allowed_misses, counted
from depl.models.verifier.tolerances import ATOM_TOLERANCE, CLAIM_TOLERANCE, TIME_TOLERANCE

MOST_PLANS = 20_000
"""Most pairs of a sequence and an assignment that are listed."""

MOST_PROBABILITIES = 100
"""Most final losses whose distribution is computed for one lower bound, or counted under a traced law."""

_PRICES = 64
"""Prices of time at which sequences are bounded: set by hand. Any price is sound; fewer leave more sequences
to be judged one by one."""

_LOWEST_PRICE = 12.0  # of log lam, below that at which the first epoch takes all resources

_ROUNDING = 1e-13
"""What sums over epochs may be off relative to their sizes, so that rounding excludes no plan: 900 units of
2**-53. Listed plans have at most 13 epochs if there is a choice, as there are `MOST_PLANS` of them.
"""

_CLEARLY = 2e-9
"""More than an atom may exceed a bound by, so that the least loss seen is not below itself."""

_BOUND = f"{CLAIM}lower_bound"


def bound_findings(
    instance: Instance, claims: Claims, sample: DrawnSample | None, cost: float, most_plans: int
) -> Iterator[tuple[Finding, float]]:
    """Verdicts on the dual bound and the lower bound, each with the bound that was proved (0 if none).

    Parameters
    ----------
    sample : DrawnSample or None
        The scenarios of the claim, if it makes one and they are known.
    cost : float
        Of the plan [cost].
    most_plans : int
        How many pairs of a sequence and an assignment may be listed.
    """
    proved, dual = 0.0, f"{CLAIM}dual bound"
    if claims.dual is not None:
        if claims.scenarios is None:
            finding = failed(dual, "it speaks of scenarios, and the plan claims none")
        elif instance.has_memory:
            finding = undecided(dual, "under a traced law single epochs have no gain that could be priced")
        elif sample is None:
            finding = undecided(dual, "the scenarios that it speaks of are not known")
        else:
            allowed = allowed_misses(instance, sample.size)
            finding, proved = dual_finding(instance, sample, allowed, claims.dual, cost)
        yield finding, proved
    if claims.rows is not None:
        told = "given by whoever solved; whether the plan keeps them is taken on trust"
        yield repeated(f"{CLAIM}rows", f"{', '.join(claims.rows)}: {told}"), 0.0
    if claims.lower_bound is not None:
        finding = _lower_bound(instance, claims, sample, cost, proved, most_plans)
        yield finding, max(0.0, claims.lower_bound) if finding.kind is Kind.CHECKED else 0.0


def bound_without_plan(instance: Instance, claimed: float, most_plans: int = MOST_PLANS) -> Finding:
    """Verdict on a lower bound that comes without a plan, under the law of the instance.

    Parameters
    ----------
    claimed : float
        No plan that meets the target costs less; infinite if there is said to be none [cost].
    most_plans : int
        As in `bound_findings`.
    """
    shown = "that there is no plan" if claimed == math.inf else f"that no plan costs less than {claimed:.12g}"
    if claimed <= 0.0:
        return passed(_BOUND, f"{shown}; costs are never negative")
    return _by_listing(instance, None, claimed, most_plans, shown, None)


def _lower_bound(
    instance: Instance,
    claims: Claims,
    sample: DrawnSample | None,
    cost: float,
    proved: float,
    most_plans: int,
) -> Finding:
    claimed = claims.lower_bound or 0.0
    excess = claimed - cost
    shown = f"{claimed:.12g} <= cost {cost:.12g}"
    if claimed > cost * (1.0 + CLAIM_TOLERANCE):
        message = f"{claimed:.12g} exceeds the plan's own cost {cost:.12g} by {excess:.6g}"
        return failed(_BOUND, message, excess)
    if claimed <= 0.0:
        return passed(_BOUND, f"{shown}; costs are never negative", excess)
    if claimed <= proved * (1.0 + CLAIM_TOLERANCE):
        return passed(_BOUND, f"{shown}; not above the dual bound", excess)
    if claims.rows is not None:  # plans that break the rows may cost less, and no file keeps the rows
        told = f"among plans that keep the rows {', '.join(claims.rows)}, taken on trust"
        return repeated(_BOUND, f"{shown}; {told}", excess)
    most = -1 if claims.scenarios is not None and sample is None else most_plans  # none may be listed
    return _by_listing(instance, sample, claimed, most, shown, excess)


def _by_listing(
    instance: Instance,
    sample: DrawnSample | None,
    claimed: float,
    most_plans: int,
    shown: str,
    excess: float | None,
) -> Finding:
    """Verdict on a claimed bound, ``shown`` in words, by all plans of the instance."""
    found = listed(instance, sample, claimed, most_plans)
    if found is None:
        told = "nothing here proves it, as the search behind it is not kept"
        return repeated(_BOUND, f"{shown}; {told}", excess)
    plans, refuting = found
    if refuting is not None:
        message = f"{shown} is claimed, and there is a plan that costs {refuting:.12g}"
        return failed(_BOUND, message, claimed - refuting)
    return passed(_BOUND, f"{shown}; all {plans} plans were listed", excess)


# --- every plan of a tiny instance ------------------------------------------------------------------------


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
    requirement, open_still, target = Requirement(instance, sample), False, instance.target
    below = claimed * (1.0 - CLAIM_TOLERANCE)
    for moved, facts, plan in _candidates(instance, below):
        found = requirement.verdict(plan)
        if found is None:
            return None
        may, certainly = found
        if certainly or (may and not open_still):
            cost = moved + least_cost(facts, target.maximum_time, target.round_deadline)
            if cost < below and certainly:
                return count, cost
            open_still |= cost < below
    return None if open_still else (count, None)


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
    return count if count <= most else None


class Requirement:
    """Equation (3) as a test of listed plans: a probability under the law, or a count of scenarios.

    Under a traced law the quantile may besides not be below every loss that was seen.
    """

    def __init__(self, instance: Instance, sample: DrawnSample | None = None) -> None:
        self._instance, self._sample = instance, sample
        self._known: dict[object, tuple[bool, bool]] = {}

    def verdict(self, plan: Plan) -> tuple[bool, bool] | None:
        """Whether a plan may meet it, and whether it certainly does; None if that would take too long."""
        instance, loss = self._instance, loss_facts(self._instance, plan)
        limit = loss.on_scale(instance.target.maximum_loss)
        key: object = loss.certain, loss.beyond, merged(loss.increments)
        if loss.undefined:
            return False, False
        if self._sample is None:
            if not loss.declared:
                return True, False
            if excluded(loss, limit, instance.target.quantile_level):
                return False, False
        elif instance.has_memory:
            key = plan
        else:
            return self._judged(loss, plan, limit)
        if key not in self._known:
            if len(self._known) == MOST_PROBABILITIES:
                return None
            self._known[key] = self._judged(loss, plan, limit)
        return self._known[key]

    def _judged(self, loss: LossFacts, plan: Plan, limit: float) -> tuple[bool, bool]:
        budget = budget_of(self._instance)
        if self._sample is None:
            found = loss.violation(limit, budget)
            may, certainly = found.lower <= budget, found.upper <= budget
        else:
            count = counted(self._instance, self._sample, plan)
            may, certainly = count.certain <= count.allowed, count.possible <= count.allowed
        return (False, False) if may and below_all_seen(self._instance, loss) else (may, certainly)


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
    least, budget = seen_in(instance.traced_law).least, budget_of(instance)
    gap = decimal(least - _CLEARLY * max(1.0, abs(least))) - loss.certain
    return loss.exceeding(gap, budget).upper <= budget


def _options(instance: Instance, assignment: Assignment) -> list[tuple[int, int]]:
    """Cluster and model of the epochs that are possible on an assignment, by position."""
    return [
        (n, m)
        for n, (place, data) in enumerate(zip(instance.clusters, assignment, strict=True))
        for m, model in enumerate(instance.models)
        if data is not None and fits(model, place)
    ]


def _candidates(instance: Instance, below: float) -> Iterator[tuple[float, list[EpochFacts], Plan]]:
    """Transfers, facts and plan of all that may cost less than ``below``, equation (3) apart."""
    target = instance.target
    if below > 0.0 and may_be_last(instance, target.initial_model):
        yield 0.0, [], Plan()
    for assignment in assignments(instance) if target.maximum_epochs else ():
        moved = moving_cost(instance, assignment)
        for facts, plan in _sequences(instance, assignment, below - moved):
            yield moved, facts, plan


def _sequences(
    instance: Instance, assignment: Assignment, below: float
) -> Iterator[tuple[list[EpochFacts], Plan]]:
    """Facts and discrete part of plans on exactly these clusters that may cost less and be in time.

    Epochs cost and take no less than nothing, so what begins with too much is left out.
    """
    target, limit = instance.target, instance.target.maximum_time
    given = dict(zip(instance.clusters, assignment, strict=True))
    data = tuple(
        ClusterData(cluster=place.name, datasets=tuple(sorted(names)))
        for place, names in given.items()
        if names is not None
    )
    pairs = [(instance.clusters[n], instance.models[m]) for n, m in _options(instance, assignment)]
    trained = [PlannedEpoch(model=model.name, cluster=place.name, resources=0.0) for place, model in pairs]
    follows = np.array(
        [[may_switch(instance, one.name, other.name) for _, other in pairs] for _, one in pairs]
    )
    begins = np.array([[may_switch(instance, target.initial_model, model.name) for _, model in pairs]])
    ends = np.array([may_be_last(instance, model.name) for _, model in pairs])
    table = [
        [facts_of(instance, number, model, place, given[place] or frozenset()) for place, model in pairs]
        for number in range(1, target.maximum_epochs + 1)
    ]
    prices = _prices([facts for row in table for facts in row], limit)
    rows, value, time = np.empty((1, 0), dtype=int), np.zeros((1, len(prices))), np.zeros(1)
    for number, facts in enumerate(table, start=1):
        before, option = np.nonzero(follows[rows[:, -1]] if number > 1 else begins)
        rows = np.column_stack([rows[before], option])
        value = value[before] + least_prices(facts, prices, target.round_deadline).T[option]
        time = time[before] + shortest_times(facts)[option]
        kept = (value - prices * (limit or 0.0)).max(axis=1) < below
        if limit is not None:
            kept &= time <= limit * (1.0 + TIME_TOLERANCE)
        rows, value, time = rows[kept], value[kept], time[kept]
        for row in rows[ends[rows[:, -1]]].tolist():
            epochs = tuple(trained[option] for option in row)
            if len({epoch.cluster for epoch in epochs}) == len(data):
                yield [table[k][option] for k, option in enumerate(row)], Plan(data=data, epochs=epochs)


def _prices(facts: Sequence[EpochFacts], maximum_time: float | None) -> FloatArray:
    """A few prices of time around those at which epochs begin to take all resources, and 0."""
    scales = full_prices(facts)
    if maximum_time is None or not scales:
        return np.zeros(1)
    return np.concatenate([[0.0], np.exp(np.linspace(min(scales) - _LOWEST_PRICE, max(scales), _PRICES))])
