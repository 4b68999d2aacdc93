r"""One pass of the label setting, from the start or from a given prefix, within a width.

A pass goes through the epochs; at each it keeps at most ``width`` labels, those of least bound. So it
answers two questions at once: the lightest feasible path it meets is an upper bound, and no feasible path
that it does not meet is lighter than the least of

- the cutoff, at which labels are dropped by their bounds,
- the least bound of the labels that did not fit into the width,
- if it was stopped, the least bound of the labels it held.

A pass that drops nothing for the width proves that its path is lightest, up to the cutoff.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from depl.heuristics.paths import kernels
from depl.heuristics.paths.bounds import CompletionBounds, data_of
from depl.heuristics.paths.kernels import Budgets, Labels, ShortArray, Steps
from depl.heuristics.paths.whole_numbers import IntArray, WholeProblem
from depl.models.foundation.tolerances import SEARCH_TOLERANCE
from depl.models.solving.result import Termination

_ROOM = 1 << 12
"""Labels for which room is made to begin with, 40 bytes each; it is doubled where they do not fit, and the
results are the same."""
_RANK = 1e-3  # least price, in shares of the budgets, so that the order of labels sees every resource


@dataclass(frozen=True)
class Prefix:
    """Where a pass starts: after these epochs, and not with these models.

    ``weight``, ``time`` and ``loss`` are the sums of the epochs.
    """

    models: tuple[int, ...] = ()
    weight: int = 0
    time: int = 0
    loss: int = 0
    forbidden: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Pass:
    """What a pass found.

    Attributes
    ----------
    path : tuple of int or None
        A feasible path lighter than the one known before, prefix included.
    upper, lower : float
        No feasible path with the prefix is lighter than ``lower``; ``upper`` is that of the lightest known
        [units of weight].
    labels, widest : int
        Labels kept in all, and in one epoch.
    stopped : Termination or None
        Why it did not come to its end, if it did not.
    """

    path: tuple[int, ...] | None
    upper: float
    lower: float
    labels: int
    widest: int
    stopped: Termination | None = None


@dataclass(frozen=True)
class Stops:
    """What stops a pass: a clock, and a number of labels."""

    expired: Callable[[], bool] = lambda: False
    most_labels: float = math.inf


class LabelSearch:
    """Passes over one problem, which share its bounds."""

    def __init__(self, whole: WholeProblem, bounds: CompletionBounds) -> None:
        self.whole, self.bounds, self.data = whole, bounds, data_of(whole)
        self._found = _empty(_ROOM)
        self._limit = -math.inf
        self._first: IntArray = np.empty(0, dtype=np.int64)
        self._before: ShortArray = np.empty(0, dtype=np.int32)

    def run(
        self,
        upper: float = math.inf,
        *,
        prefix: Prefix | None = None,
        cutoff: float = math.inf,
        gap: float = 0.0,
        width: float = math.inf,
        stops: Stops | None = None,
    ) -> Pass:
        """One pass.

        Parameters
        ----------
        upper : float
            Weight of the lightest feasible path known [units of weight]; only lighter ones are looked for.
        prefix : Prefix, optional
            How paths begin; anyhow by default. The prefix alone is not among them.
        cutoff : float
            Paths as heavy as this are not looked for either [units of weight].
        gap : float
            Nor those within this share of the lightest known.
        width : float
            Most labels of one epoch.
        stops : Stops, optional
            Never stopped by default.
        """
        prefix = prefix or Prefix()
        share = 1 - max(gap - SEARCH_TOLERANCE, SEARCH_TOLERANCE)  # rounding may cost the rest
        state = _State(self, prefix, upper, share, cutoff, width, stops or Stops())
        self._choose_steps(min(cutoff, share * upper))
        state.advance()
        return state.result()

    def steps(self, epoch: int, forbidden: frozenset[int]) -> Steps:
        """Steps worth making into an epoch, counted from 0; without some models."""
        count = self.whole.start
        first = self._first[epoch * count : epoch * count + count + 1]
        before = self._before
        if forbidden:
            parts = [
                before[first[m] : first[m + 1]] if m not in forbidden else before[:0] for m in range(count)
            ]
            first = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
            before = np.concatenate(parts)
        return Steps(self.data.weights[epoch], self.data.times[epoch], self.data.losses[epoch], first, before)

    def extend(
        self, epoch: int, labels: Labels, steps: Steps, budgets: Budgets, least: float
    ) -> tuple[Labels, IntArray]:
        """The labels of an epoch, counted from 0, and a lighter end or -1, see `kernels.next_layer`."""
        rows = self.bounds.rows_after(epoch + 1)
        while True:
            end = np.full(5, -1, dtype=np.int64)
            first = np.zeros(self.whole.start + 2, dtype=np.int64)
            found = self._found._replace(first=first)
            number = kernels.next_layer(labels, steps, rows, budgets, least, found, end)
            if number >= 0:
                kept = (column[:number].copy() for column in self._found[:6])
                return Labels._make([*kept, first]), end
            self._found = _empty(2 * len(self._found.weights))

    def _choose_steps(self, cutoff: float) -> None:
        """Find the steps that a path below the cutoff may make, unless those known are just as good."""
        point, bounds = self.bounds.points[0], self.bounds
        limit = cutoff + point.time_price * self.whole.maximum_time
        limit += point.loss_price * self.whole.loss_budget
        if limit == self._limit:
            return
        self._limit = limit
        self._first = np.empty(self.whole.epochs * self.whole.start + 1, dtype=np.int64)
        prices = (point.time_price, point.loss_price)
        while True:
            number = kernels.surviving_steps(
                self.data, prices, bounds.prefixes, bounds.rest, limit, self._first, self._before
            )
            if number <= len(self._before):
                return
            self._before = np.empty(number, dtype=np.int32)


class _State:
    """One pass on its way."""

    def __init__(
        self,
        search: LabelSearch,
        prefix: Prefix,
        upper: float,
        share: float,
        cutoff: float,
        width: float,
        stops: Stops,
    ) -> None:
        self.search, self.prefix, self.width, self.stops = search, prefix, width, stops
        self.upper = upper
        self.share, self.cutoff = share, cutoff
        self.dropped = math.inf
        self.labels = self.widest = 0
        self.stopped: Termination | None = None
        self.layers: list[tuple[ShortArray, ShortArray]] = []
        self.end: tuple[int, int, int, int, int] | None = None  # layers before it, predecessor, ..., row
        self.open = _single(search.whole, prefix)

    def advance(self) -> None:
        """Go through the epochs."""
        budgets = self._budgets()
        start = len(self.prefix.models)
        for epoch in range(start, self.search.whole.epochs):
            if self.stops.expired():
                self.stopped = Termination.TIME_LIMIT
                return
            if self.labels >= self.stops.most_labels:
                self.stopped = Termination.EXHAUSTED
                return
            forbidden = self.prefix.forbidden if epoch == start else frozenset()
            steps = self.search.steps(epoch, forbidden)
            found, end = self.search.extend(epoch, self.open, steps, budgets, self.upper)
            if end[0] >= 0:
                self.upper = float(end[0])
                self.end = (len(self.layers), int(end[1]), int(end[2]), int(end[3]), int(end[4]))
            self._take(found)
            if not len(self.open.weights):
                return
        self.open = _empty(0)

    def result(self) -> Pass:
        """What is known now."""
        lower = min(self.upper, self.cutoff, self.dropped, self.share * self.upper)
        if self.stopped is not None:
            lower = min(lower, float(self.open.bounds.min(initial=math.inf)))
        path = None if self.end is None else self._path(*self.end)
        return Pass(
            path,
            self.upper,
            max(lower - self.search.bounds.slack, 0.0),
            self.labels,
            self.widest,
            self.stopped,
        )

    def _take(self, found: Labels) -> None:
        """Make these the open labels, as many as the width allows."""
        number = len(found.weights)
        if number > self.width:
            order = np.argpartition(found.bounds, int(self.width))
            self.dropped = min(self.dropped, float(found.bounds[order[int(self.width) :]].min()))
            kept = np.sort(order[: int(self.width)])
            columns = [column[kept] for column in found[:6]]
            found = Labels._make([*columns, np.searchsorted(kept, found.first)])
        self.labels += len(found.weights)
        self.widest = max(self.widest, number)
        self.layers.append((found.before, found.parents))
        self.open = found

    def _path(self, layers: int, before: int, parent: int, model: int, row: int) -> tuple[int, ...]:
        """The path of an end, no longer than it needs to be."""
        path = [model]
        for befores, parents in reversed(self.layers[:layers]):
            path.append(before)
            before, parent = int(befores[parent]), int(parents[parent])
        models = self.prefix.models + tuple(path[::-1])
        if row >= 0:
            models = self._cut(models + self.search.bounds.completion(row, len(models), model), len(models))
        return models

    def _cut(self, models: tuple[int, ...], least: int) -> tuple[int, ...]:
        """The path up to where it first meets the target, but for these first epochs."""
        loss, before = 0, self.search.whole.start
        for k, model in enumerate(models):
            loss += int(self.search.data.losses[k, before, model])
            before = model
            if k >= least and loss <= self.search.whole.loss_budget:
                return models[: k + 1]
        return models

    def _budgets(self) -> Budgets:
        whole, point = self.search.whole, self.search.bounds.points[0]
        scale = max(self.search.bounds.points[0].bound, 1.0)
        return Budgets(
            maximum_time=whole.maximum_time,
            loss_budget=whole.loss_budget,
            cutoff=self.cutoff,
            kept_share=self.share,
            time_rank=point.time_price + _RANK * scale / max(whole.maximum_time, 1),
            loss_rank=point.loss_price + _RANK * scale / max(abs(whole.loss_budget), 1),
        )


def _single(whole: WholeProblem, prefix: Prefix) -> Labels:
    """The label of a prefix."""
    model = prefix.models[-1] if prefix.models else whole.start
    first = np.zeros(whole.start + 2, dtype=np.int64)
    first[model + 1 :] = 1
    weight, time, loss = (
        np.array([value], dtype=np.int64) for value in (prefix.weight, prefix.time, prefix.loss)
    )
    nobody = np.full(1, -1, dtype=np.int32)
    return Labels(weight, time, loss, np.zeros(1), nobody, nobody, first)


def _empty(size: int) -> Labels:
    weights, times, losses = (np.empty(size, dtype=np.int64) for _ in range(3))
    before, parents = (np.empty(size, dtype=np.int32) for _ in range(2))
    return Labels(weights, times, losses, np.empty(size), before, parents, np.empty(0, dtype=np.int64))
