"""What people do today instead of following a plan or a policy: rules with the interface of a controller."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from depl.benchmarks.studies.loop.program import STAGES, Led
from depl.models.policy.decisions import Continue, Decision, Reason, Stop, Switch

Enough = Callable[[Sequence[float]], bool]
"""Whether to stop after these losses of the second stage."""


@dataclass
class SwitchOnce:
    """Switch after a number of epochs, and stop after ``most``, or when there is ``enough``.

    A run succeeds if its last loss is at most ``target``, with the model of the second stage.
    """

    switch: int
    most: int
    target: float
    enough: Enough = lambda losses: False
    losses: list[float] = field(default_factory=list)

    def start(self, loss: float) -> Decision:
        """Train: no rule gives up before the first epoch."""
        return self.observe(loss)

    def observe(self, loss: float) -> Decision:
        """Go on, switch or stop."""
        self.losses.append(loss)
        epoch = len(self.losses) - 1
        deployable = epoch > self.switch
        if epoch >= self.most or (deployable and self.enough(self.losses[self.switch + 1 :])):
            reason: Reason = "reached" if deployable and loss <= self.target else "deadline"
            return Stop(reason, epoch, loss)
        model, cluster = STAGES[epoch >= self.switch]
        return (Switch if epoch == self.switch else Continue)(model, cluster, epoch, loss)


def patience(losses: Sequence[float], last: int = 5) -> bool:
    """Whether so many last losses are no better than the best one before."""
    return len(losses) > last and min(losses[-last:]) >= min(losses[:-last])


def threshold(target: float) -> Enough:
    """Stop as soon as the target is met."""
    return lambda losses: losses[-1] <= target


def cost(run: Led, epochs: int, prices: tuple[float, float]) -> float:
    """Of the first epochs of a run, at the price of an epoch of either stage."""
    return prices[0] * min(run.first, epochs) + prices[1] * max(0, epochs - run.first)


def usual_switch(pilots: Sequence[Led], target: float, prices: tuple[float, float]) -> int:
    """The switch of the pilots with which the target was met at the least cost on average.

    A pilot that did not meet it counts with the cost of all its epochs.
    """
    found: dict[int, list[float]] = {}
    for run in pilots:
        second = range(run.first + 1, run.epochs + 1)
        met = next((epoch for epoch in second if run.losses[epoch] <= target), run.epochs)
        found.setdefault(run.first, []).append(cost(run, met, prices))
    return min(found, key=lambda switch: (sum(found[switch]) / len(found[switch]), switch))


def usual_epochs(pilots: Sequence[Led], switch: int, target: float, share: float) -> int:
    """The least number of epochs by which this share of the pilots with this switch ended at the target.

    All of their epochs if there is none.
    """
    own = [run for run in pilots if run.first == switch]
    for epochs in range(switch + 1, own[0].epochs + 1):
        if sum(run.losses[epochs] <= target for run in own) >= share * len(own):
            return epochs
    return own[0].epochs
