"""Densities and tails of the shipped laws that have them, under the names that scipy.stats gives them.

They are put together from `scipy.special`, as scipy.stats does it: importing scipy.stats takes ten times as
long as verifying a plan.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import special

from depl.models.problem.laws import FloatArray

Function: TypeAlias = Callable[[Any], FloatArray]

_LARGE_SHAPE = 2e5
"""From here on scipy 1.17 leaves out terms of the upper tail: 1e-5 of it at 1e6, a third at 1e8."""


@dataclass(frozen=True)
class Density:
    """Log density, P(X <= x), P(X > x) and the inverses of these two, elementwise; mean and variance.

    ``lowest`` and ``highest`` are the ends of what X may be; ``doubt`` is a relative error of the density
    that comes with the parameters, where terms cancel.
    """

    logpdf: Function
    cdf: Function
    sf: Function
    ppf: Function
    isf: Function
    mean: float
    variance: float
    lowest: float = -math.inf
    highest: float = math.inf
    doubt: float = 0.0

    @classmethod
    def of(cls, law: Any) -> "Density":
        """What scipy.stats knows of a law."""
        functions = law.logpdf, law.cdf, law.sf, law.ppf, law.isf
        return cls(*functions, float(law.mean()), float(law.var()), *map(float, law.support()))


def normal(mean: float, deviation: float) -> Density:
    """A normal law."""
    constant = 0.5 * math.log(2.0 * math.pi)
    moments = mean, deviation**2
    return _symmetric(
        mean, deviation, lambda z: -0.5 * z * z - constant, special.ndtr, special.ndtri, *moments
    )


def student(degrees: float, location: float, scale: float) -> Density:
    """Student's t, moved and stretched; mean and variance as far as they exist."""
    constant = math.log(special.poch(0.5 * degrees, 0.5)) - 0.5 * math.log(degrees * math.pi)
    variance = scale**2 * degrees / (degrees - 2.0) if degrees > 2.0 else math.inf
    return _symmetric(
        location,
        scale,
        lambda z: constant - (degrees + 1.0) / 2.0 * np.log1p(z * z / degrees),
        lambda z: np.asarray(special.stdtr(degrees, z)),
        lambda q: np.asarray(special.stdtrit(degrees, q)),
        location if degrees > 1.0 else math.inf,
        variance if degrees > 1.0 else math.nan,
    )


def lognormal(log_mean: float, log_variance: float) -> Density:
    """exp(Y) for a normal Y."""
    logarithm, mean = normal(log_mean, math.sqrt(log_variance)), math.exp(log_mean + log_variance / 2.0)
    return Density(
        lambda x: logarithm.logpdf(np.log(x)) - np.log(x),
        lambda x: logarithm.cdf(_log(x)),
        lambda x: logarithm.sf(_log(x)),
        lambda q: np.asarray(np.exp(logarithm.ppf(q))),
        lambda q: np.asarray(np.exp(logarithm.isf(q))),
        mean,
        math.expm1(log_variance) * mean**2,
        lowest=0.0,
    )


def inverse_gamma(shape: float, scale: float) -> Density:
    """scale / G, G with the gamma law of this shape."""
    constant = math.lgamma(shape) + math.log(scale)
    mean = scale / (shape - 1.0) if shape > 1.0 else math.inf
    return Density(
        lambda x: -(shape + 1.0) * np.log(x / scale) - scale / x - constant,
        lambda x: np.asarray(special.gammaincc(shape, _quotient(scale, np.maximum(x, 0.0)))),
        lambda x: _below_of_gamma(shape, _quotient(scale, np.maximum(x, 0.0))),
        lambda q: _quotient(scale, special.gammainccinv(shape, q)),
        lambda q: _quotient(scale, special.gammaincinv(shape, q)),
        mean,
        mean**2 / (shape - 2.0) if shape > 2.0 else math.inf,
        lowest=0.0,
        doubt=4.0 * 2.0**-53 * abs(math.lgamma(shape)),
    )


def _symmetric(
    location: float, scale: float, log_density: Function, below: Function, point: Function, *moments: float
) -> Density:
    """location + scale Z, where Z and -Z have the same law."""
    return Density(
        lambda x: log_density((x - location) / scale) - math.log(scale),
        lambda x: below((x - location) / scale),
        lambda x: below((location - x) / scale),
        lambda q: location + scale * point(q),
        lambda q: location - scale * point(q),
        *moments,
    )


def _log(x: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(x, 0.0)))


def _quotient(scale: float, x: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(scale / x)


def _below_of_gamma(shape: float, a: FloatArray) -> FloatArray:
    """P(G <= a): where scipy cannot be trusted, by a quadrature of the density of G below a.

    With t = a exp(-s) the integral of t**(shape - 1) exp(-t) is a**shape exp(-a) times that of
    exp(-(shape - a) s - a (exp(-s) - 1 + s)), which falls as exp(-u) at s = u / (shape - a); the factor in
    front of it divided by Gamma(shape) is Stirling's.
    """
    found = np.asarray(special.gammainc(shape, a))
    far = a < shape - 4.0 * math.sqrt(shape)
    if shape < _LARGE_SHAPE or not far.any():
        return found
    a = np.where(far, a, 0.5 * shape)
    nodes, weights = np.polynomial.legendre.leggauss(64)
    u, gap, lack = 20.0 * (nodes + 1.0), shape - a, (a - shape) / shape
    s = u / gap[..., None]
    inner = np.exp(-u - a[..., None] * (np.expm1(-s) + s)) @ (20.0 * weights) / gap
    log_front = shape * (np.log1p(lack) - lack) - 0.5 * math.log(2.0 * math.pi / shape) - 1.0 / (12.0 * shape)
    return np.asarray(np.where(far, np.exp(log_front) * inner, found))
