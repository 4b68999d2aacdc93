"""One subproblem of the search under scenarios: an assignment of data and a number of epochs.

Beside what it may spend (`charged`), a path of kinds is cut off where too many scenarios cannot reach the
target any more: V_s[k, m, b] is the most that scenario s can still gain after k epochs, the last of them on
model m, when its remaining extra charge is at most b cells. At least S - p scenarios must satisfy gain so far
+ V >= needed.

The least budget with which a first epoch may still lead to the target bounds the cost of every plan. Where no
extra charge is rounded to cells, the search first looks for a plan of just that budget: with one scenario,
where the table is a dynamic program, it is the cheapest at the price of time.
"""

import math
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from depl.models.exact import kernels
from depl.models.exact.assignments import make_sample
from depl.models.exact.charged import Charged, Priced
from depl.models.exact.kernels import CELL_ROUNDING
from depl.models.exact.priced_plans import LONG
from depl.models.exact.sampled import CountedProblem
from depl.models.exact.scenario_mean_bound import required_means
from depl.models.foundation.golden import golden_sections
from depl.models.problem.laws import FloatArray

_GAIN_SLACK = 1e-10
"""What gains may be off relative to the greatest sum of them, so that rounding excludes no plan: an epoch
adds two roundings of 2**-53 at most, and 1e-10 is enough for 4e5. Leaves are judged exactly."""

_LARGEST_TABLE = 1 << 27
"""Single-precision numbers of the table of reachable gains: 512 MiB at most. Beyond, there are fewer cells of
budget: weaker bounds and more nodes, never wrong ones."""

_SPREAD, _STEPS = 3.0, 40
"""A price of gain is sought within exp(3) = 20 times either side of the average cost of what is needed, to
6 * 0.618**40 = 3e-8 of itself: its room is a small difference. Any price is sound."""

_MOST_CELLS = 512
"""Cells of budget where extra charges are rounded: set by hand. Twice as many lose half as much to rounding,
and take twice the time and memory for the table."""


@dataclass(eq=False)
class Subproblem(Charged):
    """Depth-first search over the plans of ``length`` epochs under one assignment.

    Parameters
    ----------
    hardest : int array (S,)
        Scenarios in the order in which they are looked at.

    Attributes
    ----------
    root_bound : float
        No plan of the subproblem that meets the target costs less [cost]; from the table.
    """

    problem: CountedProblem
    hardest: np.ndarray
    root_bound: float = field(default=-math.inf, init=False)
    _aim: float | None = field(default=None, init=False)
    _further: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        """Build charges, and the table unless the charges alone exclude every plan."""
        problem = self.problem
        self._sample = make_sample(problem, self.assignment, self.hardest, self.length)
        scale = float(np.abs(self._sample.gains).max(axis=1).sum(axis=0).max(initial=0.0))
        self._sample = self._sample._replace(needed=problem.needed - _GAIN_SLACK * max(1.0, scale))
        self._reached = np.zeros((self.length + 1, len(self.hardest)))
        super().__post_init__()
        if self.length >= LONG and self.multipliers and not self.finished and not self._is_whole():
            self._priced = self._best_price()
            super().__post_init__()
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
            return self._chosen()
        if code == kernels.FINISHED and self._aim is not None:
            self._raise_aim()
            return self.proceed(nodes)
        self.finished = code == kernels.FINISHED
        return None

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

    def _best_price(self) -> Priced | None:
        """The charge at the price of gain that leaves least room; None if no mean gain is required."""
        costs, paid = self._cost_row(self.multipliers[0]), 0.0
        if self.prices.maximum_time is not None:
            paid = self.multipliers[0] * self.prices.maximum_time
        mean = self._sample._replace(
            gains=self._sample.gains.mean(axis=-1, keepdims=True),
            switch_losses=self._sample.switch_losses.mean(axis=-1, keepdims=True),
        )
        required = float(required_means(self._sample, mean, np.isfinite(costs))[self.length])
        if not 0 < required < np.inf or not np.isfinite(costs).any(axis=1).all():
            return None

        def bound(exponent: float) -> float:
            price = math.exp(exponent)
            return float(kernels.priced_prefixes(mean, costs, price)[self.length, 0]) + price * required

        usual = math.log(max(self.cutoff - self.assignment.transfers + paid, 1e-300) / required)
        asked = golden_sections(bound, usual - _SPREAD, usual + _SPREAD, _STEPS, value=float)
        exponent, _ = max(asked, key=itemgetter(1))
        # A switch may also raise the gain, by this at most.
        raised = np.maximum(0.0, -mean.switch_losses.min(axis=(1, 2)))
        return Priced.of(costs, mean.gains[..., 0] + raised, math.exp(exponent), required)

    def _is_whole(self) -> bool:
        """Whether the extra charges of the price of time can be counted in cells without rounding."""
        self._make_cells(1, self._most_cells)
        return self._whole

    @property
    def _most_cells(self) -> int:
        layer = (self.length + 1) * len(self.problem.instance.models) * len(self.hardest)
        return max(1, _LARGEST_TABLE // layer)

    def _build_table(self) -> None:
        most = self._most_cells
        self._make_cells(min(_MOST_CELLS, most), most)
        self._table = kernels.reachable_gains(self._sample, self._steps, self._cells)
        if self.multipliers:
            self._bound_root()

    def _bound_root(self) -> None:
        """The least budget, in cells, with which a first epoch may lead to the target; aim at it if exact."""
        least = min(
            (self._least_budget(kind) for kind in range(len(self._sample.models))), default=self._cells
        )
        if least >= self._cells:
            self.finished, self.root_bound = True, self.cutoff
            return
        if not self._scale:
            return
        limit, rest = float(self._charges.limits[0]), float(self._charges.rest[0, 0])
        self.root_bound = self.cutoff - (limit - rest) + max(0.0, least - CELL_ROUNDING) / self._scale
        if self._whole:
            self._aim = rest + (least + 0.5) / self._scale
            self._charges = self._charges._replace(limits=self._limit_values())

    def _raise_aim(self) -> None:
        """Nothing is left within what was aimed at: begin again with twice as many cells more."""
        if self._aim is None:
            return
        self._aim += self._further / self._scale
        self._further *= 2
        if self._aim >= super()._limit_values()[0]:
            self._aim = None
        self._state[:] = 0
        self._charges = self._charges._replace(limits=self._limit_values())

    def _least_budget(self, kind: int) -> int:
        """The same for one first kind; the number of cells if there is none."""
        sample, first, step = self._sample, self._sample.first_model, int(self._steps[0, kind])
        after = int(sample.models[kind])
        if step < 0 or (first >= 0 and not sample.may_follow[first, after]):
            return self._cells
        gain = sample.gains[0, kind]
        if first not in (-1, after):
            gain = gain - sample.switch_losses[0, first, after]
        misses = (self._table[1, after] + gain < sample.needed).sum(axis=1)
        able = np.flatnonzero(misses <= sample.allowed)
        return int(able[0]) + step if able.size else self._cells

    def _limit_values(self) -> FloatArray:
        values = super()._limit_values()
        if self._aim is not None:
            values[0] = min(values[0], self._aim)
        return values
