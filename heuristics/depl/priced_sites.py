"""A few models on listed sites under one label: what sequences cost at two prices, and which sites to open.

With the label of `depl.heuristics.depl.labels` two prices are enough, lam of time and gamma of the
label:

    min over sequences of sum [psi(lam) + gamma label] + F(open) - gamma room - lam T_max

is a lower bound of what a sequence on the open sites costs, as far as the label is the quantile. At given
prices the transfers of sites are fixed costs, and which sites to open is a problem of facility location whose
clients are the epochs of a sequence: sites are opened, closed and exchanged as long as that helps.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.bounds.dual import (
    CLOSED,
    MOST_CUTS,
    Cut,
    CuttingPlanes,
    Part,
    Prices,
    between,
    cheapest_path,
)
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.requirement import VarianceRange
from depl.heuristics.data.sites import Sites
from depl.heuristics.depl.labels import Cumulants
from depl.models.foundation.compiling import kernel
from depl.models.problem.epochs import LossStep
from depl.models.problem.laws import FloatArray, Law

_WORTHWHILE = 1e-7
"""Relative fall that a change of open sites has to bring at fixed prices. Weights there are sums of K
numbers, exact to about K 1e-16, so this is no rounding; that it is positive ends the loop. Otherwise set by
hand."""
_LEAST = 1e-6
"""Least price of time to begin with, as a share of what the gain is worth, per T_max. Set by hand: the price
only has to be positive, so that no epoch takes for ever; the cutting planes find a better one."""
_ANY = VarianceRange(0.0, 0.0, 0.0, 0.0)
"""The range without a variance: the label counts in its place, and the variance is not priced."""


@dataclass(frozen=True, eq=False)
class Labels:
    """What every step adds to the quantile of plans near one whose saddle point is known.

    Attributes
    ----------
    rate : float
        The saddle point s [1 / loss].
    runs : ndarray
        Shape (O, K, M) [loss].
    changes : ndarray
        Of switches, shape (M + 1, M), row M for the start; infinite where not allowed [loss].
    room : float
        What a sequence may add [loss].
    """

    rate: float
    runs: FloatArray
    changes: FloatArray
    room: float

    def switches(self, prices: Prices) -> FloatArray:
        """What switches cost at some prices, shape (M + 1, M); infinite where not allowed [cost]."""
        return np.where(np.isfinite(self.changes), prices.gain * self.changes, math.inf)


@dataclass(frozen=True, eq=False)
class Priced:
    """A lower bound on some sites, the prices that prove it, and the sequence that is cheapest at them."""

    value: float
    prices: Prices
    cut: Cut | None


@dataclass(eq=False)
class Restricted:
    """Sequences of a few models on listed sites; models by position in ``models``, sites in ``sites``."""

    learning: Learning
    cumulants: Cumulants
    sites: Sites
    models: tuple[int, ...]
    maximum_time: float | None

    def __post_init__(self) -> None:
        """Room for the sequences."""
        epochs, models = len(self.learning.gains), len(self.models)
        self._room = np.empty((epochs, models)), np.empty((epochs, models), dtype=np.int64)
        self._before = [*self.models, len(self.learning.switch_losses) - 1]
        self.clusters = np.array([site.cluster for site in self.sites.sites], dtype=np.int64)

    def labels(self, rate: float, room: float) -> Labels:
        """The labels at a saddle point, where a sequence may add ``room``."""
        factors, places = np.unique(self.sites.factors, return_inverse=True)
        gains = self.learning.gains[:, self.models]
        runs = -factors[:, None, None] * gains
        for law, epochs, models, coefficients in self._terms():
            spread = self.cumulants.of(law, rate * factors[:, None] * coefficients) / rate
            for h, row in enumerate(spread):
                np.add.at(runs[h], (epochs, models), row)
        switches = np.array(
            [[self._switch(p, m, rate) for m in self.models] for p in self._before], dtype=float
        )
        return Labels(rate, runs[places], switches, room)

    def label_of(
        self, epochs: NDArray[np.int64], models: NDArray[np.int64], factors: FloatArray, rate: float
    ) -> FloatArray:
        """What some epochs add to the quantile together, switches aside, against h; shape (len(factors),)."""
        total = -factors * self.learning.gains[epochs, np.array(self.models)[models]].sum()
        groups: dict[tuple[Law, bool], list[float]] = {}
        for k, place in zip(epochs.tolist(), models.tolist(), strict=True):
            for term in self.learning.runs[k][self.models[place]].terms:
                groups.setdefault((term.law, term.coefficient > 0), []).append(term.coefficient)
        for (law, _), coefficients in groups.items():
            arguments = rate * factors[:, None] * np.array(coefficients)
            total = total + self.cumulants.of(law, arguments).sum(axis=1) / rate
        return np.asarray(total)

    def weights(self, labels: Labels, prices: Prices) -> FloatArray:
        """What an epoch costs at some prices without transfers, shape (O, K, M) [cost]."""
        priced = self.sites.at(prices.time)
        psi = priced.psi[:, self.models].transpose(2, 0, 1)
        rows = priced.rows_of(labels.runs.shape[1])
        return np.ascontiguousarray(psi[:, rows] + prices.gain * labels.runs)

    def paid(self, chosen: Sequence[int]) -> float:
        """Transfers of some sites [cost]."""
        return math.fsum(self.sites.transfers[list(chosen)].tolist())

    def dual(self, labels: Labels, chosen: Sequence[int], start: Prices) -> Priced:
        """The best bound on some sites that are all paid for, by Kelley's cutting planes."""
        part = Part(np.zeros(len(self.clusters)), self.paid(chosen))
        if self.maximum_time:  # at no price of time a sequence may take for ever
            least = _LEAST * start.gain * abs(labels.room) / self.maximum_time
            start = start._replace(time=max(start.time, least))
        program = CuttingPlanes(part, -labels.room, _ANY, (), start, self.maximum_time, same_time=False)
        best, prices = Priced(-math.inf, start, None), start
        for _ in range(MOST_CUTS):
            least, cut = self.cheapest(labels, list(chosen), prices)
            if cut is None:
                return Priced(math.inf, prices, None)
            late = 0.0 if self.maximum_time is None else prices.time * self.maximum_time
            value = least + part.paid - prices.gain * labels.room - late
            if value > best.value:
                best = Priced(value, prices, cut)
            program.add(cut)
            ceiling, newest = program.solve()
            if newest is None or ceiling - best.value <= CLOSED * max(abs(best.value), 1e-12):
                break
            prices = between(newest, best.prices)
        return best

    def cheapest(self, labels: Labels, chosen: Sequence[int], prices: Prices) -> tuple[float, Cut | None]:
        """The sequence of least reduced cost on some sites, without transfers, and that cost [cost]."""
        some = np.array(chosen, dtype=np.int64)
        priced = self.sites.at(prices.time)
        rows = priced.rows_of(labels.runs.shape[1])
        grid = np.ix_(np.arange(len(priced.psi)), np.array(self.models), some)
        psi, time = priced.psi[grid].transpose(2, 0, 1), priced.time[grid].transpose(2, 0, 1)
        weights = psi[:, rows] + prices.gain * labels.runs[some]
        places = weights.argmin(axis=0)
        least, models = self.path(np.ascontiguousarray(weights.min(axis=0)), labels, prices)
        if not len(models):
            return math.inf, None
        k = np.arange(len(models))
        site = places[k, models]
        times = time[site, rows[k], models]
        spent = psi[site, rows[k], models] - prices.time * np.where(np.isinf(times), 0.0, times)
        before = np.concatenate([[len(self.models)], models[:-1]])
        label = labels.runs[some[site], k, models].sum() + labels.changes[before, models].sum()
        uses = np.bincount(some[site], minlength=len(self.clusters))
        cut = Cut(models, some[site], float(spent.sum()), float(times.sum()), -float(label), 0.0, uses)
        return least, cut

    def path(self, weights: FloatArray, labels: Labels, prices: Prices) -> tuple[float, NDArray[np.int64]]:
        """Least weight of a sequence and its models; no models where no sequence is allowed."""
        return cheapest_path(weights, labels.switches(prices), self._room)

    def margins(self, labels: Labels, prices: Prices, chosen: Sequence[int]) -> FloatArray:
        """How much costlier than the cheapest the cheapest sequence is that uses a site for a model once.

        Shape (len(chosen), M) [cost]. Transfers are shared by all epochs.
        """
        some = list(chosen)
        shared = self.sites.transfers[some] / max(1, labels.runs.shape[1])
        weights = self.weights(labels, prices)[some] + shared[:, None, None]
        least = np.ascontiguousarray(weights.min(axis=0))
        cheapest, _ = self.path(least, labels, prices)
        switches = labels.switches(prices)
        after = least_completions(switches[:-1] + least[:, None, :])
        with np.errstate(invalid="ignore"):
            beside = self._room[0] - least + after
            found = (beside + weights).min(axis=1) - cheapest
        return np.where(np.isnan(found), math.inf, found)

    def opened(self, labels: Labels, prices: Prices, chosen: Sequence[int]) -> tuple[float, list[int]]:
        """Sites, one for a cluster at most, that no change of one or two makes cheaper at some prices.

        Returns
        -------
        float, list of int
            Transfers and least weight of a sequence, and the sites.
        """
        weights = self.weights(labels, prices)
        neighbours = self._neighbours(weights, labels, prices, list(chosen))
        best, open_sites = neighbours.cost, list(chosen)
        while True:
            value, sites = min(neighbours.moves(), default=(math.inf, []))
            if not value < best - _WORTHWHILE * abs(best):
                value, sites = min(neighbours.exchanges(), default=(math.inf, []))
            if not value < best - _WORTHWHILE * abs(best):
                return best, open_sites
            best, open_sites = value, sites
            neighbours = self._neighbours(weights, labels, prices, open_sites)

    def neighbours(
        self, labels: Labels, prices: Prices, chosen: Sequence[int], *, exchanged: bool = True
    ) -> Iterator[tuple[float, list[int]]]:
        """Choices of sites that differ by one opening, closing or exchange, and their cost as by `opened`."""
        found = self._neighbours(self.weights(labels, prices), labels, prices, list(chosen))
        yield from found.moves()
        if exchanged:
            yield from found.exchanges()

    def _neighbours(
        self, weights: FloatArray, labels: Labels, prices: Prices, chosen: list[int]
    ) -> "_Neighbours":
        switches = labels.switches(prices)
        return _Neighbours(weights, switches, self.clusters, self.sites.transfers, chosen)

    def _terms(
        self,
    ) -> Iterator[tuple[Law, NDArray[np.int64], NDArray[np.int64], FloatArray]]:
        """Law, epochs, models and coefficients of all terms of runs with one law and sign."""
        groups: dict[tuple[Law, bool], list[tuple[int, int, float]]] = {}
        for k, row in enumerate(self.learning.runs):
            for place, m in enumerate(self.models):
                for term in row[m].terms:
                    groups.setdefault((term.law, term.coefficient > 0), []).append(
                        (k, place, term.coefficient)
                    )
        for (law, _), rows in groups.items():
            epochs, models, coefficients = zip(*rows, strict=True)
            yield law, np.array(epochs), np.array(models), np.array(coefficients)

    def _switch(self, before: int, model: int, rate: float) -> float:
        if not self.learning.allowed[before, model]:
            return math.inf
        step: LossStep | None = self.learning.switches[before][model]
        label = float(self.learning.switch_losses[before, model] + self.learning.end_charges[before, model])
        for term in () if step is None else step.terms:
            label += float(self.cumulants.of(term.law, np.array(rate * term.coefficient))) / rate
        return label


def least_completions(steps: FloatArray) -> FloatArray:
    """Least sum of the steps after epoch k + 1 on each model, or of none: at most 0; shape (K, M).

    ``steps``, shape (K, M, M): what epoch k + 1 adds on each model after each model; infinite ones are never
    made.
    """
    best = np.zeros(steps.shape[:2])
    for k in range(len(steps) - 2, -1, -1):
        best[k] = (steps[k + 1] + best[k + 1]).min(axis=1, initial=0.0)
    return best


@dataclass(eq=False)
class _Neighbours:
    """Choices of sites beside one at fixed prices; weights have the shape (O, K, M)."""

    weights: FloatArray
    changes: FloatArray
    clusters: NDArray[np.int64]
    transfers: FloatArray
    chosen: list[int]

    def __post_init__(self) -> None:
        """The two least weights over the open sites."""
        mine = self.weights[self.chosen]
        self._place = mine.argmin(axis=0)
        two = np.partition(mine, 1, axis=0)[:2] if len(mine) > 1 else np.stack([mine[0], mine[0]])
        self._least = np.ascontiguousarray(two[0])
        self._second = np.full(two[1].shape, math.inf) if len(mine) == 1 else np.ascontiguousarray(two[1])

    @property
    def cost(self) -> float:
        """What the choice itself costs at these prices."""
        return self._after(-1, None)

    def moves(self) -> Iterator[tuple[float, list[int]]]:
        """One site less, or one more in place of what its cluster has."""
        if len(self.chosen) > 1:
            for place in range(len(self.chosen)):
                yield self._after(place, None), self._sites(place, None)
        for site in self._closed():
            place = self._of_cluster(site)
            yield self._after(place, site), self._sites(place, site)

    def exchanges(self) -> Iterator[tuple[float, list[int]]]:
        """A site in place of one of another cluster that is paid for."""
        closed = self._closed()
        for place, left in enumerate(self.chosen):
            if self.transfers[left] > 0:
                for site in closed:
                    if self._of_cluster(site) < 0:
                        yield self._after(place, site), self._sites(place, site)

    def _closed(self) -> list[int]:
        return [site for site in range(len(self.clusters)) if site not in self.chosen]

    def _of_cluster(self, site: int) -> int:
        """Where the open site of the same cluster is, -1 if there is none."""
        places = (i for i, other in enumerate(self.chosen) if self.clusters[other] == self.clusters[site])
        return next(places, -1)

    def _sites(self, place: int, site: int | None) -> list[int]:
        kept = [other for i, other in enumerate(self.chosen) if i != place]
        return kept if site is None else [*kept, site]

    def _after(self, place: int, site: int | None) -> float:
        extra = self._least if site is None else self.weights[site]
        tables = (self._least, self._second, self._place)
        least = least_after(*tables, place, extra, site is not None, self.changes)
        return float(least) + math.fsum(self.transfers[self._sites(place, site)].tolist())


@kernel(interpreted=True)
def least_after(
    least: FloatArray,
    second: FloatArray,
    place: NDArray[np.int64],
    closed: int,
    extra: FloatArray,
    opens: bool,
    switches: FloatArray,
) -> float:
    """Least weight of a sequence of at least one epoch when one site is closed and another one opened.

    Parameters
    ----------
    least, second : ndarray
        The two least weights over the open sites, shape (K, M).
    place : ndarray of int
        Which of them has the least one, shape (K, M).
    closed : int
        The open site that is closed; -1 for none.
    extra : ndarray
        Weights on the site that is opened, shape (K, M); only if ``opens``.
    switches : ndarray
        Shape (M + 1, M), row M for the start; infinite where not allowed.
    """
    epochs, models = least.shape
    before, after, best = np.empty(models), np.empty(models), math.inf
    for k in range(epochs):
        for m in range(models):
            weight = second[k, m] if place[k, m] == closed else least[k, m]
            if opens and extra[k, m] < weight:
                weight = extra[k, m]
            value = switches[models, m]
            if k > 0:
                value = before[m] + switches[m, m]
                for p in range(models):
                    other = before[p] + switches[p, m]
                    if other < value:
                        value = other
            after[m] = value + weight
            if after[m] < best:
                best = after[m]
        before, after = after, before
    return best
