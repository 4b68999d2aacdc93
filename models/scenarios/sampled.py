"""The planning problem with counted scenarios in place of the law: tables that every solver of it shares.

A *configuration* is a (cluster, dataset subset, model) that an epoch may use. Arrays are indexed by epoch
k - 1 and by position: configurations, models and clusters in the order of the instance.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.allocation import Allocation, allocate
from depl.models.epochs import Load, load
from depl.models.laws import FloatArray
from depl.models.plan import ClusterData, Plan, PlannedEpoch
from depl.models.problem import Instance
from depl.models.scenarios.draws import (
    ATOM_TOLERANCE,
    Scenarios,
    allowed_misses,
    epoch_gains,
    switch_losses,
)


@dataclass(frozen=True)
class Configuration:
    """One choice for an epoch: where, on which data, which model."""

    cluster: int
    datasets: frozenset[str]
    model: int


@dataclass(frozen=True, eq=False)
class SampledProblem:
    """Problem (2)-(6) with floor((1 - omega) S + 1e-9) scenarios allowed to miss.

    Attributes
    ----------
    instance : Instance
    scenarios : Scenarios
    barred : bool array (M, M), optional
        Switches that are forbidden beside those of the instance.
    """

    instance: Instance
    scenarios: Scenarios
    barred: NDArray[np.bool_] | None = None

    @property
    def epochs(self) -> int:
        """K_max."""
        return self.instance.target.maximum_epochs

    @property
    def allowed(self) -> int:
        """How many scenarios may miss."""
        return allowed_misses(self.instance, len(self.scenarios))

    @property
    def needed(self) -> float:
        """Gain from which on a scenario meets the target: l(0) - l_max, less the atom tolerance [loss]."""
        target = self.instance.target
        return target.initial_loss - target.maximum_loss - ATOM_TOLERANCE

    @property
    def initial_model(self) -> int | None:
        """Model before epoch 1; None if there is none."""
        name = self.instance.target.initial_model
        return None if name is None else [model.name for model in self.instance.models].index(name)

    @functools.cached_property
    def subsets(self) -> tuple[frozenset[str], ...]:
        """All nonempty sets of datasets, small ones first."""
        names = [item.name for item in self.instance.datasets]
        sizes = range(1, len(names) + 1)
        return tuple(frozenset(chosen) for size in sizes for chosen in itertools.combinations(names, size))

    @functools.cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """All of them, whether or not they can keep the time limits."""
        instance = self.instance
        return tuple(
            Configuration(cluster, datasets, model)
            for cluster in range(len(instance.clusters))
            for datasets in self.subsets
            for model in range(len(instance.models))
        )

    @functools.cached_property
    def loads(self) -> tuple[tuple[Load, ...], ...]:
        """What each configuration asks of its cluster, [k - 1][g]."""
        instance = self.instance
        return tuple(
            tuple(
                load(
                    instance,
                    epoch,
                    instance.models[g.model].name,
                    instance.clusters[g.cluster].name,
                    g.datasets,
                )
                for g in self.configurations
            )
            for epoch in range(1, self.epochs + 1)
        )

    @functools.cached_property
    def gains(self) -> FloatArray:
        """Fall of the loss, without switch, in every scenario; shape (K_max, subsets, M, S) [loss]."""
        shape = (self.epochs, len(self.subsets), len(self.instance.models), len(self.scenarios))
        table = np.zeros(shape)
        for k, d, m in np.ndindex(*shape[:3]):
            name = self.instance.models[m].name
            table[k, d, m] = epoch_gains(self.instance, self.scenarios, k + 1, name, self.subsets[d])
        return table

    @functools.cached_property
    def first_alike(self) -> tuple[int, ...]:
        """For each subset of datasets the first one with the same gains, by position."""
        known: dict[bytes, int] = {}
        return tuple(known.setdefault(self.gains[:, d].tobytes(), d) for d in range(len(self.subsets)))

    @functools.cached_property
    def switch_losses(self) -> FloatArray:
        """Loss of the switch from the first model to the second; shape (K_max, M, M, S) [loss]."""
        models = len(self.instance.models)
        table = np.zeros((self.epochs, models, models, len(self.scenarios)))
        for k, i, j in np.ndindex(*table.shape[:3]):
            table[k, i, j] = switch_losses(self.instance, self.scenarios, k + 1, i, j)
        return table

    @functools.cached_property
    def may_follow(self) -> NDArray[np.bool_]:
        """Whether the second model may follow the first; shape (M, M)."""
        names = [model.name for model in self.instance.models]
        allowed = np.array([[self.instance.may_follow(i, j) for j in names] for i in names])
        return allowed if self.barred is None else allowed & ~self.barred

    def transfer_cost(self, cluster: int, datasets: frozenset[str]) -> float:
        """Cost of bringing the datasets to the cluster, once [cost]."""
        name = self.instance.clusters[cluster].name
        return math.fsum(self.instance.transfer_cost(item, name) for item in sorted(datasets))

    def gain(self, choices: Sequence[Configuration]) -> FloatArray:
        """l(0) - l(K) of a sequence of configurations in every scenario, shape (S,) [loss]."""
        total = np.zeros(len(self.scenarios))
        before = self.initial_model
        for k, chosen in enumerate(choices):
            total += self.gains[k, self.subsets.index(chosen.datasets), chosen.model]
            if before is not None and before != chosen.model:
                total -= self.switch_losses[k, before, chosen.model]
            before = chosen.model
        return total

    def misses(self, choices: Sequence[Configuration]) -> int:
        """How many scenarios end above the target."""
        return int((self.gain(choices) < self.needed).sum())

    def allocation(self, choices: Sequence[Configuration]) -> Allocation:
        """The cheapest resources of a sequence, and whether it can keep the time limits."""
        position = {g: index for index, g in enumerate(self.configurations)}
        loads = [self.loads[k][position[chosen]] for k, chosen in enumerate(choices)]
        return allocate(loads, self.instance.target.maximum_time, self.instance.target.round_deadline)

    def transfers(self, choices: Sequence[Configuration]) -> float:
        """Transfer costs of a sequence, every cluster's data once [cost]."""
        return math.fsum(self.transfer_cost(*pair) for pair in {(g.cluster, g.datasets) for g in choices})

    def plan(self, choices: Sequence[Configuration]) -> Plan:
        """The plan with these configurations and the cheapest resources.

        Every cluster must use one dataset subset throughout, and the time limits must be within reach.
        """
        resources = self.allocation(choices).resources
        instance = self.instance
        given = {g.cluster: g.datasets for g in choices}
        data = tuple(
            ClusterData(
                cluster=instance.clusters[cluster].name,
                datasets=tuple(item.name for item in instance.datasets if item.name in given[cluster]),
            )
            for cluster in sorted(given)
        )
        epochs = tuple(
            PlannedEpoch(
                model=instance.models[g.model].name,
                cluster=instance.clusters[g.cluster].name,
                resources=float(x),
            )
            for g, x in zip(choices, resources, strict=True)
        )
        return Plan(instance=instance.fingerprint, data=data, epochs=epochs)
