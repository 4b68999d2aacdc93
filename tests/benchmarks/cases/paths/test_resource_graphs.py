"""Graphs with resources: drawn the same again, feasible paths for the peers, and the table of states."""

import itertools
import math

import numpy as np
import pytest

from depl import paths
from depl.benchmarks.cases.paths.cspy_peer import has_cspy
from depl.benchmarks.cases.paths.resource_graphs import (
    ResourceGraph,
    cspy_cost,
    layered_graph,
    least_cost_by_states,
    sparse_graph,
)


def test_the_same_seed_draws_the_same_graph():
    for draw in (lambda rng: layered_graph(rng, 3, 2, 2), lambda rng: sparse_graph(rng, 5, 2)):
        assert draw(np.random.default_rng(1)) == draw(np.random.default_rng(1))
        assert draw(np.random.default_rng(1)) != draw(np.random.default_rng(2))


def test_the_table_of_states_knows_the_cheapest_path_of_a_graph_by_hand():
    arcs = (("Source", 0, 1, (4,)), ("Source", "Sink", 5, (1,)), (0, "Sink", -3, (4,)))
    assert [least_cost_by_states(ResourceGraph(arcs, (limit,))) for limit in (8, 7, 0)] == [-2, 5, math.inf]


def test_arcs_are_sorted_by_tail_as_the_table_asks():
    for graph in (
        layered_graph(np.random.default_rng(3), 4, 3, 1),
        sparse_graph(np.random.default_rng(3), 6, 1),
    ):
        tails = [tail for tail, _ in itertools.groupby(arc[0] for arc in graph.arcs[:-1])]
        for place, tail in enumerate(tails):
            assert all(arc[1] != tail for arc in graph.arcs if arc[0] in tails[place + 1 :])


def test_a_layered_graph_is_answered_as_by_the_table():
    for seed in range(4):
        graph = layered_graph(np.random.default_rng(seed), 4, 3, 2)
        assert paths.cheapest(graph.arcs, "Source", "Sink", graph.limits).cost == least_cost_by_states(graph)


@pytest.mark.skipif(not has_cspy(), reason="cspy is a peer for measuring, no dependency")
def test_cspy_going_forward_finds_the_optimum():
    for seed in range(4):
        graph = layered_graph(np.random.default_rng(seed), 4, 3, 1)
        assert cspy_cost(graph, "forward", 10.0) == least_cost_by_states(graph)
