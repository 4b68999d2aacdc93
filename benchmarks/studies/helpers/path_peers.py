r"""Other ways to solve the path problem: HiGHS on an arc-flow program, and cspy.

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
from depl.heuristics.paths.whole_numbers import IntArray
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


def arc_flow_program(problem: AdditiveProblem) -> highspy.Highs:
    """The program, ready to run, of a problem with at least one epoch; columns are those of `steps_of`."""
    k, p, m = steps_of(problem)
    models, nodes, columns = problem.start, problem.epochs * problem.start, np.arange(len(k))
    later = k > 0
    heads, tails = k * models + m, (k - 1) * models + p
    places = np.concatenate([heads, tails[later]]), np.concatenate([columns, columns[later]])
    signs = np.concatenate([np.ones(len(k)), -np.ones(int(later.sum()))])
    budgets = [(k == 0).astype(float), problem.losses[k, p, m]]
    upper = [1.0, problem.maximum_loss - problem.initial_loss]
    if math.isfinite(problem.maximum_time):
        budgets.append(problem.times[k, m])
        upper.append(problem.maximum_time)
    rows = sparse.vstack(
        [sparse.csr_matrix((signs, places), shape=(nodes, len(k))), np.array(budgets)], format="csr"
    )
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(k), rows.shape[0]
    program.col_cost_ = problem.weights[k, m]
    program.col_lower_, program.col_upper_ = np.zeros(len(k)), np.ones(len(k))
    program.row_lower_ = np.array([0.0] * nodes + [1.0] + [-math.inf] * (len(budgets) - 1))
    program.row_upper_ = np.array([math.inf] * nodes + upper)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_, program.a_matrix_.index_ = rows.indptr, rows.indices
    program.a_matrix_.value_ = rows.data
    program.integrality_ = [highspy.HighsVarType.kInteger] * len(k)
    solver: highspy.Highs = quiet_highs()
    for name, value in _OPTIONS.items():
        solver.setOptionValue(name, value)
    solver.passModel(program)
    return solver


def arc_flow_optimum(problem: AdditiveProblem, time_limit: float = math.inf) -> PeerPath:
    """Solve the program by HiGHS, within some seconds."""
    if problem.initial_loss <= problem.maximum_loss + ATOM_TOLERANCE:
        return PeerPath(0.0, True)
    k, p, m = steps_of(problem)
    if not len(k):
        return PeerPath(math.inf, True)
    solver = arc_flow_program(problem)
    if math.isfinite(time_limit):
        solver.setOptionValue("time_limit", time_limit)
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


def steps_of(problem: AdditiveProblem) -> tuple[IntArray, IntArray, IntArray]:
    """Epoch, counted from 0, predecessor and model of every allowed step."""
    allowed = problem.allowed.copy()
    allowed[0, : problem.start] = False
    allowed[1:, problem.start] = False
    k, p, m = np.nonzero(allowed)
    return k, p, m


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


def cspy_optimum(problem: AdditiveProblem, time_limit: float = 60.0) -> float:
    """The weight that cspy finds by labelling from both ends, infinite without a path."""
    graph, most = cspy_graph(problem)
    cspy: Any = importlib.import_module("cspy")
    solver = cspy.BiDirectional(graph, most, [0.0, 0.0, 0.0], direction="both", time_limit=time_limit)
    solver.run()
    found = solver.path and solver.path[-1] == "Sink"
    return float(solver.total_cost) if found else math.inf
