"""The price of time bounds every placement at any price, and its best price is that of the relaxation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from depl.benchmarks.suites.random_placements import random_placement
from depl.heuristics.placement.dual import best_price, lagrangian, prices
from depl.heuristics.placement.problem import PlacementProblem
from depl.heuristics.placement.rounding import fractional
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.allocation import allocate
from depl.models.problem.epoch_costs import minimum_resources, price
from tests.cases.placement_cases import least_cost, split_pair

SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed: int, transfers: bool = False) -> PlacementProblem:
    rng = np.random.default_rng(seed)
    classes, clusters, epochs = rng.integers(1, 4), rng.integers(1, 4), rng.integers(1, 6)
    return random_placement(
        rng, int(classes), int(clusters), int(epochs), transfers=transfers, deadline=bool(rng.integers(2))
    )


@given(SEEDS, st.floats(0, 8))
def test_prices_are_those_of_single_epochs(seed: int, exponent: float) -> None:
    problem = drawn(seed)
    multiplier = 0.0 if exponent == 0 else 10 ** (exponent - 4)
    psi, _ = prices(problem, multiplier)
    for g, n in np.ndindex(problem.dimensions):
        load = problem.load(g, n)
        assert psi[g, n] == pytest.approx(price(load, multiplier, problem.round_deadline), rel=1e-13)
        assert problem.least[g, n] == minimum_resources(load, problem.round_deadline)


@given(SEEDS, st.floats(-6, 8))
def test_the_dual_at_any_price_is_below_every_placement(seed: int, exponent: float) -> None:
    problem = drawn(seed, transfers=bool(seed % 2))
    least = least_cost(problem)
    assert lagrangian(problem, 10**exponent).value <= least * (1 + 1e-9)
    dual = best_price(problem)
    assert lagrangian(problem, 10**exponent).value <= dual.value * (1 + 1e-12) + 1e-12
    assert dual.value <= least * (1 + 1e-9)


@given(SEEDS)
def test_the_split_optimum_of_the_relaxation_attains_the_dual(seed: int) -> None:
    problem = drawn(seed)
    dual = best_price(problem)
    shares, split = fractional(problem, dual)
    assert shares.sum(axis=1) == pytest.approx(problem.counts, rel=1e-12)
    off = np.abs(shares - np.round(shares)).max(axis=1) > 1e-9
    assert off.sum() <= 1
    assert set(np.flatnonzero(off).tolist()) <= {split}
    price_of_time = dual.fast.multiplier
    psi, times = prices(problem, price_of_time)
    used = shares > 1e-12
    total = float((shares[used] * times[used]).sum())
    assert total <= problem.maximum_time * (1 + 1e-9)
    cost = float((shares[used] * psi[used]).sum()) - price_of_time * total
    assert cost == pytest.approx(dual.value, rel=1e-7)


def test_one_cluster_without_clipping_has_the_closed_form() -> None:
    problem = split_pair(3.0).replace(
        clusters=("slow",),
        price=np.array([2.0]),
        capacity=np.array([100.0]),
        work=np.array([[1.0]]),
        communication=np.array([[0.5]]),
        transfers=np.zeros(1),
    )
    # two epochs: (2 sqrt(2))^2 / (3 - 1) = 4, and lam = (2 sqrt(2) / 2)^2 = 2
    dual = best_price(problem)
    assert dual.value == pytest.approx(4.0, rel=1e-12)
    assert dual.multiplier == pytest.approx(2.0, rel=1e-9)


@given(SEEDS)
def test_the_best_price_of_one_cluster_is_the_multiplier_of_its_allocation(seed: int) -> None:
    problem = random_placement(np.random.default_rng(seed), 3, 1, 5)
    loads = [problem.load(g, 0) for g, count in enumerate(problem.counts) for _ in range(count)]
    exact = allocate(loads, problem.maximum_time, None)
    dual = best_price(problem)
    assert dual.value == pytest.approx(exact.cost, rel=1e-10)
    psi = lagrangian(problem, exact.multiplier)
    assert psi.value == pytest.approx(dual.value, rel=1e-10)


def test_what_no_cluster_keeps_is_infeasible() -> None:
    problem = split_pair(0.15)  # two epochs take 0.2 on the quick cluster at full capacity
    dual = best_price(problem)
    assert not dual.feasible
    assert dual.value == math.inf
    assert best_price(split_pair(0.2)).feasible


def test_time_that_is_used_up_entirely_still_has_its_bound() -> None:
    dual = best_price(split_pair(0.2))  # x = 10 at the price 9, twice
    assert dual.value == pytest.approx(180.0, rel=1e-6)


def test_without_a_limit_of_total_time_zero_is_the_only_price() -> None:
    problem = split_pair(2.2).replace(maximum_time=None, round_deadline=2.0)
    # slow: x = 1 / (2 - 1) at the price 1; quick: x = 1 / 2 at the price 9
    assert best_price(problem).value == pytest.approx(2.0, rel=1e-12)
    with pytest.raises(InvalidInputError, match="no T_max"):
        lagrangian(problem, 1.0)


@pytest.mark.parametrize("multiplier", [-1.0, math.inf, math.nan])
def test_a_price_of_time_is_a_finite_nonnegative_number(multiplier: float) -> None:
    with pytest.raises(InvalidInputError, match="nonnegative"):
        lagrangian(split_pair(2.2), multiplier)


def test_empty_classes_change_nothing() -> None:
    problem = split_pair(2.2)
    wider = problem.replace(
        classes=("net", "nothing"),
        counts=np.array([2, 0]),
        work=np.repeat(problem.work, 2, axis=0),
        communication=np.array([[1.0, 0.0], [50.0, 50.0]]),
    )
    assert best_price(wider).value == best_price(problem).value
