"""One subproblem: an assignment of data and a number of epochs, searched depth first.

Every plan of it is a path of kinds. A path is cut off where a linear charge exceeds its limit: of costs at
some prices of time, less a price of gain (`Priced`), or of the fastest times. What it can still achieve is
tabulated by the *extra* charge that is left, the first charge less the least charge of each epoch, rounded
down to whole cells, so the table allows too much rather than too little. Derived on the page "Optima under
the law" (``exact``), under "Charges: what a plan may spend".
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.exact import kernels
from depl.models.exact.assignments import Assignment
from depl.models.exact.choices import Choices
from depl.models.exact.kernels import CELL_ROUNDING, Charges, Laws, Sample
from depl.models.foundation.tolerances import TIME_TOLERANCE, sum_rounding
from depl.models.problem.laws import FloatArray

_FEW = 40
"""Different extra charges up to which cells are made to fit one of them exactly: set by hand. Candidates, and
the time to compare them, grow with its square; with other cells the bound is weaker or stronger, never wrong.
"""


class Priced(NamedTuple):
    """A charge at a price lam of time and a price mu of gain, of plans whose mean gain is at least ``gain``.

    Sum of [psi(lam) - mu mean gain] <= cutoff - transfers + lam T_max - mu ``gain``. Every epoch is charged
    what it has beyond its cheapest kind, and what these have together is taken from the limit.
    """

    values: FloatArray  # at least 0; infinite excludes a kind, (K, J) [cost]
    least: float  # sum over epochs of the least charge [cost]
    size: float  # sum of the magnitudes that charges were rounded in [cost]
    paid: float  # mu gain [cost]

    @classmethod
    def of(cls, costs: FloatArray, gains: FloatArray, price: float, gain: float) -> "Priced":
        """From psi and mean gains of the kinds, shapes (K, J); gains as great as a switch can make them."""
        charges = costs - price * gains
        least = charges.min(axis=1)
        sizes = np.where(np.isfinite(costs), np.abs(costs) + price * np.abs(gains), 0.0).max(axis=1)
        return cls(charges - least[:, None], float(least.sum()), float(sizes.sum()), price * gain)


@dataclass(eq=False)
class Subproblem(ABC):
    """Depth-first search over the plans of ``length`` epochs under one assignment.

    Parameters
    ----------
    multipliers : sequence of float
        Prices lam of time of the cost charges; the first one's extra charges are the table's budget. None of
        them: the fastest times are (to find out whether anything is feasible).
    cutoff : float
        Only plans that cost less are of interest.

    Attributes
    ----------
    finished : bool
        Nothing is left to be searched.
    root_bound : float
        No plan of the subproblem that meets the target costs less [cost]; from the table.
    """

    problem: Choices
    assignment: Assignment
    length: int
    multipliers: Sequence[float]
    cutoff: float
    finished: bool = field(default=False, init=False)
    root_bound: float = field(default=-math.inf, init=False)
    _priced: Priced | None = field(default=None, init=False)
    _charges: Charges = field(init=False)
    _risk: Any = field(init=False)

    def __post_init__(self) -> None:
        """Build charges, and the table unless the charges alone exclude every plan."""
        self._charge()
        if self.finished:
            self.root_bound = self.cutoff
        else:
            self._risk, self._table, self._reached = self._tabulated()
            self._bound_root()

    def proceed(self, nodes: int) -> list[int] | None:
        """Search on; the kinds of a leaf, or None when finished or after ``nodes`` more children."""
        if self.finished:
            return None
        code = kernels.descend(
            self._risk,
            self._table,
            self._charges,
            self._scale,
            self._order,
            self._state,
            self._reached,
            nodes,
        )
        if code == kernels.LEAF:
            return [int(self._order[k, self._state[k] - 1]) for k in range(self.length)]
        self.finished = code == kernels.FINISHED
        return None

    def lower_cutoff(self, cutoff: float) -> None:
        """A better plan is known: from now on only plans below ``cutoff`` are of interest."""
        self.cutoff = cutoff
        self._charges = self._charges._replace(limits=self._limit_values())
        self.finished = self.finished or not self._affordable()

    def add_multiplier(self, multiplier: float) -> None:
        """Bound the cost at one more price of time; what has been chosen so far keeps its place."""
        self.multipliers = (*self.multipliers, multiplier)
        costs, time = self._charges.values[:-1], self._charges.values[-1:]
        self._charges = self._charged(np.concatenate([costs, self._cost_row(multiplier)[None], time]))
        spent, values = self._charges.spent, self._charges.values
        for k in range(self._state[-1]):
            spent[:, k + 1] = spent[:, k] + values[:, k, self._order[k, self._state[k] - 1]]

    @abstractmethod
    def _tabulated(self) -> tuple[Sample | Laws, NDArray[Any], NDArray[Any]]:
        """What a child adds, what still may follow, and what is reached; makes the cells."""

    @abstractmethod
    def _able(self, kind: int) -> NDArray[np.bool_]:
        """By cells left after a first epoch of that kind, whether the target may still be met."""

    def _charge(self) -> None:
        rows = [] if self._priced is None else [self._priced.values]
        rows += [self._cost_row(value) for value in self.multipliers]
        self._charges = self._charged(np.stack([*rows, self._time_row()]))
        self._state = np.zeros(self.length + 2, dtype=np.int64)
        self._order = np.zeros((self.length, len(self.assignment.models) + 1), dtype=np.int64)
        self.finished = not self._affordable()

    def _make_cells(self, most: int, most_whole: int = 0) -> None:
        """Cells of extra charge: ``_scale`` per unit, ``_cells`` in all, ``_steps`` by epoch and kind.

        There may be ``most_whole`` of them if that makes them exact (`whole_cells`), otherwise ``most``.
        """
        row = self._charges.values[0]
        extras = row - row.min(axis=1, keepdims=True)
        budget = float(self._charges.limits[0] - self._charges.rest[0, 0])
        fitting = extras[extras <= budget]
        whole = whole_cells(fitting, budget, most_whole)
        self._whole = whole is not None
        self._scale, self._cells = cell_scale(fitting, budget, most) if whole is None else whole
        with np.errstate(invalid="ignore"):
            cells = np.floor(extras * self._scale + CELL_ROUNDING / (2 * self.length + 2))
        self._steps = np.where(extras <= budget, cells, -1.0).astype(np.int64)

    def _bound_root(self) -> None:
        """From the least budget with which a first epoch may lead to the target."""
        least = self._least_cells()
        if least >= self._cells:
            self.finished, self.root_bound = True, self.cutoff
        elif self._scale > 0 and self.multipliers:
            room = float(self._charges.limits[0] - self._charges.rest[0, 0])
            self.root_bound = self.cutoff - room + max(0.0, least - CELL_ROUNDING) / self._scale

    def _least_cells(self) -> int:
        """The least budget, in cells, with which a first epoch may lead to the target; all if none may."""
        least = self._cells
        for kind in range(len(self.assignment.models)):
            step = int(self._steps[0, kind])
            if step >= 0 and self._may_begin(kind):
                able = np.flatnonzero(self._able(kind))
                least = min(least, int(able[0]) + step) if able.size else least
        return least

    def _may_begin(self, kind: int) -> bool:
        return bool(self.problem.may_follow[self.problem.first_model, self.assignment.models[kind]])

    def _cost_row(self, multiplier: float) -> FloatArray:
        return self.assignment.cheapest(self.problem.psi(multiplier)[: self.length])

    def _time_row(self) -> FloatArray:
        fastest = self.assignment.cheapest(self.problem.costs.fastest[: self.length])
        if self.problem.maximum_time is None:  # only excludes what misses the round deadline
            return np.where(np.isinf(fastest), 1.0, 0.0)
        return fastest

    def _limit_values(self) -> FloatArray:
        """Limits, widened so that rounding of sums excludes no plan; leaves are costed exactly."""
        rounding = sum_rounding(self.length)
        limit = self.problem.maximum_time
        values = []
        priced = [] if self._priced is None else [(self.multipliers[0], self._priced)]
        for multiplier, gain in [*priced, *((value, None) for value in self.multipliers)]:
            paid = self.problem.paid(multiplier)
            room = self.cutoff - self.assignment.transfers + paid
            size = abs(self.cutoff) + paid
            if gain is not None:
                room, size = room - gain.paid - gain.least, size + abs(gain.paid) + gain.size
            values.append(room + rounding * size)
        time = 0.5 if limit is None else limit * (1 + TIME_TOLERANCE) * (1 + rounding)
        return np.array([*values, time])

    def _charged(self, values: FloatArray) -> Charges:
        rest = np.zeros((len(values), self.length + 1))
        rest[:, :-1] = values.min(axis=2)[:, ::-1].cumsum(axis=1)[:, ::-1]
        limits = self._limit_values()
        return Charges(np.ascontiguousarray(values), rest, limits, np.zeros_like(rest))

    def _affordable(self) -> bool:
        return bool(np.all(self._charges.rest[:, 0] <= self._charges.limits))


def whole_cells(extras: FloatArray, budget: float, most: int) -> tuple[float, int] | None:
    """Cells per unit of charge, and how many, such that no whole extra charge is rounded; None if too many.

    The greatest common divisor of the extras is a cell; parameters as for `cell_scale`.
    """
    values = extras[extras > 0]
    if not values.size or budget >= 2**52 or np.any(values != np.floor(values)):
        return None
    unit = int(np.gcd.reduce(values.astype(np.int64)))
    cells = int(budget / unit + CELL_ROUNDING) + 1
    return (1 / unit, cells) if cells <= most else None


def cell_scale(extras: FloatArray, budget: float, most: int) -> tuple[float, int]:
    """Cells per unit of charge, and how many cells, so that rounding down loses little.

    Where few different extra charges exist, a whole number of cells is made to fit one of them exactly; among
    such choices, and the plain one, that with the least mean relative loss is taken.

    Parameters
    ----------
    extras : float array
        Extra charges of all choices that fit into the budget.
    budget : float
        Largest extra charge that a plan may have.
    most : int
        Number of cells at most.
    """
    values, counts = np.unique(extras[extras > 0], return_counts=True)
    if not len(values) or most == 1:
        return 0.0, 1
    scales = [np.array([(most - 1) / budget])]
    if len(values) <= _FEW:
        for value in values:
            largest = int((most - 1) * value / budget)
            scales.append(np.arange(1, largest + 1) / value)
    candidates = np.unique(np.concatenate(scales))
    exact = values[:, None] * candidates
    lost = np.average((exact - np.floor(exact + CELL_ROUNDING / 2)) / exact, axis=0, weights=counts)
    chosen = float(candidates[int(np.argmin(np.round(lost, 3)))])
    return chosen, int(budget * chosen + CELL_ROUNDING) + 1
