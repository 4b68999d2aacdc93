"""The noise of an epoch, counted on the cells of a grid: sums of atoms, beside them one smooth law or two.

A number e belongs to cell j if (j - 1 + EDGE) step < e <= (j + EDGE) step. Probabilities come from scipy's
distribution functions, each from the tail in which it is known better. Of a sum of two laws they are a
midpoint rule over one of them, whose error is measured by doubling its parts; planning has bounds instead.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy

from depl.models.verifier.laws import (
    FloatArray,
    Increment,
    distribution,
    ends,
    exceedance,
    integer_atoms,
    is_discrete,
    is_truncated,
    normals_together,
    ordered_atoms,
    ordered_weights,
)

EDGE = 1e-6
"""By how much of a step a number may exceed the edge of a cell and still count as on it: part of what a
policy means, here for the second time on purpose."""

_FAR = 1e-17
"""Probability beyond which a tail is not looked for on cells: as much as a double adds to 1 unseen."""

_PARTS = 2**19
"""Parts of cells of a sum of two laws, in all: set by hand, a second. The error falls with their square."""

_MOST_PARTS = 512
"""Of one cell: set by hand."""

_MOST_SUMS = 1_000_000
"""Most sums of atoms that are written out: set by hand, some megabytes."""


class CellMasses(NamedTuple):
    """Probabilities of cells first, first + 1, ..., of those beside what was asked for, and what was lost.

    ``doubt`` is what the former may be off in all, by more than rounding. Tails as rare as `_FAR` are in none
    of them: they are no more than rounding.
    """

    first: int
    masses: FloatArray
    below: float
    above: float
    lost: float = 0.0
    doubt: float = 0.0


@dataclass(frozen=True, eq=False)
class Noise:
    """A sum of atoms (values and probabilities) and at most two increments with densities.

    ``parts`` are the increments that the atoms are sums of; without them the values are equally likely.
    """

    values: FloatArray
    weights: FloatArray
    smooth: tuple[Increment, ...]
    parts: tuple[Increment, ...] = ()

    @classmethod
    def of_values(cls, values: FloatArray) -> "Noise":
        """Equally likely values."""
        return cls(values, np.full(values.size, 1.0 / values.size), ())

    @classmethod
    def of(cls, increments: Sequence[Increment]) -> "Noise":
        """The sum of independent increments.

        Raises
        ------
        LookupError
            If more than two of them have densities, or there are too many sums of atoms.
        """
        values, weights = np.zeros(1), np.ones(1)
        for item in increments:
            if is_discrete(item.law):
                own, shares = ordered_atoms(item), ordered_weights(item)
                if values.size * own.size > _MOST_SUMS:
                    raise LookupError(f"an epoch with more than {_MOST_SUMS} sums of atoms")
                values = np.add.outer(values, own).ravel()
                weights = np.multiply.outer(weights, shares / shares.sum()).ravel()
        smooth = [item for item in increments if not is_discrete(item.law)]
        together, mean = normals_together(smooth)
        if len(together) > 2:
            raise LookupError("the sum of more than two laws with densities")
        return cls(values + float(mean), weights, together, tuple(increments))

    def exact_atoms(self) -> list[tuple[float, Fraction]] | None:
        """Values and their probabilities as fractions; None of a law with a density."""
        if self.smooth:
            return None
        if not self.parts:
            return [(value, Fraction(1, self.values.size)) for value in self.values.tolist()]
        found = [(Fraction(0), Fraction(1))]
        for item in self.parts:
            own = integer_atoms(item.law)
            total = sum(weight for _, weight in own)
            found = [
                (moved + item.coefficient * value, share * Fraction(weight, total))
                for moved, share in found
                for value, weight in own
            ]
        return [(float(value), share) for value, share in found]

    def on_cells(self, step: float, low: int, high: int) -> CellMasses:
        """Probabilities of the cells low, ..., high, and of those beside them."""
        if not self.smooth:
            cells = np.clip(np.ceil(self.values / step - EDGE), low - 1, high + 1).astype(np.int64)
            below, above = (math.fsum(self.weights[there].tolist()) for there in (cells < low, cells > high))
            inside = (cells >= low) & (cells <= high)
            if not inside.any():
                return CellMasses(low, np.zeros(0), below, above)
            first = int(cells[inside].min())
            masses = np.bincount(cells[inside] - first, self.weights[inside]).astype(np.float64)
            return CellMasses(first, masses, below, above)
        reaches = [_reach(item) for item in self.smooth]
        least, greatest = (math.fsum(ends) for ends in zip(*reaches, strict=True))
        first = int(max(low, math.floor(max((least + self.values.min()) / step, low - 1.0))))
        last = int(min(high, math.ceil(min((greatest + self.values.max()) / step, high + 1.0))))
        if first > last:
            first, last = (low, low) if last < low else (high, high)
        if len(self.smooth) > 1:
            return self._summed_cells(step, (low, high), first, last)
        return self._smooth_cells(step, (low, high), first, last)

    def _smooth_cells(self, step: float, asked: tuple[int, int], first: int, last: int) -> CellMasses:
        smooth = self.smooth[0]
        edges = (np.arange(first - 1, last + 1) + EDGE) * step
        masses = np.zeros(last - first + 1)
        sides = np.zeros(2)
        outer = np.array([asked[0] - 1 + EDGE, asked[1] + EDGE]) * step
        for value, weight in zip(self.values.tolist(), self.weights.tolist(), strict=True):
            masses += weight * _between(*_tails(smooth, edges - value))
            above, below = _tails(smooth, outer - value)
            sides += weight * np.array([below[0], above[1]])
        return CellMasses(first, masses, float(sides[0]), float(sides[1]))

    def _summed_cells(self, step: float, asked: tuple[int, int], first: int, last: int) -> CellMasses:
        """Under the sum of two increments: once in fine parts, once in parts twice as wide, to compare."""
        parts = max(2, min(_MOST_PARTS, 2 * (_PARTS // (2 * (last - first + 8)))))
        fine, coarse = (_sum_on_cells(self, step, asked, first, last, count) for count in (parts, parts // 2))
        # the error falls fourfold where parts are halved, and is counted four times
        doubt = 4.0 / 3.0 * math.fsum(np.abs(fine.masses - coarse.masses).tolist())
        return fine._replace(doubt=doubt)


def _sum_on_cells(
    noise: Noise, step: float, asked: tuple[int, int], first: int, last: int, parts: int
) -> CellMasses:
    """The second increment in parts of a cell, each at its middle, and the first one exact about it."""
    one, other = noise.smooth
    width, reach = step / parts, 2 * (max(abs(first), abs(last)) + 8) * step
    low, high = (float(np.clip(end, -reach, reach)) for end in _reach(other))
    begin, end = math.floor(low / width), max(math.ceil(high / width), math.floor(low / width) + 1)
    above, below = _tails(other, np.arange(begin, end + 1, dtype=np.float64) * width)
    shares = _between(above, below)
    middles = (np.arange(begin, end) + 0.5) * width
    # window (j + EDGE) step - middle, for all differences of j parts and the number of a part
    places = np.arange((first - 1) * parts - end + 1, last * parts - begin + 1)
    masses, sides = np.zeros(last - first + 1), np.zeros(2)
    outer = (asked[0] - 1 + EDGE) * step, (asked[1] + EDGE) * step
    # the tails of the second one, where it is cut off, belong to what is beside the cells asked for
    beyond = np.concatenate([[begin * width], middles, [end * width]])
    parted = np.concatenate([below[:1], shares, above[-1:]])
    for value, weight in zip(noise.values.tolist(), noise.weights.tolist(), strict=True):
        over, under = _tails(one, (places + EDGE * parts - 0.5) * width - value)
        found = scipy.signal.fftconvolve(_between(over, under, parts), shares, mode="valid")
        masses += weight * np.maximum(found[::parts], 0.0)
        sides[0] += weight * float(_tails(one, outer[0] - value - beyond)[1] @ parted)
        sides[1] += weight * float(_tails(one, outer[1] - value - beyond)[0] @ parted)
    lost = max(0.0, float(noise.weights.sum()) - math.fsum(masses.tolist()) - float(sides.sum()))
    return CellMasses(first, masses, float(sides[0]), float(sides[1]), lost)


def _tails(item: Increment, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P(coefficient * X > point) and P(coefficient * X <= point), each known well where it is small."""
    with np.errstate(all="ignore"):  # scipy divides by x before it looks at the support
        above = exceedance(item, points)
        below = exceedance(Increment(-item.coefficient, item.law), -points)
    return np.asarray(above), np.asarray(below)


def _between(above: FloatArray, below: FloatArray, apart: int = 1) -> FloatArray:
    """Probabilities between points so many apart, each from the tail in which it is known better."""
    found = np.where(below[apart:] < 0.5, below[apart:] - below[:-apart], above[:-apart] - above[apart:])
    return np.asarray(np.maximum(found, 0.0))


def _reach(item: Increment) -> tuple[float, float]:
    """Between which numbers nearly all of coefficient * X lies."""
    if is_truncated(item.law):
        return ends(item)
    base = distribution(item.law)
    low, high = sorted((item.factor * float(base.ppf(_FAR)), item.factor * float(base.isf(_FAR))))
    return low, high
