"""A set function together with the proof of its submodularity, and sums of such expressions."""

from collections.abc import Iterable, Sequence
from enum import Enum
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from depl.heuristics.set_functions import graphs
from depl.heuristics.set_functions.combinations import WeightedSum
from depl.heuristics.set_functions.functions import (
    BoolArray,
    ExactChain,
    FloatArray,
    IntArray,
    SetFunction,
)
from depl.heuristics.set_functions.graphs import GraphFunction
from depl.heuristics.set_functions.merging import merged
from depl.heuristics.set_functions.verdicts import Submodularity
from depl.models.foundation.errors import InvalidInputError

Number = int | float | Fraction


class Monotone(Enum):
    """What is proved of the way a set function goes as its set grows."""

    RISES = "nowhere falls"
    FALLS = "nowhere rises"
    BOTH = "constant"
    UNKNOWN = "not known to be monotone"

    @property
    def opposite(self) -> "Monotone":
        """That of the complement."""
        turned = {Monotone.RISES: Monotone.FALLS, Monotone.FALLS: Monotone.RISES}
        return turned.get(self, self)

    def with_term(self, other: "Monotone") -> "Monotone":
        """That of a sum."""
        if Monotone.BOTH in (self, other):
            return other if self is Monotone.BOTH else self
        return self if self is other else Monotone.UNKNOWN


class Expression(SetFunction):
    """A set function with the proof of its submodularity.

    Expressions on the same elements are added by ``+`` and multiplied by nonnegative numbers; ``-`` takes
    away a modular one.

    Parameters
    ----------
    function : SetFunction
        The function itself; its verdict is PROVED or TOLD.
    monotone : Monotone
        Whether it nowhere falls, or nowhere rises.
    reasons : sequence of str
        Why, one sentence for every step, the last step first.

    Raises
    ------
    InvalidInputError
        If the function is not known to be submodular.
    """

    def __init__(self, function: SetFunction, monotone: Monotone, reasons: Sequence[str]) -> None:
        status = function.submodularity()
        if not (status.proved or status.told):
            raise InvalidInputError(f"submodularity is {status.verdict.value}: {status.reason}", "function")
        self.function, self.monotone, self.reasons = function, monotone, tuple(reasons)
        self._status = Submodularity(status.verdict, "; ".join(self.reasons))

    @property
    def size(self) -> int:
        """n, the number of elements."""
        return self.function.size

    @property
    def rounding(self) -> float:
        """See `SetFunction`."""
        return self.function.rounding

    @property
    def granularity(self) -> Fraction:
        """See `SetFunction`."""
        return self.function.granularity

    def submodularity(self) -> Submodularity:
        """PROVED by composition, or TOLD where a part of it is claimed."""
        return self._status

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`."""
        return self.function.chain(order)

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`."""
        return self.function.exact_chain(order)

    def exact_ends(self, order: IntArray) -> ExactChain:
        """See `SetFunction`."""
        return self.function.exact_ends(order)

    def values(self, members: BoolArray) -> FloatArray:
        """See `SetFunction`."""
        return self.function.values(members)

    def bounded_values(self, members: BoolArray) -> tuple[FloatArray, FloatArray]:
        """See `SetFunction`."""
        return self.function.bounded_values(members)

    def normalised(self) -> SetFunction:
        """See `SetFunction`."""
        return self.function.normalised()

    def extreme_gains(self, inside: BoolArray, outside: BoolArray) -> tuple[FloatArray, FloatArray] | None:
        """See `SetFunction`."""
        return self.function.extreme_gains(inside, outside)

    def __add__(self, other: object) -> "Expression":
        """The sum of two."""
        return total([self, other]) if isinstance(other, Expression) else NotImplemented

    def __sub__(self, other: object) -> "Expression":
        """The difference to a modular function."""
        if not isinstance(other, Expression):
            return NotImplemented
        weights = _modular_weights(other)
        if weights is None:
            raise InvalidInputError("only a modular function can be taken away and leave a submodular one")
        return total([self, modular(-weights)])

    def __mul__(self, factor: object) -> "Expression":
        """The multiple by a nonnegative number."""
        return total([self], [factor]) if isinstance(factor, int | float | Fraction) else NotImplemented

    __rmul__ = __mul__

    def __repr__(self) -> str:
        """Size, verdict and reasons."""
        words = f"{self._status.verdict.value} submodular, {self.monotone.value}"
        return f"<set function on {self.size} elements, {words}: {'; '.join(self.reasons)}>"


def modular(weights: ArrayLike) -> Expression:
    """Sum of the weights of S, any signs.

    Parameters
    ----------
    weights : array_like
        Shape (n,), finite.
    """
    given = np.array(weights, dtype=float).reshape(-1)
    return Expression(graphs.cut(len(given), [], 0.0, given), _sign(given), ["a modular function"])


def total(terms: Iterable[Expression], coefficients: Sequence[Number] | None = None) -> Expression:
    """Sum of c_t f_t(S).

    Parameters
    ----------
    terms : iterable of Expression
        At least one, all on the same elements.
    coefficients : sequence of numbers, optional
        c_t >= 0, exactly as given (floats are dyadic fractions); 1 by default.

    Raises
    ------
    InvalidInputError
        If there is no term, sizes differ, or a coefficient is negative or not finite.
    """
    parts = list(terms)
    if not parts:
        raise InvalidInputError("needs at least one term", "terms")
    factors = _factors(len(parts), coefficients)
    sizes = {part.size for part in parts}
    if len(sizes) > 1:
        raise InvalidInputError(f"must be functions of the same elements, not of {sorted(sizes)}", "terms")
    kept = [pair for pair in zip(parts, factors, strict=True) if pair[1]]
    if not kept:
        return modular(np.zeros(parts[0].size))
    way = kept[0][0].monotone
    for part, _ in kept[1:]:
        way = way.with_term(part.monotone)
    found = _flat([(part.function, factor) for part, factor in kept])
    inner = list(dict.fromkeys(reason for part, _ in kept for reason in part.reasons))
    head = [] if len(kept) == 1 else ["a sum with nonnegative coefficients"]
    return Expression(found, way, [*head, *[reason for reason in inner if reason not in head]])


def _flat(pairs: Sequence[tuple[SetFunction, Fraction]]) -> SetFunction:
    """A sum without sums inside, its graph functions made one where that rounds nothing."""
    flat: list[tuple[SetFunction, Fraction]] = []
    for function, factor in pairs:
        inner = function if isinstance(function, WeightedSum) else WeightedSum([function], [Fraction(1)])
        flat += [(f, factor * c) for f, c in zip(inner.terms, inner.coefficients, strict=True)]
    graphs_of = [pair for pair in flat if isinstance(pair[0], GraphFunction)]
    one = merged([f for f, _ in graphs_of], [c for _, c in graphs_of]) if graphs_of else None
    if one is not None:
        flat = [(one, Fraction(1)), *(pair for pair in flat if not isinstance(pair[0], GraphFunction))]
    if len(flat) == 1 and flat[0][1] == 1:
        return flat[0][0]
    return WeightedSum([f for f, _ in flat], [c for _, c in flat])


def exact_number(value: Number, name: str) -> Fraction:
    """A finite number as a fraction.

    Raises
    ------
    InvalidInputError
        If it is none.
    """
    try:
        return Fraction(value)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(f"must be finite, not {value}", name) from error


def _factors(count: int, coefficients: Sequence[Number] | None) -> list[Fraction]:
    if coefficients is None:
        return [Fraction(1)] * count
    found = [exact_number(value, "coefficients") for value in coefficients]
    if len(found) != count:
        raise InvalidInputError(f"{len(found)} coefficients for {count} terms", "coefficients")
    if min(found) < 0:
        raise InvalidInputError(
            "must not be negative: that turns a submodular function into a supermodular one", "coefficients"
        )
    return found


def _modular_weights(expression: Expression) -> FloatArray | None:
    """u of a modular function, None of any other."""
    function = expression.function
    if isinstance(function, GraphFunction) and not (len(function.capacities) or len(function.weights)):
        return function.modular
    return None


def _sign(weights: FloatArray) -> Monotone:
    if not weights.any():
        return Monotone.BOTH
    if (weights >= 0).all():
        return Monotone.RISES
    return Monotone.FALLS if (weights <= 0).all() else Monotone.UNKNOWN
