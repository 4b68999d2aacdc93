"""Fixed plans with at most one switch that are left as soon as the target is reached, on the same ledger.

A plan that trains K epochs is a beginning of one that trains more, so one distribution is carried along each
pair of models: of the runs that have not met the target yet. This is a search by plain sums; what it finds is
certified by `depl.models.policy.dynamic.upper`.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from depl.models.foundation.deadline import keep_time
from depl.models.policy.dynamic import Table, failed
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.process import Process, Training
from depl.models.problem.laws import FloatArray
from depl.models.problem.policy import STOP

_SPARE = 1e-6
"""Relative failure that a fixed plan found by plain sums has to spare, which rounding may take."""


class StaticPlan(NamedTuple):
    """A schedule with at most one switch: a start, the trainings of its nodes, and about its C and F."""

    start: int
    path: tuple[int, ...]
    cost: float
    failure: float

    def value(self, multiplier: float) -> float:
        """C + lam F [cost]."""
        return self.cost + multiplier * self.failure


class _Under(NamedTuple):
    """Runs under way that have not met the target: their probabilities by index, and off the grid."""

    node: int
    path: tuple[int, ...]
    alive: FloatArray
    lost: float
    cost: float


def static_plans(process: Process, up: Expectations) -> Iterator[StaticPlan]:
    """All schedules with at most one switch that end where a run may stop."""
    for number, start in enumerate(process.starts):
        indices = np.maximum(up.grid.indices(start.losses, up=True), 0)
        alive = np.bincount(indices, start.weights, minlength=up.grid.cells).astype(np.float64)
        node = process.nodes[start.node]
        begun = _Under(start.node, (), np.where(failed(node, up.grid) > 0, alive, 0.0), 0.0, 0.0)
        for action in range(len(node.trainings)):
            yield from _stage(process, up, number, _trained(process, up, begun, action), may_switch=True)


def best_static(process: Process, up: Expectations, rho: float, budget: float) -> StaticPlan | None:
    """The fixed plan of least cost and price of failures that keeps the promise; None if none does."""
    keeping = (plan for plan in static_plans(process, up) if plan.failure <= budget * (1 - _SPARE))
    return min(keeping, key=lambda plan: plan.value(rho), default=None)


def table_of(process: Process, grid: Grid, plan: StaticPlan, multiplier: float) -> Table:
    """The policy that follows a plan and stops where the target is met."""
    actions = [np.full(grid.cells, STOP, dtype=np.int16) for _ in process.nodes]
    number = process.starts[plan.start].node
    for action in plan.path:
        node = process.nodes[number]
        actions[number][failed(node, grid) > 0] = action
        number = node.trainings[action].following
    return Table(tuple(actions), plan.start, plan.cost, plan.failure, multiplier)


def _stage(
    process: Process, up: Expectations, start: int, run: _Under, *, may_switch: bool
) -> Iterator[StaticPlan]:
    """Schedules that go on with the same model, from a first epoch of it, or switch once."""
    same: int | None = 0
    while same is not None:
        keep_time()
        node, same = process.nodes[run.node], None
        if node.may_stop:
            yield StaticPlan(start, run.path, run.cost, float(run.alive.sum()) + run.lost)
        for action, training in enumerate(node.trainings):
            if (training.model, training.cluster) == node.site:
                same = action
            elif may_switch:
                switched = _trained(process, up, run, action)
                yield from _stage(process, up, start, switched, may_switch=False)
        if same is not None:
            run = _trained(process, up, run, same)


def _trained(process: Process, up: Expectations, run: _Under, action: int) -> _Under:
    """After one more epoch of those that have not met the target."""
    training = process.nodes[run.node].trainings[action]
    after, lost = _pushed(run.alive, training, up)
    alive = np.where(failed(process.nodes[training.following], up.grid) > 0, after, 0.0)
    cost = run.cost + float(run.alive.sum()) * training.price
    return _Under(training.following, (*run.path, action), alive, run.lost + lost, cost)


def _pushed(alive: FloatArray, training: Training, up: Expectations) -> tuple[FloatArray, float]:
    """Probabilities by index after an epoch, and that of being off the top of the grid."""
    grid, kernel = up.grid, training.kernel
    images = grid.images(kernel.shift, kernel.retention, up=True)
    least = int(images[0])
    total = up.convolved(np.bincount(images - least, alive).astype(np.float64), kernel.noise)
    places = np.arange(total.size) + least + up.cells(kernel.noise).first
    inside = places < grid.cells
    found = np.bincount(np.maximum(places[inside], 0), total[inside], minlength=grid.cells)
    return found.astype(np.float64), max(0.0, float(alive.sum()) - float(found.sum()))
