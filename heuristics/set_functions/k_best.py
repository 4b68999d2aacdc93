"""The k best sets, by Lawler's partition.

After the best set A of a part of all subsets (elements I forced in, O forced out), the rest of it is split by
the first free element in which a set differs from A: part number t agrees with A on the first t - 1 free
elements and differs on the t-th. Every part is again a minimisation of a submodular function (contraction and
deletion), so k best sets take at most k n minimisations. The parts are solved when they arise and wait in a
queue ordered by value; so sets come out in order, and the rank of a set is proved if its value exceeds none
of the certified bounds of the parts that still wait.
"""

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from depl.heuristics.set_functions.answers import Minimum
from depl.heuristics.set_functions.functions import Restricted, SetFunction
from depl.heuristics.set_functions.minimise import automatic
from depl.models.foundation.errors import InvalidInputError


@dataclass(frozen=True)
class RankedSet:
    """One of the best sets, in order.

    Attributes
    ----------
    subset : frozenset of int
        The set.
    value : float
        f of it.
    lower_bound : float
        No set that has not been listed before it has a smaller value.
    optimal : bool
        Whether its rank is proved: every part that it was the best of, and every part that waits, has a
        proved minimum.
    """

    subset: frozenset[int]
    value: float
    lower_bound: float
    optimal: bool


@dataclass(frozen=True)
class _Part:
    inside: frozenset[int]
    outside: frozenset[int]
    subset: frozenset[int]
    value: float
    lower_bound: float
    optimal: bool


def k_best(
    function: SetFunction,
    count: int,
    minimise: Callable[[SetFunction], Minimum] = automatic,
) -> list[RankedSet]:
    """The ``count`` best sets in order, fewer if there are no more.

    Parameters
    ----------
    function : SetFunction
        f.
    count : int
        k >= 1.
    minimise : callable
        Minimises the parts; it has to cover `Restricted` functions.

    Raises
    ------
    InvalidInputError
        If ``count`` is not positive.
    """
    if count < 1:
        raise InvalidInputError(f"must be at least 1, not {count}", "count")
    return list(itertools.islice(ranked(function, minimise), count))


def ranked(
    function: SetFunction,
    minimise: Callable[[SetFunction], Minimum] = automatic,
    nonempty: bool = False,
) -> Iterator[RankedSet]:
    """All sets, best first, each made when it is asked for; see `k_best`.

    With ``nonempty`` the empty set is left out and never evaluated: the partition begins with one part for
    each element, of the sets whose first element it is.
    """
    everything = frozenset(range(function.size))
    numbers = itertools.count()
    parts = [(frozenset({i}), frozenset(range(i))) for i in range(function.size)] if nonempty else None
    solved = [_solved(function, minimise, *part) for part in parts or [(frozenset(), frozenset())]]
    queue = [(first.value, next(numbers), first) for first in solved]
    heapq.heapify(queue)
    while queue:
        _, _, part = heapq.heappop(queue)
        bounds = [waiting.lower_bound for _, _, waiting in queue]
        optimal = part.optimal and all(waiting.optimal for _, _, waiting in queue)
        yield RankedSet(part.subset, part.value, min([part.lower_bound, *bounds]), optimal)
        inside, outside = part.inside, part.outside
        for element in sorted(everything - inside - outside):
            if element in part.subset:
                child = _solved(function, minimise, inside, outside | {element})
                inside = inside | {element}
            else:
                child = _solved(function, minimise, inside | {element}, outside)
                outside = outside | {element}
            heapq.heappush(queue, (child.value, next(numbers), child))


def best_nonempty(function: SetFunction, minimise: Callable[[SetFunction], Minimum] = automatic) -> RankedSet:
    """The best set with at least one element: of at most n + 1 minimisations.

    Raises
    ------
    InvalidInputError
        If there are no elements.
    """
    if function.size == 0:
        raise InvalidInputError("there is no nonempty set without elements")
    return next(found for found in ranked(function, minimise) if found.subset)


def _solved(
    function: SetFunction,
    minimise: Callable[[SetFunction], Minimum],
    inside: frozenset[int],
    outside: frozenset[int],
) -> _Part:
    part = Restricted(function, inside, outside)
    if part.size == 0:  # a single set is its own best
        value = function.value(inside)
        return _Part(inside, outside, inside, value, value, True)
    found = minimise(part)
    subset = part.whole(found.subset)
    return _Part(inside, outside, subset, found.value, found.lower_bound, found.optimal)
