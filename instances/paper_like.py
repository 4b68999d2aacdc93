"""Instances of the paper's kind in any size, with scenarios, for the ladder and the goals of the search.

Models go from fast and unsteady to slow and steady (Sec. VI-A): each next one asks less, gains less and
varies less; improvements are inverse gamma and decay with eq. (8), switches cost a truncated Student-t.
Clusters trade cost against capacity and bandwidth, every dataset is free on one of them.

The limits come from a reference plan of about two thirds of K_max epochs on the first cluster with all data,
in which every model trains for an equal stretch, the fastest first: l_max is what it reaches on the sample,
T_max the time it takes with half of the capacity. As resources cost money, T_max binds in every plan.
"""

import functools
import math
from collections.abc import Iterator

import numpy as np

from depl.instances.generator import rounded
from depl.instances.tiny_sampled import SampledInstance
from depl.models.evaluation.evaluate import epoch_times
from depl.models.problem.instance import Cluster, Dataset, Instance, Model, Target, Transfer
from depl.models.problem.laws import InverseGamma, StudentT
from depl.models.problem.learning import InverseSqrtImprovement, PowerDataLaw
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.scenarios.draws import allowed_misses, draw_scenarios, scenario_losses

SWITCH_SHARE = (0.4, 0.8)
"""Loss of a switch over the gain of slowest epochs; in ``paper-alexnet-switching`` 0.3 on 0.49."""

CHEAP_SWITCHES = (0.05, 0.15)
"""Switches so cheap that every scenario has a plan of its own that goes back and forth: the hard case."""

_EFFORT = 0.5
"""Share of the capacity with which the reference plan just keeps T_max."""
_rounded = functools.partial(rounded, figures=4)


def paper_like(
    rng: np.random.Generator,
    *,
    maximum_epochs: int,
    scenarios: int,
    models: int = 3,
    clusters: int = 1,
    datasets: int = 1,
    quantile_level: float = 0.9,
    switch_share: tuple[float, float] = SWITCH_SHARE,
) -> SampledInstance:
    """Draw one instance and its scenarios; see the module's docstring."""
    draft = _draft(rng, maximum_epochs, models, clusters, datasets, quantile_level, switch_share)
    sample = draw_scenarios(draft, scenarios, int(rng.integers(2**31)))
    reference = _reference_plan(draft)
    losses = np.sort(scenario_losses(draft, sample, reference))
    change = float(losses[-1 - allowed_misses(draft, scenarios)])
    initial = _rounded(-1.5 * change)
    instance = draft.replace(
        initial_loss=initial,
        maximum_loss=round(initial + change, 4),
        maximum_time=_rounded(math.fsum(epoch_times(draft, reference))),
    )
    return SampledInstance(instance.replace(name=f"paper-like-{instance.fingerprint[:8]}"), sample)


def _draft(
    rng: np.random.Generator,
    maximum_epochs: int,
    models: int,
    clusters: int,
    datasets: int,
    quantile_level: float,
    switch_share: tuple[float, float],
) -> Instance:
    """The instance before its limits are set."""
    offered = tuple(_models(rng, models, maximum_epochs))
    places, stored = tuple(_clusters(rng, clusters)), tuple(_datasets(rng, datasets))
    slowest = min(model.improvement.at(1)[1].moments().mean for model in offered)
    location = _rounded(slowest * rng.uniform(*switch_share))
    return Instance(
        name="paper-like",
        clusters=places,
        datasets=stored,
        models=offered,
        transfers=_transfers(rng, places, stored),
        other_switches=StudentT(
            degrees_of_freedom=5,
            location=location,
            scale=_rounded(location / 3),
            lower=0,
            upper=_rounded(3 * location),
        ),
        data_law=PowerDataLaw(p=_rounded(rng.uniform(0.3, 0.6))) if datasets > 1 else None,
        target=Target(
            initial_loss=0,
            maximum_loss=0,
            quantile_level=quantile_level,
            maximum_epochs=maximum_epochs,
            maximum_time=1,
        ),
    )


def _models(rng: np.random.Generator, count: int, horizon: int) -> Iterator[Model]:
    mean, deviation, demand, size = 1.0, rng.uniform(0.25, 0.4), rng.uniform(2, 4), rng.uniform(0.5, 1)
    step = 1 / max(1, count - 1)
    for index in range(count):
        offset = _rounded(rng.uniform(0, horizon))
        yield Model(
            name=f"m{index + 1}",
            size=_rounded(size),
            demand=_rounded(demand),
            improvement=InverseSqrtImprovement(
                scale=_rounded(math.sqrt(horizon / 2 + offset)),  # coefficient 1 in the middle
                offset=offset,
                noise=InverseGamma(mean=_rounded(mean), variance=_rounded((mean * deviation) ** 2)),
            ),
        )
        mean *= rng.uniform(0.55, 0.75) ** step
        deviation *= rng.uniform(0.3, 0.6) ** step
        demand *= rng.uniform(0.35, 0.55) ** step
        size *= rng.uniform(0.2, 0.5) ** step


def _clusters(rng: np.random.Generator, count: int) -> Iterator[Cluster]:
    capacity, bandwidth, price = 20.0, 5.0, 1.0
    for index in range(count):
        yield Cluster(
            name=f"c{index + 1}",
            capacity=_rounded(capacity),
            bandwidth=_rounded(bandwidth),
            unit_cost=_rounded(price),
        )
        capacity *= rng.uniform(1.5, 2.5)
        bandwidth *= rng.uniform(1.5, 3)
        price *= rng.uniform(1.05, 1.4)


def _datasets(rng: np.random.Generator, count: int) -> Iterator[Dataset]:
    for index, share in enumerate(rng.dirichlet(np.full(count, 5.0))):
        yield Dataset(name=f"d{index + 1}", volume=_rounded(share))


def _transfers(
    rng: np.random.Generator, places: tuple[Cluster, ...], stored: tuple[Dataset, ...]
) -> tuple[Transfer, ...]:
    """Up to the price of two epochs at half capacity; dataset i is at home on cluster i, in turn."""
    if len(places) == 1 and len(stored) == 1:
        return ()
    return tuple(
        Transfer(
            dataset=item.name,
            cluster=place.name,
            cost=_rounded(place.unit_cost * place.capacity * rng.uniform(0.05, 1)),
        )
        for index, item in enumerate(stored)
        for position, place in enumerate(places)
        if position != index % len(places)
    )


def _reference_plan(instance: Instance) -> Plan:
    length = max(1, round(2 / 3 * instance.target.maximum_epochs))
    models, place = instance.models, instance.clusters[0]
    return Plan(
        data=(ClusterData(cluster=place.name, datasets=tuple(item.name for item in instance.datasets)),),
        epochs=tuple(
            PlannedEpoch(
                model=models[k * len(models) // length].name,
                cluster=place.name,
                resources=_EFFORT * place.capacity,
            )
            for k in range(length)
        ),
    )
