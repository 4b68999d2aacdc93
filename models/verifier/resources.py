"""The least that the resources of a plan could cost, its discrete decisions kept: found numerically.

By Lagrangian duality the least cost under the time limit is the greatest value over lam >= 0 of
sum over epochs of min over x of (price x + lam T(k, x))  -  lam T_max,
because the problem is convex in x. Both the inner minima and the outer maximum are searched for; nothing is
solved on paper, so that nothing is shared with `depl.models.problem.allocation`. Every value of the dual is a
lower bound of the cost, so errors of the search make the verifier milder by their square, never stricter.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from scipy import optimize

from depl.models.verifier.laws import FloatArray
from depl.models.verifier.reading import EpochFacts
from depl.models.verifier.tolerances import TIME_TOLERANCE

Terms: TypeAlias = Callable[[FloatArray], FloatArray]

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
"""Golden section, of an interval."""

_HALVINGS = 70
"""Halvings of `_RANGE`: 200 times 2**-70 is far below the resolution of a logarithm in double precision. The
end taken is the one that is late, so the cost found is never too great."""

_SECTIONS = 52  # of _RANGE leave 3e-9 of log x, so 1e-17 of a value near its minimum
_RANGE = 200.0  # of log x below log r


def least_cost(epochs: Sequence[EpochFacts], maximum_time: float | None, deadline: float | None) -> float:
    """Least sum of price * x over all x that keep the limits [cost].

    Parameters
    ----------
    maximum_time, deadline : float or None
        T_max and tau [time]; None if there is no such limit.
    """
    working = [epoch for epoch in epochs if epoch.work > 0.0]
    if not working or all(epoch.price == 0.0 for epoch in working):
        return 0.0
    works, prices, capacities, communications = _columns(working)
    highest = np.log(capacities)
    lowest = _slowest(works, communications, highest, deadline)
    free = float(prices @ np.exp(lowest)) if deadline is not None else 0.0
    if maximum_time is None:
        return free
    left = maximum_time - math.fsum(epoch.communication for epoch in epochs)

    def dual(multiplier: float) -> float:
        def terms(logarithms: FloatArray) -> FloatArray:
            return prices * np.exp(logarithms) + multiplier * works * np.exp(-logarithms)

        return float(_minima(terms, lowest, highest).sum()) - multiplier * left

    scales = np.log(prices[prices > 0.0]) + 2.0 * highest[prices > 0.0] - np.log(works[prices > 0.0])
    found = optimize.minimize_scalar(
        lambda logarithm: -dual(math.exp(logarithm)),
        bounds=(float(scales.min()) - 60.0, float(scales.max()) + 1.0),
        method="bounded",
        options={"xatol": 1e-7},
    )
    return max(free, -float(found.fun))


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

    def terms(logarithms: FloatArray) -> FloatArray:
        return prices * np.exp(logarithms) + charges * works * np.exp(-logarithms)

    shape = (len(multipliers), len(works))
    least = _minima(terms, np.broadcast_to(lowest, shape), np.broadcast_to(highest, shape))
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
        charges = np.exp(logarithms)[:, None] * works

        def terms(resources: FloatArray) -> FloatArray:
            return prices * np.exp(resources) + charges * np.exp(-resources)

        return np.asarray(_minima(terms, lowest, highest).sum(axis=1) - np.exp(logarithms) * left)

    scales = np.log(np.where(priced, prices, 1.0)) + 2.0 * highest - np.log(np.where(priced, works, 1.0))
    first = np.where(priced, scales, np.inf).min(axis=1) - 60.0
    last = np.where(priced, scales, -np.inf).max(axis=1) + 1.0
    busy = priced.any(axis=1)
    greatest = -_minima(lambda x: -dual(x), np.where(busy, first, 0.0), np.where(busy, last, 0.0))
    return np.where(busy, np.maximum(free, greatest), 0.0)


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


def _minima(terms: Terms, lowest: FloatArray, highest: FloatArray) -> FloatArray:
    """Least value of every term over its interval, by golden sections (each term has one valley)."""
    low, high = lowest.copy(), highest.copy()
    best = np.minimum(terms(low), terms(high))
    for _ in range(_SECTIONS):
        first, second = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        left, right = terms(first), terms(second)
        best = np.minimum(best, np.minimum(left, right))
        low, high = np.where(left < right, low, first), np.where(left < right, second, high)
    return best
