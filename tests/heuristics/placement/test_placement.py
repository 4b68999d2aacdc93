"""Placements against all placements, their bounds against theorems, and their invariances."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.benchmarks.suites.random_placements import random_placement
from depl.heuristics.placement.dual import best_price, prices
from depl.heuristics.placement.place import place
from depl.heuristics.placement.problem import PlacementProblem
from depl.heuristics.placement.program import charged_bound
from depl.heuristics.placement.rounding import candidates, repaired, rounded
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import PROOF_TOLERANCE
from depl.models.problem.allocation import allocate
from tests.cases.placement_cases import least_cost, split_pair

SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed: int, transfers: bool = False, epochs: int = 7) -> PlacementProblem:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, epochs))
    return random_placement(
        rng,
        int(rng.integers(2, 4)),
        int(rng.integers(2, 4)),
        count,
        transfers=transfers,
        deadline=seed % 3 == 0,
    )


@pytest.mark.parametrize(
    ("limit", "chosen", "cost"),
    [(2.5, [2, 0], 8.0), (2.2, [1, 1], 16 / 1.2), (1.0, [0, 2], 36.0)],
)
def test_two_epochs_go_where_the_closed_forms_say(limit: float, chosen: list[int], cost: float) -> None:
    answer = place(split_pair(limit))
    assert answer.assignment.tolist() == [chosen]
    assert answer.cost == pytest.approx(cost, rel=1e-12)
    assert answer.optimal


def test_transfers_can_keep_a_cluster_closed() -> None:
    # without transfers one each costs 13.33; both quick 36 / 2.2 = 16.36, both slow 20
    problem = split_pair(2.2)
    for paid, chosen in (([0, 2.0], [1, 1]), ([0, 7.0], [2, 0]), ([4.0, 0], [0, 2]), ([2.0, 0], [1, 1])):
        answer = place(problem.replace(transfers=np.array(paid, dtype=float)))
        assert answer.assignment.tolist() == [chosen]
        assert answer.optimal


@pytest.mark.parametrize("count", [12, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("transfers", [False, True])
def test_placements_of_small_problems_are_the_cheapest_of_all(transfers: bool, count: int) -> None:
    proved = 0
    for seed in range(count):
        problem = drawn(seed, transfers)
        least = least_cost(problem)
        answer = place(problem)
        assert answer.cost == pytest.approx(least, rel=1e-9)
        assert answer.lower_bound <= least * (1 + 1e-9)
        proved += answer.optimal
    assert proved == count


@pytest.mark.parametrize("count", [12, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("transfers", [False, True])
def test_without_the_program_bounds_hold_and_many_are_optimal(transfers: bool, count: int) -> None:
    optimal = 0
    for seed in range(count):
        problem = drawn(seed, transfers)
        least = least_cost(problem)
        answer = place(problem, prove=False)
        assert answer.lower_bound <= least * (1 + 1e-9)
        assert answer.cost >= least * (1 - 1e-9)
        optimal += answer.cost <= least * (1 + PROOF_TOLERANCE)
    assert optimal >= count // 2


def test_most_optimal_placements_of_the_family_use_two_clusters() -> None:
    rng = np.random.default_rng(3)
    used = [
        int(place(random_placement(rng, 3, int(rng.integers(2, 5)), 7)).assignment.any(axis=0).sum())
        for _ in range(60)
    ]
    assert np.mean(np.array(used) >= 2) >= 0.5


@given(SEEDS)
def test_rounding_keeps_the_limits_and_costs_at_most_one_epoch_more_than_the_bound(seed: int) -> None:
    problem = drawn(seed, epochs=40)
    dual = best_price(problem)
    whole = rounded(problem, dual)
    cost = float(problem.evaluate([whole]).costs[0])
    assert cost < math.inf
    rows = np.arange(len(problem.counts))
    assert dual.fast is not None
    epoch = (problem.price * problem.resources(dual.fast.multiplier))[rows, dual.fast.choice]
    split = dual.slow.choice != dual.fast.choice
    if math.isfinite(dual.fast.multiplier):  # T_max is kept even at the resources of the price
        times = prices(problem, dual.fast.multiplier)[1]
        assert (whole[whole > 0] * times[whole > 0]).sum() <= problem.maximum_time * (1 + 1e-9)
    assert cost <= (dual.value + float(epoch[split].max(initial=0.0))) * (1 + 1e-7)
    assert min(problem.evaluate(candidates(problem, dual)).costs) <= cost * (1 + 1e-13)


@given(SEEDS)
def test_repair_makes_every_assignment_feasible(seed: int) -> None:
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


@settings(max_examples=12)
@given(SEEDS, st.floats(-4, 6))
def test_bounds_with_transfers_are_below_every_placement(seed: int, exponent: float) -> None:
    problem = drawn(seed, transfers=True)
    least = least_cost(problem)
    charges = np.random.default_rng(seed).normal(0, 1, len(problem.counts)) * least
    assert charged_bound(problem, 10**exponent, charges) <= least * (1 + 1e-9)


@pytest.mark.parametrize("count", [8, pytest.param(20, marks=pytest.mark.slow)])
def test_transfers_make_the_bound_better_than_without_them(count: int) -> None:
    better = [
        place(problem, prove=False).lower_bound > best_price(problem).value * 1.01
        for problem in (drawn(seed, transfers=True) for seed in range(count))
    ]
    assert sum(better) >= 0.75 * count


@settings(max_examples=40)
@given(SEEDS)
def test_splitting_a_class_changes_nothing(seed: int) -> None:
    problem = drawn(seed)
    counts = problem.counts
    halves = np.concatenate([counts // 2, counts - counts // 2])
    twice: dict[str, Any] = {
        "classes": problem.classes * 2,
        "counts": halves,
        "work": np.concatenate([problem.work] * 2),
        "communication": np.concatenate([problem.communication] * 2),
    }
    assert place(problem.replace(**twice)).cost == pytest.approx(place(problem).cost, rel=1e-9)


@settings(max_examples=20)
@given(SEEDS, st.booleans())
def test_a_dominated_cluster_changes_nothing(seed: int, transfers: bool) -> None:
    problem = drawn(seed, transfers)
    wider = problem.replace(
        clusters=(*problem.clusters, "worse"),
        work=np.concatenate([problem.work, problem.work[:, :1] * 1.1], axis=1),
        price=np.append(problem.price, problem.price[0] * 1.1),
        capacity=np.append(problem.capacity, problem.capacity[0]),
        communication=np.concatenate([problem.communication, problem.communication[:, :1]], axis=1),
        transfers=np.append(problem.transfers, problem.transfers[0]),
    )
    assert place(wider).cost == pytest.approx(place(problem).cost, rel=1e-9)


@settings(max_examples=20)
@given(SEEDS, st.floats(1.0, 2.0))
def test_more_time_never_costs_more(seed: int, factor: float) -> None:
    problem = drawn(seed, seed % 2 == 0)
    later = problem.replace(maximum_time=problem.maximum_time * factor)
    assert place(later).cost <= place(problem).cost * (1 + 1e-9)


@settings(max_examples=40)
@given(SEEDS)
def test_the_resources_are_those_of_the_allocation_of_single_epochs(seed: int) -> None:
    problem = drawn(seed)
    answer = place(problem)
    pairs = [(g, n) for g, n in np.ndindex(problem.dimensions) for _ in range(int(answer.assignment[g, n]))]
    exact = allocate([problem.load(*pair) for pair in pairs], problem.maximum_time, problem.round_deadline)
    assert exact.feasible
    assert answer.cost == pytest.approx(exact.cost, rel=1e-12)
    assert [answer.resources[pair] for pair in pairs] == pytest.approx(exact.resources.tolist(), rel=1e-9)


def test_bounds_are_close_with_many_epochs_and_clusters() -> None:
    rng = np.random.default_rng(5)
    for epochs, ratio in ((100, 1.005), (1000, 1.0005), (1_000_000, 1.0005)):
        for clusters in (3, 200):
            problem = random_placement(rng, 6, clusters, epochs)
            answer = place(problem)
            assert answer.cost <= ratio * answer.lower_bound


def test_infeasible_problems_say_what_could_be_kept() -> None:
    late = place(split_pair(0.15))
    assert not late.feasible
    assert late.cost == late.lower_bound == math.inf
    assert "nearest total time that can be kept is 0.2" in late.reason
    missed = place(split_pair(2.2).replace(round_deadline=0.05))
    assert "nearest deadline that can be kept is 0.1" in missed.reason


def test_no_epochs_cost_nothing() -> None:
    answer = place(split_pair(2.2).replace(counts=np.array([0])))
    assert answer.cost == answer.lower_bound == 0
    assert answer.optimal


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="time_limit: must be positive"):
        place(split_pair(2.2), time_limit=0)
    with pytest.raises(InvalidInputError, match="no placement keeps"):
        rounded(split_pair(0.15), best_price(split_pair(0.15)))


def test_classes_without_epochs_change_nothing() -> None:
    # the empty class could keep the deadline nowhere
    problem = split_pair(2.2).replace(round_deadline=5.0, transfers=np.array([0.5, 0.5]))
    wider = problem.replace(
        classes=("net", "nothing"),
        counts=np.array([2, 0]),
        work=np.repeat(problem.work, 2, axis=0),
        communication=np.array([[1.0, 0.0], [50.0, 50.0]]),
    )
    assert place(wider).cost == place(problem).cost
    assert place(wider).assignment.tolist() == [[1, 1], [0, 0]]
    assert place(wider).optimal


def test_without_a_limit_of_total_time_charges_are_for_the_price_zero() -> None:
    problem = split_pair(2.2).replace(maximum_time=None, round_deadline=2.0, transfers=np.array([1.0, 3.0]))
    # one resource each on slow and its transfers; quick would cost 2 * 9 / 2 + 3
    answer = place(problem)
    assert answer.cost == pytest.approx(3.0, rel=1e-12)
    assert answer.optimal
    with pytest.raises(InvalidInputError, match="no T_max"):
        charged_bound(problem, 1.0, np.array([2.0]))


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_gaps_of_transfers_close_on_many_clusters(count: int) -> None:
    # the relaxation alone leaves up to some percent: small shares of clusters pay small shares of transfers
    rng = np.random.default_rng(9)
    for _ in range(count):
        problem = random_placement(rng, 6, 30, 1000, transfers=True)
        first, answer = place(problem, prove=False), place(problem)
        assert first.lower_bound <= answer.lower_bound * (1 + 1e-12)
        assert answer.cost <= 1.0005 * answer.lower_bound
