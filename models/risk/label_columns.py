"""Columns of a label that are not transforms: means with their rounding, variances, and infima."""

import math
from collections.abc import Sequence

import numpy as np

from depl.models.problem.epochs import NoiseLaw, Term
from depl.models.problem.laws import Empirical, FloatArray, InverseGamma, Lognormal, StudentT
from depl.models.risk.transforms import EPSILON


def mean_rounding(law: NoiseLaw) -> float:
    """Bound of the error of the law's mean times a weight, in EPSILON."""
    mean = abs(law.moments().mean)
    if isinstance(law, Lognormal) and law.log_mean is not None:
        mu, sigma = law.log_parameters()
        return mean * (4 + abs(mu) + sigma**2)  # the exponent is rounded in its own size
    if isinstance(law, Empirical | StudentT):
        # A dot product, summed in eight lanes or more, with masses that were divided by such a sum.
        values, _ = law.atoms() if isinstance(law, Empirical) else law.quadrature()
        return (16 + len(values) / 8) * math.hypot(mean, math.sqrt(law.moments().variance))
    # One product by the weight; before that a difference and a quotient, if shape and scale were given.
    return (1.51 if isinstance(law, InverseGamma) and law.mean is None else 0.51) * mean


def coarse_part(table: FloatArray, most: float) -> FloatArray:
    """``table`` rounded column by column to so coarse a unit that sums of up to ``most`` rows are exact.

    Since the rest is then too small for its rounding to matter, integer multiples of the rows are added
    as if rounded once, in any order (an error-free transformation, Rump, Ogita and Oishi 2008).
    """
    largest = np.maximum(most * np.abs(table).max(axis=0, initial=0.0), 1e-300)
    unit = np.ldexp(1.0, np.frexp(largest)[1] - 52)
    return np.asarray(np.rint(table / unit) * unit, dtype=float)


def scalar_columns(terms: Sequence[Term]) -> tuple[FloatArray, ...]:
    """The last six fields of `Labels`, from the mean on, one column per term."""
    columns = np.zeros((6, len(terms)))
    for index, term in enumerate(terms):
        weight, moments, support = -term.coefficient, term.law.moments(), term.law.support()
        mean = weight * moments.mean
        bottom = weight * (support[0] if weight > 0 else support[1])
        finite, bounded = math.isfinite(moments.variance), math.isfinite(bottom)
        variance = weight * weight * moments.variance if finite else 0.0
        rounding = EPSILON * abs(weight) * mean_rounding(term.law)
        bottom = bottom if bounded else 0.0
        columns[:, index] = mean, rounding, variance, bottom, not finite, not bounded
    return tuple(columns)
