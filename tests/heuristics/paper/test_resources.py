"""Stage 3 of the literal loop: an embedding, rounding, and no repair."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.benchmarks.suites.random_placements import random_placement
from depl.heuristics.paper.resources import place_by_embedding
from depl.heuristics.placement.problem import PlacementProblem
from depl.heuristics.placement.rounding import nearest_whole
from depl.models.foundation.errors import InvalidInputError
from tests.cases.placement_cases import least_cost, split_pair


def drawn(seed: int, transfers: bool = False) -> PlacementProblem:
    rng = np.random.default_rng([seed, 5])
    return random_placement(rng, 2, 3, int(rng.integers(2, 7)), transfers=transfers, deadline=seed % 3 == 0)


@given(seed=st.integers(0, 2**32 - 1), transfers=st.booleans())
@settings(max_examples=20, deadline=None)
def test_a_rounded_placement_is_whole_and_costs_no_less_than_the_cheapest(seed: int, transfers: bool) -> None:
    problem = drawn(seed, transfers)
    placed = place_by_embedding(problem, 0.01)
    if placed is None:
        return
    assert (placed.assignment.sum(axis=1) == problem.counts).all()
    least = least_cost(problem)
    assert placed.cost >= least * (1 - 1e-9)
    used = placed.assignment > 0
    assert placed.feasible == (
        (placed.fastest_time <= problem.maximum_time * (1 + 1e-9)) and not np.isinf(problem.least[used]).any()
    )


def test_what_rounding_breaks_is_not_repaired() -> None:
    # docs/placement: one epoch, mostly on the cluster that alone takes 1.001 > 0.9
    single = split_pair(0.9).replace(
        counts=np.array([1]), capacity=np.array([1e3, 1e3]), price=np.array([1.0, 100.0])
    )
    placed = place_by_embedding(single, 0.01)
    assert placed.assignment.tolist() == [[1, 0]]
    assert not placed.feasible
    assert placed.fastest_time == pytest.approx(1.001)
    assert math.isfinite(least_cost(single))


def test_free_computing_takes_all_resources() -> None:
    problem = split_pair(10.0).replace(price=np.array([0.0, 9.0]))
    placed = place_by_embedding(problem, 0.01)
    assert placed.cost == 0
    assert problem.resources(placed.multiplier)[0, 0] == 100.0


def test_limits_that_cannot_be_kept_leave_nothing_to_split() -> None:
    assert place_by_embedding(split_pair(0.19), 0.01) is None


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_an_epsilon_that_is_none_is_refused(epsilon: float) -> None:
    with pytest.raises(InvalidInputError, match="epsilon"):
        place_by_embedding(split_pair(2.2), epsilon)


def test_shares_are_rounded_to_the_largest_fractions() -> None:
    problem = split_pair(2.2).replace(counts=np.array([3]))
    for shares, whole in (([1.4, 1.6], [1, 2]), ([2.6, 0.4], [3, 0]), ([3.0, 0.0], [3, 0])):
        assert nearest_whole(problem, np.array([shares])).tolist() == [whole]
