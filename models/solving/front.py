"""Fronts: the cost of certified plans against l_max, T_max or omega, each point with its own lower bound.

Points help each other, as feasible sets are nested (`depl.models.solving.budgets` names the exception):

- Every plan that is known is tried at every budget. The cheapest that keeps it is where the next solve
  starts, and methods that can look for cheaper plans alone.
- The greatest lower bound of the looser budgets holds, too. Where it meets the cost of a plan that is known,
  nothing is left to solve; where the plan of the next looser budget keeps the tighter one, that is so.
- Where a looser budget is infeasible, so is every tighter one.

So the loosest budget is solved first, then the tightest, then the middle of what is left, and so on: a front
that is stopped early is a coarse one. In the end the plans and bounds of all points are compared once more,
after which cost and bound never fall from a looser budget to a tighter one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from depl.models.evaluation.evaluate import plan_cost
from depl.models.foundation.clock import now
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.tolerances import PROOF_TOLERANCE
from depl.models.foundation.users_code import exits_are_errors
from depl.models.problem.instance import Instance
from depl.models.problem.laws import NO_LAW
from depl.models.problem.plan import Plan
from depl.models.solving.budgets import (
    Budget,
    accepted,
    against_named,
    seems_kept,
    with_cheapest_resources,
)
from depl.models.solving.defaults import FRONT_POINTS
from depl.models.solving.front_file import read_front, write_front
from depl.models.solving.front_points import Front, FrontPoint
from depl.models.solving.front_range import (
    asked_first,
    default_range,
    halving_order,
    required_range,
    spread,
)
from depl.models.solving.interrupts import first_interrupt_ignored, uninterrupted
from depl.models.solving.known_plan import bare, proved_as, stopped_as
from depl.models.solving.methods import Meaning, Outcome, default_method, find, require_limits
from depl.models.solving.result import Result, Solution, Termination
from depl.models.solving.solve import VerificationError, solve, verified_result

OnPoint = Callable[[Front], object]
"""Called with the front so far after every point."""

_LEAST_SECONDS = 0.05
"""Of a time limit, below which no further solve is begun: about what the certificate of its plan takes."""

_ANY, _PROBE_LOOKS = 0.99, 50_000
"""Gap, and looks at the clock after which none is sought any more, of a solve for any plan. Set by hand: one
that costs a hundred times the bound is good enough for the range. On shipped instances 20,000 looks decide
whether there is a plan, in at most 4 CPU seconds. They are counted, so that the range is that of the instance
and not of the machine."""

_PROBE_SECONDS, _PROBE_SHARE = 60.0, 0.1
"""Seconds at most of such a solve, far beyond what the looks take on shipped instances, and share of the time
left where time is limited. If they end one, the front says that its range was cut."""


@exits_are_errors
def front(
    instance: Instance,
    against: str | Budget,
    *,
    between: tuple[float, float] | None = None,
    points: int = FRONT_POINTS,
    method: str | None = None,
    gap: float = 0.0,
    time_limit: float | None = None,
    seed: int = 0,
    file: str | Path | None = None,
    on_point: OnPoint | None = None,
) -> Front:
    """The least cost against l_max, T_max or omega: certified plans, each with a proved lower bound.

    Parameters
    ----------
    instance : Instance
        What varies replaces its own l_max, T_max or omega.
    against : Budget or str
        "loss" for l_max, "time" for T_max, "probability" for omega.
    between : (float, float), optional
        The range of budgets; by default that of `depl.models.solving.front_range.default_range`, and then
        the instance's own budget is a point, too.
    points : int
        How many budgets are spread over it; against "probability" 0.9, 0.95 and 0.99 come besides.
    method : str, optional
        A registered method that works under the law; the default method otherwise.
    gap : float
        Relative gap that is good enough at every point.
    time_limit : float, optional
        Wall seconds for all of them, shared out evenly among those that are left.
    seed : int
        Of methods that draw.
    file : str or Path, optional
        A JSON file, written after every point. If it is there, the front in it is gone on with: its points
        are taken over, with a gap they are refined.
    on_point : callable, optional
        Receives the front so far after every point.

    Returns
    -------
    Front
        After Ctrl-C with the points that were found by then.

    Raises
    ------
    InvalidInputError
        For an impossible argument, or a file of another front.
    NotCoveredError
        If the instance declares no laws, or the method counts scenarios.

    Examples
    --------
    >>> from depl.instances.library import load
    >>> found = front(load("tiny"), "loss", between=(9, 15), points=3)
    >>> [(point.budget, round(point.cost, 6), point.solution.value) for point in found]
    [(15.0, 0.0, 'proven_optimal'), (12.0, 4.5, 'proven_optimal'), (9.0, 10.477712, 'proven_optimal')]
    """
    kind = against_named(against)
    gap, time_limit, seed = require_limits(gap, time_limit, seed)
    name = _required_method(instance, method)
    chosen = between is not None
    if between is not None:
        between = required_range(instance, kind, between)
    ends = None if time_limit is None else now() + time_limit
    search = _Search(instance, kind, name, gap, seed, ends)
    known = None if file is None else read_front(file, instance, kind)
    if known is not None:
        search.take(known, str(file))
        between = between or known.between
    also = [] if chosen else asked_first(instance, kind)
    if between is None:
        between = default_range(instance, kind, search.any_plan, search.cheapest_plan)
    return _completed(search, between, spread(kind, between, points, also), file, on_point)


def _completed(
    search: "_Search",
    between: tuple[float, float],
    budgets: Sequence[float],
    file: str | Path | None,
    on_point: OnPoint | None,
) -> Front:
    """The front at these budgets and those known before; written and told after every point."""
    asked = len({*budgets, *search.found})

    def so_far(stopped: Termination | None = None) -> Front:
        found = search.front(between, asked, stopped)
        if file is not None:
            write_front(found, file)
        return found

    def tell() -> None:
        found = so_far()
        if on_point is not None:
            on_point(found)

    stopped = search.run(budgets, tell)
    with first_interrupt_ignored():
        search.compare()
        return so_far(stopped)


def _required_method(instance: Instance, method: str | None) -> str:
    """The name of the method, if a front can be made by it."""
    if not instance.declares_laws:
        raise NotCoveredError(NO_LAW)
    name = method or default_method(instance)
    if find(name).meaning is Meaning.SCENARIOS:
        raise NotCoveredError(
            f"a front is of plans that are certified under the law; method {name!r} counts scenarios"
        )
    return name


@dataclass(frozen=True)
class _Known:
    """A plan that is known, and the strictness that its numbers say it keeps."""

    plan: Plan
    kept: float


@dataclass
class _Search:
    """What is known at every budget so far.

    Attributes
    ----------
    ends : float or None
        When the time limit is over, by `depl.models.foundation.clock.now`.
    found : dict of float to Result
        By budget.
    plans : dict
        Every plan that was found, by its decisions without resources.
    range_cut : bool
        Whether the clock ended the search for a plan on which the range rests.
    """

    instance: Instance
    against: Budget
    method: str
    gap: float
    seed: int
    ends: float | None
    found: dict[float, Result] = field(default_factory=dict)
    plans: dict[tuple[object, ...], _Known] = field(default_factory=dict)
    range_cut: bool = False

    def take(self, known: Front, file: str) -> None:
        """Take over the points of a front, unless they contradict each other or plans that are quickly found.

        Where plans of a budget keep looser ones, the loosest point that is said to be infeasible speaks for
        all of them.

        Raises
        ------
        InvalidInputError
            With the file and the budget.
        """
        try:
            for point in known.points:
                self._keep(point.budget, point.result)
            self.compare()
        except VerificationError as error:
            raise InvalidInputError(f"cannot be gone on with: {error}", file) from error
        refused = [point.budget for point in known.points if point.infeasible]
        for budget in refused[:1] if known.nested else refused:
            instance = self.against.instance(self.instance, budget)
            plan = self._cheapest(instance, budget) or self.any_plan(instance).plan
            if plan is not None:
                raise InvalidInputError(
                    f"says that no plan keeps {self.against.field} {budget:g}, and one that costs "
                    f"{plan_cost(instance, plan):.12g} does; remove that point",
                    file,
                )
        self.range_cut = known.range_cut

    def front(self, between: tuple[float, float], asked: int, stopped: Termination | None) -> Front:
        """What is known so far."""
        order = sorted(self.found, key=self.against.strictness)
        points = tuple(FrontPoint(budget, self.found[budget]) for budget in order)
        return Front(self.instance, self.against, between, points, asked, stopped, self.range_cut)

    def any_plan(self, instance: Instance) -> Result:
        """A solve that ends with its first plan; what it finds may be where others start."""
        left, begun = self._left(), now()
        if left is not None and left < _LEAST_SECONDS:
            return self._not_begun(instance)
        seconds = (
            _PROBE_SECONDS if left is None else min(_PROBE_SECONDS, max(_PROBE_SHARE * left, _LEAST_SECONDS))
        )
        result = uninterrupted(self._solve(instance, _ANY, seconds, None, _PROBE_LOOKS))
        if result.plan is None and result.termination is Termination.TIME_LIMIT:
            self.range_cut |= now() - begun > seconds / 2  # less are kept in reserve; else looks ended it
        self._remember(self.against.kept(instance, result), result)
        return result

    def cheapest_plan(self, instance: Instance) -> Result:
        """A solve of an instance without the budget."""
        left = self._left()
        if left is not None and left < _LEAST_SECONDS:
            return self._not_begun(instance)
        seconds = None if left is None else max(_PROBE_SHARE * left, _LEAST_SECONDS)
        return uninterrupted(self._solve(instance, self.gap, seconds, None))

    def _not_begun(self, instance: Instance) -> Result:
        """What a solve for the range comes to once the time is over."""
        self.range_cut = True
        reason = "the time of the front was over"
        outcome = Outcome(Termination.TIME_LIMIT, None, 0.0, reason)
        return verified_result(instance, self.method, outcome, self.seed)

    def run(self, budgets: Sequence[float], tell: Callable[[], None]) -> Termination | None:
        """Solve at every budget that has no point, and again at those with a gap; why that ended early."""
        missing = [budget for budget in budgets if budget not in self.found]
        queue = [*halving_order(missing), *filter(self._open, self.found)]
        try:
            while queue:
                for number, budget in enumerate(queue):
                    left = self._left()
                    if left is not None and left < _LEAST_SECONDS:
                        return Termination.TIME_LIMIT
                    result = self._at(budget, None if left is None else left / (len(queue) - number))
                    self._keep(budget, result)
                    if result.termination is Termination.INTERRUPTED:
                        return Termination.INTERRUPTED
                    tell()
                queue = [one for one in queue if self.found[one].termination is Termination.TIME_LIMIT]
        except KeyboardInterrupt:
            return Termination.INTERRUPTED
        return None

    def compare(self) -> None:
        """Give every point the cheapest plan and the greatest bound that hold there."""
        for budget in sorted(self.found, key=self.against.strictness):
            self.found[budget] = self._improved(budget, self.found[budget])

    def _at(self, budget: float, seconds: float | None) -> Result:
        """The result at a budget, from what is known elsewhere if that is enough."""
        instance = self.against.instance(self.instance, budget)
        lower, plan = self._bound(budget), self._cheapest(instance, budget)
        if math.isinf(lower):
            return self._infeasible(instance)
        if plan is not None:
            ending = proved_as(plan_cost(instance, plan), lower, self.gap)
            if ending is not None:
                return verified_result(instance, self.method, Outcome(ending, plan, lower), self.seed)
        return self._solve(instance, self.gap, seconds, plan)

    def _solve(
        self,
        instance: Instance,
        gap: float,
        seconds: float | None,
        start: Plan | None,
        looks: int | None = None,
    ) -> Result:
        limits: dict[str, Any] = {"gap": gap, "time_limit": seconds, "looks": looks}
        return solve(instance, self.method, **limits, seed=self.seed, start=start)

    def _infeasible(self, instance: Instance) -> Result:
        reason = "models: a looser budget is proved infeasible already"
        outcome = Outcome(Termination.INFEASIBLE, None, math.inf, reason)
        return verified_result(instance, self.method, outcome, self.seed)

    def _keep(self, budget: float, result: Result) -> None:
        instance = self.against.instance(self.instance, budget)
        self._remember(self.against.kept(instance, result), result)
        before = self.found.get(budget)
        self.found[budget] = result
        if before is not None:  # a second attempt may have had less time than the first
            self.found[budget] = self._improved(budget, result, before.lower_bound)

    def _remember(self, kept: float, result: Result) -> None:
        if result.plan is not None:
            decisions = (result.plan.data, result.plan.schedule)
            before = self.plans.get(decisions)
            if before is None or before.kept < kept:
                self.plans[decisions] = _Known(bare(result.plan), kept)

    def _bound(self, budget: float) -> float:
        """No plan that keeps the budget costs less, as this holds at looser ones [cost]."""
        if not self.against.nested(self.instance):
            return 0.0
        asked = self.against.strictness(budget)
        bounds = [r.lower_bound for b, r in self.found.items() if self.against.strictness(b) <= asked]
        return max(bounds, default=0.0)

    def _cheapest(self, instance: Instance, budget: float) -> Plan | None:
        """The cheapest plan that is known and keeps the budget, with its cheapest resources there."""
        asked = self.against.strictness(budget)
        moved = [
            plan
            for known in self.plans.values()
            if seems_kept(known.kept, asked)
            and (plan := with_cheapest_resources(instance, known.plan)) is not None
        ]
        moved.sort(key=lambda plan: plan_cost(instance, plan))
        return next((plan for plan in moved if accepted(instance, plan)), None)

    def _improved(self, budget: float, result: Result, proved: float = 0.0) -> Result:
        """A result with the cheapest plan and the greatest bound that are known to hold at its budget."""
        instance = self.against.instance(self.instance, budget)
        lower, plan = max(proved, self._bound(budget)), self._cheapest(instance, budget)
        cost = math.inf if plan is None else plan_cost(instance, plan)
        held = math.inf if result.cost is None else result.cost
        if lower > min(cost, held) * (1 + PROOF_TOLERANCE) and min(cost, held) < math.inf:
            raise VerificationError(
                f"at {self.against.field} {budget:g} a plan costs {min(cost, held):.12g}, and no plan costs "
                f"less than {lower:.12g}, as it was proved at a looser one"
            )
        cheaper, higher = cost < held * (1 - PROOF_TOLERANCE), lower > result.lower_bound
        if not cheaper and (not higher or result.solution is Solution.PROVEN_OPTIMAL):
            return result
        if math.isinf(lower):
            return self._infeasible(instance)
        lower, plan = max(lower, result.lower_bound), plan if cheaper else result.plan
        ending = proved_as(min(cost, held), lower, self.gap) or stopped_as(result.termination)
        outcome = Outcome(ending, None if plan is None else bare(plan), lower, result.reason)
        changed = verified_result(instance, self.method, outcome, self.seed)
        return replace(changed, wall_seconds=result.wall_seconds, cpu_seconds=result.cpu_seconds)

    def _open(self, budget: float) -> bool:
        """Whether a point that was taken over can become better."""
        found = self.found[budget]
        if found.termination is Termination.INFEASIBLE:
            return False
        return found.cost is None or proved_as(found.cost, found.lower_bound, self.gap) is None

    def _left(self) -> float | None:
        return None if self.ends is None else self.ends - now()
