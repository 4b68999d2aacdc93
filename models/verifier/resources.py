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

_ZOOMS, _GRID = 8, np.linspace(0.0, 1.0, 32)
"""The price of time is searched on this grid, then between the neighbours of its best point, and so on, which
leaves 3e-8 of its logarithm. Numpy takes about as long for 32 prices as for one."""


def least_cost(epochs: Sequence[EpochFacts], maximum_time: float | None, deadline: float | None) -> float:
    """Least sum of price * x over all x that keep the limits, which must be possible [cost].

    Parameters
    ----------
    maximum_time, deadline : float or None
        T_max and tau [time]; None if there is no such limit.
    """
    scales = full_prices(epochs)
    if not scales:
        return 0.0
    best = float(_priced(epochs, np.zeros(1), deadline).sum())
    low, high = min(scales) - 60.0, max(scales) + 1.0
    for _ in range(_ZOOMS if maximum_time is not None else 0):
        points = low + (high - low) * _GRID
        found = _priced(epochs, np.exp(points), deadline).sum(axis=1) - np.exp(points) * (maximum_time or 0.0)
        best, peak = max(best, float(found.max())), int(found.argmax())
        low, high = points[max(peak - 1, 0)], points[min(peak + 1, len(points) - 1)]
    return best


def full_prices(epochs: Sequence[EpochFacts]) -> list[float]:
    """Logarithms of the prices of time from which on epochs that are paid take all resources."""
    return [
        2.0 * math.log(epoch.capacity) + math.log(epoch.price) - math.log(epoch.work)
        for epoch in epochs
        if epoch.work > 0.0 and epoch.price > 0.0
    ]


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
    return np.where(late, math.inf, _priced(epochs, charges, deadline))


def least_resources(epoch: EpochFacts, deadline: float | None) -> float:
    """The least x that meets the round deadline [resource]; all there are where they are free.

    Without a deadline the infimum 0, and that, too, where there is nothing to compute; where no x meets it,
    all there are.
    """
    if epoch.work == 0.0:
        return 0.0
    if epoch.price == 0.0:
        return epoch.capacity
    if deadline is None:
        return 0.0
    left = deadline - epoch.communication
    return min(epoch.work / left, epoch.capacity) if left > 0.0 else epoch.capacity


def shortest_times(epochs: Sequence[EpochFacts]) -> FloatArray:
    """T(k) with all resources, shape (n,) [time]."""
    return np.array([epoch.communication + epoch.work / epoch.capacity for epoch in epochs])


def _priced(epochs: Sequence[EpochFacts], charges: FloatArray, deadline: float | None) -> FloatArray:
    """Least price x + lam T(k, x) at prices (L,), shape (L, n): halving log x where it turns."""
    rows = [
        (
            epoch.work,
            epoch.price,
            max(least_resources(epoch, deadline), epoch.capacity * math.exp(-_RANGE)),
            epoch.capacity,
            epoch.communication,
        )
        for epoch in epochs
    ]
    works, prices, least, capacities, communications = np.array(rows, dtype=float).reshape(-1, 5).T
    worked = charges[:, None] * works
    low, high = (np.broadcast_to(end, worked.shape) for end in (least, capacities))
    for _ in range(_SLOPES):
        middle = np.sqrt(low * high)
        descends = prices * middle * middle < worked
        low, high = np.where(descends, middle, low), np.where(descends, high, middle)
    least = np.minimum(*(prices * end + worked / end for end in (low, high)))
    return np.asarray(np.where(works > 0.0, least, 0.0) + charges[:, None] * communications)
