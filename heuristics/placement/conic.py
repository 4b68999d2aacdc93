"""The relaxation in which epochs may be split, as a ``cvxpy.Problem`` with second-order cones.

eta >= a^2 / phi (`depl.heuristics.placement.programs`) is the rotated cone |(2 a, eta - phi)| <= eta + phi.
This module is the only one of the package that needs cvxpy.
"""

import math

import cvxpy
import numpy as np
from scipy import sparse

from depl.heuristics.placement.problem import PlacementProblem
from depl.heuristics.placement.programs import PerspectiveProgram
from depl.models.foundation.errors import InvalidInputError


def conic_program(problem: PlacementProblem) -> cvxpy.Problem:
    """The relaxation as a ``cvxpy.Problem``; its variables are called ``a``, ``phi``, ``eta`` and ``w``.

    Its value is the optimum up to the tolerance of the conic solver, of either sign: not a certified bound.

    Raises
    ------
    InvalidInputError
        If some class cannot keep the round deadline anywhere.
    """
    program = PerspectiveProgram.of(problem)
    if program.hopeless:
        raise InvalidInputError("no cluster keeps the round deadline for some class", "problem")
    size, places = program.size, len(problem.clusters)
    a, phi, eta = (cvxpy.Variable(size, nonneg=True, name=name) for name in ("a", "phi", "eta"))
    w = cvxpy.Variable(places, nonneg=True, name="w")
    matrix, epochs = program.equalities()
    held = np.flatnonzero(program.least > 0)
    weight = problem.counts[program.groups].astype(float)
    openings = sparse.diags_array(weight) @ w[program.places]
    constraints = [matrix[:, :size] @ a == epochs, phi >= a, a <= openings]
    if len(held):
        constraints.append(sparse.diags_array(program.least[held]) @ phi[held] <= a[held])
    busy = np.flatnonzero(program.busy)
    if len(busy):  # a^2 <= eta phi
        # one column of two numbers for each pair
        sides = cvxpy.Variable((2, len(busy)), name="sides")
        constraints += [sides[0] == 2 * a[busy], sides[1] == eta[busy] - phi[busy]]
        constraints.append(cvxpy.SOC(eta[busy] + phi[busy], sides, axis=0))
    if problem.maximum_time is not None and problem.maximum_time != math.inf:
        computing = (problem.work / problem.capacity)[program.groups, program.places]
        sent = problem.communication[program.groups, program.places]
        constraints.append(computing @ phi + sent @ a <= problem.maximum_time)
    costs = program.costs
    return cvxpy.Problem(
        cvxpy.Minimize(costs[2 * size : 3 * size] @ eta + costs[3 * size :] @ w), constraints
    )
