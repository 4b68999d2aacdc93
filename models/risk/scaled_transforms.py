r"""Centred log-transforms of many multiples of one law, interpolated over the logarithm of the factor.

A training of thousands of epochs has as many increments w X of one law, whose factors w differ by little,
and needs log E exp(-w s (X - E X)) at every node s of a contour. As a function of log w the transform less 1
is analytic in a strip, and a polynomial through a few dozen Chebyshev points takes the place of thousands of
factors. The four parts of its error are bounded on the page "Risk" (``risk``).
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expm1, log1p

from depl.models.problem.laws import Law
from depl.models.problem.laws.log_variable import EPSILON, ComplexArray, FloatArray, LogVariable
from depl.models.risk.transforms import centred_log_transform

_LOG_TRUNCATION = math.log(1e-18)
"""Wanted error of the polynomial, below that of the values it goes through. What it comes to is charged."""

_MOST_ROUNDING = 1e-14
"""Of a transform, by rounding its argument, for which it is interpolated: where factors are many it is
below; of few great ones the direct formula is more exact. Any value is sound, as the rounding is
charged."""

_LEAST_SAVED = 2
"""Least ratio of factors to points for which interpolation is worth the while."""

_FEWEST = 12
"""Points at the least: set by hand, so that few factors are not considered at all."""

_SMALL = 0.15
"""Share of the greatest factor up to which factors are interpolated by themselves: set by hand. The rounding
of an argument grows with its factor, and under eq. (8) the first epochs, whose factors are many times those
of the last, would have all of them computed directly; any value is sound."""

_HALF_WIDTHS = np.geomspace(0.01, 3.0, 60)
"""Tried bounds b of |Im u|; the best for each node is taken. All are sound, and more hardly save a point."""

_LARGEST_TURN = 1.5
"""Angle below pi/2 beyond which no line is turned: its cosine is then far above rounding."""

_NARROWEST = 1e-3
"""Half-length of the range of factors that are all equal; anything above rounding will do."""

_ROUNDED = 4 * EPSILON
"""Rounding of z relative to it, and to 1 plus the length L of the range of logarithms; r <= L / 2 or 0.001.
By a point: cosine 4.2 r units, its product with r and the sum 0.5 r + 0.25 L, exponential 1, products 1.
By a factor: quotient 0.5, logarithm and difference 0.75 L, quotient and arc cosine 2.5 r. By the node 1."""

_LONG_EPSILON = float(np.finfo(np.longdouble).eps)
_LONG_PI = 4 * np.arctan(np.longdouble(1))
"""Coefficients are sums over all points, of terms far greater than they are. Where the machine has longer
numbers their rounding vanishes; where it has none, the bound is wider."""


class _Grid(NamedTuple):
    """How factors are interpolated: by so many points over log(w / middle), of some length.

    ``log_truncation`` bounds the error of the polynomial for every node of the contour.
    """

    middle: float
    length: float
    points: int
    log_truncation: FloatArray

    @property
    def radius(self) -> float:
        """Half of the length."""
        return max(self.length / 2, _NARROWEST)


def scaled_log_transforms(
    law: Law, factors: FloatArray, nodes: ComplexArray
) -> tuple[ComplexArray, FloatArray]:
    """log E exp(-w s (X - E X)) for every factor w and node s, and a bound of its absolute error.

    Interpolated where that is less work, else by `centred_log_transform`; the bound covers either, and
    arguments rounded by a relative 2^-52.

    Parameters
    ----------
    factors : float array (n,)
        Of any sign; only positive ones are interpolated.
    nodes : complex array (J,)
        With real parts above 0 and imaginary parts of at least 0.

    Returns
    -------
    value, error : complex and float arrays (n, J)

    Raises
    ------
    InvalidInputError
        As `centred_log_transform` does.
    """
    small = factors <= _SMALL * factors.max(initial=0.0)
    if _worthwhile(factors[small]) and law.log_variable() is not None:
        value, error = np.empty((len(factors), len(nodes)), complex), np.empty((len(factors), len(nodes)))
        for part in (small, ~small):
            value[part], error[part] = scaled_log_transforms(law, factors[part], nodes)
        return value, error
    grid, near = _grid_for(law, factors, nodes)
    if grid is None:
        return centred_log_transform(law, factors[:, None] * nodes)
    value, error = np.empty((len(factors), len(nodes)), dtype=complex), np.empty((len(factors), len(nodes)))
    value[:, near], error[:, near] = _interpolated(law, factors, nodes[near], grid)
    if not near.all():
        value[:, ~near], error[:, ~near] = centred_log_transform(law, factors[:, None] * nodes[~near])
    return value, error


def _worthwhile(factors: FloatArray) -> bool:
    """Whether these are positive, and so many that to interpolate may be less work."""
    return len(factors) >= _LEAST_SAVED * _FEWEST and bool(factors.min() > 0)


def _grid_for(law: Law, factors: FloatArray, nodes: ComplexArray) -> tuple[_Grid | None, NDArray[np.bool_]]:
    """The grid with the fewest points, None if that saves too little, and the nodes that it is for."""
    near = np.zeros(len(nodes), dtype=bool)
    variable = law.log_variable()
    if variable is None or not _worthwhile(factors):
        return None, near
    least, greatest = float(factors.min()), float(factors.max())
    middle, length = math.sqrt(least) * math.sqrt(greatest), math.log(greatest / least)
    near = _ROUNDED * (1 + length) * _steepest(law, greatest, nodes) <= _MOST_ROUNDING
    if not near.any():
        return None, near
    grid = _sized(variable, nodes[near], middle, length)
    return (grid if _LEAST_SAVED * grid.points <= len(factors) else None), near


def _sized(variable: LogVariable, nodes: ComplexArray, middle: float, length: float) -> _Grid:
    """With the fewest points that bring the polynomial's error to the wanted size at every node."""
    grid = _Grid(middle, length, 0, np.empty(0))
    sizes = np.arcsinh(_HALF_WIDTHS / grid.radius)  # log rho
    bound = _log_bound(variable, nodes, middle * np.exp(grid.radius * np.cosh(sizes)))
    constant = math.log(4) + bound - np.log(np.expm1(sizes))[:, None]
    wanted = (constant - _LOG_TRUNCATION) / sizes[:, None] + 1
    points = max(math.ceil(float(wanted.min(axis=0).max())), _FEWEST)
    truncation = (constant - (points - 1) * sizes[:, None]).min(axis=0)
    return grid._replace(points=points, log_truncation=truncation)


def _log_bound(variable: LogVariable, nodes: ComplexArray, farthest: FloatArray) -> FloatArray:
    """log M for every tried half-width b, with its greatest factor on the ellipse, and node: shape (b, J)."""
    angle, half_width = np.angle(nodes), _HALF_WIDTHS[:, None]
    turn = np.maximum(angle + half_width - math.pi / 2, 0.0)
    cosine = np.cos(np.maximum(angle - half_width, 0.0))
    real = np.abs(nodes) * (farthest * variable.unit)[:, None] * cosine
    allowed = turn <= min(variable.largest_angle, _LARGEST_TURN)
    with np.errstate(over="ignore", invalid="ignore"):
        growth = np.maximum(real * (1 + variable.excess) + variable.damping(real), 0.0)
        growth = np.maximum(growth, variable.inflation(np.where(allowed, turn, 0.0)))
    return np.where(allowed & np.isfinite(growth), np.logaddexp(growth, 0.0), math.inf)


def _interpolated(
    law: Law, factors: FloatArray, nodes: ComplexArray, grid: _Grid
) -> tuple[ComplexArray, FloatArray]:
    shaken = _ROUNDED * (1 + grid.length) * _steepest(law, float(factors.max()), nodes)
    through = grid.middle * np.exp(grid.radius * _chebyshev_points(grid.points))
    logarithm, doubt = centred_log_transform(law, through[:, None] * nodes)
    remainder = expm1(logarithm)
    doubt = np.abs(1 + remainder) * np.expm1(doubt) + 8 * EPSILON * np.abs(remainder) + shaken
    coefficients = np.asarray(_analysis(grid.points) @ remainder.astype(np.clongdouble), dtype=complex)
    place = np.clip(np.log(factors / grid.middle) / grid.radius, -1.0, 1.0)
    degrees = np.arange(grid.points)
    found = np.cos(degrees * np.arccos(place)[:, None]) @ coefficients
    products = _LONG_EPSILON * (grid.points + 20) * np.abs(remainder).sum(axis=0)
    products += EPSILON * (2 * degrees + 2 + grid.points) @ np.abs(coefficients)
    lebesgue = 1 + 2 / math.pi * math.log(grid.points + 1)
    certain = np.exp(grid.log_truncation) + shaken
    off = certain + lebesgue * doubt.max(axis=0) + 1.5 * products + 8 * EPSILON * np.abs(found)
    left = np.maximum(np.abs(1 + found) - off, 0.0)
    with np.errstate(divide="ignore"):
        error = np.where(left > 0, -np.log1p(-off / np.abs(1 + found)) * 1.01, math.inf)
    return np.asarray(log1p(found), dtype=complex), np.asarray(error, dtype=float)


def _steepest(law: Law, factor: float, nodes: ComplexArray) -> FloatArray:
    """Bound of |dh/du| for factors up to the given one and a little more, at every node."""
    mean, variance = law.moments()
    with np.errstate(over="ignore"):
        size, lift = np.abs(nodes) * factor, np.exp(nodes.real * (factor * mean))
    square = size**2 * variance * lift if math.isfinite(variance) else np.full(len(nodes), math.inf)
    return np.asarray(np.minimum(square, 2 * size * mean * (1 + lift)) * 1.01, dtype=float)


@functools.lru_cache(maxsize=64)
def _chebyshev_points(number: int) -> FloatArray:
    """The zeros of T_number."""
    return np.asarray(np.cos(math.pi / (2 * number) * np.arange(1, 2 * number, 2)), dtype=float)


@functools.lru_cache(maxsize=64)
def _analysis(number: int) -> NDArray[np.longdouble]:
    """From values at the points to coefficients of Chebyshev polynomials, an orthogonal transform."""
    turns = np.outer(np.arange(number), np.arange(1, 2 * number, 2)) % (4 * number)
    table = np.cos(_LONG_PI / (2 * number) * turns) * (np.longdouble(2) / number)
    table[0] /= 2
    return np.asarray(table, dtype=np.longdouble)
