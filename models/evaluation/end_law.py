"""The law of the loss after the last epoch, whatever law the increments have.

A law fitted to runs counts runs unlike all that were seen: with their probability every target is missed.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.interval import Interval
from depl.models.problem.affine_law import Scale
from depl.models.problem.epochs import FinalLoss
from depl.models.risk.certify import SMALLEST_BUDGET, certified_quantile, certified_violation

BEYOND = "beyond all runs seen"
"""Evaluator of what is not a number, as a run unlike all seen may be there."""

_EXPONENTIAL = 1e-15
"""Relative rounding of an exponential, whose argument is taken as it is."""


@dataclass(frozen=True)
class EndLaw:
    """The law of l(K): that of a sum of independent parts or of its exponential, and what is beyond it."""

    scaled: FinalLoss  # the sum
    scale: Scale = "loss"  # whether it is the loss or its logarithm
    # P(the run is unlike all seen), independent of the sum: then l(K) is infinite, and misses every target.
    beyond: Fraction = Fraction(0)

    def violation(self, maximum_loss: float) -> Interval:
        """Interval that contains P(l(K) > maximum_loss)."""
        return self.exceedance(self.limit(maximum_loss))

    def exceedance(self, limit: float) -> Interval:
        """The same for a limit on the scale of the sum; minus infinity is always exceeded."""
        if limit == -math.inf or self.beyond == 1:
            return Interval(1.0, 1.0, "exponential" if limit == -math.inf else BEYOND, Fraction(1))
        if not self.beyond:
            return certified_violation(self.scaled, limit)
        found = certified_violation(self.scaled, limit)
        return found.mapped(lambda share: self.beyond + (1 - self.beyond) * share)

    def quantile(self, budget: Fraction) -> Interval:
        """Interval that contains the (1 - budget)-quantile of l(K), infinite if that is beyond [loss]."""
        if self.beyond > budget:
            return Interval(math.inf, math.inf, BEYOND)
        found = self._quantile_seen((budget - self.beyond) / (1 - self.beyond))
        if self.scale == "loss":
            return found
        lower, upper = math.exp(found.lower), math.exp(found.upper)
        return Interval(lower * (1 - _EXPONENTIAL), upper * (1 + _EXPONENTIAL), found.how)

    def _quantile_seen(self, budget: Fraction) -> Interval:
        """Of the sum alone, for any budget from 0 on."""
        if budget >= SMALLEST_BUDGET or not self.beyond:
            return certified_quantile(self.scaled, budget)
        lower = certified_quantile(self.scaled, SMALLEST_BUDGET).lower
        ends = [
            count * max(term.coefficient * end for end in term.law.support())
            for term, count in self.scaled.terms
        ]
        upper = math.fsum([self.scaled.constant, *ends])
        return Interval(lower, math.nextafter(max(lower, upper), math.inf), "support")

    def mean(self) -> float:
        """E l(K), infinite where runs unlike all seen count [loss]."""
        if self.beyond:
            return math.inf
        return self.scaled.mean() if self.scale == "loss" else self._moment(1)

    def variance(self) -> float:
        """Var l(K), infinite where runs unlike all seen count [loss squared]."""
        if self.beyond:
            return math.inf
        if self.scale == "loss":
            return self.scaled.variance()
        return max(0.0, self._moment(2) - self._moment(1) ** 2)

    def limit(self, maximum_loss: float) -> float:
        """What the sum may be at most, so that the loss is; minus infinity if it never is."""
        if self.scale == "loss":
            return maximum_loss
        return math.log(maximum_loss) if maximum_loss > 0 else -math.inf

    def _moment(self, power: int) -> float:
        """E exp(power * sum), of parts that take finitely many values."""
        product = math.exp(power * self.scaled.constant)
        for term, count in self.scaled.terms:
            if not term.law.has_atoms:
                raise NotCoveredError("moments of exponentials are computed for observed values only")
            values, probabilities = term.law.atoms()
            product *= float(probabilities @ np.exp(power * term.coefficient * values)) ** count
        return product
