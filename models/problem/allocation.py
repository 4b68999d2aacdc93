"""The cheapest resources of a plan with fixed epochs: closed form with clipping, and its dual (Sec. III).

Derived on the page "The problem, exactly" (``closed-form``), from psi of `epoch_costs`. Rounding: the sums
A and B of that page are of nonnegative numbers formed afresh for the segment that holds T_max, never by
updating: the answer is exact for a T_max that is off by a few units in its last place, so the cost is off by
a few units in the last place of cost + lam T_max, and the time never exceeds T_max by more than that.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.epoch_costs import EpochCosts, price, require_multiplier
from depl.models.problem.epochs import Load
from depl.models.problem.laws import FloatArray

_ROUNDING = 8 * float(np.finfo(float).eps)
"""Relative to the sizes added, what a bound is lowered by, so that it is proved: each price is off by some
five roundings, the exact sum and the difference by one each, and 8 eps are 16."""

_NUMBERS_AT_ONCE = 1 << 20
"""Doubles in one temporary array, 8 MiB; it changes memory, not values."""

BoolArray = NDArray[np.bool_]
Counts = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Allocation:
    """The cheapest resources of one plan, or why there are none.

    Attributes
    ----------
    resources : ndarray
        x per node, shape (K,) [resource]; the full capacities if infeasible.
    cost : float
        sum of kappa x, without transfers [cost]; infinite if infeasible.
    time : float
        Total time including communication [time].
    multiplier : float
        lam of the time row [cost / time]; 0 if the row does not bind or nothing is feasible.
    feasible : bool
        Whether both time limits can be kept.
    fastest_time : float
        Total time with full resources: the least T_max that can be kept [time].
    fastest_epoch : float
        Longest epoch with full resources: the least tau that can be kept [time].
    reason : str
        Which limit cannot be kept, and the nearest value that could; empty if feasible.
    """

    resources: FloatArray
    cost: float
    time: float
    multiplier: float
    feasible: bool
    fastest_time: float
    fastest_epoch: float
    reason: str = ""


@dataclass(frozen=True, eq=False)
class BatchAllocation:
    """What `Allocation` says, for P plans at once."""

    costs: FloatArray  # Shape (P,); infinite where infeasible [cost]
    times: FloatArray  # Shape (P,); the fastest total time where infeasible [time]
    # Shape (P,); 0 where the time row does not bind or the plan is infeasible [cost / time].
    multipliers: FloatArray
    feasible: BoolArray  # Shape (P,), bool


def allocate(loads: Sequence[Load], maximum_time: float | None, round_deadline: float | None) -> Allocation:
    """The cheapest resources that keep both time limits, in O(K log K).

    Parameters
    ----------
    loads : sequence of Load
        One entry per epoch; K = 0 is allowed. Equal entries are treated once.
    maximum_time : float or None
        T_max; None (or infinity) for no time row [time].
    round_deadline : float or None
        tau, for every epoch; None (or infinity) for none [time].

    Raises
    ------
    InvalidInputError
        If a limit is negative or not a number, or if priced work is limited by neither of the two (the
        cost then falls to 0 without reaching it).

    Notes
    -----
    A plan that exceeds a limit with full resources by at most `TIME_TOLERANCE` gets full resources.
    """
    maximum_time, round_deadline = _limits(maximum_time, round_deadline)
    position: dict[Load, int] = {}
    member = np.array([position.setdefault(load, len(position)) for load in loads], dtype=np.intp)
    curves = _curves(tuple(position), maximum_time, round_deadline)
    counts = np.bincount(member, minlength=len(position)).astype(float)[None]
    fastest = float(_totals(counts, curves.shortest)[0])
    reason = _obstacle(curves, member, fastest, maximum_time, round_deadline)
    pace = 0.0 if reason else float(_paces(curves, counts, maximum_time)[0])
    chosen = curves.most if reason else curves.resources(pace)
    resources = chosen[member]
    resources.setflags(write=False)
    return Allocation(
        resources=resources,
        cost=math.inf if reason else float(_totals(counts, curves.price * chosen)[0]),
        time=float(_totals(counts, curves.durations(chosen))[0]),
        multiplier=pace * pace,
        feasible=not reason,
        fastest_time=fastest,
        fastest_epoch=float(curves.shortest.max(initial=0.0)),
        reason=reason,
    )


def allocate_counts(
    loads: Sequence[Load], counts: Counts, maximum_time: float | None, round_deadline: float | None
) -> BatchAllocation:
    """The answers of `allocate` for many plans made of the same few loads, in bounded memory whatever P.

    Parameters
    ----------
    loads : sequence of Load
        The R kinds of epochs.
    counts : ndarray of int
        Shape (P, R): plan p has counts[p, r] epochs of kind r.
    maximum_time, round_deadline : float or None
        As for `allocate`.

    Raises
    ------
    InvalidInputError
        As `allocate`, for a load of any kind.
    """
    maximum_time, round_deadline = _limits(maximum_time, round_deadline)
    curves, plans = _curves(loads, maximum_time, round_deadline), counts.shape[0]
    result = BatchAllocation(np.zeros(plans), np.zeros(plans), np.zeros(plans), np.ones(plans, dtype=bool))
    at_once = max(1, _NUMBERS_AT_ONCE // max(len(loads), 1))
    for first in range(0, plans, at_once):
        rows = slice(first, first + at_once)
        part = counts[rows].astype(float)
        fastest = _totals(part, curves.shortest)
        feasible = ~np.any(part[:, curves.late] > 0, axis=1)
        if maximum_time is not None:
            feasible &= fastest <= maximum_time * (1 + TIME_TOLERANCE)
        paces = _paces(curves, part, maximum_time)
        chosen = curves.resources(paces[:, None])
        result.feasible[rows] = feasible
        result.costs[rows] = np.where(feasible, _totals(part, curves.price * chosen), np.inf)
        result.times[rows] = np.where(feasible, _totals(part, curves.durations(chosen)), fastest)
        result.multipliers[rows] = np.where(feasible, paces * paces, 0.0)
    return result


def dual_bound(
    loads: Sequence[Load], multiplier: float, maximum_time: float | None, round_deadline: float | None
) -> float:
    """sum psi(lam) - lam T_max: a lower bound of the cost at any lam, tight at `allocate`'s [cost].

    The bound is lowered by a bound of its own rounding error, so it holds in floating point too. It speaks
    of T_max itself: resources that use up the tolerance may cost less, by at most lam T_max
    `TIME_TOLERANCE`. Infinite if an epoch cannot keep the deadline. Without T_max there is no time row, so
    only lam = 0 says anything (minus infinity for any other).

    Raises
    ------
    InvalidInputError
        If ``multiplier`` is negative or not finite, or a limit is negative or not a number.
    """
    maximum_time, round_deadline = _limits(maximum_time, round_deadline)
    require_multiplier(multiplier)
    known = {load: price(load, multiplier, round_deadline) for load in set(loads)}
    total = math.fsum(known[load] for load in loads)
    if total == math.inf:
        return math.inf
    if maximum_time is None:
        return total * (1 - _ROUNDING) if multiplier == 0 else -math.inf
    charge = multiplier * maximum_time
    return total - charge - _ROUNDING * (total + charge)


def _curves(loads: Sequence[Load], maximum_time: float | None, round_deadline: float | None) -> EpochCosts:
    curves = EpochCosts.of(loads, round_deadline)
    if maximum_time is None and np.any(curves.movable & (curves.least == 0)):
        raise InvalidInputError(
            "computing costs money but nothing limits time; give maximum_time or round_deadline"
        )
    return curves


def _obstacle(
    curves: EpochCosts,
    member: NDArray[np.intp],
    fastest: float,
    maximum_time: float | None,
    round_deadline: float | None,
) -> str:
    """Which limit cannot be kept, in words, or nothing."""
    late = curves.late[member]
    if late.any():
        durations = curves.shortest[member]
        epoch = int(np.argmax(np.where(late, durations, -np.inf)))
        return (
            f"epoch {epoch + 1} misses the round deadline {round_deadline:.9g} even with all resources; "
            f"the nearest deadline that can be kept is {durations[epoch]:.9g}"
        )
    if maximum_time is not None and fastest > maximum_time * (1 + TIME_TOLERANCE):
        return (
            f"the {len(member)} epochs miss maximum_time {maximum_time:.9g} even with all resources; "
            f"the nearest total time that can be kept is {fastest:.9g}"
        )
    return ""


def _paces(curves: EpochCosts, counts: FloatArray, maximum_time: float | None) -> FloatArray:
    """The least q of every plan at which it takes at most ``maximum_time``; its last breakpoint if none."""
    before = np.zeros(len(counts), dtype=np.intp)
    if maximum_time is None:
        return np.zeros(len(counts))
    breaks = np.unique(np.concatenate([[0.0], curves.start, curves.end]))
    slow = _totals(counts, curves.durations(curves.resources(0.0))) > maximum_time
    last = np.max(np.where(counts > 0, curves.end, 0.0), axis=1, initial=0.0)
    # Too slow at the one; never too slow by more than the tolerance at the other.
    after = np.where(slow, np.searchsorted(breaks, last), before)
    for _ in range(len(breaks).bit_length()):
        middle = (before + after) // 2
        slow = _totals(counts, curves.durations(curves.resources(breaks[middle][:, None]))) > maximum_time
        before, after = np.where(slow, middle, before), np.where(slow, after, middle)
    left, right = breaks[before][:, None], breaks[after][:, None]
    moving = (curves.start <= left) & (curves.end >= right)
    fixed = np.where(moving, curves.communication, curves.durations(curves.resources(right)))
    room = _totals(-counts, fixed, maximum_time)
    needed = _totals(counts, np.where(moving, curves.root, 0.0))
    # Room of a few roundings of T_max says nothing about q; the segment still does.
    free = np.divide(needed, room, out=right[:, 0].copy(), where=room > 0)
    return np.asarray(np.clip(free, left[:, 0], right[:, 0]))


def _totals(counts: FloatArray, values: FloatArray, start: float = 0.0) -> FloatArray:
    """Sums of every plan; those of a single one, which may have thousands of kinds, are rounded once.

    What a plan has none of may be endless, and 0 times infinity is not 0.
    """
    products = np.multiply(counts, values, out=np.zeros(counts.shape), where=counts != 0)
    if len(products) == 1:
        return np.array([math.fsum([start, *products[0].tolist()])])
    return np.asarray(start + np.einsum("pr->p", products))


def _limits(maximum_time: float | None, round_deadline: float | None) -> tuple[float | None, float | None]:
    for name, value in (("maximum_time", maximum_time), ("round_deadline", round_deadline)):
        if value is not None and not value >= 0:
            raise InvalidInputError(f"must be a nonnegative number or None, not {value}", name)
    return (
        None if maximum_time == math.inf else maximum_time,
        None if round_deadline == math.inf else round_deadline,
    )
