"""Families of set functions that say themselves whether they are submodular.

    cut, coverage, quadratic:  sum of u_i over i in S
                               + sum of c_a over arcs a = (i, j) with i in S, j not in S
                               + sum of w_g over groups g that S meets
    concave_of_weight:         g(w(S)) + u(S) with w >= 0 and g concave on [0, w(V)]
    facility_location:         sum over customers of the greatest benefit in S, plus u(S)

With c >= 0 and w >= 0 every term of the first is submodular. A quadratic form sum of q_ij over pairs i < j
inside S with q_ij <= 0 is of this kind, because q x_i x_j = q x_i + (-q) x_i (1 - x_j).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from depl.heuristics.submodular.function import (
    EPSILON,
    BoolArray,
    ExactSums,
    FloatArray,
    IntArray,
    SetFunction,
    Submodularity,
    Violation,
    largest,
    proved,
    refuted,
)
from depl.models.foundation.errors import InvalidInputError


def cut(
    size: int,
    arcs: Sequence[tuple[int, int]] | IntArray,
    capacities: ArrayLike,
    modular: ArrayLike = 0.0,
) -> SetFunction:
    """Capacity of the arcs that leave S, plus a modular function.

    Parameters
    ----------
    size : int
        n >= 1.
    arcs : sequence of pairs
        Tail and head, different. Give an undirected edge as two arcs.
    capacities : array_like
        One per arc, or one for all. A negative one may make the function non-submodular, which it says.
    modular : array_like
        One weight per element, or one for all.

    Raises
    ------
    InvalidInputError
        If an arc does not fit or a number is not finite.
    """
    ends = np.asarray(arcs, dtype=np.int64).reshape(-1, 2)
    if len(ends) and (ends.min() < 0 or ends.max() >= size or (ends[:, 0] == ends[:, 1]).any()):
        raise InvalidInputError(f"arcs must join different elements of 0 ... {size - 1}", "arcs")
    return _graph(size, modular, ends=ends, capacities=capacities)


def coverage(
    size: int, groups: Sequence[Sequence[int]], weights: ArrayLike, modular: ArrayLike = 0.0
) -> SetFunction:
    """Weight of the groups that S meets, plus a modular function.

    Seen from a topic g that some elements cover, the elements that cover it are its group.

    Parameters
    ----------
    size : int
        n >= 1.
    groups : sequence of sequences of int
        Nonempty; the elements of each.
    weights : array_like
        w >= 0, one per group or one for all.
    modular : array_like
        One weight per element, or one for all.

    Raises
    ------
    InvalidInputError
        If a group is empty or does not fit, or a number is not finite or a weight is negative.
    """
    members = [sorted(set(group)) for group in groups]
    if any(not group or group[0] < 0 or group[-1] >= size for group in members):
        raise InvalidInputError(f"groups must be nonempty sets of elements of 0 ... {size - 1}", "groups")
    if (np.asarray(weights) < 0).any():
        raise InvalidInputError("must not be negative", "weights")
    return _graph(size, modular, groups=members, weights=weights)


def quadratic(matrix: ArrayLike, modular: ArrayLike = 0.0) -> SetFunction:
    """Sum of q_ij over pairs i < j inside S, plus a modular function.

    Parameters
    ----------
    matrix : array_like
        Shape (n, n); q_ij = the entry (i, j) plus the entry (j, i); the diagonal counts as modular. The
        function is submodular iff no q_ij is positive.
    modular : array_like
        One weight per element, or one for all.

    Raises
    ------
    InvalidInputError
        If the matrix is not square or a number is not finite.

    Notes
    -----
    The sums of entries that this makes (q_ij, and u plus the q of a row) are rounded to floats first; the
    function that is minimised is the one with these rounded data.
    """
    entries = np.asarray(matrix, dtype=float)
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise InvalidInputError("must be a square matrix", "matrix")
    upper = np.triu(entries + entries.T, 1)
    rows, columns = np.nonzero(upper)
    linear = np.broadcast_to(np.asarray(modular, dtype=float), (len(entries),)) + np.diag(entries)
    return _graph(
        len(entries),
        linear + upper.sum(1),
        ends=np.column_stack([rows, columns]),
        capacities=-upper[rows, columns],
    )


def _graph(
    size: int,
    modular: ArrayLike,
    *,
    ends: IntArray | None = None,
    capacities: ArrayLike = 0.0,
    groups: Sequence[Sequence[int]] = (),
    weights: ArrayLike = 0.0,
) -> SetFunction:
    if size < 1:
        raise InvalidInputError(f"needs at least one element, not {size}", "size")
    ends = np.zeros((0, 2), dtype=np.int64) if ends is None else ends
    try:
        parts = [
            np.broadcast_to(np.asarray(given, dtype=float), (length,)).copy()
            for given, length in ((modular, size), (capacities, len(ends)), (weights, len(groups)))
        ]
    except ValueError as error:
        raise InvalidInputError(f"numbers do not fit their elements, arcs or groups: {error}") from error
    if not all(np.isfinite(part).all() for part in parts):
        raise InvalidInputError("all numbers have to be finite")
    graph = Graph(parts[0], ends[:, 0], ends[:, 1], parts[1], tuple(map(tuple, groups)), parts[2])
    whole = graph.sums.exact and all((part == np.rint(part)).all() for part in parts)
    known, noise = graph.submodularity(), graph.sums.noise
    return SetFunction(size, graph.gains, known=known, noise=noise, whole=whole, along=graph.along)


@dataclass(eq=False)
class Graph:
    """The sums behind `cut`, `coverage` and `quadratic`: u, i, j and c of every arc, groups and their w."""

    modular: FloatArray
    tails: IntArray
    heads: IntArray
    capacities: FloatArray
    groups: tuple[tuple[int, ...], ...]
    weights: FloatArray

    def __post_init__(self) -> None:
        lengths = [len(group) for group in self.groups]
        self._members = np.array([element for group in self.groups for element in group], dtype=np.int64)
        self._begins = np.concatenate([[0], np.cumsum(lengths[:-1])]).astype(np.int64)
        self.sums = ExactSums(np.concatenate([self.modular, self.capacities, self.weights]))

    def gains(self, members: BoolArray) -> FloatArray:
        """As of `SetFunction`."""
        leaving = members[:, self.tails] & ~members[:, self.heads]
        met = np.zeros((len(members), 0), dtype=bool)
        if self.groups:
            met = np.logical_or.reduceat(members[:, self._members], self._begins, axis=1)
        return self.sums.over(np.concatenate([members, leaving, met], axis=1))

    def along(self, order: IntArray) -> FloatArray:
        """As of `SetFunction`: what every element of the order adds to the ones before, summed."""
        count = len(order)
        place = np.empty(count, dtype=np.int64)
        place[order] = np.arange(count)
        leaves, closes = place[self.tails], place[self.heads]
        counted = leaves < closes
        met = np.minimum.reduceat(place[self._members], self._begins) if self.groups else self._members
        at = np.concatenate([place, leaves[counted], met, closes[counted]]) + 1
        arcs = slice(count, count + len(self.capacities))

        def added(numbers: FloatArray) -> FloatArray:
            own = numbers[arcs][counted]
            terms = np.concatenate([numbers[:count], own, numbers[arcs.stop :], -own])
            return np.cumsum(np.bincount(at, terms, minlength=count + 1)[: count + 1])

        high = added(self.sums.high)
        return high if self.sums.exact else high + added(self.sums.low)

    def submodularity(self) -> Submodularity:
        """Every term is submodular, or the pair (i, j) whose arcs sum to less than 0 refutes it.

        Given all other elements but i and j, the second difference is minus the capacities of both arcs
        minus the weights of groups that contain both and nothing else of the base set; the base of all other
        elements leaves just the groups {i, j}.
        """
        sums: dict[tuple[int, int], Fraction] = {}
        if self.capacities.min(initial=0.0) < 0:
            arcs = zip(self.tails.tolist(), self.heads.tolist(), self.capacities.tolist(), strict=True)
            small = [
                (*group, weight)
                for group, weight in zip(self.groups, self.weights.tolist(), strict=True)
                if len(group) == 2
            ]
            for one, other, amount in [*arcs, *small]:
                pair = min(one, other), max(one, other)
                sums[pair] = sums.get(pair, Fraction(0)) + Fraction(amount)
        worst = min(sums, key=lambda pair: sums[pair], default=None)
        if worst is None or sums[worst] >= 0:
            return proved("a sum of cuts of nonnegative arcs and of nonnegative weights of groups")
        rest = frozenset(range(len(self.modular))) - set(worst)
        return refuted(Violation(rest, *worst, excess=-float(sums[worst])))


@dataclass(frozen=True)
class Shape:
    """A concave g with g(0) = 0, ``at`` an array; ``whole`` if it is an integer at every integer.

    The ``size`` up to a greatest weight: no |g(w)| and no |g'(w)| w is larger.
    """

    name: str
    at: Callable[[FloatArray], FloatArray]
    size: Callable[[float], float]
    whole: bool = False


def square_root(scale: float = 1.0) -> Shape:
    """g(w) = scale * sqrt(w), scale >= 0."""
    _require_nonnegative(scale)
    return Shape(f"{scale:g} sqrt(w)", lambda w: scale * np.sqrt(w), lambda most: scale * math.sqrt(most))


def logarithm(scale: float = 1.0) -> Shape:
    """g(w) = scale * ln(1 + w), scale >= 0."""
    _require_nonnegative(scale)
    # ln(1 + w) >= w / (1 + w), which is g'(w) w / scale
    return Shape(f"{scale:g} ln(1 + w)", lambda w: scale * np.log1p(w), lambda most: scale * math.log1p(most))


def parabola(total: float) -> Shape:
    """g(w) = w (total - w)."""
    return Shape(
        f"w ({total:g} - w)",
        lambda w: w * (total - w),
        lambda most: most * (abs(total) + 2 * most),
        whole=float(total).is_integer(),
    )


def capped(limit: float) -> Shape:
    """g(w) = min(w, limit), limit >= 0."""
    _require_nonnegative(limit)
    return Shape(
        f"min(w, {limit:g})",
        lambda w: np.minimum(w, limit),
        lambda most: min(most, limit),
        whole=float(limit).is_integer(),
    )


_ROUNDINGS = 5
"""Of a gain: of w, of g and a product in it, of u and of the sum, each half a distance of floats of the sizes
below; that the rests of w are rounded as well is less than the fifth up to some thousand elements."""


def concave_of_weight(weights: ArrayLike, shape: Shape, modular: ArrayLike = 0.0) -> SetFunction:
    """g(w(S)) + u(S).

    Parameters
    ----------
    weights : array_like
        w >= 0, shape (n,).
    shape : Shape
        g, concave: `square_root`, `logarithm`, `parabola` or `capped`.
    modular : array_like
        u, shape (n,) or one number for all.

    Raises
    ------
    InvalidInputError
        If a weight is negative or not finite.
    """
    amounts = np.array(weights, dtype=float).reshape(-1)
    linear = np.broadcast_to(np.asarray(modular, dtype=float), amounts.shape).copy()
    fits = (amounts >= 0) & np.isfinite(amounts) & np.isfinite(linear)
    if not len(amounts) or not fits.all():
        raise InvalidInputError("weights must be nonnegative and finite, and there must be some", "weights")
    weight, added = ExactSums(amounts), ExactSums(linear)
    size = shape.size(float(amounts.sum()))
    data = np.concatenate([amounts, linear])
    whole = shape.whole and bool((data == np.rint(data)).all())
    whole = whole and weight.exact and added.exact and size + float(np.abs(linear).sum()) < 2**53

    def noise(gains: FloatArray) -> float:
        parts = np.append(gains, [size, largest(gains) + size])  # u(S) is a gain less g(w)
        return 0.0 if whole else _ROUNDINGS * EPSILON * largest(parts) + added.noise(parts)

    return SetFunction(
        len(amounts),
        lambda members: np.asarray(shape.at(weight.over(members)) + added.over(members), dtype=float),
        known=proved(f"the concave function {shape.name} of a nonnegative weight, and a modular part"),
        noise=noise,
        whole=whole,
    )


def iwata(size: int) -> SetFunction:
    """Iwata's function on ``size`` elements i = 1 ... n: |S| (n - |S|) - sum of (5 i - 2 n) over S."""
    if size < 1:
        raise InvalidInputError(f"needs at least one element, not {size}", "size")
    labels = np.arange(1, size + 1)
    return concave_of_weight(np.ones(size), parabola(size), -(5.0 * labels - 2.0 * size))


def facility_location(benefits: ArrayLike, modular: ArrayLike = 0.0) -> SetFunction:
    """Sum over customers of the greatest benefit in S, plus u(S); 0 for no site.

    Parameters
    ----------
    benefits : array_like
        Nonnegative, shape (sites, customers).
    modular : array_like
        u, one per site or one for all; opening costs, say, with their sign.

    Raises
    ------
    InvalidInputError
        If a benefit is negative or a number not finite.
    """
    table = np.array(benefits, dtype=float)
    if table.ndim != 2 or not table.shape[0] or not np.isfinite(table).all() or not (table >= 0).all():
        raise InvalidInputError("must be a table (sites, customers) of nonnegative numbers", "benefits")
    linear = np.broadcast_to(np.asarray(modular, dtype=float), (len(table),)).copy()
    if not np.isfinite(linear).all():
        raise InvalidInputError("must be finite", "modular")
    sums, sites = ExactSums(np.concatenate([table.ravel(), linear])), len(table)

    def summed(best: FloatArray, high: FloatArray, low: FloatArray) -> FloatArray:
        """What customers get, shape (m, customers), and the sums of the parts of u."""
        multiples = np.rint(best / sums.unit) * sums.unit
        total = multiples.sum(axis=1) + high
        return total if sums.exact else np.asarray(total + ((best - multiples).sum(axis=1) + low))

    def gains(members: BoolArray) -> FloatArray:
        best = np.zeros((len(members), table.shape[1]))
        for site in range(sites):
            np.maximum(best, members[:, site, None] * table[site], out=best)
        return summed(best, members @ sums.high[-sites:], members @ sums.low[-sites:])

    def along(order: IntArray) -> FloatArray:
        best = np.zeros((sites + 1, table.shape[1]))
        np.maximum.accumulate(table[order], axis=0, out=best[1:])
        high, low = (np.append(0.0, np.cumsum(part[-sites:][order])) for part in (sums.high, sums.low))
        return summed(best, high, low)

    return SetFunction(
        sites,
        gains,
        known=proved("a sum of maxima of nonnegative numbers, and a modular part"),
        noise=sums.noise,
        whole=sums.exact and bool((sums.high == np.rint(sums.high)).all()),
        along=along,
    )


def _require_nonnegative(scale: float) -> None:
    if not 0 <= scale < math.inf:
        raise InvalidInputError(f"must be nonnegative and finite, not {scale}", "scale")
