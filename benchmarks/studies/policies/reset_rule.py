"""The negative example: after every epoch the cheapest rest that reaches the target with omega from here.

Each time the rule looks at the loss just seen, forgets what was promised before, and chooses again: of all
fixed rests of the run, each left as soon as the target is reached, the one of least expected cost that
reaches the target with probability omega from this loss; where none does, the one that reaches it most often.
Good luck is spent at once and bad luck is not made up for: what was promised once is spent again and again.

The law is that with independent residuals, on a grid on which losses are rounded up. What the rule decides is
when to switch: with the last model it trains until the target is reached or no epoch is left, as a rest of
one more epoch can always be chosen.
"""

from dataclasses import dataclass

import msgspec
import numpy as np

from depl.models.policy.dynamic import STOP, Actions, Options, Table, failed
from depl.models.policy.grid import Beyond, Expectations, Grid
from depl.models.policy.planner import Price, Request, policy_of
from depl.models.policy.process import Process, Training, process
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.policy import Certificate, Policy

CELLS = 2_048
"""Of the grid: set by hand, 0.2 % of a loss each, far below what an epoch changes."""

FEW_CELLS = 256


def reset_rule(instance: Instance, switch_epochs: tuple[int, ...], cells: int = CELLS) -> Policy:
    """The rule as a policy on the observed loss, of which nothing is certified.

    Parameters
    ----------
    instance : Instance
        With independent residuals, and one start.
    switch_epochs : tuple of int
        As in `depl.models.policy.process.process`.
    cells : int
        Of the grid.
    """
    chain = process(instance, switch_epochs=switch_epochs)
    grid = Grid.of(chain, cells)
    budget = float(instance.target.violation_budget)
    actions = _Chooser(chain, Expectations(grid, up=True), budget).actions()
    request = Request(instance, "optimal", None, Options(), (), switch_epochs)
    longest = sum(
        max((training.price for number in numbers for training in chain.nodes[number].trainings), default=0.0)
        for numbers in chain.by_epoch()
    )
    table = Table(actions, 0, longest, 1.0, longest)
    made = policy_of(request, chain, grid, table, Price(longest, (0.0, longest)), "observed")
    return msgspec.structs.replace(made, certificate=Certificate(method="none", cost=longest, reached=0.0))


@dataclass(frozen=True)
class _Chooser:
    """All fixed rests from every node, backwards."""

    process: Process
    expectations: Expectations
    budget: float

    def actions(self) -> tuple[Actions, ...]:
        """What the rule does, by node and index of the loss."""
        found: list[Actions] = [np.empty(0, dtype=np.int16)] * len(self.process.nodes)
        after: dict[int, FloatArray] = {}
        for numbers in self.process.by_epoch():
            here: dict[int, FloatArray] = {}
            for number in numbers:
                found[number], here[number] = self._chosen(number, after)
            after = here
        return tuple(found)

    def _chosen(self, number: int, after: dict[int, FloatArray]) -> tuple[Actions, FloatArray]:
        """Actions of a node, and its rests: expected cost and P(fail), shape (2, rests, cells)."""
        node = self.process.nodes[number]
        grid = self.expectations.grid
        above = failed(node, grid) > 0
        begun = [self._earlier(training, after[training.following]) for training in node.trainings]
        stopped = np.where(above, 1.0, 0.0)
        ending = np.stack([np.zeros(grid.cells), stopped])[:, None]
        if not begun:
            return np.full(grid.cells, STOP, dtype=np.int16), ending
        rests = np.concatenate(begun, axis=1) * stopped
        first = np.repeat(np.arange(len(begun), dtype=np.int16), [item.shape[1] for item in begun])
        keeping = rests[1] <= self.budget
        cost = np.where(keeping, rests[0], np.inf)
        best = np.where(keeping.any(axis=0), cost.argmin(axis=0), rests[1].argmin(axis=0))
        actions = np.where(above, first[best], STOP).astype(np.int16)
        return actions, np.concatenate([ending, rests], axis=1) if node.may_stop else rests

    def _earlier(self, training: Training, rests: FloatArray) -> FloatArray:
        """Rests of the node that a training leads to, seen before it; off the grid a run has failed."""
        kernel, many = training.kernel, rests.shape[1]
        images = self.expectations.grid.images(kernel.shift, kernel.retention, up=True)
        rows = rests.reshape(2 * many, -1)
        beyond = [
            Beyond(float(row[0]), above)
            for row, above in zip(rows, (0.0,) * many + (1.0,) * many, strict=True)
        ]
        found = self.expectations.bounds(rows, beyond, images, kernel.noise).reshape(2, many, -1)
        found[0] += training.price
        return np.stack([found[0], np.minimum(found[1], 1.0)])
