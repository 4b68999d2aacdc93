"""When a run under a traced law first meets the target: P(it has not so far), epoch by epoch.

Residuals kept per run are followed combination by combination, exactly; independent ones as laws on a
directed grid (`depl.models.evaluation.traced_grid`), from above.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from depl.models.evaluation.traced_grid import LossGrid
from depl.models.evaluation.traced_law import (
    confident_weights,
    epochs_ahead,
    lent,
    retained_since,
    runs_through,
    stages_ahead,
)
from depl.models.evaluation.traced_loss import last_positions, require_supported, whole
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.interval import Interval
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.laws import FloatArray
from depl.models.problem.traced_law import TracedLaw
from depl.models.traces.table import Schedule

MOST_PATHS = 4_000_000
"""Most combinations of runs whose losses are followed from epoch to epoch."""


def traced_survival(
    traced: TracedLaw, schedule: Schedule, maximum_loss: float, stops: Sequence[bool] | None = None
) -> list[Interval]:
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
        return [Interval.around(Fraction(0), "observed")] * (len(schedule) + 1)
    limits = [limit if may_stop else -math.inf for may_stop in stops]
    if traced.residuals == "per_run":
        within = [number + ATOM_TOLERANCE for number in limits]
        return [Interval.around(share, "runs counted") for share in _counted(traced, schedule, within)]
    grid = LossGrid.of(traced.law, known=traced.known)
    ahead, _ = epochs_ahead(traced.from_start(schedule), traced.known)
    bounds = []
    for moved in traced.deviations or (0.0,):
        # what was seen is above, as it is; what is not known stops no run
        now = limits[0] - moved if traced.known is None and traced.evaluated else -math.inf
        bounds.append(list(grid.survival(ahead, [now, *(limit - moved for limit in limits[1:])])))
    upper = np.mean(np.array(bounds), axis=0)
    return [Interval(0.0, end, "directed grid") for end in upper.tolist()]


def _counted(traced: TracedLaw, schedule: Schedule, limits: Sequence[float]) -> Iterator[Fraction]:
    """The same by runs and combinations of runs; upper ends with the confidence of the law, if it has one."""
    alone, upper = whole(traced, schedule), None
    paths = iter(_whole_paths(traced, schedule)) if alone else _staged_paths(traced, schedule)
    if alone and traced.confidence is not None:
        runs = len(runs_through(traced.law, traced.from_start(schedule))) + traced.diverged
        upper = np.cumsum(confident_weights(runs, traced.confidence)[::-1])  # of one unseen and x runs above
    above: NDArray[np.bool_] = np.ones((1, 1), dtype=bool)
    for losses, limit in zip(paths, limits, strict=True):
        above = np.repeat(above, losses.shape[1] // above.shape[1], axis=1) & (losses > limit)
        count = int(above.sum())
        yield (
            Fraction(count, above.size) if upper is None else Fraction(int(upper[count - 1]), int(upper[-1]))
        )


def _whole_paths(traced: TracedLaw, schedule: Schedule) -> FloatArray:
    """l(0), ..., l(K) of whole runs, and last of those beside, infinite; shape (K + 1, 1, n) [loss]."""
    trained, known = traced.from_start(schedule), traced.known
    begun = len(trained) - len(schedule)
    rows = [run.losses[begun : len(trained) + 1] for run in runs_through(traced.law, trained)]
    losses = np.array(rows, dtype=float).T
    if known is not None:  # what a run retains of its loss then is replaced by what this one does
        retained = np.append(1.0, retained_since(traced.law, last_positions(traced, schedule), known))
        losses = losses + np.outer(retained, known.loss - losses[0])
    if not traced.evaluated:
        losses[0] = math.inf
    return np.pad(losses, ((0, 0), (0, traced.beside)), constant_values=math.inf)[:, None]


def _staged_paths(traced: TracedLaw, schedule: Schedule) -> Iterator[FloatArray]:
    """l(0), ..., l(K) by deviation and combination of donors, shape (deviations, combinations) [loss].

    Combinations grow where a stage begins: each is repeated for all its donors in turn, the last of them
    unlike all seen where the law counts such; losses are then infinite.
    """
    law, known, offsets = traced.law, traced.known, np.array(traced.deviations or (0.0,))[:, None]
    ahead, _ = epochs_ahead(traced.from_start(schedule), known)
    stages, beside = stages_ahead(ahead), traced.beside
    lending = [lent(law, stage[-1], stage[0].age) for stage in stages]
    sizes = [len(donors.donors) + beside for donors in lending]
    if offsets.size * math.prod(sizes) > MOST_PATHS:
        raise NotCoveredError("more combinations of runs than can be followed from epoch to epoch")
    losses, unlike = np.zeros(1), np.zeros(1, dtype=bool)
    for number, (stage, donors, size) in enumerate(zip(stages, lending, sizes, strict=True)):
        combined, last = losses.size, np.arange(size) >= size - beside
        losses = np.repeat(losses, size)
        if not number and known is not None:
            losses = np.full(size, known.loss)
            yield np.full((offsets.size, 1), known.loss)
        elif not number:
            losses = np.pad(donors.first_losses, (0, beside))
            yield offsets + np.where(traced.evaluated & ~last, losses, math.inf)
        unlike = np.repeat(unlike, size) | np.tile(last, combined)
        for place, residuals in zip(stage, donors.residuals.T, strict=True):
            step = law.step(place)
            lend = np.tile(np.pad(residuals, (0, beside)), combined)
            losses = step.shift(place.start) + step.retention * losses + lend
            yield offsets + np.where(unlike, math.inf, losses)
