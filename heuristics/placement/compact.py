"""The placement program with whole epochs, solved by HiGHS: the reference for placements.

Tangents (`depl.heuristics.placement.programs`) are added at every solution until its exact cost meets the
bound of the outer approximation. Size does not depend on K, but the tree may: meant for small problems.
"""

import math
import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.heuristics.placement.programs import PerspectiveProgram
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import counts_as_proved

_ROUNDS = 30
"""Programs, each with the tangents that the one before lacked. Set by hand: the loop ends once the bound
meets the cost; one that is cut short returns its best assignment and bound."""


@dataclass(frozen=True, eq=False)
class CompactAnswer:
    """The best assignment of HiGHS.

    Attributes
    ----------
    assignment : ndarray of int or None
        None if infeasible, or nothing was found in time.
    cost : float
        Exact, transfers included; infinite without an assignment [cost].
    lower_bound : float
        Of HiGHS, within its tolerances [cost]; infinite if infeasible.
    rounds : int
        Programs solved.
    """

    assignment: Assignment | None
    cost: float
    lower_bound: float
    rounds: int


def compact_program(problem: PlacementProblem, gap: float = 1e-8, time_limit: float = 60.0) -> CompactAnswer:
    """Solve the program with whole epochs by tangents and HiGHS.

    Parameters
    ----------
    gap : float
        Relative gap at which to stop, at least 0.
    time_limit : float
        Of all programs together [s].

    Raises
    ------
    InvalidInputError
        If ``gap`` is negative or ``time_limit`` is not positive.
    """
    if not (gap >= 0 and time_limit > 0):
        raise InvalidInputError(f"need gap >= 0 and time_limit > 0, not {gap} and {time_limit}", "gap")
    program = PerspectiveProgram.of(problem)
    if program.hopeless:
        return CompactAnswer(None, math.inf, math.inf, 0)
    end = time.perf_counter() + time_limit
    best: Assignment | None = None
    cost, bound = math.inf, -math.inf
    for done in range(1, _ROUNDS + 1):
        answer = _solve(program, max(end - time.perf_counter(), 1e-3))
        if answer.status == 2:
            return CompactAnswer(best, cost, math.inf if best is None else bound, done)
        if answer.mip_dual_bound is not None:
            bound = max(bound, float(answer.mip_dual_bound))
        if answer.x is None:
            return CompactAnswer(best, cost, bound, done)
        found = np.round(program.assignment(answer.x)).astype(np.int64)
        exact = problem.evaluate([found])
        if exact.costs[0] < cost:
            best, cost = found, float(exact.costs[0])
        if counts_as_proved(cost, bound, gap) or answer.status != 0:
            break
        program.refine(answer.x)
        _add_exact(program, found, float(exact.multipliers[0]))
    return CompactAnswer(best, cost, bound, done)


def _solve(program: PerspectiveProgram, time_limit: float):  # type: ignore[no-untyped-def]  # of scipy
    rows, sides = program.inequalities()
    matrix, epochs = program.equalities()
    size, places = program.size, len(program.problem.clusters)
    whole = np.concatenate([np.ones(size), np.zeros(2 * size), np.ones(places)])
    most = np.concatenate([np.full(3 * size, np.inf), np.ones(places)])
    return milp(
        program.costs,
        constraints=[LinearConstraint(rows, -np.inf, sides), LinearConstraint(matrix, epochs, epochs)],
        integrality=whole,
        bounds=Bounds(0, most),
        # without presolve, as all that depl proves by HiGHS; wrong optima came of a tolerance of 1e-9
        options={"time_limit": time_limit, "mip_rel_gap": 0.0, "presolve": False},
    )


def _add_exact(program: PerspectiveProgram, assignment: Assignment, multiplier: float) -> None:
    """Tangents at the resources of the exact allocation, where the assignment trains."""
    problem = program.problem
    used = np.flatnonzero(assignment[program.groups, program.places] > 0)
    shares = problem.resources(multiplier) / problem.capacity
    program.add(used, np.clip(shares[program.groups[used], program.places[used]], 1e-12, 1.0))
