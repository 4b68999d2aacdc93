"""Knapsacks solved without planning: dynamic programs over capacity and over value, in exact whole numbers.

They share no code with the methods that solve instances; the command ``depl knapsack`` compares with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from depl.instances.reductions.knapsack import Knapsack
from depl.models.foundation.errors import NotCoveredError

MOST_CELLS = 10**9
"""Most entries (items times capacity or value) of a table; every entry is one bit."""

_UNREACHED = np.int64(2**62)


@dataclass(frozen=True)
class KnapsackSolution:
    """Items by their places from 0, in increasing order, and their total value and weight."""

    items: tuple[int, ...]
    value: Fraction
    weight: Fraction


def best_by_capacity(knapsack: Knapsack) -> KnapsackSolution:
    """Items of most value that fit: the best value for every capacity, item by item.

    Raises
    ------
    NotCoveredError
        If the table would have more than `MOST_CELLS` entries.
    """
    whole = knapsack.whole
    capacity = min(whole.capacity, sum(whole.weights))
    _require_size(len(knapsack), capacity)
    best = np.zeros(capacity + 1, dtype=np.int64)
    taken = []
    for value, weight in zip(whole.values, whole.weights, strict=True):
        better = np.zeros(capacity + 1, dtype=np.bool_)
        if weight <= capacity:
            with_item = best[: capacity + 1 - weight] + value
            better[weight:] = with_item > best[weight:]
            best[weight:] = np.maximum(best[weight:], with_item)
        taken.append(np.packbits(better))
    return solution(knapsack, _traced(taken, whole.weights, capacity))


def best_by_value(knapsack: Knapsack) -> KnapsackSolution:
    """Items of most value that fit: the least weight for every value, item by item.

    Raises
    ------
    NotCoveredError
        If the table would have more than `MOST_CELLS` entries.
    """
    whole = knapsack.whole
    most = sum(whole.values)
    _require_size(len(knapsack), most)
    lightest = np.full(most + 1, _UNREACHED)
    lightest[0] = 0
    taken = []
    for value, weight in zip(whole.values, whole.weights, strict=True):
        better = np.zeros(most + 1, dtype=np.bool_)
        with_item = lightest[: most + 1 - value] + weight
        better[value:] = with_item < lightest[value:]
        lightest[value:] = np.minimum(lightest[value:], with_item)
        taken.append(np.packbits(better))
    best = int(np.flatnonzero(lightest <= whole.capacity)[-1])
    return solution(knapsack, _traced(taken, whole.values, best))


def solution(knapsack: Knapsack, items: Sequence[int]) -> KnapsackSolution:
    """Items with their exact totals."""
    return KnapsackSolution(tuple(sorted(items)), knapsack.value_of(items), knapsack.weight_of(items))


def _traced(taken: Sequence[NDArray[np.uint8]], sizes: Sequence[int], cell: int) -> list[int]:
    """The items that lead to a cell, from the last one back."""
    items = []
    for item in range(len(taken) - 1, -1, -1):
        if taken[item][cell >> 3] >> (7 - (cell & 7)) & 1:
            items.append(item)
            cell -= sizes[item]
    return items


def _require_size(items: int, cells: int) -> None:
    if items * (cells + 1) > MOST_CELLS:
        raise NotCoveredError(
            f"a dynamic program would need {items} times {cells + 1} entries, more than {MOST_CELLS:.0e}; "
            "take fewer items, or numbers with fewer digits"
        )
