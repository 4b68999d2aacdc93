"""Placements against all placements, their bounds against theorems, and their invariances."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.benchmarks.suites.random_placements import random_placement
from depl.heuristics.placement import charging
from depl.heuristics.placement.charging import (
    lower_bound,
    program_certificates,
    transfer_certificates,
)
from depl.heuristics.placement.dual import best_price, prices
from depl.heuristics.placement.improving import improved
from depl.heuristics.placement.opening import Openings, ascent, charged_bound, restricted
from depl.heuristics.placement.peers import fastest_cluster
from depl.heuristics.placement.place import place
from depl.heuristics.placement.problem import PlacementProblem
from depl.heuristics.placement.pruning import cut_capacities, pruned
from depl.heuristics.placement.relaxation import relaxation
from depl.heuristics.placement.rounding import candidates, repaired, rounded
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import PROOF_TOLERANCE
from depl.models.problem.allocation import allocate
from tests.cases.placement_cases import all_assignments, least_cost, split_pair

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
def test_without_the_listing_bounds_hold_and_nearly_all_are_optimal(transfers: bool, count: int) -> None:
    optimal = 0
    for seed in range(count):
        problem = drawn(seed, transfers)
        least = least_cost(problem)
        answer = place(problem, listed=0)
        assert answer.lower_bound <= least * (1 + 1e-9)
        assert answer.cost >= least * (1 - 1e-9)
        optimal += answer.cost <= least * (1 + PROOF_TOLERANCE)
    assert optimal >= count - count // 30


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


@given(SEEDS, st.booleans())
def test_moves_never_make_a_placement_more_expensive(seed: int, transfers: bool) -> None:
    problem = drawn(seed, transfers, epochs=20)
    start = rounded(problem, best_price(problem))
    better, cost = improved(problem, start)
    exact = float(problem.evaluate([better]).costs[0])
    assert cost == pytest.approx(exact, rel=1e-13)
    assert exact <= float(problem.evaluate([start]).costs[0])


def test_moves_find_cheaper_clusters_for_epochs_on_the_fastest_ones() -> None:
    reached = 0
    for seed in range(30):
        problem = drawn(seed, epochs=12)
        start = fastest_cluster(problem)
        _, cost = improved(problem, start)
        reached += cost <= place(problem).cost * (1 + 1e-9)
    assert reached >= 24


@settings(max_examples=40)
@given(SEEDS)
def test_pruning_is_within_two_and_delta_of_its_own_bound(seed: int) -> None:
    problem = drawn(seed)
    least = least_cost(problem)
    for accuracy in (0.5, 0.01):
        answer = pruned(problem, accuracy)
        assert answer.lower_bound <= least * (1 + 1e-9)
        assert least * (1 - 1e-9) <= answer.cost <= (2 + accuracy) * answer.lower_bound * (1 + 1e-9)


def test_pruning_sees_that_one_epoch_is_expensive_where_the_plain_bound_does_not() -> None:
    # one epoch: a thousandth of it on quick lets the relaxation keep T_max almost for nothing
    problem = split_pair(1.001).replace(counts=np.array([1]), capacity=np.array([1e4, 1e4]))
    plain = best_price(problem).value
    least = least_cost(problem)
    assert least == pytest.approx(9 / 1.001, rel=1e-9)
    answer = pruned(problem, 0.01)
    assert plain < answer.lower_bound <= least
    assert answer.cost <= 2.01 * answer.lower_bound
    assert cut_capacities(problem, 18.0).capacity.tolist() == [18.0, 2.0]


@settings(max_examples=12)
@given(SEEDS, st.floats(-4, 6))
def test_bounds_with_transfers_are_below_every_placement(seed: int, exponent: float) -> None:
    problem = drawn(seed, transfers=True)
    least = least_cost(problem)
    rng = np.random.default_rng(seed)
    charges = rng.normal(0, 1, len(problem.counts)) * least
    fast = best_price(problem).fast
    assert fast is not None
    known = transfer_certificates(problem, 10**exponent, fast.choice.tolist())
    assert lower_bound(problem, known) <= least * (1 + 1e-9)
    found = all_assignments(problem)
    costs, opened = problem.evaluate(found).costs, found.any(axis=1)
    for item in [*known, ascent(problem, 10**exponent), charged_bound(problem, 10**exponent, charges)]:
        assert (item.value + opened @ item.slack <= costs * (1 + 1e-9)).all()


@pytest.mark.parametrize("count", [8, pytest.param(20, marks=pytest.mark.slow)])
def test_transfers_make_the_bound_better_than_without_them(count: int) -> None:
    better = []
    for seed in range(count):
        problem = drawn(seed, transfers=True)
        plain = best_price(problem)
        assert plain.fast is not None
        known = transfer_certificates(problem, plain.multiplier, plain.fast.choice.tolist())
        bound = lower_bound(problem, known)
        better.append(bound > plain.value * 1.01)
    assert sum(better) >= 0.75 * count


@pytest.mark.parametrize(("count", "places"), [(2, 8), pytest.param(4, 12, marks=pytest.mark.slow)])
def test_small_programs_at_single_prices_reach_the_whole_relaxation(count: int, places: int) -> None:
    rng = np.random.default_rng(12)
    for i in range(count):
        problem = random_placement(rng, 4, places, 60, transfers=True, deadline=i % 2 == 0)
        whole = relaxation(problem)
        assert whole.shares is not None
        answer = place(problem, listed=0)
        used = np.flatnonzero(answer.assignment.any(axis=0)).tolist()
        found = program_certificates(problem, answer.multiplier, used)
        assert max(item.value for item in found) == pytest.approx(whole.objective, rel=1e-5)
        assert ascent(problem, whole.multiplier).value <= whole.objective * (1 + 1e-7)


def test_too_large_programs_leave_the_bound_to_the_ascent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charging, "_LARGEST", 40)
    problem = random_placement(np.random.default_rng(0), 21, 2, 21, transfers=True)
    assert program_certificates(problem, 1.0, [0, 1, 1]) == []
    found = transfer_certificates(problem, 1.0, [0, 1])
    assert [item.value for item in found[1:]] == [ascent(problem, 1.0).value]
    assert math.isfinite(lower_bound(problem, found))


@settings(max_examples=40)
@given(SEEDS)
def test_the_value_of_a_set_bounds_all_placements_on_it(seed: int) -> None:
    problem = drawn(seed, transfers=True)
    openings = Openings(problem)
    found = all_assignments(problem)
    costs = problem.evaluate(found).costs
    places = found.any(axis=1)
    for opened in {tuple(np.flatnonzero(row).tolist()) for row in places}:
        mine = (places == np.isin(np.arange(problem.dimensions[1]), opened)).all(axis=1)
        assert openings.value(opened) <= costs[mine].min() * (1 + 1e-9)
    assert restricted(problem, (0,)).clusters == problem.clusters[:1]


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
        for clusters in (3, 40):
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
    with pytest.raises(InvalidInputError, match="negative"):
        place(split_pair(2.2), listed=-1)
    with pytest.raises(InvalidInputError, match="positive"):
        pruned(split_pair(2.2), 0)
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
    multiplier = place(problem).multiplier
    for one, other in zip(
        program_certificates(wider, multiplier, [0, 1]),
        program_certificates(problem, multiplier, [0, 1]),
        strict=True,
    ):
        assert one.value == other.value


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
        first, answer = place(problem, listed=0), place(problem)
        assert first.lower_bound <= answer.lower_bound * (1 + 1e-12)
        assert answer.cost <= 1.0005 * answer.lower_bound
