"""Instances of any size around one base point, and some that are large in one way each.

They are those of `depl.instances.heterogeneous`. At the base point there are two clusters, datasets and
models and K_max = 8, small enough that one size can grow by a factor of 32 before methods run out of time.
Large are clusters, epochs or models; clusters that hardly differ, at which exact search has to tell apart a
great many plans of almost the same cost; and knapsacks, whose plans change their model at every few epochs.
"""

from collections.abc import Callable, Mapping
from functools import partial

import msgspec
import numpy as np

from depl.benchmarks.measure.registry import Draw
from depl.instances.hard_knapsacks import hard_knapsack
from depl.instances.heterogeneous import heterogeneous_instance
from depl.instances.reductions.to_planning import ByCost
from depl.models.problem.instance import Instance

BASE: Mapping[str, int] = {"clusters": 2, "datasets": 2, "models": 2, "epochs": 8}
"""|N|, |D|, |M| and K_max of the base point."""
DRAWS_PER_SIZE = 2
_SEED = 240214346
_LIKENESS = 0.02
"""How far capacity, bandwidth and price of similar clusters lie from those of one cluster, as a share."""
_ALLOWANCE = 2.0
"""T_max over that of the instance they are taken from, whose other cluster may be the faster one."""


def sized_instance(number: int, clusters: int, datasets: int, models: int, epochs: int) -> Instance:
    """The draw of that number at these sizes; the same whatever else is drawn."""
    rng = np.random.default_rng([_SEED, clusters, datasets, models, epochs, number])
    return heterogeneous_instance(
        rng, clusters=clusters, datasets=datasets, models=models, maximum_epochs=epochs
    )


def growing(size: str, values: tuple[int, ...]) -> tuple[Draw, ...]:
    """Draws in which one size takes some values and all others stay at the base point."""
    return tuple(
        Draw(f"{size}-{value:04d}-{number}", sizes, partial(sized_instance, number, **sizes))
        for value in values
        for sizes in ({**BASE, size: value},)
        for number in range(DRAWS_PER_SIZE)
    )


def similar_clusters(clusters: int, epochs: int) -> Instance:
    """Clusters that differ by a few percent, all with the same dataset; three models."""
    rng = np.random.default_rng([_SEED, clusters, epochs])
    drawn = sized_instance(0, clusters=2, datasets=1, models=3, epochs=epochs)
    first = drawn.clusters[0]
    similar = tuple(
        msgspec.structs.replace(
            first,
            name=f"c{number + 1}",
            **{
                name: getattr(first, name) * float(rng.uniform(1 - _LIKENESS, 1 + _LIKENESS))
                for name in ("capacity", "bandwidth", "unit_cost")
            },
        )
        for number in range(clusters)
    )
    time = drawn.target.maximum_time
    return drawn.replace(
        name=f"similar-{clusters}-{epochs}",
        clusters=similar,
        transfers=(),
        maximum_time=None if time is None else _ALLOWANCE * time,
    )


def knapsack(items: int) -> Instance:
    """An uncorrelated knapsack planned by cost: an epoch for every item."""
    return ByCost.reduce(hard_knapsack("uncorrelated", items, np.random.default_rng([_SEED, items])))


LARGE: Mapping[str, Callable[[], Instance]] = {
    "similar-clusters-10": partial(similar_clusters, 10, 100),
    "clusters-1000": partial(sized_instance, 0, 1000, 2, 2, 20),
    "epochs-1000": partial(sized_instance, 0, 2, 2, 2, 1000),
    "epochs-5000": partial(sized_instance, 0, 2, 2, 2, 5000),
    "models-10000": partial(sized_instance, 0, 2, 2, 10_000, 8),
    "knapsack-1000": partial(knapsack, 1000),
    "knapsack-10000": partial(knapsack, 10_000),
}
"""By name, what makes the instance."""
