r"""Least expected cost and failures by dynamic programming over node and loss, with directed rounding.

    V(node, loss) = min { [not met],  price + E V(next node, next loss) },   unit of [not met]: lam,

backwards over the epochs. Rounded up (`upper`), its minimiser is a policy that a controller can follow, whose
C and F are upper bounds; rounded down (`lower`), it bounds C + lam F of every policy from below. Both are
proved in `docs/policies`. At epoch 0 a run whose first loss does not meet the target has to train, unless
``abandon_at_start``.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.deadline import keep_time
from depl.models.policy.grid import Expectations, Grid, met
from depl.models.policy.process import Kernel, Node, Process, Start
from depl.models.problem.laws import FloatArray
from depl.models.problem.laws.law import UNIT_ROUNDOFF
from depl.models.problem.policy import STOP

Actions = NDArray[np.int16]
"""By index of the ledger: the number of a training of the node, or `STOP`."""

_SUMMED = 1 + 8 * UNIT_ROUNDOFF
"""Rounding of a price plus an expectation, and of `math.fsum` over products."""

_CAREFUL = 1e6
"""Price of a failure, in the greatest cost of a run, at which a policy of (nearly) least failure is found: F
then differs from the least by 1e-6 at most, which the walk along the hull makes up for."""


@dataclass(frozen=True, eq=False)
class Table:
    """A policy on the grid, by node and from the start that is chosen, and what it is certified to do.

    ``cost`` and ``failure`` are upper bounds of C and F under the law, ``multiplier`` is lam, for which the
    chain was solved, and ``exact`` is P(reached) of the chain itself, where it was worked out.
    """

    actions: tuple[Actions, ...]
    start: int
    cost: float
    failure: float
    multiplier: float
    exact: Fraction | None = None

    def value(self, multiplier: float) -> float:
        """C + lam F [cost]."""
        return self.cost + multiplier * self.failure


def upper(process: Process, up: Expectations, multiplier: float, given: Table | None = None) -> Table:
    """The best policy of the chain that is rounded up, or what a given one is certified to do."""
    grid, after = up.grid, dict[int, FloatArray]()
    actions = [np.full(grid.cells, STOP, dtype=np.int16) for _ in process.nodes]
    for numbers in process.by_epoch():
        values = {number: _stopped(process, number, grid, multiplier, up=True) for number in numbers}
        rows = {
            number: np.stack([np.zeros(grid.cells), failed(process.nodes[number], grid)])
            for number in numbers
        }
        for (following, kernel), users in _trainings(process, numbers, given).items():
            keep_time()
            images = grid.images(kernel.shift, kernel.retention, up=True)
            beyond = [(float(after[following][0, 0]), 0.0), (float(after[following][1, 0]), 1.0)]
            moved = up.bounds(after[following], beyond, images, kernel.noise)
            for number, action, price in users:
                found = np.stack([(moved[0] + price) * _SUMMED, np.minimum(moved[1], 1.0)])
                own = found[0] + multiplier * found[1]
                better = own < values[number] if given is None else given.actions[number] == action
                rows[number] = np.where(better, found, rows[number])
                values[number] = np.where(better, own, values[number])
                actions[number][better] = action
        after = rows
    starts = (
        list(enumerate(process.starts)) if given is None else [(given.start, process.starts[given.start])]
    )
    ends = {number: _mean(start, after[start.node], grid) for number, start in starts}
    best = min(ends, key=lambda number: ends[number][0] + multiplier * ends[number][1])
    return Table(tuple(actions), best, *ends[best], multiplier)


def careful_table(process: Process, up: Expectations) -> Table:
    """A policy of least failure, up to a millionth."""
    return upper(process, up, _CAREFUL * max(process.greatest_cost(), 1e-9))


def lower(process: Process, down: Expectations, multiplier: float, *, free: bool = False) -> list[float]:
    """Lower bounds of C + lam F over all policies, one for each start.

    Where epochs are ``free``, with lam = 1, they are bounds of F alone.
    """
    found = lower_by_loss(process, down, multiplier, free=free)
    pairs = zip(process.starts, found, strict=True)
    return [math.fsum((start.weights * values).tolist()) / _SUMMED for start, values in pairs]


def lower_by_loss(
    process: Process, down: Expectations, multiplier: float, *, free: bool = False
) -> list[FloatArray]:
    """The same from each l(0), by start; shapes (losses,).

    Beside the values on the grid goes that of a run whose loss stays below all others: what it takes to come
    to where it may stop.
    """
    grid, after, below = down.grid, dict[int, FloatArray](), dict[int, float]()
    for numbers in process.by_epoch():
        values, lowest = dict[int, FloatArray](), dict[int, float]()
        for number in numbers:
            values[number] = _stopped(process, number, grid, multiplier, up=False)
            lowest[number] = 0.0 if process.nodes[number].may_stop else multiplier
        for (following, kernel), users in _trainings(process, numbers).items():
            keep_time()
            images = grid.images(kernel.shift, kernel.retention, up=False)
            beyond = [(below[following], float(after[following][-1]))]
            moved = down.bounds(after[following][None, :], beyond, images, kernel.noise)[0]
            for number, _, price in users:
                paid = 0.0 if free else price
                np.minimum(values[number], (moved + paid) / _SUMMED, out=values[number])
                lowest[number] = min(lowest[number], (below[following] + paid) / _SUMMED)
        after, below = values, lowest
    found = []
    for start in process.starts:
        row, indices = after[start.node], grid.below(start.losses)
        inside = row[np.clip(indices, 0, grid.cells - 1)]
        found.append(np.where(indices < 0, below[start.node], inside))
    return found


def failed(node: Node, grid: Grid, *, up: bool = True) -> FloatArray:
    """Whether stopping at a node is a failure, by index that is rounded up or down: 1 or 0."""
    found = np.ones(grid.cells)
    if node.may_stop:
        found[: grid.target + 1 if up else grid.least_missed] = 0.0
    return found


def met_at_start(process: Process, start: Start) -> float:
    """P0: the probability that the target is met before the first epoch."""
    if not process.nodes[start.node].may_stop:
        return 0.0
    return math.fsum(start.weights[met(start.losses, process.limit)].tolist())


def _stopped(process: Process, number: int, grid: Grid, multiplier: float, *, up: bool) -> FloatArray:
    """lam F of a run that stops; infinite where it may not, above the target before the first epoch."""
    node = process.nodes[number]
    forced = node.epoch == 0 and node.trainings and not process.abandon_at_start
    fails = failed(node, grid, up=up)
    return np.where(fails > 0, math.inf if forced else multiplier, 0.0)


def _trainings(
    process: Process, numbers: list[int], given: Table | None = None
) -> dict[tuple[int, Kernel], list[tuple[int, int, float]]]:
    """Of some nodes, or of what a given policy trains there: node, action and price.

    Expectations depend on the node that follows and on the kernel alone, and each is found once: of the
    paper's instances, where three models switch freely, a quarter of all trainings are different.
    """
    found: dict[tuple[int, Kernel], list[tuple[int, int, float]]] = defaultdict(list)
    for number in numbers:
        keep_time()
        for action, item in enumerate(process.nodes[number].trainings):
            if given is None or (given.actions[number] == action).any():
                found[item.following, item.kernel].append((number, action, item.price))
    return found


def _mean(start: Start, rows: FloatArray, grid: Grid) -> tuple[float, float]:
    indices = np.maximum(grid.indices(start.losses, up=True), 0)
    cost, failure = (math.fsum((start.weights * row[indices]).tolist()) * _SUMMED for row in rows)
    return cost, min(failure, 1.0)
