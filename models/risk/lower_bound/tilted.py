"""Real exponential tilts of the terms of a loss: log E exp(s Y), and mean and spread under the tilt.

Everything is a sum over quadrature nodes of the law itself, with weights kept as logarithms, so that
it shares no formula with the closed forms of `depl.models.risk.transforms` and can check them. For
the inverse gamma with X = scale / G and G gamma distributed, the integrand over log G is log-concave
and entire: the trapezoidal rule converges geometrically.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy
from scipy.special import lambertw, logsumexp

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import FinalLoss, NoiseLaw, Term
from depl.models.problem.laws import Empirical, FloatArray, InverseGamma, Lognormal, Normal, StudentT

_NEGLIGIBLE = 45.0
_PANEL_ORDER = 40


class Tilted(NamedTuple):
    """Logarithm of E exp(s Y), and mean and variance of Y under the density proportional to exp(s y) f(y)."""

    log_transform: float
    mean: float
    variance: float


def tilted_loss(loss: FinalLoss, rate: float) -> Tilted:
    """Cumulant generating function of the final loss at ``rate`` [1 / loss], and its two derivatives.

    Raises
    ------
    NotCoveredError
        If a law has no exponential moment on that side.
    """
    parts = [(tilted_term(term, rate), count) for term, count in loss.terms]
    return Tilted(
        math.fsum([rate * loss.constant, *(count * part.log_transform for part, count in parts)]),
        math.fsum([loss.constant, *(count * part.mean for part, count in parts)]),
        math.fsum(count * part.variance for part, count in parts),
    )


def tilted_term(term: Term, rate: float) -> Tilted:
    """Cumulant generating function of coefficient * X at ``rate`` [1 / loss], and its two derivatives.

    Raises
    ------
    NotCoveredError
        If the law has no exponential moment on that side.
    """
    law, coefficient = term.law, term.coefficient
    exponent = rate * coefficient
    if isinstance(law, Normal):
        mean, variance = law.mean, law.variance
        return Tilted(
            exponent * (mean + exponent * variance / 2),
            coefficient * (mean + exponent * variance),
            coefficient**2 * variance,
        )
    if exponent == 0:
        moments = law.moments()
        return Tilted(0.0, coefficient * moments.mean, coefficient**2 * moments.variance)
    values, logarithms = tilted_nodes(law, exponent)
    total = float(logsumexp(logarithms))
    weights = np.exp(logarithms - total)
    mean = float(weights @ values)
    return Tilted(total, coefficient * mean, coefficient**2 * float(weights @ (values - mean) ** 2))


def tilted_nodes(law: NoiseLaw, exponent: float) -> tuple[FloatArray, FloatArray]:
    """Nodes x, and logarithms of weights that sum up to E exp(exponent * X), both of shape (n,).

    Raises
    ------
    NotCoveredError
        If E exp(exponent * X) is infinite.
    """
    match law:
        case InverseGamma() | Lognormal() if exponent > 0:
            raise NotCoveredError(f"E exp(s X) is infinite for every s > 0 if X is {type(law).__name__}")
        case InverseGamma():
            return _inverse_gamma_nodes(law, -exponent)
        case Lognormal():
            return _lognormal_nodes(law, -exponent)
        case StudentT() if law.truncated:
            return _truncated_nodes(law, exponent)
        case Empirical():
            values, weights = law.atoms()
            return values, np.log(weights) + exponent * values
        case StudentT():
            raise NotCoveredError(
                "an untruncated Student-t has no exponential moment on either side; truncate it"
            )
        case _:
            raise NotCoveredError(f"no nodes are needed for {type(law).__name__}: its transform is known")


def _inverse_gamma_nodes(law: InverseGamma, exponent: float) -> tuple[FloatArray, FloatArray]:
    shape, scale = law.shape_scale()
    weight = exponent * scale / shape

    # With G = shape * exp(v) neither shape * log(shape) nor the gamma function costs digits.
    def log_gamma_density(v: FloatArray) -> FloatArray:
        return shape * (v - np.expm1(v))

    def log_integrand(v: FloatArray) -> FloatArray:
        return log_gamma_density(v) - weight * np.exp(-v)

    _, masses = _trapezoid(log_gamma_density, 0.0, min(1.0, 1 / math.sqrt(shape)), slope=0.0)
    curvature = math.sqrt(1 + 4 * weight / shape)
    width = min(1.0, 1 / math.sqrt(shape * curvature))
    v, logarithms = _trapezoid(log_integrand, math.log((1 + curvature) / 2), width, slope=-2.0)
    return scale / shape * np.exp(-v), logarithms - float(logsumexp(masses))


def _lognormal_nodes(law: Lognormal, exponent: float) -> tuple[FloatArray, FloatArray]:
    mu, sigma = law.log_parameters()
    weight = exponent * math.exp(mu)

    def log_integrand(z: FloatArray) -> FloatArray:
        return -z * z / 2 - weight * np.exp(sigma * z)

    displacement = float(lambertw(weight * sigma**2).real)
    width = min(1 / sigma, 1 / math.sqrt(1 + displacement))
    z, logarithms = _trapezoid(log_integrand, -displacement / sigma, width, slope=2 * sigma)
    return np.exp(mu + sigma * z), logarithms - math.log(2 * math.pi) / 2


def _trapezoid(
    log_integrand: Callable[[FloatArray], FloatArray], peak: float, width: float, slope: float
) -> tuple[FloatArray, FloatArray]:
    """Points and log weights for the integral of a log-concave function over the line.

    The range ends where the integrand is negligible, also after multiplication by exp(slope * point),
    which is what the second moment asks for. A quarter of ``width``, the smaller of the width of the
    peak and the distance to which the integrand stays bounded off the real line, is a step at which
    the rule's error is below exp(-39).
    """
    top = log_integrand(np.array([peak]))[0]
    ends = []
    for direction in (-1.0, 1.0):
        distance = width
        for _ in range(60):
            height = float(log_integrand(np.array([peak + direction * distance]))[0] - top)
            if height < -_NEGLIGIBLE and height + slope * direction * distance < -_NEGLIGIBLE:
                break
            distance *= 1.5
        ends.append(direction * distance)
    step = width / 4
    indices = np.arange(math.floor(ends[0] / step), math.ceil(ends[1] / step) + 1, dtype=float)
    points: FloatArray = peak + step * indices
    return points, log_integrand(points) + math.log(step)


def _truncated_nodes(law: StudentT, exponent: float) -> tuple[FloatArray, FloatArray]:
    """Composite Gauss-Legendre, panels growing from the end that the tilt favours."""
    if law.lower is None or law.upper is None:  # pragma: no cover - the caller has asked
        raise NotCoveredError("an untruncated Student-t has no tilt")
    smooth = law.scale * math.sqrt(law.degrees_of_freedom)
    favoured, direction = (law.upper, -1.0) if exponent > 0 else (law.lower, 1.0)
    length = law.upper - law.lower
    edges, panel = [0.0], 10 / abs(exponent)
    while edges[-1] < length:
        offset = abs(favoured + direction * edges[-1] - law.location)
        # Within a panel the poles of the density stay at least about a panel's half length away.
        edges.append(min(length, edges[-1] + min(panel, max(smooth, offset / 2))))
        panel *= 2
    nodes, weights = np.polynomial.legendre.leggauss(_PANEL_ORDER)
    half = np.diff(edges)[:, None] / 2
    points = favoured + direction * (np.array(edges)[:-1, None] + half * (1 + nodes)).ravel()
    density = scipy.stats.t.logpdf(points, law.degrees_of_freedom, law.location, law.scale) - math.log(
        law.interval_mass()
    )
    return points, np.log((half * weights).ravel()) + density + exponent * points
