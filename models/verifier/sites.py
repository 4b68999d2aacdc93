"""The rules of the sites, read from the raw fields: residency, memory, and which model may be the last."""

import itertools
from collections.abc import Iterator

from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.verifier.findings import Finding, failed, passed

_RESIDENCY, _MEMORY, _LAST = "sites, residency", "sites, memory", "sites, deployment"


def sets_of_data(instance: Instance) -> list[list[frozenset[str]]]:
    """For every cluster the nonempty sets of data that may be used there, small ones first.

    None where no model fits. Clusters with the same data share a list.
    """
    known: dict[tuple[str, ...], list[frozenset[str]]] = {(): []}
    found = []
    for cluster, item in enumerate(instance.clusters):
        names = tuple(
            row.name for row in instance.datasets if row.clusters is None or item.name in row.clusters
        )
        if not any(fits(instance, model, cluster) for model in range(len(instance.models))):
            names = ()
        if names not in known:
            sizes = range(1, len(names) + 1)
            chosen = (itertools.combinations(names, size) for size in sizes)
            known[names] = [frozenset(data) for row in chosen for data in row]
        found.append(known[names])
    return found


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


def site_findings(instance: Instance, plan: Plan) -> Iterator[Finding]:
    """What the plan breaks of the rules that the instance has, or that it keeps them."""
    if any(row.clusters is not None for row in instance.datasets):
        broken = [
            failed(_RESIDENCY, f"dataset {name!r} may not be used on cluster {place!r}", None)
            for place, name in _away(instance, plan)
        ]
        yield from broken or [passed(_RESIDENCY, "data are used where they may be alone")]
    if any(item.memory is not None for item in instance.clusters):
        broken = [failed(_MEMORY, message, excess) for message, excess in _too_large(instance, plan)]
        yield from broken or [passed(_MEMORY, "every model fits on the clusters that train it")]
    if instance.target.deployable is not None:
        yield _last_model(instance, plan)


def _away(instance: Instance, plan: Plan) -> Iterator[tuple[str, str]]:
    """Cluster and dataset of what is used where it may not be."""
    homes = {row.name: row.clusters for row in instance.datasets}
    for row in plan.data:
        for name in row.datasets:
            allowed = homes[name]
            if allowed is not None and row.cluster not in allowed:
                yield row.cluster, name


def _too_large(instance: Instance, plan: Plan) -> Iterator[tuple[str, float]]:
    """Epochs whose model needs more memory than the cluster has, and by how much."""
    held = {item.name: item.memory for item in instance.clusters}
    asked = {item.name: item.memory for item in instance.models}
    for number, epoch in enumerate(plan.epochs, start=1):
        room, need = held[epoch.cluster], asked[epoch.model]
        if room is not None and need is not None and need > room:
            message = (
                f"epoch {number}: model {epoch.model!r} needs memory {need:.12g}, a node of "
                f"{epoch.cluster!r} has {room:.12g}"
            )
            yield message, need - room


def _last_model(instance: Instance, plan: Plan) -> Finding:
    last = plan.epochs[-1].model if plan.epochs else instance.target.initial_model
    named = ", ".join(instance.target.deployable or ())
    if may_be_last(instance, last):
        return passed(_LAST, f"the last model {last!r} is one of {named}")
    if last is None:
        return failed(_LAST, f"without an epoch there is no last model; it has to be one of {named}", None)
    where = "the last model" if plan.epochs else "without an epoch the last model is the initial one,"
    return failed(_LAST, f"{where} {last!r} is none of {named}", None)
