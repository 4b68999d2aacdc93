r"""All sites of an instance with many datasets, relaxed: bounds, and the features of good sites.

Sets of data are known by their volume Q. Between two volumes the least work and transfers of a set lie on
corners that are linear in Q (`depl.heuristics.data.data_lines`), and h~ is a line above h: the chord where h
is convex, a tangent where it is concave. psi is concave and rises in the work (docs, *The loop*), so for
every corner (W, F~)

    psi(W(Q)) + F~(Q) / K_max - gamma gain h~(Q)

is concave in Q and least at one of the ends. So two entries for every interval, with a row for every cluster
and corner, bound all sets of data. Where a round deadline falls into an interval, work beyond it counts as
what just keeps it: psi(min(W, c)) is concave, too. Plans come from listed sites.
"""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.bounds.kernels import cheapest_rows
from depl.heuristics.data.data_lines import RATES, corner_lines, exchange_rates, good_sets
from depl.heuristics.data.sites import DataFactors, Priced
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.epochs import compute
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray

Integers = NDArray[np.int64]

_NEAR, _AROUND = 8, 1.5
"""Rates of exchange among those that are used, and how far beyond them they reach."""


@dataclass(frozen=True, eq=False)
class Frontier:
    """Entries, ends of intervals of the volume, and rows, clusters with the data of a corner.

    Attributes
    ----------
    volumes : ndarray
        Of every entry, shape (O,) [data].
    factors : ndarray
        h~ there, shape (O,).
    low, high : ndarray
        Least and greatest h in the interval of the entry, shape (O,).
    below : ndarray
        A line below h there, shape (O,).
    work : ndarray
        Least W, shape (M, O) [resource x time].
    least_work : ndarray
        The least of it in the interval of the entry, shape (M, O) [resource x time].
    clusters : ndarray of int
        Cluster of every row, by position, shape (R,).
    rates : ndarray
        Rate of exchange of every row, shape (R,) [resource x time / cost].
    excess : ndarray
        W over its least, shape (R, O).
    charges : ndarray
        F~ / K_max, shape (R, O) [cost].
    nodes, price, capacity : ndarray
        Of the cluster of every row, the price for all nodes, shape (R,) [1], [cost / resource], [resource].
    communication : ndarray
        Shape (R, M) [time].
    deadline : float
        tau with its tolerance, infinite without one [time].
    weights : ndarray
        What charges count in every stretch of epochs on every cluster, shape (B, N), or (B, 1) if all count
        alike; the mean over all epochs is at most 1.
    stretches : int array (K,), optional
        Stretch of every epoch; one for all of them otherwise.
    """

    volumes: FloatArray
    factors: FloatArray
    low: FloatArray
    high: FloatArray
    below: FloatArray
    work: FloatArray
    least_work: FloatArray
    clusters: Integers
    rates: FloatArray
    excess: FloatArray
    charges: FloatArray
    nodes: FloatArray
    price: FloatArray
    capacity: FloatArray
    communication: FloatArray
    deadline: float
    weights: FloatArray = field(default_factory=lambda: np.ones((1, 1)))
    stretches: Integers | None = None

    @classmethod
    def of(cls, instance: Instance, factors: DataFactors, intervals: int) -> "Frontier":
        """A lower bound of all sites, in intervals that get wider."""
        volumes = np.array([item.volume for item in instance.datasets])
        total, least = math.fsum(volumes.tolist()), float(volumes.min())
        ends = least + (total - least) * np.linspace(0, 1, intervals + 1) ** 1.5
        ends[0], ends[-1] = least * (1 - 1e-12), total * (1 + 1e-12)
        return cls.between(instance, factors, ends)

    @classmethod
    def between(
        cls, instance: Instance, factors: DataFactors, ends: FloatArray, relative: FloatArray = RATES
    ) -> "Frontier":
        """A lower bound of all sites whose volumes lie between rising ends, with corners for some rates."""
        volumes = np.array([item.volume for item in instance.datasets])
        h = np.minimum(factors.at(ends), 1.0)
        lines = np.stack([factors.line_above(a, b) for a, b in itertools.pairwise(ends)])
        below = np.stack([factors.line_below(a, b) for a, b in itertools.pairwise(ends)])
        return cls._made(
            instance,
            np.repeat(ends, 2)[1:-1],
            lines.ravel() * (1 + 1e-12),
            np.repeat(h[:-1], 2) * (1 - 1e-12),
            np.repeat(h[1:], 2) * (1 + 1e-12),
            np.minimum(below.ravel(), 1.0) * (1 - 1e-12),
            _OfClusters.read(
                instance, lambda work, costs: corner_lines(volumes, work, costs, ends, relative), relative
            ),
            in_intervals=True,
        )

    @classmethod
    def guide(cls, instance: Instance, factors: DataFactors, points: int) -> "Frontier":
        """Fractional sets of some volumes as they are: no bound, but what near-optimal sites look like.

        A quarter more volumes lie between the two smallest.
        """
        volumes = np.array([item.volume for item in instance.datasets])
        total, least = math.fsum(volumes.tolist()), float(volumes.min())
        few = points // 4
        even = least + (total - least) * np.linspace(0, 1, points) ** 1.5
        chosen = np.sort(np.concatenate([even, np.geomspace(least, even[1], few + 2)[1:-1]]))
        h = factors.at(chosen)
        sets = _OfClusters.read(instance, lambda work, costs: good_sets(volumes, work, costs, chosen))
        return cls._made(instance, chosen, h, h, h, h, sets, in_intervals=False)

    @classmethod
    def _made(
        cls,
        instance: Instance,
        volumes: FloatArray,
        factors: FloatArray,
        low: FloatArray,
        high: FloatArray,
        below: FloatArray,
        rows: "_OfClusters",
        *,
        in_intervals: bool,
    ) -> "Frontier":
        least = rows.work.min(axis=0)
        _, shares = work_of_data(instance)
        sizes = np.array([model.size for model in instance.models])
        places, tau = [instance.clusters[n] for n in rows.clusters.tolist()], instance.target.round_deadline
        return cls(
            volumes,
            factors,
            low,
            high,
            below,
            shares[:, None] * least,
            shares[:, None] * (np.repeat(least[::2], 2) if in_intervals else least),
            rows.clusters,
            rows.rates,
            np.divide(rows.work, least, out=np.ones_like(rows.work), where=least > 0),
            rows.transfers / max(1, instance.target.maximum_epochs),
            np.array([place.nodes for place in places], dtype=float),
            np.array([place.nodes * place.unit_cost for place in places]),
            np.array([place.capacity for place in places]),
            sizes / np.array([[place.bandwidth] for place in places]),
            math.inf if tau is None else tau * (1 + TIME_TOLERANCE),
        )

    def restricted(self, clusters: Sequence[int]) -> "Frontier":
        """The same on some clusters, by position; no bound for all."""
        rows = np.isin(self.clusters, list(clusters))
        names = ("clusters", "rates", "excess", "charges", "nodes", "price", "capacity", "communication")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def finer_ends(self, entries: Sequence[int], parts: int) -> FloatArray:
        """Ends of intervals of which those with some entries are divided into a number of parts."""
        ends = np.append(self.volumes[::2], self.volumes[-1])
        used = np.unique(np.asarray(entries, dtype=np.int64) // 2)
        inner = [np.linspace(ends[i], ends[i + 1], parts + 1)[1:-1] for i in used.tolist()]
        return np.unique(np.concatenate([ends, *inner]))

    def relative_rates(
        self, instance: Instance, multiplier: float, models: Integers, sites: Integers
    ) -> FloatArray:
        """Rates around those at which a sequence exchanges work for transfers, and a few for all others.

        An epoch that computes with x resources on each node takes multiplier / (x nodes) for a unit of work,
        and pays the weight of its stretch for a K_max-th of the transfers.
        """
        work, shares = work_of_data(instance)
        costs = transfer_costs(instance)[self.clusters].sum(axis=1)
        stretches = np.zeros(len(models), dtype=np.int64) if self.stretches is None else self.stretches
        found = [np.zeros(0)]
        for b, weights in enumerate(self.weights):
            _, time, which = self.rows_at(multiplier, weights)
            pairs = np.unique(np.stack([models, sites])[:, stretches[: len(models)] == b], axis=1)
            m, o, rows = pairs[0], pairs[1], which[pairs[0], pairs[1]]
            computing = time[m, o] - self.communication[rows, m]
            done = self.work[m, o] * self.excess[rows, o]  # x nodes times what computing takes
            weight = np.broadcast_to(weights, len(instance.clusters))[self.clusters[rows]]
            rate = weight / max(1, instance.target.maximum_epochs) / (multiplier * shares[m])
            rate = rate * done / np.maximum(computing, 1e-300) * costs[rows] / work.sum()
            found.append(rate[(rate > 0) & (computing > 0)])
        known = np.concatenate(found)
        if not known.size:
            return RATES
        low, high = np.quantile(known, [0.02, 0.98])
        near = np.geomspace(low / _AROUND, high * _AROUND, _NEAR)
        apart = RATES[(near[0] / 2 > RATES) | (near[-1] * 2 < RATES)]
        return np.sort(np.concatenate([near, apart]))

    def at(self, multiplier: float) -> Priced:
        """The cheapest row of every entry."""
        found = [self.rows_at(multiplier, weights)[:2] for weights in self.weights]
        return Priced(
            np.stack([psi for psi, _ in found]), np.stack([time for _, time in found]), self.stretches
        )

    def charged(self, weights: FloatArray, stretches: Integers) -> "Frontier":
        """Transfers are charged in stretches of epochs, and not in equal shares.

        A cluster is charged for all of its epochs at most the sum of its shares, so any with a sum of at most
        1 keep the bound, and every cluster may have its own. Weights are shares times the number of epochs;
        those of a cluster whose mean over all epochs is above 1 are taken back to it.

        Parameters
        ----------
        weights : ndarray
            As the attribute.
        stretches : ndarray of int
            Stretch of every epoch, shape (K,).
        """
        counts = np.bincount(stretches, minlength=len(weights))
        means = counts @ weights / len(stretches)
        kept = weights / np.maximum(means * (1 + 1e-12), 1.0) * (1 - 1e-12)
        return replace(self, weights=kept, stretches=stretches)

    def like(self, other: "Frontier") -> "Frontier":
        """Transfers are charged in the shares of another frontier."""
        return replace(self, weights=other.weights, stretches=other.stretches)

    @functools.cached_property
    def fastest(self) -> FloatArray:
        """Least times over the rows, shape (1, M, O) [time]; the least work of a cluster counts."""
        found = np.full(self.work.shape, math.inf)
        groups, lightest, _ = self._groups
        for g, r in enumerate(groups[:-1].tolist()):
            speed, sent = self.capacity[r], self.communication[r][:, None]
            in_time = self.least_work / (self.nodes[r] * speed) + sent <= self.deadline
            time = np.minimum(self.work * lightest[g] / speed + sent, self.deadline)
            found = np.minimum(found, np.where(in_time, time, math.inf))
        return found[None]

    def rows_at(
        self, multiplier: float, weights: FloatArray | float = 1.0
    ) -> tuple[FloatArray, FloatArray, Integers]:
        """Price psi with weighted charges, time, and cheapest row of every (model, entry); each (M, O).

        Weights are those of a row of the attribute, or one for all clusters.
        """
        groups, lightest, cheapest = self._groups
        weight: FloatArray = np.ravel(weights)
        weight = weight[self.clusters][:, None] if len(weight) > 1 else weight[:, None]
        first = weight[groups[:-1]] if len(weight) > 1 else weight
        shape = self.work.shape
        psi, time, which = np.full(shape, math.inf), np.zeros(shape), np.full(shape, -1, dtype=np.int64)
        cheapest_rows(
            (groups, lightest, first * cheapest),
            (self.work, self.least_work),
            (self.excess, weight * self.charges),
            (self.nodes, self.price, self.capacity, self.communication),
            self.deadline,
            multiplier,
            (psi, time, which),
        )
        return psi, time, which

    @functools.cached_property
    def _groups(self) -> tuple[Integers, FloatArray, FloatArray]:
        """Where the rows of every cluster begin, and their number; least excess for a node, least charge."""
        firsts = np.concatenate([[0], np.flatnonzero(np.diff(self.clusters)) + 1])
        lightest = np.minimum.reduceat(self.excess, firsts, axis=0) / self.nodes[firsts, None]
        cheapest = np.minimum.reduceat(self.charges, firsts, axis=0)
        return np.append(firsts, len(self.clusters)), lightest * (1 - 1e-12), cheapest


@dataclass(frozen=True, eq=False)
class _OfClusters:
    """Work and transfers of all rows, shape (R, O)."""

    clusters: Integers
    rates: FloatArray
    work: FloatArray
    transfers: FloatArray

    @classmethod
    def read(
        cls,
        instance: Instance,
        of_costs: Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]],
        relative: FloatArray = RATES,
    ) -> "_OfClusters":
        """Clusters to which all data cost the same are looked at once."""
        work, _ = work_of_data(instance)
        costs, which = np.unique(transfer_costs(instance), axis=0, return_inverse=True)
        found = [of_costs(work, row) for row in costs]
        rates = [exchange_rates(work, row, relative) for row in costs]
        which = which.ravel()
        return cls(
            np.repeat(np.arange(len(which)), [len(rates[i]) for i in which]),
            np.concatenate([rates[i] for i in which]),
            np.concatenate([found[i][0] for i in which]),
            np.concatenate([found[i][1] for i in which]),
        )


def transfer_costs(instance: Instance) -> FloatArray:
    """What it costs to bring every dataset to every cluster, shape (N, D) [cost]."""
    order = {item.name: index for index, item in enumerate(instance.datasets)}
    places = {item.name: index for index, item in enumerate(instance.clusters)}
    costs = np.zeros((len(places), len(order)))
    for row in instance.transfers:
        costs[places[row.cluster], order[row.dataset]] = row.cost
    return costs


def work_of_data(instance: Instance) -> tuple[FloatArray, FloatArray]:
    """Work of every dataset alone for the most demanding model, and the share of it that each model asks for.

    That of a set is the sum of its datasets. Shapes (D,) [resource x time] and (M,).
    """
    names = [item.name for item in instance.datasets]
    totals = np.array([compute(instance, 1, model.name, frozenset(names)) for model in instance.models])
    most = instance.models[int(np.argmax(totals))].name
    work = np.array([compute(instance, 1, most, frozenset({name})) for name in names])
    return work, totals / totals.max() if totals.max() > 0 else np.ones(len(totals))
