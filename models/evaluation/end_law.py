"""The law of the loss after the last epoch, whatever law the increments have."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.affine_law import Scale
from depl.models.problem.epochs import FinalLoss
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.risk.interval import Interval

_EXPONENTIAL = 1e-15
"""Relative rounding of an exponential, whose argument is taken as it is."""


@dataclass(frozen=True)
class EndLaw:
    """The law of l(K): that of a sum of independent parts, or of the exponential of one.

    Attributes
    ----------
    scaled : FinalLoss
        The sum.
    scale : "loss" or "log"
        Whether it is the loss or its logarithm.
    """

    scaled: FinalLoss
    scale: Scale = "loss"

    def violation(self, maximum_loss: float, quantile_budget: Fraction | None = None) -> Interval:
        """Interval that contains P(l(K) > maximum_loss); quicker if told which quantile is asked for next."""
        if self.scale == "log" and maximum_loss <= 0:
            return Interval(1.0, 1.0, "exponential", Fraction(1))
        return certified_violation(self.scaled, self.limit(maximum_loss), quantile_budget)

    def quantile(self, budget: Fraction) -> Interval:
        """Interval that contains the (1 - budget)-quantile of l(K) [loss]."""
        found = certified_quantile(self.scaled, budget)
        if self.scale == "loss":
            return found
        lower, upper = math.exp(found.lower), math.exp(found.upper)
        return Interval(lower * (1 - _EXPONENTIAL), upper * (1 + _EXPONENTIAL), found.evaluator)

    def mean(self) -> float:
        """E l(K) [loss]."""
        return self.scaled.mean() if self.scale == "loss" else self._moment(1)

    def variance(self) -> float:
        """Var l(K) [loss squared]."""
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
