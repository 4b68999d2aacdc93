r"""The method ``graph``: the paper's model selection (Sec. IV-B) with data and cluster given.

The path comes from the layered dynamic program of `depl.heuristics.paths.layered`, its resources from the
exact allocation, and the plan is certified under the law before it is returned. The options are

- ``eta``: levels of time and of loss, 200 as in the paper, or "auto", which is K_max / gap
  (`depl.heuristics.paths.graph_guarantees`);
- ``label``: what stands for the quantile: "expected", "normal", "entropic" (Chernoff's bound, E5), or
  "certified" (the default);
- ``weight``: the reading of an edge's weight, a value of `depl.heuristics.paths.readings.Weight`.

The parameter of the normal and of the entropic label is moved to the path it led to until nothing changes,
from three starts. *Certified* uses the entropic label as an order only: for every level of it the cheapest
path is tried, cheapest resources first, until the certified probability meets the target. That asks the true
law instead of Chernoff's bound, whose margin is 1.1 to 1.7 times too large, and is no proof of optimality:
the label may rank two paths wrongly.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from depl.heuristics.paths.additive_labels import (
    AdditiveLabel,
    best_rate,
    entropic_label,
    expected_label,
    normal_label,
    typical_deviation,
)
from depl.heuristics.paths.additive_problem import AdditiveProblem, additive_problem
from depl.heuristics.paths.graph_guarantees import levels_for_gap
from depl.heuristics.paths.layered import PAPER_LEVELS, layered_search
from depl.heuristics.paths.readings import Weight
from depl.models.evaluation.evaluate import final_loss
from depl.models.exact.enumeration import build_plan, only_assignment
from depl.models.exact.plan_classes import Configuration
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.wording import probability
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import FinalLoss, load
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.risk.batch import LossClasses, first_met
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.solving.methods import Limits, Outcome
from depl.models.solving.options import Option
from depl.models.solving.result import Termination

_MOST_SEARCHES = 9
"""Labels that are searched with. Set by hand: each builds its graph anew; the loop ends once no better path
has a parameter of its own."""
_STARTS = (1.0, 0.5, 2.0)
"""Parameters to begin with, in units of that of the reference. Set by hand: its own is best for plans of its
spread, the others stand for half and twice that."""

Choice = TypeVar("Choice", bound=Enum)


class LabelKind(Enum):
    """What stands for the quantile."""

    EXPECTED = "expected"
    NORMAL = "normal"
    ENTROPIC = "entropic"
    CERTIFIED = "certified"


OPTIONS = (
    Option("eta", (int, "auto"), "levels of time and of loss; auto derives them from the gap"),
    Option("label", tuple(kind.value for kind in LabelKind), "what stands for the quantile"),
    Option("weight", tuple(kind.value for kind in Weight), "what an epoch weighs"),
)


def graph(instance: Instance, limits: Limits) -> Outcome:
    """Cheapest path of the paper's expanded graph, certified under the law; proves nothing about cost.

    Raises
    ------
    NotCoveredError
        If the instance leaves a choice of data or of clusters, the graph is too large, or the label does
        not cover a law.
    InvalidInputError
        If an option has a value it cannot have, or ``eta`` is "auto" without a gap.
    """
    target = instance.target
    levels, kind, weight = _read_options(instance, limits)
    place, datasets = _given_place(instance)
    start = certified_violation(FinalLoss(target.initial_loss, ()), target.maximum_loss)
    if instance.rules.may_stop and start.at_most(target.violation_budget):
        return Outcome(Termination.EXHAUSTED, Plan(), 0.0)
    search = _Search(instance, limits, place, datasets, levels, weight)
    try:
        return search.run(kind)
    except KeyboardInterrupt:
        return search.outcome(Termination.INTERRUPTED)
    except (_StoppedError, OutOfTimeError):
        return search.outcome(Termination.TIME_LIMIT)


class _StoppedError(Exception):
    """The time limit was reached."""


@dataclass
class _Path:
    """One path with its plan."""

    models: tuple[int, ...]
    plan: Plan
    loss: FinalLoss
    cost: float


@dataclass
class _Search:
    """One run: the best certified path so far, and the path that came nearest to the target."""

    instance: Instance
    limits: Limits
    place: str
    datasets: frozenset[str]
    levels: int
    weight: Weight | None
    best: _Path | None = None
    missed: _Path | None = None

    def run(self, kind: LabelKind) -> Outcome:
        reference = self._reference()
        if reference is None:
            return self.outcome(Termination.EXHAUSTED, "resources: no epoch fits into the graph's time")
        family = self._family(kind, reference)
        if family is None:
            label = expected_label()
            margin = 0.0 if kind is not LabelKind.CERTIFIED else self._margin(reference.loss)
            self._try(label, margin, margin)
        else:
            self._try_family(kind, reference, *family)
        return self.outcome(Termination.EXHAUSTED)

    def outcome(self, termination: Termination, reason: str | None = None) -> Outcome:
        """What is held now, or why nothing is."""
        if self.best is not None:
            return Outcome(termination, self.best.plan, 0.0)
        stopped = termination is not Termination.EXHAUSTED
        return Outcome(termination, None, 0.0, None if stopped else reason or self._reason())

    def _family(
        self, kind: LabelKind, reference: _Path
    ) -> tuple[Callable[[float], AdditiveLabel], Callable[[FinalLoss], float | None]] | None:
        """Labels by parameter, and a loss's own parameter; None where the mean has to do."""
        target = self.instance.target
        budget = target.violation_budget
        if kind is LabelKind.EXPECTED or not any(count for _, count in reference.loss.terms):
            return None
        if kind is LabelKind.NORMAL:
            return (
                lambda deviation: normal_label(target.quantile_level, deviation),
                lambda loss: math.sqrt(loss.variance()) or None,
            )
        if kind is LabelKind.CERTIFIED and not self._has_transforms():
            return None
        return lambda rate: entropic_label(budget, rate), lambda loss: best_rate(loss, budget)

    def _try_family(
        self,
        kind: LabelKind,
        reference: _Path,
        label_at: Callable[[float], AdditiveLabel],
        own: Callable[[FinalLoss], float | None],
    ) -> None:
        """Search at the reference's own parameter and around it, then at that of every better path."""
        first = own(reference.loss)
        waiting = [] if first is None else [first * factor for factor in _STARTS]
        tried: list[float] = []
        while waiting and len(tried) < _MOST_SEARCHES:
            parameter = waiting.pop(0)
            if any(math.isclose(parameter, other, rel_tol=0.02) for other in tried):
                continue
            tried.append(parameter)
            label = label_at(parameter)
            # Chernoff's bound brackets the true margin: 0 to the surcharge, on either side of the mean.
            below = above = label.surcharge if kind is LabelKind.CERTIFIED else 0.0
            found = self._try(label, below, above)
            following = None if found is None else own(found.loss)
            if following is not None:
                waiting.insert(0, following)

    def _try(self, label: AdditiveLabel, below: float, above: float) -> _Path | None:
        """Search with one label; the cheapest certified path it leads to, or the one it would have chosen.

        Without a margin the graph's own answer is the only candidate. With one, every path on the front
        whose label lies within the margins of l_max is.
        """
        problem = self._problem(label)
        target = self.instance.target.maximum_loss
        if below or above:
            above = above if self.instance.target.violation_budget > 0.5 else 0.0
            problem = problem.within(problem.maximum_time, target + above)
            lowest = target - below
        else:
            lowest = problem.maximum_loss
        candidates = self._candidates(problem, lowest)
        if not below and not above:
            candidates = candidates[:1]
        return self._certified(candidates) or (candidates[0] if candidates else None)

    def _candidates(self, problem: AdditiveProblem, lowest: float) -> list[_Path]:
        """Paths of the front with feasible resources, cheapest first."""
        front = layered_search(
            problem, self.levels, lowest_loss=lowest, proceed=lambda: not self.limits.expired()
        )
        if front is None:
            raise _StoppedError
        paths = [self._path(models) for models in dict.fromkeys(front.paths)]
        return sorted((path for path in paths if math.isfinite(path.cost)), key=lambda path: path.cost)

    def _certified(self, candidates: list[_Path]) -> _Path | None:
        """The first candidate that meets the target under the law; remembered if it is the best so far."""
        target, rules = self.instance.target, self.instance.rules
        candidates = [path for path in candidates if rules.may_end(path.plan.epochs[-1].model)]
        if not candidates:
            return None
        self.missed = self.missed or candidates[-1]
        first = first_met(
            LossClasses.of([path.loss for path in candidates]),
            target.maximum_loss,
            target.violation_budget,
            lambda: not self.limits.expired(),
        )
        if first is None:
            return None
        found = candidates[first]
        if self.best is None or found.cost < self.best.cost:
            self.best = found
            self.limits.report(found.cost, 0.0)
        return found

    def _reference(self) -> _Path | None:
        """The graph's path for the mean; if none meets the target, the one of lowest mean."""
        problem = self._problem(expected_label())
        found = self._candidates(problem, problem.maximum_loss)
        if found:
            return found[0]
        reach = problem.initial_loss + problem.epochs * float(problem.losses.min(initial=0.0))
        highest = problem.initial_loss + float(problem.losses.max(initial=0.0))
        lowest = self._candidates(problem.within(problem.maximum_time, highest), reach)
        if not lowest:
            return None
        self.missed = min(lowest, key=lambda path: path.loss.mean())
        return self.missed

    def _problem(self, label: AdditiveLabel) -> AdditiveProblem:
        return additive_problem(self.instance, self.datasets, self.place, label, self.weight)

    def _path(self, models: tuple[int, ...]) -> _Path:
        target = self.instance.target
        names = [self.instance.models[index].name for index in models]
        loads = [
            load(self.instance, k, name, self.place, self.datasets) for k, name in enumerate(names, start=1)
        ]
        cost = allocate(loads, target.maximum_time, target.round_deadline).cost
        data = {self.place: self.datasets}
        plan = build_plan(self.instance, data, [Configuration(self.place, name) for name in names])
        return _Path(models, plan, final_loss(self.instance, plan), cost)

    def _margin(self, loss: FinalLoss) -> float:
        """Cantelli's bound of how far a quantile lies from the mean, for a loss like the reference."""
        share = float(self.instance.target.violation_budget)
        return typical_deviation(loss) * math.sqrt(max(1 - share, share) / min(1 - share, share))

    def _has_transforms(self) -> bool:
        """Whether every step has an entropic label; a cheap rate is enough to see it."""
        try:
            self._problem(entropic_label(self.instance.target.violation_budget, 1e-3))
        except NotCoveredError:
            return False
        return True

    def _reason(self) -> str:
        target = self.instance.target
        if self.missed is None:
            return f"models: no path of the graph with eta = {self.levels} meets the target"
        quantile = certified_quantile(self.missed.loss, target.violation_budget)
        return (
            f"models: no path of the graph with eta = {self.levels} that was tried is certified for target "
            f"{target.maximum_loss:g} "
            f"at omega {probability(target.quantile_level)}; best quantile {quantile.upper:.6g}"
        )


def _given_place(instance: Instance) -> tuple[str, frozenset[str]]:
    data = only_assignment(instance)
    if data is None:
        raise NotCoveredError(
            "graph chooses models for given data and clusters; leave one dataset and one cluster, or give "
            "them to depl.heuristics.paths.additive_problem.additive_problem"
        )
    ((place, datasets),) = data.items()
    return place, datasets


def _read_options(instance: Instance, limits: Limits) -> tuple[int, LabelKind, Weight | None]:
    eta = limits.options.get("eta", PAPER_LEVELS)
    if eta == "auto":
        levels = levels_for_gap(instance.target.maximum_epochs, limits.gap)
    elif isinstance(eta, int) and not isinstance(eta, bool) and eta >= 1:
        levels = eta
    else:
        raise InvalidInputError(f"must be a whole number from 1 on, or 'auto', not {eta!r}", "eta")
    kind = _member(LabelKind, limits.options.get("label", LabelKind.CERTIFIED.value), "label")
    weight = limits.options.get("weight")
    return levels, kind, None if weight is None else _member(Weight, weight, "weight")


def _member(kinds: type[Choice], value: object, name: str) -> Choice:
    for member in kinds:
        if value in (member, member.value):
            return member
    raise InvalidInputError(f"must be one of {[member.value for member in kinds]}, not {value!r}", name)
