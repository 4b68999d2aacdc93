r"""Where epochs may train: clusters with data, what they charge at a price of time, and what data leave.

A *site* is a cluster with a set of datasets. With few datasets all sites are listed. With many, a frontier
stands for all of them (`depl.heuristics.bounds.frontier`) and some are listed for plans. Only where a
table over all sets says what data are worth are all listed however many.
"""

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.data.epochs_needed import NeededEpochs, TabledEpochs, epochs_needed_by
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.memory import require_memory
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.problem.epochs import Load, compute
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray

LISTED_DATASETS = 5
"""With up to so many datasets all nonempty sets are listed, unless there are too many clusters."""

FEW_LISTED = 512
"""Up to so many pairs of a cluster and a set are listed in any case."""

MOST_LISTED = 20_000
"""More pairs of a cluster and a set are not listed where a frontier stands for them."""

_BYTES_OF_SITE, _COPIES = 7000, 8
"""Bytes of a listed site besides its tables, and tables of numbers by epoch, model and site that are held at
once. Measured: a whole solve with 24,573 sites, two models and no tables of work took 7046 bytes a site; psi,
time and the least time are tables, some with copies."""


class Site(NamedTuple):
    """A cluster, by position, with its data."""

    cluster: int
    datasets: frozenset[str]


@dataclass(frozen=True, eq=False)
class Priced:
    """Sites at one price of time.

    Attributes
    ----------
    psi, time : ndarray
        Shape (1 or K, M, O): least kappa x + lam t of an epoch, infinite where its deadline cannot be kept,
        and its time there [cost], [time].
    rows : int array (K,), optional
        Row of every epoch; otherwise its own, and the last one for all beyond.
    """

    psi: FloatArray
    time: FloatArray
    rows: NDArray[np.int64] | None = None

    def rows_of(self, epochs: int) -> NDArray[np.int64]:
        """Row of each of the first epochs, shape (epochs,)."""
        return np.minimum(np.arange(epochs), len(self.psi) - 1) if self.rows is None else self.rows[:epochs]


class Places(Protocol):
    """What the relaxation asks of sites or of a frontier; O entries."""

    @property
    def factors(self) -> FloatArray:
        """h as it counts for gains, shape (O,)."""

    @property
    def low(self) -> FloatArray:
        """Least h, shape (O,)."""

    @property
    def high(self) -> FloatArray:
        """Greatest h, shape (O,)."""

    @property
    def below(self) -> FloatArray:
        """At most h: where h has an interval, two neighbours are the ends of a line, shape (O,)."""

    @property
    def fastest(self) -> FloatArray:
        """Times with full resources, shape (1 or K, M, O); infinite beyond the deadline [time]."""

    def at(self, multiplier: float) -> Priced:
        """What epochs cost at a price of time."""


class DataFactors:
    """h of sets of datasets."""

    def __init__(self, instance: Instance) -> None:
        self._needed = epochs_needed_by(instance)
        self._position = {item.name: index for index, item in enumerate(instance.datasets)}
        self._volumes = np.array([item.volume for item in instance.datasets])
        self._everything = self._epochs(range(len(self._volumes)))

    @property
    def _by_volume(self) -> NeededEpochs:
        if isinstance(self._needed, TabledEpochs):
            raise TypeError("K^ from a table has no volumes")
        return self._needed

    def of(self, datasets: Iterable[str]) -> float:
        """h of a nonempty set."""
        return self._everything / self._epochs([self._position[name] for name in datasets])

    def at(self, volumes: FloatArray) -> FloatArray:
        """h at volumes of any shape; 0 where K^ is infinite. Only if K^ is by volume."""
        return np.asarray(self._everything / self._by_volume.at(volumes))

    def lines(self, low: float, high: float) -> tuple[FloatArray, FloatArray]:
        """Values at two volumes of lines above and below h between them, shape (2,) each; K^ is by volume."""
        needed, ends = self._by_volume, self.at(np.array([low, high]))
        middle, half = (low + high) / 2, (high - low) / 2
        value = float(self.at(np.array(middle)))
        rise = -value * float(needed.slope(middle)) / float(needed.at(middle)) * half
        tangent = np.array([value - rise, value + rise])
        if needed.reciprocal_is_convex(low):
            return ends, tangent if tangent[0] > 0 else np.full(2, float(ends[0]))
        if needed.reciprocal_is_concave(high):
            return tangent, ends
        return np.full(2, float(ends[1])), np.full(2, float(ends[0]))

    def _epochs(self, members: Iterable[int]) -> float:
        if isinstance(self._needed, TabledEpochs):
            return self._needed.epochs[sum(1 << index for index in members)]
        return float(self._needed.at(math.fsum(self._volumes[list(members)].tolist())))


@dataclass(frozen=True, eq=False)
class Sites:
    """Listed sites.

    Attributes
    ----------
    sites : tuple of Site
    factors : ndarray
        h of their data, shape (O,).
    transfers : ndarray
        F of their data, shape (O,) [cost].
    work : ndarray
        Per node, shape (1 or K, M, O) [resource x time].
    price, capacity : ndarray
        Shape (O,) [cost / resource], [resource].
    communication : ndarray
        Shape (M, O) [time].
    deadline : float
        tau, infinite without one [time].
    barred : ndarray of bool, optional
        Models that do not fit on the cluster of a site, or all where its data may not be used, shape (M, O):
        an epoch there is never in time.
    """

    sites: tuple[Site, ...]
    factors: FloatArray
    transfers: FloatArray
    work: FloatArray
    price: FloatArray
    capacity: FloatArray
    communication: FloatArray
    deadline: float
    barred: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, instance: Instance, sites: Sequence[Site], factors: DataFactors) -> "Sites":
        """Read what some sites are asked."""
        places = [instance.clusters[site.cluster] for site in sites]
        nodes = np.array([place.nodes for place in places], dtype=float)
        rows = _rows(instance)
        sets = list(dict.fromkeys(site.datasets for site in sites))
        position = {chosen: index for index, chosen in enumerate(sets)}
        shape = len(rows), len(instance.models), len(sets)
        table = np.array([_work_of(instance, k, sets) for k in rows]).reshape(shape)
        bandwidth = np.array([place.bandwidth for place in places])
        tau, names = instance.target.round_deadline, [model.name for model in instance.models]
        barred, rules = None, instance.rules
        if rules.restrict_sites:
            away = [not rules.may_use(s.datasets, p.name) for s, p in zip(sites, places, strict=True)]
            barred = ~rules.fitting([place.name for place in places], names).T | np.array(away)
        return cls(
            tuple(sites),
            np.array([factors.of(sets[position[site.datasets]]) for site in sites]),
            np.array([transfers_of(instance, site) for site in sites]),
            table[:, :, [position[site.datasets] for site in sites]] / nodes,
            nodes * np.array([place.unit_cost for place in places]),
            np.array([place.capacity for place in places]),
            np.array([model.size for model in instance.models])[:, None] / bandwidth,
            math.inf if tau is None else tau,
            barred,
        )

    @property
    def low(self) -> FloatArray:
        """The least factor of every entry: of a listed site, the factor itself."""
        return self.factors

    @property
    def high(self) -> FloatArray:
        """The greatest factor of every entry: of a listed site, the factor itself."""
        return self.factors

    @property
    def below(self) -> FloatArray:
        """A line below the factor of every entry: of a listed site, the factor itself."""
        return self.factors

    def at(self, multiplier: float) -> Priced:
        """The price psi and the time of every site."""
        return Priced(*self._costs.priced(multiplier))

    def load(self, epoch: int, model: int, site: int) -> Load:
        """What an epoch, counted from 0, asks of its cluster."""
        return Load(
            work=float(self.work[min(epoch, len(self.work) - 1), model, site]),
            price=float(self.price[site]),
            capacity=float(self.capacity[site]),
            communication=float(self.communication[model, site]),
        )

    @property
    def fastest(self) -> FloatArray:
        """Times with full resources, shape (1 or K, M, O); infinite beyond the deadline [time]."""
        return self._costs.fastest

    @functools.cached_property
    def _costs(self) -> EpochCosts:
        columns = (self.work, self.price, self.capacity, self.communication)
        costs = EpochCosts.of_arrays(*columns, self.deadline)
        if self.barred is None:
            return costs
        return replace(costs, least=np.where(self.barred, math.inf, costs.least))


def may_be_listed(instance: Instance) -> bool:
    """Whether all sets of data can be listed, or have to be because no frontier covers the instance."""
    most = MOST_LISTED if len(instance.datasets) <= LISTED_DATASETS else FEW_LISTED
    return _pairs(instance) <= most or not has_frontier(instance)


def has_frontier(instance: Instance) -> bool:
    """Whether a frontier stands for all sets of data: h depends on volume, the work on sums over the data.

    Under work from tables the frontier is one of sums below them, so sites are listed while they are few.
    """
    tabled = any(model.compute is not None for model in instance.models)
    by_volume = isinstance(epochs_needed_by(instance), NeededEpochs)
    return by_volume and (not tabled or _pairs(instance) > MOST_LISTED)


def listed_sites(instance: Instance) -> list[Site]:
    """Every cluster on which some model fits with every nonempty set of datasets that may be used there.

    Raises
    ------
    NotCoveredError
        If their tables would take more memory than a solve may.
    """
    names, tabled = [item.name for item in instance.datasets], _rows(instance)
    bytes_each = _BYTES_OF_SITE + 8 * _COPIES * len(tabled) * len(instance.models)
    require_memory(
        bytes_each * _pairs(instance),
        f"K^ from a table over all sets of {len(names)} datasets makes every set on every of "
        f"{len(instance.clusters)} clusters a site, and their tables",
        "leave clusters out, or give a data law by volume instead of the table",
    )
    sizes = range(len(names), 0, -1)
    sets = [frozenset(chosen) for size in sizes for chosen in itertools.combinations(names, size)]
    rules = instance.rules
    return [
        Site(n, chosen)
        for n, place in enumerate(instance.clusters)
        if rules.models[place.name]
        for chosen in sets
        if rules.may_use(chosen, place.name)
    ]


def transfers_of(instance: Instance, site: Site) -> float:
    """What it costs to bring the data of a site to its cluster, once [cost]."""
    name = instance.clusters[site.cluster].name
    return math.fsum(instance.transfer_cost(item, name) for item in site.datasets)


def named(instance: Instance, sites: Mapping[int, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Data by the name of the cluster."""
    return {instance.clusters[n].name: chosen for n, chosen in sorted(sites.items())}


def _work_of(instance: Instance, epoch: int, sets: Sequence[frozenset[str]]) -> FloatArray:
    """Work of every model on every set at one epoch, shape (M, sets) [resource x time]."""
    found = np.empty((len(instance.models), len(sets)))
    for m, model in enumerate(instance.models):
        keep_time()
        found[m] = [compute(instance, epoch, model.name, chosen) for chosen in sets]
    return found


def _rows(instance: Instance) -> range:
    """Epochs whose work may differ: all of them if a model has tables."""
    tabled = any(model.compute is not None for model in instance.models)
    return range(1, (instance.target.maximum_epochs if tabled else 1) + 1)


def _pairs(instance: Instance) -> int:
    return len(instance.clusters) * ((1 << len(instance.datasets)) - 1)
