r"""Entropies: of discrete variables with a joint law, and log det, that of jointly normal ones.

    Entropy:         f(S) = - sum of p_S ln p_S over the values of the variables in S     [nats]
    LogDeterminant:  f(S) = ln det A[S], A positive definite

A conditional entropy falls as conditions are added (Shannon), which is submodularity; for determinants that
is the inequality of Hadamard and Fischer. The entropy of jointly normal variables with the covariances A is
ln det A[S] / 2 + |S| ln(2 pi e) / 2.
"""

import functools
import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from depl.heuristics.set_functions.families import DIGITS, decimal_function
from depl.heuristics.set_functions.functions import (
    BoolArray,
    ExactChain,
    FloatArray,
    IntArray,
    ObjectArray,
    SetFunction,
    common_denominator,
    rounded_chain,
)
from depl.heuristics.set_functions.verdicts import Submodularity, proved
from depl.models.foundation.errors import InvalidInputError, NotCoveredError

LARGEST_LAW = 1 << 16
"""Most entries of a joint law. A value in rational numbers takes a logarithm of 60 digits for every entry,
and 65536 of them take seconds."""

LARGEST_MATRIX = 100
"""Most rows of a matrix. Elimination in integers grows with the fourth power or so; a hundred rows take
seconds for every order of a certificate."""

_RELATIVE_ERROR = Fraction(1, 10 ** (DIGITS - 5))
_UNIT = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Entropy(SetFunction):
    """H of the variables in S [nats]; make it with `entropy`.

    Attributes
    ----------
    weights : ndarray
        Python integers, one axis per variable: what an outcome weighs.
    """

    weights: ObjectArray

    @property
    def size(self) -> int:
        """See `SetFunction`."""
        return self.weights.ndim

    @property
    def rounding(self) -> float:
        """Sums of T shares are off by T roundings, and x ln x moves by at most (1 + |ln x|) as much."""
        count = self.weights.size
        return _UNIT * (3 * count + 8) * (math.log(count) + 2)

    def submodularity(self) -> Submodularity:
        """Shannon's inequality."""
        return proved("the entropy of discrete variables with a joint law")

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`."""
        return np.array([_entropy(table) for table in self._marginals(order, self._shares)])

    def values(self, members: BoolArray) -> FloatArray:
        """See `SetFunction`; each marginal is summed from the whole law."""
        dropped = [tuple(np.flatnonzero(~row).tolist()) for row in members]
        return np.array([_entropy(self._shares.sum(axis=axes)) for axes in dropped])

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`; logarithms come from `decimal`."""
        return self._exact(self._marginals(order, self.weights))

    def exact_ends(self, order: IntArray) -> ExactChain:
        """See `SetFunction`; the marginals between are not looked at."""
        marginals = self._marginals(order, self.weights)
        return self._exact([marginals[0], marginals[-1]])

    def normalised(self) -> SetFunction:
        """It is 0 on the empty set already."""
        return self

    @functools.cached_property
    def _shares(self) -> FloatArray:
        total = self._total
        flat = [float(Fraction(value, total)) for value in self.weights.ravel().tolist()]
        return np.array(flat).reshape(self.weights.shape)

    @functools.cached_property
    def _total(self) -> int:
        return int(self.weights.sum())

    def _marginals(self, order: IntArray, table: ObjectArray | FloatArray) -> list[ObjectArray | FloatArray]:
        """Of the prefixes of an order, the empty one first; each is summed from the next."""
        axes = order.tolist()
        rest = tuple(axis for axis in range(self.size) if axis not in set(axes))
        table = np.asarray(table.sum(axis=rest)).transpose(np.argsort(np.argsort(axes)))
        found = [table]
        for _ in axes:
            table = np.asarray(table.sum(axis=-1))
            found.append(table)
        return found[::-1]

    def _exact(self, marginals: list[ObjectArray | FloatArray]) -> ExactChain:
        total, found = Decimal(self._total), []
        with localcontext() as context:
            context.prec = DIGITS + 20  # the sum of 65536 terms loses five digits
            for table in marginals:
                shares = [Decimal(value) / total for value in np.ravel(table).tolist() if value]
                found.append(Fraction(-sum((share * share.ln() for share in shares), Decimal(0))))
        return rounded_chain(found, _RELATIVE_ERROR * (1 + Fraction(math.log(self.weights.size) + 1)))


def entropy(law: ArrayLike) -> Entropy:
    """The entropy of the variables in S.

    Parameters
    ----------
    law : array_like
        One axis per variable; probabilities, or counts: the entry at (x_1, ..., x_n) over the sum of all is
        P(X_1 = x_1, ..., X_n = x_n).

    Raises
    ------
    InvalidInputError
        If there is no variable, an entry is negative or not finite, or all are 0.
    NotCoveredError
        If there are more than `LARGEST_LAW` entries.
    """
    table = np.array(law, dtype=float)
    if table.ndim < 1 or not table.size:
        raise InvalidInputError("needs an axis for each variable, and an entry at least", "law")
    if not np.isfinite(table).all() or (table < 0).any() or not table.any():
        raise InvalidInputError("must be nonnegative and finite, and not all 0", "law")
    if table.size > LARGEST_LAW:
        raise NotCoveredError(f"a joint law of {table.size} entries is too large; at most {LARGEST_LAW}")
    common = common_denominator(table.ravel())
    whole = [int(Fraction(value) * common) for value in table.ravel().tolist()]
    return Entropy(np.array(whole, dtype=object).reshape(table.shape))


@dataclass(frozen=True, eq=False)
class LogDeterminant(SetFunction):
    """ln det A[S], 0 for the empty set; make it with `log_det`.

    Attributes
    ----------
    matrix : ndarray
        A, symmetric, shape (n, n).
    least : Fraction
        A - least * 1 is positive definite, as elimination in integers has shown.
    """

    matrix: FloatArray
    least: Fraction

    @property
    def size(self) -> int:
        """See `SetFunction`."""
        return len(self.matrix)

    @functools.cached_property
    def rounding(self) -> float:
        """Of a Cholesky factor; or a unit in the last place where that is too much (see `chain`).

        L L' = A + E with |E| <= (n + 1) eps |L| |L'| (Higham 2002, Theorem 10.3), so that the norm of E is at
        most n (n + 1) eps times the greatest diagonal entry, and ln det moves by n |E| / (least - |E|).
        """
        return self._of_factor if self._factored else 4 * _UNIT * self._largest

    def submodularity(self) -> Submodularity:
        """The inequality of Hadamard and Fischer."""
        return proved("log det of the principal submatrices of a positive definite matrix")

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`; by a Cholesky factor, of ill-conditioned matrices in integers."""
        if not self._factored:
            exact = self.exact_chain(order)
            return np.array([float(Fraction(int(value), exact.denominator)) for value in exact.numerators])
        diagonal = np.diag(np.linalg.cholesky(self.matrix[np.ix_(order, order)]))
        return np.concatenate([[0.0], np.cumsum(2 * np.log(diagonal))])

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`; determinants in integers, logarithms from `decimal`."""
        numbers, scale = self._integers
        minors = leading_minors(numbers[np.ix_(order, order)])
        found = [Fraction(0)]
        for count, minor in enumerate(minors, start=1):
            found.append(decimal_function(Decimal.ln, Fraction(minor, scale**count)))
        return rounded_chain(found, _RELATIVE_ERROR * (1 + max(abs(value) for value in found)))

    def normalised(self) -> SetFunction:
        """It is 0 on the empty set already."""
        return self

    @property
    def _factored(self) -> bool:
        """Whether the bound for Cholesky factors is below 1e-9: beyond that searches would see noise."""
        return self._of_factor < 1e-9

    @functools.cached_property
    def _of_factor(self) -> float:
        n, greatest = self.size, float(np.diag(self.matrix).max())
        moved = 2 * n * (n + 1) * _UNIT * greatest
        left = float(self.least) - moved
        return math.inf if left <= 0 else 2 * n * moved / left + 4 * n * _UNIT * self._largest

    @functools.cached_property
    def _largest(self) -> float:
        """Bound of the sum of |ln d| over the pivots d: each lies between ``least`` and a diagonal entry."""
        ends = np.log([float(self.least), *np.diag(self.matrix).tolist()])
        return float(self.size * np.abs(ends).max() + 1)

    @functools.cached_property
    def _integers(self) -> tuple[ObjectArray, int]:
        return _scaled(self.matrix)


def log_det(matrix: ArrayLike) -> LogDeterminant:
    """Ln det A[S].

    Parameters
    ----------
    matrix : array_like
        A, symmetric and positive definite; that it is follows from its leading minors, computed in integers
        (Sylvester).

    Raises
    ------
    InvalidInputError
        If A is not square, symmetric and positive definite.
    NotCoveredError
        If A has more than `LARGEST_MATRIX` rows.
    """
    entries = np.array(matrix, dtype=float)
    if entries.ndim != 2 or not len(entries) or entries.shape[0] != entries.shape[1]:
        raise InvalidInputError("must be a square matrix", "matrix")
    if len(entries) > LARGEST_MATRIX:
        raise NotCoveredError(f"{len(entries)} rows are too many to be proved; at most {LARGEST_MATRIX}")
    if not np.isfinite(entries).all() or (entries != entries.T).any():
        raise InvalidInputError("must be finite and symmetric", "matrix")
    if not _positive_definite(entries, Fraction(0)):
        raise InvalidInputError("must be positive definite; a leading minor is not positive", "matrix")
    guess = Fraction(float(np.linalg.eigvalsh(entries)[0])) * Fraction(63, 64)
    while guess <= 0 or not _positive_definite(entries, guess):
        # rounding hid the least eigenvalue; det A over the product of the others is below it
        guess = _least_by_determinant(entries) if guess <= 0 else guess / 2
    return LogDeterminant(entries, guess)


def exceeds_one(function: LogDeterminant) -> bool:
    """Whether all eigenvalues are greater than 1, proved: then every pivot is, and log det rises."""
    return _positive_definite(function.matrix, Fraction(1))


def leading_minors(matrix: ObjectArray) -> list[int]:
    """The determinants of the first 1, 2, ... rows and columns of integers (Bareiss 1968).

    The list ends after the first minor that is not positive.
    """
    rest, before, found = matrix.copy(), 1, []
    while len(rest):
        pivot = int(rest[0, 0])
        found.append(pivot)
        if pivot <= 0:
            break
        rest = (rest[1:, 1:] * pivot - np.outer(rest[1:, 0], rest[0, 1:])) // before
        before = pivot
    return found


def _positive_definite(matrix: FloatArray, shift: Fraction) -> bool:
    numbers, scale = _scaled(matrix)
    moved = numbers * shift.denominator - np.diag([shift.numerator * scale] * len(matrix)).astype(object)
    return leading_minors(moved)[-1] > 0


def _least_by_determinant(matrix: FloatArray) -> Fraction:
    """det A over (trace A)**(n - 1), half of it: no eigenvalue is as small."""
    numbers, scale = _scaled(matrix)
    n = len(matrix)
    determinant = Fraction(leading_minors(numbers)[-1], scale**n)
    trace = Fraction(int(np.trace(numbers)), scale)
    return determinant / trace ** (n - 1) / 2


def _scaled(matrix: FloatArray) -> tuple[ObjectArray, int]:
    common = common_denominator(matrix.ravel())
    whole = [int(Fraction(value) * common) for value in matrix.ravel().tolist()]
    return np.array(whole, dtype=object).reshape(matrix.shape), common


def _entropy(table: ObjectArray | FloatArray) -> float:
    shares = np.ravel(np.asarray(table, dtype=float))
    shares = shares[shares > 0]
    return max(0.0, -float((shares * np.log(shares)).sum()))
