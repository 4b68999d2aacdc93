"""What the traced law of an instance says of a schedule: its final loss, and when the target is met.

A schedule that no run resembles is refused (`depl.models.memory.prediction.outside_support`).
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby

import numpy as np

from depl.models.epochs import FinalLoss, LossStep, Term
from depl.models.errors import InvalidInputError, NotCoveredError
from depl.models.laws import Empirical, FloatArray
from depl.models.memory import prediction
from depl.models.memory.document import TracedLaw
from depl.models.memory.law import AffineLaw, positions
from depl.models.memory.prediction import (
    LEAST_TOGETHER,
    independent_step,
    lent,
    mixed_loss,
    outside_support,
    runs_through,
)
from depl.models.risk.discrete import ATOM_TOLERANCE, decimal
from depl.models.traces.table import Schedule

MOST_PATHS = 4_000_000
"""Most combinations of runs whose losses are followed from epoch to epoch."""


def traced_final_loss(traced: TracedLaw, schedule: Schedule) -> FinalLoss:
    """The law of l(K).

    Parameters
    ----------
    schedule : Schedule
        Model and cluster of epochs 1, ..., K, at least one.

    Raises
    ------
    InvalidInputError
        If the schedule lies outside the support of the traces.
    """
    require_supported(traced, schedule)
    if traced.residuals == "per_run":
        return mixed_loss(traced.law, schedule, unseen_loss=traced.unseen_loss, deviations=traced.deviations)
    found = prediction.final_loss(traced.law, schedule)
    if not traced.deviations or together(traced.law, schedule):
        return found
    return FinalLoss(found.constant, (*found.terms, (Term(1.0, Empirical(values=traced.deviations)), 1)))


def traced_steps(traced: TracedLaw, schedule: Schedule) -> list[LossStep]:
    """Every epoch as a step, where residuals are independent; what plans as such deviate by is not in them.

    Raises
    ------
    InvalidInputError
        If the schedule lies outside the support of the traces.
    NotCoveredError
        If residuals stay together per run.
    """
    require_supported(traced, schedule)
    if traced.residuals == "per_run":
        raise NotCoveredError(
            "residuals stay together per run, so the increments of single epochs have no law of their own"
        )
    return [independent_step(traced.law, place) for place in positions(schedule)]


def require_supported(traced: TracedLaw, schedule: Schedule) -> None:
    """Refuse a schedule that no run resembles.

    Raises
    ------
    InvalidInputError
        With the reason.
    """
    reasons = outside_support(traced.law, schedule)
    if reasons:
        raise InvalidInputError(f"outside the support of the traces: {reasons[0]}", "$.epochs")


def together(law: AffineLaw, schedule: Schedule) -> bool:
    """Whether enough runs went through the whole schedule to be its law by themselves."""
    return len(runs_through(law, schedule)) >= LEAST_TOGETHER


def traced_survival(traced: TracedLaw, schedule: Schedule, maximum_loss: float) -> tuple[Fraction, ...]:
    """P(l(0) > l_max, ..., l(k) > l_max) for k = 0, ..., K, exactly, residuals kept per run.

    What a plan as such deviates by is the same in all its epochs; a run unlike all that were seen, whose
    losses on the way are not known, reaches the target at its end or not at all.

    Raises
    ------
    InvalidInputError
        If the schedule lies outside the support of the traces.
    NotCoveredError
        If residuals are independent, or more than `MOST_PATHS` combinations of runs had to be followed.
    """
    require_supported(traced, schedule)
    if traced.residuals != "per_run":
        raise NotCoveredError("when a target is first met is computed for residuals kept per run")
    limit = float(decimal(maximum_loss) + ATOM_TOLERANCE)
    whole = together(traced.law, schedule)
    unseen = traced.unseen_loss if whole else None
    beside = int(unseen is not None)
    above: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = np.ones((1, 1), dtype=bool)
    found: list[Fraction] = []
    for losses in _whole_paths(traced.law, schedule) if whole else _staged_paths(traced, schedule):
        repeats = losses.shape[1] // above.shape[1]
        above = np.repeat(above, repeats, axis=1) & (losses > limit)
        misses = int(above.sum()) + int(unseen is not None and (len(found) < len(schedule) or unseen > limit))
        found.append(Fraction(misses, above.size + beside))
    return tuple(found)


def _whole_paths(law: AffineLaw, schedule: Schedule) -> Iterator[FloatArray]:
    runs = runs_through(law, schedule)
    for k in range(len(schedule) + 1):
        yield np.array([[run.losses[k] for run in runs]])


def _staged_paths(traced: TracedLaw, schedule: Schedule) -> Iterator[FloatArray]:
    """l(0), ..., l(K) by deviation and combination of donors, shape (deviations, combinations) [loss].

    Combinations grow where a stage begins: each is repeated for all its donors in turn.
    """
    law, offsets = traced.law, np.array(traced.deviations or (0.0,))[:, None]
    stages = [list(items) for _, items in groupby(positions(schedule), key=lambda item: item.start)]
    lending = [lent(law, stage[-1]) for stage in stages]
    if offsets.size * math.prod(len(stage.donors) for stage in lending) > MOST_PATHS:
        raise NotCoveredError("more combinations of runs than can be followed from epoch to epoch")
    losses = lending[0].first_losses
    yield offsets + losses
    for number, (stage, donors) in enumerate(zip(stages, lending, strict=True)):
        if number:
            losses = np.repeat(losses, len(donors.donors))
        for place, residuals in zip(stage, donors.residuals.T, strict=True):
            step = law.step(place)
            lend = np.tile(residuals, losses.size // residuals.size)
            losses = step.shift(place.start) + step.retention * losses + lend
            yield offsets + losses
