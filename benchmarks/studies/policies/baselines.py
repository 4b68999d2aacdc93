"""What policies are compared with: the cheapest fixed plan, and what no policy can beat.

All of it is read off the branches of the judging seeds, with the prices of the instance.
"""

import math
from dataclasses import dataclass

import numpy as np

from depl.models.policy.process import process
from depl.models.policy.replay import End, ReplayedRun
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.traces.counterfactuals import Counterfactuals
from depl.models.traces.table import Numbers


@dataclass(frozen=True)
class Prices:
    """Of an epoch in either stage [cost]."""

    first: float
    second: float

    @classmethod
    def of(cls, instance: Instance, branches: Counterfactuals) -> "Prices":
        """As the process of the instance has them."""
        nodes = process(instance, switch_epochs=branches.switch_epochs).nodes
        found = {(item.model, item.cluster): item.price for node in nodes for item in node.trainings}
        return cls(*(found[stage] for stage in branches.stages))

    def cost(self, switch: int, epochs: int) -> float:
        """Of a run that stops after so many epochs."""
        return self.first * min(switch, epochs) + self.second * max(0, epochs - switch)


@dataclass(frozen=True)
class FixedPlan:
    """A plan that switches once."""

    switch: int
    epochs: int

    @classmethod
    def of(cls, plan: Plan, branches: Counterfactuals) -> "FixedPlan":
        """Of a plan whose stages are those of the branches."""
        models = [epoch.model for epoch in plan.epochs]
        return cls(models.count(branches.stages[0][0]), len(models))

    def final(self, branches: Counterfactuals, prices: Prices, limit: float) -> list[ReplayedRun]:
        """Trained to its end: a run succeeds if its *final* loss meets the target."""
        cost = prices.cost(self.switch, self.epochs)
        found = []
        for seed in branches.seeds:
            loss = float(branches.losses(seed, self.switch)[self.epochs])
            end: End = "reached" if loss <= limit else "exhausted"
            found.append(ReplayedRun(seed, self.epochs, self.switch, cost, loss, end))
        return found

    def stopped(self, branches: Counterfactuals, prices: Prices, limit: float) -> list[ReplayedRun]:
        """Left as soon as a loss meets the target, with the model that may be the last."""
        found = []
        for seed in branches.seeds:
            losses = branches.losses(seed, self.switch)
            met = first_met(losses, self.switch, self.epochs, limit)
            epochs = self.epochs if met is None else met
            cost = prices.cost(self.switch, epochs)
            end: End = "exhausted" if met is None else "reached"
            found.append(ReplayedRun(seed, epochs, self.switch, cost, float(losses[epochs]), end))
        return found


def first_met(losses: Numbers, switch: int, epochs: int, limit: float) -> int | None:
    """The first epoch after the switch, up to ``epochs``, whose loss meets the target."""
    met = np.flatnonzero(losses[switch + 1 : epochs + 1] <= limit)
    return switch + 1 + int(met[0]) if met.size else None


def clairvoyant(
    branches: Counterfactuals, prices: Prices, limit: float, epochs: int, failure_cost: float
) -> list[ReplayedRun]:
    """Of every seed the cheapest first passage of all switch epochs, known before it begins.

    A seed that never reaches the target, or only at more than the price of a failure, is not trained. So no
    policy has less cost and price of failures on these seeds.
    """
    found = []
    for seed in branches.seeds:
        best = ReplayedRun(seed, 0, None, 0.0, math.nan, "abandoned")
        least = failure_cost
        for switch in branches.switch_epochs:
            losses = branches.losses(seed, switch)
            met = first_met(losses, switch, epochs, limit)
            if met is not None and prices.cost(switch, met) < least:
                least = prices.cost(switch, met)
                best = ReplayedRun(seed, met, switch, least, float(losses[met]), "reached")
        found.append(best)
    return found
