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
    """What `Allocation` says, for P plans at once.

    Attributes
    ----------
    costs : ndarray
        Shape (P,); infinite where infeasible [cost].
    times : ndarray
        Shape (P,); the fastest total time where infeasible [time].
    multipliers : ndarray
        Shape (P,); 0 where the time row does not bind or the plan is infeasible [cost / time].
    feasible : ndarray
        Shape (P,), bool.
    """

    costs: FloatArray
    times: FloatArray
    multipliers: FloatArray
    feasible: BoolArray


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
    counts = np.bincount(member, minlength=len(position)).astype(float)
    fastest = _total(counts, curves.shortest)
    reason = _obstacle(curves, member, fastest, maximum_time, round_deadline)
    pace = 0.0 if reason else _pace(curves, counts, maximum_time)
    chosen = curves.most if reason else curves.resources(pace)
    resources = chosen[member]
    resources.setflags(write=False)
    return Allocation(
        resources=resources,
        cost=math.inf if reason else _total(counts, curves.price * chosen),
        time=_total(counts, curves.durations(chosen)),
        multiplier=pace * pace,
        feasible=not reason,
        fastest_time=fastest,
        fastest_epoch=float(curves.shortest.max(initial=0.0)),
        reason=reason,
    )


def allocate_counts(
    loads: Sequence[Load], counts: Counts, maximum_time: float | None, round_deadline: float | None
) -> BatchAllocation:
    """The answers of `allocate` for many plans made of the same few loads.

    Breakpoints are common to all plans, so one matrix product gives every plan's time at every breakpoint
    and thereby its segment; the closed form follows. Memory is bounded whatever P.

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
        As `allocate`, for a load of any kind, and if ``counts`` is not a nonnegative (P, R) array.
    """
    maximum_time, round_deadline = _limits(maximum_time, round_deadline)
    counts = np.asarray(counts)
    _require_counts(counts, len(loads))
    segments = _segments(_curves(loads, maximum_time, round_deadline), maximum_time)
    plans = counts.shape[0]
    result = BatchAllocation(np.zeros(plans), np.zeros(plans), np.zeros(plans), np.ones(plans, dtype=bool))
    at_once = max(1, _NUMBERS_AT_ONCE // len(segments.left))
    for first in range(0, plans, at_once):
        rows = slice(first, first + at_once)
        part = _allocate_rows(segments, counts[rows].astype(float), maximum_time)
        result.costs[rows], result.times[rows] = part.costs, part.times
        result.multipliers[rows], result.feasible[rows] = part.multipliers, part.feasible
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


@dataclass(frozen=True, eq=False)
class _Segments:
    """The stretches between neighbouring breakpoints, for all kinds of epochs; J of them.

    Segment j spans the paces [left[j], right[j]]. ``durations`` (J, R) holds at its right end; in it the
    epochs of ``moving`` (J, R) take s + root / q, all others as long as at either end.
    """

    curves: EpochCosts
    left: FloatArray
    right: FloatArray
    durations: FloatArray
    fixed: FloatArray
    moving: FloatArray


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


def _pace(curves: EpochCosts, counts: FloatArray, maximum_time: float | None) -> float:
    """The least q at which the plan takes at most ``maximum_time``, or the last breakpoint if none."""

    def time_at(pace: float) -> float:
        return _total(counts, curves.durations(curves.resources(pace)))

    if maximum_time is None or time_at(0.0) <= maximum_time:
        return 0.0
    breaks = np.unique(np.concatenate([[0.0], curves.start, curves.end]))
    # Too slow at the one; never too slow by more than the tolerance at the other.
    before, after = 0, len(breaks) - 1
    while after - before > 1:
        middle = (before + after) // 2
        if time_at(float(breaks[middle])) > maximum_time:
            before = middle
        else:
            after = middle
    left, right = float(breaks[before]), float(breaks[after])
    moving = (curves.start <= left) & (curves.end >= right)
    fixed = np.where(moving, curves.communication, curves.durations(curves.resources(right)))
    room = math.fsum([maximum_time, *(-counts * fixed).tolist()])
    needed = _total(counts, np.where(moving, curves.root, 0.0))
    # Room of a few roundings of T_max says nothing about q; the segment still does.
    return min(max(needed / room, left), right) if room > 0 else right


def _segments(curves: EpochCosts, maximum_time: float | None) -> _Segments:
    breaks = np.unique(np.concatenate([[0.0], curves.start, curves.end]))
    if maximum_time is None:
        breaks = breaks[:1]
    left, right = np.concatenate([[0.0], breaks[:-1]]), breaks
    durations = curves.durations(curves.resources(right[:, None]))
    moves = (curves.start <= left[:, None]) & (curves.end >= right[:, None])
    return _Segments(
        curves=curves,
        left=left,
        right=right,
        durations=durations,
        fixed=np.where(moves, curves.communication, durations),
        moving=np.where(moves, curves.root, 0.0),
    )


def _allocate_rows(segments: _Segments, counts: FloatArray, maximum_time: float | None) -> BatchAllocation:
    """`allocate_counts` for as many plans as fit into memory; segment 0 is the single pace 0."""
    curves = segments.curves
    fastest = counts @ curves.shortest
    feasible = ~np.any(counts[:, curves.late] > 0, axis=1)
    paces = np.zeros(len(counts))
    if maximum_time is not None:
        feasible &= fastest <= maximum_time * (1 + TIME_TOLERANCE)
        paces = _paces(segments, counts, maximum_time)
    # A kind that a plan does not use may be endless at its pace, and 0 times infinity is not 0.
    chosen = np.where(counts > 0, curves.resources(paces[:, None]), curves.most)
    costs = np.einsum("pr,pr->p", counts, curves.price * chosen)
    times = np.einsum("pr,pr->p", counts, curves.durations(chosen))
    return BatchAllocation(
        costs=np.where(feasible, costs, np.inf),
        times=np.where(feasible, times, fastest),
        multipliers=np.where(feasible, paces * paces, 0.0),
        feasible=feasible,
    )


def _paces(segments: _Segments, counts: FloatArray, maximum_time: float) -> FloatArray:
    """The least q of every plan at which it takes at most ``maximum_time``; its last breakpoint if none."""
    durations = segments.durations
    endless = np.isinf(durations)  # only at pace 0, for work that no deadline hurries
    times = counts @ np.where(endless, 0.0, durations).T
    times[:, 0] += np.where(counts @ endless[0].astype(float) > 0, np.inf, 0.0)
    within = times <= maximum_time
    segment = np.argmax(within, axis=1)
    room = maximum_time - np.einsum("pr,pr->p", counts, np.where(endless, 0.0, segments.fixed)[segment])
    needed = np.einsum("pr,pr->p", counts, segments.moving[segment])
    left, right = segments.left[segment], segments.right[segment]
    exact = np.divide(needed, room, out=right.copy(), where=room > 0)
    last = np.max(np.where(counts > 0, segments.curves.end, 0.0), axis=1, initial=0.0)
    return np.asarray(np.where(within.any(axis=1), np.clip(exact, left, right), last))


def _total(counts: FloatArray, values: FloatArray) -> float:
    return math.fsum((counts * values).tolist())


def _limits(maximum_time: float | None, round_deadline: float | None) -> tuple[float | None, float | None]:
    for name, value in (("maximum_time", maximum_time), ("round_deadline", round_deadline)):
        if value is not None and not value >= 0:
            raise InvalidInputError(f"must be a nonnegative number or None, not {value}", name)
    return (
        None if maximum_time == math.inf else maximum_time,
        None if round_deadline == math.inf else round_deadline,
    )


def _require_counts(counts: Counts, kinds: int) -> None:
    if counts.ndim != 2 or counts.shape[1] != kinds:
        raise InvalidInputError(
            f"has shape {counts.shape}; give one column for each of {kinds} loads", "counts"
        )
    if not np.issubdtype(counts.dtype, np.integer) or (counts.size and counts.min() < 0):
        raise InvalidInputError("must be whole numbers, none negative", "counts")
