"""The least that the resources of a plan could cost, its discrete decisions kept: found numerically.

By Lagrangian duality the least cost under the time limit is the greatest value over lam >= 0 of
sum over epochs of min over x of (price x + lam T(k, x))  -  lam T_max,
because the problem is convex in x. Both the inner minima and the outer maximum are searched for; nothing is
solved on paper, so that nothing is shared with `depl.models.problem.allocation`. Every value of the dual is a
lower bound of the cost, so errors of the search make the verifier milder by their square, never stricter.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from depl.models.verifier.laws import FloatArray
from depl.models.verifier.reading import EpochFacts
from depl.models.verifier.tolerances import TIME_TOLERANCE

_RANGE = 200.0
"""Of log x below log r: a resource of exp(-200) of the capacity is none."""

_HALVINGS = 70
"""Halvings of `_RANGE`: 200 times 2**-70 is far below the resolution of a logarithm in double precision. The
end taken is the one that is late, so the cost found is never too great."""

_SLOPES = 40
"""Halvings of `_RANGE` for a minimum: they leave 2e-10 of log x, and a value is off by the square of that."""

_ZOOMS, _GRID = 8, np.linspace(0.0, 1.0, 32)
"""The price of time is searched on this grid, then between the neighbours of its best point, and so on, which
leaves 3e-8 of its logarithm. Numpy takes about as long for 32 prices as for one."""


def least_cost(epochs: Sequence[EpochFacts], maximum_time: float | None, deadline: float | None) -> float:
    """Least sum of price * x over all x that keep the limits [cost].

    Parameters
    ----------
    maximum_time, deadline : float or None
        T_max and tau [time]; None if there is no such limit.
    """
    return float(least_costs([epochs], maximum_time, deadline)[0])


def least_prices(epochs: Sequence[EpochFacts], multipliers: FloatArray, deadline: float | None) -> FloatArray:
    """Least price x + lam T(k, x) of every epoch at every price lam of time; shape (L, n) [cost].

    Infinite where an epoch misses the round deadline with all resources by more than rounding.

    Parameters
    ----------
    multipliers : float array (L,)
        lam >= 0 [cost / time].
    deadline : float or None
        tau [time].
    """
    works, prices, capacities, communications = _columns(epochs)
    charges = multipliers[:, None]
    busy = works > 0.0
    highest = np.log(capacities)
    lowest = _slowest(works, communications, highest, deadline)
    least = _minima(prices, charges * works, lowest, highest)
    found = np.where(busy, least, 0.0) + charges * communications
    if deadline is not None:
        shortest = communications + np.where(busy, works / capacities, 0.0)
        found[:, shortest > deadline * (1.0 + TIME_TOLERANCE)] = math.inf
    return np.asarray(found)


def least_costs(
    plans: Sequence[Sequence[EpochFacts]], maximum_time: float | None, deadline: float | None
) -> FloatArray:
    """`least_cost` of many plans at once, shape (P,) [cost]; each must be able to keep the limits."""
    longest = max(len(epochs) for epochs in plans)
    idle = EpochFacts(work=0.0, price=0.0, capacity=1.0, communication=0.0, resources=0.0)
    rows = [epoch for epochs in plans for epoch in [*epochs, *[idle] * (longest - len(epochs))]]
    works, prices, capacities, communications = (
        column.reshape(len(plans), longest) for column in _columns(rows)
    )
    priced = (works > 0.0) & (prices > 0.0)
    prices = np.where(priced, prices, 0.0)
    highest = np.log(capacities)
    lowest = _slowest(works, communications, highest, deadline)
    free = (prices * np.exp(lowest)).sum(axis=1) if deadline is not None else np.zeros(len(plans))
    if maximum_time is None:
        return np.asarray(free)
    left = maximum_time - communications.sum(axis=1)

    def dual(logarithms: FloatArray) -> FloatArray:
        charges = np.exp(logarithms)
        worked = charges[:, :, None] * works[:, None, :]
        least = _minima(prices[:, None, :], worked, lowest[:, None, :], highest[:, None, :])
        return np.asarray(least.sum(axis=2) - charges * left[:, None])

    scales = np.log(np.where(priced, prices, 1.0)) + 2.0 * highest - np.log(np.where(priced, works, 1.0))
    first = np.where(priced, scales, np.inf).min(axis=1, initial=np.inf) - 60.0
    last = np.where(priced, scales, -np.inf).max(axis=1, initial=-np.inf) + 1.0
    busy = priced.any(axis=1)
    greatest = _greatest(dual, np.where(busy, first, 0.0), np.where(busy, last, 0.0))
    return np.where(busy, np.maximum(free, greatest), 0.0)


def least_resources(epochs: Sequence[EpochFacts], deadline: float | None) -> FloatArray:
    """The least x that meets the round deadline, shape (n,) [resource]; all there are where they are free.

    Without a deadline the infimum 0, and that, too, where there is nothing to compute.
    """
    works, prices, capacities, communications = _columns(epochs)
    least = np.exp(_slowest(works, communications, np.log(capacities), deadline))
    asked = np.where(prices > 0.0, least if deadline is not None else 0.0, capacities)
    return np.asarray(np.where(works > 0.0, np.minimum(asked, capacities), 0.0))


def shortest_times(epochs: Sequence[EpochFacts]) -> FloatArray:
    """T(k) with all resources, shape (n,) [time]."""
    works, _, capacities, communications = _columns(epochs)
    return np.asarray(communications + works / capacities)


def _columns(epochs: Sequence[EpochFacts]) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Work, price, capacity and communication of all epochs, each of shape (n,)."""
    names = ("work", "price", "capacity", "communication")
    works, prices, capacities, communications = (
        np.array([getattr(epoch, name) for epoch in epochs], dtype=float) for name in names
    )
    return works, prices, capacities, communications


def _slowest(
    works: FloatArray, communications: FloatArray, highest: FloatArray, deadline: float | None
) -> FloatArray:
    """log of the least x that meets the deadline, by bisection; far below the capacity without one."""
    low, high = highest - _RANGE, highest.copy()
    if deadline is None:
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        late = communications + works * np.exp(-middle) > deadline
        low, high = np.where(late, middle, low), np.where(late, high, middle)
    return low


def _minima(rising: FloatArray, falling: FloatArray, lowest: FloatArray, highest: FloatArray) -> FloatArray:
    """Least value of rising e^y + falling e^-y over each interval of y, by halving where its slope turns."""
    low, high = (
        np.broadcast_to(end, np.broadcast_shapes(falling.shape, end.shape)) for end in (lowest, highest)
    )
    for _ in range(_SLOPES):
        middle = (low + high) / 2.0
        descends = rising * np.exp(2.0 * middle) < falling
        low, high = np.where(descends, middle, low), np.where(descends, high, middle)
    return np.minimum(*(rising * np.exp(end) + falling * np.exp(-end) for end in (low, high)))


def _greatest(
    values: Callable[[FloatArray], FloatArray], lowest: FloatArray, highest: FloatArray
) -> FloatArray:
    """Greatest value of each function with one peak over its interval, shape (P,).

    Parameters
    ----------
    values : callable
        Maps points of shape (P, L) to the values of all P functions there.
    """
    low, high, rows = lowest, highest, np.arange(len(lowest))
    best = np.full(len(lowest), -math.inf)
    for _ in range(_ZOOMS):
        points = low[:, None] + (high - low)[:, None] * _GRID
        found = values(points)
        best, peak = np.maximum(best, found.max(axis=1)), found.argmax(axis=1)
        low, high = points[rows, np.maximum(peak - 1, 0)], points[rows, np.minimum(peak + 1, len(_GRID) - 1)]
    return best
