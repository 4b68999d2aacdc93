"""An interval that is known to contain a number, and how that was established."""

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

    @property
    def width(self) -> float:
        """upper - lower."""
        return self.upper - self.lower

    @property
    def middle(self) -> float:
        """The centre of the interval."""
        return self.lower + (self.upper - self.lower) / 2
