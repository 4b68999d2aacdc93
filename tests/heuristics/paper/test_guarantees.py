"""The bicriteria inequality, where it is tight, where the paper's cap breaks it, and what it is worth."""

import dataclasses
import itertools
import math

import numpy as np

from depl.heuristics.paper.models import ExpandedGraph
from depl.heuristics.paper.network import cost_down, cost_up, with_budgets
from tests.cases.additive_cases import brute_force, is_refused, random_problem, uniform


def problem_of(seed):
    rng = np.random.default_rng(1000 + seed)
    return random_problem(rng, int(rng.integers(1, 6)), int(rng.integers(1, 4)), timed=seed % 3 > 0)


def test_the_four_inequalities_hold_twice_the_levels_are_never_worse_and_paths_up_are_feasible():
    tight = finite = feasible = 0
    slack = 1 + 1e-9
    for seed in range(50):
        problem = problem_of(seed)
        best = brute_force(problem)
        for levels in (7, 30, 150):
            graph = ExpandedGraph(problem, levels)
            found = [item.models for item in itertools.islice(graph.paths(), 20)]
            assert all(not is_refused(problem, path) and problem.feasible(path) for path in found)
            up, down = cost_up(problem, levels), cost_down(problem, levels)
            outer, inner = (brute_force(with_budgets(problem, levels, sign)) for sign in (-1, 1))
            assert inner <= down * slack
            assert down <= best * slack
            assert best <= up * slack
            assert up <= outer * slack
            assert cost_up(problem, 2 * levels) <= up * slack
            assert cost_down(problem, 2 * levels) * slack >= down
            finite += math.isfinite(outer)
            tight += math.isfinite(up) and best < up
            feasible += bool(found)
    assert min(finite, feasible) >= 30
    assert tight >= 10


def test_almost_the_whole_shift_of_time_can_be_needed():
    # levels of width 1, epochs that take a hair more: K epochs take K levels in truth and 2 K in the graph
    epochs, levels = 10, 19
    problem = uniform(epochs, 1.0, 1 + 1e-6, target=10.0 - epochs, limit=float(levels))
    problem = dataclasses.replace(
        problem, losses=problem.losses * 10 / levels, maximum_loss=10 - 10 * epochs / levels
    )
    assert cost_up(problem, levels) == math.inf
    almost = problem.within((levels - (epochs - 1)) * (1 + 1e-6), problem.maximum_loss)
    assert brute_force(almost) == epochs  # K - 1 of the K levels of the shift are not enough
    assert brute_force(with_budgets(problem, levels, -1)) == math.inf


def test_an_optimum_without_room_to_spare_can_be_missed_by_every_number_of_levels():
    problem = uniform(2, 1.0, 0.0, target=8.0, limit=1.0)
    problem.times[:, 0] = math.sqrt(0.5), 1 - math.sqrt(0.5)
    assert brute_force(problem) == 2
    assert all(cost_up(problem, 10 * levels) == math.inf for levels in range(1, 100))
    assert cost_up(problem.within(1.02, 8.0), 100) == 2
