"""Whole numbers fall short by less than they may, and budgets hold what is feasible and nothing else."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.whole_numbers import RESOLUTION, WholeProblem, in_whole_numbers
from depl.models.foundation.errors import NotCoveredError
from tests.cases.additive_cases import all_paths
from tests.cases.label_cases import small_problem


def sums(whole: WholeProblem, path: tuple[int, ...]) -> tuple[int, int, int]:
    """Weight, time and loss of a path in whole numbers."""
    before = (whole.start, *path[:-1])
    return (
        sum(int(whole.weights[k, m]) for k, m in enumerate(path)),
        sum(int(whole.times[k, m]) for k, m in enumerate(path)),
        sum(int(whole.losses[k, p, m]) for k, (p, m) in enumerate(zip(before, path, strict=True))),
    )


def test_sums_fall_short_by_less_than_one_unit_per_epoch():
    compared = 0
    for seed in range(40):
        problem = small_problem(seed)
        whole = in_whole_numbers(problem)
        unit = 1 / whole.scale
        assert unit * problem.epochs <= RESOLUTION
        for path in all_paths(problem)[::7]:
            steps = enumerate(zip((problem.start, *path[:-1]), path, strict=True))
            if not all(whole.allowed[k, p, m] for k, (p, m) in steps):
                continue
            compared += 1
            weight, time, loss = problem.totals(path)
            in_units = sums(whole, path)
            assert -1e-2 <= weight / whole.weight_unit - in_units[0] < len(path) + 1e-2
            if math.isfinite(problem.maximum_time):
                assert -1e-3 <= time / problem.maximum_time / unit - in_units[1] < len(path) + 1e-2
            assert -0.5 <= (loss - problem.initial_loss) / unit - in_units[2] < len(path) + 0.5
    assert compared > 500


@settings(max_examples=200, deadline=None)
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


def test_only_the_start_precedes_the_first_epoch_and_nothing_else():
    whole = in_whole_numbers(small_problem(2))
    assert not whole.allowed[0, : whole.start].any()
    assert not whole.allowed[1:, whole.start].any()


def test_what_breaks_a_budget_alone_is_not_allowed():
    problem = small_problem(2)
    late = dataclasses.replace(problem, times=np.where(problem.times > 0.5, 1e9, problem.times))
    heavy = dataclasses.replace(problem, weights=np.where(problem.weights > 0.5, np.inf, problem.weights))
    assert (
        not in_whole_numbers(late)
        .allowed[:, :, :][np.broadcast_to((late.times > 1)[:, None], late.losses.shape)]
        .any()
    )
    infinite = np.broadcast_to(np.isinf(heavy.weights)[:, None], heavy.losses.shape)
    assert infinite.any()
    assert not in_whole_numbers(heavy).allowed[infinite].any()
    steep = problem.losses.copy()
    steep[0, problem.start] = 1e6
    assert not in_whole_numbers(dataclasses.replace(problem, losses=steep)).allowed[0].any()


def test_a_known_path_makes_the_unit_of_weight_finer():
    problem = small_problem(5)
    wide = dataclasses.replace(problem, weights=problem.weights * np.geomspace(1, 1e9, problem.start))
    coarse, fine = in_whole_numbers(wide), in_whole_numbers(wide, upper=float(wide.weights[:, 0].sum()))
    assert fine.weight_unit < 1e-3 * coarse.weight_unit
    assert fine.weight_error < 1e-10 * wide.weights[:, 0].sum()
    assert not fine.allowed[:, :, -1].any()


def test_losses_beyond_the_tolerance_are_refused():
    problem = small_problem(2)
    huge = dataclasses.replace(problem, losses=1e9 * problem.losses)
    with pytest.raises(NotCoveredError, match="larger unit"):
        in_whole_numbers(huge)
