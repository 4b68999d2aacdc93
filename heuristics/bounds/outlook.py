"""The whole instance at a glance, with many datasets: prices, a lower bound, and sites worth listing.

A coarse frontier on the clusters that are cheapest at some price of time guides; what it finds is proved on
the full frontier over all clusters, by one evaluation of the dual. Sites are listed around the volumes and
clusters that the guide uses: sets of data in order of work and transfers per volume, at the rate of exchange
that is best there, and those that are best if transfers count several times, as few epochs may pay for one.
In equal shares a cluster that is best in a third of all epochs pays a third of its transfers. Shares of its
own are found by dual ascent, as for the location of facilities (`Opening`); any shares leave a bound.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.bounds.dual import Bound, Cut, Dual, Part, Prices, start_prices
from depl.heuristics.bounds.frontier import (
    Frontier,
    fitting,
    order_of,
    transfer_costs,
    usable_data,
    work_of_data,
)
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.requirement import Requirement, VarianceRange
from depl.heuristics.data.sites import DataFactors, Site
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray

_COARSE = 64
"""Intervals of the volume in the guide. Set by hand: time and memory of its dynamic programs are in
proportion; nothing is proved on it, so fewer only make its prices and volumes less exact."""
_SKIPPED = 8
"""Of so many volumes of the guide one is kept where clusters are picked for it. Set by hand: which cluster is
cheapest changes slowly with the volume, and every price of time asks for all of them."""
_THIN = 4
"""Of so many volumes of the guide one is kept where the first prices are looked for. Set by hand: each price
of time then takes a quarter of the time, and the guide itself goes on from the prices that are found."""
_TIME_PRICES = 60
"""Prices of time at which clusters are picked, over 18 decades: a factor of 2.02 from one to the next. Set by
hand: finer steps may find a cluster that is cheapest only in between."""
_VOLUMES = 4
"""Volumes of each model for which sites are listed, in the middle of equal parts of what is used. Set by
hand: with `_CLUSTERS` and two countings of transfers there are up to 32 rows for each model, of one or two
sets."""
_CLUSTERS = 4
"""Clusters for which sites are listed at a volume, the cheapest first. Set by hand: see `_VOLUMES`."""
_MOST_SITES = 80
"""Sites that are listed, those first that stand for most epochs. Set by hand: the time of a dual on them is
in proportion; a site that is left out may still come in at the prices of a plan."""
_TIMES_PAID = (1.0, 4.0)
"""How often a transfer counts: once, and as if few epochs paid for it. Set by hand: the second lists sets
that cost less to bring."""
_ROUGHLY = 1e-3
"""Relative gap at which cutting planes on fewer volumes end. Set by hand: those volumes are off by more."""
_COARSELY = 0.03
"""Share of the volume that the last dataset of a set has to have for the set without it to be listed, too.
Set by hand: below, both are nearly the same site, and one is enough."""
_LARGE = 1e30
"""Cost beyond which a bound counts as infinite: the guide's plans have no known highest cost."""
_SHARINGS, _WORTHWHILE = 3, 5e-3
"""Times that transfers are charged anew, at the prices found the time before, and the relative rise of the
guide's bound below which that ends. Set by hand: each takes some seconds at full size."""


@dataclass(eq=False)
class Outlook:
    """The relaxation of an instance with more datasets than are listed."""

    instance: Instance
    learning: Learning
    factors: DataFactors
    guide: Dual = field(init=False)
    thin: Dual = field(init=False)
    charged: tuple[FloatArray, NDArray[np.int64]] | None = field(default=None, init=False)
    latest: Prices | None = field(default=None, init=False)
    _cuts: list[Cut] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        """Build the guide."""
        self._volumes = np.array([item.volume for item in self.instance.datasets])
        self._work = work_of_data(self.instance).alone
        self._transfers = transfer_costs(self.instance)
        self._usable = usable_data(self.instance)
        self._coarse = Frontier.guide(self.instance, self.factors, _COARSE)
        self._play = self._in_play()
        self._guide_places = self._coarse.restricted(self._play)
        self.part = Part(np.zeros(len(self._coarse.low)))
        self.guide = self._guide_in(None)
        thin = self._guide_places.thinned(_THIN)
        self.thin = Dual(self.learning, thin, self.instance.target.maximum_time, _LARGE, closed=_ROUGHLY)

    def start(self, requirement: Requirement) -> Prices:
        """Prices to begin with."""
        return start_prices(self.thin, Part(np.zeros(len(self.thin.places.low))), requirement)

    def first(self, requirement: Requirement, prices: Prices) -> Bound:
        """What the guide's bound nearly is, on fewer volumes: its sites are those of ``thin``."""
        return self.thin.bound(Part(np.zeros(len(self.thin.places.low))), requirement, prices)

    def bound(self, requirement: Requirement, prices: Prices) -> Bound:
        """The guide's bound: not proved for the instance."""
        found = self.guide.bound(self.part, requirement, prices)
        self.latest = found.prices
        return found

    def share(self, requirement: Requirement, found: Bound, stop: Callable[[], bool]) -> Bound:
        """Charge every cluster for its transfers where it is worth them, as long as the bound rises.

        The price of time is left as it is, in the range of the sequence that is cheapest.

        Parameters
        ----------
        found : Bound
            The guide's bound in equal shares, with its prices.
        """
        best = tried = found
        self._cuts = list(self.guide.cuts)
        for _ in range(_SHARINGS):
            if tried.cut is None or stop():
                break
            count = len(self.instance.clusters)
            charged = charged_by_cluster(self.learning, self._coarse, count, tried.cut, tried.prices)
            if charged is None:
                break
            self.guide = self._guide_in(charged)
            self.guide.same_time = True
            single = replace(requirement, ranges=(_range_of(requirement, tried.cut.variance),))
            before, tried = best.value, self.guide.bound(self.part, single, best.prices)
            self._cuts += self.guide.cuts
            if tried.value > best.value:
                best, self.charged = tried, charged
            if not tried.value > before * (1 + _WORTHWHILE):
                break
        self.guide, self.latest = self._guide_in(self.charged), best.prices
        return best

    def _guide_in(self, charged: tuple[FloatArray, NDArray[np.int64]] | None) -> Dual:
        places = self._guide_places if charged is None else self._guide_places.charged(*charged)
        return Dual(self.learning, places, self.instance.target.maximum_time, _LARGE)

    def sites(self, prices: Prices) -> list[Site]:
        """Sites for the volumes and clusters that are in use near some prices."""
        cuts = [*self._cuts, *self.guide.cuts]
        return self._sites_of([cut for cut in cuts if math.isfinite(cut.time)], prices)

    def used_at(self, prices: Prices) -> list[Site]:
        """Sites of the sequence that is cheapest at some prices."""
        _, cut = self.guide.cheapest(self.part, prices)
        return [] if cut is None else self._sites_of([cut], prices)

    def _sites_of(self, cuts: Sequence[Cut], prices: Prices) -> list[Site]:
        uses: dict[tuple[int, int], int] = {}
        for cut in cuts:
            for model, entry in zip(cut.models.tolist(), cut.sites.tolist(), strict=True):
                uses[model, entry] = uses.get((model, entry), 0) + 1
        found: dict[Site, float] = {}
        for model, entry, share in _representative(uses):
            rows = [self._best_rows(model, entry, prices.time, times) for times in _TIMES_PAID]
            for row in dict.fromkeys(itertools.chain(*rows)):
                for data in self._sets(row, entry):
                    site = Site(int(self._coarse.clusters[row]), data)
                    found[site] = found.get(site, 0.0) + share
        return sorted(found, key=lambda site: -found[site])[:_MOST_SITES]

    def _in_play(self) -> list[int]:
        """Clusters that are cheapest for some model and volume at some price of time."""
        few = self._coarse.thinned(_SKIPPED)
        play: set[int] = set()
        for times in _TIMES_PAID:
            paid = replace(few, charges=times * few.charges)
            for multiplier in np.geomspace(1e-9, 1e9, _TIME_PRICES):
                rows = np.unique(paid.rows_at(float(multiplier))[2])
                play.update(few.clusters[rows[rows >= 0]].tolist())
        return sorted(play)

    def _best_rows(self, model: int, entry: int, multiplier: float, times: float) -> list[int]:
        """The cheapest row of each of the clusters that are cheapest for a model at a volume."""
        psi = _psi(self._coarse, model, multiplier, [entry])[:, 0] + times * self._coarse.charges[:, entry]
        best: dict[int, int] = {}
        for row in np.argsort(psi, kind="stable").tolist():
            if len(best) == _CLUSTERS or not math.isfinite(psi[row]):
                break
            best.setdefault(int(self._coarse.clusters[row]), row)
        return list(best.values())

    def _sets(self, row: int, entry: int) -> list[frozenset[str]]:
        """Datasets of a row that may be used there, none larger than a volume: the first that reach it.

        And the same but the last.

        The smallest sets pay for a whole dataset, so there the cheapest one is taken.
        """
        wanted, cluster = float(self._coarse.volumes[entry]), self._coarse.clusters[row]
        rate, transfers = float(self._coarse.rates[row]), self._transfers[cluster]
        weights = self._work + rate * transfers
        order = order_of(self._volumes, self._work, transfers, rate)
        order = order[self._usable[cluster][order]]
        order = order[fitting(self._volumes[order], wanted)]
        size = min(int((np.cumsum(self._volumes[order]) < wanted * (1 - 1e-9)).sum()) + 1, len(order))
        chosen = [order[:size] if size > 1 else order[[np.argmin(weights[order])]]]
        if size > 1 and self._volumes[order[size - 1]] > _COARSELY * wanted:
            chosen.append(order[: size - 1])
        return [frozenset(self.instance.datasets[d].name for d in kept.tolist()) for kept in chosen]


def _range_of(requirement: Requirement, variance: float) -> VarianceRange:
    """The range in which a variance lies, or the nearest."""
    return min(requirement.ranges, key=lambda piece: max(piece.low - variance, variance - piece.high))


def _representative(uses: dict[tuple[int, int], int]) -> Sequence[tuple[int, int, float]]:
    """A few (model, entry) pairs in the middle of what is used, each with its share."""
    found = []
    for model in sorted({model for model, _ in uses}):
        rows = sorted((entry, count) for (m, entry), count in uses.items() if m == model)
        total = sum(count for _, count in rows)
        levels = (np.arange(_VOLUMES) + 0.5) / _VOLUMES * total
        sums = np.cumsum([count for _, count in rows])
        entries = {rows[int(np.searchsorted(sums, level))][0] for level in levels}
        found += [(model, entry, total / len(entries)) for entry in sorted(entries)]
    return found


Integers = NDArray[np.int64]

_STRETCHES = 4
"""Stretches of the epochs that a sequence trains, each with shares of its own. Set by hand: psi is looked for
once for each, in time and memory; fewer know less of where a cluster is worth its transfers."""
_HALVINGS, _SWEEPS = 14, 2
"""Steps of a bisection, and times that all stretches are raised in turn. Set by hand: 2**-14 of what an epoch
may gain is little beside the rest, and the second sweep takes what the first left over."""


@dataclass(frozen=True, eq=False)
class Opening:
    """Columns, sets of data on clusters, and what an epoch of every stretch costs on them.

    Attributes
    ----------
    firsts : int array (G,)
        Where the rows of every cluster begin.
    costs : ndarray
        r of an epoch in the middle of every stretch, shape (B, R, O) [cost].
    transfers : ndarray
        F, shape (R, O) [cost].
    counts : int array (B,)
        Epochs of every stretch.
    """

    firsts: Integers
    costs: FloatArray
    transfers: FloatArray
    counts: Integers

    def shares(self, stretch: int, value: float) -> FloatArray:
        """alpha of every cluster at a value of the epochs of a stretch; infinite beyond what is free."""
        missing = np.maximum(value - self.costs[stretch], 0.0)
        asked = np.divide(missing, self.transfers, out=np.zeros_like(missing), where=self.transfers > 0)
        asked[(self.transfers <= 0) & (missing > 1e-12 * abs(value))] = math.inf
        return np.asarray(np.maximum.reduceat(asked.max(axis=1), self.firsts))

    def raised(self) -> FloatArray:
        """alpha of every stretch and cluster after dual ascent, shape (B, G); the last stretch is idle.

        Epochs that are not trained are worth 0, all others at least what they cost in equal shares.
        """
        stretches = len(self.costs) - 1
        equal = self.transfers / self.counts.sum()
        values = [float((self.costs[b] + equal).min()) for b in range(stretches)]
        values.append(min(0.0, float((self.costs[-1] + equal).min())))
        low = [float(self.costs[b].min()) for b in range(stretches)] + [0.0]
        shares = np.stack([self.shares(b, value) for b, value in enumerate(values)])
        if not np.isfinite(shares).all():
            return np.full(shares.shape, 1 / self.counts.sum())
        for sweep in range(_SWEEPS):
            for b in range(stretches):
                others = self.counts @ shares - self.counts[b] * shares[b]
                room = np.maximum(1 - others, 0.0) / self.counts[b]
                if sweep == 0:  # leave something for the stretches to come
                    room = np.minimum(room, shares[b] + (room - shares[b]) / (stretches - b))
                values[b], shares[b] = self._most(b, (values[b], low[b]), room)
        return shares

    def _most(self, stretch: int, ends: tuple[float, float], room: FloatArray) -> tuple[float, FloatArray]:
        """The greatest value of a stretch whose shares fit into what room is left."""
        known, least = ends
        step = max(known - least, 1e-9 * abs(known))
        best = known, self.shares(stretch, known)
        high = known + step
        for _ in range(_HALVINGS):
            if not (self.shares(stretch, high) <= room).all():
                break
            best, high = (high, self.shares(stretch, high)), high + 2 * (high - known)
        low = best[0]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            found = self.shares(stretch, middle)
            if (found <= room).all():
                low, best = middle, (middle, found)
            else:
                high = middle
        return best


def charged_by_cluster(
    learning: Learning, coarse: Frontier, clusters: int, cut: Cut, prices: Prices
) -> tuple[FloatArray, Integers] | None:
    """Weights and stretches for `Frontier.charged` at some prices; None where transfers cost nothing.

    Parameters
    ----------
    learning : Learning
    coarse : Frontier
        Fractional sets of some volumes on all clusters.
    clusters : int
        |N|.
    cut : Cut
        The sequence that is cheapest at the prices.
    """
    epochs = len(learning.gains)
    transfers = coarse.charges * epochs
    if not (transfers > 0).any():
        return None
    stretches, trained = _stretches(cut.models, epochs)
    counts = np.bincount(stretches, minlength=trained + 1)
    used = np.unique(cut.models).tolist()
    psi = {model: _psi(coarse, model, prices.time) for model in used}
    costs = [np.zeros(transfers.shape) for _ in range(trained + 1)]
    for b in range(int(stretches.max()) + 1):
        k = int(np.median(np.flatnonzero(stretches == b)))
        each = [
            psi[m]
            - prices.gain * learning.gains[k, m] * coarse.factors
            + prices.variance * np.nan_to_num(learning.variances[k, m], posinf=0.0) * coarse.factors**2
            for m in used
        ]
        costs[b] = np.minimum.reduce(each)
    firsts = np.concatenate([[0], np.flatnonzero(np.diff(coarse.clusters)) + 1])
    found = Opening(firsts, np.stack(costs), transfers, counts).raised()
    shares = np.zeros((len(found), clusters))
    shares[:, coarse.clusters[firsts]] = found
    shares += np.maximum(1 - counts @ shares, 0.0) / epochs  # what is left over is charged in equal shares
    return (shares * epochs)[: int(stretches.max()) + 1], stretches


def _psi(
    coarse: Frontier, model: int, multiplier: float, entries: slice | list[int] = slice(None)
) -> FloatArray:
    """Of an epoch on every row and some volumes, without transfers, shape (R, O)."""
    work = coarse.work[model, entries] * coarse.excess[:, entries] / coarse.nodes[:, None]
    sent = coarse.communication[:, model]
    fits = np.isfinite(sent)[:, None]
    columns = (coarse.price, coarse.capacity, np.where(np.isfinite(sent), sent, 0.0))
    price, capacity, waits = (np.broadcast_to(column[:, None], work.shape) for column in columns)
    costs = EpochCosts.of_arrays(work, price, capacity, waits, coarse.deadline)
    return np.where(fits, costs.prices(multiplier), math.inf)


def _stretches(models: Integers, epochs: int) -> tuple[Integers, int]:
    """Stretch of every epoch, where the model changes or the longest are halved, and how many are trained.

    Idle epochs are one more.
    """
    ends = [0, *(np.flatnonzero(np.diff(models)) + 1).tolist(), len(models)]
    while len(ends) - 1 > _STRETCHES:
        place = int(np.argmin(np.diff(ends)))
        del ends[max(1, min(place, len(ends) - 2))]
    while len(ends) - 1 < min(_STRETCHES, len(models)):
        place = int(np.argmax(np.diff(ends)))
        ends.insert(place + 1, (ends[place] + ends[place + 1] + 1) // 2)
    lengths = [*np.diff(ends).tolist(), max(epochs - len(models), 0)]
    return np.repeat(np.arange(len(lengths)), lengths), len(lengths) - 1
