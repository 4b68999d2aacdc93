"""What waits in a best-first search or a ranking: parts of a set of answers, each with a bound."""

import heapq
import itertools
import math
from collections.abc import Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


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
