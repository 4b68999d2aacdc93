"""Exact probabilities of the final loss when every random part of it takes finitely many values.

Sums of atoms are formed in integers (every value is a written decimal, so a common denominator
exists) and their probabilities in rationals, so that "with probability exactly 1 - omega" can be
told from "with slightly more". The number of distinct sums stays small for lattice-like values
(knapsack reductions, scenarios of a few letters) and grows exponentially otherwise: then there is no
answer here, and the directed grid has to serve.
"""

import bisect
import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TypeVar

import numpy as np

from depl.models.foundation.deadline import keep_time
from depl.models.foundation.documents import decimal as decimal
from depl.models.foundation.interval import Interval, float_above, float_below
from depl.models.foundation.tolerances import EXACT_ATOM_TOLERANCE
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import FloatArray

MAXIMUM_ATOMS = 20_000
"""Most distinct sums that are followed; the last summand is never added, only compared with."""

MAXIMUM_PRODUCTS = 3_000_000
"""Most pairs of atoms that are multiplied, over the whole sum (a few seconds)."""

_Number = TypeVar("_Number", int, Fraction)

Atoms = dict[int, int]
"""Weight (an integer, to be divided by their sum) of every atom, in units of the common denominator."""


def is_discrete(loss: FinalLoss) -> bool:
    """Whether the final loss takes finitely many values."""
    return all(term.law.has_atoms for term, _ in loss.terms)


def exact_violation(loss: FinalLoss, maximum_loss: float | Fraction, lenient: bool = True) -> Interval | None:
    """P(l(K) > maximum_loss) in rational arithmetic; floats are read as the decimals that they print as.

    Parameters
    ----------
    lenient : bool
        Whether atoms up to `EXACT_ATOM_TOLERANCE` above ``maximum_loss`` count as met. Otherwise ``exact`` is
        not filled where an atom is as close as partial sums were merged.

    Returns
    -------
    Interval or None
        With ``exact`` filled; None if a law is not empirical or the sum has more than `MAXIMUM_ATOMS` atoms
        or needs more than `MAXIMUM_PRODUCTS` products.
    """
    law = _distribution(loss)
    if law is None:
        return None
    place = math.floor((decimal(maximum_loss) + (EXACT_ATOM_TOLERANCE if lenient else 0)) / law.unit)
    least = 1 - Fraction(law.weight_up_to(place), law.total)
    if lenient or not law.moved:
        return Interval.around(least, "exact sum")
    # merging has moved atoms down, by law.moved at most
    most = 1 - Fraction(law.weight_up_to(place - law.moved), law.total)
    return Interval(float_below(least), float_above(most), "exact sum", least if least == most else None)


def exact_quantile(loss: FinalLoss, level: float | Fraction, lenient: bool = True) -> Interval | None:
    """The smallest v with P(l(K) <= v) >= level, in rational arithmetic; None as for `exact_violation`.

    Parameters
    ----------
    level : float or Fraction
        omega in (0, 1); a float is read as the decimal that it prints as.
    lenient : bool
        Whether partial sums closer than the merging distance of this module (at most 1e-10 of a unit of loss,
        see the source) are one atom. Otherwise what merging has moved is within the interval.
    """
    law = _distribution(loss)
    if law is None:
        return None
    needed = decimal(level) * law.total
    below, above = law.least - 1, law.greatest
    while above - below > 1:  # weight_up_to(below) < needed <= weight_up_to(above)
        middle = (below + above) // 2
        below, above = (below, middle) if law.weight_up_to(middle) >= needed else (middle, above)
    found = Interval.around(above * law.unit, "exact sum")
    if lenient or not law.moved:
        return found
    return Interval(found.lower, float_above((above + law.moved) * law.unit), found.how)


def few_atoms(loss: FinalLoss, most: int) -> tuple[FloatArray, FloatArray, float] | None:
    """Values and probabilities of a sum of atoms, correctly rounded, and how far merging has lowered some.

    None if there are more than ``most``, or as in `exact_violation`.
    """
    law = _distribution(loss)
    atoms = None if law is None else law.atoms(most)
    if law is None or atoms is None:
        return None
    values = np.array([float(value * law.unit) for value in atoms])
    weights = np.array([weight / law.total for weight in atoms.values()])
    return values, weights, float(law.moved * law.unit) * (1 + 1e-15)


class _Sums:
    """Sums of two independent discrete variables, in integers; not formed, only counted."""

    def __init__(self, unit: Fraction, first: Atoms, second: Atoms, moved: int) -> None:
        self.unit, self.moved = unit, moved
        self._first, self._second, self._values = first, second, sorted(second)
        self._cumulative = [0, *itertools.accumulate(second[value] for value in self._values)]
        self.total = sum(first.values()) * self._cumulative[-1]
        self.least = min(first) + self._values[0]
        self.greatest = max(first) + self._values[-1]

    def atoms(self, most: int) -> Atoms | None:
        """All sums with their weights; None if there are more than ``most``."""
        found = added(self._first, self._second) if len(self._first) * len(self._second) <= 4 * most else {}
        return found if 0 < len(found) <= most else None

    def weight_up_to(self, bound: int) -> int:
        """Weight of the sums that do not exceed ``bound``."""
        places = (
            (weight, bisect.bisect_right(self._values, bound - value))
            for value, weight in self._first.items()
        )
        return sum(weight * self._cumulative[place] for weight, place in places)


@functools.lru_cache(maxsize=4)  # the violation and the quantile of one loss are asked one after the other
def _distribution(loss: FinalLoss) -> _Sums | None:
    """The sums that the final loss can be, or None if there are too many."""
    if not is_discrete(loss):
        return None
    supports = [(support(term), count) for term, count in loss.terms]
    constant = decimal(loss.constant)
    values = [constant, *(value for support, _ in supports for value in support)]
    denominator = math.lcm(*(value.denominator for value in values))
    distance = int(_merging_distance(constant, supports) * denominator)
    atoms: Atoms = {int(constant * denominator): 1}
    products = 0
    *steps, last = [*_steps(supports, denominator)] or [{0: 1}]
    for step in steps:
        products += len(atoms) * len(step)
        if products > MAXIMUM_PRODUCTS:
            return None
        atoms = _merge(added(atoms, step), distance)
        if len(atoms) > MAXIMUM_ATOMS:
            return None
    return _Sums(Fraction(1, denominator), atoms, last, distance * len(steps))


def support(term: Term) -> dict[Fraction, Fraction]:
    """Weights (not normalised) of the values of coefficient * X, equal values once."""
    support: dict[Fraction, Fraction] = {}
    coefficient, nothing = decimal(term.coefficient), Fraction(0)
    for value, weight in term.law.decimals():
        place = coefficient * decimal(value)
        support[place] = support.get(place, nothing) + decimal(weight)
    return support


def _steps(supports: list[tuple[dict[Fraction, Fraction], int]], denominator: int) -> Iterator[Atoms]:
    """One set of integer atoms per summand, the smallest supports first."""
    for support, count in sorted(supports, key=lambda entry: len(entry[0])):
        scale = math.lcm(*(weight.denominator for weight in support.values()))
        weights = [_whole(weight, scale) for weight in support.values()]
        common = math.gcd(*weights)
        places = (_whole(value, denominator) for value in support)
        atoms = {place: weight // common for place, weight in zip(places, weights, strict=True)}
        for _ in range(count):
            yield atoms


def _whole(value: Fraction, denominator: int) -> int:
    """value * denominator, a multiple of the value's own."""
    return value.numerator * (denominator // value.denominator)


def added(first: Mapping[_Number, _Number], second: Mapping[_Number, _Number]) -> dict[_Number, _Number]:
    """Atoms of the sum of two independent discrete variables."""
    total: dict[_Number, _Number] = {}
    for value, weight in first.items():
        keep_time()
        for step, part in second.items():
            place, product = value + step, weight * part
            total[place] = total[place] + product if place in total else product
    return total


def _merge(atoms: Atoms, distance: int) -> Atoms:
    """Move every atom onto the first one at most ``distance`` below it."""
    if distance == 0:
        return atoms
    merged: Atoms = {}
    anchor: int | None = None
    for value in sorted(atoms):
        if anchor is None or value - anchor > distance:
            anchor = value
        merged[anchor] = merged.get(anchor, 0) + atoms[value]
    return merged


def _merging_distance(constant: Fraction, supports: list[tuple[dict[Fraction, Fraction], int]]) -> Fraction:
    """How close two sums count as one: 1e-13 of the scale, and never enough to reach `EXACT_ATOM_TOLERANCE`.

    Coefficients such as 1/sqrt(k) are rounded, so sums that are equal by intent differ in the last
    place. All merges together move an atom by at most a tenth of `EXACT_ATOM_TOLERANCE`, however large the
    scale: integers never merge with their neighbours.
    """
    scale = abs(constant) + sum(count * max(abs(value) for value in support) for support, count in supports)
    merges = 1 + sum(count for _, count in supports)
    return min(scale / 10**13, EXACT_ATOM_TOLERANCE / 10 / merges)
