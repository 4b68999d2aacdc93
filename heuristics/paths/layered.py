r"""The paper's expanded graph (Sec. IV-B) as a layered dynamic program on arrays, rounding up or down.

With eta levels a vertex is (model, epoch k, time level i, loss level j): elapsed time i T_max / eta, loss
j l(0) / eta. Here j counts from the start, so that the loss is l(0) + j h with h = l(0) / eta. The edge of a
step has tight heads: time and loss move by whole levels a and b,

    rounding up (the paper, conservative):  a = ceil(eta t / T_max),   b = ceil(d / h),
    rounding down:                          a = floor(eta t / T_max),  b = floor(d / h),

the run and the switch of a step being rounded together. The paper also has edges to every later head ("takes
at most", "changes by at most"); from there only the same steps lead on with less left of both budgets, so a
shortest path never needs them. Departures: an explicit start (time 0, loss l(0)), and levels of loss as far
up as a path may come back from (E11); ``capped`` restores the paper's cap.

All vertices of one model and epoch form a grid, and one step moves the whole grid by (a, b): a slice. A
layer therefore takes M**2 slices, O(M**2 K eta**2) in all. Vertices at or below l_max
are not continued: weights are nonnegative, so a path may end there.

A ceiling of what is a whole number but for rounding would jump a level; numbers within 1e-9 of a level count
as on it. So a path may exceed T_max by K 1e-9 levels, and l_max likewise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.paths.additive_problem import AdditiveProblem, BoolArray
from depl.heuristics.paths.completions import least_completions
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.memory import require_memory
from depl.models.problem.laws import FloatArray
from depl.models.risk.rounded import Rounding

LEVEL_TOLERANCE = 1e-9
"""Levels by which a number may miss a whole level and still count as on it."""

PAPER_LEVELS = 200
"""eta of the paper's evaluation."""

LARGEST_CELLS = 600_000_000
"""Most vertices of a graph; each takes two bytes, and some nanoseconds per model."""

_VERTEX = 2
"""Bytes of a vertex."""

IntArray = NDArray[np.int64]

_Slices = tuple[slice, slice]
_FAR = 1 << 40
"""Level beyond all others: steps span at most 2**30 levels, so that a thousand of them stay below it, and
sums with it far below 2**63."""


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a problem in whole levels.

    Attributes
    ----------
    levels : int
        eta.
    time_step, loss_step : float
        Width of a level [time], [loss]; the former infinite without T_max.
    times : ndarray of int
        Shape (K, M).
    losses : ndarray of int
        Shape (K, M + 1, M).
    last_time : int
        Greatest level of time.
    target : int
        Greatest level of loss that meets l_max, counted from l(0).
    """

    levels: int
    time_step: float
    loss_step: float
    times: IntArray
    losses: IntArray
    last_time: int
    target: int


@dataclass(frozen=True, eq=False)
class LayeredFront:
    """What the search found: for falling levels of final loss the cheapest paths, more and more expensive.

    Attributes
    ----------
    losses : ndarray
        Loss in the graph, strictly increasing [loss].
    costs : ndarray
        Least weight of a path that ends at or below it, strictly decreasing.
    paths : tuple of tuple of int
        The paths, by indices of models.
    cells : int
        Vertices of the graph within the windows searched.
    """

    losses: FloatArray
    costs: FloatArray
    paths: tuple[tuple[int, ...], ...]
    cells: int


def steps_in_levels(problem: AdditiveProblem, levels: int, rounding: Rounding) -> Steps:
    """Round every step of a problem to levels.

    Parameters
    ----------
    levels : int
        eta >= 1 (E3: the number of levels, not their width).

    Raises
    ------
    InvalidInputError
        If ``levels`` is not positive, or l(0) is not: its levels are fractions of l(0).
    """
    if levels < 1:
        raise InvalidInputError(f"must be at least 1, not {levels}", "eta")
    if not problem.initial_loss > 0:
        raise InvalidInputError(
            f"levels of loss are fractions of l(0), which is {problem.initial_loss:g}; shift the loss scale"
        )
    time_step, loss_step = problem.maximum_time / levels, problem.initial_loss / levels
    needed = (problem.maximum_loss - problem.initial_loss) / loss_step
    return Steps(
        levels=levels,
        time_step=time_step,
        loss_step=loss_step,
        times=_in_levels(problem.times, time_step, rounding),
        losses=_in_levels(problem.losses, loss_step, rounding),
        last_time=levels if math.isfinite(time_step) else 0,
        target=math.floor(needed + LEVEL_TOLERANCE),
    )


def layered_search(
    problem: AdditiveProblem,
    levels: int,
    rounding: Rounding = Rounding.UP,
    *,
    capped: bool = False,
) -> LayeredFront:
    """The cheapest paths of the expanded graph.

    Parameters
    ----------
    levels : int
        eta.
    rounding : Rounding
        UP is the paper's graph, whose paths are feasible; DOWN gives a lower bound of the optimum.
    capped : bool
        Losses of levels 1 .. eta only, counted from 0, as the paper's j = 1 .. eta has it.

    Returns
    -------
    LayeredFront
        Empty if no path of at least one epoch ends at or below l_max, and if l(0) does: nothing needs to be
        trained then. The empty path is not among them.

    Raises
    ------
    InvalidInputError
        As `steps_in_levels`.
    NotCoveredError
        If the graph has more than `LARGEST_CELLS` vertices.
    """
    steps = steps_in_levels(problem, levels, rounding)
    if capped:  # no vertex below level 1 either: a lower target is met by none
        steps = replace(steps, target=steps.target if steps.target > -levels else -_FAR)
    windows = _windows(problem.allowed, steps, capped)
    cells = len(problem.models) * sum(window.size for window in windows)
    if cells > LARGEST_CELLS:
        raise NotCoveredError(
            f"the expanded graph has {cells:.3g} vertices at eta = {levels}, more than {LARGEST_CELLS:.3g}; "
            f"take eta below about {_affordable(levels, cells, steps.last_time > 0)}"
        )
    require_memory(float(_VERTEX * cells), "the expanded graph", "take fewer levels (eta)")
    return _Search(problem, steps, windows).run(cells)


def cost_up(problem: AdditiveProblem, levels: int) -> float:
    """Least weight in the graph with rounding up, infinite if it has no path; at least the optimum."""
    return _least(problem, levels, Rounding.UP)


def cost_down(problem: AdditiveProblem, levels: int) -> float:
    """Least weight in the graph with rounding down, infinite if it has no path; at most the optimum."""
    return _least(problem, levels, Rounding.DOWN)


@dataclass(frozen=True)
class _Window:
    """Levels of time [first_time, last_time] and of loss [first_loss, last_loss] that a layer can reach."""

    first_time: int
    last_time: int
    first_loss: int
    last_loss: int

    @property
    def shape(self) -> tuple[int, int]:
        return (
            max(self.last_time - self.first_time + 1, 0),
            max(self.last_loss - self.first_loss + 1, 0),
        )

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    def overlap(self, other: "_Window", time: int, loss: int) -> tuple[_Slices, _Slices] | None:
        """Where cells of self, moved by (time, loss), fall into ``other``: slices of both, if anywhere."""
        rows = _common(self.first_time + time, self.last_time + time, other.first_time, other.last_time)
        columns = _common(self.first_loss + loss, self.last_loss + loss, other.first_loss, other.last_loss)
        if rows is None or columns is None:
            return None
        (top, bottom), (left, right) = rows, columns
        return (
            _slices(top - time - self.first_time, bottom - top, left - loss - self.first_loss, right - left),
            _slices(top - other.first_time, bottom - top, left - other.first_loss, right - left),
        )


class _Search:
    """Forward pass over the layers, and paths read back from the choices that it left."""

    def __init__(self, problem: AdditiveProblem, steps: Steps, windows: list[_Window]) -> None:
        self.problem, self.steps, self.windows = problem, steps, windows
        self.choices: list[NDArray[np.int16]] = []
        self.first = min((window.first_loss for window in windows), default=0)
        span = max(steps.target - self.first + 1, 0)
        self.best = np.full(span, np.inf)
        self.ends = np.zeros((span, 3), dtype=np.int64)  # epoch, model, time level

    def run(self, cells: int) -> LayeredFront:
        before, costs = _Window(0, 0, 0, 0), np.zeros((self.problem.start + 1, 1, 1))
        costs[:-1] = np.inf
        for k, window in enumerate(self.windows):
            costs = self._layer(k, before, costs, window)
            self._record(k, window, costs)
            before = window
            # At or below the target a path has ended.
            ended = min(max(self.steps.target - window.first_loss + 1, 0), window.shape[1])
            costs[:, :, :ended] = np.inf
        return self._front(cells)

    def _layer(self, k: int, before: _Window, costs: FloatArray, window: _Window) -> FloatArray:
        """Costs of layer k, shape (M, I, J), from those of the layer before."""
        count = self.problem.start
        found = np.full((count, *window.shape), np.inf)
        choice = np.full((count, *window.shape), -1, dtype=np.int16)
        for m in range(count):
            for p in range(count) if k else (count,):
                if not self.problem.allowed[k, p, m]:
                    continue
                overlap = before.overlap(window, int(self.steps.times[k, m]), int(self.steps.losses[k, p, m]))
                if overlap is None:
                    continue
                source, place = overlap
                candidates, known = costs[p][source], found[m][place]
                better = candidates < known
                np.copyto(known, candidates, where=better)
                np.copyto(choice[m][place], p, where=better)
            found[m] += self.problem.weights[k, m]
        self.choices.append(choice)
        return found

    def _record(self, k: int, window: _Window, costs: FloatArray) -> None:
        """Remember the cheapest end at every level of loss that meets the target."""
        width = min(self.steps.target, window.last_loss) - window.first_loss + 1
        if width <= 0 or not window.size:
            return
        ends = costs[:, :, :width].reshape(-1, width)
        places = ends.argmin(axis=0)
        least = ends[places, np.arange(width)]
        levels = window.first_loss - self.first + np.arange(width)
        better = least < self.best[levels]
        chosen = levels[better]
        self.best[chosen] = least[better]
        model, row = np.divmod(places[better], window.shape[0])
        self.ends[chosen] = np.column_stack([np.full(len(chosen), k), model, row + window.first_time])

    def _front(self, cells: int) -> LayeredFront:
        lower = np.minimum.accumulate(np.concatenate([[np.inf], self.best]))[:-1]
        kept = np.flatnonzero(self.best < lower)
        levels = kept + self.first
        return LayeredFront(
            losses=np.asarray(self.problem.initial_loss + levels * self.steps.loss_step),
            costs=self.best[kept],
            paths=tuple(self._path(int(index)) for index in kept),
            cells=cells,
        )

    def _path(self, index: int) -> tuple[int, ...]:
        epoch, model, time = (int(value) for value in self.ends[index])
        loss, path = index + self.first, []
        for k in range(epoch, -1, -1):
            path.append(model)
            window = self.windows[k]
            before = int(self.choices[k][model, time - window.first_time, loss - window.first_loss])
            time -= int(self.steps.times[k, model])
            loss -= int(self.steps.losses[k, before, model])
            model = before
        return tuple(path[::-1])


def _windows(allowed: BoolArray, steps: Steps, capped: bool) -> list[_Window]:
    """What every layer can reach from the start, and on the side of high losses come back from."""
    best = least_completions(steps.losses, allowed)
    windows: list[_Window] = []
    count = allowed.shape[2]
    low = high = early = late = np.zeros(count + 1, dtype=np.int64)
    reached = np.arange(count + 1) == count
    for k in range(len(allowed)):
        usable = allowed[k] & (reached & (high > steps.target))[:, None]  # lower ones are not continued
        times = np.broadcast_to(steps.times[k], usable.shape)
        low = _spread(np.maximum(low, steps.target + 1), steps.losses[k], usable, np.min)
        high = _spread(high, steps.losses[k], usable, np.max)
        high = np.minimum(high, np.append(steps.target - best[k], -_FAR))
        if capped:
            high = np.minimum(high, 0)
        early, late = _spread(early, times, usable, np.min), _spread(late, times, usable, np.max)
        reached = (low <= high) & (early <= steps.last_time) & np.append(usable.any(axis=0), False)
        if not reached.any():
            break
        last_time = min(int(late[reached].max()), steps.last_time)
        windows.append(
            _Window(int(early[reached].min()), last_time, int(low[reached].min()), int(high[reached].max()))
        )
    return windows


def _spread(values: IntArray, steps: IntArray, usable: BoolArray, pick: Callable[..., IntArray]) -> IntArray:
    """Least or greatest of value + step over the usable predecessors; the start, reached by none, last."""
    worst = _FAR if pick is np.min else -_FAR
    return np.append(pick(np.where(usable, values[:, None] + steps, worst), axis=0), worst)


def _in_levels(values: FloatArray, step: float, rounding: Rounding) -> IntArray:
    ratios = values / step
    if np.abs(ratios).max(initial=0) > _FAR >> 10:
        raise NotCoveredError("a step spans a billion levels; take fewer levels or a shorter T_max")
    rounded = (
        np.ceil(ratios - LEVEL_TOLERANCE) if rounding is Rounding.UP else np.floor(ratios + LEVEL_TOLERANCE)
    )
    return np.asarray(rounded, dtype=np.int64)


def _least(problem: AdditiveProblem, levels: int, rounding: Rounding) -> float:
    if problem.initial_loss <= problem.maximum_loss:
        return 0.0
    front = layered_search(problem, levels, rounding)
    return float(front.costs[-1]) if len(front.costs) else math.inf


def _affordable(levels: int, cells: int, timed: bool) -> int:
    """The number of levels at which the graph would just be small enough, by its growth."""
    return int(levels * (LARGEST_CELLS / cells) ** (0.5 if timed else 1.0))


def _common(first: int, last: int, other_first: int, other_last: int) -> tuple[int, int] | None:
    """The half-open intersection of two ranges given by first and last."""
    start, stop = max(first, other_first), min(last, other_last) + 1
    return (start, stop) if start < stop else None


def _slices(top: int, rows: int, left: int, columns: int) -> _Slices:
    return slice(top, top + rows), slice(left, left + columns)
