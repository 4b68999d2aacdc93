"""Any directed graph without cycles, with a cost and additive resources on its arcs, in whole numbers.

Numbers are read as the decimals that they print as, and every column (the cost, each resource) becomes
integers over one denominator of its own. So sums, limits and comparisons are exact: ten arcs of 0.1 keep a
limit of 1. Integers are of 64 bits where no sum of a column needs more, and Python's otherwise, which the
same code handles more slowly.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.documents import decimal
from depl.models.foundation.errors import InvalidInputError

Number = int | float | Fraction
Arc = tuple[Hashable, Hashable, Number, Number | Sequence[Number]]
"""Tail, head, cost, and a resource or several."""
IntArray = NDArray[np.int64]
Numbers = NDArray[Any]
"""Integers, of 64 bits or Python's."""

_MOST_BITS = 62
"""Sums of magnitudes below 2**62 fit 64 bits with room for a difference."""


@dataclass(frozen=True, eq=False)
class ExactArcs:
    """Arcs as they were given, numbers as fractions.

    Attributes
    ----------
    ends : tuple of pairs
        Tail and head.
    numbers : tuple of tuples of Fraction
        Cost and resources.
    limits : tuple of Fraction or None
        Greatest total of each resource; None if there is no limit.
    """

    ends: tuple[tuple[Hashable, Hashable], ...]
    numbers: tuple[tuple[Fraction, ...], ...]
    limits: tuple[Fraction | None, ...]

    def totals(self, path: Sequence[int]) -> tuple[Fraction, ...]:
        """Cost and resources of a path, given by indices of arcs."""
        columns = range(1 + len(self.limits))
        return tuple(sum((self.numbers[arc][column] for arc in path), Fraction(0)) for column in columns)

    def keeps_limits(self, totals: Sequence[Fraction]) -> bool:
        """Whether the totals of a path keep all limits, exactly."""
        pairs = zip(totals[1:], self.limits, strict=True)
        return all(limit is None or used <= limit for used, limit in pairs)


@dataclass(frozen=True, eq=False)
class Dag:
    """The part of a graph that lies on paths from the source to the target, which differ.

    Attributes
    ----------
    count : int
        Vertices, numbered along the arcs: 0 is the source and count - 1 the target.
    tails, heads : ndarray
        Shape (m,), tails < heads, sorted by tail.
    given : ndarray
        Index of each arc among those that were given, shape (m,).
    numbers : ndarray
        Cost and resources in units of their columns, shape (m, 1 + R).
    units : tuple of int
        What a column is divided by, 1 + R of them.
    limits : tuple of int or None
        In units of the columns; R of them.
    """

    count: int
    tails: IntArray
    heads: IntArray
    given: IntArray
    numbers: Numbers
    units: tuple[int, ...]
    limits: tuple[int | None, ...]


def exact_arcs(arcs: Iterable[Arc], limits: Number | Sequence[Number]) -> ExactArcs:
    """Read arcs and limits.

    Parameters
    ----------
    arcs : iterable of tuples
        Tail, head, cost, and a resource or a sequence of them, as many as ``limits``.
    limits : number or sequence of numbers
        Greatest totals; infinite for none.

    Raises
    ------
    InvalidInputError
        If an arc is no such tuple, or a number is not finite (a limit: not a number).
    """
    most = tuple(_limit(value, place) for place, value in enumerate(_several(limits)))
    ends, numbers = [], []
    for place, arc in enumerate(arcs):
        try:
            tail, head, cost, resources = arc
        except (TypeError, ValueError) as error:
            wanted = "must be a tail, a head, a cost and resources"
            raise InvalidInputError(wanted, f"arcs[{place}]") from error
        used = _several(resources)
        if len(used) != len(most):
            raise InvalidInputError(f"{len(used)} resources for {len(most)} limits", f"arcs[{place}]")
        ends.append((tail, head))
        numbers.append(tuple(_finite(value, f"arcs[{place}]") for value in (cost, *used)))
    return ExactArcs(tuple(ends), tuple(numbers), most)


def dag(arcs: ExactArcs, source: Hashable, target: Hashable) -> Dag | None:
    """The graph between two vertices; None if no path leads from the one to the other.

    Raises
    ------
    InvalidInputError
        If the arcs close a cycle, which the message names.
    """
    order = _topological(arcs.ends)
    heads_of: dict[Hashable, list[Hashable]] = {}
    tails_of: dict[Hashable, list[Hashable]] = {}
    for tail, head in arcs.ends:
        heads_of.setdefault(tail, []).append(head)
        tails_of.setdefault(head, []).append(tail)
    between = _reached(source, heads_of) & _reached(target, tails_of)
    if source not in between:
        return None
    number = {vertex: place for place, vertex in enumerate(v for v in order if v in between)}
    kept = [arc for arc, ends in enumerate(arcs.ends) if ends[0] in between and ends[1] in between]
    kept.sort(key=lambda arc: number[arcs.ends[arc][0]])
    numbers, units = _in_units([arcs.numbers[arc] for arc in kept], 1 + len(arcs.limits))
    ends = np.array([[number[vertex] for vertex in arcs.ends[arc]] for arc in kept], dtype=np.int64)
    ends = ends.reshape(-1, 2)  # the source may be the target
    most = (
        None if limit is None else math.floor(limit * unit)
        for limit, unit in zip(arcs.limits, units[1:], strict=True)
    )
    return Dag(
        count=len(number),
        tails=ends[:, 0].copy(),
        heads=ends[:, 1].copy(),
        given=np.array(kept, dtype=np.int64),
        numbers=numbers,
        units=units,
        limits=tuple(most),
    )


def _topological(ends: Sequence[tuple[Hashable, Hashable]]) -> list[Hashable]:
    """All vertices, tails before heads; of those that are free the one first seen."""
    heads: dict[Hashable, list[Hashable]] = {}
    entering: dict[Hashable, int] = {}
    for tail, head in ends:
        heads.setdefault(tail, []).append(head)
        heads.setdefault(head, [])
        entering.setdefault(tail, 0)
        entering[head] = entering.get(head, 0) + 1
    order = [vertex for vertex, count in entering.items() if not count]
    for vertex in order:  # grows meanwhile
        for head in heads[vertex]:
            entering[head] -= 1
            if not entering[head]:
                order.append(head)
    if len(order) < len(heads):
        left = set(heads) - set(order)
        raise InvalidInputError(
            f"the arcs close the cycle {_cycle(heads, left)}; label setting needs a graph without cycles",
            "arcs",
        )
    return order


def _cycle(heads: dict[Hashable, list[Hashable]], left: set[Hashable]) -> str:
    """One of the cycles among vertices that all have another one of them before them."""
    before = {head: tail for tail in heads if tail in left for head in heads[tail] if head in left}
    seen: list[Hashable] = []
    vertex = next(vertex for vertex in heads if vertex in left)
    while vertex not in seen:
        seen.append(vertex)
        vertex = before[vertex]
    cycle = [vertex, *seen[: seen.index(vertex) : -1], vertex]
    return " -> ".join(map(str, cycle))


def _reached(start: Hashable, following: dict[Hashable, list[Hashable]]) -> set[Hashable]:
    found, waiting = {start}, [start]
    while waiting:
        new = set(following.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found


def _in_units(rows: Sequence[tuple[Fraction, ...]], width: int) -> tuple[Numbers, tuple[int, ...]]:
    """Columns as integers, and the denominator of each."""
    table = np.empty((len(rows), width), dtype=object)
    units, largest = [], 0
    for column in range(width):
        values = [row[column] for row in rows]
        unit = math.lcm(*(value.denominator for value in values))
        whole = [value.numerator * (unit // value.denominator) for value in values]
        table[:, column] = whole
        units.append(unit)
        largest = max(largest, sum(map(abs, whole)))
    small = largest < 1 << _MOST_BITS
    return (table.astype(np.int64) if small else table), tuple(units)


def _several(given: Number | Sequence[Number]) -> tuple[Number, ...]:
    return (given,) if isinstance(given, int | float | Fraction) else tuple(given)


def _limit(value: Number, place: int) -> Fraction | None:
    return None if value == math.inf else _finite(value, f"limits[{place}]")


def _finite(value: Number, name: str) -> Fraction:
    """A number as the decimal that it prints as."""
    try:
        return Fraction(value) if isinstance(value, int | Fraction) else decimal(float(value))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"must be finite numbers, not {value!r}", name) from error
