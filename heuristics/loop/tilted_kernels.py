"""The compiled loop of the relaxation under a tilt: reduced costs of epochs, with what the tilt takes off."""

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]


@njit(cache=True)
def tilted_costs(
    psi: Floats,
    charges: Floats,
    gains: Floats,
    factors: Floats,
    low: Floats,
    gain_price: float,
    places: Floats,
    shifts: Floats,
    rows: Integers,
    penalties: Floats,
    weights: Floats,
    chosen: Integers,
) -> None:
    """Least psi + charge - gain_price gain + penalty of every epoch and model over the sites.

    The penalty is read from row ``rows[k, m]`` of a table, linearly between its columns, at column
    ``places[k, m] + shifts[o]``; below the table it is its first column, which is not more. ``psi`` has shape
    (1 or K, M, O), ``charges`` are infinite where a site may not be used.
    """
    epochs, models = gains.shape
    last = penalties.shape[1] - 2
    for k in range(epochs):
        table = min(k, psi.shape[0] - 1)
        for m in range(models):
            best, place = math.inf, -1
            gain, start, row = gain_price * gains[k, m], places[k, m], rows[k, m]
            for o in range(charges.size):
                value = psi[table, m, o] + charges[o] - (factors[o] if gain > 0 else low[o]) * gain
                if not value < math.inf:
                    continue
                at = start + shifts[o]
                if at > 0:
                    column = min(int(at), last)
                    share = at - column
                    value += penalties[row, column]
                    value += share * (penalties[row, column + 1] - penalties[row, column])
                else:
                    value += penalties[row, 0]
                if value < best:
                    best, place = value, o
            weights[k, m] = best
            chosen[k, m] = place
