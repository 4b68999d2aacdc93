"""The k best sets, by Lawler's partition.

After the best set A of a part of all subsets (elements I forced in, O forced out), the rest of it is split by
the first free element in which a set differs from A: part number t agrees with A on the first t - 1 free
elements and differs on the t-th. Every part is again a minimisation of a submodular function (contraction and
deletion), so k best sets take at most k n minimisations. The parts are solved when they arise and wait in a
queue ordered by value; so sets come out in order, and the rank of a set is proved if its value exceeds none
of the certified bounds of the parts that still wait.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from depl.heuristics.set_functions.answers import Minimum
from depl.heuristics.set_functions.functions import Restricted, SetFunction
from depl.heuristics.set_functions.minimise import automatic
from depl.models.foundation.best_first import BestFirst
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
    function: SetFunction, minimise: Callable[[SetFunction], Minimum] = automatic
) -> Iterator[RankedSet]:
    """All sets, best first, each made when it is asked for; see `k_best`."""
    everything = frozenset(range(function.size))

    def wait(inside: frozenset[int], outside: frozenset[int]) -> None:
        free = sorted(everything - inside - outside)
        if not free:  # a single set is its own best
            found = function.value(inside)
            part = _Part(inside, outside, inside, found, found, True)
        else:
            best = minimise(Restricted(function, inside, outside))
            subset = inside | {free[place] for place in best.subset}
            part = _Part(inside, outside, subset, best.value, best.lower_bound, best.optimal)
        queue.push(part.value, part)

    queue = BestFirst[_Part]()
    wait(frozenset(), frozenset())
    while queue:
        _, first = queue.pop()
        lower = min([first.lower_bound, *(waiting.lower_bound for waiting in queue)])
        optimal = first.optimal and all(waiting.optimal for waiting in queue)
        yield RankedSet(first.subset, first.value, lower, optimal)
        inside, outside = first.inside, first.outside
        for element in sorted(everything - inside - outside):
            if element in first.subset:
                wait(inside, outside | {element})
                inside = inside | {element}
            else:
                wait(inside | {element}, outside)
                outside = outside | {element}
