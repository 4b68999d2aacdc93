"""The change points of a long sequence: moved one or two at a time, with exact costs and its label.

A sequence is a row of *runs* on one model and one site each. Its label, its least time and what it costs at a
price of time are sums over epochs, so beginnings of every run are summed up once, and thousands of moves of
change points cost a few operations on arrays. The data of one or two clusters are exchanged in the same way
for other listed ones: a dataset more or less uses up what whole epochs leave over. At the price of time of
the sequence itself the estimate is exact to first order; the best ones are allocated resources exactly.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.depl.improve_sites import Labels, Restricted
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.allocation import Allocation, allocate
from depl.models.problem.laws import FloatArray

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

    Attributes
    ----------
    cost : float
        Transfers included; infinite where it is late [cost].
    label : float
        What it adds to the quantile [loss].
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


@dataclass(frozen=True, eq=False)
class _Data:
    """Sites in place of the used ones, what they change of label, cost and least time; the time before."""

    sites: NDArray[np.int64]
    used: NDArray[np.int64]
    labels: FloatArray
    costs: FloatArray
    times: FloatArray
    time: float


@dataclass(eq=False)
class ChangePoints:
    """Sequences of a `Restricted` under some labels."""

    restricted: Restricted
    labels: Labels
    round_deadline: float | None

    def sequenced(self, models: NDArray[np.int64], sites: NDArray[np.int64]) -> Sequenced:
        """A sequence with the cheapest resources."""
        found = self.allocation(models, sites)
        before = np.concatenate([[len(self.restricted.models)], models[:-1]])
        label = self.labels.runs[sites, np.arange(len(models)), models].sum()
        label += self.labels.changes[before, models].sum()
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
            moved = [self._step(last, best), self._exchange(last, best)]
            found = min((one for one in moved if one is not None), key=lambda one: one.cost, default=None)
            if found is None:
                break
            best = last = found
        return best

    def _allowed(self, tried: Sequenced) -> bool:
        return tried.label <= self.labels.room and math.isfinite(tried.cost)

    def _step(self, last: Sequenced, best: Sequenced | None) -> Sequenced | None:
        """The cheapest of the sequences that differ in one or two change points, if it is cheaper."""
        runs = _runs(last)
        points = np.concatenate([[0], [end for _, _, end in runs]])
        tried = _moved(points, self.labels.runs.shape[1])
        if not len(tried):
            return None
        sums = self._sums(runs, last.multiplier)
        allowed = sums.labels.over(tried) + sums.changes <= self.labels.room
        if (limit := self.restricted.maximum_time) is not None:
            allowed &= sums.times.over(tried) <= limit * (1 + TIME_TOLERANCE)
        tried = tried[allowed]
        costs = sums.costs.over(tried)
        now = float(sums.costs.over(points[None])[0])
        order = self._in_order(costs, math.inf if best is None else now)
        return self._first((self._at(runs, tried[place]) for place in order), best)

    def _exchange(self, last: Sequenced, best: Sequenced | None) -> Sequenced | None:
        """The cheapest of the sequences that train one or two clusters on other listed data."""
        rows = self._data_of(last)
        if not len(rows.sites):
            return None
        one, two = np.triu_indices(len(rows.sites))
        apart = (rows.used[one] != rows.used[two]) | (one == two)
        one, two = one[apart], two[apart]
        share = np.where(one == two, 0.5, 1.0)
        allowed = last.label + share * (rows.labels[one] + rows.labels[two]) <= self.labels.room
        if (limit := self.restricted.maximum_time) is not None:
            allowed &= rows.time + share * (rows.times[one] + rows.times[two]) <= limit * (1 + TIME_TOLERANCE)
        one, two, share = one[allowed], two[allowed], share[allowed]
        order = self._in_order(share * (rows.costs[one] + rows.costs[two]), math.inf if best is None else 0.0)

        def made() -> Iterator[Sequenced]:
            for place in order:
                sites = last.sites.copy()
                for row in (one[place], two[place]):
                    sites[last.sites == rows.used[row]] = rows.sites[row]
                yield self.sequenced(last.models, sites)

        return self._first(made(), best)

    def _data_of(self, last: Sequenced) -> "_Data":
        """Other sites of the clusters that a sequence uses, and what they change."""
        restricted, epochs = self.restricted, len(last.models)
        priced, fastest = restricted.sites.at(last.multiplier), restricted.sites.fastest
        rows, quick = priced.rows_of(epochs), np.minimum(np.arange(epochs), len(fastest) - 1)
        names, k = np.array(restricted.models)[last.models], np.arange(epochs)
        every = np.arange(len(restricted.clusters))
        time = float(fastest[quick, names, last.sites].sum())
        found: list[tuple[int, int, float, float, float]] = []
        for used in np.unique(last.sites).tolist():
            others = every[(restricted.clusters == restricted.clusters[used]) & (every != used)]
            members = k[last.sites == used]
            here = np.append(others, used)
            labels = self.labels.runs[here[:, None], members, last.models[members]].sum(axis=1)
            grid = members, names[members]
            costs = priced.psi[rows[grid[0]], grid[1]][:, here].sum(axis=0) + restricted.sites.transfers[here]
            times = fastest[quick[grid[0]], grid[1]][:, here].sum(axis=0)
            changes = (table[:-1] - table[-1] for table in (labels, costs, times))
            found += zip(others.tolist(), [used] * len(others), *(c.tolist() for c in changes), strict=True)
        sites, replaced, labels, costs, times = np.array(found, dtype=float).reshape(len(found), 5).T
        return _Data(sites.astype(np.int64), replaced.astype(np.int64), labels, costs, times, time)

    def _in_order(self, costs: FloatArray, below: float) -> list[int]:
        """The few cheapest below a cost."""
        order = np.argsort(costs, kind="stable")[:_EXACTLY]
        return [int(place) for place in order if costs[place] < below]

    def _first(self, made: Iterable[Sequenced], best: Sequenced | None) -> Sequenced | None:
        """The first that is within the room and in time, and cheaper."""
        for found in made:
            if self._allowed(found) and (best is None or found.cost < best.cost * (1 - _WORTHWHILE)):
                return found
        return None

    def _at(self, runs: Sequence[tuple[int, int, int]], points: NDArray[np.int64]) -> Sequenced:
        lengths = np.diff(points)
        models = np.repeat([m for m, _, _ in runs], lengths)
        sites = np.repeat([o for _, o, _ in runs], lengths)
        return self.sequenced(models, sites)

    def _sums(self, runs: Sequence[tuple[int, int, int]], multiplier: float) -> _Sums:
        restricted, epochs = self.restricted, self.labels.runs.shape[1]
        priced = restricted.sites.at(multiplier)
        rows, fastest = priced.rows_of(epochs), restricted.sites.fastest
        quick = np.minimum(np.arange(epochs), len(fastest) - 1)
        models = [restricted.models[m] for m, _, _ in runs]
        labels = np.array([self.labels.runs[o, :, m] for m, o, _ in runs])
        costs = np.array([priced.psi[rows, m, o] for m, (_, o, _) in zip(models, runs, strict=True)])
        times = np.array([fastest[quick, m, o] for m, (_, o, _) in zip(models, runs, strict=True)])
        before = [len(restricted.models), *(m for m, _, _ in runs[:-1])]
        switches = math.fsum(
            float(self.labels.changes[p, m]) for p, (m, _, _) in zip(before, runs, strict=True)
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
