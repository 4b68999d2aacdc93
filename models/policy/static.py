r"""Fixed plans that are left as soon as the target is reached, as policies on the same ledger.

A plan that is chosen *for* stopping early: the objective is its expected cost with stopping, the promise that
the target is reached in one of its epochs. Looked at are all schedules with at most one switch. One that is
to train K epochs is a beginning of one that trains more, so one distribution is carried along each pair of
models: of the runs that have not met the target yet. This is a search by plain sums; what it finds is
certified by `depl.models.policy.dynamic.certified`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from depl.models.foundation.deadline import keep_time
from depl.models.policy.dynamic import STOP, Actions, failed
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.process import Node, Process, Training
from depl.models.problem.laws import FloatArray


@dataclass(frozen=True)
class StaticPlan:
    """A schedule with at most one switch, and what it does if it is left when the target is met.

    Attributes
    ----------
    start : int
        Number of the start.
    path : tuple of int
        Numbers of the trainings of its nodes, one for each epoch.
    cost, failure : float
        About its C and F [cost].
    """

    start: int
    path: tuple[int, ...]
    cost: float
    failure: float


@dataclass(frozen=True, eq=False)
class _Under:
    """Runs under way that have not met the target.

    Attributes
    ----------
    alive : float array (cells,)
        Their probabilities by index.
    lost : float
        Of those off the top of the grid, which failed.
    cost : float
        Expected so far [cost].
    """

    node: int
    path: tuple[int, ...]
    alive: FloatArray
    lost: float
    cost: float


def static_plans(process: Process, expectations: Expectations) -> Iterator[StaticPlan]:
    """All schedules with at most one switch that end where a run may stop."""
    for number, start in enumerate(process.starts):
        indices = np.maximum(expectations.grid.indices(start.losses, up=True), 0)
        found = np.bincount(indices, start.weights, minlength=expectations.grid.cells)
        alive = found.astype(np.float64)
        begun = _Under(start.node, (), _left(process.nodes[start.node], alive, expectations.grid), 0.0, 0.0)
        for action in range(len(process.nodes[start.node].trainings)):
            first = _trained(process, expectations, begun, action)
            yield from _stage(process, expectations, number, first, may_switch=True)


def _stage(
    process: Process, expectations: Expectations, start: int, run: _Under, *, may_switch: bool
) -> Iterator[StaticPlan]:
    """Schedules that go on with the same model, from a first epoch of it, or switch once."""
    while True:
        keep_time()
        node = process.nodes[run.node]
        if node.may_stop:
            yield StaticPlan(start, run.path, run.cost, float(run.alive.sum()) + run.lost)
        same = None
        for action, training in enumerate(node.trainings):
            if (training.model, training.cluster) == node.site:
                same = action
            elif may_switch:
                switched = _trained(process, expectations, run, action)
                yield from _stage(process, expectations, start, switched, may_switch=False)
        if same is None:
            return
        run = _trained(process, expectations, run, same)


def _trained(process: Process, expectations: Expectations, run: _Under, action: int) -> _Under:
    """After one more epoch of those that have not met the target."""
    training = process.nodes[run.node].trainings[action]
    grid, alive = expectations.grid, float(run.alive.sum())
    after, lost = pushed(run.alive, training, expectations)
    node = process.nodes[training.following]
    return _Under(
        training.following,
        (*run.path, action),
        _left(node, after, grid),
        run.lost + lost,
        run.cost + alive * training.price,
    )


def _left(node: Node, alive: FloatArray, grid: Grid) -> FloatArray:
    """Those above the target, where a run may stop."""
    return np.where(failed(node, grid) > 0, alive, 0.0)


def pushed(alive: FloatArray, training: Training, expectations: Expectations) -> tuple[FloatArray, float]:
    """Probabilities by index after an epoch, and that of being off the top of the grid."""
    grid, kernel = expectations.grid, training.kernel
    cells = expectations.cells(kernel.noise)
    images = grid.images(kernel.shift, kernel.retention, up=True)
    least = int(images[0])
    moved = np.bincount(images - least, alive).astype(np.float64)
    total = expectations.convolved(moved, kernel.noise)
    places = np.arange(total.size) + least + cells.first
    inside = places < grid.cells
    found = np.bincount(np.maximum(places[inside], 0), total[inside], minlength=grid.cells)
    return found.astype(np.float64), max(0.0, float(alive.sum()) - float(found.sum()))


def actions_of(process: Process, grid: Grid, plan: StaticPlan) -> tuple[Actions, ...]:
    """The policy that follows a plan and stops where the target is met."""
    actions = [np.full(grid.cells, STOP, dtype=np.int16) for _ in process.nodes]
    number = process.starts[plan.start].node
    for action in plan.path:
        node = process.nodes[number]
        actions[number][failed(node, grid) > 0] = action
        number = node.trainings[action].following
    return tuple(actions)
