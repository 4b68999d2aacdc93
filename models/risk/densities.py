"""Density, upper tail and quantiles of the continuous laws, by scipy's own functions.

Shared by the evaluators that start from the distribution itself (the directed grid, the spectral
sum) and kept apart from `depl.models.risk.transforms`, so that they check the transforms rather
than repeat them.
"""

import math
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import NoiseLaw
from depl.models.problem.laws import (
    NO_LAW,
    Empirical,
    FloatArray,
    InverseGamma,
    Lognormal,
    Normal,
    StudentT,
    Undeclared,
)

RELATIVE_ERROR = 4e-12
"""Allowed for every value of `survival`; the most seen against 90 digits is 1.3e-12 (shape 1e6)."""

_UNIT = 2.0**-53


def density(law: NoiseLaw, x: ArrayLike) -> FloatArray:
    """Probability density of a continuous law, elementwise.

    Raises
    ------
    NotCoveredError
        For an empirical law, which has none.
    """
    base, arguments = _base(law)
    with np.errstate(all="ignore"):  # scipy divides by x before it looks at the support
        values = np.asarray(base.pdf(x, *arguments), dtype=float)
    if isinstance(law, StudentT) and law.lower is not None and law.upper is not None:
        inside = (np.asarray(x) >= law.lower) & (np.asarray(x) <= law.upper)
        return np.asarray(np.where(inside, values, 0.0) / law.interval_mass(), dtype=float)
    return values


def survival(law: NoiseLaw, x: ArrayLike) -> FloatArray:
    """P(X > x) of a continuous law, elementwise, accurate in the upper tail.

    Raises
    ------
    NotCoveredError
        For an empirical law.
    """
    base, arguments = _base(law)
    points = np.asarray(x, dtype=float)
    with np.errstate(all="ignore"):
        if not (isinstance(law, StudentT) and law.lower is not None and law.upper is not None):
            return np.asarray(base.sf(points, *arguments), dtype=float)
        clipped = np.clip(points, law.lower, law.upper)
        above = base.sf(clipped, *arguments) - base.sf(law.upper, *arguments)
        through = base.cdf(law.upper, *arguments) - base.cdf(clipped, *arguments)
    values = np.where(clipped > law.location, above, through) / law.interval_mass()
    return np.asarray(np.clip(values, 0.0, 1.0), dtype=float)


def survival_slack(law: NoiseLaw, greatest: float) -> float:
    """Absolute error that `survival` may have on top of `RELATIVE_ERROR`, for |x| up to ``greatest``.

    Two sources. An argument rounded by a few units in the last place moves the value by that times
    sup |x| f(x). The differences that renormalise a truncated law lose what the cancellation costs.
    """
    argument = 8 * _UNIT * _argument_sensitivity(law, greatest)
    if isinstance(law, StudentT) and law.lower is not None and law.upper is not None:
        base, arguments = _base(law)
        largest = min(float(base.cdf(law.upper, *arguments)), float(base.sf(law.lower, *arguments)))
        return (argument + 8 * RELATIVE_ERROR * largest) / law.interval_mass() + 4 * _UNIT
    return argument + 4 * _UNIT


def quantile(law: NoiseLaw, level: ArrayLike, *, upper: bool = False) -> FloatArray:
    """Value exceeded with probability 1 - level (with probability ``level`` if ``upper``), elementwise."""
    levels = np.asarray(level, dtype=float)
    if isinstance(law, Empirical):
        values, weights = law.atoms()
        order = np.argsort(values)
        reached = np.cumsum(weights[order])
        position = np.searchsorted(reached, 1 - levels if upper else levels)
        return np.asarray(values[order][np.minimum(position, len(values) - 1)])
    base, arguments = _base(law)
    if isinstance(law, StudentT) and law.lower is not None and law.upper is not None:
        return _truncated_quantile(law, levels, upper)
    with np.errstate(all="ignore"):
        inverse = base.isf if upper else base.ppf
        return np.asarray(inverse(levels, *arguments), dtype=float)


def _base(law: NoiseLaw) -> tuple[Any, tuple[float, ...]]:
    match law:
        case InverseGamma():
            shape, scale = law.shape_scale()
            return scipy.stats.invgamma, (shape, 0.0, scale)
        case Lognormal():
            mu, sigma = law.log_parameters()
            return scipy.stats.lognorm, (sigma, 0.0, math.exp(mu))
        case Normal():
            return scipy.stats.norm, (law.mean, math.sqrt(law.variance))
        case StudentT():
            return scipy.stats.t, (law.degrees_of_freedom, law.location, law.scale)
        case Empirical():
            raise NotCoveredError("an empirical law has atoms and no density; use its atoms")
        case Undeclared():
            raise NotCoveredError(NO_LAW)


def _argument_sensitivity(law: NoiseLaw, greatest: float) -> float:
    """At least sup |x| f(x) over |x| <= greatest, of the law without truncation."""
    match law:
        case InverseGamma():
            # x f(x) is g**a exp(-g) / Gamma(a) at g = scale / x, greatest at g = a: Stirling.
            return math.sqrt(law.shape_scale()[0])
        case Lognormal():
            return 1 / law.log_parameters()[1]
        case Normal():
            return greatest / math.sqrt(law.variance)
        case StudentT():
            return greatest / law.scale
        case Empirical():
            return 0.0
        case Undeclared():
            raise NotCoveredError(NO_LAW)


def _truncated_quantile(law: StudentT, levels: FloatArray, upper: bool) -> FloatArray:
    base, arguments = _base(law)
    mass = law.interval_mass()
    below = 1 - levels if upper else levels
    with np.errstate(all="ignore"):
        from_below = base.ppf(base.cdf(law.lower, *arguments) + below * mass, *arguments)
        above = levels if upper else 1 - levels
        from_above = base.isf(base.sf(law.upper, *arguments) + above * mass, *arguments)
    values = np.where(from_below > law.location, from_above, from_below)
    return np.asarray(np.clip(values, law.lower, law.upper), dtype=float)
