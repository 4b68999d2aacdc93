"""P(sum > gap) of many discrete increments, too many for exact sums: rounded up as rarely as possible.

Two sums at a time are put together, those of least extent first. As long as their atoms are few, that is
exact. Where they would be more than ``most``, both are first rounded up to a lattice of so many points, and
the step is noted: the true sum then lies between the rounded one less all steps, and the rounded one. Small
sums have small steps, so that the many increments of small weight cost almost nothing. What lies at the far
ends, with a probability of 1e-13 each, is moved up or left out, and counted. The last two sums are not put
together: their exceedance of ``gap`` is a sum over the atoms of one of the tail of the other.
"""

import heapq
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from depl.models.verifier.laws import Bracket, FloatArray, Increment, point_nodes

MOST_COPIES = 200
"""Most increments, copies counted, that are put together two by two."""

_TAIL = 1e-13
"""Probability cut off either end of a sum. It is counted in ``lost``, so any value is sound: 200 copies lose
at most 4e-11 at each end; smaller values keep more atoms."""

_ROUNDING = 1e-12
"""What a probability may be off, and relative to their sizes the values, on which soundness rests: values are
sums of 200 numbers at most, 200 times 2**-53 = 2e-14. For masses it is set by hand, since transforms are off
by some 2**-53 of a mass; the worst case of all convolutions has no proof."""


class _Sum(NamedTuple):
    """Atoms in increasing order; the true sum is at most ``error`` lower, but for a probability ``lost``."""

    values: FloatArray
    masses: FloatArray
    error: float
    lost: float

    @property
    def extent(self) -> float:
        """From the least atom to the greatest."""
        return float(self.values[-1] - self.values[0])


def tail_of_atoms(increments: Sequence[Increment], gap: float, most: int) -> Bracket:
    """Bracket P(sum of discrete increments > gap).

    Parameters
    ----------
    most : int
        How many atoms a sum may have.
    """
    parts = [_single(item) for item in increments for _ in range(item.count)]
    waiting = [(part.extent, number, part) for number, part in enumerate(parts)]
    heapq.heapify(waiting)
    number = len(waiting)
    while len(waiting) > 2:
        (_, _, one), (_, _, other) = heapq.heappop(waiting), heapq.heappop(waiting)
        part = _together(one, other, most)
        number += 1
        heapq.heappush(waiting, (part.extent, number, part))
    first, *rest = (part for _, _, part in waiting)
    second = rest[0] if rest else _Sum(np.zeros(1), np.ones(1), 0.0, 0.0)
    slack = _ROUNDING * (abs(gap) + sum(float(np.abs(part.values).max()) for part in parts))
    lost = first.lost + second.lost + _ROUNDING
    upper = _exceedance(first, second, gap - slack) + lost
    lower = _exceedance(first, second, gap + first.error + second.error + slack) - lost
    return Bracket(max(0.0, lower), min(1.0, upper))


def _single(item: Increment) -> _Sum:
    values, weights = point_nodes(item.law, math.inf)
    return _arranged(item.factor * values, weights, 0.0, 0.0)


def _together(one: _Sum, other: _Sum, most: int) -> _Sum:
    error, lost = one.error + other.error, one.lost + other.lost
    if len(one.values) * len(other.values) <= most:
        values = np.add.outer(one.values, other.values).ravel()
        return _arranged(values, np.multiply.outer(one.masses, other.masses).ravel(), error, lost)
    step = (one.extent + other.extent) / (most - 3)
    first, second = (_on_lattice(part, step) for part in (one, other))
    size = len(first) + len(second) - 1
    cells = 2 ** math.ceil(math.log2(size))
    masses = np.fft.irfft(np.fft.rfft(first, cells) * np.fft.rfft(second, cells), cells)[:size]
    values = one.values[0] + other.values[0] + step * np.arange(size)
    return _arranged(values, np.maximum(masses, 0.0), error + 2.0 * step, lost)


def _on_lattice(part: _Sum, step: float) -> FloatArray:
    """Masses at the least atom plus multiples of ``step``, every atom rounded up."""
    cells = np.ceil((part.values - part.values[0]) / step).astype(int)
    return np.asarray(np.bincount(cells, part.masses), dtype=float)


def _arranged(values: FloatArray, masses: FloatArray, error: float, lost: float) -> _Sum:
    """Atoms in order, equal ones together, both far ends cut off: the lower moved up, the upper left out."""
    order = np.argsort(values, kind="stable")
    values, masses = values[order], masses[order]
    first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    values, masses = values[first], np.add.reduceat(masses, first)
    below = np.cumsum(masses)
    above = np.cumsum(masses[::-1])[::-1]
    start = int(np.searchsorted(below, _TAIL, side="right"))
    end = len(above) - int(np.searchsorted(above[::-1], _TAIL, side="right"))
    moved = float(below[start - 1]) if start else 0.0
    lost += moved + (float(above[end]) if end < len(above) else 0.0)
    kept, held = values[start:end], masses[start:end].copy()
    held[0] += moved
    return _Sum(kept[held > 0.0], held[held > 0.0], error, lost)


def _exceedance(one: _Sum, other: _Sum, gap: float) -> float:
    tail = np.append(np.cumsum(other.masses[::-1])[::-1], 0.0)
    return float(one.masses @ tail[np.searchsorted(other.values, gap - one.values, side="right")])
