"""Stage 1 with bounds: data choices by increasing expected cost (Sec. IV-A without its blacklist).

A *part* leaves every cluster some sites (sets of data), and may oblige it to pay for one of them. The dual of
`depl.heuristics.bounds.dual` bounds the plans of a part from below under the calibrated requirement, and its
cheapest sequence suggests a data choice: one site for each cluster that trains, and for the others what costs
nothing to bring. A part is divided at one cluster: the suggested site, paid for, or any but that. Parts whose
bound reaches the incumbent are left out.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.bounds.dual import Bound, Dual, Part, Prices
from depl.heuristics.bounds.requirement import Requirement
from depl.heuristics.data.sites import Sites
from depl.models.foundation.search import BestFirst

DataChoice = dict[int, frozenset[str]]
"""Datasets of every cluster that may train, by position."""


@dataclass(frozen=True, eq=False)
class DataPart:
    """Plans that use the ``allowed`` sites, shape (O,), and on ``obliged`` clusters, (N,), pay for one.

    The cheapest of them is expected to cost at least ``expected`` [cost].
    """

    allowed: NDArray[np.bool_]
    obliged: NDArray[np.bool_]
    expected: float
    prices: Prices


@dataclass(eq=False)
class DataStage:
    """Data choices of one instance on listed sites."""

    sites: Sites
    dual: Dual
    epochs: int
    requirement: Requirement
    _waiting: BestFirst[DataPart] = field(default_factory=BestFirst)
    _open: tuple[DataPart, dict[int, int], Bound] | None = field(default=None, init=False)
    _clusters: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        """Note the cluster of every site."""
        self._clusters = np.array([site.cluster for site in self.sites.sites], dtype=np.int64)

    @property
    def least(self) -> float:
        """What the parts that are left are expected to cost at least [cost]."""
        undivided = math.inf if self._open is None else self._open[2].value
        return min(self._waiting.least, undivided)

    def everything(self) -> Part:
        """All plans on these sites."""
        return self.part(*self._root())

    def begin(self, prices: Prices) -> Bound:
        """Start with all sites."""
        self._waiting.clear()
        self._open = None
        return self._push(*self._root(), prices, -math.inf, math.inf)

    def next(self, cutoff: Callable[[], float]) -> tuple[DataChoice, Bound] | None:
        """The next data choice and the bound of its part; None when the cutoff is reached.

        The part is divided when the one after that is asked for: by then it may be too expensive.
        """
        self.divide(cutoff())
        while self._waiting and self._waiting.least < cutoff():
            _, part = self._waiting.pop()
            bound = self.bound(part.allowed, part.obliged, part.prices, cutoff())
            if bound.value > part.expected * (1 + 1e-9) and bound.value > self.least:
                if bound.value < cutoff():  # the requirement has changed since it was put there
                    self._put(part.allowed, part.obliged, bound)
                continue
            if bound.cut is None:
                continue
            choice = self._suggested(part, bound)
            self._open = part, choice, bound
            return self._data(choice), bound
        return None

    def divide(self, cutoff: float) -> None:
        """Divide the part whose choice was given out last, unless its bound reaches the cutoff."""
        if self._open is not None:
            part, choice, bound = self._open
            self._open = None
            if bound.value < cutoff:
                self._divide(part, choice, bound, cutoff)

    def bound(
        self, allowed: NDArray[np.bool_], obliged: NDArray[np.bool_], prices: Prices, cutoff: float
    ) -> Bound:
        """The dual of a part under the requirement."""
        return self.dual.bound(self.part(allowed, obliged), self.requirement, prices, cutoff)

    def part(self, allowed: NDArray[np.bool_], obliged: NDArray[np.bool_]) -> Part:
        """Charges of a part: what its obliged clusters pay is paid, all else is shared by the epochs."""
        transfers = np.where(allowed, self.sites.transfers, math.inf)
        least = np.full(len(obliged), math.inf)
        np.minimum.at(least, self._clusters, transfers)
        paid = np.where(obliged, least, 0.0)
        if np.isinf(paid).any():
            return Part(np.full(len(allowed), math.inf))
        charges = (transfers - paid[self._clusters]) / max(1, self.epochs)
        return Part(charges, math.fsum(paid.tolist()))

    def _root(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """All sites, and no cluster that is obliged."""
        return np.ones(len(self._clusters), dtype=bool), np.zeros(int(self._clusters.max()) + 1, dtype=bool)

    def _push(
        self,
        allowed: NDArray[np.bool_],
        obliged: NDArray[np.bool_],
        prices: Prices,
        at_least: float,
        cutoff: float,
    ) -> Bound:
        bound = self.bound(allowed, obliged, prices, cutoff)
        if max(bound.value, at_least) < cutoff:
            self._put(allowed, obliged, bound, at_least)
        return bound

    def _put(
        self,
        allowed: NDArray[np.bool_],
        obliged: NDArray[np.bool_],
        bound: Bound,
        at_least: float = -math.inf,
    ) -> None:
        value = max(bound.value, at_least)
        self._waiting.push(value, DataPart(allowed, obliged, value, bound.prices))

    def _suggested(self, part: DataPart, bound: Bound) -> dict[int, int]:
        """A site for every cluster that trains in the cheapest sequence, is obliged, or costs nothing."""
        uses = np.zeros(len(part.allowed)) if bound.cut is None else bound.cut.uses.astype(float)
        worth = self._worth(bound.prices)
        chosen: dict[int, int] = {}
        for n in np.unique(self._clusters[part.allowed]).tolist():
            mine = np.flatnonzero(part.allowed & (self._clusters == n))
            free = mine[self.sites.transfers[mine] == 0]
            if uses[mine].any():
                chosen[n] = int(mine[np.argmax(uses[mine])])
            elif part.obliged[n]:
                chosen[n] = int(mine[np.argmin(worth[mine] + self.sites.transfers[mine] / self.epochs)])
            elif free.size:
                chosen[n] = int(free[np.argmin(worth[free])])
        return chosen

    def _worth(self, prices: Prices) -> NDArray[np.float64]:
        """Least reduced cost of an epoch on every site, in the middle of training."""
        middle = len(self.dual.learning.gains) // 2
        psi = self.dual.priced(prices.time).psi
        row = psi[min(middle, len(psi) - 1)]
        gains = self.dual.learning.gains[middle][:, None] * self.sites.factors
        return np.asarray((row - prices.gain * gains).min(axis=0))

    def _divide(self, part: DataPart, choice: dict[int, int], bound: Bound, cutoff: float) -> None:
        """Divide a part at the first cluster that is not settled, those that train first."""
        uses = np.zeros(len(part.allowed), dtype=np.int64) if bound.cut is None else bound.cut.uses
        trains = set(self._clusters[uses > 0].tolist())
        open_clusters = np.unique(self._clusters[part.allowed]).tolist()
        for n in sorted(open_clusters, key=lambda n: (n not in trains, n)):
            mine = part.allowed & (self._clusters == n)
            pays = bool((self.sites.transfers[mine] > 0).any())
            if int(mine.sum()) == 1 and (part.obliged[n] or not pays):
                continue
            site = choice.get(n, int(np.flatnonzero(mine)[np.argmin(self._worth(bound.prices)[mine])]))
            without = part.allowed.copy()
            without[site] = False
            only = part.allowed & ~mine
            only[site] = True
            obliged = part.obliged.copy()
            obliged[n] = self.sites.transfers[site] > 0
            self._push(only, obliged, bound.prices, bound.value, cutoff)
            if not part.obliged[n] or bool((without & mine).any()):
                self._push(without, part.obliged, bound.prices, bound.value, cutoff)
            return

    def _data(self, choice: dict[int, int]) -> DataChoice:
        return {n: self.sites.sites[site].datasets for n, site in sorted(choice.items())}
