"""Compiled loop of the search for open sites: the least weight of a sequence after one change."""

import math

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.compiling import kernel
from depl.models.problem.laws import FloatArray


@kernel(interpreted=True)
def least_after(
    least: FloatArray,
    second: FloatArray,
    place: NDArray[np.int64],
    closed: int,
    extra: FloatArray,
    opens: bool,
    switches: FloatArray,
) -> float:
    """Least weight of a sequence of at least one epoch when one site is closed and another one opened.

    Parameters
    ----------
    least, second : ndarray
        The two least weights over the open sites, shape (K, M).
    place : ndarray of int
        Which of them has the least one, shape (K, M).
    closed : int
        The open site that is closed; -1 for none.
    extra : ndarray
        Weights on the site that is opened, shape (K, M); only if ``opens``.
    switches : ndarray
        Shape (M + 1, M), row M for the start; infinite where not allowed.
    """
    epochs, models = least.shape
    before, after, best = np.empty(models), np.empty(models), math.inf
    for k in range(epochs):
        for m in range(models):
            weight = second[k, m] if place[k, m] == closed else least[k, m]
            if opens and extra[k, m] < weight:
                weight = extra[k, m]
            value = switches[models, m]
            if k > 0:
                value = before[m] + switches[m, m]
                for p in range(models):
                    other = before[p] + switches[p, m]
                    if other < value:
                        value = other
            after[m] = value + weight
            if after[m] < best:
                best = after[m]
        before, after = after, before
    return best
