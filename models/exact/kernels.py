"""Compiled inner loops: the table of reachable gains, the depth-first search, and the gain-price recursion.

The same functions run uncompiled when NUMBA_DISABLE_JIT=1, with the same results: every operation that rounds
is done in double precision in a fixed order. Only the table is stored in single precision, rounded upward.
Where no model is trained before the first epoch, M stands for one that all may follow at no loss.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.compiling import kernel
from depl.models.problem.laws import FloatArray

SinglePrecision = NDArray[np.float32]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
ComplexArray = NDArray[np.complex128]

FINISHED, LEAF, PAUSED = 0, 1, 2
"""What `descend` returns: the tree is exhausted, a leaf was reached, the node budget is used up."""

UNREACHABLE = np.float32(-1e30)
"""Stands for minus infinity in tables; far below any gain, and sums of it stay finite."""

CELL_ROUNDING = 1e-6
"""Part of a cell by which a budget is rounded up when its cell is looked up, and when tables are made."""

_UPWARD = 2.0**-23
"""Relative amount added before a number is rounded to single precision upward: rounding takes off at most
2**-24 of it, so half as much would not be certain to suffice."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Sample(NamedTuple):
    """What the kinds of an assignment gain in S scenarios; all but ``allowed`` have to reach ``needed``.

    For `one_switch_scan` gains are summed over the first k epochs, shape (K + 1, J, S).
    """

    gains: FloatArray  # of an epoch of a kind, (K, J, S)
    switch_losses: FloatArray  # after a model or none, (K, M + 1, M, S)
    may_follow: Booleans  # (M + 1, M)
    models: NDArray[np.intp]  # of each kind, (J,)
    first_model: int  # before epoch 1
    needed: float
    allowed: int
    may_end: Booleans  # models with which a plan may end, (M,)

    def ordered(self, order: NDArray[np.intp], length: int | None = None) -> "Sample":
        """The first epochs, with the scenarios in another order."""
        gains, losses = (np.ascontiguousarray(part[:length][..., order]) for part in self[:2])
        return self._replace(gains=gains, switch_losses=losses)


class Laws(NamedTuple):
    """Prefixes judged by the transforms of their tilted laws; see `depl.models.exact.law_completions`."""

    transforms: ComplexArray  # of an epoch of a kind after a model or none, (K, M + 1, J, F)
    clipped: ComplexArray  # the same without rises of the loss
    rises: Integers  # (K, M + 1, J)
    may_follow: Booleans  # (M + 1, M)
    models: NDArray[np.intp]  # of each kind, (J,)
    first_model: int  # before epoch 1
    norms: FloatArray  # of the rows of the table, (K + 1, M, cells)
    least: Integers  # cells without which no completion stays within the budget, (K + 1, M)
    tops: Integers  # largest change of the loss along the path, in steps, (K + 1,); changed by `descend`
    highest: int  # top of the grid, in steps
    most: float  # a child is kept iff its violation may be at most this
    rounding: float  # what a violation may be off, relative to mass times norm; see `product_rounding`


class Charges(NamedTuple):
    """Linear charges of a plan, each with a limit; the budget of tables counts row 0."""

    values: FloatArray  # of an epoch of a kind, (L, K, J)
    rest: FloatArray  # least charge of all epochs after the k-th, (L, K + 1)
    limits: FloatArray  # (L,)
    spent: FloatArray  # after k epochs of the path, (L, K + 1); changed by `descend`


def compiled(function: _Function) -> _Function:
    """Compile with numba, types kept; the result is cached on disk so that a second start is quick."""
    return kernel(error_model="numpy")(function)


def interpreted(function: _Function) -> _Function:
    """The same, but compiled only once it has taken some time as it is."""
    return kernel(error_model="numpy", interpreted=True)(function)


@compiled  # a table of millions of numbers in one call
def reachable_gains(sample: Sample, steps: Integers, cells: int) -> SinglePrecision:
    """V[k, m, b, s]: most that scenario s can still gain after k epochs, the last of them on model m.

    The remaining epochs may use up b < ``cells`` cells of budget, epoch k + 1 with kind j uses up steps[k, j]
    of them (negative: excluded). All K epochs are trained. Shape (K + 1, M, cells, S), rounded upward;
    `UNREACHABLE` where the budget does not last. Layer 0 is left empty.
    """
    length, kinds, size = sample.gains.shape
    count = len(sample.may_end)
    table = np.full((length + 1, count, cells, size), UNREACHABLE, dtype=np.float32)
    for model in range(count):
        if sample.may_end[model]:
            table[length, model] = np.float32(0)
    best = np.empty((count, size), dtype=np.float32)
    for k in range(length - 1, 0, -1):
        for b in range(cells):
            best[:] = UNREACHABLE
            for j in range(kinds):
                step, model = steps[k, j], sample.models[j]
                if 0 <= step <= b:
                    _raise_to(best[model], table[k + 1, model, b - step], sample.gains[k, j])
            for before in range(count):
                for after in range(count):
                    if before == after:
                        _keep_larger(table[k, before, b], best[after])
                    elif sample.may_follow[before, after]:
                        losses = sample.switch_losses[k, before, after]
                        _switched(table[k, before, b], best[after], losses)
    return table


@interpreted
def descend(
    risk: Any,
    table: Any,
    charges: Charges,
    scale: float,
    order: Integers,
    state: Integers,
    reached: Any,
    nodes: int,
) -> int:
    """Depth-first search over the kinds of K epochs, from where it stopped, for at most ``nodes`` children.

    A child stays if all charges can keep their limits and the target can still be met; children are visited
    by increasing key of the risk.

    Parameters
    ----------
    risk : Sample or Laws
        What a child adds to a prefix.
    table : array (K + 1, M, cells, S or F)
        What still may follow: from `reachable_gains` or `law_completions.least_violations`.
    scale : float
        Cells of the table per unit of charge 0.
    order : int array (K, J + 1)
        Changed: [k] are the kinds to visit at depth k, their number last.
    state : int array (K + 2,)
        Changed: [k] is the number of kinds visited at depth k, [K + 1] the depth.
    reached : array (K + 1, S or F)
        Changed: gains, or the transforms, after k epochs.

    Returns
    -------
    int
        `FINISHED`, `LEAF` or `PAUSED`. At a leaf the choices are order[k, state[k] - 1].
    """
    length, kinds = order.shape[0], order.shape[1] - 1
    depth = state[length + 1]
    while depth >= 0:
        if depth == length:
            state[length + 1] = depth - 1
            return LEAF
        before = risk.first_model if depth == 0 else risk.models[order[depth - 1, state[depth - 1] - 1]]
        if state[depth] == 0:
            if nodes <= 0:
                state[length + 1] = depth
                return PAUSED
            nodes -= kinds
            _expand(risk, table, charges, scale, order[depth], reached[depth], depth, before)
        if state[depth] >= order[depth, kinds]:
            state[depth] = 0
            depth -= 1
            continue
        kind = order[depth, state[depth]]
        state[depth] += 1
        if affordable(charges, depth, kind):
            _enter(risk, reached[depth], reached[depth + 1], depth, before, kind)
            depth += 1
    state[length + 1] = depth
    return FINISHED


@interpreted
def priced_prefixes(sample: Sample, costs: FloatArray, gain_price: float) -> FloatArray:
    """Least cost less gain_price * gain over all plans of k epochs, by k and scenario; shape (K + 1, S).

    Costs are those of a kind at an epoch, shape (K, J), where infinity excludes it. Infinite where no plan of
    that length exists; row 0 is 0.
    """
    length, kinds, size = sample.gains.shape
    count = len(sample.may_end)
    least = np.full((length + 1, size), np.inf)
    least[0] = 0.0
    now, following = np.full((count + 1, size), np.inf), np.empty((count, size))
    now[sample.first_model] = 0.0
    for k in range(length):
        following[:] = np.inf
        for after in range(count):
            _arrive(following[after], now, sample, k, after, gain_price)
        now[:] = np.inf
        for j in range(kinds):
            if costs[k, j] < np.inf:
                row, arrived = now[sample.models[j]], following[sample.models[j]]
                for s in range(size):
                    value = arrived[s] + (costs[k, j] - gain_price * sample.gains[k, j, s])
                    row[s] = min(row[s], value)
        for after in range(count):
            if sample.may_end[after]:
                for s in range(size):
                    least[k + 1, s] = min(least[k + 1, s], now[after, s])
    return least


@interpreted
def one_switch_scan(
    sample: Sample, costs: FloatArray, charge: float, cutoff: float, found: Integers, start: int, stop: int
) -> float:
    """Cost of the cheapest plan with at most one change of kind that enough scenarios accept, or ``cutoff``.

    Of lengths from ``start`` to ``stop`` - 1, with gains and costs (K + 1, J) summed over the first k epochs,
    and ``charge`` added to all costs (transfers less lam T_max). If there is one below the cutoff, ``found``
    becomes its length, epochs before the switch, kind before and kind after.
    """
    kinds, may_follow = costs.shape[1], sample.may_follow
    best = cutoff
    for length in range(start, stop):
        for first in range(kinds):
            begun = sample.models[first]
            for second in range(kinds):
                ending = sample.models[second]
                follows = may_follow[sample.first_model, begun] and may_follow[begun, ending]
                if not (follows and sample.may_end[ending]):
                    continue
                last = length if first == second else length - 1
                for split in range(last, last - 1 if first == second else 0, -1):
                    cost = costs[split, first] + (costs[length, second] - costs[split, second]) + charge
                    if cost < best and _within(sample, _gain_of_two(sample, length, split, first, second)):
                        best = cost
                        found[0], found[1], found[2], found[3] = length, split, first, second
    return best


@compiled
def _at_least(value: float) -> np.float32:
    """``value`` in single precision, rounded upward; exact for whole numbers up to 2^24."""
    rounded = np.float32(value)
    return rounded if rounded >= value else np.float32(value + abs(value) * _UPWARD)


@compiled
def _raise_to(row: SinglePrecision, rest: SinglePrecision, gain: FloatArray) -> None:
    for s in range(row.size):
        value = _at_least(np.float64(rest[s]) + gain[s])
        row[s] = value if value > row[s] else row[s]


@compiled
def _switched(row: SinglePrecision, best: SinglePrecision, loss: FloatArray) -> None:
    for s in range(row.size):
        value = _at_least(np.float64(best[s]) - loss[s])
        row[s] = value if value > row[s] else row[s]


@compiled
def _keep_larger(row: SinglePrecision, best: SinglePrecision) -> None:
    for s in range(row.size):
        row[s] = best[s] if best[s] > row[s] else row[s]


@interpreted
def affordable(charges: Charges, depth: int, kind: int) -> bool:
    """Charge one more epoch; False if a limit would be exceeded whatever follows."""
    for row in range(charges.limits.size):
        total = charges.spent[row, depth] + charges.values[row, depth, kind]
        charges.spent[row, depth + 1] = total
        if total + charges.rest[row, depth + 1] > charges.limits[row]:
            return False
    return True


@interpreted
def _expand(
    risk: Any,
    table: Any,
    charges: Charges,
    scale: float,
    order: Integers,
    now: Any,
    depth: int,
    before: int,
) -> None:
    """Write the kinds of the next epoch that may still meet the target, by increasing key."""
    kinds = order.size - 1
    keys = np.empty(kinds)
    count = 0
    for kind in range(kinds):
        model = risk.models[kind]
        if not (risk.may_follow[before, model] and affordable(charges, depth, kind)):
            continue
        left = charges.limits[0] - charges.spent[0, depth + 1] - charges.rest[0, depth + 1]
        cell = min(int(left * scale + CELL_ROUNDING), table.shape[2] - 1)
        if hasattr(risk, "tops"):  # told apart when it is compiled
            key = _violation(risk, table, now, depth, before, kind, cell)
        elif _misses(risk, table[depth + 1, model, cell], now, depth, before, kind):
            key = np.inf
        else:
            key = charges.spent[0, depth + 1]
        if key == np.inf:
            continue
        place = count
        while place > 0 and keys[place - 1] > key:
            keys[place], order[place] = keys[place - 1], order[place - 1]
            place -= 1
        keys[place], order[place] = key, kind
        count += 1
    order[kinds] = count


@interpreted
def _enter(risk: Any, now: Any, following: Any, depth: int, before: int, kind: int) -> None:
    """Write what is reached after one more epoch."""
    if hasattr(risk, "tops"):
        change, rise = _change(risk, depth, before, kind)
        for f in range(len(change)):  # one by one: assigning whole rows takes two seconds more to compile
            following[f] = now[f] * change[f]
        risk.tops[depth + 1] = risk.tops[depth] + rise
    else:
        gains, after = risk.gains[depth, kind], risk.models[kind]
        for s in range(len(now)):
            following[s] = now[s] + gains[s]
        if before != after:
            losses = risk.switch_losses[depth, before, after]
            for s in range(len(now)):
                following[s] -= losses[s]


@interpreted
def _misses(risk: Sample, rest: SinglePrecision, now: FloatArray, depth: int, before: int, kind: int) -> bool:
    """Whether too many scenarios cannot reach the target after a child, whatever follows."""
    after, gains = risk.models[kind], risk.gains[depth, kind]
    switching, losses = before != after, risk.switch_losses[depth, before, after]
    misses = 0
    for s in range(now.size):
        value = now[s] + gains[s]
        if switching:
            value -= losses[s]
        if value + np.float64(rest[s]) < risk.needed:
            misses += 1
            if misses > risk.allowed:
                return True
    return False


@interpreted
def _violation(
    risk: Laws, table: ComplexArray, now: ComplexArray, depth: int, before: int, kind: int, cell: int
) -> float:
    """At most what every completion of a child misses the target with; infinite if that is too much."""
    model = risk.models[kind]
    if cell < risk.least[depth + 1, model]:
        return np.inf
    change = _change(risk, depth, before, kind)[0]
    rest = table[depth + 1, model, cell]
    violation = 0.0
    for f in range(now.size):
        value = now[f] * change[f]
        violation += value.real * rest[f].real - value.imag * rest[f].imag
    doubt = risk.rounding * abs(now[0].real * change[0].real) * risk.norms[depth + 1, model, cell]
    return np.inf if violation - doubt > risk.most else float(violation - doubt)


@interpreted
def _change(risk: Laws, depth: int, before: int, kind: int) -> tuple[ComplexArray, int]:
    """Transform of an epoch and by how much it may raise the loss, without rises near the top of the grid."""
    rise = risk.rises[depth, before, kind]
    if risk.tops[depth] + rise > risk.highest:
        return risk.clipped[depth, before, kind], 0
    return risk.transforms[depth, before, kind], rise


@interpreted
def _arrive(row: FloatArray, now: FloatArray, sample: Sample, k: int, after: int, gain_price: float) -> None:
    for before in range(len(now)):
        if before == after:
            for s in range(row.size):
                row[s] = min(row[s], now[before, s])
        elif now[before, 0] < np.inf and sample.may_follow[before, after]:
            losses = sample.switch_losses[k, before, after]
            for s in range(row.size):
                row[s] = min(row[s], now[before, s] + gain_price * losses[s])


@interpreted
def _within(sample: Sample, gains: FloatArray) -> bool:
    misses = 0
    for gain in gains:
        if gain < sample.needed:
            misses += 1
            if misses > sample.allowed:
                return False
    return True


@interpreted
def _gain_of_two(sample: Sample, length: int, split: int, first: int, second: int) -> FloatArray:
    """Gains of a plan of two kinds, the first for ``split`` epochs."""
    before, after, losses = sample.models[first], sample.models[second], sample.switch_losses
    gains: FloatArray = sample.gains[split, first] + (
        sample.gains[length, second] - sample.gains[split, second]
    )
    if sample.first_model != before:
        gains -= losses[0, sample.first_model, before]
    if before != after:
        gains -= losses[split, before, after]
    return gains
