"""What the reductions from knapsacks share: two models, *take* and *skip*; epoch k decides on item k.

One cluster with bandwidth 1, one dataset, no data law, free switches, models of size 0. Laws and work depend
on the epoch and are given by tables.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from depl.instances.reductions.knapsack import require_items
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Cluster, ComputeTable, Dataset, Instance, Model, Target
from depl.models.problem.laws import Deterministic, Zero
from depl.models.problem.learning import ConstantImprovement, TabledImprovement
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch

TAKE, SKIP, SITE, DATA = "take", "skip", "site", "data"


@dataclass(frozen=True)
class Decisions:
    """What a model does in every epoch: its improvements of the loss, and its work [resource x time]."""

    improvements: Sequence[ConstantImprovement]
    work: Sequence[float]


def gain(value: float) -> ConstantImprovement:
    """A certain improvement of the loss; negative raises it."""
    return ConstantImprovement(noise=Deterministic(value=float(value)))


def take_or_skip(name: str, take: Decisions, skip: Decisions, target: Target, cluster: Cluster) -> Instance:
    """The instance with these two models."""
    models = tuple(
        Model(
            name=model,
            size=0,
            improvement=TabledImprovement(epochs=tuple(decisions.improvements)),
            compute=(ComputeTable(epochs=tuple(float(work) for work in decisions.work)),),
        )
        for model, decisions in ((TAKE, take), (SKIP, skip))
    )
    return Instance(
        name=name,
        clusters=(cluster,),
        datasets=(Dataset(name=DATA, volume=1),),
        models=models,
        target=target,
        other_switches=Zero(),
    )


def site(capacity: float, unit_cost: float) -> Cluster:
    """The cluster."""
    return Cluster(name=SITE, capacity=capacity, bandwidth=1, unit_cost=unit_cost)


def plan_taking(items: Iterable[int], taken: Sequence[float], skipped: Sequence[float]) -> Plan:
    """The plan that takes some items and decides on all.

    Parameters
    ----------
    items : iterable of int
        Places from 0.
    taken, skipped : sequence of float
        x of an epoch that takes its item, and of one that skips it [resource].

    Raises
    ------
    InvalidInputError
        If an item does not exist or is repeated.
    """
    chosen = set(require_items(items, len(taken)))
    return Plan(
        data=(ClusterData(cluster=SITE, datasets=(DATA,)),),
        epochs=tuple(
            PlannedEpoch(
                model=TAKE if item in chosen else SKIP,
                cluster=SITE,
                resources=taken[item] if item in chosen else skipped[item],
            )
            for item in range(len(taken))
        ),
    )


def taken_items(plan: Plan) -> tuple[int, ...]:
    """The items that a plan takes, by their places from 0; what it does not decide on, it does not take.

    Raises
    ------
    InvalidInputError
        If the plan trains another model.
    """
    for place, epoch in enumerate(plan.epochs):
        if epoch.model not in (TAKE, SKIP):
            raise InvalidInputError(
                f"trains {epoch.model!r}, and the instance of a knapsack has {TAKE!r} and {SKIP!r} only",
                f"$.epochs[{place}].model",
            )
    return tuple(place for place, epoch in enumerate(plan.epochs) if epoch.model == TAKE)
