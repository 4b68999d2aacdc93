"""Expected and dependable training of one plan, chosen on runs that do not judge them.

A *training* is a plan (which model on which cluster in every epoch) and the epoch after which it stops, past
the last switch. The page ``docs/prediction_sets.rst`` defines both ways to choose, and the targets. Sizes of
sets play no part in them, and neither do the runs on which they are measured.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from depl.instances.training.runs import Epoch, model_name
from depl.models.estimation.certificate import conformal_bound
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray
from depl.models.traces.table import Traces

LEVEL = 0.95
"""omega: how often dependable training reaches its target."""
HORIZONS = (30, 45, 60)
"""Epochs within which a plan guarantees its three targets."""


class Training(NamedTuple):
    """A plan, by its place in a list of curves, and the epoch after which it stops."""

    plan: int
    epoch: int


@dataclass(frozen=True, eq=False)
class Curves:
    """What the runs of one plan say of its losses.

    ``first`` is the first epoch after the last switch; ``mean`` and ``guaranteed`` (the order statistic for
    the next run) are infinite before it; ``work`` sums the shares of weights that epochs so far kept.
    """

    name: str
    schedule: tuple[Epoch, ...]
    runs: int
    first: int
    mean: FloatArray
    guaranteed: FloatArray
    work: FloatArray


def curves(traces: Traces, schedule: Sequence[Epoch]) -> Curves:
    """The curves of a plan from its runs among some traces.

    Raises
    ------
    InvalidInputError
        If no run follows the schedule.
    """
    key = tuple((model_name(epoch.factor), epoch.cluster) for epoch in schedule)
    rows = traces.by_schedule().get(key)
    if rows is None:
        raise InvalidInputError("no run among the traces follows this schedule", ".schedule")
    losses = traces.matrix()[rows, : len(key) + 1]
    stages = [(epoch, len(list(epochs))) for epoch, epochs in groupby(schedule)]
    first = len(key) - stages[-1][1] + 1
    guaranteed = np.array([conformal_bound(column, LEVEL).value for column in losses.T])
    early = np.arange(len(key) + 1) < first
    return Curves(
        name=", ".join(f"{count} {model_name(epoch.factor)}" for epoch, count in stages),
        schedule=tuple(schedule),
        runs=len(rows),
        first=first,
        mean=np.where(early, np.inf, losses.mean(axis=0)),
        guaranteed=np.where(early, np.inf, guaranteed),
        work=np.cumsum([0.0, *(1 - epoch.factor for epoch in schedule)]),
    )


def targets(plan: Curves, classes: int) -> list[float]:
    """What a plan can guarantee within `HORIZONS`, each once, if it beats guessing, ln(classes) [loss]."""
    found = [float(plan.guaranteed[: horizon + 1].min()) for horizon in HORIZONS]
    return [value for value in dict.fromkeys(found) if value < math.log(classes)]


def choose(plan: Curves, target: float) -> tuple[int, int] | None:
    """Epochs of expected and of dependable training for a target; None where there is not both."""
    reached = [values <= target for values in (plan.mean, plan.guaranteed)]
    if not all(hits.any() for hits in reached):
        return None
    return int(reached[0].argmax()), int(reached[1].argmax())


def budgets(plans: Sequence[Curves]) -> list[tuple[Training, Training]]:
    """For every work that some training has: what has least mean and least guaranteed loss within it."""
    works = sorted({float(work) for plan in plans for work in plan.work[plan.first :]})
    found = []
    for work in works:
        affordable = [plan.work <= work * (1 + 1e-12) for plan in plans]
        by_mean = _least([plan.mean for plan in plans], affordable)
        found.append((by_mean, _least([plan.guaranteed for plan in plans], affordable)))
    return found


def _least(values: Sequence[FloatArray], allowed: Sequence[np.ndarray]) -> Training:
    """Where the least allowed value lies: the first plan and epoch that has it."""
    open_ = [np.where(may, row, np.inf) for row, may in zip(values, allowed, strict=True)]
    plan = int(np.argmin([row.min() for row in open_]))
    return Training(plan, int(np.argmin(open_[plan])))
