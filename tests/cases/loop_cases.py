"""Instances for the tests of the loop, and scalar oracles that share no code with it."""

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from depl.models.problem.epochs import Load
from depl.models.problem.instance import Cluster, Dataset, Instance, Model, Switch, Target, Transfer
from depl.models.problem.laws import Deterministic, Forbidden, Normal
from depl.models.problem.learning import (
    ConstantImprovement,
    DataLaw,
    InverseLogDataLaw,
    InverseSqrtImprovement,
    LogDataLaw,
    PowerDataLaw,
)
from depl.models.problem.plan import Plan

DATA_LAWS: tuple[DataLaw | None, ...] = (
    None,
    PowerDataLaw(p=0.4),
    PowerDataLaw(p=1.6),
    InverseLogDataLaw(),
    LogDataLaw(a=9, b=2, base_volume=1),  # K <= 2 b from Q = e**2.5 on: neither convex nor concave below
    LogDataLaw(a=40, b=2, base_volume=1),
)
"""Laws of all shapes: h constant, concave, convex, concave, mixed, concave."""


def crowded(
    rng: np.random.Generator,
    law: DataLaw | None = None,
    *,
    datasets: int = 7,
    clusters: int = 3,
    models: int = 2,
    epochs: int = 5,
    deadline: bool = False,
) -> Instance:
    """More datasets than are listed, of any quality, each free on its home cluster."""
    volumes, works = rng.uniform(0.3, 3, datasets), rng.uniform(0.2, 3, datasets)
    homes = rng.integers(clusters, size=datasets)
    tau = float(rng.uniform(1.0, 2.5)) if deadline else None
    return Instance(
        name="crowded",
        clusters=tuple(
            Cluster(
                name=f"c{n}",
                capacity=float(rng.uniform(4, 12)),
                bandwidth=float(rng.uniform(2, 9)),
                unit_cost=float(rng.uniform(0.5, 2)),
                nodes=int(rng.integers(1, 3)),
            )
            for n in range(clusters)
        ),
        datasets=tuple(
            Dataset(name=f"d{i}", volume=float(q), work=float(w))
            for i, (q, w) in enumerate(zip(volumes, works, strict=True))
        ),
        transfers=tuple(
            Transfer(dataset=f"d{i}", cluster=f"c{n}", cost=float(rng.uniform(0.2, 6)))
            for i, n in itertools.product(range(datasets), range(clusters))
            if homes[i] != n
        ),
        models=tuple(
            Model(
                name=f"m{m}",
                size=float(rng.uniform(0, 2)),
                demand=float(rng.uniform(0.5, 2)),
                improvement=InverseSqrtImprovement(
                    scale=float(rng.uniform(1, 3)), offset=1, noise=Normal(mean=1, variance=0.1)
                ),
            )
            for m in range(models)
        ),
        data_law=law,
        target=Target(
            initial_loss=10,
            maximum_loss=8,
            quantile_level=0.9,
            maximum_epochs=epochs,
            maximum_time=3.0 * epochs,
            round_deadline=tau,
        ),
    )


def plain(
    gains: Sequence[float] = (2.0,),
    works: Sequence[float] = (8.0,),
    *,
    clusters: Sequence[tuple[float, float]] = ((3.0, 10.0),),
    wait: float = 0.5,
    target: float = 6.0,
    epochs: int = 3,
    maximum_time: float | None = 5.0,
    round_deadline: float | None = None,
) -> Instance:
    """Nothing random: models by gain and work on one dataset, clusters by unit cost and capacity."""
    return Instance(
        name="plain",
        clusters=tuple(
            Cluster(name=f"c{n}", capacity=capacity, bandwidth=1, unit_cost=cost)
            for n, (cost, capacity) in enumerate(clusters)
        ),
        datasets=(Dataset(name="data", volume=1),),
        models=tuple(
            Model(
                name=f"m{m}",
                size=wait,
                demand=work,
                improvement=ConstantImprovement(noise=Deterministic(value=gain)),
            )
            for m, (gain, work) in enumerate(zip(gains, works, strict=True))
        ),
        target=Target(
            initial_loss=10,
            maximum_loss=target,
            quantile_level=0.9,
            maximum_epochs=epochs,
            maximum_time=maximum_time,
            round_deadline=round_deadline,
        ),
    )


def one_way(instance: Instance) -> Instance:
    """The same with models that may only be left for later ones."""
    names = [model.name for model in instance.models]
    return instance.replace(
        switches=tuple(
            Switch(previous=late, following=early, law=Forbidden())
            for early, late in itertools.combinations(names, 2)
        )
    )


def psi(load: Load, multiplier: float, deadline: float) -> tuple[float, float]:
    """Least kappa x + lam t of an epoch and its time, in scalars; infinite where the deadline is missed."""
    shortest = load.communication + (load.work / load.capacity if load.work > 0 else 0.0)
    if shortest > deadline * (1 + 1e-9):
        return math.inf, math.nan
    if load.work == 0:
        return multiplier * load.communication, load.communication
    left = deadline - load.communication
    least = load.capacity if left * load.capacity <= load.work else load.work / left
    if load.price == 0:
        x = load.capacity
    else:
        x = min(max(math.sqrt(multiplier * load.work / load.price), least), load.capacity)
    if x == 0:
        return 0.0, math.inf
    time = load.work / x + load.communication
    return load.price * x + multiplier * time, time


def every_sequence(longest: int, models: int) -> Iterator[tuple[int, ...]]:
    """All sequences of at least one epoch."""
    for length in range(1, longest + 1):
        yield from itertools.product(range(models), repeat=length)


def nonempty_sets(instance: Instance) -> list[frozenset[str]]:
    """All nonempty sets of datasets."""
    names = [item.name for item in instance.datasets]
    return [
        frozenset(chosen)
        for size in range(1, len(names) + 1)
        for chosen in itertools.combinations(names, size)
    ]


def moments(instance: Instance, plan: Plan) -> tuple[float, float]:
    """Mean gain and variance of a plan, from the moments of its laws one by one."""
    laws = {(row.previous, row.following): row.law for row in instance.switches}
    gain, variance, before = 0.0, 0.0, instance.target.initial_model
    for k, epoch in enumerate(plan.epochs):
        coefficient, law = instance.model(epoch.model).improvement.at(k + 1)
        h = instance.learning_factor(plan.datasets(epoch.cluster))
        gain += h * coefficient * law.moments().mean
        variance += (h * coefficient) ** 2 * law.moments().variance
        if before not in (None, epoch.model):
            change = laws.get((before, epoch.model), instance.other_switches)
            if type(change).__name__ != "Zero":
                gain -= change.moments().mean
                variance += change.moments().variance
        before = epoch.model
    return gain, variance
