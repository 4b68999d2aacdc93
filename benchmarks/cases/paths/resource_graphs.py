"""Random graphs with additive resources, the states of a dynamic program as their oracle, and cspy on them.

In a layered graph every vertex of a layer leads to all of the next. An arc uses 1 ... 99 of each resource and
costs 110 for each, less what it uses, plus 0 ... 19: what is cheap uses much. Limits of 45 for each arc of
a path are below the mean use of 50.
"""

import importlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

Arc = tuple[object, object, int, tuple[int, ...]]


@dataclass(frozen=True)
class ResourceGraph:
    """Arcs as tail, head, cost and resources, from ``Source`` to ``Sink``, and limits of the resources."""

    arcs: tuple[Arc, ...]
    limits: tuple[int, ...]


def layered_graph(rng: np.random.Generator, layers: int, width: int, resources: int) -> ResourceGraph:
    """A graph of ``layers`` steps between layers of ``width`` vertices."""
    nothing = (0,) * resources
    arcs: list[Arc] = [("Source", (0, place), 0, nothing) for place in range(width)]
    for layer in range(layers):
        for one, other in itertools.product(range(width), repeat=2):
            used = rng.integers(1, 100, resources)
            cost = 110 * resources - int(used.sum()) + int(rng.integers(0, 20))
            arcs.append(((layer, one), (layer + 1, other), cost, tuple(used.tolist())))
    arcs += [((layers, place), "Sink", 0, nothing) for place in range(width)]
    return ResourceGraph(tuple(arcs), (45 * layers,) * resources)


def sparse_graph(rng: np.random.Generator, vertices: int, resources: int) -> ResourceGraph:
    """Arcs between any two vertices of an order with probability 0.4; costs -5 ... 5, uses 0 ... 6."""
    arcs: list[Arc] = []
    for tail, head in itertools.combinations(["Source", *range(vertices), "Sink"], 2):
        if (head != "Sink" and tail == "Source") or rng.random() < 0.4:
            used = tuple(rng.integers(0, 7, resources).tolist())
            arcs.append((tail, head, int(rng.integers(-5, 6)), used))
    arcs.append((vertices - 1, "Sink", 0, (0,) * resources))
    return ResourceGraph(tuple(arcs), tuple(rng.integers(2, 3 * vertices, resources).tolist()))


def least_cost_by_states(graph: ResourceGraph) -> float:
    """The least cost by a table of all that can be used at every vertex; no label is compared with another.

    Arcs have to be sorted by tail in an order of the vertices, as the families here are.
    """
    nothing = (0,) * len(graph.limits)
    states: dict[object, dict[tuple[int, ...], int]] = {"Source": {nothing: 0}}
    for tail, head, cost, used in graph.arcs:
        table = states.setdefault(head, {})
        for sums, known in states.get(tail, {}).items():
            after = tuple(one + other for one, other in zip(sums, used, strict=True))
            if all(one <= most for one, most in zip(after, graph.limits, strict=True)):
                table[after] = min(known + cost, table.get(after, known + cost))
    return min(states["Sink"].values(), default=math.inf)


def cspy_cost(graph: ResourceGraph, direction: str, time_limit: float) -> float:
    """The cost of what cspy finds, infinite if that is no path to the sink.

    Parameters
    ----------
    direction : str
        "both", which is cspy's own choice, or "forward".
    time_limit : float
        Seconds.
    """
    drawn = nx.DiGraph(directed=True, n_res=len(graph.limits))
    for tail, head, cost, used in graph.arcs:
        drawn.add_edge(tail, head, weight=float(cost), res_cost=np.array(used, dtype=float))
    most, least = [float(limit) for limit in graph.limits], [0.0] * len(graph.limits)
    solver = importlib.import_module("cspy").BiDirectional(
        drawn, most, least, direction=direction, time_limit=time_limit
    )
    solver.run()
    path: Sequence[object] | None = solver.path
    return float(solver.total_cost) if path and path[-1] == "Sink" else math.inf
