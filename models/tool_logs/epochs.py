"""Epochs of logged points: counted by the tool, or from global steps, which count batches.

*Counted from 0 or 1.* Lightning and Keras call the first epoch 0, Flower's round 0 is the evaluation before
training. What others call 0 may be either, and taking the end of the first epoch for the loss before it would
promise everything an epoch too early; so the caller has to say (``--first``).

*Global steps.* Evaluations after every N batches stand at steps N, 2 N, ... or, where the first batch is step
0, at N - 1, 2 N - 1, ...; one at step 0 is before training. N is their distance, the same between any two.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.points import LoggedRun, Point, figure_of, shown

EPOCH_KEYS = ("epoch", "round", "_epoch", "trainer/epoch", "Epoch", "epochs")
STEP_KEYS = ("step", "_step", "Step", "global_step", "trainer/global_step", "iteration", "iter")
"""What keys of epochs and of global steps are called, in the order in which they are looked for."""
ROW = "row"
"""The key that numbers what was logged with a loss, where nothing tells the epoch and the caller says so."""
_LARGEST = 2**53
"""From here on floating-point numbers are no longer all whole numbers."""


class Clock(NamedTuple):
    """What tells the epochs of some points: a key, what it says of each, and global steps of an epoch."""

    key: str
    numbers: list[int]
    steps: int | None


def with_rows(run: LoggedRun, loss: str, first: int) -> LoggedRun:
    """A run whose points with a loss, or where it is missing, are numbered under `ROW` from ``first`` on."""
    keys, points = set(run.keys_of(loss)), []
    for point in run.points:
        if not keys.isdisjoint(point.values) or not keys.isdisjoint(point.missing):
            point = point._replace(values={**point.values, ROW: float(first)})
            first += 1
        points.append(point)
    return replace(run, points=tuple(points))


def clock_of(run: LoggedRun, points: Sequence[Point], given: str | None, per_epoch: int | None) -> Clock:
    """The clock of some points, by the key that was given, or the first that is known and in all of them.

    Raises
    ------
    InvalidInputError
        If no key is, if it says no whole numbers, or if the distances of the evaluations differ.
    """
    there = {key for point in points for key in point.values}
    everywhere = {key for key in there if all(key in point.values for point in points)}
    logged = ", ".join(sorted(there))
    known = STEP_KEYS if per_epoch is not None else (*EPOCH_KEYS, *STEP_KEYS)
    if given is not None and given not in everywhere:
        which = "not logged with every loss" if given in there else "not logged"
        message = f"{given!r} is {which}; logged are {logged}: choose one with --epoch"
        raise InvalidInputError(message, run.path)
    key = given or next((key for key in known if key in everywhere), None)
    if key is None and per_epoch is not None:
        raise InvalidInputError(
            f"no key of global steps is logged with the loss, but {logged}: leave --steps-per-epoch out, "
            "which is for global steps",
            run.path,
        )
    if key is None:
        raise InvalidInputError(
            f"no key tells the epoch; logged with it are {logged}: say which by --epoch KEY, or "
            f"--epoch {ROW} if there is one row an epoch, and not one a batch",
            run.path,
        )
    numbers = [_number(run, point, key) for point in points]
    counted = key in EPOCH_KEYS and per_epoch is None
    return Clock(key, numbers, None if counted else per_epoch or _steps(run, numbers))


def epochs_of(
    run: LoggedRun, points: Sequence[Point], clock: Clock, first: int | None
) -> tuple[list[int], str]:
    """Epochs of points, and how they were told, where ``first`` is what the first trained one is called.

    Raises
    ------
    InvalidInputError
        If a step is not at the end of an epoch, or epochs begin at 0 and nobody says what that is.
    """
    key, numbers, steps = clock
    if steps is not None:
        for step in numbers:
            if step and step % steps not in (0, steps - 1):
                raise InvalidInputError(
                    f"step {step} is not the end of an epoch of {steps} steps: say --steps-per-epoch, or the "
                    "key of the epoch by --epoch",
                    run.path,
                )
        return [(step + 1) // steps if step else 0 for step in numbers], f"{key}, {steps} steps an epoch"
    if first is None and min(numbers) == 0:
        raise InvalidInputError(
            "epochs begin at 0: say --first 0 if that is the first trained epoch, or --first 1 if it is the "
            "evaluation before training",
            run.path,
        )
    begins = 1 if first is None else first
    epochs = [number - begins + 1 for number in numbers]
    firsts = [place for place, epoch in enumerate(epochs) if epoch == 1]
    at_once = [place for place in firsts if figure_of(points[place].values.get("step")) == 0.0]
    if len(firsts) > 1 and len(at_once) == 1:
        epochs[at_once[0]] = 0  # an evaluation at step 0 of the first epoch, before another one of it
    return epochs, key if begins == 1 else f"{key}, the first of which is called {begins}"


def _number(run: LoggedRun, point: Point, key: str) -> int:
    value = figure_of(point.values[key])
    if value is None or not value.is_integer() or abs(value) >= _LARGEST:
        told = shown(point.values[key])[:40]
        message = f"must be a whole number below 2^53, not {told}; say with --epoch which key tells the epoch"
        raise InvalidInputError(message, f"{run.path}, row {point.row}, {key}")
    return int(value)


def _steps(run: LoggedRun, numbers: Sequence[int]) -> int | None:
    """Global steps of an epoch by the distances of evaluations; None if they count epochs one by one."""
    ordered = sorted(set(numbers))
    if len(ordered) == 1 < len(numbers):
        raise InvalidInputError(
            f"all {len(numbers)} losses were logged at step {ordered[0]}, which tells no epochs: --epoch "
            f"{ROW} counts them in their order, if there is one an epoch",
            run.path,
        )
    if ordered[-1] - ordered[0] == len(ordered) - 1 and ordered[0] <= 1:
        return None  # one by one
    later = [number for number in ordered if number > 0]  # an evaluation at step 0 is before training
    distances = {after - before for before, after in pairwise(later)}
    if not distances:
        message = "a single evaluation does not tell how many steps make an epoch: say --steps-per-epoch N"
        raise InvalidInputError(message, run.path)
    if len(distances) > 1:
        raise InvalidInputError(
            f"the loss was logged at {', '.join(map(str, ordered[:6]))}, ..., which are not evenly apart: "
            "say with --steps-per-epoch how many steps make an epoch, or with --epoch which key tells it",
            run.path,
        )
    (distance,) = distances
    return None if distance == 1 else distance
