"""A few models on listed sites under one label: what sequences cost at two prices, and which sites to open.

With the label of `depl.heuristics.depl.labels` two prices are enough, lam of time and gamma of the label:

    min over sequences of sum [psi(lam) + gamma label] + F(open) - gamma room - lam T_max

is a lower bound of what a sequence on the open sites costs, as far as the label is the quantile. At given
prices, which sites to open is a problem of facility location whose clients are the epochs of a sequence.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
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
class Priced:
    """A lower bound on some sites, the prices that prove it, and the sequence that is cheapest at them."""

    value: float
    prices: Prices
    cut: Cut | None


@dataclass(eq=False)
class Restricted:
    """Sequences of a few models on listed sites under one label; models and sites are told by position.

    A label says what a step adds to the quantile of plans near one whose saddle point, the ``rate``, is known
    [1 / loss]; a sequence may add ``room`` [loss].

    Attributes
    ----------
    runs : ndarray
        Label of every run, shape (O, K, M) [loss].
    changes : ndarray
        Of switches, shape (M + 1, M), row M for the start; infinite where not allowed [loss].
    """

    learning: Learning
    cumulants: Cumulants
    sites: Sites
    models: tuple[int, ...]
    maximum_time: float | None
    rate: float
    room: float = 0.0

    def __post_init__(self) -> None:
        """The labels, and working space for sequences."""
        self.clusters = np.array([site.cluster for site in self.sites.sites], dtype=np.int64)
        factors, places = np.unique(self.sites.factors, return_inverse=True)
        gains = self.learning.gains[:, self.models]
        self._work = np.empty(gains.shape), np.empty(gains.shape, dtype=np.int64)
        runs = -factors[:, None, None] * gains
        for law, epochs, models, coefficients in self._terms(np.ndindex(*gains.shape)):
            spread = self.cumulants.of(law, self.rate * factors[:, None] * coefficients) / self.rate
            for h, row in enumerate(spread):
                np.add.at(runs[h], (epochs, models), row)
        before = [*self.models, len(self.learning.switch_losses) - 1]
        self.runs = runs[places]
        self.changes = np.array([[self._switch(p, m) for m in self.models] for p in before])

    @property
    def epochs(self) -> int:
        """K_max."""
        return int(self.runs.shape[1])

    def label_of(
        self, epochs: NDArray[np.int64], models: NDArray[np.int64], factors: FloatArray
    ) -> FloatArray:
        """What some epochs add to the quantile together, switches aside, against h; shape (len(factors),)."""
        total = -factors * self.learning.gains[epochs, np.array(self.models)[models]].sum()
        for law, _, _, coefficients in self._terms(zip(epochs.tolist(), models.tolist(), strict=True)):
            arguments = self.rate * factors[:, None] * coefficients
            total = total + self.cumulants.of(law, arguments).sum(axis=1) / self.rate
        return np.asarray(total)

    def weights(self, prices: Prices) -> FloatArray:
        """What an epoch costs at some prices without transfers, shape (O, K, M) [cost]."""
        priced = self.sites.at(prices.time)
        psi = priced.psi[:, self.models].transpose(2, 0, 1)
        rows = priced.rows_of(self.epochs)
        return np.ascontiguousarray(psi[:, rows] + prices.gain * self.runs)

    def paid(self, chosen: Sequence[int]) -> float:
        """Transfers of some sites [cost]."""
        return math.fsum(self.sites.transfers[list(chosen)].tolist())

    def dual(self, chosen: Sequence[int], start: Prices) -> Priced:
        """The best bound on some sites that are all paid for, by Kelley's cutting planes."""
        part = Part(np.zeros(len(self.clusters)), self.paid(chosen))
        if self.maximum_time:  # at no price of time a sequence may take for ever
            least = _LEAST * start.gain * abs(self.room) / self.maximum_time
            start = start._replace(time=max(start.time, least))
        program = CuttingPlanes(part, -self.room, _ANY, (), start, self.maximum_time, same_time=False)
        best, prices = Priced(-math.inf, start, None), start
        for _ in range(MOST_CUTS):
            least, cut = self.cheapest(list(chosen), prices)
            if cut is None:
                return Priced(math.inf, prices, None)
            late = 0.0 if self.maximum_time is None else prices.time * self.maximum_time
            value = least + part.paid - prices.gain * self.room - late
            if value > best.value:
                best = Priced(value, prices, cut)
            program.add(cut)
            ceiling, newest = program.solve()
            if newest is None or ceiling - best.value <= CLOSED * max(abs(best.value), 1e-12):
                break
            prices = between(newest, best.prices)
        return best

    def cheapest(self, chosen: Sequence[int], prices: Prices) -> tuple[float, Cut | None]:
        """The sequence of least reduced cost on some sites, without transfers, and that cost [cost]."""
        some = np.array(chosen, dtype=np.int64)
        priced = self.sites.at(prices.time)
        rows = priced.rows_of(self.epochs)
        grid = np.ix_(np.arange(len(priced.psi)), np.array(self.models), some)
        psi, time = priced.psi[grid].transpose(2, 0, 1), priced.time[grid].transpose(2, 0, 1)
        weights = psi[:, rows] + prices.gain * self.runs[some]
        places = weights.argmin(axis=0)
        least, models = self.path(np.ascontiguousarray(weights.min(axis=0)), prices)
        if not len(models):
            return math.inf, None
        k = np.arange(len(models))
        site = places[k, models]
        times = time[site, rows[k], models]
        spent = psi[site, rows[k], models] - prices.time * np.where(np.isinf(times), 0.0, times)
        before = np.concatenate([[len(self.models)], models[:-1]])
        label = self.runs[some[site], k, models].sum() + self.changes[before, models].sum()
        uses = np.bincount(some[site], minlength=len(self.clusters))
        cut = Cut(models, some[site], float(spent.sum()), float(times.sum()), -float(label), 0.0, uses)
        return least, cut

    def path(self, weights: FloatArray, prices: Prices) -> tuple[float, NDArray[np.int64]]:
        """Least weight of a sequence and its models; no models where no sequence is allowed."""
        return cheapest_path(weights, self._switches(prices), self._work)

    def margins(self, prices: Prices, chosen: Sequence[int]) -> FloatArray:
        """How much costlier than the cheapest the cheapest sequence is that uses a site for a model once.

        Shape (len(chosen), M) [cost]. Transfers are shared by all epochs.
        """
        some = list(chosen)
        shared = self.sites.transfers[some] / max(1, self.epochs)
        weights = self.weights(prices)[some] + shared[:, None, None]
        least = np.ascontiguousarray(weights.min(axis=0))
        cheapest, _ = self.path(least, prices)
        switches = self._switches(prices)
        after = least_completions(switches[:-1] + least[:, None, :])
        with np.errstate(invalid="ignore"):
            beside = self._work[0] - least + after
            found = (beside + weights).min(axis=1) - cheapest
        return np.where(np.isnan(found), math.inf, found)

    def opened(self, prices: Prices, chosen: Sequence[int]) -> tuple[float, list[int]]:
        """Sites, one for a cluster at most, that no change of one or two makes cheaper at some prices.

        Before them transfers and least weight of a sequence.
        """
        weights, open_sites = self.weights(prices), list(chosen)
        neighbours = self._neighbours(weights, prices, open_sites)
        best = neighbours.cost
        while True:
            for ways in (neighbours.moves, neighbours.exchanges):
                value, sites = min(ways(), default=(math.inf, []))
                if value < best - _WORTHWHILE * abs(best):
                    break
            else:
                return best, open_sites
            best, open_sites = value, sites
            neighbours = self._neighbours(weights, prices, open_sites)

    def neighbours(
        self, prices: Prices, chosen: Sequence[int], *, exchanged: bool = True
    ) -> Iterator[tuple[float, list[int]]]:
        """Choices of sites that differ by one opening, closing or exchange, and their cost as by `opened`."""
        found = self._neighbours(self.weights(prices), prices, list(chosen))
        yield from found.moves()
        if exchanged:
            yield from found.exchanges()

    def _neighbours(self, weights: FloatArray, prices: Prices, chosen: list[int]) -> "_Neighbours":
        switches = self._switches(prices)
        return _Neighbours(weights, switches, self.clusters, self.sites.transfers, chosen)

    def _terms(
        self, runs: Iterable[tuple[int, int]]
    ) -> Iterator[tuple[Law, NDArray[np.int64], NDArray[np.int64], FloatArray]]:
        """Law, epochs, models and coefficients of all terms of some runs with one law and sign."""
        groups: dict[tuple[Law, bool], list[tuple[int, int, float]]] = {}
        for k, place in runs:
            for term in self.learning.runs[k][self.models[place]].terms:
                groups.setdefault((term.law, term.coefficient > 0), []).append((k, place, term.coefficient))
        for (law, _), rows in groups.items():
            epochs, models, coefficients = zip(*rows, strict=True)
            yield law, np.array(epochs), np.array(models), np.array(coefficients)

    def _switches(self, prices: Prices) -> FloatArray:
        """What switches cost at some prices, shape (M + 1, M); infinite where not allowed [cost]."""
        return np.where(np.isfinite(self.changes), prices.gain * self.changes, math.inf)

    def _switch(self, before: int, model: int) -> float:
        if not self.learning.allowed[before, model]:
            return math.inf
        step: LossStep | None = self.learning.switches[before][model]
        label = float(self.learning.switch_losses[before, model] + self.learning.end_charges[before, model])
        for term in () if step is None else step.terms:
            label += float(self.cumulants.of(term.law, np.array(self.rate * term.coefficient))) / self.rate
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
