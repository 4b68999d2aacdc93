"""Bounds of placements: any price of time, the relaxation three ways, and the program of HiGHS."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.benchmarks.suites.random_placements import random_placement
from depl.heuristics.placement.dual import best_price, lagrangian, prices
from depl.heuristics.placement.place import fractional, place
from depl.heuristics.placement.program import PerspectiveProgram, charged_bound
from depl.models.foundation.errors import InvalidInputError
from tests.cases.placement_cases import least_cost, split_pair

SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed, transfers=False):
    rng = np.random.default_rng(seed)
    classes, clusters, epochs = rng.integers(1, 4), rng.integers(1, 4), rng.integers(1, 6)
    return random_placement(
        rng,
        int(min(classes, epochs)),
        int(clusters),
        int(epochs),
        transfers=transfers,
        deadline=bool(rng.integers(2)),
    )


@settings(max_examples=25)
@given(SEEDS, st.floats(-6, 8))
def test_the_dual_at_any_price_is_below_every_placement(seed, exponent):
    problem = drawn(seed, transfers=bool(seed % 2))
    least = least_cost(problem)
    assert lagrangian(problem, 10**exponent).value <= least * (1 + 1e-9)
    dual = best_price(problem)
    assert lagrangian(problem, 10**exponent).value <= dual.value * (1 + 1e-12) + 1e-12
    assert dual.value <= least * (1 + 1e-9)


@settings(max_examples=20)
@given(SEEDS)
def test_the_split_optimum_of_the_relaxation_attains_the_dual(seed):
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


def test_one_class_moves_as_a_whole_before_another_is_split():
    """At lam = 16 an epoch is worth 24 on either; it takes 1.25 on slow and 0.75 on quick."""
    problem = split_pair(1.75).replace(
        classes=("one", "other"),
        counts=np.array([1, 1]),
        work=np.ones((2, 2)),
        communication=np.array([[1.0, 0.0]] * 2),
    )
    shares, split = fractional(problem, best_price(problem))
    assert split == 1
    assert shares.ravel() == pytest.approx([0, 1, 0.5, 0.5], abs=1e-9)


def test_bounds_are_below_their_exact_values():
    """At full resources a price is rational: kappa r + lam (c / r + s). T_max is all but used up."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        price, capacity, work, sent = rng.uniform(0.1, 5, 4).tolist()
        lam, rows = 10 ** float(rng.uniform(6, 9)), np.ones((1, 2))
        problem = split_pair(2 * (work / capacity + sent)).replace(
            work=work * rows, communication=sent * rows, price=price * rows[0], capacity=capacity * rows[0]
        )
        full = Fraction(price) * Fraction(capacity)
        full += Fraction(lam) * (Fraction(work) / Fraction(capacity) + Fraction(sent))
        limit, charge = Fraction(lam) * Fraction(problem.maximum_time), 1.5 * float(full)
        assert lagrangian(problem, lam).value < 2 * full - limit
        assert charged_bound(problem, lam, np.array([charge])) < Fraction(charge) - limit


def test_without_a_limit_of_total_time_zero_is_the_only_price():
    problem = split_pair(2.2).replace(maximum_time=None, round_deadline=2.0)
    # slow: x = 1 / (2 - 1) at the price 1; quick: x = 1 / 2 at the price 9
    assert best_price(problem).value == pytest.approx(2.0, rel=1e-12)
    with pytest.raises(InvalidInputError, match="no T_max"):
        lagrangian(problem, 1.0)


@pytest.mark.parametrize("multiplier", [-1.0, math.inf, math.nan])
def test_a_price_of_time_is_a_finite_nonnegative_number(multiplier):
    with pytest.raises(InvalidInputError, match="nonnegative"):
        lagrangian(split_pair(2.2), multiplier)


@pytest.mark.parametrize(("limit", "value"), [(0.15, math.inf), (0.2, 180.0)])
def test_what_no_cluster_keeps_is_infeasible_and_time_that_is_used_up_has_its_bound(limit, value):
    """Two epochs take 0.2 on quick at full capacity x = 10 at the price 9, twice."""
    dual = best_price(split_pair(limit))
    assert dual.feasible == math.isfinite(value)
    assert dual.value == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("sent", [0.0, 0.1, 0.1 * (1 - 5e-10)])
def test_time_that_is_missed_by_the_tolerance_alone_is_used_up_whatever_its_price(sent):
    """At no price is T_max kept; at high ones the bound is beyond the cost, and with it proved the least."""
    work = 0.1 - sent or 1e-12
    problem = split_pair(0.2 * (1 - 5e-10)).replace(
        work=10 * work * np.ones((1, 2)), communication=np.array([[1.0, sent]])
    )
    answer = place(problem, prove=False)
    assert answer.optimal
    assert answer.cost == 180.0


# --- programs --------------------------------------------------------------------------------------------


def problems(count, transfers):
    rng = np.random.default_rng(11)
    return [
        random_placement(rng, 3, int(rng.integers(2, 5)), 9, transfers=transfers, deadline=i % 2 == 0)
        for i in range(count)
    ]


def test_perspective_cuts_and_the_dual_meet():
    for problem in problems(3, transfers=False):
        found, dual = PerspectiveProgram.of(problem).relax(), best_price(problem)
        assert found.objective == pytest.approx(dual.value, rel=1e-8)
        assert dual.value * (1 - 1e-7) <= found.lower_bound <= dual.value * (1 + 1e-9)
        off = np.abs(found.shares - np.round(found.shares)) > 1e-6 * np.maximum(found.shares, 1.0)
        assert off.any(axis=1).sum() <= 1  # at most one class is split over clusters


def test_with_transfers_the_certified_bound_is_that_of_the_program():
    for problem in problems(3, transfers=True):
        found, least = PerspectiveProgram.of(problem).relax(), least_cost(problem)
        assert found.lower_bound == pytest.approx(found.objective, rel=1e-6)
        assert found.lower_bound <= least * (1 + 1e-9)


def test_placements_agree_with_highs_where_there_are_too_many_to_be_listed():
    rng = np.random.default_rng(4)
    for i in range(3):
        problem = random_placement(rng, 5, 6, 60, transfers=i % 2 == 0)
        answer, reference = place(problem), PerspectiveProgram.of(problem).solve(gap=1e-7)
        assert answer.cost == pytest.approx(reference.cost, rel=1e-6)
        assert answer.lower_bound <= reference.cost * (1 + 1e-9)
        assert reference.lower_bound <= answer.cost * (1 + 1e-6)


def test_infeasible_programs_say_so():
    assert PerspectiveProgram.of(split_pair(0.15)).relax().objective == math.inf
    found = PerspectiveProgram.of(split_pair(0.15)).solve(time_limit=1.0)
    assert (found.assignment, found.lower_bound) == (None, math.inf)
    late = split_pair(2.2).replace(round_deadline=0.05)
    assert PerspectiveProgram.of(late).relax().shares is None
    assert PerspectiveProgram.of(late).solve().lower_bound == math.inf
    with pytest.raises(InvalidInputError, match="gap"):
        PerspectiveProgram.of(late).solve(gap=-1)
