"""Placement: price, round, improve, and prove where the problem is small (Sec. IV-C, E9).

1. Without transfers: the best price of time, its rounding, moves of one or two epochs.
2. With transfers: the same on the sets of clusters that add and drop ends with.
3. If the best cost is above the lower bound, everything within the gap is listed as long as that is little.

The paper's (1 + epsilon) does not hold for whole epochs; what holds instead, without transfers, is the lower
bound and one epoch, and (2 + delta) by `depl.heuristics.placement.pruning`.
"""

import math
from dataclasses import dataclass

import numpy as np

from depl.heuristics.placement.charging import lower_bound, transfer_certificates
from depl.heuristics.placement.dual import feasible, nonempty
from depl.heuristics.placement.improving import improved
from depl.heuristics.placement.opening import Opened, OpeningBound, Openings, restricted, widened
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.heuristics.placement.proof import proved
from depl.heuristics.placement.rounding import candidates
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import PROOF_TOLERANCE, counts_as_proved
from depl.models.problem.laws import FloatArray

_SETS = 4
"""Sets of clusters, the best first, on which a placement is made. Set by hand: their V bounds the cost from
below only, so that a later one may be cheaper; each costs one rounding and one improvement."""


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
        No placement costs less; infinite if there is none [cost].
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
        """Whether no placement is cheaper, proved."""
        return self.feasible and counts_as_proved(self.cost, self.lower_bound)


def place(problem: PlacementProblem, listed: int = 20_000) -> Placement:
    """Place all epochs at little cost, with a certified lower bound.

    A feasible problem always gets a placement. Without transfers the cost is at most the lower bound and one
    epoch at its fast cluster (`depl.heuristics.placement.rounding`). Time and memory depend on G and N, not
    on the numbers of epochs.

    Parameters
    ----------
    listed : int
        Assignments that may be listed to prove the placement optimal; 0 for none.

    Raises
    ------
    InvalidInputError
        If ``listed`` is negative.
    """
    if listed < 0:
        raise InvalidInputError(f"must not be negative, not {listed}", "listed")
    if problem.epochs == 0:
        return _described(problem, np.zeros(problem.dimensions, dtype=np.int64), 0.0)
    live = problem.counts > 0
    if not live.all():
        answer = place(nonempty(problem), listed)
        return answer if answer.assignment is None else _padded(problem, answer, answer.assignment)
    reason = obstacle(problem)
    if reason:
        return Placement(None, None, math.inf, math.inf, 0.0, reason)
    openings = Openings(problem)
    priced = bool((problem.transfers > 0).any())
    sets = openings.search()[:_SETS] if priced else [tuple(range(len(problem.clusters)))]
    best, cost = min((_on(problem, openings, opened) for opened in sets), key=lambda item: item[1])
    multiplier = float(problem.evaluate([best]).multipliers[0])
    if priced:
        used = np.flatnonzero(best.any(axis=0)).tolist()
        known = transfer_certificates(problem, multiplier, used, cost * (1 - PROOF_TOLERANCE / 2))
    else:
        known = [OpeningBound(openings.value(sets[0]), problem.transfers)]
    bound = lower_bound(problem, known)
    if listed and not counts_as_proved(cost, bound):
        best, cost, other = proved(problem, openings, best, cost, known, listed)
        bound = max(bound, other)
    return _described(problem, best, bound)


def obstacle(problem: PlacementProblem) -> str:
    """Which time limit cannot be kept on any clusters, and the nearest value that could; or nothing."""
    if feasible(problem):
        return ""
    live = problem.counts > 0
    quick = problem.shortest[live].min(axis=1)
    if np.isinf(problem.least[live]).all(axis=1).any():
        return (
            f"an epoch misses the round deadline {problem.round_deadline:.9g} on every cluster; "
            f"the nearest deadline that can be kept is {quick.max():.9g}"
        )
    quick = problem.costs.fastest[live].min(axis=1)
    total = math.fsum((problem.counts[live] * quick).tolist())
    return (
        f"{problem.epochs} epochs miss maximum_time {problem.maximum_time:.9g} on their fastest clusters; "
        f"the nearest total time that can be kept is {total:.9g}"
    )


def _on(problem: PlacementProblem, openings: Openings, opened: Opened) -> tuple[Assignment, float]:
    """The best placement found on some clusters, with its exact cost."""
    part = restricted(problem, opened)
    wide = [widened(problem, opened, item) for item in candidates(part, openings.dual(opened))]
    start = wide[int(np.argmin(problem.evaluate(wide).costs))]
    return improved(problem, start, np.array(opened))


def _described(problem: PlacementProblem, assignment: Assignment, bound: float) -> Placement:
    found = problem.evaluate([assignment])
    cost, multiplier = float(found.costs[0]), float(found.multipliers[0])
    resources = problem.resources(multiplier)
    return Placement(assignment, resources, cost, min(bound, cost), multiplier)


def _padded(problem: PlacementProblem, answer: Placement, assignment: Assignment) -> Placement:
    """The answer with the classes of no epochs put back."""
    wide = np.zeros(problem.dimensions, dtype=np.int64)
    wide[problem.counts > 0] = assignment
    return _described(problem, wide, answer.lower_bound)
