"""One subproblem of the search: an assignment of data and a number of epochs.

Every plan of the subproblem is a path of kinds. It is cut off where a linear charge exceeds its limit, or
where too many scenarios cannot reach the target any more:

- *charges*: for some prices lam of time, sum of psi(lam) <= cutoff - transfers + lam T_max for every plan
  that costs less than the cutoff (weak duality); and the fastest times sum to at most T_max.
- *reach*: V_s[k, m, b] is the most that scenario s can still gain after k epochs, the last of them on model
  m, when its remaining extra charge (charge less the least charge of each epoch) is at most b cells. Extra
  charges are rounded down to cells, so V is not too small. At least S - p scenarios must satisfy gain so far
  + V >= needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from depl.models.allocation import TIME_TOLERANCE
from depl.models.laws import FloatArray
from depl.models.scenarios.sampled import SampledProblem
from depl.models.search import kernels
from depl.models.search.assignments import Assignment, make_sample
from depl.models.search.prices import Prices

_GAIN_SLACK = 1e-10
_ROUNDING = 1e-12
_CELL_ROUNDING = 1e-6
_LARGEST_TABLE = 1 << 27
_MOST_CELLS = 512
_FEW = 40


@dataclass(eq=False)
class Subproblem:
    """Depth-first search over the plans of ``length`` epochs under one assignment.

    Parameters
    ----------
    multipliers : sequence of float
        Prices lam of time of the cost charges; the first one's extra charges are the table's budget. None of
        them: the fastest times are (to find out whether anything is feasible).
    cutoff : float
        Only plans that cost less are of interest.
    hardest : int array (S,)
        Scenarios in the order in which they are looked at.
    """

    problem: SampledProblem
    prices: Prices
    assignment: Assignment
    length: int
    multipliers: Sequence[float]
    cutoff: float
    hardest: np.ndarray
    finished: bool = False

    def __post_init__(self) -> None:
        """Build charges, and the table unless the charges alone exclude every plan."""
        problem = self.problem
        self._sample = make_sample(problem, self.assignment, self.hardest, self.length)
        scale = float(np.abs(self._sample.gains).max(axis=1).sum(axis=0).max(initial=0.0))
        self._sample = self._sample._replace(needed=problem.needed - _GAIN_SLACK * max(1.0, scale))
        rows = [self._cost_row(value) for value in self.multipliers]
        self._charges = self._charged(np.stack([*rows, self._time_row()]))
        self._state = np.zeros(self.length + 2, dtype=np.int64)
        self._reached = np.zeros((self.length + 1, len(self.hardest)))
        self.finished = not self._affordable()
        if not self.finished:
            self._build_table()

    def proceed(self, nodes: int) -> list[int] | None:
        """Search on; the kinds of a leaf, or None when finished or after ``nodes`` more children."""
        if self.finished:
            return None
        code = kernels.descend(
            self._sample,
            self._charges,
            self._table,
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

    def root_gains(self) -> FloatArray:
        """Most that each scenario can gain within the first limit, shape (S,), as ordered by ``hardest``."""
        best = np.full(len(self.hardest), -np.inf)
        sample, first = self._sample, self._sample.first_model
        for kind, after in enumerate(sample.models):
            if self._steps[0, kind] < 0 or (first >= 0 and not sample.may_follow[first, after]):
                continue
            gain = sample.gains[0, kind] + self._table[1, after, self._cells - 1 - self._steps[0, kind]]
            if first not in (-1, after):
                gain = gain - sample.switch_losses[0, first, after]
            best = np.maximum(best, gain)
        return best

    def _cost_row(self, multiplier: float) -> FloatArray:
        return self.assignment.cheapest(self.prices.at(multiplier)[: self.length])

    def _time_row(self) -> FloatArray:
        fastest = self.assignment.cheapest(self.prices.fastest[: self.length])
        if self.prices.maximum_time is None:  # only excludes what misses the round deadline
            return np.where(np.isinf(fastest), 1.0, 0.0)
        return fastest

    def _limit_values(self) -> FloatArray:
        limit = self.prices.maximum_time
        values = []
        for multiplier in self.multipliers:
            paid = 0.0 if limit is None else multiplier * limit
            values.append(
                self.cutoff - self.assignment.transfers + paid + _ROUNDING * (abs(self.cutoff) + paid)
            )
        time = 0.5 if limit is None else limit * (1 + TIME_TOLERANCE) * (1 + _ROUNDING)
        return np.array([*values, time])

    def _charged(self, values: FloatArray) -> kernels.Charges:
        rest = np.zeros((len(values), self.length + 1))
        rest[:, :-1] = values.min(axis=2)[:, ::-1].cumsum(axis=1)[:, ::-1]
        limits = self._limit_values()
        return kernels.Charges(np.ascontiguousarray(values), rest, limits, np.zeros_like(rest))

    def _affordable(self) -> bool:
        return bool(np.all(self._charges.rest[:, 0] <= self._charges.limits))

    def _build_table(self) -> None:
        row = self._charges.values[0]
        extras = row - row.min(axis=1, keepdims=True)
        budget = float(self._charges.limits[0] - self._charges.rest[0, 0])
        layer = (self.length + 1) * len(self.problem.instance.models) * len(self.hardest)
        most = max(1, min(_MOST_CELLS, _LARGEST_TABLE // layer))
        self._scale, self._cells = cell_scale(extras[extras <= budget], budget, most)
        with np.errstate(invalid="ignore"):
            cells = np.floor(extras * self._scale + _CELL_ROUNDING / (2 * self.length + 2))
        self._steps = np.where(extras <= budget, cells, -1.0).astype(np.int64)
        self._order = np.argsort(extras, axis=1, kind="stable").astype(np.int64)
        self._table = kernels.reachable_gains(self._sample, self._steps, self._cells)


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
    lost = np.average((exact - np.floor(exact + _CELL_ROUNDING / 2)) / exact, axis=0, weights=counts)
    chosen = float(candidates[int(np.argmin(np.round(lost, 3)))])
    return chosen, int(budget * chosen + _CELL_ROUNDING) + 1
