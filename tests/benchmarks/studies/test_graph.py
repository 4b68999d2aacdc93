"""The study of paths: its families, the peers that it measures against, and the figure of its record."""

import math

import networkx as nx
import numpy as np
import pytest

from depl.benchmarks.figures.levels import RatioCurve, curves_of, ratio_against_levels
from depl.benchmarks.figures.style import panels, series_style
from depl.benchmarks.measure.results import RESULTS, read
from depl.benchmarks.studies.graph import _ratios
from depl.benchmarks.studies.helpers.path_peers import (
    arc_flow_optimum,
    arc_flow_program,
    cspy_graph,
    cspy_optimum,
    has_cspy,
    steps_of,
)
from depl.benchmarks.studies.helpers.path_problems import FAMILIES, family_problem, random_path_problem
from depl.heuristics.paths.setting import least_weight
from tests.cases.additive_cases import all_paths, brute_force
from tests.cases.label_cases import small_problem


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_feasible_unless_tight_and_drawn_the_same_again(family):
    for seed in range(5):
        one, other = (family_problem(np.random.default_rng(seed), family, 12, 3) for _ in range(2))
        assert np.array_equal(one.losses, other.losses)
        assert one.initial_loss > one.maximum_loss
        assert math.isfinite(least_weight(one).weight)
        tight = family_problem(np.random.default_rng(seed), family, 12, 3, tight=True)
        assert 0.75 * one.maximum_time <= tight.maximum_time <= one.maximum_time


@pytest.mark.parametrize("epochs", [1, 7, 30])
def test_every_drawn_problem_is_feasible_and_has_to_lose_at_least_half_of_its_loss(epochs):
    for seed in range(5):
        problem = random_path_problem(np.random.default_rng(seed), epochs)
        assert problem.epochs == epochs
        assert 0.1 <= problem.maximum_loss / problem.initial_loss <= 0.5 + 1e-9
        assert problem.feasible(least_weight(problem).path.models)


def test_the_program_has_a_column_for_every_step_and_rows_for_nodes_start_and_budgets():
    problem = family_problem(np.random.default_rng(1), "free", 4, 3)
    solver = arc_flow_program(problem)
    assert solver.getNumCol() == len(steps_of(problem)[0]) == 3 + 3 * 9
    assert solver.getNumRow() == 4 * 3 + 1 + 2
    untimed = problem.within(math.inf, problem.maximum_loss)
    assert arc_flow_program(untimed).getNumRow() == 4 * 3 + 1 + 1


def test_the_program_answers_without_a_step_and_without_need():
    problem = family_problem(np.random.default_rng(1), "free", 2, 2)
    assert arc_flow_optimum(problem.within(1.0, problem.initial_loss)) == (0, True)
    assert arc_flow_optimum(problem.within(problem.maximum_time, -100.0)) == (math.inf, True)


def test_paths_of_the_graph_for_cspy_are_those_of_the_problem():
    compared = 0
    for seed in range(16):
        problem = small_problem(seed)
        if problem.epochs > 4 or problem.initial_loss <= problem.maximum_loss:
            continue
        graph, most = cspy_graph(problem)
        weights = []
        for nodes in nx.all_simple_paths(graph, "Source", "Sink") if "Source" in graph else ():
            steps = [graph.edges[edge] for edge in nx.utils.pairwise(nodes)]
            used = sum(step["res_cost"] for step in steps)
            assert all((step["res_cost"] >= 0).all() for step in steps)
            if (used <= np.array(most)).all():
                weights.append(sum(step["weight"] for step in steps))
        expected = [problem.totals(path)[0] for path in all_paths(problem) if problem.feasible(path)]
        assert sorted(weights) == pytest.approx(sorted(expected))
        compared += 1
    assert compared >= 5


@pytest.mark.skipif(not has_cspy(), reason="cspy is a peer for measuring, no dependency")
def test_cspy_finds_the_optimum():
    for seed in range(12):
        problem = small_problem(seed)
        best = brute_force(problem)
        if 0 < best < math.inf:
            assert cspy_optimum(problem) == pytest.approx(best)


def test_ratios_count_paths_that_are_missed_and_those_that_are_best():
    told = _ratios([1.0, 2.0, 4.0, 5.0], [math.inf, 2.0, 6.0, 5.0], [0.5, 2.0, 3.0, 5.0])
    assert (told["missed"], told["optimal"], told["up_mean"], told["up_max"]) == (0.25, 0.5, 3.5 / 3, 1.5)
    assert (told["down_mean"], told["down_min"]) == (3.25 / 4, 0.5)
    assert _ratios([1.0], [math.inf], [1.0])["up_mean"] is None


def test_the_figure_has_two_lines_per_curve_and_hollow_markers_where_paths_are_missed():
    curve = RatioCurve("K = 20", (50, 100), (None, 1.1), (0.8, 0.9), (1.0, 0.25), series_style(0))
    _, (axes,) = panels(1)
    ratio_against_levels([curve], axes)
    lines = {tuple(line.get_xdata()): line for line in axes.lines if line.get_linestyle() in ("-", "--")}
    assert list(lines[100,].get_ydata()) == [1.1]
    assert list(lines[50, 100].get_ydata()) == [0.8, 0.9]
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert [line.get_ydata()[0] for line in hollow if len(line.get_ydata())] == [1.1]
    assert axes.get_xscale() == "log"


def test_the_curves_of_the_record_are_drawn(tmp_path, ask):
    assert ask("bench", "draw", "graph", tmp_path)[0] == 0
    assert (tmp_path / "graph.svg").stat().st_size > 5000
    curves = curves_of(read(RESULTS / "graph.json").values["curves"])
    assert [curve.label for curve in curves] == ["K = 20", "K = 50", "K = 100"]
