"""Inside the label setting: bounds, passes, dominance and whole numbers, against all paths."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.bounds import in_whole_numbers, lagrangian_dual, least_loss, least_time
from depl.heuristics.paths.search import LabelSearch, Prepared, prepare
from tests.cases.additive_cases import all_paths, brute_force
from tests.cases.label_cases import small_problem

SEEDS = range(48)


def search_of(problem):
    prepared = prepare(problem)
    assert isinstance(prepared, Prepared)
    return LabelSearch(prepared.whole, prepared.bounds)


def test_the_dual_never_exceeds_the_optimum_nor_what_is_least_that_of_all_paths():
    tight = timed = 0
    for seed in SEEDS:
        problem = small_problem(seed)
        whole = in_whole_numbers(problem)
        best = brute_force(problem)
        if math.isfinite(best):
            dual = lagrangian_dual(whole)
            bounds = [point.bound for point in dual.points]
            assert bounds == sorted(bounds, reverse=True)
            assert bounds[0] * whole.weight_unit <= best * (1 + 1e-9)
            assert dual.path is None or problem.feasible(dual.path)
            tight += bounds[0] * whole.weight_unit >= 0.5 * best
        problem = problem.within(100.0, problem.maximum_loss)
        totals = {path: problem.totals(path) for path in all_paths(problem)}
        whole = in_whole_numbers(problem)
        loss, path = least_loss(whole)
        lowest = min(problem.initial_loss, *(row[2] for row in totals.values()))
        assert (totals[path][2] if path else problem.initial_loss) == pytest.approx(lowest)
        times = [row[1] for other, row in totals.items() if problem.feasible(other)]
        if not times:
            assert loss > whole.loss_budget
            continue
        bound, dual = least_time(whole)
        assert 0 <= bound * 100.0 / whole.maximum_time <= min(times) * (1 + 1e-6)
        assert dual.path is None or problem.totals(dual.path)[1] >= min(times) * (1 - 1e-9)
        timed += 1
    assert tight > 10
    assert timed > 20


def test_a_pass_brackets_the_optimum_at_any_width():
    for seed in range(30):
        problem = small_problem(seed)
        best = brute_force(problem)
        if math.isfinite(best):
            for width, gap in itertools.product((1, 2, 5, math.inf), (0.0, 0.1)):
                check_pass(problem, best, width, gap)


def check_pass(problem, best, width, gap):
    """The interval of one pass holds the optimum; its path, if any, has the weight it says."""
    search = search_of(problem)
    found = search.run(width=width, gap=gap)
    unit = search.whole.weight_unit
    assert found.lower * unit <= best * (1 + 1e-9)
    if found.path is not None:
        assert problem.totals(found.path)[0] == pytest.approx(found.upper * unit, rel=1e-9)
        assert problem.feasible(found.path)
    if width == math.inf:
        assert found.lower >= (1 - gap - 1e-9) * found.upper
        assert found.upper * unit * (1 - gap) <= best * (1 + 1e-9)


# --- whole numbers ---------------------------------------------------------------------------------------


def sums(whole, path):
    """Weight, time and loss of a path in whole numbers."""
    before = (whole.start, *path[:-1])
    return (
        sum(int(whole.weights[k, m]) for k, m in enumerate(path)),
        sum(int(whole.times[k, m]) for k, m in enumerate(path)),
        sum(int(whole.losses[k, p, m]) for k, (p, m) in enumerate(zip(before, path, strict=True))),
    )


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 9),
    st.sampled_from([-1e-6, -1e-9, -1e-10, 0.0, 1e-10, 8e-10, 1e-9, 2e-9, 1e-6]),
    st.floats(0.01, 100),
)
def test_budgets_hold_what_keeps_them_and_nothing_that_is_refused(epochs, beyond, size):
    # one model; the path of all epochs needs exactly its budgets, which are moved by ``beyond``
    each = size / epochs
    problem = AdditiveProblem(
        models=("a",),
        weights=np.ones((epochs, 1)),
        times=np.full((epochs, 1), each),
        losses=np.full((epochs, 2, 1), -each),
        allowed=np.ones((epochs, 2, 1), dtype=bool),
        initial_loss=size + 1.0,
        maximum_loss=1.0 - beyond,
        maximum_time=size * (1 - beyond),
    )
    path = (0,) * epochs
    exact_time, exact_loss = problem.totals(path)[1:]
    for changed in (problem.within(size, 1.0 - beyond), problem.within(size * (1 - beyond), 1.0)):
        whole = in_whole_numbers(changed)
        _, time, loss = sums(whole, path)
        # with a single step, one that breaks T_max alone is not allowed at all
        kept = bool(whole.allowed[0, 1, 0]) and time <= whole.maximum_time and loss <= whole.loss_budget
        if kept:
            assert changed.feasible(path)
        if exact_time <= changed.maximum_time and exact_loss <= changed.maximum_loss:
            assert kept
