"""What proves a minimum: a point s of the base polytope, written so that anybody can check it.

Edmonds: for submodular f the greedy base of an order pi, s_pi(i) = f(prefix with i) - f(prefix before i),
satisfies s(X) <= f(X) - f(0) for all X, with equality on the prefixes. So does every convex combination s of
such bases, and

    f(X) >= f(0) + s(X) >= f(0) + sum of min(0, s_i)      for all X.

A certificate is the orders and their weights; the bound is computed again from f, in rational numbers.
It rests on submodularity: an optimum is claimed only where that is PROVED.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from depl.heuristics.set_functions.functions import FloatArray, IntArray, SetFunction
from depl.models.foundation.errors import InvalidInputError

TOLERANCE = Fraction(1, 10**9)
"""Gap of an optimum relative to the greatest of |f(A) - f(0)| and |s_i|, where values are not multiples of a
known number; a constant of f changes nothing."""

_WEIGHT_BITS = 80
"""Bits of a weight after the point: the least that is kept, 1e-15 of the sum, still has 30 significant ones,
and all errors together are 1e-24 of a base for each order, far below `TOLERANCE`."""


@dataclass(frozen=True)
class CertifiedBound:
    """f(X) >= lower for all X, if f is submodular.

    Attributes
    ----------
    lower : Fraction
        Valid whatever the rounding of irrational values: their error is subtracted.
    largest : Fraction
        Greatest |s_i|: how much one element may matter.
    """

    lower: Fraction
    largest: Fraction


@dataclass(frozen=True, eq=False)
class GreedyCertificate:
    """A convex combination of greedy bases.

    Attributes
    ----------
    orders : ndarray
        Shape (k, n), a permutation per row.
    weights : tuple of Fraction
        Nonnegative, with sum exactly 1.
    """

    orders: IntArray
    weights: tuple[Fraction, ...]

    def bound(self, function: SetFunction) -> CertifiedBound:
        """The bound, computed again from the function: O(k) exact chains.

        Raises
        ------
        InvalidInputError
            If the orders and weights are no convex combination of bases of this function.
        """
        _require_convex(self.orders, self.weights, function.size)
        units = math.lcm(*(weight.denominator for weight in self.weights))
        chains = [function.exact_chain(order) for order in self.orders]
        common = math.lcm(*(chain.denominator for chain in chains))
        base = np.array([0] * function.size, dtype=object)
        for order, weight, chain in zip(self.orders, self.weights, chains, strict=True):
            share = int(weight * units) * (common // chain.denominator)
            base[order] += np.diff(chain.numerators).astype(object) * share
        return _bound(function, base.tolist(), common * units, max(chain.error for chain in chains))


def greedy_certificate(orders: Sequence[IntArray], weights: FloatArray) -> GreedyCertificate:
    """A certificate from floating-point weights, rounded to rational ones with sum exactly 1.

    Weights below 1e-15 of the sum are left out.
    """
    positive = np.flatnonzero(weights > 1e-15 * weights.sum())
    whole = Fraction(float(weights.sum()))
    # round to the nearest multiple of 2**-80: (2 a 2**80 + b) // (2 b) for every fraction a / b
    units = []
    for value in weights[positive].tolist():
        above, below = value.as_integer_ratio()
        above, below = above * whole.denominator << _WEIGHT_BITS, below * whole.numerator
        units.append((2 * above + below) // (2 * below))
    largest = int(np.argmax(weights[positive]))
    units[largest] += 2**_WEIGHT_BITS - sum(units)
    return GreedyCertificate(
        np.array([orders[place] for place in positive.tolist()], dtype=np.int64),
        tuple(Fraction(unit, 2**_WEIGHT_BITS) for unit in units),
    )


def proves(function: SetFunction, subset: frozenset[int], bound: CertifiedBound) -> bool:
    """Whether no set can be better than ``subset``, apart from `TOLERANCE`, if f is submodular.

    Exactly no set is better if the gap is 0, or below the granularity of a function without rounding. A bound
    above the value proves nothing but that f is not submodular.
    """
    chain = function.exact_chain(np.array(sorted(subset), dtype=np.int64))
    gap = chain.last + chain.error - bound.lower
    if gap == 0 or (chain.error == 0 and 0 < gap < function.granularity):
        return True
    empty = Fraction(int(chain.numerators[0]), chain.denominator)
    return 0 <= gap <= TOLERANCE * max(abs(chain.last - empty), bound.largest)


def _bound(
    function: SetFunction, base: Sequence[Fraction], denominator: int, error: Fraction
) -> CertifiedBound:
    """f(0) + sum of min(0, s_i), less 2 (n + 1) times the error of a value; s = base / denominator.

    s_i is off by at most 2 errors, f(0) by one.
    """
    start = function.exact_chain(np.array([], dtype=np.int64))
    negative = Fraction(sum(value for value in base if value < 0), denominator)
    slack = 2 * (function.size + 1) * max(error, start.error)
    largest = Fraction(max((abs(value) for value in base), default=0), denominator)
    return CertifiedBound(start.last + negative - slack, largest)


def _require_convex(orders: IntArray, weights: tuple[Fraction, ...], size: int) -> None:
    if len(orders) != len(weights) or not len(weights):
        raise InvalidInputError("a certificate needs as many weights as orders, and some")
    if min(weights) < 0 or sum(weights) != 1:
        raise InvalidInputError("the weights of a certificate must be nonnegative with sum exactly 1")
    if orders.shape[1] != size or (np.sort(orders, axis=1) != np.arange(size)).any():
        raise InvalidInputError(f"every order of a certificate must be a permutation of {size} elements")
