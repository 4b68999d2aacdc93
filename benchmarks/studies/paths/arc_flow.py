r"""The path problem as an arc-flow mixed-integer program: a peer of the label setting, and its judge.

A binary variable for every allowed step (k, p, m); with flow conservation at every (k, m), where a path may
end, one step out of the start, and one row for each budget:

    min sum w y   s.t.   sum over p of y(k, p, m) >= sum over n of y(k + 1, m, n),
                         sum over m of y(1, start, m) = 1,
                         sum t y <= T_max,   sum l y <= l_max - l(0).

Binary variables matter: without them it is the linear relaxation, whose bound is the Lagrangian dual's.
"""

import math
from dataclasses import dataclass

import highspy
import numpy as np
from scipy import sparse

from depl.heuristics.paths.additive_problem import AdditivePath, AdditiveProblem
from depl.heuristics.paths.whole_numbers import IntArray
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.laws import FloatArray
from depl.models.programs.quiet import quiet_highs

_TOLERANCES = {"primal_feasibility_tolerance": 1e-9, "mip_feasibility_tolerance": 1e-7}
"""Of HiGHS; at 1e-9 for whole numbers it proves wrong optima (`depl.models.programs.highs`)."""


@dataclass(frozen=True)
class ArcFlowAnswer:
    """What HiGHS says.

    Attributes
    ----------
    path : AdditivePath or None
        Its path, with exact totals.
    proved : bool
        Whether it says that nothing is lighter, or nothing feasible.
    """

    path: AdditivePath | None
    proved: bool

    @property
    def weight(self) -> float:
        """Of the path; infinite without one."""
        return math.inf if self.path is None else self.path.weight


def arc_flow_program(problem: AdditiveProblem) -> highspy.Highs:
    """The program, ready to run; its columns are the allowed steps in the order of `steps_of`.

    Parameters
    ----------
    problem : AdditiveProblem
        With at least one epoch; paths of at least one epoch are looked for.
    """
    k, p, m = steps_of(problem)
    lower, upper, rows = _rows(problem, k, p, m)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(k), rows.shape[0]
    program.col_cost_ = problem.weights[k, m]
    program.col_lower_, program.col_upper_ = np.zeros(len(k)), np.ones(len(k))
    program.row_lower_, program.row_upper_ = lower, upper
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_, program.a_matrix_.index_ = rows.indptr, rows.indices
    program.a_matrix_.value_ = rows.data
    program.integrality_ = [highspy.HighsVarType.kInteger] * len(k)
    solver: highspy.Highs = quiet_highs()
    for name, value in (
        ("threads", 1),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 1e-9),
        *_TOLERANCES.items(),
    ):
        solver.setOptionValue(name, value)
    solver.passModel(program)
    return solver


def arc_flow_optimum(problem: AdditiveProblem, time_limit: float = math.inf) -> ArcFlowAnswer:
    """Solve the program.

    Parameters
    ----------
    time_limit : float
        Seconds for HiGHS.
    """
    if problem.initial_loss <= problem.maximum_loss + ATOM_TOLERANCE:
        return ArcFlowAnswer(problem.path(()), True)
    k, p, m = steps_of(problem)
    if not len(k):
        return ArcFlowAnswer(None, True)
    solver = arc_flow_program(problem)
    if math.isfinite(time_limit):
        solver.setOptionValue("time_limit", time_limit)
    solver.run()
    status = solver.getModelStatus()
    proved = status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible)
    if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return ArcFlowAnswer(None, proved)
    taken = np.array(solver.getSolution().col_value) > 0.5
    following = {(int(a), int(b)): int(c) for a, b, c in zip(k[taken], p[taken], m[taken], strict=True)}
    path: list[int] = []
    while (step := (len(path), path[-1] if path else problem.start)) in following:
        path.append(following[step])
    return ArcFlowAnswer(problem.path(tuple(path)), proved)


def steps_of(problem: AdditiveProblem) -> tuple[IntArray, IntArray, IntArray]:
    """Epoch, counted from 0, predecessor and model of every allowed step."""
    allowed = problem.allowed.copy()
    allowed[0, : problem.start] = False
    allowed[1:, problem.start] = False
    k, p, m = np.nonzero(allowed)
    return k, p, m


def _rows(
    problem: AdditiveProblem, k: IntArray, p: IntArray, m: IntArray
) -> tuple[FloatArray, FloatArray, sparse.csr_matrix]:
    """Bounds and coefficients: conservation at every (k, m), the start, and the budgets."""
    count, steps = problem.start, np.arange(len(k))
    nodes = problem.epochs * count
    out = k > 0
    conservation = sparse.csr_matrix(
        (
            np.concatenate([np.ones(len(k)), -np.ones(int(out.sum()))]),
            (
                np.concatenate([k * count + m, (k[out] - 1) * count + p[out]]),
                np.concatenate([steps, steps[out]]),
            ),
        ),
        shape=(nodes, len(k)),
    )
    extra = [np.where(k == 0, 1.0, 0.0), problem.losses[k, p, m]]
    lower, upper = [1.0, -math.inf], [1.0, problem.maximum_loss - problem.initial_loss]
    if math.isfinite(problem.maximum_time):
        extra.append(problem.times[k, m])
        lower.append(-math.inf)
        upper.append(problem.maximum_time)
    rows = sparse.vstack([conservation, sparse.csr_matrix(np.array(extra))], format="csr")
    return (
        np.concatenate([np.zeros(nodes), lower]),
        np.concatenate([np.full(nodes, math.inf), upper]),
        rows,
    )
