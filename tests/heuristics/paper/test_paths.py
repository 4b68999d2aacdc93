"""The paper's graph with a blacklist, against networkx and against every path."""

import itertools
import math
from dataclasses import replace

import networkx
import numpy as np
import pytest

from depl.heuristics.paper import models as module
from depl.heuristics.paper.models import ExpandedGraph
from depl.heuristics.paper.network import OMEGA, START, cost_up, expanded_graph
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.errors import NotCoveredError
from tests.cases.additive_cases import all_paths, random_problem


def one_model(epochs: int, gain: float = 1.0, target: float = 6.0) -> AdditiveProblem:
    """From 10 down by ``gain`` in every epoch of weight 1 and time 1; T_max = 20."""
    shape = (epochs, 2, 1)
    allowed = np.ones(shape, dtype=bool)
    return AdditiveProblem(
        models=("net",),
        weights=np.ones((epochs, 1)),
        times=np.ones((epochs, 1)),
        losses=np.full(shape, -gain),
        allowed=allowed,
        initial_loss=10.0,
        maximum_loss=target,
        maximum_time=20.0,
    )


@pytest.mark.parametrize("seed", range(12))
def test_every_feasible_vertex_comes_once_with_a_shortest_path_lightest_first(seed: int) -> None:
    problem = random_problem(np.random.default_rng(seed), 5, 3, timed=seed % 3 > 0)
    levels = 15 + seed
    graph = expanded_graph(problem, levels)
    distances = networkx.single_source_dijkstra_path_length(graph, START)
    expected = {}
    for vertex in graph.predecessors(OMEGA):
        expected[vertex] = distances[vertex]
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


@pytest.mark.parametrize("seed", range(8))
def test_the_nearest_path_ends_as_low_as_any(seed: int) -> None:
    problem = random_problem(np.random.default_rng([seed, 1]), 4, 2)
    graph = ExpandedGraph(problem, 20)
    lowest = math.inf
    for path in all_paths(problem):
        moves = list(enumerate(zip((problem.start, *path[:-1]), path, strict=True)))
        if sum(graph.steps.times[k, m] for k, (_, m) in moves) <= 20:
            lowest = min(lowest, sum(graph.steps.losses[k, p, m] for k, (p, m) in moves))
    nearest = graph.nearest()
    assert nearest.loss_level == lowest
    assert graph.loss(nearest) == pytest.approx(problem.initial_loss * (1 + lowest / 20))


def test_longer_paths_lead_through_vertices_whose_paths_are_blacklisted() -> None:
    # 10 - 4 = 6 is met from epoch 4 on; each further epoch is a further choice
    paths = list(ExpandedGraph(one_model(7), 20).paths())
    assert [(len(path.models), path.weight) for path in paths] == [(4, 4.0), (5, 5.0), (6, 6.0), (7, 7.0)]


def test_no_more_layers_are_made_than_are_asked_for() -> None:
    asked = []

    def proceed() -> bool:
        asked.append(len(asked))
        return True

    paths = ExpandedGraph(one_model(1000, gain=0.05, target=9.8), 200, proceed=proceed).paths()
    assert len(next(paths).models) == 4
    # a path of one epoch more cannot be lighter, which the fourth layer already shows
    assert len(asked) == 4
    assert len(next(paths).models) == 5
    assert len(asked) == 5


def test_of_equal_weights_fewer_epochs_come_first_then_the_lower_loss() -> None:
    # two free models; b gains more, so that the path of b alone ends lowest
    losses = np.broadcast_to([-1.0, -2.0], (2, 3, 2)).copy()
    problem = AdditiveProblem(
        models=("a", "b"),
        weights=np.zeros((2, 2)),
        times=np.ones((2, 2)),
        losses=losses,
        allowed=np.ones((2, 3, 2), dtype=bool),
        initial_loss=10.0,
        maximum_loss=9.0,
        maximum_time=10.0,
    )
    assert [path.models for path in ExpandedGraph(problem, 10).paths()][:3] == [(1,), (0,), (1, 1)]


def test_a_loss_above_the_initial_one_is_a_vertex() -> None:
    # E11: the first epoch rises by 1, the others fall by 1: 9 after three epochs
    problem = one_model(3, target=9.0)
    losses = problem.losses.copy()
    losses[0] = 1.0
    (path,) = ExpandedGraph(replace(problem, losses=losses), 200).paths()
    assert len(path.models) == 3


def test_e10_counterexample_a_is_found_infeasible_however_much_time_is_left() -> None:
    # 1.05 levels of 200 per epoch: 101 epochs use 53 % of T_max and need 202 levels
    problem = one_model(101, gain=0.05, target=10 - 101 * 0.05)
    times = np.full((101, 1), 1.05 / 200 * 20)
    problem = replace(problem, times=times)
    assert times.sum() < 0.54 * problem.maximum_time
    assert list(ExpandedGraph(problem, 200).paths()) == []
    assert len(ExpandedGraph(problem, 200).nearest().models) == 100


def test_a_graph_without_epochs_or_time_has_no_nearest_path() -> None:
    assert ExpandedGraph(one_model(0), 10).nearest() is None
    assert ExpandedGraph(replace(one_model(3), maximum_time=0.5), 10).nearest() is None


def test_a_stop_and_a_graph_too_large_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OutOfTimeError):
        next(ExpandedGraph(one_model(5), 20, proceed=lambda: False).paths())
    monkeypatch.setattr(module, "LARGEST_VERTICES", 2)
    with pytest.raises(NotCoveredError, match="more than 2 vertices; take eta below 20"):
        next(ExpandedGraph(one_model(5), 20).paths())
