"""Placement: the best price of time, its rounding, and one program where that is small (Sec. IV-C, E9).

1. Without transfers: the best price and its rounding, at most one epoch above the bound (proof: docs,
   *Placement*); rounded down, or with every tied class slow, the assignment often still fits: all are tried.
2. With transfers, where the program is small: the relaxation besides, whose duals count transfers.
3. What the bound leaves open is closed by the program with whole epochs, on all clusters or, where they are
   many, on those that are cheap at the price. (1 + epsilon) does not hold for whole epochs.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.placement.dual import Dual, Priced, best_price, feasible, prices
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.heuristics.placement.program import PerspectiveProgram
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import PROOF_TOLERANCE, TIME_TOLERANCE, counts_as_proved
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
    epoch at its fast cluster (`rounded`). Time and memory of the rounding depend
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


def rounded(problem: PlacementProblem, dual: Dual) -> Assignment:
    """The assignment of the proof: one class rounded up on the fast cluster, at most."""
    return candidates(problem, dual)[0]


def candidates(problem: PlacementProblem, dual: Dual) -> list[Assignment]:
    """The rounded assignment, and what rounding down or not mixing at all gives.

    Only the first is sure to keep the limits.
    """
    slow, fast = _ends(dual)
    mixed, split = _fractional(problem, slow, fast)
    counts = [np.ceil(mixed), *([] if split is None else [np.floor(mixed)]), 0 * mixed, problem.counts]
    first, *others = (_moved(problem, slow, fast, count.astype(np.int64)) for count in counts)
    return [repaired(problem, first), *others]


def fractional(problem: PlacementProblem, dual: Dual) -> tuple[FloatArray, int | None]:
    """The optimum of the relaxation, shape (G, N) [epochs], and the class that it splits, if any."""
    mixed, split = _fractional(problem, *_ends(dual))
    return _moved(problem, *_ends(dual), mixed), split


def nearest_whole(problem: PlacementProblem, shares: FloatArray) -> Assignment:
    """Fractional epochs rounded: whole parts first, what is missing to the largest fractions of a class."""
    found = np.floor(shares).astype(np.int64)
    missing = problem.counts - found.sum(axis=1)
    order = np.argsort(found - shares, axis=1, kind="stable")
    for g in np.flatnonzero(missing).tolist():
        found[g, order[g, : missing[g]]] += 1
    return found


def repaired(problem: PlacementProblem, assignment: Assignment) -> Assignment:
    """Move epochs to their fastest clusters until all limits can be kept; as it is if they can.

    Epochs that miss the deadline move first, then those that win the most time for the money. Everything on
    its fastest cluster keeps the limits iff anything does, so this ends with a feasible assignment of every
    feasible problem.
    """
    shortest = problem.costs.fastest
    fastest = np.argmin(shortest, axis=1)
    rows = np.arange(len(fastest))
    found = assignment.copy()
    late = np.where(np.isinf(problem.least), found, 0)
    found -= late
    np.add.at(found, (rows, fastest), late.sum(axis=1))
    if _excess(problem, found) <= 0:
        return found
    gains = np.where(np.isinf(shortest), 0.0, shortest - shortest[rows, fastest][:, None])
    full = problem.price * problem.capacity
    extra = np.maximum(full[fastest][:, None] - full, 0.0)
    order = np.argsort(-gains / (extra + 1e-12 * (1 + full.max())), axis=None, kind="stable")
    for flat in order.tolist():
        over = _excess(problem, found)
        g, n = divmod(flat, problem.dimensions[1])
        if over <= 0 or gains[g, n] <= 0:
            break
        count = int(min(found[g, n], math.ceil(min(over / gains[g, n], 1e15))))
        found[g, n] -= count
        found[g, fastest[g]] += count
    return found


def _ends(dual: Dual) -> tuple[Priced, Priced]:
    if dual.slow is None or dual.fast is None:
        raise InvalidInputError("no placement keeps the time limits", "dual")
    return dual.slow, dual.fast


def _fractional(problem: PlacementProblem, slow: Priced, fast: Priced) -> tuple[FloatArray, int | None]:
    """Epochs of every class on the fast cluster, and the class in which they are neither none nor all."""
    mixed = np.zeros(len(problem.counts))
    if problem.maximum_time is None:
        return mixed, None
    movable = slow.choice != fast.choice
    saved = np.where(movable, slow.times - fast.times, 0.0)
    # At the price above, epochs that do not move take the time that they take there.
    times = np.where(movable, slow.times, fast.times)
    over = math.fsum((problem.counts * times).tolist()) - problem.maximum_time
    for g in np.flatnonzero(movable & (saved > 0)).tolist():
        if over <= 0:
            break
        most = int(problem.counts[g])
        if over < most * saved[g]:
            mixed[g] = over / saved[g]
            return mixed, (None if mixed[g] == round(mixed[g]) else g)
        mixed[g], over = most, over - most * saved[g]
    return mixed, None


def _moved(problem: PlacementProblem, slow: Priced, fast: Priced, count: NDArray[Any]) -> NDArray[Any]:
    """So many epochs of every class on its fast cluster, the others on the slow one."""
    found, rows = np.zeros(problem.dimensions, dtype=count.dtype), np.arange(len(count))
    np.add.at(found, (rows, fast.choice), count)
    np.add.at(found, (rows, slow.choice), problem.counts - count)
    return found


def _excess(problem: PlacementProblem, assignment: Assignment) -> float:
    """Time with full resources beyond T_max and its tolerance [time]."""
    limit = problem.maximum_time
    used = assignment > 0
    total = math.fsum((assignment[used] * problem.shortest[used]).tolist())
    return total - (math.inf if limit is None else limit * (1 + TIME_TOLERANCE))
