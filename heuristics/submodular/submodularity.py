"""What refutes submodularity: a base that fails, gains of neighbours, a random search."""

from fractions import Fraction

import numpy as np

from depl.heuristics.submodular.function import (
    EPSILON,
    BoolArray,
    FloatArray,
    IntArray,
    SetFunction,
    Submodularity,
    Violation,
    exchange_slack,
    indicators,
    largest,
    refuted,
)


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
        found = check_base(function, order, function.chain(order), other, function.chain(other))
        if found is not None:
            return found
    return function.known


def check_base(
    function: SetFunction, order: IntArray, gains: FloatArray, other: IntArray, others: FloatArray
) -> Submodularity | None:
    """The check that costs nothing while a method runs: s(X) <= f(X) - f(0) on prefixes of another order.

    REFUTED with a triple if a prefix violates it beyond rounding; None if it is kept.

    Parameters
    ----------
    order, gains, other, others : ndarray
        Two permutations and the gains of their prefixes; differences of the first are the greedy base s.
    """
    base = np.empty(function.size)
    base[order] = np.diff(gains)
    excess = np.cumsum(base[other]) - others[1:]
    place = int(np.argmax(excess))
    noise = function.noise(np.concatenate([gains, others]))
    # rounding of the gains, of their differences and of the sums
    if excess[place] <= 4 * (function.size + 1) * (EPSILON * (largest(others) + np.abs(base).sum()) + noise):
        return None
    return witness(function, order, frozenset(other[: place + 1].tolist()))


def check_exchanges(function: SetFunction, order: IntArray, gains: FloatArray) -> Submodularity | None:
    """The triples (prefix, next element, the one after it) of an order: one more set for each.

    REFUTED by the worst of these triples if it is one, by more than rounding.

    Parameters
    ----------
    order, gains : ndarray
        A permutation, and the gains of its prefixes.
    """
    count = len(order) - 1
    if count < 1:
        return None
    members: BoolArray = np.zeros((count, function.size), dtype=bool)
    members[:, order] = np.tri(count, len(order), -1, dtype=bool)  # row t holds the first t elements
    members[np.arange(count), order[1:]] = True
    slack = exchange_slack(gains[1:-1], function.gains(members), gains[2:], gains[:-2])
    place = int(np.argmin(slack))
    if not -np.inf < slack[place] < -EPSILON * largest(gains):
        return None
    first, second = int(order[place]), int(order[place + 1])
    found = Violation(frozenset(order[:place].tolist()), first, second, -float(slack[place]))
    return refuted(found) if holds_at(function, found) else None


def witness(function: SetFunction, order: IntArray, subset: frozenset[int]) -> Submodularity | None:
    """The triple behind a greedy base with s(X) > f(X) - f(0).

    Summing gains along the order, some x in X gains more on its prefix P than on the smaller set P and X;
    between these two, adding one element j at a time, some step raises the gain of x: (A, x, j). None if the
    triple does not hold beyond the noise.
    """
    inside: list[int] = []
    best: Violation | None = None
    for place, element in enumerate(order.tolist()):
        if element not in subset:
            continue
        added = [item for item in order[:place].tolist() if item not in subset]
        bases = [[*inside, *added[:count]] for count in range(len(added) + 1)]
        with_it = [[*base, element] for base in bases]
        gains = np.subtract(*(function.gains(indicators(function.size, sets)) for sets in (with_it, bases)))
        if added:
            step = int(np.argmax(np.diff(gains)))
            excess = float(gains[step + 1] - gains[step])
            if best is None or excess > best.excess:
                best = Violation(frozenset(bases[step]), element, added[step], excess)
        inside.append(element)
    return refuted(best) if best is not None and holds_at(function, best) else None


def holds_at(function: SetFunction, violation: Violation) -> bool:
    """Whether a violation is one, in rational numbers: f(A + i + j) + f(A) > f(A + i) + f(A + j)."""
    base, i, j = violation.base, violation.first, violation.second
    gains = function.gains(indicators(function.size, [base | {i}, base | {j}, base | {i, j}, base]))
    one, other, both, none = map(Fraction, gains.tolist())
    return one + other - both - none < -4 * Fraction(function.noise(gains))
