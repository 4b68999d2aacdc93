"""The layered dynamic program: against the graph object, every path tried, and what rounding promises."""

import itertools
import math

import numpy as np
import pytest

from depl.heuristics.paper import network as module
from depl.heuristics.paper.models import ExpandedGraph, Rounding, steps_in_levels
from depl.heuristics.paper.network import OMEGA, START, cost_down, cost_up, expanded_graph, shortest_path
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from tests.cases.additive_cases import brute_force, is_refused, random_problem

CASES = [(seed, epochs, models) for seed in range(15) for epochs, models in ((3, 3), (5, 2), (6, 1))]


def problem_of(seed: int, epochs: int, models: int) -> AdditiveProblem:
    return random_problem(np.random.default_rng(seed), epochs, models, timed=seed % 3 > 0)


def uniform(
    epochs: int, gain: float, time: float, *, start: float, target: float, limit: float
) -> AdditiveProblem:
    """One model, every epoch alike, of weight 1."""
    return AdditiveProblem(
        models=("only",),
        weights=np.ones((epochs, 1)),
        times=np.full((epochs, 1), time),
        losses=np.full((epochs, 2, 1), -gain),
        allowed=np.ones((epochs, 2, 1), dtype=bool),
        initial_loss=start,
        maximum_loss=target,
        maximum_time=limit,
    )


@pytest.mark.parametrize("rounding", list(Rounding))
def test_the_search_and_dijkstra_on_the_graph_object_find_the_same_cost(rounding):
    finite = 0
    for case, levels in itertools.product(CASES, (4, 11, 30)):
        problem = problem_of(*case)
        found = next(ExpandedGraph(problem, levels, rounding).paths(), None)
        best = shortest_path(expanded_graph(problem, levels, rounding))
        if best is None or found is None:
            assert best is found is None
            continue
        finite += 1
        assert found.weight == pytest.approx(best[0], rel=1e-12)
        assert problem.totals(found.models)[0] == pytest.approx(best[0], rel=1e-12)
    assert finite >= 40


def test_later_heads_change_no_shortest_path():
    finite = 0
    for case in CASES:
        problem = problem_of(*case)
        graph = expanded_graph(problem, 5, printed=True)
        tight = shortest_path(graph)
        for tail, head in list(graph.edges):
            if head != OMEGA:
                model, k, i, j = head
                weight = graph.edges[tail, head]["weight"]
                last = 5 if math.isfinite(problem.maximum_time) else 0
                for later in itertools.product(range(i, last + 1), range(j, 6)):
                    graph.add_edge(tail, (model, k, *later), weight=weight)
        every = shortest_path(graph)
        assert (tight is None) == (every is None)
        if tight is not None:
            finite += 1
            assert tight[0] == pytest.approx(every[0], rel=1e-12)
    assert finite >= 3


def test_the_optimum_lies_between_rounding_down_and_rounding_up_and_paths_up_are_feasible():
    feasible = 0
    for case, levels in itertools.product(CASES, (7, 40, 200)):
        problem = problem_of(*case)
        best = brute_force(problem)
        assert cost_down(problem, levels) <= best * (1 + 1e-12)
        assert best <= cost_up(problem, levels) * (1 + 1e-12)
        found = [item.models for item in itertools.islice(ExpandedGraph(problem, levels).paths(), 20)]
        assert all(not is_refused(problem, path) and problem.feasible(path) for path in found)
        feasible += bool(found)
    assert feasible >= 40


def test_twice_the_levels_is_never_worse():
    for case in CASES:
        problem = problem_of(*case)
        for levels in (5, 12, 31):
            assert cost_up(problem, 2 * levels) <= cost_up(problem, levels) * (1 + 1e-12)
            assert cost_down(problem, 2 * levels) >= cost_down(problem, levels) * (1 - 1e-12)


def test_many_levels_reach_the_optimum():
    for case in CASES[:12]:
        problem = problem_of(*case)
        best = brute_force(problem)
        assert cost_up(problem, 20_000 if math.isinf(problem.maximum_time) else 1500) <= best * 1.05


def test_exact_multiples_of_a_level_do_not_jump_to_the_next():
    # 0.1 + 0.1 + 0.1 > 0.3 in floating point; 30 levels of 0.1 in all, each step exactly 1 level
    problem = uniform(30, 0.1, 0.1, start=3.0, target=0.3, limit=2.7)
    steps = steps_in_levels(problem, 30, Rounding.UP)
    assert steps.losses.tolist() == [[[-1], [-1]]] * 30
    assert steps.target == -27
    assert cost_up(problem, 30) == math.inf  # times of 1.1 levels take two
    assert cost_up(problem.within(3.0, 0.3), 30) == 27


def test_time_and_loss_are_rounded_against_the_path():
    problem = uniform(9, 1.0, 1.0, start=10.0, target=7.5, limit=3.0)
    assert brute_force(problem) == 3
    assert cost_up(problem, 10) == math.inf  # 1 / 0.3 = 3.33 levels become 4, and 12 are more than 10
    assert cost_up(problem, 30) == 3
    assert cost_down(problem, 2) == 1  # gains 0.2 levels of 5, counted as a whole one
    assert cost_down(problem, 10) == 3  # exact multiples stay what they are
    assert cost_down(problem.within(0.4, 7.5), 1) == math.inf  # 2.5 levels of 1


def test_without_a_time_limit_there_is_one_level_of_time():
    problem = uniform(9, 1.0, 1.0, start=10.0, target=4.0, limit=math.inf)
    assert cost_up(problem, 10) == 6
    graph = ExpandedGraph(problem, 10)
    assert graph.least() == 6
    assert graph.vertices <= 9


def test_a_peak_above_the_initial_loss_is_kept_unless_capped():
    # E11: the switch of the first epoch costs 1, every epoch gains 0.5: 10.5, 10, ..., 5 after 12 epochs
    problem = uniform(15, 0.5, 1.0, start=10.0, target=5.0, limit=math.inf)
    problem.losses[0, 1, 0] = 0.5
    assert cost_up(problem, 200) == 12
    assert shortest_path(expanded_graph(problem, 200, printed=True)) is None


def test_forbidden_steps_are_not_made():
    problem = problem_of(1, 5, 2)
    problem.allowed[:, 1, 0] = False
    paths = list(ExpandedGraph(problem, 60).paths())
    assert paths
    assert all((1, 0) not in itertools.pairwise(path.models) for path in paths)


def test_a_path_of_no_epochs_costs_nothing():
    problem = problem_of(1, 3, 2).within(1.0, 50.0)
    assert cost_up(problem, 10) == cost_down(problem, 10) == 0


def test_scaling_loss_time_and_weight_scales_the_cost_alone():
    problem = problem_of(7, 5, 2)
    scaled = AdditiveProblem(
        problem.models,
        4 * problem.weights,
        8 * problem.times,
        2 * problem.losses,
        problem.allowed,
        2 * problem.initial_loss,
        2 * problem.maximum_loss,
        8 * problem.maximum_time,
    )
    assert math.isfinite(cost_up(problem, 40))
    assert cost_up(scaled, 40) == 4 * cost_up(problem, 40)


def test_the_order_of_the_models_does_not_matter():
    problem = problem_of(9, 4, 3)
    order = [2, 0, 1]
    shuffled = AdditiveProblem(
        problem.models,
        problem.weights[:, order],
        problem.times[:, order],
        problem.losses[:, [*order, 3]][:, :, order],
        problem.allowed[:, [*order, 3]][:, :, order],
        problem.initial_loss,
        problem.maximum_loss,
        problem.maximum_time,
    )
    assert math.isfinite(cost_up(problem, 40))
    assert cost_up(shuffled, 40) == pytest.approx(cost_up(problem, 40), rel=1e-12)


@pytest.mark.parametrize("levels", [0, -3])
def test_a_number_of_levels_that_is_not_positive_is_refused(levels):
    with pytest.raises(InvalidInputError, match="at least 1"):
        ExpandedGraph(problem_of(1, 3, 2), levels)


def test_an_initial_loss_that_has_no_fractions_is_refused():
    problem = uniform(3, 1.0, 1.0, start=0.0, target=-1.0, limit=5.0)
    with pytest.raises(InvalidInputError, match=r"fractions of l\(0\)"):
        cost_up(problem, 10)


def test_the_graph_object_has_the_vertices_of_the_paper_and_two_more():
    problem = uniform(2, 1.0, 1.0, start=4.0, target=2.0, limit=4.0)
    graph = expanded_graph(problem, 4)
    assert set(graph) == {START, OMEGA, ("only", 1, 1, 3), ("only", 2, 2, 2)}
    assert graph.nodes["only", 2, 2, 2] == {"time": 2.0, "loss": 2.0}
    assert graph.edges[START, ("only", 1, 1, 3)] == {"weight": 1.0}
    assert graph.edges[("only", 2, 2, 2), OMEGA] == {"weight": 0.0}
    assert shortest_path(graph) == (2.0, ("only", "only"))


def test_the_whole_graph_of_the_paper_has_its_number_of_vertices_and_the_same_shortest_path():
    problem = problem_of(4, 5, 2)
    whole = expanded_graph(problem, 9, printed=True)
    assert len(whole) == 2 + 2 * 5 * 9**2  # |M| K eta^2, the start and Omega
    reachable = expanded_graph(problem, 9)
    assert len(reachable) < len(whole)
    assert shortest_path(whole) == shortest_path(reachable)


def test_a_graph_object_of_too_many_vertices_is_refused(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_NETWORK", 3)
    with pytest.raises(NotCoveredError, match="ExpandedGraph"):
        expanded_graph(problem_of(1, 3, 2), 40)
