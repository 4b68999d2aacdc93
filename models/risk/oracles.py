"""Other ways to the risk of a plan, kept as independent oracles and for teaching.

None of them decides feasibility. `evar_quantile` and `chernoff_violation` err on the safe side; the
spectral sum, the saddlepoint, the normal and the Cornish-Fisher values carry no bound; Monte Carlo
comes with a confidence interval. All read a `FinalLoss`; a violation is l(K) > maximum_loss, and the
quantile is the omega-quantile of l(K). Erratum E5 (log-transforms do not make quantiles additive, they
only bound them) is what `evar_quantile` against a certified quantile shows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.epochs import FinalLoss, NoiseLaw
from depl.models.problem.laws import Empirical, FloatArray, InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk.discrete import is_discrete
from depl.models.risk.lower_bound.tilted import tilted_loss
from depl.models.risk.spectral import spectral_violation

__all__ = [
    "MonteCarloEstimate",
    "chernoff_quantile",
    "chernoff_violation",
    "cornish_fisher_quantile",
    "evar_quantile",
    "monte_carlo_violation",
    "normal_quantile",
    "normal_violation",
    "saddlepoint_violation",
    "sample_final_loss",
    "spectral_violation",
]

_NEAR_MEAN = 1e-3
_DOUBLINGS = 40
_HALVINGS = 300


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


def evar_quantile(loss: FinalLoss, level: float) -> float:
    """Entropic value at risk: the best exponential (Chernoff) upper bound on the omega-quantile of l(K).

    inf over s > 0 of (log E exp(s l(K)) - log p) / s with p = 1 - omega; at the minimiser
    s Lambda'(s) - Lambda(s) = -log p, and the left side increases in s.

    Returns
    -------
    float
        At least the quantile [loss].

    Raises
    ------
    NotCoveredError
        If a law has no exponential moment in the direction that raises the loss.
    """
    excess = -math.log1p(-_checked_level(level))

    def deviation(rate: float) -> float:
        here = tilted_loss(loss, rate)
        return rate * here.mean - here.log_transform - excess

    rate = _root(deviation, _typical_rate(loss))
    return _greatest(loss) if rate is None else chernoff_quantile(loss, level, rate)


def chernoff_quantile(loss: FinalLoss, level: float, rate: float) -> float:
    """Upper bound (log E exp(s l(K)) - log p) / s on the omega-quantile, for one fixed real s = ``rate`` > 0.

    This is what additive real labels give: linear in the terms, never below the quantile.
    """
    return (tilted_loss(loss, rate).log_transform - math.log1p(-_checked_level(level))) / rate


def chernoff_violation(loss: FinalLoss, maximum_loss: float) -> float:
    """The best exponential upper bound on P(l(K) > maximum_loss).

    Raises
    ------
    NotCoveredError
        If a law has no exponential moment in the direction that raises the loss.
    """
    if maximum_loss >= _greatest(loss):
        return 0.0
    if maximum_loss <= loss.mean():
        return 1.0
    rate = _saddle(loss, maximum_loss, 1.0)
    return math.exp(tilted_loss(loss, rate).log_transform - rate * maximum_loss)


def saddlepoint_violation(loss: FinalLoss, maximum_loss: float) -> float:
    """Lugannani-Rice approximation of P(l(K) > maximum_loss).

    Raises
    ------
    NotCoveredError
        If a law has no exponential moment on the side of the saddle: for heavy-tailed improvements
        that is every maximum loss below the expected loss.
    """
    if not loss.terms or maximum_loss >= _greatest(loss):
        return float(loss.constant > maximum_loss)
    if maximum_loss < _least(loss):
        return 1.0
    mean, deviation = loss.mean(), math.sqrt(loss.variance())
    if abs(maximum_loss - mean) < _NEAR_MEAN * deviation < math.inf:  # the reciprocals below would cancel
        z, skewness = (maximum_loss - mean) / deviation, _skewness_and_excess(loss)[0]
        if not math.isfinite(skewness):
            raise NotCoveredError("next to the expected loss every law needs a finite third moment")
        return float(stats.norm.sf(z)) - float(stats.norm.pdf(z)) * skewness / 6
    rate = _saddle(loss, maximum_loss, math.copysign(1.0, maximum_loss - mean))
    here = tilted_loss(loss, rate)
    w = math.copysign(math.sqrt(2 * (rate * maximum_loss - here.log_transform)), rate)
    u = rate * math.sqrt(here.variance)
    return float(stats.norm.sf(w)) + float(stats.norm.pdf(w)) * (1 / u - 1 / w)


def normal_violation(loss: FinalLoss, maximum_loss: float) -> float:
    """P(l(K) > maximum_loss) as if l(K) were normal with its own mean and variance.

    Raises
    ------
    NotCoveredError
        If the variance is infinite.
    """
    deviation = _standard_deviation(loss)
    if deviation == 0:
        return float(loss.mean() > maximum_loss)
    return float(stats.norm.sf((maximum_loss - loss.mean()) / deviation))


def normal_quantile(loss: FinalLoss, level: float) -> float:
    """The omega-quantile as if l(K) were normal with its own mean and variance [loss].

    Raises
    ------
    NotCoveredError
        If the variance is infinite.
    """
    return loss.mean() + float(stats.norm.ppf(_checked_level(level))) * _standard_deviation(loss)


def cornish_fisher_quantile(loss: FinalLoss, level: float) -> float:
    """The omega-quantile from the first four cumulants (Cornish-Fisher, second order) [loss].

    Raises
    ------
    NotCoveredError
        If one of the first four moments is infinite.
    """
    z = float(stats.norm.ppf(_checked_level(level)))
    deviation = _standard_deviation(loss)
    if deviation == 0:
        return loss.mean()
    skewness, excess = _skewness_and_excess(loss)
    if not math.isfinite(excess):
        raise NotCoveredError(
            "a law has an infinite fourth moment (inverse gamma of shape <= 4, Student-t of nu <= 4)"
        )
    adjusted = (
        z + (z**2 - 1) * skewness / 6 + (z**3 - 3 * z) * excess / 24 - (2 * z**3 - 5 * z) * skewness**2 / 36
    )
    return loss.mean() + deviation * adjusted


def sample_final_loss(loss: FinalLoss, rng: np.random.Generator, size: int) -> FloatArray:
    """``size`` independent draws of l(K) [loss], shape (size,)."""
    total = np.full(size, loss.constant)
    for term, count in loss.terms:
        for _ in range(count):
            total += term.coefficient * term.law.sample(rng, size)
    return total


def monte_carlo_violation(
    loss: FinalLoss, maximum_loss: float, samples: int, rng: np.random.Generator, confidence: float = 0.99
) -> MonteCarloEstimate:
    """Count violations among samples; an atom at most 1e-9 above ``maximum_loss`` is none.

    Raises
    ------
    InvalidInputError
        If ``samples`` is not positive or ``confidence`` not inside (0, 1).
    """
    if samples < 1 or not 0 < confidence < 1:
        raise InvalidInputError(f"needs samples >= 1 and 0 < confidence < 1, not {samples} and {confidence}")
    threshold = maximum_loss + (ATOM_TOLERANCE if is_discrete(loss) else 0.0)
    violations, left = 0, samples
    while left:
        block = min(left, 100_000)
        violations += int(np.count_nonzero(sample_final_loss(loss, rng, block) > threshold))
        left -= block
    side = (1 - confidence) / 2
    lower = float(stats.beta.ppf(side, violations, samples - violations + 1)) if violations else 0.0
    upper = float(stats.beta.isf(side, violations + 1, samples - violations)) if violations < samples else 1.0
    return MonteCarloEstimate(violations, samples, confidence, lower, upper)


def _checked_level(level: float) -> float:
    if not 0 < level < 1:
        raise InvalidInputError(f"the quantile level must lie strictly between 0 and 1, not at {level}")
    return level


def _saddle(loss: FinalLoss, target: float, side: float) -> float:
    """The rate at which the tilted mean is ``target``, on the given side (+1 or -1) of zero."""
    rate = _root(lambda s: side * (tilted_loss(loss, side * s).mean - target), _typical_rate(loss))
    if rate is None:
        raise NotCoveredError(f"{target} is so close to the end of the support that no saddle was found")
    return side * rate


def _root(increasing: Callable[[float], float], start: float) -> float | None:
    """The positive root of an increasing function that is negative near 0; None if it stays negative."""
    low = high = start
    for _ in range(_DOUBLINGS):
        if increasing(high) >= 0:
            break
        low, high = high, 2 * high
    else:
        return None
    for _ in range(_HALVINGS):
        if increasing(low) <= 0:
            break
        low /= 2
    return float(brentq(increasing, low, high, xtol=1e-300, rtol=1e-14))


def _typical_rate(loss: FinalLoss) -> float:
    """A rate of the order of the reciprocal spread of the loss."""
    variance = loss.variance()
    if math.isfinite(variance):
        return 1 / math.sqrt(variance) if variance > 0 else 1.0
    return 1 / abs(loss.mean() - loss.constant)


def _greatest(loss: FinalLoss) -> float:
    """Essential supremum of the loss."""
    ends = [(count, [term.coefficient * end for end in term.law.support()]) for term, count in loss.terms]
    return math.fsum([loss.constant, *(count * max(pair) for count, pair in ends)])


def _least(loss: FinalLoss) -> float:
    """Essential infimum of the loss."""
    ends = [(count, [term.coefficient * end for end in term.law.support()]) for term, count in loss.terms]
    return math.fsum([loss.constant, *(count * min(pair) for count, pair in ends)])


def _standard_deviation(loss: FinalLoss) -> float:
    variance = loss.variance()
    if not math.isfinite(variance):
        raise NotCoveredError("a law has an infinite variance; the normal approximation needs a finite one")
    return math.sqrt(variance)


def _skewness_and_excess(loss: FinalLoss) -> tuple[float, float]:
    """Standardised third and fourth cumulants of the loss; infinite or NaN where a moment diverges."""
    cumulants = [(count, term.coefficient, *_third_and_fourth(term.law)) for term, count in loss.terms]
    third = sum(count * coefficient**3 * value for count, coefficient, value, _ in cumulants)
    fourth = sum(count * coefficient**4 * value for count, coefficient, _, value in cumulants)
    return third / loss.variance() ** 1.5, fourth / loss.variance() ** 2


def _third_and_fourth(law: NoiseLaw) -> tuple[float, float]:
    """Third and fourth cumulants of X; infinite where the moment diverges."""
    variance = law.moments().variance
    match law:
        case Normal():
            return 0.0, 0.0
        case InverseGamma():
            shape, _ = law.shape_scale()
            skewness = 4 * math.sqrt(shape - 2) / (shape - 3) if shape > 3 else math.inf
            excess = 6 * (5 * shape - 11) / ((shape - 3) * (shape - 4)) if shape > 4 else math.inf
        case Lognormal():
            spread = law.log_parameters()[1] ** 2
            skewness = (math.exp(spread) + 2) * math.sqrt(math.expm1(spread))
            excess = math.expm1(4 * spread) + 2 * math.expm1(3 * spread) + 3 * math.expm1(2 * spread)
        case StudentT() if not law.truncated:
            nu = law.degrees_of_freedom
            skewness, excess = 0.0 if nu > 3 else math.inf, 6 / (nu - 4) if nu > 4 else math.inf
        case StudentT() | Empirical():
            values, weights = law.atoms() if isinstance(law, Empirical) else law.quadrature()
            centred = values - float(weights @ values)
            return float(weights @ centred**3), float(weights @ centred**4) - 3 * variance**2
    return skewness * variance**1.5, excess * variance**2
