"""Method ``scenario-search``: a cheapest plan under scenarios, proved by depth-first search.

1. Plans with at most one switch and exchanges of blocks give an incumbent (`incumbents`). If there is none,
   the search below runs with the fastest times in place of costs until it finds a plan or proves that none
   exists. A short search among the plans that never go back to a model improves it.
2. Every assignment of data and every number of epochs is a *subproblem*. Prices of time and gain bound each
   of them from below (`root_bound.length_bounds`); they are explored by increasing bound.
3. A subproblem is searched depth first (`subproblem`). What survives as a leaf is judged by the sums of
   `SampledProblem` and by its exact allocation (`clusters`), so that rounding in the search decides nothing.

Subproblems get few nodes each in the first round and `_GROWTH` times more in every further one, so that a
hard one does not keep an easy one from improving the incumbent. The lower bound at any moment is the least
bound of an unfinished subproblem.

Rounding. All pruning leaves a slack of `OPTIMALITY` (relative) below the incumbent and of `subproblem`'s on
gains; both are far above what double precision loses in sums of a few hundred terms. The cost of a plan that
makes use of the relative tolerance 1e-9 of T_max may be below its own bound by lam T_max 1e-9, as in
`depl.models.allocation.dual_bound`.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from depl.models.errors import NotCoveredError
from depl.models.laws import FloatArray
from depl.models.methods import DEFAULT_SCENARIOS, Limits, Outcome
from depl.models.plan import Plan
from depl.models.problem import Instance
from depl.models.result import DualBound, Termination
from depl.models.scenarios.draws import draw_scenarios
from depl.models.scenarios.sampled import SampledProblem
from depl.models.search.assignments import LARGEST_ASSIGNMENTS, Assignment, assignments, count_assignments
from depl.models.search.clusters import Clustered
from depl.models.search.incumbents import Neighbourhood
from depl.models.search.prices import Prices
from depl.models.search.reasons import infeasibility_reason
from depl.models.search.root_bound import best_root_bound, length_bounds, usual_time_price
from depl.models.search.subproblem import Subproblem

OPTIMALITY = 5e-10
"""Relative difference of costs below which a plan is not looked for."""

_NODES_PER_CALL = 200_000
_FIRST_ROUND = 2_000_000
_GROWTH = 8
_ORDERED_NODES = 200_000
_MOST_MULTIPLIERS = 6
_STARTS = 12
_TIME_PRICES = (0.7, 1.0, 1.4)
_GAIN_PRICES = 2.0 ** np.arange(-2.0, 3.1, 0.5)


class _OutOfTimeError(Exception):
    """The time limit has been reached."""


@dataclass(frozen=True, eq=False)
class _Task:
    """A subproblem that is still open: its lower bound, and the price of time that gives it."""

    bound: float
    assignment: Assignment
    length: int
    multiplier: float


def scenario_search(instance: Instance, limits: Limits) -> Outcome:
    """Cheapest plan under scenarios by exact search; proves optimality and infeasibility.

    Raises
    ------
    NotCoveredError
        If there are more than 4096 assignments of data to clusters.
    """
    started = time.perf_counter()
    sample = limits.scenarios
    if sample is None:
        sample = draw_scenarios(instance, DEFAULT_SCENARIOS, limits.seed)
    search = ScenarioSearch(SampledProblem(instance, sample), limits)
    try:
        search.build()
        search.build_seconds = time.perf_counter() - started
        termination = search.run()
    except KeyboardInterrupt:
        termination = Termination.INTERRUPTED
    except _OutOfTimeError:
        termination = Termination.TIME_LIMIT
    return search.outcome(termination)


@dataclass
class ScenarioSearch:
    """The state of one search: the incumbent, the lower bound, and what is still open.

    Attributes
    ----------
    best : Clustered or None
        The incumbent.
    lower : float
        No feasible plan costs less [cost].
    leaves : int
        Leaves of the search that were judged exactly.
    """

    problem: SampledProblem
    limits: Limits
    best: Clustered | None = None
    lower: float = 0.0
    leaves: int = 0
    build_seconds: float = 0.0
    dual: DualBound | None = None

    def build(self) -> None:
        """Tables that do not depend on any plan."""
        count = count_assignments(self.problem)
        if count > LARGEST_ASSIGNMENTS:
            raise NotCoveredError(
                f"the search accepts at most {LARGEST_ASSIGNMENTS} assignments of data to clusters, there "
                f"are {count}; use another method"
            )
        self._prices = Prices.of(self.problem)
        self._assigned = sorted(assignments(self.problem), key=lambda item: item.transfers)
        self._best_gain = -math.inf

    def run(self) -> Termination:
        """Search until something is proved."""
        if self.problem.misses(()) <= self.problem.allowed:
            self.best, self.dual = Clustered((), 0.0, 0.0), DualBound(0.0, 0.0, 0.0)
            return Termination.OPTIMAL
        self._first_plans()
        if self.best is None and not self._feasible():
            return Termination.INFEASIBLE
        self._ordered_plans()
        self.dual = best_root_bound(self.problem, self._incumbent().multiplier)
        self._raise_bound(min(self.dual.bound * (1 - OPTIMALITY), self.threshold))
        self._prove()
        self.lower = self.threshold
        return Termination.GAP_REACHED if self.limits.gap > OPTIMALITY else Termination.OPTIMAL

    def outcome(self, termination: Termination) -> Outcome:
        """What can be said now."""
        if self.best is not None:
            plan = self.problem.plan(self.best.choices) if self.best.choices else Plan()
            lower = min(self.lower, self.best.cost)
            return Outcome(termination, plan, lower, None, self.dual, self.build_seconds)
        if termination is Termination.INFEASIBLE:
            reason = infeasibility_reason(self.problem, self._prices, self._assigned, self._best_gain)
            return Outcome(termination, None, math.inf, reason, None, self.build_seconds)
        reason = "stopped before a plan was found or proved impossible; allow more time"
        return Outcome(termination, None, self.lower, reason, self.dual, self.build_seconds)

    @property
    def cost(self) -> float:
        """Cost of the incumbent [cost]; infinite without one."""
        return math.inf if self.best is None else self.best.cost

    @property
    def threshold(self) -> float:
        """Only plans that cost less are looked for [cost]."""
        return self.cost if self.best is None else self.cost * (1 - max(self.limits.gap, OPTIMALITY))

    def _first_plans(self) -> None:
        """Plans with at most one switch under every assignment, improved by exchanges."""
        for assignment in self._assigned:
            if assignment.transfers >= self.cost:
                break
            self._require_time()
            near = Neighbourhood(self.problem, self._prices, assignment)
            multiplier = self.best.multiplier if self.best is not None else usual_time_price(self._prices)
            for _ in range(_STARTS):
                kinds = near.one_switch(multiplier, self.cost)
                plan = None if kinds is None else near.costed(kinds, multiplier, math.inf)
                if kinds is None:
                    break
                if plan is None:  # too slow: time has to be dearer
                    multiplier *= 4
                    continue
                if plan.cost < self.cost:
                    self._accept(near, kinds, plan)
                if plan.multiplier == multiplier:
                    break
                multiplier = plan.multiplier

    def _accept(self, near: Neighbourhood, kinds: Sequence[int], plan: Clustered) -> None:
        self.best = plan
        self.best = near.improved(kinds, plan)[1]
        self.limits.report(self.cost, min(self.lower, self.cost))

    def _ordered_plans(self) -> None:
        """Search, for few nodes, among the plans that run through the models in one order, or in the other.

        Forbidding all ways back leaves each scenario little choice, so these searches mostly end quickly, and
        where switching costs something their plans are close to the best.
        """
        back = np.tril(np.ones_like(self.problem.may_follow), -1)
        for barred in (back, back.T):
            if self.best is None or not (self.problem.may_follow & barred).any():
                return
            problem = replace(self.problem, barred=barred)
            search = ScenarioSearch(problem, replace(self.limits, progress=None), self.best)
            search.build()
            try:
                search.explore(search.tasks(), _ORDERED_NODES)
            finally:
                self.best = search.best
            self.limits.report(self.cost, min(self.lower, self.cost))

    def _feasible(self) -> bool:
        """Find any plan, or prove that there is none, with the fastest times in place of costs."""
        lengths = range(1, self.problem.epochs + 1)
        tasks = [_Task(0.0, item, length, 0.0) for item in self._assigned for length in lengths]
        nodes = _FIRST_ROUND
        while tasks:
            left = []
            for task in tasks:
                if not self._explored(task, nodes):
                    left.append(task)
                if self.best is not None:
                    return True
            tasks = left
            nodes *= _GROWTH
        return False

    def _prove(self) -> None:
        """Explore every subproblem that may hold a better plan."""
        tasks = self.tasks()
        nodes = _FIRST_ROUND
        while tasks:
            tasks = self.explore(tasks, nodes)
            nodes *= _GROWTH

    def explore(self, tasks: list[_Task], nodes: int) -> list[_Task]:
        """Give every task, by increasing bound, at most so many nodes; those that are still open."""
        left: list[_Task] = []
        for index, task in enumerate(tasks):
            if task.bound >= self.threshold:
                break
            if not self._explored(task, nodes):
                left.append(task)
            following = [left[0].bound] if left else [item.bound for item in tasks[index + 1 : index + 2]]
            self._raise_bound(min([*following, self.threshold]))
        return left

    def tasks(self) -> list[_Task]:
        """All subproblems whose bound is below the incumbent, by increasing bound."""
        found = []
        for assignment in self._assigned:
            self._require_time()
            if assignment.transfers >= self.threshold:
                break
            bounds, chosen = self._bounds(assignment)
            for length in range(1, self.problem.epochs + 1):
                if bounds[length] < self.threshold:
                    found.append(_Task(float(bounds[length]), assignment, length, float(chosen[length])))
        return sorted(found, key=lambda task: task.bound)

    def _bounds(self, assignment: Assignment) -> tuple[FloatArray, FloatArray]:
        """Lower bounds by number of epochs at several prices, and the best price of time of each."""
        incumbent = self._incumbent()
        usual = self.cost / self.problem.needed
        best = np.full(self.problem.epochs + 1, -math.inf)
        chosen = np.full(self.problem.epochs + 1, incumbent.multiplier)
        for factor in _TIME_PRICES if incumbent.multiplier > 0 else (1.0,):
            multiplier = factor * incumbent.multiplier
            bounds = length_bounds(self.problem, self._prices, assignment, multiplier, usual * _GAIN_PRICES)
            chosen = np.where(bounds > best, multiplier, chosen)
            best = np.maximum(best, bounds)
        return best * (1 - OPTIMALITY), chosen

    def _explored(self, task: _Task, nodes: int) -> bool:
        """Search a subproblem for at most so many nodes; whether it is finished."""
        self._require_time()
        known = self.best is not None
        multipliers = self._multipliers(task) if known else ()
        subproblem = Subproblem(
            self.problem,
            self._prices,
            task.assignment,
            task.length,
            multipliers,
            self.threshold,
            self._hardest(),
        )
        if not known and not subproblem.finished:
            gains = subproblem.root_gains()
            self._best_gain = max(
                self._best_gain, float(np.partition(gains, self.problem.allowed)[self.problem.allowed])
            )
        near = Neighbourhood(self.problem, self._prices, task.assignment)
        while not subproblem.finished and nodes > 0:
            self._require_time()
            kinds = subproblem.proceed(min(nodes, _NODES_PER_CALL))
            nodes -= _NODES_PER_CALL if kinds is None else 1
            if kinds is not None:
                self._judge(subproblem, near, kinds)
                if not known and self.best is not None:
                    return False
        return subproblem.finished

    def _judge(self, subproblem: Subproblem, near: Neighbourhood, kinds: Sequence[int]) -> None:
        """Cost a leaf exactly: a new incumbent, or one more price of time that excludes it."""
        self.leaves += 1
        start = self.best.multiplier if self.best is not None else usual_time_price(self._prices)
        plan = near.costed(kinds, start, math.inf)
        if plan is None:
            return
        if plan.cost < self.cost:
            self._accept(near, kinds, plan)
            subproblem.lower_cutoff(self.threshold)
        if 0 < len(subproblem.multipliers) < _MOST_MULTIPLIERS:
            subproblem.add_multiplier(plan.multiplier)

    def _multipliers(self, task: _Task) -> tuple[float, ...]:
        """Prices of time for the cost charges of a subproblem, the one that bounds it best first."""
        others = {self._incumbent().multiplier} - {task.multiplier}
        return (task.multiplier, *others)

    def _hardest(self) -> NDArray[np.intp]:
        """Scenarios, those that the incumbent meets least first."""
        if self.best is None:
            return np.arange(len(self.problem.scenarios))
        return np.argsort(self.problem.gain(self.best.choices), kind="stable")

    def _incumbent(self) -> Clustered:
        if self.best is None:
            raise RuntimeError("costs are bounded relative to an incumbent")
        return self.best

    def _raise_bound(self, bound: float) -> None:
        if bound > self.lower:
            self.lower = bound
            self.limits.report(self.cost, min(self.lower, self.cost))

    def _require_time(self) -> None:
        if self.limits.expired():
            raise _OutOfTimeError
