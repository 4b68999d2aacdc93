"""One exact search for every meaning of the quantile: subproblems explored by increasing lower bound.

Every assignment of data and every number of epochs is a *subproblem*. Where assignments are too many to list,
parts of them are bounded together and divided. Subproblems get little effort each in the first
round and more in every further one. The lower bound at any moment is the least bound of an unfinished one.
What the quantile means is a `Risk`. Rounding and whole costs: page "Optima under the law" (``exact``).
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from depl.models.exact.assignments import (
    Assignment,
    DataPart,
    DataParts,
    assignments,
    few_assignments,
    undominated,
)
from depl.models.exact.clusters import Clustered, cheapest_clusters
from depl.models.exact.kernels import Sample
from depl.models.exact.law_problem import LawProblem
from depl.models.exact.root_bounds import length_bounds, usual_time_price
from depl.models.exact.sampled import CountedProblem
from depl.models.exact.subproblem import Subproblem
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.search import BestFirst
from depl.models.foundation.tolerances import SEARCH_TOLERANCE
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import Plan
from depl.models.risk.verdicts import Verdict
from depl.models.solving.limits import Limits
from depl.models.solving.result import Outcome, Termination

UNEXPLAINED = "models: no plan meets the target within the epochs and the time limits"
"""Said where the proof that there is no plan stands, and time is over before its explanation."""

GROWTH = 8
"""How many times more effort than in the round before there is in every further one."""

_GAIN_PRICES = 2.0 ** np.arange(-2.0, 3.1, 0.5)
"""Prices of gain at which subproblems are bounded, in costs of the incumbent over the gain asked for: set by
hand, a quarter to eight times that in steps of sqrt(2). Each costs a dynamic program; any price is sound."""

_MOST_MULTIPLIERS = 6
"""Prices of time charged at once at most, set by hand. Each is one more sum at every node, and excludes more
plans that cost too much; with fewer, more leaves are costed, and what is proved is the same."""

_LARGEST_WHOLE = 2.0**52
"""Sums of whole numbers below it have no rounding, and halves of them can be told."""

_ROUNDED_UP = 1e-3
"""Share of a unit by which a lower bound may exceed a multiple and still be taken for it: far above what
rounding adds to a bound, which the next multiple must not be made of."""


@dataclass(frozen=True, eq=False)
class Task:
    """A subproblem that is still open: its lower bound, and the price of time that gives it."""

    bound: float
    assignment: Assignment
    length: int
    multiplier: float


class Risk(ABC):
    """What the quantile means to a search: counted scenarios, chords, or the law."""

    problem: CountedProblem | LawProblem
    first_round: int  # nodes for every subproblem in the first round
    nodes_per_call: int  # between two looks at the clock
    nodes_per_leaf: int  # that the judging of a leaf counts as
    time_prices: tuple[float, ...] = (1.0,)  # in multipliers of the incumbent, to bound subproblems at

    @abstractmethod
    def first_plans(self, search: "Search") -> None:
        """Look for an incumbent; nothing is proved by it."""

    @abstractmethod
    def relaxed(self, assignment: Assignment) -> tuple[Sample, float | FloatArray]:
        """Gains whose sums have to reach something, and what, for all numbers of epochs or by each."""

    @abstractmethod
    def subproblem(
        self, search: "Search", task: Task, multipliers: tuple[float, ...], effort: int
    ) -> Subproblem:
        """The search of one subproblem."""

    @abstractmethod
    def why_infeasible(self, search: "Search") -> str:
        """What stands in the way of every plan, in the user's words."""


@dataclass
class Search:
    """The state of one search."""

    risk: Risk
    limits: Limits
    best: Clustered | None = None  # the incumbent
    lower: float = 0.0  # no feasible plan costs less [cost]
    undecided: float = field(default=math.inf, init=False)  # least cost of a leaf of which nothing is decided
    build_seconds: float = field(default=0.0, init=False)
    assigned: list[Assignment] = field(default_factory=list, init=False)
    _unit: int = field(default=0, init=False)

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

    def build(self) -> None:
        """Tables that do not depend on any plan."""
        self._parts = DataParts(self.problem)
        self._divide = not few_assignments(self.problem)
        if self._divide:
            self.assigned = self._parts.first_assignments()
        else:
            self.assigned = undominated(assignments(self.problem))
        self.assigned.sort(key=lambda item: item.transfers)
        self._unit = self._common_unit()

    def on(self, risk: Risk) -> "Search":
        """A search with the same incumbent and tables, of a risk whose problem differs in gains alone."""
        other = Search(risk, replace(self.limits, progress=None), self.best)
        other.assigned, other._parts = self.assigned, self._parts
        other._divide, other._unit = self._divide, self._unit
        return other

    def run(self) -> Termination:
        """Search until something is proved."""
        if self.problem.verdict(()) is Verdict.MET:
            self.best = Clustered((), 0.0, 0.0)
            return Termination.OPTIMAL
        self.risk.first_plans(self)
        if self.best is None:
            self._explore_all()
        if self.best is None:
            return self.settled(self._without_plan())
        self._explore_all()
        return self.settled(self.ended())

    def settled(self, ending: Termination) -> Termination:
        """An undecided plan that costs less than the incumbent may be the optimum."""
        if self.undecided < self.threshold:
            self.lower = self.undecided * (1 - SEARCH_TOLERANCE)
            return Termination.EXHAUSTED
        return ending

    @property
    def problem(self) -> CountedProblem | LawProblem:
        """What plans may choose."""
        return self.risk.problem

    @property
    def cost(self) -> float:
        """Cost of the incumbent [cost]; infinite without one."""
        return math.inf if self.best is None else self.best.cost

    @property
    def multiplier(self) -> float:
        """Price of time of the incumbent, or a usual one without [cost / time]."""
        return usual_time_price(self.problem) if self.best is None else self.best.multiplier

    @property
    def threshold(self) -> float:
        """Only plans that cost less are looked for [cost]."""
        cost = min(self.cost, self.limits.cutoff_cost)
        if math.isinf(cost):
            return cost
        limit = cost * (1 - max(self.limits.gap, SEARCH_TOLERANCE))
        return min(limit, (math.ceil(limit / self._unit) - 0.5) * self._unit) if self._unit else limit

    @property
    def listed(self) -> list[Assignment]:
        """All assignments, those apart whose plans are plans of others; none if they are too many to list."""
        return [] if self._divide else self.assigned

    @property
    def most_kinds(self) -> int:
        """Ways to learn that an assignment can offer, at most."""
        if not self._divide:
            return max((len(item.models) for item in self.assigned), default=0)
        used = min(self.problem.epochs, len(self.problem.instance.clusters))
        return min(used, len(set(self.problem.first_alike))) * len(self.problem.instance.models)

    def ended(self) -> Termination:
        """What is proved once no plan below the threshold is left beside the incumbent.

        Where a cheaper plan is known elsewhere, that is about the other plan alone.
        """
        self.lower = max(self.lower, self._next_cost(self.threshold))
        if self.limits.cutoff_cost < self.cost:
            return Termination.EXHAUSTED
        return Termination.GAP_REACHED if self.limits.gap > SEARCH_TOLERANCE else Termination.OPTIMAL

    def _explore_all(self) -> None:
        """Explore every subproblem, with more effort in each round; without a plan, until there is one."""
        tasks, effort, known = self.tasks(), self.risk.first_round, self.best is not None
        while tasks and known == (self.best is not None):
            tasks = self.explore(tasks, effort)
            effort *= GROWTH

    def tasks(self) -> list[Task | DataPart]:
        """All subproblems whose bound is below the incumbent, by increasing bound, or the part of all."""
        if self._divide:
            return [self._parts.everything()]
        found: list[Task] = []
        for assignment in self.assigned:
            self.require_time()
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
        known = self.best is not None
        while waiting.least < self.threshold and known == (self.best is not None):
            _, task = waiting.pop()
            if isinstance(task, DataPart):
                for item in self._divided(task) if known else self._feasible_parts(task):
                    waiting.push(item.bound, item)
            else:
                rest = self._explored(task, effort)
                if rest is not None:
                    left.append(rest)
                    least = min(least, rest.bound)
            if known:
                self.raise_bound(min(least, waiting.least, self.threshold))
        return sorted(left, key=lambda task: task.bound)

    def accept(self, plan: Clustered) -> None:
        """Make a plan the incumbent if it costs less."""
        if plan.cost < self.cost:
            self.best = plan
            self.limits.report(self.cost, min(self.lower, self.cost))

    def raise_bound(self, bound: float) -> None:
        """No plan costs less; but an undecided one may be the optimum."""
        bound = self._next_cost(min(bound, self.undecided * (1 - SEARCH_TOLERANCE)))
        if bound > self.lower:
            self.lower = bound
            self.limits.report(self.cost, min(self.lower, self.cost))

    def in_time(self) -> bool:
        """Whether the time limit has not been reached."""
        return not self.limits.expired()

    def require_time(self) -> None:
        """Raise `OutOfTimeError` once it has been reached."""
        if not self.in_time():
            raise OutOfTimeError

    def _divided(self, part: DataPart) -> list[Task | DataPart]:
        """Smaller parts, or the subproblems of a single assignment, whose bounds are below the incumbent."""
        parts = self._parts
        self.require_time()
        if part.whole:
            tasks = self._bounded(parts.assignment(part))
            tasks = [replace(task, bound=max(task.bound, part.bound)) for task in tasks]
            return [task for task in tasks if task.length in part.lengths and task.bound < self.threshold]
        found: list[Task | DataPart] = []
        for child in parts.divided(part, parts.relaxed(part), self.problem.psi(self.multiplier)):
            self.require_time()
            bounds = {task.length: task.bound for task in self._bounded(parts.relaxed(child))}
            lengths = tuple(length for length in child.lengths if bounds[length] < self.threshold)
            if lengths:
                least = max(part.bound, min(bounds[length] for length in lengths))
                found.append(replace(child, bound=least, lengths=lengths))
        return found

    def _bounded(self, assignment: Assignment) -> list[Task]:
        """The subproblems of an assignment, bounded at prices of time and of gain once there is a plan."""
        if self.best is None:
            return [Task(0.0, assignment, n, 0.0) for n in range(1, self.problem.epochs + 1)]
        sample, required = self.risk.relaxed(assignment)
        # nothing may have to be gained where only the last model is to be another one
        usual = self.cost / sample.needed if sample.needed > 0 else 0.0
        best: list[Task] = []
        for factor in self.risk.time_prices if self.multiplier > 0 else (1.0,):
            multiplier = factor * self.multiplier
            costs = assignment.cheapest(self.problem.psi(multiplier))
            bounds = length_bounds(sample, costs, usual * _GAIN_PRICES, required)
            bounds += assignment.transfers - self.problem.paid(multiplier)
            bounds *= 1 - SEARCH_TOLERANCE
            tasks = [Task(float(bounds[n]), assignment, n, multiplier) for n in range(1, len(bounds))]
            best = [max(pair, key=lambda item: item.bound) for pair in zip(best or tasks, tasks, strict=True)]
        return best

    def _explored(self, task: Task, effort: int) -> Task | None:
        """Search a subproblem; None if it is finished, otherwise the task that is left, better bounded."""
        self.require_time()
        known, nodes = self.best is not None, effort
        subproblem = self._subproblem(task, effort)
        task = replace(task, bound=max(task.bound, subproblem.root_bound * (1 - SEARCH_TOLERANCE)))
        if known and task.bound >= self.threshold:
            return None
        while not subproblem.finished and nodes > 0:
            self.require_time()
            kinds = subproblem.proceed(min(nodes, self.risk.nodes_per_call))
            nodes -= self.risk.nodes_per_call if kinds is None else self.risk.nodes_per_leaf
            if kinds is not None:
                self._judge(subproblem, kinds)
                if not known and self.best is not None:
                    return task
        return None if subproblem.finished else task

    def _subproblem(self, task: Task, effort: int) -> Subproblem:
        """At the price of time that bounds it best, and that of the incumbent; without one, in time."""
        prices = () if self.best is None else (task.multiplier, self.multiplier)
        return self.risk.subproblem(self, task, tuple(dict.fromkeys(prices)), effort)

    def _judge(self, subproblem: Subproblem, kinds: Sequence[int]) -> None:
        """Cost and judge a leaf exactly: a new incumbent, or one more price of time that excludes it."""
        known = self.problem, subproblem.assignment
        plan = cheapest_clusters(*known, kinds, self.multiplier, self.in_time)
        if plan is not None and plan.cost < self.cost:
            verdict = self.problem.verdict(plan.choices)
            if verdict is Verdict.MET:
                self.accept(plan)
                subproblem.lower_cutoff(self.threshold)
            elif verdict is Verdict.UNDECIDED:
                self.undecided = min(self.undecided, plan.cost)
        self.require_time()  # not all clusters were tried if it ran out on the way
        if plan is not None and 0 < len(subproblem.multipliers) < _MOST_MULTIPLIERS:
            subproblem.add_multiplier(plan.multiplier)

    def _feasible_parts(self, part: DataPart) -> list[Task | DataPart]:
        """Smaller parts, or the subproblems of a single assignment, of which a short search leaves any.

        For any plan, or to prove that there is none, parts are divided depth first, so the bounds by which
        they wait fall; the fastest times stand in place of costs. A set of data may change from epoch to
        epoch there.
        """
        parts, below = self._parts, part.bound - 1.0
        self.require_time()
        if part.whole:
            return [Task(below, parts.assignment(part), length, 0.0) for length in part.lengths]
        allowed, lengths = parts.uncharged(part), []
        for length in part.lengths:
            subproblem = self._subproblem(Task(below, allowed, length, 0.0), self.risk.first_round)
            if subproblem.proceed(self.risk.nodes_per_call) is not None or not subproblem.finished:
                lengths.append(length)
        smaller = replace(part, bound=below, lengths=tuple(lengths))
        return [*parts.divided(smaller, allowed, self.problem.costs.fastest)] if lengths else []

    def _without_plan(self) -> Termination:
        """What is proved once no plan below the threshold can be found."""
        if math.isinf(self.threshold):
            return Termination.INFEASIBLE
        self.lower = max(self.lower, self._next_cost(self.threshold))
        return Termination.EXHAUSTED

    def _outcome(self, termination: Termination) -> Outcome:
        """What can be said now."""
        if self.best is not None:
            plan = self.problem.plan(self.best.choices) if self.best.choices else Plan()
            lower = min(self.lower, self.best.cost)
            return Outcome(termination, plan, lower, build_seconds=self.build_seconds)
        reason, lower = "stopped before a plan was found or proved impossible; allow more time", self.lower
        if termination is Termination.INFEASIBLE:
            reason, lower = self.reason(), math.inf
        elif termination is Termination.EXHAUSTED and self.undecided < math.inf:
            reason = (
                f"the violation of a plan that costs {self.undecided:.6g} is too close to 1 - omega to be "
                "decided, and no plan is certain to meet the target; change maximum_loss or omega a little"
            )
        elif termination is Termination.EXHAUSTED:
            reason = "no plan is cheaper than the one that is known"
        return Outcome(termination, None, lower, reason, build_seconds=self.build_seconds)

    def reason(self) -> str:
        """What is in the way of every plan, once it is known that there is none."""
        try:
            return self.risk.why_infeasible(self)
        except OutOfTimeError:
            return UNEXPLAINED

    def _common_unit(self) -> int:
        """A whole number that divides what every plan costs; 0 if there is none, or none is known.

        Without T_max the cheapest resources of an epoch do not depend on other epochs, so they cost psi(0).
        """
        problem, instance = self.problem, self.problem.instance
        brought = [
            instance.transfer_cost(d.name, n.name) for d in instance.datasets for n in instance.clusters
        ]
        costs = np.append(problem.psi(0.0), brought)
        known = costs[np.isfinite(costs)]
        if problem.maximum_time is not None or known.sum() >= _LARGEST_WHOLE or np.any(known % 1):
            return 0
        return int(np.gcd.reduce(known.astype(np.int64), initial=0))

    def _next_cost(self, bound: float) -> float:
        """The least that a plan can cost which does not cost less than ``bound`` [cost], less a slack."""
        if not self._unit or math.isinf(bound):
            return bound
        following = math.ceil(bound / self._unit - _ROUNDED_UP) * self._unit
        return max(bound, following * (1 - SEARCH_TOLERANCE))
