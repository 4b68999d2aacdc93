"""Functions of the factor of an increment, for thousands of increments of one law, from a few dozen factors.

The epochs of a long training have improvements that differ by a factor alone. What a law gives is smooth in
the logarithm of the factor, so that a Chebyshev series through a few dozen factors gives it at all of them.
How many are needed is measured: the last coefficients of a series must be rounding. That is no proof;
`convolution` repeats everything with other factors, another tilt and another period, and takes the difference
as an error.
"""

import math
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Number = TypeVar("Number", np.float64, np.complex128)

MANY = 200
"""Increments of one law from which their factors are interpolated: set by hand. The series itself takes 33
as a rule."""

_FIRST, _MOST = 16, 64
"""Degrees that are tried, doubled between: set by hand. What needs a higher one is not smooth enough for this
to save much, and is computed factor by factor."""

_ROUNDING = 1e-14
"""Size of the last quarter of the coefficients, relative to the greatest: about a hundred roundings."""


class Series(NamedTuple, Generic[Number]):
    """A Chebyshev series in the logarithm of the factor; ``coefficients`` of shape (degree + 1, columns)."""

    coefficients: NDArray[Number]
    centre: float
    radius: float

    def for_factors(self, factors: FloatArray) -> NDArray[Number]:
        """Values at factors of shape (m,), as rows."""
        places = np.clip((np.log(np.abs(factors)) - self.centre) / self.radius, -1.0, 1.0)
        table: NDArray[Number] = chebyshev.chebvander(places, len(self.coefficients) - 1) @ self.coefficients
        return table


def series_over(
    values: Callable[[FloatArray], NDArray[Number] | None], factors: FloatArray, refinement: int = 0
) -> Series[Number] | None:
    """The series of ``values`` over the range of some factors; None if at most `_MOST` degrees do not do.

    Parameters
    ----------
    values : callable
        From factors, shape (n,), to rows, shape (n, columns); None where it cannot say.
    factors : float array (m,)
        All of one sign.
    refinement : int
        0, or 1 for a repetition, which tries degrees half as great again, and so uses other factors.
    """
    sign, logarithms = math.copysign(1.0, factors[0]), np.log(np.abs(factors))
    low, high = float(logarithms.min()), float(logarithms.max())
    centre, radius = (low + high) / 2, max((high - low) / 2, 1e-6)

    def sampled(places: FloatArray) -> NDArray[Number]:
        found = values(sign * np.exp(centre + radius * places))
        if found is None:
            raise _UnknownError
        return found

    interpolate: Any = chebyshev.chebinterpolate  # of columns, too, which its types do not know
    degree = _FIRST + _FIRST // 2 * refinement
    while degree <= _MOST + _MOST // 2 * refinement:
        try:
            coefficients: NDArray[Number] = interpolate(sampled, degree)
        except _UnknownError:
            return None
        if np.abs(coefficients[-(degree // 4) :]).max() <= _ROUNDING * np.abs(coefficients).max():
            return Series(coefficients, centre, radius)
        degree *= 2
    return None


class _UnknownError(Exception):
    """A value at one of the factors cannot be computed."""
