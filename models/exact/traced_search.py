"""Cheapest plans of instances with a traced law: every schedule costed, the cheapest that is met taken.

Under the law (method ``enumerate``) a schedule is met if the certified probability of missing the target is
within the budget; what a count of runs or the directed grid does not show to miss it is certified by itself.
Under scenarios (``scenario-search``) misses are counted. Either way a plan is called optimal only if every
cheaper schedule is known not to be met. Schedules outside the support of the traces are no plans.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from depl.models.evaluation.traced_counting import runs_to_carry
from depl.models.evaluation.traced_grid import LossGrid
from depl.models.evaluation.traced_loss import (
    CONFIDENT_REST,
    below_all_seen,
    end_law,
    only_whole_runs,
    untrained_law,
    whole,
)
from depl.models.evaluation.traced_prediction import Mixed, mixture_of, runs_through
from depl.models.evaluation.traced_sampling import TracedSample
from depl.models.exact.traced_schedules import Candidates, all_candidates, propagated
from depl.models.foundation.clock import now
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.foundation.wording import counted, probability
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import load
from depl.models.problem.instance import Instance, Target
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.problem.site_rules import why_not_idle
from depl.models.problem.traced_law import TracedLaw
from depl.models.scenarios.draws import (
    Scenarios,
    allowed_misses,
    count_misses,
    require_fitting,
    scenario_losses,
)
from depl.models.solving.methods import Limits, Outcome
from depl.models.solving.result import Termination
from depl.models.traces.table import Schedule

MAXIMUM_SCHEDULES = 1_000_000
"""Most schedules that are listed."""

_ROUNDING = 1e-11
"""Relative to the sizes that are added."""

_NOTHING = -1
"""No schedule, and no count, yet."""

_REFUSED = (Fraction(1), Fraction(1))
"""Bounds for a schedule that must not be promised."""

Share = Fraction | float


def search_under_law(instance: Instance, limits: Limits, maximum: int = MAXIMUM_SCHEDULES) -> Outcome:
    """Cheapest plan under the traced law; proves optimality, and infeasibility inside the support.

    Raises
    ------
    NotCoveredError
        If the traces support more schedules than ``maximum``, or the law has a confidence and goes on from a
        run under way.
    """
    return _search(instance, limits, maximum, _UnderLaw, _idle_meets_law)


def search_under_scenarios(instance: Instance, limits: Limits, scenarios: Scenarios) -> Outcome:
    """The same where at most floor((1 - omega) S) of S scenarios may miss the target.

    Raises
    ------
    InvalidInputError
        If the scenarios are for other models or another number of epochs.
    NotCoveredError
        As `search_under_law`.
    """
    require_fitting(instance, scenarios)
    idle_meets = partial(_idle_meets_scenarios, scenarios)
    return _search(instance, limits, MAXIMUM_SCHEDULES, partial(_UnderScenarios, scenarios), idle_meets)


class _Judge(Protocol):
    """Says how often a schedule misses its target."""

    budget: Share

    def misses(self, node: int) -> tuple[Share, Share]:
        """Bounds, to be compared with the budget."""

    def decided(self, node: int) -> tuple[Share, Share]:
        """The best bounds there are."""

    def unreachable(self, least: float, nearest: int) -> str:
        """That no schedule is met, in words: the target, and the node with the least upper bound."""


_JudgeOf = Callable[[Instance, TracedLaw, Candidates, Limits], _Judge]


_IdleMeets = Callable[[Instance, TracedLaw], bool]


def _idle_meets_law(instance: Instance, traced: TracedLaw) -> bool:
    """Whether the plan without epochs keeps the target."""
    target = instance.target
    found = untrained_law(traced, target.initial_loss).violation(target.maximum_loss)
    return found.at_most(target.violation_budget)


def _idle_meets_scenarios(scenarios: Scenarios, instance: Instance, _traced: TracedLaw) -> bool:
    """The same where scenarios are counted, which draw no number for it."""
    misses = count_misses(instance, scenario_losses(instance, scenarios, Plan()))
    return misses <= allowed_misses(instance, len(scenarios))


def _search(
    instance: Instance, limits: Limits, maximum: int, judge_of: _JudgeOf, idle_meets: _IdleMeets
) -> Outcome:
    traced = instance.traced_law
    if traced is None:
        raise InvalidInputError("there is no law to search under", ".traced_law")
    if instance.rules.may_stop and idle_meets(instance, traced):
        return Outcome(Termination.OPTIMAL, Plan(), 0.0)
    if traced.confidence is not None and traced.observed is not None:
        raise NotCoveredError(CONFIDENT_REST)
    try:
        listed = all_candidates(instance, traced.law, maximum, lambda: not limits.expired())
        if listed is None:
            return Outcome(Termination.TIME_LIMIT, None, 0.0, "stopped while schedules were listed")
        built = now() - limits.started
        return _first_met(instance, limits, listed, judge_of(instance, traced, listed, limits), built)
    except KeyboardInterrupt:
        return Outcome(Termination.INTERRUPTED, None, 0.0, "stopped before a plan was found")


def _first_met(
    instance: Instance, limits: Limits, listed: Candidates, judge: _Judge, built: float
) -> Outcome:
    """The cheapest schedule that is met."""
    undecided, least, nearest = math.inf, math.inf, _NOTHING
    ending = [node for node, item in enumerate(listed.nodes) if instance.rules.may_end(item.place.trained[0])]
    for node in listed.by_cost(ending).tolist():
        cost = listed.nodes[node].cost
        if limits.expired():
            reason = "stopped before a schedule that meets the target was found; allow more time"
            bound = min(undecided, cost)
            return Outcome(Termination.TIME_LIMIT, None, bound, reason, build_seconds=built)
        try:
            lower, upper = judge.misses(node)
            if lower <= judge.budget:  # what cheap bounds call met has to stand up to the evaluator, too
                lower, upper = judge.decided(node)
        except OutOfTimeError:
            reason, bound = "stopped while a schedule was judged; allow more time", min(undecided, cost)
            return Outcome(Termination.TIME_LIMIT, None, bound, reason, build_seconds=built)
        if upper < least:
            least, nearest = float(upper), node
        if upper <= judge.budget:
            limits.report(cost, min(cost, undecided))
            plan = _plan(instance, listed.schedule(node))
            gap = (cost - undecided) / cost if undecided < cost else 0.0
            ended = Termination.GAP_REACHED if gap <= limits.gap else Termination.EXHAUSTED
            ended = Termination.OPTIMAL if undecided >= cost else ended
            return Outcome(ended, plan, min(cost, undecided), build_seconds=built)
        if lower <= judge.budget:
            undecided = min(undecided, cost)
    if undecided < math.inf:
        reason = (
            f"no schedule is certified to meet the target; one of cost {undecided:.6g} is not seen to miss it"
        )
        return Outcome(Termination.EXHAUSTED, None, undecided, reason, build_seconds=built)
    reason = judge.unreachable(least, nearest) if ending else _nothing_listed(instance, bool(listed.nodes))
    return Outcome(Termination.INFEASIBLE, None, undecided, f"models: {reason}", build_seconds=built)


class _UnderLaw:
    """Probabilities of missing the target."""

    def __init__(self, instance: Instance, traced: TracedLaw, listed: Candidates, limits: Limits) -> None:
        self.budget: Share = instance.target.violation_budget
        self._target = instance.target
        self._traced, self._listed, self._limits = traced, listed, limits
        self._maximum = traced.on_scale(instance.target.maximum_loss)
        self._deviations = np.array(traced.deviations or (0.0,))
        self._below = False

    def misses(self, node: int) -> tuple[Share, Share]:
        """By counts of runs, or from the directed grid."""
        if self._traced.residuals == "independent":
            if self._traced.only_whole_runs:
                return _REFUSED
            lower, upper = self._bounds[node]
            return float(lower), float(upper)
        mixed = mixture_of(
            self._traced.law, self._listed.ends(node), self._traced.counting, self._traced.known
        )
        if self._traced.only_whole_runs and not mixed.together:
            return _REFUSED
        offsets = np.zeros(1) if mixed.together else self._deviations
        limit, sizes = self._maximum + ATOM_TOLERANCE, [abs(self._maximum), abs(mixed.constant)]
        sizes += [float(np.abs(part[np.isfinite(part)]).max()) for part in (offsets, *mixed.parts)]
        doubt = _ROUNDING * max(1.0, math.fsum(sizes))
        lower, upper = exceedances(mixed, offsets, (limit + doubt, limit - doubt))
        return lower, upper

    def decided(self, node: int) -> tuple[Share, Share]:
        """By the evaluator of the law."""
        law = end_law(self._traced, self._listed.schedule(node))
        if below_all_seen(self._traced, law, self._target.violation_budget):
            self._below = True
            return _REFUSED
        found = law.violation(self._target.maximum_loss)
        return (found.lower, found.upper) if found.exact is None else (found.exact, found.exact)

    def unreachable(self, least: float, nearest: int) -> str:
        """With a quantile that can be reached, or the number of runs that could carry the promise."""
        traced, schedule = self._traced, self._listed.schedule(nearest)
        alone = whole(traced, schedule)
        if traced.only_whole_runs and not alone:
            return f"{_asked(self._target)} cannot be promised: {only_whole_runs(traced)}"
        others = (
            "" if traced.confidence is not None or not traced.only_whole_runs else only_whole_runs(traced)
        )
        others = others and f"; {others}"
        short = self._too_few_whole(schedule) if alone else self._too_few_lend(nearest)
        if short:
            short += f"; record more runs, or ask for less{others}"
            return f"{_asked(self._target)} cannot be promised: {short}"
        if self._below:
            return f"{_asked(self._target)} {_below(traced)}"
        quantile = end_law(traced, schedule).quantile(self._target.violation_budget)
        return (
            f"{_asked(self._target)} unreachable within {counted(self._target.maximum_epochs, 'epoch')}, "
            "the time limits and the support of the traces: the schedule that misses it least often has the "
            f"quantile {quantile.upper:.6g}{others}"
        )

    def _too_few_whole(self, schedule: Schedule) -> str:
        """Why so few runs of a schedule carry no such promise, or nothing where they could."""
        traced, level = self._traced, self._target.quantile_level
        through = len(runs_through(traced.law, traced.from_start(schedule)))
        needed = runs_to_carry(level, traced.confidence, traced.diverged)
        if not traced.counting.unseen or through >= needed:
            return ""
        lost = f" where {traced.diverged} diverged, which count as misses" if traced.diverged else ""
        return (
            f"it takes {counted(needed, 'run')} of one plan{lost}, and {counted(through, 'run')} went "
            "through the one that misses the target least often"
        )

    def _too_few_lend(self, nearest: int) -> str:
        """The same of a schedule whose stages are lent by different runs, each with misses counted beside."""
        traced = self._traced
        if not traced.counting.unseen or traced.residuals == "independent":
            return ""
        mixed = mixture_of(traced.law, self._listed.ends(nearest), traced.counting, traced.known)
        beside = traced.counting.beside
        seen = [len(part) - beside for part in mixed.parts]
        carried = math.prod(Fraction(number, number + beside) for number in seen)
        if 1 - carried <= self.budget:
            return ""
        return (
            f"to the stages of the plan that misses the target least often {' and '.join(map(str, seen))} "
            f"runs lend, each with {beside} more counted as a miss: they carry "
            f"{math.floor(1000 * carried) / 1000:g} at most"
        )

    @cached_property
    def _bounds(self) -> FloatArray:
        """Of all schedules, shape (schedules, 2); what there was no time for is between 0 and 1."""
        law, listed = self._traced.law, self._listed
        grid = LossGrid.of(law, known=self._traced.known)
        found = np.tile([0.0, 1.0], (len(listed.nodes), 1))
        laws = propagated(listed, grid.first, grid.further)
        for index, law_of_loss in laws:
            found[index] = grid.exceedance(
                law_of_loss, self._maximum - self._deviations, listed.epochs(index)
            )
            if self._limits.expired():
                break
        return found


class _UnderScenarios:
    """Counts of scenarios that miss the target."""

    def __init__(
        self, scenarios: Scenarios, instance: Instance, traced: TracedLaw, listed: Candidates, limits: Limits
    ) -> None:
        self.budget: Share = allowed_misses(instance, len(scenarios))
        self._traced, self._listed, self._limits = traced, listed, limits
        self._target = instance.target
        self._maximum = traced.on_scale(instance.target.maximum_loss) + ATOM_TOLERANCE
        self._below = False
        names = tuple(model.name for model in instance.models)
        self._sample = TracedSample(traced, names, scenarios.improvements, scenarios.switch_losses)

    def misses(self, node: int) -> tuple[Share, Share]:
        """The count, twice; anything where there was no time to count."""
        counted_at_once = self._traced.residuals == "independent" and not self._traced.only_whole_runs
        count = int(self._counts[node]) if counted_at_once else self._count(node)
        return (0, len(self._sample.of_models)) if count == _NOTHING else (count, count)

    def decided(self, node: int) -> tuple[Share, Share]:
        """The same again, unless the law promises the impossible."""
        law = end_law(self._traced, self._listed.schedule(node))
        if below_all_seen(self._traced, law, self._target.violation_budget):
            self._below = True
            return len(self._sample.of_models), len(self._sample.of_models)
        return self.misses(node)

    def unreachable(self, least: float, nearest: int) -> str:
        """With the least count."""
        if self._below:
            return f"{_asked(self._target)} {_below(self._traced)}"
        return (
            f"{_asked(self._target)} unreachable on "
            f"{counted(len(self._sample.of_models), 'scenario')} within "
            f"{counted(self._target.maximum_epochs, 'epoch')}, the time limits and the support "
            f"of the traces: {least:g} of them miss it at least, {float(self.budget):g} may"
        )

    def _count(self, node: int) -> int:
        """Of a schedule with residuals per run; all where plans are refused."""
        schedule = self._listed.schedule(node)
        if self._traced.only_whole_runs and not whole(self._traced, schedule):
            return len(self._sample.of_models)
        return int((self._sample.of_stages(self._listed.ends(node)) > self._maximum).sum())

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        """Of all schedules; `_NOTHING` for what there was no time for."""
        sample, listed = self._sample, self._listed
        found = np.full(len(listed.nodes), _NOTHING)
        losses = propagated(listed, sample.first, sample.further)
        for index, before in losses:
            final = sample.deviating(before, listed.nodes[index].place, whole=False)
            found[index] = int((final > self._maximum).sum())
            if self._limits.expired():
                break
        return found


def exceedance(mixed: Mixed, offsets: FloatArray, limit: float) -> Fraction:
    """P(constant + parts + offset > limit), all offsets and, but for weights, all atoms equally likely."""
    (found,) = exceedances(mixed, offsets, (limit,))
    return found


def exceedances(mixed: Mixed, offsets: FloatArray, limits: Sequence[float]) -> list[Fraction]:
    """`exceedance` at several limits."""
    if mixed.weights is not None:
        (own,), sums = mixed.parts, mixed.constant + offsets
        size = int(mixed.weights.sum()) * sums.size
        heavier = (sum(int(mixed.weights[own + one > limit].sum()) for one in sums) for limit in limits)
        return [Fraction(many, size) for many in heavier]
    *others, last = sorted([offsets, *mixed.parts], key=len)
    sums = np.array([mixed.constant])
    for part in others:
        sums = (sums[:, None] + part[None, :]).ravel()
    ordered, size = np.sort(last), sums.size * last.size
    within = (int(ordered.searchsorted(limit - sums, side="right").sum()) for limit in limits)
    return [Fraction(size - many, size) for many in within]


def _plan(instance: Instance, schedule: Schedule) -> Plan:
    """The plan of a schedule with its cheapest resources."""
    target, names = instance.target, tuple(item.name for item in instance.datasets)
    loads = [load(instance, k, *trained, frozenset(names)) for k, trained in enumerate(schedule, start=1)]
    resources = allocate(loads, target.maximum_time, target.round_deadline).resources
    used = [
        place.name for place in instance.clusters if any(cluster == place.name for _, cluster in schedule)
    ]
    return Plan(
        data=tuple(ClusterData(cluster=place, datasets=names) for place in used),
        epochs=tuple(
            PlannedEpoch(model=model, cluster=cluster, resources=float(x))
            for (model, cluster), x in zip(schedule, resources, strict=True)
        ),
    )


def _below(traced: TracedLaw) -> str:
    """Why nothing is promised where the law promises the impossible."""
    least = traced.law.seen[0]
    of = "loss" if traced.scale == "loss" else "logarithm of a loss"
    return (
        f"cannot be promised: the quantile of the schedules that would meet it lies below {least:.6g}, the "
        f"least {of} that any run ever had, so the law does not describe the runs; fit it again"
    )


def _asked(target: Target) -> str:
    return f"target {target.maximum_loss:g} at omega {probability(target.quantile_level)}"


def _nothing_listed(instance: Instance, badly_ended: bool) -> str:
    if not instance.target.maximum_epochs:
        too_high = "a plan without an epoch misses the target too often"
        return f"maximum_epochs is 0, and {why_not_idle(instance, too_high)}"
    if badly_ended:
        return "no schedule in the support of the traces that keeps the time limits may end as it does"
    if barred := instance.rules.obstacle():
        return barred.partition(": ")[2]
    traced = instance.traced_law
    if traced is not None and traced.only_whole_runs:
        return (
            f"{_asked(instance.target)} cannot be promised within the time limits: {only_whole_runs(traced)}"
        )
    return (
        f"{_asked(instance.target)} unreachable: no schedule inside the support of the traces keeps the time "
        "limits"
    )
