"""The whole instance at a glance, with many datasets: prices, a lower bound, and sites worth listing.

A coarse frontier on the clusters that are cheapest at some price of time guides
(`depl.heuristics.data.sites`); what it finds is proved on the full frontier over all clusters, where one
evaluation of the dual at given prices suffices. Sites are listed around the volumes and clusters that the
guide uses: sets of data in order of work and transfers per volume, at the rate of exchange that is best
there. A transfer is paid once, however few epochs use it, so sets that are best if it counts several times
are listed, too.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.bounds.cutting_planes import Cut, Part, Prices
from depl.heuristics.bounds.dual import Bound, Dual, start_prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.requirement import Requirement, VarianceRange
from depl.heuristics.bounds.volume_bound import Frontier, transfer_costs, work_of_data
from depl.heuristics.data.data_lines import fitting, order_of
from depl.heuristics.data.sites import DataFactors, Site
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray

_COARSE = 64
"""Intervals of the volume in the guide. Set by hand: time and memory of its dynamic programs are in
proportion; nothing is proved on it, so fewer only make its prices and volumes less exact."""
_FEW = 8
"""Intervals of the volume where clusters are picked for the guide. Set by hand: which cluster is cheapest
changes slowly with the volume, and every price of time asks for all of them."""
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
_COARSELY = 0.03
"""Share of the volume that the last dataset of a set has to have for the set without it to be listed, too.
Set by hand: below, both are nearly the same site, and one is enough."""
_LARGE = 1e30
"""Cost beyond which a bound counts as infinite: the guide's plans have no known highest cost."""
_SHARINGS, _FIRST_STEP = 8, 2.0
"""Changes of the shares of transfers, and the first step in the exponent. Set by hand: a step that does not
help is halved, so the first one only has to be large, exp(2) = 7.4; each change costs one guide."""
_STRETCHES = 3
"""Stretches of epochs with one share. Set by hand: every stretch has its own prices psi, in time and memory;
fewer shares make the guide's bound weaker."""
_NEXT_TO_NOTHING = 1e-3
"""Shares below this part of the largest count as 0. Set by hand: an epoch of such a stretch pays less than a
thousandth of what one of the dearest pays."""
_WORTHWHILE, _IDLE = 2e-4, 2
"""Relative rise of the guide's bound that a change of shares has to bring, and changes in a row without it
that end the loop. Set by hand: the first is twenty times the 1e-5 to which the bound is solved; a change that
fails is repeated once at half its step."""


@dataclass(eq=False)
class Outlook:
    """The relaxation of an instance with more datasets than are listed."""

    instance: Instance
    learning: Learning
    factors: DataFactors
    guide: Dual = field(init=False)
    shares: FloatArray = field(init=False)
    latest: Prices | None = field(default=None, init=False)
    asked: Requirement | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Build the guide."""
        self._volumes = np.array([item.volume for item in self.instance.datasets])
        self._work, _ = work_of_data(self.instance)
        self._transfers = transfer_costs(self.instance)
        self._coarse = Frontier.guide(self.instance, self.factors, _COARSE)
        self._play = self._in_play()
        self._guide_places = self._coarse.restricted(self._play)
        self.part = Part(np.zeros(len(self._coarse.low)))
        epochs = self.instance.target.maximum_epochs
        self.shares = np.full(epochs, 1 / epochs)
        self.guide = self._guide_in(self.shares)

    def start(self, requirement: Requirement) -> Prices:
        """Prices to begin with."""
        return start_prices(self.guide, self.part, requirement)

    def bound(self, requirement: Requirement, prices: Prices) -> Bound:
        """The guide's bound: not proved for the instance."""
        found = self.guide.bound(self.part, requirement, prices)
        self.latest, self.asked = found.prices, requirement
        return found

    def shared(self, stop: Callable[[], bool]) -> Prices | None:
        """Prices after `share` for what was asked last; None if that was done, or nothing was asked."""
        if self.asked is None or self.latest is None or float(np.ptp(self.shares)) > 0:
            return None
        return self.share(self.asked, self.latest, stop).prices

    def share(self, requirement: Requirement, prices: Prices, stop: Callable[[], bool]) -> Bound:
        """Charge the epochs that pay most for transfers with more of them, as long as the bound rises.

        What the sequence that is cheapest pays in an epoch is a supergradient of the bound in its share. The
        price of time is left as it is, in the range of the sequence that is cheapest first.
        """
        first = self.bound(requirement, prices)
        if first.cut is None:
            return first
        single = replace(requirement, ranges=(_range_of(requirement, first.cut.variance),))
        best = tried = self._at_once(single, first.prices)
        shares, step = self.shares, _FIRST_STEP
        if best.cut is None or not (paid := self._paid(best.cut, best.prices.time)).any():
            return first
        stretches, idle = _stretches(paid), 0
        for _ in range(_SHARINGS):
            if tried.cut is None or idle == _IDLE or stop():
                break
            paid = self._paid(tried.cut, tried.prices.time)
            means = np.bincount(stretches, paid) / np.bincount(stretches)
            raised = shares * np.exp(step * means / max(means.max(), 1e-300))[stretches]
            raised = np.where(raised < _NEXT_TO_NOTHING * raised.max(), 0.0, raised)
            raised /= raised.sum()
            self.guide = self._guide_in(raised)
            tried = self._at_once(single, best.prices)
            idle = 0 if tried.value > best.value * (1 + _WORTHWHILE) else idle + 1
            if tried.value > best.value:
                best, shares, self.shares = tried, raised, raised
            else:
                tried, step = best, step / 2
        self.guide = self._guide_in(self.shares)
        return self.bound(requirement, best.prices)

    def _at_once(self, requirement: Requirement, prices: Prices) -> Bound:
        """The guide's bound with the price of time as it is."""
        self.guide.same_time = True
        return self.guide.bound(self.part, requirement, prices)

    def _guide_in(self, shares: FloatArray) -> Dual:
        self._guide_in_use = self._guide_places.in_shares(shares)
        return Dual(self.learning, self._guide_in_use, self.instance.target.maximum_time, _LARGE)

    def _paid(self, cut: Cut, multiplier: float) -> FloatArray:
        """Transfers of the data that every epoch of a sequence trains on, 0 beyond it, shape (K,) [cost]."""
        places, weights = self._guide_places, self._guide_in_use.weights
        stretches = self.guide.priced(multiplier).rows_of(len(cut.models))
        found = np.zeros(len(self.shares))
        for stretch in np.unique(stretches).tolist():
            _, _, which = places.rows_at(multiplier, float(weights[stretch]))
            k = np.flatnonzero(stretches == stretch)
            rows = which[cut.models[k], cut.sites[k]]
            found[k] = places.charges[rows, cut.sites[k]] * len(found)
        return found

    def sites(self, prices: Prices) -> list[Site]:
        """Sites for the volumes and clusters that are in use near some prices."""
        return self._sites_of([cut for cut in self.guide.cuts if math.isfinite(cut.time)], prices)

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
        few = Frontier.guide(self.instance, self.factors, _FEW)
        play: set[int] = set()
        for times in _TIMES_PAID:
            paid = replace(few, charges=times * few.charges)
            for multiplier in np.geomspace(1e-9, 1e9, _TIME_PRICES):
                rows = np.unique(paid.rows_at(float(multiplier))[2])
                play.update(few.clusters[rows[rows >= 0]].tolist())
        return sorted(play)

    def _best_rows(self, model: int, entry: int, multiplier: float, times: float) -> list[int]:
        """The cheapest row of each of the clusters that are cheapest for a model at a volume."""
        psi = self._psi(model, entry, multiplier, times)
        best: dict[int, int] = {}
        for row in np.argsort(psi, kind="stable").tolist():
            if len(best) == _CLUSTERS or not math.isfinite(psi[row]):
                break
            best.setdefault(int(self._coarse.clusters[row]), row)
        return list(best.values())

    def _psi(self, model: int, entry: int, multiplier: float, times: float) -> FloatArray:
        """What an epoch of a model at a volume costs on every row if charges count some times, shape (R,)."""
        coarse = self._coarse
        c = coarse.work[model, entry] * coarse.excess[:, entry] / coarse.nodes
        costs = EpochCosts.of_arrays(
            c, coarse.price, coarse.capacity, coarse.communication[:, model], coarse.deadline
        )
        return costs.prices(multiplier) + times * coarse.charges[:, entry]

    def _sets(self, row: int, entry: int) -> list[frozenset[str]]:
        """Datasets of a row, none larger than a volume: the first that reach it, and the same but the last.

        The smallest sets pay for a whole dataset, so there the cheapest one is taken.
        """
        wanted = float(self._coarse.volumes[entry])
        rate, transfers = float(self._coarse.rates[row]), self._transfers[self._coarse.clusters[row]]
        weights = self._work + rate * transfers
        order = order_of(self._volumes, self._work, transfers, rate)
        order = order[fitting(self._volumes, wanted)[order]]
        size = min(int((np.cumsum(self._volumes[order]) < wanted * (1 - 1e-9)).sum()) + 1, len(order))
        chosen = [order[:size] if size > 1 else order[[np.argmin(weights[order])]]]
        if size > 1 and self._volumes[order[size - 1]] > _COARSELY * wanted:
            chosen.append(order[: size - 1])
        return [frozenset(self.instance.datasets[d].name for d in kept.tolist()) for kept in chosen]


def _range_of(requirement: Requirement, variance: float) -> VarianceRange:
    """The range in which a variance lies, or the nearest."""
    return min(requirement.ranges, key=lambda piece: max(piece.low - variance, variance - piece.high))


def _stretches(paid: FloatArray) -> NDArray[np.int64]:
    """A few stretches of epochs that pay about as much in transfers, shape (K,)."""
    ends = np.flatnonzero(np.diff(paid)) + 1
    runs = [part.tolist() for part in np.split(np.arange(len(paid)), ends)]
    while len(runs) > _STRETCHES:
        apart = [
            min(len(a), len(b)) * abs(paid[a].mean() - paid[b].mean()) for a, b in itertools.pairwise(runs)
        ]
        place = int(np.argmin(apart))
        runs[place : place + 2] = [runs[place] + runs[place + 1]]
    return np.repeat(np.arange(len(runs)), [len(run) for run in runs])


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
