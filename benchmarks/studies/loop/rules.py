"""What people do today instead of following a plan or a policy: rules with the interface of a controller."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from depl.benchmarks.studies.loop.program import STAGES, Led
from depl.models.policy.decisions import Continue, Decision, Reason, Stop, Switch


@dataclass
class SwitchOnce:
    """Switch after a number of epochs; when to stop is left to the rules derived from it.

    Attributes
    ----------
    switch : int
        Epochs of the first stage.
    most : int
        Epochs after which every run ends.
    target : float
        A run succeeds if its last loss is at most this, with the model of the second stage.
    """

    switch: int
    most: int
    target: float
    losses: list[float] = field(default_factory=list)

    def start(self, loss: float) -> Decision:
        """Train: no rule gives up before the first epoch."""
        return self.observe(loss)

    def observe(self, loss: float) -> Decision:
        """Go on, switch or stop."""
        self.losses.append(loss)
        epoch = len(self.losses) - 1
        deployable = epoch > self.switch
        if epoch >= self.most or (deployable and self.enough()):
            reason: Reason = "reached" if deployable and loss <= self.target else "deadline"
            return Stop(reason, epoch, loss)
        model, cluster = STAGES[epoch >= self.switch]
        return (Switch if epoch == self.switch else Continue)(model, cluster, epoch, loss)

    def enough(self) -> bool:
        """Whether to stop before `most`, in an epoch of the second stage."""
        return False


@dataclass
class Patience(SwitchOnce):
    """Stop once the loss has not fallen below its least value of the second stage for some epochs."""

    patience: int = 5

    def enough(self) -> bool:
        """Whether the last ``patience`` losses are no better than the best one before."""
        stage = self.losses[self.switch + 1 :]
        if len(stage) <= self.patience:
            return False
        return min(stage[-self.patience :]) >= min(stage[: -self.patience])


@dataclass
class Threshold(SwitchOnce):
    """Stop as soon as the target is met."""

    def enough(self) -> bool:
        """Whether the last loss meets the target."""
        return self.losses[-1] <= self.target


def first_met(run: Led, target: float) -> int | None:
    """The first epoch of the second stage after which a run met the target."""
    met = (epoch for epoch in range(run.first + 1, run.epochs + 1) if run.losses[epoch] <= target)
    return next(met, None)


def usual_switch(pilots: Sequence[Led], target: float, prices: tuple[float, float]) -> int:
    """The switch of the pilots with which the target was met at the least cost on average.

    A pilot that did not meet it counts with the cost of all its epochs.
    """

    def cost(run: Led) -> float:
        met = first_met(run, target)
        epochs = run.epochs if met is None else met
        return prices[0] * min(run.first, epochs) + prices[1] * max(0, epochs - run.first)

    found = {run.first: [cost(other) for other in pilots if other.first == run.first] for run in pilots}
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
