"""The least value of a sum of arcs and groups, as a minimum cut by networkx; nothing of depl decides it."""

import math

import networkx

from depl.heuristics.set_functions.graphs import GraphFunction


def least_value(function: GraphFunction) -> float:
    """min f: an element is in the set iff its vertex is on the side of the source.

    A weight u >= 0 is an arc to the sink, u < 0 an arc from the source and a constant; a group costs an arc
    to the sink that every member would have to be cut from.
    """
    graph, least = networkx.DiGraph(), function.constant
    graph.add_nodes_from(("source", "sink"))

    def add(tail: object, head: object, capacity: float) -> None:
        known = graph.get_edge_data(tail, head, {"capacity": 0.0})["capacity"]
        graph.add_edge(tail, head, capacity=known + capacity)

    for element, weight in enumerate(function.modular.tolist()):
        if weight < 0:
            add("source", element, -weight)
            least += weight
        else:
            add(element, "sink", weight)
    for tail, head, capacity in zip(
        function.tails.tolist(), function.heads.tolist(), function.capacities.tolist(), strict=True
    ):
        add(tail, head, capacity)
    ends = [*function.starts[1:].tolist(), len(function.groups)]
    for number, (start, stop) in enumerate(zip(function.starts.tolist(), ends, strict=False)):
        for member in function.groups[start:stop].tolist():
            add(member, ("group", number), math.inf)
        add(("group", number), "sink", float(function.weights[number]))
    return float(least + networkx.minimum_cut_value(graph, "source", "sink"))
