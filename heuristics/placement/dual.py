r"""The price of time: a lower bound at any price, and its best price (no transfers).

For any placement and lam >= 0 the cost is at least L(lam) = sum of N_g min over n of psi_gn(lam) - lam T_max,
psi being the least of kappa x + lam (c / x + s) (docs, *Placement*). L is concave, O(G N) to evaluate
whatever K, and bisection finds its best price, where it is the optimum of the relaxation in which epochs may
be split. There the cheapest clusters change from *slow* ones, which miss T_max at the prices x, to *fast*
ones, which keep it; `depl.heuristics.placement.place` mixes the two.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.placement.problem import PlacementProblem
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.laws import FloatArray

_ROUNDING = 8 * float(np.finfo(float).eps)
"""Share by which L is rounded down: psi takes a few operations, the sum over classes is rounded once
(`math.fsum`); sixteen roundings of 2**-53 cover them."""
_STEP, _EXPANSIONS, _BISECTIONS = 16.0, 120, 60
"""Factor by which the first guess of the price is widened to a bracket, and steps of that and of the
bisection of its logarithm. A bracket of 16 takes 51 halvings to 2e-15. Set by hand: 120 expansions are 144
decades, and the range of doubles ends the loop beyond."""
_CLOSED = 2e-15
"""Ratio of a bracket's prices less 1 at which the bracket is closed: nine roundings."""

Choice = NDArray[np.intp]
"""A cluster for every class, shape (G,)."""


@dataclass(frozen=True, eq=False)
class Priced:
    """What every class does at a price of time.

    Attributes
    ----------
    multiplier : float
        lam [cost / time].
    value : float
        L(lam), lowered by a bound of its own rounding error [cost].
    choice : ndarray of int
        The cheapest cluster of every class, the faster one of equals; shape (G,).
    times : ndarray
        Time of an epoch there, shape (G,) [time].
    """

    multiplier: float
    value: float
    choice: Choice
    times: FloatArray


@dataclass(frozen=True, eq=False)
class Dual:
    """The best price and the two choices around it.

    Attributes
    ----------
    multiplier : float
        lam of the best value found [cost / time].
    value : float
        L(lam): no placement costs less [cost]; infinite if there is none.
    slow, fast : Priced or None
        Just below and just above the best price; equal if T_max does not bind. None if nothing is feasible.
    """

    multiplier: float
    value: float
    slow: Priced | None
    fast: Priced | None

    @property
    def feasible(self) -> bool:
        """Whether the time limits can be kept at all."""
        return self.fast is not None


def prices(problem: PlacementProblem, multiplier: float | FloatArray) -> tuple[FloatArray, FloatArray]:
    """psi and the time of its minimiser, both of shape (G, N).

    Parameters
    ----------
    multiplier : float or ndarray
        lam, one for all clusters or one for each, shape (N,) [cost / time].

    Returns
    -------
    psi : ndarray
        Infinite where the round deadline cannot be kept [cost].
    times : ndarray
        c / x + s; infinite where lam = 0 leaves work without resources [time].
    """
    price = np.asarray(multiplier, dtype=float)
    if not (np.isfinite(price).all() and (price >= 0).all()):
        raise InvalidInputError(f"must be a finite nonnegative number, not {multiplier}", "multiplier")
    return problem.costs.priced(price)


def lagrangian(problem: PlacementProblem, multiplier: float) -> Priced:
    """L(lam) with the choice that attains it; a lower bound of every placement's cost at any lam.

    Transfers are left out, so the bound holds with them too. It speaks of T_max itself, not of the
    tolerance beyond (`depl.models.problem.allocation.dual_bound`).
    """
    limit = problem.maximum_time
    if limit is None and multiplier != 0:
        raise InvalidInputError("there is no T_max to be priced; only 0 is a multiplier", "multiplier")
    psi, times = prices(problem, multiplier)
    least = psi.min(axis=1)
    choice = np.argmin(np.where(psi <= least[:, None], times, math.inf), axis=1)
    total = math.fsum((problem.counts * least).tolist())
    charge = 0.0 if limit is None else multiplier * limit
    value = total if math.isinf(total) else total - charge - _ROUNDING * (total + charge)
    return Priced(multiplier, value, choice, times[np.arange(len(choice)), choice])


def best_price(problem: PlacementProblem) -> Dual:
    """The price of time with the greatest L, by bisection on its supergradient.

    Takes about 60 evaluations of O(G N) at most.
    """
    limit = problem.maximum_time
    quick = _fastest(problem)
    if quick is None or not _keeps(problem, quick):
        return Dual(0.0, math.inf, None, None)
    start = lagrangian(problem, 0.0)
    if limit is None or _time(problem, start.times) <= limit:
        return Dual(0.0, start.value, start, start)
    return _bisect(problem, limit, start, quick)


def feasible(problem: PlacementProblem) -> bool:
    """Whether the time limits can be kept: iff every epoch on its fastest cluster keeps them."""
    quick = _fastest(problem)
    return quick is not None and _keeps(problem, quick)


def _bisect(problem: PlacementProblem, limit: float, slow: Priced, quick: Priced) -> Dual:
    """Between a price that is too low and one that is high enough (``quick`` stands for an infinite one)."""
    best, fast = slow, quick
    trial = _first_guess(problem, limit, quick)
    for _ in range(_EXPANSIONS + _BISECTIONS):
        bracketed = slow.multiplier > 0 and fast is not quick
        if bracketed:
            trial = math.sqrt(slow.multiplier) * math.sqrt(fast.multiplier)
        if not 1e-280 < trial < 1e280 or (bracketed and fast.multiplier <= slow.multiplier * (1 + _CLOSED)):
            break
        point = lagrangian(problem, trial)
        best = max(best, point, key=lambda item: item.value)
        if _time(problem, point.times) > limit:
            slow, trial = point, trial * _STEP
        else:
            fast, trial = point, trial / _STEP
    return Dual(best.multiplier, best.value, slow, fast)


def _first_guess(problem: PlacementProblem, limit: float, quick: Priced) -> float:
    """The multiplier of the fastest clusters, not clipped (Sec. III of `depl.models.problem.allocation`)."""
    rows = np.arange(len(quick.choice))
    roots = problem.costs.root[rows, quick.choice]
    room = limit - math.fsum((problem.counts * problem.communication[rows, quick.choice]).tolist())
    needed = math.fsum((problem.counts * roots).tolist())
    guess = (needed / room) ** 2 if room > 0 else 0.0
    return guess if 1e-200 < guess < 1e200 else 1.0


def _fastest(problem: PlacementProblem) -> Priced | None:
    """The fastest cluster of every class, the one with cheaper full resources of equals."""
    shortest = problem.costs.fastest
    least = shortest.min(axis=1)
    if np.isinf(least).any():
        return None
    full = np.where(shortest <= least[:, None], problem.price * problem.capacity, math.inf)
    return Priced(math.inf, -math.inf, np.argmin(full, axis=1), least)


def _keeps(problem: PlacementProblem, quick: Priced) -> bool:
    limit = problem.maximum_time
    return limit is None or _time(problem, quick.times) <= limit * (1 + TIME_TOLERANCE)


def _time(problem: PlacementProblem, times: FloatArray) -> float:
    return math.fsum((problem.counts * times).tolist())
