"""The final loss of a plan: what is certain of it, what is random, and why it may not be defined."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from depl.models.verifier.distribution import known_tail_probability, tail_probability
from depl.models.verifier.laws import Bracket, Increment, decimal, expectation, log_expectation

_LARGEST_LOGARITHM = 709.0
"""Logarithm from which a loss counts as infinite: that of the greatest double is 709.78."""


class Number(NamedTuple):
    """One number per scenario: of a model at an epoch, or of a pair of models (before, after)."""

    epoch: int
    models: tuple[str, ...]


@dataclass(frozen=True)
class LossFacts:
    """The final loss: what is certain of it, what is random, and why it may not be defined.

    Attributes
    ----------
    certain : Fraction
        l(0) plus all deterministic increments.
    increments : tuple of Increment
        Independent random increments.
    forbidden : tuple of (int, str, str)
        Epoch and the two models of every forbidden switch.
    outside : (int, str) or None
        Under a traced law, the first epoch found outside its support, and why.
    support : str
        Under a traced law, what lends the residuals.
    scale : "loss" or "log"
        Whether ``certain`` and ``increments`` add up to the loss or to its logarithm.
    declared : bool
        Whether all increments are there: those of undeclared law are not.
    numbers : tuple of Number
        Under a traced law, for every increment the number of a scenario at which its quantile is taken.
    alike : tuple of Fraction
        For every such increment the share of its weight that is of runs that were seen: the rest lies above
        all its atoms, is of runs unlike them, and makes the loss infinite.
    """

    certain: Fraction = Fraction(0)
    increments: tuple[Increment, ...] = ()
    forbidden: tuple[tuple[int, str, str], ...] = ()
    outside: tuple[int, str] | None = None
    support: str = ""
    scale: str = "loss"
    declared: bool = True
    numbers: tuple[Number, ...] = ()
    alike: tuple[Fraction, ...] = ()

    @property
    def beyond(self) -> Fraction:
        """P(the run is unlike all those of a traced law): then it misses every target."""
        return 1 - math.prod(self.alike, start=Fraction(1))

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
        if self.scale == "log":
            parts = [item.count * log_expectation(item) for item in self.increments]
            logarithm = math.fsum([float(self.certain), *parts])
            return math.exp(logarithm) if logarithm < _LARGEST_LOGARITHM else math.inf
        random = [item.count * item.factor * expectation(item.law) for item in self.increments]
        return math.fsum([float(self.certain), *random])

    def on_scale(self, loss: float) -> float:
        """A loss on the scale of the sum: minus infinity for the logarithm of what has none."""
        if self.scale == "loss":
            return loss
        return math.log(loss) if loss > 0.0 else -math.inf

    def gap(self, threshold: float) -> Fraction | None:
        """What increments may add up to below a threshold on their scale; None if that is minus infinity."""
        return None if threshold == -math.inf else decimal(threshold) - self.certain

    def exceeding(self, gap: Fraction, budget: Fraction, known: bool = False) -> Bracket:
        """P(the increments add up to more than a gap, or the run is unlike all seen).

        Parameters
        ----------
        budget : Fraction
            As `depl.models.verifier.distribution.tail_probability`.
        known : bool
            Whether to remember what was found.
        """
        tail = known_tail_probability if known else tail_probability
        if not self.beyond:
            return tail(self.increments, gap, budget)
        if self.beyond == 1:
            return Bracket(Fraction(1), Fraction(1))
        left = 1 - self.beyond
        found = tail(self.increments, gap, max(Fraction(0), (budget - self.beyond) / left))
        return Bracket(self.beyond + left * Fraction(found.lower), self.beyond + left * Fraction(found.upper))
