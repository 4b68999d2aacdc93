"""Optimal placements of small problems, proved: sets of clusters, then everything within the gap.

A placement that costs less than the best known one opens some set W of clusters. Every certificate
(`depl.heuristics.placement.opening.OpeningBound`) bounds its cost by a sum over W: most sets drop out, and
for the others V(W) is computed. Where V(W) is below the best cost, the placement's extra price, sum of psi(
its clusters) - least psi over W, is at most the gap between that cost and F(W) + L_W(lam), for any price lam.
All assignments whose extra stays within the gap at each of several prices are listed, class by class, and
allocated exactly. If no list is too long, the cheapest is optimal; else the least V(W) of an unlisted set is
a lower bound.
"""

import math
from collections.abc import Sequence

import numpy as np

from depl.heuristics.placement.dual import lagrangian, prices
from depl.heuristics.placement.opening import Opened, OpeningBound, Openings, restricted, widened
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.models.problem.laws import FloatArray

_RATIOS = (1.0, 0.5, 0.8, 0.95, 1.05, 1.25, 2.0)
"""Prices, in units of that of the dual, whose gaps an assignment has to keep. Set by hand: each is valid by
itself, and more leave fewer assignments to list, at one more sum for each."""
_SLACK = 1e-11
"""Share of the cost by which gaps are widened: a hundred times the rounding of costs and bounds, 1e-13, so
that no assignment as cheap as the best is left out by rounding."""
_MOST_SETS, _SET_WORK = 1500, 5_000_000
"""Sets of clusters at most, and their number times that of classes and of clusters. Set by hand: each set
costs one dual of that size; with too many sets nothing is listed, and the bound stays as it is."""
_NUMBERS = 2_000_000
"""Numbers of one table of assignments: doubles or 64-bit integers, 16 MB. Set by hand: with more, a set is
not listed, and the bound stays as it is."""


def proved(
    problem: PlacementProblem,
    openings: Openings,
    best: Assignment,
    cost: float,
    certificates: Sequence[OpeningBound],
    allowed: int,
) -> tuple[Assignment, float, float]:
    """The cheapest placement that was found and its cost, and a lower bound of all.

    Parameters
    ----------
    best, cost : ndarray of int, float
        A placement and its exact cost.
    certificates : sequence of OpeningBound
        Lower bounds of all placements.
    allowed : int
        Assignments that may be listed in all.

    Returns
    -------
    tuple of (ndarray of int, float, float)
        At most the given cost; the bound equals the cost if the listing is complete, and is minus infinity
        if too many sets of clusters are left.
    """
    sets = _sets(problem, certificates, cost)
    if sets is None:
        return best, cost, -math.inf
    bound = math.inf
    for opened in sets:
        value = openings.value(opened)
        if value >= cost:
            continue
        listed = _within(problem, opened, openings.dual(opened).multiplier, cost, allowed)
        if listed is None:
            bound = min(bound, value)
            continue
        allowed -= len(listed)
        if len(listed):
            found = problem.evaluate(listed)
            index = int(np.argmin(found.costs))
            if found.costs[index] < cost:
                best, cost = listed[index], float(found.costs[index])
    return best, cost, min(bound, cost)


def _sets(
    problem: PlacementProblem, certificates: Sequence[OpeningBound], cost: float
) -> list[Opened] | None:
    """The sets of clusters whose placements may cost less by every certificate; None if too many.

    Clusters without transfers are in every set.
    """
    groups, places = problem.dimensions
    values = np.array([item.value for item in certificates])
    slack = np.array([item.slack for item in certificates])
    rooms = cost * (1 + _SLACK) - values
    paid = np.flatnonzero((problem.transfers > 0) & (slack <= rooms[:, None]).all(axis=0))
    paid = paid[np.argsort(slack[:, paid].max(axis=0), kind="stable")]
    free = np.flatnonzero(problem.transfers <= 0).tolist()
    most = max(8, min(_MOST_SETS, _SET_WORK // (groups * places)))
    found: list[Opened] = []
    stack: list[tuple[Opened, FloatArray, int]] = [((), rooms, 0)] if (rooms >= 0).all() else []
    while stack:
        extra, room, start = stack.pop()
        if extra or free:
            found.append(tuple(sorted([*free, *extra])))
        for position in range(start, len(paid)):
            left = room - slack[:, paid[position]]
            if (left >= 0).all():
                stack.append(((*extra, int(paid[position])), left, position + 1))
        if len(found) + len(stack) > most:
            return None
    return found


def _within(
    problem: PlacementProblem, opened: Opened, multiplier: float, cost: float, allowed: int
) -> Assignment | None:
    """All assignments to the open clusters whose extra prices stay within the gap; None if too many.

    Clusters whose extra price is beyond the gap for every class are left out first.
    """
    part = restricted(problem, opened)
    paid = math.fsum(problem.transfers[list(opened)].tolist())
    psi, _ = prices(part, multiplier)
    near = (
        psi - psi.min(axis=1, keepdims=True)
        <= (cost - paid) * (1 + _SLACK) - lagrangian(part, multiplier).value
    )
    kept = np.flatnonzero(near[part.counts > 0].any(axis=0))
    opened = tuple(opened[n] for n in kept.tolist())
    part = restricted(part, tuple(kept.tolist()))
    ratios = _RATIOS if multiplier > 0 and part.maximum_time is not None else (1.0,)
    points = [multiplier * ratio for ratio in ratios]
    gaps = np.array([cost - paid - lagrangian(part, point).value for point in points])
    gaps = gaps + _SLACK * cost
    psi = np.stack([prices(part, point)[0] for point in points], axis=-1)
    extras = psi - psi.min(axis=1, keepdims=True)
    rows, totals = np.zeros((1, 0, len(opened)), dtype=np.int64), np.zeros((1, len(points)))
    for g, count in enumerate(part.counts.tolist()):
        listed = _compositions(int(count), extras[g], gaps)
        if listed is None or len(listed) * len(rows) * len(points) > _NUMBERS:
            return None
        added = listed @ _finite(extras[g])
        sums = totals[:, None, :] + added[None, :, :]
        left, right = np.nonzero((sums <= gaps).all(axis=2))
        if len(left) > allowed or len(left) * problem.dimensions[0] * problem.dimensions[1] > _NUMBERS:
            return None
        rows = np.concatenate([rows[left], listed[right][:, None, :]], axis=1)
        totals = sums[left, right]
    return np.stack([widened(problem, opened, row) for row in rows]) if len(rows) else _none(problem)


def _compositions(count: int, extras: FloatArray, gaps: FloatArray) -> Assignment | None:
    """Ways to split ``count`` epochs over the clusters within the gaps, shape (P, N); None if too many."""
    places = len(extras)
    if count == 0:
        return np.zeros((1, places), dtype=np.int64)
    least = int(np.argmin(extras[:, 0]))
    parts = np.zeros((1, places), dtype=np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(extras > 0, np.maximum(gaps, 0) / extras, math.inf).min(axis=1)
    most[least] = 0  # it takes what is left
    for n in np.flatnonzero((most >= 1) & np.isfinite(extras[:, 0])).tolist():
        top = int(min(count, most[n]))
        if len(parts) * (top + 1) * places > _NUMBERS:
            return None
        grown = np.repeat(parts, top + 1, axis=0)
        grown[:, n] = np.tile(np.arange(top + 1), len(parts))
        kept = (grown.sum(axis=1) <= count) & (grown @ _finite(extras)[:, 0] <= gaps[0])
        parts = grown[kept]
    parts[:, least] = count - parts.sum(axis=1)
    return parts


def _finite(extras: FloatArray) -> FloatArray:
    """Infinite extras as 0, where they are multiplied by 0 only."""
    return np.where(np.isinf(extras), 0.0, extras)


def _none(problem: PlacementProblem) -> Assignment:
    return np.zeros((0, *problem.dimensions), dtype=np.int64)
