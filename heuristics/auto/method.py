"""The method ``auto``: exact search first, a greedy plan and the loop beside it, and one answer of them all.

`depl.models.exact.law.exact` runs for a moment, in which it ends on small instances; then ``density-greedy``,
so that a plan is held whatever the limit (where plans have a thousand epochs it comes first, and ends with
its first plan); then ``exact`` for a share of the time, and ``depl`` for a smaller one, or half of what is
left, if the bound of ``exact`` has stopped rising, or all of it, if ``exact`` does not cover the instance.
Last ``exact`` goes on where it was; each has the plans of the other for a cutoff. The answer is the cheapest
plan with the best of the lower bounds. A traced law is searched by ``enumerate`` alone.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from depl.heuristics.auto.greedy_fallback import first_greedy_plan
from depl.heuristics.auto.paused import Paused
from depl.heuristics.baselines.density import density_greedy
from depl.models.evaluation.evaluate import plan_cost
from depl.models.exact.assignments import few_assignments
from depl.models.exact.choices import Choices
from depl.models.exact.law import exact
from depl.models.exact.listing import enumerate_plans
from depl.models.foundation.compiling import compiling_seconds
from depl.models.foundation.deadline import OutOfTimeError, deadline
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.later import Deferred
from depl.models.foundation.tolerances import PROOF_TOLERANCE, counts_as_proved
from depl.models.problem.instance import Instance
from depl.models.solving.limits import Cutoff, Limits
from depl.models.solving.result import Outcome, Phase, Termination
from depl.models.solving.solve import VerificationError
from depl.models.solving.standstill import Standstill

depl = Deferred("depl.heuristics.depl.method", "depl")  # most solves end before its turn

_MOMENT = 0.05, 0.5
"""Share of the limit, and CPU seconds without one, before a greedy plan is looked for. Set by hand: half the
instances of the suites `paper` and `random` are proved in half a second, and a greedy plan takes as long."""

_GREEDY = 0.1, 2.0
"""The same for the greedy plan, of what is left. Set by hand: it takes 0.02 to 0.2 s on small instances."""

_LONG = 1000
"""Epochs from which the greedy plan is sought first: with 5000 of them `exact` takes 2 seconds for its tables
alone, before it first looks at the clock."""

_FIRST = 0.3, 5.0
"""The same for `exact` until the loop may run. Set by hand: all shares of the others together leave `exact`
0.81 of the limit at least, so that it proves what it proves alone in 0.8 of it, unless it stalls."""

_LOOP = 0.15, math.inf
"""The same for the loop, 0.09 to 0.1 of the limit. Set by hand: it ends by itself in seconds on instances of
usual size."""

_HALF = 0.5, math.inf
"""The same where `exact` has stalled, as its bound may rise later, and until there is a greedy plan where
plans are long. Set by hand: half of the rest for the one and half for what follows."""

_MOST = 0.8, math.inf
"""The same where there are more assignments of data than `exact` lists. Set by hand: of five random instances
with 2 to 200 clusters `exact` proved none in 10 s. With the usual shares the plan cost more than that of the
loop alone on two of them, with this one on none."""

_STALLED, _FAR = 0.005, 0.2
"""`exact` is taken to have stalled if its bound rose by less than the first share of the best known cost in
the second half of its turns so far, and is below that cost by more than the second share. Set by hand: of
the suites `scaling-epochs`, `scaling-datasets` and `random`, what `exact` proves in more than 3 s has a
bound that rises between a fifth and two fifths of that time; where more than 0.4 is open after 15 s (80
epochs or more), the bound has not moved since a fifth of it."""

_LAST = 2.0, 10.0
"""Without a limit `exact` ends once it has taken so many times what the phases before took, and at least so
many seconds: a search may take for ever, and who wants that gives a time limit."""


def auto(instance: Instance, limits: Limits) -> Outcome:
    """Exact search, a greedy plan and the loop in turn; the cheapest plan, and the best proved bound.

    Raises
    ------
    NotCoveredError
        If none of them covers the instance.
    VerificationError
        If one of them holds a plan that another one has proved impossible.
    """
    return _Turns(instance, replace(limits, standstill=None), limits.standstill).run()


@dataclass
class _Turns:
    """What is held and proved while the phases take turns.

    The cheapest plan is that of ``best``, of those that ended, and ``cutoff`` has the cost of the best that
    any phase or the caller holds. No feasible plan costs less than ``lower``; ``shown`` is the bound that was
    told last. ``stopped`` says that `exact` was stopped at the end: it had more to search.
    """

    instance: Instance
    limits: Limits
    standstill: Standstill | None = None
    best: Outcome | None = None
    cost: float = math.inf
    cutoff: Cutoff = field(default_factory=Cutoff)
    lower: float = 0.0
    shown: float = 0.0
    reason: str | None = None
    phases: list[Phase] = field(default_factory=list)
    refusals: list[NotCoveredError] = field(default_factory=list)
    stopped: bool = False

    def run(self) -> Outcome:
        """All phases, until something is proved or the time is over."""
        self.cutoff.cost = self.limits.cutoff_cost
        limits = replace(self.limits, cutoff=self.cutoff, progress=self._progress)
        search = Paused(exact, self.instance, limits)
        interrupted = False
        try:
            if self.instance.has_memory:
                self._phase("enumerate", self._whole(enumerate_plans, self._patient(limits)))
            else:
                self._take_turns(search, limits)
        except KeyboardInterrupt:
            interrupted = True
        finally:  # whatever happened, its thread must not wait for ever
            stopped = search.stop() if search.waits else None
        self.stopped = stopped is not None
        if stopped is not None:
            self._phase("exact", lambda: stopped)
        return self._answer(interrupted)

    def _take_turns(self, search: Paused, limits: Limits) -> None:
        begun = time.process_time()
        greedy_first = self.instance.target.maximum_epochs >= _LONG
        if greedy_first:
            self._first_greedy(limits)
        compiling = True
        while compiling and not self._over():  # a first solve compiles in its moment, and gets another
            before, turn = compiling_seconds(), limits.turn(*_MOMENT)
            self._phase("exact", partial(search.proceed, turn))
            compiling = not search.ended and compiling_seconds() - before > _MOMENT[1] / 2
        if self._over():
            return
        if math.isinf(self.cutoff.cost) and not greedy_first:
            self._greedy(limits)
        loop = limits.turn(*(_MOST if self._unlisted else self._after_first(search, limits)))
        if self._over():
            return
        self._phase("depl", self._whole(depl, self._patient(limits if search.ended else loop)))
        if search.ended or self._over():
            return
        spent = max(_LAST[1], _LAST[0] * (time.process_time() - begun))
        self._phase("exact", lambda: search.proceed(self._patient(limits.turn(1.0, spent))))

    def _after_first(self, search: Paused, limits: Limits) -> tuple[float, float]:
        """`exact` until the loop may run; the share of the loop."""
        half, middle = _FIRST[0] / 2, 0.0
        for share in (half, half / (1 - half)):  # two halves of the share, of what is left each time
            if not search.ended:
                middle, turn = self.shown, limits.turn(share, _FIRST[1] / 2)
                self._phase("exact", partial(search.proceed, turn))
        return _HALF if self._stalled(middle) else _LOOP

    def _patient(self, limits: Limits) -> Limits:
        """Limits that also expire once nothing has moved for long in this turn."""
        if self.standstill is not None:
            self.standstill.turn()
        return replace(limits, standstill=self.standstill)

    @property
    def _unlisted(self) -> bool:
        """Whether there are more assignments of data to clusters than `exact` lists."""
        return not few_assignments(Choices(self.instance))

    def _greedy(self, limits: Limits) -> None:
        """Its first plan may need a certificate that takes long; nothing else holds one."""
        self._phase("density-greedy", self._whole(density_greedy, limits.turn(*_GREEDY), limits))

    def _first_greedy(self, limits: Limits) -> None:
        """For long plans: until there is one."""

        def run() -> Outcome:
            found = first_greedy_plan(self.instance, limits.turn(*_HALF))
            return found or Outcome(Termination.TIME_LIMIT, None, 0.0, "stopped before there was a plan")

        self._phase("density-greedy", run)

    def _whole(
        self, method: Callable[[Instance, Limits], Outcome], limits: Limits, final: Limits | None = None
    ) -> Callable[[], Outcome]:
        """A method that begins and ends in its turn; one step of it may take as long as ``final`` says."""

        def run() -> Outcome:
            try:
                with deadline((final or limits).lateness):
                    return method(self.instance, limits)
            except OutOfTimeError:
                return Outcome(Termination.TIME_LIMIT, None, 0.0, "stopped before there was a plan")

        return run

    def _phase(self, name: str, run: Callable[[], Outcome | None]) -> None:
        """Let one method run, and keep what it came to; None: it waits for its next turn."""
        started, found, ending = time.perf_counter(), None, "paused"
        self.limits.enter(name)
        try:
            found = run()
        except NotCoveredError as error:
            ending = f"refused: {error}"
            self.refusals.append(error)
        if found is not None:
            self._keep(found)
            ending = self._ending(found)
        self._record(name, ending, time.perf_counter() - started, found)
        if found is not None and found.termination is Termination.INTERRUPTED:
            raise KeyboardInterrupt

    def _ending(self, found: Outcome) -> str:
        """How a phase ended: by its termination, or as it proved the plan of another one."""
        cost = _cost(self.instance, found)
        if self.cost < cost and counts_as_proved(self.cost, found.lower_bound):
            return "proved that no plan is cheaper than the one held"
        if found.termination is Termination.TIME_LIMIT and self._gave_up():
            return "stopped, as neither plan nor bound moved"
        return found.termination.value

    def _keep(self, found: Outcome) -> None:
        if math.isfinite(self.lower):  # what proves that there is no plan says why
            self.reason = found.reason or self.reason
        self.lower = max(self.lower, found.lower_bound)
        if found.termination is Termination.INFEASIBLE:
            self.lower = math.inf
        cost = _cost(self.instance, found)
        if cost < self.cost:
            self.best, self.cost = found, cost
            self.cutoff.cost = min(self.cutoff.cost, cost)
        if found.termination is Termination.OPTIMAL and found is self.best:
            self.lower = max(self.lower, cost)
        if math.isfinite(self.lower):
            self.limits.report(self.cutoff.cost, min(max(self.shown, self.lower), self.cutoff.cost))

    def _record(self, name: str, ending: str, seconds: float, found: Outcome | None) -> None:
        """The row of a phase; the turns of one method are one row."""
        found = found or Outcome(Termination.EXHAUSTED, None, 0.0)
        seconds += math.fsum(row.seconds for row in self.phases if row.method == name)
        cost = None if found.plan is None else _cost(self.instance, found)
        row = Phase(name, ending, seconds, cost, found.lower_bound)
        self.phases = [*(other for other in self.phases if other.method != name), row]

    def _stalled(self, before: float) -> bool:
        """Whether the bound is far below the best cost, and was so ``before`` the last turn."""
        cost = self.cutoff.cost
        return self.shown < (1 - _FAR) * cost and not self.shown - before >= _STALLED * cost

    def _gave_up(self) -> bool:
        """Whether the last turn ended because nothing had moved for long."""
        return self.standstill is not None and self.standstill.over() and not self.limits.late()

    def _over(self) -> bool:
        """Whether nothing is left to do."""
        return math.isinf(self.lower) or self._proved(self.limits.gap) or self.limits.expired()

    def _proved(self, gap: float = 0.0) -> bool:
        """Whether the bound meets the best plan that any phase holds, up to a gap."""
        cost = self.cutoff.cost
        return math.isfinite(cost) and counts_as_proved(cost, self.lower, max(gap, PROOF_TOLERANCE))

    def _answer(self, interrupted: bool) -> Outcome:
        """The best plan, the best bound, and what that proves.

        Raises
        ------
        NotCoveredError
            If no phase covers the instance.
        VerificationError
            If a bound is above the cost of a plan that is held.
        """
        if self.refusals and len(self.refusals) == len(self.phases):
            raise self.refusals[-1]
        if self.best is not None and self.lower > self.cost + PROOF_TOLERANCE * abs(self.cost):
            raise VerificationError(
                f"no plan costs less than {self.lower:.12g}, says one phase; another holds a plan of cost "
                f"{self.cost:.12g}: {self.phases}"
            )
        if math.isinf(self.lower):
            ending = Termination.INFEASIBLE
        elif self.best is not None and counts_as_proved(self.cost, self.lower):
            ending = Termination.OPTIMAL
        elif self.best is not None and self.limits.gap > 0 and self._proved(self.limits.gap):
            ending = Termination.GAP_REACHED
        elif interrupted:
            ending = Termination.INTERRUPTED
        elif self.limits.expired():
            ending = Termination.TIME_LIMIT
        else:  # the search that was stopped, as nobody gave a limit, might have proved more
            stuck = self.best is not None and self.lower > 0 and not self.stopped
            ending = Termination.STUCK if stuck or self._gave_up() else Termination.EXHAUSTED
        held = self.best or Outcome(ending, None, self.lower, self.reason)
        return replace(
            held, termination=ending, lower_bound=min(self.lower, self.cost), phases=(*self.phases,)
        )

    def _progress(self, seconds: float, incumbent: float, bound: float) -> None:
        """Rows of all phases as one: the best plan and the best bound of any.

        Plans that are told of are certified and held by the phase. Its bound is that of its search as it
        stands; it is shown, and counts as proved once the phase answers.
        """
        self.cutoff.cost = min(self.cutoff.cost, incumbent)
        self.shown = max(self.shown, self.lower, min(bound, self.cutoff.cost))
        if self.standstill is not None:
            self.standstill.seen(self.cutoff.cost, self.shown)
        if self.limits.progress is not None:
            self.limits.progress(seconds, self.cutoff.cost, min(self.shown, self.cutoff.cost))


def _cost(instance: Instance, found: Outcome) -> float:
    """Of the plan of a phase; infinite without one [cost]."""
    return math.inf if found.plan is None else plan_cost(instance, found.plan)
