"""Placement: the best price of time, its rounding, and one program where that is small (Sec. IV-C, E9).

1. Without transfers: the best price of time and its rounding, at most one epoch above the bound.
2. With transfers, where the program is small: the relaxation besides, whose duals count transfers.
3. What the bound leaves open is closed by the program with whole epochs, on all clusters or, where they are
   many, on those that are cheap at the price.

The paper's (1 + epsilon) does not hold for whole epochs; what holds instead, without transfers, is the lower
bound and one epoch.
"""

import math
from dataclasses import dataclass

import numpy as np

from depl.heuristics.placement.dual import best_price, feasible, prices
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.heuristics.placement.program import PerspectiveProgram
from depl.heuristics.placement.rounding import candidates, nearest_whole, repaired
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import PROOF_TOLERANCE, counts_as_proved
from depl.models.problem.laws import FloatArray

_LARGEST = 500
"""Most pairs of a class and a cluster in a program. Set by hand: HiGHS proves such programs within seconds.
Beyond it the bound is that of the price."""
_NEAR = 3
"""Clusters of every class that a program takes where all are too many, the cheapest at the price. Set by
hand: more clusters may give a cheaper placement; the bound does not depend on it."""


@dataclass(frozen=True, eq=False)
class Placement:
    """Epochs on clusters, and how good that is.

    Attributes
    ----------
    assignment : ndarray of int or None
        a_gn, shape (G, N); None if nothing keeps the time limits.
    resources : ndarray or None
        x of an epoch of class g on cluster n, shape (G, N); meaningful where a_gn > 0 [resource].
    cost : float
        Transfers and resources; infinite if infeasible [cost].
    lower_bound : float
        No placement costs less, within the tolerances of HiGHS where its program gave it; infinite if
        there is none [cost].
    multiplier : float
        lam of the exact allocation [cost / time].
    reason : str
        What cannot be kept, with the nearest value that could; empty if feasible.
    """

    assignment: Assignment | None
    resources: FloatArray | None
    cost: float
    lower_bound: float
    multiplier: float
    reason: str = ""

    @property
    def feasible(self) -> bool:
        """Whether the time limits are kept."""
        return self.assignment is not None

    @property
    def optimal(self) -> bool:
        """Whether the cost meets the bound: that of the price, or, where it closed a gap, that of HiGHS.

        The first is proved in floating point with its rounding counted, the second within HiGHS's tolerances.
        """
        return self.feasible and counts_as_proved(self.cost, self.lower_bound)


def place(problem: PlacementProblem, *, prove: bool = True, time_limit: float = 10.0) -> Placement:
    """Place all epochs at little cost, with a lower bound.

    A feasible problem always gets a placement. Without transfers the cost is at most the lower bound and one
    epoch at its fast cluster (`depl.heuristics.placement.rounding`). Time and memory of the rounding depend
    on G and N, not on the numbers of epochs.

    Parameters
    ----------
    prove : bool
        Whether to solve the program with whole epochs for what the bound leaves open. A bound of the program
        is that of HiGHS, within its tolerances.
    time_limit : float
        Of that program [s].

    Raises
    ------
    InvalidInputError
        If the time limit is not positive.
    """
    if not time_limit > 0:
        raise InvalidInputError(f"must be positive, not {time_limit}", "time_limit")
    if problem.epochs == 0:
        return _described(problem, np.zeros(problem.dimensions, dtype=np.int64), 0.0)
    reason = obstacle(problem)
    if reason:
        return Placement(None, None, math.inf, math.inf, 0.0, reason)
    dual = best_price(problem)
    found, bound = candidates(problem, dual), dual.value
    small = problem.dimensions[0] * problem.dimensions[1] <= _LARGEST
    if small and (problem.transfers > 0).any():
        relaxed = PerspectiveProgram.of(problem).relax()
        bound = max(bound, relaxed.lower_bound)
        found += [] if relaxed.shares is None else [repaired(problem, nearest_whole(problem, relaxed.shares))]
    costs = problem.evaluate(found).costs
    best, cost = found[int(np.argmin(costs))], float(np.min(costs))
    if prove and not counts_as_proved(cost, bound):
        near = np.arange(problem.dimensions[1]) if small else _near(problem, dual.multiplier, best)
        best, other = _by_program(problem, near, best, cost, time_limit)
        bound = max(bound, other)
    return _described(problem, best, bound)


def obstacle(problem: PlacementProblem) -> str:
    """Which time limit cannot be kept on any clusters, and the nearest value that could; or nothing."""
    if feasible(problem):
        return ""
    if np.isinf(problem.least).all(axis=1).any():
        quick = problem.shortest.min(axis=1)
        return (
            f"an epoch misses the round deadline {problem.round_deadline:.9g} on every cluster; "
            f"the nearest deadline that can be kept is {quick.max():.9g}"
        )
    total = math.fsum((problem.counts * problem.costs.fastest.min(axis=1)).tolist())
    return (
        f"{problem.epochs} epochs miss maximum_time {problem.maximum_time:.9g} on their fastest clusters; "
        f"the nearest total time that can be kept is {total:.9g}"
    )


def _near(problem: PlacementProblem, multiplier: float, known: Assignment) -> Assignment:
    """The clusters that a placement uses, and the cheapest of every class at a price."""
    psi, _ = prices(problem, multiplier if math.isfinite(multiplier) else 0.0)
    cheap = np.argsort(psi + problem.transfers / problem.epochs, axis=1, kind="stable")[:, :_NEAR]
    return np.unique(np.concatenate([cheap.ravel(), np.flatnonzero(known.any(axis=0))]))


def _by_program(
    problem: PlacementProblem, near: Assignment, best: Assignment, cost: float, time_limit: float
) -> tuple[Assignment, float]:
    """The better of a placement and of that of the program on some clusters; a bound if they are all."""
    if len(near) * problem.dimensions[0] > _LARGEST:
        return best, -math.inf
    whole = len(near) == problem.dimensions[1]
    program = PerspectiveProgram.of(problem if whole else problem.on(near))
    found = program.solve(PROOF_TOLERANCE / 2, time_limit)
    bound = found.lower_bound if whole else -math.inf
    if found.assignment is None:
        return best, bound
    wide = np.zeros(problem.dimensions, dtype=np.int64)
    wide[:, near] = found.assignment
    return (wide if float(problem.evaluate([wide]).costs[0]) < cost else best), bound


def _described(problem: PlacementProblem, assignment: Assignment, bound: float) -> Placement:
    found = problem.evaluate([assignment])
    cost, multiplier = float(found.costs[0]), float(found.multipliers[0])
    resources = problem.resources(multiplier)
    return Placement(assignment, resources, cost, min(bound, cost), multiplier)
