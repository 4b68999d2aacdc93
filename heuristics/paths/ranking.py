r"""Feasible paths from the lightest on (Lawler 1972, Murty 1968), one search per part of what is left.

All paths that begin with a prefix P and do not go on with certain models are a *part*. When its lightest path
P q has been returned, what is left is divided by where a path leaves P q: for every j below the length of q
those that go on with another model after the first j of q, and those that continue P q. A part is searched
only up to the bound of the next one, further each time it comes up again, so most are never searched. Weights
may be wrong by 1e-9, or by 1e-13 of the heaviest epochs' sum: paths that weigh as much may change places.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.search import (
    FIRST_WIDTH,
    MOST_LABELS,
    WIDER,
    AdditivePath,
    LabelSearch,
    Prefix,
    Prepared,
    checked_path,
    prepare,
    trivial_outcome,
)
from depl.models.foundation.search import BestFirst
from depl.models.foundation.tolerances import SEARCH_TOLERANCE, counts_as_proved
from depl.models.solving.limits import Limits
from depl.models.solving.result import Termination

_FIRST_STEP = 2.0**-16  # shares of the bound
_LONGER = 4
"""Factor by which a part is searched further beyond its bound each time it comes up again. Set by hand: each
time what was searched before is searched again, and a greater factor may search far beyond what is asked
for."""


@dataclass
class _Part:
    """Paths with a prefix, and the lightest of them that is known.

    ``step`` is how far beyond its bound the part was searched.
    """

    prefix: Prefix
    step: float = 0.0
    path: tuple[int, ...] | None = None
    upper: float = math.inf
    proved: bool = False


class RankedPaths:
    """An iterator over the feasible paths, the lightest first.

    Parameters
    ----------
    problem : AdditiveProblem
    limits : Limits, optional
        ``time_limit``; no limit by default.
    most_labels : int
        Labels that all searches together may keep.

    Attributes
    ----------
    termination : Termination or None
        None as long as there may be more paths; OPTIMAL when all have been returned; TIME_LIMIT or
        EXHAUSTED (the labels) when the iterator ended before that.

    Raises
    ------
    NotCoveredError
        If losses are so large that the tolerance of l_max is lost in their rounding.
    """

    def __init__(
        self, problem: AdditiveProblem, limits: Limits | None = None, *, most_labels: int = MOST_LABELS
    ) -> None:
        self.problem = problem
        self.termination: Termination | None = None
        self._limits, self._left = limits or Limits(), most_labels
        self._waiting = BestFirst[_Part]()
        trivial = trivial_outcome(problem)
        self._empty_path = None if trivial is None else trivial.path
        prepared = None if problem.maximum_time < 0 or not problem.epochs else prepare(problem)
        self._prepared = prepared if isinstance(prepared, Prepared) else None
        if self._prepared is not None:
            self._search = LabelSearch(self._prepared.whole, self._prepared.bounds)
            self._heaviest = 2 * float(self._prepared.whole.weights.max(axis=1).sum()) + 1
            self._waiting.push(self._prepared.bounds.lower, _Part(Prefix()))

    def __iter__(self) -> Iterator[AdditivePath]:
        """Itself."""
        return self

    def __next__(self) -> AdditivePath:
        """The lightest path that has not been returned."""
        if self._empty_path is not None:
            path, self._empty_path = self._empty_path, None
            return path
        while self._waiting and self.termination is None:
            bound, part = self._waiting.pop()
            if part.proved and part.path is not None:
                self._divide(bound, part, part.path)
                return checked_path(self.problem, part.path)
            self._look_into(bound, part)
        self.termination = self.termination or Termination.OPTIMAL
        raise StopIteration

    @property
    def lower_bound(self) -> float:
        """No path that has not been returned weighs less; infinite if there is none."""
        if self._empty_path is not None:
            return 0.0
        if self._prepared is None or not self._waiting:
            return math.inf
        bound = self._waiting.least * (1 - SEARCH_TOLERANCE) - self._prepared.bounds.slack
        return max(bound, 0.0) * self._prepared.whole.weight_unit

    def _look_into(self, bound: float, part: _Part) -> None:
        """Search a part up to the bound of the next, or a step further; put it back with what is known."""
        following = self._waiting.least
        part.step = max(_LONGER * part.step, _FIRST_STEP * max(bound, 1.0))
        cutoff = max(bound + part.step, following if math.isfinite(following) else 0.0)
        if cutoff > self._heaviest:
            cutoff = math.inf
        lower, width, found = bound, FIRST_WIDTH, None
        while found is None or found.widest > width // WIDER:
            found = self._search.run(
                min(part.upper, cutoff),
                prefix=part.prefix,
                cutoff=cutoff,
                width=width,
                limits=self._limits,
                most_labels=self._left,
            )
            self._left -= found.labels
            lower = max(lower, found.lower)
            if found.path is not None:
                part.path, part.upper = found.path, found.upper
            if found.stopped is not None:
                self.termination = found.stopped
                break
            width *= WIDER
        else:
            lower = max(lower, min(cutoff, part.upper))
        part.proved = counts_as_proved(part.upper, lower)
        lower = part.upper if part.proved else lower
        if lower < math.inf:
            self._waiting.push(lower, part)

    def _divide(self, bound: float, part: _Part, path: tuple[int, ...]) -> None:
        """The parts that are left when the lightest path of one has been returned."""
        data, prefix = self._search.data, part.prefix
        models, forbidden = prefix.models, prefix.forbidden
        weight, time, loss = prefix.weight, prefix.time, prefix.loss
        for k in range(len(models), len(path)):
            self._add(bound, Prefix(models, weight, time, loss, forbidden | {path[k]}))
            before = models[-1] if models else self.problem.start
            weight += int(data.weights[k, path[k]])
            time += int(data.times[k, path[k]])
            loss += int(data.losses[k, before, path[k]])
            models, forbidden = path[: k + 1], frozenset()
        self._add(bound, Prefix(models, weight, time, loss))

    def _add(self, bound: float, prefix: Prefix) -> None:
        """A new part, unless nothing in it is feasible."""
        bound = max(bound, self._bound(prefix))
        if bound < math.inf:
            self._waiting.push(bound, _Part(prefix))

    def _bound(self, prefix: Prefix) -> float:
        """Least weight of what may follow a prefix, by all rows after one more epoch."""
        k, data, whole = len(prefix.models), self._search.data, self._search.whole
        if k == whole.epochs:
            return math.inf
        before = prefix.models[-1] if prefix.models else whole.start
        rows = self._search.bounds.rows_after(k + 1)
        weights = prefix.weight + data.weights[k]
        times = prefix.time + data.times[k]
        losses = prefix.loss + data.losses[k, before]
        values = (
            rows.counted[:, None] * weights
            + rows.time_prices[:, None] * times
            + rows.loss_prices[:, None] * losses
            + rows.completions[:, : whole.start]
            - rows.limits[:, None]
        )
        hopeless = (values > rows.slacks[:, None]) & (rows.counted == 0)[:, None]
        values = np.where((rows.counted == 0)[:, None], -np.inf, values)
        bounds = np.where(hopeless.any(axis=0), np.inf, values.max(axis=0))
        bounds = np.where(losses <= whole.loss_budget, weights, bounds)
        bounds = np.where(data.allowed[k, before] & (times <= whole.maximum_time), bounds, np.inf)
        bounds[list(prefix.forbidden)] = np.inf
        return float(bounds.min())
