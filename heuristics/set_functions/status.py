"""Deciding submodularity: all triples, a witness from a base that fails, a random search (E4)."""

from fractions import Fraction

import numpy as np

from depl.heuristics.set_functions.functions import (
    BoolArray,
    FloatArray,
    IntArray,
    SetFunction,
    all_bounded_values,
    as_order,
    as_set,
    subset_of_index,
)
from depl.heuristics.set_functions.verdicts import (
    Submodularity,
    Verdict,
    Violation,
    proved,
    refuted,
)
from depl.models.foundation.errors import NotCoveredError

LARGEST_EXHAUSTIVE = 18
"""Most elements for which all triples are tried."""

_MOST_EXACT = 20_000
"""Triples that are computed again in rational numbers. Set by hand: a limit of time; with more, the verdict
is UNKNOWN."""
_EPSILON = float(np.finfo(float).eps)
"""Distance of 1 from the next double."""


def exhaustive(function: SetFunction) -> Submodularity:
    """Try all triples: f(A + i) + f(A + j) >= f(A + i + j) + f(A).

    Sums of two values are compared exactly, whatever their rounding (`_slack`). Triples that the errors of
    the values themselves leave open are computed again in rational numbers; if those leave one open, too (an
    irrational function with equality), or if there are too many, the verdict is UNKNOWN.

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
    values, errors = all_bounded_values(function)
    undecided = 0
    index = np.arange(1 << n)
    for first in range(n):
        for second in range(first + 1, n):
            one, other = 1 << first, 1 << second
            bases = index[(index & (one | other)) == 0]
            open_ones = _undecided(values, errors, (bases | one, bases | other, bases | one | other, bases))
            left = _MOST_EXACT - undecided
            verdict = _decided_exactly(function, open_ones[:left], first, second)
            if verdict is not None:
                return verdict
            undecided += len(open_ones)
            if undecided > _MOST_EXACT:
                return Submodularity(Verdict.UNKNOWN, "rounding leaves too many triples open")
    return proved("all triples were tried")


def random_search(function: SetFunction, rng: np.random.Generator, orders: int = 100) -> Submodularity:
    """Look for a violation: the base of a random order against the prefixes of another.

    Parameters
    ----------
    function : SetFunction
        Of any size.
    rng : Generator
        Draws the orders.
    orders : int
        Pairs of orders to try.

    Returns
    -------
    Submodularity
        REFUTED with a triple, or what the construction says.
    """
    for _ in range(orders):
        order, other = rng.permutation(function.size), rng.permutation(function.size)
        base = np.empty(function.size)
        base[order] = np.diff(function.chain(order))
        found = check_base(function, order, base, other, function.chain(other))
        if found is not None:
            return found
    return function.submodularity()


def check_base(
    function: SetFunction, order: IntArray, base: FloatArray, other: IntArray, values: FloatArray
) -> Submodularity | None:
    """The check that costs nothing while a method runs: s(X) <= f(X) - f(0) on prefixes of another order.

    Parameters
    ----------
    function : SetFunction
        f.
    order, base : ndarray
        A permutation and its greedy base s.
    other, values : ndarray
        Another permutation, and f on its prefixes.

    Returns
    -------
    Submodularity or None
        REFUTED with a triple if a prefix violates it beyond rounding; None if it is kept.
    """
    sums = np.cumsum(base[other])
    excess = sums - (values[1:] - values[0])
    place = int(np.argmax(excess))
    # rounding of the values, of their differences and of the sums; it may grow with the constant of f, so
    # that searches run on f - f(0)
    size = float(np.abs(values).max() + np.abs(base).sum())
    if excess[place] <= 4 * (function.size + 1) * (_EPSILON * size + function.rounding):
        return None
    return witness(function, order, as_set(other[: place + 1]))


def check_exchanges(function: SetFunction, order: IntArray, values: FloatArray) -> Submodularity | None:
    """The triples (prefix, next element, the one after it) of an order: one more set for each.

    Parameters
    ----------
    function : SetFunction
        f.
    order, values : ndarray
        A permutation, and f on its prefixes.

    Returns
    -------
    Submodularity or None
        REFUTED by the worst of these triples if it holds in rational numbers.
    """
    count = len(order) - 1
    if count < 1:
        return None
    members: BoolArray = np.zeros((count, function.size), dtype=bool)
    members[:, order] = np.tri(count, len(order), -1, dtype=bool)  # row t holds the first t elements
    members[np.arange(count), order[1:]] = True
    slack = values[1:-1] + function.values(members) - values[2:] - values[:-2]
    place = int(np.argmin(slack))
    if not slack[place] < 0:
        return None
    first, second = int(order[place]), int(order[place + 1])
    found = Violation(as_set(order[:place]), first, second, -float(slack[place]))
    return refuted(found) if holds_at(function, found) else None


def witness(function: SetFunction, order: IntArray, subset: frozenset[int]) -> Submodularity | None:
    """The triple behind a greedy base with s(X) > f(X) - f(0).

    Summing gains along the order, some x in X gains more on its prefix P than on the smaller set P and X;
    between these two, adding one element j at a time, some step raises the gain of x: (A, x, j).

    Returns
    -------
    Submodularity or None
        REFUTED, or None if the triple does not hold in rational numbers.
    """
    inside: list[int] = []
    best: Violation | None = None
    for place, element in enumerate(order.tolist()):
        if element not in subset:
            continue
        added = [item for item in order[:place].tolist() if item not in subset]
        chain = np.array([*inside, *added], dtype=np.int64)
        gains = _gains(function, chain, element, len(inside))
        if len(gains) > 1:
            step = int(np.argmax(np.diff(gains)))
            excess = float(gains[step + 1] - gains[step])
            if best is None or excess > best.excess:
                base = frozenset([*inside, *added[:step]])
                best = Violation(base, element, added[step], excess)
        inside.append(element)
    return refuted(best) if best is not None and holds_at(function, best) else None


def holds_at(function: SetFunction, violation: Violation) -> bool:
    """Whether a violation is one: f(A + i + j) + f(A) > f(A + i) + f(A + j), in rational numbers."""
    slack, error = _exact_slack(function, violation.base, violation.first, violation.second)
    return slack + error < 0


def _undecided(
    values: FloatArray, errors: FloatArray, places: tuple[IntArray, IntArray, IntArray, IntArray]
) -> IntArray:
    """The bases A of the triples whose slack is not proved nonnegative, the least slack first.

    Parameters
    ----------
    values, errors : ndarray
        f on all subsets, and a bound of the error of each, shape (2**n,).
    places : tuple of ndarray
        A + i, A + j, A + i + j and A.
    """
    one, other, both, none = places
    slack, noise = _slack(values[one], values[other], values[both], values[none])
    error = (errors[one] + errors[other] + errors[both] + errors[none]) * (1 + 1e-12)  # rounded up
    kept = slack < np.where(error > 0, error + noise, 0.0)  # without an error the sign decides
    return np.asarray(none[kept][np.argsort(slack[kept], kind="stable")])


def _slack(
    one: FloatArray, other: FloatArray, both: FloatArray, none: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(one + other) - (both + none) with its exact sign, and a bound of its error.

    The float sum s of two floats and its rounding error e are a pair whose sum is exact (Knuth). Rounding is
    monotone: where two such s differ, so do the true sums, in the same direction; where they are equal the e
    decide. What overflows comes back as minus infinity and is left to rational numbers.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        left, left_rest = _exact_sum(one, other)
        right, right_rest = _exact_sum(both, none)
        high, low = left - right, left_rest - right_rest
        value = high + low
        sign = np.where(high != 0, np.sign(high), np.sign(low))
        value = np.where(np.sign(value) == sign, value, sign * np.finfo(float).smallest_subnormal)
        noise = 4 * _EPSILON * (np.abs(high) + np.abs(low))
    lost = ~np.isfinite(value)
    return np.where(lost, -np.inf, value), np.where(lost, 0.0, noise)


def _exact_sum(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    total = one + other
    part = total - one
    return total, (one - (total - part)) + (other - part)


def _gains(function: SetFunction, chain: IntArray, element: int, skipped: int) -> FloatArray:
    """f(B + x) - f(B) on the prefixes B of ``chain`` from the first ``skipped`` elements on."""
    before = function.chain(chain)[skipped:]
    members: BoolArray = np.zeros((len(chain) - skipped + 1, function.size), dtype=bool)
    members[:, chain[:skipped]] = True
    members[:, element] = True
    for row, added in enumerate(chain[skipped:].tolist(), start=1):
        members[row:, added] = True
    return function.values(members) - before


def _decided_exactly(function: SetFunction, bases: IntArray, first: int, second: int) -> Submodularity | None:
    for index in bases.tolist():
        base = subset_of_index(index)
        slack, error = _exact_slack(function, base, first, second)
        if slack + error < 0:
            return refuted(Violation(base, first, second, -float(slack)))
        if slack - error < 0:
            return Submodularity(Verdict.UNKNOWN, f"rounding leaves A = {sorted(base)} open")
    return None


def _exact_slack(
    function: SetFunction, base: frozenset[int], first: int, second: int
) -> tuple[Fraction, Fraction]:
    """f(A + i) + f(A + j) - f(A + i + j) - f(A), and a bound of its error."""
    orders = [as_order(base | extra) for extra in ({first}, {second}, {first, second}, set())]
    one, other, both, none = (function.exact_chain(order) for order in orders)
    slack = one.last + other.last - both.last - none.last
    return slack, 4 * max(chain.error for chain in (one, other, both, none))
