"""The label setting is exact: against enumeration, the arc-flow program, closed forms and invariances."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.path_peers import arc_flow_optimum
from depl.benchmarks.studies.helpers.path_problems import FAMILIES, family_problem
from depl.heuristics.paths import search
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.ranking import RankedPaths
from depl.heuristics.paths.search import least_weight
from depl.models.solving.limits import Limits
from depl.models.solving.result import Termination
from tests.cases.additive_cases import all_paths, brute_force, random_problem
from tests.cases.label_cases import best_of_all, require_agreement, small_problem

SAMPLE = range(63)  # of the last one the first pass finds no path


def problem_by_hand(weights, gains, *, times=None, target):
    """Two models, weights and gains by epoch and model; every switch is free."""
    array = np.array(gains)
    losses = np.repeat(-array[:, None, :], 3, axis=1)
    return AdditiveProblem(
        models=("a", "b"),
        weights=np.array(weights),
        times=np.array(times if times is not None else np.ones_like(array).tolist()),
        losses=losses,
        allowed=np.ones(losses.shape, dtype=bool),
        initial_loss=10.0,
        maximum_loss=target,
        maximum_time=math.inf,
    )


def large_problem(epochs):
    return family_problem(np.random.default_rng(7), "free", epochs, 3)


def test_a_sample_of_small_problems_has_the_optimum_of_enumeration_and_of_the_program(monkeypatch):
    monkeypatch.setattr(search, "FIRST_WIDTH", 1)
    feasible = 0
    for seed in SAMPLE:
        problem = small_problem(seed)
        best = best_of_all(problem)
        feasible += math.isfinite(best)
        require_agreement(problem, least_weight(problem), best)
    few = least_weight(small_problem(124), most_labels=6)  # too few to find one of the paths there are
    assert few.termination is Termination.EXHAUSTED
    assert 0.3 * len(SAMPLE) <= feasible <= 0.7 * len(SAMPLE)


@pytest.mark.parametrize("family", FAMILIES)
def test_problems_too_large_to_enumerate_have_the_optimum_of_the_program(family):
    problem = family_problem(np.random.default_rng(3), family, 15, 3)
    answer = arc_flow_optimum(problem)
    assert answer.proved
    require_agreement(problem, least_weight(problem), answer.weight)


@pytest.mark.parametrize(
    ("weights", "gains", "target", "models"),
    [
        # the first epoch of either model does harm: l rises to 11 before the second brings it to 1
        ([[1.0, 9.0], [1.0, 9.0]], [[-1.0, -1.0], [10.0, 0.0]], 1, (0, 0)),
        ([[0.0, 1.0]] * 4, [[1.0, 9.0]] * 4, 7, (0, 0, 0, 0)),  # epochs that weigh nothing
        ([[1.0, 1.0]], [[1.0, 1.0]], 10 - 1e-9, ()),  # met already, just so
    ],
)
def test_paths_by_hand(weights, gains, target, models):
    problem = problem_by_hand(weights, gains, target=target)
    found = least_weight(problem)
    assert found.path.models == models
    require_agreement(problem, found, sum(weights[k][m] for k, m in enumerate(models)))


@pytest.mark.parametrize(
    ("epochs", "latest", "target", "words"),
    [
        (1, 5.0, 8.5, "models: target 8.5 unreachable; lowest loss 9"),
        (1, 0.25, 9.0, "models: target 9 unreachable; lowest loss"),
        (1, -1.0, 9.0, ""),
        (1, 0.0, 9.0, ""),
        (4, 3.9, 6.0, "within T_max 3.9; the least time is at least 4"),
    ],
)
def test_what_cannot_be_met_is_proved_and_says_why(epochs, latest, target, words):
    problem = problem_by_hand(
        [[1.0, 1.0]] * epochs,
        [[1.0, 1.0 + (epochs > 1)]] * epochs,
        times=[[1.0, 2.5]] * epochs,
        target=target,
    )
    found = least_weight(problem.within(latest, target))
    assert (found.termination, found.path) == (Termination.INFEASIBLE, None)
    assert words in found.reason
    assert list(RankedPaths(problem.within(latest, target))) == []


@pytest.mark.parametrize("gap", [0.05, 1e-3])
def test_a_wanted_gap_is_certified(gap):
    problem = large_problem(30)
    best = least_weight(problem)
    found = least_weight(problem, Limits(gap=gap))
    assert found.termination in (Termination.GAP_REACHED, Termination.OPTIMAL)
    assert found.lower_bound <= best.weight * (1 + 1e-9)
    assert best.weight * (1 - 1e-9) <= found.weight <= best.weight / (1 - gap)
    assert found.gap <= gap


@pytest.mark.parametrize(
    ("limits", "most_labels", "why"),
    [
        (Limits(time_limit=0.0), 10**6, Termination.TIME_LIMIT),
        *((Limits(), most, Termination.EXHAUSTED) for most in (1, 100, 5000)),
    ],
)
def test_a_limit_ends_in_an_interval_that_holds_the_optimum(limits, most_labels, why):
    problem, rows = large_problem(60), []
    best = least_weight(problem, Limits(progress=lambda _, upper, lower: rows.append((lower, upper)))).weight
    assert len(rows) > 1
    assert [lower for lower, _ in rows] == sorted(lower for lower, _ in rows)
    assert all(lower <= best <= upper for lower, upper in rows)
    found = least_weight(problem, limits, most_labels=most_labels)
    assert found.termination is why
    assert 0 < found.lower_bound <= best * (1 + 1e-9)
    assert found.weight >= best * (1 - 1e-9)


def test_light_paths_among_heavy_epochs_are_told_apart_by_finer_units():
    for seed in range(41):
        rng = np.random.default_rng(seed)
        drawn = random_problem(rng, 5, 3)
        problem = replace(drawn, weights=drawn.weights * 10.0 ** rng.integers(-9, 1, drawn.weights.shape))
        require_agreement(problem, least_weight(problem), brute_force(problem))


# --- the lightest paths in order ------------------------------------------------------------------------


def test_the_lightest_paths_are_those_of_sorting_all():
    for seed in range(40):
        problem = small_problem(seed)
        if seed == 3:  # where the target is met, no training comes first, and then what raises the loss
            problem = problem_by_hand([[1.0, 2.0]], [[-1.0, -1.5]], target=12)
        if seed == 4:
            problem = replace(problem, weights=0 * problem.weights)
        paths = [path for path in [(), *all_paths(problem)] if problem.feasible(path)]
        weights = sorted(problem.totals(path)[0] for path in paths)
        ranked, found = RankedPaths(problem), []
        assert ranked.lower_bound <= min(weights, default=math.inf)
        for path in itertools.islice(ranked, 40):
            found.append(path)
            assert ranked.lower_bound <= [*weights, math.inf][len(found)] * (1 + 1e-9)
        assert [path.weight for path in found] == pytest.approx(weights[:40], rel=1e-9)
        assert len({path.models for path in found}) == len(found)
        if len(weights) < 40:
            assert (ranked.termination, ranked.lower_bound) == (Termination.OPTIMAL, math.inf)
        if len(weights) > 40:
            assert ranked.termination is None
            assert found[-1].weight * (1 - 1e-2) <= ranked.lower_bound


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
