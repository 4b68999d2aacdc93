r"""Compiled inner loops of the label setting: completion bounds, the steps worth keeping, and one layer.

The same functions run uncompiled when NUMBA_DISABLE_JIT=1, with the same results: labels are whole numbers,
sorting is stable, and every operation that rounds is done in double precision in a fixed order.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.exact.kernels import Booleans, interpreted
from depl.models.problem.laws import FloatArray

IntArray = NDArray[np.int64]
ShortArray = NDArray[np.int32]


class Data(NamedTuple):
    """The problem: (K, M), (K, M), (K, M + 1, M) and (K, M + 1, M), see `WholeProblem`."""

    weights: IntArray
    times: IntArray
    losses: IntArray
    allowed: Booleans


class Steps(NamedTuple):
    """The steps into one epoch.

    Attributes
    ----------
    weights, times : int array (M,)
    losses : int array (M + 1, M)
    first : int array (M + 1,)
        Predecessors of model m are ``before[first[m]:first[m + 1]]``.
    before : int32 array
    """

    weights: IntArray
    times: IntArray
    losses: IntArray
    first: IntArray
    before: ShortArray


class Rows(NamedTuple):
    """Bounds of what completions make of a label at (epoch, m); J of them.

    Row j drops a label if counted w + time_price t + loss_price l + completions[m] - limit reaches
    counted * cutoff + slack.

    Attributes
    ----------
    counted, time_prices, loss_prices, limits, slacks : float array (J,)
    completions : float array (J, M + 1)
    totals : int array (J, M + 1, 3)
        Weight, time and loss of the completion that is least at the prices of the row.
    """

    counted: FloatArray
    time_prices: FloatArray
    loss_prices: FloatArray
    limits: FloatArray
    slacks: FloatArray
    completions: FloatArray
    totals: IntArray


class Budgets(NamedTuple):
    """What ends a label, and in which order labels are compared.

    Labels whose bound reaches min(cutoff, kept_share * least) are dropped, least being the weight of the
    lightest feasible path known. Labels of equal weight are compared in the order of time_rank time +
    loss_rank loss, the ranks being positive, so that none comes before one that dominates it.
    """

    maximum_time: int
    loss_budget: int
    cutoff: float
    kept_share: float
    time_rank: float
    loss_rank: float


class Labels(NamedTuple):
    """Labels of one epoch by model: those of model m are ``first[m]:first[m + 1]``.

    Attributes
    ----------
    weights, times, losses : int array
    bounds : float array
        Greatest of the rows that count the weight.
    before, parents : int32 array
        Model of the epoch before, and position among its labels.
    first : int array (M + 2,)
    """

    weights: IntArray
    times: IntArray
    losses: IntArray
    bounds: FloatArray
    before: ShortArray
    parents: ShortArray
    first: IntArray


@interpreted
def completions(
    data: Data,
    counted: float,
    time_price: float,
    loss_price: float,
    least: FloatArray,
    following: ShortArray,
) -> None:
    """H(k, p): least counted w + time_price t + loss_price l of what may follow epoch k on p, or nothing.

    Parameters
    ----------
    least : float array (K + 1, M + 1)
        Receives H.
    following : int32 array (K, M + 1)
        Receives the next model, -1 for none.
    """
    epochs, count = data.weights.shape
    least[epochs] = 0.0
    for k in range(epochs - 1, -1, -1):
        for p in range(count + 1):
            best, choice = 0.0, -1
            for m in range(count):
                if data.allowed[k, p, m]:
                    value = (
                        counted * data.weights[k, m]
                        + time_price * data.times[k, m]
                        + loss_price * data.losses[k, p, m]
                        + least[k + 1, m]
                    )
                    if value < best:
                        best, choice = value, m
            least[k, p], following[k, p] = best, choice


@interpreted
def cheapest_prefixes(data: Data, time_price: float, loss_price: float, least: FloatArray) -> None:
    """F(k, m): least w + time_price t + loss_price l from the start to epoch k on m; shape (K + 1, M + 1)."""
    epochs, count = data.weights.shape
    least[:] = np.inf
    least[0, count] = 0.0
    for k in range(epochs):
        for m in range(count):
            best = np.inf
            for p in range(count + 1):
                if data.allowed[k, p, m]:
                    best = min(best, least[k, p] + loss_price * data.losses[k, p, m])
            least[k + 1, m] = best + data.weights[k, m] + time_price * data.times[k, m]


@interpreted
def totals(data: Data, following: ShortArray) -> tuple[int, int, int, int]:
    """Weight, time, loss and epochs of the path that ``following`` describes."""
    count = data.weights.shape[1]
    weight, time, loss, k, model = 0, 0, 0, 0, count
    while k < len(following) and following[k, model] >= 0:
        after = following[k, model]
        weight += data.weights[k, after]
        time += data.times[k, after]
        loss += data.losses[k, model, after]
        model = after
        k += 1
    return weight, time, loss, k


@interpreted
def completion_totals(data: Data, following: ShortArray, sums: IntArray) -> None:
    """Weight, time and loss of what ``following`` says may follow epoch k on p.

    Parameters
    ----------
    following : int32 array (K, M + 1)
    sums : int array (K + 1, M + 1, 3)
        Receives them.
    """
    epochs, count = data.weights.shape
    sums[:] = 0
    for k in range(epochs - 1, -1, -1):
        for p in range(count + 1):
            m = following[k, p]
            if m >= 0:
                sums[k, p, 0] = data.weights[k, m] + sums[k + 1, m, 0]
                sums[k, p, 1] = data.times[k, m] + sums[k + 1, m, 1]
                sums[k, p, 2] = data.losses[k, p, m] + sums[k + 1, m, 2]


@interpreted
def surviving_steps(
    data: Data,
    prices: tuple[float, float],
    prefixes: FloatArray,
    rest: FloatArray,
    limit: float,
    first: IntArray,
    before: ShortArray,
) -> int:
    """Steps on some path whose priced weight stays below ``limit``: how many; those that fit are listed.

    Parameters
    ----------
    prefixes, rest : float array (K + 1, M + 1)
        F and H at the prices of time and loss.
    first : int array (K * M + 1,)
        Receives where the predecessors of model m in epoch k start, at k M + m.
    before : int32 array
        Receives the predecessors.
    """
    epochs, count = data.weights.shape
    number = 0
    for k in range(epochs):
        for m in range(count):
            first[k * count + m] = number
            ahead = data.weights[k, m] + prices[0] * data.times[k, m] + rest[k + 1, m]
            for p in range(count + 1):
                if not data.allowed[k, p, m]:
                    continue
                if prefixes[k, p] + prices[1] * data.losses[k, p, m] + ahead < limit:
                    if number < len(before):
                        before[number] = p
                    number += 1
    first[epochs * count] = number
    return number


@interpreted
def next_layer(
    labels: Labels, steps: Steps, rows: Rows, budgets: Budgets, least: float, found: Labels, end: IntArray
) -> int:
    """Extend all labels by one epoch and keep those that may lead to a lighter feasible path.

    A label at or below the loss budget has ended: weights are nonnegative. With the completion of a row,
    too, a label may be a feasible path. Of these ends only the lightest is kept.

    Parameters
    ----------
    least : float
        Weight of the lightest feasible path known.
    found : Labels
        Receives the labels.
    end : int array (5,)
        Receives weight, predecessor, parent, model and row of an end lighter than ``least``; -1 for no row.

    Returns
    -------
    int
        How many labels there are, or -1 if ``found`` has no room for them.
    """
    count = len(steps.weights)
    number = 0
    for m in range(count):
        found.first[m] = number
        room = 0
        for place in range(steps.first[m], steps.first[m + 1]):
            p = steps.before[place]
            room += labels.first[p + 1] - labels.first[p]
        if room == 0:
            continue
        arrivals = _room(room)
        arrived, least = _arrive(m, labels, steps, rows, budgets, least, arrivals, end)
        number = _keep_undominated(arrivals, arrived, budgets, found, number)
        if number < 0:
            return -1
    found.first[count] = number
    found.first[count + 1] = number
    return number


@interpreted
def _room(size: int) -> Labels:
    return Labels(
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.float64),
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.empty(0, dtype=np.int64),
    )


@interpreted
def _arrive(
    m: int,
    labels: Labels,
    steps: Steps,
    rows: Rows,
    budgets: Budgets,
    least: float,
    arrivals: Labels,
    end: IntArray,
) -> tuple[int, float]:
    """All labels at model m within the bounds: how many, and the least weight known."""
    number = 0
    for place in range(steps.first[m], steps.first[m + 1]):
        p = steps.before[place]
        for i in range(labels.first[p], labels.first[p + 1]):
            weight = labels.weights[i] + steps.weights[m]
            time = labels.times[i] + steps.times[m]
            if time > budgets.maximum_time or weight >= least:
                continue
            loss = labels.losses[i] + steps.losses[p, m]
            if loss <= budgets.loss_budget:
                least = float(weight)
                end[0], end[1], end[2], end[3], end[4] = weight, p, i, m, -1
                continue
            cutoff = min(budgets.cutoff, budgets.kept_share * least)
            bound = _bound(weight, time, loss, m, rows, cutoff)
            if bound == np.inf:
                continue
            row = _feasible_row(weight, time, loss, m, rows, budgets, least)
            if row >= 0:
                least = float(weight + rows.totals[row, m, 0])
                end[0], end[1], end[2], end[3], end[4] = least, p, i, m, row
            arrivals.weights[number] = weight
            arrivals.times[number] = time
            arrivals.losses[number] = loss
            arrivals.bounds[number] = bound
            arrivals.before[number] = p
            arrivals.parents[number] = i
            number += 1
    return number, least


@interpreted
def _bound(weight: int, time: int, loss: int, m: int, rows: Rows, cutoff: float) -> float:
    """The least weight of a feasible completion, by the best row; infinite if a row drops the label."""
    bound = -np.inf
    for j in range(len(rows.counted)):
        value = (
            rows.counted[j] * weight
            + rows.time_prices[j] * time
            + rows.loss_prices[j] * loss
            + rows.completions[j, m]
            - rows.limits[j]
        )
        if rows.counted[j] == 0.0:
            if value > rows.slacks[j]:
                return np.inf
        elif value >= cutoff:
            return np.inf
        else:
            bound = max(bound, value)
    return bound


@interpreted
def _feasible_row(
    weight: int, time: int, loss: int, m: int, rows: Rows, budgets: Budgets, least: float
) -> int:
    """The row whose completion makes a label the lightest feasible path known; -1 if none does."""
    chosen = -1
    for j in range(len(rows.counted)):
        if (
            weight + rows.totals[j, m, 0] < least
            and time + rows.totals[j, m, 1] <= budgets.maximum_time
            and loss + rows.totals[j, m, 2] <= budgets.loss_budget
        ):
            chosen, least = j, float(weight + rows.totals[j, m, 0])
    return chosen


@interpreted
def _keep_undominated(arrivals: Labels, arrived: int, budgets: Budgets, found: Labels, number: int) -> int:
    """Append the labels that no other matches or beats in weight, time and loss; -1 if there is no room."""
    ranks = budgets.time_rank * arrivals.times[:arrived] + budgets.loss_rank * arrivals.losses[:arrived]
    ranked = np.argsort(ranks, kind="mergesort")
    order = ranked[np.argsort(arrivals.weights[:arrived][ranked], kind="mergesort")]
    late = np.empty(arrived, dtype=np.int64)  # a staircase: later and lower
    low = np.empty(arrived, dtype=np.int64)
    size = 0
    for i in order:
        time, loss = arrivals.times[i], arrivals.losses[i]
        place = np.searchsorted(late[:size], time, side="right")
        if place > 0 and low[place - 1] <= loss:
            continue
        if number >= len(found.weights):
            return -1
        found.weights[number] = arrivals.weights[i]
        found.times[number] = time
        found.losses[number] = loss
        found.bounds[number] = arrivals.bounds[i]
        found.before[number] = arrivals.before[i]
        found.parents[number] = arrivals.parents[i]
        number += 1
        size = _add_stair(late, low, size, place, time, loss)
    return number


@interpreted
def _add_stair(late: IntArray, low: IntArray, size: int, place: int, time: int, loss: int) -> int:
    """Insert (time, loss) before ``place`` in place of the stairs that it covers: how many there are then."""
    last = place
    while last < size and low[last] >= loss:
        last += 1
    first = place - 1 if place > 0 and late[place - 1] == time else place
    moved = first + 1 - last
    if moved > 0:
        for q in range(size - 1, last - 1, -1):
            late[q + 1], low[q + 1] = late[q], low[q]
    elif moved < 0:
        for q in range(last, size):
            late[q + moved], low[q + moved] = late[q], low[q]
    late[first], low[first] = time, loss
    return size + moved
