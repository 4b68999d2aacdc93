"""The program of the form ``price`` made exact by cuts: the loop behind the method ``milp``.

The loop. The program is a relaxation that becomes exact at a sequence of configurations when the cuts of its
cheapest resources are added (`depl.models.programs.price_space`). So: solve; compute the true cost of the
sequence found by the closed form; add its cuts; solve again. Every bound of HiGHS is a bound of the problem,
because all cuts are valid; when it meets the cost of a plan, that plan is optimal. Every sequence enters
once, so the loop ends.

Settled sequences. With the cuts of all its sequences in place a program may still end below the cost: where
time is expensive the cuts have large coefficients, and the solver's tolerance counts that many times. Then
the sequences found, whose costs are known exactly, are excluded by rows without large coefficients, and the
loop goes on. From there on a bound speaks of all other sequences only, so the least cost is at least the
smaller one of that bound and the best cost; an infeasible program proves the best plan optimal.

Guards. Sequences are judged by `SampledProblem` and not by the solver's variables: if one misses too many
scenarios or a time limit, by less than the solver's tolerance, it is excluded by a row (`add_no_good`), and
the loop goes on. The cost never comes from the solver.
"""

import contextlib
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from depl.models.evaluation.evaluate import INTENT, Reading
from depl.models.exact.choices import Configuration
from depl.models.exact.counted import Counted
from depl.models.exact.reasons import why_infeasible
from depl.models.exact.sampled import SampledProblem
from depl.models.exact.search import UNEXPLAINED, Search
from depl.models.foundation.clock import now
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.tolerances import PROOF_TOLERANCE, counts_as_proved
from depl.models.programs.attainable import attainable
from depl.models.programs.highs import Answer, Option, Session, Status
from depl.models.programs.own_rows import OwnRows, add_own_rows
from depl.models.programs.price_space import PriceSpace
from depl.models.programs.sequences import add_cost_row, add_no_good, read_choices, write_choices
from depl.models.solving.methods import Limits
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


Choices = list[Configuration]


@dataclass(frozen=True, eq=False)
class ProgramSolution:
    """What the loop found.

    Attributes
    ----------
    termination : Termination
    choices : list or None
        Configurations of the best plan, epoch by epoch; empty for the plan that does not train, None without
        a plan.
    cost : float
        Its cost under the reading, infinite without a plan [cost].
    lower_bound : float
        No feasible plan costs less [cost]; infinite if infeasible.
    reason : str or None
        Why there is no plan, or no proof.
    programs : int
        How many programs were solved.
    near_ties : int
        Sequences that the solver took for feasible and the exact count did not.
    settled : int
        Feasible sequences that were excluded once their cost was known, see the module's docstring.
    build_seconds : float
        Spent on tables and on writing the program down.
    options : mapping
        The solver's options in force, tolerances included.
    rows : tuple of str
        Rows and variables that a caller added, or fixed, by the names of their components.
    """

    termination: Termination
    choices: Choices | None
    cost: float
    lower_bound: float
    reason: str | None = None
    programs: int = 0
    near_ties: int = 0
    settled: int = 0
    build_seconds: float = 0.0
    options: Mapping[str, Option] = field(default_factory=dict)
    rows: tuple[str, ...] = ()


def solve_sampled(
    problem: SampledProblem, limits: Limits | None = None, reading: Reading = INTENT
) -> ProgramSolution:
    """Solve the sampled problem to proven optimality by a program and its cuts.

    Parameters
    ----------
    problem : SampledProblem
    limits : Limits, optional
        Gap, time limit, seed of the solver, progress, and rows are used; what rows may speak of,
        `depl.models.programs.own_rows` says.
    reading : depl.models.evaluation.evaluate.Reading
        Intent or letter of (2) and (6); cost and bound are those of this reading.

    Raises
    ------
    NotCoveredError
        If the program would have more than `MAXIMUM_BINARIES` binary variables or `MAXIMUM_TERMS`
        coefficients in constraint (3), or a row that was added speaks of resources.
    InvalidInputError
        If the caller's function for rows does not fit the model.
    """
    loop = CuttingLoop(problem, limits or Limits(), reading)
    try:
        return loop.run()
    except KeyboardInterrupt:
        return loop.solution(Termination.INTERRUPTED)
    except OutOfTimeError:
        return loop.solution(Termination.TIME_LIMIT)


def require_manageable(problem: SampledProblem) -> None:
    """Refuse a problem whose program would be too large to be solved; nothing is tabulated for it.

    Raises
    ------
    NotCoveredError
        With the numbers of binary variables, or of coefficients in constraint (3).
    """
    choices = problem.epochs * len(problem.configurations)
    binaries = choices + len(problem.scenarios)
    if binaries > MAXIMUM_BINARIES:
        raise NotCoveredError(
            f"the program would have up to {binaries} binary variables, of at most {MAXIMUM_BINARIES} "
            f"accepted: {problem.epochs} epochs of {len(problem.configurations)} choices, and "
            f"{len(problem.scenarios)} scenarios; use scenario-search, which needs no program"
        )
    steps = choices + problem.epochs * len(problem.instance.models) ** 2
    if steps * len(problem.scenarios) > MAXIMUM_TERMS:
        raise NotCoveredError(
            f"constraint (3) would have up to {steps * len(problem.scenarios)} coefficients, of at "
            f"most {MAXIMUM_TERMS} accepted: {steps} steps in each of {len(problem.scenarios)} "
            "scenarios; use scenario-search, which needs no program, or fewer scenarios"
        )


@dataclass
class CuttingLoop:
    """The state of one solve: what is held and what is proved.

    Attributes
    ----------
    keep : bool
        Whether a sequence whose cost is known stays in the program, with a row that says its cost
        (`depl.models.programs.sequences.add_cost_row`), in place of being excluded: the optimum of the
        program is then that of the problem.
    program : PriceSpace or None
        The program with all rows so far, in units of ``unit``.
    ties : list of (choices, bool)
        Sequences that the solver took for feasible and the exact count did not; whether they miss scenarios.
    best_gain : float
        No plan in time gains more in all scenarios but those that may be missed [loss].
    """

    problem: SampledProblem
    limits: Limits
    reading: Reading = INTENT
    best: Choices | None = None
    cost: float = math.inf
    bound: float = 0.0
    unit: float = 1.0
    programs: int = 0
    ties: list[tuple[Choices, bool]] = field(default_factory=list)
    build_seconds: float = 0.0
    in_force: Mapping[str, Option] = field(default_factory=dict)
    excluded: set[tuple[Configuration, ...]] = field(default_factory=set)
    settled: set[tuple[Configuration, ...]] = field(default_factory=set)
    own: OwnRows | None = None
    keep: bool = False
    program: PriceSpace | None = None
    best_gain: float = math.inf

    def run(self) -> ProgramSolution:
        """Bounds, a first plan, the program, its cuts."""
        problem = self.problem
        idle = problem.misses([]) <= problem.allowed
        if idle and self.limits.rows is None:
            return self._without_training()
        require_manageable(problem)
        began = time.perf_counter()
        if problem.instance.rules.obstacle():
            return self._infeasible()
        bounds = attainable(problem)
        self.best_gain = bounds.best_gain(problem)
        if not bounds.possible and not idle:
            return self._infeasible()
        first = self._first_plan()
        scale = math.inf if first is None else self.exact_cost(first)
        self.unit = (scale if 0 < scale < math.inf else self._largest_cost()) / _UNITS
        self.program = program = PriceSpace(problem, bounds, self.reading, self.unit)
        self.own = add_own_rows(program.model, self.limits.rows)
        if idle and self.own.permit(problem, []):
            return self._without_training()
        if first is not None and self.reading == INTENT and self._permitted(first, found=False):
            self._offer(first)
        self.build_seconds = time.perf_counter() - began
        session = self._session(program)
        self.limits.report(self.cost, self.bound)
        return self._cut(program, session)

    def _first_plan(self) -> Choices | None:
        """A feasible plan by the intent of (2) and (6), whose cost is a unit for the program."""
        search = Search(Counted(self.problem), replace(self.limits, progress=None))
        with contextlib.suppress(OutOfTimeError):  # what was found by then will do
            search.build()
            search.risk.first_plans(search)
        return None if search.best is None else list(search.best.choices)

    @property
    def written(self) -> PriceSpace:
        """The program, once a run has written it down."""
        if self.program is None:
            raise ValueError("no program was written down: the problem was decided without one")
        return self.program

    def again(self) -> ProgramSolution:
        """Prove the optimum of the program as it is once more, from a bound of 0."""
        self.bound = 0.0
        return self._cut(self.written, self._session(self.written))

    def _without_training(self) -> ProgramSolution:
        """The plan without an epoch, which costs nothing."""
        self.best, self.cost = [], 0.0
        return self.solution(Termination.OPTIMAL)

    def exact_cost(self, choices: Choices) -> float:
        """Cost of a sequence under the reading, infinite if it misses a time limit [cost]."""
        allocation = self.problem.allocation(choices)
        charges = len(choices) if self.reading.transfer_every_epoch else 1
        return charges * self.problem.transfers(choices) + allocation.cost

    def solution(self, termination: Termination, reason: str | None = None) -> ProgramSolution:
        """What can be said now."""
        infeasible = termination is Termination.INFEASIBLE
        bound = math.inf if infeasible else min(self.bound, self.cost)
        if self.best is None and reason is None and not infeasible:
            reason = "stopped before a plan was found; allow more time"
        if termination is Termination.OPTIMAL:
            bound = self.cost
        return ProgramSolution(
            termination,
            self.best,
            self.cost,
            bound,
            reason,
            self.programs,
            len(self.ties),
            len(self.settled),
            self.build_seconds,
            self.in_force,
            () if self.own is None else self.own.components,
        )

    def _cut(self, program: PriceSpace, session: Session) -> ProgramSolution:
        """Solve and add cuts until the bound meets the cost."""
        while True:
            if self._proved(0.0 if self.cost == 0 else PROOF_TOLERANCE):
                return self.solution(Termination.OPTIMAL)
            if self._proved(self.limits.gap):
                return self.solution(Termination.GAP_REACHED)
            if self.limits.expired():
                return self.solution(Termination.TIME_LIMIT)
            self._write_start(program)
            session.start()
            answer = session.solve(self._remaining(), self._watch)
            self.programs, self.in_force = self.programs + 1, answer.options or {}
            found = self._sequences(session, answer)
            added = self._take(program, answer, found)
            if answer.status is Status.INFEASIBLE and self.best is None:
                return self._infeasible()
            stopped = _STOPPED.get(answer.status)
            if stopped is not None:
                return self.solution(stopped)
            if not self._trusted(answer):
                return self._distrusted(answer)
            self.limits.report(self.cost, min(self.bound, self.cost))
            if not added and not self._proved(max(PROOF_TOLERANCE, self.limits.gap)):
                added = self._settle(program, found)
                if not added:
                    return self.solution(Termination.EXHAUSTED, "the solver returns what was excluded")
            session.add(added)

    def _trusted(self, answer: Answer) -> bool:
        """Whether the answer is one that was asked for and agrees with the best plan."""
        if self.best is not None and tuple(self.best) in self.settled:
            return answer.proved or answer.status is Status.INFEASIBLE
        return answer.proved and self.bound <= self.cost * (1 + _CONTRADICTION)

    def _sequences(self, session: Session, answer: Answer) -> list[Choices]:
        """The sequences of an answer, best last."""
        found = []
        for values in answer.solutions:
            session.load(values)
            found.append(read_choices(session.model, self.problem))
        return found

    def _settle(self, program: PriceSpace, found: list[Choices]) -> list[Any]:
        """Exclude sequences whose cost is known; see the module's docstring."""
        new = {tuple(choices): choices for choices in found if tuple(choices) not in self.excluded}
        self.excluded.update(new)
        if self.keep:
            costs = [(choices, self.exact_cost(choices) / self.unit) for choices in new.values()]
            return [add_cost_row(program.model, self.problem, choices, cost) for choices, cost in costs]
        self.settled.update(new)
        return [
            add_no_good(program.model, self.problem, choices, same_gain=False) for choices in new.values()
        ]

    def _distrusted(self, answer: Answer) -> ProgramSolution:
        """The solver ended in another way than asked for, or contradicts a plan that is held."""
        if answer.proved or answer.status is Status.INFEASIBLE:
            self.bound = 0.0
            return self.solution(
                Termination.EXHAUSTED, "the solver's proof contradicts a plan that is feasible"
            )
        return self.solution(Termination.EXHAUSTED, f"the solver ended with: {answer.status.value}")

    def _take(self, program: PriceSpace, answer: Answer, found: list[Choices]) -> list[Any]:
        """Judge the solutions of one program, best last; returns the rows that follow from them."""
        if answer.status is not Status.INFEASIBLE and math.isfinite(answer.bound):
            self.bound = max(self.bound, answer.bound * self.unit)
        elif answer.status is Status.INFEASIBLE and self.settled:
            self.bound = max(self.bound, self.cost)
        added: list[Any] = []
        for choices in found:
            if tuple(choices) in self.excluded:
                continue
            missed = self.problem.misses(choices) > self.problem.allowed
            allocation = self.problem.allocation(choices)
            if missed or not allocation.feasible:
                self.excluded.add(tuple(choices))
                self.ties.append((choices, missed))
                added.append(add_no_good(program.model, self.problem, choices, same_gain=missed))
                continue
            if not self._permitted(choices, found=True):
                self.excluded.add(tuple(choices))
                added.append(add_no_good(program.model, self.problem, choices, same_gain=False))
                continue
            self._offer(choices)
            added += program.tighten(allocation)
        return added

    def _permitted(self, choices: Choices, found: bool) -> bool:
        """Whether the caller's own rows allow a sequence, found by a solver that knows them or not."""
        if self.own is None or (found and self.own.open):
            return True
        return self.own.permit(self.problem, choices)

    def _offer(self, choices: Choices | None) -> None:
        """Keep a feasible sequence if it is the cheapest so far."""
        if choices is not None and (cost := self.exact_cost(choices)) < self.cost:
            self.best, self.cost = list(choices), cost

    def _write_start(self, program: PriceSpace) -> None:
        if (
            self.best
            and tuple(self.best) not in self.settled
            and write_choices(program.model, self.problem, self.best)
        ):
            program.write_cost(self.problem.allocation(self.best))

    def _proved(self, gap: float) -> bool:
        return self.best is not None and counts_as_proved(self.cost, self.bound, gap)

    def _remaining(self) -> float | None:
        if self.limits.time_limit is None:
            return None
        return self.limits.started + self.limits.time_limit - now()

    def _watch(self, bound: float) -> None:
        self.limits.report(self.cost, min(max(self.bound, bound * self.unit), self.cost))

    def _largest_cost(self) -> float:
        """A bound of the cost of every plan, without transfers; 1 if that is 0 [cost]."""
        capacities = [max(item.price * item.capacity for item in row) for row in self.problem.loads]
        return math.fsum(capacities) or 1.0

    def _infeasible(self) -> ProgramSolution:
        if self.own is not None and self.own.any:
            reason = f"no plan keeps the rows {self.own.names} and the limits"
            return self.solution(Termination.INFEASIBLE, reason)
        try:
            reason = why_infeasible(self.problem, self.best_gain)
        except (KeyboardInterrupt, OutOfTimeError):
            reason = UNEXPLAINED
        return self.solution(Termination.INFEASIBLE, reason)

    def _session(self, program: PriceSpace) -> Session:
        options: dict[str, Option] = {"random_seed": self.limits.seed % 2**31}
        if self.limits.gap > 0:
            options["mip_rel_gap"] = self.limits.gap / 2
        return Session(program.model, options)


_STOPPED = {Status.TIME_LIMIT: Termination.TIME_LIMIT, Status.INTERRUPTED: Termination.INTERRUPTED}
