"""Every placement of a small problem, as the oracle for the tests of placement."""

import functools
import itertools
import math

import numpy as np

from depl.heuristics.placement.problem import PlacementProblem


def all_assignments(problem):
    """Every assignment, shape (P, G, N)."""
    options = [splits(int(count), len(problem.clusters)) for count in problem.counts]
    chosen = np.indices([len(rows) for rows in options]).reshape(len(options), -1)
    return np.stack([rows[places] for rows, places in zip(options, chosen, strict=True)], axis=1)


@functools.cache
def splits(count, places):
    """Every way to put so many epochs on so many clusters, a row each."""
    rows = itertools.product(range(count + 1), repeat=places)
    return np.array([row for row in rows if sum(row) == count], dtype=np.int64)


def least_cost(problem):
    """Cost of the cheapest assignment of all; infinite if none is feasible."""
    return float(problem.evaluate(all_assignments(problem)).costs.min(initial=math.inf))


def split_pair(maximum_time):
    """Two epochs of work 1: slow takes 1 to send and costs 1 per resource, quick sends at once and costs 9.

    Without clipping, T being ``maximum_time``: both slow 4 / (T - 2), one each 16 / (T - 1), both quick
    36 / T.
    """
    return PlacementProblem(
        clusters=("slow", "quick"),
        classes=("net",),
        counts=np.array([2]),
        work=np.ones((1, 2)),
        price=np.array([1.0, 9.0]),
        capacity=np.array([100.0, 10.0]),
        communication=np.array([[1.0, 0.0]]),
        transfers=np.zeros(2),
        maximum_time=maximum_time,
    )
