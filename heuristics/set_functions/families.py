"""Families of set functions that are no cuts: concave functions of a weight, and facility location.

    ConcaveOfWeight:   f(S) = g(w(S)) + u(S) with w >= 0 and g concave on [0, w(V)]
    FacilityLocation:  f(S) = sum over customers of the greatest benefit in S, minus or plus u(S)

Iwata's function |S| |V - S| - sum of (5 i - 2 n), a hard case for many methods, is of the first kind.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from depl.heuristics.set_functions.functions import (
    BoolArray,
    ExactChain,
    FloatArray,
    IntArray,
    ObjectArray,
    SetFunction,
    as_integers,
    common_denominator,
    exact_chain_of,
    rounded_chain,
)
from depl.heuristics.set_functions.verdicts import Submodularity, proved
from depl.models.foundation.compiling import kernel
from depl.models.foundation.decimals import DIGITS, decimal_function
from depl.models.foundation.errors import InvalidInputError

_RELATIVE_ERROR = Fraction(1, 10 ** (DIGITS - 5))


@dataclass(frozen=True)
class Shape:
    """A concave g with g(0) = 0.

    Attributes
    ----------
    name : str
        What it is.
    at : callable
        g on an array.
    exact : callable
        g on a rational number, to `DIGITS` - 5 digits.
    irrational : bool
        Whether ``exact`` rounds.
    whole : bool
        Whether g is an integer at every integer.
    """

    name: str
    at: Callable[[FloatArray], FloatArray]
    exact: Callable[[Fraction], Fraction]
    irrational: bool = True
    whole: bool = False


def square_root(scale: float = 1.0) -> Shape:
    """g(w) = scale * sqrt(w), scale >= 0."""
    factor = Fraction(_nonnegative(scale))
    return Shape(
        f"{scale:g} sqrt(w)",
        lambda weight: scale * np.sqrt(weight),
        lambda weight: factor * decimal_function(Decimal.sqrt, weight),
    )


def logarithm(scale: float = 1.0) -> Shape:
    """g(w) = scale * ln(1 + w), scale >= 0."""
    factor = Fraction(_nonnegative(scale))
    return Shape(
        f"{scale:g} ln(1 + w)",
        lambda weight: scale * np.log1p(weight),
        lambda weight: factor * decimal_function(Decimal.ln, 1 + weight),
    )


def parabola(total: float) -> Shape:
    """g(w) = w (total - w)."""
    whole = Fraction(total)
    return Shape(
        f"w ({total:g} - w)",
        lambda weight: weight * (total - weight),
        lambda weight: weight * (whole - weight),
        irrational=False,
        whole=whole.denominator == 1,
    )


def capped(limit: float) -> Shape:
    """g(w) = min(w, limit), limit >= 0."""
    most = Fraction(_nonnegative(limit))
    return Shape(
        f"min(w, {limit:g})",
        lambda weight: np.minimum(weight, limit),
        lambda weight: min(weight, most),
        irrational=False,
        whole=most.denominator == 1,
    )


@dataclass(frozen=True, eq=False)
class ConcaveOfWeight(SetFunction):
    """g(w(S)) + u(S); make it with `concave_of_weight` or `iwata`.

    Attributes
    ----------
    weights : ndarray
        w >= 0, shape (n,).
    shape : Shape
        g.
    modular : ndarray
        u, shape (n,).
    """

    weights: FloatArray
    shape: Shape
    modular: FloatArray

    @property
    def size(self) -> int:
        """See `SetFunction`."""
        return len(self.weights)

    def submodularity(self) -> Submodularity:
        """Increments of a concave function over a step fall as the starting point moves right."""
        return proved(f"the concave function {self.shape.name} of a nonnegative weight, and a modular part")

    @functools.cached_property
    def granularity(self) -> Fraction:
        """1 if all data are integers and the shape keeps them, otherwise unknown."""
        data = np.concatenate([self.weights, self.modular])
        whole = self.shape.whole and bool((data == np.round(data)).all())
        return Fraction(1) if whole else Fraction(0)

    @property
    def rounding(self) -> float:
        """0 for integers below 2**53, else a bound by the length of the sums."""
        size = self._top + float(np.abs(self.modular).sum())
        if self.granularity and size + float(self.weights.sum()) ** 2 < 2**53:
            return 0.0
        return 1e-15 * self.size * (size + float(self.weights.sum()))

    @property
    def _top(self) -> float:
        """A number that bounds |g| on the range up to a constant that the shapes here do not exceed."""
        grid = np.linspace(0, float(self.weights.sum()), 9)
        return 2 * float(np.abs(self.shape.at(grid)).max())

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`."""
        weight = np.concatenate([[0.0], np.cumsum(self.weights[order])])
        linear = np.concatenate([[0.0], np.cumsum(self.modular[order])])
        return np.asarray(self.shape.at(weight) + linear, dtype=float)

    def normalised(self) -> SetFunction:
        """It is 0 on the empty set already."""
        return self

    def values(self, members: BoolArray) -> FloatArray:
        """See `SetFunction`."""
        return np.asarray(self.shape.at(members @ self.weights) + members @ self.modular, dtype=float)

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`."""
        if not self.rounding:
            return ExactChain(self.chain(order).astype(np.int64), 1, Fraction(0))
        weight, linear, found = Fraction(0), Fraction(0), [self.shape.exact(Fraction(0))]
        for element in order.tolist():
            weight += Fraction(float(self.weights[element]))
            linear += Fraction(float(self.modular[element]))
            found.append(self.shape.exact(weight) + linear)
        if not self.shape.irrational:
            return exact_chain_of(found)
        greatest = 1 + max(abs(found[-1] - linear), Fraction(self._top))
        return rounded_chain(found, greatest * _RELATIVE_ERROR)


def concave_of_weight(weights: ArrayLike, shape: Shape, modular: ArrayLike = 0.0) -> ConcaveOfWeight:
    """g(w(S)) + u(S).

    Parameters
    ----------
    weights : array_like
        w >= 0, shape (n,).
    shape : Shape
        g, concave: `square_root`, `logarithm`, `parabola` or `capped`.
    modular : array_like
        u, shape (n,) or one number for all.

    Raises
    ------
    InvalidInputError
        If a weight is negative or not finite.
    """
    amounts = np.array(weights, dtype=float).reshape(-1)
    linear = np.broadcast_to(np.asarray(modular, dtype=float), amounts.shape).copy()
    fits = (amounts >= 0) & np.isfinite(amounts) & np.isfinite(linear)
    if not len(amounts) or not fits.all():
        raise InvalidInputError("weights must be nonnegative and finite, and there must be some", "weights")
    return ConcaveOfWeight(amounts, shape, linear)


def iwata(size: int) -> ConcaveOfWeight:
    """Iwata's function on ``size`` elements i = 1 ... n: |S| (n - |S|) - sum of (5 i - 2 n) over S."""
    if size < 1:
        raise InvalidInputError(f"needs at least one element, not {size}", "size")
    labels = np.arange(1, size + 1)
    return concave_of_weight(np.ones(size), parabola(size), -(5.0 * labels - 2.0 * size))


@dataclass(frozen=True, eq=False)
class FacilityLocation(SetFunction):
    """Sum over customers of the greatest benefit among the open sites S, plus u(S); 0 for no site.

    Attributes
    ----------
    benefits : ndarray
        Nonnegative, shape (sites, customers).
    modular : ndarray
        u, shape (sites,); opening costs, say, with their sign.
    """

    benefits: FloatArray
    modular: FloatArray

    @property
    def size(self) -> int:
        """See `SetFunction`."""
        return len(self.modular)

    def submodularity(self) -> Submodularity:
        """A maximum grows by less the more there is already."""
        return proved("a sum of maxima of nonnegative numbers, and a modular part")

    @functools.cached_property
    def denominator(self) -> int:
        """The least power of two that turns all data into integers."""
        return common_denominator(np.concatenate([self.benefits.ravel(), self.modular]))

    @property
    def granularity(self) -> Fraction:
        """One over the denominator."""
        return Fraction(1, self.denominator)

    @functools.cached_property
    def rounding(self) -> float:
        """0 if all sums are exact in floating point, else a bound by their length."""
        total = float(self.benefits.max(axis=0, initial=0).sum() + np.abs(self.modular).sum())
        if total * self.denominator < 2**52:
            return 0.0
        return float(4e-16 * (self.size + self.benefits.shape[1]) * total)

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`."""
        order = np.ascontiguousarray(order, dtype=np.int64)
        found: FloatArray = _facility_values(order, self.benefits, self.modular)
        return found

    def normalised(self) -> SetFunction:
        """It is 0 on the empty set already."""
        return self

    def values(self, members: BoolArray) -> FloatArray:
        """See `SetFunction`."""
        best = np.zeros((len(members), self.benefits.shape[1]))
        for site in range(self.size):
            best = np.maximum(best, members[:, site, None] * self.benefits[site])
        return np.asarray(best.sum(axis=1) + members @ self.modular, dtype=float)

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`; floats are dyadic rationals, so nothing is rounded."""
        if not self.rounding:
            scaled = self.chain(order) * self.denominator
            return ExactChain(scaled.astype(np.int64), self.denominator, Fraction(0))
        benefits, modular = self._integers
        best = np.maximum.accumulate(benefits[order], axis=0).sum(axis=1)
        found = np.array([0] * (len(order) + 1), dtype=object)
        found[1:] = best + np.cumsum(modular[order])
        return ExactChain(found, self.denominator, Fraction(0))

    @functools.cached_property
    def _integers(self) -> tuple[ObjectArray, ObjectArray]:
        """Benefits and modular part times the denominator, as Python integers."""
        benefits = as_integers(self.benefits.ravel(), self.denominator).reshape(self.benefits.shape)
        return benefits, as_integers(self.modular, self.denominator)


def facility_location(benefits: ArrayLike, modular: ArrayLike = 0.0) -> FacilityLocation:
    """Sum over customers of the greatest benefit in S, plus u(S).

    Parameters
    ----------
    benefits : array_like
        Nonnegative, shape (sites, customers).
    modular : array_like
        u, one per site or one for all.

    Raises
    ------
    InvalidInputError
        If a benefit is negative or a number not finite.
    """
    table = np.array(benefits, dtype=float)
    if table.ndim != 2 or not table.shape[0] or not np.isfinite(table).all() or not (table >= 0).all():
        raise InvalidInputError("must be a table (sites, customers) of nonnegative numbers", "benefits")
    linear = np.broadcast_to(np.asarray(modular, dtype=float), (len(table),)).copy()
    if not np.isfinite(linear).all():
        raise InvalidInputError("must be finite", "modular")
    return FacilityLocation(table, linear)


def _nonnegative(scale: float) -> float:
    if not 0 <= scale < math.inf:
        raise InvalidInputError(f"must be nonnegative and finite, not {scale}", "scale")
    return scale


@kernel()
def _facility_values(order: IntArray, benefits: FloatArray, modular: FloatArray) -> FloatArray:
    """The values on the prefixes; every site adds what it brings its customers beyond the best one so far."""
    best = np.zeros(benefits.shape[1])
    found = np.zeros(len(order) + 1)
    for place in range(len(order)):
        site = order[place]
        gain = modular[site]
        for customer in range(len(best)):
            more = benefits[site, customer] - best[customer]
            if more > 0:
                gain += more
                best[customer] = benefits[site, customer]
        found[place + 1] = found[place] + gain
    return found
