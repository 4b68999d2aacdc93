"""When a run under a traced law first meets the target: P(it has not so far), epoch by epoch.

Residuals kept per run are followed combination by combination, exactly; independent ones as laws on a
directed grid (`depl.models.evaluation.traced_grid`), from above.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from depl.models.evaluation.traced_counting import confident_weights
from depl.models.evaluation.traced_grid import LossGrid
from depl.models.evaluation.traced_lending import lent
from depl.models.evaluation.traced_loss import last_positions, require_supported, whole
from depl.models.evaluation.traced_prediction import retained_since, runs_through
from depl.models.evaluation.traced_support import epochs_ahead, stages_ahead
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.laws import FloatArray
from depl.models.problem.traced_law import TracedLaw
from depl.models.risk.survival import Survival, exact_survival
from depl.models.traces.table import Schedule

MOST_PATHS = 4_000_000
"""Most combinations of runs whose losses are followed from epoch to epoch."""


def traced_survival(
    traced: TracedLaw, schedule: Schedule, maximum_loss: float, stops: Sequence[bool] | None = None
) -> Survival:
    """P(l(0) > l_max, ..., l(k) > l_max) for k = 0, ..., K, exactly where residuals are kept per run.

    Of independent residuals this is a bound from above.

    With ``stops``, K + 1 of them, only losses count after which the run may stop.

    What a plan as such deviates by is the same in all its epochs; a run unlike all that were seen does not
    reach the target from the stage on in which it is so.
    A run whose loss before training is not known is not stopped by it: k = 0 has probability 1.

    Where the law has a confidence these are upper ends. Of a run under way, epoch 0 is where it stands, and
    what plans deviate by is in the epochs to come alone.

    Raises
    ------
    InvalidInputError
        If the schedule lies outside the support of the traces.
    NotCoveredError
        If more than `MOST_PATHS` combinations of runs had to be followed.
    """
    require_supported(traced, schedule)
    limit = traced.on_scale(maximum_loss)
    stops = (True,) * (len(schedule) + 1) if stops is None else tuple(stops)
    if stops[0] and traced.known is not None and traced.known.loss <= limit + ATOM_TOLERANCE:
        return exact_survival((Fraction(0),) * (len(schedule) + 1), "observed")
    limits = [limit if may_stop else -math.inf for may_stop in stops]
    if traced.residuals == "per_run":
        within = [number + ATOM_TOLERANCE for number in limits]
        return exact_survival(_counted(traced, schedule, within), "runs counted")
    return _on_grid(traced, schedule, limits)


def _on_grid(traced: TracedLaw, schedule: Schedule, limits: Sequence[float]) -> Survival:
    """The same for independent residuals: the mean over what plans deviate by, the same in all epochs."""
    grid = LossGrid.of(traced.law, known=traced.known)
    ahead, _ = epochs_ahead(traced.from_start(schedule), traced.known)
    bounds = []
    for moved in traced.deviations or (0.0,):
        # what was seen is above, as it is; what is not known stops no run
        now = limits[0] - moved if traced.known is None and traced.evaluated else -math.inf
        bounds.append(list(grid.survival(ahead, [now, *(limit - moved for limit in limits[1:])])))
    return Survival(np.mean(np.array(bounds), axis=0), None, "directed grid")


def _counted(traced: TracedLaw, schedule: Schedule, limits: Sequence[float]) -> tuple[Fraction, ...]:
    """The same by runs and combinations of runs."""
    alone = whole(traced, schedule)
    if alone and traced.confidence is not None:
        return _confident_survival(traced, schedule, limits)
    above: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = np.ones((1, 1), dtype=bool)
    found: list[Fraction] = []
    paths = _whole_paths(traced, schedule) if alone else _staged_paths(traced, schedule)
    for losses, limit in zip(paths, limits, strict=True):
        above = np.repeat(above, losses.shape[1] // above.shape[1], axis=1) & (losses > limit)
        found.append(Fraction(int(above.sum()), above.size))
    return tuple(found)


def _confident_survival(
    traced: TracedLaw, schedule: Schedule, limits: Sequence[float]
) -> tuple[Fraction, ...]:
    """Upper ends of the same with the confidence of the law, from whole runs."""
    runs = len(runs_through(traced.law, schedule)) + traced.diverged
    weights = confident_weights(runs, traced.confidence or 0.0)
    heavier = np.cumsum(weights[::-1])  # of one unseen and x runs above
    above: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = np.ones(len(weights), dtype=bool)
    found = []
    for (losses,), limit in zip(_whole_paths(traced, schedule), limits, strict=True):
        above = above & (losses > limit)
        count = int(above[:-1].sum())
        found.append(Fraction(int(heavier[count]), int(heavier[-1])))
    return tuple(found)


def _whole_paths(traced: TracedLaw, schedule: Schedule) -> Iterator[FloatArray]:
    """l(0), ..., l(K) of whole runs, and last of those counted beside, infinite [loss]."""
    trained, known = traced.from_start(schedule), traced.known
    runs = runs_through(traced.law, trained)
    begun = len(trained) - len(schedule)
    retained = np.zeros(len(schedule))
    if known is not None:  # what a run retains of its loss then is replaced by what this one does
        retained = retained_since(traced.law, last_positions(traced, schedule), known)
    for k in range(len(schedule) + 1):
        own = np.array([run.losses[begun + k] for run in runs])
        if not k and not traced.evaluated:
            own[:] = math.inf
        if known is not None:
            left = retained[k - 1] if k else 1.0
            own = own + left * (known.loss - np.array([run.losses[begun] for run in runs]))
        yield np.array([[*own, *[math.inf] * traced.counting.beside]], dtype=float)


def _staged_paths(traced: TracedLaw, schedule: Schedule) -> Iterator[FloatArray]:
    """l(0), ..., l(K) by deviation and combination of donors, shape (deviations, combinations) [loss].

    Combinations grow where a stage begins: each is repeated for all its donors in turn, the last of them
    unlike all seen where the law counts such; losses are then infinite.
    """
    law, known, offsets = traced.law, traced.known, np.array(traced.deviations or (0.0,))[:, None]
    ahead, _ = epochs_ahead(traced.from_start(schedule), known)
    stages, beside = stages_ahead(ahead), traced.counting.beside
    lending = [lent(law, stage[-1], stage[0].age) for stage in stages]
    sizes = [len(donors.donors) + beside for donors in lending]
    if offsets.size * math.prod(sizes) > MOST_PATHS:
        raise NotCoveredError("more combinations of runs than can be followed from epoch to epoch")
    losses, unlike = np.zeros(1), np.zeros(1, dtype=bool)
    for number, (stage, donors, size) in enumerate(zip(stages, lending, sizes, strict=True)):
        combined = losses.size
        losses = np.repeat(losses, size)
        if not number and known is not None:
            losses = np.full(size, known.loss)
            yield np.full((offsets.size, 1), known.loss)
        elif not number:
            losses = np.pad(donors.first_losses, (0, beside))
            stops = traced.evaluated & ~_last(beside, size, 1)
            yield offsets + np.where(stops, losses, math.inf)
        unlike = np.repeat(unlike, size) | _last(beside, size, combined)
        for place, residuals in zip(stage, donors.residuals.T, strict=True):
            step = law.step(place)
            lend = np.tile(np.pad(residuals, (0, beside)), combined)
            losses = step.shift(place.start) + step.retention * losses + lend
            yield offsets + np.where(unlike, math.inf, losses)


def _last(beside: int, size: int, times: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which of ``size`` donors, gone through so many times, are the last ``beside``."""
    return np.tile(np.arange(size) >= size - beside, times)
