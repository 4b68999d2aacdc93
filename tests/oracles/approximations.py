"""P(l(K) > l_max) and the omega-quantile by approximations of the literature, against what is certified.

The exponential bound errs on the safe side; the saddlepoint, the normal and the Cornish-Fisher values carry
no bound.
"""

import math

from scipy import stats

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import FinalLoss
from depl.models.problem.laws import Empirical, InverseGamma, Law, Lognormal, Normal, StudentT
from depl.models.risk.entropic import checked_level, greatest_loss, positive_root, typical_rate
from depl.models.risk.lower_bound.tilted import tilted_loss

_NEAR_MEAN = 1e-3


def chernoff_violation(loss: FinalLoss, maximum_loss: float) -> float:
    """The best exponential upper bound on P(l(K) > maximum_loss).

    Raises
    ------
    NotCoveredError
        If a law has no exponential moment in the direction that raises the loss.
    """
    if maximum_loss >= greatest_loss(loss):
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
    if not loss.terms or maximum_loss >= greatest_loss(loss):
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
    return loss.mean() + float(stats.norm.ppf(checked_level(level))) * _standard_deviation(loss)


def cornish_fisher_quantile(loss: FinalLoss, level: float) -> float:
    """The omega-quantile from the first four cumulants (Cornish-Fisher, second order) [loss].

    Raises
    ------
    NotCoveredError
        If one of the first four moments is infinite.
    """
    z = float(stats.norm.ppf(checked_level(level)))
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


def _saddle(loss: FinalLoss, target: float, side: float) -> float:
    """The rate at which the tilted mean is ``target``, on the given side (+1 or -1) of zero."""
    rate = positive_root(lambda s: side * (tilted_loss(loss, side * s).mean - target), typical_rate(loss))
    if rate is None:
        raise NotCoveredError(f"{target} is so close to the end of the support that no saddle was found")
    return side * rate


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


def _third_and_fourth(law: Law) -> tuple[float, float]:
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
