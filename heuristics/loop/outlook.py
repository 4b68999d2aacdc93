"""The whole instance at a glance, with many datasets: prices, a lower bound, and sites worth listing.

A coarse frontier on the clusters that are cheapest at some price of time guides
(`depl.heuristics.loop.sites`); what it finds is proved on the full frontier over all clusters, where one
evaluation of the dual at given prices suffices. Sites are listed around the volumes and clusters that the
guide uses: sets of data in order of what they cost per volume there, transfers included.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from depl.heuristics.loop.dual import Bound, Cut, Dual, Part, Prices, start_prices
from depl.heuristics.loop.learning import Learning
from depl.heuristics.loop.requirement import Requirement
from depl.heuristics.loop.sites import DataFactors, Frontier, Site
from depl.models.epochs import compute
from depl.models.laws import FloatArray
from depl.models.problem import Instance

_COARSE = 64
_FEW = 8
_TIME_PRICES = 60
_VOLUMES = 4
_CLUSTERS = 4
_MOST_SITES = 80
_LARGE = 1e30


@dataclass(eq=False)
class Outlook:
    """The relaxation of an instance with more datasets than are listed."""

    instance: Instance
    learning: Learning
    factors: DataFactors
    guide: Dual = field(init=False)

    def __post_init__(self) -> None:
        """Build the guide."""
        self._coarse = Frontier.guide(self.instance, self.factors, _COARSE)
        self._play = self._in_play()
        limit = self.instance.target.maximum_time
        self._guide_places = self._coarse.restricted(self._play)
        self.guide = Dual(self.learning, self._guide_places, limit, _LARGE)
        self.part = Part(np.zeros(len(self._coarse.low)))

    def start(self, requirement: Requirement) -> Prices:
        """Prices to begin with."""
        return start_prices(self.guide, self.part, requirement)

    def bound(self, requirement: Requirement, prices: Prices) -> Bound:
        """The guide's bound: not proved for the instance."""
        return self.guide.bound(self.part, requirement, prices)

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
            psi = self._psi(model, entry, prices.time)
            for n in np.argsort(psi, kind="stable")[:_CLUSTERS].tolist():
                if math.isfinite(psi[n]):
                    site = Site(n, self._data(n, model, entry, prices.time))
                    found[site] = found.get(site, 0.0) + share
        return sorted(found, key=lambda site: -found[site])[:_MOST_SITES]

    def _in_play(self) -> list[int]:
        """Clusters that are cheapest for some model and volume at some price of time."""
        play: set[int] = set()
        few = Frontier.guide(self.instance, self.factors, _FEW)
        for multiplier in np.geomspace(1e-9, 1e9, _TIME_PRICES):
            play.update(np.unique(few.clusters_at(float(multiplier))[2]).tolist())
        return sorted(play - {-1})

    def _psi(self, model: int, entry: int, multiplier: float) -> FloatArray:
        """What an epoch of a model at a volume costs on every cluster, shape (N,)."""
        coarse = self._coarse
        c = coarse.work[model, entry] / coarse.nodes
        left = coarse.deadline - coarse.communication[:, model]
        least = np.where(left > 0, c / np.where(left > 0, left, 1.0), math.inf)
        with np.errstate(divide="ignore"):
            free = np.sqrt(multiplier * c / coarse.price)
        x = np.minimum(np.maximum(free, least), coarse.capacity)
        time = c / x + coarse.communication[:, model]
        psi = coarse.price * x + multiplier * time + coarse.charges[:, entry]
        return np.where((least > coarse.capacity * (1 + 1e-9)) | (left <= 0), math.inf, psi)

    def _data(self, n: int, model: int, entry: int, multiplier: float) -> frozenset[str]:
        """The datasets of least cost per volume on a cluster, up to the volume of an entry."""
        instance, coarse = self.instance, self._coarse
        place = instance.clusters[n]
        c = float(coarse.work[model, entry] / coarse.nodes[n])
        psi = float(self._psi(model, entry, multiplier)[n] - coarse.charges[n, entry])
        sent = multiplier * float(coarse.communication[n, model])
        per_work, name = max(psi - sent, 0.0) / (2 * c) / place.nodes, instance.models[model].name
        epochs = max(1, instance.target.maximum_epochs) / 2
        keys = [
            (
                (
                    per_work * compute(instance, 1, name, frozenset({d.name}))
                    + instance.transfer_cost(d.name, place.name) / epochs
                )
                / d.volume,
                d,
            )
            for d in instance.datasets
        ]
        chosen: list[str] = []
        volume = 0.0
        wanted = float(coarse.volumes[entry])
        for _, dataset in sorted(keys, key=lambda pair: pair[0]):
            if chosen and volume >= wanted:
                break
            chosen.append(dataset.name)
            volume += dataset.volume
        return frozenset(chosen)


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
