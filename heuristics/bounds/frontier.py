r"""All sites of an instance with many datasets, relaxed: bounds, and the features of good sites.

Sets of data are known by their volume Q. For a rate of exchange alpha >= 0 the least c + alpha F of work and
transfers of a fractional set, G_alpha(Q), is convex in Q. Between two volumes tangents of these lines bound
every set by corners that are linear in Q, h~ is a line above h, and the reduced cost of an epoch is concave
in Q and least at one of the ends: two entries for every interval, with a row for every cluster and corner,
bound all sets of data (proof: docs, *The loop*). Plans come from listed sites. Work that tables list by epoch
is replaced by a sum over the data below it (`DataWork`), as psi rises in the work.
"""

import functools
import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.data.sites import DataFactors, Priced
from depl.models.foundation.compiling import kernel
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem import epoch_costs
from depl.models.problem.epochs import compute
from depl.models.problem.instance import Instance, Model
from depl.models.problem.laws import FloatArray

Integers = NDArray[np.int64]

RATES = np.array([4.0**-5, 4.0**-4, 4.0**-3, 4.0**-2, 4.0**-1, 4.0])
"""Rates of exchange, in units of all work over all transfers; 0 comes before them."""

_BELOW = 1 - 1e-12
"""Factor by which shares of tabled work are lowered: a share times a sum over D datasets is off by about
D 1e-16 of itself, and may not come out above the table."""

_NEAR, _AROUND = 8, 1.5
"""Rates of exchange among those that are used, and how far beyond them they reach."""

_FIRST_INTERVALS = 8
"""Parts of the first interval, in equal ratios: set by hand. The least dataset may be a thousandth of that
interval, and where sets of next to no volume suffice, one interval for all of them proves nothing."""

_TOO_MUCH = 1e3
"""Factor on work and transfers where the data that a cluster may use have not the volume. Set by hand: it
keeps the guide, which proves nothing, away from there."""


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
        F~ / K_max, infinite where a cluster may not have such data, shape (R, O) [cost].
    epochs : int
        K_max, or 1 if that is 0.
    nodes, price, capacity : ndarray
        Of the cluster of every row, the price for all nodes, shape (R,) [1], [cost / resource], [resource].
    communication : ndarray
        Shape (R, M), infinite where a model does not fit [time].
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
    epochs: int
    weights: FloatArray = field(default_factory=lambda: np.ones((1, 1)))
    stretches: Integers | None = None

    @classmethod
    def of(cls, instance: Instance, factors: DataFactors, intervals: int) -> "Frontier":
        """A lower bound of all sites, in intervals that get wider."""
        volumes = np.array([item.volume for item in instance.datasets])
        total, least = math.fsum(volumes.tolist()), float(volumes.min())
        even = least + (total - least) * np.linspace(0, 1, intervals + 1) ** 1.5
        ends = np.sort(np.concatenate([even, np.geomspace(least, even[1], _FIRST_INTERVALS + 1)[1:-1]]))
        ends[0], ends[-1] = least * (1 - 1e-12), total * (1 + 1e-12)
        return cls.between(instance, factors, ends)

    @classmethod
    def between(
        cls, instance: Instance, factors: DataFactors, ends: FloatArray, relative: FloatArray = RATES
    ) -> "Frontier":
        """A lower bound of all sites whose volumes lie between rising ends, with corners for some rates."""
        volumes = np.array([item.volume for item in instance.datasets])
        h = np.minimum(factors.at(ends), 1.0)
        lines = [factors.lines(a, b) for a, b in itertools.pairwise(ends)]
        above, below = (np.concatenate(side) for side in zip(*lines, strict=True))
        return cls._made(
            instance,
            np.repeat(ends, 2)[1:-1],
            (
                above * (1 + 1e-12),
                np.repeat(h[:-1], 2) * (1 - 1e-12),
                np.repeat(h[1:], 2) * (1 + 1e-12),
                np.minimum(below, 1.0) * (1 - 1e-12),
            ),
            _of_clusters(
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
        sets = _of_clusters(
            instance,
            lambda work, costs, mine: _usable_sets(volumes[mine], work[mine], costs[mine], chosen),
            usable=usable_data(instance),
        )
        return cls._made(instance, chosen, (h, h, h, h), sets, in_intervals=False)

    @classmethod
    def _made(
        cls,
        instance: Instance,
        volumes: FloatArray,
        factors: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
        rows: "_Rows",
        *,
        in_intervals: bool,
    ) -> "Frontier":
        clusters, rates, work, transfers = rows
        least, shares = work.min(axis=0), work_of_data(instance).shares
        sizes = np.array([model.size for model in instance.models])
        epochs = max(1, instance.target.maximum_epochs)
        places, tau = [instance.clusters[n] for n in clusters.tolist()], instance.target.round_deadline
        sent = sizes / np.array([[place.bandwidth] for place in places])
        if instance.rules.restrict_models:
            names = [model.name for model in instance.models]
            sent = np.where(instance.rules.fitting([p.name for p in places], names), sent, math.inf)
        return cls(
            volumes,
            *factors,
            shares[:, None] * least,
            shares[:, None] * (np.repeat(least[::2], 2) if in_intervals else least),
            clusters,
            rates,
            np.divide(work, least, out=np.ones_like(work), where=least > 0),
            transfers / epochs,
            np.array([place.nodes for place in places], dtype=float),
            np.array([place.nodes * place.unit_cost for place in places]),
            np.array([place.capacity for place in places]),
            sent,
            math.inf if tau is None else tau * (1 + TIME_TOLERANCE),
            epochs,
        )

    def restricted(self, clusters: Sequence[int]) -> "Frontier":
        """The same on some clusters, by position; no bound for all."""
        rows = np.isin(self.clusters, list(clusters))
        names = ("clusters", "rates", "excess", "charges", "nodes", "price", "capacity", "communication")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def thinned(self, step: int) -> "Frontier":
        """The same with only some of the volumes, the least and the greatest among them; no bound for all.

        Of a `guide`, whose entries do not come in pairs.
        """
        last = len(self.volumes) - 1
        kept = np.unique([*range(0, last, step), last])
        named = ("volumes", "factors", "low", "high", "below")
        tables = ("work", "least_work", "excess", "charges")
        found: dict[str, Any] = {name: getattr(self, name)[kept] for name in named}
        found |= {name: np.ascontiguousarray(getattr(self, name)[:, kept]) for name in tables}
        return replace(self, **found)

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
        work, shares, _ = work_of_data(instance)
        if not work.any() or multiplier == 0:  # transfers buy no work, or work costs no time
            return RATES
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

    def within(
        self, windows: Mapping[int, tuple[int, int]], obliged: Collection[int]
    ) -> tuple["Frontier", float]:
        """Plans whose sets of data have volumes in some intervals: a bound of them, and what they pay.

        An obliged cluster has a set: it pays what all sets in its window cost at least to bring, and its
        epochs are charged for the rest, which is the bound with F split in two.

        Parameters
        ----------
        windows : mapping of int to (int, int)
            By cluster the first interval and the one after the last; equal where it has no data.
        obliged : collection of int
            Clusters, by position.

        Returns
        -------
        frontier : Frontier
        paid : float
            Transfers [cost].
        """
        charges, paid, intervals = self.charges.copy(), 0.0, np.arange(len(self.volumes)) // 2
        for cluster in {*windows, *obliged}:
            rows = np.flatnonzero(self.clusters == cluster)
            first, end = windows.get(cluster, (0, len(self.volumes)))
            outside = (intervals < first) | (intervals >= end)
            charges[np.ix_(rows, np.flatnonzero(outside))] = math.inf
            if cluster in obliged and rows.size and not outside.all():
                least = float(charges[rows].min()) * (1 - 1e-12)
                charges[rows] -= least
                paid += least * self.epochs
        return replace(self, charges=charges), paid

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
            (groups, lightest, _weighed(first, cheapest)),
            (self.work, self.least_work),
            (self.excess, _weighed(weight, self.charges)),
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


def _weighed(weights: FloatArray, charges: FloatArray) -> FloatArray:
    """Charges as they count; infinite ones whatever they weigh."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(charges), charges, weights * charges)


_Rows = tuple[Integers, FloatArray, FloatArray, FloatArray]
"""Clusters, rates, work and transfers of all rows, shape (R,), (R,), (R, O) and (R, O)."""


def _of_clusters(
    instance: Instance,
    of_costs: Callable[..., tuple[FloatArray, FloatArray]],
    relative: FloatArray = RATES,
    usable: NDArray[np.bool_] | None = None,
) -> _Rows:
    """Clusters to which all data cost the same are looked at once; not those where nothing can train.

    Without ``usable``, shape (N, D), sets are made of all data, whether or not a cluster may use them, which
    is a bound all the same. With it ``of_costs`` has its row for a third argument.
    """
    work, _, fixed = work_of_data(instance)
    clusters = open_clusters(instance)
    table = transfer_costs(instance)[clusters]
    every = np.ones(table.shape, dtype=bool) if usable is None else usable[clusters]
    costs, which = np.unique(np.hstack([table, every]), axis=0, return_inverse=True)
    held = [(row[: len(work)], row[len(work) :] > 0) for row in costs]
    found = [of_costs(work, *(pair if usable is not None else pair[:1])) for pair in held]
    rates, which = [exchange_rates(work[mine], row[mine], relative) for row, mine in held], which.ravel()
    return (
        np.repeat(clusters, [len(rates[i]) for i in which]),
        np.concatenate([rates[i] for i in which]),
        np.concatenate([found[i][0] + fixed for i in which]),
        np.concatenate([found[i][1] for i in which]),
    )


def _usable_sets(
    volumes: FloatArray, work: FloatArray, costs: FloatArray, wanted: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Work and transfers of good sets of some datasets; where they have not so much volume, far too much."""
    total = math.fsum(volumes.tolist())
    found, paid = good_sets(volumes, work, costs, np.minimum(wanted, total))
    factors = np.where(wanted > total * (1 + 1e-9), _TOO_MUCH, 1.0)
    return found * factors, paid * factors


def transfer_costs(instance: Instance) -> FloatArray:
    """What it costs to bring every dataset to every cluster, shape (N, D) [cost]."""
    order = {item.name: index for index, item in enumerate(instance.datasets)}
    places = {item.name: index for index, item in enumerate(instance.clusters)}
    costs = np.zeros((len(places), len(order)))
    for row in instance.transfers:
        costs[places[row.cluster], order[row.dataset]] = row.cost
    return costs


def open_clusters(instance: Instance) -> Integers:
    """Clusters, by position, that may use some dataset and fit some model."""
    rules, places = instance.rules, instance.clusters
    return np.array([n for n, p in enumerate(places) if rules.data[p.name] and rules.models[p.name]])


def usable_data(instance: Instance) -> NDArray[np.bool_]:
    """Whether a dataset may be used on a cluster, shape (N, D)."""
    places, names = ([item.name for item in group] for group in (instance.clusters, instance.datasets))
    return instance.rules.usable(places, names)


class DataWork(NamedTuple):
    """What data ask of an epoch: model m computes at least shares[m] * (fixed + the sum of alone over D).

    Without tables this is exact and ``fixed`` is 0; with tables it is a lower bound over the epochs.
    """

    alone: FloatArray
    shares: FloatArray
    fixed: float


def work_of_data(instance: Instance) -> DataWork:
    """Work of every dataset alone, shape (D,) [resource x time], and the share of each model, shape (M,).

    Without tables that of the most demanding model, and the shares are exact.
    """
    if any(model.compute is not None for model in instance.models):
        return _least_tabled(instance)
    names = [item.name for item in instance.datasets]
    totals = np.array([compute(instance, 1, model.name, frozenset(names)) for model in instance.models])
    most = instance.models[int(np.argmax(totals))].name
    work = np.array([compute(instance, 1, most, frozenset({name})) for name in names])
    return DataWork(work, totals / totals.max() if totals.max() > 0 else np.ones(len(totals)), 0.0)


def _least_tabled(instance: Instance) -> DataWork:
    """The same below tables by epoch: those of the model with most work, scaled so that no model does less.

    A model whose work does not depend on the data does at least what its share of all data makes; if all
    models are so, nothing depends on the data.
    """
    datasets = [frozenset({item.name}) for item in instance.datasets]
    fixed = np.array([any(t.dataset is None for t in model.compute or ()) for model in instance.models])
    least = np.array([[least_work(instance, model, data) for data in datasets] for model in instance.models])
    if fixed.all():
        return DataWork(np.zeros(len(datasets)), least[:, 0] * _BELOW, 1.0)
    totals = np.where(fixed, -1.0, least.sum(axis=1))
    alone = least[int(np.argmax(totals))]
    if not alone.any():
        return DataWork(alone, np.ones(len(least)), 0.0)
    ratios = least[:, alone > 0] / alone[alone > 0]
    shares = np.where(fixed, least[:, 0] / math.fsum(alone.tolist()), ratios.min(axis=1))
    return DataWork(alone, shares * _BELOW, 0.0)


def least_work(instance: Instance, model: Model, datasets: frozenset[str]) -> float:
    """The least work of a set over all epochs [resource x time]."""
    epochs = range(1, (max(1, instance.target.maximum_epochs) if model.compute is not None else 1) + 1)
    return min(compute(instance, k, model.name, datasets) for k in epochs)


_LOWERED = 1 - 1e-12
"""Factor by which lines are lowered, so that rounding raises none above a set: they are made of some
operations on sums of D numbers, off by about D 1e-16 of themselves, which stays below 1e-12 up to D of some
thousands."""


def corner_lines(
    volumes: FloatArray,
    work: FloatArray,
    transfers: FloatArray,
    ends: FloatArray,
    relative: FloatArray = RATES,
) -> tuple[FloatArray, FloatArray]:
    """Work and transfers of the corners of what sets obey, at both ends of every interval.

    On every interval the corners are linear in Q, and (c, F) of every set is at least a mean of them: a
    concave function that rises in both is least at a corner, at an end of the interval.

    Parameters
    ----------
    volumes, work, transfers : ndarray
        Of every dataset, shape (D,) [data], [resource x time], [cost].
    ends : ndarray
        Rising volumes, shape (I + 1,).
    relative : ndarray
        Rising rates of exchange, in units of all work over all transfers.

    Returns
    -------
    work, transfers : ndarray
        Shape (J, 2 I), a corner for every rate of `exchange_rates`; an unused line has that of the last one.
    """
    first = _whole_lines(volumes, work, ends)
    if not transfers.any():
        return first[None], np.zeros((1, len(first)))
    least = tangents(volumes, transfers, ends) * _LOWERED
    rates = exchange_rates(work, transfers, relative)
    lines = np.stack([tangents(volumes, work + rate * transfers, ends) for rate in rates])
    lines[0] = first
    lines[1:] *= _LOWERED ** np.arange(2, len(rates) + 1)[:, None]  # where they meet is not rounded up
    used = _used(lines, rates, least)
    corners, paid = [], []
    line, rate = first, np.zeros(len(first))
    for j in range(1, len(rates)):
        meeting = (lines[j] - line) / (rates[j] - rate)
        at = np.where(used[j], meeting, least)
        corners.append(line - rate * at)
        paid.append(at)
        line, rate = np.where(used[j], lines[j], line), np.where(used[j], rates[j], rate)
    last = line - rate * least
    kept = np.vstack([used[1:], np.ones(len(first), dtype=bool)])
    return np.where(kept, np.array([*corners, last]), last), np.where(kept, np.array([*paid, least]), least)


def good_sets(
    volumes: FloatArray, work: FloatArray, transfers: FloatArray, wanted: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Work and transfers of fractional sets of some volumes, in order of every rate; shape (J, len(wanted)).

    Parameters are those of `corner_lines`; ``wanted`` has the volumes.
    """
    rates = exchange_rates(work, transfers)
    found = np.empty((2, len(rates), len(wanted)))
    for j, rate in enumerate(rates):
        order = order_of(volumes, work, transfers, rate)
        found[:, j] = _along(volumes, work, transfers, order, wanted)
        for i in np.flatnonzero(wanted < volumes.max()).tolist():  # small ones pay for whole datasets
            fits = order[fitting(volumes, float(wanted[i]))[order]]
            cheapest = fits[np.argmin((work + rate * transfers)[fits])]
            value = _along(volumes, work, transfers, fits, wanted[i : i + 1])[:, 0]
            short = value[0] + rate * value[1] < work[cheapest] + rate * transfers[cheapest]
            found[:, j, i] = (work[cheapest], transfers[cheapest]) if short else value
    return found[0], found[1]


def order_of(volumes: FloatArray, work: FloatArray, transfers: FloatArray, rate: float) -> NDArray[np.int64]:
    """Datasets by (c + alpha F) / volume, those at home first where that is the same."""
    return np.lexsort((transfers / volumes, (work + rate * transfers) / volumes))


def exchange_rates(work: FloatArray, transfers: FloatArray, relative: FloatArray = RATES) -> FloatArray:
    """0 and the rates that corners are made for; 0 alone where nothing costs a transfer."""
    if not transfers.any():
        return np.zeros(1)
    return np.concatenate([[0.0], relative * ((work.sum() or 1.0) / transfers.sum())])


def fitting(volumes: FloatArray, most: float) -> NDArray[np.bool_]:
    """Datasets that a set of some volume may have."""
    return np.asarray(volumes <= max(most, float(volumes.min())) * (1 + 1e-9))


def tangents(volumes: FloatArray, costs: FloatArray, ends: FloatArray) -> FloatArray:
    """Lines below the least cost at both ends of every interval, nowhere negative; shape (2 I,).

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


def _used(lines: FloatArray, rates: FloatArray, least: FloatArray) -> NDArray[np.bool_]:
    """Lines that take over from one another in order of their rates at both ends, before F_min; (J, 2 I).

    Leaving lines out only makes corners lower. Line 0 always counts.
    """
    used = np.ones(lines.shape, dtype=bool)
    for _ in range(len(rates) * len(rates)):
        before = np.zeros(lines.shape[1], dtype=np.int64)
        meets = np.full(lines.shape[1], np.inf)
        wrong = np.zeros(lines.shape, dtype=bool)
        everywhere = np.arange(lines.shape[1])
        for j in range(1, len(rates)):
            meeting = (lines[j] - lines[before, everywhere]) / (rates[j] - rates[before])
            early = used[j] & (meeting > meets)
            wrong[before[early], everywhere[early]] = True
            wrong[j] |= used[j] & (meeting < least)
            meets, before = np.where(used[j], meeting, meets), np.where(used[j], j, before)
        if not wrong.any():
            break
        pairs = wrong.reshape(len(rates), -1, 2).any(axis=2)
        used &= ~np.repeat(pairs, 2, axis=1)
    return used


def _whole_lines(volumes: FloatArray, work: FloatArray, ends: FloatArray) -> FloatArray:
    """As `tangents`, for the work of sets that pay for whole datasets where they are small."""
    lines = tangents(volumes, work, ends)
    largest = float(volumes.max())
    for i, (low, high) in enumerate(itertools.pairwise(ends.tolist())):
        if low > largest:
            break
        fits = fitting(volumes, high)
        least = float(work[fits].min())
        line = tangents(volumes[fits], work[fits], np.array([low, high]))
        lines[2 * i : 2 * i + 2] = line if line.sum() > 2 * least else least
    return np.asarray(lines * _LOWERED)


def _fractional(volumes: FloatArray, costs: FloatArray, wanted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least cost of a fractional set of each wanted volume, and the cost of more volume there."""
    order = np.argsort(costs / volumes, kind="stable")
    reached = np.concatenate([[0.0], np.cumsum(volumes[order])])
    paid = np.concatenate([[0.0], np.cumsum(costs[order])])
    rate = (costs / volumes)[order]
    place = np.clip(np.searchsorted(reached, wanted, side="right") - 1, 0, len(rate) - 1)
    return np.interp(wanted, reached, paid), rate[place]


def _along(
    volumes: FloatArray,
    work: FloatArray,
    transfers: FloatArray,
    order: NDArray[np.int64],
    wanted: FloatArray,
) -> FloatArray:
    """Work and transfers of the first datasets of an order, up to wanted volumes."""
    reached = np.cumsum(np.append(0.0, volumes[order]))
    sums = [np.cumsum(np.append(0.0, part[order])) for part in (work, transfers)]
    return np.stack([np.interp(wanted, reached, part) for part in sums])


drive = kernel(interpreted=True)(epoch_costs.drive)
priced = kernel(interpreted=True)(epoch_costs.priced)
least_resources = kernel(interpreted=True)(epoch_costs.least_resources)

Floats = NDArray[np.floating[Any]]


@kernel()
def cheapest_rows(
    clusters: tuple[Integers, Floats, Floats],
    demands: tuple[Floats, Floats],
    rows: tuple[Floats, Floats],
    offers: tuple[Floats, Floats, Floats, Floats],
    deadline: float,
    multiplier: float,
    found: tuple[Floats, Floats, Integers],
) -> None:
    """Least psi of every (model, entry) over rows of a frontier, at a price of time.

    Clusters come in order of psi in the middle, so that most are passed over because of what the least of
    their work and charges costs at least: time at full capacity, or 2 (multiplier price work)**(1/2). Entries
    are left out where not even the least work keeps the deadline; work beyond what keeps it counts as what
    just keeps it, so that psi stays concave over an interval of which a part is late.

    Where a model does not fit, communication is infinite.

    Parameters
    ----------
    clusters : tuple
        Where the rows of every cluster begin, and their number, shape (N + 1,); the least excess for a node
        and the least charge of its rows, shape (N, J).
    demands : tuple
        Work and the least of it in the interval of every entry, shape (M, J).
    rows : tuple
        Excess, nowhere below 1, and charges, shape (R, J): a node computes work excess / nodes.
    offers : tuple
        Nodes, price and capacity of every row, shape (R,), and communication, shape (R, M).
    found : tuple
        Receives psi (infinite before), time and the row (-1 before), shape (M, J).
    """
    groups, lightest, cheapest = clusters
    work, least_work = demands
    excess, charges = rows
    nodes, price, capacity, communication = offers
    psi, time, which = found
    for m in range(work.shape[0]):
        waits = communication[:, m]
        for g in _in_order(groups, work[m, work.shape[1] // 2], nodes, price, capacity, waits, multiplier):
            first = groups[g]
            sent, full, expensive = waits[first], capacity[first], 4 * multiplier * price[first]
            left, waited = deadline - sent, multiplier * sent
            driven = drive(multiplier, price[first])
            for j in range(work.shape[1]):
                c = min(work[m, j] * lightest[g, j], full * left)
                room = psi[m, j] - waited - cheapest[g, j]
                if room <= multiplier * c / full or room * room < expensive * c:
                    continue
                if math.isinf(sent) or least_work[m, j] / (nodes[first] * full) + sent > deadline:
                    continue
                for r in range(first, groups[g + 1]):
                    c = min(work[m, j] * excess[r, j] / nodes[first], full * left)
                    room = psi[m, j] - waited - charges[r, j]
                    if room <= multiplier * c / full or room * room < expensive * c:
                        continue
                    least = c / left if c > 0 else 0.0
                    value, taken = priced(c, price[r], full, sent, least, multiplier, driven)
                    value += charges[r, j]
                    if value < psi[m, j]:
                        psi[m, j] = value
                        time[m, j] = taken
                        which[m, j] = r


@kernel()
def _in_order(
    groups: Integers,
    work: float,
    nodes: Floats,
    price: Floats,
    capacity: Floats,
    communication: Floats,
    multiplier: float,
) -> Integers:
    """Clusters by psi for some work, deadlines aside."""
    values = np.empty(groups.size - 1)
    for g in range(values.size):
        n = groups[g]
        driven = drive(multiplier, price[n])
        values[g], _ = priced(
            work / nodes[n], price[n], capacity[n], communication[n], 0.0, multiplier, driven
        )
    return np.argsort(values)


@kernel(interpreted=True)
def add_prices(
    work: Floats,
    price: Floats,
    capacity: Floats,
    communication: Floats,
    deadline: float,
    multiplier: float,
    times: float,
    totals: Floats,
) -> None:
    """Add psi(multiplier) of each epoch, some times, to its total; arrays of shape (E,), as in `Load`.

    For a few dozen epochs that are asked for once; `EpochCosts` is quicker where they are asked again.
    """
    for i in range(work.size):
        least = least_resources(work[i], capacity[i], communication[i], deadline)
        driven = drive(multiplier, price[i])
        totals[i] += (
            times * priced(work[i], price[i], capacity[i], communication[i], least, multiplier, driven)[0]
        )
