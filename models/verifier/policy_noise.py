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
from numpy.typing import NDArray

from depl.models.verifier.laws import (
    FloatArray,
    Increment,
    exceedance,
    integer_atoms,
    is_discrete,
    normals_together,
    window,
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
    """A sum of atoms, each a value with a whole number as its weight, and at most two laws with densities."""

    values: FloatArray
    weights: NDArray[np.object_]
    smooth: tuple[Increment, ...] = ()

    @classmethod
    def of_values(cls, values: FloatArray) -> "Noise":
        """Equally likely values."""
        return cls(values, np.ones(values.size, dtype=object))

    @classmethod
    def of(cls, increments: Sequence[Increment]) -> "Noise":
        """The sum of independent increments.

        Raises
        ------
        LookupError
            If more than two of them have densities, or there are too many sums of atoms.
        """
        values, weights = np.zeros(1), np.ones(1, dtype=object)
        for item in increments:
            if is_discrete(item.law):
                own, shares = zip(*integer_atoms(item.law), strict=True)
                if values.size * len(own) > _MOST_SUMS:
                    raise LookupError(f"an epoch with more than {_MOST_SUMS} sums of atoms")
                values = np.add.outer(values, [float(item.coefficient * value) for value in own]).ravel()
                weights = np.multiply.outer(weights, np.array(shares, dtype=object)).ravel()
        together, mean = normals_together([item for item in increments if not is_discrete(item.law)])
        if len(together) > 2:
            raise LookupError("the sum of more than two laws with densities")
        return cls(values + float(mean), weights, together)

    def exact_atoms(self) -> list[tuple[float, Fraction]] | None:
        """Values and their probabilities as fractions; None of a law with a density."""
        if self.smooth:
            return None
        shares = [Fraction(weight, self.weights.sum()) for weight in self.weights]
        return list(zip(self.values.tolist(), shares, strict=True))

    def on_cells(self, step: float, low: int, high: int) -> CellMasses:
        """Probabilities of the cells low, ..., high, and of those beside them."""
        shares = (self.weights / self.weights.sum()).astype(np.float64)
        if not self.smooth:
            cells = np.clip(np.ceil(self.values / step - EDGE), low - 1, high + 1).astype(np.int64)
            first, last = max(low, int(cells.min())), min(high, int(cells.max()))
            places = np.clip(cells, first - 1, last + 1) - first + 1
            found = np.bincount(places, shares, last - first + 3).astype(np.float64)
            return CellMasses(first, found[1:-1], float(found[0]), float(found[-1]))
        reaches = [window(item, _FAR) for item in self.smooth]
        least, greatest = (math.fsum(ends) for ends in zip(*reaches, strict=True))
        first = int(max(low, math.floor(max((least + self.values.min()) / step, low - 1.0))))
        last = int(min(high, math.ceil(min((greatest + self.values.max()) / step, high + 1.0))))
        if first > last:
            first, last = (low, low) if last < low else (high, high)
        if len(self.smooth) == 1:
            return self._in_parts(shares, step, (low, high), first, last, 1)
        # once in fine parts, once in parts twice as wide: the error falls fourfold, and is counted four times
        parts = max(2, min(_MOST_PARTS, 2 * (_PARTS // (2 * (last - first + 8)))))
        fine, coarse = (
            self._in_parts(shares, step, (low, high), first, last, count) for count in (parts, parts // 2)
        )
        doubt = 4.0 / 3.0 * math.fsum(np.abs(fine.masses - coarse.masses).tolist())
        return fine._replace(doubt=doubt)

    def _in_parts(
        self, shares: FloatArray, step: float, asked: tuple[int, int], first: int, last: int, parts: int
    ) -> CellMasses:
        """The second law in parts of a cell, each at its middle, and the first exact about it.

        Without a second law there is one part, at 0.
        """
        one, *others = self.smooth
        width, reach = step / parts, 2 * (max(abs(first), abs(last)) + 8) * step
        begin, end, shift = 0, 1, 0.0
        portions = sides = np.ones(1)
        if others:
            low, high = (float(np.clip(end, -reach, reach)) for end in window(others[0], _FAR))
            begin, shift = math.floor(low / width), 0.5
            end = max(math.ceil(high / width), begin + 1)
            above, below = _tails(others[0], np.arange(begin, end + 1, dtype=np.float64) * width)
            portions = _between(above, below)
            sides = np.concatenate([below[:1], portions, above[-1:]])
        middles = (np.arange(begin, end) + shift) * width
        # the tails of the second law, where it is cut off, belong to what is beside the cells asked for
        beyond = np.concatenate([[begin * width], middles, [end * width]]) if others else middles
        # window (j + EDGE) step - middle, for all differences of j parts and the number of a part
        places = np.arange((first - 1) * parts - end + 1, last * parts - begin + 1)
        masses, under, over = np.zeros(last - first + 1), 0.0, 0.0
        for value, share in zip(self.values.tolist(), shares.tolist(), strict=True):
            tails = _tails(one, (places + EDGE * parts - shift) * width - value)
            found = scipy.signal.convolve(_between(*tails, parts), portions, mode="valid")
            masses += share * np.maximum(found[::parts], 0.0)
            low, high = (asked[0] - 1 + EDGE) * step, (asked[1] + EDGE) * step
            under += share * float(_tails(one, low - value - beyond)[1] @ sides)
            over += share * float(_tails(one, high - value - beyond)[0] @ sides)
        lost = max(0.0, 1.0 - math.fsum([*masses.tolist(), under, over])) if others else 0.0
        return CellMasses(first, masses, under, over, lost)


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
