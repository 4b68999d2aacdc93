"""Method ``enumerate``: all plans, under the law, with the certified probability.

For every assignment of datasets to clusters, all classes of plans (`plan_classes`) are costed by the
closed form and certified in order of cost; the first that meets constraint (3) is a cheapest plan of
that assignment. The answer is called optimal only if every cheaper class is *certified* to violate (3);
a cheaper class that the certificate leaves undecided becomes the lower bound instead. Under a traced law the
search is that of `depl.models.exact.traced_search`.

A cluster is left out beforehand only if another one with the same number of nodes is at least as good
in capacity, bandwidth, unit cost and every transfer, may use the same data and has room for the same models,
and there is only one dataset: then moving all its epochs to the other one, with the same x, changes neither
the loss nor any constraint for the worse.
"""

import itertools
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from depl.models.exact.plan_classes import Classes, Configuration, plan_classes
from depl.models.exact.traced_search import search_under_law
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.wording import choices_of, counted, probability
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import FinalLoss, load
from depl.models.problem.instance import Cluster, Instance
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.problem.site_rules import why_not_idle
from depl.models.risk.batch import LossClasses, Verdict, certified_verdict, quick_verdicts
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.solving.methods import Limits, Outcome
from depl.models.solving.result import Termination

MAXIMUM_CLASSES = 1_000_000
"""Plan classes above which the method refuses, unless told otherwise."""

_FIRST_BATCH = 256
"""Classes certified at once at first: set by hand. If one of the first meets the target, a larger
batch certifies more in vain, a smaller one chooses more contours; the answer is the same."""

_LARGEST_BATCH = 16_384
"""Classes certified at once at most: set by hand. Memory for labels goes with it, 16 bytes for each node; the
answer is the same."""


def enumerate_plans(instance: Instance, limits: Limits, maximum_classes: int = MAXIMUM_CLASSES) -> Outcome:
    """Cheapest plan by enumeration of all plans; proves optimality and infeasibility.

    Parameters
    ----------
    maximum_classes : int
        Refuse instances with more classes of plans than this.

    Raises
    ------
    NotCoveredError
        If there are more classes.
    """
    if instance.has_memory:
        return search_under_law(instance, limits, maximum_classes)
    search = _Search(instance, limits, maximum_classes)
    try:
        return search.run()
    except KeyboardInterrupt:
        return search.outcome(Termination.INTERRUPTED)
    except OutOfTimeError:
        return search.outcome(Termination.TIME_LIMIT)


def build_plan(instance: Instance, data: Mapping[str, frozenset[str]], sequence: list[Configuration]) -> Plan:
    """The plan with these discrete decisions and its cheapest resources, clusters without epochs left out."""
    target = instance.target
    loads = [
        load(instance, index + 1, choice.model, choice.cluster, data[choice.cluster])
        for index, choice in enumerate(sequence)
    ]
    resources = allocate(loads, target.maximum_time, target.round_deadline).resources
    used = [place for place in data if any(choice.cluster == place for choice in sequence)]
    return Plan(
        data=tuple(ClusterData(cluster=place, datasets=tuple(sorted(data[place]))) for place in used),
        epochs=tuple(
            PlannedEpoch(model=choice.model, cluster=choice.cluster, resources=float(x))
            for choice, x in zip(sequence, resources, strict=True)
        ),
    )


def data_assignments(instance: Instance) -> list[tuple[float, dict[str, frozenset[str]]]]:
    """Every choice of clusters with a nonempty set of data they may use each, cheapest transfers first."""
    clusters = _undominated(instance)
    usable = [sorted(instance.rules.data[place.name]) for place in clusters]
    subsets = [[None, *(frozenset(chosen) for chosen in _nonempty(names))] for names in usable]
    found = []
    for combination in itertools.product(*subsets):
        data = {place.name: chosen for place, chosen in zip(clusters, combination, strict=True) if chosen}
        if data:
            transfers = math.fsum(
                instance.transfer_cost(dataset, place) for place, chosen in data.items() for dataset in chosen
            )
            found.append((transfers, data))
    return sorted(found, key=lambda row: (row[0], sum(map(len, row[1].values()))))


def placements(instance: Instance) -> int:
    """Pairs of a cluster and data that may be there; `data_assignments` lists all nonempty sets of them."""
    return sum(len(instance.rules.data[place.name]) for place in _undominated(instance))


def only_assignment(instance: Instance) -> dict[str, frozenset[str]] | None:
    """The data of the only cluster that may be needed; None if clusters or data are left to choose."""
    if placements(instance) != 1:
        return None
    ((_, data),) = data_assignments(instance)
    return data


@dataclass
class _Search:
    """The state of one enumeration: what is held, what is proved, what is left."""

    instance: Instance
    limits: Limits
    maximum_classes: int
    best_cost: float = math.inf
    best_plan: Plan | None = None
    undecided_cost: float = math.inf
    unexplored_cost: float = 0.0
    classes_left: int = 0
    nearest: tuple[float, FinalLoss] | None = None
    build_seconds: float = field(default=0.0)

    def run(self) -> Outcome:
        target = self.instance.target
        start = FinalLoss(target.initial_loss, ())
        met = certified_violation(start, target.maximum_loss).at_most(target.violation_budget)
        if met and self.instance.rules.may_stop:
            return Outcome(Termination.OPTIMAL, Plan(), 0.0)
        self.classes_left = self.maximum_classes
        self._require_manageable()
        assignments = data_assignments(self.instance)
        for transfers, data in assignments:
            if transfers >= self.best_cost:
                break
            self.unexplored_cost = max(self.unexplored_cost, transfers)
            if not self._explore(transfers, data):
                return self.outcome(Termination.TIME_LIMIT)
            self.limits.report(self.best_cost, self.lower_bound())
        self.unexplored_cost = math.inf
        return self.outcome(self._verdict())

    def outcome(self, termination: Termination) -> Outcome:
        """What can be said now."""
        reason = None
        if self.best_plan is None:
            stopped = termination in (Termination.TIME_LIMIT, Termination.INTERRUPTED)
            reason = self._reason_so_far() if stopped else self._reason()
        return Outcome(
            termination, self.best_plan, self.lower_bound(), reason, build_seconds=self.build_seconds
        )

    def lower_bound(self) -> float:
        """No feasible plan costs less."""
        return min(self.best_cost, self.undecided_cost, self.unexplored_cost)

    def _verdict(self) -> Termination:
        if self.best_plan is None:
            return Termination.INFEASIBLE if self.undecided_cost == math.inf else Termination.EXHAUSTED
        if self.undecided_cost >= self.best_cost:
            return Termination.OPTIMAL
        gap = (self.best_cost - self.undecided_cost) / self.best_cost
        return Termination.GAP_REACHED if gap <= self.limits.gap else Termination.EXHAUSTED

    def _require_manageable(self) -> None:
        pairs = placements(self.instance)
        if pairs > self.maximum_classes.bit_length() or 2**pairs - 1 > self.maximum_classes:
            raise NotCoveredError(
                f"enumeration accepts at most {self.maximum_classes} plan classes, there are "
                f"{choices_of(pairs)} assignments of data to clusters already; use another method"
            )

    def _explore(self, transfers: float, data: dict[str, frozenset[str]]) -> bool:
        """Certify the classes of one assignment in order of cost; False at the time limit."""
        started = time.perf_counter()
        cutoff = self.best_cost - transfers
        try:
            classes = plan_classes(
                self.instance,
                data,
                cutoff=cutoff,
                allowed=self.classes_left,
                proceed=lambda: not self.limits.expired(),
            )
        except NotCoveredError as error:
            raise NotCoveredError(
                f"enumeration accepts at most {self.maximum_classes} plan classes: {error}"
            ) from error
        self.build_seconds += time.perf_counter() - started
        if classes is None:
            return False
        self.classes_left -= sum(len(level.last) for level in classes.levels[1:])
        everywhere = (1 << len(data)) - 1  # other classes belong to assignments with fewer clusters
        ending = self.instance.rules.last_models([model.name for model in self.instance.models])
        rows = [
            (float(cost), epochs, int(row))
            for epochs, level in enumerate(classes.levels[1:], start=1)
            for row, cost in enumerate(level.costs)
            if level.used[row] == everywhere and ending[level.last[row]]
        ]
        rows.sort()
        return self._certify(transfers, data, classes, rows)

    def _certify(
        self,
        transfers: float,
        data: dict[str, frozenset[str]],
        classes: Classes,
        rows: list[tuple[float, int, int]],
    ) -> bool:
        target = self.instance.target
        known: dict[bytes, int] = {}
        for batch in _growing(rows):
            losses = loss_classes(classes, batch, target.initial_loss)
            stacked = np.column_stack([losses.counts, losses.constants.view(np.int64)])
            keys = [row.tobytes() for row in stacked]
            fresh = np.array([index for index, key in enumerate(keys) if key not in known], dtype=np.intp)
            quick = quick_verdicts(losses.select(fresh), target.maximum_loss, target.violation_budget)
            known.update(
                (keys[index], int(verdict)) for index, verdict in zip(fresh, quick, strict=True) if verdict
            )
            self._remember_nearest(losses, target.maximum_loss)
            for index, (cost, epochs, row) in enumerate(batch):
                if self.limits.expired():
                    return False
                if keys[index] not in known:
                    alone = certified_verdict(
                        losses.loss(index), target.maximum_loss, target.violation_budget
                    )
                    known[keys[index]] = int(alone)
                if known[keys[index]] == Verdict.MET:
                    self.best_cost = transfers + cost
                    self.best_plan = build_plan(self.instance, data, classes.sequence(epochs, row))
                    return True
                if known[keys[index]] == Verdict.UNDECIDED:
                    self.undecided_cost = min(self.undecided_cost, transfers + cost)
        return True

    def _remember_nearest(self, losses: LossClasses, maximum_loss: float) -> None:
        """Keep the most promising of the classes seen, for the reason that is given if none is feasible."""
        if self.best_plan is not None or not len(losses.counts):
            return
        scores = losses.scores(maximum_loss)
        best = int(np.argmax(scores))
        if self.nearest is None or scores[best] > self.nearest[0]:
            self.nearest = float(scores[best]), losses.loss(best)

    def _reason_so_far(self) -> str:
        """What a stopped search may say: nothing about what it did not see."""
        target = self.instance.target
        if self.nearest is None:
            return "stopped before any plan was certified; allow more time"
        quantile = certified_quantile(self.nearest[1], target.violation_budget)
        return (
            f"stopped before a plan for target {target.maximum_loss:g} "
            f"at omega {probability(target.quantile_level)} was found; "
            f"best quantile seen so far {quantile.upper:.6g}; allow more time"
        )

    def _reason(self) -> str:
        target = self.instance.target
        if self.nearest is None:
            return self._time_reason()
        quantile = certified_quantile(self.nearest[1], target.violation_budget)
        return (
            f"models: target {target.maximum_loss:g} "
            f"at omega {probability(target.quantile_level)} unreachable within "
            f"{counted(target.maximum_epochs, 'epoch')} and the time limits: "
            f"best quantile {quantile.upper:.6g}"
        )

    def _time_reason(self) -> str:
        """Why there is no plan of even one epoch."""
        target = self.instance.target
        if not target.maximum_epochs:
            return f"models: maximum_epochs is 0, and {why_not_idle(self.instance)}"
        if barred := self.instance.rules.obstacle():
            return barred
        startable = [
            model.name
            for model in self.instance.models
            if self.instance.may_follow(target.initial_model, model.name)
        ]
        if not startable:
            return f"models: none may follow the initial model {target.initial_model!r}"
        rules = self.instance.rules
        loads = [
            load(self.instance, 1, model, place.name, frozenset([dataset]))
            for model in startable
            for place in self.instance.clusters
            if rules.may_train(model, place.name)
            for dataset in rules.data[place.name]
        ]
        if not loads:
            return f"models: none that may follow {target.initial_model!r} fits on a cluster with data"
        fastest = min(allocate([one], None, 1e300).fastest_time for one in loads)
        return f"resources: no epoch keeps the time limits; the fastest takes {fastest:.6g}"


def loss_classes(classes: Classes, rows: list[tuple[float, int, int]], initial_loss: float) -> LossClasses:
    """The final losses of some classes, which may be none, given as (cost, epochs, row)."""
    terms = [classes.levels[epochs].terms[row] for _, epochs, row in rows]
    shifts = [classes.levels[epochs].shifts[row] for _, epochs, row in rows]
    shifted = np.array(shifts).reshape(len(rows), len(classes.shifts))
    constants = initial_loss + shifted @ np.array(classes.shifts)
    counts = np.array(terms, dtype=np.int64).reshape(len(rows), len(classes.terms))
    return LossClasses(classes.terms, counts, constants)


def _growing(rows: list[tuple[float, int, int]]) -> Iterator[list[tuple[float, int, int]]]:
    first, size = 0, _FIRST_BATCH
    while first < len(rows):
        yield rows[first : first + size]
        first, size = first + size, min(2 * size, _LARGEST_BATCH)


def _nonempty(names: list[str]) -> Iterator[tuple[str, ...]]:
    return (chosen for size in range(1, len(names) + 1) for chosen in itertools.combinations(names, size))


def _undominated(instance: Instance) -> list[Cluster]:
    """The clusters that may be needed; see the module's docstring."""
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
