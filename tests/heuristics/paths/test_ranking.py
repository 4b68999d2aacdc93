"""The lightest paths in order, against sorting all of them."""

import itertools
import math

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.path_problems import family_problem
from depl.heuristics.paths.ranking import RankedPaths
from depl.heuristics.paths.setting import least_weight
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination
from tests.cases.additive_cases import all_paths
from tests.cases.label_cases import small_problem


def all_weights(problem) -> list[float]:
    """Weights of all feasible paths, ascending."""
    paths = [path for path in [(), *all_paths(problem)] if problem.feasible(path)]
    return sorted(problem.totals(path)[0] for path in paths)


def test_the_lightest_paths_are_those_of_sorting_all():
    several = 0
    for seed in range(80):
        problem = small_problem(seed)
        weights = all_weights(problem)
        ranked = RankedPaths(problem)
        found = list(itertools.islice(ranked, 40))
        several += len(found) > 1
        assert [path.weight for path in found] == pytest.approx(weights[:40], rel=1e-9)
        assert len({path.models for path in found}) == len(found)
        assert all(problem.feasible(path.models) for path in found)
        if len(weights) < 40:
            assert (ranked.termination, ranked.lower_bound) == (Termination.OPTIMAL, math.inf)
        if len(weights) > 40:
            assert ranked.termination is None
            assert found[-1].weight * (1 - 1e-2) <= ranked.lower_bound <= weights[40] * (1 + 1e-9)
    assert several > 20


def test_without_training_comes_first_where_the_target_is_met():
    problem = small_problem(3)
    met = problem.within(problem.maximum_time, problem.initial_loss)
    found = list(RankedPaths(met))
    assert found[0].models == ()
    assert [path.weight for path in found] == pytest.approx(all_weights(met), rel=1e-9)


def test_the_bound_of_what_is_left_never_exceeds_the_next_path():
    problem = family_problem(np.random.default_rng(3), "correlated", 20, 3)
    ranked = RankedPaths(problem)
    weights = []
    for _ in range(15):
        bound = ranked.lower_bound
        weights.append(next(ranked).weight)
        assert bound <= weights[-1] * (1 + 1e-9)
    assert weights == sorted(weights)
    assert weights[0] == pytest.approx(least_weight(problem).weight, rel=1e-9)
    assert ranked.termination is None


def test_a_problem_without_a_path_has_no_lightest_one():
    problem = small_problem(3)
    for hopeless in (problem.within(problem.maximum_time, -1e6), problem.within(-1.0, problem.maximum_loss)):
        ranked = RankedPaths(hopeless)
        assert list(ranked) == []
        assert (ranked.termination, ranked.lower_bound) == (Termination.OPTIMAL, math.inf)


@pytest.mark.parametrize(
    ("limits", "most_labels", "why"),
    [(Limits(time_limit=0.0), 10**6, Termination.TIME_LIMIT), (Limits(), 30, Termination.EXHAUSTED)],
)
def test_a_limit_ends_the_list_with_a_bound_of_what_is_left(limits, most_labels, why):
    problem = family_problem(np.random.default_rng(3), "correlated", 20, 3)
    first = [path.weight for path in itertools.islice(RankedPaths(problem), 30)]
    ranked = RankedPaths(problem, limits, most_labels=most_labels)
    found = [path.weight for path in ranked]
    assert ranked.termination is why
    assert len(found) < 30
    assert found == pytest.approx(first[: len(found)])
    assert 0 < ranked.lower_bound <= first[len(found)] * (1 + 1e-9)
    assert next(ranked, None) is None
