"""The layered dynamic program: against the graph object, every path tried, and what rounding promises."""

import itertools
import math

import networkx
import numpy as np
import pytest

from depl.heuristics.paper import models, network
from depl.heuristics.paper.models import ExpandedGraph, Rounding
from depl.heuristics.paper.network import (
    OMEGA,
    START,
    cost_down,
    cost_up,
    expanded_graph,
    shortest_path,
    with_budgets,
)
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from tests.cases.additive_cases import brute_force, random_problem, uniform

CASES = [(seed, epochs, models) for seed in range(15) for epochs, models in ((3, 3), (5, 2), (6, 1))]


def problem_of(seed, epochs, models):
    return random_problem(np.random.default_rng(seed), epochs, models, timed=seed % 3 > 0)


@pytest.mark.parametrize("rounding", list(Rounding))
def test_the_search_and_dijkstra_on_the_graph_object_find_the_same_cost(rounding):
    finite = 0
    for case, levels in itertools.product(CASES, (4, 30)):
        problem = problem_of(*case)
        found = next(ExpandedGraph(problem, levels, rounding).paths(), None)
        best = shortest_path(expanded_graph(problem, levels, rounding))
        if best is None or found is None:
            assert best is found is None
            continue
        finite += 1
        assert found.weight == pytest.approx(best[0], rel=1e-12)
        assert problem.totals(found.models)[0] == pytest.approx(best[0], rel=1e-12)
    assert finite >= 25


THIRD = uniform(9, target=7.5, limit=3.0)  # three epochs are needed, and take the time
PEAK = uniform(15, 0.5, target=5.0, limit=math.inf)
PEAK.losses[0, 1, 0] = 0.5  # E11: the first epoch rises by 0.5: 10.5, 10, ..., 5 after 12 epochs


@pytest.mark.parametrize(
    ("problem", "levels", "up", "down"),
    [
        (THIRD, 10, math.inf, 3),  # 1 / 0.3 = 3.33 levels become 4, and 12 are more than 10; exact down
        (THIRD, 30, 3, 3),
        (THIRD, 2, math.inf, 1),  # gains 0.2 levels of 5, counted as a whole one
        (THIRD.within(0.4, 7.5), 1, math.inf, math.inf),  # 2.5 levels of 1
        # 0.1 + 0.1 + 0.1 > 0.3 in floating point; 30 levels of 0.1 in all, each step exactly 1 level
        (uniform(30, 0.1, 0.1, start=3.0, target=0.3, limit=3.0), 30, 27, 27),
        (uniform(30, 0.1, 0.1, start=3.0, target=0.3, limit=2.7), 30, math.inf, 27),  # times of 1.1 take two
        (uniform(9, target=4.0, limit=math.inf), 10, 6, 6),
        (uniform(9, target=10.0), 10, 0, 0),
        (PEAK, 200, 12, 12),
        (uniform(101, 0.05, 1.05 / 10, target=10 - 101 * 0.05), 200, math.inf, 101),  # E10: half of the time
    ],
)
def test_costs_by_hand(problem, levels, up, down):
    assert (cost_up(problem, levels), cost_down(problem, levels)) == (up, down)


def test_the_cap_of_the_paper_misses_a_path_that_rises_above_the_initial_loss():
    assert cost_up(PEAK, 1000) <= brute_force(with_budgets(PEAK, 1000, -1)) < math.inf
    assert shortest_path(expanded_graph(PEAK, 200, printed=True)) is None


def test_what_has_no_levels_or_too_many_vertices_is_refused_and_a_stop_is_told(monkeypatch):
    for levels in (0, -3):
        with pytest.raises(InvalidInputError, match="at least 1"):
            ExpandedGraph(THIRD, levels)
    with pytest.raises(InvalidInputError, match=r"fractions of l\(0\)"):
        cost_up(uniform(3, start=0.0, target=-1.0, limit=5.0), 10)
    with pytest.raises(OutOfTimeError):
        next(ExpandedGraph(THIRD, 30, proceed=lambda: False).paths())
    monkeypatch.setattr(network, "LARGEST_NETWORK", 3)
    with pytest.raises(NotCoveredError, match="ExpandedGraph"):
        expanded_graph(problem_of(1, 3, 2), 40)
    monkeypatch.setattr(models, "LARGEST_VERTICES", 2)
    with pytest.raises(NotCoveredError, match="more than 2 vertices; take eta below 30"):
        next(ExpandedGraph(THIRD, 30).paths())


def test_the_graph_object_has_the_vertices_of_the_paper_and_two_more():
    problem = uniform(2, 1.0, 1.0, start=4.0, target=2.0, limit=4.0)
    graph = expanded_graph(problem, 4)
    assert set(graph) == {START, OMEGA, ("only", 1, 1, 3), ("only", 2, 2, 2)}
    assert graph.nodes["only", 2, 2, 2] == {"time": 2.0, "loss": 2.0}
    assert graph.edges[START, ("only", 1, 1, 3)] == {"weight": 1.0}
    assert graph.edges[("only", 2, 2, 2), OMEGA] == {"weight": 0.0}
    assert shortest_path(graph) == (2.0, ("only", "only"))


# --- paths with a blacklist ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_every_feasible_vertex_comes_once_with_a_shortest_path_lightest_first(seed):
    problem = random_problem(np.random.default_rng(seed), 5, 3, timed=seed % 3 > 0)
    levels = 15 + seed
    graph = expanded_graph(problem, levels)
    distances = networkx.single_source_dijkstra_path_length(graph, START)
    expected = {vertex: distances[vertex] for vertex in graph.predecessors(OMEGA)}
    found = {}
    steps = ExpandedGraph(problem, levels).steps
    paths = list(ExpandedGraph(problem, levels).paths())
    for path in paths:
        name = problem.models[path.models[-1]]
        found[name, len(path.models), path.time_level, path.loss_level + levels] = path.weight
        assert problem.totals(path.models)[0] == pytest.approx(path.weight, rel=1e-12)
        before = (problem.start, *path.models[:-1])
        moves = list(enumerate(zip(before, path.models, strict=True)))
        assert path.time_level == sum(steps.times[k, m] for k, (_, m) in moves)
        assert path.loss_level == sum(steps.losses[k, p, m] for k, (p, m) in moves)
    assert len(found) == len(paths)
    assert found.keys() == expected.keys()
    assert all(found[vertex] == pytest.approx(expected[vertex], rel=1e-12) for vertex in found)
    assert all(first.weight <= second.weight for first, second in itertools.pairwise(paths))
    least = paths[0].weight if paths else math.inf
    assert least == pytest.approx(cost_up(problem, levels), rel=1e-12)


def test_without_an_epoch_in_time_there_is_no_nearest_path():
    assert ExpandedGraph(uniform(0, target=6.0), 10).nearest() is None
    assert ExpandedGraph(uniform(3, target=6.0, limit=0.5), 10).nearest() is None
