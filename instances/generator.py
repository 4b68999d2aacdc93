"""Random instances and random plans, for tests and benchmarks.

An instance is drawn before anything is solved, in three steps: a stage (clusters that trade cost against
capacity and bandwidth, datasets that are cheap on their home cluster, models from fast and unsteady to
slow and steady with laws of every kind), a few plans on it, and limits that one of those plans just keeps:

- l_max is the omega-quantile of its final loss, approximated by a normal quantile, and a random slack more;
- T_max, the round deadline tau, or both, are its times at a random fraction of the capacities.

So most instances are feasible, some are not, and how tight they are varies from instance to instance.
Without a round deadline T_max always binds, because resources cost money and have no lower bound; with
one it may.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import special

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epoch_costs import minimum_resources
from depl.models.problem.epochs import Load, compose, load, loss_step
from depl.models.problem.instance import (
    Cluster,
    ComputeTable,
    ConstantImprovement,
    DataLaw,
    Dataset,
    Improvement,
    Instance,
    InverseLogDataLaw,
    InverseSqrtImprovement,
    LogDataLaw,
    Model,
    PowerDataLaw,
    SubsetEpochs,
    Switch,
    TableDataLaw,
    TabledImprovement,
    Target,
    Transfer,
)
from depl.models.problem.laws import (
    Deterministic,
    Empirical,
    Forbidden,
    ImprovementLaw,
    InverseGamma,
    Lognormal,
    Normal,
    StudentT,
    SwitchLaw,
    Zero,
)
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch

Range = tuple[int, int]
"""Least and greatest value of a number that is drawn evenly."""

_LEVELS = (0.8, 0.9, 0.95, 0.99, 0.999)
_REFERENCE_PLANS = 12
_PERSISTENCE = 0.6
"""Probability that an epoch of a random plan stays with the model and the cluster of the one before."""
_MOST_BITS = 62
"""Names of which an even draw among the subsets is one whole number of 64 bits."""
_MOST_TABLED = 10
"""Datasets up to which K^ may be a table, which has a row for every nonempty subset: 1023 of them."""
_LEAST_DEVIATION = 1e-5
"""Of a law, relative to its mean. It falls from model to model, and laws refuse less than 1e-6."""


def random_instance(
    rng: np.random.Generator,
    *,
    models: Range = (2, 3),
    clusters: Range = (1, 3),
    datasets: Range = (1, 3),
    maximum_epochs: Range = (3, 10),
) -> Instance:
    """Draw one instance.

    Parameters
    ----------
    rng : numpy.random.Generator
        The only source of chance: equal states give equal instances.
    models, clusters, datasets, maximum_epochs : pair of int
        Least and greatest number of each (inclusive), drawn evenly.

    Returns
    -------
    Instance
        Named after its fingerprint.

    Raises
    ------
    InvalidInputError
        If a range is empty or starts below 1.
    """
    counts = [
        _drawn_count(rng, *item)
        for item in (
            ("models", models),
            ("clusters", clusters),
            ("datasets", datasets),
            ("maximum_epochs", maximum_epochs),
        )
    ]
    draft = _stage(rng, *counts)
    instance = _with_limits(rng, draft)
    return instance.replace(name=f"random-{instance.fingerprint[:8]}")


def random_instances(rng: np.random.Generator, count: int, **options: Range) -> tuple[Instance, ...]:
    """``count`` draws of `random_instance` with the same options; the first n do not depend on ``count``."""
    return tuple(random_instance(rng, **options) for _ in range(count))


def random_plan(rng: np.random.Generator, instance: Instance) -> Plan:
    """Draw a plan that keeps the names, the switches, the round deadline and the capacities.

    Every cluster gets a random nonempty set of data. Epochs mostly stay with model and cluster. Resources
    lie evenly between what the round deadline needs (a twentieth of the capacity without one) and the
    capacity; they are 0 where nothing is to be computed. T_max and the target may be missed.

    The plan has between 1 and K_max epochs; fewer, down to none, where the round deadline or the
    forbidden switches leave nothing to train next.
    """
    sequence = _random_sequence(rng, instance)
    epochs = tuple(
        PlannedEpoch(model=model, cluster=cluster, resources=_random_resources(rng, demand, instance))
        for model, cluster, demand in sequence.epochs
    )
    return Plan(instance=instance.fingerprint, data=sequence.placement(instance), epochs=epochs)


@dataclass(frozen=True)
class _Sequence:
    """The discrete part of a plan: data of every cluster, used or not; model, cluster and load per epoch."""

    data: dict[str, frozenset[str]]
    epochs: tuple[tuple[str, str, Load], ...]

    def placement(self, instance: Instance) -> tuple[ClusterData, ...]:
        """The data of the used clusters, in the order of the instance."""
        used = {cluster for _, cluster, _ in self.epochs}
        return tuple(
            ClusterData(
                cluster=cluster.name,
                datasets=tuple(
                    item.name for item in instance.datasets if item.name in self.data[cluster.name]
                ),
            )
            for cluster in instance.clusters
            if cluster.name in used
        )


def _random_resources(rng: np.random.Generator, demand: Load, instance: Instance) -> float:
    if demand.work == 0:
        return 0.0
    least = minimum_resources(demand, instance.target.round_deadline)
    return float(rng.uniform(least or demand.capacity / 20, demand.capacity))


def _random_sequence(rng: np.random.Generator, instance: Instance) -> _Sequence:
    names = [item.name for item in instance.datasets]
    data = {cluster.name: frozenset(_nonempty_subset(rng, names)) for cluster in instance.clusters}
    previous_model, previous_cluster = instance.target.initial_model, ""
    epochs: list[tuple[str, str, Load]] = []
    longest = instance.target.maximum_epochs
    for epoch in range(1, int(rng.integers(1, longest + 1)) + 1 if longest else 1):
        choices = list(_choices(instance, epoch, previous_model, data))
        if not choices:
            break
        staying = [item for item in choices if item[:2] == (previous_model, previous_cluster)]
        if not staying or rng.random() > _PERSISTENCE:
            staying = choices
        epochs.append(staying[rng.integers(len(staying))])
        previous_model, previous_cluster, _ = epochs[-1]
    return _Sequence(data, tuple(epochs))


def _choices(
    instance: Instance, epoch: int, previous: str | None, data: dict[str, frozenset[str]]
) -> Iterator[tuple[str, str, Load]]:
    """Models and clusters that may train this epoch and can keep the round deadline."""
    for model, cluster in itertools.product(instance.models, instance.clusters):
        if instance.may_follow(previous, model.name):
            demand = load(instance, epoch, model.name, cluster.name, data[cluster.name])
            if minimum_resources(demand, instance.target.round_deadline) <= demand.capacity:
                yield model.name, cluster.name, demand


def _nonempty_subset(rng: np.random.Generator, names: Sequence[str]) -> list[str]:
    """All names with probability 2/5, else an even draw among the nonempty subsets."""
    if rng.random() < 0.4:
        return list(names)
    if len(names) > _MOST_BITS:
        taken = rng.random(len(names)) < 0.5
        taken[rng.integers(len(names))] = True  # none at all has the probability 2**-63 or less
        return [name for name, chosen in zip(names, taken, strict=True) if chosen]
    mask = int(rng.integers(1, 2 ** len(names)))
    return [name for index, name in enumerate(names) if mask >> index & 1]


def _stage(
    rng: np.random.Generator, models: int, clusters: int, datasets: int, maximum_epochs: int
) -> Instance:
    """Everything but the limits; T_max = 1 and l_max = 0 stand in for them."""
    stored = tuple(_dataset(rng, index) for index in range(datasets))
    work = math.fsum(item.workload for item in stored)
    offered = tuple(_models(rng, models, maximum_epochs, stored))
    places = tuple(_clusters(rng, clusters, offered[0], work))
    others, switches = _switches(rng, offered)
    return Instance(
        name="random",
        clusters=places,
        datasets=stored,
        models=offered,
        transfers=tuple(_transfers(rng, places, stored)),
        other_switches=others,
        switches=switches,
        data_law=_data_law(rng, stored),
        target=Target(
            initial_loss=0,
            maximum_loss=0,
            quantile_level=float(rng.choice(_LEVELS)),
            maximum_epochs=maximum_epochs,
            maximum_time=1,
            initial_model=offered[rng.integers(models)].name if rng.random() < 0.15 else None,
        ),
    )


def _dataset(rng: np.random.Generator, index: int) -> Dataset:
    volume = rounded(rng.uniform(0.5, 2))
    work = rounded(volume * rng.uniform(0.5, 1.5)) if rng.random() < 0.3 else None
    return Dataset(name=f"d{index + 1}", volume=volume, work=work)


def _models(
    rng: np.random.Generator, count: int, longest: int, datasets: Sequence[Dataset]
) -> Iterator[Model]:
    """From fast and unsteady to slow and steady: later ones ask less, gain less, vary less and tire later."""
    mean, deviation = rng.uniform(0.5, 1.5), rng.uniform(0.1, 0.5)
    demand, size, offset = rng.uniform(1, 4), rng.uniform(0.3, 2), rng.uniform(-0.5, 2)
    for index in range(count):
        improvement = _improvement(rng, mean, mean * deviation, offset, longest)
        tables = _compute(rng, demand, longest, datasets) if rng.random() < 0.1 else None
        yield Model(
            name=f"m{index + 1}",
            size=rounded(size),
            demand=rounded(demand),
            improvement=improvement,
            compute=tables,
        )
        mean *= rng.uniform(0.5, 0.85)
        deviation = max(deviation * rng.uniform(0.5, 1), _LEAST_DEVIATION)
        demand *= rng.uniform(0.3, 0.65)
        size *= rng.uniform(0.2, 0.8)
        offset += rng.uniform(0, 10)


def _improvement(
    rng: np.random.Generator, mean: float, deviation: float, offset: float, longest: int
) -> Improvement:
    shape = rng.choice(["inverse_sqrt", "constant", "table"], p=[0.5, 0.35, 0.15])
    if shape == "inverse_sqrt":
        scale = math.sqrt(1 + longest / 2 + offset)  # coefficient 1 in the middle
        return InverseSqrtImprovement(
            scale=rounded(scale), offset=rounded(offset), noise=_noise(rng, mean, deviation)
        )
    if shape == "constant":
        return ConstantImprovement(noise=_noise(rng, mean, deviation))
    kind = _kind(rng)
    rows = []
    for epoch in range(1, longest + 1):
        factor = math.sqrt((1 + longest / 2 + offset) / (epoch + offset)) * rng.uniform(0.8, 1.2)
        raises = kind in ("normal", "empirical", "deterministic") and rng.random() < 0.05
        noise = _noise(rng, mean * factor, deviation * factor, kind)
        rows.append(ConstantImprovement(scale=-0.3 if raises else 1, noise=noise))
    return TabledImprovement(epochs=tuple(rows))


def _kind(rng: np.random.Generator) -> str:
    kinds = ["inverse_gamma", "normal", "lognormal", "empirical", "deterministic"]
    return str(rng.choice(kinds, p=[0.56, 0.12, 0.12, 0.12, 0.08]))


def _noise(
    rng: np.random.Generator, mean: float, deviation: float, kind: str | None = None
) -> ImprovementLaw:
    """A law of about this mean and standard deviation; of a random kind unless one is given."""
    kind = _kind(rng) if kind is None else kind
    average, variance = rounded(mean), rounded(deviation**2)
    if kind == "inverse_gamma":
        if rng.random() < 0.2:
            shape = rounded((mean / deviation) ** 2 + 2)
            return InverseGamma(shape=shape, scale=rounded(mean * (shape - 1)))
        return InverseGamma(mean=average, variance=variance)
    if kind == "normal":
        return Normal(mean=average, variance=variance)
    if kind == "lognormal":
        return Lognormal(mean=average, variance=variance)
    if kind == "deterministic":
        return Deterministic(value=average)
    return _observed(rng, mean, deviation)


def _observed(rng: np.random.Generator, mean: float, deviation: float) -> Empirical:
    count = int(rng.integers(3, 9))
    values = tuple(rounded(value) for value in rng.normal(mean, deviation, count))
    weights = tuple(rounded(weight) for weight in rng.uniform(0.5, 2, count)) if rng.random() < 0.3 else None
    return Empirical(values=values, weights=weights)


def _compute(
    rng: np.random.Generator, demand: float, longest: int, datasets: Sequence[Dataset]
) -> tuple[ComputeTable, ...]:
    """Tables around demand * work, of which an epoch in twenty asks nothing."""
    whole = math.fsum(item.workload for item in datasets)
    parts: list[tuple[str | None, float]] = [(None, whole)]
    if rng.random() < 0.5:
        parts = [(item.name, item.workload) for item in datasets]
    idle = rng.random(longest) < 0.05
    return tuple(
        ComputeTable(
            dataset=name,
            epochs=tuple(
                0.0 if rest else rounded(demand * work * factor)
                for rest, factor in zip(idle, rng.uniform(0.7, 1.3, longest), strict=True)
            ),
        )
        for name, work in parts
    )


def _clusters(rng: np.random.Generator, count: int, largest: Model, work: float) -> Iterator[Cluster]:
    """Clusters, each costlier than the one before, with more capacity (of all nodes), bandwidth or both."""
    seconds = rng.uniform(0.5, 2)  # an epoch of the largest model on all data with full resources
    capacity = largest.demand * work / seconds
    bandwidth = largest.size / (seconds * rng.uniform(0.3, 1.2))
    unit_cost = rng.uniform(0.5, 2)
    for index in range(count):
        nodes = int(rng.integers(2, 5)) if rng.random() < 0.2 else 1
        yield Cluster(
            name=f"c{index + 1}",
            capacity=rounded(capacity / nodes),
            bandwidth=rounded(bandwidth),
            unit_cost=rounded(unit_cost),
            nodes=nodes,
        )
        grows = rng.choice(["capacity", "bandwidth", "both"])
        capacity *= rng.uniform(1.3, 2.5) if grows != "bandwidth" else rng.uniform(0.8, 1)
        bandwidth *= rng.uniform(1.5, 4) if grows != "capacity" else rng.uniform(0.8, 1)
        unit_cost *= rng.uniform(1.05, 1.5)


def _transfers(
    rng: np.random.Generator, clusters: Sequence[Cluster], datasets: Sequence[Dataset]
) -> Iterator[Transfer]:
    """Costs of up to half an epoch with full resources; every dataset is free on its home cluster."""
    if len(datasets) == 1 and rng.random() < 0.5:
        return
    homes = [int(rng.integers(len(clusters))) for _ in datasets]
    for (index, item), (place, cluster) in itertools.product(enumerate(datasets), enumerate(clusters)):
        if len(clusters) == 1 or homes[index] != place:
            epoch = cluster.nodes * cluster.unit_cost * cluster.capacity
            yield Transfer(
                dataset=item.name, cluster=cluster.name, cost=rounded(epoch * rng.uniform(0.02, 0.5))
            )


def _switches(rng: np.random.Generator, models: Sequence[Model]) -> tuple[SwitchLaw, tuple[Switch, ...]]:
    """Law of the unlisted pairs, and the listed ones: free, forward only, or with a law for every pair."""
    typical = min(model.improvement.at(1)[1].moments().mean for model in models)
    pairs = list(itertools.combinations([model.name for model in models], 2))
    nonzero = rng.random() < 0.6
    if rng.random() < 0.4:
        laws: list[SwitchLaw] = [_switch_law(rng, typical) if nonzero else Zero() for _ in pairs]
        return Forbidden(), tuple(
            Switch(previous=first, following=second, law=law)
            for (first, second), law in zip(pairs, laws, strict=True)
        )
    if not nonzero:
        return Zero(), ()
    both = [pair for first, second in pairs for pair in ((first, second), (second, first))]
    listed = [pair for pair in both if rng.random() < 0.7]
    return _switch_law(rng, typical), tuple(
        Switch(previous=first, following=second, law=_switch_law(rng, typical)) for first, second in listed
    )


def _switch_law(rng: np.random.Generator, typical: float) -> SwitchLaw:
    """A loss of 3 to 30 % of a typical improvement; truncated Student-t in half of the cases."""
    location = rounded(typical * rng.uniform(0.03, 0.3))
    scale = rounded(location * rng.uniform(0.1, 0.4))
    kind = rng.choice(
        ["truncated", "student_t", "normal", "deterministic", "empirical"], p=[0.5, 0.1, 0.15, 0.15, 0.1]
    )
    freedom = int(rng.integers(3, 9))
    if kind == "truncated":
        upper = rounded(3 * location)
        return StudentT(degrees_of_freedom=freedom, location=location, scale=scale, lower=0, upper=upper)
    if kind == "student_t":
        return StudentT(degrees_of_freedom=freedom, location=location, scale=scale)
    if kind == "normal":
        return Normal(mean=location, variance=rounded(scale**2))
    if kind == "deterministic":
        return Deterministic(value=location)
    return _observed(rng, location, scale)


def _data_law(rng: np.random.Generator, datasets: Sequence[Dataset]) -> DataLaw | None:
    """No law in one case of five; K^ of the least volume is at most a few times K^ of all."""
    volume = math.fsum(item.volume for item in datasets)
    base = rounded(rng.uniform(0.1, 1)) if rng.random() < 0.5 else 0.0
    kind = rng.choice(["none", "log", "inverse_log", "power", "table"], p=[0.2, 0.2, 0.2, 0.25, 0.15])
    if kind == "none":
        return None
    if kind == "log":
        slope = rounded(rng.uniform(0.1, 0.6))
        return LogDataLaw(a=rounded(1 + slope * math.log(base + volume)), b=slope, base_volume=base)
    if kind == "inverse_log":
        return InverseLogDataLaw(base_volume=base)
    if kind == "power" or len(datasets) > _MOST_TABLED:
        return PowerDataLaw(p=rounded(rng.uniform(0.2, 0.9)), base_volume=base)
    return _data_table(rng, datasets)


def _data_table(rng: np.random.Generator, datasets: Sequence[Dataset]) -> TableDataLaw:
    """1 + the weights of the data left out, each dataset with a random weight: falls as data joins."""
    weights = {item.name: rounded(rng.uniform(0.05, 0.8)) for item in datasets}
    subsets = [
        chosen for size in range(1, len(weights) + 1) for chosen in itertools.combinations(weights, size)
    ]
    return TableDataLaw(
        subsets=tuple(
            SubsetEpochs(
                datasets=chosen,
                epochs=rounded(1 + math.fsum(weights[name] for name in weights if name not in chosen)),
            )
            for chosen in subsets
        )
    )


def _with_limits(rng: np.random.Generator, draft: Instance) -> Instance:
    """Put the limits where one of a few random plans just keeps them."""
    plans = [_random_sequence(rng, draft) for _ in range(_REFERENCE_PLANS)]
    quantiles = [_normal_quantile(draft, plan) for plan in plans]
    order = np.argsort(quantiles, kind="stable")
    chosen = int(order[rng.integers(_REFERENCE_PLANS // 3)])
    fall = max(-quantiles[chosen], 0.1)
    reached = fall * rng.uniform(0.9, 1.02)
    initial = rounded(fall * rng.uniform(1.2, 3))
    return draft.replace(
        initial_loss=initial,
        maximum_loss=rounded(initial - reached, 4),
        **_time_limits(rng, [demand for _, _, demand in plans[chosen].epochs]),
    )


def _normal_quantile(instance: Instance, plan: _Sequence) -> float:
    """omega-quantile of the loss change of a plan, as if it were normal."""
    previous, steps = instance.target.initial_model, []
    for epoch, (model, cluster, _) in enumerate(plan.epochs, start=1):
        steps.append(loss_step(instance, epoch, 0, previous, model, plan.data[cluster]))
        previous = model
    final = compose(0.0, steps)
    return final.mean() + float(special.ndtri(instance.target.quantile_level)) * math.sqrt(final.variance())


def _time_limits(rng: np.random.Generator, demands: Sequence[Load]) -> dict[str, Any]:
    """T_max (45 %), tau (30 %) or both, kept by these loads at a random fraction of the capacities."""
    fraction = rng.uniform(0.35, 0.9)
    times = [item.work / (fraction * item.capacity) + item.communication for item in demands]
    kind = rng.choice(["time", "round", "both"], p=[0.45, 0.3, 0.25])
    total = rounded(math.fsum(times))
    deadline = rounded(max(times) * rng.uniform(1, 1.4))
    return {
        "maximum_time": None if kind == "round" else total,
        "round_deadline": None if kind == "time" else deadline,
    }


def _drawn_count(rng: np.random.Generator, name: str, bounds: Range) -> int:
    least, greatest = bounds
    if not 1 <= least <= greatest:
        raise InvalidInputError(f"{name} must be a range (least, greatest) from 1 on, not {bounds}")
    return int(rng.integers(least, greatest + 1))


def rounded(value: float, figures: int = 3) -> float:
    """``value`` to a few significant figures, as a person would write it."""
    return float(f"{value:.{figures}g}")


SIZES: Mapping[str, Range] = MappingProxyType(
    {"models": (2, 4), "clusters": (1, 3), "datasets": (1, 4), "maximum_epochs": (3, 10)}
)
"""Least and greatest |M|, |N|, |D| and K_max."""


def competitive_family(rng: np.random.Generator, count: int) -> tuple[Instance, ...]:
    """The first ``count`` instances; those that come first do not depend on ``count``."""
    return random_instances(rng, count, **SIZES)
