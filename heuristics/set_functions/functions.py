"""Set functions as all methods see them: values on the prefixes of an order, and values on many sets.

A greedy base, the step of every method here, needs f on all prefixes of an order of the ground set
{0, ..., n - 1}; most functions give them together in about the time of one value. So the oracle is `chain`,
and a single value is the end of a short chain.

What is *proved* about a minimum is computed in rational numbers: `exact_chain` returns the values as
integers over one denominator, with a bound of their error where f is irrational (roots and logarithms come
from `decimal` with 60 digits).
"""

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.set_functions.verdicts import UNKNOWN, Submodularity, Verdict
from depl.models.foundation.errors import InvalidInputError, NotCoveredError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
ObjectArray = NDArray[Any]

LARGEST_TABLE = 20
"""Most elements for which the values of all subsets are written out."""

_ROUNDED_BITS = 240
"""Bits after the point of values that are approximate anyway: 2**-240 = 6e-73 adds nothing to their errors,
which are 1e-55 or 1e-50 of a value, and numerators stay short."""


@dataclass(frozen=True, eq=False)
class ExactChain:
    """Values on prefixes as rational numbers.

    Attributes
    ----------
    numerators : ndarray
        Shape (k + 1,); of int64 below 2**53 in absolute value, or Python integers.
    denominator : int
        Common to all.
    error : Fraction
        No value is further from the true one.
    """

    numerators: ObjectArray
    denominator: int
    error: Fraction

    @property
    def last(self) -> Fraction:
        """The value on the whole order."""
        return Fraction(int(self.numerators[-1]), self.denominator)


class SetFunction(abc.ABC):
    """A real function of the subsets of {0, ..., size - 1}, finite everywhere."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """n, the number of elements."""

    @abc.abstractmethod
    def chain(self, order: IntArray) -> FloatArray:
        """The values on the empty set and on the first 1, 2, ... elements of ``order``.

        Parameters
        ----------
        order : ndarray
            Different elements, shape (k,), not necessarily all of them.

        Returns
        -------
        ndarray
            Shape (k + 1,).
        """

    @abc.abstractmethod
    def exact_chain(self, order: IntArray) -> ExactChain:
        """The same in rational numbers, with a bound of the error."""

    def values(self, members: BoolArray) -> FloatArray:
        """The values on m sets given by their indicators, shape (m, n); returns shape (m,)."""
        return np.array([self.chain(np.flatnonzero(row))[-1] for row in members], dtype=float)

    def bounded_values(self, members: BoolArray) -> tuple[FloatArray, FloatArray]:
        """The values on m sets as floats, and for each a bound of its distance from the true one."""
        values = self.values(members)
        return values, np.full(len(values), self.rounding)

    def normalised(self) -> "SetFunction":
        """f - f(0), so that no tolerance and no rounding of a search depends on a constant.

        The orders, bases and sets found for it are those of f: what is proved is proved of f itself.
        """
        return Normalised(self)

    def submodularity(self) -> Submodularity:
        """What the construction says about submodularity."""
        return UNKNOWN

    @property
    def granularity(self) -> Fraction:
        """All values are multiples of it; 0 if no such number is known."""
        return Fraction(0)

    @property
    def rounding(self) -> float:
        """Bound of the error of a value in floating point."""
        return 0.0

    def value(self, subset: Sequence[int] | frozenset[int]) -> float:
        """The value on one set."""
        return float(self.chain(as_order(subset))[-1])

    def exact_value(self, subset: Sequence[int] | frozenset[int]) -> Fraction:
        """The value on one set, within the error of `exact_chain`."""
        return self.exact_chain(as_order(subset)).last


@dataclass(frozen=True, eq=False)
class Oracle(SetFunction):
    """A set function that is known by its values alone.

    Attributes
    ----------
    elements : int
        n.
    evaluate : callable
        Takes a frozenset of elements and returns a finite number.
    known : Submodularity
        What the caller knows of it; by default nothing. A verdict PROVED is taken as TOLD: it is checked on
        the sets that a method visits, and an answer is optimal only if it holds. No answer is called optimal
        outright unless all sets are tried.
    error : float
        Bound of the error of ``evaluate``. With 0 the function *is* what is evaluated, bit by bit.
    """

    elements: int
    evaluate: Callable[[frozenset[int]], float | int | Fraction]
    known: Submodularity = UNKNOWN
    error: float = 0.0

    @property
    def size(self) -> int:
        """See `SetFunction`."""
        return self.elements

    @property
    def rounding(self) -> float:
        """See `SetFunction`."""
        return self.error

    def submodularity(self) -> Submodularity:
        """What the caller tells."""
        return self.known.as_told()

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`; k + 1 evaluations.

        Raises
        ------
        InvalidInputError
            If a value is not finite.
        """
        return _finite([float(value) for value in self._prefix_values(order)])

    def values(self, members: BoolArray) -> FloatArray:
        """See `SetFunction`; one evaluation per set."""
        return _finite([float(self.evaluate(as_set(np.flatnonzero(row)))) for row in members])

    def bounded_values(self, members: BoolArray) -> tuple[FloatArray, FloatArray]:
        """See `SetFunction`; a value that is no float is off by its rounding to the nearest one, too."""
        given = [self.evaluate(as_set(np.flatnonzero(row))) for row in members]
        values = _finite([float(value) for value in given])
        off = [
            math.nextafter(self.error + math.ulp(near), math.inf) if value != near else self.error
            for value, near in zip(given, values.tolist(), strict=True)
        ]
        return values, np.array(off)

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`; every float is a rational number."""
        return exact_chain_of([Fraction(value) for value in self._prefix_values(order)], Fraction(self.error))

    def normalised(self) -> SetFunction:
        """See `SetFunction`; f(0) is subtracted in rational numbers."""
        start = Fraction(self.evaluate(frozenset()))
        if not start:
            return self
        return Oracle(
            self.elements, lambda chosen: Fraction(self.evaluate(chosen)) - start, self.known, 2 * self.error
        )

    def _prefix_values(self, order: IntArray) -> list[float | int | Fraction]:
        elements = order.tolist()
        return [self.evaluate(frozenset(elements[:count])) for count in range(len(elements) + 1)]


class Normalised(SetFunction):
    """f - f(0) of any function, by one subtraction of floats for each value."""

    def __init__(self, function: SetFunction) -> None:
        self.function = function

    @property
    def size(self) -> int:
        """That of f."""
        return self.function.size

    @property
    def rounding(self) -> float:
        """Twice that of f; the subtraction itself adds a unit in the last place of the difference."""
        return 2 * self.function.rounding

    @property
    def granularity(self) -> Fraction:
        """That of f."""
        return self.function.granularity

    def submodularity(self) -> Submodularity:
        """That of f."""
        return self.function.submodularity()

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`."""
        values = self.function.chain(order)
        return np.asarray(values - values[0])

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`."""
        return _from_zero(self.function.exact_chain(order))

    def values(self, members: BoolArray) -> FloatArray:
        """See `SetFunction`."""
        return self.function.values(members) - self.function.value(())

    def bounded_values(self, members: BoolArray) -> tuple[FloatArray, FloatArray]:
        """See `SetFunction`."""
        values, errors = self.function.bounded_values(members)
        start, start_errors = self.function.bounded_values(np.zeros((1, self.size), dtype=bool))
        found = values - start
        return found, (errors + start_errors + np.spacing(np.abs(found))) * (1 + 1e-12)


class Restricted(SetFunction):
    """f on the sets that contain ``inside`` and miss ``outside``: contraction and deletion.

    Its elements are those left free, renumbered in their old order; a restriction of a submodular function is
    submodular.

    Parameters
    ----------
    function : SetFunction
        f.
    inside, outside : iterable of int
        Disjoint.

    Raises
    ------
    InvalidInputError
        If they are not disjoint, or not elements.
    """

    def __init__(self, function: SetFunction, inside: frozenset[int], outside: frozenset[int]) -> None:
        if inside & outside or not (inside | outside) <= set(range(function.size)):
            raise InvalidInputError("elements to force and to forbid must exist and be different")
        self.function = function
        self.inside, self._outside = as_order(inside), outside
        self.free = np.array(sorted(set(range(function.size)) - inside - outside), dtype=np.int64)

    @property
    def size(self) -> int:
        """The number of free elements."""
        return len(self.free)

    @property
    def rounding(self) -> float:
        """That of the whole function."""
        return self.function.rounding

    @property
    def granularity(self) -> Fraction:
        """That of the whole function."""
        return self.function.granularity

    def submodularity(self) -> Submodularity:
        """Proved if it is for the whole function; a refutation need not lie in this part."""
        whole = self.function.submodularity()
        return UNKNOWN if whole.verdict is Verdict.REFUTED else whole

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`."""
        return self.function.chain(self._lifted(order))[len(self.inside) :]

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`."""
        whole = self.function.exact_chain(self._lifted(order))
        return ExactChain(whole.numerators[len(self.inside) :], whole.denominator, whole.error)

    def values(self, members: BoolArray) -> FloatArray:
        """See `SetFunction`."""
        return self.function.values(self._lifted_sets(members))

    def bounded_values(self, members: BoolArray) -> tuple[FloatArray, FloatArray]:
        """See `SetFunction`."""
        return self.function.bounded_values(self._lifted_sets(members))

    def normalised(self) -> SetFunction:
        """See `SetFunction`; the constant of the whole function goes first."""
        return Normalised(Restricted(self.function.normalised(), as_set(self.inside), self._outside))

    def whole(self, subset: frozenset[int]) -> frozenset[int]:
        """A set of free elements as a set of the whole function."""
        return frozenset(self.inside.tolist()) | frozenset(self.free[sorted(subset)].tolist())

    def _lifted(self, order: IntArray) -> IntArray:
        return np.concatenate([self.inside, self.free[order]])

    def _lifted_sets(self, members: BoolArray) -> BoolArray:
        lifted = np.zeros((len(members), self.function.size), dtype=bool)
        lifted[:, self.inside] = True
        lifted[:, self.free] = members
        return lifted


def as_order(subset: Sequence[int] | frozenset[int]) -> IntArray:
    """The elements of a set in increasing order."""
    return np.array(sorted(subset), dtype=np.int64)


def as_set(elements: IntArray | Sequence[int]) -> frozenset[int]:
    """Elements as a frozenset of Python integers."""
    return frozenset(np.asarray(elements, dtype=np.int64).tolist())


def _finite(values: list[float]) -> FloatArray:
    found = np.array(values)
    if not np.isfinite(found).all():
        raise InvalidInputError("a set function has to be finite on every set")
    return found


def _from_zero(chain: ExactChain) -> ExactChain:
    """Less the first value; differences of numbers below 2**53 fit 64 bits."""
    return ExactChain(chain.numerators - chain.numerators[0], chain.denominator, 2 * chain.error)


def exact_chain_of(values: Sequence[Fraction], error: Fraction = Fraction(0)) -> ExactChain:
    """Fractions over their common denominator."""
    denominator = math.lcm(*(value.denominator for value in values))
    scaled = [value.numerator * (denominator // value.denominator) for value in values]
    return ExactChain(np.array(scaled, dtype=object), denominator, error)


def rounded_chain(values: Sequence[Fraction], error: Fraction) -> ExactChain:
    """Fractions that are no more than approximate, rounded down to multiples of 2**-240."""
    numerators = [(value.numerator << _ROUNDED_BITS) // value.denominator for value in values]
    unit = Fraction(1, 1 << _ROUNDED_BITS)
    return ExactChain(np.array(numerators, dtype=object), 1 << _ROUNDED_BITS, error + unit)


def common_denominator(values: FloatArray) -> int:
    """The least power of two, at least 1, that turns all of these floats into integers."""
    mantissas, exponents = np.frexp(values[values != 0])
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    # a float is whole * 2**(exponent - 53); its lowest set bit says how many of these places it uses
    used = np.frexp((whole & -whole).astype(float))[1] - 1
    return 1 << max(0, int((53 - exponents - used).max(initial=0)))


def as_integers(values: FloatArray, denominator: int) -> ObjectArray:
    """Floats times a denominator that makes them whole, as Python integers."""
    return np.array([int(Fraction(value) * denominator) for value in values.tolist()], dtype=object)


def all_values(function: SetFunction) -> FloatArray:
    """f on all subsets, shape (2**n,); bit i of the index says whether element i is in.

    Raises
    ------
    NotCoveredError
        If there are more than `LARGEST_TABLE` elements.
    """
    return all_bounded_values(function)[0]


def all_bounded_values(function: SetFunction) -> tuple[FloatArray, FloatArray]:
    """f on all subsets as `all_values`, and for each value a bound of its error, shape (2**n,) each.

    Raises
    ------
    NotCoveredError
        If there are more than `LARGEST_TABLE` elements.
    """
    n = function.size
    if n > LARGEST_TABLE:
        raise NotCoveredError(f"{n} elements have too many subsets; at most {LARGEST_TABLE} are written out")
    found, errors = np.empty(1 << n), np.empty(1 << n)
    step = 1 << 14
    for start in range(0, 1 << n, step):
        index = np.arange(start, min(start + step, 1 << n))
        members = (index[:, None] >> np.arange(n)) & 1 == 1
        part = slice(start, start + step)
        found[part], errors[part] = function.bounded_values(members)
    return found, errors


def subset_of_index(index: int) -> frozenset[int]:
    """The set that an index of `all_values` stands for."""
    return frozenset(bit for bit in range(index.bit_length()) if index >> bit & 1)
