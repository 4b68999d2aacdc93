"""What may follow an epoch at least: the backward pass over (epoch, model) where a sequence may end anywhere.

The searches have compiled passes of their own beside their data: three resources and the next model
(`depl.heuristics.paths.kernels`), forward with predecessors (`depl.heuristics.bounds.kernels`).
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", np.float64, np.int64)


def least_completions(steps: NDArray[Number], allowed: NDArray[np.bool_] | None = None) -> NDArray[Number]:
    """Least sum of the steps after epoch k + 1 on each model, or of none: at most 0; shape (K, M).

    Parameters
    ----------
    steps : ndarray of float or int
        Shape (K, M + 1, M) or (K, M, M): what epoch k + 1 adds on each model after each model before it;
        a row for the start is not looked at.
    allowed : ndarray of bool, optional
        Which steps may be made, in a shape that broadcasts with ``steps``; by default all, and infinite ones
        are never made.
    """
    epochs, _, count = steps.shape
    never = np.inf if np.issubdtype(steps.dtype, np.floating) else np.iinfo(np.int64).max // 2
    usable = steps if allowed is None else np.where(allowed, steps, steps.dtype.type(never))
    best = np.zeros((epochs, count), dtype=steps.dtype)
    for k in range(epochs - 2, -1, -1):
        np.minimum.reduce(usable[k + 1, :count] + best[k + 1], axis=1, initial=0, out=best[k])
    return best
