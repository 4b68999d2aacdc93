"""The compiled loop of the relaxation under a tilt: reduced costs of epochs, with what the tilt takes off."""

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]


@njit(cache=True)
def _read(table: Floats, row: int, at: float) -> float:
    """Linear between the columns; before the first, the first."""
    if not at > 0:
        return float(table[row, 0])
    column = min(int(at), table.shape[1] - 2)
    left = table[row, column]
    return float(left + (at - column) * (table[row, column + 1] - left))


@njit(cache=True)
def _floor(table: Floats, row: int, at: float, further: int) -> float:
    column = int(at) + further if at > 0 else 0
    return float(table[row, min(column, table.shape[1] - 1)])


@njit(cache=True)
def tilted_costs(
    psi: Floats,
    psi_rows: Integers,
    charges: Floats,
    gains: Floats,
    factors: Floats,
    low: Floats,
    gain_price: float,
    places: Floats,
    rows: Integers,
    low_columns: Floats,
    rising: Floats,
    high_columns: Floats,
    falling: Floats,
    apart: bool,
    rise_floors: Floats,
    fall_floors: Floats,
    weights: Floats,
    chosen: Integers,
) -> None:
    """Least psi + charge - gain_price gain + penalty of every epoch and model over the sites.

    Penalties are read from row ``rows[k, m]`` of tables, at column ``places[k, m] + low_columns[o]`` of what
    rises in h and, if they lie ``apart``, ``places[k, m] + high_columns[o]`` of what falls; the floors are
    the least from a column on and up to a column. ``psi`` has shape (B, M, O), a row for every epoch,
    ``charges`` are infinite where a site may not be used.
    """
    epochs, models = gains.shape
    lowest, highest = low_columns.min(), high_columns.max()
    for k in range(epochs):
        for m in range(models):
            best, place = math.inf, -1
            gain, start, row = gain_price * gains[k, m], places[k, m], rows[k, m]
            least = _floor(rise_floors, row, start + lowest, 0)
            if apart:
                least += _floor(fall_floors, row, start + highest, 1)
            for o in range(charges.size):
                value = psi[psi_rows[k], m, o] + charges[o] - (factors[o] if gain > 0 else low[o]) * gain
                if not value + least < best:
                    continue
                value += _read(rising, row, start + low_columns[o])
                if apart:
                    value += _read(falling, row, start + high_columns[o])
                if value < best:
                    best, place = value, o
            weights[k, m] = best
            chosen[k, m] = place
