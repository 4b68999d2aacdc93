r"""The method ``depl-paper``: the loop of Fig. 3 as printed, in one stated reading of what it leaves open.

1. *Data* (`depl.heuristics.paper.data`): the best set of eq. (7) that is not blacklisted. The loop
   so begins with the minimiser of (7), which is a reading of "we begin with no selected datasets".
2. *Models* (`depl.heuristics.paper.models`): the lightest path of the expanded graph that is not
   blacklisted. If there is none, the data are blacklisted: back to 1.
3. *Resources* (`depl.heuristics.paper.resources`): a fractional embedding of models on clusters,
   rounded. If the rounded one misses a limit, the path is blacklisted: back to 2.

The first plan that passes all three is the answer. It is certified before it is returned: a path whose
certified violation exceeds 1 - omega has failed stage 2, whatever its label said. Stage 3 cannot tell two
paths apart that train the same in another order; after one of them has failed, the others are passed over.
Nothing is repaired, no cost is compared, and nothing is proved.

The options are

- ``eta``: levels of time and of loss, 200 as in the paper;
- ``epsilon``: of the fractional placement, 0.01 (the paper gives no number);
- ``weight``: the reading of an edge's weight, a value of `depl.heuristics.paths.additive_problem.Weight`,
  "full-resources" as in the paper;
- ``label``: "entropic", "normal" or "expected"; entropic where the laws allow it;
- ``backtracks``: how often the loop may go back before it gives up, 1000.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from depl.heuristics.paper.data import DataChoice, data_choices
from depl.heuristics.paper.models import PAPER_LEVELS, ExpandedGraph, GraphPath, PaperLabel, Selector
from depl.heuristics.paper.resources import RoundedPlacement, place_by_embedding
from depl.heuristics.paths.additive_labels import AdditiveLabel
from depl.heuristics.paths.additive_problem import Weight
from depl.heuristics.placement.problem import PlacementProblem, placement_plan, placement_problem
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.wording import counted, number, probability, rounded_up
from depl.models.problem.epochs import FinalLoss, load
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.problem.site_rules import most_capable_cluster
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.solving.decisions import Decision, Stage, StageClock
from depl.models.solving.limits import Limits
from depl.models.solving.options import Option
from depl.models.solving.result import Outcome, Termination

ETA = Option("eta", (int,), "levels of time and of loss", least=1)
EPSILON = Option("epsilon", (float,), "relative accuracy of the fractional placement", least=0)
WEIGHT = Option("weight", tuple(kind.value for kind in Weight), "what an epoch weighs")
LABEL = Option("label", tuple(kind.value for kind in PaperLabel), "what stands for the quantile")
BACKTRACKS = Option("backtracks", (int,), "times that the loop may go back", least=0)
OPTIONS = (ETA, EPSILON, WEIGHT, LABEL, BACKTRACKS)
START = 'the start, read for "no selected datasets"'
"""What stage 1 begins with, in the method's own words; see `depl.heuristics.paper.data`."""

_MOST_NAMES = 6
"""Items of a list that are named."""

DEFAULT_EPSILON = 0.01
"""Relative accuracy of the fractional placement. Set by hand, as the paper gives no number: its cost is at
most one per cent above the least, and a smaller one takes more steps."""
DEFAULT_BACKTRACKS = 1000
"""Times that the loop may go back before it gives up. Set by hand: the paper's loop ends only where no choice
is left, which may take exponentially many."""

_Asked = frozenset[tuple[tuple[str, int], int]]


def depl_paper(instance: Instance, limits: Limits) -> Outcome:
    """DepL as printed: data, models and resources one after the other, with blacklists and ways back.

    Covers every instance with l(0) > 0; it proves nothing about cost, and finding nothing proves nothing.

    Raises
    ------
    NotCoveredError
        If l(0) is not positive (the levels of the graph are fractions of it), the graph is too large, a
        label that was asked for does not cover a law, some data or models are not allowed on some cluster, or
        there are more datasets than the Lovász extension ranks (`depl.heuristics.paper.data`).
    """
    target, given = instance.target, limits.options
    loop = _Loop(
        instance,
        limits,
        levels=ETA.among(given, PAPER_LEVELS),
        epsilon=EPSILON.among(given, DEFAULT_EPSILON),
        weight=WEIGHT.among(given, Weight.FULL_RESOURCES, Weight),
        label=LABEL.among(given, None, PaperLabel),
        most_backtracks=BACKTRACKS.among(given, DEFAULT_BACKTRACKS),
    )
    start = certified_violation(FinalLoss(target.initial_loss, ()), target.maximum_loss)
    if instance.rules.may_stop and start.at_most(target.violation_budget):
        told = f"l(0) = {number(target.initial_loss)} is within {number(target.maximum_loss)}"
        nothing = Decision(Stage.DATA, "none", f"nothing has to be trained: {told}", cost=0.0)
        return Outcome(Termination.EXHAUSTED, Plan(), 0.0, decisions=(nothing,))
    if not target.initial_loss > 0:
        raise NotCoveredError(
            f"levels of loss are fractions of l(0), which is {target.initial_loss:g}; shift the loss scale"
        )
    if instance.rules.restrict_sites:
        raise NotCoveredError(
            "depl-paper has one set of data for all clusters and chooses models before clusters, as printed; "
            "it does not cover data that may not be used everywhere, nor models that do not fit everywhere: "
            "use depl"
        )
    try:
        plan = loop.run()
    except KeyboardInterrupt:
        return loop.outcome(Termination.INTERRUPTED)
    except OutOfTimeError:
        return loop.outcome(Termination.TIME_LIMIT)
    return loop.outcome(Termination.EXHAUSTED, plan)


@dataclass
class _Loop:
    """One run: its record, how often it went back, and what came nearest."""

    instance: Instance
    limits: Limits
    levels: int
    epsilon: float
    weight: Weight
    label: PaperLabel | None
    most_backtracks: int
    decisions: list[Decision] = field(default_factory=list)
    backtracks: int = 0
    choices: int = 0
    lowest: tuple[float, float, frozenset[str]] | None = None
    fastest: tuple[float, str] | None = None
    stage: Stage = Stage.DATA
    clock: StageClock = field(default_factory=StageClock)

    def run(self) -> Plan | None:
        """The first plan that passes all stages."""
        found = data_choices(self.instance, lambda: not self.limits.expired())
        for choice in self.clock.items(Stage.DATA, found):
            if self.limits.expired():
                raise OutOfTimeError
            self.choices += 1
            plan = self._with_data(choice)
            self.stage = Stage.DATA
            if plan is not None or self._spent():
                return plan
        return None

    def outcome(self, termination: Termination, plan: Plan | None = None) -> Outcome:
        """What the method returns."""
        reason = None
        if plan is None:
            reason = self._reason() if termination is Termination.EXHAUSTED else self._stopped(termination)
        return Outcome(
            termination,
            plan,
            0.0,
            reason,
            decisions=tuple(self.decisions),
            stage_seconds=self.clock.seconds,
        )

    def _with_data(self, choice: DataChoice) -> Plan | None:
        """Stages 2 and 3 for one choice of data; its own decision stands before theirs."""
        position, plan, outcome = len(self.decisions), None, "stopped before it was decided"
        self.stage = Stage.MODELS
        try:
            with self.clock.during(Stage.MODELS):
                plan, outcome = self._with_graph(choice.datasets)
        finally:
            first = self.choices == 1
            self.decisions.insert(position, _data_decision(choice, outcome, plan is not None, first))
        self.backtracks += plan is None
        return plan

    def _with_graph(self, datasets: frozenset[str]) -> tuple[Plan | None, str]:
        """A plan with these data, or why there is none."""
        selector = Selector(
            self.instance, self.levels, self.weight, self.label, lambda: not self.limits.expired()
        )
        graph, label = selector.graph(datasets)
        insufficient: set[_Asked] = set()
        tried = repeated = 0
        for path in graph.paths():
            if self.limits.expired():
                raise OutOfTimeError
            names = selector.names(path)
            asked = _asked(self.instance, names)
            if asked in insufficient:
                repeated += 1
                continue
            tried += 1
            if self._certified(names, path, label, selector.final_loss(datasets, path)):
                self.stage = Stage.RESOURCES
                with self.clock.during(Stage.RESOURCES):
                    plan = self._placed(names, datasets)
                self.stage = Stage.MODELS
                if plan is not None:
                    return plan, "kept"
                insufficient.add(asked)
            self.backtracks += 1
            if self._spent():
                break
        if insufficient:
            more = f", nor {repeated} more in another order" if repeated else ""
            return None, f"none of {counted(tried, 'path')} can be placed{more}"
        missed = f"{counted(tried, 'path')} missed the quantile under the law; " if tried else ""
        return None, missed + self._unreached(selector, graph, label, datasets)

    def _certified(
        self, names: tuple[str, ...], path: GraphPath, label: AdditiveLabel, loss: FinalLoss
    ) -> bool:
        """Whether a path meets the target under the law; recorded either way."""
        target = self.instance.target
        violation = certified_violation(loss, target.maximum_loss)
        met = violation.at_most(target.violation_budget)
        told = f"{_epochs(names)} (weight {number(path.weight)}, label {label.name})"
        allowed = f"allowed {number(float(target.violation_budget))}"
        share = f"certified violation {rounded_up(violation.upper, 6)}, {allowed}"
        self.decisions.append(Decision(Stage.MODELS, told, share, met))
        return met

    def _placed(self, names: tuple[str, ...], datasets: frozenset[str]) -> Plan | None:
        """The plan of stage 3; recorded either way."""
        data = {place.name: datasets for place in self.instance.clusters}
        problem = placement_problem(self.instance, names, data)
        try:
            placed = place_by_embedding(problem, self.epsilon)
        except RuntimeError as error:  # HiGHS, on the program of the embedding
            self.decisions.append(Decision(Stage.RESOURCES, _epochs(names), str(error), False))
            return None
        if placed is None:
            needed = math.fsum((problem.counts * problem.shortest.min(axis=1)).tolist())
            outcome = f"split over all clusters, it takes {number(needed)} with all resources"
            self.decisions.append(Decision(Stage.RESOURCES, _epochs(names), outcome, False))
        elif placed.feasible:
            self.decisions.append(_resources_decision(problem, placed, "kept", True))
            self.limits.report(placed.cost, 0.0)
            return placement_plan(self.instance, names, data, problem, placed.assignment)
        else:
            needed = placed.fastest_time
            outcome = f"rounded, it takes {number(needed)} even with all resources"
            self.decisions.append(_resources_decision(problem, placed, outcome, False))
        if self.fastest is None or needed < self.fastest[0]:
            self.fastest = needed, _epochs(names)
        return None

    def _unreached(
        self, selector: Selector, graph: ExpandedGraph, label: AdditiveLabel, datasets: frozenset[str]
    ) -> str:
        """Why no path meets the target, with the nearest value that the graph reaches."""
        path = graph.nearest()
        if path is None:
            return self._no_epoch(datasets)
        target, names = self.instance.target, _epochs(selector.names(path))
        certified = certified_quantile(selector.final_loss(datasets, path), target.violation_budget).upper
        lowest = graph.loss(path) + label.surcharge
        if self.lowest is None or lowest < self.lowest[0]:
            self.lowest = lowest, certified, datasets
        return (
            f"no path of the graph with eta = {self.levels} meets {number(target.maximum_loss)}; the "
            f"lowest, {names}, ends at {number(lowest)} (label {label.name}; certified quantile "
            f"{number(certified)})"
        )

    def _no_epoch(self, datasets: frozenset[str]) -> str:
        """Why no path has a single epoch."""
        target = self.instance.target
        if target.maximum_epochs == 0:
            return "no epoch is allowed"
        place = most_capable_cluster(self.instance).name
        loads = [
            load(self.instance, 1, model.name, place, datasets)
            for model in self.instance.models
            if self.instance.may_follow(target.initial_model, model.name)
        ]
        quickest = min(item.communication + item.work / item.capacity for item in loads)
        told = f"no epoch keeps the time limits on {place} with all resources"
        return f"{told}; the quickest takes {number(quickest)}"

    def _spent(self) -> bool:
        """Whether the loop may not go back once more."""
        return self.backtracks > self.most_backtracks

    def _stopped(self, termination: Termination) -> str:
        """Where the loop was when it was stopped, and the nearest value that it had reached."""
        limit = math.inf if self.limits.time_limit is None else self.limits.time_limit
        interrupted = termination is Termination.INTERRUPTED
        why = "interrupted" if interrupted else f"stopped by the time limit of {number(limit)} s"
        tried = f"{counted(self.choices, 'choice')} of data, {counted(self.backtracks, 'way')} back"
        where = f"{self.stage.value}: {why} after {tried}"
        if self.fastest is None and self.lowest is None:
            return f"{where}; no path was tried to its end, and nothing is proved"
        return f"{where}; until then {self._reason('nothing is proved')}"

    def _reason(self, ended: str = "") -> str:
        """The stage that failed, and the nearest value that was reached."""
        target = self.instance.target
        gave_up = f"gave up after {self.most_backtracks} ways back"
        ended = ended or (gave_up if self._spent() else "all options exhausted")
        if self.fastest is not None:
            needed, names = self.fastest
            limit = number(target.maximum_time)
            nearest = f"the nearest total time is {number(needed)} ({names})"
            return f"resources: no rounded placement keeps T_max {limit}; {nearest}; {ended}"
        tried = counted(self.choices, "choice") + " of data"
        if self.lowest is not None:
            lowest, certified, datasets = self.lowest
            wanted = f"target {number(target.maximum_loss)} at omega {probability(target.quantile_level)}"
            graph = f"lowest loss in the graph {number(lowest)} (eta = {self.levels})"
            best = f"{graph} with {_listed(sorted(datasets))} (certified quantile {number(certified)})"
            return f"models: {wanted} is met by no path on {tried}; {best}; {ended}"
        last = self.decisions[-1]
        stage = Stage.RESOURCES if last.stage is Stage.RESOURCES else Stage.MODELS
        return f"{stage.value}: {last.outcome} (last of {tried}); {ended}"


def _asked(instance: Instance, names: tuple[str, ...]) -> _Asked:
    """What stage 3 sees of a path: how often each model trains, and when where tables tell epochs apart."""
    epochs = ((name, k if instance.model(name).compute else 0) for k, name in enumerate(names, start=1))
    return frozenset(Counter(epochs).items())


def _data_decision(choice: DataChoice, outcome: str, kept: bool, first: bool = False) -> Decision:
    """A choice of stage 1 and what came of it; the first one names the reading that it rests on."""
    notes = [START] * first + [choice.doubt] * bool(choice.doubt)
    told = f"{_listed(sorted(choice.datasets))} ({'; '.join([f'K^ T^ = {number(choice.value)}', *notes])})"
    return Decision(Stage.DATA, told, outcome, kept, value=choice.value)


def _resources_decision(
    problem: PlacementProblem, placed: RoundedPlacement, outcome: str, kept: bool
) -> Decision:
    """A rounded placement, its cost, and that of the embedding before it was rounded."""
    totals = placed.assignment.sum(axis=0).tolist()
    told = [
        f"{counted(count, 'epoch')} on {name}"
        for name, count in zip(problem.clusters, totals, strict=True)
        if count
    ]
    choice = f"{_listed(told)} (split over clusters {number(placed.split_cost)})"
    cost = placed.cost if kept else None
    return Decision(Stage.RESOURCES, choice, outcome, kept, cost, value=placed.split_cost)


def _epochs(names: Sequence[str]) -> str:
    """How many epochs on which models."""
    counts = Counter(names)
    return f"{counted(len(names), 'epoch')}: " + _listed(
        [f"{count} {name}" for name, count in counts.items()]
    )


def _listed(items: Sequence[str]) -> str:
    """Names with commas, the middle of a long list left out."""
    if len(items) <= _MOST_NAMES:
        return ", ".join(items)
    return ", ".join([*items[: _MOST_NAMES - 1], f"{len(items) - _MOST_NAMES + 1} more"])
