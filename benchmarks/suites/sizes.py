"""Instances of any size around one base point, for what time does when one size grows (Property 2).

They are those of `depl.instances.heterogeneous`. At the base point there are two clusters, datasets and
models and K_max = 8, small enough that one size can grow by a factor of 32 before methods run out of
time.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from depl.benchmarks.measure.registry import Draw
from depl.instances.heterogeneous import heterogeneous_instance
from depl.models.problem.instance import Instance

BASE: Mapping[str, int] = {"clusters": 2, "datasets": 2, "models": 2, "epochs": 8}
"""|N|, |D|, |M| and K_max of the base point."""
DRAWS_PER_SIZE = 2
_SEED = 240214346


def sized_instance(number: int, clusters: int, datasets: int, models: int, epochs: int) -> Instance:
    """The draw of that number at these sizes; the same whatever else is drawn."""
    rng = np.random.default_rng([_SEED, clusters, datasets, models, epochs, number])
    return heterogeneous_instance(
        rng, clusters=clusters, datasets=datasets, models=models, maximum_epochs=epochs
    )


def growing(size: str, values: tuple[int, ...]) -> tuple[Draw, ...]:
    """Draws in which one size takes some values and all others stay at the base point."""
    return tuple(_growing(size, values))


def _growing(size: str, values: tuple[int, ...]) -> Iterator[Draw]:
    for value in values:
        sizes = {**BASE, size: value}
        for number in range(DRAWS_PER_SIZE):
            build = partial(sized_instance, number, **sizes)
            yield Draw(f"{size}-{value:04d}-{number}", dict(sizes), build)
