r"""The path problem for cspy (forward and bidirectional labelling), where that package is at hand.

cspy is a peer for measuring, no dependency: ``pip install --no-deps --target DIR cspy`` and DIR on PYTHONPATH
are enough. Its resources must not fall, so every loss is raised by the greatest gain c and all paths are made
K steps long by a chain of idle steps of loss c: then the raised losses sum to the loss plus K c.
"""

import importlib
import importlib.util
import math
from dataclasses import dataclass

import networkx as nx
import numpy as np

from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.models.foundation.tolerances import ATOM_TOLERANCE


@dataclass(frozen=True)
class CspyAnswer:
    """The weight of its path, infinite if it has none, and what it is said to have been solved by."""

    weight: float
    direction: str


def has_cspy() -> bool:
    """Whether cspy can be imported."""
    return importlib.util.find_spec("cspy") is not None


def cspy_graph(problem: AdditiveProblem) -> tuple[nx.DiGraph, list[float]]:
    """The graph and the greatest resources: steps, time, raised loss.

    Parameters
    ----------
    problem : AdditiveProblem
        Whose target l(0) does not meet.
    """
    raised = max(-float(problem.losses.min()), 0.0)
    graph = nx.DiGraph(directed=True, n_res=3)

    def add(before: object, after: object, weight: float, time: float, loss: float) -> None:
        graph.add_edge(before, after, weight=weight, res_cost=np.array([1.0, time, loss + raised]))

    for k in range(problem.epochs):
        for p in range(problem.start) if k else (problem.start,):
            before = (k, p) if k else "Source"
            for m in np.flatnonzero(problem.allowed[k, p]).tolist():
                loss = float(problem.losses[k, p, m])
                add(before, (k + 1, m), float(problem.weights[k, m]), float(problem.times[k, m]), loss)
            if k:
                add(before, ("idle", k + 1), 0.0, 0.0, 0.0)
        if k > 1:
            add(("idle", k), ("idle", k + 1), 0.0, 0.0, 0.0)
    last = [(problem.epochs, m) for m in range(problem.start)] + [("idle", problem.epochs)]
    for node in last if problem.epochs > 1 else last[:-1]:
        add(node, "Sink", 0.0, 0.0, -raised)
    latest = problem.maximum_time if math.isfinite(problem.maximum_time) else float(problem.times.sum())
    budget = problem.maximum_loss - problem.initial_loss + problem.epochs * raised
    return graph, [problem.epochs + 1.0, float(latest), float(budget + ATOM_TOLERANCE)]


def cspy_optimum(problem: AdditiveProblem, direction: str = "both", time_limit: float = 60.0) -> CspyAnswer:
    """What cspy finds.

    Parameters
    ----------
    direction : str
        "both" or "forward".
    time_limit : float
        Seconds.
    """
    graph, most = cspy_graph(problem)
    solver = importlib.import_module("cspy").BiDirectional(
        graph, most, [0.0, 0.0, 0.0], direction=direction, time_limit=time_limit
    )
    solver.run()
    path = solver.path
    return CspyAnswer(math.inf if not path or path[-1] != "Sink" else float(solver.total_cost), direction)
