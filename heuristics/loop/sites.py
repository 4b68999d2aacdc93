r"""Where epochs may train: clusters with data, what they charge at a price of time, and what data leave.

A *site* is a cluster with a set of datasets. With few datasets all sites are listed. With many, a *frontier*
stands for all of them. A set of volume Q computes on at least phi(Q), the work of a fractional set of that
volume, and pays at least F(Q), its least transfers; both are convex. Between two points Q_i <= Q <= Q_(i+1)
let W and F~ be tangents of them (below) and h~ a line above h: the chord where h is convex, a tangent where
it is concave. psi is concave and rises in the work (docs, *The loop*), so

    psi(W(Q)) + F~(Q) / K_max - gamma gain h~(Q)

is concave in Q and least at one of the ends. So two entries for every interval bound all sets of data, up to
the curvature within one interval. Where a round deadline falls into an interval, work beyond it counts as
what just keeps it: psi(min(W, c)) is concave, too. Plans come from listed sites.
"""

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.datasets.epochs_needed import NeededEpochs, TabledEpochs, epochs_needed_by
from depl.heuristics.loop.kernels import cheapest_clusters
from depl.models.allocation import TIME_TOLERANCE
from depl.models.epochs import Load, compute
from depl.models.errors import NotCoveredError
from depl.models.laws import FloatArray
from depl.models.problem import Instance

Integers = NDArray[np.int64]

LISTED_DATASETS = 5
"""With up to so many datasets all nonempty sets are listed, unless there are too many clusters."""

FEW_LISTED = 512
"""Up to so many pairs of a cluster and a set are listed in any case."""

MOST_LISTED = 20_000
"""More pairs of a cluster and a set are not listed."""

_INTERVALS = 400


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
    """

    psi: FloatArray
    time: FloatArray


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
    def by_volume(self) -> bool:
        """Whether h depends on the volume alone."""
        return isinstance(self._needed, NeededEpochs)

    def of(self, datasets: Iterable[str]) -> float:
        """h of a nonempty set."""
        return self._everything / self._epochs([self._position[name] for name in datasets])

    def at(self, volumes: FloatArray) -> FloatArray:
        """h at volumes of any shape; 0 where K^ is infinite. Only where `by_volume`."""
        needed = self._needed
        if isinstance(needed, TabledEpochs):
            raise TypeError("K^ from a table has no volumes")
        return np.asarray(self._everything / needed.at(volumes))

    def line_above(self, low: float, high: float) -> FloatArray:
        """Values at two volumes of a line above h between them, shape (2,). Only where `by_volume`."""
        needed = self._needed
        ends = self.at(np.array([low, high]))
        if isinstance(needed, NeededEpochs) and needed.reciprocal_is_convex(low):
            return ends
        if isinstance(needed, NeededEpochs) and needed.reciprocal_is_concave(high):
            middle = (low + high) / 2
            value = float(self.at(np.array(middle)))
            slope = -value * float(needed.slope(middle)) / float(needed.at(middle))
            half = (high - low) / 2
            return np.array([value - slope * half, value + slope * half])
        return np.full(2, float(ends[1]))

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
    """

    sites: tuple[Site, ...]
    factors: FloatArray
    transfers: FloatArray
    work: FloatArray
    price: FloatArray
    capacity: FloatArray
    communication: FloatArray
    deadline: float

    @classmethod
    def of(cls, instance: Instance, sites: Sequence[Site], factors: DataFactors) -> "Sites":
        """Read what some sites are asked."""
        places = [instance.clusters[site.cluster] for site in sites]
        nodes = np.array([place.nodes for place in places], dtype=float)
        tabled = any(model.compute is not None for model in instance.models)
        rows = range(1, (instance.target.maximum_epochs if tabled else 1) + 1)
        sets = list(dict.fromkeys(site.datasets for site in sites))
        position = {chosen: index for index, chosen in enumerate(sets)}
        table = np.array(
            [[[compute(instance, k, m.name, s) for s in sets] for m in instance.models] for k in rows]
        ).reshape(len(rows), len(instance.models), len(sets))
        bandwidth = np.array([place.bandwidth for place in places])
        tau = instance.target.round_deadline
        return cls(
            tuple(sites),
            np.array([factors.of(sets[position[site.datasets]]) for site in sites]),
            np.array([transfers_of(instance, site) for site in sites]),
            table[:, :, [position[site.datasets] for site in sites]] / nodes,
            nodes * np.array([place.unit_cost for place in places]),
            np.array([place.capacity for place in places]),
            np.array([model.size for model in instance.models])[:, None] / bandwidth,
            math.inf if tau is None else tau,
        )

    @property
    def low(self) -> FloatArray:
        """H itself."""
        return self.factors

    @property
    def high(self) -> FloatArray:
        """H itself."""
        return self.factors

    def at(self, multiplier: float) -> Priced:
        """Psi and time of every site."""
        free = np.where(self.price > 0, math.sqrt(multiplier) * self._slope, math.inf)
        x = np.where(self.work > 0, np.minimum(np.maximum(free, self._least), self.capacity), 0.0)
        busy = x > 0
        time = np.divide(self.work, x, out=np.where(self.work > 0, math.inf, 0.0), where=busy)
        time += self.communication
        priced = multiplier * np.where(np.isinf(time), 0.0, time)
        psi = np.where(self._late, math.inf, self.price * x + priced)
        return Priced(psi, time)

    def load(self, epoch: int, model: int, site: int) -> Load:
        """What an epoch, counted from 0, asks of its cluster."""
        return Load(
            work=float(self.work[min(epoch, len(self.work) - 1), model, site]),
            price=float(self.price[site]),
            capacity=float(self.capacity[site]),
            communication=float(self.communication[model, site]),
        )

    @functools.cached_property
    def fastest(self) -> FloatArray:
        """Times with full resources, shape (1 or K, M, O); infinite beyond the deadline [time]."""
        return np.where(self._late, math.inf, self.work / self.capacity + self.communication)

    @functools.cached_property
    def _slope(self) -> FloatArray:
        roots = np.sqrt(self.work)
        priced = np.broadcast_to(self.price > 0, roots.shape)
        return np.divide(roots, np.sqrt(self.price), out=np.zeros(roots.shape), where=priced)

    @functools.cached_property
    def _late(self) -> NDArray[np.bool_]:
        return np.asarray(
            (self.work / self.capacity + self.communication) > self.deadline * (1 + TIME_TOLERANCE)
        )

    @functools.cached_property
    def _least(self) -> FloatArray:
        if math.isinf(self.deadline):
            return np.zeros(self.work.shape)
        left = np.broadcast_to(self.deadline - self.communication, self.work.shape)
        full = left * self.capacity <= self.work
        capacity = np.broadcast_to(self.capacity, self.work.shape)
        return np.divide(self.work, left, out=capacity.copy(), where=~full)


@dataclass(frozen=True, eq=False)
class Frontier:
    """All sites of an instance with many datasets, relaxed.

    Attributes
    ----------
    volumes : ndarray
        Of every entry, shape (O,) [data].
    factors : ndarray
        h~ there, shape (O,).
    low, high : ndarray
        Least and greatest h in the interval of the entry, shape (O,).
    work : ndarray
        W, shape (M, O) [resource x time]. That of other models is in proportion to that of the first.
    least_work : ndarray
        The least of it in the interval of the entry, shape (M, O) [resource x time].
    charges : ndarray
        F~ / K_max, shape (N, O) [cost].
    """

    volumes: FloatArray
    factors: FloatArray
    low: FloatArray
    high: FloatArray
    work: FloatArray
    least_work: FloatArray
    charges: FloatArray
    nodes: FloatArray
    price: FloatArray
    capacity: FloatArray
    communication: FloatArray
    deadline: float

    @classmethod
    def of(cls, instance: Instance, factors: DataFactors, intervals: int = _INTERVALS) -> "Frontier":
        """A lower bound of all sites."""
        volumes = np.array([item.volume for item in instance.datasets])
        total, least = math.fsum(volumes.tolist()), float(volumes.min())
        ends = least + (total - least) * np.linspace(0, 1, intervals + 1) ** 1.5
        ends[0], ends[-1] = least * (1 - 1e-12), total * (1 + 1e-12)
        h = np.minimum(factors.at(ends), 1.0)
        lines = np.stack([factors.line_above(a, b) for a, b in itertools.pairwise(ends)])
        work = _tangents(volumes, _works(instance, 0), ends) * (1 - 1e-12)
        costs = np.array(
            [[instance.transfer_cost(d.name, n.name) for d in instance.datasets] for n in instance.clusters]
        )
        return cls._made(
            instance,
            np.repeat(ends, 2)[1:-1],
            lines.ravel() * (1 + 1e-12),
            np.repeat(h[:-1], 2) * (1 - 1e-12),
            np.repeat(h[1:], 2) * (1 + 1e-12),
            work,
            np.repeat(work[::2], 2),
            np.stack([_tangents(volumes, row, ends) for row in costs]) * (1 - 1e-12),
        )

    @classmethod
    def guide(cls, instance: Instance, factors: DataFactors, points: int) -> "Frontier":
        """Fractional sets of some volumes as they are: no bound, but what near-optimal sites look like."""
        volumes = np.array([item.volume for item in instance.datasets])
        total, least = math.fsum(volumes.tolist()), float(volumes.min())
        chosen = least + (total - least) * np.linspace(0, 1, points) ** 1.5
        h = factors.at(chosen)
        work = _fractional(volumes, _works(instance, 0), chosen)[0]
        costs = [
            [instance.transfer_cost(d.name, n.name) for d in instance.datasets] for n in instance.clusters
        ]
        transfers = np.stack([_fractional(volumes, np.array(row), chosen)[0] for row in costs])
        return cls._made(instance, chosen, h, h, h, work, work, transfers)

    @classmethod
    def _made(
        cls,
        instance: Instance,
        volumes: FloatArray,
        factors: FloatArray,
        low: FloatArray,
        high: FloatArray,
        work: FloatArray,
        least_work: FloatArray,
        transfers: FloatArray,
    ) -> "Frontier":
        places, tau = instance.clusters, instance.target.round_deadline
        models = range(len(instance.models))
        demand = np.array([_works(instance, m)[0] for m in models]) / _works(instance, 0)[0]
        sizes = np.array([model.size for model in instance.models])
        return cls(
            volumes,
            factors,
            low,
            high,
            demand[:, None] * work,
            demand[:, None] * least_work,
            transfers / max(1, instance.target.maximum_epochs),
            np.array([place.nodes for place in places], dtype=float),
            np.array([place.nodes * place.unit_cost for place in places]),
            np.array([place.capacity for place in places]),
            sizes / np.array([[place.bandwidth] for place in places]),
            math.inf if tau is None else tau * (1 + TIME_TOLERANCE),
        )

    def restricted(self, clusters: Sequence[int]) -> "Frontier":
        """The same on some clusters, by position; no bound for all."""
        rows = list(clusters)
        return replace(
            self,
            charges=self.charges[rows],
            nodes=self.nodes[rows],
            price=self.price[rows],
            capacity=self.capacity[rows],
            communication=self.communication[rows],
        )

    def at(self, multiplier: float) -> Priced:
        """The cheapest cluster of every entry."""
        psi, time, _ = self.clusters_at(multiplier)
        return Priced(psi[None], time[None])

    @functools.cached_property
    def fastest(self) -> FloatArray:
        """Least times over the clusters, shape (1, M, O) [time]."""
        found = np.full(self.work.shape, math.inf)
        for n in range(len(self.nodes)):
            time = self.work / (self.nodes[n] * self.capacity[n]) + self.communication[n][:, None]
            least = self.least_work / (self.nodes[n] * self.capacity[n]) + self.communication[n][:, None]
            in_time = np.where(least <= self.deadline, np.minimum(time, self.deadline), math.inf)
            found = np.minimum(found, in_time)
        return found[None]

    def clusters_at(self, multiplier: float) -> tuple[FloatArray, FloatArray, Integers]:
        """Psi with charges, time, and the cheapest cluster of every (model, entry); each (M, O)."""
        psi, time = np.empty(self.work.shape), np.zeros(self.work.shape)
        which = np.empty(self.work.shape, dtype=np.int64)
        cheapest_clusters(
            self.work,
            self.least_work,
            self.nodes,
            self.price,
            self.capacity,
            self.communication,
            self.charges,
            self.deadline,
            multiplier,
            psi,
            time,
            which,
        )
        return psi, time, which


def may_be_listed(instance: Instance) -> bool:
    """Whether all sets of data can be listed, or have to be because no frontier covers the instance."""
    most = MOST_LISTED if len(instance.datasets) <= LISTED_DATASETS else FEW_LISTED
    return _pairs(instance) <= most or not has_frontier(instance)


def has_frontier(instance: Instance) -> bool:
    """Whether h and the work depend on sums over the data alone."""
    by_volume = isinstance(epochs_needed_by(instance), NeededEpochs)
    return by_volume and all(model.compute is None for model in instance.models)


def listed_sites(instance: Instance) -> list[Site]:
    """Every cluster with every nonempty set of datasets.

    Raises
    ------
    NotCoveredError
        If there are more than `MOST_LISTED` sites.
    """
    names, count = [item.name for item in instance.datasets], _pairs(instance)
    if count > MOST_LISTED:
        raise NotCoveredError(
            f"data whose work or learning is given by tables are listed, and {len(names)} datasets on "
            f"{len(instance.clusters)} clusters make {count} pairs, more than {MOST_LISTED}; leave data or "
            "clusters out, or give a demand and a data law instead of tables"
        )
    sizes = range(len(names), 0, -1)
    sets = [frozenset(chosen) for size in sizes for chosen in itertools.combinations(names, size)]
    return [Site(n, chosen) for n in range(len(instance.clusters)) for chosen in sets]


def transfers_of(instance: Instance, site: Site) -> float:
    """What it costs to bring the data of a site to its cluster, once [cost]."""
    name = instance.clusters[site.cluster].name
    return math.fsum(instance.transfer_cost(item, name) for item in sorted(site.datasets))


def named(instance: Instance, sites: Mapping[int, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Data by the name of the cluster."""
    return {instance.clusters[n].name: chosen for n, chosen in sorted(sites.items())}


def _pairs(instance: Instance) -> int:
    return len(instance.clusters) * ((1 << len(instance.datasets)) - 1)


def _works(instance: Instance, model: int) -> FloatArray:
    """c of every dataset alone, shape (D,); that of a set is their sum."""
    name = instance.models[model].name
    return np.array([compute(instance, 1, name, frozenset({item.name})) for item in instance.datasets])


def _fractional(volumes: FloatArray, costs: FloatArray, wanted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least cost of a fractional set of each wanted volume, and the cost of more volume there."""
    order = np.argsort(costs / volumes, kind="stable")
    reached = np.concatenate([[0.0], np.cumsum(volumes[order])])
    paid = np.concatenate([[0.0], np.cumsum(costs[order])])
    rate = (costs / volumes)[order]
    place = np.clip(np.searchsorted(reached, wanted, side="right") - 1, 0, len(rate) - 1)
    return np.interp(wanted, reached, paid), rate[place]


def _tangents(volumes: FloatArray, costs: FloatArray, ends: FloatArray) -> FloatArray:
    """Lines below the least cost at both ends of every interval, nowhere negative; shape (2 (n - 1),).

    Tangents in the middle, or where those fall below 0 at the left end.
    """
    middles = (ends[:-1] + ends[1:]) / 2
    values, slopes = _fractional(volumes, costs, middles)
    half = (ends[1:] - ends[:-1]) / 2
    first, rates = _fractional(volumes, costs, ends[:-1])
    below = values - slopes * half < 0
    left = np.where(below, first, values - slopes * half)
    right = np.where(below, first + 2 * rates * half, values + slopes * half)
    return np.stack([left, right], axis=1).ravel()
