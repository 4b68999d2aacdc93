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

_SLOPES = 40
"""Halvings of `_RANGE` for a minimum: they leave 2e-10 of log x, and a value is off by the square of that."""

_ZOOMS, _PRICES = 8, 32
"""The price of time is searched among so many, then between the neighbours of the best, and so on, which
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
    columns = _columns(epochs)
    works, prices, capacities, _ = columns
    paid = (works > 0.0) & (prices > 0.0)

    def dual(charges: FloatArray) -> FloatArray:
        return np.asarray(_priced(columns, charges, deadline).sum(axis=1) - charges * (maximum_time or 0.0))

    if not paid.any():
        return 0.0
    best = float(dual(np.zeros(1))[0])
    if maximum_time is None:
        return best
    scales = np.log(prices[paid]) + 2.0 * np.log(capacities[paid]) - np.log(works[paid])
    low, high = float(scales.min()) - 60.0, float(scales.max()) + 1.0
    for _ in range(_ZOOMS):
        points = np.linspace(low, high, _PRICES)
        found = dual(np.exp(points))
        peak = int(found.argmax())
        best = max(best, float(found[peak]))
        low, high = points[max(peak - 1, 0)], points[min(peak + 1, _PRICES - 1)]
    return best


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
    return np.where(late, math.inf, _priced(_columns(epochs), charges, deadline))


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
    """Least price x + lam T(k, x), shape (L, n): halving log x where the slope turns."""
    works, prices, capacities, communications = columns
    worked = charges[:, None] * works
    least = np.maximum(_needed(columns, deadline), capacities * math.exp(-_RANGE))
    low, high = (np.broadcast_to(np.log(end), worked.shape) for end in (least, capacities))
    for _ in range(_SLOPES):
        middle = (low + high) / 2.0
        descends = prices * np.exp(2.0 * middle) < worked
        low, high = np.where(descends, middle, low), np.where(descends, high, middle)
    least = np.minimum(*(prices * np.exp(end) + worked * np.exp(-end) for end in (low, high)))
    return np.where(works > 0.0, least, 0.0) + charges[:, None] * communications
