"""A program solved until a plan is proved cheapest: the loop behind the method ``milp``.

Solve the program; work out the true cost of the sequence found by the closed form; exclude by a row what
only the solver takes for feasible, make the program exact at the others, and solve again. All rows are valid,
so every bound of the solver is one of the problem; no cost comes from the solver. The page *Programs* says
why the loop ends and what it proves once sequences whose cost is known are excluded.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from depl.models.evaluation.evaluate import INTENT, Reading
from depl.models.exact.choices import Configuration
from depl.models.exact.counted import first_plan
from depl.models.exact.reasons import why_infeasible
from depl.models.exact.sampled import SampledProblem
from depl.models.exact.search import UNEXPLAINED
from depl.models.foundation.deadline import OutOfTimeError, now
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.tolerances import PROOF_TOLERANCE, counts_as_proved
from depl.models.programs.attainable import attainable
from depl.models.programs.formulations import Price, add_no_good, cone, read_choices
from depl.models.programs.highs import Answer, Option, ScipSession, Session, Status, require_scip
from depl.models.programs.own_rows import add_own_rows, keeps
from depl.models.solving.limits import Limits
from depl.models.solving.result import Termination

MAXIMUM_BINARIES = 5_000
"""Binary variables above which the methods refuse. Set by hand, no bound of HiGHS: a program is written as a
whole before a solver sees it, and nothing breaks off the writing when time is over."""

MAXIMUM_TERMS = 1_000_000
"""Coefficients of constraint (3) above which the methods refuse. Set by hand, for the same reason."""

_UNITS = 1000.0
"""Cost of a plan in the units of the program: solvers have absolute tolerances."""

_CONTRADICTION = 1e-6
"""Relative amount by which a bound above the cost of a plan is more than rounding."""

_STOPPED = {Status.TIME_LIMIT: Termination.TIME_LIMIT, Status.INTERRUPTED: Termination.INTERRUPTED}

PROVED = (Termination.OPTIMAL, Termination.INFEASIBLE)

_NAMED = 4
"""Rows and variables that a message names."""

Choices = list[Configuration]


def solve_sampled(
    problem: SampledProblem, limits: Limits | None = None, reading: Reading = INTENT, form: str = "price"
) -> "Loop":
    """Solve the sampled problem to proven optimality by a program and its cuts.

    Cost and bound are those of the reading of (2) and (6). HiGHS solves the form ``price``, SCIP ``cone``.

    Raises
    ------
    NotCoveredError
        If the program would have more than `MAXIMUM_BINARIES` binary variables or `MAXIMUM_TERMS`
        coefficients in constraint (3), or a row that was added speaks of resources.
    InvalidInputError
        If the caller's function for rows does not fit the model, or SCIP is not installed.
    """
    if form == "cone":
        require_scip()
    loop = Loop(problem, limits or Limits(), reading, form)
    try:
        return loop.run()
    except KeyboardInterrupt:
        return loop.end(Termination.INTERRUPTED)
    except OutOfTimeError:
        return loop.end(Termination.TIME_LIMIT)


def require_manageable(problem: SampledProblem) -> None:
    """Refuse a problem whose program would be too large to be solved; nothing is tabulated for it.

    Raises
    ------
    NotCoveredError
        With the numbers of binary variables, or of coefficients in constraint (3).
    """
    size, choices = len(problem.scenarios), problem.epochs * len(problem.configurations)
    if choices + size > MAXIMUM_BINARIES:
        raise NotCoveredError(
            f"the program would have up to {choices + size} binary variables, of at most {MAXIMUM_BINARIES} "
            f"accepted: {problem.epochs} epochs of {len(problem.configurations)} choices, and "
            f"{size} scenarios; use scenario-search, which needs no program"
        )
    steps = choices + problem.epochs * len(problem.instance.models) ** 2
    if steps * size > MAXIMUM_TERMS:
        raise NotCoveredError(
            f"constraint (3) would have up to {steps * size} coefficients, of at "
            f"most {MAXIMUM_TERMS} accepted: {steps} steps in each of {size} "
            "scenarios; use scenario-search, which needs no program, or fewer scenarios"
        )


@dataclass(eq=False)
class Loop:
    """One solve: what is held and what is proved, and in the end the answer.

    ``ties`` are sequences that the solver took for feasible and the exact count did not, and whether they
    miss scenarios; ``settled`` feasible ones that a row excludes, as their cost is known, with this row.
    """

    problem: SampledProblem
    limits: Limits
    reading: Reading = INTENT
    form: str = "price"
    choices: Choices | None = None  # of the best plan, epoch by epoch
    cost: float = math.inf  # its, under the reading [cost]
    lower_bound: float = 0.0  # no feasible plan costs less; infinite if infeasible [cost]
    termination: Termination = Termination.EXHAUSTED
    reason: str | None = None  # why there is no plan, or no proof
    programs: int = 0  # that were solved
    ties: list[tuple[Choices, bool]] = field(default_factory=list)
    settled: dict[tuple[Configuration, ...], Any] = field(default_factory=dict)
    build_seconds: float = 0.0
    options: Mapping[str, Option] = field(default_factory=dict)
    own: tuple[Any, ...] = ()  # rows that the caller added to the program, and variables that the caller held
    unit: float = 1.0
    model: Any = None
    _price: Price | None = None
    _excluded: set[tuple[Configuration, ...]] = field(default_factory=set)
    _best_gain: float = math.inf

    def run(self) -> Self:
        """Bounds, a first plan, the program, its cuts."""
        problem = self.problem
        idle = problem.misses([]) <= problem.allowed
        if idle and self.limits.rows is None:
            self._offer([])
            return self.end(Termination.OPTIMAL)
        require_manageable(problem)
        began = time.perf_counter()
        if problem.instance.rules.obstacle():
            return self._infeasible()
        bounds = attainable(problem)
        self._best_gain = bounds.best_gain
        if not bounds.possible and not idle:
            return self._infeasible()
        found = first_plan(problem, self.limits)  # by the intent of (2) and (6); its cost is a unit
        first = None if found is None else list(found.choices)
        scale = math.inf if first is None else self.exact_cost(first)
        self.unit = (scale if 0 < scale < math.inf else self._largest_cost()) / _UNITS
        if self.form == "cone":
            self.model = cone(problem, bounds, self.reading, self.unit)
        else:
            self._price = Price(problem, bounds, self.reading, self.unit)
            self.model = self._price.model
        if self.limits.rows is not None:
            self.own = add_own_rows(self.model, self.limits.rows)
        elif first is not None and self.reading == INTENT:
            self._offer(first)
        self.build_seconds = time.perf_counter() - began
        self.limits.report(self.cost, self.lower_bound)
        return self.prove()

    @property
    def tolerances(self) -> dict[str, float]:
        """The options of the solver by which its bounds may be wrong."""
        ends = ("_tolerance", "gap", "feastol")
        return {name: float(value) for name, value in self.options.items() if name.endswith(ends)}

    def prove(self) -> Self:
        """Solve and add cuts until the bound meets the cost, by a solver that knows only what is written."""
        session = self._session()
        self.options = session.options
        while True:
            if self._proved(0.0 if self.cost == 0 else PROOF_TOLERANCE):
                return self.end(Termination.OPTIMAL)
            if self._proved(self.limits.gap):
                return self.end(Termination.GAP_REACHED)
            if self.limits.expired():
                return self.end(Termination.TIME_LIMIT)
            answer = session.solve(self._remaining(), self._watch)
            self.programs += 1
            found = None if answer.objective is None else read_choices(self.model, self.problem)
            added = self._take(answer, found)
            if answer.status is Status.INFEASIBLE and self.choices is None:
                return self._infeasible()
            if answer.status in _STOPPED:
                return self.end(_STOPPED[answer.status])
            if (doubt := self._doubt(answer)) is not None:
                return self.end(Termination.EXHAUSTED, doubt)
            self.limits.report(self.cost, min(self.lower_bound, self.cost))
            if not added and not self._proved(max(PROOF_TOLERANCE, self.limits.gap)):
                if found is None or tuple(found) in self._excluded:
                    return self.end(Termination.EXHAUSTED, "the solver returns what was excluded")
                added = [self._exclude(found)]
                self.settled[tuple(found)] = added[0]
            session.add(added)

    def exact_cost(self, choices: Choices) -> float:
        """Cost of a sequence under the reading, infinite if it misses a time limit [cost]."""
        charges = len(choices) if self.reading.transfer_every_epoch else 1
        return charges * self.problem.transfers(choices) + self.problem.allocation(choices).cost

    def end(self, termination: Termination, reason: str | None = None) -> Self:
        """The loop with what can be said now."""
        self.termination, self.reason = termination, reason
        if termination is Termination.INFEASIBLE:
            self.lower_bound = math.inf
        elif termination is Termination.OPTIMAL:
            self.lower_bound = self.cost
        elif self.choices is None and reason is None:
            self.reason = "stopped before a plan was found; allow more time"
        self.lower_bound = min(self.lower_bound, self.cost)
        return self

    def _session(self) -> Session | ScipSession:
        seed = self.limits.seed % 2**31
        if self.form == "cone":
            return ScipSession(self.model, {"randomization/randomseedshift": seed})
        options: dict[str, Option] = {"random_seed": seed}
        if self.limits.gap > 0:
            options["mip_rel_gap"] = self.limits.gap / 2
        return Session(self.model, options)

    def _doubt(self, answer: Answer) -> str | None:
        """Why an answer proves nothing: it is none that was asked for, or contradicts a plan that is held."""
        infeasible = answer.status is Status.INFEASIBLE
        if not answer.proved and not infeasible:
            return f"the solver ended with: {answer.status.value}"
        excluded = self.choices is not None and tuple(self.choices) in self.settled
        if not excluded and (infeasible or self.lower_bound > self.cost * (1 + _CONTRADICTION)):
            self.lower_bound = 0.0
            return "the solver's proof contradicts a plan that is feasible"
        return None

    def _take(self, answer: Answer, choices: Choices | None) -> list[Any]:
        """Judge what one program says, and its sequence; returns the rows that follow."""
        if answer.status is not Status.INFEASIBLE and math.isfinite(answer.bound):
            self.lower_bound = max(self.lower_bound, answer.bound * self.unit)
        elif answer.status is Status.INFEASIBLE and self.settled:
            self.lower_bound = max(self.lower_bound, self.cost)
        if choices is None or tuple(choices) in self._excluded:
            return []
        missed = self.problem.misses(choices) > self.problem.allowed
        allocation = self.problem.allocation(choices)
        if missed or not allocation.feasible:
            self.ties.append((choices, missed))
            return [self._exclude(choices, same_gain=missed)]
        if self.own and not keeps(self.own, self.model, self.problem.gain(choices) < self.problem.needed):
            return [self._exclude(choices)]
        self._offer(choices)
        return [] if self._price is None else self._price.tighten(allocation)

    def _exclude(self, choices: Choices, same_gain: bool = False) -> Any:
        self._excluded.add(tuple(choices))
        return add_no_good(self.model, self.problem, choices, same_gain)

    def _offer(self, choices: Choices) -> None:
        """Keep a feasible sequence if it is the cheapest so far."""
        if (cost := self.exact_cost(choices)) < self.cost:
            self.choices, self.cost = list(choices), cost

    def _proved(self, gap: float) -> bool:
        return self.choices is not None and counts_as_proved(self.cost, self.lower_bound, gap)

    def _remaining(self) -> float | None:
        if self.limits.time_limit is None:
            return None
        return self.limits.started + self.limits.time_limit - now()

    def _watch(self, bound: float) -> None:
        self.limits.report(self.cost, min(max(self.lower_bound, bound * self.unit), self.cost))

    def _largest_cost(self) -> float:
        """A bound of the cost of every plan, without transfers; 1 if that is 0 [cost]."""
        capacities = [max(item.price * item.capacity for item in row) for row in self.problem.loads]
        return math.fsum(capacities) or 1.0

    def _infeasible(self) -> Self:
        if self.own:
            names = ", ".join(item.name for item in self.own[:_NAMED])
            others = " and others" if len(self.own) > _NAMED else ""
            return self.end(Termination.INFEASIBLE, f"no plan keeps the rows {names}{others} and the limits")
        try:
            reason = why_infeasible(self.problem, self._best_gain)
        except (KeyboardInterrupt, OutOfTimeError):
            reason = UNEXPLAINED
        return self.end(Termination.INFEASIBLE, reason)
