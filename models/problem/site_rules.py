"""What the sites of an instance allow: where data may be used, where models fit, which model may be the last.

Three optional rules of the statement (`docs/problem`): *residency*, `Dataset.clusters`; *memory*,
`Model.memory` <= `Cluster.memory`; *deployment*, `Target.deployable`, of the initial model where there is no
epoch, so that without one there has to be an epoch, as where runs of a traced law were not evaluated before
training. Every method asks here, at `Instance.rules`; the verifier reads the rules by itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from depl.models.problem.instance import Cluster, Instance


@dataclass(frozen=True, eq=False)
class SiteRules:
    """The answers for one instance, all by name."""

    data: dict[str, frozenset[str]]  # for every cluster the datasets that may be used there
    models: dict[str, frozenset[str]]  # for every cluster the models that fit there
    deployable: frozenset[str] | None  # the models that may be the last; None if all may
    initial_model: str | None  # the model before epoch 1
    known_start: bool  # whether the loss before epoch 1 is known
    # Whether some dataset is forbidden on some cluster, and some model does not fit somewhere.
    restrict_data: bool
    restrict_models: bool

    @classmethod
    def of(cls, instance: "Instance") -> "SiteRules":
        """Read them from an instance."""
        free = frozenset(item.name for item in instance.datasets if item.clusters is None)
        bound: dict[str, set[str]] = {}
        for item in instance.datasets:
            for name in item.clusters or ():
                bound.setdefault(name, set()).add(item.name)
        data = {
            item.name: free.union(bound[item.name]) if item.name in bound else free
            for item in instance.clusters
        }
        fitting = {
            size: frozenset(
                item.name
                for item in instance.models
                if size is None or item.memory is None or item.memory <= size
            )
            for size in {item.memory for item in instance.clusters}
        }
        models = {item.name: fitting[item.memory] for item in instance.clusters}
        last = instance.target.deployable
        return cls(
            data,
            models,
            None if last is None else frozenset(last),
            instance.target.initial_model,
            instance.traced_law is None or instance.traced_law.evaluated,
            any(len(usable) < len(instance.datasets) for usable in data.values()),
            any(len(held) < len(instance.models) for held in models.values()),
        )

    def may_train(self, model: str, cluster: str) -> bool:
        """Whether a model fits on a cluster."""
        return model in self.models[cluster]

    def may_use(self, datasets: Iterable[str], cluster: str) -> bool:
        """Whether all of some datasets may be used on a cluster."""
        return self.data[cluster].issuperset(datasets)

    def may_end(self, model: str | None) -> bool:
        """Whether a plan may end with a model; None: it has no epoch, and there was no model before."""
        return self.deployable is None or model in self.deployable

    def last_models(self, models: Sequence[str]) -> NDArray[np.bool_]:
        """Which of some models may be the last, in their order."""
        return np.array([self.may_end(model) for model in models], dtype=bool)

    def fitting(self, clusters: Sequence[str], models: Sequence[str]) -> NDArray[np.bool_]:
        """Which of some models fit on which of some clusters; shape (N, M)."""
        if not self.restrict_models:
            return np.ones((len(clusters), len(models)), dtype=bool)
        return np.array([[m in self.models[n] for m in models] for n in clusters], dtype=bool)

    def usable(self, clusters: Sequence[str], datasets: Sequence[str]) -> NDArray[np.bool_]:
        """Which of some datasets may be used on which of some clusters; shape (N, D)."""
        if not self.restrict_data:
            return np.ones((len(clusters), len(datasets)), dtype=bool)
        return np.array([[d in self.data[n] for d in datasets] for n in clusters], dtype=bool)

    @property
    def may_stop(self) -> bool:
        """Whether the plan without an epoch is one, whatever its loss."""
        return self.known_start and self.may_end(self.initial_model)

    def stops(self, models: Iterable[str]) -> tuple[bool, ...]:
        """Whether a run that trains these models epoch by epoch may stop after epochs 0, ..., K."""
        return self.may_stop, *(self.may_end(model) for model in models)

    @property
    def restrict_sites(self) -> bool:
        """Whether some dataset or model is not allowed on some cluster."""
        return self.restrict_data or self.restrict_models

    def obstacle(self) -> str:
        """Why the rules alone leave no epoch, or no end, to any plan; nothing if they do leave some."""
        if not any(self.data.values()):
            return "data: no cluster may use any dataset"
        open_models = {
            model for place, fitting in self.models.items() if self.data[place] for model in fitting
        }
        if not open_models:
            where = "no cluster that may use some dataset" if self.restrict_data else "no cluster"
            return f"models: {where} has memory for any model"
        if self.deployable is not None and not self.deployable & open_models:
            named = ", ".join(sorted(self.deployable))
            return f"models: no model that may be the last one ({named}) fits on a cluster with data"
        return ""


def why_not_idle(instance: "Instance", too_high: str = "the initial loss is above the target") -> str:
    """Why the plan without an epoch is none, in words, for an instance in which it is none."""
    target = instance.target
    if not instance.rules.known_start:
        return "the loss without an epoch is not known, as runs were not evaluated before training"
    if instance.rules.may_stop or target.initial_loss > target.maximum_loss:
        return too_high
    if target.initial_model is None:
        return "a plan without an epoch ends with no model, so with none of those that may be the last"
    return f"the initial model {target.initial_model!r} may not be the last one"


def most_capable_cluster(instance: "Instance") -> "Cluster":
    """The cluster with most resources on all its nodes; of equal ones the cheapest, best linked, first.

    Stages 1 and 2 of the paper take everything to be trained there (Sec. IV), which does not say which of
    several: all ask here, as stages that answered differently would speak of different clusters.
    """
    return min(
        instance.clusters,
        key=lambda place: (-place.capacity * place.nodes, place.unit_cost, -place.bandwidth),
    )
