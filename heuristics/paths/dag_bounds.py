r"""What completions of a path cost and use at least, on a graph without cycles.

For prices pi >= 0 of the limited resources, no path from v on costs less than the least sum of
cost + pi r over its arcs, less pi times what is left of the limits. Prices that make the least sum of a whole
path great are found by a subgradient search with Polyak's steps; how good they are decides how much is
dropped, and never what is true: the rounding of the sums is subtracted.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.heuristics.paths.dag import Dag, IntArray, Numbers
from depl.models.foundation.compiling import kernel

FloatArray = NDArray[np.float64]

_STEPS = 60
"""Steps of the search for prices, set by hand: each takes about as long as one look at every arc."""
_PATIENCE = 5
"""Steps without a better bound after which the next ones are half as long, set by hand."""
_EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Prices:
    """One bound: cost + prices . resources + completions[v] - rest is at most the cost of any path that keeps
    the limits, for a label with these sums at v.

    Attributes
    ----------
    prices : ndarray
        Shape (R,).
    completions : ndarray
        Shape (vertices,).
    rest : float
        Prices times limits, and the rounding of everything.
    """  # noqa: D205 - one sentence

    prices: FloatArray
    completions: FloatArray
    rest: float

    def bounds(self, labels: FloatArray, vertex: int) -> FloatArray:
        """Of labels at a vertex, shape (n, 1 + R); returns shape (n,)."""
        return np.asarray(labels[:, 0] + labels[:, 1:] @ self.prices + (self.completions[vertex] - self.rest))


def least_completions(graph: Dag, weights: Numbers) -> tuple[Numbers, IntArray]:
    """The least sum of weights from each vertex to the target, and the arc that begins it (-1 at the target).

    Parameters
    ----------
    weights : ndarray
        Shape (m,), of any kind of numbers.
    """
    run = _completions if weights.dtype != object else getattr(_completions, "py_func", _completions)
    found: tuple[Numbers, IntArray] = run(
        graph.tails, graph.heads, np.ascontiguousarray(weights), graph.count
    )
    return found


def path_along(graph: Dag, following: IntArray) -> list[int]:
    """The arcs of a path from the source, each the one that ``following`` names."""
    path, vertex = [], 0
    while vertex != graph.count - 1:
        path.append(int(following[vertex]))
        vertex = int(graph.heads[path[-1]])
    return path


def good_prices(graph: Dag, limited: list[int]) -> tuple[list[Prices], list[list[int]]]:
    """The bound without prices and the best one found, and the paths met on the way.

    Parameters
    ----------
    limited : list of int
        The resources that have a limit that some path breaks.
    """
    search = _PriceSearch(graph, limited)
    plain = search.at(np.zeros(len(limited)))
    if not limited:
        return [plain], search.paths
    search.climb()
    return [plain, search.at(search.best)], search.paths


class _PriceSearch:
    """Prices in units that make a typical cost and a typical use equal."""

    def __init__(self, graph: Dag, limited: list[int]) -> None:
        self.graph, self.paths = graph, list[list[int]]()
        self.costs = graph.numbers[:, 0].astype(float)
        self.used = graph.numbers[:, [1 + column for column in limited]].astype(float)
        self.limits = np.array([float(graph.limits[column] or 0) for column in limited])
        span = max(float(np.abs(self.costs).sum()), 1.0)
        self.scales = span / np.maximum(np.abs(self.used).sum(axis=0), 1.0)
        self.best = np.zeros(len(limited))
        self.best_bound = -np.inf

    def at(self, prices: FloatArray) -> Prices:
        """The bound at some prices."""
        completions, following = least_completions(self.graph, self.costs + self.used @ prices)
        self.paths.append(path_along(self.graph, following))
        parts = np.abs(self.used).sum(axis=0) + np.abs(self.limits)
        size = float(np.abs(self.costs).sum() + prices @ parts)
        slack = 4 * (self.graph.count + len(prices) + 8) * _EPSILON * size
        return Prices(prices, completions, float(prices @ self.limits) + slack)

    def climb(self) -> None:
        """Polyak's steps towards the cost of the best path known, shorter where they lead nowhere."""
        prices, share, idle, goal = self.best, 1.0, 0, np.inf
        for _ in range(_STEPS):
            found = self.at(prices)
            path = self.paths[-1]
            bound = float(found.completions[0]) - found.rest
            over = self.used[path].sum(axis=0) - self.limits
            if (over <= 0).all():
                goal = min(goal, float(self.costs[path].sum()))
            idle = 0 if bound > self.best_bound else idle + 1
            if bound > self.best_bound:
                self.best, self.best_bound = prices, bound
            if idle >= _PATIENCE:
                prices, share, idle = self.best, share / 2, 0
                continue
            slope = over * self.scales
            square = float(slope @ slope)
            if not square:
                return
            reach = goal - bound if np.isfinite(goal) else float(np.abs(self.costs[path]).sum()) + 1.0
            prices = np.maximum(prices + share * max(reach, 0.0) / square * slope * self.scales, 0.0)


@kernel()
def _completions(tails: IntArray, heads: IntArray, weights: Numbers, count: int) -> tuple[Numbers, IntArray]:
    """Arcs come sorted by tail, and heads are greater than tails: from the last arc on, heads are settled."""
    least = np.zeros(count, weights.dtype)
    following = np.full(count, -1, np.int64)
    for arc in range(len(tails) - 1, -1, -1):
        value = weights[arc] + least[heads[arc]]
        if following[tails[arc]] < 0 or value < least[tails[arc]]:
            least[tails[arc]] = value
            following[tails[arc]] = arc
    return least, following
