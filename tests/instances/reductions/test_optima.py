"""Optima of reductions against a dynamic program, and back to an optimal set of items.

Those of chance-constrained knapsacks are compared with all sets in the tests of the suites.
"""

from fractions import Fraction

import numpy as np
import pytest

from depl.instances.reductions.knapsack import best_by_capacity
from depl.instances.reductions.to_planning import ByCost, ByTime, FreeResources
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve
from tests.cases.knapsack_cases import random_knapsack


def solved(instance):
    """Proved, one way or the other; nothing is random, so that one scenario says it all."""
    result = solve(instance, "scenario-search", scenarios=1)
    assert result.termination in (Termination.OPTIMAL, Termination.INFEASIBLE)
    return result


def least_weight_of(knapsack, value):
    """The least weight of items worth at least ``value``; None if there are none."""
    lightest = {Fraction(0): Fraction(0)}
    for worth, weight in zip(knapsack.values, knapsack.weights, strict=True):
        for reached, so_far in list(lightest.items()):
            total = reached + worth
            lightest[total] = min(so_far + weight, lightest.get(total, so_far + weight))
    return min((weight for reached, weight in lightest.items() if reached >= value), default=None)


@pytest.mark.parametrize("seed", range(5))
def test_every_optimum_is_that_of_the_dynamic_program_with_its_items_and_no_more_is_possible(seed):
    knapsack = random_knapsack(np.random.default_rng([9, seed]))
    best = best_by_capacity(knapsack).value
    more = best + knapsack.whole.value_unit
    result, reached = (
        solved(instance) for instance in (ByCost.reduce(knapsack), ByTime.reduce(knapsack, best))
    )
    assert ByCost.value_of_cost(knapsack, result.cost) == best
    for items in (ByCost.solution_of(result.plan), ByTime.solution_of(reached.plan)):
        assert knapsack.holds(items)
        assert knapsack.value_of(items) == best
    assert solved(ByTime.reduce(knapsack, more)).termination is Termination.INFEASIBLE
    for value in (best, more):  # the least weight that reaches the best value, and one unit more
        lightest = least_weight_of(knapsack, value)
        free = solved(FreeResources.reduce(knapsack, value))
        if lightest is None:
            assert free.termination is Termination.INFEASIBLE
            continue
        assert FreeResources.weight_of_cost(knapsack, free.cost) == lightest
        items = FreeResources.solution_of(free.plan)
        assert knapsack.weight_of(items) == lightest
        assert knapsack.value_of(items) >= value
