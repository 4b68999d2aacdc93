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

from depl.heuristics.submodular.verdicts import UNKNOWN, Submodularity, Verdict
from depl.models.errors import InvalidInputError, NotCoveredError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
ObjectArray = NDArray[Any]

LARGEST_TABLE = 20
"""Most elements for which the values of all subsets are written out."""

_ROUNDED_BITS = 240


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

    def exact_ends(self, order: IntArray) -> ExactChain:
        """The first and the last value of `exact_chain`; cheaper where every value costs a logarithm."""
        whole = self.exact_chain(order)
        return ExactChain(whole.numerators[[0, -1]], whole.denominator, whole.error)

    def values(self, members: BoolArray) -> FloatArray:
        """The values on m sets given by their indicators, shape (m, n); returns shape (m,)."""
        return np.array([self.chain(np.flatnonzero(row))[-1] for row in members], dtype=float)

    def extreme_gains(self, inside: BoolArray, outside: BoolArray) -> tuple[FloatArray, FloatArray] | None:
        """The gains of every element on A and on all elements but B and itself, where they are cheap.

        Parameters
        ----------
        inside, outside : ndarray
            Indicators of the disjoint sets A and B, shape (n,).

        Returns
        -------
        tuple of ndarray, or None
            f(A + i) - f(A) and f(V - B) - f(V - B - i), shape (n,) each; entries of elements of A or B mean
            nothing. None if the function gives only single values.
        """
        return None

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
        return self.exact_ends(as_order(subset)).last


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
        What the caller knows of it; by default nothing, so that no answer is called optimal for it unless
        all sets are tried.
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
        """What the caller knows."""
        return self.known

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`; k + 1 evaluations.

        Raises
        ------
        InvalidInputError
            If a value is not finite.
        """
        found = np.array([float(value) for value in self._prefix_values(order)])
        if not np.isfinite(found).all():
            raise InvalidInputError("a set function has to be finite on every set")
        return found

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`; every float is a rational number."""
        return exact_chain_of([Fraction(value) for value in self._prefix_values(order)], Fraction(self.error))

    def _prefix_values(self, order: IntArray) -> list[float | int | Fraction]:
        elements = order.tolist()
        return [self.evaluate(frozenset(elements[:count])) for count in range(len(elements) + 1)]


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
        self.inside = as_order(inside)
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
        lifted = np.zeros((len(members), self.function.size), dtype=bool)
        lifted[:, self.inside] = True
        lifted[:, self.free] = members
        return self.function.values(lifted)

    def whole(self, subset: frozenset[int]) -> frozenset[int]:
        """A set of free elements as a set of the whole function."""
        return frozenset(self.inside.tolist()) | frozenset(self.free[sorted(subset)].tolist())

    def _lifted(self, order: IntArray) -> IntArray:
        return np.concatenate([self.inside, self.free[order]])


def as_order(subset: Sequence[int] | frozenset[int]) -> IntArray:
    """The elements of a set in increasing order."""
    return np.array(sorted(subset), dtype=np.int64)


def as_set(elements: IntArray | Sequence[int]) -> frozenset[int]:
    """Elements as a frozenset of Python integers."""
    return frozenset(np.asarray(elements, dtype=np.int64).tolist())


def exact_chain_of(values: Sequence[Fraction], error: Fraction = Fraction(0)) -> ExactChain:
    """Fractions over their common denominator."""
    denominator = math.lcm(*(value.denominator for value in values))
    scaled = [value.numerator * (denominator // value.denominator) for value in values]
    return ExactChain(np.array(scaled, dtype=object), denominator, error)


def exact_sum(values: FloatArray) -> Fraction:
    """The sum of floats as a rational number."""
    if len(values) == 1:
        return Fraction(float(values[0]))
    ratios = [value.as_integer_ratio() for value in values.tolist()]
    common = common_denominator(values)
    return Fraction(sum(above * (common // below) for above, below in ratios), common)


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


def all_values(function: SetFunction) -> FloatArray:
    """f on all subsets, shape (2**n,); bit i of the index says whether element i is in.

    Raises
    ------
    NotCoveredError
        If there are more than `LARGEST_TABLE` elements.
    """
    n = function.size
    if n > LARGEST_TABLE:
        raise NotCoveredError(f"{n} elements have too many subsets; at most {LARGEST_TABLE} are written out")
    found = np.empty(1 << n)
    step = 1 << 14
    for start in range(0, 1 << n, step):
        index = np.arange(start, min(start + step, 1 << n))
        members = (index[:, None] >> np.arange(n)) & 1 == 1
        found[start : start + step] = function.values(members)
    return found


def subset_of_index(index: int) -> frozenset[int]:
    """The set that an index of `all_values` stands for."""
    return frozenset(bit for bit in range(index.bit_length()) if index >> bit & 1)
