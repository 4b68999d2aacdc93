"""Method ``exact``: a cheapest plan under the law, proved by depth-first search (`search`).

Where every increment is normal or certain, the far faster search on chords is enough (`chords`). Otherwise
plans that are good on a sample, for a target tightened until their certified probability suffices, give an
incumbent; and a path of kinds is cut off where every completion misses the target with more than 1 - omega,
by the lower bound of `law_completions`, on finer grids with more nodes. A leaf whose certified interval
contains 1 - omega is not accepted, and the lower bound never exceeds its cost.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from depl.models.exact.assignments import Assignment, make_sample
from depl.models.exact.choices import Choices
from depl.models.exact.chord_search import ChordSearch
from depl.models.exact.chords import ChordedProblem, Chords
from depl.models.exact.counted import first_plan
from depl.models.exact.kernels import ComplexArray, Laws, Sample
from depl.models.exact.law_completions import least_violations, make_changes, product_rounding
from depl.models.exact.law_grid import Grid, GridSteps, make_grid
from depl.models.exact.law_problem import TIGHTENINGS, LawProblem, random_terms
from depl.models.exact.search import GROWTH, Risk, Search, Task
from depl.models.exact.subproblem import Subproblem
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.risk.verdicts import Verdict
from depl.models.solving.limits import Limits
from depl.models.solving.result import Outcome

_GRIDS = ((128, 24), (512, 64), (1024, 96), (2048, 128), (4096, 256))
"""Points of the grid and cells of budget by round: set by hand; a finer grid makes the bound better and every
node more expensive. All on one grid of 2048 points took two to three times as long."""

_MOST_BYTES = 1 << 30
"""Memory for the transforms of one assignment: 1 GiB as counted, half of that used, since real laws need half
the frequencies. Finer grids are left out beyond it, which takes more nodes; without any, the method refuses.
"""

_LARGEST_TABLE = 1 << 28
"""Bytes of the table of completions, 256 MiB at most. Beyond, there are fewer cells of budget: weaker bounds
and more nodes, never wrong ones."""

_SLACK = 1e-9
"""Relative widening of the budget beside what rounding may do to it, set by hand: any value from 0 on is
sound. Leaves within it are searched in vain, and told as too close to be decided."""

_LEAST_ALIAS = 1e7
"""Budget over what wraps round: at most 2e-7 of the budget. What wraps round is allowed for, so any value is
sound; less weakens the bound by that share, more widens the grid and its step with the logarithm."""

_ROOM = 1.25
"""Width of the grid over the fall that is asked for, at least: set by hand. A greater one tilts less and
coarsens the step, a smaller one drops plans that are far ahead, in their favour; sound for any value."""


def exact(instance: Instance, limits: Limits) -> Outcome:
    """Cheapest plan under the law by exact search; proves optimality and infeasibility.

    Raises
    ------
    NotCoveredError
        If there are too many epochs and models for the tables of the coarsest grid, or more datasets than
        `depl.models.exact.choices.MOST_DATASETS`.
    """
    problem = LawProblem(instance, limits.seed)
    if _on_chords(problem):
        return ChordSearch(Chords(ChordedProblem(instance, limits.seed)), limits).answer()
    return Search(Law(problem), limits).answer()


def _on_chords(problem: Choices) -> bool:
    """Whether every increment is certain, or normal or certain with an omega of at least 1/2."""
    terms = random_terms(problem)
    level = problem.instance.target.quantile_level
    return not terms or (level >= 0.5 and all(term.law.is_normal for term in terms))


@dataclass
class Law(Risk):
    """Laws on grids.

    Prices of time are tried either side of the incumbent's, as the best for another length lies near it.
    """

    problem: LawProblem
    first_round = 2_000
    nodes_per_call = 2_000
    nodes_per_leaf = 100
    time_prices = (0.7, 1.0, 1.4)
    _spread: float | None = field(default=None, init=False)
    _steps: dict[float, GridSteps] = field(default_factory=dict, init=False)

    def why_infeasible(self, search: Search) -> str:
        """In terms of the law."""
        return self.problem.why_infeasible(search.listed)

    def first_plans(self, search: Search) -> None:
        """Plans that are good on a sample, for targets lowered by what their quantile exceeds."""
        self._grids = self._manageable_grids(search.most_kinds)
        lowered = 0.0
        for _ in range(TIGHTENINGS):
            search.require_time()
            found = first_plan(self.problem.sampled(lowered), search.limits)
            if found is None:
                return
            loss = self.problem.loss(found.choices)
            if self.problem.verdict_on(loss) is Verdict.MET:
                search.accept(found)
                return
            lowered += self.problem.excess(loss)

    def relaxed(self, assignment: Assignment) -> tuple[Sample, FloatArray]:
        """Mean gains, and what Cantelli's inequality requires of them, by number of epochs."""
        moments, fall = self.problem.moments, self.problem.needed
        used = moments.variances[:, assignment.subsets, assignment.models].max(axis=1)
        used += moments.switch_variances.max(axis=(1, 2))
        variances = np.concatenate([[0.0], np.cumsum(used)])
        share = self.problem.budget / (1 - self.problem.budget)
        with np.errstate(invalid="ignore"):
            required = fall - np.sqrt(variances * share) * (1 + 1e-9)
        gains, losses = moments.gains[..., None], moments.losses[..., None]
        return make_sample(self.problem, assignment, gains, losses, fall), required

    def subproblem(
        self, search: Search, task: Task, multipliers: tuple[float, ...], effort: int
    ) -> "LawSubproblem":
        """On a grid that is the finer the more effort is made."""
        level = round(math.log(effort / self.first_round, GROWTH))
        points, cells = self._grids[min(level, len(self._grids) - 1)]
        grid = self._grid(search, task.length, points)
        if grid.step not in self._steps:
            self._steps[grid.step] = GridSteps(self.problem, grid.step, grid.step * (grid.size - 1))
        known = self.problem, task.assignment, task.length, multipliers, search.threshold
        return LawSubproblem(*known, grid, self._steps[grid.step], cells)

    def _manageable_grids(self, kinds: int) -> list[tuple[int, int]]:
        """The grids whose transforms, clipped and not, fit into `_MOST_BYTES`."""
        per_point = 32 * self.problem.epochs * (len(self.problem.instance.models) + 1) * kinds
        grids = [grid for grid in _GRIDS if per_point * grid[0] <= _MOST_BYTES]
        if not grids:
            raise NotCoveredError(
                f"the search under the law does not cover {self.problem.epochs} epochs with {kinds} ways to "
                "train each; lower maximum_epochs or use another method"
            )
        return grids

    def _grid(self, search: Search, length: int, points: int) -> Grid:
        """A grid whose tilt is below the saddle point, and so wide that next to nothing wraps round."""
        if self._spread is None and search.best is not None:  # of the first incumbent
            self._spread = self.problem.deviation(self.problem.loss(search.best.choices))
        fall, target, budget = self.problem.fall, self.problem.instance.target, self.problem.budget
        deviation = self._spread or 0.1 * fall
        wanted = math.log(_LEAST_ALIAS / budget)
        saddle = max(0.5, -float(special.ndtri(budget))) / deviation
        tilt = min(wanted / (_ROOM * fall), saddle)
        above = 0.05 * fall + deviation + max(0.0, target.maximum_loss - target.initial_loss)
        below = max(wanted / tilt - fall - above, 0.05 * fall)
        return make_grid(self.problem.instance, points, tilt, length, below, above)


@dataclass(eq=False)
class LawSubproblem(Subproblem):
    """Cut off where every completion misses the target with more than 1 - omega."""

    grid: Grid  # for plans of this length
    steps: GridSteps  # on the step of the grid
    most_cells: int  # of budget

    def _tabulated(self) -> tuple[Laws, ComplexArray, ComplexArray]:
        problem, grid, length = self.problem, self.grid, self.length
        frequencies = grid.size // 2 + 1
        layer = (length + 1) * len(problem.instance.models) * frequencies * 16
        self._make_cells(max(1, min(self.most_cells, _LARGEST_TABLE // layer)))
        changes = make_changes(problem, self.assignment, grid, self.steps, length)
        table, norms, least = least_violations(
            self.assignment, grid, changes, self.steps, self._steps, self._cells, problem.may_end
        )
        budget = float(problem.instance.target.violation_budget)
        laws = Laws(
            changes.transforms,
            changes.clipped,
            changes.rises,
            problem.may_follow,
            self.assignment.models,
            problem.first_model,
            norms,
            least,
            np.zeros(length + 1, dtype=np.int64),
            grid.highest,
            budget * (1 + _SLACK + grid.tilt_rounding(length)) + grid.aliased + changes.error,
            product_rounding(length, grid.size),
        )
        reached = np.zeros((length + 1, frequencies), dtype=np.complex128)
        reached[0] = 1.0
        return laws, table, reached

    def _able(self, kind: int) -> NDArray[np.bool_]:
        laws, model = self._risk, self.assignment.models[kind]
        rising = laws.rises[0, laws.first_model, kind] <= laws.highest
        change = (laws.transforms if rising else laws.clipped)[0, laws.first_model, kind]
        doubts = laws.rounding * abs(change[0].real) * laws.norms[1, model]
        able = ~((self._table[1, model] @ change).real - doubts > laws.most)
        able[: laws.least[1, model]] = False
        return np.asarray(able)
