"""How likely a violation stays, whatever follows: a lower bound for every state of the search.

V[k, m, b](i) is the least probability of missing the target after k epochs, the last of them on model m, with
a loss that has changed by i grid steps and b cells of extra charge left, *if every further choice may depend
on the loss seen so far*: an information relaxation, proved on the page "Optima under the law" (``exact``),
with what a convolution may be off and is taken off. V is stored as the transform of its tilted values, so
that the search multiplies transforms and never transforms anything.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from depl.models.exact.assignments import Assignment
from depl.models.exact.choices import Choices
from depl.models.exact.kernels import ComplexArray, Integers
from depl.models.exact.law_grid import (
    Grid,
    GridLaw,
    GridSteps,
    rounded_units,
    transform_units,
)
from depl.models.problem.laws import FloatArray

_LARGEST = 1e3
"""Cap of tilted values, of losses far ahead of any plan's schedule: set by hand. Any value is sound, as
capping lowers V; at the saddle point the values that matter are of order 1."""

_PRODUCTS = 24
"""Roundings in a convolution beside those of its transforms, in units of 2**-53, on which proofs rest: three
products of complex numbers or with the share, the cap and the doubt that is taken off."""


@dataclass(frozen=True, eq=False)
class Changes:
    """Epochs of all kinds after all models (M stands for none), on one grid."""

    laws: dict[tuple[int, int, int], tuple[GridLaw | None, GridLaw]]  # switch and run by k, before, kind
    transforms: ComplexArray  # of the tilted laws, switch and run together, (K, M + 1, J, F)
    clipped: ComplexArray  # the same with rises taken for none, for losses near the top of the grid
    rises: Integers  # largest change, in steps, at least 0, (K, M + 1, J)
    error: float  # bound on what errors of all distribution functions add up to over K epochs


def make_changes(
    problem: Choices, assignment: Assignment, grid: Grid, steps: GridSteps, length: int
) -> Changes:
    """Round and transform all epochs of an assignment."""
    count, kinds = len(problem.instance.models), len(assignment.models)
    shape = (length, count + 1, kinds)
    transforms = np.zeros((*shape, grid.size // 2 + 1), dtype=np.complex128)
    clipped = np.zeros_like(transforms)
    rises = np.zeros(shape, dtype=np.int64)
    laws: dict[tuple[int, int, int], tuple[GridLaw | None, GridLaw]] = {}
    error, share = 0.0, math.exp(grid.share)
    for k, before, j in np.ndindex(*shape):
        model = int(assignment.models[j])
        if not problem.may_follow[before, model]:
            continue
        run = steps.run(k + 1, model, int(assignment.subsets[j]))
        switch = steps.switch(before, model) if before not in (count, model) else None
        laws[k, before, j] = switch, run
        for target, rising in ((transforms, True), (clipped, False)):
            target[k, before, j] = steps.transform(run, grid.size, grid.tilt, rising)
            target[k, before, j] *= share
            if switch is not None:
                target[k, before, j] *= steps.transform(switch, grid.size, grid.tilt, rising)
        rises[k, before, j] = max(0, run.last) + (max(0, switch.last) if switch is not None else 0)
        error = max(error, run.error + (switch.error if switch is not None else 0.0))
    return Changes(laws, transforms, clipped, rises, error * length)


def least_violations(
    assignment: Assignment,
    grid: Grid,
    changes: Changes,
    grid_steps: GridSteps,
    steps: Integers,
    cells: int,
    may_end: NDArray[np.bool_],
) -> tuple[ComplexArray, FloatArray, Integers]:
    """Transforms of V for k = 1, ..., K, the norms of V, and the cells that every completion needs.

    ``steps`` (K, J) are the cells of budget that a kind uses up at an epoch; negative where it is excluded.
    The transforms (K + 1, M, cells, F) are conjugate and weighted: with P that of the tilted law of a prefix,
    the bound is the sum of the real parts of P times such a row.
    """
    length, count = len(steps), len(may_end)
    paths = _Backward(assignment, grid, changes, steps, grid_steps)
    table = np.zeros((length + 1, count, cells, grid.size // 2 + 1), dtype=np.complex128)
    norms = np.zeros((length + 1, count, cells))
    least = np.zeros((length + 1, count), dtype=np.int64)
    least[length, ~may_end] = cells
    final = np.where(np.arange(grid.lowest, grid.highest + 1) > grid.target, 1.0, 0.0)
    changes_at = np.arange(grid.lowest, grid.highest + 1) * grid.step
    values = np.empty((count, cells, grid.size))
    values[:] = final * np.exp(-grid.tilt * changes_at - grid.share * length)
    table[length], norms[length] = _stored(values, grid)
    for k in range(length - 1, 0, -1):
        values, least[k] = paths.earlier(values, least[k + 1], k)
        table[k], norms[k] = _stored(values, grid)
    return table, norms, least


@dataclass(eq=False)
class _Backward:
    """One step of the recursion, from after epoch k + 1 to after epoch k."""

    assignment: Assignment
    grid: Grid
    changes: Changes
    steps: Integers
    grid_steps: GridSteps

    def __post_init__(self) -> None:
        """Choose one size of transforms for all epochs."""
        pairs = self.changes.laws.values()
        self._low = max([0, *(-(run.first + (switch.first if switch else 0)) for switch, run in pairs)])
        self._high = max([0, *(run.last + (switch.last if switch else 0) for switch, run in pairs)])
        self._padded = fft.next_fast_len(self.grid.size + self._low + self._high, real=True)
        self._rounding = rounded_units(4 * transform_units(self._padded) + _PRODUCTS)

    def earlier(self, values: FloatArray, least: Integers, k: int) -> tuple[FloatArray, Integers]:
        """V after k epochs from V after k + 1, shape (M, cells, N), and the cells needed at least."""
        extended = self._extended(values)
        transforms, norms = fft.rfft(extended, axis=-1), np.sqrt(np.square(extended).sum(axis=-1))
        found = np.full(values.shape, _LARGEST)
        count, cells, size = values.shape
        needed = np.full(count, cells, dtype=np.int64)
        window = slice(self._low, self._low + size)
        shared: dict[tuple[int, int], FloatArray] = {}
        for before, j in np.ndindex(count, len(self.assignment.models)):
            step, start = int(self.steps[k, j]), int(least[int(self.assignment.models[j])])
            if step < 0 or step + start >= cells or (k, before, j) not in self.changes.laws:
                continue
            needed[before] = min(int(needed[before]), step + start)
            switch, run = self.changes.laws[k, before, j]
            key = id(switch), j
            if key not in shared:
                law, rows = self._backward(switch, run), slice(start, cells - step)
                product = transforms[self.assignment.models[j], rows] * law
                doubt = self._rounding * abs(law[0]) * norms[self.assignment.models[j], rows, None]
                exact = fft.irfft(product, self._padded, axis=-1)[..., window]
                shared[key] = np.maximum(exact - doubt, 0.0)
            np.minimum(found[before, step + start :], shared[key], out=found[before, step + start :])
        return found, needed

    def _extended(self, values: FloatArray) -> FloatArray:
        """Zeros below the grid, the value at the top above it (tilted on)."""
        count, cells, size = values.shape
        wide = np.zeros((count, cells, self._padded))
        wide[..., self._low : self._low + size] = values
        above = np.exp(-self.grid.tilt * self.grid.step * np.arange(1, self._high + 1))
        wide[..., self._low + size : self._low + size + self._high] = values[..., -1:] * above
        return wide

    def _backward(self, switch: GridLaw | None, run: GridLaw) -> ComplexArray:
        """Conjugate transform of the tilted change."""
        result = self.grid_steps.transform(run, self._padded, self.grid.tilt) * math.exp(self.grid.share)
        if switch is not None:
            result = result * self.grid_steps.transform(switch, self._padded, self.grid.tilt)
        return np.asarray(np.conj(result))


def _stored(values: FloatArray, grid: Grid) -> tuple[ComplexArray, FloatArray]:
    """Values by change modulo N, transformed, conjugate and weighted; and their norms."""
    turned = np.roll(values, grid.lowest % grid.size, axis=-1)
    result = np.conj(fft.rfft(turned, axis=-1)) / grid.size
    result[..., 1 : (grid.size + 1) // 2] *= 2.0
    return result, np.sqrt(np.square(values).sum(axis=-1))


def product_rounding(epochs: int, points: int) -> float:
    """What the violation of a prefix and its rest may be off, relative to tilted mass times norm of V.

    Proofs rest on it. In every epoch transforms of run and switch err by `transform_units` each, and their
    products by 8 units; the row of the table errs by one transform, the sum over frequencies by its terms.
    Proved on the page "Optima under the law" (``exact``), under "Doubt in floating point".
    """
    transform = transform_units(points)
    return rounded_units(epochs * (2 * transform + 8) + transform + points // 2 + 16)
