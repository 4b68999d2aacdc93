"""What every exact search shares: an incumbent, a lower bound, and subproblems explored by increasing bound.

Every assignment of data and every number of epochs is a *subproblem*. Subproblems get little effort each in
the first round and more in every further one, so that a hard one does not keep an easy one from improving the
incumbent. The lower bound at any moment is the least bound of an unfinished subproblem.

Rounding. All pruning leaves a slack of `SEARCH_TOLERANCE` (relative) below the incumbent, far above what
double precision loses in sums of a few hundred terms. The cost of a plan that makes use of the relative
tolerance 1e-9 of T_max may be below its own bound by lam T_max 1e-9, as in
`depl.models.problem.allocation.dual_bound`.

Whole costs. Where every plan costs a multiple of some unit u, a plan below a limit costs at most the greatest
multiple m u below it: only plans below (m + 1/2) u are looked for, and a lower bound b is as good as the next
multiple of u.
"""

import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from depl.models.exact.assignments import (
    LARGEST_ASSIGNMENTS,
    Assignment,
    assignments,
    count_assignments,
    undominated,
)
from depl.models.exact.choices import Choices
from depl.models.exact.clusters import Clustered
from depl.models.exact.prices import Prices
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.tolerances import SEARCH_TOLERANCE
from depl.models.problem.plan import Plan
from depl.models.solving.methods import Limits, Outcome
from depl.models.solving.result import DualBound, Termination

UNEXPLAINED = "models: no plan meets the target within the epochs and the time limits"
"""Said where the proof that there is no plan stands, and time is over before its explanation."""

FIRST_ROUND = 2_000_000
"""Effort for every subproblem in the first round."""

_ROUNDED_UP = 1e-3
"""Share of a unit by which a lower bound may exceed a multiple and still be taken for it: far above what
rounding adds to a bound, which the next multiple must not be made of."""

GROWTH = 8
"""How many times more it is in every further one."""


@dataclass(frozen=True, eq=False)
class Task:
    """A subproblem that is still open: its lower bound, and the price of time that gives it."""

    bound: float
    assignment: Assignment
    length: int
    multiplier: float


@dataclass
class TreeSearch(ABC):
    """The state of one search.

    Attributes
    ----------
    best : Clustered or None
        The incumbent.
    lower : float
        No feasible plan costs less [cost].
    dual : DualBound or None
        A weaker bound that can be proved again without a search.
    leaves : int
        Leaves of the search that were judged exactly.
    build_seconds : float
        Of the tables that do not depend on any plan [s].
    """

    problem: Choices
    limits: Limits
    best: Clustered | None = None
    lower: float = 0.0
    dual: DualBound | None = field(default=None, init=False)
    leaves: int = field(default=0, init=False)
    _unit: int = field(default=0, init=False)
    build_seconds: float = field(default=0.0, init=False)

    def answer(self) -> Outcome:
        """Build and run; what can be said in the end, or when the time limit or the user stops the search."""
        started = time.perf_counter()
        try:
            self.build()
            self.build_seconds = time.perf_counter() - started
            termination = self.run()
        except KeyboardInterrupt:
            termination = Termination.INTERRUPTED
        except OutOfTimeError:
            termination = Termination.TIME_LIMIT
        return self._outcome(termination)

    @abstractmethod
    def run(self) -> Termination:
        """Search until something is proved."""

    def build(self) -> None:
        """Tables that do not depend on any plan.

        Raises
        ------
        NotCoveredError
            If there are more than `LARGEST_ASSIGNMENTS` assignments of data to clusters.
        """
        count = count_assignments(self.problem)
        if count > LARGEST_ASSIGNMENTS:
            raise NotCoveredError(
                f"the search accepts at most {LARGEST_ASSIGNMENTS} assignments of data to clusters that the "
                f"epochs can use, there are {count}; use another method"
            )
        self._prices = Prices.of(self.problem)
        self._assigned = sorted(undominated(assignments(self.problem)), key=lambda item: item.transfers)
        transfers = [item.transfers for item in self._assigned]
        whole = all(cost == math.floor(cost) for cost in transfers)
        self._unit = math.gcd(self._prices.unit, *map(int, transfers)) if whole and self._prices.unit else 0

    def share(self, other: "TreeSearch") -> None:
        """Take the tables of a search whose problem differs in gains alone, instead of building them."""
        self._prices, self._assigned, self._unit = other._prices, other._assigned, other._unit

    @property
    def cost(self) -> float:
        """Cost of the incumbent [cost]; infinite without one."""
        return math.inf if self.best is None else self.best.cost

    @property
    def threshold(self) -> float:
        """Only plans that cost less are looked for [cost]."""
        cost = min(self.cost, self.limits.cutoff_cost)
        if math.isinf(cost):
            return cost
        limit = cost * (1 - max(self.limits.gap, SEARCH_TOLERANCE))
        return min(limit, (math.ceil(limit / self._unit) - 0.5) * self._unit) if self._unit else limit

    def ended_without_plan(self) -> Termination:
        """What is proved once no plan below the threshold can be found."""
        if math.isinf(self.threshold):
            return Termination.INFEASIBLE
        self.lower = max(self.lower, self._next_cost(self.threshold))
        return Termination.EXHAUSTED

    def ended(self) -> Termination:
        """What is proved once no plan below the threshold is left beside the incumbent."""
        self.lower = max(self.lower, self._next_cost(self.threshold))
        return Termination.GAP_REACHED if self.limits.gap > SEARCH_TOLERANCE else Termination.OPTIMAL

    def tasks(self) -> list[Task]:
        """All subproblems whose bound is below the incumbent, by increasing bound."""
        found: list[Task] = []
        for assignment in self._assigned:
            self._require_time()
            if assignment.transfers >= self.threshold:
                break
            found += [task for task in self._bounded(assignment) if task.bound < self.threshold]
        return sorted(found, key=lambda task: task.bound)

    def explore(self, tasks: list[Task], effort: int) -> list[Task]:
        """Give every task, by increasing bound, at most so much effort; those that are still open."""
        left: list[Task] = []
        for index, task in enumerate(tasks):
            if task.bound >= self.threshold:
                break
            rest = self._explored(task, effort)
            if rest is not None:
                left.append(rest)
            following = [item.bound for item in (*left, *tasks[index + 1 : index + 2])]
            self._raise_bound(min([*following, self.threshold]))
        return sorted(left, key=lambda task: task.bound)

    @abstractmethod
    def _bounded(self, assignment: Assignment) -> list[Task]:
        """The subproblems of an assignment, each with a lower bound."""

    @abstractmethod
    def _explored(self, task: Task, effort: int) -> Task | None:
        """Search a subproblem; None if it is finished, otherwise the task that is left, better bounded."""

    @abstractmethod
    def _why_infeasible(self) -> str:
        """What stands in the way of every plan, in the user's words."""

    def _feasible(self) -> bool:
        """Find any plan, or prove that there is none, with the fastest times in place of costs."""
        lengths = range(1, self.problem.epochs + 1)
        tasks = [Task(0.0, item, length, 0.0) for item in self._assigned for length in lengths]
        effort = FIRST_ROUND
        while tasks:
            left = []
            for task in tasks:
                if self._explored(task, effort) is not None:
                    left.append(task)
                if self.best is not None:
                    return True
            tasks = left
            effort *= GROWTH
        return False

    def _proved(self, tasks: list[Task]) -> Termination:
        """Explore every subproblem that may hold a better plan."""
        effort = FIRST_ROUND
        while tasks:
            tasks = self.explore(tasks, effort)
            effort *= GROWTH
        return self.ended()

    def _outcome(self, termination: Termination) -> Outcome:
        """What can be said now."""
        if self.best is not None:
            plan = self.problem.plan(self.best.choices) if self.best.choices else Plan()
            lower = min(self.lower, self.best.cost)
            return Outcome(termination, plan, lower, None, self.dual, self.build_seconds)
        if termination is Termination.INFEASIBLE:
            return Outcome(termination, None, math.inf, self._reason(), None, self.build_seconds)
        reason = "stopped before a plan was found or proved impossible; allow more time"
        if termination is Termination.EXHAUSTED:
            reason = "no plan is cheaper than the one that is known"
        return Outcome(termination, None, self.lower, reason, self.dual, self.build_seconds)

    def _reason(self) -> str:
        try:
            return self._why_infeasible()
        except OutOfTimeError:
            return UNEXPLAINED

    def _incumbent(self) -> Clustered:
        if self.best is None:
            raise RuntimeError("costs are bounded relative to an incumbent")
        return self.best

    def _next_cost(self, bound: float) -> float:
        """The least that a plan can cost which does not cost less than ``bound`` [cost], less a slack."""
        if not self._unit or math.isinf(bound):
            return bound
        following = math.ceil(bound / self._unit - _ROUNDED_UP) * self._unit
        return max(bound, following * (1 - SEARCH_TOLERANCE))

    def _raise_bound(self, bound: float) -> None:
        bound = self._next_cost(bound)
        if bound > self.lower:
            self.lower = bound
            self.limits.report(self.cost, min(self.lower, self.cost))

    def in_time(self) -> bool:
        """Whether the time limit has not been reached."""
        return not self.limits.expired()

    def _require_time(self) -> None:
        if not self.in_time():
            raise OutOfTimeError
