"""What every exact search shares: an incumbent, a lower bound, and subproblems explored by increasing bound.

Every assignment of data and every number of epochs is a *subproblem*. Where assignments are too many to list,
parts of them are bounded together, and divided as long as their bound is below the incumbent (`data_parts`).
Subproblems get little effort each in the first round and more in every further one, so that a hard one does
not keep an easy one from improving the incumbent. The lower bound at any moment is the least bound of an
unfinished subproblem.

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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from depl.models.exact.assignments import (
    LARGEST_ASSIGNMENTS,
    Assignment,
    assignments,
    count_assignments,
    undominated,
)
from depl.models.exact.choices import Choices
from depl.models.exact.clusters import Clustered
from depl.models.exact.data_parts import DataPart, DataParts
from depl.models.exact.prices import Prices
from depl.models.foundation.best_first import BestFirst
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.tolerances import SEARCH_TOLERANCE
from depl.models.problem.plan import Plan
from depl.models.solving.methods import Limits, Outcome
from depl.models.solving.result import Termination

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
    leaves : int
        Leaves of the search that were judged exactly.
    build_seconds : float
        Of the tables that do not depend on any plan [s].
    """

    problem: Choices
    limits: Limits
    best: Clustered | None = None
    lower: float = 0.0
    leaves: int = field(default=0, init=False)
    _unit: int = field(default=0, init=False)
    _assigned: list[Assignment] = field(default_factory=list, init=False)
    _parts: DataParts | None = field(default=None, init=False)
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
        """Tables that do not depend on any plan."""
        self._prices = Prices.of(self.problem)
        self._parts = None
        if count_assignments(self.problem) > LARGEST_ASSIGNMENTS:
            self._parts = DataParts(self.problem, self._prices)
            self._assigned = self._parts.first_assignments()
        else:
            self._assigned = undominated(assignments(self.problem))
        self._assigned.sort(key=lambda item: item.transfers)
        self._unit = self._common_unit()

    def share(self, other: "TreeSearch") -> None:
        """Take the tables of a search whose problem differs in gains alone, instead of building them."""
        self._prices, self._assigned, self._unit = other._prices, other._assigned, other._unit
        self._parts = other._parts

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
        """What is proved once no plan below the threshold is left beside the incumbent.

        Where a cheaper plan is known elsewhere, that is about the other plan alone.
        """
        self.lower = max(self.lower, self._next_cost(self.threshold))
        if self.limits.cutoff_cost < self.cost:
            return Termination.EXHAUSTED
        return Termination.GAP_REACHED if self.limits.gap > SEARCH_TOLERANCE else Termination.OPTIMAL

    def tasks(self) -> list[Task | DataPart]:
        """All subproblems whose bound is below the incumbent, by increasing bound, or the part of all."""
        if self._parts is not None:
            return [self._parts.everything()]
        found: list[Task] = []
        for assignment in self._assigned:
            self._require_time()
            if assignment.transfers >= self.threshold:
                break
            found += [task for task in self._bounded(assignment) if task.bound < self.threshold]
        return [*sorted(found, key=lambda task: task.bound)]

    def explore(self, tasks: Sequence[Task | DataPart], effort: int) -> list[Task | DataPart]:
        """Give every task, by increasing bound, at most so much effort, and divide parts; what is left."""
        waiting = BestFirst[Task | DataPart]()
        for task in tasks:
            waiting.push(task.bound, task)
        left: list[Task | DataPart] = []
        least = math.inf
        while waiting.least < self.threshold:
            _, task = waiting.pop()
            if isinstance(task, DataPart):
                for item in self._divided(task):
                    waiting.push(item.bound, item)
            else:
                rest = self._explored(task, effort)
                if rest is not None:
                    left.append(rest)
                    least = min(least, rest.bound)
            self._raise_bound(min(least, waiting.least, self.threshold))
        return sorted(left, key=lambda task: task.bound)

    def _divided(self, part: DataPart) -> list[Task | DataPart]:
        """Smaller parts, or the subproblems of a single assignment, whose bounds are below the incumbent."""
        parts = self._required_parts()
        self._require_time()
        if part.whole:
            tasks = self._bounded(parts.assignment(part))
            tasks = [replace(task, bound=max(task.bound, part.bound)) for task in tasks]
            return [task for task in tasks if task.length in part.lengths and task.bound < self.threshold]
        values = self._prices.at(self._incumbent().multiplier)
        found: list[Task | DataPart] = []
        for child in parts.divided(part, parts.relaxed(part), values):
            self._require_time()
            bounds = {task.length: task.bound for task in self._bounded(parts.relaxed(child))}
            lengths = tuple(length for length in child.lengths if bounds[length] < self.threshold)
            if lengths:
                least = max(part.bound, min(bounds[length] for length in lengths))
                found.append(replace(child, bound=least, lengths=lengths))
        return found

    @abstractmethod
    def _bounded(self, assignment: Assignment) -> list[Task]:
        """The subproblems of an assignment, each with a lower bound."""

    @abstractmethod
    def _explored(self, task: Task, effort: int) -> Task | None:
        """Search a subproblem; None if it is finished, otherwise the task that is left, better bounded."""

    @abstractmethod
    def _why_infeasible(self) -> str:
        """What stands in the way of every plan, in the user's words."""

    @abstractmethod
    def _may_be_feasible(self, task: Task) -> bool:
        """Whether a short search for a plan of a subproblem that keeps the limits of time leaves any."""

    def _feasible(self) -> bool:
        """Find any plan, or prove that there is none, with the fastest times in place of costs."""
        if self._parts is not None:
            return self._feasible_in_parts(self._parts)
        lengths = range(1, self.problem.epochs + 1)
        return self._feasible_among(Task(0.0, item, n, 0.0) for item in self._assigned for n in lengths)

    def _feasible_in_parts(self, parts: DataParts) -> bool:
        """The same, depth first on parts in which a set of data may change from epoch to epoch."""
        waiting = [parts.everything()]
        while waiting:
            part = waiting.pop()
            self._require_time()
            allowed = parts.uncharged(part)
            if part.whole:
                tasks = [Task(0.0, parts.assignment(part), length, 0.0) for length in part.lengths]
                if self._feasible_among(tasks):
                    return True
                continue
            lengths = tuple(n for n in part.lengths if self._may_be_feasible(Task(0.0, allowed, n, 0.0)))
            if lengths:
                children = parts.divided(replace(part, lengths=lengths), allowed, self._prices.fastest)
                waiting += reversed(children)
        return False

    def _feasible_among(self, tasks: Iterable[Task]) -> bool:
        """Find a plan of one of these subproblems, or prove that there is none."""
        effort = FIRST_ROUND
        while tasks:
            left = []
            for task in tasks:
                self._require_time()
                if self._explored(task, effort) is not None:
                    left.append(task)
                if self.best is not None:
                    return True
            tasks = left
            effort *= GROWTH
        return False

    def _proved(self, tasks: Sequence[Task | DataPart]) -> Termination:
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
            return Outcome(termination, plan, lower, build_seconds=self.build_seconds)
        if termination is Termination.INFEASIBLE:
            return Outcome(termination, None, math.inf, self._reason(), build_seconds=self.build_seconds)
        reason = "stopped before a plan was found or proved impossible; allow more time"
        if termination is Termination.EXHAUSTED:
            reason = "no plan is cheaper than the one that is known"
        return Outcome(termination, None, self.lower, reason, build_seconds=self.build_seconds)

    def _reason(self) -> str:
        try:
            return self._why_infeasible()
        except OutOfTimeError:
            return UNEXPLAINED

    def _incumbent(self) -> Clustered:
        if self.best is None:
            raise RuntimeError("costs are bounded relative to an incumbent")
        return self.best

    def _required_parts(self) -> DataParts:
        if self._parts is None:
            raise RuntimeError("assignments are listed, not divided")
        return self._parts

    @property
    def _listed(self) -> list[Assignment]:
        """All assignments, those apart whose plans are plans of others; none if they are too many to list."""
        return self._assigned if self._parts is None else []

    def _every_assignment(self) -> list[Assignment]:
        """Assignments whose plans are all plans, or one that allows more."""
        if self._parts is None:
            return self._assigned
        return [self._parts.relaxed(self._parts.everything())]

    def _most_kinds(self) -> int:
        """Ways to learn that an assignment can offer, at most."""
        if self._parts is None:
            return max((len(item.models) for item in self._assigned), default=0)
        used = min(self.problem.epochs, len(self.problem.instance.clusters))
        return min(used, len(set(self.problem.first_alike))) * len(self.problem.instance.models)

    def _common_unit(self) -> int:
        """A whole number that divides what every plan costs; 0 if there is none."""
        instance = self.problem.instance
        known = [instance.transfer_cost(d.name, n.name) for d in instance.datasets for n in instance.clusters]
        whole = all(cost == math.floor(cost) for cost in known)
        return math.gcd(self._prices.unit, *map(int, known)) if whole and self._prices.unit else 0

    def _next_cost(self, bound: float) -> float:
        """The least that a plan can cost which does not cost less than ``bound`` [cost], less a slack."""
        if not self._unit or math.isinf(bound):
            return bound
        following = math.ceil(bound / self._unit - _ROUNDED_UP) * self._unit
        return max(bound, following * (1 - SEARCH_TOLERANCE))

    def _accept(self, plan: Clustered) -> None:
        self.best = plan
        self.limits.report(self.cost, min(self.lower, self.cost))

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
