"""Optimal placements of small problems, proved: sets of clusters, then everything within the gap.

A placement that costs less than the best known one opens some set W of clusters with V(W) below it
(`depl.heuristics.placement.opening`). For such a W and any price lam, the placement's extra price, sum of
psi(its clusters) - least psi over W, is at most the gap between the best known cost and F(W) + L_W(lam). All
assignments whose extra stays within the gap at each of several prices are listed, class by class, and
allocated exactly. If the lists stay within their allowance, the cheapest is optimal.
"""

import itertools
import math

import numpy as np

from depl.heuristics.placement.dual import lagrangian, prices
from depl.heuristics.placement.opening import Opened, Openings, restricted, widened
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.models.laws import FloatArray

_RATIOS = (1.0, 0.5, 0.8, 0.95, 1.05, 1.25, 2.0)
_SLACK = 1e-11
_LARGEST_CHOICE = 10
_NUMBERS = 2_000_000


def proved(
    problem: PlacementProblem, openings: Openings, best: Assignment, cost: float, allowed: int
) -> tuple[Assignment, float, bool]:
    """The cheapest placement and its cost, and whether it is proved to be the cheapest.

    Parameters
    ----------
    best, cost : ndarray of int, float
        A placement and its exact cost.
    allowed : int
        Assignments that may be listed in all.

    Returns
    -------
    tuple of (ndarray of int, float, bool)
        At most the given cost; False if the allowance did not suffice.
    """
    paid = np.flatnonzero(problem.transfers > 0)
    if len(paid) > _LARGEST_CHOICE:
        return best, cost, False
    free = np.flatnonzero(problem.transfers <= 0).tolist()
    complete = True
    for size in range(len(paid) + 1):
        for extra in itertools.combinations(paid.tolist(), size):
            opened = tuple(sorted([*free, *extra]))
            if not opened or not openings.value(opened) < cost:
                continue
            listed = _within(problem, opened, openings.dual(opened).multiplier, cost, allowed)
            if listed is None:
                complete = False
                continue
            allowed -= len(listed)
            if len(listed):
                found = problem.evaluate(listed)
                index = int(np.argmin(found.costs))
                if found.costs[index] < cost:
                    best, cost = listed[index], float(found.costs[index])
    return best, cost, complete


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
    for n in range(places):
        if n == least or np.isinf(extras[n, 0]):
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(extras[n] > 0, np.maximum(gaps, 0) / extras[n], math.inf).min()
        top = int(min(count, most))
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
