"""Compiled loops of the relaxation: reduced costs of epochs, cheapest sequences, cheapest clusters."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.compiling import kernel
from depl.models.problem import epoch_costs

drive = kernel(interpreted=True)(epoch_costs.drive)
priced = kernel(interpreted=True)(epoch_costs.priced)
least_resources = kernel(interpreted=True)(epoch_costs.least_resources)

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]


@kernel()
def reduced_costs(
    psi: Floats,
    rows: Integers,
    charges: Floats,
    gains: Floats,
    variances: Floats,
    factors: Floats,
    low: Floats,
    high: Floats,
    gain_price: float,
    variance_price: float,
    weights: Floats,
    chosen: Integers,
) -> None:
    """Least psi + charge - gain_price gain + variance_price variance of every epoch and model over the sites.

    A site leaves ``factors`` of a gain, ``low`` of a loss, and between ``low`` and ``high`` of a deviation;
    the better end counts. ``psi`` has shape (B, M, O), a row for every epoch, ``charges`` are
    infinite where a site may not be used.
    """
    epochs, models = gains.shape
    for k in range(epochs):
        row = rows[k]
        for m in range(models):
            best, place = math.inf, -1
            gain, variance = gains[k, m], variances[k, m]
            for o in range(charges.size):
                factor = factors[o] if gain > 0 else low[o]
                spread = low[o] if variance_price > 0 else high[o]
                value = psi[row, m, o] + charges[o] - gain_price * factor * gain
                if variance_price != 0:
                    value += variance_price * spread * spread * variance
                if value < best:
                    best, place = value, o
            weights[k, m] = best
            chosen[k, m] = place


def cheapest_path(weights: Floats, switches: Floats, room: tuple[Floats, Integers]) -> tuple[float, Integers]:
    """Least weight of a sequence of at least one epoch, and its models; none where none is allowed.

    Parameters
    ----------
    weights : float array (K, M)
        Infinite where an epoch may not train a model.
    switches : float array (M + 1, M)
        Row M for the start; infinite where not allowed.
    room : float array (K, M) and int array (K, M)
        Working space.
    """
    values, before = room
    least, length, last = _cheapest_sequence(weights, switches, values, before)
    if last < 0:
        return math.inf, np.empty(0, dtype=np.int64)
    models = np.empty(length, dtype=np.int64)
    for k in range(length - 1, -1, -1):
        models[k], last = last, before[k, last]
    return least, models


@kernel(interpreted=True)
def _cheapest_sequence(
    weights: Floats, switches: Floats, values: Floats, before: Integers
) -> tuple[float, int, int]:
    """Least weight of a sequence of at least one epoch, its length and its last model.

    ``switches`` has shape (M + 1, M), row M for the start, infinite where not allowed; ``values[k, m]`` and
    ``before[k, m]`` receive the least weight of k + 1 epochs that end with m and the model before.
    """
    epochs, models = weights.shape
    best, length, last = math.inf, 0, -1
    for k in range(epochs):
        for m in range(models):
            least, previous = math.inf, -1
            if k == 0:
                least, previous = switches[models, m], models
            else:
                for p in range(models):
                    value = values[k - 1, p] + switches[p, m]
                    if value < least:
                        least, previous = value, p
            values[k, m] = least + weights[k, m]
            before[k, m] = previous
            if values[k, m] < best:
                best, length, last = values[k, m], k + 1, m
    return best, length, last


@kernel()
def cheapest_rows(
    clusters: tuple[Integers, Floats, Floats],
    demands: tuple[Floats, Floats],
    rows: tuple[Floats, Floats],
    offers: tuple[Floats, Floats, Floats, Floats],
    deadline: float,
    multiplier: float,
    found: tuple[Floats, Floats, Integers],
) -> None:
    """Least psi of every (model, entry) over rows of a frontier, at a price of time.

    Clusters come in order of psi in the middle, so that most are passed over because of what the least of
    their work and charges costs at least: time at full capacity, or 2 (multiplier price work)**(1/2). Entries
    are left out where not even the least work keeps the deadline; work beyond what keeps it counts as what
    just keeps it, so that psi stays concave over an interval of which a part is late.

    Where a model does not fit, communication is infinite.

    Parameters
    ----------
    clusters : tuple
        Where the rows of every cluster begin, and their number, shape (N + 1,); the least excess for a node
        and the least charge of its rows, shape (N, J).
    demands : tuple
        Work and the least of it in the interval of every entry, shape (M, J).
    rows : tuple
        Excess, nowhere below 1, and charges, shape (R, J): a node computes work excess / nodes.
    offers : tuple
        Nodes, price and capacity of every row, shape (R,), and communication, shape (R, M).
    found : tuple
        Receives psi (infinite before), time and the row (-1 before), shape (M, J).
    """
    groups, lightest, cheapest = clusters
    work, least_work = demands
    excess, charges = rows
    nodes, price, capacity, communication = offers
    psi, time, which = found
    for m in range(work.shape[0]):
        waits = communication[:, m]
        for g in _in_order(groups, work[m, work.shape[1] // 2], nodes, price, capacity, waits, multiplier):
            first = groups[g]
            sent, full, expensive = waits[first], capacity[first], 4 * multiplier * price[first]
            left, waited = deadline - sent, multiplier * sent
            driven = drive(multiplier, price[first])
            for j in range(work.shape[1]):
                c = min(work[m, j] * lightest[g, j], full * left)
                room = psi[m, j] - waited - cheapest[g, j]
                if room <= multiplier * c / full or room * room < expensive * c:
                    continue
                if math.isinf(sent) or least_work[m, j] / (nodes[first] * full) + sent > deadline:
                    continue
                for r in range(first, groups[g + 1]):
                    c = min(work[m, j] * excess[r, j] / nodes[first], full * left)
                    room = psi[m, j] - waited - charges[r, j]
                    if room <= multiplier * c / full or room * room < expensive * c:
                        continue
                    least = c / left if c > 0 else 0.0
                    value, taken = priced(c, price[r], full, sent, least, multiplier, driven)
                    value += charges[r, j]
                    if value < psi[m, j]:
                        psi[m, j] = value
                        time[m, j] = taken
                        which[m, j] = r


@kernel()
def _in_order(
    groups: Integers,
    work: float,
    nodes: Floats,
    price: Floats,
    capacity: Floats,
    communication: Floats,
    multiplier: float,
) -> Integers:
    """Clusters by psi for some work, deadlines aside."""
    values = np.empty(groups.size - 1)
    for g in range(values.size):
        n = groups[g]
        driven = drive(multiplier, price[n])
        values[g], _ = priced(
            work / nodes[n], price[n], capacity[n], communication[n], 0.0, multiplier, driven
        )
    return np.argsort(values)


@kernel(interpreted=True)
def add_prices(
    work: Floats,
    price: Floats,
    capacity: Floats,
    communication: Floats,
    deadline: float,
    multiplier: float,
    times: float,
    totals: Floats,
) -> None:
    """Add psi(multiplier) of each epoch, some times, to its total; arrays of shape (E,), as in `Load`.

    For a few dozen epochs that are asked for once; `EpochCosts` is quicker where they are asked again.
    """
    for i in range(work.size):
        least = least_resources(work[i], capacity[i], communication[i], deadline)
        driven = drive(multiplier, price[i])
        totals[i] += (
            times * priced(work[i], price[i], capacity[i], communication[i], least, multiplier, driven)[0]
        )
