"""Placements against all placements, their bounds against theorems, and their invariances."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.benchmarks.suites.random_placements import random_placement
from depl.heuristics.placement.dual import best_price, prices
from depl.heuristics.placement.place import candidates, place, repaired, rounded
from depl.heuristics.placement.program import charged_bound
from depl.models.foundation.tolerances import PROOF_TOLERANCE
from depl.models.problem.allocation import allocate
from tests.cases.placement_cases import least_cost, split_pair

SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed, transfers=False, epochs=7):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, epochs))
    return random_placement(
        rng,
        min(int(rng.integers(2, 4)), count),
        int(rng.integers(2, 4)),
        count,
        transfers=transfers,
        deadline=seed % 3 == 0,
    )


PAIR = {
    "classes": ("one", "other"),
    "counts": np.array([1, 1]),
    "work": np.ones((2, 2)),
}


@pytest.mark.parametrize(
    ("limit", "changes", "chosen", "cost"),
    [
        (2.5, {}, [[2, 0]], 8.0),
        (2.2, {}, [[1, 1]], 16 / 1.2),  # cheaper than any embedding: 20 on slow and 36 / 2.2 on quick
        (1.0, {}, [[0, 2]], 36.0),
        # both quick; without transfers one each costs 13.33
        (2.2, {"transfers": np.array([4.0, 0.0])}, [[0, 2]], 36 / 2.2),
        # each model is quick on one cluster only: together in time, on either alone too late
        (3.0, PAIR | {"communication": np.array([[1.0, 5.0], [5.0, 1.0]])}, [[1, 0], [0, 1]], 16.0),
        # one after the other, each on the whole cluster: 2 (1 / x) = 1 at x = 2 = r
        (
            1.0,
            PAIR | {"communication": np.zeros((2, 2)), "capacity": np.array([2.0, 2.0])},
            [[1, 0], [1, 0]],
            4.0,
        ),
        # one epoch: slow takes more than 0.9, and the relaxation puts a share of 2.8 / 9 on quick
        (
            0.9,
            {"counts": np.array([1]), "price": np.array([1.0, 100.0]), "capacity": np.array([1e3, 1e3])},
            [[0, 1]],
            100 / 0.9,
        ),
        # without T_max: one resource each on slow and its transfers; quick would cost 2 * 9 / 2 + 3
        (
            None,
            {"maximum_time": None, "round_deadline": 2.0, "transfers": np.array([1.0, 3.0])},
            [[2, 0]],
            3.0,
        ),
    ],
)
def test_epochs_go_where_the_closed_forms_say(limit, changes, chosen, cost):
    answer = place(split_pair(limit or 2.2).replace(**changes))
    assert answer.assignment.tolist() == chosen
    assert answer.cost == pytest.approx(cost, rel=1e-6 if len(chosen) == 2 else 1e-12)
    assert answer.optimal


@pytest.mark.parametrize("transfers", [False, True])
def test_small_problems_against_all_placements(transfers):
    """The program proves the cheapest of all; without it bounds hold, and many placements are optimal."""
    optimal = better = 0
    for seed in range(10):
        problem = drawn(seed, transfers)
        least = least_cost(problem)
        answer, quick = place(problem), place(problem, prove=False)
        assert answer.optimal
        assert answer.cost == pytest.approx(least, rel=1e-9)
        for found in (answer, quick):
            assert found.lower_bound <= least * (1 + 1e-9)
            assert found.cost >= least * (1 - 1e-9)
        optimal += quick.cost <= least * (1 + PROOF_TOLERANCE)
        better += quick.lower_bound > best_price(problem).value * 1.01
        pairs = [pair for pair in np.ndindex(problem.dimensions) for _ in range(int(answer.assignment[pair]))]
        exact = allocate(
            [problem.load(*pair) for pair in pairs], problem.maximum_time, problem.round_deadline
        )
        assert answer.cost == pytest.approx(exact.cost + paid(problem, answer.assignment), rel=1e-12)
        assert [answer.resources[p] for p in pairs] == pytest.approx(exact.resources.tolist(), rel=1e-9)
    assert optimal >= 5
    assert not transfers or better >= 7  # transfers make the bound better than without them


def paid(problem, assignment):
    return float(problem.transfers[assignment.any(axis=0)].sum())


@settings(max_examples=25)
@given(SEEDS)
def test_rounding_keeps_the_limits_and_costs_at_most_one_epoch_more_than_the_bound(seed):
    problem = drawn(seed, epochs=40)
    dual = best_price(problem)
    whole = rounded(problem, dual)
    cost = float(problem.evaluate([whole]).costs[0])
    assert cost < math.inf
    rows = np.arange(len(problem.counts))
    epoch = (problem.price * problem.resources(dual.fast.multiplier))[rows, dual.fast.choice]
    split = dual.slow.choice != dual.fast.choice
    if math.isfinite(dual.fast.multiplier):  # T_max is kept even at the resources of the price
        times = prices(problem, dual.fast.multiplier)[1]
        assert (whole[whole > 0] * times[whole > 0]).sum() <= problem.maximum_time * (1 + 1e-9)
    assert cost <= (dual.value + float(epoch[split].max(initial=0.0))) * (1 + 1e-7)
    assert min(problem.evaluate(candidates(problem, dual)).costs) <= cost * (1 + 1e-13)


@settings(max_examples=25)
@given(SEEDS)
def test_repair_makes_every_assignment_feasible(seed):
    rng = np.random.default_rng(seed)
    problem = drawn(seed, epochs=30)
    tight = problem.replace(
        maximum_time=float(problem.counts @ problem.shortest.min(axis=1)), round_deadline=None
    )
    for case in (problem, tight):
        wild = np.stack(
            [rng.multinomial(n, np.full(case.dimensions[1], 1 / case.dimensions[1])) for n in case.counts]
        )
        fixed = repaired(case, wild.astype(np.int64))
        assert math.isfinite(float(case.evaluate([fixed]).costs[0]))
    assert (repaired(problem, fixed) == fixed).all()


@pytest.mark.parametrize(("share", "repaired_to"), [(0.9e-9, [[1, 1]]), (1.1e-9, [[0, 2]])])
def test_what_misses_the_time_by_the_tolerance_needs_no_repair(share, repaired_to):
    """At full resources slow takes 1.01 and quick 0.1."""
    assert repaired(split_pair(1.11 * (1 - share)), np.array([[1, 1]])).tolist() == repaired_to


@settings(max_examples=12)
@given(SEEDS, st.floats(-4, 6))
def test_bounds_with_transfers_are_below_every_placement(seed, exponent):
    problem = drawn(seed, transfers=True)
    least = least_cost(problem)
    charges = np.random.default_rng(seed).normal(0, 1, len(problem.counts)) * least
    assert charged_bound(problem, 10**exponent, charges) <= least * (1 + 1e-9)


def test_bounds_are_close_with_many_epochs_and_clusters():
    rng = np.random.default_rng(5)
    for epochs, clusters, ratio in ((100, 3, 1.005), (1000, 200, 1.0005), (1_000_000, 3, 1.0005)):
        answer = place(random_placement(rng, 6, clusters, epochs))
        assert answer.cost <= ratio * answer.lower_bound


def test_infeasible_problems_say_what_could_be_kept():
    late = place(split_pair(0.15))
    assert not late.feasible
    assert late.cost == late.lower_bound == math.inf
    assert "nearest total time that can be kept is 0.2" in late.reason
    missed = place(split_pair(2.2).replace(round_deadline=0.05))
    assert "nearest deadline that can be kept is 0.1" in missed.reason
