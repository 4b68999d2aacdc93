"""X = unit * exp(Y): what the trapezoidal rule has to know of laws with an entire density of log X.

And points and weights of such laws under exponential tilts, by the same rule.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ComplexArray = NDArray[np.complex128]
FloatArray = NDArray[np.float64]

EPSILON = float(np.finfo(float).eps)

LEFT, RIGHT = -745.0, -42.0
"""Logarithms below which a number is 0 in double precision, and nothing beside 1."""

FINEST, COARSEST = 0.4, 0.2
"""Steps for the density of log X: a share of its standard deviation, and at most so much."""


@dataclass(frozen=True)
class LogVariable:
    """X = unit * exp(Y) as the trapezoidal rule sees it; the density of Y peaks at or near 0.

    Without the unit, points y of the size of log X would be rounded by so much that the density, and
    with a narrow law the rule itself, lost several digits.

    ``log_density`` continues the logarithm of the density of Y (up to a constant) to complex y;
    ``inflation(angle)`` bounds the log of the factor by which its modulus integral grows on the
    line Im y = -angle; ``damping(a)`` bounds log E exp(-a exp(Y)) for a >= 0; ``turning_point``
    gives the saddle of log_density(y) - z exp(y); ``excess`` is E exp(Y) - 1, ``condition`` the
    rounding of exp(log_density) at its peak in EPSILON.
    """

    unit: float
    excess: float
    spread: float
    log_density: Callable[[ComplexArray], ComplexArray]
    inflation: Callable[[FloatArray], FloatArray]
    damping: Callable[[FloatArray], FloatArray]
    turning_point: Callable[[ComplexArray], ComplexArray]
    largest_angle: float
    condition: float
    remainder_ok: bool
    left: float
    right: float
    log_norm: float


def log_norm(log_density: Callable[[ComplexArray], ComplexArray], left: float, right: float) -> float:
    """Logarithm of the integral of exp(log_density), well enough to choose a step by."""
    points = np.linspace(-left, right, 4001)
    values = np.exp(log_density(points.astype(complex)).real)
    return math.log(float(values.sum()) * (points[1] - points[0]))


def weighed(grid: FloatArray, logarithms: FloatArray, mean: float) -> tuple[FloatArray, FloatArray]:
    """X / ``mean`` as points and weights, from log X at equidistant points and its log density there."""
    weights = np.exp(logarithms)
    kept = weights > 0
    points, weights = np.exp(grid[kept]) / mean, weights[kept]
    return points, weights / weights.sum()
