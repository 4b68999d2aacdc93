"""The final loss of a plan: what is certain of it, what is random, and why it may not be defined."""

import math
from dataclasses import dataclass
from fractions import Fraction

from depl.models.verifier.distribution import tail_probability
from depl.models.verifier.laws import Bracket, Increment, decimal, expectation, log_expectation

_LARGEST_LOGARITHM = 709.0
"""Logarithm from which a loss counts as infinite: that of the greatest double is 709.78."""


@dataclass(frozen=True)
class LossFacts:
    """The final loss, or its logarithm: what is certain of it, and independent increments.

    ``forbidden`` names epoch and models of forbidden switches; increments that have no law are missing where
    not all are ``declared``. Under a traced law, ``outside`` is the first epoch outside its support, and why;
    ``support`` tells what lends the residuals.
    """

    certain: Fraction = Fraction(0)
    increments: tuple[Increment, ...] = ()
    forbidden: tuple[tuple[int, str, str], ...] = ()
    outside: tuple[int, str] | None = None
    support: str = ""
    scale: str = "loss"
    declared: bool = True

    @property
    def beyond(self) -> Fraction:
        """P(the run is unlike all those of a traced law): then it misses every target."""
        return 1 - math.prod((item.alike for item in self.increments), start=Fraction(1))

    @property
    def undefined(self) -> str:
        """Why there is no law of the final loss; empty if there is one."""
        if self.forbidden:
            return "the loss is not defined after a forbidden switch"
        return "" if self.outside is None else "the loss is not defined outside the support of the traces"

    @property
    def mean(self) -> float:
        """E l(K); nan outside the support of the traces and without a law, infinite where there is none."""
        if self.outside is not None or not self.declared:
            return math.nan
        if self.beyond:
            return math.inf
        if self.scale == "loss":
            random = [item.count * item.factor * expectation(item.law) for item in self.increments]
            return math.fsum([float(self.certain), *random])
        logarithms = [item.count * log_expectation(item) for item in self.increments]
        total = math.fsum([float(self.certain), *logarithms])
        return math.exp(total) if total < _LARGEST_LOGARITHM else math.inf

    def on_scale(self, loss: float) -> float:
        """A loss on the scale of the sum: minus infinity for the logarithm of what has none."""
        if self.scale == "loss":
            return loss
        return math.log(loss) if loss > 0.0 else -math.inf

    def violation(self, threshold: float, budget: Fraction) -> Bracket:
        """P(l(K) > l), l on the scale of the sum; minus infinity is exceeded by all losses."""
        if threshold == -math.inf:
            return Bracket(1.0, 1.0)
        return self.exceeding(decimal(threshold) - self.certain, budget)

    def exceeding(self, gap: Fraction, budget: Fraction) -> Bracket:
        """P(the increments add up to more than a gap, or the run is unlike all seen).

        More effort is spent where the bracket contains the budget, as in
        `depl.models.verifier.distribution.tail_probability`.
        """
        if self.beyond == 1:
            return Bracket(Fraction(1), Fraction(1))
        left = 1 - self.beyond
        found = tail_probability(self.increments, gap, max(Fraction(0), (budget - self.beyond) / left))
        if left == 1:
            return found
        return Bracket(self.beyond + left * Fraction(found.lower), self.beyond + left * Fraction(found.upper))
