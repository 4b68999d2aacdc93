"""The noise of an epoch, counted on the cells of a grid: sums of atoms, and beside them one smooth law.

A number e belongs to cell j if (j - 1 + EDGE) step < e <= (j + EDGE) step. Probabilities come from scipy's
distribution functions, each from the tail in which it is known better.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from depl.models.verifier.laws import (
    FloatArray,
    Increment,
    distribution,
    ends,
    exceedance,
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

_MOST_SUMS = 1_000_000
"""Most sums of atoms that are written out: set by hand, some megabytes."""


class CellMasses(NamedTuple):
    """Probabilities of cells first, first + 1, ..., of those beside what was asked for, and what was lost."""

    first: int
    masses: FloatArray
    below: float
    above: float
    lost: float


@dataclass(frozen=True, eq=False)
class Noise:
    """A sum of atoms (values and probabilities) and at most one increment with a density."""

    values: FloatArray
    weights: FloatArray
    smooth: Increment | None

    @classmethod
    def of_values(cls, values: FloatArray) -> "Noise":
        """Equally likely values."""
        return cls(values, np.full(values.size, 1.0 / values.size), None)

    @classmethod
    def of(cls, increments: Sequence[Increment]) -> "Noise":
        """The sum of independent increments.

        Raises
        ------
        LookupError
            If two of them have densities and are not both normal, or there are too many sums of atoms.
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
        mean = Fraction(0)
        if len(smooth) > 1:
            together, mean = normals_together(smooth)
            smooth = list(together)
        if len(smooth) > 1:
            raise LookupError("the sum of two laws with densities, of which not both are normal")
        return cls(values + float(mean), weights, smooth[0] if smooth else None)

    def on_cells(self, step: float, low: int, high: int) -> CellMasses:
        """Probabilities of the cells low, ..., high, and of those beside them."""
        if self.smooth is None:
            cells = np.clip(np.ceil(self.values / step - EDGE), low - 1, high + 1).astype(np.int64)
            below, above = (math.fsum(self.weights[there].tolist()) for there in (cells < low, cells > high))
            inside = (cells >= low) & (cells <= high)
            if not inside.any():
                return CellMasses(low, np.zeros(0), below, above, 0.0)
            first = int(cells[inside].min())
            masses = np.bincount(cells[inside] - first, self.weights[inside]).astype(np.float64)
            return CellMasses(first, masses, below, above, 0.0)
        least, greatest = _reach(self.smooth)
        first = int(max(low, math.floor(max((least + self.values.min()) / step, low - 1.0))))
        last = int(min(high, math.ceil(min((greatest + self.values.max()) / step, high + 1.0))))
        if first > last:
            first, last = (low, low) if last < low else (high, high)
        return self._smooth_cells(step, (low, high), first, last)

    def _smooth_cells(self, step: float, asked: tuple[int, int], first: int, last: int) -> CellMasses:
        assert self.smooth is not None  # noqa: S101 - asked for smooth noise alone
        edges = (np.arange(first - 1, last + 1) + EDGE) * step
        masses = np.zeros(last - first + 1)
        sides = np.zeros(4)
        outer = np.array([(asked[0] - 1 + EDGE) * step, edges[0], edges[-1], (asked[1] + EDGE) * step])
        for value, weight in zip(self.values.tolist(), self.weights.tolist(), strict=True):
            above, below = _tails(self.smooth, edges - value)
            parts = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
            masses += weight * np.maximum(parts, 0.0)
            far_above, far_below = _tails(self.smooth, outer - value)
            sides += weight * np.array([far_below[0], far_below[1], far_above[2], far_above[3]])
        lost = max(0.0, sides[1] - sides[0]) + max(0.0, sides[2] - sides[3])
        return CellMasses(first, masses, float(sides[0]), float(sides[3]), float(lost))


def _tails(item: Increment, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P(coefficient * X > point) and P(coefficient * X <= point), each known well where it is small."""
    with np.errstate(all="ignore"):  # scipy divides by x before it looks at the support
        above = exceedance(item, points)
        below = exceedance(Increment(-item.coefficient, item.law), -points)
    return np.asarray(above), np.asarray(below)


def _reach(item: Increment) -> tuple[float, float]:
    """Between which numbers nearly all of coefficient * X lies."""
    if is_truncated(item.law):
        return ends(item)
    base = distribution(item.law)
    low, high = sorted((item.factor * float(base.ppf(_FAR)), item.factor * float(base.isf(_FAR))))
    return low, high
