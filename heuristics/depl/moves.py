"""Moves of a sequence at its own prices: sets of data of its epochs, and change points of its models.

The epochs that a sequence trains on one cluster ask for a set D of the least R(D) = F(D) + sum [psi(work(D))
+ gamma label(h(D))]. With alpha = dR/dwork, a set that is best among fractional ones holds the first datasets
in order of (alpha work + F) / volume; small sets are improved one dataset at a time (`DataAtPrices`).
Change points are moved one or two at a time: labels, times and costs are sums over epochs, so beginnings of
every run are summed up once, and the best moves are allocated resources exactly (`ChangePoints`).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import NDArray

from depl.heuristics.bounds.dual import Cut, Prices
from depl.heuristics.bounds.frontier import add_prices, transfer_costs, usable_data, work_of_data
from depl.heuristics.data.sites import DataFactors, Site
from depl.heuristics.depl.priced_sites import Restricted
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.allocation import Allocation, allocate
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


@dataclass(frozen=True, eq=False)
class _Epochs:
    """Epochs of one cluster at some prices: how many of each model, and their labels against h."""

    counts: FloatArray
    labels: "scipy.interpolate.CubicSpline"
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

    def better(self, restricted: Restricted, prices: Prices, cut: Cut) -> list[Site]:
        """Sites for the epochs that a sequence trains on each of its clusters."""
        found: dict[Site, None] = {}
        for used, epochs, data in self._uses(restricted, prices, cut):
            clusters = self._cheapest_clusters(epochs, data)
            for n in dict.fromkeys([used.cluster, *clusters]):
                chosen = self._best(epochs, n, data)
                found[Site(n, frozenset(self._names[chosen].tolist()))] = None
                found[Site(n, used.datasets)] = None
        return list(found)

    def _uses(
        self, restricted: Restricted, prices: Prices, cut: Cut
    ) -> Iterator[tuple[Site, _Epochs, NDArray[np.int64]]]:
        """Every site that a sequence trains on, with its epochs and its datasets by position."""
        for place in np.flatnonzero(cut.uses).tolist():
            site = restricted.sites.sites[place]
            members = np.flatnonzero(cut.sites == place)
            data = np.array([self._position[name] for name in site.datasets])
            yield site, self._epochs(restricted, prices, cut, members), data

    def _columns(self, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Volume, work and transfers to a cluster of every dataset."""
        return self.volumes, self._work, self._transfers[n]

    def _epochs(
        self, restricted: Restricted, prices: Prices, cut: Cut, members: NDArray[np.int64]
    ) -> _Epochs:
        models = np.array(restricted.models)[cut.models[members]]
        counts = np.bincount(models, minlength=len(self._sizes)).astype(float)
        least = float(self.factors.at(self.volumes.min()[None])[0])
        grid = np.geomspace(min(max(least, 1e-6), 0.5), 1.0, _FACTORS)
        values = restricted.label_of(members, cut.models[members], grid)
        return _Epochs(counts, scipy.interpolate.CubicSpline(np.log(grid), values), prices)

    def _cheapest_clusters(self, epochs: _Epochs, data: NDArray[np.int64]) -> list[int]:
        work = np.full(len(self._price), self._work[data].sum())
        every = np.arange(len(work))
        cost = self._transfers[:, data].sum(axis=1) + self._computing(epochs, every, work)
        order = np.argsort(cost, kind="stable")[:_CLUSTERS]
        return [int(n) for n in order if math.isfinite(cost[n])]

    def _best(self, epochs: _Epochs, n: int, data: NDArray[np.int64]) -> NDArray[np.int64]:
        """A set that no other beginning of its own order improves on, on a cluster."""
        sums = (column[data].sum()[None] for column in self._columns(n))
        best, chosen = float(self._values(epochs, n, *sums)[0]), data
        for _ in range(_ROUNDS):
            alpha = self._slope(epochs, n, float(self._work[chosen].sum()))
            order = np.argsort((alpha * self._work + self._transfers[n]) / self.volumes, kind="stable")
            values = self._values(epochs, n, *(np.cumsum(column[order]) for column in self._columns(n)))
            length = int(np.argmin(values)) + 1
            if not values[length - 1] < best:
                break
            best, chosen = float(values[length - 1]), order[:length]
        return self._one_by_one(epochs, n, best, chosen)

    def _one_by_one(
        self, epochs: _Epochs, n: int, best: float, chosen: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """A small set with datasets added, or put in place of others, as long as that helps."""
        while len(chosen) <= _SMALL:
            kept = [chosen, *(np.delete(chosen, i) for i in range(len(chosen)))]
            tables = []
            for rest in kept:  # with one dataset more, each of all
                values = self._values(epochs, n, *(c[rest].sum() + c for c in self._columns(n)))
                values[rest] = math.inf
                tables.append(values)
            which, dataset = divmod(int(np.argmin(tables)), len(self.volumes))
            if not tables[which][dataset] < best:
                break
            best, chosen = float(tables[which][dataset]), np.append(kept[which], dataset)
        return chosen

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


_OFFSETS = np.array([1, 2, 3, 4, 6, 9, 14, 20, 30, 45, 70, 110])
"""Epochs by which a change point is moved at once, in both directions. Set by hand: factors of about 1.5
reach far with few moves, and steps of one epoch finish; an offset in between takes two moves."""
_CLOSE = 6
"""Offsets that are combined where two change points move together, and runs up to which all are. Set by hand:
of more runs, 10 x 10 moves of every pair are tried in place of 24 x 24."""
_MOST_NUMBERS = 1 << 24
"""Change points of all moved sequences together, 128 MiB: of more than 69 runs single ones are moved and no
pairs, of more than 835 none. What changes at every tenth epoch is no row of runs, and other moves suit it."""
_EXACTLY = 6
"""Moves of each kind, the cheapest by the estimate, that are allocated exactly in a step. Set by hand: the
first that is cheaper is taken, so more cost time only where the estimate ranks wrongly."""
_MOST_MOVES = 200
"""Moves of one descent. Set by hand: every move lowers the cost, so the descent ends by itself; this limits
the time of one that makes very small steps."""
_WORTHWHILE = 1e-9
"""Relative fall of the exact cost that a move has to bring: costs that differ by less count as equal
(`depl.models.foundation.tolerances.PROOF_TOLERANCE`)."""


@dataclass(frozen=True, eq=False)
class Sequenced:
    """A sequence with its exact cost; models and sites by position in `Restricted`.

    The cost includes transfers, and is infinite where it is late [cost]; the label is what it adds to the
    quantile [loss].
    """

    models: NDArray[np.int64]
    sites: NDArray[np.int64]
    cost: float
    label: float
    multiplier: float


@dataclass(frozen=True, eq=False)
class _Prefixes:
    """Sums over the first k epochs on the kind of every run, shape (R, K + 1), infinite values counted apart.

    An epoch that a kind may not train is infinite, and says nothing of the epochs after it.
    """

    sums: FloatArray
    infinite: NDArray[np.int64]

    @classmethod
    def of(cls, table: FloatArray) -> "_Prefixes":
        finite = np.isfinite(table)
        start = np.zeros((len(table), 1))
        sums = np.concatenate([start, np.cumsum(np.where(finite, table, 0.0), axis=1)], axis=1)
        return cls(sums, np.concatenate([start.astype(np.int64), np.cumsum(~finite, axis=1)], axis=1))

    def over(self, points: NDArray[np.int64]) -> FloatArray:
        """Sums over sequences by their change points, shape (P, R + 1), from 0 to the length."""
        rows, left, right = np.arange(len(self.sums)), points[:, :-1], points[:, 1:]
        missing = (self.infinite[rows, right] - self.infinite[rows, left]).sum(axis=1)
        found = (self.sums[rows, right] - self.sums[rows, left]).sum(axis=1)
        return np.where(missing > 0, math.inf, found)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Labels, costs and least times by change points, and what switches add to the label."""

    labels: _Prefixes
    costs: _Prefixes
    times: _Prefixes
    changes: float


@dataclass(eq=False)
class ChangePoints:
    """Sequences of a `Restricted`."""

    restricted: Restricted
    round_deadline: float | None

    def sequenced(self, models: NDArray[np.int64], sites: NDArray[np.int64]) -> Sequenced:
        """A sequence with the cheapest resources."""
        found = self.allocation(models, sites)
        before = np.concatenate([[len(self.restricted.models)], models[:-1]])
        label = self.restricted.runs[sites, np.arange(len(models)), models].sum()
        label += self.restricted.changes[before, models].sum()
        cost = found.cost + self.restricted.paid(np.unique(sites).tolist())
        return Sequenced(models, sites, cost, float(label), found.multiplier)

    def allocation(self, models: NDArray[np.int64], sites: NDArray[np.int64]) -> Allocation:
        """The cheapest resources of a sequence."""
        restricted, known = self.restricted, {}
        loads, tabled = [], len(restricted.sites.work) > 1
        for k, (m, o) in enumerate(zip(models.tolist(), sites.tolist(), strict=True)):
            key = (k if tabled else 0, m, o)
            if key not in known:
                known[key] = restricted.sites.load(k, restricted.models[m], o)
            loads.append(known[key])
        return allocate(loads, restricted.maximum_time, self.round_deadline)

    def settled(self, start: Sequenced) -> Sequenced | None:
        """The cheapest sequence within the room that moves of change points lead to, if there is one."""
        best, last = start if self._allowed(start) else None, start
        for _ in range(_MOST_MOVES):
            found = self._step(last, best)
            if found is None:
                break
            best = last = found
        return best

    def _allowed(self, tried: Sequenced) -> bool:
        return tried.label <= self.restricted.room and math.isfinite(tried.cost)

    def _step(self, last: Sequenced, best: Sequenced | None) -> Sequenced | None:
        """The cheapest of the sequences that differ in one or two change points, if it is cheaper."""
        runs = _runs(last)
        points = np.concatenate([[0], [end for _, _, end in runs]])
        tried = _moved(points, self.restricted.epochs)
        if not len(tried):
            return None
        sums = self._sums(runs, last.multiplier)
        allowed = sums.labels.over(tried) + sums.changes <= self.restricted.room
        if (limit := self.restricted.maximum_time) is not None:
            allowed &= sums.times.over(tried) <= limit * (1 + TIME_TOLERANCE)
        tried = tried[allowed]
        costs = sums.costs.over(tried)
        below = math.inf if best is None else float(sums.costs.over(points[None])[0])
        for place in np.argsort(costs, kind="stable")[:_EXACTLY].tolist():
            if costs[place] < below:
                kinds = np.repeat([run[:2] for run in runs], np.diff(tried[place]), axis=0)
                found = self.sequenced(kinds[:, 0], kinds[:, 1])
                if self._allowed(found) and (best is None or found.cost < best.cost * (1 - _WORTHWHILE)):
                    return found
        return None

    def _sums(self, runs: Sequence[tuple[int, int, int]], multiplier: float) -> _Sums:
        restricted, epochs = self.restricted, self.restricted.epochs
        priced = restricted.sites.at(multiplier)
        rows, fastest = priced.rows_of(epochs), restricted.sites.fastest
        quick = np.minimum(np.arange(epochs), len(fastest) - 1)
        models = [restricted.models[m] for m, _, _ in runs]
        labels = np.array([self.restricted.runs[o, :, m] for m, o, _ in runs])
        costs = np.array([priced.psi[rows, m, o] for m, (_, o, _) in zip(models, runs, strict=True)])
        times = np.array([fastest[quick, m, o] for m, (_, o, _) in zip(models, runs, strict=True)])
        before = [len(restricted.models), *(m for m, _, _ in runs[:-1])]
        switches = math.fsum(
            float(self.restricted.changes[p, m]) for p, (m, _, _) in zip(before, runs, strict=True)
        )
        return _Sums(_Prefixes.of(labels), _Prefixes.of(costs), _Prefixes.of(times), switches)


def _runs(sequence: Sequenced) -> list[tuple[int, int, int]]:
    """Model, site and end of every run."""
    models, sites = sequence.models, sequence.sites
    last = np.flatnonzero((np.diff(models) != 0) | (np.diff(sites) != 0))
    ends = [*last.tolist(), len(models) - 1]
    return [(int(models[k]), int(sites[k]), k + 1) for k in ends]


def _moved(points: NDArray[np.int64], epochs: int) -> NDArray[np.int64]:
    """Change points with one or two of them moved, all runs kept; shape (P, R + 1).

    Where all of them would be more than `_MOST_NUMBERS`, pairs are left out, then single ones.
    """
    ends = len(points) - 1
    far = np.concatenate([-_OFFSETS[::-1], _OFFSETS])
    steps = far if ends <= _CLOSE else far[np.abs(far) <= _CLOSE]
    size = ends + 1
    single = ends * len(far) * size <= _MOST_NUMBERS
    paired = ends * (ends - 1) // 2 * len(steps) ** 2 * size <= _MOST_NUMBERS
    found = [points[None][:0]]
    for i in range(1, ends + 1) if single else ():
        one = np.repeat(points[None], len(far), axis=0)
        one[:, i] += far
        found.append(one)
        for j in range(i + 1, ends + 1) if paired else ():
            two = np.repeat(points[None], len(steps) ** 2, axis=0)
            two[:, i] += np.repeat(steps, len(steps))
            two[:, j] += np.tile(steps, len(steps))
            found.append(two)
    every = np.concatenate(found)
    return every[(np.diff(every, axis=1) > 0).all(axis=1) & (every[:, -1] <= epochs)]
