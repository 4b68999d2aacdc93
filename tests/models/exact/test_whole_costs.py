"""Where every plan costs a multiple of a unit, searches use it, and no bound is above the optimum."""

import itertools
import math

import msgspec
import numpy as np
import pytest

from depl.instances.reductions.knapsack import Knapsack
from depl.instances.reductions.to_planning import ByCost
from depl.models.exact.counted import Counted
from depl.models.exact.prices import Prices
from depl.models.exact.sampled import SampledProblem
from depl.models.exact.search import Search
from depl.models.foundation.tolerances import PROOF_TOLERANCE
from depl.models.problem.instance import Instance
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.methods import Cutoff, Limits
from depl.models.solving.result import Termination

UNIT = 3


def knapsack(number: int) -> Knapsack:
    """Seven items; what all values have in common is divided out."""
    rng = np.random.default_rng([20261123, number])
    weights = rng.integers(1, 30, 7)
    return Knapsack.of(rng.integers(1, 12, 7).tolist(), weights.tolist(), int(weights.sum() // 2))


def sampled(instance: Instance) -> SampledProblem:
    """No loss is random, so one scenario says all."""
    return SampledProblem(instance, draw_scenarios(instance, 1))


def reduced(number: int) -> tuple[Instance, int]:
    """An instance whose costs are multiples of the unit, and the least by enumeration of all sets."""
    drawn = knapsack(number)
    values, weights = drawn.whole.values, drawn.whole.weights
    subsets = itertools.product((0, 1), repeat=len(values))
    fitting = [taken for taken in subsets if np.dot(taken, weights) <= drawn.whole.capacity]
    least = int(sum(values) - max(np.dot(taken, values) for taken in fitting))
    return with_work(ByCost.reduce(drawn), UNIT), UNIT * least


def with_work(instance: Instance, times: float) -> Instance:
    """All costs that many times greater, and the resources with them."""
    (cluster,) = instance.clusters
    return instance.replace(clusters=(msgspec.structs.replace(cluster, unit_cost=cluster.unit_cost * times),))


@pytest.mark.parametrize(("times", "unit"), [(1.0, 1), (4.0, 4), (0.5, 0), (1.25, 0), (1e15, 0)])
def test_the_unit_divides_all_costs(times, unit):
    instance = with_work(ByCost.reduce(Knapsack.of([5, 7, 11], [2, 3, 4], 5)), times)
    assert Prices.of(sampled(instance)).unit == unit


def test_with_a_time_limit_costs_have_no_unit():
    instance, _ = reduced(0)
    assert Prices.of(sampled(instance)).unit == UNIT
    assert Prices.of(sampled(instance.replace(maximum_time=7.5))).unit == 0


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("away", [-4, -UNIT, -1, 0, 1, UNIT, 4, 100])
def test_below_a_cutoff_the_cheapest_plan_is_found_or_proved_absent(number, away):
    instance, optimum = reduced(number)
    told: list[float] = []
    limits = Limits(cutoff=Cutoff(optimum + away), progress=lambda seconds, cost, bound: told.append(bound))
    search = Search(Counted(sampled(instance)), limits)
    outcome = search.answer()
    assert all(bound <= optimum for bound in told)
    if away > 0:  # otherwise there is nothing to find below it
        assert outcome.termination is Termination.OPTIMAL
        assert search.cost == pytest.approx(optimum, rel=1e-12)
        assert optimum * (1 - PROOF_TOLERANCE) <= outcome.lower_bound <= optimum
    else:
        assert (optimum + away) * (1 - PROOF_TOLERANCE) <= outcome.lower_bound <= optimum


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("gap", [0.001, 0.05, 0.3])
def test_with_a_gap_the_bound_keeps_it_and_is_none_too_great(number, gap):
    instance, optimum = reduced(number)
    search = Search(Counted(sampled(instance)), Limits(gap=gap))
    outcome = search.answer()
    assert outcome.termination is Termination.GAP_REACHED
    assert outcome.lower_bound <= optimum <= search.cost
    assert search.cost - outcome.lower_bound <= (gap + PROOF_TOLERANCE) * search.cost


@pytest.mark.parametrize("number", range(12))
def test_only_plans_half_a_unit_below_the_next_that_is_excluded_are_looked_for(number):
    """With a cutoff, the greatest multiple of the unit below it, and nothing half a unit above that."""
    instance, optimum = reduced(number)
    for away in (-1.0, 0.0, 0.25, 1.0, 1.5, 2.0, UNIT):
        search = Search(Counted(sampled(instance)), Limits(cutoff=Cutoff(optimum + away)))
        search.build()
        unit = search._unit
        assert unit == UNIT
        greatest = (math.ceil((optimum + away) / unit) - 1) * unit
        assert greatest < search.threshold <= greatest + unit / 2


def test_a_bound_is_as_good_as_the_next_multiple_unless_only_rounding_puts_it_beyond_one():
    """A plan may cost a multiple that the bound exceeds or misses by what sums are off."""
    instance, _ = reduced(0)
    search = Search(Counted(sampled(instance)), Limits())
    search.build()
    for multiple in (0, 1, 7, 1000):
        for beyond in (-1e-6, -1e-12, 0.0, 1e-12, 5e-4):
            bound = (multiple + beyond) * UNIT
            assert bound <= search._next_cost(bound) <= max(bound, multiple * UNIT)
        for beyond in (2e-3, 0.5, 1 - 1e-6):
            following = (multiple + 1) * UNIT
            found = search._next_cost((multiple + beyond) * UNIT)
            assert following * (1 - PROOF_TOLERANCE) <= found <= following
    assert search._next_cost(math.inf) == math.inf
    search = Search(Counted(sampled(instance.replace(maximum_time=7.5))), Limits())
    search.build()
    assert search._next_cost(7.3) == 7.3
