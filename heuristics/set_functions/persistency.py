"""Elements that the extreme gains decide before any search, and why certificates stay whole.

For submodular f the gain of i is greatest on the empty set and least on all others. So

    f(A + i) - f(A) < 0          puts i into every minimiser, if A is in every one already;
    f(V - B) - f(V - B - i) >= 0 keeps i out of the least minimiser, if it misses B already.

Round by round A and B grow until neither rule applies. In every greedy base of an order that starts with A,
round by round, and ends with B, the last round first, the entries on A are < 0 and those on B are >= 0
(a gain on a larger set is smaller). The bound f(0) + sum of min(0, s_i) of such bases is therefore
f(A) + sum over free i of min(0, s_i): a search over the orders of the free elements loses nothing, and its
bases are bases of the whole function. Only submodularity is used; where it is not PROVED nothing is decided.
"""

from typing import NamedTuple

import numpy as np

from depl.heuristics.set_functions.functions import BoolArray, FloatArray, IntArray, SetFunction


class Decided(NamedTuple):
    """The elements of a function, as far as their gains decide them.

    Attributes
    ----------
    first : ndarray
        A, in the order of the rounds.
    free : ndarray
        What is left, in the order in which the mean of the greatest and the least gain rises.
    last : ndarray
        B, the last round first.
    """

    first: IntArray
    free: IntArray
    last: IntArray


def decided_by_gains(function: SetFunction) -> Decided:
    """Apply both rules until none applies; O(rounds) evaluations of all gains.

    Parameters
    ----------
    function : SetFunction
        Submodular. If it cannot give all gains together, nothing is decided.

    Returns
    -------
    Decided
        Every element in one of the three parts.
    """
    inside = np.zeros(function.size, dtype=bool)
    outside = np.zeros(function.size, dtype=bool)
    first: list[IntArray] = []
    last: list[IntArray] = []
    free = np.arange(function.size)
    while len(free):
        gains = function.extreme_gains(inside, outside)
        if gains is None:
            break
        greatest, least = gains[0][free], gains[1][free]
        # an element may satisfy both rules by rounding only; then the first one has it
        enters = greatest < 0
        leaves = (least >= 0) & ~enters
        free, entering, leaving = _parted(free, enters, leaves, greatest + least)
        inside[entering], outside[leaving] = True, True
        first, last = [*first, entering], [leaving, *last]
        if not len(entering) and not len(leaving):
            break
    nothing = np.zeros(0, dtype=np.int64)
    return Decided(np.concatenate([nothing, *first]), free, np.concatenate([nothing, *last]))


def _parted(
    free: IntArray, enters: BoolArray, leaves: BoolArray, gains: FloatArray
) -> tuple[IntArray, IntArray, IntArray]:
    rest = np.flatnonzero(~(enters | leaves))
    return free[rest[np.argsort(gains[rest], kind="stable")]], free[enters], free[leaves]
