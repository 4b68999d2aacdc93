"""What an instance and a plan say, read from their raw fields a second time.

The solvers read them in `depl.models.problem.epochs` and through the methods of `Instance`; the verifier uses
neither, so that a formula that is wrong there is not wrong here in the same way. Symbols are the paper's.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from depl.models.problem.instance import (
    Cluster,
    ConstantImprovement,
    Instance,
    InverseLogDataLaw,
    LogDataLaw,
    Model,
    PowerDataLaw,
    TabledImprovement,
)
from depl.models.problem.laws import Deterministic, Forbidden, ImprovementLaw, SwitchLaw, Undeclared, Zero
from depl.models.problem.plan import ClusterData, Plan
from depl.models.problem.traced_law import TracedLaw
from depl.models.verifier.laws import Increment, decimal, merged
from depl.models.verifier.losses import LossFacts
from depl.models.verifier.traces import traced_loss, untrained


@dataclass(frozen=True)
class EpochFacts:
    """What one epoch takes: the work c(k, m, D) / nodes, in all x nodes * kappa(n), r(n), and s(m) / b(n)."""

    work: float
    price: float
    capacity: float
    communication: float
    resources: float = 0.0

    @property
    def time(self) -> float:
        """T(k) of eq. (1) [time]; infinite if there is work and no resources."""
        if self.work == 0.0:
            return self.communication
        return self.communication + (self.work / self.resources if self.resources > 0.0 else math.inf)


def epoch_facts(instance: Instance, plan: Plan) -> tuple[EpochFacts, ...]:
    """Work, price, capacity and communication time of every planned epoch."""
    models = {item.name: item for item in instance.models}
    clusters, given = {item.name: item for item in instance.clusters}, given_data(plan)
    known: dict[tuple[str, str], EpochFacts] = {}
    facts = []
    for number, epoch in enumerate(plan.epochs, start=1):
        kind, model = (epoch.model, epoch.cluster), models[epoch.model]
        if kind not in known or model.compute is not None:  # without tables all epochs of a kind are equal
            known[kind] = facts_of(instance, number, model, clusters[epoch.cluster], given[epoch.cluster])
        facts.append(replace(known[kind], resources=epoch.resources))
    return tuple(facts)


def facts_of(
    instance: Instance, number: int, trained: Model, place: Cluster, data: frozenset[str]
) -> EpochFacts:
    """What epoch ``number`` takes, for one model, cluster and nonempty set of data.

    Node by node: per unit of x one of speed v commits 1 / v. The slowest ends the computing, and the sending.
    """
    groups = place.groups
    nodes = [(place, place.nodes, 1.0)] if groups is None else [(row, row.count, row.speed) for row in groups]
    rows = [(node, count, speed, 1.0 / speed) for node, count, speed in nodes]
    share = _demanded(instance, trained, number, data) / sum(count for _, count, *_ in rows)
    return EpochFacts(
        work=max(share / (speed * committed) for _, _, speed, committed in rows),
        price=math.fsum(count * node.unit_cost * committed for node, count, _, committed in rows),
        capacity=min(node.capacity / committed for node, *_, committed in rows),
        communication=max(trained.size / node.bandwidth for node, *_ in rows),
    )


class Change(NamedTuple):
    """What one epoch adds to the loss: what is certain, what is random, and whether all of it has a law."""

    certain: Fraction
    random: tuple[Increment, ...]
    declared: bool


def change_of(instance: Instance, number: int, before: str | None, trained: Model, share: Fraction) -> Change:
    """By the run law (8), with the share h(D), and the law of a switch from the model before, if any."""
    amount, noise = improvement_of(trained, number)
    parts: list[tuple[Fraction, ImprovementLaw | SwitchLaw]] = [(-share * amount, noise)]
    if before not in (None, trained.name):
        parts.append((Fraction(1), law_of_switch(instance, str(before), trained.name)))
    fixed = [factor * decimal(law.value) for factor, law in parts if isinstance(law, Deterministic)]
    random = [
        Increment(factor, law)
        for factor, law in parts
        if factor != 0 and not isinstance(law, Deterministic | Forbidden | Undeclared | Zero)
    ]
    declared = not any(isinstance(law, Undeclared) for _, law in parts)
    return Change(sum(fixed, Fraction(0)), tuple(random), declared)


def loss_facts(instance: Instance, plan: Plan) -> LossFacts:
    """The final loss by the recursion below eq. (1), or by a traced law (`depl.models.verifier.traces`)."""
    traced, before = instance.traced_law, instance.target.initial_model
    names = [before, *(epoch.model for epoch in plan.epochs)]
    forbidden = tuple(
        (number, str(one), other)
        for number, (one, other) in enumerate(itertools.pairwise(names), start=1)
        if other is not None and not may_switch(instance, one, other)
    )
    if traced is not None and (plan.epochs or traced.observed is None):
        return replace(_traced_facts(instance, traced, plan), forbidden=forbidden)
    models, given = {item.name: item for item in instance.models}, given_data(plan)
    shares = {name: data_share(instance, given[name]) for name in {epoch.cluster for epoch in plan.epochs}}
    certain, declared = decimal(instance.target.initial_loss), True
    random: list[Increment] = []
    for number, epoch in enumerate(plan.epochs, start=1):
        change = change_of(instance, number, before, models[epoch.model], shares[epoch.cluster])
        certain += change.certain
        random += change.random
        declared &= change.declared
        before = epoch.model
    return LossFacts(certain, merged(random), forbidden, declared=declared)


def has_laws(instance: Instance) -> bool:
    """Whether the instance declares a law of everything that is random in it."""
    shapes = [model.improvement for model in instance.models]
    rows = [
        row
        for shape in shapes
        for row in (shape.epochs if isinstance(shape, TabledImprovement) else (shape,))
    ]
    laws = [*(row.noise for row in rows), instance.other_switches, *(row.law for row in instance.switches)]
    return instance.has_memory or not any(isinstance(law, Undeclared) for law in laws)


def budget_of(instance: Instance) -> Fraction:
    """1 - omega in the decimals that were written."""
    return 1 - decimal(instance.target.quantile_level)


def transfers(instance: Instance, data: Iterable[tuple[str, Iterable[str]]]) -> float:
    """Sum of beta(d, n) over the data that each cluster is given, once (erratum E2)."""
    listed = {(row.dataset, row.cluster): row.cost for row in instance.transfers}
    return math.fsum(listed.get((name, cluster), 0.0) for cluster, names in data for name in names)


def given_data(plan: Plan) -> dict[str, frozenset[str]]:
    """D_n by the name of the cluster."""
    return {row.cluster: frozenset(row.datasets) for row in plan.data}


def data_faults(instance: Instance, rows: Sequence[ClusterData]) -> Iterator[tuple[str, str]]:
    """What is wrong with the data of clusters, whatever is trained there: the rule, and how it is broken."""
    clusters = {item.name for item in instance.clusters}
    homes = {item.name: item.clusters for item in instance.datasets}
    seen: set[str] = set()
    for row in rows:
        if row.cluster not in clusters:
            yield "Sec. III, clusters", f"there is no cluster {row.cluster!r}"
        if row.cluster in seen:
            yield "Sec. III, data", f"the data of cluster {row.cluster!r} are listed twice"
        seen.add(row.cluster)
        if len(set(row.datasets)) < len(row.datasets):
            yield "Sec. III, data", f"cluster {row.cluster!r} is given a dataset twice"
        for name in dict.fromkeys(row.datasets):
            allowed = homes.get(name)
            if name not in homes:
                yield "Sec. III, data", f"there is no dataset {name!r}"
            elif allowed is not None and row.cluster not in allowed:
                yield "sites, residency", f"dataset {name!r} may not be used on cluster {row.cluster!r}"


def longest_tables(instance: Instance, names: Iterable[str]) -> int | None:
    """The last epoch for which all tables of these models have an entry; None without tables."""
    used = set(names)
    lengths = []
    for model in instance.models:
        if model.name in used:
            if isinstance(model.improvement, TabledImprovement) and not instance.has_memory:
                lengths.append(len(model.improvement.epochs))
            lengths.extend(len(table.epochs) for table in model.compute or ())
    return min(lengths, default=None)


def improvement_of(model: Model, number: int) -> tuple[Fraction, ImprovementLaw]:
    """Coefficient and law of the improvement of epoch ``number``, eq. (8) or its other shapes."""
    shape = model.improvement
    if isinstance(shape, TabledImprovement):
        shape = shape.epochs[number - 1]
    if isinstance(shape, ConstantImprovement):
        return decimal(shape.scale), shape.noise
    radicand = number + decimal(shape.offset)  # A / sqrt(k + B): exact where the root is
    root = math.sqrt(radicand)
    if Fraction(root) ** 2 == radicand:
        return decimal(shape.scale) / Fraction(root), shape.noise
    return decimal(shape.scale / root), shape.noise


def law_of_switch(instance: Instance, before: str, after: str) -> SwitchLaw:
    """Law of the loss of a switch between two different models."""
    listed = (row.law for row in instance.switches if (row.previous, row.following) == (before, after))
    return next(listed, instance.other_switches)


def may_switch(instance: Instance, before: str | None, after: str) -> bool:
    """Whether the second model may be trained right after the first one, or after none."""
    return before in (None, after) or not isinstance(law_of_switch(instance, str(before), after), Forbidden)


def data_share(instance: Instance, data: frozenset[str]) -> Fraction:
    """h(D) = K^(all data) / K^(D), the data law that eq. (7) uses, too."""
    everything = frozenset(row.name for row in instance.datasets)
    if instance.data_law is None or data == everything:
        return Fraction(1)
    return _needed(instance, everything) / _needed(instance, data)


def usable_data(instance: Instance, place: Cluster) -> tuple[str, ...]:
    """The data that may be used on a cluster."""
    return tuple(row.name for row in instance.datasets if row.clusters is None or place.name in row.clusters)


def sets_of_data(instance: Instance) -> list[list[frozenset[str]]]:
    """For every cluster the nonempty sets of data that may be used there, small ones first.

    None where no model fits.
    """
    return [
        [frozenset(data) for size in range(1, len(names) + 1) for data in itertools.combinations(names, size)]
        for names in _trained_with(instance)
    ]


def assignment_count(instance: Instance) -> int:
    """How many choices of such a set or none for every cluster there are, none for all left out."""
    return math.prod(int(2 ** len(names)) for names in _trained_with(instance)) - 1


def fits(trained: Model, place: Cluster) -> bool:
    """Whether a model trains on a cluster."""
    return trained.memory is None or place.memory is None or not trained.memory > place.memory


def untrained_is_known(instance: Instance) -> bool:
    """Whether anything is known of the loss before epoch 1: all runs of a traced law tell it, or one does."""
    law = instance.traced_law
    return law is None or law.observed is not None or not any(run.first_epoch for run in law.runs)


def may_be_last(instance: Instance, model: str | None) -> bool:
    """Whether a plan may end with a model; without an epoch, with the initial one, or None."""
    last = instance.target.deployable
    return last is None or (model is not None and any(name == model for name in last))


def _trained_with(instance: Instance) -> list[tuple[str, ...]]:
    """For every cluster the data that may be used there; none where no model fits."""
    return [
        usable_data(instance, place) if any(fits(model, place) for model in instance.models) else ()
        for place in instance.clusters
    ]


def _traced_facts(instance: Instance, law: TracedLaw, plan: Plan) -> LossFacts:
    if plan.epochs:
        found = traced_loss(law, [(epoch.model, epoch.cluster) for epoch in plan.epochs])
        return replace(found, scale=law.scale)
    if not untrained_is_known(instance):
        reason = "without an epoch nothing is known of the loss: runs were not evaluated before training"
        return LossFacts(outside=(0, reason))
    return LossFacts(increments=(untrained(law),), support=f"{len(law.runs)} runs before training")


def _demanded(instance: Instance, model: Model, number: int, data: frozenset[str]) -> float:
    """c(k, m, D) [resource x time]."""
    if model.compute is not None:
        tables = [table for table in model.compute if table.dataset is None or table.dataset in data]
        return math.fsum(table.epochs[number - 1] for table in tables)
    amounts = [row.volume if row.work is None else row.work for row in instance.datasets if row.name in data]
    return model.demand * math.fsum(amounts)


def _needed(instance: Instance, data: frozenset[str]) -> Fraction:
    """K^, up to scale."""
    law = instance.data_law
    if law is None:
        return Fraction(1)
    if not isinstance(law, LogDataLaw | InverseLogDataLaw | PowerDataLaw):
        listed = (
            row.epochs for row in law.subsets if len(row.datasets) == len(data) == len(data & {*row.datasets})
        )
        return decimal(next(listed))
    volume = law.base_volume + math.fsum(row.volume for row in instance.datasets if row.name in data)
    if isinstance(law, LogDataLaw):
        return decimal(law.a - law.b * math.log(volume))
    if isinstance(law, InverseLogDataLaw):
        return decimal(law.a / math.log1p(volume))
    return decimal(law.a / volume**law.p)
