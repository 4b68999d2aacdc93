"""One subproblem of the search under the law: an assignment of data and a number of epochs.

Beside what it may spend (`depl.models.exact.charged`), a path of kinds is cut off where every completion
misses the target with more than 1 - omega, by the lower bound of `law_completions`. A finer grid makes that
bound better and every node more expensive.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from depl.models.exact import kernels
from depl.models.exact.charged import Charged
from depl.models.exact.kernels import CELL_ROUNDING
from depl.models.exact.law_completions import least_violations, make_changes
from depl.models.exact.law_grid import Grid, GridSteps
from depl.models.exact.law_kernels import Paths, descend_laws, product_rounding
from depl.models.risk.discrete import decimal

_SLACK = 1e-9
"""Relative widening of the budget beside what rounding may do to it, set by hand: any value from 0 on is
sound. Leaves within it are searched in vain, and told as too close to be decided."""

_LARGEST_TABLE = 1 << 28
"""Bytes of the table of completions, 256 MiB at most. Beyond, there are fewer cells of budget: weaker bounds
and more nodes, never wrong ones."""


@dataclass(eq=False)
class LawSubproblem(Charged):
    """Depth-first search over the plans of ``length`` epochs under one assignment.

    Parameters
    ----------
    grid : Grid
        For plans of this length.
    steps : GridSteps
        On the step of the grid.
    most_cells : int
        Cells of budget at most.

    Attributes
    ----------
    root_bound : float
        No plan of the subproblem that meets the target costs less [cost].
    """

    grid: Grid
    steps: GridSteps
    most_cells: int
    root_bound: float = field(default=-math.inf, init=False)

    def __post_init__(self) -> None:
        """Build charges, and the table unless the charges alone exclude every plan."""
        super().__post_init__()
        if self.finished:
            self.root_bound = self.cutoff
        else:
            self._build_table()
            self._bound_root()

    def proceed(self, nodes: int) -> list[int] | None:
        """Search on; the kinds of a leaf, or None when finished or after ``nodes`` more children."""
        if self.finished:
            return None
        code = descend_laws(
            self._paths,
            self._charges,
            self._scale,
            self._order,
            self._state,
            self._reached,
            self._tops,
            nodes,
        )
        if code == kernels.LEAF:
            return self._chosen()
        self.finished = code == kernels.FINISHED
        return None

    def _build_table(self) -> None:
        problem, grid = self.problem, self.grid
        count, frequencies = len(problem.instance.models), grid.size // 2 + 1
        layer = (self.length + 1) * count * frequencies * 16
        self._make_cells(max(1, min(self.most_cells, _LARGEST_TABLE // layer)))
        changes = make_changes(problem, self.assignment, grid, self.steps, self.length)
        table, norms, least = least_violations(
            self.assignment, grid, changes, self.steps, self._steps, self._cells, problem.may_end
        )
        first = problem.initial_model
        budget = float(1 - decimal(problem.instance.target.quantile_level))
        self._paths = Paths(
            changes.transforms,
            changes.clipped,
            changes.rises,
            changes.allowed,
            self.assignment.models.astype(np.int64),
            count if first is None else first,
            table,
            norms,
            least,
            grid.highest,
            budget * (1 + _SLACK + grid.tilt_rounding(self.length)) + grid.aliased + changes.error,
            product_rounding(self.length, grid.size),
        )
        self._reached = np.zeros((self.length + 1, frequencies), dtype=np.complex128)
        self._reached[0] = 1.0
        self._tops = np.zeros(self.length + 1, dtype=np.int64)
        self._order = np.zeros((self.length, len(self.assignment.models) + 1), dtype=np.int64)

    def _bound_root(self) -> None:
        """The least budget, in cells, with which a first epoch may lead to the target."""
        paths = self._paths
        best = self._cells
        for j, model in enumerate(paths.models):
            step = int(self._steps[0, j])
            if step < 0 or not paths.allowed[paths.first_model, j]:
                continue
            change = paths.transforms[0, paths.first_model, j]
            if paths.rises[0, paths.first_model, j] > paths.highest:
                change = paths.clipped[0, paths.first_model, j]
            doubts = paths.rounding * abs(change[0].real) * paths.norms[1, model]
            violations = (paths.table[1, model] @ change).real - doubts
            able = np.flatnonzero(~(violations[paths.least[1, model] :] > paths.most)) + paths.least[1, model]
            if able.size:
                best = min(best, int(able[0]) + step)
        if best >= self._cells:
            self.finished, self.root_bound = True, self.cutoff
        elif self._scale > 0 and self.multipliers:
            least = max(0.0, best - CELL_ROUNDING) / self._scale
            self.root_bound = self.cutoff - float(self._charges.limits[0] - self._charges.rest[0, 0]) + least
