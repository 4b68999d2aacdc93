"""Whether a schedule of a traced law meets the target: by certified probabilities, or counted on scenarios.

Under the law, what a count of runs or the directed grid does not show to miss the target is certified by
itself. A schedule that seems to meet it is refused where only plans of enough whole runs are promised, and
where its quantile lies below every loss that any run ever had.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from depl.models.evaluation.end_law import EndLaw
from depl.models.evaluation.in_scenarios import TracedSample
from depl.models.evaluation.traced_grid import LossGrid
from depl.models.evaluation.traced_law import Mixed, mixture_of, runs_through, runs_to_carry
from depl.models.evaluation.traced_loss import (
    below_all_seen,
    end_law,
    only_whole_runs,
    untrained_law,
    whole,
)
from depl.models.exact.traced_schedules import Candidates
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.foundation.wording import counted, probability
from depl.models.problem.affine_law import Position
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import Plan
from depl.models.risk.verdicts import Verdict
from depl.models.scenarios.draws import (
    Scenarios,
    allowed_misses,
    count_misses,
    require_fitting,
    scenario_losses,
)

_ROUNDING = 1e-11
"""Relative to the sizes that are added."""

_STATES = 2_000
"""Laws, or samples, after the first epochs of schedules that are kept: set by hand, 64 MiB of laws on a grid.
Schedules come by cost, so shortly after those that they go on from; what was dropped is worked out again."""

Bounds = tuple[Fraction | float, Fraction | float]


class ScheduleVerdicts(ABC):
    """Judges schedules, and says why none meets the target."""

    def __init__(self, instance: Instance, budget: Fraction | int, most: int) -> None:
        traced = instance.traced_law
        if traced is None:
            raise InvalidInputError("there is no law to search under", ".traced_law")
        self.instance, self.target, self.traced = instance, instance.target, traced
        self.budget = budget
        self.maximum = traced.on_scale(instance.target.maximum_loss)
        self._refused: Bounds = most, most
        self._least, self._nearest = math.inf, -1
        self._below = False
        self._states: dict[int, FloatArray] = {}

    def verdict(self, listed: Candidates, node: int) -> Verdict:
        """Whether a schedule meets the target."""
        lower, upper = self._decided(listed, node)
        if upper < self._least:
            self._least, self._nearest = float(upper), node
        if upper <= self.budget:
            return Verdict.MET
        return Verdict.VIOLATED if lower > self.budget else Verdict.UNDECIDED

    def why_none(self, listed: Candidates) -> str:
        """That no schedule is met, in words."""
        if self._nearest >= 0:
            return f"{self._asked} {self._below_seen() if self._below else self._unreachable(listed)}"
        if listed.nodes:
            return "no schedule in the support of the traces that keeps the time limits may end as it does"
        if self.traced.only_whole_runs:
            lacking = only_whole_runs(self.traced)
            return f"{self._asked} cannot be promised within the time limits: {lacking}"
        return (
            f"{self._asked} unreachable: no schedule inside the support of the traces keeps the time limits"
        )

    @abstractmethod
    def idle_meets(self) -> bool:
        """Whether the plan without epochs keeps the target."""

    @abstractmethod
    def bounds(self, listed: Candidates, node: int) -> Bounds:
        """Of how often a schedule misses its target, quickly."""

    @abstractmethod
    def _certified(self, law: EndLaw, bounds: Bounds) -> Bounds:
        """The best bounds there are."""

    @abstractmethod
    def _unreachable(self, listed: Candidates) -> str:
        """Why the target is missed, in words that follow it."""

    def _decided(self, listed: Candidates, node: int) -> Bounds:
        if self.traced.only_whole_runs and not whole(self.traced, listed.schedule(node)):
            return self._refused
        found = self.bounds(listed, node)
        if found[0] > self.budget:
            return found
        law = end_law(self.traced, listed.schedule(node))
        if below_all_seen(self.traced, law, self.target.violation_budget):
            self._below = True
            return self._refused
        return self._certified(law, found)

    def _state(
        self,
        listed: Candidates,
        node: int,
        first: Callable[[Position], FloatArray],
        further: Callable[[FloatArray, Position], FloatArray],
    ) -> FloatArray:
        """What epochs, one after another, make of the loss where residuals are independent."""
        ahead = []
        while node >= 0 and node not in self._states:
            ahead.append(node)
            node = listed.nodes[node].parent
        state = self._states[node] if node >= 0 else None
        for one in reversed(ahead):
            place = listed.nodes[one].place
            state = first(place) if state is None else further(state, place)
            if len(self._states) >= _STATES:
                del self._states[next(iter(self._states))]
            self._states[one] = state
        if state is None:
            raise RuntimeError("a schedule has an epoch")
        return state

    @property
    def _asked(self) -> str:
        return f"target {self.target.maximum_loss:g} at omega {probability(self.target.quantile_level)}"

    def _below_seen(self) -> str:
        """Why nothing is promised where the law promises the impossible."""
        of = "loss" if self.traced.scale == "loss" else "logarithm of a loss"
        return (
            "cannot be promised: the quantile of the schedules that would meet it lies below "
            f"{self.traced.law.seen[0]:.6g}, the least {of} that any run ever had, so the law does not "
            "describe the runs; fit it again"
        )


class UnderLaw(ScheduleVerdicts):
    """By probabilities of missing the target."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance, instance.target.violation_budget, 1)
        self._deviations = np.array(self.traced.deviations or (0.0,))
        if self.traced.residuals == "independent":
            self._grid = LossGrid.of(self.traced.law, known=self.traced.known)

    def idle_meets(self) -> bool:
        """By the runs before training."""
        found = untrained_law(self.traced, self.target.initial_loss).violation(self.target.maximum_loss)
        return found.at_most(self.target.violation_budget)

    def bounds(self, listed: Candidates, node: int) -> Bounds:
        """By counts of runs, or from the directed grid."""
        if self.traced.residuals == "independent":
            laws = self._state(listed, node, self._grid.first, self._grid.further)
            return self._grid.exceedance(laws, self.maximum - self._deviations, listed.epochs(node))
        mixed = self._mixture(listed, node)
        offsets = np.zeros(1) if mixed.together else self._deviations
        limit, sizes = self.maximum + ATOM_TOLERANCE, [abs(self.maximum), abs(mixed.constant)]
        sizes += [float(np.abs(part[np.isfinite(part)]).max()) for part in (offsets, *mixed.parts)]
        doubt = _ROUNDING * max(1.0, math.fsum(sizes))
        lower, upper = exceedances(mixed, offsets, (limit + doubt, limit - doubt))
        return lower, upper

    def _mixture(self, listed: Candidates, node: int) -> Mixed:
        return mixture_of(self.traced, listed.nodes[node].ends)

    def _certified(self, law: EndLaw, bounds: Bounds) -> Bounds:
        found = law.violation(self.target.maximum_loss)
        return (found.lower, found.upper) if found.exact is None else (found.exact, found.exact)

    def _unreachable(self, listed: Candidates) -> str:
        """With a quantile that can be reached, or the number of runs that could carry the promise."""
        traced, schedule = self.traced, listed.schedule(self._nearest)
        alone = whole(traced, schedule)
        if traced.only_whole_runs and not alone:
            return f"cannot be promised: {only_whole_runs(traced)}"
        told = traced.confidence is None and traced.only_whole_runs
        others = f"; {only_whole_runs(traced)}" if told else ""
        short = ""
        if traced.beside and traced.residuals == "per_run":
            short = self._too_few_whole(listed) if alone else self._too_few_lend(listed)
        if short:
            return f"cannot be promised: {short}; record more runs, or ask for less{others}"
        quantile = end_law(traced, schedule).quantile(self.target.violation_budget)
        return (
            f"unreachable within {counted(self.target.maximum_epochs, 'epoch')}, "
            "the time limits and the support of the traces: the schedule that misses it least often has the "
            f"quantile {quantile.upper:.6g}{others}"
        )

    def _too_few_whole(self, listed: Candidates) -> str:
        """Why so few runs of a schedule carry no such promise, or nothing where they could."""
        traced, schedule = self.traced, listed.schedule(self._nearest)
        through = len(runs_through(traced.law, traced.from_start(schedule)))
        needed = runs_to_carry(self.target.quantile_level, traced.confidence, traced.diverged)
        if through >= needed:
            return ""
        lost = f" where {traced.diverged} diverged, which count as misses" if traced.diverged else ""
        return (
            f"it takes {counted(needed, 'run')} of one plan{lost}, and {counted(through, 'run')} went "
            "through the one that misses the target least often"
        )

    def _too_few_lend(self, listed: Candidates) -> str:
        """The same of a schedule whose stages are lent by different runs, each with misses counted beside."""
        beside = self.traced.beside
        seen = [len(part) - beside for part in self._mixture(listed, self._nearest).parts]
        carried = math.prod(Fraction(number, number + beside) for number in seen)
        if 1 - carried <= self.budget:
            return ""
        return (
            f"to the stages of the plan that misses the target least often {' and '.join(map(str, seen))} "
            f"runs lend, each with {beside} more counted as a miss: they carry "
            f"{math.floor(1000 * carried) / 1000:g} at most"
        )


class UnderScenarios(ScheduleVerdicts):
    """By counts of scenarios that miss the target."""

    def __init__(self, instance: Instance, scenarios: Scenarios) -> None:
        require_fitting(instance, scenarios)
        super().__init__(instance, allowed_misses(instance, len(scenarios)), len(scenarios))
        self.maximum += ATOM_TOLERANCE
        self._scenarios = scenarios

    def idle_meets(self) -> bool:
        """By a count; scenarios draw no number for it."""
        misses = count_misses(self.instance, scenario_losses(self.instance, self._scenarios, Plan()))
        return misses <= self.budget

    @cached_property
    def _sample(self) -> TracedSample:
        names, drawn = tuple(model.name for model in self.instance.models), self._scenarios
        return TracedSample(self.traced, names, drawn.improvements, drawn.switch_losses)

    def bounds(self, listed: Candidates, node: int) -> Bounds:
        """The count, twice."""
        if self.traced.residuals == "independent":
            losses = self._state(listed, node, self._sample.first, self._sample.further)
            losses = self._sample.deviating(losses, listed.nodes[node].place, whole=False)
        else:
            losses = self._sample.of_stages(listed.nodes[node].ends)
        return (count := int((losses > self.maximum).sum())), count

    def _certified(self, law: EndLaw, bounds: Bounds) -> Bounds:
        return bounds

    def _unreachable(self, listed: Candidates) -> str:
        return (
            f"unreachable on {counted(len(self._scenarios), 'scenario')} within "
            f"{counted(self.target.maximum_epochs, 'epoch')}, the time limits and the support "
            f"of the traces: {self._least:g} of them miss it at least, {self.budget:g} may"
        )


def exceedances(mixed: Mixed, offsets: FloatArray, limits: Sequence[float]) -> list[Fraction]:
    """P(constant + parts + offset > limit), all offsets and, but for weights, all atoms equally likely."""
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
