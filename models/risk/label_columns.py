"""Columns of a label that are not transforms: means with their rounding, variances, and infima."""

import math
from collections.abc import Sequence

import numpy as np

from depl.models.problem.epochs import Term
from depl.models.problem.laws import FloatArray
from depl.models.risk.transforms import EPSILON


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
        rounding = EPSILON * abs(weight) * term.law.mean_rounding()
        bottom = bottom if bounded else 0.0
        columns[:, index] = mean, rounding, variance, bottom, not finite, not bounded
    return tuple(columns)
