"""What waits in a best-first search, sets in the order of their values, and golden sections."""

import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")
_Value = TypeVar("_Value")

GOLDEN = (math.sqrt(5) - 1) / 2
"""Golden section: of two points inside an interval, one serves again after each step."""


class BestFirst(Generic[Item]):
    """Items by their bounds, the least first; of equal bounds, that which came first."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Item]] = []
        self._numbers = itertools.count()

    def __len__(self) -> int:
        """How many items wait."""
        return len(self._heap)

    def __iter__(self) -> Iterator[Item]:
        """The items that wait, in no order."""
        return (item for _, _, item in self._heap)

    @property
    def least(self) -> float:
        """The least bound of what waits; infinite if nothing does."""
        return self._heap[0][0] if self._heap else math.inf

    def push(self, bound: float, item: Item) -> None:
        """Let an item wait."""
        heapq.heappush(self._heap, (bound, next(self._numbers), item))

    def pop(self) -> tuple[float, Item]:
        """Take out the item of least bound, with its bound.

        Raises
        ------
        IndexError
            If nothing waits.
        """
        bound, _, item = heapq.heappop(self._heap)
        return bound, item

    def clear(self) -> None:
        """Let nothing wait any more."""
        self._heap.clear()


def ranked_sets(
    size: int,
    parts: Iterable[tuple[frozenset[int], frozenset[int]]],
    best_of: Callable[[frozenset[int], frozenset[int]], tuple[float, frozenset[int], Item]],
) -> Iterator[tuple[frozenset[int], Item, list[Item]]]:
    """Subsets of 0, ..., size - 1, best first, by the partition of Lawler (1972).

    After the best set of a part (elements forced in, elements forced out), the rest of the part is split by
    the first free element in which a set differs from it: part t agrees with it on the first t - 1 free
    elements and differs on the t-th. Parts are solved when they arise and wait in the order of their values.

    Parameters
    ----------
    size : int
    parts : iterable of pairs
        What is forced in and out at first; disjoint parts.
    best_of : callable
        The value of the best set of a part, that set, and what else is known of it.

    Yields
    ------
    tuple
        A set, what is known of the part that it was the best of, and the same of all parts that wait.
    """
    queue = BestFirst[tuple[frozenset[int], frozenset[int], frozenset[int], Item]]()

    def wait(inside: frozenset[int], outside: frozenset[int]) -> None:
        value, subset, found = best_of(inside, outside)
        queue.push(value, (inside, outside, subset, found))

    for inside, outside in parts:
        wait(inside, outside)
    while queue:
        _, (inside, outside, subset, found) = queue.pop()
        yield subset, found, [waiting[-1] for waiting in queue]
        for element in sorted(set(range(size)) - inside - outside):
            if element in subset:
                wait(inside, outside | {element})
                inside = inside | {element}
            else:
                wait(inside | {element}, outside)
                outside = outside | {element}


def golden_sections(
    function: Callable[[float], _Value],
    lower: float,
    upper: float,
    steps: int,
    value: Callable[[_Value], float],
) -> Iterator[tuple[float, _Value]]:
    """Narrow an interval down on a maximum of a unimodal function.

    Parameters
    ----------
    function : callable
        Asked at the two points inside first, then once for every step.
    lower, upper : float
        The interval; each step leaves 0.618 of it.
    steps : int
        At most; who wants fewer stops asking.
    value : callable
        What of an answer is to be greatest. Of equal ones the lower point is kept.

    Yields
    ------
    (float, answer)
        Every point that was asked, with its answer.
    """
    left, right = upper - GOLDEN * (upper - lower), lower + GOLDEN * (upper - lower)
    at_left, at_right = function(left), function(right)
    yield left, at_left
    yield right, at_right
    for _ in range(steps):
        if value(at_left) >= value(at_right):
            upper, right, at_right = right, left, at_left
            left = upper - GOLDEN * (upper - lower)
            at_left = function(left)
            yield left, at_left
        else:
            lower, left, at_left = left, right, at_right
            right = lower + GOLDEN * (upper - lower)
            at_right = function(right)
            yield right, at_right
