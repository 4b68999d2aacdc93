"""Sets of data that are best for the epochs of a sequence, at the prices of that sequence.

The epochs that a sequence trains on one cluster ask for a set D of the least

    R(D) = F(D) + sum [psi(work(D)) + gamma label(h(D))],

which depends on the volume, the work and the transfers of D alone. With alpha = dR/dwork, a set that is best
among fractional ones holds the first datasets in order of (alpha work + F) / volume. So all beginnings of
that order are evaluated, and alpha is taken from the best of them, a few times over. The same is done on the
clusters that would be cheapest with the data as they are. Small sets are improved one dataset at a time.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import interpolate

from depl.heuristics.bounds.cutting_planes import Cut, Prices
from depl.heuristics.bounds.volume_bound import transfer_costs, usable_data, work_of_data
from depl.heuristics.data.sites import DataFactors, Site
from depl.heuristics.depl.improve_sites import Labels, Restricted
from depl.models.problem.epoch_cost_kernels import add_prices
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray

_CLUSTERS = 12
"""Clusters on which the data of a used site are tried, the cheapest first. Set by hand: each costs a few
sorts of the datasets and adds up to two sites; with fewer, a cluster that is only cheap with other data is
missed."""
_ROUNDS = 3
"""Times that alpha is taken from the best set so far. Set by hand: the loop ends once a set comes back or
costs more; each round is one sort of the datasets."""
_SMALL = 8
"""Datasets of a set that is improved one at a time. Set by hand: a step evaluates every dataset in place of
every member; in a larger set one dataset changes the volume by a small share, and the order of all alone
serves."""
_FACTORS = 40
"""Values of h at which the label of some epochs is tabulated, evenly in ln h, for a cubic spline. Set by
hand: twice as many take twice the time and divide the error of the spline by about sixteen."""
_NEAR = 8
"""Datasets tried as additions, omissions or substitutes, those first that cost least at the prices. Set by
hand: a used site leads to at most twice as many sites, and as many for each dataset of a small set."""


@dataclass(frozen=True, eq=False)
class _Epochs:
    """Epochs of one cluster at some prices: how many of each model, and their labels against h."""

    counts: FloatArray
    labels: interpolate.CubicSpline
    prices: Prices

    def label(self, factors: FloatArray) -> FloatArray:
        return np.asarray(self.prices.gain * self.labels(np.log(factors)))


@dataclass(eq=False)
class DataAtPrices:
    """What every instance needs once: volumes, work and transfers of its datasets."""

    instance: Instance
    factors: DataFactors
    volumes: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        """Read the datasets and the clusters."""
        instance = self.instance
        self.volumes = np.array([item.volume for item in instance.datasets])
        self._work, self._shares, self._fixed = work_of_data(instance)
        self._transfers = np.where(usable_data(instance), transfer_costs(instance), math.inf)
        self._names = np.array([item.name for item in instance.datasets])
        self._position = {item.name: d for d, item in enumerate(instance.datasets)}
        places = instance.clusters
        self._nodes = np.array([place.nodes for place in places], dtype=float)
        self._price = self._nodes * np.array([place.unit_cost for place in places])
        self._capacity = np.array([place.capacity for place in places])
        self._bandwidth = np.array([place.bandwidth for place in places])
        self._sizes = np.array([model.size for model in instance.models])
        tau = instance.target.round_deadline
        self._deadline = math.inf if tau is None else tau
        names = [model.name for model in instance.models]
        self._fits = instance.rules.fitting([place.name for place in places], names)

    def better(self, restricted: Restricted, labels: Labels, prices: Prices, cut: Cut) -> list[Site]:
        """Sites for the epochs that a sequence trains on each of its clusters."""
        found: dict[Site, None] = {}
        for used, epochs, data in self._uses(restricted, labels, prices, cut):
            clusters = self._cheapest_clusters(epochs, data)
            for n in dict.fromkeys([used.cluster, *clusters]):
                chosen = self._best(epochs, n, data)
                found[Site(n, frozenset(self._names[chosen].tolist()))] = None
                found[Site(n, used.datasets)] = None
        return list(found)

    def beside(self, restricted: Restricted, labels: Labels, prices: Prices, cut: Cut) -> list[Site]:
        """Sites with a few datasets more or less than those of a sequence, or others in their place."""
        found: dict[Site, None] = {}
        for used, epochs, data in self._uses(restricted, labels, prices, cut):
            for chosen in self._near(epochs, used.cluster, data):
                found[Site(used.cluster, frozenset(self._names[chosen].tolist()))] = None
        return list(found)

    def _uses(
        self, restricted: Restricted, labels: Labels, prices: Prices, cut: Cut
    ) -> Iterator[tuple[Site, _Epochs, NDArray[np.int64]]]:
        """Every site that a sequence trains on, with its epochs and its datasets by position."""
        for place in np.flatnonzero(cut.uses).tolist():
            site = restricted.sites.sites[place]
            members = np.flatnonzero(cut.sites == place)
            data = np.array([self._position[name] for name in site.datasets])
            yield site, self._epochs(restricted, labels.rate, prices, cut, members), data

    def _near(self, epochs: _Epochs, n: int, data: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Datasets added, dropped and exchanged, those first that cost least at the prices."""
        found: list[NDArray[np.int64]] = []
        outside = np.setdiff1d(np.flatnonzero(np.isfinite(self._transfers[n])), data)
        added = outside[np.argsort(self._with(epochs, n, data, outside), kind="stable")[:_NEAR]]
        found += [np.append(data, added[: size + 1]) for size in range(len(added))]
        if len(data) > 1:
            order = np.argsort(self._without(epochs, n, data), kind="stable")[: min(_NEAR, len(data) - 1)]
            found += [np.delete(data, order[: size + 1]) for size in range(len(order))]
        if len(data) <= _SMALL:
            for place in range(len(data)):
                rest = np.delete(data, place)
                order = np.argsort(self._with(epochs, n, rest, outside), kind="stable")[:_NEAR]
                found += [np.append(rest, outside[other]) for other in order.tolist()]
        return found

    def _with(self, epochs: _Epochs, n: int, data: NDArray[np.int64], more: NDArray[np.int64]) -> FloatArray:
        """R of a set with one dataset more, each of some."""
        columns = (self.volumes, self._work, self._transfers[n])
        return self._values(epochs, n, *(column[data].sum() + column[more] for column in columns))

    def _without(self, epochs: _Epochs, n: int, data: NDArray[np.int64]) -> FloatArray:
        """R of a set with one dataset less, each of its own."""
        columns = (self.volumes, self._work, self._transfers[n])
        return self._values(epochs, n, *(column[data].sum() - column[data] for column in columns))

    def _epochs(
        self, restricted: Restricted, rate: float, prices: Prices, cut: Cut, members: NDArray[np.int64]
    ) -> _Epochs:
        models = np.array(restricted.models)[cut.models[members]]
        counts = np.bincount(models, minlength=len(self._sizes)).astype(float)
        least = float(self.factors.at(self.volumes.min()[None])[0])
        grid = np.geomspace(min(max(least, 1e-6), 0.5), 1.0, _FACTORS)
        values = restricted.label_of(members, cut.models[members], grid, rate)
        return _Epochs(counts, interpolate.CubicSpline(np.log(grid), values), prices)

    def _cheapest_clusters(self, epochs: _Epochs, data: NDArray[np.int64]) -> list[int]:
        work = np.full(len(self._price), self._work[data].sum())
        every = np.arange(len(work))
        cost = self._transfers[:, data].sum(axis=1) + self._computing(epochs, every, work)
        order = np.argsort(cost, kind="stable")[:_CLUSTERS]
        return [int(n) for n in order if math.isfinite(cost[n])]

    def _best(self, epochs: _Epochs, n: int, data: NDArray[np.int64]) -> NDArray[np.int64]:
        """A set that no other beginning of its own order improves on, on a cluster."""
        best, chosen = self._reduced(epochs, n, data), data
        for _ in range(_ROUNDS):
            alpha = self._slope(epochs, n, float(self._work[chosen].sum()))
            order = np.argsort((alpha * self._work + self._transfers[n]) / self.volumes, kind="stable")
            columns = (self.volumes, self._work, self._transfers[n])
            sums = [np.cumsum(column[order]) for column in columns]
            values = self._values(epochs, n, *sums)
            length = int(np.argmin(values)) + 1
            if not values[length - 1] < best:
                break
            best, chosen = float(values[length - 1]), order[:length]
        return self._one_by_one(epochs, n, best, chosen)

    def _one_by_one(
        self, epochs: _Epochs, n: int, best: float, chosen: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """A small set with datasets added, or put in place of others, as long as that helps."""
        every = np.arange(len(self.volumes))
        while len(chosen) <= _SMALL:
            kept = [chosen, *(np.delete(chosen, i) for i in range(len(chosen)))]
            tables = []
            for rest in kept:
                values = self._with(epochs, n, rest, every)
                values[rest] = math.inf
                tables.append(values)
            which, dataset = divmod(int(np.argmin(tables)), len(self.volumes))
            if not tables[which][dataset] < best:
                break
            best, chosen = float(tables[which][dataset]), np.append(kept[which], dataset)
        return chosen

    def _reduced(self, epochs: _Epochs, n: int, data: NDArray[np.int64]) -> float:
        sums = (column[data].sum()[None] for column in (self.volumes, self._work, self._transfers[n]))
        return float(self._values(epochs, n, *sums)[0])

    def _values(
        self, epochs: _Epochs, n: int, volume: FloatArray, work: FloatArray, transfers: FloatArray
    ) -> FloatArray:
        """R of sets with some volume, work and transfers on a cluster."""
        factors = np.minimum(self.factors.at(volume), 1.0)
        where = np.full(len(volume), n)
        return np.asarray(transfers + self._computing(epochs, where, work) + epochs.label(factors))

    def _computing(self, epochs: _Epochs, clusters: NDArray[np.int64], work: FloatArray) -> FloatArray:
        """The price psi of all epochs on some clusters with some work each, infinite where one is late."""
        total = np.zeros(len(clusters))
        for m in np.flatnonzero(epochs.counts).tolist():
            add_prices(
                (work + self._fixed) * self._shares[m] / self._nodes[clusters],
                self._price[clusters],
                self._capacity[clusters],
                self._sizes[m] / self._bandwidth[clusters],
                self._deadline,
                epochs.prices.time,
                epochs.counts[m],
                total,
            )
            total[~self._fits[clusters, m]] = math.inf
        return total

    def _slope(self, epochs: _Epochs, n: int, work: float) -> float:
        """What a little more work costs; 0 where the data ask for none [cost / work]."""
        if work == 0.0:
            return 0.0
        ends = work * np.array([1 - 1e-4, 1 + 1e-4])
        values = self._computing(epochs, np.array([n, n]), ends)
        if not np.isfinite(values).all():
            return 0.0
        return float(values[1] - values[0]) / float(ends[1] - ends[0])
