"""The least that the resources of epochs could cost, their discrete decisions kept: found numerically.

By Lagrangian duality the least cost under the time limit is the greatest value over lam >= 0 of
sum over epochs of min over x of (price x + lam T(k, x))  -  lam T_max,
because the problem is convex in x. Both the inner minima and the outer maximum are searched for, so that
nothing is shared with `depl.models.problem.allocation`. Every value of the dual is a lower bound of the cost,
so errors of the search make the verifier milder by their square, never stricter.
"""

import math
from collections.abc import Sequence

import numpy as np

from depl.models.verifier.laws import FloatArray
from depl.models.verifier.reading import EpochFacts
from depl.models.verifier.tolerances import TIME_TOLERANCE

_RANGE = 200.0
"""Of log x below log r: a resource of exp(-200) of the capacity is none."""

_SLOPES = 34
"""Halvings of `_RANGE` for a minimum: they leave 1.2e-8 of log x, and a value is off by the square of that,
which is less than its rounding."""

_ZOOMS, _GRID = 8, np.linspace(0.0, 1.0, 32)[:, None]
"""The price of time is searched on this grid, then between the neighbours of its best point, and so on, which
leaves 3e-8 of its logarithm. Numpy takes about as long for 32 prices as for one."""

_Columns = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Work, price, capacity and communication of all epochs, each of shape (n,)."""


def least_cost(epochs: Sequence[EpochFacts], maximum_time: float | None, deadline: float | None) -> float:
    """Least sum of price * x over all x that keep the limits, which must be possible [cost].

    Parameters
    ----------
    maximum_time, deadline : float or None
        T_max and tau [time]; None if there is no such limit.
    """
    return float(least_costs([epochs], maximum_time, deadline)[0])


def least_costs(
    plans: Sequence[Sequence[EpochFacts]], maximum_time: float | None, deadline: float | None
) -> FloatArray:
    """`least_cost` of many plans at once, shape (P,) [cost]."""
    owners = np.repeat(np.arange(len(plans)), [len(epochs) for epochs in plans])
    members = owners[:, None] == np.arange(len(plans))
    columns = works, prices, capacities, _ = _columns([epoch for epochs in plans for epoch in epochs])

    def dual(charges: FloatArray) -> FloatArray:
        found = _priced(columns, charges[:, owners], deadline) @ members
        return np.asarray(found - charges * (maximum_time or 0.0))

    paid = (works > 0.0) & (prices > 0.0)
    scales = 2.0 * np.log(capacities) + np.log(np.where(paid, prices, 1.0) / np.where(paid, works, 1.0))
    known, rows = members & paid[:, None], np.arange(len(plans))
    low = np.where(known, scales[:, None] - 60.0, math.inf).min(axis=0, initial=math.inf)
    high = np.where(known, scales[:, None] + 1.0, -math.inf).max(axis=0, initial=-math.inf)
    busy = known.any(axis=0)
    low, high = np.where(busy, low, 0.0), np.where(busy, high, 0.0)
    best = dual(np.zeros((1, len(plans))))[0]
    for _ in range(_ZOOMS if maximum_time is not None else 0):
        points = low + (high - low) * _GRID
        found = dual(np.exp(points))
        best, peak = np.maximum(best, found.max(axis=0)), found.argmax(axis=0)
        low, high = points[np.maximum(peak - 1, 0), rows], points[np.minimum(peak + 1, len(_GRID) - 1), rows]
    return np.where(busy, best, 0.0)


def least_prices(epochs: Sequence[EpochFacts], charges: FloatArray, deadline: float | None) -> FloatArray:
    """Least price x + lam T(k, x) of every epoch at every price lam of time; shape (L, n) [cost].

    Infinite where an epoch misses the round deadline with all resources by more than rounding.

    Parameters
    ----------
    charges : float array (L,)
        lam >= 0 [cost / time].
    deadline : float or None
        tau [time].
    """
    late = False if deadline is None else shortest_times(epochs) > deadline * (1.0 + TIME_TOLERANCE)
    return np.where(late, math.inf, _priced(_columns(epochs), charges[:, None], deadline))


def least_resources(epochs: Sequence[EpochFacts], deadline: float | None) -> FloatArray:
    """The least x that meets the round deadline, shape (n,) [resource]; all there are where they are free.

    Without a deadline the infimum 0, and that, too, where there is nothing to compute.
    """
    columns = works, prices, capacities, _ = _columns(epochs)
    return np.where(works > 0.0, np.where(prices > 0.0, _needed(columns, deadline), capacities), 0.0)


def shortest_times(epochs: Sequence[EpochFacts]) -> FloatArray:
    """T(k) with all resources, shape (n,) [time]."""
    works, _, capacities, communications = _columns(epochs)
    return np.asarray(communications + works / capacities)


def _columns(epochs: Sequence[EpochFacts]) -> _Columns:
    rows = [(epoch.work, epoch.price, epoch.capacity, epoch.communication) for epoch in epochs]
    works, prices, capacities, communications = np.array(rows, dtype=float).reshape(-1, 4).T
    return works, prices, capacities, communications


def _needed(columns: _Columns, deadline: float | None) -> FloatArray:
    """The least x that meets the deadline by eq. (1), the capacity where none does."""
    works, _, capacities, communications = columns
    if deadline is None:
        return np.zeros_like(works)
    left = deadline - communications
    needed = works / np.where(left > 0.0, left, 1.0)
    return np.where(left > 0.0, np.minimum(needed, capacities), capacities)


def _priced(columns: _Columns, charges: FloatArray, deadline: float | None) -> FloatArray:
    """Least price x + lam T(k, x) at prices (L, 1) or (L, n), shape (L, n): halving log x where it turns."""
    works, prices, capacities, communications = columns
    worked = charges * works
    least = np.maximum(_needed(columns, deadline), capacities * math.exp(-_RANGE))
    low, high = (np.broadcast_to(end, worked.shape) for end in (least, capacities))
    for _ in range(_SLOPES):
        middle = np.sqrt(low * high)
        descends = prices * middle * middle < worked
        low, high = np.where(descends, middle, low), np.where(descends, high, middle)
    least = np.minimum(*(prices * end + worked / end for end in (low, high)))
    return np.where(works > 0.0, least, 0.0) + charges * communications
