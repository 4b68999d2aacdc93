"""The relaxation in which epochs may be split: by perspective cuts (HiGHS).

Without transfers its optimum is the best dual bound (`depl.heuristics.placement.dual`), which is far cheaper;
with transfers the program adds what opening a part of a cluster costs, and its duals certify a bound by
`charged_bound`, whatever the tolerances of the solver.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from depl.heuristics.placement.dual import prices
from depl.heuristics.placement.problem import PlacementProblem
from depl.heuristics.placement.programs import PerspectiveProgram
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray

_ROUNDS, _ENOUGH = 25, 1e-10
"""Programs with tangents added after each, and the relative error of the cost at which they end. Set by hand:
the bound is certified by the duals of any program, so fewer rounds make it weaker."""
_ROUNDING = 1e-13
"""Relative error of sums of charges: some hundred roundings of doubles. The bound is lowered by as much."""
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The optimum of the relaxation.

    Attributes
    ----------
    shares : ndarray or None
        a_gn, shape (G, N), not necessarily whole; a vertex of the last program. None if infeasible [epochs].
    objective : float
        Of the last program, within the solver's tolerances; infinite if infeasible [cost].
    lower_bound : float
        Certified by the duals in closed form: no placement costs less [cost].
    multiplier : float
        Dual of the time row [cost / time].
    cuts : int
        Tangents in the last program.
    """

    shares: FloatArray | None
    objective: float
    lower_bound: float
    multiplier: float
    cuts: int


def relaxation(problem: PlacementProblem) -> Relaxation:
    """Solve the relaxation by tangents: on a grid first, then where the solution is too cheap.

    Raises
    ------
    RuntimeError
        If HiGHS neither solves a program nor proves it infeasible.
    """
    program = PerspectiveProgram.of(problem)
    best, columns, multiplier, objective = -math.inf, np.zeros(0), 0.0, 0.0
    for _ in range(_ROUNDS):
        rows, sides = program.inequalities()
        matrix, epochs = program.equalities()
        if program.hopeless:
            return Relaxation(None, math.inf, math.inf, 0.0, len(program.pairs))
        answer = linprog(
            program.costs,
            A_ub=rows,
            b_ub=sides,
            A_eq=matrix,
            b_eq=epochs,
            bounds=(0, None),
            method="highs-ds",
            options=_OPTIONS,
        )
        if answer.status == 2:
            return Relaxation(None, math.inf, math.inf, 0.0, len(program.pairs))
        if answer.status != 0:
            raise RuntimeError(f"HiGHS ended with: {answer.message}")
        columns, objective = answer.x, float(answer.fun)
        timed = problem.maximum_time is not None and problem.maximum_time != math.inf
        multiplier = max(0.0, -float(answer.ineqlin.marginals[0])) if timed else 0.0
        values = np.zeros(len(problem.counts))
        live = problem.counts > 0
        values[live] = answer.eqlin.marginals * problem.counts[live]
        best = max(best, charged_bound(problem, multiplier, values))
        if program.refine(columns) <= _ENOUGH * abs(objective):
            break
    return Relaxation(program.assignment(columns), objective, best, multiplier, len(program.pairs))


def charged_bound(problem: PlacementProblem, multiplier: float, values: FloatArray) -> float:
    """The lower bound of a price and of charges v_g, lowered until it holds in spite of rounding.

    For numbers v_g with  sum over g of max(0, v_g - N_g psi_gn(lam)) <= F_n  for every n, every placement
    costs at least  sum of v_g - lam T_max  (proof: docs/placement, *Transfers*).

    Parameters
    ----------
    values : ndarray
        v_g, shape (G,), of any sign. Where they charge a cluster with more than its F_n, all are lowered
        by the excess, so the bound holds whatever is given, such as the duals of a program [cost].

    Raises
    ------
    InvalidInputError
        If ``multiplier`` is negative or not finite, or positive without T_max.
    """
    limit = problem.maximum_time
    if multiplier != 0 and (limit is None or limit == math.inf):
        raise InvalidInputError("there is no T_max to be priced; only 0 is a multiplier", "multiplier")
    live = problem.counts > 0
    psi, _ = prices(problem, multiplier)
    levels = problem.counts[live, None] * psi[live]
    charged = np.maximum(values[live, None] - levels, 0.0).sum(axis=0)
    broken = max(0.0, float(np.max(charged - problem.transfers, initial=0.0)))
    charge = multiplier * limit if multiplier and limit is not None else 0.0
    size = math.fsum(np.abs(values[live]).tolist()) + charge
    lowered = broken * int(live.sum()) + _ROUNDING * size
    return math.fsum(values[live].tolist()) - charge - lowered
