"""Method ``exact``: a cheapest plan under the law, proved by depth-first search with certified leaves.

1. Plans that are good on a sample (`depl.models.exact.scenario_search`), for a target tightened until their
   certified probability suffices, give an incumbent.
2. Subproblems are bounded from below by prices of time and of mean gain (`law_bounds`), later by their own
   table: the least extra charge with which the root may still meet the target.
3. A subproblem is searched depth first (`law_subproblem`), on a coarse grid with few nodes first and on finer
   ones with more. What survives as a leaf is judged by its certified violation and its exact allocation.

Where every increment is normal or certain, the far faster search of `normal_search` comes before all that,
and is enough unless a plan ties with the budget. Where all are certain, one scenario is the law, and the
search under scenarios is enough, unless its plan ties with l_max.

What the search prunes it prunes by lower bounds of the violation, and what it accepts it accepts by certified
upper bounds. A leaf whose certified interval contains 1 - omega is neither: it is not accepted, and the lower
bound of the search never exceeds its cost.
"""

import contextlib
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import special

from depl.models.evaluation.evaluate import final_loss
from depl.models.exact.assignments import Assignment
from depl.models.exact.charged import MOST_MULTIPLIERS
from depl.models.exact.choices import Choices
from depl.models.exact.clusters import Clustered, cheapest_clusters
from depl.models.exact.law_bounds import Moments, mean_bounds
from depl.models.exact.law_grid import Grid, GridSteps, make_grid
from depl.models.exact.law_subproblem import LawSubproblem
from depl.models.exact.normal_search import ChordedProblem, ChordSearch, all_normal, random_terms
from depl.models.exact.reasons import SIMPLE_PLAN, fastest, obstacle, reached
from depl.models.exact.sampled import SampledProblem
from depl.models.exact.scenario_bounds import usual_time_price
from depl.models.exact.scenario_search import ScenarioSearch
from depl.models.exact.tree import FIRST_ROUND, GROWTH, UNEXPLAINED, Task, TreeSearch
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.tolerances import SEARCH_TOLERANCE, sum_rounding
from depl.models.foundation.wording import counted, probability
from depl.models.problem.epochs import FinalLoss
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.risk.batch import Verdict
from depl.models.risk.discrete import decimal
from depl.models.risk.prepared import PreparedVerdicts
from depl.models.risk.sampling import sample_final_loss
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.methods import Limits, Outcome
from depl.models.solving.result import Termination

_SAMPLE = 200
"""Scenarios on which first plans are sought: set by hand. More take time in proportion and need fewer
tightenings; the proof does not use them."""

_DRAWS = 20_000
"""Draws by which the excess of a quantile is estimated: set by hand. At omega = 0.99, 200 of them lie beyond,
so the tail is known to 7 %; it only guides how far a target is tightened."""

_TIGHTENINGS = 8
"""Times that the target is tightened for a first plan at most: set by hand. With fewer, the search itself has
to find one more often; the proof does not use them."""

_GRIDS = ((128, 24), (512, 64), (1024, 96), (2048, 128), (4096, 256))
_MOST_BYTES = 1 << 30
"""Memory for the transforms of one assignment: 1 GiB as counted, half of that used, since real laws need half
the frequencies. Finer grids are left out beyond it, which takes more nodes; without any, the method refuses.
"""

_TIME_PRICES = (0.7, 1.0, 1.4)
"""Prices of time at which subproblems are bounded, in multipliers of the incumbent: set by hand, as the best
for another length lies near it. Each costs a bound of all subproblems; any price is sound."""

_NODES_PER_CALL = 2_000
"""Nodes between two looks at the clock: set by hand. More make limits of time coarser, fewer cost calls; the
search is the same."""

_NODES_PER_LEAF = 100
"""Nodes that the costing and certifying of a leaf counts as: set by hand. It decides how soon a subproblem is
left for others, and so the order of the search, not its proofs."""

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
    problem = Choices(instance)
    if not random_terms(problem):
        found = _where_all_is_certain(problem, limits)
        if found is not None:
            return found
    if all_normal(problem):
        chorded = ChordedProblem(instance)
        found = ChordSearch(chorded, limits).answer()
        if found.termination is Termination.INFEASIBLE and not chorded.ties:
            return replace(found, reason=LawSearch(problem, limits).why_infeasible())
        if not chorded.ties:
            return found
    return LawSearch(problem, limits).answer()


class _Certain(SampledProblem):
    """One scenario that is the law. Rounding of gains excludes no plan; what it lets in is certified."""

    @functools.cached_property
    def needed(self) -> float:
        """Less by what sums over all epochs may be rounded [loss]."""
        target = self.instance.target
        size = abs(target.initial_loss) + abs(target.maximum_loss)
        for table in (self.gains, self.switch_losses):
            size += float(np.abs(table).max(axis=(1, 2, 3)).sum())
        return super().needed - sum_rounding(self.epochs) * size


def _where_all_is_certain(problem: Choices, limits: Limits) -> Outcome | None:
    """By the search under one scenario; None if its plan is not certified, as the loss ties with l_max."""
    sampled = _Certain(problem.instance, draw_scenarios(problem.instance, 1, limits.seed))
    found = ScenarioSearch(sampled, limits).answer()
    if found.termination is Termination.INFEASIBLE:
        return replace(found, reason=LawSearch(problem, limits).why_infeasible())
    if found.plan is None:
        return found
    target = problem.instance.target
    verdicts = PreparedVerdicts(target.maximum_loss, 1 - decimal(target.quantile_level))
    met = verdicts.verdict(final_loss(problem.instance, found.plan)) is Verdict.MET
    return found if met else None


@dataclass
class LawSearch(TreeSearch):
    """The state of one search under the law.

    Attributes
    ----------
    undecided : float
        Least cost of a plan whose certified interval contains 1 - omega.
    """

    undecided: float = field(default=math.inf, init=False)
    _spread: float | None = field(default=None, init=False)
    _steps: dict[float, GridSteps] = field(default_factory=dict, init=False)

    def run(self) -> Termination:
        """Search until something is proved."""
        self._prepare()
        if self.problem.ends_well(()) and self._verdict(Plan()) is Verdict.MET:
            self.best = Clustered((), 0.0, 0.0)
            return Termination.OPTIMAL
        self._moments = Moments.of(self.problem)
        self._grids = self._manageable_grids()
        self._first_plans()
        if self.best is None and not self._feasible():
            ending = self.ended_without_plan()
        else:
            ending = self._proved(self.tasks())
        if self.undecided < self.threshold:
            self.lower = self.undecided * (1 - SEARCH_TOLERANCE)
            return Termination.EXHAUSTED
        return ending

    def why_infeasible(self) -> str:
        """What is in the way of every plan, once it is known from elsewhere that there is none."""
        try:
            self.build()
            self._prepare()
            return self._why_infeasible()
        except OutOfTimeError:
            return UNEXPLAINED

    def _prepare(self) -> None:
        self._target = self.problem.instance.target
        self._budget = 1 - decimal(self._target.quantile_level)
        self._verdicts = PreparedVerdicts(self._target.maximum_loss, self._budget)

    def _first_plans(self) -> None:
        """Plans that are good on a sample, for targets lowered by what their quantile exceeds."""
        lowered = 0.0
        sample = draw_scenarios(self.problem.instance, _SAMPLE, self.limits.seed)
        for _ in range(_TIGHTENINGS):
            self._require_time()
            instance = self.problem.instance.replace(maximum_loss=self._target.maximum_loss - lowered)
            search = ScenarioSearch(SampledProblem(instance, sample), replace(self.limits, progress=None))
            with contextlib.suppress(OutOfTimeError):  # what it holds by then may do
                search.build()
                search.first_plans()
            if search.best is None:
                return
            loss = final_loss(self.problem.instance, self.problem.plan(search.best.choices))
            if self._verdicts.verdict(loss) is Verdict.MET:
                if search.best.cost < self.cost:
                    self._accept(search.best)
                return
            lowered += self._excess(loss)

    def _excess(self, loss: FinalLoss) -> float:
        """By how much to tighten a target whose sample the loss meets and whose law it does not [loss]."""
        drawn = sample_final_loss(loss, np.random.default_rng(self.limits.seed), _DRAWS)
        excess = float(np.quantile(drawn, 1 - float(self._budget))) - self._target.maximum_loss
        return max(1.02 * excess, 0.1 * self._deviation_of(loss))

    def _raise_bound(self, bound: float) -> None:
        """An undecided plan may be the optimum."""
        super()._raise_bound(min(bound, self.undecided * (1 - SEARCH_TOLERANCE)))

    def _manageable_grids(self) -> list[tuple[int, int]]:
        """The grids whose transforms, clipped and not, fit into `_MOST_BYTES`."""
        kinds = self._most_kinds()
        per_point = 32 * self.problem.epochs * (len(self.problem.instance.models) + 1) * kinds
        grids = [grid for grid in _GRIDS if per_point * grid[0] <= _MOST_BYTES]
        if not grids:
            raise NotCoveredError(
                f"the search under the law does not cover {self.problem.epochs} epochs with {kinds} ways to "
                "train each; lower maximum_epochs or use another method"
            )
        return grids

    def _bounded(self, assignment: Assignment) -> list[Task]:
        """Bounds at several prices of time and of mean gain."""
        best: list[Task] = []
        incumbent = self._incumbent()
        for factor in _TIME_PRICES if incumbent.multiplier > 0 else (1.0,):
            multiplier = factor * incumbent.multiplier
            bounds = mean_bounds(self.problem, self._moments, self._prices, assignment, multiplier, self.cost)
            tasks = [
                Task(float(bound) * (1 - SEARCH_TOLERANCE), assignment, length, multiplier)
                for length, bound in enumerate(bounds)
                if length
            ]
            best = [max(pair, key=lambda item: item.bound) for pair in zip(best or tasks, tasks, strict=True)]
        return best

    def _explored(self, task: Task, effort: int) -> Task | None:
        """Search a subproblem for a thousandth of ``effort`` nodes, the more they are the finer the grid."""
        self._require_time()
        level = max(0, round(math.log(effort / FIRST_ROUND, GROWTH)))
        subproblem = self._subproblem(task, *self._grids[min(level, len(self._grids) - 1)])
        task = replace(task, bound=max(task.bound, subproblem.root_bound * (1 - SEARCH_TOLERANCE)))
        if task.bound >= self.threshold or self._searched(subproblem, task, effort // 1000):
            return None
        return task

    def _may_be_feasible(self, task: Task) -> bool:
        """Whether the coarsest grid leaves any plan of a subproblem that keeps the limits of time."""
        subproblem = self._subproblem(task, *self._grids[0])
        found = None if subproblem.finished else subproblem.proceed(_NODES_PER_CALL)
        return found is not None or not subproblem.finished

    def _searched(self, subproblem: LawSubproblem, task: Task, nodes: int) -> bool:
        """Search for at most so many nodes; whether it is finished."""
        known = self.best is not None
        while not subproblem.finished and nodes > 0:
            self._require_time()
            kinds = subproblem.proceed(min(nodes, _NODES_PER_CALL))
            nodes -= _NODES_PER_CALL if kinds is None else _NODES_PER_LEAF
            if kinds is not None:
                self._judge(subproblem, task, kinds)
                if not known and self.best is not None:
                    return False
        return subproblem.finished

    def _subproblem(self, task: Task, points: int, cells: int) -> LawSubproblem:
        known = self.best is not None
        multipliers = (
            (task.multiplier, *({self._incumbent().multiplier} - {task.multiplier})) if known else ()
        )
        grid = self._grid(task.length, points)
        if grid.step not in self._steps:
            self._steps[grid.step] = GridSteps(self.problem, grid.step, grid.step * (grid.size - 1))
        return LawSubproblem(
            self.problem,
            self._prices,
            task.assignment,
            task.length,
            multipliers,
            self.threshold,
            grid,
            self._steps[grid.step],
            cells,
        )

    def _grid(self, length: int, points: int) -> Grid:
        """A grid whose tilt is below the saddle point, and so wide that next to nothing wraps round."""
        budget = float(self._budget)
        fall = self._fall
        deviation = self._deviation()
        wanted = math.log(_LEAST_ALIAS / budget)
        saddle = max(0.5, -float(special.ndtri(budget))) / deviation
        tilt = min(wanted / (_ROOM * fall), saddle)
        above = 0.05 * fall + deviation + max(0.0, self._target.maximum_loss - self._target.initial_loss)
        return make_grid(
            self.problem.instance, points, tilt, length, max(wanted / tilt - fall - above, 0.05 * fall), above
        )

    @property
    def _fall(self) -> float:
        """The fall that is asked for, or by how much the loss may rise before it misses the target [loss].

        It scales grids, and any positive number would do.
        """
        start, end = self._target.initial_loss, self._target.maximum_loss
        return abs(start - end) or abs(start) or 1.0

    def _deviation(self) -> float:
        """Standard deviation of the final loss of the first incumbent, or what stands for it [loss]."""
        if self._spread is None and self.best is not None:
            plan = self.problem.plan(self.best.choices)
            self._spread = self._deviation_of(final_loss(self.problem.instance, plan))
        return self._spread or 0.1 * self._fall

    def _deviation_of(self, loss: FinalLoss) -> float:
        fall, variance = self._fall, loss.variance()
        return min(max(math.sqrt(variance), 1e-3 * fall), fall) if math.isfinite(variance) else 0.1 * fall

    def _judge(self, subproblem: LawSubproblem, task: Task, kinds: Sequence[int]) -> None:
        """Cost and certify a leaf: a new incumbent, or one more price of time that excludes it."""
        self.leaves += 1
        start = self.best.multiplier if self.best is not None else usual_time_price(self._prices)
        plan = cheapest_clusters(
            self.problem, self._prices, task.assignment, kinds, start, math.inf, self.in_time
        )
        if plan is not None and plan.cost < self.threshold and self.problem.ends_well(plan.choices):
            verdict = self._verdict(self.problem.plan(plan.choices))
            if verdict is Verdict.MET:
                self._accept(plan)
                subproblem.lower_cutoff(self.threshold)
            elif verdict is Verdict.UNDECIDED:
                self.undecided = min(self.undecided, plan.cost)
        self._require_time()  # not all clusters were tried if it ran out on the way
        if plan is not None and 0 < len(subproblem.multipliers) < MOST_MULTIPLIERS:
            subproblem.add_multiplier(plan.multiplier)

    def _verdict(self, plan: Plan) -> Verdict:
        """What is certified of a plan's violation."""
        return self._verdicts.verdict(final_loss(self.problem.instance, plan))

    def _outcome(self, termination: Termination) -> Outcome:
        found = super()._outcome(termination)
        if termination is not Termination.EXHAUSTED or found.plan is not None:
            return found
        reason = (
            f"the violation of a plan that costs {self.undecided:.6g} is too close to 1 - omega to be "
            "decided, and no plan is certain to meet the target; change maximum_loss or omega a little"
        )
        return replace(found, reason=reason)

    def _why_infeasible(self) -> str:
        first = obstacle(self.problem.instance)
        if first:
            return first
        target = self._target
        sampled = SampledProblem(
            self.problem.instance, draw_scenarios(self.problem.instance, _SAMPLE, self.limits.seed)
        )
        gain = max((reached(sampled, self._prices, item) for item in self._listed), default=-math.inf)
        seen = f": on {_SAMPLE} draws the best quantile of a {SIMPLE_PLAN} is about "
        return (
            f"models: target {target.maximum_loss:g} "
            f"at omega {probability(target.quantile_level)} unreachable within "
            f"{counted(target.maximum_epochs, 'epoch')} and the time limits by any plan"
            f"{seen + format(target.initial_loss - gain, '.4g') if gain > -math.inf else ''}"
            f"{self._time_needed(sampled)}"
        )

    def _time_needed(self, sampled: SampledProblem) -> str:
        """The time of a quick plan that is certified to meet the target, if T_max is all that it misses."""
        lowered = 0.0
        for _ in range(_TIGHTENINGS):
            found = fastest(sampled, self._prices, self._listed, sampled.needed + lowered)
            if found is None or self._target.maximum_time is None:
                return ""
            # The plan is too slow for the instance; its loss is the same with time to spare.
            roomy = self.problem.instance.replace(maximum_time=2 * max(found[0], self._target.maximum_time))
            loss = final_loss(roomy, Choices(roomy).plan(found[1]))
            if self._verdicts.verdict(loss) is Verdict.MET:
                return (
                    f"; a {SIMPLE_PLAN} and meets it takes {found[0]:.6g}, maximum_time is "
                    f"{self._target.maximum_time:.6g}"
                )
            lowered += self._excess(loss)
        return ""
