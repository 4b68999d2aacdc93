"""Fronts: the cost of certified plans against l_max, T_max or omega, each point with its own lower bound.

Points help each other, as feasible sets are nested (`docs/fronts`; `depl.models.solving.edge` names the
exception). The loosest budget is solved first, then the tightest, then the middle of what is left, and so on:
a front that is stopped early is a coarse one. In the end the plans and bounds of all points are compared once
more, after which cost and bound never fall from a looser budget to a tighter one.
"""

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from depl.models.evaluation.evaluate import evaluate, plan_cost
from depl.models.foundation.deadline import now
from depl.models.foundation.documents import decode_document, read_text, write_text
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.interval import Interval
from depl.models.foundation.names import advice
from depl.models.foundation.showing import Shown
from depl.models.foundation.tables import frame_of
from depl.models.foundation.tolerances import PROOF_TOLERANCE
from depl.models.problem.instance import Instance
from depl.models.problem.laws import NO_LAW
from depl.models.problem.plan import Plan
from depl.models.solving.defaults import FRONT_POINTS, FRONTS_AGAINST
from depl.models.solving.edge import (
    ANY_GAP,
    ANY_LOOKS,
    MARKS,
    Budget,
    default_range,
    halving_order,
    required_range,
    spread,
    with_cheapest_resources,
)
from depl.models.solving.interrupts import first_interrupt_ignored, uninterrupted
from depl.models.solving.limits import require_limits
from depl.models.solving.methods import Meaning, default_method, find
from depl.models.solving.result import Outcome, Result, Solution, Termination, proved_as, stopped_as
from depl.models.solving.solve import VerificationError, solve, verified_result
from depl.models.verifier.verify import verify

COLUMNS = (
    *("budget", "termination", "cost", "lower_bound", "gap"),
    *("epochs", "training_time", "expected_loss", "violation_lower", "violation_upper"),
)
"""Of the table of a front, see `FrontPoint.row`."""


@dataclass(frozen=True)
class FrontPoint:
    """One budget of a front and what is known there.

    Attributes
    ----------
    budget : float
        l_max, T_max or omega.
    result : Result
        Of the instance with this budget. Its plan may have been found, and its bound proved, at another one.
    """

    budget: float
    result: Result

    @property
    def cost(self) -> float | None:
        """Of the plan; None without one [cost]."""
        return self.result.cost

    @property
    def lower_bound(self) -> float:
        """No feasible plan costs less; infinite if there is proved to be none [cost]."""
        return self.result.lower_bound

    @property
    def plan(self) -> Plan | None:
        """A plan that the verifier accepts at this budget, if one is known."""
        return self.result.plan

    @property
    def solution(self) -> Solution:
        """Whether the plan is proved to be cheapest, or just feasible."""
        return self.result.solution

    @property
    def violation(self) -> Interval | None:
        """Certified interval of P(l(K) > l_max) of the plan, with l_max of this budget."""
        return self.result.violation

    @property
    def infeasible(self) -> bool:
        """Whether it is proved that no plan keeps this budget."""
        return self.result.termination is Termination.INFEASIBLE

    def row(self) -> dict[str, Any]:
        """The numbers of the point, as a table shows them; None for what is not known."""
        known = {"budget": self.budget, **self.result.to_dict()}
        known |= {f"violation_{end}": value for end, value in known["violation"].items()}
        return {name: known[name] for name in COLUMNS}


@dataclass(frozen=True, repr=False)
class Front(Shown):
    """The cost of certified plans against a budget.

    Attributes
    ----------
    instance : Instance
        As it was given; the budget of each point replaces its own.
    against : Budget
        What varies.
    between : tuple of float
        The loosest and the tightest budget that were asked for.
    points : tuple of FrontPoint
        From the loosest budget to the tightest.
    asked : int
        How many budgets were asked for, those included that there was no time for.
    stopped : Termination or None
        TIME_LIMIT or INTERRUPTED if that ended the work on the front.
    range_cut : bool
        Whether the clock ended the search for a plan with which the range could reach further.
    """

    instance: Instance
    against: Budget
    between: tuple[float, float]
    points: tuple[FrontPoint, ...]
    asked: int
    stopped: Termination | None = None
    range_cut: bool = False

    @property
    def nested(self) -> bool:
        """Whether a budget says something about the others; see `depl.models.solving.edge`."""
        return self.against.nested(self.instance)

    @property
    def complete(self) -> bool:
        """Whether all budgets that were asked for have a point, and none was ended by a limit."""
        stopped = (Termination.TIME_LIMIT, Termination.INTERRUPTED)
        ended = all(point.result.termination not in stopped for point in self.points)
        return ended and len(self.points) >= self.asked

    def instance_at(self, budget: float) -> Instance:
        """The instance with another budget, named after it: the one whose plans a point's plan is among.

        Raises
        ------
        InvalidInputError
            If it cannot have it.
        """
        named = f"{self.instance.name}-{self.against.field.replace('_', '-')}-{budget:g}"
        return self.against.instance(self.instance, budget).replace(name=named)

    def bounds(self, budget: float) -> tuple[float, float]:
        """A lower bound of the cost at any budget, and the cost of the cheapest plan known to keep it.

        The bound is that of the looser points, the plan one of the tighter ones, as feasible sets are nested;
        where they are not (`nested`), only a point of this very budget says something. Infinite where no plan
        is known, and both where there is proved to be none [cost].
        """
        lower, cost = 0.0, math.inf
        asked = self.against.strictness(budget)
        for point in self.points:
            strictness = self.against.strictness(point.budget)
            if point.budget == budget or (self.nested and strictness <= asked):
                lower = max(lower, point.lower_bound)
            if point.cost is not None and (point.budget == budget or (self.nested and strictness >= asked)):
                cost = min(cost, point.cost)
        return min(lower, cost), cost

    def rows(self) -> list[dict[str, Any]]:
        """One record for each point, loosest first."""
        return [point.row() for point in self.points]

    def frame(self) -> Any:
        """The same as a ``pandas.DataFrame``.

        Raises
        ------
        InvalidInputError
            If pandas is not installed.
        """
        return frame_of(COLUMNS, [tuple(row.values()) for row in self.rows()], ".rows() does without")

    def to_dict(self) -> dict[str, Any]:
        """The front as plain data, with the whole result and the plan of each point."""
        return {
            "format": "depl-front",
            "version": 1,
            "instance": self.instance.name,
            "fingerprint": self.instance.fingerprint,
            "against": self.against.value,
            "between": list(self.between),
            "range_cut": self.range_cut,
            "nested": self.nested,
            "asked": self.asked,
            "complete": self.complete,
            "stopped": None if self.stopped is None else self.stopped.value,
            "points": [{"budget": point.budget, **point.result.to_dict()} for point in self.points],
        }

    def to_json(self) -> str:
        """The front as JSON, which `read_front` reads."""
        return json.dumps(self.to_dict(), indent=1) + "\n"

    def __iter__(self) -> Iterator[FrontPoint]:
        """Its points, loosest first."""
        return iter(self.points)

    def __len__(self) -> int:
        """How many points there are."""
        return len(self.points)


class _Point(msgspec.Struct):
    """What is read of a point; all else follows from its plan."""

    budget: float
    termination: Termination
    method: str
    lower_bound: float | None = None
    reason: str | None = None
    seed: int = 0
    plan: Plan | None = None
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    versions: dict[str, str] = {}


class _File(msgspec.Struct):
    """What is read of a file."""

    fingerprint: str
    against: Budget
    between: tuple[float, float]
    asked: int
    points: list[_Point]
    range_cut: bool = False
    instance: str = ""
    format: Literal["depl-front"] = "depl-front"
    version: Literal[1] = 1


def read_front(path: str | Path, instance: Instance, against: Budget) -> Front | None:
    """The front in a file, each plan evaluated and verified again; None if there is no such file.

    Lower bounds, and that there is no plan, are repeated from the file: only the search that proved them
    could do it again. `depl.models.solving.front` looks for a plan that refutes them.

    Raises
    ------
    InvalidInputError
        If the file is none, of another instance, against another budget, or a plan in it is not one of its
        budget.
    """
    if not os.path.exists(path):
        return None
    try:
        found = decode_document(read_text(path), _File)
    except InvalidInputError as error:
        raise error.within(f"{path}: ") from error
    if found.fingerprint != instance.fingerprint:
        raise InvalidInputError(
            f"holds a front of another instance, {found.instance!r} (fingerprint {found.fingerprint[:12]}; "
            f"{instance.name!r} has {instance.fingerprint[:12]}); name another file",
            str(path),
        )
    if found.against is not against:
        raise InvalidInputError(
            f"holds a front against {found.against.value}, not {against.value}; name another file", str(path)
        )
    points = [_point(instance, against, row, f"{path}: $.points[{i}]") for i, row in enumerate(found.points)]
    points.sort(key=lambda point: against.strictness(point.budget))
    return Front(instance, against, found.between, tuple(points), found.asked, range_cut=found.range_cut)


OnPoint = Callable[[Front], object]
"""Called with the front so far after every point."""

_LEAST_SECONDS = 0.05
"""Of a time limit, below which no further solve is begun: about what the certificate of its plan takes."""

_PROBE_SECONDS, _PROBE_SHARE = 60.0, 0.1
"""Seconds at most of a solve for any plan, far beyond what its looks take on shipped instances, and share of
the time left where time is limited. If they end one, the front says that its range was cut."""

_SLACK = 1e-6
"""Of a strictness by which a plan may seem to miss it and is still looked at: far above rounding of a
quantile or a sum of times. What is looked at is evaluated and verified."""


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
        The range of budgets; by default that of `depl.models.solving.edge.default_range`, and then
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
    name = against.value if isinstance(against, Budget) else against
    if name not in FRONTS_AGAINST:
        raise InvalidInputError(f"there is no {name!r:.80}; {advice(str(name), FRONTS_AGAINST)}", "against")
    kind, also = Budget(name), list[float]()
    gap, time_limit, seed = require_limits(gap, time_limit, seed)
    method = _required_method(instance, method)
    if between is not None:
        between = required_range(instance, kind, between)
    else:
        own = kind.own(instance)
        also = [*(MARKS if kind is Budget.PROBABILITY else ()), *([] if own is None else [own])]
    search = _Search(instance, kind, method, gap, seed, None if time_limit is None else now() + time_limit)
    known = None if file is None else read_front(file, instance, kind)
    if known is not None:
        search.take(known, str(file))
        between = between or known.between
    if between is None:
        between = default_range(instance, kind, search.any_plan, search.cheapest_plan)
    budgets = spread(kind, between, points, also)
    search.between, search.asked = between, len({*budgets, *search.found})
    stopped = search.run(budgets, lambda: search.saved(file, on_point))
    with first_interrupt_ignored():
        search.compare()
        return search.saved(file, None, stopped)


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


@dataclass
class _Search:
    """What is known at every budget so far."""

    instance: Instance
    against: Budget
    method: str
    gap: float
    seed: int
    ends: float | None  # of the time limit, by the clock of foundation
    found: dict[float, Result] = field(default_factory=dict)  # by budget
    # Every plan, and the strictness that its numbers say it keeps, by its decisions without resources.
    plans: dict[tuple[object, ...], tuple[Plan, float]] = field(default_factory=dict)
    range_cut: bool = False  # the clock ended the search for a plan on which the range rests
    between: tuple[float, float] = (math.nan, math.nan)
    asked: int = 0

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
            plan = self._cheapest(instance, budget)[0] or self.any_plan(instance).plan
            if plan is not None:
                raise InvalidInputError(
                    f"says that no plan keeps {self.against.field} {budget:g}, and one that costs "
                    f"{plan_cost(instance, plan):.12g} does; remove that point",
                    file,
                )
        self.range_cut = known.range_cut

    def saved(
        self, file: str | Path | None, tell: OnPoint | None, stopped: Termination | None = None
    ) -> Front:
        """What is known so far, written and told."""
        order = sorted(self.found, key=self.against.strictness)
        points = tuple(FrontPoint(budget, self.found[budget]) for budget in order)
        found = Front(self.instance, self.against, self.between, points, self.asked, stopped, self.range_cut)
        if file is not None:
            write_text(file, found.to_json())
        if tell is not None:
            tell(found)
        return found

    def any_plan(self, instance: Instance) -> Result:
        """A solve that ends with its first plan; what it finds may be where others start."""
        return self._probe(instance, ANY_GAP, _PROBE_SECONDS, ANY_LOOKS)

    def cheapest_plan(self, instance: Instance) -> Result:
        """A solve of an instance without the budget."""
        return self._probe(instance, self.gap, math.inf, None)

    def _probe(self, instance: Instance, gap: float, most: float, looks: int | None) -> Result:
        left, begun = self._left(), now()
        if left < _LEAST_SECONDS:
            self.range_cut = True
            return self._known(instance, Termination.TIME_LIMIT, None, 0.0, "the time of the front was over")
        seconds = min(most, max(_PROBE_SHARE * left, _LEAST_SECONDS))
        result = uninterrupted(self._solve(instance, gap, seconds, None, looks))
        if result.plan is None and result.termination is Termination.TIME_LIMIT:
            self.range_cut |= now() - begun > seconds / 2  # less are kept in reserve; else looks ended it
        self._remember(instance, result)
        return result

    def run(self, budgets: Sequence[float], tell: Callable[[], object]) -> Termination | None:
        """Solve at every budget that has no point, and again at those with a gap; why that ended early."""
        missing = [budget for budget in budgets if budget not in self.found]
        queue = [*halving_order(missing), *filter(self._open, self.found)]
        try:
            while queue:
                for number, budget in enumerate(queue):
                    if (left := self._left()) < _LEAST_SECONDS:
                        return Termination.TIME_LIMIT
                    result = self._at(budget, left / (len(queue) - number))
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

    def _at(self, budget: float, seconds: float) -> Result:
        """The result at a budget, from what is known elsewhere if that is enough."""
        instance = self.against.instance(self.instance, budget)
        lower, (plan, cost) = self._bound(budget), self._cheapest(instance, budget)
        ending = Termination.INFEASIBLE if math.isinf(lower) else proved_as(cost, lower, self.gap)
        if ending is not None:
            return self._known(instance, ending, plan, lower)
        return self._solve(instance, self.gap, seconds, plan)

    def _solve(
        self, instance: Instance, gap: float, seconds: float, start: Plan | None, looks: int | None = None
    ) -> Result:
        limit = None if math.isinf(seconds) else seconds
        return solve(
            instance, self.method, gap=gap, time_limit=limit, looks=looks, seed=self.seed, start=start
        )

    def _known(
        self,
        instance: Instance,
        ending: Termination,
        plan: Plan | None,
        lower: float,
        reason: str | None = None,
    ) -> Result:
        """What is concluded without a solve."""
        if ending is Termination.INFEASIBLE:
            plan, lower, reason = None, math.inf, "models: a looser budget is proved infeasible already"
        return verified_result(instance, self.method, Outcome(ending, plan, lower, reason), self.seed)

    def _keep(self, budget: float, result: Result) -> None:
        self._remember(self.against.instance(self.instance, budget), result)
        before = self.found.get(budget)
        self.found[budget] = result
        if before is not None:  # a second attempt may have had less time than the first
            self.found[budget] = self._improved(budget, result, before.lower_bound)

    def _remember(self, instance: Instance, result: Result) -> None:
        if result.plan is not None:
            kept, decisions = self.against.kept(instance, result), (result.plan.data, result.plan.schedule)
            if decisions not in self.plans or self.plans[decisions][1] < kept:
                self.plans[decisions] = result.plan.bare(), kept

    def _bound(self, budget: float) -> float:
        """No plan that keeps the budget costs less, as this holds at looser ones [cost]."""
        if not self.against.nested(self.instance):
            return 0.0
        asked = self.against.strictness(budget)
        bounds = [r.lower_bound for b, r in self.found.items() if self.against.strictness(b) <= asked]
        return max(bounds, default=0.0)

    def _cheapest(self, instance: Instance, budget: float) -> tuple[Plan | None, float]:
        """The cheapest plan that is known and keeps the budget, with its cheapest resources there."""
        asked = self.against.strictness(budget)
        least = asked - _SLACK * max(1.0, abs(asked))
        near = [plan for plan, kept in self.plans.values() if kept >= least]
        moved = filter(None, (with_cheapest_resources(instance, plan) for plan in near))
        plans = [(plan, plan_cost(instance, plan)) for plan in moved]
        held = (item for item in sorted(plans, key=lambda item: item[1]) if _accepted(instance, item[0]))
        return next(held, (None, math.inf))

    def _improved(self, budget: float, result: Result, proved: float = 0.0) -> Result:
        """A result with the cheapest plan and the greatest bound that are known to hold at its budget."""
        instance = self.against.instance(self.instance, budget)
        lower, (plan, cost) = max(proved, self._bound(budget)), self._cheapest(instance, budget)
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
            return self._known(instance, Termination.INFEASIBLE, None, lower)
        lower, plan = max(lower, result.lower_bound), plan if cheaper else result.plan
        ending = proved_as(min(cost, held), lower, self.gap) or stopped_as(result.termination)
        changed = self._known(instance, ending, None if plan is None else plan.bare(), lower, result.reason)
        return replace(changed, wall_seconds=result.wall_seconds, cpu_seconds=result.cpu_seconds)

    def _open(self, budget: float) -> bool:
        """Whether a point that was taken over can become better."""
        found = self.found[budget]
        if found.termination is Termination.INFEASIBLE:
            return False
        return found.cost is None or proved_as(found.cost, found.lower_bound, self.gap) is None

    def _left(self) -> float:
        """Seconds of the time limit that are left; infinite without one [s]."""
        return math.inf if self.ends is None else self.ends - now()


def _accepted(instance: Instance, plan: Plan) -> bool:
    """Whether a plan is certified feasible, and under a traced law accepted by the verifier, too.

    That law refuses promises below every loss that was seen, which is no matter of the equations.
    """
    if not evaluate(instance, plan, quantile=False).feasible:
        return False
    return not instance.has_memory or verify(instance, plan, most_plans=0).ok


def _point(instance: Instance, against: Budget, row: _Point, place: str) -> FrontPoint:
    lower = math.inf if row.termination is Termination.INFEASIBLE else row.lower_bound or 0.0
    outcome = Outcome(row.termination, row.plan and row.plan.bare(), lower, row.reason)
    try:
        asked = against.instance(instance, row.budget)
        result = verified_result(asked, find(row.method).name, outcome, row.seed)
    except (InvalidInputError, VerificationError) as error:
        raise InvalidInputError(f"cannot be gone on with: {error}", place) from error
    if result.cost is not None and lower > result.cost * (1 + PROOF_TOLERANCE):
        raise InvalidInputError(f"its lower bound {lower:.12g} exceeds the cost of its plan", place)
    seconds = replace(result, wall_seconds=row.wall_seconds, cpu_seconds=row.cpu_seconds)
    return FrontPoint(row.budget, replace(seconds, versions=row.versions))
