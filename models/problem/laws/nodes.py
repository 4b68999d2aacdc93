"""Points and weights of laws under exponential tilts, by the trapezoidal rule."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LEFT, RIGHT = -745.0, -42.0
"""Logarithms below which a number is 0 in double precision, and nothing beside 1."""

FINEST, COARSEST = 0.4, 0.2
"""Steps for the density of log X: a share of its standard deviation, and at most so much."""

_NEGLIGIBLE = 45.0
"""Logarithm of the height at which a density is cut off: exp(-45) = 3e-20 of its peak, below 2**-53."""


def weighed(grid: FloatArray, logarithms: FloatArray, mean: float) -> tuple[FloatArray, FloatArray]:
    """X / ``mean`` as points and weights, from log X at equidistant points and its log density there."""
    weights = np.exp(logarithms)
    kept = weights > 0
    points, weights = np.exp(grid[kept]) / mean, weights[kept]
    return points, weights / weights.sum()


def trapezoid(
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


def log_sum(logarithms: FloatArray) -> float:
    """Logarithm of the sum of exponentials of a row of numbers."""
    top = float(logarithms.max())
    if not math.isfinite(top):
        return top
    return top + math.log(float(np.exp(logarithms - top).sum()))
