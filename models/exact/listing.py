"""Method ``enumerate``: plans are listed, costed and judged cheapest first, until one meets the target.

Under the paper's law classes of plans are listed (`plan_classes`), for one assignment of data to clusters
after the other, under a traced law schedules (`traced_schedules`). The answer is called optimal only if every
cheaper plan is *certified* to violate (3); a cheaper one that is left undecided becomes the lower bound.
"""

import functools
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from depl.models.evaluation.traced_loss import CONFIDENT_REST
from depl.models.exact.choices import build_plan
from depl.models.exact.plan_classes import Classes, plan_classes
from depl.models.exact.reasons import obstacle
from depl.models.exact.traced_schedules import Candidates, all_candidates
from depl.models.exact.traced_verdicts import ScheduleVerdicts, UnderLaw, UnderScenarios
from depl.models.foundation.deadline import OutOfTimeError, now
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.wording import choices_of, counted, probability
from depl.models.problem.epochs import FinalLoss
from depl.models.problem.instance import Cluster, Instance
from depl.models.problem.plan import Plan
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.risk.verdicts import LossClasses, PreparedVerdicts, Verdict, certified_verdict
from depl.models.scenarios.draws import Scenarios
from depl.models.solving.limits import Limits
from depl.models.solving.result import Outcome, Termination

MOST_LISTED = 1_000_000
"""Classes of plans, or schedules, above which the method refuses, unless told otherwise."""

_FIRST_BATCH = 256
"""Classes certified at once at first: set by hand. If one of the first meets the target, a larger
batch certifies more in vain, a smaller one chooses more contours; the answer is the same."""

_LARGEST_BATCH = 16_384
"""Classes certified at once at most: set by hand. Memory for labels goes with it, 16 bytes for each node; the
answer is the same."""

_Judged = Iterator[tuple[float, Verdict, Any]]
"""Plans by increasing cost: the cost, the verdict, and what `_Listing.plan` makes the plan of."""

_NONE_YET = "stopped before a plan that meets the target was found; allow more time"


def enumerate_plans(instance: Instance, limits: Limits, most: int = MOST_LISTED) -> Outcome:
    """Cheapest plan by a list of all; proves optimality, and infeasibility (inside the support of traces).

    Parameters
    ----------
    most : int
        Refuse instances with more classes of plans, or schedules that the traces support, than this.

    Raises
    ------
    NotCoveredError
        If there are more, or a traced law has a confidence and goes on from a run under way.
    """
    if instance.has_memory:
        return _Schedules(instance, limits, most, UnderLaw(instance)).answer()
    return _ByClass(instance, limits, most).answer()


def enumerate_on_scenarios(instance: Instance, limits: Limits, scenarios: Scenarios) -> Outcome:
    """Cheapest plan under a traced law that at most floor((1 - omega) S) of S scenarios miss.

    Raises
    ------
    InvalidInputError
        If the scenarios are for other models or another number of epochs.
    NotCoveredError
        As `enumerate_plans`.
    """
    return _Schedules(instance, limits, MOST_LISTED, UnderScenarios(instance, scenarios)).answer()


def data_assignments(instance: Instance) -> list[tuple[float, dict[str, frozenset[str]]]]:
    """Every choice of clusters with a nonempty set of data they may use each, cheapest transfers first."""
    clusters = _undominated(instance)
    rows: list[list[frozenset[str]]] = []
    for place in clusters:
        names = sorted(instance.rules.data[place.name])
        sizes = range(len(names) + 1)
        rows.append([frozenset(chosen) for n in sizes for chosen in itertools.combinations(names, n)])
    found = []
    for combination in itertools.product(*rows):
        data = {place.name: chosen for place, chosen in zip(clusters, combination, strict=True) if chosen}
        if data:
            brought = [instance.transfer_cost(one, place) for place, chosen in data.items() for one in chosen]
            found.append((math.fsum(brought), data))
    return sorted(found, key=lambda row: (row[0], sum(map(len, row[1].values()))))


def placements(instance: Instance) -> int:
    """Pairs of a cluster and data that may be there; `data_assignments` lists all nonempty sets of them."""
    return sum(len(instance.rules.data[place.name]) for place in _undominated(instance))


@dataclass
class _Listing(ABC):
    """What is held and proved while plans are judged."""

    instance: Instance
    limits: Limits
    most: int
    held: Plan | None = field(default=None, init=False)
    cost: float = field(default=math.inf, init=False)
    undecided: float = field(default=math.inf, init=False)
    unseen: float = field(default=0.0, init=False)
    build_seconds: float = field(default=0.0, init=False)

    def answer(self) -> Outcome:
        """List and judge; what can be said in the end, or when the time limit or the user stops it."""
        try:
            if self.instance.rules.may_stop and self.idle_meets():
                return Outcome(Termination.OPTIMAL, Plan(), 0.0)
            for rows, others in self.groups():
                self._first_met(rows, others)
                self.unseen = max(self.unseen, others)
                self.limits.report(self.cost, self.lower_bound)
            return self._outcome(self._proved())
        except KeyboardInterrupt:
            return self._outcome(Termination.INTERRUPTED)
        except OutOfTimeError:
            return self._outcome(Termination.TIME_LIMIT)

    @property
    def lower_bound(self) -> float:
        """No feasible plan costs less."""
        return min(self.cost, self.undecided, self.unseen)

    @abstractmethod
    def idle_meets(self) -> bool:
        """Whether the plan without an epoch meets the target."""

    @abstractmethod
    def groups(self) -> Iterator[tuple[_Judged, float]]:
        """Some plans after others, with the least that a plan of a later group costs."""

    @abstractmethod
    def plan(self, item: Any) -> Plan:
        """The plan that was judged."""

    @abstractmethod
    def why_none(self) -> str:
        """Why every plan violates (3)."""

    def require_time(self) -> None:
        """Raise `OutOfTimeError` once the time limit has been reached."""
        if self.limits.expired():
            raise OutOfTimeError

    def _first_met(self, rows: _Judged, others: float) -> None:
        for cost, verdict, item in rows:
            if verdict == Verdict.MET:
                self.cost, self.held = cost, self.plan(item)
                return
            if verdict == Verdict.UNDECIDED:
                self.undecided = min(self.undecided, cost)
            self.unseen = max(self.unseen, min(cost, others))
            self.require_time()

    def _proved(self) -> Termination:
        self.unseen = math.inf
        if self.held is None:
            return Termination.INFEASIBLE if math.isinf(self.undecided) else Termination.EXHAUSTED
        if self.undecided >= self.cost:
            return Termination.OPTIMAL
        gap = (self.cost - self.undecided) / self.cost
        return Termination.GAP_REACHED if gap <= self.limits.gap else Termination.EXHAUSTED

    def _outcome(self, ended: Termination) -> Outcome:
        reason = None
        if self.held is None and ended is Termination.INFEASIBLE:
            reason = self.why_none()
        elif self.held is None:
            reason = _NONE_YET
            if ended is Termination.EXHAUSTED:
                open_one = f"one of cost {self.undecided:.6g} is not seen to miss it"
                reason = f"no plan is certified to meet the target; {open_one}"
        return Outcome(ended, self.held, self.lower_bound, reason, build_seconds=self.build_seconds)


@dataclass
class _ByClass(_Listing):
    """Under the paper's law: classes of plans, by assignment of data."""

    nearest: tuple[float, FinalLoss] | None = field(default=None, init=False)

    def idle_meets(self) -> bool:
        target = self.instance.target
        start = certified_violation(FinalLoss(target.initial_loss, ()), target.maximum_loss)
        return start.at_most(target.violation_budget)

    def groups(self) -> Iterator[tuple[_Judged, float]]:
        pairs, left = placements(self.instance), self.most
        if pairs > left.bit_length() or 2**pairs - 1 > left:
            raise NotCoveredError(
                f"enumeration accepts at most {self.most} plan classes, there are "
                f"{choices_of(pairs)} assignments of data to clusters already; use another method"
            )
        assignments = data_assignments(self.instance)
        later = [*(transfers for transfers, _ in assignments), math.inf][1:]  # none where no site may train
        ending = self.instance.rules.last_models([model.name for model in self.instance.models])
        for (transfers, data), others in zip(assignments, later, strict=True):
            if transfers >= self.cost:
                break
            classes = self._classes(data, self.cost - transfers, left)
            left -= sum(len(level.last) for level in classes.levels[1:])
            # classes that leave out a cluster belong to the assignments without it
            rows = classes.cheapest_first(ending)
            yield self._judged(transfers, data, classes, rows), others

    def plan(self, item: tuple[Mapping[str, frozenset[str]], Classes, int, int]) -> Plan:
        data, classes, epochs, row = item
        return build_plan(self.instance, data, classes.schedule(epochs, row))

    def why_none(self) -> str:
        if self.nearest is None:
            without = "models: no plan within the time limits ends with a model that may be the last"
            return obstacle(self.instance) or without
        target = self.instance.target
        quantile = certified_quantile(self.nearest[1], target.violation_budget)
        return (
            f"models: target {target.maximum_loss:g} "
            f"at omega {probability(target.quantile_level)} unreachable within "
            f"{counted(target.maximum_epochs, 'epoch')} and the time limits: "
            f"best quantile {quantile.upper:.6g}"
        )

    def _classes(self, data: Mapping[str, frozenset[str]], cutoff: float, allowed: int) -> Classes:
        started = now()
        try:
            classes = plan_classes(self.instance, data, cutoff=cutoff, allowed=allowed)
        except NotCoveredError as error:
            raise NotCoveredError(f"enumeration accepts at most {self.most} plan classes: {error}") from error
        self.build_seconds += now() - started
        self.require_time()
        return classes

    def _judged(
        self,
        transfers: float,
        data: Mapping[str, frozenset[str]],
        classes: Classes,
        rows: list[tuple[float, int, int]],
    ) -> _Judged:
        maximum, budget = self.instance.target.maximum_loss, self.instance.target.violation_budget
        certified = functools.cache(functools.partial(certified_verdict, maximum_loss=maximum, budget=budget))
        first, size = 0, _FIRST_BATCH
        while first < len(rows):
            batch = rows[first : first + size]
            losses = classes.losses(batch)
            verdicts = PreparedVerdicts(maximum, budget).many(losses)
            self._remember_nearest(losses)
            for index, (cost, epochs, row) in enumerate(batch):
                verdict = Verdict(verdicts[index]) or certified(losses.loss(index))
                yield transfers + cost, verdict, (data, classes, epochs, row)
            first, size = first + size, min(2 * size, _LARGEST_BATCH)

    def _remember_nearest(self, losses: LossClasses) -> None:
        """Keep the most promising of the classes seen, for the reason that is given if none is feasible."""
        if self.held is None:
            scores = losses.scores(self.instance.target.maximum_loss)
            best = int(np.argmax(scores))
            if self.nearest is None or scores[best] > self.nearest[0]:
                self.nearest = float(scores[best]), losses.loss(best)


@dataclass
class _Schedules(_Listing):
    """Under a traced law: schedules. Those outside the support of the traces are no plans."""

    verdicts: ScheduleVerdicts
    listed: Candidates = field(init=False)

    def idle_meets(self) -> bool:
        return self.verdicts.idle_meets()

    def groups(self) -> Iterator[tuple[_Judged, float]]:
        started, traced = now(), self.verdicts.traced
        if traced.confidence is not None and traced.observed is not None:
            raise NotCoveredError(CONFIDENT_REST)
        self.listed = listed = all_candidates(self.instance, traced.law, self.most, self.require_time)
        self.build_seconds = now() - started
        order, nodes = listed.cheapest_first(), listed.nodes
        yield ((nodes[node].cost, self.verdicts.verdict(listed, node), node) for node in order), math.inf

    def plan(self, item: int) -> Plan:
        everything = frozenset(dataset.name for dataset in self.instance.datasets)
        data = dict.fromkeys((place.name for place in self.instance.clusters), everything)
        return build_plan(self.instance, data, self.listed.schedule(item))

    def why_none(self) -> str:
        return obstacle(self.instance) or f"models: {self.verdicts.why_none(self.listed)}"


def _undominated(instance: Instance) -> list[Cluster]:
    """The clusters that may be needed.

    One is left out only if there is one dataset, and another cluster with as many nodes has room for the same
    models and is at least as good in capacity, bandwidth, unit cost and transfer: moving all its epochs
    there, with the same x, changes neither the loss nor any constraint for the worse.
    """
    rules = instance.rules
    clusters = [place for place in instance.clusters if rules.data[place.name] and rules.models[place.name]]
    if len(instance.datasets) > 1:
        return clusters
    dataset = instance.datasets[0].name

    def at_least_as_good(one: Cluster, other: Cluster) -> bool:
        return (
            one.nodes == other.nodes
            and rules.models[one.name] >= rules.models[other.name]
            and one.capacity >= other.capacity
            and one.bandwidth >= other.bandwidth
            and one.unit_cost <= other.unit_cost
            and instance.transfer_cost(dataset, one.name) <= instance.transfer_cost(dataset, other.name)
        )

    kept: list[Cluster] = []
    for place in clusters:
        if not any(at_least_as_good(other, place) for other in kept):
            kept = [other for other in kept if not at_least_as_good(place, other)] + [place]
    return kept
