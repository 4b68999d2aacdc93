"""Stage 3 of the literal loop: splitting within epsilon, rounding, and no repair."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.benchmarks.suites.random_placements import random_placement
from depl.heuristics.baselines.paper_resources import (
    Fractional,
    fractional_placement,
    place_by_rounding,
)
from depl.heuristics.placement.dual import best_price, prices
from depl.heuristics.placement.problem import PlacementProblem
from depl.heuristics.placement.relaxation import relaxation
from depl.heuristics.placement.rounding import fractional, nearest_whole
from depl.models.foundation.errors import InvalidInputError
from tests.cases.placement_cases import least_cost, split_pair


def drawn(seed: int, transfers: bool = False) -> PlacementProblem:
    rng = np.random.default_rng([seed, 5])
    return random_placement(rng, 2, 3, int(rng.integers(2, 7)), transfers=transfers, deadline=seed % 3 == 0)


def test_the_pair_is_split_at_the_closed_form_of_the_bound() -> None:
    # At the price 16 both cost the same, 2 * 4 + 16 = 24 = 2 * 3 * 4, so L = 2 * 24 - 16 * 2.2 = 12.8.
    # Epochs take 1.25 on slow and 0.75 on quick; 2.2 = 1.4 * 1.25 + 0.6 * 0.75.
    found = fractional_placement(split_pair(2.2), 1e-9)
    assert found.lower_bound == pytest.approx(12.8, rel=1e-8)
    assert found.cost == pytest.approx(12.8, rel=1e-8)
    assert found.shares == pytest.approx(np.array([[1.4, 0.6]]), abs=1e-4)
    placed = place_by_rounding(split_pair(2.2), 1e-9)
    assert placed.assignment.tolist() == [[1, 1]]
    assert placed.cost == pytest.approx(16 / 1.2)


@given(seed=st.integers(0, 2**32 - 1), epsilon=st.sampled_from([1.0, 0.1, 0.01, 1e-6]))
@settings(max_examples=60, deadline=None)
def test_the_split_placement_keeps_its_promise(seed: int, epsilon: float) -> None:
    problem = drawn(seed)
    found = fractional_placement(problem, epsilon)
    best = best_price(problem).value
    assert found.lower_bound <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= found.cost <= (1 + epsilon) * found.lower_bound
    assert found.shares.sum(axis=1) == pytest.approx(problem.counts)
    assert found.shares.min() >= 0
    # by weak duality no resources that keep T_max make these very shares cheaper, at any price
    used = found.shares > 0
    for price in np.geomspace(1e-3, 1e3, 40):
        psi = prices(problem, float(price))[0]
        least = float(found.shares[used] @ psi[used]) - price * problem.maximum_time
        assert least <= found.cost * (1 + 1e-9)


def test_a_larger_epsilon_stops_earlier_and_more_expensive() -> None:
    costs = {
        epsilon: [fractional_placement(drawn(seed), epsilon).cost for seed in range(30)]
        for epsilon in (1.0, 0.1, 1e-6)
    }
    assert sum(costs[1.0]) > sum(costs[0.1]) > sum(costs[1e-6])


@given(seed=st.integers(0, 2**32 - 1), transfers=st.booleans())
@settings(max_examples=10, deadline=None)
def test_a_rounded_placement_is_whole_and_costs_no_less_than_the_cheapest(seed: int, transfers: bool) -> None:
    problem = drawn(seed, transfers)
    placed = place_by_rounding(problem, 0.01)
    assert (placed.assignment.sum(axis=1) == problem.counts).all()
    least = least_cost(problem)
    assert placed.cost >= least * (1 - 1e-9)
    assert placed.relaxed.lower_bound <= least * (1 + 1e-9)
    used = placed.assignment > 0
    assert placed.feasible == (
        (placed.fastest_time <= problem.maximum_time * (1 + 1e-9)) and not np.isinf(problem.least[used]).any()
    )


def test_rounding_is_the_one_of_the_literature() -> None:
    for seed in range(20):
        problem = drawn(seed)
        exact = best_price(problem)
        close = fractional_placement(problem, 1e-12)
        nearest = nearest_whole(problem, fractional(problem, exact)[0])
        if not (np.abs(close.shares % 1 - 0.5) < 1e-3).any():
            assert nearest_whole(problem, close.shares).tolist() == nearest.tolist()


def test_what_rounding_breaks_is_not_repaired() -> None:
    # docs/placement: one epoch, mostly on the cluster that alone takes 1.001 > 0.9
    single = split_pair(0.9).replace(
        counts=np.array([1]), capacity=np.array([1e3, 1e3]), price=np.array([1.0, 100.0])
    )
    placed = place_by_rounding(single, 0.01)
    assert placed.assignment.tolist() == [[1, 0]]
    assert not placed.feasible
    assert placed.fastest_time == pytest.approx(1.001)
    assert math.isfinite(least_cost(single))


def test_with_transfers_the_relaxation_is_rounded() -> None:
    problem = split_pair(2.2).replace(transfers=np.array([0.0, 7.0]))
    placed = place_by_rounding(problem, 0.5)
    program = relaxation(problem)
    assert placed.relaxed.shares == pytest.approx(program.shares)
    assert placed.relaxed.lower_bound == program.lower_bound
    assert placed.cost == pytest.approx(float(problem.evaluate([placed.assignment]).costs[0]))


def test_time_that_does_not_bind_needs_no_price() -> None:
    # only the deadline hurries: x = 1 / (tau - s) is 1 on slow and 0.5 on quick, at 1 and 4.5
    problem = split_pair(2.2).replace(maximum_time=None, round_deadline=2.0)
    placed = place_by_rounding(problem, 0.01)
    assert placed.assignment.tolist() == [[2, 0]]
    assert (placed.cost, placed.relaxed.cost) == (pytest.approx(2.0), pytest.approx(2.0))


def test_free_computing_takes_all_resources() -> None:
    problem = split_pair(10.0).replace(price=np.array([0.0, 9.0]))
    placed = place_by_rounding(problem, 0.01)
    assert placed.cost == 0
    assert problem.resources(placed.multiplier)[0, 0] == 100.0


def test_limits_that_cannot_be_kept_leave_nothing_to_split() -> None:
    assert fractional_placement(split_pair(0.19), 0.01) is None
    assert place_by_rounding(split_pair(0.19).replace(transfers=np.ones(2)), 0.01) is None


def test_the_fastest_time_exactly_leaves_one_placement() -> None:
    placed = place_by_rounding(split_pair(0.2), 0.01)
    assert placed.assignment.tolist() == [[0, 2]]
    assert placed.cost == pytest.approx(180)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_an_epsilon_that_is_none_is_refused(epsilon: float) -> None:
    with pytest.raises(InvalidInputError, match="epsilon"):
        fractional_placement(split_pair(2.2), epsilon)


def test_shares_are_rounded_to_the_largest_fractions() -> None:
    problem = split_pair(2.2).replace(counts=np.array([3]))
    for shares, whole in (([1.4, 1.6], [1, 2]), ([2.6, 0.4], [3, 0]), ([3.0, 0.0], [3, 0])):
        assert nearest_whole(problem, np.array([shares])).tolist() == [whole]
    assert isinstance(fractional_placement(problem.replace(maximum_time=9.0), 0.01), Fractional)
