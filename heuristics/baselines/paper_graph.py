r"""The paper's expanded graph with a blacklist: the lightest path to every feasible vertex, lightest first.

A vertex is (model, epoch k, time level i, loss level j) as in `depl.heuristics.paths.layered`; only vertices
that the start reaches are made, layer by layer and no more layers than are asked for. Of the paths to a
vertex only a lightest one is kept, as Dijkstra's algorithm does.

**Blacklist.** A path that proved insufficient is taken out by deleting the edge from its last vertex to
Omega. The vertex itself stays: longer paths may lead through it. So the paths of `ModelGraph.paths` are those
that repeated searches would find, and each takes one of at most M K eta**2 edges away: the loop ends.
(Deleting single paths would end, too, but after up to M**K of them, most of them permutations of one
another.)

Weights are not negative, so a path of more epochs than have been looked at weighs at least as much as the
lightest vertex of the last layer and the lightest epoch to come: layers beyond are only made when this bound
is passed. Of equal weights fewer epochs come first, then the lower loss, then the earlier time, then the
model that the instance lists first.
"""

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.layered import IntArray, steps_in_levels
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.laws import FloatArray
from depl.models.risk.rounded import Rounding

LARGEST_VERTICES = 10_000_000
"""Most vertices of one graph; each takes 34 bytes."""


class StoppedError(Exception):
    """The time limit was reached while a graph was built."""


@dataclass(frozen=True)
class GraphPath:
    """A lightest path to one vertex.

    Attributes
    ----------
    models : tuple of int
        Indices of the models.
    weight : float
        In the graph [weight].
    time_level, loss_level : int
        i and, counted from l(0), j of the vertex.
    """

    models: tuple[int, ...]
    weight: float
    time_level: int
    loss_level: int


class ModelGraph:
    """The expanded graph of a path problem, rounded up (conservatively), with an explicit start (E11)."""

    def __init__(
        self, problem: AdditiveProblem, levels: int, proceed: Callable[[], bool] = lambda: True
    ) -> None:
        """Round the steps of ``problem`` to ``levels`` (eta); ``proceed`` is asked before every layer."""
        self.problem, self.proceed = problem, proceed
        self.steps = steps_in_levels(problem, levels, Rounding.UP)
        self._layers = [_start(problem.start)]
        self._vertices = 0

    def paths(self) -> Iterator[GraphPath]:
        """The lightest path to every vertex with an edge to Omega, lightest first.

        Raises
        ------
        StoppedError
            If ``proceed`` says so.
        NotCoveredError
            If there are more than `LARGEST_VERTICES` vertices.
        """
        waiting: list[tuple[float, int, int]] = []  # weight, epochs, position among the ends of the layer
        ends: list[IntArray] = []
        epochs = 0
        while True:
            while not waiting or waiting[0][0] > self._bound(epochs):
                if not self._reaches(epochs + 1):
                    break
                epochs += 1
                ends.append(self._ends(epochs))
                self._wait(waiting, epochs, ends[-1], 0)
            if not waiting:
                return
            _, layer, position = heapq.heappop(waiting)
            yield self._path(layer, int(ends[layer - 1][position]))
            self._wait(waiting, layer, ends[layer - 1], position + 1)

    def nearest(self) -> GraphPath | None:
        """The lightest of the paths that end at the lowest loss; None if no epoch fits in the time.

        Raises
        ------
        StoppedError, NotCoveredError
            As `paths`.
        """
        found: list[tuple[int, float, int, int]] = []
        epochs = 0
        while self._reaches(epochs + 1):
            epochs += 1
            layer = self._layers[epochs]
            index = int(np.lexsort((layer.weight, layer.loss))[0])
            found.append((int(layer.loss[index]), float(layer.weight[index]), epochs, index))
        if not found:
            return None
        _, _, epochs, index = min(found)
        return self._path(epochs, index)

    def loss(self, path: GraphPath) -> float:
        """Loss of the last vertex of a path, without what the label charges once [loss]."""
        return self.problem.initial_loss + path.loss_level * self.steps.loss_step

    def _reaches(self, epochs: int) -> bool:
        """Whether there is a vertex at that epoch; its layer is made if there is."""
        if epochs < len(self._layers):
            return True
        if epochs > self.problem.epochs or not len(self._layers[-1].model):
            return False
        if not self.proceed():
            raise StoppedError
        layer = self._extended(epochs - 1, self._layers[-1])
        if not len(layer.model):
            return False
        self._layers.append(layer)
        return True

    def _bound(self, epochs: int) -> float:
        """Least weight of a path of more epochs."""
        following = self.problem.weights[epochs:]
        layer = self._layers[epochs]
        return float(layer.weight.min()) + float(following.min(initial=math.inf))

    def _extended(self, k: int, before: "_Layer") -> "_Layer":
        """The layer of epoch k + 1."""
        pieces = []
        for m in range(self.problem.start):
            time = before.time + int(self.steps.times[k, m])
            usable = self.problem.allowed[k, before.model, m] & (time <= self.steps.last_time)
            parent = np.flatnonzero(usable)
            heads = _Layer(
                model=np.full(len(parent), m, dtype=np.int16),
                time=time[parent],
                loss=before.loss[parent] + self.steps.losses[k, before.model[parent], m],
                weight=before.weight[parent] + self.problem.weights[k, m],
                parent=parent,
            )
            pieces.append(_lightest(heads))
            self._vertices += len(pieces[-1].model)
            if self._vertices > LARGEST_VERTICES:
                levels = f"take eta below {self.steps.levels}"
                raise NotCoveredError(
                    f"the expanded graph has more than {LARGEST_VERTICES} vertices; {levels}"
                )
        return _Layer.joined(pieces)

    def _ends(self, epochs: int) -> IntArray:
        """Feasible vertices of a layer in their order."""
        layer = self._layers[epochs]
        ends = np.flatnonzero(layer.loss <= self.steps.target)
        keys = (layer.model[ends], layer.time[ends], layer.loss[ends], layer.weight[ends])
        return np.asarray(ends[np.lexsort(keys)], dtype=np.int64)

    def _wait(
        self, waiting: list[tuple[float, int, int]], epochs: int, ends: IntArray, position: int
    ) -> None:
        if position < len(ends):
            weight = float(self._layers[epochs].weight[ends[position]])
            heapq.heappush(waiting, (weight, epochs, position))

    def _path(self, epochs: int, index: int) -> GraphPath:
        last = self._layers[epochs]
        weight, time, loss = float(last.weight[index]), int(last.time[index]), int(last.loss[index])
        models = []
        for k in range(epochs, 0, -1):
            layer = self._layers[k]
            models.append(int(layer.model[index]))
            index = int(layer.parent[index])
        return GraphPath(tuple(models[::-1]), weight, time, loss)


@dataclass(frozen=True, eq=False)
class _Layer:
    """V vertices of one epoch, every array of shape (V,); ``parent`` counts in the layer before."""

    model: NDArray[np.int16]
    time: IntArray
    loss: IntArray
    weight: FloatArray
    parent: NDArray[np.intp]

    @classmethod
    def joined(cls, pieces: "list[_Layer]") -> "_Layer":
        """All vertices of some layers."""
        names = cls.__dataclass_fields__
        return cls(**{name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in names})

    def select(self, index: NDArray[np.intp]) -> "_Layer":
        """The vertices at some places."""
        return _Layer(**{name: getattr(self, name)[index] for name in self.__dataclass_fields__})


def _start(start: int) -> _Layer:
    nothing = np.zeros(1, dtype=np.int64)
    return _Layer(np.array([start], dtype=np.int16), nothing, nothing, np.zeros(1), np.array([-1]))


def _lightest(heads: _Layer) -> _Layer:
    """One entry for every vertex of one model: the first of the lightest."""
    if not len(heads.model):
        return heads
    order = np.lexsort((heads.weight, heads.loss, heads.time))
    changed = (np.diff(heads.time[order]) != 0) | (np.diff(heads.loss[order]) != 0)
    return heads.select(order[np.concatenate([[True], changed])])
