"""Epochs on a grid, rounded in favour of the plan: the changes of the loss that the search reckons with.

Changes are rounded down to a multiple of the step, and laws are *tilted*: the mass at x steps is multiplied
by exp(s (h x + y / K)), with h the step, K the number of epochs and y = l(0) - l_max the fall asked for.
Derived on the page "Optima under the law" (``exact``), under "Rounding downward" and "Tilting".
(Deterministic parts are read in double precision; the tolerance of 1e-9 with which atoms meet the target
covers that.)
"""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import fft

from depl.models.exact.choices import Choices
from depl.models.exact.kernels import ComplexArray
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.epochs import LossStep, loss_step, switch_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.laws.law import UNIT_ROUNDOFF
from depl.models.risk.grid import rounded

_TRANSFORM = 12
"""What a transform of n points may be off in every entry, relative to the sum of the magnitudes of what is
transformed, and in the 2-norm, relative to that norm: in `UNIT_ROUNDOFF` for every doubling in n. Proofs rest
on it; the page "Optima under the law" has that of it, for scipy's passes of two to five points."""

_TAIL = 1e-9
"""Probability beyond either end of a rounded change. It is dropped or moved in favour of the plan, so any
value is sound: a larger one weakens the bound, a smaller one only lengthens the laws."""


@dataclass(frozen=True)
class Grid:
    """Where the loss is followed: changes from ``lowest`` to ``highest`` steps since the start."""

    step: float  # h, of few binary digits [loss]
    lowest: int
    highest: int
    target: int  # it is missed iff the change is above this many steps
    tilt: float  # s [1 / loss]
    share: float  # what the tilt adds to the exponent at every epoch: s y / K

    @property
    def size(self) -> int:
        """N, number of grid points."""
        return self.highest - self.lowest + 1

    @property
    def aliased(self) -> float:
        """At most so much is added to a violation by what wraps round."""
        return 2 * math.exp(-self.tilt * self.step * self.size)

    def tilt_rounding(self, epochs: int) -> float:
        """What the weights that tilt the laws of so many epochs, and V, may be off together, relatively.

        Each epoch has two exponentials, of the run and of the switch, with exponents of at most ``largest``
        that err by two units each, and above the grid one more, of at most twice that; 18 units more are for
        the exponentials themselves, the products and the share. The values after the last epoch have one, and
        four units are for the budget as a double, its widening, and a violation less its doubt.
        """
        largest = self.tilt * self.step * self.size + abs(self.share) * epochs
        return rounded_units((epochs + 1) * (8 * largest + 24))


@dataclass(frozen=True, eq=False)
class GridLaw:
    """A change of the loss on the grid, rounded down, not tilted."""

    first: int  # change of the first mass, in steps
    masses: FloatArray  # their sum is below 1 by what was dropped
    error: float  # bound on the error of the distribution function

    @property
    def last(self) -> int:
        """Largest change, in steps."""
        return self.first + len(self.masses) - 1

    def within(self, first: int, last: int) -> "GridLaw":
        """With what is above ``last`` moved down to it and what is below ``first`` dropped."""
        masses, start = self.masses, self.first
        if self.last > last:
            above = float(masses[max(0, last - start) :].sum())
            masses = np.concatenate([masses[: max(0, last - start)], [above]])
            start = min(start, last)
        if start < first:
            masses, start = masses[first - start :], first
        if not len(masses):
            masses = np.zeros(1)
        return GridLaw(start, masses, self.error)

    def transform(self, size: int, exponent: float) -> ComplexArray:
        """Fourier transform of masses times exp(exponent x), the changes x taken modulo ``size``."""
        changes = np.arange(self.first, self.last + 1)
        wrapped = np.zeros(size)
        np.add.at(wrapped, changes % size, self.masses * np.exp(exponent * changes))
        return np.asarray(fft.rfft(wrapped))


def transform_units(points: int) -> float:
    """What a transform of so many points may be off, in `UNIT_ROUNDOFF`; see `_TRANSFORM`."""
    return float(_TRANSFORM * math.ceil(math.log2(max(2, points))))


def rounded_units(units: float) -> float:
    """n u / (1 - 4 n u) for n units u: what n roundings may be off, relative to sums that are off as much.

    After n roundings a product is off by (1 + u)**n - 1 <= n u / (1 - n u) at most. What it is compared with
    (mass, norm, budget) was rounded as well, by a factor of 1 - n u or more each, for which there are three.
    Infinite where n is so large that nothing is known.
    """
    share = units * UNIT_ROUNDOFF
    return share / (1 - 4 * share) if share < 0.1 else math.inf


def make_grid(instance: Instance, points: int, tilt: float, epochs: int, below: float, above: float) -> Grid:
    """A grid of ``points`` points from ``below`` under the target to ``above`` over the start [loss]."""
    limit = Fraction(instance.target.maximum_loss) - Fraction(instance.target.initial_loss)
    limit += Fraction(ATOM_TOLERANCE)
    fall = float(-limit)
    step = _few_digits((fall + below + above) / (points - 3))
    target = math.floor(limit / Fraction(step))
    highest = math.floor(above / step)
    return Grid(step, highest - points + 1, highest, target, tilt, tilt * fall / epochs)


class GridSteps:
    """The changes of the loss by epoch, model before and kind, on one grid step; rounded when asked for."""

    def __init__(self, problem: Choices, step: float, reach: float) -> None:
        """Laws are followed over ``reach`` [loss] to both sides."""
        self._problem = problem
        self._step = step
        self._most = max(2, math.ceil(reach / step))
        self._law = functools.cache(self._rounded)
        self.run, self.switch = functools.cache(self._run), functools.cache(self._switch)
        self.transform = functools.cache(self._transform)

    def _run(self, epoch: int, model: int, subset: int) -> GridLaw:
        """An epoch of a model without a switch; epochs count from 1."""
        instance, name = self._problem.instance, self._problem.instance.models[model].name
        return self._law(loss_step(instance, epoch, 0, name, name, self._problem.subsets[subset]))

    def _switch(self, before: int, after: int) -> GridLaw | None:
        """The loss of a switch, at every epoch the same; None where nothing is lost."""
        names = [model.name for model in self._problem.instance.models]
        change = switch_step(self._problem.instance, names[before], names[after])
        return None if change is None or change == LossStep(1.0, 0.0, ()) else self._law(change)

    def _transform(self, law: GridLaw, size: int, tilt: float, rising: bool = True) -> ComplexArray:
        """Transform of one of these laws, tilted but for the share of the epoch."""
        kept = law.within(1 - size, size - 1 if rising else 0)
        return kept.transform(size, tilt * self._step)

    def _rounded(self, change: LossStep) -> GridLaw:
        """On at most as many points to either side as the grid has: who moves further leaves it anyway."""
        shift = math.floor(Fraction(change.shift) / Fraction(self._step))
        if not change.terms:
            return GridLaw(shift, np.ones(1), 0.0).within(-self._most, self._most)
        (term,) = change.terms
        ends = [float(term.coefficient * term.law.quantile(_TAIL, upper=side)) for side in (False, True)]
        first = min(max(math.floor(min(ends) / self._step) - 1, -self._most), self._most)
        last = min(max(math.ceil(max(ends) / self._step), first + 1), self._most)
        down = rounded(term, self._step, first, last)[1]
        return GridLaw(down.first + shift, down.masses, down.error).within(-self._most, self._most)


def _few_digits(step: float) -> float:
    """``step`` rounded up to eight binary digits."""
    octave = 2.0 ** (math.floor(math.log2(step)) - 7)
    return math.ceil(step / octave) * octave
