"""An interval that is known to contain a number; in which direction it is read or rounded stands here."""

import math
from collections.abc import Callable
from fractions import Fraction

import msgspec


class Interval(msgspec.Struct, frozen=True, omit_defaults=True):
    """lower <= value <= upper; only these two are written where nothing else is known.

    Attributes
    ----------
    lower, upper : float
        The bounds; equal if the value is known exactly, infinite where there is none.
    how : str
        What established them, such as the name of an evaluator.
    exact : Fraction or None
        The value itself, where rational arithmetic gave it; comparisons then use it.
    """

    lower: float
    upper: float
    how: str = ""
    exact: Fraction | None = None

    @classmethod
    def around(cls, value: Fraction, how: str = "") -> "Interval":
        """A rational number, between the floats next to it."""
        return cls(float_below(value), float_above(value), how, value)

    @property
    def lowest(self) -> float | Fraction:
        """What the value is at least; the value itself where it is known."""
        return self.lower if self.exact is None else self.exact

    @property
    def highest(self) -> float | Fraction:
        """What the value does not exceed; the value itself where it is known."""
        return self.upper if self.exact is None else self.exact

    @property
    def width(self) -> float:
        """upper - lower."""
        return self.upper - self.lower

    @property
    def middle(self) -> float:
        """The centre of the interval."""
        return self.lower + (self.upper - self.lower) / 2

    def at_most(self, budget: float | Fraction) -> bool:
        """Whether the value is certified not to exceed ``budget`` (equality counts)."""
        return self.highest <= budget

    def exceeds(self, budget: float | Fraction) -> bool:
        """Whether the value is certified to exceed ``budget``."""
        return self.lowest > budget

    def met_with(self, other: "Interval") -> "Interval":
        """What this interval and another one of the same number say together."""
        return Interval(max(self.lower, other.lower), min(self.upper, other.upper), self.how)

    def mapped(self, rising: Callable[[Fraction], Fraction]) -> "Interval":
        """The image under a function that does not fall, rounded outwards; finite bounds only."""
        if self.exact is not None:
            return Interval.around(rising(self.exact), self.how)
        lower, upper = rising(Fraction(self.lower)), rising(Fraction(self.upper))
        return Interval(float_below(lower), float_above(upper), self.how)

    def negated(self) -> "Interval":
        """That of the number with the other sign."""
        return Interval(-self.upper, -self.lower, self.how, None if self.exact is None else -self.exact)

    def complement(self) -> "Interval":
        """1 less a probability, rounded outwards but not beyond 0 and 1."""
        rest = self.negated().mapped(lambda value: 1 + value)
        return Interval(max(rest.lower, 0.0), min(rest.upper, 1.0), self.how, rest.exact)


def float_below(value: Fraction) -> float:
    """The greatest float that does not exceed ``value``."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def float_above(value: Fraction) -> float:
    """The least float that is at least ``value``."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
