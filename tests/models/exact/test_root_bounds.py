"""Bounds by prices: no feasible plan is lost, and no bound exceeds the optimum."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

import depl
from depl.models.exact.assignments import (
    LARGEST_ASSIGNMENTS,
    Assignment,
    assignments,
    count_assignments,
    everything_allowed,
    kind_gains,
    make_sample,
)
from depl.models.exact.counted import CountedSubproblem, required_mean
from depl.models.exact.kernels import Sample, reachable_gains
from depl.models.exact.prices import Prices
from depl.models.exact.root_bounds import best_root_bound, length_bounds, root_bound
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray
from depl.models.solving.result import DualBound
from tests.oracles.search import cheapest, feasible_plans, sampled, tiny_problems, with_negative_switches

TINY = depl.load("tiny")


def paths(problem: SampledProblem, assignment: Assignment, length: int) -> list[tuple[int, ...]]:
    """Every sequence of kinds with allowed switches."""
    found = []
    for kinds in itertools.product(range(len(assignment.models)), repeat=length):
        models = [problem.initial_model, *(int(assignment.models[kind]) for kind in kinds)]
        pairs = [pair for pair in itertools.pairwise(models) if pair[0] is not None]
        if all(problem.may_follow[before, after] for before, after in pairs):
            found.append(kinds)
    return found


def path_gain(problem: SampledProblem, assignment: Assignment, kinds: tuple[int, ...]) -> FloatArray:
    """l(0) - l(K) by the definition."""
    gains, total = kind_gains(problem, assignment), np.zeros(len(problem.scenarios))
    before = problem.initial_model
    for k, kind in enumerate(kinds):
        model = int(assignment.models[kind])
        total += gains[k, kind]
        if before is not None and before != model:
            total -= problem.switch_losses[k, before, model]
        before = model
    return total


@pytest.mark.parametrize("seed", range(4))
def test_no_feasible_plan_below_the_cutoff_is_pruned(seed):
    problem = tiny_problems(10 + seed, 4)[-1]
    if seed % 2:
        problem = with_negative_switches(problem)
    prices, everything = Prices.of(problem), list(assignments(problem))
    order = np.arange(len(problem.scenarios))[::-1].copy()
    plans = sorted(feasible_plans(problem), key=lambda row: row[0])
    checked = 0
    for cost, choices in plans[:: max(1, len(plans) // 30)]:
        if not choices:
            continue
        used = {(g.cluster, g.datasets) for g in choices}
        assignment = next(a for a in everything if offered(problem, a) == used)
        multiplier = problem.allocation(choices).multiplier
        cutoff = cost * (1 + 1e-9) + 1e-9
        prices_of_time = tuple(f * multiplier for f in (1.0, 0.3, 2.0)) if multiplier else (0.0,)
        search = CountedSubproblem(problem, prices, assignment, len(choices), prices_of_time, cutoff, order)
        positions = [problem.configurations.index(g) for g in choices]
        wanted = [next(j for j, row in enumerate(assignment.options) if g in row) for g in positions]
        leaves = []
        while not search.finished:
            leaf = search.proceed(5)  # few nodes per call: pausing must lose nothing
            if leaf is not None:
                leaves.append(leaf)
        assert wanted in leaves
        assert len({tuple(leaf) for leaf in leaves}) == len(leaves)
        checked += 1
    assert checked


def offered(problem: SampledProblem, assignment: Assignment) -> set[tuple[int, frozenset[str]]]:
    members = [problem.configurations[g] for row in assignment.options for g in row]
    return {(g.cluster, g.datasets) for g in members}


def test_reachable_gains_are_the_best_gains_within_the_budget_rounded_up():
    problem = tiny_problems(20, 1, maximum_epochs=3)[0]
    assignment = list(assignments(problem))[-1]
    sample = make_sample(problem, assignment, np.arange(len(problem.scenarios)))
    steps = np.random.default_rng(0).integers(0, 4, sample.gains.shape[:2])
    table = reachable_gains(sample, steps, 8)
    for before in range(len(problem.instance.models)):
        for budget in range(8):
            best = np.full(len(problem.scenarios), -np.inf)
            for kinds in itertools.product(range(len(assignment.models)), repeat=2):
                models = [before, *(int(assignment.models[kind]) for kind in kinds)]
                legal = all(problem.may_follow[pair] for pair in itertools.pairwise(models))
                if not legal or sum(steps[1 + k, kind] for k, kind in enumerate(kinds)) > budget:
                    continue
                gain = np.zeros(len(problem.scenarios))
                for k, (one, two) in enumerate(itertools.pairwise(models)):
                    gain += sample.gains[1 + k, kinds[k]]
                    gain -= problem.switch_losses[1 + k, one, two] if one != two else 0.0
                best = np.maximum(best, gain)
            row = table[1, before, budget].astype(float)
            known = np.isfinite(best)
            assert np.all(row[known] >= best[known])
            np.testing.assert_allclose(row[known], best[known], rtol=1e-6, atol=1e-6)
            assert np.all(row[~known] < -1e29)


def written_root_bound(problem: SampledProblem, time_price: float, gain_price: float) -> float:
    """The definition of the root bound, written out over all sequences."""
    if problem.misses(()) <= problem.allowed:
        return 0.0
    limit = problem.instance.target.maximum_time
    prices = Prices.of(problem).at(time_price)
    bounds = []
    for assignment in assignments(problem):
        psi, least = assignment.cheapest(prices), np.zeros(len(problem.scenarios))
        for length in range(1, problem.epochs + 1):
            for kinds in paths(problem, assignment, length):
                cost = sum(psi[k, kind] for k, kind in enumerate(kinds))
                least = np.minimum(least, cost - gain_price * path_gain(problem, assignment, kinds))
        met = len(problem.scenarios) - problem.allowed
        paid = 0.0 if limit is None else time_price * limit
        bounds.append(assignment.transfers + np.sort(least)[met - 1] + gain_price * problem.needed - paid)
    return max(0.0, min(bounds))


@pytest.mark.parametrize("seed", range(5))
def test_the_root_bound_is_its_definition_and_no_more_than_the_optimum(seed):
    problem = tiny_problems(30 + seed, 2)[1]
    optimum, rng = cheapest(problem), np.random.default_rng(seed)
    timed = problem.instance.target.maximum_time is not None
    for _ in range(8):
        time_price = float(rng.lognormal(0, 2)) if timed else 0.0
        gain_price = float(rng.lognormal(0, 2))
        bound = root_bound(problem, time_price, gain_price)
        assert bound == pytest.approx(written_root_bound(problem, time_price, gain_price), rel=1e-9, abs=1e-9)
        assert bound <= optimum * (1 + 1e-9)
    best = best_root_bound(problem, 1.0 if timed else 0.0)
    assert best.bound == root_bound(problem, best.time_price, best.gain_price)
    assert 0 <= best.bound <= optimum * (1 + 1e-9)


@pytest.mark.parametrize("limits", [{}, {"maximum_time": None, "round_deadline": 4.0}])
def test_where_a_plan_needs_no_epoch_or_may_have_none_the_best_root_bound_is_zero(limits):
    """At prices that can be charged: time has none without T_max."""
    for changed in ({"maximum_loss": TINY.target.initial_loss}, {"maximum_epochs": 0}):
        problem = sampled(TINY.replace(**changed, **limits), 20)
        assert best_root_bound(problem, 0.0 if limits else 3.0) == DualBound(0.0, 0.0, 0.0)


def bounds_at(problem: SampledProblem, assignment: Assignment, gain_prices: Sequence[float]) -> FloatArray:
    """By number of epochs, at the price 5 of time."""
    prices, sample = Prices.of(problem), make_sample(problem, assignment, np.arange(problem.size))
    bounds = length_bounds(sample, assignment.cheapest(prices.at(5.0)), gain_prices, problem.needed)
    return bounds + (assignment.transfers - 5.0 * prices.maximum_time)


def test_bounds_by_length_hold_for_every_plan():
    problem = sampled(TINY, 20)
    plans = list(feasible_plans(problem))
    assert plans
    for assignment in assignments(problem):
        bounds = bounds_at(problem, assignment, (1.0, 4.0))
        single = [bounds_at(problem, assignment, (price,)) for price in (1.0, 4.0)]
        np.testing.assert_array_equal(bounds, np.maximum(*single))
        inside = offered(problem, assignment)
        for cost, choices in plans:
            if {(g.cluster, g.datasets) for g in choices} == inside:
                assert bounds[len(choices)] <= cost * (1 + 1e-9)


def required_of(sample: Sample) -> float:
    """Where any kind may be used."""
    mean = sample._replace(
        gains=sample.gains.mean(axis=-1, keepdims=True),
        switch_losses=sample.switch_losses.mean(axis=-1, keepdims=True),
    )
    return required_mean(sample, mean, np.ones(sample.gains.shape[:2], dtype=bool))


@pytest.mark.parametrize("seed", range(4))
def test_every_feasible_plan_has_the_mean_gain_that_is_required(seed):
    problem = tiny_problems(60 + seed, 3)[-1]
    order = np.arange(len(problem.scenarios))
    required = {}
    for assignment in assignments(problem):
        used = frozenset(offered(problem, assignment))
        for length in range(1, problem.epochs + 1):
            required[used, length] = required_of(make_sample(problem, assignment, order, length))
    plans = [choices for _, choices in feasible_plans(problem) if choices]
    assert plans
    for choices in plans:
        used = frozenset((g.cluster, g.datasets) for g in choices)
        assert problem.gain(choices).mean() >= required[used, len(choices)]


def test_prices_that_make_no_sense_are_refused():
    problem = sampled(TINY, 5)
    with pytest.raises(InvalidInputError, match="gain_price"):
        root_bound(problem, 1.0, -1.0)
    with pytest.raises(InvalidInputError, match="time_price"):
        root_bound(problem, math.inf, 1.0)
    endless = sampled(TINY.replace(maximum_time=None, round_deadline=4.0), 5)
    with pytest.raises(InvalidInputError, match="without maximum_time"):
        root_bound(endless, 1.0, 1.0)


def with_clusters(count: int) -> depl.Instance:
    """Tiny with so many equal clusters; any of its two datasets may be on each."""
    clusters = tuple(
        TINY.clusters[0].__class__(name=f"c{index}", capacity=10.0, bandwidth=4.0, unit_cost=1.0)
        for index in range(count)
    )
    return TINY.replace(clusters=clusters, transfers=())


def test_more_assignments_than_the_root_bound_tells_apart_are_relaxed_together():
    problem = sampled(with_clusters(12), 10)
    assert count_assignments(problem) == 12 * 3 + 66 * 3**2 + 220 * 3**3 > LARGEST_ASSIGNMENTS  # three epochs
    relaxed = everything_allowed(problem)
    assert sorted(g for row in relaxed.options for g in row) == list(range(len(problem.configurations)))
    assert 0 < best_root_bound(problem, 1.0).bound < math.inf
