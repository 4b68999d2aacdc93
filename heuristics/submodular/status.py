"""Deciding submodularity: all triples, a witness from a base that fails, a random search (E4)."""

from fractions import Fraction

import numpy as np

from depl.heuristics.submodular.functions import (
    BoolArray,
    FloatArray,
    IntArray,
    SetFunction,
    all_values,
    as_order,
    as_set,
    subset_of_index,
)
from depl.heuristics.submodular.verdicts import (
    Submodularity,
    Verdict,
    Violation,
    proved,
    refuted,
)
from depl.models.errors import NotCoveredError

LARGEST_EXHAUSTIVE = 18
"""Most elements for which all triples are tried."""

_MOST_EXACT = 20_000


def exhaustive(function: SetFunction) -> Submodularity:
    """Try all triples: f(A + i) + f(A + j) >= f(A + i + j) + f(A).

    Triples that rounding leaves open are computed again in rational numbers; if those leave one open, too
    (an irrational function with equality), or if there are too many, the verdict is UNKNOWN.

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
    values = all_values(function)
    doubt, undecided = 4 * function.rounding, 0
    index = np.arange(1 << n)
    for first in range(n):
        for second in range(first + 1, n):
            one, other = 1 << first, 1 << second
            bases = index[(index & (one | other)) == 0]
            slack = values[bases | one] + values[bases | other] - values[bases | one | other] - values[bases]
            worst = int(np.argmin(slack))
            if slack[worst] < -doubt:
                base = subset_of_index(int(bases[worst]))
                return refuted(Violation(base, first, second, -float(slack[worst])))
            open_ones = bases[slack < doubt]
            undecided += len(open_ones)
            if undecided > _MOST_EXACT:
                return Submodularity(Verdict.UNKNOWN, "rounding leaves too many triples open")
            verdict = _decided_exactly(function, open_ones, first, second)
            if verdict is not None:
                return verdict
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
    size = float(np.abs(values).max() + np.abs(sums).max())
    if excess[place] <= 1e-9 * size + 4 * (function.size + 1) * function.rounding:
        return None
    return witness(function, order, as_set(other[: place + 1]))


def witness(function: SetFunction, order: IntArray, subset: frozenset[int]) -> Submodularity | None:
    """The triple behind a greedy base with s(X) > f(X) - f(0).

    Summing gains along the order, some x in X gains more on its prefix P than on the smaller set P and X;
    between these two, adding one element j at a time, some step raises the gain of x: (A, x, j).

    Returns
    -------
    Submodularity or None
        REFUTED, or None if the triple does not survive its own rounding.
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
    return refuted(best) if best is not None and best.excess > 4 * function.rounding else None


def holds_at(function: SetFunction, violation: Violation) -> bool:
    """Whether a violation is one: f(A + i + j) + f(A) > f(A + i) + f(A + j), in rational numbers."""
    slack, error = _exact_slack(function, violation.base, violation.first, violation.second)
    return slack + error < 0


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
