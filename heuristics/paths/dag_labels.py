"""Label setting on any graph without cycles: passes of growing width, as in `depl.heuristics.paths.setting`.

A label is what a path from the source costs and uses so far. At every vertex the labels that another one
dominates are dropped, those that no completion brings within the limits, and those whose bound reaches the
cost of the best path known. A pass keeps at most so many labels of a vertex, the ones of least bound; what it
leaves out bounds the cost from below, and a pass that leaves nothing out proves its path.
"""

import math
import time
from dataclasses import dataclass

import numpy as np

from depl.heuristics.paths.dag import Dag, IntArray, Numbers
from depl.heuristics.paths.dag_bounds import FloatArray, good_prices, least_completions, path_along
from depl.models.foundation.compiling import kernel
from depl.models.solving.result import Termination

FIRST_WIDTH, WIDER = 32, 8
"""As in `depl.heuristics.paths.setting`: narrow passes are cheap, and find paths by which wider ones drop."""

MOST_LABELS = 20_000_000
"""Labels that all passes together may keep: at five numbers each, less than a GiB."""


@dataclass(frozen=True)
class Found:
    """What is known of the cheapest path.

    Attributes
    ----------
    path : tuple of int or None
        Arcs of the graph.
    lower : int or None
        No path within the limits costs less, in units of the cost; None if there is none.
    labels : int
        Labels kept in all passes.
    termination : Termination
    """

    path: tuple[int, ...] | None
    lower: int | None
    labels: int
    termination: Termination


@dataclass(frozen=True, eq=False)
class _Labels:
    """Labels of one vertex: sums, the arc each came by and its place among the labels of the arc's tail."""

    sums: Numbers
    arcs: IntArray
    parents: IntArray


class DagSearch:
    """Passes over one graph, which share its bounds.

    Parameters
    ----------
    graph : Dag
    all_columns : bool
        Whether labels are compared in every resource, as a front asks for, or only in those that a limit
        makes matter.
    """

    def __init__(self, graph: Dag, *, all_columns: bool = False) -> None:
        self.graph = graph
        self.least, self.quickest = self._least_uses()
        matter = [column for column in range(len(graph.limits)) if self._matters(column)]
        self.limited = matter
        self.columns = list(range(len(graph.limits))) if all_columns else matter
        self.arcs_into = _grouped(graph)
        self.prices, paths = good_prices(graph, matter) if self.reachable else ([], [])
        self.paths = [tuple(path) for path in paths + self.quickest]

    @property
    def reachable(self) -> bool:
        """Whether every limit can be kept by some path: else none keeps them all."""
        pairs = zip(self.least, self.graph.limits, strict=True)
        return all(limit is None or int(least[0]) <= limit for least, limit in pairs)

    def cost(self, path: tuple[int, ...]) -> int:
        """In units of the cost."""
        return sum(int(value) for value in self.graph.numbers[list(path), 0])

    def keeps_limits(self, path: tuple[int, ...]) -> bool:
        """Whether a path keeps all limits."""
        used = self.graph.numbers[list(path), 1:].astype(object).sum(axis=0)
        pairs = zip(used, self.graph.limits, strict=True)
        return all(limit is None or value <= limit for value, limit in pairs)

    def run(
        self, upper: int | None, width: float, most_labels: int, end: float = math.inf
    ) -> tuple[list["_Labels"], float, bool]:
        """One pass.

        Parameters
        ----------
        upper : int or None
            Only cheaper paths are looked for.
        width : float
            Most labels of a vertex.
        most_labels : int
            Labels that may be kept before the pass is stopped.
        end : float
            When it is stopped, on the clock of `time.monotonic` [s].

        Returns
        -------
        labels : list
            Of every vertex.
        dropped : float
            The least bound of what did not fit into the width; infinite if all did.
        stopped : bool
            Whether it was stopped; then nothing follows.
        """
        columns = [0, *(1 + column for column in self.columns)]
        numbers = np.ascontiguousarray(self.graph.numbers[:, columns])
        nothing = np.zeros(1, dtype=np.int64)
        layers = [_Labels(np.zeros((1, len(columns)), dtype=numbers.dtype), nothing - 1, nothing - 1)]
        dropped, kept = math.inf, 0
        for vertex in range(1, self.graph.count):
            if kept >= most_labels or time.monotonic() >= end:
                return layers, dropped, True
            found = self._feasible(self._arriving(layers, numbers, vertex), vertex)
            bounds = self._bounds(found.sums, vertex)
            if upper is not None:
                cheap = bounds <= upper - 1
                found, bounds = _taken(found, cheap), bounds[cheap]
            front = pareto(found.sums)
            found, bounds = _taken(found, front), bounds[front]
            if len(bounds) > width and vertex < self.graph.count - 1:
                order = np.argsort(bounds, kind="stable")
                dropped = min(dropped, float(bounds[order[int(width)]]))
                found = _taken(found, np.sort(order[: int(width)]))
            kept += len(found.arcs)
            layers.append(found)
        return layers, dropped, False

    def path_of(self, layers: list["_Labels"], place: int) -> tuple[int, ...]:
        """The arcs of a label of the target."""
        vertex, path = self.graph.count - 1, []
        while vertex:
            arc = int(layers[vertex].arcs[place])
            path.append(arc)
            place, vertex = int(layers[vertex].parents[place]), int(self.graph.tails[arc])
        return tuple(path[::-1])

    def _arriving(self, layers: list["_Labels"], numbers: Numbers, vertex: int) -> _Labels:
        into = [arc for arc in self.arcs_into[vertex] if len(layers[self.graph.tails[arc]].arcs)]
        if not into:
            nothing = np.zeros(0, dtype=np.int64)
            return _Labels(numbers[:0], nothing, nothing)
        tails = [layers[self.graph.tails[arc]].sums for arc in into]
        lengths = [len(sums) for sums in tails]
        return _Labels(
            np.concatenate([sums + numbers[arc] for sums, arc in zip(tails, into, strict=True)]),
            np.repeat(np.array(into, dtype=np.int64), lengths),
            np.concatenate([np.arange(length) for length in lengths]),
        )

    def _feasible(self, labels: _Labels, vertex: int) -> _Labels:
        kept = np.ones(len(labels.arcs), dtype=bool)
        for column in self.limited:
            limit = self.graph.limits[column]
            if limit is not None:
                used = labels.sums[:, 1 + self.columns.index(column)]
                kept &= (used <= limit - int(self.least[column][vertex])).astype(bool)
        return _taken(labels, kept)

    def _bounds(self, sums: Numbers, vertex: int) -> FloatArray:
        places = [0, *(1 + self.columns.index(column) for column in self.limited)]
        plain = sums[:, places].astype(float)
        return np.asarray(np.max([prices.bounds(plain, vertex) for prices in self.prices], axis=0))

    def _matters(self, column: int) -> bool:
        """Whether some path breaks the limit."""
        limit = self.graph.limits[column]
        if limit is None:
            return False
        most, _ = least_completions(self.graph, -self.graph.numbers[:, 1 + column])
        return -int(most[0]) > limit

    def _least_uses(self) -> tuple[list[Numbers], list[list[int]]]:
        """Least use from each vertex on, and the paths that use least, one for each resource."""
        found = [
            least_completions(self.graph, self.graph.numbers[:, 1 + column])
            for column in range(len(self.graph.limits))
        ]
        return [least for least, _ in found], [path_along(self.graph, following) for _, following in found]


def cheapest_path(graph: Dag, *, time_limit: float | None = None, most_labels: int = MOST_LABELS) -> Found:
    """The cheapest path within the limits, or what is known of it when time or labels are used up.

    Parameters
    ----------
    time_limit : float, optional
        Seconds.
    most_labels : int
        Labels that all passes together may keep.
    """
    search = DagSearch(graph)
    if not search.reachable:
        return Found(None, None, 0, Termination.INFEASIBLE)
    best = min(filter(search.keeps_limits, search.paths), key=search.cost, default=None)
    lower = max(_rounded_up(float(one.completions[0]) - one.rest) for one in search.prices)
    end = math.inf if time_limit is None else time.monotonic() + time_limit
    labels, width = 0, FIRST_WIDTH
    while best is None or lower < search.cost(best):
        upper = None if best is None else search.cost(best)
        layers, dropped, stopped = search.run(upper, width, most_labels - labels, end)
        labels += sum(len(layer.arcs) for layer in layers)
        if stopped:
            late = time.monotonic() >= end
            return Found(best, lower, labels, Termination.TIME_LIMIT if late else Termination.EXHAUSTED)
        if len(layers[-1].arcs):
            best = search.path_of(layers, int(np.argmin(layers[-1].sums[:, 0])))
        if math.isinf(dropped):
            if best is None:
                return Found(None, None, labels, Termination.INFEASIBLE)
            lower = search.cost(best)
        else:
            lower = max(lower, _rounded_up(dropped))
        width *= WIDER
    return Found(best, search.cost(best), labels, Termination.OPTIMAL)


def pareto(sums: Numbers) -> IntArray:
    """Places of the labels that no other one dominates, of equal ones the first, by cost."""
    order = np.lexsort(sums.T[::-1])
    run = _undominated if sums.dtype != object else getattr(_undominated, "py_func", _undominated)
    kept: IntArray = run(np.ascontiguousarray(sums[order]))
    return order[kept]


def _taken(labels: _Labels, kept: np.ndarray) -> _Labels:
    return _Labels(labels.sums[kept], labels.arcs[kept], labels.parents[kept])


def _grouped(graph: Dag) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(graph.count)]
    for arc, head in enumerate(graph.heads.tolist()):
        found[head].append(arc)
    return found


def _rounded_up(bound: float) -> int:
    """Costs are whole, so that a bound may be rounded up."""
    return math.ceil(bound)


@kernel()
def _undominated(rows: Numbers) -> IntArray:
    """Rows come sorted; one that dominates another comes before it."""
    count, width = rows.shape
    kept = np.empty(count, np.int64)
    number = 0
    for row in range(count):
        dominated = False
        # with two columns the last one kept uses least of all before
        first = max(number - 1, 0) if width == 2 else 0
        for place in range(number - 1, first - 1, -1):
            other = kept[place]
            worse = True
            for column in range(1, width):
                if rows[other, column] > rows[row, column]:
                    worse = False
                    break
            if worse:
                dominated = True
                break
        if not dominated:
            kept[number] = row
            number += 1
    return kept[:number]
