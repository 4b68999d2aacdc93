"""Probabilities by counting, with the confidence intervals of Clopper and Pearson; nothing is certified."""

from dataclasses import dataclass

import numpy as np
import scipy

from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.epochs import FinalLoss
from depl.models.problem.laws import FloatArray
from depl.models.risk.discrete import is_discrete


@dataclass(frozen=True)
class MonteCarloEstimate:
    """What counting violations among samples says.

    Attributes
    ----------
    violations, samples : int
        How many of how many samples ended above the maximum loss.
    confidence : float
        Probability with which an interval so made contains the true value (at least).
    lower, upper : float
        Clopper-Pearson interval of P(l(K) > l_max).
    """

    violations: int
    samples: int
    confidence: float
    lower: float
    upper: float

    @property
    def estimate(self) -> float:
        """Share of violations."""
        return self.violations / self.samples


def sample_final_loss(loss: FinalLoss, rng: np.random.Generator, size: int) -> FloatArray:
    """``size`` independent draws of l(K) [loss], shape (size,)."""
    total = np.full(size, loss.constant)
    for term, count in loss.terms:
        for _ in range(count):
            total += term.coefficient * term.law.sample(rng, size)
    return total


def monte_carlo_violation(
    loss: FinalLoss,
    maximum_loss: float,
    samples: int,
    rng: np.random.Generator,
    confidence: float = 0.99,
    beyond: float = 0.0,
) -> MonteCarloEstimate:
    """Count violations among samples; an atom at most 1e-9 above ``maximum_loss`` is none.

    Parameters
    ----------
    beyond : float
        With this probability a sample is a violation whatever the loss
        (`depl.models.evaluation.end_law.EndLaw.beyond`).
    """
    threshold = maximum_loss + (ATOM_TOLERANCE if is_discrete(loss) else 0.0)
    violations, left = 0, samples
    while left:
        block = min(left, 100_000)
        above = sample_final_loss(loss, rng, block) > threshold
        if beyond:
            above |= rng.random(block) < beyond
        violations += int(np.count_nonzero(above))
        left -= block
    lower, upper = both_ends(violations, samples, 1 - confidence)
    return MonteCarloEstimate(violations, samples, confidence, lower, upper)


def upper_end(exceedances: int, runs: int, risk: float) -> float:
    """The upper end of the one-sided Clopper-Pearson interval of a probability.

    Parameters
    ----------
    exceedances, runs : int
        x of n; 0 <= x <= n.
    risk : float
        How often the end may lie below the probability: 1 less the confidence.

    Returns
    -------
    float
        The (1 - risk)-quantile of Beta(x + 1, n - x), and 1 where all exceed.
    """
    if exceedances == runs:
        return 1.0
    return float(scipy.stats.beta.isf(risk, exceedances + 1, runs - exceedances))


def both_ends(exceedances: int, runs: int, risk: float) -> tuple[float, float]:
    """The Clopper-Pearson interval of a probability, each side with half of the risk."""
    return 1 - upper_end(runs - exceedances, runs, risk / 2), upper_end(exceedances, runs, risk / 2)
