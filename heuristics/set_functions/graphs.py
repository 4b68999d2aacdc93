"""Sums of arcs and groups: cuts, coverage, quadratics and everything else that a minimum cut minimises.

    f(S) = constant + sum of u_i over i in S + sum of c_a over arcs a = (i, j) with i in S, j not in S
           + sum of w_g over groups g that S meets.

With c >= 0 and w >= 0 every term is submodular. A quadratic form sum of q_ij over pairs i < j inside S with
q_ij <= 0 is of this kind, because q x_i x_j = q x_i + (-q) x_i (1 - x_j).
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from depl.heuristics.set_functions.functions import (
    BoolArray,
    ExactChain,
    FloatArray,
    IntArray,
    ObjectArray,
    SetFunction,
    as_integers,
    common_denominator,
)
from depl.heuristics.set_functions.verdicts import Submodularity, Violation, proved, refuted
from depl.models.foundation.compiling import kernel
from depl.models.foundation.errors import InvalidInputError

_EXACT_INTEGERS = 1 << 53
"""Doubles hold all integers up to it."""


@dataclass(frozen=True, eq=False)
class GraphFunction(SetFunction):
    """The function above; make it with `cut`, `coverage` or `quadratic`.

    Attributes
    ----------
    modular : ndarray
        u, shape (n,).
    tails, heads : ndarray
        i and j of every arc, shape (arcs,).
    capacities : ndarray
        c, shape (arcs,). A negative one makes the function non-submodular, which `submodularity` says.
    groups : ndarray
        Members of all groups one after the other.
    starts : ndarray
        Where each group starts in ``groups``, shape (groups,); no group is empty.
    weights : ndarray
        w >= 0, shape (groups,).
    constant : float
        f of the empty set.
    """

    modular: FloatArray
    tails: IntArray
    heads: IntArray
    capacities: FloatArray
    groups: IntArray
    starts: IntArray
    weights: FloatArray
    constant: float = 0.0

    @property
    def size(self) -> int:
        """See `SetFunction`."""
        return len(self.modular)

    def submodularity(self) -> Submodularity:
        """Every term is submodular, or the pair (i, j) whose arcs sum to less than 0 refutes it.

        Given all other elements but i and j, the second difference is minus the capacities of both arcs
        minus the weights of groups that contain both and nothing else of the base set; the base of all other
        elements leaves just the groups {i, j}.
        """
        pairs = self._pair_sums()
        worst = min(pairs, key=lambda pair: pairs[pair], default=None)
        if worst is None or pairs[worst] >= 0:
            return proved("a sum of cuts of nonnegative arcs and of nonnegative weights of groups")
        rest = frozenset(range(self.size)) - set(worst)
        return refuted(Violation(rest, *worst, excess=-float(pairs[worst])))

    @functools.cached_property
    def denominator(self) -> int:
        """The least power of two that turns all data into integers."""
        return common_denominator(self._data())

    @functools.cached_property
    def granularity(self) -> Fraction:
        """One over the denominator."""
        return Fraction(1, self.denominator)

    @property
    def rounding(self) -> float:
        """0 if the sums are exact in floating point, else a bound by their length."""
        data = self._data()
        return 0.0 if self._exact_in_floats else 4e-16 * len(data) * float(np.abs(data).sum())

    def chain(self, order: IntArray) -> FloatArray:
        """See `SetFunction`."""
        order = np.ascontiguousarray(order, dtype=np.int64)
        arcs, groups = (*self._ends, self.capacities), (*self._members, self.weights)
        found: FloatArray = _prefix_values(order, self.constant, self.modular, arcs, groups)
        return found

    def exact_chain(self, order: IntArray) -> ExactChain:
        """See `SetFunction`; floats are dyadic rationals, so nothing is rounded."""
        if self._exact_in_floats:
            places = self.denominator.bit_length() - 1  # the denominator itself may be too large for a float
            return ExactChain(
                np.ldexp(self.chain(order), places).astype(np.int64), self.denominator, Fraction(0)
            )
        (constant,), modular, capacities, weights = self._integers
        count, place = len(order), np.full(self.size, len(order))
        place[order] = np.arange(count)
        found = np.array([constant, *modular[order]], dtype=object)
        leaves, closes = place[self.tails], place[self.heads]
        np.add.at(found, leaves[leaves < closes] + 1, capacities[leaves < closes])
        ending = (leaves < closes) & (closes < count)
        np.subtract.at(found, closes[ending] + 1, capacities[ending])
        if len(weights):
            met = np.minimum.reduceat(place[self.groups], self.starts)
            np.add.at(found, met[met < count] + 1, weights[met < count])
        return ExactChain(np.cumsum(found), self.denominator, Fraction(0))

    def values(self, members: BoolArray) -> FloatArray:
        """See `SetFunction`."""
        found = self.constant + members @ self.modular
        if len(self.capacities):
            found = found + (members[:, self.tails] & ~members[:, self.heads]) @ self.capacities
        if len(self.weights):
            met = np.logical_or.reduceat(members[:, self.groups], self.starts, axis=1)
            found = found + met @ self.weights
        return np.asarray(found, dtype=float)

    def normalised(self) -> SetFunction:
        """See `SetFunction`; the constant is a term of its own here."""
        return replace(self, constant=0.0) if self.constant else self

    @functools.cached_property
    def _integers(self) -> tuple[ObjectArray, ...]:
        """Constant, u, c and w times the denominator."""
        return tuple(as_integers(part, self.denominator) for part in self._parts())

    @functools.cached_property
    def _exact_in_floats(self) -> bool:
        """Whether no partial sum, times the denominator, leaves the integers that floats hold exactly."""
        # the float sum is off by far less than a factor of 2
        return 2 * Fraction(float(np.abs(self._data()).sum())) * self.denominator < _EXACT_INTEGERS

    @property
    def _ends(self) -> tuple[IntArray, IntArray]:
        return self.tails, self.heads

    @property
    def _members(self) -> tuple[IntArray, IntArray]:
        return self.groups, self.starts

    def _parts(self) -> tuple[FloatArray, ...]:
        return np.array([self.constant]), self.modular, self.capacities, self.weights

    def _data(self) -> FloatArray:
        return np.concatenate(self._parts())

    def _pair_sums(self) -> dict[tuple[int, int], Fraction]:
        """Capacities of both arcs of a pair and weights of groups of exactly that pair, where one is < 0."""
        sums: dict[tuple[int, int], Fraction] = {}
        if not len(self.capacities) or self.capacities.min() >= 0:
            return sums
        arcs = zip(self.tails.tolist(), self.heads.tolist(), self.capacities.tolist(), strict=True)
        members = [set(part.tolist()) for part in np.split(self.groups, self.starts[1:])]
        weighted = zip(members, self.weights.tolist(), strict=False)  # one empty part stands for no groups
        small = [(min(group), max(group), w) for group, w in weighted if len(group) == 2]
        for one, other, amount in [*arcs, *small]:
            pair = min(one, other), max(one, other)
            sums[pair] = sums.get(pair, Fraction(0)) + Fraction(amount)
        return sums


def cut(
    size: int,
    arcs: Sequence[tuple[int, int]] | IntArray,
    capacities: ArrayLike,
    modular: ArrayLike = 0.0,
) -> GraphFunction:
    """Capacity of the arcs that leave S, plus a modular function.

    Parameters
    ----------
    size : int
        n >= 1.
    arcs : sequence of pairs
        Tail and head, different. Give an undirected edge as two arcs.
    capacities : array_like
        One per arc, or one for all.
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
    return _checked(size, modular=modular, ends=ends, capacities=capacities)


def coverage(
    size: int, groups: Sequence[Sequence[int]], weights: ArrayLike, modular: ArrayLike = 0.0
) -> GraphFunction:
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
    return _checked(size, modular=modular, members=members, weights=weights)


def quadratic(matrix: ArrayLike, modular: ArrayLike = 0.0) -> GraphFunction:
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
    return _checked(
        len(entries),
        modular=linear + upper.sum(1),
        ends=np.column_stack([rows, columns]),
        capacities=-upper[rows, columns],
    )


def _checked(
    size: int,
    *,
    modular: ArrayLike,
    ends: IntArray | None = None,
    capacities: ArrayLike = 0.0,
    members: Sequence[Sequence[int]] = (),
    weights: ArrayLike = 0.0,
) -> GraphFunction:
    if size < 1:
        raise InvalidInputError(f"needs at least one element, not {size}", "size")
    ends = np.zeros((0, 2), dtype=np.int64) if ends is None else ends
    lengths = np.array([len(group) for group in members], dtype=np.int64)
    try:
        parts = [
            np.broadcast_to(np.asarray(given, dtype=float), (length,)).copy()
            for given, length in ((modular, size), (capacities, len(ends)), (weights, len(members)))
        ]
    except ValueError as error:
        raise InvalidInputError(f"numbers do not fit their elements, arcs or groups: {error}") from error
    if not all(np.isfinite(part).all() for part in parts):
        raise InvalidInputError("all numbers have to be finite")
    return GraphFunction(
        modular=parts[0],
        tails=ends[:, 0].copy(),
        heads=ends[:, 1].copy(),
        capacities=parts[1],
        groups=np.array([element for group in members for element in group], dtype=np.int64),
        starts=np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)[: len(members)],
        weights=parts[2],
    )


@kernel()
def _prefix_values(
    order: IntArray,
    constant: float,
    modular: FloatArray,
    arcs: tuple[IntArray, IntArray, FloatArray],
    groups: tuple[IntArray, IntArray, FloatArray],
) -> FloatArray:
    """f on the prefixes of an order: what every place adds to the one before, summed."""
    tails, heads, capacities = arcs
    members, starts, weights = groups
    count = len(order)
    place = np.full(len(modular), count)
    found = np.empty(count + 1)
    found[0] = constant
    for i in range(count):
        place[order[i]] = i
        found[i + 1] = modular[order[i]]
    for arc in range(len(capacities)):
        leaves, closes = place[tails[arc]], place[heads[arc]]
        if leaves < closes:
            found[leaves + 1] += capacities[arc]
            if closes < count:
                found[closes + 1] -= capacities[arc]
    for group in range(len(weights)):
        end = starts[group + 1] if group + 1 < len(starts) else len(members)
        earliest = count
        for entry in range(starts[group], end):
            earliest = min(earliest, place[members[entry]])
        if earliest < count:
            found[earliest + 1] += weights[group]
    for i in range(count):
        found[i + 1] += found[i]
    return found
