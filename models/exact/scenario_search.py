"""Method ``scenario-search``: a cheapest plan under scenarios, proved by depth-first search.

1. Plans with at most one change of kind, or from a price of gain, give an incumbent (`incumbents`). If there
   is none, the search below runs with the fastest times in place of costs until it finds a plan or proves
   that none exists.
2. Subproblems (`tree`) are bounded from below by prices of time and gain (`scenario_bounds.length_bounds`).
3. A subproblem is searched depth first (`scenario_subproblem`). What survives as a leaf is judged by the sums
   of `SampledProblem` and by its exact allocation (`clusters`), so that rounding in the search decides
   nothing.
4. In the end the root bound is worked out at good prices (`certificate`): weaker, but `depl check` proves it
   again without a search.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from depl.models.exact.assignments import Assignment
from depl.models.exact.certificate import certificate_in_time
from depl.models.exact.charged import MOST_MULTIPLIERS
from depl.models.exact.clusters import Clustered
from depl.models.exact.incumbents import Neighbourhood
from depl.models.exact.listing import enumerate_on_scenarios
from depl.models.exact.priced_plans import LONG
from depl.models.exact.prices import GAIN_PRICES
from depl.models.exact.reasons import infeasibility_reason
from depl.models.exact.sampled import CountedProblem, SampledProblem
from depl.models.exact.scenario_bounds import length_bounds, usual_time_price
from depl.models.exact.scenario_subproblem import Subproblem
from depl.models.exact.tree import Task, TreeSearch
from depl.models.foundation.tolerances import SEARCH_TOLERANCE
from depl.models.problem.instance import Instance
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.defaults import DEFAULT_SCENARIOS
from depl.models.solving.methods import Limits, Outcome
from depl.models.solving.result import Termination

_NODES_PER_CALL = 200_000
"""Nodes between two looks at the clock: set by hand. More make limits of time coarser, fewer cost calls; the
search is the same."""

_LONGEST_SCANNED = 1000
"""Epochs up to which plans with one switch are looked at beside a priced plan: set by hand. Their number
grows with the square, to seconds at 5000 epochs, and a priced plan is off by about one epoch of so many."""

_STARTS = 12
"""Prices of time tried for a first plan under an assignment: set by hand; a multiplier that repeats ends
them sooner. Fewer may leave a worse first plan; nothing is proved by it."""


def scenario_search(instance: Instance, limits: Limits) -> Outcome:
    """Cheapest plan under scenarios by exact search; proves optimality and infeasibility.

    Raises
    ------
    NotCoveredError
        If there are more datasets than `depl.models.exact.choices.MOST_DATASETS`.
    """
    sample = limits.scenarios
    if sample is None:
        sample = draw_scenarios(instance, DEFAULT_SCENARIOS, limits.seed)
    if instance.has_memory:
        return enumerate_on_scenarios(instance, limits, sample)
    problem = SampledProblem(instance, sample)
    search = ScenarioSearch(problem, limits)
    found = search.answer()
    if search.best is None:
        return found
    dual = certificate_in_time(problem, search.best.multiplier, search.cost, limits, found.termination)
    proved = 0.0 if dual is None else min(dual.bound * (1 - SEARCH_TOLERANCE), search.threshold)
    return replace(found, dual=dual, lower_bound=max(found.lower_bound, proved))


@dataclass
class ScenarioSearch(TreeSearch):
    """The state of one search under scenarios."""

    problem: CountedProblem
    _best_gain: float = field(default=-math.inf, init=False)

    def run(self) -> Termination:
        """Search until something is proved."""
        if self.problem.misses(()) <= self.problem.allowed:
            self.best = Clustered((), 0.0, 0.0)
            return Termination.OPTIMAL
        self.first_plans()
        if self.best is None and not self._feasible():
            return self.ended_without_plan()
        return self._proved(self.tasks())

    def first_plans(self) -> None:
        """Plans with at most one change of kind under every assignment."""
        for assignment in self._assigned:
            if assignment.transfers >= self.cost:
                break
            self._require_time()
            near = Neighbourhood(self.problem, self._prices, assignment, self.in_time)
            if self.problem.epochs >= LONG:
                self._priced_plan(near)
            if self.problem.epochs > _LONGEST_SCANNED and self.best is not None:
                continue
            multiplier = self.best.multiplier if self.best is not None else usual_time_price(self._prices)
            for _ in range(_STARTS):
                self._require_time()
                kinds = near.one_switch(multiplier, self.cost)
                plan = None if kinds is None else near.costed(kinds, multiplier, math.inf)
                if kinds is None:
                    break
                if plan is None:  # too slow: time has to be more expensive
                    multiplier *= 4
                    continue
                if plan.cost < self.cost:
                    self._accept(plan)
                if plan.multiplier == multiplier:
                    break
                multiplier = plan.multiplier

    def priced_plans(self) -> None:
        """Plans by a price of gain under every assignment."""
        for assignment in self._assigned:
            if assignment.transfers >= self.cost:
                break
            self._require_time()
            self._priced_plan(Neighbourhood(self.problem, self._prices, assignment, self.in_time))

    def _priced_plan(self, near: Neighbourhood) -> None:
        """By a price of gain, at one price of time after another until its plan keeps T_max."""
        multiplier = self.best.multiplier if self.best is not None else usual_time_price(self._prices)
        for _ in range(_STARTS):
            self._require_time()
            kinds = near.priced(multiplier)
            plan = None if kinds is None else near.costed(kinds, multiplier, math.inf)
            if plan is not None and plan.cost < self.cost:
                self._accept(plan)
            if kinds is None or (plan is not None and plan.multiplier == multiplier):
                return
            multiplier = 4 * multiplier if plan is None else plan.multiplier

    def _bounded(self, assignment: Assignment) -> list[Task]:
        """Bounds at the price of time of the incumbent and several prices of gain."""
        multiplier = self._incumbent().multiplier
        # nothing may have to be gained where only the last model is to be another one
        usual = self.cost / self.problem.needed if self.problem.needed > 0 else 0.0
        bounds = length_bounds(self.problem, self._prices, assignment, multiplier, usual * GAIN_PRICES)
        return [
            Task(float(bounds[length]) * (1 - SEARCH_TOLERANCE), assignment, length, multiplier)
            for length in range(1, self.problem.epochs + 1)
        ]

    def _explored(self, task: Task, effort: int) -> Task | None:
        """Search a subproblem for at most ``effort`` nodes."""
        self._require_time()
        known = self.best is not None
        subproblem = self._subproblem(task)
        if not known:
            self._note_gain(subproblem)
        task = replace(task, bound=max(task.bound, subproblem.root_bound * (1 - SEARCH_TOLERANCE)))
        if known and task.bound >= self.threshold:
            return None
        near = Neighbourhood(self.problem, self._prices, task.assignment, self.in_time)
        nodes = effort
        while not subproblem.finished and nodes > 0:
            self._require_time()
            kinds = subproblem.proceed(min(nodes, _NODES_PER_CALL))
            nodes -= _NODES_PER_CALL if kinds is None else 1
            if kinds is not None:
                self._judge(subproblem, near, kinds)
                if not known and self.best is not None:
                    return task
        return None if subproblem.finished else task

    def _may_be_feasible(self, task: Task) -> bool:
        """Whether any scenarios are left that a plan of the subproblem may meet in time."""
        subproblem = self._subproblem(task)
        self._note_gain(subproblem)
        found = None if subproblem.finished else subproblem.proceed(_NODES_PER_CALL)
        return found is not None or not subproblem.finished

    def _note_gain(self, subproblem: Subproblem) -> None:
        """What no plan of the subproblem exceeds in enough scenarios, for the reason why there is none."""
        if not subproblem.finished:
            allowed = self.problem.allowed
            gain = float(np.partition(subproblem.root_gains(), allowed)[allowed])
            self._best_gain = max(self._best_gain, gain)

    def _subproblem(self, task: Task) -> Subproblem:
        return Subproblem(
            self.problem,
            self._prices,
            task.assignment,
            task.length,
            self._multipliers(task) if self.best is not None else (),
            self.threshold,
            self._hardest(),
        )

    def _judge(self, subproblem: Subproblem, near: Neighbourhood, kinds: Sequence[int]) -> None:
        """Cost a leaf exactly: a new incumbent, or one more price of time that excludes it."""
        self.leaves += 1
        start = self.best.multiplier if self.best is not None else usual_time_price(self._prices)
        plan = near.costed(kinds, start, math.inf)
        if plan is not None and plan.cost < self.cost:
            self._accept(plan)
            subproblem.lower_cutoff(self.threshold)
        self._require_time()  # not all clusters were tried if it ran out on the way
        if plan is None:
            return
        if 0 < len(subproblem.multipliers) < MOST_MULTIPLIERS:
            subproblem.add_multiplier(plan.multiplier)

    def _why_infeasible(self) -> str:
        return infeasibility_reason(self.problem, self._prices, self._listed, self._best_gain)

    def _multipliers(self, task: Task) -> tuple[float, ...]:
        """Prices of time for the cost charges of a subproblem, the one that bounds it best first."""
        others = {self._incumbent().multiplier} - {task.multiplier}
        return (task.multiplier, *others)

    def _hardest(self) -> NDArray[np.intp]:
        """Scenarios, those that the incumbent meets least first."""
        if self.best is None:
            return np.arange(self.problem.size)
        return np.argsort(self.problem.gain(self.best.choices), kind="stable")
