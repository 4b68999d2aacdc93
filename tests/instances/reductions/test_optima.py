"""Every reduction's optimum against a dynamic program or brute force, and back to an optimal set of items."""

from fractions import Fraction

import numpy as np
import pytest

from depl.instances.reductions.chance import Chance
from depl.instances.reductions.knapsack import Knapsack, best_by_capacity
from depl.instances.reductions.to_planning import ByCost, ByTime, FreeResources
from depl.models.problem.instance import Instance
from depl.models.solving.result import Result, Solution, Termination
from depl.models.solving.solve import solve
from tests.cases.knapsack_cases import (
    random_chance_knapsack,
    random_knapsack,
    subsets,
)

FEW, MANY = 5, 500


def solved(instance: Instance, method: str = "scenario-search") -> Result:
    """Proved, one way or the other; nothing is random, so that one scenario says it all."""
    result = solve(instance, method, scenarios=1 if method == "scenario-search" else None)
    assert result.termination in (Termination.OPTIMAL, Termination.INFEASIBLE)
    return result


def check_knapsack(knapsack: Knapsack, method: str) -> None:
    """Both 0/1 reductions and the free one: optimum, proof that no more is possible, and the items."""
    best = best_by_capacity(knapsack)
    result = solved(ByCost.reduce(knapsack), method)
    assert result.plan is not None
    assert result.cost is not None
    assert ByCost.value_of_cost(knapsack, result.cost) == best.value
    assert_best(knapsack, ByCost.solution_of(result.plan), best.value)
    reached = solved(ByTime.reduce(knapsack, best.value), method)
    assert reached.plan is not None
    assert_best(knapsack, ByTime.solution_of(reached.plan), best.value)
    more = best.value + knapsack.whole.value_unit
    assert solved(ByTime.reduce(knapsack, more), method).termination is Termination.INFEASIBLE
    check_free(knapsack, method)


def least_weight_of(knapsack: Knapsack, value: Fraction) -> Fraction | None:
    """The least weight of items worth at least ``value``; None if there are none."""
    lightest = {Fraction(0): Fraction(0)}
    for worth, weight in zip(knapsack.values, knapsack.weights, strict=True):
        for reached, so_far in list(lightest.items()):
            total = reached + worth
            lightest[total] = min(so_far + weight, lightest.get(total, so_far + weight))
    return min((weight for reached, weight in lightest.items() if reached >= value), default=None)


def check_free(knapsack: Knapsack, method: str) -> None:
    """The least weight that reaches the value of the best knapsack, and one unit more."""
    best = best_by_capacity(knapsack)
    for value in (best.value, best.value + knapsack.whole.value_unit):
        lightest = least_weight_of(knapsack, value)
        free = solved(FreeResources.reduce(knapsack, value), method)
        if lightest is None:
            assert free.termination is Termination.INFEASIBLE
            continue
        assert free.plan is not None
        assert free.cost is not None
        assert FreeResources.weight_of_cost(knapsack, free.cost) == lightest
        items = FreeResources.solution_of(free.plan)
        assert knapsack.weight_of(items) == lightest
        assert knapsack.value_of(items) >= value


def assert_best(knapsack: Knapsack, items: tuple[int, ...], value: object) -> None:
    assert knapsack.holds(items)
    assert knapsack.value_of(items) == value


def check_seed(seed: int, method: str) -> None:
    """All reductions on problems drawn with one seed."""
    rng = np.random.default_rng([9, seed])
    knapsack = random_knapsack(rng)
    check_knapsack(knapsack, method)


def check_chance(seed: int) -> None:
    """The chance-constrained knapsack, under the law, against all sets of items."""
    knapsack = random_chance_knapsack(np.random.default_rng([10, seed]))
    slacks = {items: knapsack.slack(items) for items in subsets(len(knapsack))}
    assert min(map(abs, slacks.values())) > 1e-9, "a tie that no method decides; draw again"
    best = max(knapsack.value_of(items) for items, slack in slacks.items() if slack > 0)
    result = solve(Chance.reduce(knapsack), "exact")
    assert result.solution is Solution.PROVEN_OPTIMAL
    assert result.plan is not None
    assert result.cost is not None
    assert Chance.value_of_cost(knapsack, result.cost) == best
    items = Chance.solution_of(result.plan)
    assert slacks[items] > 0
    assert knapsack.value_of(items) == best


def test_every_optimum_is_that_of_the_dynamic_program() -> None:
    for seed in range(FEW):
        check_seed(seed, "scenario-search")


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, MANY, 50))
def test_every_optimum_is_that_of_the_dynamic_program_500_times(first: int) -> None:
    for seed in range(first, first + 50):
        check_seed(seed, "scenario-search")


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_the_search_under_the_law_agrees(count: int) -> None:
    for seed in range(count):
        check_seed(seed, "exact")


def test_every_optimum_with_random_weights_is_that_of_all_sets() -> None:
    for seed in range(FEW):
        check_chance(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, MANY, 50))
def test_every_optimum_with_random_weights_is_that_of_all_sets_500_times(first: int) -> None:
    for seed in range(first, first + 50):
        check_chance(seed)
