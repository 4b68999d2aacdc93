r"""The method ``one-pass``: data, models and resources decided once each, in a chosen order (Sec. IV).

The paper decides on data first, then on models, then on resources, and argues that what is harder to estimate
should be decided less often. To measure what the order is worth, every stage here is solved exactly, or
nearly so, for what it is told, is never asked again, and where it fails the method fails. What is not decided
yet is assumed as in the paper: all data; the most capable cluster with all its resources.

- *Data*. Before the models: eq. (7), the least K^(D) T^(D), with T^ the mean time of an epoch over the
  models. After them: of the sets with which the sequence is certified and in time, the one of least
  transfers, then of least time. One set serves all clusters; beyond 8 datasets only the densest ones by
  volume per work are tried.
- *Models*. The certified sequence of least sum of kappa x, then of least time, on the cluster and with the
  resources that are decided or assumed: all classes of plans are listed.
- *Resources*. After the models: the placement of `depl.heuristics.placement.place`, with exact resources.
  Before them: the cluster and the x of the cheapest certified plan of a single model; both are kept for
  whatever model.

The option ``order`` is one of the six permutations, ``data-models-resources`` by default. Every plan is
certified, and nothing is proved about its cost.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from depl.heuristics.baselines.drafts import Appraiser, Draft
from depl.heuristics.data.most_capable import most_capable_cluster
from depl.heuristics.placement.place import place
from depl.heuristics.placement.problem import placement_plan, placement_problem
from depl.models.evaluation.evaluate import evaluate
from depl.models.exact.enumeration import MAXIMUM_CLASSES, loss_classes
from depl.models.exact.plan_classes import plan_classes
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import Load, compute
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.risk.batch import first_met
from depl.models.solving.methods import Limits, Outcome
from depl.models.solving.options import Option
from depl.models.solving.result import Termination

ORDERS = tuple("-".join(order) for order in itertools.permutations(("data", "models", "resources")))
"""All six; the first is the paper's."""

OPTIONS = (Option("order", ORDERS, "which decisions come first"),)

_LISTED_DATASETS = 8
"""Datasets of which all sets are tried, 255; of more, the densest ones by volume per work, one set for each
size. Set by hand: another one doubles their number."""


def one_pass(instance: Instance, limits: Limits) -> Outcome:
    """Data, models and resources decided once each, in any of the six orders; no way back.

    Raises
    ------
    InvalidInputError
        If the option ``order`` is none of `ORDERS`.
    NotCoveredError
        If there are too many classes of plans to list, losses decay by themselves, or some data or models are
        not allowed on some cluster.
    """
    order = limits.options.get("order", ORDERS[0])
    if order not in ORDERS:
        raise InvalidInputError(f"must be one of {', '.join(ORDERS)}, not {order!r}", ".order")
    if instance.rules.restrict_sites:
        raise NotCoveredError(
            "one-pass decides on one set of data and on the models for all clusters alike; it does not cover "
            "data that may not be used everywhere, nor models that do not fit everywhere: use depl"
        )
    stages = _Stages(instance, limits, Appraiser(instance, limits))
    if stages.appraiser.nothing_to_train():
        return Outcome(Termination.EXHAUSTED, Plan(), 0.0)
    for stage in str(order).split("-"):
        reason = stages.decide(stage)
        if limits.expired():
            return Outcome(Termination.TIME_LIMIT, None, 0.0)
        if reason:
            return Outcome(Termination.EXHAUSTED, None, 0.0, f"{stage}: {reason}")
    plan = stages.plan()
    if not evaluate(instance, plan, quantile=False).feasible:
        return Outcome(Termination.EXHAUSTED, None, 0.0, "resources: what was decided does not fit together")
    return Outcome(Termination.EXHAUSTED, plan, 0.0)


@dataclass(frozen=True)
class _Place:
    """A cluster, by position, and x on each of its nodes."""

    cluster: int
    resources: float


@dataclass
class _Stages:
    """What is decided; None where it is not yet."""

    instance: Instance
    limits: Limits
    appraiser: Appraiser
    data: frozenset[str] | None = None
    models: tuple[int, ...] | None = None
    places: tuple[_Place, ...] | None = None
    everywhere: _Place | None = None

    def decide(self, stage: str) -> str:
        """Decide one stage; returns why it failed, or nothing."""
        if stage == "data":
            return self._decide_data()
        if stage == "models":
            return self._decide_models()
        return self._decide_places() if self.models is not None else self._decide_everywhere()

    def plan(self) -> Plan:
        """The plan of all three decisions."""
        instance, models, places = self.instance, self.models or (), self._assumed_places()
        used = dict.fromkeys(instance.clusters[item.cluster].name for item in places)
        names = tuple(sorted(self._assumed_data))
        epochs = []
        for k, (m, item) in enumerate(zip(models, places, strict=True)):
            busy = self.appraiser.load(k, m, item.cluster, self._assumed_data).work > 0
            epochs.append(
                PlannedEpoch(
                    model=instance.models[m].name,
                    cluster=instance.clusters[item.cluster].name,
                    resources=item.resources if busy else 0.0,
                )
            )
        data = tuple(ClusterData(cluster=name, datasets=names) for name in used)
        return Plan(data=data, epochs=tuple(epochs))

    @property
    def _assumed_data(self) -> frozenset[str]:
        return self.data or frozenset(item.name for item in self.instance.datasets)

    def _assumed_places(self) -> tuple[_Place, ...]:
        """Where every epoch trains, as decided or as assumed."""
        return self.places or (self._assumed_everywhere,) * len(self.models or ())

    @property
    def _assumed_everywhere(self) -> _Place:
        if self.everywhere is not None:
            return self.everywhere
        capable = most_capable_cluster(self.instance)
        return _Place(self.instance.clusters.index(capable), capable.capacity)

    def _decide_data(self) -> str:
        sets = list(_data_sets(self.instance))
        if self.models is None:
            self.data = min(sets, key=self._epochs_times_time)
            return ""
        kept = [(self._transfers(chosen), self._time(chosen), chosen) for chosen in sets]
        for _, time, chosen in sorted(kept, key=lambda item: (item[0], item[1], sorted(item[2]))):
            clusters = tuple(item.cluster for item in self._assumed_places())
            draft = Draft(self.models, clusters, (chosen,) * len(self.instance.clusters))
            if math.isfinite(time) and self.appraiser.met(draft):
                self.data = chosen
                return ""
        return "with no set of datasets the models meet the target in time"

    def _decide_models(self) -> str:
        assumed, instance = self._assumed_everywhere, self.instance
        data = {instance.clusters[assumed.cluster].name: self._assumed_data}
        classes = plan_classes(
            instance,
            data,
            cutoff=math.inf,
            allowed=MAXIMUM_CLASSES,
            proceed=lambda: not self.limits.expired(),
        )
        if classes is None:
            return ""
        epochs_alone = [self._with(asked, assumed.resources) for asked in classes.loads]
        costs, times = np.array(epochs_alone).reshape(-1, 2).T
        rows, ending = [], self.appraiser.learning.may_end
        for epochs, level in enumerate(classes.levels[1:], start=1):
            cost, time = (_counted(level.loads, values) for values in (costs, times))
            in_time = np.flatnonzero(np.isfinite(time) & (time <= self._longest) & ending[level.last])
            rows += [(float(cost[row]), float(time[row]), epochs, int(row)) for row in in_time]
        rows.sort()
        losses = loss_classes(
            classes, [(cost, epochs, row) for cost, _, epochs, row in rows], instance.target.initial_loss
        )
        target = instance.target
        first = first_met(
            losses, target.maximum_loss, target.violation_budget, lambda: not self.limits.expired()
        )
        if first is None:
            return "no sequence meets the target in time on what is decided or assumed"
        names = [item.name for item in instance.models]
        self.models = tuple(names.index(item.model) for item in classes.sequence(*rows[first][2:]))
        return ""

    def _decide_places(self) -> str:
        """The placement of the models."""
        instance = self.instance
        names = [instance.models[m].name for m in self.models or ()]
        data = {item.name: self._assumed_data for item in instance.clusters}
        problem = placement_problem(instance, names, data)
        placed = place(problem)
        if placed.assignment is None:
            return placed.reason
        price = float(problem.evaluate([placed.assignment]).multipliers[0])
        plan = placement_plan(instance, names, data, problem, placed.assignment, price)
        positions = {item.name: n for n, item in enumerate(instance.clusters)}
        self.places = tuple(_Place(positions[item.cluster], item.resources) for item in plan.epochs)
        return ""

    def _decide_everywhere(self) -> str:
        """Cluster and resources of the cheapest certified plan of one model."""
        instance, target = self.instance, self.instance.target
        best: tuple[float, _Place] | None = None
        for m, n in itertools.product(range(len(instance.models)), range(len(instance.clusters))):
            if not self.appraiser.allowed([m]):
                continue
            whole = (self._assumed_data,) * len(instance.clusters)
            draft = Draft((m,) * target.maximum_epochs, (n,) * target.maximum_epochs, whole)
            short = self.appraiser.shortest(draft)
            if short is None or self.appraiser.resources(short).lateness:
                continue
            loads = [self.appraiser.load(k, m, n, self._assumed_data) for k in range(len(short.models))]
            resources = allocate(loads, target.maximum_time, target.round_deadline).resources
            cost = self.appraiser.resources(short).cost
            if best is None or cost < best[0]:
                best = cost, _Place(n, float(resources.max()))
        if best is None:
            return "no single model meets the target in time on any cluster"
        self.everywhere = best[1]
        return ""

    def _epochs_times_time(self, chosen: frozenset[str]) -> float:
        """K^ T^ of eq. (7), up to a factor that all sets share."""
        assumed = self._assumed_everywhere
        loads = [self.appraiser.load(0, m, assumed.cluster, chosen) for m in range(len(self.instance.models))]
        times = [asked.communication + asked.work / assumed.resources for asked in loads]
        factor = self.appraiser.factor(chosen)
        return math.fsum(times) / factor if factor > 0 else math.inf

    def _transfers(self, chosen: frozenset[str]) -> float:
        used = {self.instance.clusters[item.cluster].name for item in self._assumed_places()}
        pairs = itertools.product(sorted(chosen), sorted(used))
        return math.fsum(self.instance.transfer_cost(name, place) for name, place in pairs)

    def _time(self, chosen: frozenset[str]) -> float:
        """Time of the decided models with a set of datasets; infinite if a limit is missed."""
        times = [
            self._with(self.appraiser.load(k, m, item.cluster, chosen), item.resources)[1]
            for k, (m, item) in enumerate(zip(self.models or (), self._assumed_places(), strict=True))
        ]
        total = math.fsum(times)
        return total if total <= self._longest else math.inf

    @property
    def _longest(self) -> float:
        limit = self.instance.target.maximum_time
        return math.inf if limit is None else limit * (1 + TIME_TOLERANCE)

    def _with(self, asked: Load, resources: float) -> tuple[float, float]:
        """Cost and time of an epoch with x; the time is infinite beyond the round deadline."""
        if asked.work == 0:
            cost, time = 0.0, asked.communication
        else:
            cost, time = asked.price * resources, asked.work / resources + asked.communication
        deadline = self.instance.target.round_deadline
        late = deadline is not None and time > deadline * (1 + TIME_TOLERANCE)
        return cost, math.inf if late else time


def _data_sets(instance: Instance) -> Iterator[frozenset[str]]:
    """All nonempty sets of few datasets; of many, the densest ones by volume per work."""
    names = [item.name for item in instance.datasets]
    if len(names) <= _LISTED_DATASETS:
        for size in range(len(names), 0, -1):
            yield from (frozenset(chosen) for chosen in itertools.combinations(names, size))
        return
    first = instance.models[0].name
    ordered = sorted(
        instance.datasets,
        key=lambda item: (compute(instance, 1, first, frozenset({item.name})) / item.volume, item.name),
    )
    for size in range(len(names), 0, -1):
        yield frozenset(item.name for item in ordered[:size])


def _counted(counts: np.ndarray[tuple[int, ...], np.dtype[np.int32]], values: FloatArray) -> FloatArray:
    """Sums of counted values, where 0 times infinity is 0."""
    endless = np.isinf(values)
    found = counts @ np.where(endless, 0.0, values)
    return np.where(counts[:, endless].any(axis=1), math.inf, found)
