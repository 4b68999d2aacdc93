"""Bounds are bounds: completion tables, the dual, and what they prove infeasible, against all paths."""

import math

import numpy as np
import pytest

from depl.heuristics.paths import kernels
from depl.heuristics.paths.bounds import completion_bounds, data_of, lagrangian_dual, least_loss, least_time
from depl.heuristics.paths.setting import Prepared, prepare
from depl.heuristics.paths.whole_numbers import in_whole_numbers
from tests.cases.additive_cases import all_paths, brute_force
from tests.cases.label_cases import small_problem

SEEDS = range(64)


def test_the_dual_never_exceeds_the_optimum():
    tight = 0
    for seed in SEEDS:
        problem = small_problem(seed)
        best = brute_force(problem)
        if math.isinf(best):
            continue
        whole = in_whole_numbers(problem)
        dual = lagrangian_dual(whole)
        bounds = [point.bound for point in dual.points]
        assert bounds == sorted(bounds, reverse=True)
        assert bounds[0] * whole.weight_unit <= best * (1 + 1e-9)
        assert dual.path is None or problem.feasible(dual.path)
        tight += bounds[0] * whole.weight_unit >= 0.5 * best
    assert tight > 10


def test_the_lowest_loss_and_the_least_time_are_those_of_all_paths():
    timed = 0
    for seed in SEEDS:
        problem = small_problem(seed)
        problem = problem.within(100.0, problem.maximum_loss)
        paths = all_paths(problem)
        whole = in_whole_numbers(problem)
        loss, path = least_loss(whole)
        lowest = min(problem.initial_loss, *(problem.totals(other)[2] for other in paths))
        assert (problem.totals(path)[2] if path else problem.initial_loss) == pytest.approx(lowest)
        times = [problem.totals(other)[1] for other in paths if problem.feasible(other)]
        if not times:
            assert loss > whole.loss_budget
            continue
        bound, dual = least_time(whole)
        unit = 100.0 / whole.maximum_time
        assert 0 <= bound * unit <= min(times) * (1 + 1e-6)
        assert dual.path is None or problem.totals(dual.path)[1] >= min(times) * (1 - 1e-9)
        timed += 1
    assert timed > 20


def test_every_row_is_met_by_every_prefix_of_a_feasible_path():
    prefixes = 0
    for seed in SEEDS:
        problem = small_problem(seed)
        prepared = prepare(problem)
        if not isinstance(prepared, Prepared):
            assert math.isinf(brute_force(problem))
            continue
        whole, bounds = prepared.whole, prepared.bounds
        for path in all_paths(problem):
            if not problem.feasible(path):
                continue
            weight = sum(int(whole.weights[k, m]) for k, m in enumerate(path))
            spent = np.zeros(3)
            for k, m in enumerate(path):
                before = path[k - 1] if k else whole.start
                spent += (whole.weights[k, m], whole.times[k, m], whole.losses[k, before, m])
                rows = bounds.rows_after(k + 1)
                values = np.column_stack([rows.counted, rows.time_prices, rows.loss_prices]) @ spent
                values += rows.completions[:, m] - rows.limits
                assert (values <= rows.counted * weight + rows.slacks + bounds.slack).all()
                prefixes += 1
    assert prefixes > 500


def test_the_bounds_use_sharp_prices_and_the_best_first():
    whole = in_whole_numbers(small_problem(2))
    bounds = completion_bounds(whole, lagrangian_dual(whole), None)
    assert bounds.slack <= 1e-10 * bounds.points[0].bound
    assert bounds.lower == pytest.approx(bounds.points[0].bound, rel=1e-9)
    assert bounds.rows.completions.shape == (whole.epochs + 1, len(bounds.points) + 1, whole.start + 1)
    first = bounds.rows.completions[:, 1]
    assert np.array_equal(first, bounds.rest)


def test_forward_and_backward_tables_meet_in_the_least_path():
    whole = in_whole_numbers(small_problem(2))
    point = lagrangian_dual(whole).points[0]
    data = data_of(whole)
    rest, prefixes = (np.empty((whole.epochs + 1, whole.start + 1)) for _ in range(2))
    following = np.empty((whole.epochs, whole.start + 1), dtype=np.int32)
    kernels.completions(data, 1.0, point.time_price, point.loss_price, rest, following)
    kernels.cheapest_prefixes(data, point.time_price, point.loss_price, prefixes)
    assert min(0.0, prefixes[1:].min()) == pytest.approx(rest[0, whole.start], rel=1e-12)
