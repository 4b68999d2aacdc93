"""One pass: what it proves at any width, and that labels are dropped for dominance alone."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.benchmarks.studies.helpers.path_problems import FAMILIES, family_problem
from depl.heuristics.paths import kernels
from depl.heuristics.paths.kernels import Budgets, Labels, Rows, Steps
from depl.heuristics.paths.search import LabelSearch, Prefix, Stops
from depl.heuristics.paths.setting import Prepared, prepare
from depl.models.solving.result import Termination
from tests.cases.additive_cases import all_paths, brute_force
from tests.cases.label_cases import small_problem


def search_of(problem) -> LabelSearch:
    prepared = prepare(problem)
    assert isinstance(prepared, Prepared)
    return LabelSearch(prepared.whole, prepared.bounds)


@pytest.mark.parametrize("width", [1, 2, 5, math.inf])
@pytest.mark.parametrize("gap", [0.0, 0.1])
def test_a_pass_brackets_the_optimum_at_any_width(width, gap):
    for seed in range(30):
        problem = small_problem(seed)
        best = brute_force(problem)
        if math.isinf(best):
            continue
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


def test_a_prefix_its_forbidden_models_and_the_cutoff_are_kept():
    parts = 0
    for seed in range(30):
        problem = small_problem(seed)
        if math.isinf(brute_force(problem)) or problem.start < 2:
            continue
        search = search_of(problem)
        whole = search.whole
        sums = (int(table[0, 0]) for table in (whole.weights, whole.times))
        prefix = Prefix((0,), *sums, int(whole.losses[0, whole.start, 0]), frozenset([1]))
        paths = [
            path
            for path in all_paths(problem)
            if len(path) > 1 and path[0] == 0 and path[1] != 1 and problem.feasible(path)
        ]
        best = min((problem.totals(path)[0] for path in paths), default=math.inf)
        found = search.run(prefix=prefix)
        assert found.upper * whole.weight_unit == pytest.approx(best, rel=1e-9)
        if found.path is not None:
            parts += 1
            assert found.path in paths
            low = search.run(prefix=prefix, cutoff=0.9 * found.upper, upper=0.9 * found.upper)
            assert low.path is None
            assert low.lower >= 0.9 * found.upper * (1 - 1e-8)
    assert parts > 3


def test_a_pass_that_is_stopped_keeps_a_bound():
    problem = family_problem(np.random.default_rng(7), "free", 30, 3)
    search = search_of(problem)
    whole = search.run()
    few = search.run(stops=Stops(most_labels=500))
    assert few.stopped is Termination.EXHAUSTED
    assert search.bounds.lower * (1 - 1e-9) <= few.lower <= whole.upper
    late = search.run(stops=Stops(expired=lambda: True))
    assert (late.stopped, late.labels, late.path) == (Termination.TIME_LIMIT, 0, None)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(FAMILIES)))
def test_the_labels_kept_are_those_that_nothing_matches_or_beats(seed, family):
    rng = np.random.default_rng(seed)
    high = 4 if family == "integer" else 1000
    count = int(rng.integers(1, 40))
    weights, times, losses = (rng.integers(1, high, count) for _ in range(3))
    labels = Labels(
        weights,
        times,
        losses,
        np.zeros(count),
        np.zeros(count, dtype=np.int32),
        np.arange(count, dtype=np.int32),
        np.array([0, count, count]),
    )
    steps = Steps(
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros((2, 1), dtype=np.int64),
        np.array([0, 1]),
        np.zeros(1, dtype=np.int32),
    )
    rows = Rows(
        np.ones(1),
        np.zeros(1),
        np.zeros(1),
        np.zeros(1),
        np.zeros(1),
        np.zeros((1, 2)),
        np.zeros((1, 2, 3), dtype=np.int64),
    )
    found = Labels._make(
        [np.empty(count, dtype=column.dtype) for column in labels[:6]] + [np.zeros(3, dtype=np.int64)]
    )
    budgets = Budgets(10**6, 0, math.inf, 1.0, 0.5, 0.25)
    number = kernels.next_layer(labels, steps, rows, budgets, math.inf, found, np.full(5, -1))
    kept = set(zip(*(column[:number].tolist() for column in found[:3]), strict=True))
    points = {tuple(point) for point in np.column_stack([weights, times, losses]).tolist()}
    undominated = {
        point
        for point in points
        if not any(
            other != point and all(a <= b for a, b in zip(other, point, strict=True)) for other in points
        )
    }
    assert kept == undominated
    assert number == len(undominated)
