"""The expanded graph as an object to look at, and the bracket of its roundings (E10).

`depl.heuristics.paper.models.ExpandedGraph` searches the same graph as arrays. What rounding up and down
prove stands on the page "Model selection", under "The bicriteria inequality".
"""

import itertools
import math

import networkx
import numpy as np

from depl.heuristics.paper.models import ExpandedGraph, Rounding, Steps, steps_in_levels
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.models.foundation.errors import NotCoveredError

LARGEST_NETWORK = 2_000_000
"""Most vertices of a graph as `networkx` has it; beyond, it would fill the memory."""

START, OMEGA = "start", "Omega"


def cost_up(problem: AdditiveProblem, levels: int) -> float:
    """Least weight in the graph with rounding up, infinite if it has no path; at least the optimum."""
    return ExpandedGraph(problem, levels).least()


def cost_down(problem: AdditiveProblem, levels: int) -> float:
    """Least weight in the graph with rounding down, infinite if it has no path; at most the optimum."""
    return ExpandedGraph(problem, levels, Rounding.DOWN).least()


def with_budgets(problem: AdditiveProblem, levels: int, sign: int) -> AdditiveProblem:
    """The problem with budgets T_max (1 + K / eta) and l_max + K h for ``sign`` 1, less as much for -1.

    By the bicriteria inequality (E10) the optimum of the tighter one is at least `cost_up`, and that of the
    wider one at most `cost_down`.
    """
    share = sign * problem.epochs / levels
    time = problem.maximum_time
    wider = time if math.isinf(time) else time * (1 + share)
    return problem.within(wider, problem.maximum_loss + share * problem.initial_loss)


def expanded_graph(
    problem: AdditiveProblem, levels: int, rounding: Rounding = Rounding.UP, *, printed: bool = False
) -> networkx.DiGraph:
    """The same graph as an object to look at, with vertices (model, k, i, j), `START` and `OMEGA`.

    Parameters
    ----------
    levels : int
        eta.
    rounding : Rounding
        UP is the paper's.
    printed : bool
        With the vertices that the paper prints: all of j = 1 .. eta, reached or not, M K eta**2 in all.

    Returns
    -------
    networkx.DiGraph
        Vertices carry ``time`` [time] and ``loss`` [loss], edges ``weight``. A path from `START` to `OMEGA`
        is a sequence of models.

    Raises
    ------
    InvalidInputError
        As `steps_in_levels`.
    NotCoveredError
        If there are more than `LARGEST_NETWORK` vertices, which `ExpandedGraph` can search.
    """
    steps = steps_in_levels(problem, levels, rounding)
    graph = networkx.DiGraph(levels=levels)
    graph.add_node(START, time=0.0, loss=problem.initial_loss)
    graph.add_node(OMEGA)
    if steps.target >= 0:
        graph.add_edge(START, OMEGA, weight=0.0)
    layer = {(problem.start, 0, levels)}
    for k in range(problem.epochs):
        heads = set()
        for before, time, loss in layer:
            tail = START if before == problem.start else (problem.models[before], k, time, loss)
            for m in np.flatnonzero(problem.allowed[k, before]).tolist():
                i, j = time + int(steps.times[k, m]), loss + int(steps.losses[k, before, m])
                j = max(j, 1) if printed else j  # lower losses are rounded up, too
                if i <= steps.last_time and (j <= levels or not printed):
                    heads.add((m, i, j))
                    weight = float(problem.weights[k, m])
                    graph.add_edge(tail, (problem.models[m], k + 1, i, j), weight=weight)
        if printed:
            times = range(1, levels + 1) if steps.last_time else range(1)
            heads |= set(itertools.product(range(problem.start), times, range(1, levels + 1)))
        _add_vertices(graph, problem, steps, k + 1, heads)
        layer = heads
    return graph


def _add_vertices(
    graph: networkx.DiGraph,
    problem: AdditiveProblem,
    steps: Steps,
    epoch: int,
    states: set[tuple[int, int, int]],
) -> None:
    """Add the states of an epoch, each with its time and loss, and with its edge to `OMEGA` if it has one."""
    for m, i, j in states:
        vertex = (problem.models[m], epoch, i, j)
        time = i * steps.time_step if math.isfinite(steps.time_step) else 0.0
        graph.add_node(vertex, time=time, loss=j * steps.loss_step)
        if j - steps.levels <= steps.target:
            graph.add_edge(vertex, OMEGA, weight=0.0)
    if graph.number_of_nodes() > LARGEST_NETWORK:
        raise NotCoveredError(
            f"the graph has more than {LARGEST_NETWORK} vertices; take fewer levels, or search it with "
            "depl.heuristics.paper.models.ExpandedGraph"
        )


def shortest_path(graph: networkx.DiGraph) -> tuple[float, tuple[str, ...]] | None:
    """Weight and models of a shortest path from `START` to `OMEGA` by Dijkstra's algorithm; None if none."""
    try:
        weight, path = networkx.single_source_dijkstra(graph, START, OMEGA)
    except networkx.NetworkXNoPath:
        return None
    return float(weight), tuple(vertex[0] for vertex in path[1:-1])
