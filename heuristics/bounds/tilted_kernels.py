"""The compiled loop of the relaxation under a tilt: reduced costs of epochs, with what the tilt takes off."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.compiling import kernel

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]

_BLOCK = 8
"""Sites that are passed over at once: eight doubles are a cache line of 64 bytes. No least value depends on
it; larger blocks have weaker bounds, smaller ones cost more of them."""


@kernel(interpreted=True)
def _read(table: Floats, row: int, at: float) -> float:
    """Linear between the columns; before the first, the first."""
    if not at > 0:
        return float(table[row, 0])
    column = min(int(at), table.shape[1] - 2)
    left = table[row, column]
    return float(left + (at - column) * (table[row, column + 1] - left))


@kernel(interpreted=True)
def _floor(table: Floats, row: int, at: float, further: int) -> float:
    column = int(at) + further if at > 0 else 0
    return float(table[row, min(column, table.shape[1] - 1)])


@kernel(interpreted=True)
def tilted_costs(
    psi: Floats,
    psi_rows: Integers,
    charges: Floats,
    gains: Floats,
    factors: tuple[Floats, Floats],
    gain_price: float,
    places: Floats,
    rows: Integers,
    rising: tuple[Floats, Floats, Floats],
    rises: tuple[Floats, Floats, Floats],
    falling: tuple[Floats, Floats, Floats],
    falls: tuple[Floats, Floats, Floats],
    apart: bool,
    weights: Floats,
    chosen: Integers,
) -> None:
    """Least psi + charge - gain_price gain + penalty of every epoch and model over the sites.

    ``factors`` are those of gains and of losses. Penalties are read from row ``rows[k, m]`` of tables, at
    column ``places[k, m] + columns[o]``, less what a chord may be above the table (`Chords`): what rises in h
    and, if they lie ``apart``, what falls. ``rising`` and ``falling`` are a table, what its chords are off,
    and the least that is read from a column on, or up to a column; ``rises`` and ``falls`` the columns of the
    sites, of the left ends of their intervals, and weights. ``psi`` has shape (B, M, O), a row for every
    epoch, ``charges`` are infinite where a site may not be used. Blocks of neighbouring sites, which are
    alike, are passed over where the least of all that counts is too much; the best site of the epoch before
    comes first.
    """
    above, low = factors
    cheapest = _least_of_blocks(psi, charges)
    most, least = _ends_of_blocks(above)[1], _ends_of_blocks(low)[0]
    ends = _ends_of_blocks(rises[0])[0], _ends_of_blocks(falls[0])[1]
    for m in range(gains.shape[1]):
        first = 0
        for k in range(gains.shape[0]):
            b, gain = psi_rows[k], gain_price * gains[k, m]
            best, place = _cheapest_site(
                (psi[b, m], charges, above if gain > 0 else low),
                (cheapest[b, m], most if gain > 0 else least),
                gain,
                (rows[k, m], first),
                places[k, m],
                ends,
                (rising, rises),
                (falling, falls),
                apart,
            )
            weights[k, m], chosen[k, m] = best, place
            first = max(place, 0) // _BLOCK


@kernel(interpreted=True)
def _cheapest_site(
    sites: tuple[Floats, Floats, Floats],
    blocks: tuple[Floats, Floats],
    gain: float,
    starts: tuple[int, int],
    start: float,
    ends: tuple[Floats, Floats],
    up: tuple[tuple[Floats, Floats, Floats], tuple[Floats, Floats, Floats]],
    down: tuple[tuple[Floats, Floats, Floats], tuple[Floats, Floats, Floats]],
    apart: bool,
) -> tuple[float, int]:
    """Least value of a site for one epoch and model, and the site, -1 if there is none."""
    psi, charges, factors = sites  # arrays of a tuple are slow to reach in the innermost loop
    (rise, rise_sag, rise_floors), (rise_at, rise_left, rise_weight) = up
    (fall, fall_sag, fall_floors), (fall_at, fall_left, fall_weight) = down
    (row, first), (left, right), best, place = starts, ends, math.inf, -1
    for step in range(left.size + 1):
        block = first if step == 0 else step - 1
        floor = blocks[0][block] - blocks[1][block] * gain
        if step > 0 and block == first:
            continue
        floor += _floor(rise_floors, row, start + left[block], 0)
        floor += _floor(fall_floors, row, start + right[block], 1) if apart else 0.0
        if not floor < best:
            continue
        for o in range(block * _BLOCK, min((block + 1) * _BLOCK, charges.size)):
            value = psi[o] + charges[o] - factors[o] * gain
            value += _below(rise, row, start + rise_at[o], rise_sag, start + rise_left[o], rise_weight[o])
            if apart:
                value += _below(fall, row, start + fall_at[o], fall_sag, start + fall_left[o], fall_weight[o])
            if value < best:
                best, place = value, o
    return best, place


@kernel(interpreted=True)
def _below(table: Floats, row: int, at: float, sag: Floats, left: float, weight: float) -> float:
    """What is read at a column, less what the chord of its interval may be off."""
    value = _read(table, row, at)
    return value - weight * _floor(sag, row, left, 0) if weight > 0 else value


@kernel(interpreted=True)
def _least_of_blocks(psi: Floats, charges: Floats) -> Floats:
    """Least psi + charge in every block, shape (B, M, blocks)."""
    rows, models, sites = psi.shape
    found = np.full((rows, models, (sites + _BLOCK - 1) // _BLOCK), math.inf)
    for b in range(rows):
        for m in range(models):
            for o in range(sites):
                found[b, m, o // _BLOCK] = min(found[b, m, o // _BLOCK], psi[b, m, o] + charges[o])
    return found


@kernel(interpreted=True)
def _ends_of_blocks(values: Floats) -> tuple[Floats, Floats]:
    """Least and greatest value in every block."""
    count = (values.size + _BLOCK - 1) // _BLOCK
    least, most = np.full(count, math.inf), np.full(count, -math.inf)
    for o in range(values.size):
        least[o // _BLOCK] = min(least[o // _BLOCK], values[o])
        most[o // _BLOCK] = max(most[o // _BLOCK], values[o])
    return least, most
