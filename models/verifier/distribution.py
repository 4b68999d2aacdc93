"""P(sum of independent increments > gap), bracketed: the distribution behind eq. (3), found independently.

By kind of law, the sharpest way that applies:

- atoms only: exact sums in rational arithmetic, split in two halves that meet at the threshold;
- one law with a density, or none that is smooth: its own distribution function at the points of all others;
- smooth densities: `tilted_tail`;
- what is left, such as laws of which only the distribution function is known: `rounded_tail`.

Untruncated Student-t are cut to cores, and what lies outside of these is bounded (`with_cores`).
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from depl.models.problem.laws import StudentT
from depl.models.verifier.laws import (
    Bracket,
    FloatArray,
    Increment,
    cut_of,
    ends,
    exceedance,
    integer_atoms,
    is_discrete,
    is_plain,
    is_polynomial,
    is_smooth,
    merged,
    middle,
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

_NARROW = 1e-5
"""Relative width from which no other reach is tried: set by hand, as every bracket is sound."""

_Tail: TypeAlias = Callable[[Sequence[Increment], float], Bracket | None]


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
    kinks = kinks if cut_of(last.law) else []
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


class _Integers(NamedTuple):
    """What integers stand for: values are multiples of 1 / unit, exactly or rounded to them.

    ``atoms`` are those of one copy of each of the increments, ``nothing`` the sum of none.
    """

    unit: int
    exact: bool
    nothing: _Atoms
    atoms: list[_Atoms]


def _exact_tail(increments: Sequence[Increment], gap: Fraction) -> Bracket | None:
    scale = _in_integers(increments)
    # the logarithm of the number of sums, if only copies of one increment ever give the same
    sizes = ((item.count, len(integer_atoms(item.law))) for item in increments)
    sums = math.fsum(math.log(math.comb(size + count - 1, count)) for count, size in sizes)
    hopeless = not scale.exact and sums > 2.0 * math.log(_MOST_PRODUCTS)
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


def _two_halves(increments: Sequence[Increment], scale: _Integers) -> list[_Atoms] | None:
    """Distribute the increments over two sums of similar numbers of atoms; None if that takes too long."""
    halves, budget = [scale.nothing] * 2, _MOST_PRODUCTS
    for item, atoms in zip(increments, scale.atoms, strict=True):
        for _ in range(item.count):
            smaller = min((0, 1), key=lambda index: len(halves[index].keys))
            budget -= len(halves[smaller].keys) * len(atoms.keys)
            if budget < 0:
                return None
            halves[smaller] = _convolved(halves[smaller], atoms)
    return halves


def _enumerated(increments: Sequence[Increment]) -> _Points | None:
    """The sum of discrete increments, unless there are too many values."""
    scale = _in_integers(increments)
    found = scale.nothing
    for item, atoms in zip(increments, scale.atoms, strict=True):
        for _ in range(item.count):
            if len(found.keys) * len(atoms.keys) > 10 * _MOST_CONDITIONED:
                return None
            found = _convolved(found, atoms)
            if len(found.keys) > _MOST_CONDITIONED:
                return None
    values = [int(key) / scale.unit for key in found.keys]
    weights = [int(weight) / found.total for weight in found.weights]
    number = sum(item.count for item in increments)
    return _Points(np.array(values), np.array(weights), 0.0 if scale.exact else number / scale.unit)


def _in_integers(increments: Sequence[Increment]) -> _Integers:
    """Choose the unit: exact if the values are short decimals, if not, 1e-13 of the largest sum or finer.

    It is never above 1e-13, far below the tolerance of an atom, so that it can decide ties.
    """
    pairs = [
        [(item.coefficient * value, weight) for value, weight in integer_atoms(item.law)]
        for item in increments
    ]
    counts, totals = [item.count for item in increments], [sum(weight for _, weight in row) for row in pairs]
    sizes = [max(abs(value) for value, _ in row) for row in pairs]
    size = sum((count * most for count, most in zip(counts, sizes, strict=True)), Fraction(0))
    unit = math.lcm(*(value.denominator for row in pairs for value, _ in row))
    exact = size * unit < 2**61
    if not exact:
        unit = 10 ** (13 + max(0, math.floor(-math.log10(size))))
    fits = size * unit < 2**61 and math.prod(map(pow, totals, counts)) < 2**62
    integers: Any = np.int64 if fits else object
    atoms = []
    for row, total in zip(pairs, totals, strict=True):
        keys = np.array([round(value * unit) for value, _ in row], integers)
        atoms.append(_collected(keys, np.array([weight for _, weight in row], integers), total))
    return _Integers(unit, exact, _Atoms(np.array([0], integers), np.array([1], integers), 1), atoms)


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


# --- untruncated Student-t, cut to cores ------------------------------------------------------------------


def with_cores(
    tail: _Tail,
    increments: Sequence[Increment],
    gap: float,
    reaches: Sequence[float],
    last: Increment | None = None,
) -> Bracket | None:
    """P(sum > gap) by what can do it for laws that are not heavy; None where it cannot.

    A core is the law between two ends far out, truncated there. The probability is that of the sum with
    cores, that of one increment outside of its core and the others inside, and at most T^2 / 2 for more, with
    T the expected number outside. Beyond an end of its core the increment counts as at that end or as far as
    it wants.

    Parameters
    ----------
    reaches : sequence of float
        How far cores reach beyond where the sum is asked, in spreads of all but the widest law, one after
        the other until the bracket is narrow.
    last : Increment, optional
        One that ``tail`` adds to any sum by itself.
    """
    if not any(is_polynomial(item.law) for item in increments):
        return tail(increments, gap)
    best: Bracket | None = None
    for reach in reaches:
        found = _cored(tail, increments, gap, _half_width(increments, gap, last, reach))
        if found is not None and (best is None or found.upper - found.lower < best.upper - best.lower):
            best = found
        if best is not None and best.upper - best.lower <= _NARROW * best.upper:
            break
    return best


def _half_width(increments: Sequence[Increment], gap: float, last: Increment | None, reach: float) -> float:
    """Rounded up, so that thresholds close together have cores and transforms in common."""
    every = [*increments] if last is None else [*increments, Increment(last.coefficient, last.law)]
    centre = math.fsum(item.count * item.factor * middle(item.law) for item in every)
    squares = [item.count * (item.factor * spread(item.law)) ** 2 for item in every]
    widest = max((item.factor * spread(item.law)) ** 2 for item in every if is_polynomial(item.law))
    found = abs(gap - centre) + reach * math.sqrt(max(0.0, math.fsum(squares) - widest) or widest)
    return float(2.0 ** (math.ceil(4.0 * math.log2(found)) / 4.0))


def _cored(tail: _Tail, increments: Sequence[Increment], gap: float, half_width: float) -> Bracket | None:
    """For cores that reach so far to both sides of their centres."""
    heavy = [item for item in increments if is_polynomial(item.law)]
    others = [item for item in increments if not is_polynomial(item.law)]
    cores = [Increment(item.coefficient, _core(item, half_width), item.count) for item in heavy]
    whole = tail([*others, *cores], gap)
    if whole is None:
        return None
    tops = [(item.factor * middle(item.law) + half_width) for item in heavy]
    ups = [float(exceedance(item, np.array(top))) for item, top in zip(heavy, tops, strict=True)]
    likely = math.prod((1.0 - 2.0 * up) ** item.count for up, item in zip(ups, heavy, strict=True))
    lower, upper = likely * float(whole.lower), likely * float(whole.upper)
    for place, (item, up, top) in enumerate(zip(heavy, ups, tops, strict=True)):
        left = [
            Increment(core.coefficient, core.law, core.count - (index == place))
            for index, core in enumerate(cores)
        ]
        rest = [*others, *(core for core in left if core.count)]
        above = tail(rest, gap - top) or Bracket(0.0, 1.0)
        below = tail(rest, gap - top + 2.0 * half_width) or Bracket(0.0, 1.0)
        share = item.count * likely / (1.0 - 2.0 * up) * up
        lower += share * float(above.lower)
        upper += share * (1.0 + float(below.upper))
    if sum(item.count for item in heavy) > 1:
        upper += math.fsum(2.0 * up * item.count for up, item in zip(ups, heavy, strict=True)) ** 2 / 2.0
    return Bracket(lower * (1.0 - RELATIVE_ROUNDING), min(1.0, upper * (1.0 + RELATIVE_ROUNDING)))


def _core(item: Increment, half_width: float) -> StudentT:
    law = item.law
    if not isinstance(law, StudentT):
        raise TypeError("only a Student-t has a core")
    reach = half_width / abs(item.factor)
    return msgspec.structs.replace(law, lower=law.location - reach, upper=law.location + reach)
