"""Random instances of any size where capability, bandwidth, cost, transfers and data trade off at once.

Everything is drawn before anything is solved. What makes the choices real:

- **Clusters** lie on a price surface (`depl.instances.price_surface`) around the one that suits the middle
  model; half of them have a markup, and no other dominates those without one.
- **Models** go from fast, unsteady and large to slow, steady and small. With psi the weight of an epoch on
  its best cluster, the gain of a model is a multiple of psi**(1 - delta): small models gain more per cost,
  large ones more per epoch, and K_max limits the epochs. Under eq. (8) the gains per cost of all models
  touch one envelope: 1 / (A / sqrt(k + B))**2 is linear in k, so A and B are taken from the tangent of the
  concave function phi(k) = (k + k_0)**theta at the epoch at which the model is to be best,
  A = phi'**(-1/2) and B = (phi - k phi') / phi'. Early epochs belong to the fast models, late ones to the
  slow.
- **Datasets** differ in volume and in quality (volume per work) by lognormal factors, and K^ is logarithmic
  or a power: less data mean cheaper epochs and more of them.
- **Transfers**: a dataset is free in its own region, and costs in proportion to its volume and the distance
  elsewhere. Only the `CHARGED_DATASETS` largest ones are charged, so that there are a few N entries.
- **Switches** lose the gain of half an epoch to two epochs; those between neighbouring models less.

T_max and l_max are those of a drawn reference plan (`_reference_plan`), l_max its certified omega-quantile,
rounded up. So every instance has a plan, which `heterogeneous_instance_with_plan` returns, and T_max binds
whenever there is no round deadline.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.instances.generator import rounded
from depl.instances.price_surface import PriceSurface
from depl.models.evaluation.evaluate import epoch_loads, epoch_times, plan_steps
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import compose
from depl.models.problem.instance import (
    Cluster,
    DataLaw,
    Dataset,
    Instance,
    InverseSqrtImprovement,
    LogDataLaw,
    Model,
    PowerDataLaw,
    Switch,
    Target,
    Transfer,
)
from depl.models.problem.laws import FloatArray, ImprovementLaw, InverseGamma, Lognormal, StudentT
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.risk.certify import certified_quantile

CHARGED_DATASETS = 16
"""How many datasets, the largest ones, cost something where they do not belong."""

_SPREAD_OF_CLUSTERS = 1.25  # of log capacity and log bandwidth, to either side
_SPREAD_OF_MODELS = 1.5  # of log demand and log size, to either side
_DEVIATIONS = (1.5, 0.15)  # standard deviation over mean of the fastest and the slowest model
_EPOCHS_OF_A_PHASE = 10


def heterogeneous_instance(rng: np.random.Generator, **sizes: int) -> Instance:
    """The instance of `heterogeneous_instance_with_plan`, alone."""
    return heterogeneous_instance_with_plan(rng, **sizes)[0]


def heterogeneous_instance_with_plan(
    rng: np.random.Generator,
    *,
    clusters: int = 10,
    datasets: int = 10,
    models: int = 5,
    maximum_epochs: int = 100,
) -> tuple[Instance, Plan]:
    """Draw one instance of exactly this size, and the plan that gave it its limits.

    The plan is feasible under the law. It is a draw and no more: its cost is usually far from the least.

    Parameters
    ----------
    rng : numpy.random.Generator
        The only source of chance: equal states give equal instances.
    clusters, datasets, models, maximum_epochs : int
        |N|, |D|, |M| and K_max, from 1 on.

    Returns
    -------
    Instance
        Named after its fingerprint.
    Plan
    """
    require_sizes(clusters=clusters, datasets=datasets, models=models, maximum_epochs=maximum_epochs)
    market = _market(rng)
    stored = tuple(_dataset(rng, index) for index in range(datasets))
    offered = tuple(_models(rng, market, models, maximum_epochs, stored))
    places = tuple(_clusters(rng, market.surface, clusters))
    others, switches = _switches(rng, offered, maximum_epochs)
    draft = drafted(
        rng,
        maximum_epochs,
        name="heterogeneous",
        clusters=places,
        datasets=stored,
        models=offered,
        other_switches=others,
        switches=switches,
    )
    return limited(rng, draft, _reference_plan(rng, draft, market), _transfers)


def require_sizes(**sizes: int) -> None:
    """All sizes are at least 1."""
    for name, size in sizes.items():
        if size < 1:
            raise InvalidInputError(f"must be at least 1, not {size}", name)


def drafted(rng: np.random.Generator, maximum_epochs: int, **parts: Any) -> Instance:
    """An instance with a drawn data law and level; T_max = 1 and l_max = 0 stand in for its limits."""
    law = drawn_data_law(rng, parts["datasets"])
    target = Target(
        initial_loss=0,
        maximum_loss=0,
        quantile_level=rounded(rng.uniform(0.9, 0.99), 2),
        maximum_epochs=maximum_epochs,
        maximum_time=1,
    )
    return Instance(data_law=law, target=target, **parts)


@dataclass(frozen=True)
class _Market:
    """The price surface, the price of time at which its reference cluster suits the middle model, and that.

    ``work`` and ``size`` are c and s of an epoch of the middle model on half of all data.
    """

    surface: PriceSurface
    multiplier: float
    work: float
    size: float

    def weight(self, work: float, size: float) -> float:
        """Price of an epoch on its best cluster over that of the middle model's; the same at every lam."""
        surface = self.surface
        return surface.best(self.multiplier, work, size).cost / (surface.unit_cost * surface.capacity)


def _market(rng: np.random.Generator) -> _Market:
    """The reference cluster computes an epoch of the middle model in one unit of time, by stationarity."""
    rho, sigma = rng.uniform(0.1, 0.7), rng.uniform(0.3, 0.7)
    work, size, unit_cost = rng.uniform(2, 20), rng.uniform(0.5, 5), rng.uniform(0.5, 2)
    surface = PriceSurface(
        capacity=work,
        bandwidth=size * (1 + rho) / sigma,
        unit_cost=unit_cost,
        capacity_exponent=rho,
        bandwidth_exponent=sigma,
    )
    return _Market(surface, (1 + rho) * unit_cost * work, work, size)


def _dataset(rng: np.random.Generator, index: int) -> Dataset:
    volume = rounded(math.exp(rng.normal(0, 1)))
    work = rounded(volume * math.exp(rng.normal(0, 0.35)))
    return Dataset(name=f"d{index + 1}", volume=volume, work=work)


def _models(
    rng: np.random.Generator, market: _Market, count: int, longest: int, datasets: Sequence[Dataset]
) -> Iterator[Model]:
    """From fast, unsteady and large to slow, steady and small, with some scatter."""
    half = math.fsum(item.workload for item in datasets) / 2
    theta, start, delta = rng.uniform(0.5, 0.8), longest / rng.uniform(5, 20), rng.uniform(0.05, 0.25)
    loss_unit = rng.uniform(2, 10) / longest
    for index in range(count):
        place = (index + 0.5) / count
        scale = math.exp(_SPREAD_OF_MODELS * (1 - 2 * place))
        work = market.work * scale * math.exp(rng.normal(0, 0.2))
        size = market.size * scale * math.exp(rng.normal(0, 0.4))
        epoch = longest * (index + rng.random()) / count
        value, slope = (epoch + start) ** theta, theta * (epoch + start) ** (theta - 1)
        gain = loss_unit * market.weight(work, size) ** (1 - delta) * math.exp(rng.normal(0, 0.04))
        yield Model(
            name=f"m{index + 1}",
            size=rounded(size),
            demand=rounded(work / half),
            improvement=InverseSqrtImprovement(
                scale=rounded(gain * math.sqrt((longest / 2 + start) ** theta / slope), 4),
                offset=rounded((value - epoch * slope) / slope),
                noise=_noise(rng, place),
            ),
        )


def _noise(rng: np.random.Generator, place: float) -> ImprovementLaw:
    """Of mean 1 and positive, so that a plan of one model never raises the loss."""
    first, last = (math.log(deviation) for deviation in _DEVIATIONS)
    variance = rounded(math.exp(2 * (first + place * (last - first) + rng.normal(0, 0.2))))
    if rng.random() < 0.75:
        return InverseGamma(mean=1, variance=variance)
    return Lognormal(mean=1, variance=variance)


def _clusters(rng: np.random.Generator, surface: PriceSurface, count: int) -> Iterator[Cluster]:
    """Around the reference cluster, in log-uniform distance; a markup of about 10 % on half of them."""
    for index in range(count):
        nodes = int(rng.integers(2, 9)) if rng.random() < 0.2 else 1
        larger, faster = np.exp(rng.uniform(-_SPREAD_OF_CLUSTERS, _SPREAD_OF_CLUSTERS, 2))
        capacity = rounded(surface.capacity * larger / nodes)
        bandwidth = rounded(surface.bandwidth * faster)
        markup = 1 + rng.exponential(0.1) if rng.random() < 0.5 else 1.0
        yield Cluster(
            name=f"c{index + 1}",
            capacity=capacity,
            bandwidth=bandwidth,
            # of the rounded values, and finer than they differ: rounding must not make one dominate another
            unit_cost=rounded(markup * surface.unit_cost_of(nodes * capacity, bandwidth), 8),
            nodes=nodes,
        )


def _switches(
    rng: np.random.Generator, models: Sequence[Model], longest: int
) -> tuple[StudentT, tuple[Switch, ...]]:
    """A law for all pairs, and milder ones between neighbours."""
    middle = (longest + 1) // 2
    typical = float(np.median([model.improvement.at(middle)[0] for model in models]))

    def law(least: float, most: float) -> StudentT:
        location = rounded(typical * rng.uniform(least, most))
        return StudentT(
            degrees_of_freedom=int(rng.integers(3, 9)),
            location=location,
            scale=rounded(location * rng.uniform(0.1, 0.4)),
            lower=0,
            upper=rounded(3 * location),
        )

    names = [model.name for model in models]
    others = law(0.5, 2)
    pairs = [pair for i in range(1, len(names)) for pair in ((i - 1, i), (i, i - 1))]
    listed = tuple(
        Switch(previous=names[first], following=names[second], law=law(0.1, 0.5)) for first, second in pairs
    )
    return others, listed


def drawn_data_law(rng: np.random.Generator, datasets: Sequence[Dataset]) -> DataLaw:
    """Half of the volume needs 1.2 to 1.7 times the epochs of all; fewer where some data are always there."""
    volume = math.fsum(item.volume for item in datasets)
    base = rounded(volume * rng.uniform(0.01, 0.1)) if rng.random() < 0.3 else 0.0
    if rng.random() < 0.5:
        return PowerDataLaw(p=rounded(rng.uniform(0.35, 0.8)), base_volume=base)
    slope = rounded(rng.uniform(0.25, 0.9))
    return LogDataLaw(a=rounded(1 + slope * math.log(base + volume), 6), b=slope, base_volume=base)


def limited(
    rng: np.random.Generator,
    draft: Instance,
    plan: Plan,
    transfers: Callable[[np.random.Generator, Instance, float], Iterator[Transfer]],
) -> tuple[Instance, Plan]:
    """An instance whose limits a plan just keeps, named after its fingerprint, and the plan.

    Parameters
    ----------
    rng : numpy.random.Generator
    draft : Instance
        Without limits and transfers.
    plan : Plan
        Its epochs and data.
    transfers : callable
        Draws the rows of transfers for an amount of cost, 1 to 8 % of what the plan pays for computing.
    """
    loads = epoch_loads(draft, plan)
    times = epoch_times(draft, plan)
    cost = math.fsum(item.price * epoch.resources for item, epoch in zip(loads, plan.epochs, strict=True))
    loss = compose(0.0, plan_steps(draft, plan))
    quantile = certified_quantile(loss, draft.target.violation_budget).upper
    initial = rounded(abs(quantile) * rng.uniform(1.2, 3))
    instance = draft.replace(
        transfers=tuple(transfers(rng, draft, cost * rng.uniform(0.01, 0.08))),
        initial_loss=initial,
        maximum_loss=rounded_up(initial + quantile),
        maximum_time=rounded_up(math.fsum(times)),
        round_deadline=rounded_up(max(times) * rng.uniform(1, 1.4)) if rng.random() < 0.25 else None,
    )
    instance = instance.replace(name=f"{draft.name}-{instance.fingerprint[:8]}")
    return instance, Plan(instance=instance.fingerprint, data=plan.data, epochs=plan.epochs)


def _reference_plan(rng: np.random.Generator, draft: Instance, market: _Market) -> Plan:
    """Phases from larger to smaller models, each on a cluster near its best at a drawn price of time."""
    longest, count = draft.target.maximum_epochs, len(draft.models)
    length = max(1, round(longest * rng.uniform(0.75, 1)))
    phases = int(rng.integers(1, min(3, count, 1 + length // _EPOCHS_OF_A_PHASE) + 1))
    ends = [*sorted(rng.choice(np.arange(1, length), phases - 1, replace=False)), length]
    chosen = [
        min(count - 1, int(count * rng.uniform(first, end) / longest))
        for first, end in itertools.pairwise([0, *(int(end) for end in ends)])
    ]
    names, work = densest(draft.datasets, rng.uniform(0.3, 0.9))
    fraction, multiplier = rng.uniform(0.7, 1), market.multiplier * math.exp(rng.normal(0, 0.5))
    epochs: list[PlannedEpoch] = []
    for index, end in zip(chosen, ends, strict=True):
        model = draft.models[index]
        offer = market.surface.best(multiplier, model.demand * work, model.size)
        place = min(
            draft.clusters,
            key=lambda item: math.hypot(
                math.log(item.nodes * item.capacity / offer.capacity),
                math.log(item.bandwidth / offer.bandwidth),
            ),
        )
        epoch = PlannedEpoch(model=model.name, cluster=place.name, resources=fraction * place.capacity)
        epochs += [epoch] * (int(end) - len(epochs))
    return with_data(draft, epochs, names)


def with_data(draft: Instance, epochs: Sequence[PlannedEpoch], names: tuple[str, ...]) -> Plan:
    """The plan of these epochs, with these datasets on every cluster that trains."""
    used = {epoch.cluster for epoch in epochs}
    data = (ClusterData(cluster=item.name, datasets=names) for item in draft.clusters if item.name in used)
    return Plan(data=tuple(data), epochs=tuple(epochs))


def densest(datasets: Sequence[Dataset], share: float) -> tuple[tuple[str, ...], float]:
    """The datasets of most volume per work that make up this share of all work, one at least; their work."""
    ordered = sorted(datasets, key=lambda item: (item.workload / item.volume, item.name))
    summed = np.cumsum([item.workload for item in ordered])
    count = max(1, int(np.searchsorted(summed, share * summed[-1])))
    chosen = {item.name for item in ordered[:count]}
    return tuple(item.name for item in datasets if item.name in chosen), float(summed[count - 1])


def _transfers(rng: np.random.Generator, draft: Instance, whole: float) -> Iterator[Transfer]:
    """All charged datasets together cost ``whole`` per unit of distance; regions lie 0.3 to 1 apart."""
    regions = max(2, round(math.sqrt(len(draft.clusters)) / 3))
    distances = apart(rng, regions, 0.3)
    places = rng.integers(regions, size=len(draft.clusters))
    homes = rng.integers(regions, size=len(charged(draft)))
    yield from moved(draft, whole, places, homes, distances)


def apart(rng: np.random.Generator, regions: int, least: float) -> FloatArray:
    """What lies between any two regions, from ``least`` to 1; nothing between a region and itself."""
    drawn = np.triu(rng.uniform(least, 1, (regions, regions)), 1)
    return drawn + drawn.T


def charged(draft: Instance) -> list[Dataset]:
    """The datasets that cost something where they do not belong, the largest first."""
    return sorted(draft.datasets, key=lambda item: (-item.volume, item.name))[:CHARGED_DATASETS]


def moved(
    draft: Instance,
    whole: float,
    places: NDArray[np.int64],
    homes: NDArray[np.int64],
    prices: FloatArray,
    exponent: float = 1.0,
) -> Iterator[Transfer]:
    """Transfers from home to all other regions; all charged datasets together cost ``whole`` at price 1."""
    datasets = charged(draft)
    unit = whole / math.fsum(item.volume**exponent for item in datasets)
    for item, home in zip(datasets, homes.tolist(), strict=True):
        for cluster, place in zip(draft.clusters, places.tolist(), strict=True):
            if place != home:
                cost = rounded(unit * item.volume**exponent * float(prices[home, place]))
                yield Transfer(dataset=item.name, cluster=cluster.name, cost=cost)


def rounded_up(value: float, figures: int = 5) -> float:
    """The least number of that many significant figures that is at least ``value``."""
    nearest = rounded(value, figures)
    if nearest >= value:
        return nearest
    step = 10.0 ** (math.floor(math.log10(abs(value))) - figures + 1)
    return rounded(nearest + step, figures)
