"""Other ways to solve the path problem: HiGHS on an arc-flow program, and cspy.

*The program* has a binary variable for every allowed step (k, p, m), flow conservation at every (k, m), where
a path may end, one step out of the start, and one row for each budget:

    min sum w y   s.t.   sum over p of y(k, p, m) >= sum over n of y(k + 1, m, n),
                         sum over m of y(1, start, m) = 1,   sum t y <= T_max,   sum l y <= l_max - l(0).
"""

import importlib
import importlib.util
import math
from typing import Any, NamedTuple

import highspy
import networkx as nx
import numpy as np
from scipy import sparse

from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.programs.quiet import quiet_highs

_OPTIONS = {
    "threads": 1,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
    "mip_feasibility_tolerance": 1e-7,  # at 1e-9 it proves wrong optima (`depl.models.programs.highs`)
}


class PeerPath(NamedTuple):
    """The exact weight of a peer's path, infinite without one, and whether it says that none is lighter."""

    weight: float
    proved: bool


def arc_flow_optimum(problem: AdditiveProblem, seconds: float = math.inf) -> PeerPath:
    """Solve the program by HiGHS."""
    if problem.initial_loss <= problem.maximum_loss + ATOM_TOLERANCE:
        return PeerPath(0.0, True)
    allowed = problem.allowed.copy()
    allowed[0, : problem.start] = allowed[1:, problem.start] = False
    k, p, m = np.nonzero(allowed)
    if not len(k):
        return PeerPath(math.inf, True)
    models, columns, later = problem.start, np.arange(len(k)), k > 0
    places = np.concatenate([k * models + m, ((k - 1) * models + p)[later]])
    signs = np.concatenate([np.ones(len(k)), -np.ones(int(later.sum()))])
    flow = sparse.csr_matrix((signs, (places, np.concatenate([columns, columns[later]]))))
    budgets = np.array([k == 0, problem.losses[k, p, m], problem.times[k, m]], dtype=float)
    rows = sparse.vstack([flow, budgets], format="csr")
    lower = np.array([0.0] * flow.shape[0] + [1.0, -math.inf, -math.inf])
    most = [1.0, problem.maximum_loss - problem.initial_loss, problem.maximum_time]
    upper = np.array([math.inf] * flow.shape[0] + most)
    solver = quiet_highs()
    for name, value in {**_OPTIONS, "time_limit": seconds}.items():
        solver.setOptionValue(name, value)
    solver.addVars(len(k), np.zeros(len(k)), np.ones(len(k)))
    solver.changeColsCost(len(k), columns, problem.weights[k, m])
    solver.changeColsIntegrality(len(k), columns, np.array([highspy.HighsVarType.kInteger] * len(k)))
    solver.addRows(rows.shape[0], lower, upper, rows.nnz, rows.indptr, rows.indices, rows.data)
    solver.run()
    ended = highspy.HighsModelStatus
    proved = solver.getModelStatus() in (ended.kOptimal, ended.kInfeasible)
    if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return PeerPath(math.inf, proved)
    taken = np.array(solver.getSolution().col_value) > 0.5
    following = {(int(a), int(b)): int(c) for a, b, c in zip(k[taken], p[taken], m[taken], strict=True)}
    path: list[int] = []
    while (step := (len(path), path[-1] if path else problem.start)) in following:
        path.append(following[step])
    return PeerPath(problem.totals(tuple(path))[0], proved)


def has_cspy() -> bool:
    """Whether cspy can be imported.

    It is no dependency: ``pip install --no-deps --target DIR cspy`` and DIR on PYTHONPATH are enough.
    """
    return importlib.util.find_spec("cspy") is not None


def cspy_graph(problem: AdditiveProblem) -> tuple[nx.DiGraph, list[float]]:
    """The graph for cspy, and the greatest resources: steps, time, raised loss; l(0) must not meet l_max.

    Resources of cspy must not fall, so every loss is raised by the greatest gain c and all paths are made
    K steps long by a chain of idle steps of loss c: then the raised losses sum to the loss plus K c.
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


def cspy_optimum(problem: AdditiveProblem, seconds: float = 60.0) -> float:
    """The weight that cspy finds by labelling from both ends, infinite without a path."""
    graph, most = cspy_graph(problem)
    cspy: Any = importlib.import_module("cspy")
    solver = cspy.BiDirectional(graph, most, [0.0, 0.0, 0.0], direction="both", time_limit=seconds)
    solver.run()
    found = solver.path and solver.path[-1] == "Sink"
    return float(solver.total_cost) if found else math.inf
