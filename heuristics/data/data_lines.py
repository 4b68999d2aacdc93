r"""Work and transfers of sets of data by their volume: lines below all sets, and what good sets are like.

A set of volume Q computes on c and pays F for its transfers, sums over its datasets. For a *rate of exchange*
alpha >= 0 the least c + alpha F of a fractional set, G_alpha(Q), is convex in Q: datasets come in order of
(c + alpha F) / volume. Every set obeys

    c >= G_0(Q),   c + alpha F >= G_alpha(Q) for all alpha,   F >= F_min(Q).

Between two volumes G_alpha and F_min are replaced by tangents, so that everything is linear in Q. Small sets
pay for whole datasets: no set has a dataset larger than itself, and each has one.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

from depl.models.problem.laws import FloatArray

RATES = np.array([4.0**-5, 4.0**-4, 4.0**-3, 4.0**-2, 4.0**-1, 4.0])
"""Rates of exchange, in units of all work over all transfers; 0 comes before them."""

_BELOW = 1 - 1e-12
"""Factor by which lines are lowered, so that rounding raises none above a set: they are made of some
operations on sums of D numbers, off by about D 1e-16 of themselves, which stays below 1e-12 up to D of some
thousands."""


def corner_lines(
    volumes: FloatArray,
    work: FloatArray,
    transfers: FloatArray,
    ends: FloatArray,
    relative: FloatArray = RATES,
) -> tuple[FloatArray, FloatArray]:
    """Work and transfers of the corners of what sets obey, at both ends of every interval.

    On every interval the corners are linear in Q, and (c, F) of every set is at least a mean of them: a
    concave function that rises in both is least at a corner, at an end of the interval.

    Parameters
    ----------
    volumes, work, transfers : ndarray
        Of every dataset, shape (D,) [data], [resource x time], [cost].
    ends : ndarray
        Rising volumes, shape (I + 1,).
    relative : ndarray
        Rising rates of exchange, in units of all work over all transfers.

    Returns
    -------
    work, transfers : ndarray
        Shape (J, 2 I), a corner for every rate of `exchange_rates`; an unused line has that of the last one.
    """
    first = _whole_lines(volumes, work, ends)
    if not transfers.any():
        return first[None], np.zeros((1, len(first)))
    least = tangents(volumes, transfers, ends) * _BELOW
    rates = exchange_rates(work, transfers, relative)
    lines = np.stack([tangents(volumes, work + rate * transfers, ends) for rate in rates])
    lines[0] = first
    lines[1:] *= _BELOW ** np.arange(2, len(rates) + 1)[:, None]  # where they meet is not rounded up
    used = _used(lines, rates, least)
    corners, paid = [], []
    line, rate = first, np.zeros(len(first))
    for j in range(1, len(rates)):
        meeting = (lines[j] - line) / (rates[j] - rate)
        at = np.where(used[j], meeting, least)
        corners.append(line - rate * at)
        paid.append(at)
        line, rate = np.where(used[j], lines[j], line), np.where(used[j], rates[j], rate)
    last = line - rate * least
    kept = np.vstack([used[1:], np.ones(len(first), dtype=bool)])
    return np.where(kept, np.array([*corners, last]), last), np.where(kept, np.array([*paid, least]), least)


def good_sets(
    volumes: FloatArray, work: FloatArray, transfers: FloatArray, wanted: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Work and transfers of fractional sets of some volumes, in order of every rate; shape (J, len(wanted)).

    Parameters are those of `corner_lines`; ``wanted`` has the volumes.
    """
    rates = exchange_rates(work, transfers)
    found = np.empty((2, len(rates), len(wanted)))
    for j, rate in enumerate(rates):
        order = order_of(volumes, work, transfers, rate)
        found[:, j] = _along(volumes, work, transfers, order, wanted)
        for i in np.flatnonzero(wanted < volumes.max()).tolist():  # small ones pay for whole datasets
            fits = order[fitting(volumes, float(wanted[i]))[order]]
            cheapest = fits[np.argmin((work + rate * transfers)[fits])]
            value = _along(volumes, work, transfers, fits, wanted[i : i + 1])[:, 0]
            short = value[0] + rate * value[1] < work[cheapest] + rate * transfers[cheapest]
            found[:, j, i] = (work[cheapest], transfers[cheapest]) if short else value
    return found[0], found[1]


def order_of(volumes: FloatArray, work: FloatArray, transfers: FloatArray, rate: float) -> NDArray[np.int64]:
    """Datasets by (c + alpha F) / volume, those at home first where that is the same."""
    return np.lexsort((transfers / volumes, (work + rate * transfers) / volumes))


def exchange_rates(work: FloatArray, transfers: FloatArray, relative: FloatArray = RATES) -> FloatArray:
    """0 and the rates that corners are made for; 0 alone where nothing costs a transfer."""
    if not transfers.any():
        return np.zeros(1)
    return np.concatenate([[0.0], relative * ((work.sum() or 1.0) / transfers.sum())])


def fitting(volumes: FloatArray, most: float) -> NDArray[np.bool_]:
    """Datasets that a set of some volume may have."""
    return np.asarray(volumes <= max(most, float(volumes.min())) * (1 + 1e-9))


def tangents(volumes: FloatArray, costs: FloatArray, ends: FloatArray) -> FloatArray:
    """Lines below the least cost at both ends of every interval, nowhere negative; shape (2 I,).

    Tangents in the middle, or where those fall below 0 at the left end.
    """
    middles = (ends[:-1] + ends[1:]) / 2
    values, slopes = _fractional(volumes, costs, middles)
    half = (ends[1:] - ends[:-1]) / 2
    first, rates = _fractional(volumes, costs, ends[:-1])
    below = values - slopes * half < 0
    left = np.where(below, first, values - slopes * half)
    right = np.where(below, first + 2 * rates * half, values + slopes * half)
    return np.stack([left, right], axis=1).ravel()


def _used(lines: FloatArray, rates: FloatArray, least: FloatArray) -> NDArray[np.bool_]:
    """Lines that take over from one another in order of their rates at both ends, before F_min; (J, 2 I).

    Leaving lines out only makes corners lower. Line 0 always counts.
    """
    used = np.ones(lines.shape, dtype=bool)
    for _ in range(len(rates) * len(rates)):
        before = np.zeros(lines.shape[1], dtype=np.int64)
        meets = np.full(lines.shape[1], np.inf)
        wrong = np.zeros(lines.shape, dtype=bool)
        everywhere = np.arange(lines.shape[1])
        for j in range(1, len(rates)):
            meeting = (lines[j] - lines[before, everywhere]) / (rates[j] - rates[before])
            early = used[j] & (meeting > meets)
            wrong[before[early], everywhere[early]] = True
            wrong[j] |= used[j] & (meeting < least)
            meets, before = np.where(used[j], meeting, meets), np.where(used[j], j, before)
        if not wrong.any():
            break
        pairs = wrong.reshape(len(rates), -1, 2).any(axis=2)
        used &= ~np.repeat(pairs, 2, axis=1)
    return used


def _whole_lines(volumes: FloatArray, work: FloatArray, ends: FloatArray) -> FloatArray:
    """As `tangents`, for the work of sets that pay for whole datasets where they are small."""
    lines = tangents(volumes, work, ends)
    largest = float(volumes.max())
    for i, (low, high) in enumerate(itertools.pairwise(ends.tolist())):
        if low > largest:
            break
        fits = fitting(volumes, high)
        least = float(work[fits].min())
        line = tangents(volumes[fits], work[fits], np.array([low, high]))
        lines[2 * i : 2 * i + 2] = line if line.sum() > 2 * least else least
    return np.asarray(lines * _BELOW)


def _fractional(volumes: FloatArray, costs: FloatArray, wanted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least cost of a fractional set of each wanted volume, and the cost of more volume there."""
    order = np.argsort(costs / volumes, kind="stable")
    reached = np.concatenate([[0.0], np.cumsum(volumes[order])])
    paid = np.concatenate([[0.0], np.cumsum(costs[order])])
    rate = (costs / volumes)[order]
    place = np.clip(np.searchsorted(reached, wanted, side="right") - 1, 0, len(rate) - 1)
    return np.interp(wanted, reached, paid), rate[place]


def _along(
    volumes: FloatArray,
    work: FloatArray,
    transfers: FloatArray,
    order: NDArray[np.int64],
    wanted: FloatArray,
) -> FloatArray:
    """Work and transfers of the first datasets of an order, up to wanted volumes."""
    reached = np.cumsum(np.append(0.0, volumes[order]))
    sums = [np.cumsum(np.append(0.0, part[order])) for part in (work, transfers)]
    return np.stack([np.interp(wanted, reached, part) for part in sums])
