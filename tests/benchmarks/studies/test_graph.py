"""The study of paths: its families, the peers that it measures against, and the figure of its record."""

import math

import numpy as np
import pytest

from depl.benchmarks.studies import graph
from depl.benchmarks.studies.helpers.path_peers import (
    arc_flow_optimum,
)
from depl.benchmarks.studies.helpers.path_problems import FAMILIES, family_problem
from depl.heuristics.paths.search import least_weight
from tests.cases.additive_cases import brute_force


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("epochs", [1, 6])
def test_a_family_is_feasible_unless_tight_and_drawn_the_same_again(family, epochs):
    for seed in range(2):
        one, other = (family_problem(np.random.default_rng(seed), family, epochs) for _ in range(2))
        assert np.array_equal(one.losses, other.losses)
        assert one.initial_loss > one.maximum_loss
        assert one.feasible(least_weight(one).path.models)
        if family == "like-paper":
            assert 0.1 <= one.maximum_loss / one.initial_loss <= 0.5 + 1e-9
        tight = family_problem(np.random.default_rng(seed), family, epochs, tight=True)
        assert 0.75 * one.maximum_time <= tight.maximum_time <= one.maximum_time


def test_the_program_answers_without_a_step_without_need_and_without_a_limit_of_time():
    problem = family_problem(np.random.default_rng(1), "free", 2, 2)
    assert arc_flow_optimum(problem.within(1.0, problem.initial_loss)) == (0, True)
    assert arc_flow_optimum(problem.within(problem.maximum_time, -100.0)) == (math.inf, True)
    untimed = problem.within(math.inf, problem.maximum_loss)
    assert arc_flow_optimum(untimed).weight == pytest.approx(brute_force(untimed))


def test_a_point_counts_paths_that_are_missed_and_those_that_are_best():
    tasks = list(graph._tasks(np.random.default_rng(0), True))
    told = {"weight": 2.0, "proved": True, "seconds": 0.5}
    labels = {"labels": told, "labels to 1 %": {**told, "proved": False}, "highs": {**told, "weight": 2.1}}
    answers = zip((None, 1.0, 1.5, 1.0), (0.5, 1.0, 0.75, 1.0), strict=True)
    curve = {"group": "curves", "drawn": ["like-paper", 20, 3], "eta": 200, "breaches": 1, "graph_seconds": 1}
    rows = [{**task, **labels} for task in tasks if task["group"] in ("peers", "large")]
    rows += [{**curve, "up": up, "down": down} for up, down in answers]
    found = graph._figures(rows)
    (point,) = found["curves"]
    assert (point["missed"], point["optimal"], point["up_mean"], point["up_max"]) == (0.25, 0.5, 3.5 / 3, 1.5)
    assert (point["down_mean"], point["down_min"]) == (3.25 / 4, 0.5)
    assert (found["worst_share_missed_at_eta_200"], found["bicriteria_breaches"]) == (0.25, 4)
    assert (found["peers_differ"], found["median_times_faster_than_highs"]) == (len(FAMILIES), 1)
    assert found["median_times_faster_than_cspy"] is None
    assert (found["large_most_seconds_to_optimum"], found["share_proved_at_50"]) == (0.5, 1)
    assert found["large_most_seconds_to_one_percent"] == math.inf
