r"""The exact optimum of the additive path problem: label setting in widening passes.

The least loss and a dual bound of the least time may prove that nothing is feasible; if the first passes meet
no feasible path, the least time to the target is found by the same search. A pass goes through the epochs and
keeps the labels of least bound, 32 in each, then 256, 2048, ... The lightest feasible path it meets is an
upper bound, and none that it does not meet is lighter than the least of the cutoff, at which labels are
dropped by their bounds, and the least bound of those that did not fit or, if it was stopped, that it held. So
each pass narrows the certified interval, and the one that leaves nothing out closes it.
"""

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from depl.heuristics.paths import kernels
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.bounds import (
    CompletionBounds,
    WholeProblem,
    completion_bounds,
    data_of,
    in_whole_numbers,
    lagrangian_dual,
    least_loss,
    least_time,
)
from depl.heuristics.paths.kernels import Budgets, IntArray, Labels, ShortArray, Steps
from depl.models.foundation.errors import DeplError
from depl.models.foundation.tolerances import (
    ATOM_TOLERANCE,
    PROOF_TOLERANCE,
    SEARCH_TOLERANCE,
    TIME_TOLERANCE,
)
from depl.models.solving.limits import Limits
from depl.models.solving.result import Termination

MOST_LABELS = 60_000_000
"""Labels that all passes together may keep."""

FIRST_WIDTH = 32
"""Labels of an epoch in the first pass, set by hand. A narrow pass costs little, and its path is the upper
bound with which wider ones drop labels."""

WIDER = 8
"""Factor from the width of a pass to that of the next. Set by hand: with 8, all narrower passes together may
take a seventh of the labels of the last; a greater factor may make the last one wider than it need be."""


class AdditivePath(NamedTuple):
    """A path with its exact totals."""

    models: tuple[int, ...]
    weight: float
    time: float
    loss: float


@dataclass(frozen=True)
class PathOutcome:
    """The answer to a path problem.

    Attributes
    ----------
    termination : Termination
        OPTIMAL, GAP_REACHED, INFEASIBLE; or TIME_LIMIT, EXHAUSTED (the labels), with whatever is known by
        then.
    path : AdditivePath or None
        The lightest feasible path known, with its exact totals.
    lower_bound : float
        No feasible path weighs less; infinite if there is none.
    labels : int
        Labels kept.
    reason : str or None
        If there is no path: what cannot be met, and the nearest reachable value.
    """

    termination: Termination
    path: AdditivePath | None
    lower_bound: float
    labels: int = 0
    reason: str | None = None

    @property
    def weight(self) -> float:
        """Of the path; infinite without one."""
        return math.inf if self.path is None else self.path.weight

    @property
    def gap(self) -> float:
        """(weight - lower_bound) / weight; 0 if nothing is lighter, infinite without a path."""
        if self.path is None:
            return math.inf
        return 0.0 if self.weight <= self.lower_bound else (self.weight - self.lower_bound) / self.weight


def least_weight(
    problem: AdditiveProblem, limits: Limits | None = None, *, most_labels: int = MOST_LABELS
) -> PathOutcome:
    """A feasible path of least weight, or an interval that holds the least weight.

    Parameters
    ----------
    limits : Limits, optional
        ``gap`` and ``time_limit``; ``progress`` receives a row after every pass. No limits by default.
    most_labels : int
        Labels that all passes together may keep, eight bytes each.

    Raises
    ------
    NotCoveredError
        If losses are so large that the tolerance of l_max is lost in their rounding.
    """
    met = trivial_outcome(problem)
    return _Solver(problem, limits or Limits(), most_labels).run() if met is None else met


def trivial_outcome(problem: AdditiveProblem) -> PathOutcome | None:
    """The answer where no search is needed: l(0) meets the target, or there is no time or no epoch."""
    if problem.initial_loss <= problem.maximum_loss + ATOM_TOLERANCE and problem.maximum_time >= 0:
        return PathOutcome(Termination.OPTIMAL, AdditivePath((), *problem.totals(())), 0.0)
    if problem.maximum_time < 0:
        return PathOutcome(Termination.INFEASIBLE, None, math.inf, reason="resources: T_max is negative")
    if not problem.epochs:
        return PathOutcome(Termination.INFEASIBLE, None, math.inf, reason="models: no epoch is allowed")
    return None


@dataclass(frozen=True, eq=False)
class Prepared:
    """A problem in whole numbers with its bounds, and feasible paths that were met on the way."""

    whole: WholeProblem
    bounds: CompletionBounds
    paths: tuple[tuple[int, ...], ...]


def prepare(problem: AdditiveProblem, upper: float = math.inf) -> Prepared | str:
    """Whole numbers and bounds, or the reason why nothing is feasible.

    Parameters
    ----------
    problem : AdditiveProblem
        One that `trivial_outcome` leaves open.
    upper : float
        Heavier paths need not be found.
    """
    whole = in_whole_numbers(problem, upper)
    lowest, lowest_path = least_loss(whole)
    if lowest > whole.loss_budget:
        reach = problem.initial_loss + lowest / whole.scale
        return f"models: target {problem.maximum_loss:g} unreachable; lowest loss {reach:.6g}"
    time_dual = None
    if whole.times.any():
        needed, time_dual = least_time(whole)
        if needed > whole.maximum_time:
            return _too_slow(problem, needed / whole.scale * problem.maximum_time)
    dual = lagrangian_dual(whole)
    met = (lowest_path, dual.path, None if time_dual is None else time_dual.path)
    paths = tuple(path for path in met if path is not None and problem.feasible(path))
    return Prepared(whole, completion_bounds(whole, dual, time_dual), paths)


def checked_path(problem: AdditiveProblem, models: tuple[int, ...]) -> AdditivePath:
    """The path with its exact totals."""
    if not problem.feasible(models):
        raise DeplError(f"the label setting found {models}, which breaks a budget; please report it")
    return AdditivePath(models, *problem.totals(models))


@dataclass
class _Solver:
    """One run: the lightest path and the highest bound so far.

    A path that weighs ``enough``, or the proof that there is none, ends the run.
    """

    problem: AdditiveProblem
    limits: Limits
    most_labels: float
    enough: float = -math.inf
    path: AdditivePath | None = None
    lower: float = 0.0
    labels: int = 0

    def run(self) -> PathOutcome:
        """Pass after pass until nothing is left to prove or to spend."""
        search = self._begin()
        if isinstance(search, str):
            return self.outcome(Termination.INFEASIBLE, search)
        width = FIRST_WIDTH
        while (decided := self._decided()) is None:
            found = self._pass(search, width)
            whole = found.widest <= width
            if found.stopped is not None:
                return self.outcome(self._decided() or found.stopped)
            if self.path is None:
                if whole:
                    return self.outcome(Termination.INFEASIBLE, _too_slow(self.problem))
                if (ended := self._require_path()) is not None:
                    return ended
            if self._is_coarse(search.whole):
                search = self._begin()  # heavier epochs are left out now
                if isinstance(search, str):
                    raise DeplError(f"a feasible path is known, yet {search}; please report it")
            elif whole and self._decided() is None:
                return self.outcome(Termination.EXHAUSTED)  # rounding blurs the bound
            width *= WIDER
        return self.outcome(decided)

    def outcome(self, termination: Termination, reason: str | None = None) -> PathOutcome:
        """What is known now."""
        lower = math.inf if termination is Termination.INFEASIBLE else self.lower
        return PathOutcome(termination, self.path, lower, self.labels, reason)

    def _begin(self) -> "LabelSearch | str":
        """Bounds, and what they prove; a second time where a light path asks for a finer unit of weight."""
        for _ in range(2):
            prepared = prepare(self.problem, self.known)
            if isinstance(prepared, str):
                return prepared
            for models in prepared.paths:
                self._hold(models)
            self._raise(prepared.bounds.lower * prepared.whole.weight_unit)
            search = LabelSearch(prepared.whole, prepared.bounds)
            if not self._is_coarse(prepared.whole):
                break
        return search

    @property
    def known(self) -> float:
        """Weight of the lightest path; infinite without one."""
        return math.inf if self.path is None else self.path.weight

    def _pass(self, search: "LabelSearch", width: int) -> "Pass":
        """One pass, and what it has changed."""
        unit, left = search.whole.weight_unit, self.most_labels - self.labels
        found = search.run(
            self.known / unit, gap=self.limits.gap, width=width, limits=self.limits, most_labels=left
        )
        self.labels += found.labels
        if found.path is not None:
            self._hold(found.path)
        self._raise(found.lower * unit)
        self.limits.report(self.known, self.lower)
        return found

    def _require_path(self) -> PathOutcome | None:
        """Find a feasible path by the least time to the target; the end of the run if there is none."""
        times = np.where(self.problem.allowed.any(axis=1), self.problem.times, 0.0)
        quick = replace(self.problem, weights=times, maximum_time=math.inf)
        limits = replace(self.limits, gap=0.0, progress=None)
        latest = self.problem.maximum_time * (1 + TIME_TOLERANCE)
        found = _Solver(quick, limits, self.most_labels - self.labels, enough=latest).run()
        self.labels += found.labels
        if found.path is not None and self.problem.feasible(found.path.models):
            self._hold(found.path.models)
        elif found.lower_bound > latest:
            return self.outcome(Termination.INFEASIBLE, _too_slow(self.problem, found.lower_bound))
        elif found.termination not in (Termination.OPTIMAL, Termination.GAP_REACHED):
            return self.outcome(found.termination)
        return None

    def _hold(self, models: tuple[int, ...]) -> None:
        path = checked_path(self.problem, models)
        if path.weight < self.known or self.path is None:
            self.path = path

    def _raise(self, lower: float) -> None:
        self.lower = min(max(self.lower, lower), self.known)

    def _decided(self) -> Termination | None:
        if self.lower > self.enough > -math.inf or self.known <= self.enough:
            return Termination.GAP_REACHED
        if self.path is None:
            return None
        gap = self.outcome(Termination.OPTIMAL).gap
        if gap <= PROOF_TOLERANCE:
            return Termination.OPTIMAL
        return Termination.GAP_REACHED if gap <= self.limits.gap else None

    def _is_coarse(self, whole: WholeProblem) -> bool:
        return self.path is not None and whole.weight_error > 1e-10 * self.path.weight


def _too_slow(problem: AdditiveProblem, time: float | None = None) -> str:
    known = "" if time is None else f"; the least time is at least {time:.6g}"
    target, latest = problem.maximum_loss, problem.maximum_time
    return f"resources: target {target:g} unreachable within T_max {latest:g}{known}"


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
        limits: Limits | None = None,
        most_labels: float = math.inf,
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
        limits, most_labels
            What stops it: their time, and a number of labels.
        """
        share = 1 - max(gap - SEARCH_TOLERANCE, SEARCH_TOLERANCE)  # rounding may cost the rest
        state = _State(self, prefix or Prefix(), upper, share, cutoff, width)
        self._choose_steps(min(cutoff, share * upper))
        state.advance(limits or Limits(), most_labels)
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


@dataclass(eq=False)
class _State:
    """One pass on its way; the end has the layers before it, predecessor, parent, model and row."""

    search: LabelSearch
    prefix: Prefix
    upper: float
    share: float
    cutoff: float
    width: float
    dropped: float = math.inf
    labels: int = 0
    widest: int = 0
    stopped: Termination | None = None
    layers: list[tuple[ShortArray, ShortArray]] = field(default_factory=list)
    end: tuple[int, int, int, int, int] | None = None

    def __post_init__(self) -> None:
        self.open = _single(self.search.whole, self.prefix)

    def advance(self, limits: Limits, most_labels: float) -> None:
        """Go through the epochs."""
        budgets, start = self._budgets(), len(self.prefix.models)
        for epoch in range(start, self.search.whole.epochs):
            if limits.expired():
                self.stopped = Termination.TIME_LIMIT
            elif self.labels >= most_labels:
                self.stopped = Termination.EXHAUSTED
            if self.stopped is not None:
                return
            steps = self.search.steps(epoch, self.prefix.forbidden if epoch == start else frozenset())
            found, end = self.search.extend(epoch, self.open, steps, budgets, self.upper)
            if end[0] >= 0:
                weight, before, parent, model, row = end.tolist()
                self.upper, self.end = float(weight), (len(self.layers), before, parent, model, row)
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
        lower = max(lower - self.search.bounds.slack, 0.0)
        return Pass(path, self.upper, lower, self.labels, self.widest, self.stopped)

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
        time, loss, scale = whole.maximum_time, whole.loss_budget, _RANK * max(point.bound, 1.0)
        ranks = point.time_price + scale / max(time, 1), point.loss_price + scale / max(abs(loss), 1)
        return Budgets(time, loss, self.cutoff, self.share, *ranks)


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
