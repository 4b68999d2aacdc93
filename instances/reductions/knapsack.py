"""Knapsack problems as data: exact numbers, nothing rounded."""

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from scipy import special

from depl.models.foundation.errors import InvalidInputError, NotCoveredError

Number = int | Fraction

LARGEST_SUM = 6 * 10**8
"""Most that scaled whole numbers may sum to where they are times or costs.

Times are kept to 1e-9 of T_max, the cost of a plan may be below its exact value by as much, and a search
stops 5e-10 below its incumbent. Together that is at most 0.9 of the least difference of two sums, 1.
"""

LARGEST_LOSS = 10**14
"""Most that they may sum to where they are losses: sums are exact, and the tolerance of a loss is 1e-9."""


@dataclass(frozen=True)
class Knapsack:
    """Choose items of most value within a capacity.

    Attributes
    ----------
    values, weights : tuple of Fraction
        Nonnegative, one of each per item.
    capacity : Fraction
        Nonnegative.

    Raises
    ------
    InvalidInputError
        If there is no item, the lengths differ or a number is negative.
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

    def __len__(self) -> int:
        """How many items there are."""
        return len(self.values)

    def value_of(self, items: Iterable[int]) -> Fraction:
        """Value of items, given by their places from 0; an item may be repeated."""
        return sum((self.values[item] for item in items), Fraction(0))

    def weight_of(self, items: Iterable[int]) -> Fraction:
        """Weight of items, given by their places from 0; an item may be repeated."""
        return sum((self.weights[item] for item in items), Fraction(0))

    def holds(self, items: Iterable[int]) -> bool:
        """Whether the items fit into the capacity."""
        return self.weight_of(items) <= self.capacity

    @functools.cached_property
    def whole(self) -> "WholeKnapsack":
        """The same in whole numbers, without a common factor."""
        value_unit = common_unit(self.values)
        weight_unit = common_unit(self.weights)
        return WholeKnapsack(
            values=tuple(int(value / value_unit) for value in self.values),
            weights=tuple(int(weight / weight_unit) for weight in self.weights),
            capacity=math.floor(self.capacity / weight_unit),
            value_unit=value_unit,
            weight_unit=weight_unit,
        )


@dataclass(frozen=True)
class ChanceKnapsack:
    """Choose items of most value whose independent normal weights fit with a probability.

    Attributes
    ----------
    values, means, variances : tuple of Fraction
        Nonnegative, one of each per item.
    capacity : Fraction
        Nonnegative.
    level : float
        omega, at least 1/2 and below 1.

    Raises
    ------
    InvalidInputError
        If there is no item, the lengths differ, a number is negative or the level is out of range.
    """

    values: tuple[Fraction, ...]
    means: tuple[Fraction, ...]
    variances: tuple[Fraction, ...]
    capacity: Fraction
    level: float

    @classmethod
    def of(
        cls,
        values: Iterable[Number],
        means: Iterable[Number],
        variances: Iterable[Number],
        capacity: Number,
        level: float,
    ) -> "ChanceKnapsack":
        """From whole numbers or fractions."""
        return cls(
            tuple(map(Fraction, values)),
            tuple(map(Fraction, means)),
            tuple(map(Fraction, variances)),
            Fraction(capacity),
            level,
        )

    def __post_init__(self) -> None:
        """Check lengths, signs and the level."""
        require_columns(values=self.values, means=self.means, variances=self.variances)
        require_nonnegative("capacity", [self.capacity])
        if not 0.5 <= self.level < 1:
            raise InvalidInputError(f"must be at least 0.5 and below 1, not {self.level:g}", "level")

    def __len__(self) -> int:
        """How many items there are."""
        return len(self.values)

    def value_of(self, items: Iterable[int]) -> Fraction:
        """Value of items, given by their places from 0."""
        return sum((self.values[item] for item in items), Fraction(0))

    def slack(self, items: Iterable[int]) -> float:
        """Capacity left by items: capacity - sum of means - z sqrt(sum of variances), z = Phi^-1(omega)."""
        chosen = tuple(items)
        mean = sum((self.means[item] for item in chosen), Fraction(0))
        variance = sum((self.variances[item] for item in chosen), Fraction(0))
        return float(self.capacity - mean) - self.safety * math.sqrt(variance)

    @functools.cached_property
    def safety(self) -> float:
        """z = Phi^-1(omega), how many standard deviations of capacity are kept free."""
        return float(special.ndtri(self.level))


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


def common_unit(numbers: Sequence[Fraction]) -> Fraction:
    """The largest number of which all of them are whole multiples; 1 if all are 0."""
    denominator = math.lcm(*(number.denominator for number in numbers))
    divisor = math.gcd(*(int(number * denominator) for number in numbers))
    return Fraction(divisor, denominator) if divisor else Fraction(1)


def require_items(items: Iterable[int], count: int) -> tuple[int, ...]:
    """Different items of a problem with ``count``, in increasing order.

    Raises
    ------
    InvalidInputError
        If one is repeated or does not exist.
    """
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
    """Require at least one item, as many entries in every column, and nothing negative.

    Raises
    ------
    InvalidInputError
        With the name of the column.
    """
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
    """Refuse negative numbers.

    Raises
    ------
    InvalidInputError
        With the name and the place of the first one.
    """
    for place, number in enumerate(numbers):
        if number < 0:
            where = name if len(numbers) == 1 else f"{name}[{place}]"
            raise InvalidInputError(f"must not be negative, as {float(number):g} is", where)
