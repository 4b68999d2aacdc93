"""A stand-in for a reader's own training: logs of losses from a law that the lesson does not tell.

Runs differ in speed as a whole, some seeds learn faster than others in all their epochs, so that the
increments of one run depend on each other. That is what real runs mostly do, and what the paper's law denies.
"""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from depl.models.foundation.documents import write_text

_START, _FLOOR = 2.3, 0.15
"""Loss before training, and the loss that no training gets below."""
_RATES = {"full": 0.16, "small": 0.1}
"""Share of what is above the floor that an epoch takes away, as a rate."""
_SPEED, _NOISE = 0.15, 0.02
"""Deviation of the logarithm of a run's speed, and of the rate of an epoch."""


def train(schedule: Sequence[str], runs: int, seed: int) -> list[list[float]]:
    """Losses of runs before training and after every epoch, each of which trains ``"full"`` or ``"small"``.

    Runs of different seeds are independent of each other.
    """
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        speed = math.exp(rng.normal(0.0, _SPEED))
        losses = [_START * math.exp(rng.normal(0.0, _NOISE))]
        for model in schedule:
            rate = _RATES[model] * speed + rng.normal(0.0, _NOISE)
            losses.append(_FLOOR + (losses[-1] - _FLOOR) * math.exp(-rate))
        found.append(losses)
    return found


def write_log(path: str | Path, schedules: Sequence[Sequence[str]], runs: int, seed: int) -> None:
    """Write a log as training tools do: a line per run and epoch, with columns Name, step, network, val/loss.

    There are so many runs of each schedule, which holds the models of every epoch.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["Name", "step", "network", "val/loss"])
    for place, schedule in enumerate(schedules):
        for number, losses in enumerate(train(schedule, runs, seed + place)):
            for step, loss in enumerate(losses):
                network = schedule[max(step - 1, 0)]
                writer.writerow([f"seed-{seed + place}-{number}", step, network, f"{loss:.6f}"])
    write_text(path, text.getvalue())
