"""An interval that is known to contain a number, and how that was established."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Interval:
    """lower <= value <= upper.

    Attributes
    ----------
    lower, upper : float
        The bounds; equal if the value is known exactly.
    evaluator : str
        Which evaluator established them.
    exact : Fraction or None
        The value itself, where rational arithmetic gave it; comparisons then use it.
    """

    lower: float
    upper: float
    evaluator: str
    exact: Fraction | None = None

    def at_most(self, budget: Fraction) -> bool:
        """Whether the value is certified not to exceed ``budget`` (equality counts)."""
        return (self.upper if self.exact is None else self.exact) <= budget

    def exceeds(self, budget: Fraction) -> bool:
        """Whether the value is certified to exceed ``budget``."""
        return (self.lower if self.exact is None else self.exact) > budget

    def met_with(self, other: "Interval") -> "Interval":
        """What this interval and another one of the same number say together."""
        return Interval(max(self.lower, other.lower), min(self.upper, other.upper), self.evaluator)

    def mapped(self, rising: Callable[[Fraction], Fraction]) -> "Interval":
        """The image under a function that does not fall, rounded outwards; finite bounds only."""
        if self.exact is not None:
            return enclosed(rising(self.exact), self.evaluator)
        ends = (enclosed(rising(Fraction(end)), self.evaluator) for end in (self.lower, self.upper))
        lower, upper = ends
        return Interval(lower.lower, upper.upper, self.evaluator)

    @property
    def width(self) -> float:
        """upper - lower."""
        return self.upper - self.lower

    @property
    def middle(self) -> float:
        """The centre of the interval."""
        return self.lower + (self.upper - self.lower) / 2


def enclosed(value: Fraction, evaluator: str) -> Interval:
    """A rational number, between the floats next to it."""
    nearest = float(value)
    lower = nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
    upper = nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
    return Interval(lower, upper, evaluator, value)
