"""Reductions without a solver: every set of items against its plan, and every plan against its items."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from depl.instances.reductions.chance import Chance, ChanceKnapsack
from depl.instances.reductions.knapsack import Knapsack
from depl.instances.reductions.to_planning import ByCost, ByTime, FreeResources, unbounded
from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from tests.cases.knapsack_cases import (
    best_of_all,
    random_chance_knapsack,
    random_knapsack,
    subsets,
)

SMALL = Knapsack.of([3, 4, 5], [2, 3, 4], 6)


def judged(instance: Instance, plan: Plan) -> tuple[bool, float]:
    """Whether a plan is feasible, and its cost."""
    found = evaluate(instance, plan, quantile=False)
    return found.feasible, found.cost


def all_schedules(instance: Instance, longest: int) -> list[Plan]:
    """Every sequence of models of a reduction, with full resources where there is work."""
    data = (ClusterData(cluster="site", datasets=("data",)),)
    found = [Plan()]
    for length in range(1, longest + 1):
        for names in itertools.product([model.name for model in instance.models], repeat=length):
            allowed = all(map(instance.may_follow, names[:-1], names[1:]))
            epochs = tuple(
                PlannedEpoch(model=name, cluster="site", resources=1.0 if work(instance, k, name) else 0.0)
                for k, name in enumerate(names)
            )
            found += [Plan(data=data, epochs=epochs)] if allowed else []
    return found


def work(instance: Instance, k: int, name: str) -> float:
    table = instance.model(name).compute
    return instance.model(name).demand if table is None else table[0].epochs[k]


@pytest.mark.parametrize("seed", range(6))
def test_by_time_a_set_of_items_fits_and_reaches_the_value_iff_its_plan_is_feasible(seed: int) -> None:
    knapsack = random_knapsack(np.random.default_rng(seed), largest=6)
    for value in {best_of_all(knapsack), best_of_all(knapsack) / 2 + 1}:
        instance = ByTime.reduce(knapsack, value)
        for items in subsets(len(knapsack)):
            plan = ByTime.plan_of(knapsack, items)
            good = knapsack.holds(items) and knapsack.value_of(items) >= value
            assert judged(instance, plan) == (good, 0)
            assert ByTime.solution_of(plan) == items


def test_by_time_every_feasible_plan_holds_a_good_set_also_if_it_stops_early_or_trains_slowly() -> None:
    instance = ByTime.reduce(SMALL, 7)
    found = set()
    for plan in all_schedules(instance, 3):
        if judged(instance, plan)[0]:
            items = ByTime.solution_of(plan)
            assert SMALL.holds(items)
            assert SMALL.value_of(items) >= 7
            found.add((items, len(plan.epochs)))
    assert found == {((0, 1), 2), ((0, 1), 3), ((0, 2), 3)}
    slow = Plan.from_json(ByTime.plan_of(SMALL, (0, 1)).to_json().replace("1.0", "0.7"))
    assert not judged(instance, slow)[0]  # weight 5, but 5 / 0.7 > 6


@pytest.mark.parametrize("seed", range(6))
def test_by_cost_a_set_of_items_fits_iff_its_plan_is_feasible_and_costs_what_is_left_behind(
    seed: int,
) -> None:
    knapsack = random_knapsack(np.random.default_rng(seed), largest=6)
    instance = ByCost.reduce(knapsack)
    for items in subsets(len(knapsack)):
        plan = ByCost.plan_of(knapsack, items)
        feasible, cost = judged(instance, plan)
        assert feasible == knapsack.holds(items)
        assert ByCost.value_of_cost(knapsack, cost) == knapsack.value_of(items)
        assert ByCost.solution_of(plan) == items


def test_by_time_without_capacity_only_items_without_weight_are_taken() -> None:
    knapsack = Knapsack.of([1, 1], [1, 0], 0)
    instance = ByTime.reduce(knapsack, 1)
    plans = [ByTime.plan_of(knapsack, items) for items in ((0,), (1,))]
    assert [judged(instance, plan)[0] for plan in plans] == [False, True]


def test_by_cost_no_plan_of_fewer_epochs_is_feasible() -> None:
    instance = ByCost.reduce(SMALL)
    assert not [p for p in all_schedules(instance, 2) if judged(instance.replace(round_deadline=10), p)[0]]


@pytest.mark.parametrize("seed", range(6))
def test_with_free_resources_a_plan_costs_the_square_of_its_weight(seed: int) -> None:
    knapsack = random_knapsack(np.random.default_rng(seed), largest=6)
    value = best_of_all(knapsack)
    instance = FreeResources.reduce(knapsack, value)
    for items in subsets(len(knapsack)):
        plan = FreeResources.plan_of(knapsack, items)
        feasible, cost = judged(instance, plan)
        assert feasible == (knapsack.value_of(items) >= value)
        assert FreeResources.weight_of_cost(knapsack, cost) == knapsack.weight_of(items)
        assert FreeResources.solution_of(plan) == items


def test_unbounded_a_plan_is_a_multiset_and_feasible_iff_it_fits_and_reaches_the_value() -> None:
    instance = unbounded(SMALL, 9)
    assert instance.target.maximum_epochs == 3
    good = []
    for plan in all_schedules(instance, 3):
        items = [int(epoch.model.removeprefix("item-")) for epoch in plan.epochs]
        fits = sum(SMALL.weights[item] for item in items) <= SMALL.capacity
        reaches = sum(SMALL.values[item] for item in items) >= 9
        assert judged(instance, plan) == (fits and reaches, 0)
        good += [items] if fits and reaches else []
    assert good == [[0, 0, 0]]


@pytest.mark.parametrize("seed", range(6))
def test_random_weights_fit_with_the_probability_iff_the_plan_is_feasible(seed: int) -> None:
    knapsack = random_chance_knapsack(np.random.default_rng(seed), largest=5)
    instance = Chance.reduce(knapsack)
    for items in subsets(len(knapsack)):
        plan = Chance.plan_of(knapsack, items)
        feasible, cost = judged(instance, plan)
        slack = knapsack.slack(items)
        assert feasible == (slack >= 0) or abs(slack) < 1e-9
        assert Chance.value_of_cost(knapsack, cost) == knapsack.value_of(items)
        assert Chance.solution_of(plan) == items


def test_random_weights_no_plan_of_fewer_epochs_is_feasible_even_at_one_half() -> None:
    knapsack = ChanceKnapsack.of([3, 4], [0, 1], [9, 9], 5, 0.5)
    instance = Chance.reduce(knapsack)
    for plan in all_schedules(instance, 1):
        assert not judged(instance.replace(round_deadline=10), plan)[0]


# --- large numbers --------------------------------------------------------------------------------------


def test_sums_that_differ_by_one_in_six_hundred_million_are_told_apart() -> None:
    big = 299_999_999
    knapsack = Knapsack.of([big, big], [big, big], 2 * big - 1)
    both, one = (0, 1), (0,)
    for capacity, fits in ((2 * big, True), (2 * big - 1, False)):
        sack = Knapsack.of((*knapsack.values, Fraction(1)), (*knapsack.weights, Fraction(1)), capacity)
        by_time, by_cost = ByTime.reduce(sack, 2 * big), ByCost.reduce(sack)
        assert judged(by_time, ByTime.plan_of(sack, both))[0] == fits
        assert judged(by_cost, ByCost.plan_of(sack, both))[0] == fits
        feasible, cost = judged(by_cost, ByCost.plan_of(sack, one))
        assert feasible
        assert ByCost.value_of_cost(sack, cost) == big
        cheaper = judged(by_cost, ByCost.plan_of(sack, (0, 2)))[1]
        assert ByCost.value_of_cost(sack, cheaper) == big + 1
    free = FreeResources.reduce(sack, 2 * big)
    _, cost = judged(free, FreeResources.plan_of(sack, both))
    assert FreeResources.weight_of_cost(sack, cost) == 2 * big


@pytest.mark.parametrize(
    "reduce",
    [
        ByCost.reduce,
        lambda sack: ByTime.reduce(sack, 1),
        lambda sack: FreeResources.reduce(sack, 1),
    ],
)
def test_numbers_that_tolerances_would_confuse_are_refused(reduce) -> None:
    with pytest.raises(NotCoveredError, match="could confuse two sums"):
        reduce(Knapsack.of([10**14, 1], [10**14, 1], 10**14))
    with pytest.raises(NotCoveredError, match="could confuse two sums"):
        reduce(Knapsack.of([Fraction(10**14 + 1, 10**14), 1], [Fraction(1, 10**14), 1], 1))


def test_numbers_with_a_common_factor_are_as_good_as_without() -> None:
    small = ByCost.reduce(SMALL)
    large = Knapsack.of(
        [v * 10**9 for v in (3, 4, 5)], [Fraction(w, 10**9) for w in (2, 3, 4)], Fraction(6, 10**9)
    )
    assert ByCost.reduce(large).fingerprint == small.fingerprint
    assert ByCost.value_of_cost(large, 5.0) == 7 * 10**9


# --- refusals -------------------------------------------------------------------------------------------


def test_what_no_reduction_can_say_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="for ever"):
        unbounded(Knapsack.of([1], [0], 1), 1)
    with pytest.raises(NotCoveredError, match="no item fits"):
        unbounded(Knapsack.of([1], [2], 1), 1)
    with pytest.raises(InvalidInputError, match="no item 3"):
        ByCost.plan_of(SMALL, [3])
    with pytest.raises(InvalidInputError, match="twice"):
        ByCost.plan_of(SMALL, [1, 1])


def test_plans_of_other_instances_are_not_read() -> None:
    other = Plan(
        data=(ClusterData(cluster="site", datasets=("data",)),),
        epochs=(PlannedEpoch(model="full", cluster="site", resources=1),),
    )
    for reduction in (ByTime, ByCost, FreeResources, Chance):
        with pytest.raises(InvalidInputError, match="full"):
            reduction.solution_of(other)
