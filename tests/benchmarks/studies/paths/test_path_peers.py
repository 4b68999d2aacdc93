"""The families of path problems, and the peers that the label setting is measured against."""

import math

import networkx as nx
import numpy as np
import pytest

from depl.benchmarks.studies.paths.arc_flow import arc_flow_optimum, arc_flow_program, steps_of
from depl.benchmarks.studies.paths.cspy_peer import cspy_graph, cspy_optimum, has_cspy
from depl.benchmarks.studies.paths.path_families import FAMILIES, family_problem
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


def test_the_program_has_a_column_for_every_step_and_rows_for_nodes_start_and_budgets():
    problem = family_problem(np.random.default_rng(1), "free", 4, 3)
    solver = arc_flow_program(problem)
    assert solver.getNumCol() == len(steps_of(problem)[0]) == 3 + 3 * 9
    assert solver.getNumRow() == 4 * 3 + 1 + 2
    untimed = problem.within(math.inf, problem.maximum_loss)
    assert arc_flow_program(untimed).getNumRow() == 4 * 3 + 1 + 1


def test_the_program_answers_without_a_step_and_without_need():
    problem = family_problem(np.random.default_rng(1), "free", 2, 2)
    assert arc_flow_optimum(problem.within(1.0, problem.initial_loss)).path.models == ()
    hopeless = arc_flow_optimum(problem.within(problem.maximum_time, -100.0))
    assert (hopeless.path, hopeless.proved) == (None, True)


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
            assert cspy_optimum(problem).weight == pytest.approx(best)
