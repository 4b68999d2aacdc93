"""What policies are compared with: fixed plans, what no policy can beat, and the reset rule.

The *reset rule* is the negative example. After every epoch it forgets what was promised before and chooses
again: of all fixed rests of the run, each left as soon as the target is reached, the one of least expected
cost that reaches the target with probability omega from the loss just seen; where none does, the one that
reaches it most often. So good luck is spent at once, and bad luck is not made up for.
"""

import math
from dataclasses import dataclass

import msgspec
import numpy as np

from depl.models.policy.dynamic import STOP, Actions, Options, Table, failed
from depl.models.policy.grid import Beyond, Expectations, Grid
from depl.models.policy.planner import Price, Request, policy_of
from depl.models.policy.process import Process, Training, process
from depl.models.policy.replay import End, ReplayedRun
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.policy import Certificate, Policy
from depl.models.traces.counterfactuals import Counterfactuals

CELLS = 2_048
"""Of the rule's grid: set by hand, 0.2 % of a loss each, far below what an epoch changes."""


@dataclass(frozen=True)
class Judged:
    """The branches of the judging seeds, with the prices of an epoch in either stage, for one target."""

    branches: Counterfactuals
    prices: tuple[float, float]
    limit: float

    def cost(self, switch: int, epochs: int) -> float:
        """Of a run that stops after so many epochs."""
        return self.prices[0] * min(switch, epochs) + self.prices[1] * max(0, epochs - switch)

    def first_met(self, seed: str, switch: int, most: int) -> int | None:
        """The first epoch after the switch, up to ``most``, whose loss meets the target."""
        met = np.flatnonzero(self.branches.losses(seed, switch)[switch + 1 : most + 1] <= self.limit)
        return switch + 1 + int(met[0]) if met.size else None

    def fixed(self, switch: int, epochs: int, *, left: bool) -> list[ReplayedRun]:
        """A plan that switches once: trained to its end, where its *final* loss counts, or left when met."""
        found = []
        for seed in self.branches.seeds:
            losses = self.branches.losses(seed, switch)
            met = self.first_met(seed, switch, epochs) if left else None
            end = epochs if met is None else met
            loss, cost = float(losses[end]), self.cost(switch, end)
            reached = met is not None if left else loss <= self.limit
            ending: End = "reached" if reached else "exhausted"
            found.append(ReplayedRun(seed, end, switch, cost, loss, ending))
        return found

    def clairvoyant(self, most: int, failure_cost: float) -> list[ReplayedRun]:
        """Of every seed the cheapest first passage of all switch epochs, known before it begins.

        A seed that never reaches the target, or only at more than the price of a failure, is not trained. So
        no policy has less cost and price of failures on these seeds.
        """
        found = []
        for seed in self.branches.seeds:
            best = ReplayedRun(seed, 0, None, 0.0, math.nan, "abandoned")
            least = failure_cost
            for switch in self.branches.switch_epochs:
                met = self.first_met(seed, switch, most)
                if met is not None and (cost := self.cost(switch, met)) < least:
                    loss = float(self.branches.losses(seed, switch)[met])
                    least, best = cost, ReplayedRun(seed, met, switch, cost, loss, "reached")
            found.append(best)
        return found


def reset_rule(instance: Instance, switch_epochs: tuple[int, ...], cells: int = CELLS) -> Policy:
    """The rule as a policy on the observed loss, of which nothing is certified.

    The instance has independent residuals, and losses are rounded up on a grid. What the rule decides is when
    to switch: with the last model it trains until the target is reached or no epoch is left, as a rest of one
    more epoch can always be chosen.
    """
    chain = process(instance, switch_epochs=switch_epochs)
    grid = Grid.of(chain, cells)
    rule = _ResetRule(chain, Expectations(grid, up=True), float(instance.target.violation_budget))
    longest = sum(
        max((training.price for number in numbers for training in chain.nodes[number].trainings), default=0.0)
        for numbers in chain.by_epoch()
    )
    request = Request(instance, "optimal", None, Options(), (), switch_epochs)
    table = Table(rule.actions(), 0, longest, 1.0, longest)
    made = policy_of(request, chain, grid, table, Price(longest, (0.0, longest)), "observed")
    return msgspec.structs.replace(made, certificate=Certificate(method="none", cost=longest, reached=0.0))


@dataclass(frozen=True)
class _ResetRule:
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
        node, grid = self.process.nodes[number], self.expectations.grid
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
        ends = (0.0,) * many + (1.0,) * many
        beyond = [Beyond(float(row[0]), above) for row, above in zip(rows, ends, strict=True)]
        found = self.expectations.bounds(rows, beyond, images, kernel.noise).reshape(2, many, -1)
        found[0] += training.price
        return np.stack([found[0], np.minimum(found[1], 1.0)])
