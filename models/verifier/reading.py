"""What an instance and a plan say, read from their raw fields a second time.

The solvers read them in `depl.models.problem.epochs` and through the methods of `Instance`; the verifier uses
neither, so that a formula that is wrong there is not wrong here in the same way. Symbols are the paper's.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

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
from depl.models.problem.plan import Plan
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
    clusters = {item.name: item for item in instance.clusters}
    models = {item.name: item for item in instance.models}
    given = given_data(plan)
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


def loss_facts(instance: Instance, plan: Plan) -> LossFacts:
    """The final loss by the recursion below eq. (1), with the run law (8) and the switch laws.

    A traced law takes the place of both (`depl.models.verifier.traces`); which switches are forbidden it
    leaves as it is.
    """
    traced = instance.traced_law
    if traced is not None and (plan.epochs or traced.observed is None):
        return _traced_facts(instance, traced, plan)
    models = {item.name: item for item in instance.models}
    given = given_data(plan)
    certain = decimal(instance.target.initial_loss)
    random: list[Increment] = []
    forbidden: list[tuple[int, str, str]] = []
    declared = True
    before = instance.target.initial_model
    shares = {name: data_share(instance, given[name]) for name in {epoch.cluster for epoch in plan.epochs}}
    for number, epoch in enumerate(plan.epochs, start=1):
        amount, noise = improvement_of(models[epoch.model], number)
        parts: list[tuple[Fraction, ImprovementLaw | SwitchLaw]] = [(-shares[epoch.cluster] * amount, noise)]
        if before is not None and before != epoch.model:
            parts.append((Fraction(1), law_of_switch(instance, before, epoch.model)))
        for coefficient, law in parts:
            if isinstance(law, Forbidden):
                forbidden.append((number, str(before), epoch.model))
            elif isinstance(law, Undeclared):
                declared = False
            elif isinstance(law, Deterministic):
                certain += coefficient * decimal(law.value)
            elif not isinstance(law, Zero):
                random.append(Increment(coefficient, law))
        before = epoch.model
    return LossFacts(certain, merged(random), tuple(forbidden), declared=declared)


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


def transfers(instance: Instance, data: Iterable[tuple[str, Iterable[str]]]) -> float:
    """Sum of beta(d, n) over the data that each cluster is given, once (erratum E2)."""
    listed = {(row.dataset, row.cluster): row.cost for row in instance.transfers}
    return math.fsum(listed.get((name, cluster), 0.0) for cluster, names in data for name in names)


def given_data(plan: Plan) -> dict[str, frozenset[str]]:
    """D_n by the name of the cluster."""
    return {row.cluster: frozenset(row.datasets) for row in plan.data}


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


def data_share(instance: Instance, data: frozenset[str]) -> Fraction:
    """h(D) = K^(all data) / K^(D), the data law that eq. (7) uses, too."""
    everything = frozenset(row.name for row in instance.datasets)
    if instance.data_law is None or data == everything:
        return Fraction(1)
    return _needed(instance, everything) / _needed(instance, data)


def sets_of_data(instance: Instance) -> list[list[frozenset[str]]]:
    """For every cluster the nonempty sets of data that may be used there, small ones first.

    None where no model fits. Clusters with the same data share a list.
    """
    known: dict[tuple[str, ...], list[frozenset[str]]] = {}
    found = []
    for names in _usable(instance):
        if names not in known:
            sizes = range(1, len(names) + 1)
            chosen = itertools.chain.from_iterable(itertools.combinations(names, size) for size in sizes)
            known[names] = [frozenset(data) for data in chosen]
        found.append(known[names])
    return found


def assignment_count(instance: Instance) -> int:
    """How many choices of such a set or none for every cluster there are, none for all left out."""
    return math.prod(int(2 ** len(names)) for names in _usable(instance)) - 1


def fits(instance: Instance, model: int, cluster: int) -> bool:
    """Whether a model trains on a cluster, both by position."""
    asked, held = instance.models[model].memory, instance.clusters[cluster].memory
    return asked is None or held is None or not asked > held


def untrained_is_known(instance: Instance) -> bool:
    """Whether anything is known of the loss before epoch 1: all runs of a traced law tell it, or one does."""
    law = instance.traced_law
    return law is None or law.observed is not None or not any(run.first_epoch for run in law.runs)


def may_be_last(instance: Instance, model: str | None) -> bool:
    """Whether a plan may end with a model; without an epoch, with the initial one, or None."""
    last = instance.target.deployable
    return last is None or (model is not None and any(name == model for name in last))


def _usable(instance: Instance) -> list[tuple[str, ...]]:
    """For every cluster the data that may be used there; none where no model fits."""
    models = range(len(instance.models))
    return [
        tuple(row.name for row in instance.datasets if row.clusters is None or place.name in row.clusters)
        if any(fits(instance, model, number) for model in models)
        else ()
        for number, place in enumerate(instance.clusters)
    ]


def _traced_facts(instance: Instance, law: TracedLaw, plan: Plan) -> LossFacts:
    if not plan.epochs and not untrained_is_known(instance):
        reason = "without an epoch nothing is known of the loss: runs were not evaluated before training"
        return LossFacts(outside=(0, reason))
    if not plan.epochs:
        start, alike = untrained(law)
        return LossFacts(increments=(start,), support=f"{len(law.runs)} runs before training", alike=(alike,))
    names = [epoch.model for epoch in plan.epochs]
    forbidden = tuple(
        (number, before, after)
        for number, (before, after) in enumerate(itertools.pairwise(names), start=2)
        if before != after and isinstance(law_of_switch(instance, before, after), Forbidden)
    )
    found = traced_loss(law, [(epoch.model, epoch.cluster) for epoch in plan.epochs])
    return replace(found, forbidden=forbidden, scale=law.scale)


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
