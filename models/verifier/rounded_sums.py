"""P(sum > gap) of any independent increments: put together two by two, rounded up as rarely as possible.

A law with a density becomes atoms at the upper ends of cells. Sums of least extent are put together first: as
long as their atoms are few, exactly. Else both are first rounded up to a lattice of ``most`` points: the true
sum then lies between the rounded one less all steps, and the rounded one. What lies at the far ends is moved
up or left out, and counted. The widest law with a density, or else the last sum, is not put together with the
rest: its exceedance of ``gap`` is averaged over the atoms of all others.
"""

import functools
import heapq
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from depl.models.verifier.laws import (
    Bracket,
    FloatArray,
    Increment,
    ends,
    exceedance,
    is_discrete,
    point_nodes,
    window,
)

_TAILS = (1e-13, 1e-6, 1e-4)
"""Probability cut off either end of a law, a hundredth off a sum, and counted, so that any value is sound:
smaller ones leave less in doubt, larger ones shorten steps where tails are far: then all answer together."""

_ROUNDING, _MASS_ROUNDING = 1e-12, 1e-13
"""What values may be off relative to their sizes, and a probability, on which soundness rests. Values are
sums of up to 200 numbers, 200 times 2**-53 = 2e-14 off; of more, as much more is granted. For masses it is
set by hand: 2**22 roundings of independent signs come to about 1e-13 of a probability, and for 200 increments
1e-12 is granted; the worst case of all convolutions has no proof."""

_WORK, _LEAST, _MOST = 2**22, 2**14, 2**20
"""Atoms times increments for which there is time at first, and the least and most atoms: set by hand. More
are taken where the bracket contains the budget."""


class _Sum(NamedTuple):
    """Atoms in increasing order; the true sum is at most ``error`` lower.

    That is so but for a probability ``cut`` that it is higher, and ``moved`` that it is still lower.
    """

    values: FloatArray
    masses: FloatArray
    error: float
    cut: float
    moved: float

    @property
    def extent(self) -> float:
        """From the least atom to the greatest."""
        return float(self.values[-1] - self.values[0])


def rounded_tail(increments: Sequence[Increment], gap: float, budget: Fraction | None = None) -> Bracket:
    """Bracket P(sum > gap), with more atoms where fewer leave ``budget`` open."""
    number = sum(item.count for item in increments)
    most = 2 ** math.floor(math.log2(min(_MOST, max(_LEAST, _WORK // max(1, number)))))
    found = bracketed(increments, gap, most)
    while budget is not None and found.lower <= budget < found.upper and most < _MOST:
        most = min(_MOST, 4 * most)
        found = bracketed(increments, gap, most)
    return found


def bracketed(increments: Sequence[Increment], gap: float, most: int) -> Bracket:
    """Bracket P(sum of increments > gap), by sums of at most so many atoms."""
    infinite = [item for item in increments if not all(map(math.isfinite, ends(item)))]
    tails = _TAILS if infinite else _TAILS[:1]
    found = [_bracket(increments, gap, most, tail) for tail in tails]
    return Bracket(max(item.lower for item in found), min(item.upper for item in found))


def _bracket(increments: Sequence[Increment], gap: float, most: int, tail: float) -> Bracket:
    dense = [item for item in increments if not is_discrete(item.law)]
    whole = max(dense, key=lambda item: np.ptp(window(item, tail))) if dense else None
    parts = []
    for item in increments:
        part = _single(item, most, tail) if item.count > (item is whole) else None
        parts += [part] * (item.count - (item is whole)) if part is not None else []
    size = abs(gap) + sum(float(np.abs(part.values).max()) for part in parts)
    waiting = [(part.extent, number, part) for number, part in enumerate(parts)]
    heapq.heapify(waiting)
    number = len(waiting)
    while len(waiting) > (1 if whole else 2):
        (_, _, one), (_, _, other) = heapq.heappop(waiting), heapq.heappop(waiting)
        number += 1
        part = _together(one, other, most, tail / 100.0)
        heapq.heappush(waiting, (part.extent, number, part))
    none = _Sum(np.zeros(1), np.ones(1), 0.0, 0.0, 0.0)
    first, second = [*(part for _, _, part in waiting), none, none][:2]
    slack = _ROUNDING * max(1.0, number / 200.0)
    rounding = max(_MASS_ROUNDING, slack * number / 200.0)
    above: Callable[[FloatArray], FloatArray] = functools.partial(_exceedance, second)
    if whole is not None:
        above = functools.partial(exceedance, whole)
    upper = float(first.masses @ above(gap - slack * size - first.values)) + first.cut + second.cut + rounding
    low = gap + first.error + second.error + slack * size
    lower = float(first.masses @ above(low - first.values)) - first.moved - second.moved - rounding
    return Bracket(min(1.0, max(0.0, lower)), min(1.0, upper))


def _single(item: Increment, most: int, tail: float) -> _Sum:
    """One copy: its atoms, or the upper ends of cells with their probabilities."""
    if is_discrete(item.law):
        values, weights = point_nodes(item.law, math.inf)
        return _arranged(_Sum(item.factor * values, weights, 0.0, 0.0, 0.0), tail)
    low, high = window(item, tail)
    edges = np.linspace(low, high, most)
    above = exceedance(item, edges)
    masses = np.append(1.0 - above[0], np.maximum(above[:-1] - above[1:], 0.0))
    moved = 0.0 if ends(item)[0] >= low else float(masses[0])
    return _arranged(_Sum(edges, masses, float(edges[1] - edges[0]), float(above[-1]), moved), 0.0)


def _together(one: _Sum, other: _Sum, most: int, tail: float) -> _Sum:
    error, *lost = (mine + its for mine, its in zip(one[2:], other[2:], strict=True))
    if len(one.values) * len(other.values) <= most:
        values = np.add.outer(one.values, other.values).ravel()
        masses = np.multiply.outer(one.masses, other.masses).ravel()
        return _arranged(_Sum(values, masses, error, *lost), tail)
    step = (one.extent + other.extent) / (most - 3)
    first, second = (_on_lattice(part, step) for part in (one, other))
    size = len(first) + len(second) - 1
    cells = 2 ** math.ceil(math.log2(size))
    masses = np.fft.irfft(np.fft.rfft(first, cells) * np.fft.rfft(second, cells), cells)[:size]
    values = one.values[0] + other.values[0] + step * np.arange(size)
    return _arranged(_Sum(values, np.maximum(masses, 0.0), error + 2.0 * step, *lost), tail)


def _on_lattice(part: _Sum, step: float) -> FloatArray:
    """Masses at the least atom plus multiples of ``step``, every atom rounded up."""
    cells = np.ceil((part.values - part.values[0]) / step).astype(int)
    return np.asarray(np.bincount(cells, part.masses), dtype=float)


def _arranged(part: _Sum, tail: float) -> _Sum:
    """Atoms in order, equal ones together, both far ends cut off: the lower moved up, the upper left out."""
    order = np.argsort(part.values, kind="stable")
    values, masses = part.values[order], part.masses[order]
    first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    values, masses = values[first], np.add.reduceat(masses, first)
    below = np.cumsum(masses)
    above = np.cumsum(masses[::-1])[::-1]
    start = int(np.searchsorted(below, tail, side="right"))
    end = len(above) - int(np.searchsorted(above[::-1], tail, side="right"))
    moved = float(below[start - 1]) if start else 0.0
    cut = float(above[end]) if end < len(above) else 0.0
    kept, held = values[start:end], masses[start:end].copy()
    held[0] += moved
    return _Sum(kept[held > 0.0], held[held > 0.0], part.error, part.cut + cut, part.moved + moved)


def _exceedance(part: _Sum, limits: FloatArray) -> FloatArray:
    """The mass of a sum above limits, elementwise."""
    tail = np.append(np.cumsum(part.masses[::-1])[::-1], 0.0)
    return np.asarray(tail[np.searchsorted(part.values, limits, side="right")])
