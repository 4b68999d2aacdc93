r"""The exact optimum of the additive path problem: label setting in widening passes.

The least loss and a dual bound of the least time may prove that nothing is feasible; if the first passes meet
no feasible path, the least time to the target is found by the same search. Passes of width 32, 256, 2048, ...
leave out the labels of highest bound, so each narrows the certified interval [lower_bound, weight] from both
sides, and the pass that leaves nothing out closes it. A limit of time or labels ends in the interval so far.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.bounds import (
    CompletionBounds,
    completion_bounds,
    lagrangian_dual,
    least_loss,
    least_time,
)
from depl.heuristics.paths.search import LabelSearch, Pass, Stops
from depl.heuristics.paths.whole_numbers import WholeProblem, in_whole_numbers
from depl.models.foundation.errors import DeplError
from depl.models.foundation.tolerances import ATOM_TOLERANCE, PROOF_TOLERANCE, TIME_TOLERANCE
from depl.models.solving.methods import Limits
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

    def _begin(self) -> LabelSearch | str:
        """Bounds, and what they prove; a second time where a light path asks for a finer unit of weight."""
        prepared = self._prepare()
        if isinstance(prepared, Prepared) and self._is_coarse(prepared.whole):
            prepared = self._prepare()
        if isinstance(prepared, str):
            return prepared
        return LabelSearch(prepared.whole, prepared.bounds)

    def _prepare(self) -> Prepared | str:
        prepared = prepare(self.problem, math.inf if self.path is None else self.path.weight)
        if isinstance(prepared, Prepared):
            for models in prepared.paths:
                self._hold(models)
            self._raise(prepared.bounds.lower * prepared.whole.weight_unit)
        return prepared

    def _pass(self, search: LabelSearch, width: int) -> Pass:
        """One pass, and what it has changed."""
        unit = search.whole.weight_unit
        known = math.inf if self.path is None else self.path.weight / unit
        stops = Stops(self.limits.expired, self.most_labels - self.labels)
        found = search.run(known, gap=self.limits.gap, width=width, stops=stops)
        self.labels += found.labels
        if found.path is not None:
            self._hold(found.path)
        self._raise(found.lower * unit)
        self.limits.report(math.inf if self.path is None else self.path.weight, self.lower)
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
        if self.path is None or path.weight < self.path.weight:
            self.path = path

    def _raise(self, lower: float) -> None:
        self.lower = max(self.lower, lower)
        if self.path is not None:
            self.lower = min(self.lower, self.path.weight)

    def _decided(self) -> Termination | None:
        if self.lower > self.enough > -math.inf:
            return Termination.GAP_REACHED
        if self.path is None:
            return None
        if self.path.weight <= self.enough:
            return Termination.GAP_REACHED
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
