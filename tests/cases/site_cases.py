"""Instances whose sites have rules, drawn or from a small example, and the rules read a third time."""

import itertools

import msgspec
import numpy as np

from depl.models.problem.instance import Instance


def with_rules(rng: np.random.Generator, instance: Instance) -> Instance:
    """The instance with random residency, memory and deployable models; transfers it forbids are left out."""
    places = [item.name for item in instance.clusters]
    names = [item.name for item in instance.models]
    datasets = tuple(
        msgspec.structs.replace(item, clusters=_some(rng, places) if rng.random() < 0.5 else None)
        for item in instance.datasets
    )
    clusters = tuple(
        msgspec.structs.replace(item, memory=float(rng.integers(1, 5)) if rng.random() < 0.6 else None)
        for item in instance.clusters
    )
    models = tuple(
        msgspec.structs.replace(item, memory=float(rng.integers(0, 5)) if rng.random() < 0.7 else None)
        for item in instance.models
    )
    homes = {item.name: item.clusters for item in datasets}
    kept = tuple(row for row in instance.transfers if row.cluster in (homes[row.dataset] or places))
    last = _some(rng, names) if rng.random() < 0.7 else None
    return instance.replace(
        datasets=datasets, clusters=clusters, models=models, transfers=kept, deployable=last
    )


def _some(rng, names):
    chosen = rng.random(len(names)) < 0.5
    chosen[rng.integers(len(names))] = True
    return tuple(itertools.compress(names, chosen))


def keeps_rules(instance: Instance, plan) -> bool:
    """Whether a plan keeps the rules of its sites, read from the raw fields."""
    homes = {item.name: item.clusters for item in instance.datasets}
    room = {item.name: item.memory for item in instance.clusters}
    need = {item.name: item.memory for item in instance.models}
    for row in plan.data:
        for name in row.datasets:
            if homes[name] is not None and row.cluster not in homes[name]:
                return False
    for epoch in plan.epochs:
        has, asks = room[epoch.cluster], need[epoch.model]
        if has is not None and asks is not None and asks > has:
            return False
    last = plan.epochs[-1].model if plan.epochs else instance.target.initial_model
    return instance.target.deployable is None or last in instance.target.deployable
