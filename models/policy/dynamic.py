r"""Least expected cost and failures by dynamic programming over node and loss, with directed rounding.

    V(node, loss) = min { [not met],  price + E V(next node, next loss) },   unit of [not met]: lam,

backwards over the epochs. Rounded up (`upper`), its minimiser is a policy that a controller can follow, whose
C and F are upper bounds; rounded down (`lower`), it bounds C + lam F of every policy from below. Both are
proved in `docs/policies`. At epoch 0 a run whose first loss does not meet the target has to train, unless
``abandon_at_start``.
"""

import functools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.deadline import keep_time
from depl.models.policy.grid import Beyond, Expectations, Grid, met
from depl.models.policy.process import Kernel, Node, Process, Start, Training
from depl.models.problem.laws import FloatArray
from depl.models.problem.laws.law import UNIT_ROUNDOFF

Actions = NDArray[np.int16]
"""By index of the ledger: the number of a training of the node, or `STOP`."""

STOP = -1

_SUMMED = 1 + 8 * UNIT_ROUNDOFF
"""Rounding of a price plus an expectation, and of `math.fsum` over products."""


@dataclass(frozen=True, eq=False)
class Table:
    """A policy on the grid, and what it is certified to do.

    Attributes
    ----------
    actions : tuple of int arrays (cells,)
        By node.
    start : int
        Number of the start that is chosen.
    cost, failure : float
        Upper bounds of C and F under the law.
    multiplier : float
        lam, for which the chain was solved.
    exact : Fraction or None
        P(not reached) of the chain itself, where it was worked out; ``failure`` is then none too great.
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


@dataclass(frozen=True)
class Options:
    """Which policies are looked at.

    Attributes
    ----------
    abandon_at_start : bool
        Whether a run may be given up before its first epoch.
    """

    abandon_at_start: bool = False


def upper(
    process: Process, expectations: Expectations, multiplier: float, options: Options = Options()
) -> Table:
    """The best policy of the chain that is rounded up.

    Parameters
    ----------
    expectations : Expectations
        Of direction up.
    multiplier : float
        lam > 0 [cost].
    """
    grid = expectations.grid
    actions: list[Actions] = [np.empty(0, dtype=np.int16)] * len(process.nodes)
    after: dict[int, FloatArray] = {}
    for numbers in process.by_epoch():
        here: dict[int, FloatArray] = {}
        shared = _Shared(process, numbers)
        for number in numbers:
            keep_time()
            actions[number], here[number] = _best(
                process.nodes[number], expectations, after, multiplier, options, shared
            )
        after = here
    ends = [_mean(start, after[start.node], grid) for start in process.starts]
    best = min(range(len(ends)), key=lambda number: ends[number][0] + multiplier * ends[number][1])
    return Table(tuple(actions), best, *ends[best], multiplier)


def _best(
    node: Node,
    expectations: Expectations,
    after: dict[int, FloatArray],
    multiplier: float,
    options: Options,
    shared: "_Shared",
) -> tuple[Actions, FloatArray]:
    """Actions of a node, and rows C and F."""
    grid = expectations.grid
    stopped = np.zeros((2, grid.cells))
    stopped[1] = failed(node, grid, up=True)
    best, actions = stopped, np.full(grid.cells, STOP, dtype=np.int16)
    value = multiplier * stopped[1] + np.where(must_train(node, grid, options, up=True), math.inf, 0.0)
    for number, training in enumerate(node.trainings):
        found = _continued(training, expectations, after[training.following], shared)
        own = found[0] + multiplier * found[1]
        better = own < value
        best, value = np.where(better, found, best), np.where(better, own, value)
        actions[better] = number
    return actions, best


def certified(
    process: Process, expectations: Expectations, actions: tuple[Actions, ...], start: int, multiplier: float
) -> Table:
    """What a given policy is certified to do.

    Parameters
    ----------
    expectations : Expectations
        Of direction up.
    actions : tuple of int arrays (cells,)
        By node, as in `Table`.
    """
    grid = expectations.grid
    after: dict[int, FloatArray] = {}
    for numbers in process.by_epoch():
        here: dict[int, FloatArray] = {}
        for number in numbers:
            keep_time()
            node, row = process.nodes[number], actions[number]
            rows = np.zeros((2, grid.cells))
            rows[1] = failed(node, grid)
            for action in np.unique(row).tolist():
                if action != STOP:
                    training = node.trainings[action]
                    found = continued(training, expectations, after[training.following])
                    rows = np.where(row == action, found, rows)
            here[number] = rows
        after = here
    begun = process.starts[start]
    return Table(actions, start, *_mean(begun, after[begun.node], grid), multiplier)


def failed(node: Node, grid: Grid, *, up: bool = True) -> FloatArray:
    """Whether stopping at a node is a failure, by index that is rounded up or down: 1 or 0."""
    found = np.ones(grid.cells)
    if node.may_stop:
        found[: grid.target + 1 if up else grid.least_missed] = 0.0
    return found


def must_train(node: Node, grid: Grid, options: Options, *, up: bool) -> NDArray[np.bool_]:
    """Where the run may not stop: above the target before the first epoch."""
    found = np.zeros(grid.cells, dtype=bool)
    if node.epoch == 0 and node.trainings and not options.abandon_at_start:
        found[:] = failed(node, grid, up=up) > 0
    return found


def continued(training: Training, expectations: Expectations, after: FloatArray) -> FloatArray:
    """Rows C and F of a node whose every index trains this; off the top of the grid a run stops and fails."""
    return _paid(training, _moved(training, expectations, after))


def _continued(
    training: Training, expectations: Expectations, after: FloatArray, shared: "_Shared"
) -> FloatArray:
    """The same, where other nodes train it as well."""
    return _paid(training, shared.of(training, lambda: _moved(training, expectations, after)))


def _moved(training: Training, expectations: Expectations, after: FloatArray) -> FloatArray:
    keep_time()  # a node may have hundreds of trainings
    kernel = training.kernel
    images = expectations.grid.images(kernel.shift, kernel.retention, up=True)
    beyond = [Beyond(float(after[0, 0]), 0.0), Beyond(float(after[1, 0]), 1.0)]
    return expectations.bounds(after, beyond, images, kernel.noise)


def _paid(training: Training, moved: FloatArray) -> FloatArray:
    return np.stack([(moved[0] + training.price) * _SUMMED, np.minimum(moved[1], 1.0)])


class _Shared:
    """Expectations that trainings of several nodes of an epoch have in common.

    They depend on the node that follows and on the kernel alone: of the paper's instances, where three models
    switch freely, a quarter of all trainings are different. Each is kept as long as it is still needed.
    """

    def __init__(self, process: Process, numbers: list[int]) -> None:
        trainings = (item for number in numbers for item in process.nodes[number].trainings)
        self._left = Counter((item.following, item.kernel) for item in trainings)
        self._known: dict[tuple[int, Kernel], FloatArray] = {}

    def of(self, training: Training, find: Callable[[], FloatArray]) -> FloatArray:
        """What was found for another training like it, or is found now; not to be written to."""
        key = training.following, training.kernel
        self._left[key] -= 1
        found = self._known.pop(key) if key in self._known else find()
        if self._left[key] > 0:
            self._known[key] = found
        return found


def _mean(start: Start, rows: FloatArray, grid: Grid) -> tuple[float, float]:
    indices = np.maximum(grid.indices(start.losses, up=True), 0)
    cost, failure = (math.fsum((start.weights * row[indices]).tolist()) * _SUMMED for row in rows)
    return cost, min(failure, 1.0)


def lower(
    process: Process,
    expectations: Expectations,
    multiplier: float,
    options: Options = Options(),
    *,
    free: bool = False,
) -> list[float]:
    """Lower bounds of C + lam F over all policies, one for each start.

    Parameters
    ----------
    expectations : Expectations
        Of direction down.
    free : bool
        Whether epochs cost nothing: with lam = 1, bounds of F alone.
    """
    found = lower_by_loss(process, expectations, multiplier, options, free=free)
    pairs = zip(process.starts, found, strict=True)
    return [math.fsum((start.weights * values).tolist()) / _SUMMED for start, values in pairs]


def lower_by_loss(
    process: Process,
    expectations: Expectations,
    multiplier: float,
    options: Options = Options(),
    *,
    free: bool = False,
) -> list[FloatArray]:
    """The same from each l(0), by start; shapes (losses,)."""
    grid = expectations.grid
    after: dict[int, FloatArray] = {}
    lowest = _without_losses(process, multiplier, free)
    for numbers in process.by_epoch():
        here: dict[int, FloatArray] = {}
        shared = _Shared(process, numbers)
        for number in numbers:
            keep_time()
            node = process.nodes[number]
            forced = must_train(node, grid, options, up=False)
            value = np.where(forced, math.inf, multiplier * failed(node, grid, up=False))
            for training in node.trainings:
                following = training.following
                moved = shared.of(
                    training,
                    functools.partial(_least, training, expectations, after[following], lowest[following]),
                )
                found = (moved + (0.0 if free else training.price)) / _SUMMED
                np.minimum(value, found, out=value)
            here[number] = value
        after = here
    found_at = []
    for start in process.starts:
        row, indices = after[start.node], grid.below(start.losses)
        inside = row[np.clip(indices, 0, grid.cells - 1)]
        found_at.append(np.where(indices < 0, lowest[start.node], inside))
    return found_at


def _without_losses(process: Process, multiplier: float, free: bool) -> list[float]:
    """V by node of a run whose loss stays below all others: what it takes to come to where it may stop."""
    found = [0.0] * len(process.nodes)
    for numbers in process.by_epoch():
        for number in numbers:
            keep_time()
            node = process.nodes[number]
            if not node.may_stop:
                rest = [(0.0 if free else item.price) + found[item.following] for item in node.trainings]
                found[number] = min([multiplier, *(value / _SUMMED for value in rest)])
    return found


def _least(training: Training, expectations: Expectations, after: FloatArray, lowest: float) -> FloatArray:
    """Lower bounds of the value after an epoch."""
    keep_time()  # a node may have hundreds of trainings
    kernel = training.kernel
    images = expectations.grid.images(kernel.shift, kernel.retention, up=False)
    beyond = [Beyond(lowest, float(after[-1]))]
    found: FloatArray = expectations.bounds(after[None, :], beyond, images, kernel.noise)[0]
    return found


def met_at_start(process: Process, start: Start) -> float:
    """P0: the probability that the target is met before the first epoch."""
    if not process.nodes[start.node].may_stop:
        return 0.0
    return math.fsum(start.weights[met(start.losses, process.limit)].tolist())
