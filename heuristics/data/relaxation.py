"""A lower bound on f over all sets that contain some datasets and miss others: the fractional frontier.

Without prices, f falls in Q and rises in T, so for a given added volume s only the least duration counts.
Over x in [0, 1]^n it is phi(s) = min { tau.x : q.x = s }, fractional knapsack: convex, piecewise linear,
with the prefix sums in the order of tau_d / q_d as its corners. So

    f(D) >= min over s of g(s),    g(s) = K(s) (t0 + phi(s)).

On an interval [l, u] inside a piece of phi, K lies above its tangent k at the middle (it is convex), and the
product of the falling k with the rising linear T is concave: g >= min(k(l) T(l), k(u) T(u)). Intervals whose
bound is not yet good enough are split; the error falls with the square of the width. No property of a data
law is used but that K falls and is convex.
"""

from dataclasses import dataclass, fields

import numpy as np

from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.prefix import density_order
from depl.heuristics.data.problem import SelectionProblem, training_time
from depl.heuristics.set_functions.functions import BoolArray, FloatArray, IntArray
from depl.models.foundation.errors import NotCoveredError

_PARTS = 4
"""Parts of an interval that is split: the error falls with the square of the width, so by a factor of 16. Set
by hand: two take twice the rounds, more evaluate parts that one split would have settled."""
_ROUNDS = 40
"""Rounds of splitting: after 26 an interval is 4**26 = 2**52 times narrower, which is the rounding of
doubles, and its bound is that of its ends. More, set by hand, keep the loop finite where K^ is so steep that
rounding still shows."""
_PRECISION = 2e-13
"""Relative difference of a bound and a value that counts as none: a thousand roundings of doubles, and a
fifth of `depl.heuristics.data.branching.CLOSED`, at which a node is left."""
_MOST_WEAK = 5_000
"""Intervals that may be open at once. Set by hand: where f is flat, splitting closes none of them; branching
decides what is left, and the bound so far is valid."""


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The bound of one part of the search.

    Attributes
    ----------
    bound : float
        No set of the part has a smaller value, up to rounding.
    order : ndarray
        The free datasets in the order of the frontier at the best point.
    volume : float
        Added volume s at the best point [data].
    whole : int
        So many datasets of ``order`` are taken whole there.
    integral : bool
        Whether the best point takes no dataset in part.
    """

    bound: float
    order: IntArray
    volume: float
    whole: int
    integral: bool


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals of added volume inside pieces of the frontier, with T and their bounds.

    ``ends`` is the lesser value of f at the two ends of an interval.
    """

    low: FloatArray
    high: FloatArray
    low_duration: FloatArray
    high_duration: FloatArray
    bounds: FloatArray
    ends: FloatArray

    def replaced(self, old: BoolArray, new: "Intervals") -> "Intervals":
        """The intervals but the old ones, and the new ones."""
        kept = ~old
        return Intervals(
            *(
                np.concatenate([getattr(self, field.name)[kept], getattr(new, field.name)])
                for field in fields(self)
            )
        )


def relaxed(problem: SelectionProblem, cutoff: float = np.inf, least: float = 0.0) -> Relaxed:
    """The bound over all sets of a problem that add enough volume.

    Parameters
    ----------
    problem : SelectionProblem
        Of a part of the search, see `SelectionProblem.restricted`; with at least one dataset.
    cutoff : float
        Once the bound is known to be at least this, it is not refined further.
    least : float
        Least added volume: the smallest dataset where the empty set is not allowed [data].

    Raises
    ------
    NotCoveredError
        For K^ from a table, and for transfers.
    """
    if not isinstance(problem.needed, NeededEpochs):
        raise NotCoveredError("K^ from a table has no volumes")
    if problem.priced:
        raise NotCoveredError("transfers have no fractional frontier; list all sets")
    needed = problem.needed
    order = density_order(problem)
    volume, duration = _corners(problem.volumes[order]), _corners(problem.durations[order])
    values = training_time(needed.at(volume), problem.fixed_duration + duration)
    values[volume < least * (1 - _PRECISION)] = np.inf
    corner = int(np.argmin(values))
    parts = _refined(
        needed, _pieces(problem, needed, least), min(cutoff - problem.constant, float(values[corner]))
    )
    place = int(np.argmin(parts.bounds))
    bound = float(parts.bounds[place])
    least_bound = min(bound, float(values[corner])) + problem.constant
    if bound >= values[corner] * (1 - _PRECISION):
        return Relaxed(least_bound, order, volume[corner], corner, True)
    middle = float(parts.low[place] + parts.high[place]) / 2
    whole = int(np.searchsorted(volume, middle, side="right")) - 1
    return Relaxed(least_bound, order, middle, min(whole, len(order) - 1), False)


def _pieces(problem: SelectionProblem, needed: NeededEpochs, least: float) -> Intervals:
    """One interval for each piece of the frontier beyond ``least``."""
    order = density_order(problem)
    volume, duration = _corners(problem.volumes[order]), _corners(problem.durations[order])
    length = problem.fixed_duration + duration
    first = min(int(np.searchsorted(volume, least, side="right")) - 1, len(order) - 1)
    start = float(np.interp(least, volume, length))
    volume = np.concatenate([[min(least, volume[-1])], volume[first + 1 :]])
    length = np.concatenate([[start], length[first + 1 :]])
    return _bounded(needed, volume[:-1], volume[1:], length[:-1], length[1:])


def _bounded(
    needed: NeededEpochs,
    low: FloatArray,
    high: FloatArray,
    start: FloatArray,
    end: FloatArray,
) -> Intervals:
    middle, count = (low + high) / 2, len(low)
    epochs, slope = needed.at(np.concatenate([low, middle, high])), needed.slope(middle)
    first, value, last = epochs[:count], epochs[count : 2 * count], epochs[2 * count :]
    left = (value + slope * (low - middle)) * start
    right = (value + slope * (high - middle)) * end
    ends = np.minimum(training_time(first, start), training_time(last, end))
    return Intervals(low, high, start, end, np.minimum(left, right), ends)


def _refined(needed: NeededEpochs, parts: Intervals, cutoff: float) -> Intervals:
    """Split intervals until every bound is at least the cutoff, or as good as rounding lets it be."""
    for _ in range(_ROUNDS):
        target = min(cutoff, float(parts.ends.min()))
        weak = parts.bounds < np.minimum(target, parts.ends) * (1 - _PRECISION)
        count = np.count_nonzero(weak)
        # where the product is flat, every interval stays weak: what is left is decided by branching
        if not count or count > _MOST_WEAK:
            break
        share = np.arange(_PARTS + 1) / _PARTS
        grid = [
            start[weak, None] + share * (end - start)[weak, None]
            for start, end in ((parts.low, parts.high), (parts.low_duration, parts.high_duration))
        ]
        low, high, start, end = (part.ravel() for cells in grid for part in (cells[:, :-1], cells[:, 1:]))
        parts = parts.replaced(weak, _bounded(needed, low, high, start, end))
    return parts


def _corners(numbers: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(numbers)])
