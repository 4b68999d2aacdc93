"""Set functions made of others: sums with nonnegative coefficients, complements, truncations.

    WeightedSum:  sum of c_t f_t(S) with c >= 0           submodular if every f_t is
    Complement:   f(V - S)                                submodular if f is: unions and intersections swap
    Truncated:    min(f(S), c) of a monotone f            submodular if f is (Lovasz 1983, Sec. 1)

Restriction and contraction are `depl.heuristics.set_functions.functions.Restricted`. What is said of errors
holds on every set, submodular or not; only `rounding`, which sets the tolerance of a search, is a bound for
submodular functions alone.
"""

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from depl.heuristics.set_functions.functions import (
    BoolArray,
    ExactChain,
    FloatArray,
    IntArray,
    SetFunction,
)
from depl.heuristics.set_functions.verdicts import UNKNOWN, Submodularity, Verdict

_UNIT = float(np.finfo(float).eps)
"""Distance of 1 from the next double: twice the relative error of a rounding."""


class WeightedSum(SetFunction):
    """Sum of c_t f_t(S).

    Parameters
    ----------
    terms : sequence of SetFunction
        f_t, all on the same elements; at least one.
    coefficients : sequence of Fraction
        c_t >= 0; a term with 0 is left out by whoever builds the sum.
    """

    def __init__(self, terms: Sequence[SetFunction], coefficients: Sequence[Fraction]) -> None:
        self.terms, self.coefficients = tuple(terms), tuple(coefficients)
        self._factors = [float(value) for value in coefficients]

    @property
    def size(self) -> int:
        """That of every term."""
        return self.terms[0].size

    @functools.cached_property
    def rounding(self) -> float:
        """The errors of the terms, and a rounding of each product and sum, if the terms are submodular."""
        own = [factor * term.rounding for factor, term in zip(self._factors, self.terms, strict=True)]
        large = [
            factor * greatest_value(term) for factor, term in zip(self._factors, self.terms, strict=True)
        ]
        if all(value == 0 for value in own) and self._is_exact(sum(large)):
            return 0.0
        return math.fsum(own) + _UNIT * (len(self.terms) + 1) * math.fsum(large)

    @functools.cached_property
    def granularity(self) -> Fraction:
        """The greatest number of which all c_t f_t are multiples; 0 if one of them has none."""
        parts = [c * term.granularity for c, term in zip(self.coefficients, self.terms, strict=True)]
        if not all(parts):
            return Fraction(0)
        common = math.lcm(*(part.denominator for part in parts))
        return Fraction(math.gcd(*(int(part * common) for part in parts)), common)

    def submodularity(self) -> Submodularity:
        """The weakest verdict of the terms; a violation of one need not be one of the sum."""
        found = [term.submodularity() for term in self.terms]
        for status in found:
            if not (status.proved or status.told):
                return UNKNOWN
        reason = "a sum with nonnegative coefficients: " + "; ".join(status.reason for status in found)
        told = any(status.told for status in found)
        return Submodularity(Verdict.TOLD if told else Verdict.PROVED, reason)

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`."""
        parts = [factor * term.chain(order) for factor, term in zip(self._factors, self.terms, strict=True)]
        return np.asarray(sum(parts), dtype=float)

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`."""
        return self._summed([term.exact_chain(order) for term in self.terms])

    def exact_ends(self, order: IntArray) -> ExactChain:
        """See `SetFunction`."""
        return self._summed([term.exact_ends(order) for term in self.terms])

    def values(self, members: BoolArray) -> FloatArray:
        """See `SetFunction`."""
        return self.bounded_values(members)[0]

    def bounded_values(self, members: BoolArray) -> tuple[FloatArray, FloatArray]:
        """See `SetFunction`; the rounding of products and sums is that of the values at hand."""
        found, errors, sizes = (np.zeros(len(members)) for _ in range(3))
        for factor, term in zip(self._factors, self.terms, strict=True):
            values, off = term.bounded_values(members)
            found, errors = found + factor * values, errors + factor * off
            sizes = sizes + factor * np.abs(values)
        if not errors.any() and self._is_exact(float(sizes.max(initial=0.0))):
            return found, errors
        return found, (errors + _UNIT * (len(self.terms) + 1) * sizes) * (1 + 1e-12)

    def extreme_gains(self, inside: BoolArray, outside: BoolArray) -> tuple[FloatArray, FloatArray] | None:
        """See `SetFunction`; where every term has them."""
        first, last = np.zeros(self.size), np.zeros(self.size)
        for factor, term in zip(self._factors, self.terms, strict=True):
            found = term.extreme_gains(inside, outside)
            if found is None:
                return None
            first, last = first + factor * found[0], last + factor * found[1]
        return first, last

    def _is_exact(self, size: float) -> bool:
        """Whether products and sums of these sizes are dyadic numbers that doubles hold."""
        unit = self.granularity.denominator if self.granularity else 0
        dyadic = unit > 0 and unit & (unit - 1) == 0
        given = all(Fraction(near) == c for near, c in zip(self._factors, self.coefficients, strict=True))
        return dyadic and given and size * unit < 2**52

    def _summed(self, chains: Sequence[ExactChain]) -> ExactChain:
        pairs = list(zip(self.coefficients, chains, strict=True))
        common = math.lcm(*(c.denominator * chain.denominator for c, chain in pairs))
        total = np.array([0] * len(chains[0].numerators), dtype=object)
        for c, chain in pairs:
            factor = c.numerator * (common // (c.denominator * chain.denominator))
            total = total + chain.numerators.astype(object) * factor
        return ExactChain(total, common, sum((c * chain.error for c, chain in pairs), Fraction(0)))


class Complement(SetFunction):
    """f(V - S)."""

    def __init__(self, function: SetFunction) -> None:
        self.function = function

    @property
    def size(self) -> int:
        """That of f."""
        return self.function.size

    @property
    def rounding(self) -> float:
        """That of f."""
        return self.function.rounding

    @property
    def granularity(self) -> Fraction:
        """That of f."""
        return self.function.granularity

    def submodularity(self) -> Submodularity:
        """That of f, whose violating triple would be another one here."""
        found = self.function.submodularity()
        if found.proved or found.told:
            return Submodularity(found.verdict, f"the complement of: {found.reason}")
        return UNKNOWN

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`; f on a chain that ends in everything, read backwards."""
        return self.function.chain(self._backwards(order))[self.size - len(order) :][::-1]

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`."""
        whole = self.function.exact_chain(self._backwards(order))
        return ExactChain(whole.numerators[self.size - len(order) :][::-1], whole.denominator, whole.error)

    def values(self, members: BoolArray) -> FloatArray:
        """See `SetFunction`."""
        return self.function.values(~members)

    def bounded_values(self, members: BoolArray) -> tuple[FloatArray, FloatArray]:
        """See `SetFunction`."""
        return self.function.bounded_values(~members)

    def extreme_gains(self, inside: BoolArray, outside: BoolArray) -> tuple[FloatArray, FloatArray] | None:
        """See `SetFunction`; both kinds change places and signs."""
        found = self.function.extreme_gains(outside, inside)
        return None if found is None else (-found[1], -found[0])

    def _backwards(self, order: IntArray) -> IntArray:
        """Elements that stay out of S, then those of the order, the last first."""
        kept = np.ones(self.size, dtype=bool)
        kept[order] = False
        return np.concatenate([np.flatnonzero(kept), order[::-1]])


class Truncated(SetFunction):
    """min(f(S), c); whoever makes it knows that f is monotone.

    Parameters
    ----------
    function : SetFunction
        f, which nowhere falls or nowhere rises.
    limit : Fraction
        c.
    """

    def __init__(self, function: SetFunction, limit: Fraction) -> None:
        self.function, self.limit = function, limit

    @property
    def size(self) -> int:
        """That of f."""
        return self.function.size

    @property
    def rounding(self) -> float:
        """That of f, and the rounding of c to a float."""
        return self.function.rounding + self._off

    @property
    def granularity(self) -> Fraction:
        """The greatest number of which c and all values of f are multiples."""
        unit = self.function.granularity
        if not unit:
            return Fraction(0)
        common = math.lcm(unit.denominator, self.limit.denominator)
        return Fraction(math.gcd(int(unit * common), int(self.limit * common)), common)

    def submodularity(self) -> Submodularity:
        """Where f rises, let f(A + i + j) > c, or nothing is cut off.

        If f(A + i) >= c, that side has c and at least min(f(A), c). Otherwise neither f(A + i) nor f(A + j)
        is cut, and they sum to f(A + i + j) + f(A) > c + f(A). Where f falls, all holds of the complement.
        """
        found = self.function.submodularity()
        if found.proved or found.told:
            return Submodularity(
                found.verdict, f"a monotone function, cut off at {self.limit}: {found.reason}"
            )
        return UNKNOWN

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`."""
        return np.minimum(self.function.chain(order), float(self.limit))

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`; a minimum is off by no more than what it is taken of."""
        return self._cut(self.function.exact_chain(order))

    def exact_ends(self, order: IntArray) -> ExactChain:
        """See `SetFunction`."""
        return self._cut(self.function.exact_ends(order))

    def values(self, members: BoolArray) -> FloatArray:
        """See `SetFunction`."""
        return np.minimum(self.function.values(members), float(self.limit))

    def bounded_values(self, members: BoolArray) -> tuple[FloatArray, FloatArray]:
        """See `SetFunction`."""
        values, errors = self.function.bounded_values(members)
        return np.minimum(values, float(self.limit)), errors + self._off

    @property
    def _off(self) -> float:
        near = float(self.limit)
        return 0.0 if Fraction(near) == self.limit else math.ulp(near)

    def _cut(self, chain: ExactChain) -> ExactChain:
        common = math.lcm(chain.denominator, self.limit.denominator)
        scaled = chain.numerators.astype(object) * (common // chain.denominator)
        return ExactChain(np.minimum(scaled, int(self.limit * common)), common, chain.error)


class Judged(SetFunction):
    """A function with a verdict that somebody else has reached.

    Parameters
    ----------
    function : SetFunction
        f.
    status : Submodularity
        The verdict.
    """

    def __init__(self, function: SetFunction, status: Submodularity) -> None:
        self.function, self.status = function, status

    @property
    def size(self) -> int:
        """That of f."""
        return self.function.size

    @property
    def rounding(self) -> float:
        """That of f."""
        return self.function.rounding

    def submodularity(self) -> Submodularity:
        """The verdict."""
        return self.status

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`."""
        return self.function.chain(order)

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`."""
        return self.function.exact_chain(order)

    def values(self, members: BoolArray) -> FloatArray:
        """See `SetFunction`."""
        return self.function.values(members)

    def bounded_values(self, members: BoolArray) -> tuple[FloatArray, FloatArray]:
        """See `SetFunction`."""
        return self.function.bounded_values(members)


def greatest_value(function: SetFunction) -> float:
    """A bound of |f| of a submodular f from 2 + n of its values.

    f(S) is at most f(0) plus the positive gains of single elements, and at least f(V) less those of V - S.
    """
    n = function.size
    members = np.concatenate(
        [np.zeros((1, n), dtype=bool), np.eye(n, dtype=bool), np.ones((1, n), dtype=bool)]
    )
    values = function.values(members)
    gains = float(np.maximum(values[1:-1] - values[0], 0).sum())
    noise = (n + 2) * function.rounding
    return max(abs(float(values[0])), abs(float(values[-1]))) + gains + noise
