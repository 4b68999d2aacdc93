r"""What a promise is worth when the increments of a run are not independent.

The paper's law lets every epoch draw its noise afresh. Let w_k be the standard deviation of the increment of
epoch k and R the variance of their sum over the sum of their variances, which is 1 under independence. For
normal increments a plan that misses with probability p under the independent law then misses with

    Phi(Phi^{-1}(p) / sqrt(R)),

because the sum keeps its mean and its standard deviation is multiplied by sqrt(R). Two kinds of dependence:

- AR(1): increments i and j have correlation phi^|i - j|, R = sum w_i w_j phi^|i-j| / sum w_i**2;
- a factor shared by all epochs of a run: every two have correlation rho, and
  R = 1 + rho ((sum w)**2 / sum w**2 - 1).

AR(1) of 0.3 takes 1 % to 4.2 % within 30 epochs; a shared factor grows with their number without end. The
same is counted on draws from the plan's own laws, joined by a normal copula with these correlations.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from depl.models.evaluation.evaluate import final_loss
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.epochs import Term, loss_step, switch_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import Plan
from depl.models.risk.certify import certified_violation
from depl.models.risk.sampling import MonteCarloEstimate

_CONFIDENCE = 0.99
"""Confidence of the interval of a counted share: a convention; 0.95 would make it a quarter narrower."""

_LEAST = 2.0**-53
"""Levels of quantiles stay so far from 0 and 1, so that none is infinite: 1 less it is the greatest double
below 1."""


class Dependence(Enum):
    """How the increments of one run hang together."""

    AUTOREGRESSIVE = "ar1"
    SHARED = "shared"


@dataclass(frozen=True)
class DependentViolation:
    """P(l(K) > l_max) of a plan under one kind of dependence.

    Attributes
    ----------
    kind : Dependence
    correlation : float
        phi of AR(1), or rho of a shared factor.
    variance_ratio : float
        R, of the increments of the plan.
    nominal : float
        Certified upper bound under independent increments, which the plan promises.
    normal : float
        Phi(Phi^{-1}(nominal) / sqrt(R)).
    counted : MonteCarloEstimate
        On draws from the plan's own laws, joined by a normal copula.
    """

    kind: Dependence
    correlation: float
    variance_ratio: float
    nominal: float
    normal: float
    counted: MonteCarloEstimate


def variance_ratio(deviations: ArrayLike, kind: Dependence, correlation: float) -> float:
    """R: the variance of the sum of the increments over the sum of their variances.

    Parameters
    ----------
    deviations : array (k,)
        Standard deviations of the increments, in the order of the epochs.
    kind : Dependence
    correlation : float
        phi in (-1, 1) of AR(1); rho in [0, 1] of a shared factor.

    Raises
    ------
    InvalidInputError
        If a number is out of range, or nothing varies.
    """
    weights = np.asarray(deviations, dtype=float)
    _check_correlation(kind, correlation)
    squares = float(weights @ weights)
    if weights.ndim != 1 or not (weights >= 0).all() or not 0 < squares < math.inf:
        raise InvalidInputError("standard deviations must be finite, at least 0, and not all 0")
    if kind is Dependence.SHARED:
        return 1 + correlation * (float(weights.sum()) ** 2 / squares - 1)
    # forward recursion: tail_k = sum over i < k of w_i phi^(k - i)
    tail = products = 0.0
    for weight, before in zip(weights[1:], weights[:-1], strict=True):
        tail = correlation * (tail + before)
        products += weight * tail
    return 1 + 2 * products / squares


def normal_violation(nominal: float, ratio: float) -> float:
    """What a violation of ``nominal`` becomes when the variance of the sum is ``ratio`` times as large."""
    _check_nominal(nominal, ratio)
    return float(special.ndtr(special.ndtri(nominal) / math.sqrt(ratio)))


def dependent_violation(
    instance: Instance,
    plan: Plan,
    kind: Dependence,
    correlation: float,
    rng: np.random.Generator,
    samples: int = 100_000,
) -> DependentViolation:
    """How often a plan misses its target when the improvements of its epochs are correlated.

    Switch jumps stay independent of everything. The copula's correlation is that of the normal scores; for
    laws that are not normal the increments themselves are correlated a little less.

    Parameters
    ----------
    samples : int
        Draws to count on.

    Raises
    ------
    InvalidInputError
        If the correlation is out of range or no improvement varies.
    NotCoveredError
        If an improvement has infinite variance, or steps have memory.
    """
    runs, switches = _terms(instance, plan)
    deviations = np.array([_deviation(term) for term in runs])
    ratio = variance_ratio(deviations, kind, correlation)
    apart = math.fsum(_deviation(term) ** 2 for term in switches)
    squares = float(deviations @ deviations)
    whole = (ratio * squares + apart) / (squares + apart)
    loss, maximum = final_loss(instance, plan), instance.target.maximum_loss
    nominal = certified_violation(loss, maximum).upper
    losses = np.full(samples, loss.constant)
    for term, scores in zip(runs, _scores(kind, correlation, len(runs), samples, rng), strict=True):
        # a high score is a high gain, whatever the sign of the coefficient
        heights = special.ndtr(scores if term.coefficient < 0 else -scores)
        losses += term.coefficient * term.law.inverse_cdf(np.clip(heights, _LEAST, 1 - _LEAST))
    for term in switches:
        losses += term.coefficient * term.law.sample(rng, samples)
    return DependentViolation(
        kind=kind,
        correlation=correlation,
        variance_ratio=whole,
        nominal=nominal,
        normal=normal_violation(nominal, whole) if 0 < nominal < 1 else nominal,
        counted=_counted(losses, maximum),
    )


def _terms(instance: Instance, plan: Plan) -> tuple[list[Term], list[Term]]:
    """The random parts of the improvements, in the order of the epochs, and of the switches of a plan."""
    runs: list[Term] = []
    switches: list[Term] = []
    before = instance.target.initial_model
    for k, epoch in enumerate(plan.epochs, start=1):
        step = loss_step(instance, k, 0, epoch.model, epoch.model, plan.datasets(epoch.cluster))
        if step.retention != 1:
            raise NotCoveredError("dependence is defined for losses whose steps have no memory")
        runs += step.terms
        change = None if before is None else switch_step(instance, before, epoch.model)
        switches += () if change is None else change.terms
        before = epoch.model
    return runs, switches


def _deviation(term: Term) -> float:
    variance = term.law.moments().variance
    if math.isinf(variance):
        raise NotCoveredError("correlations need increments of finite variance")
    return abs(term.coefficient) * math.sqrt(variance)


def _scores(
    kind: Dependence, correlation: float, epochs: int, samples: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Standard normal numbers of every epoch, shape (samples,), with the correlations wanted."""
    before = rng.standard_normal(samples)
    share = math.sqrt(correlation) if kind is Dependence.SHARED else correlation
    rest = math.sqrt(1 - share**2)
    factor = before
    for epoch in range(epochs):
        if kind is Dependence.SHARED:
            yield share * factor + rest * rng.standard_normal(samples)
        else:
            before = before if epoch == 0 else share * before + rest * rng.standard_normal(samples)
            yield before


def _counted(losses: FloatArray, maximum_loss: float) -> MonteCarloEstimate:
    missed = int(np.count_nonzero(losses > maximum_loss + ATOM_TOLERANCE))
    ends = scipy.stats.binomtest(missed, losses.size).proportion_ci(_CONFIDENCE, method="exact")
    return MonteCarloEstimate(missed, losses.size, _CONFIDENCE, float(ends.low), float(ends.high))


def _check_correlation(kind: Dependence, correlation: float) -> None:
    least = 0.0 if kind is Dependence.SHARED else -1.0
    inside = least <= correlation <= 1 if kind is Dependence.SHARED else -1 < correlation < 1
    if not inside:
        raise InvalidInputError(
            f"the correlation of {kind.value} must lie between {least:g} and 1, not {correlation}"
        )


def _check_nominal(violation: float, ratio: float) -> None:
    if not 0 < violation < 1 or not 0 < ratio < math.inf:
        raise InvalidInputError(
            f"needs a probability inside (0, 1) and a positive ratio, not {violation} and {ratio}"
        )
