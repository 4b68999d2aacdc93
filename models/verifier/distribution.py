"""P(sum of independent increments > gap), bracketed: the distribution behind eq. (3), found independently.

By kind of law, the sharpest way that applies:

- atoms only: exact sums in rational arithmetic, split in two halves that meet at the threshold;
- one law with a density, or none that is smooth: its own distribution function at the points of all others;
- smooth densities: `tilted_tail`;
- what is left, such as laws of which only the distribution function is known: `rounded_tail`.

Untruncated Student-t are cut to cores, and what lies outside of these is bounded (`with_cores`).
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.verifier.cores import with_cores
from depl.models.verifier.laws import (
    Bracket,
    FloatArray,
    Increment,
    ends,
    exceedance,
    integer_atoms,
    is_discrete,
    is_plain,
    is_polynomial,
    is_smooth,
    is_truncated,
    merged,
    normals_together,
    number_of_points,
    peak_width,
    point_nodes,
    spread,
)
from depl.models.verifier.rounded_sums import rounded_tail
from depl.models.verifier.tilted_sums import tilted_tail
from depl.models.verifier.tolerances import EXACT_ATOM_TOLERANCE, RELATIVE_ROUNDING

_MOST_PRODUCTS = 3_000_000
"""Products of atoms that exact sums may take: set by hand. Beyond, sums are rounded, and the
probability is a bracket."""

_MOST_CONDITIONED = 20_000
"""Sums of atoms, at each of which a distribution function is asked for: set by hand. With more of them sums
are rounded, with a wider bracket."""

_MOST_POINTS = 4_000_000
"""The same, atoms and points of laws with densities: set by hand, a second."""

_NEAR, _WIDE = (6.0, 30.0, 60.0), (100.0, 1000.0, 10_000.0)
"""How far cores reach, in spreads, for tilted sums and for points: set by hand. What is outside is bounded,
so any value is sound; wide cores keep tilts from being steep, and take many points."""

_MOST_KINKS = 200
"""Atoms beside two truncated laws, each of which makes kinks that points have to keep apart: set by hand."""

_SUBTRACTION = 2.0**-51  # relative error allowed to a sum of two numbers, each rounded

_KEPT = 256
"""Probabilities that are remembered: set by hand. A plan that was solved for is often verified again with all
that it claims; how many are kept changes seconds and some MB, not values."""


def known_tail_probability(
    increments: Sequence[Increment], gap: Fraction, budget: Fraction | None = None
) -> Bracket:
    """`tail_probability`, remembered for increments alike once equal ones are counted together."""
    return remembered(merged(increments), gap, budget)


@functools.lru_cache(maxsize=_KEPT)
def remembered(increments: tuple[Increment, ...], gap: Fraction, budget: Fraction | None) -> Bracket:
    """What `tail_probability` finds, computed at the first question."""
    return tail_probability(increments, gap, budget)


def tail_probability(
    increments: Sequence[Increment], gap: Fraction, budget: Fraction | None = None
) -> Bracket:
    """Bracket P(sum of increments > gap).

    Parameters
    ----------
    increments : sequence of Increment
        Independent random increments of the loss; constants belong into ``gap``.
    gap : Fraction
        l_max minus all that is certain of the final loss [loss].
    budget : Fraction, optional
        A probability; more effort is spent where the bracket contains it.

    Returns
    -------
    Bracket
        Both ends the same fraction if all laws are discrete and few enough; an atom within 1e-9 above
        ``gap`` counts as not exceeding it.
    """
    parts, mean = normals_together(merged(increments))
    gap -= mean
    limit, found = float(gap), None
    continuous = [item for item in parts if not is_discrete(item.law)]
    smooth = any(is_smooth(item.law) for item in continuous)
    if not continuous:
        limit = float(gap + EXACT_ATOM_TOLERANCE)
        found = _exact_tail(parts, gap + EXACT_ATOM_TOLERANCE)
    elif sum(item.count for item in continuous) == 1 or not (smooth or any(map(is_plain, continuous))):
        found = _conditioned_tail(parts, limit)
    if found is None and smooth and not any(map(is_plain, continuous)):
        found = with_cores(tilted_tail, parts, limit, _NEAR)
    return found or rounded_tail(parts, limit, budget)


class _Points(NamedTuple):
    """Values of a sum with their weights; no value is off by more than ``error``."""

    values: FloatArray
    weights: FloatArray
    error: float


def _conditioned_tail(increments: Sequence[Increment], gap: float) -> Bracket | None:
    """One law's own distribution function, averaged over points of all others; None if they are too many.

    It is the widest of the heaviest, so that it changes slowly from point to point.
    """
    atoms = _enumerated([item for item in increments if is_discrete(item.law)])
    continuous = [item for item in increments if not is_discrete(item.law)]
    last = max(continuous, key=lambda item: (is_polynomial(item.law), abs(item.factor) * spread(item.law)))
    rest = [Increment(item.coefficient, item.law, item.count - (item is last)) for item in continuous]

    def tail(parts: Sequence[Increment], limit: float) -> Bracket | None:
        return None if atoms is None else _averaged(atoms, parts, last, limit)

    return with_cores(tail, [item for item in rest if item.count], gap, _WIDE, last)


def _averaged(atoms: _Points, parts: Sequence[Increment], last: Increment, gap: float) -> Bracket | None:
    """P(atoms + parts + last > gap), parts truncated: by points at most a width of ``last`` apart.

    Where ``last`` is truncated, too, panels end where its distribution function has a kink; None if there are
    too many.
    """
    values, weights, error = atoms
    kinks = [gap - value - end for value in values.tolist() for end in ends(last)] if parts else []
    kinks = kinks if is_truncated(last.law) else []
    if kinks and (len(values) > _MOST_KINKS or sum(item.count for item in parts) > 1):
        return None
    for item in parts:
        longest = abs(last.factor) * peak_width(last.law) / abs(item.factor)
        if number_of_points(item.law, longest) > _MOST_POINTS:
            return None
        marks = [kink / item.factor for kink in kinks]
        nodes, shares = point_nodes(item.law, longest, marks)
        for _ in range(item.count):
            if len(values) * len(nodes) > _MOST_POINTS:
                return None
            error += _SUBTRACTION * (float(np.abs(values).max()) + abs(item.factor) * np.abs(nodes).max())
            values = np.add.outer(values, item.factor * nodes).ravel()
            weights = np.multiply.outer(weights, shares).ravel()
    slack = error + _SUBTRACTION * (abs(gap) + np.abs(values))
    high, low = (float(weights @ exceedance(last, gap - values + sign * slack)) for sign in (-1.0, 1.0))
    return Bracket(low * (1.0 - RELATIVE_ROUNDING), min(1.0, high * (1.0 + RELATIVE_ROUNDING)))


class _Atoms(NamedTuple):
    """Values ``keys / unit`` in increasing order with integer weights that sum to ``total``.

    Both arrays hold 64-bit integers where these suffice, Python's otherwise.
    """

    keys: NDArray[Any]
    weights: NDArray[Any]
    total: int


def _exact_tail(increments: Sequence[Increment], gap: Fraction) -> Bracket | None:
    scale = _scale(increments)
    hopeless = not scale.exact and _log_sums(increments) > 2.0 * math.log(_MOST_PRODUCTS)
    halves = None if hopeless else _two_halves(increments, scale)
    if halves is None:
        return None
    first, second = halves
    cumulative = np.concatenate([[0], np.cumsum(second.weights)])
    farthest = 1 + 2 * int(max(abs(key) for half in halves for key in (half.keys[0], half.keys[-1])))
    limits = max(-farthest, min(farthest, math.floor(gap * scale.unit))) - first.keys
    met = cumulative[np.searchsorted(second.keys, limits, side="right")]
    exceeding = int(first.weights.astype(object) @ (second.total - met).astype(object))
    probability = Fraction(exceeding, first.total * second.total)
    return Bracket(probability, probability)


def _log_sums(increments: Sequence[Increment]) -> float:
    """Logarithm of the number of sums, if only copies of one increment ever give the same."""
    sizes = [(item.count, len(integer_atoms(item.law))) for item in increments]
    return math.fsum(math.log(math.comb(size + count - 1, count)) for count, size in sizes)


def _two_halves(increments: Sequence[Increment], scale: "_Scale") -> tuple[_Atoms, _Atoms] | None:
    """Distribute the increments over two sums of similar numbers of atoms; None if that takes too long."""
    halves = [scale.certain(), scale.certain()]
    budget = _MOST_PRODUCTS
    for item in increments:
        atoms = scale.possible(item)
        for _ in range(item.count):
            smaller = min((0, 1), key=lambda index: len(halves[index].keys))
            budget -= len(halves[smaller].keys) * len(atoms.keys)
            if budget < 0:
                return None
            halves[smaller] = _convolved(halves[smaller], atoms)
    return halves[0], halves[1]


def _enumerated(increments: Sequence[Increment]) -> _Points | None:
    """The sum of discrete increments, unless there are too many values."""
    scale = _scale(increments)
    atoms = scale.certain()
    for item in increments:
        more = scale.possible(item)
        for _ in range(item.count):
            if len(atoms.keys) * len(more.keys) > 10 * _MOST_CONDITIONED:
                return None
            atoms = _convolved(atoms, more)
            if len(atoms.keys) > _MOST_CONDITIONED:
                return None
    values = [int(key) / scale.unit for key in atoms.keys]
    weights = [int(weight) / atoms.total for weight in atoms.weights]
    number = sum(item.count for item in increments)
    return _Points(np.array(values), np.array(weights), 0.0 if scale.exact else number / scale.unit)


@dataclass(frozen=True)
class _Scale:
    """What integers stand for: values are multiples of 1 / unit, exactly or rounded to them."""

    unit: int
    integers: Any
    exact: bool

    def certain(self) -> _Atoms:
        """The sum of nothing."""
        return _Atoms(np.array([0], self.integers), np.array([1], self.integers), 1)

    def possible(self, item: Increment) -> _Atoms:
        """The atoms of one copy of an increment."""
        pairs = integer_atoms(item.law)
        keys = np.array([round(item.coefficient * value * self.unit) for value, _ in pairs], self.integers)
        weights = np.array([weight for _, weight in pairs], self.integers)
        return _collected(keys, weights, int(sum(weights.astype(object))))


def _scale(increments: Sequence[Increment]) -> _Scale:
    """Choose the unit: exact if the values are short decimals, if not, 1e-13 of the largest sum or finer.

    It is never above 1e-13, far below the tolerance of an atom, so that it can decide ties. Where neither
    sums nor weights fit into 64 bits, Python's integers are used, and the unit is exact.
    """
    size, total, exact = Fraction(0), 1, 1
    for item in increments:
        pairs = integer_atoms(item.law)
        size += item.count * max(abs(item.coefficient * value) for value, _ in pairs)
        total *= sum(weight for _, weight in pairs) ** item.count
        exact = math.lcm(exact, *((item.coefficient * value).denominator for value, _ in pairs))
    rounded = 10 ** (13 + _zeros(size))
    for unit in (exact, rounded):
        if size * unit < 2**61 and total < 2**62:
            return _Scale(unit, np.int64, unit == exact)
    unit = rounded if size * rounded < 2**61 else exact
    return _Scale(unit, object, unit == exact)


def _zeros(size: Fraction) -> int:
    """How many zeros follow the decimal point of a number; none if it is at least 1, or 0."""
    if size <= 0 or size >= 1:
        return 0
    return max(0, math.floor(-math.log10(size)))


def _convolved(first: _Atoms, second: _Atoms) -> _Atoms:
    keys = np.add.outer(first.keys, second.keys).ravel()
    weights = np.multiply.outer(first.weights, second.weights).ravel()
    return _collected(keys, weights, first.total * second.total)


def _collected(keys: NDArray[Any], weights: NDArray[Any], total: int) -> _Atoms:
    """Equal keys put together."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return _Atoms(ordered[first], np.add.reduceat(weights[order], first), total)
