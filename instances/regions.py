"""Random instances of any size with another cost structure: hubs, regional prices, a family of networks.

Made to judge methods on instances unlike those of `depl.instances.heterogeneous`, where prices follow a
smooth surface, and drawn before anything is solved:

- **Clusters** stand in regions, each with a level of prices (lognormal) and a bandwidth, better in the hubs,
  one region in five. Machines come in four kinds, each about three times as capable as the one before and
  some 15 % more expensive for the same work. Prices do not depend on the bandwidth.
- **Datasets** have volumes of a Pareto law with the exponent 1.1, and lie in the hubs.
- **Transfers** cost a price for each pair of regions, a third between hubs, times the volume to the power of
  0.8. Only the largest ones are charged (`depl.instances.heterogeneous.charged`).
- **Models** are a family as of ResNet-18 to ResNet-152: of the published parameters and operations of the
  five, interpolated on logarithms. The fall of the loss of an epoch rises with the operations to the power of
  0.75, between the little that the published accuracies show and a proportional rise; that of large networks
  ends later, and is steadier.
- **Switches** to a smaller network lose little, all others about as much as an epoch gains. They are normal.

T_max and l_max are those of a drawn plan of one or two phases (`_reference_plan`): every instance has a plan,
and its limits bind.
"""

import functools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from depl.instances.generator import rounded
from depl.instances.heterogeneous import (
    apart,
    charged,
    densest,
    drafted,
    limited,
    moved,
    require_sizes,
    with_data,
)
from depl.models.problem.epoch_costs import price
from depl.models.problem.epochs import Load
from depl.models.problem.instance import (
    Cluster,
    Dataset,
    Instance,
    InverseSqrtImprovement,
    Model,
    Switch,
    Transfer,
)
from depl.models.problem.laws import InverseGamma, Lognormal, Normal
from depl.models.problem.plan import Plan, PlannedEpoch

_PARAMETERS = (11.7, 21.8, 25.6, 44.5, 60.2)
"""Of ResNet-18, -34, -50, -101 and -152 [millions]."""
_OPERATIONS = (1.8, 3.6, 4.1, 7.8, 11.5)
"""Of the same, for one image of 224 x 224 points [billions]."""
_LEARNING_EXPONENT = 0.75
_KINDS = (1.0, 3.0, 9.0, 27.0)
"""Capability of the kinds of machines, over that of the first."""
_STEP_OF_PRICES = 1.15
"""Price of the same work on the next kind."""


def regional_instance(rng: np.random.Generator, **sizes: int) -> Instance:
    """The instance of `regional_instance_with_plan`, alone."""
    return regional_instance_with_plan(rng, **sizes)[0]


def regional_instance_with_plan(
    rng: np.random.Generator,
    *,
    clusters: int = 10,
    datasets: int = 10,
    models: int = 5,
    maximum_epochs: int = 100,
) -> tuple[Instance, Plan]:
    """Draw one instance of exactly this size, and the plan that gave it its limits.

    The plan is feasible under the law.

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
    regions = max(2, round(math.sqrt(clusters) / 2))
    where = rng.integers(regions, size=clusters)
    hubs = np.arange(regions) < max(1, regions // 5)
    stored = tuple(_datasets(rng, datasets))
    offered = tuple(_models(rng, models, maximum_epochs))
    draft = drafted(
        rng,
        maximum_epochs,
        name="regions",
        clusters=tuple(_clusters(rng, where, hubs, offered, stored)),
        datasets=stored,
        models=offered,
        other_switches=_switch(rng, offered, maximum_epochs, 0.6, 1.5),
        switches=tuple(_smaller(rng, offered, maximum_epochs)),
    )
    transfers = functools.partial(_transfers, where=where, hubs=hubs)
    return limited(rng, draft, _reference_plan(rng, draft), transfers)


def _datasets(rng: np.random.Generator, count: int) -> Iterator[Dataset]:
    for index in range(count):
        volume = rounded(1 + float(rng.pareto(1.1)))
        work = rounded(volume * math.exp(rng.normal(0, 0.3)))
        yield Dataset(name=f"d{index + 1}", volume=volume, work=work)


def _models(rng: np.random.Generator, count: int, longest: int) -> Iterator[Model]:
    """From the smallest network to the largest."""
    places = (np.arange(count) + 0.5) / count * (len(_OPERATIONS) - 1)
    known = np.arange(len(_OPERATIONS))
    sizes = np.exp(np.interp(places, known, np.log(_PARAMETERS)) + rng.normal(0, 0.05, count))
    works = np.exp(np.interp(places, known, np.log(_OPERATIONS)) + rng.normal(0, 0.05, count))
    unit = rng.uniform(2, 10) / longest
    for index, (size, work) in enumerate(zip(sizes.tolist(), works.tolist(), strict=True)):
        share = (index + 0.5) / count
        offset = longest * math.exp(rng.normal(-2 + 1.5 * share, 0.2))
        gain = unit * work**_LEARNING_EXPONENT * math.exp(rng.normal(0, 0.03))
        deviation = math.exp(-1.5 * share + rng.normal(0, 0.1))
        law = InverseGamma if rng.random() < 0.5 else Lognormal
        yield Model(
            name=f"m{index + 1}",
            size=rounded(size),
            demand=rounded(work),
            improvement=InverseSqrtImprovement(
                scale=rounded(gain * math.sqrt(longest / 2 + offset), 4),
                offset=rounded(offset),
                noise=law(mean=1, variance=rounded(deviation**2)),
            ),
        )


def _clusters(
    rng: np.random.Generator,
    where: np.ndarray,
    hubs: np.ndarray,
    models: Sequence[Model],
    datasets: Sequence[Dataset],
) -> Iterator[Cluster]:
    """The second kind of machine computes an epoch of the middle model on half of all data in a unit of time.

    Sending it takes from a twentieth to a third of that.
    """
    middle = models[len(models) // 2]
    work = middle.demand * math.fsum(item.workload for item in datasets) / 2
    levels = np.exp(rng.normal(0, 0.3, len(hubs)))
    waits = np.exp(rng.uniform(math.log(0.05), math.log(0.3), len(hubs))) * np.where(hubs, 0.5, 1.0)
    for index, region in enumerate(where.tolist()):
        kind = int(rng.integers(len(_KINDS)))
        capability = _KINDS[kind] * math.exp(rng.normal(0, 0.2))
        markup = _STEP_OF_PRICES**kind * levels[region] * math.exp(rng.normal(0, 0.1))
        yield Cluster(
            name=f"c{index + 1}",
            capacity=rounded(capability / _KINDS[1] * work),
            bandwidth=rounded(middle.size / waits[region] * math.exp(rng.normal(0, 0.05))),
            unit_cost=rounded(markup / work, 6),
        )


def _switch(
    rng: np.random.Generator, models: Sequence[Model], longest: int, least: float, most: float
) -> Normal:
    """A loss of some gains of an epoch of the middle model, give or take a quarter."""
    gain, _ = models[len(models) // 2].improvement.at((longest + 1) // 2)
    mean = gain * rng.uniform(least, most)
    return Normal(mean=rounded(mean), variance=rounded((mean / 4) ** 2))


def _smaller(rng: np.random.Generator, models: Sequence[Model], longest: int) -> Iterator[Switch]:
    """From every network to the ten that are next smaller."""
    law = _switch(rng, models, longest, 0.1, 0.4)
    for index, model in enumerate(models):
        for smaller in models[max(0, index - 10) : index]:
            yield Switch(previous=model.name, following=smaller.name, law=law)


def _transfers(
    rng: np.random.Generator, draft: Instance, whole: float, where: np.ndarray, hubs: np.ndarray
) -> Iterator[Transfer]:
    """All charged datasets together cost ``whole`` at the price 1."""
    prices = apart(rng, len(hubs), 0.4)
    prices[np.ix_(hubs, hubs)] /= 3
    homes = rng.choice(np.flatnonzero(hubs), len(charged(draft)))
    return moved(draft, whole, where, homes, prices, exponent=0.8)


def _reference_plan(rng: np.random.Generator, draft: Instance) -> Plan:
    """One or two phases from a larger to a smaller network."""
    names, work = densest(draft.datasets, rng.uniform(0.3, 0.9))
    longest = draft.target.maximum_epochs
    length = max(1, round(longest * rng.uniform(0.75, 1)))
    chosen = sorted(rng.integers(len(draft.models), size=min(length, int(rng.integers(1, 3)))), reverse=True)
    middle = draft.models[len(draft.models) // 2].demand * work
    typical = draft.clusters[int(rng.integers(len(draft.clusters)))]
    multiplier = typical.unit_cost * middle * math.exp(rng.normal(0, 0.5))
    fraction, epochs = rng.uniform(0.7, 1), list[PlannedEpoch]()
    for number, index in enumerate(chosen, start=1):
        model = draft.models[int(index)]

        def weight(place: Cluster, model: Model = model) -> float:
            load = Load(
                work=model.demand * work,
                price=place.unit_cost,
                capacity=place.capacity,
                communication=model.size / place.bandwidth,
            )
            return price(load, multiplier, None)

        place = min(draft.clusters, key=weight)
        asked = math.sqrt(multiplier * model.demand * work / place.unit_cost)
        resources = fraction * min(asked, place.capacity)
        epoch = PlannedEpoch(model=model.name, cluster=place.name, resources=resources)
        epochs += [epoch] * (round(length * number / len(chosen)) - len(epochs))
    return with_data(draft, epochs, names)
