"""Better placements by moving one or two epochs, and why no other single move needs to be tried.

At the multiplier lam of its own allocation, a placement costs sum of psi(lam) - lam T_max, and any other one
costs at least the same sum for its own clusters (`depl.models.problem.allocation`). So a change can only pay
if it lowers the sum of psi at this lam: the changes of psi by moving one epoch of class g from n to n' are
one table, and only moves, or pairs of moves, with a negative sum are allocated exactly.
"""

import numpy as np

from depl.heuristics.placement.dual import prices
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.models.problem.allocation import BatchAllocation
from depl.models.problem.laws import FloatArray

_TRIED, _PARTNERS, _ROUNDS = 48, 12, 60
"""Single moves, slower and faster partners of a pair, and rounds. Set by hand: each round allocates up to 48
+ 12 x 12 placements exactly and ends where none is cheaper; with fewer, a move that psi ranks low is
missed."""
_WORTH = 1e-12
"""Relative fall of the cost that a move has to bring: costs are exact to about 1e-13
(`depl.models.foundation.tolerances`), so that no move undoes another by rounding."""

Move = tuple[int, int, int]
"""Class, cluster it leaves, cluster it goes to."""


def improved(
    problem: PlacementProblem, assignment: Assignment, open_clusters: Assignment | None = None
) -> tuple[Assignment, float]:
    """Moves of one or two epochs at a time until none of those tried pays; returns the exact cost as well.

    Parameters
    ----------
    open_clusters : ndarray of int, optional
        The clusters that moves may lead to; all by default. Transfers of clusters that fall empty are saved.

    Notes
    -----
    The result costs at most what the given assignment does.
    """
    allowed = np.arange(len(problem.clusters)) if open_clusters is None else open_clusters
    best, found = assignment, problem.evaluate([assignment])
    cost, multiplier = float(found.costs[0]), float(found.multipliers[0])
    for _ in range(_ROUNDS if np.isfinite(cost) else 0):
        trials = _promising(problem, best, multiplier, allowed)
        if not trials:
            break
        found = _evaluated(problem, best, trials)
        index = int(np.argmin(found.costs))
        if found.costs[index] >= cost * (1 - _WORTH):
            break
        best = _applied(best, trials[index])
        cost, multiplier = float(found.costs[index]), float(found.multipliers[index])
    return best, cost


def _promising(
    problem: PlacementProblem, assignment: Assignment, multiplier: float, allowed: Assignment
) -> list[tuple[Move, ...]]:
    psi, times = prices(problem, multiplier)
    moves, changes, delays = _single_moves(psi, times, assignment, allowed)
    emptied = assignment.sum(axis=0)
    saved = [
        problem.transfers[n] if emptied[n] == assignment[g, n] == 1 else 0.0 for g, n, _ in moves
    ]  # the last epoch of a cluster takes its transfers along
    order = np.argsort(changes - np.array(saved), kind="stable")
    singles = [moves[i] for i in order.tolist() if changes[i] < 0 or saved[i] > 0][:_TRIED]
    return [*((move,) for move in singles), *_pairs(moves, changes, delays, assignment)]


def _single_moves(
    psi: FloatArray, times: FloatArray, assignment: Assignment, allowed: Assignment
) -> tuple[list[Move], FloatArray, FloatArray]:
    """The cheapest moves of one epoch, with their changes of psi and of time."""
    sources = np.argwhere(assignment > 0)
    changes = psi[sources[:, 0]][:, allowed] - psi[sources[:, 0], sources[:, 1]][:, None]
    changes = np.where(allowed[None, :] == sources[:, 1][:, None], np.inf, changes)
    count = min(4 * _TRIED, changes.size)
    flat = np.argpartition(changes, count - 1, axis=None)[:count]
    flat = flat[np.isfinite(changes.ravel()[flat])]
    rows, columns = np.unravel_index(flat, changes.shape)
    group, leave, go = sources[rows, 0], sources[rows, 1], allowed[columns]
    with np.errstate(invalid="ignore"):
        delays = times[group, go] - times[group, leave]
    moves = list(zip(group.tolist(), leave.tolist(), go.tolist(), strict=True))
    return moves, changes.ravel()[flat], np.nan_to_num(delays)


def _pairs(
    moves: list[Move], changes: FloatArray, delays: FloatArray, assignment: Assignment
) -> list[tuple[Move, ...]]:
    """Pairs of a move that slows down and one that speeds up, most promising first."""
    order = np.argsort(changes, kind="stable")
    slower = [i for i in order.tolist() if delays[i] > 0][:_PARTNERS]
    faster = [i for i in order.tolist() if delays[i] < 0][:_PARTNERS]
    found = [
        (float(changes[i] + changes[j]), (moves[i], moves[j]))
        for i in slower
        for j in faster
        if changes[i] + changes[j] < 0 and _possible(assignment, moves[i], moves[j])
    ]
    return [pair for _, pair in sorted(found)]


def _possible(assignment: Assignment, one: Move, other: Move) -> bool:
    return one[:2] != other[:2] or assignment[one[0], one[1]] >= 2


def _evaluated(
    problem: PlacementProblem, assignment: Assignment, trials: list[tuple[Move, ...]]
) -> BatchAllocation:
    """The exact costs of an assignment after each trial; only pairs that are used are looked at."""
    rows, groups, left, reached = (
        np.array(column)
        for column in zip(*((p, *move) for p, moves in enumerate(trials) for move in moves), strict=True)
    )
    places = len(problem.clusters)
    leaves, goes = groups * places + left, groups * places + reached
    pairs = np.union1d(np.flatnonzero(assignment), goes)
    counts = np.tile(assignment.ravel()[pairs], (len(trials), 1))
    np.add.at(counts, (rows, np.searchsorted(pairs, leaves)), -1)
    np.add.at(counts, (rows, np.searchsorted(pairs, goes)), 1)
    used = counts.any(axis=0)
    return problem.evaluate_pairs(np.stack(np.divmod(pairs[used], places), axis=1), counts[:, used])


def _applied(assignment: Assignment, moves: tuple[Move, ...]) -> Assignment:
    found = assignment.copy()
    for g, leave, go in moves:
        found[g, leave] -= 1
        found[g, go] += 1
    return found
