"""What is done elsewhere, to compare with: each gives an assignment, which is then allocated exactly.

None of them has a bound. `fastest_cluster` and `cheapest_feasible` keep the limits whenever they return one;
`full_resource_greedy` reads the paper's stage 3 with its full-resource assumption; `rounded_to_nearest` is
the rounding of public code for VNF placement, read and not run: no repair, so it may miss T_max.
"""

import math

import numpy as np

from depl.heuristics.placement.dual import Dual
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.heuristics.placement.rounding import fractional, repaired


def fastest_cluster(problem: PlacementProblem) -> Assignment:
    """Every class on the cluster where it is fastest; keeps the limits iff anything does."""
    shortest = problem.costs.fastest
    return _all_on(problem, np.argmin(shortest, axis=1))


def cheapest_feasible(problem: PlacementProblem) -> Assignment | None:
    """Everything on the cluster with the least price per resource that can keep the limits alone, if any."""
    for n in np.argsort(problem.price, kind="stable").tolist():
        assignment = _all_on(problem, np.full(len(problem.counts), n))
        if np.isfinite(problem.evaluate([assignment]).costs[0]):
            return assignment
    return None


def full_resource_greedy(problem: PlacementProblem) -> Assignment:
    """Every class where all resources cost least (kappa r), moved to faster clusters until T_max is kept."""
    full = np.where(np.isinf(problem.least), math.inf, problem.price * problem.capacity)
    return repaired(problem, _all_on(problem, np.argmin(full, axis=1)))


def rounded_to_nearest(problem: PlacementProblem, dual: Dual) -> Assignment:
    """The relaxation rounded to the nearest whole epochs, without a look at the limits."""
    shares, _ = fractional(problem, dual)
    found = np.floor(shares).astype(np.int64)
    missing = problem.counts - found.sum(axis=1)
    order = np.argsort(found - shares, axis=1, kind="stable")
    for g in np.flatnonzero(missing).tolist():
        found[g, order[g, : missing[g]]] += 1
    return found


def _all_on(problem: PlacementProblem, choice: Assignment) -> Assignment:
    found = np.zeros(problem.dimensions, dtype=np.int64)
    found[np.arange(len(choice)), choice] = problem.counts
    return found
