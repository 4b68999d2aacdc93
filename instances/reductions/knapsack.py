"""Knapsacks as exact numbers, and solved without planning: dynamic programs, and branch and bound.

These share no code with the methods that solve instances; the command ``depl knapsack`` compares with them.
"""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.errors import InvalidInputError, NotCoveredError

Number = int | Fraction

MOST_CELLS = 10**9
"""Most entries (items times capacity or value) of a table; every entry is one bit."""

MOST_NODES = 2_000_000
"""Nodes after which branch and bound gives up: a few seconds."""

_UNREACHED = np.int64(2**62)

LARGEST_SUM = 6 * 10**8
"""Most that scaled whole numbers may sum to where they are times or costs.

Times are kept to 1e-9 of T_max, the cost of a plan may be below its exact value by as much, and a search
stops 5e-10 below its incumbent. Together that is at most 0.9 of the least difference of two sums, 1.
"""

LARGEST_LOSS = 10**14
"""Most that they may sum to where they are losses: sums are exact, and the tolerance of a loss is 1e-9."""


class Valued:
    """A problem whose items have values."""

    values: tuple[Fraction, ...]

    def __len__(self) -> int:
        """How many items there are."""
        return len(self.values)

    def value_of(self, items: Iterable[int]) -> Fraction:
        """Value of items, given by their places from 0; an item may be repeated."""
        return sum((self.values[item] for item in items), Fraction(0))


@dataclass(frozen=True)
class Knapsack(Valued):
    """Choose items of most value within a capacity.

    Attributes
    ----------
    values, weights : tuple of Fraction
        Nonnegative, one of each per item.
    capacity : Fraction
        Nonnegative.
    """

    values: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    capacity: Fraction

    @classmethod
    def of(cls, values: Iterable[Number], weights: Iterable[Number], capacity: Number) -> "Knapsack":
        """From whole numbers or fractions."""
        return cls(tuple(map(Fraction, values)), tuple(map(Fraction, weights)), Fraction(capacity))

    def __post_init__(self) -> None:
        """Check lengths and signs."""
        require_columns(values=self.values, weights=self.weights)
        require_nonnegative("capacity", [self.capacity])

    def weight_of(self, items: Iterable[int]) -> Fraction:
        """Weight of items, given by their places from 0; an item may be repeated."""
        return sum((self.weights[item] for item in items), Fraction(0))

    def holds(self, items: Iterable[int]) -> bool:
        """Whether the items fit into the capacity."""
        return self.weight_of(items) <= self.capacity

    @functools.cached_property
    def whole(self) -> "WholeKnapsack":
        """The same in whole numbers, without a common factor."""
        (values, value_unit), (weights, weight_unit) = in_units(self.values), in_units(self.weights)
        return WholeKnapsack(
            values, weights, math.floor(self.capacity / weight_unit), value_unit, weight_unit
        )


@dataclass(frozen=True)
class WholeKnapsack:
    """A knapsack in whole numbers: a value of 1 here is ``value_unit`` there, a weight of 1 ``weight_unit``.

    The capacity is rounded down, which excludes no set of items: their weights are whole.
    """

    values: tuple[int, ...]
    weights: tuple[int, ...]
    capacity: int
    value_unit: Fraction
    weight_unit: Fraction


class Solution(NamedTuple):
    """Items by their places from 0, in increasing order, and their total value."""

    items: tuple[int, ...]
    value: Fraction


def best_by_capacity(knapsack: Knapsack) -> Solution:
    """Items of most value that fit: the best value for every capacity, item by item.

    Raises
    ------
    NotCoveredError
        If the table would have more than `MOST_CELLS` entries.
    """
    whole = knapsack.whole
    capacity = min(whole.capacity, sum(whole.weights))
    require_cells(len(knapsack), capacity + 1)
    best = np.zeros(capacity + 1, dtype=np.int64)
    moves = [(weight,) for weight in whole.weights]
    taken = filled(best, moves, whole.values, np.greater)
    return _solution(knapsack, traced(taken, best.shape, moves, (capacity,)))


def best_by_value(knapsack: Knapsack) -> Solution:
    """Items of most value that fit: the least weight for every value, item by item.

    Raises
    ------
    NotCoveredError
        If the table would have more than `MOST_CELLS` entries.
    """
    whole = knapsack.whole
    require_cells(len(knapsack), sum(whole.values) + 1)
    lightest = unreached((sum(whole.values) + 1,))
    moves = [(value,) for value in whole.values]
    taken = filled(lightest, moves, whole.weights, np.less)
    best = int(np.flatnonzero(lightest <= whole.capacity)[-1])
    return _solution(knapsack, traced(taken, lightest.shape, moves, (best,)))


def best_by_branching(knapsack: Knapsack, most_nodes: int = MOST_NODES) -> Solution:
    """Items of most value that fit, depth first: for numbers with too many digits for a table.

    Items by falling value per weight; at every node the bound of Dantzig, which fills what is left of the
    capacity with the best of the items that are left, the last of them in part.

    Raises
    ------
    NotCoveredError
        If ``most_nodes`` do not prove an optimum.
    """
    whole = knapsack.whole

    def rank(item: int) -> Fraction:
        weight = whole.weights[item]
        return Fraction(-whole.values[item], weight) if weight else Fraction(-(10**30))

    order = sorted(range(len(knapsack)), key=rank)
    values, weights = [whole.values[item] for item in order], [whole.weights[item] for item in order]
    best, chosen = -1, 0
    stack = [(0, 0, whole.capacity, 0)]
    for _ in range(most_nodes):
        if not stack:
            return _solution(knapsack, [item for place, item in enumerate(order) if chosen >> place & 1])
        place, value, room, taken = stack.pop()
        if value > best:
            best, chosen = value, taken
        if place == len(order) or value + _bound(values, weights, place, room) <= best:
            continue
        stack.append((place + 1, value, room, taken))
        if weights[place] <= room:
            entry = (place + 1, value + values[place], room - weights[place], taken | 1 << place)
            stack.append(entry)
    raise NotCoveredError(f"branch and bound did not prove an optimum within {most_nodes} nodes")


def common_unit(numbers: Sequence[Fraction]) -> Fraction:
    """The largest number of which all of them are whole multiples; 1 if all are 0."""
    denominator = math.lcm(*(number.denominator for number in numbers))
    divisor = math.gcd(*(int(number * denominator) for number in numbers))
    return Fraction(divisor, denominator) if divisor else Fraction(1)


def in_units(numbers: Sequence[Fraction]) -> tuple[tuple[int, ...], Fraction]:
    """Numbers as whole multiples of the largest unit, and that."""
    unit = common_unit(numbers)
    return tuple(int(number / unit) for number in numbers), unit


def require_items(items: Iterable[int], count: int) -> tuple[int, ...]:
    """Different items of a problem with ``count``, in increasing order."""
    chosen = sorted(items)
    for place, item in enumerate(chosen):
        if not 0 <= item < count:
            raise InvalidInputError(f"there is no item {item}; items are 0 to {count - 1}", "items")
        if place and item == chosen[place - 1]:
            raise InvalidInputError(f"item {item} is taken twice; name each item once", "items")
    return tuple(chosen)


def require_separable(what: str, total: Number, largest: int = LARGEST_SUM) -> None:
    """Refuse whole numbers whose sum double precision and its tolerances could not tell apart.

    Raises
    ------
    NotCoveredError
        If ``total`` exceeds ``largest``.
    """
    if total > largest:
        raise NotCoveredError(
            f"{what}, as whole numbers without a common factor, sum to {float(total):.3e}; above "
            f"{largest:.0e} tolerances of times and costs (1e-9) could confuse two sums: take fewer or "
            "smaller numbers, or numbers with fewer digits"
        )


def whole_cost(cost: float) -> int:
    """The whole number that the cost of a plan stands for, which may be 1e-9 below it."""
    return math.floor(cost * (1 + 1e-9) + 1e-6)


def require_columns(**columns: Sequence[Fraction]) -> None:
    """Require at least one item, as many entries in every column, and nothing negative."""
    lengths = {name: len(column) for name, column in columns.items()}
    first, count = next(iter(lengths.items()))
    if not count:
        raise InvalidInputError("there is no item; give at least one", first)
    for name, length in lengths.items():
        if length != count:
            raise InvalidInputError(
                f"has {length} entries for {count} {first}; give one of each per item", name
            )
        require_nonnegative(name, columns[name])


def require_nonnegative(name: str, numbers: Sequence[Fraction]) -> None:
    """Refuse negative numbers."""
    for place, number in enumerate(numbers):
        if number < 0:
            where = name if len(numbers) == 1 else f"{name}[{place}]"
            raise InvalidInputError(f"must not be negative, as {float(number):g} is", where)


def unreached(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """A table of which nothing is reached but its first cell, with 0."""
    table = np.full(shape, _UNREACHED)
    table[(0,) * len(shape)] = 0
    return table


def filled(
    table: NDArray[np.int64],
    moves: Sequence[tuple[int, ...]],
    gains: Sequence[int],
    better: Callable[..., NDArray[np.bool_]],
) -> list[NDArray[np.uint8]]:
    """Take item by item where that is better: from every cell to the one ``moves`` further, for its gain.

    Returns
    -------
    list of ndarray
        In which cells each item is taken, as packed bits.
    """
    taken = []
    for move, gain in zip(moves, gains, strict=True):
        there = tuple(slice(step, None) for step in move)
        here = tuple(
            slice(None, max(0, length - step)) for length, step in zip(table.shape, move, strict=True)
        )
        with_item, chosen = table[here] + gain, np.zeros(table.shape, dtype=np.bool_)
        chosen[there] = better(with_item, table[there])
        np.copyto(table[there], with_item, where=chosen[there])
        taken.append(np.packbits(chosen))
    return taken


def traced(
    taken: Sequence[NDArray[np.uint8]],
    shape: tuple[int, ...],
    moves: Sequence[tuple[int, ...]],
    cell: tuple[int, ...],
) -> list[int]:
    """The items that lead to a cell, from the last one back."""
    items = []
    for item in range(len(taken) - 1, -1, -1):
        place = int(np.ravel_multi_index(cell, shape))
        if taken[item][place >> 3] >> (7 - (place & 7)) & 1:
            items.append(item)
            cell = tuple(at - step for at, step in zip(cell, moves[item], strict=True))
    return items


def require_cells(items: int, cells: int) -> None:
    """Refuse a dynamic program that is too large.

    Raises
    ------
    NotCoveredError
        If items times cells exceed `MOST_CELLS`.
    """
    if items * cells > MOST_CELLS:
        raise NotCoveredError(
            f"a dynamic program would need {items} times {cells} entries, more than {MOST_CELLS:.0e}; "
            "take fewer items, or numbers with fewer digits"
        )


def _solution(knapsack: Knapsack, items: Iterable[int]) -> Solution:
    chosen = tuple(sorted(items))
    return Solution(chosen, knapsack.value_of(chosen))


def _bound(values: list[int], weights: list[int], place: int, room: int) -> int:
    """Most whole value that the items from ``place`` on can add."""
    total = 0
    for item in range(place, len(values)):
        if weights[item] > room:
            return total + room * values[item] // weights[item]
        total += values[item]
        room -= weights[item]
    return total
