"""The least value of a sum of arcs and groups, as a minimum cut by networkx; nothing of depl decides it."""

import math

import networkx

from depl.heuristics.submodular.families import Graph


def graph_of(function):
    """The arcs and groups behind a cut, a coverage or a quadratic."""
    graph = getattr(function.gains, "__self__", None)
    if not isinstance(graph, Graph):
        raise TypeError("no sum of arcs and groups")
    return graph


def least_value(function):
    """min f: an element is in the set iff its vertex is on the side of the source.

    A weight u >= 0 is an arc to the sink, u < 0 an arc from the source and a constant; a group costs an arc
    to the sink that every member would have to be cut from.
    """
    data, graph, least = graph_of(function), networkx.DiGraph(), float(function.start)
    graph.add_nodes_from(("source", "sink"))

    def add(tail, head, capacity):
        known = graph.get_edge_data(tail, head, {"capacity": 0.0})["capacity"]
        graph.add_edge(tail, head, capacity=known + capacity)

    for element, weight in enumerate(data.modular.tolist()):
        if weight < 0:
            add("source", element, -weight)
            least += weight
        else:
            add(element, "sink", weight)
    for tail, head, capacity in zip(
        data.tails.tolist(), data.heads.tolist(), data.capacities.tolist(), strict=True
    ):
        add(tail, head, capacity)
    for number, group in enumerate(data.groups):
        for member in group:
            add(member, ("group", number), math.inf)
        add(("group", number), "sink", float(data.weights[number]))
    return float(least + networkx.minimum_cut_value(graph, "source", "sink"))
