"""The expanded graph as a sparse matrix, for `scipy.sparse.csgraph` as a peer of the layered search.

Built with array operations, epoch by epoch; vertices that meet the target are not continued, as in
`depl.heuristics.paths.layered`, so that all peers search the same graph.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array

from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.layered import IntArray, Steps, steps_in_levels
from depl.models.risk.rounded import Rounding


@dataclass(frozen=True, eq=False)
class SparseGraph:
    """Adjacency matrix with vertex 0 as the start, and which vertices meet the target."""

    matrix: csr_array
    ends: NDArray[np.int64]

    def least_weight(self) -> float:
        """Weight of a shortest path from the start to an end by Dijkstra's algorithm; infinite if none."""
        distances = csgraph.dijkstra(self.matrix, indices=0)
        return float(distances[self.ends].min(initial=math.inf))


def sparse_graph(problem: AdditiveProblem, levels: int, rounding: Rounding = Rounding.UP) -> SparseGraph:
    """Build the graph of `depl.heuristics.paths.layered.layered_search`; every weight must be positive."""
    steps = steps_in_levels(problem, levels, rounding)
    tails, heads, weights, ends = [], [], [], []
    layer, first, total = np.array([[problem.start, 0, 0]]), 0, 1
    for k in range(problem.epochs):
        sources, states, costs = _steps_from(problem, steps, k, layer)
        if not len(states):
            break
        layer, places = np.unique(states, axis=0, return_inverse=True)
        tails.append(first + sources)
        heads.append(total + places.ravel())
        weights.append(costs)
        ends.append(total + np.flatnonzero(layer[:, 2] <= steps.target))
        first, total = total, total + len(layer)
    data = np.concatenate([np.zeros(0), *weights])
    rows = np.concatenate([np.zeros(0, np.int64), *tails])
    columns = np.concatenate([np.zeros(0, np.int64), *heads])
    matrix = csr_array((data, (rows, columns)), shape=(total, total))
    return SparseGraph(matrix, np.concatenate([np.zeros(0, np.int64), *ends]))


def _steps_from(
    problem: AdditiveProblem, steps: Steps, k: int, layer: IntArray
) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
    """Rows of ``layer`` that a step leaves, the states it leads to, and its weights."""
    sources, states, costs = [np.zeros(0, np.int64)], [np.zeros((0, 3), np.int64)], [np.zeros(0)]
    going = (layer[:, 2] > steps.target) | (layer[:, 0] == problem.start)
    for p in np.unique(layer[:, 0]):
        rows = np.flatnonzero(going & (layer[:, 0] == p))
        for m in range(problem.start):
            if not problem.allowed[k, p, m]:
                continue
            heads = layer[rows] + np.array([0, steps.times[k, m], steps.losses[k, p, m]])
            heads[:, 0] = m
            within = heads[:, 1] <= steps.last_time
            sources.append(rows[within])
            states.append(heads[within])
            costs.append(np.full(int(within.sum()), problem.weights[k, m]))
    return np.concatenate(sources), np.concatenate(states), np.concatenate(costs)
