r"""Stage 2 of the paper: which model trains each epoch, by a shortest path in the expanded graph (Sec. IV-B).

A vertex is (model m, epoch k, time level i, loss level j): elapsed time i T_max / eta, loss j l(0) / eta.
(The code counts j from l(0): the start is level 0, and training leads below.) With h = l(0) / eta an edge
trains one more epoch, of time t and change d of the loss, and its tight head is

    a = ceil(eta t / T_max) levels of time later,     b = ceil(d / h) levels of loss further     (rounded up);

the run and the switch of a step are rounded together. An edge weighs "the cost associated with the switch",
on the most capable cluster with all its resources: kappa r by (2) (E12: that counts epochs; `Weight` has
other readings), and t = c / r + s / b by (1). A head after T_max is left out, as (4) asks; every vertex at or
below l_max, as (3) asks, has an edge to Omega, and a lightest path from the start to Omega is the choice.

Where we read the paper. "Takes at most" gives edges to every later head, too; from there only the same steps
lead on with less left of both budgets, so no shortest path needs them. *Blacklist*: a path that proved
insufficient is taken out by deleting the edge from its last vertex to Omega. The vertex stays, as longer
paths may lead through it, and each choice takes one of at most M K eta**2 edges away: the loop ends. (There
are up to M**K single paths, most of them permutations of one another.)

Where we depart. There is an explicit start (time 0, loss l(0)), and levels of loss above l(0) (E11). And a
sum that decides feasibility needs real labels: the paper adds logarithms of Laplace transforms and names no
argument; with one real argument s for the whole graph (E5) that is Chernoff's bound of the quantile,

    l(0) + sum of (ln E exp(s d)) / s + ln(1 / (1 - omega)) / s  <=  l_max,

the *entropic* label. Here s is the best one for the path that the graph leads to: start from the path for the
mean, take the s at which its bound is least, search, and repeat until s changes by less than 2 %. An
untruncated Student-t has no Laplace transform at any s > 0; the *normal* label takes over then, and the
*expected* one where there is no variance. Only the entropic label is safe under the law.

Rounding down gives a graph whose lightest path is a lower bound: with rounding up they bracket the least
weight (E10, as every E in docs/errata.rst; proof: page "Model selection", "The bicriteria inequality").
"""

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.paths.additive_labels import (
    AdditiveLabel,
    best_rate,
    entropic_label,
    expected_label,
    normal_label,
)
from depl.heuristics.paths.additive_problem import AdditiveProblem, Weight, additive_problem
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.memory import require_memory
from depl.models.problem.epochs import FinalLoss, compose, loss_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.site_rules import most_capable_cluster

PAPER_LEVELS = 200
"""eta of the paper's evaluation."""

LEVEL_TOLERANCE = 1e-9
"""Levels by which a number may miss a whole level and still count as on it: a ceiling of what is a whole
number but for rounding would jump a level. So a path may exceed T_max by K 1e-9 levels, and l_max
likewise."""

LARGEST_VERTICES = 600_000_000
"""Most vertices of a graph; each takes some nanoseconds per model."""

_VERTEX = 10.0
"""Bytes of a vertex: the model before it, and its weight if it has an edge to Omega."""

_FARTHEST = 1 << 30
"""Levels that a step may span, so that sums over thousands of epochs stay far below 2**63."""

_MOST_SEARCHES = 5
"""Labels that are tried for one choice of data. Set by hand: each builds its graph anew, and the loop ends
once a parameter comes back."""

_SAME = 0.02
"""Relative difference of two parameters that count as the same. Set by hand: a label hardly changes near its
best parameter, where its derivative is 0."""

_PROBE = 1e-3
"""Parameter with which a label is tried to see whether it covers all laws [1 / loss or loss]. Set by hand:
small, so that a law with exponential moments near 0 alone has one."""

IntArray = NDArray[np.int64]


class Rounding(Enum):
    """Direction in which times and losses are moved to whole levels."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True)
class GraphPath:
    """A lightest path to one vertex."""

    models: tuple[int, ...]  # by position, epoch by epoch
    weight: float  # in the graph
    time_level: int  # i of the vertex
    loss_level: int  # j of the vertex, counted from l(0)


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a path problem in whole levels, ``levels`` being eta."""

    levels: int
    time_step: float  # width of a level [time], infinite without T_max
    loss_step: float  # [loss]
    times: IntArray  # a, shape (K, M)
    losses: IntArray  # b, shape (K, M + 1, M), row M being the start
    last_time: int  # greatest level of time
    target: int  # greatest level of loss that meets l_max, counted from l(0)


def steps_in_levels(problem: AdditiveProblem, levels: int, rounding: Rounding = Rounding.UP) -> Steps:
    """Round every step of a problem to eta levels (E3: their number, not their width)."""
    if levels < 1:
        raise InvalidInputError(f"must be at least 1, not {levels}", "eta")
    if not problem.initial_loss > 0:
        raise InvalidInputError(
            f"levels of loss are fractions of l(0), which is {problem.initial_loss:g}; shift the loss scale"
        )

    def rounded(values: FloatArray, step: float) -> IntArray:
        ratios = values / step
        if np.abs(ratios).max(initial=0) > _FARTHEST:
            raise NotCoveredError("a step spans a billion levels; take fewer levels or a shorter T_max")
        up = rounding is Rounding.UP
        whole = np.ceil(ratios - LEVEL_TOLERANCE) if up else np.floor(ratios + LEVEL_TOLERANCE)
        return np.asarray(whole, dtype=np.int64)

    time_step, loss_step = problem.maximum_time / levels, problem.initial_loss / levels
    needed = (problem.maximum_loss - problem.initial_loss) / loss_step
    return Steps(
        levels=levels,
        time_step=time_step,
        loss_step=loss_step,
        times=rounded(problem.times, time_step),
        losses=rounded(problem.losses, loss_step),
        last_time=levels if math.isfinite(time_step) else 0,
        target=math.floor(needed + LEVEL_TOLERANCE),
    )


class ExpandedGraph:
    """The expanded graph of a path problem: all vertices that the start reaches, layer by layer.

    All vertices of one model and epoch form a grid of levels, and a step moves the whole grid by (a, b): a
    slice. Weights are not negative, so a path of more epochs than have been looked at weighs at least as much
    as the lightest vertex of the last layer and the lightest epoch to come: further layers are made when a
    question passes this bound.

    Parameters
    ----------
    problem : AdditiveProblem
    levels : int
        eta.
    rounding : Rounding
        UP is the paper's graph, whose paths are feasible; DOWN gives a lower bound of the optimum.
    proceed : callable
        Asked before every layer; False ends the search by `OutOfTimeError`.

    Raises
    ------
    InvalidInputError
        If ``levels`` is below 1, l(0) is not positive, or a step spans a billion levels.
    """

    def __init__(
        self,
        problem: AdditiveProblem,
        levels: int = PAPER_LEVELS,
        rounding: Rounding = Rounding.UP,
        proceed: Callable[[], bool] = lambda: True,
    ) -> None:
        self.problem, self.proceed = problem, proceed
        self.steps = steps_in_levels(problem, levels, rounding)
        nothing = np.full((1, 1, 1), problem.start, dtype=np.int16)
        self._layers = [_Layer((problem.start,), (0, 0), np.zeros((1, 1, 1)), nothing, self.steps.target)]
        self.vertices = 0

    def paths(self) -> Iterator[GraphPath]:
        """The lightest path to every vertex with an edge to Omega, lightest first.

        Of equal weights fewer epochs come first, then the lower loss, then the earlier time, then the model
        that the instance lists first. More than `LARGEST_VERTICES` vertices are refused (NotCoveredError).
        """
        waiting: list[tuple[float, int, int]] = []  # weight, epochs, place among the ends of that layer
        epochs = 0
        while True:
            while not waiting or waiting[0][0] > self._bound(epochs):
                if not self._reaches(epochs + 1):
                    break
                epochs += 1
                least = self._layers[epochs].least_end
                if math.isfinite(least):
                    heapq.heappush(waiting, (least, epochs, 0))
            if not waiting:
                return
            _, layer, place = heapq.heappop(waiting)
            ends = self._layers[layer].ends
            yield self._path(layer, *ends[place].tolist())
            if place + 1 < len(ends):
                heapq.heappush(waiting, (self._layers[layer].weight(*ends[place + 1]), layer, place + 1))

    def nearest(self) -> GraphPath | None:
        """The lightest of the paths that end at the lowest loss; None if no epoch fits in the time."""
        epochs = 0
        while self._reaches(epochs + 1):
            epochs += 1
        if not epochs:
            return None
        lowest = [(layer.loss, layer.lowest, place) for place, layer in enumerate(self._layers) if place]
        _, (_, model, time), epochs = min(lowest, key=lambda item: (item[0], item[1][0], item[2]))
        return self._path(epochs, model, time, 0)

    def least(self) -> float:
        """Least weight of a path from the start to Omega; infinite if there is none."""
        if self.problem.initial_loss <= self.problem.maximum_loss:
            return 0.0
        lightest = next(self.paths(), None)
        return math.inf if lightest is None else lightest.weight

    def loss(self, path: GraphPath) -> float:
        """Loss of the last vertex of a path, without what the label charges once [loss]."""
        return self.problem.initial_loss + path.loss_level * self.steps.loss_step

    def _reaches(self, epochs: int) -> bool:
        """Whether there is a vertex at that epoch; its layer is made if there is."""
        if epochs < len(self._layers):
            return True
        if epochs > self.problem.epochs:
            return False
        if not self.proceed():
            raise OutOfTimeError
        layer = self._extended(epochs - 1, self._layers[-1])
        if layer is None:
            return False
        self._layers[-1].forget()
        self._layers.append(layer)
        return True

    def _bound(self, epochs: int) -> float:
        """Least weight of a path of more epochs."""
        return self._layers[epochs].least + float(self.problem.weights[epochs:].min(initial=math.inf))

    def _extended(self, k: int, before: "_Layer") -> "_Layer | None":
        """The layer of epoch k + 1; None if nothing is reached."""
        times, losses = self.steps.times[k], self.steps.losses[k]
        count = self.problem.start
        pairs = [(p, m) for p in before.models for m in range(count) if self.problem.allowed[k, p, m]]
        if not pairs:
            return None
        _, rows, columns = before.weights.shape
        first = before.time + min(int(times[m]) for _, m in pairs)
        last = min(before.time + rows - 1 + max(int(times[m]) for _, m in pairs), self.steps.last_time)
        low = before.loss + min(int(losses[pair]) for pair in pairs)
        high = before.loss + columns - 1 + max(int(losses[pair]) for pair in pairs)
        if first > last:
            return None
        self._require_room(count * (last - first + 1) * (high - low + 1))
        weights = np.full((count, last - first + 1, high - low + 1), np.inf)
        parents = np.full(weights.shape, -1, dtype=np.int16)
        for p, m in pairs:
            i, j = before.time + int(times[m]) - first, before.loss + int(losses[p, m]) - low
            source = before.weights[before.models.index(p), : max(weights.shape[1] - i, 0)]  # others are late
            place = m, slice(i, i + len(source)), slice(j, j + columns)
            better = source < weights[place]
            np.copyto(weights[place], source, where=better)
            np.copyto(parents[place], p, where=better)
        if not np.isfinite(weights).any():
            return None
        weights += self.problem.weights[k][:, None, None]
        return _Layer(tuple(range(count)), (first, low), weights, parents, self.steps.target)

    def _require_room(self, vertices: int) -> None:
        self.vertices += vertices
        if self.vertices > LARGEST_VERTICES:
            raise NotCoveredError(
                f"the expanded graph has more than {LARGEST_VERTICES} vertices; take eta below "
                f"{self.steps.levels}"
            )
        require_memory(_VERTEX * self.vertices, "the expanded graph", "take fewer levels (eta)")

    def _path(self, epochs: int, model: int, row: int, column: int) -> GraphPath:
        last = self._layers[epochs]
        time, loss = last.time + row, last.loss + column
        found, at = [], (model, time, loss)
        for k in range(epochs, 0, -1):
            layer, (m, i, j) = self._layers[k], at
            found.append(m)
            p = int(layer.parents[m, i - layer.time, j - layer.loss])
            at = p, i - int(self.steps.times[k - 1, m]), j - int(self.steps.losses[k - 1, p, m])
        return GraphPath(tuple(found[::-1]), last.weight(model, row, column), time, loss)


class _Layer:
    """The vertices of one epoch: a grid of weights for each model, infinite where there is none.

    Rows and columns at the edges that nothing reaches are left out. ``time`` and ``loss`` are the levels of
    the first row and column, ``parents`` the models before.
    """

    def __init__(
        self,
        models: tuple[int, ...],
        corner: tuple[int, int],
        weights: FloatArray,
        parents: NDArray[np.int16],
        target: int,
    ) -> None:
        reached: NDArray[np.bool_] = np.asarray(np.isfinite(weights).any(axis=0))
        rows, columns = np.flatnonzero(reached.any(axis=1)), np.flatnonzero(reached.any(axis=0))
        kept = slice(None), slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
        self.models, self.weights, self.parents = models, weights[kept], parents[kept]
        self.time, self.loss = corner[0] + int(rows[0]), corner[1] + int(columns[0])
        self.least = float(self.weights.min())
        self._met = self.weights[:, :, : max(target - self.loss + 1, 0)]
        self.least_end = float(self._met.min(initial=math.inf))
        column = self.weights[:, :, 0]
        model, row = divmod(int(np.argmin(column)), self.weights.shape[1])
        self.lowest = float(column[model, row]), model, row

    @cached_property
    def ends(self) -> IntArray:
        """Model, row and column of the vertices with an edge to Omega, in the order of paths."""
        model, row, column = np.nonzero(np.isfinite(self._met))
        order = np.lexsort((model, row, column, self._met[model, row, column]))
        return np.column_stack([model, row, column])[order]

    def weight(self, model: int, row: int, column: int) -> float:
        """Of a vertex with an edge to Omega, or of the lowest."""
        return float(self._met[model, row, column]) if column < self._met.shape[2] else self.lowest[0]

    def forget(self) -> None:
        """Keep no weights but those of the ends: nothing is led on from here any more."""
        self._met, self.weights = self._met.copy(), np.empty((0, 0, 0))


class PaperLabel(Enum):
    """What stands for the quantile on the edges."""

    ENTROPIC = "entropic"
    """Log-transform at one real s: Chernoff's bound."""
    NORMAL = "normal"
    """The normal quantile, by its tangent at one deviation."""
    EXPECTED = "expected"
    """The mean."""


@dataclass(frozen=True, eq=False)
class Selector:
    """Model selection of an instance by the expanded graph; by default as the paper has it.

    The label None chooses as the module says; one that is given is refused where it does not cover a law.
    """

    instance: Instance
    levels: int = PAPER_LEVELS  # eta
    weight: Weight = Weight.FULL_RESOURCES
    label: PaperLabel | None = None
    proceed: Callable[[], bool] = lambda: True  # asked before every layer

    def graph(self, datasets: frozenset[str]) -> tuple[ExpandedGraph, AdditiveLabel]:
        """The graph of a data choice with the label that it was built for.

        Of the graphs tried the one with the lightest path is kept, of equals the one where it ends lowest,
        and it stays while its paths are blacklisted.
        """
        expected = expected_label()
        graph = self._built(datasets, expected)
        path = next(graph.paths(), None) or graph.nearest()
        kind = self._kind(datasets)
        if path is None or kind is PaperLabel.EXPECTED:
            return graph, expected
        parameter = self._own(kind, self.final_loss(datasets, path))
        if parameter is None:  # nothing is random: every label is the loss itself
            return graph, expected
        tried: list[float] = []
        found: list[tuple[float, float, ExpandedGraph, AdditiveLabel]] = []
        while parameter is not None and len(tried) < _MOST_SEARCHES:
            if any(math.isclose(parameter, other, rel_tol=_SAME) for other in tried):
                break
            tried.append(parameter)
            label = self._label(kind, parameter)
            graph = self._built(datasets, label)
            lightest = next(graph.paths(), None)
            path = lightest or graph.nearest() or path
            weight = math.inf if lightest is None else lightest.weight
            found.append((weight, graph.loss(path) + label.surcharge, graph, label))
            parameter = self._own(kind, self.final_loss(datasets, path))
        return min(found, key=lambda item: item[:2])[2:]

    def names(self, path: GraphPath) -> tuple[str, ...]:
        """The models of a path."""
        return tuple(self.instance.models[index].name for index in path.models)

    def final_loss(self, datasets: frozenset[str], path: GraphPath) -> FinalLoss:
        """The law of l(K) on a path; it does not depend on the clusters (Sec. IV-C)."""
        steps, previous, since = [], self.instance.target.initial_model, 0
        for index, model in enumerate(self.names(path)):
            since = since + 1 if index and model == previous else 0
            steps.append(loss_step(self.instance, index + 1, since, previous, model, datasets))
            previous = model
        return compose(self.instance.target.initial_loss, steps)

    def _built(self, datasets: frozenset[str], label: AdditiveLabel) -> ExpandedGraph:
        return ExpandedGraph(self._problem(datasets, label), self.levels, proceed=self.proceed)

    def _problem(self, datasets: frozenset[str], label: AdditiveLabel) -> AdditiveProblem:
        place = most_capable_cluster(self.instance).name
        return additive_problem(self.instance, datasets, place, label, self.weight)

    def _kind(self, datasets: frozenset[str]) -> PaperLabel:
        """The label to take; refuses one that was asked for and does not cover a law of the graph."""
        for kind in (self.label,) if self.label else (PaperLabel.ENTROPIC, PaperLabel.NORMAL):
            try:
                self._problem(datasets, self._label(kind, _PROBE))
            except NotCoveredError:
                if self.label is not None:
                    raise
                continue
            return kind
        return PaperLabel.EXPECTED

    def _label(self, kind: PaperLabel, parameter: float) -> AdditiveLabel:
        target = self.instance.target
        if kind is PaperLabel.ENTROPIC:
            return entropic_label(target.violation_budget, parameter)
        normal = kind is PaperLabel.NORMAL
        return normal_label(target.quantile_level, parameter) if normal else expected_label()

    def _own(self, kind: PaperLabel, loss: FinalLoss) -> float | None:
        """A loss's own parameter of a label; None where nothing is random."""
        if kind is PaperLabel.ENTROPIC:
            return best_rate(loss, self.instance.target.violation_budget)
        return math.sqrt(loss.variance()) or None
