"""What a plan may choose at every epoch, as tables that all exact solvers share; nothing about the quantile.

A *configuration* is a (cluster, dataset subset, model) that an epoch may use under the rules of the sites;
what those forbid is not listed. Arrays are indexed by epoch k - 1 and by position: configurations, models and
clusters in the order of the instance.
"""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.memory import GIBIBYTE, require_memory
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.foundation.wording import choices_of
from depl.models.problem.affine_law import Trained
from depl.models.problem.allocation import Allocation, allocate
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.problem.epochs import Load, LossStep, load, loss_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch

MOST_DATASETS = 16
"""Greatest |D| of which all sets are listed. Set by hand: with two more, three clusters, three models and ten
epochs, 24 million loads are made one by one before a search begins, which takes a minute (2.6 microseconds
each, measured)."""

_CHOICE, _LOAD = 120, 300
"""Bytes of a configuration, and of what it asks for in one epoch with its row in arrays of costs: measured
with CPython 3.11."""


def build_plan(
    instance: Instance,
    data: Mapping[str, frozenset[str]],
    schedule: Sequence[Trained],
    allocation: Allocation | None = None,
) -> Plan:
    """The plan with these (model, cluster) epochs, on the data of their clusters, and the cheapest resources.

    Clusters without epochs are left out. The time limits must be within reach.
    """
    if allocation is None:
        target = instance.target
        loads = [load(instance, k, *trained, data[trained[1]]) for k, trained in enumerate(schedule, start=1)]
        allocation = allocate(loads, target.maximum_time, target.round_deadline)
    used = {cluster for _, cluster in schedule}
    names = [item.name for item in instance.datasets]
    return Plan(
        data=tuple(
            ClusterData(cluster=place, datasets=tuple(name for name in names if name in data[place]))
            for place in (item.name for item in instance.clusters)
            if place in used
        ),
        epochs=tuple(
            PlannedEpoch(model=model, cluster=cluster, resources=float(x))
            for (model, cluster), x in zip(schedule, allocation.resources, strict=True)
        ),
    )


@dataclass(frozen=True)
class Configuration:
    """One choice for an epoch: where, on which data, which model."""

    cluster: int
    datasets: frozenset[str]
    model: int


@dataclass(frozen=True, eq=False)
class Choices:
    """Configurations of an instance, what they ask for, and which may follow which."""

    instance: Instance

    @property
    def epochs(self) -> int:
        """K_max."""
        return self.instance.target.maximum_epochs

    @property
    def maximum_time(self) -> float | None:
        """T_max."""
        return self.instance.target.maximum_time

    @property
    def needed(self) -> float:
        """Gain from which on the target is met: l(0) - l_max, less the atom tolerance [loss]."""
        target = self.instance.target
        return target.initial_loss - target.maximum_loss - ATOM_TOLERANCE

    @functools.cached_property
    def first_model(self) -> int:
        """Model before epoch 1; M if there is none."""
        name = self.instance.target.initial_model
        names = [model.name for model in self.instance.models]
        return len(names) if name is None else names.index(name)

    @functools.cached_property
    def subsets(self) -> tuple[frozenset[str], ...]:
        """All nonempty sets of datasets, small ones first.

        Raises
        ------
        NotCoveredError
            If there are more than `MOST_DATASETS` datasets.
        """
        instance, number = self.instance, len(self.instance.datasets)
        if number > MOST_DATASETS:
            bits = min(number, 64)  # more is not worked out, as no machine has as much
            count = len(instance.clusters) * len(instance.models) * (2.0**bits - 1)
            needed = count * (_CHOICE + _LOAD * self.epochs) / GIBIBYTE
            raise NotCoveredError(
                f"all sets of data are to be listed, of at most {MOST_DATASETS} datasets; there are "
                f"{number}, and their {choices_of(number)} sets on every cluster, for every model and epoch, "
                f"would take {'about' if bits < 64 else 'more than'} {needed:.2g} GiB; use depl, which "
                "needs no list of sets"
            )
        names = [item.name for item in instance.datasets]
        sizes = range(1, len(names) + 1)
        return tuple(frozenset(chosen) for size in sizes for chosen in itertools.combinations(names, size))

    @functools.cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """All that the rules of the sites allow, whether or not they can keep the time limits."""
        return tuple(Configuration(n, self.subsets[d], m) for n, d, m in self.position)

    @functools.cached_property
    def index(self) -> dict[Configuration, int]:
        """Where each configuration is listed."""
        return {chosen: place for place, chosen in enumerate(self.configurations)}

    @functools.cached_property
    def position(self) -> dict[tuple[int, int, int], int]:
        """Where each configuration is listed, by cluster, subset and model, all by position."""
        models, clusters = len(self.instance.models), len(self.instance.clusters)
        require_memory(
            float(_CHOICE * models * clusters * len(self.subsets)),
            f"the list of {len(self.subsets)} sets of data on {clusters} clusters with {models} models",
            "leave out datasets, clusters or models, or use depl",
        )
        rows = enumerate(self.open_subsets)
        triples = ((n, d, m) for n, row in rows for d in row for m in self.fitting[n])
        return {triple: index for index, triple in enumerate(triples)}

    @functools.cached_property
    def open_subsets(self) -> tuple[Sequence[int], ...]:
        """For every cluster the subsets, by position, that may be used there; none where no model fits."""
        rules, every = self.instance.rules, range(len(self.subsets))
        if not rules.restrict_sites:
            return (every,) * len(self.instance.clusters)
        return tuple(
            [d for d in every if rules.may_use(self.subsets[d], place.name)] if self.fitting[n] else ()
            for n, place in enumerate(self.instance.clusters)
        )

    @functools.cached_property
    def fitting(self) -> list[list[int]]:
        """For every cluster the models, by position, that fit there."""
        clusters, models = (
            [item.name for item in rows] for rows in (self.instance.clusters, self.instance.models)
        )
        return [np.flatnonzero(row).tolist() for row in self.instance.rules.fitting(clusters, models)]

    @functools.cached_property
    def may_end(self) -> NDArray[np.bool_]:
        """Whether a plan may end with each model; shape (M,)."""
        return self.instance.rules.last_models([model.name for model in self.instance.models])

    def ends_well(self, choices: Sequence[Configuration]) -> bool:
        """Whether a plan may end as a sequence does; the empty one with the initial model."""
        return bool(self.may_end[choices[-1].model]) if choices else self.instance.rules.may_stop

    @functools.cached_property
    def loads(self) -> tuple[tuple[Load, ...], ...]:
        """What each configuration asks of its cluster, [k - 1][g]."""
        require_memory(
            float(_LOAD * self.epochs * len(self.configurations)),
            f"what {len(self.configurations)} choices ask for in each of {self.epochs} epochs",
            "leave out datasets, clusters, models or epochs, or use depl",
        )
        return tuple(
            tuple(self._load(epoch, g) for g in self.configurations) for epoch in range(1, self.epochs + 1)
        )

    @functools.cached_property
    def costs(self) -> EpochCosts:
        """The same as arrays of shape (K_max, G), with psi and the fastest times; infinite where late.

        At any price lam of time a plan costs at least its transfers and the sum of psi(lam), less lam T_max;
        at the best one just that. So psi makes costs additive.
        """
        rows = [[(x.work, x.price, x.capacity, x.communication) for x in row] for row in self.loads]
        table = np.array(rows, dtype=float).reshape(self.epochs, len(self.configurations), 4)
        work, price, capacity, sent = np.ascontiguousarray(table.transpose(2, 0, 1))
        return EpochCosts.of_arrays(work, price, capacity, sent, self.instance.target.round_deadline)

    def psi(self, multiplier: float) -> FloatArray:
        """Least cost of each configuration at a price of time, shape (K_max, G) [cost]."""
        return self.costs.prices(multiplier)

    def paid(self, multiplier: float) -> float:
        """lam T_max, nothing without T_max [cost]."""
        return 0.0 if self.maximum_time is None else multiplier * self.maximum_time

    @functools.cached_property
    def first_alike(self) -> tuple[int, ...]:
        """For each subset of datasets the first one on which all models learn the same, by position."""
        if len(self.subsets) == 1:
            return (0,)
        known: dict[tuple[LossStep, ...], int] = {}
        return tuple(
            known.setdefault(self._runs(datasets), position) for position, datasets in enumerate(self.subsets)
        )

    @functools.cached_property
    def may_follow(self) -> NDArray[np.bool_]:
        """Whether the second model may follow the first, or none; shape (M + 1, M)."""
        names = [model.name for model in self.instance.models]
        return np.array([[self.instance.may_follow(i, j) for j in names] for i in (*names, None)])

    def transfer_cost(self, cluster: int, datasets: frozenset[str]) -> float:
        """Cost of bringing the datasets to the cluster, once [cost]."""
        name = self.instance.clusters[cluster].name
        return math.fsum(self.instance.transfer_cost(item, name) for item in sorted(datasets))

    def allocation(self, choices: Sequence[Configuration]) -> Allocation:
        """The cheapest resources of a sequence, and whether it can keep the time limits."""
        loads = [self.loads[k][self.index[chosen]] for k, chosen in enumerate(choices)]
        return allocate(loads, self.maximum_time, self.instance.target.round_deadline)

    def transfers(self, choices: Sequence[Configuration]) -> float:
        """Transfer costs of a sequence, every cluster's data once [cost]."""
        return math.fsum(self.transfer_cost(*pair) for pair in {(g.cluster, g.datasets) for g in choices})

    def plan(self, choices: Sequence[Configuration]) -> Plan:
        """The plan with these configurations and the cheapest resources.

        Every cluster must use one dataset subset throughout, and the time limits must be within reach.
        """
        places, models = self.instance.clusters, self.instance.models
        plan = build_plan(
            self.instance,
            {places[g.cluster].name: g.datasets for g in choices},
            [(models[g.model].name, places[g.cluster].name) for g in choices],
            self.allocation(choices),
        )
        return replace(plan, instance=self.instance.fingerprint)

    def _load(self, epoch: int, chosen: Configuration) -> Load:
        keep_time()
        model, cluster = self.instance.models[chosen.model], self.instance.clusters[chosen.cluster]
        return load(self.instance, epoch, model.name, cluster.name, chosen.datasets)

    def _runs(self, datasets: frozenset[str]) -> tuple[LossStep, ...]:
        keep_time()
        names = [model.name for model in self.instance.models]
        epochs = range(1, self.epochs + 1)
        return tuple(loss_step(self.instance, k, 0, name, name, datasets) for k in epochs for name in names)
