r"""Expected and dependable training of one plan, chosen on runs that do not judge them.

A *training* is a plan (which model on which cluster in every epoch) and the epoch after which it stops. Runs
of the plan give for every epoch k the mean of the loss, and the order statistic that the next run's loss
does not exceed with probability 0.95 (split conformal, rank ceil((n + 1) 0.95)). For a target l_max

*expected training* stops after the first epoch whose mean loss is at most l_max,

*dependable training* after the first epoch whose order statistic is at most l_max: P(l(k) <= l_max) >= 0.95,
constraint (3) of the paper, where the first has E[l(k)] <= l_max.

Both stop after the last switch, so that what they deliver is the same compressed model on the same cluster.
Any price that is paid per epoch chooses these two, so within a plan no price has to be assumed. For choices
*between* plans one has to be: an epoch costs the share of the weights that is kept, 1 - F.

**Targets** are what a plan can guarantee within 30, 45 and 60 epochs: the least order statistic up to there.
One that is not below the loss of guessing, ln(classes), is no target. Sizes of sets play no part in any of
this, and neither do the runs on which they are measured.
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


class Choice(NamedTuple):
    """Two trainings for one target [loss]."""

    target: float
    expected: Training
    dependable: Training


@dataclass(frozen=True, eq=False)
class Curves:
    """What the runs of one plan say of its losses.

    Attributes
    ----------
    name : str
        Stages in words.
    schedule : tuple of Epoch
    runs : int
        How many runs.
    first : int
        The first epoch after the last switch: the earliest to stop after.
    mean, guaranteed : float array, by epoch from 0
        Mean of the loss and its order statistic for the next run; infinite before ``first``.
    work : float array, by epoch from 0
        Shares of weights kept, summed over the epochs so far.
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

    Parameters
    ----------
    traces : Traces
    schedule : sequence of Epoch

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


def targets(plan: Curves, classes: int, horizons: Sequence[int] = HORIZONS) -> list[float]:
    """What a plan can guarantee within some numbers of epochs, each once, if it beats guessing [loss]."""
    found = [float(plan.guaranteed[: horizon + 1].min()) for horizon in horizons]
    return [value for value in dict.fromkeys(found) if value < math.log(classes)]


def choose(plans: Sequence[Curves], target: float, among: Sequence[int] | None = None) -> Choice | None:
    """Expected and dependable training for a target, each of least work; None where there is not both.

    Parameters
    ----------
    plans : sequence of Curves
    target : float
        l_max [loss].
    among : sequence of int, optional
        The plans to choose from; all of them by default. Of equal works the first plan is taken.
    """
    places = range(len(plans)) if among is None else among
    expected = _cheapest(plans, places, [plans[place].mean <= target for place in places])
    dependable = _cheapest(plans, places, [plans[place].guaranteed <= target for place in places])
    return None if expected is None or dependable is None else Choice(target, expected, dependable)


def prolonged(plans: Sequence[Curves], training: Training, work: float) -> Training:
    """The same plan for as many epochs as the work allows, and at least as long as it was."""
    last = int(np.searchsorted(plans[training.plan].work, work * (1 + 1e-12), side="right")) - 1
    return Training(training.plan, max(training.epoch, last))


def budgets(plans: Sequence[Curves]) -> list[tuple[float, Training, Training]]:
    """For every work that some training has: what has least mean and least guaranteed loss within it."""
    works = sorted({float(work) for plan in plans for work in plan.work[plan.first :]})
    found = []
    for work in works:
        affordable = [plan.work <= work * (1 + 1e-12) for plan in plans]
        by_mean = _least([plan.mean for plan in plans], affordable)
        by_guarantee = _least([plan.guaranteed for plan in plans], affordable)
        found.append((work, by_mean, by_guarantee))
    return found


def _cheapest(
    plans: Sequence[Curves], places: Sequence[int], reached: Sequence[np.ndarray]
) -> Training | None:
    firsts = [
        Training(place, int(hit.argmax())) for place, hit in zip(places, reached, strict=True) if hit.any()
    ]
    return min(firsts, key=lambda training: plans[training.plan].work[training.epoch], default=None)


def _least(values: Sequence[FloatArray], allowed: Sequence[np.ndarray]) -> Training:
    """Where the least allowed value lies: the first plan and epoch that has it."""
    open_ = [np.where(may, row, np.inf) for row, may in zip(values, allowed, strict=True)]
    plan = int(np.argmin([row.min() for row in open_]))
    return Training(plan, int(np.argmin(open_[plan])))
