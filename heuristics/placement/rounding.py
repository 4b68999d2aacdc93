r"""From the best price to whole epochs: one class is rounded at most, and the result always keeps the limits.

Classes whose slow and fast clusters (`depl.heuristics.placement.dual.Dual`) agree stay there. The others,
which cost the same on either, move from slow to fast in order until the time at the resources x(lam) is at
most T_max, m whole epochs of the last class rounded *up*. So the cost is at most the bound and one epoch on
the fast cluster (proof: docs, *Placement*). Rounded down, or with every tied class slow, the assignment often
still fits with more resources: all are tried, the exact allocation decides.
"""

import math

import numpy as np

from depl.heuristics.placement.dual import Choice, Dual, Priced
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.laws import FloatArray


def rounded(problem: PlacementProblem, dual: Dual) -> Assignment:
    """The assignment of the proof: one class rounded up on the fast cluster, at most."""
    return candidates(problem, dual)[0]


def candidates(problem: PlacementProblem, dual: Dual) -> list[Assignment]:
    """The rounded assignment, and what rounding down or not mixing at all gives.

    Only the first is sure to keep the limits.
    """
    slow, fast = _ends(dual)
    mixed, split = _fractional(problem, slow, fast)
    up = _moved(problem, slow, fast, np.ceil(mixed).astype(np.int64))
    found = [repaired(problem, up)]
    if split is not None:
        found.append(_moved(problem, slow, fast, np.floor(mixed).astype(np.int64)))
    found += [_moved(problem, slow, fast, np.zeros_like(problem.counts))]
    found += [_moved(problem, slow, fast, problem.counts)]
    return found


def fractional(problem: PlacementProblem, dual: Dual) -> tuple[FloatArray, int | None]:
    """The optimum of the relaxation, shape (G, N) [epochs], and the class that it splits, if any."""
    slow, fast = _ends(dual)
    mixed, split = _fractional(problem, slow, fast)
    shares = np.zeros(problem.dimensions)
    rows = np.arange(len(mixed))
    np.add.at(shares, (rows, fast.choice), mixed)
    np.add.at(shares, (rows, slow.choice), problem.counts - mixed)
    return shares, split


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


def _moved(problem: PlacementProblem, slow: Priced, fast: Priced, count: Choice) -> Assignment:
    found = np.zeros(problem.dimensions, dtype=np.int64)
    rows = np.arange(len(count))
    np.add.at(found, (rows, fast.choice), count)
    np.add.at(found, (rows, slow.choice), problem.counts - count)
    return found


def _excess(problem: PlacementProblem, assignment: Assignment) -> float:
    """Time with full resources beyond T_max and its tolerance [time]."""
    limit = problem.maximum_time
    used = assignment > 0
    total = math.fsum((assignment[used] * problem.shortest[used]).tolist())
    return total - (math.inf if limit is None else limit * (1 + TIME_TOLERANCE))
