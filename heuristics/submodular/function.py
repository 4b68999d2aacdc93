"""Set functions as values on indicators, and what is known of their submodularity (E4).

A `SetFunction` gives the gain f(S) - f(0) of many sets at once, each a row of truth values; a constant of f,
however large, then costs no digit of anything that is compared. What floats of gains are off is part of the
function: an answer is *optimal* only if that leaves no doubt.

f is submodular iff f(A + i) + f(A + j) >= f(A + i + j) + f(A) for all sets A and elements i != j outside A.
"""

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depl.models.foundation.errors import InvalidInputError, NotCoveredError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

EPSILON = float(np.finfo(float).eps)
"""Distance of 1 from the next float: twice what one rounding is off, relatively."""

LARGEST_TABLE = 20
"""Most elements for which the values of all subsets are written out."""

LARGEST_EXHAUSTIVE = 18
"""Most elements for which all triples are tried."""


class Verdict(Enum):
    """What is known of the submodularity of a set function."""

    PROVED = "proved"
    """By construction, or because every triple was tried."""
    TOLD = "told"
    """The caller says so. It is checked on the sets that a method visits, and an answer names it as its
    condition."""
    REFUTED = "refuted"
    """A triple violates it."""
    UNKNOWN = "unknown"
    """Neither; nothing that rests on submodularity may be called optimal."""


@dataclass(frozen=True)
class Violation:
    """A triple with f(A + i) + f(A + j) < f(A + i + j) + f(A).

    Attributes
    ----------
    base : frozenset of int
        A.
    first, second : int
        i and j, different and not in A.
    excess : float
        f(A + i + j) + f(A) - f(A + i) - f(A + j) > 0.
    """

    base: frozenset[int]
    first: int
    second: int
    excess: float


@dataclass(frozen=True)
class Submodularity:
    """The verdict, why, and the violating triple if there is one.

    Attributes
    ----------
    short : float
        No triple falls short by more; 0 where submodularity is proved, infinite where nothing is known.
    """

    verdict: Verdict
    reason: str
    violation: Violation | None = None
    short: float = math.inf

    @property
    def proved(self) -> bool:
        """Whether an answer may rest on it."""
        return self.verdict is Verdict.PROVED

    @property
    def told(self) -> bool:
        """Whether an answer may rest on it only on the condition that the caller is right."""
        return self.verdict is Verdict.TOLD


UNKNOWN = Submodularity(Verdict.UNKNOWN, "nothing is known of the function but its values")


def proved(reason: str) -> Submodularity:
    """A verdict PROVED with its reason."""
    return Submodularity(Verdict.PROVED, reason, short=0.0)


def refuted(violation: Violation, short: float = math.inf) -> Submodularity:
    """A verdict REFUTED by a triple."""
    base = sorted(violation.base)
    reason = f"A = {base}, i = {violation.first}, j = {violation.second} exceed by {violation.excess:.6g}"
    return Submodularity(Verdict.REFUTED, reason, violation, short)


def _exact(gains: FloatArray) -> float:
    """Floats that are the gains themselves."""
    return 0.0


@dataclass(frozen=True, eq=False)
class SetFunction:
    """A real function of the subsets of {0, ..., size - 1}, finite everywhere.

    Attributes
    ----------
    size : int
        n, the number of elements.
    gains : callable
        f(S) - f(0) of m sets given by their indicators, shape (m, n); returns shape (m,).
    start : Fraction
        f(0).
    known : Submodularity
        What the construction, or the caller, says.
    noise : callable
        How far gains that were just returned may be from the true ones, at most; 0 by default: f is what is
        returned, bit by bit.
    whole : bool
        Whether all gains are whole numbers, and returned exactly.
    along : callable or None
        The gains of the first 0, 1, ..., n elements of a permutation, shape (n + 1,), where there is a faster
        way than `gains` of n + 1 sets.
    """

    size: int
    gains: Callable[[BoolArray], FloatArray]
    start: Fraction = Fraction(0)
    known: Submodularity = UNKNOWN
    noise: Callable[[FloatArray], float] = field(default_factory=lambda: _exact)
    whole: bool = False
    along: Callable[[IntArray], FloatArray] | None = None

    def chain(self, order: IntArray) -> FloatArray:
        """The gains of the first 0, 1, ..., n elements of a permutation, shape (n + 1,)."""
        if self.along is not None:
            return self.along(order)
        members: BoolArray = np.zeros((self.size + 1, self.size), dtype=bool)
        members[:, order] = np.tri(self.size + 1, self.size, -1, dtype=bool)
        return self.gains(members)

    def gain(self, subset: Iterable[int]) -> float:
        """f(S) - f(0) of one set."""
        return float(self.gains(indicators(self.size, [subset]))[0])

    def value(self, subset: Iterable[int]) -> float:
        """f of one set."""
        return float(self.start + Fraction(self.gain(subset)))

    def restricted(self, inside: frozenset[int], outside: frozenset[int]) -> "SetFunction":
        """f on the sets that contain ``inside`` and miss ``outside``: contraction and deletion.

        Its elements are those left free, renumbered in their old order; what is proved or told of f holds of
        it, too, and a refutation need not lie in this part.
        """
        if inside & outside or not (inside | outside) <= set(range(self.size)):
            raise InvalidInputError("elements to force and to forbid must exist and be different")
        free = sorted(set(range(self.size)) - inside - outside)
        lowest = self.gain(inside)

        def gains(members: BoolArray) -> FloatArray:
            whole = np.tile(indicators(self.size, [inside]), (len(members), 1))
            whole[:, free] = members
            return self.gains(whole) - lowest

        def noise(found: FloatArray) -> float:
            """Twice that of f, as both gains may be off, and the rounding of their difference."""
            off = self.noise(np.append(found + lowest, lowest))
            return 2 * off + (0 if self.whole else EPSILON * largest(found))

        known = UNKNOWN if self.known.verdict is Verdict.REFUTED else self.known
        return SetFunction(len(free), gains, self.start + Fraction(lowest), known, noise, self.whole)


def oracle(
    size: int,
    evaluate: Callable[[frozenset[int]], float | int | Fraction],
    known: Submodularity = UNKNOWN,
    error: float = 0.0,
) -> SetFunction:
    """A set function that is known by its values alone.

    Parameters
    ----------
    size : int
        n.
    evaluate : callable
        Takes a frozenset of elements and returns a finite number.
    known : Submodularity
        What the caller knows of it; by default nothing. A verdict PROVED is taken as TOLD: it is checked on
        the sets that a method visits, and an answer is optimal only if it holds. No answer is called optimal
        outright unless all sets are tried.
    error : float
        Bound of the error of ``evaluate``. With 0 the function *is* what is evaluated, bit by bit.

    Raises
    ------
    InvalidInputError
        If a value is not finite, when it is asked for.
    """
    start = _finite(evaluate(frozenset()))
    rounded = [2 * error]  # and the largest rounding of a gain to a float so far

    def gain(subset: frozenset[int]) -> float:
        difference = _finite(evaluate(subset)) - start
        found = float(difference)
        if Fraction(found) != difference:
            rounded[0] = max(rounded[0], 2 * error + math.ulp(found))
        return found

    def gains(members: BoolArray) -> FloatArray:
        return np.array([gain(frozenset(np.flatnonzero(row).tolist())) for row in members], dtype=float)

    told = replace(known, verdict=Verdict.TOLD) if known.proved else known
    return SetFunction(size, gains, start, told, lambda found: rounded[0])


class ExactSums:
    """Sums of the same numbers over many sets, off by little more than one rounding whatever their number.

    Each number is split into a multiple of a unit, so that sums of these are exact in floats in any order,
    and a rest below it.

    Attributes
    ----------
    unit : float
        A power of two.
    high, low : ndarray
        The multiples and the rests, shape (k,).
    """

    def __init__(self, numbers: ArrayLike) -> None:
        data = np.asarray(numbers, dtype=float)
        total = float(np.abs(data).sum())
        # 2**51 units hold the sum of all, and the last unit is a float itself
        self.unit = max(math.ldexp(1.0, math.frexp(total)[1] - 51), math.ulp(0.0))
        self.high = np.rint(data / self.unit) * self.unit
        self.low = data - self.high
        self._rest = data.size**2 * EPSILON * self.unit

    @property
    def exact(self) -> bool:
        """Whether sums are not off at all."""
        return not self.low.any()

    def over(self, sets: NDArray[np.bool_]) -> FloatArray:
        """The sums over m sets of the numbers, shape (m, k)."""
        found = sets @ self.high
        return found if self.exact else np.asarray(found + sets @ self.low, dtype=float)

    def noise(self, sums: FloatArray) -> float:
        """What these sums may be off, at most."""
        return 0.0 if self.exact else EPSILON * largest(sums) + self._rest


def largest(numbers: FloatArray) -> float:
    """The greatest absolute value; 0 of none."""
    return float(np.abs(numbers).max(initial=0.0))


def indicators(size: int, subsets: Iterable[Iterable[int]]) -> BoolArray:
    """Sets as rows of truth values, shape (m, size)."""
    rows = [list(subset) for subset in subsets]
    members = np.zeros((len(rows), size), dtype=bool)
    for row, subset in zip(members, rows, strict=True):
        row[subset] = True
    return members


def all_gains(function: SetFunction) -> FloatArray:
    """f - f(0) of all subsets, shape (2**n,); bit i of the index says whether element i is in.

    Raises
    ------
    NotCoveredError
        If there are more than `LARGEST_TABLE` elements.
    """
    n = function.size
    if n > LARGEST_TABLE:
        raise NotCoveredError(f"{n} elements have too many subsets; at most {LARGEST_TABLE} are written out")
    numbers, step = np.arange(1 << n), 1 << 14
    parts = [numbers[begin : begin + step, None] >> np.arange(n) & 1 == 1 for begin in range(0, 1 << n, step)]
    return np.concatenate([function.gains(part) for part in parts])


def all_values(function: SetFunction) -> FloatArray:
    """f of all subsets, as `all_gains`."""
    return float(function.start) + all_gains(function)


def subset_of_index(index: int) -> frozenset[int]:
    """The set that an index of `all_gains` stands for."""
    return frozenset(bit for bit in range(index.bit_length()) if index >> bit & 1)


def exhaustive(function: SetFunction) -> Submodularity:
    """Try all triples: f(A + i) + f(A + j) >= f(A + i + j) + f(A).

    Sums of two gains are compared exactly. Where the noise of the gains leaves a triple open and none refutes
    it, the verdict is UNKNOWN, and `Submodularity.short` says by how much a triple may fall short.

    Parameters
    ----------
    function : SetFunction
        At most `LARGEST_EXHAUSTIVE` elements.

    Raises
    ------
    NotCoveredError
        For more elements.
    """
    n = function.size
    if n > LARGEST_EXHAUSTIVE:
        raise NotCoveredError(f"all triples are tried for at most {LARGEST_EXHAUSTIVE} elements, not {n}")
    gains = all_gains(function)
    noise, index = 4 * function.noise(gains), np.arange(1 << n)
    least, worst = np.inf, (0, 0, 0)
    for i, j in itertools.combinations(range(n), 2):
        one, other = 1 << i, 1 << j
        bases = index[(index & (one | other)) == 0]
        slack = exchange_slack(
            gains[bases | one], gains[bases | other], gains[bases | one | other], gains[bases]
        )
        place = int(np.argmin(slack))
        if slack[place] < least:
            least, worst = float(slack[place]), (int(bases[place]), i, j)
    if least >= noise:
        return proved("all triples were tried")
    if least == -np.inf:
        return Submodularity(Verdict.UNKNOWN, "sums of two values are too large for floats")
    short = (noise - least) * (1 + 4 * EPSILON) + 8 * EPSILON**2 * largest(gains)
    base = subset_of_index(worst[0])
    if least < -noise:
        return refuted(Violation(base, *worst[1:], -least), short)
    return Submodularity(Verdict.UNKNOWN, f"rounding leaves A = {sorted(base)} open", short=short)


def exchange_slack(one: FloatArray, other: FloatArray, both: FloatArray, none: FloatArray) -> FloatArray:
    """(one + other) - (both + none) with its exact sign, and off by few roundings; -inf where sums overflow.

    The float sum s of two floats and its rounding error e are a pair whose sum is exact (Knuth). Rounding is
    monotone: where two such s differ, so do the true sums, in the same direction; where they are equal the e
    decide.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        left, left_rest = _exact_sum(one, other)
        right, right_rest = _exact_sum(both, none)
        high, low = left - right, left_rest - right_rest
        sign = np.where(high != 0, np.sign(high), np.sign(low))
        value = high + low
        value = np.where(np.sign(value) == sign, value, sign * np.finfo(float).smallest_subnormal)
    return np.where(np.isfinite(high) & np.isfinite(value), value, -np.inf)


def _exact_sum(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    total = one + other
    part = total - one
    return total, (one - (total - part)) + (other - part)


def _finite(value: float | int | Fraction) -> Fraction:
    if not math.isfinite(value):
        raise InvalidInputError("a set function has to be finite on every set")
    return Fraction(value if isinstance(value, int | Fraction) else float(value))
