"""A training program as anybody might have one: it trains, evaluates, logs, and asks a rule how to go on.

Nothing in it knows how plans or policies are made. What trains is a family of `depl.instances.training`, so
that runs can be repeated bit by bit; a log is JSON Lines, one line per epoch.
"""

import json
from pathlib import Path
from typing import NamedTuple, Protocol

from depl.instances.training.families import family
from depl.instances.training.names import DIGITS_ALEXNET
from depl.instances.training.runs import DECIMALS, Epoch, Training, one_thread
from depl.models.policy.decisions import Decision, Stop

FAMILY = DIGITS_ALEXNET
STAGES = (("pruned-50", "edge"), ("pruned-75", "far-edge"))
"""Model and cluster of the first stage and of the second, whose model is to be deployed."""
_FACTORS = {"pruned-50": 0.5, "pruned-75": 0.75}


class Rule(Protocol):
    """What leads a run: `depl.Controller` is one."""

    def start(self, loss: float) -> Decision:
        """After the evaluation before the first epoch."""

    def observe(self, loss: float) -> Decision:
        """After each epoch."""


class Led(NamedTuple):
    """A led run: epochs in all and of the first stage, losses before the first epoch and after each."""

    seed: int
    epochs: int
    first: int
    losses: tuple[float, ...]


def lead(seed: int, rule: Rule) -> Led:
    """Train one run as a rule says."""
    chosen = family(FAMILY)
    with one_thread():
        training = Training(chosen.task(), chosen.generator(seed))
        losses = [_before(training)]
        decision, trained = rule.start(losses[0]), list[str]()
        while not isinstance(decision, Stop):
            training.train(Epoch(_FACTORS[decision.model], decision.cluster))
            trained.append(decision.model)
            losses.append(round(float(training.run().loss[-1]), DECIMALS))
            decision = rule.observe(losses[-1])
    return Led(seed, len(trained), trained.count(STAGES[0][0]), tuple(losses))


def _before(training: Training) -> float:
    """Loss of the first model before its first epoch, found on a branch that is thrown away."""
    twin = training.branch()
    twin.train(Epoch(_FACTORS[STAGES[0][0]], STAGES[0][1]))
    return round(float(twin.run().loss[0]), DECIMALS)


def log(run: Led, path: Path) -> None:
    """Write what a run has shown, as its program would have: hyperparameters, then a line per epoch."""
    stages = ",".join(
        f"{model}@{cluster}:{epochs}"
        for (model, cluster), epochs in zip(STAGES, (run.first, run.epochs - run.first), strict=True)
        if epochs
    )
    lines: list[dict[str, object]] = [{"hparams": {"seed": run.seed, "stages": stages}}]
    lines += [{"epoch": epoch, "val_loss": loss} for epoch, loss in enumerate(run.losses)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
