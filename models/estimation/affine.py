r"""The affine law of the loss (`depl.models.problem.affine_law`), fitted to traces.

*Fit.* Least squares in closed form. The retention is constrained to [0, 1): the sum of squares, minimised
over a and b, is a parabola in the retention, so the constrained optimum is the free one moved to the nearer
end. At 0 or above, a larger loss before an epoch never means a smaller one after it: first-order stochastic
dominance is kept, which the solvers' pruning stands on. Below 1 the past is forgotten.

*Pooling.* Ages t >= 2 of a model borrow from their neighbours: the window [t - h, t + h], within ages from 2
to the greatest, is the smallest with at least `LEAST` observations. Ages t = 1 never borrow from other ages.
A model has a law of its own after every predecessor that it followed in at least `LEAST_JUMPS` runs, since
what it inherits shows for as long as it trains; after rarer ones it has the law of all predecessors together.
Both rules only count the runs that are given: no loss, and no run that is held out, has a say. The
switch epoch is a regressor, by its logarithm, wherever at least two switch epochs differ in what is pooled.

*First losses.* Where a run was not evaluated before training, the law of l(1) is as it was seen: for all runs
that begin with the same stage l(0) counts as not observed, and the retention of the first epoch is 0.

*Refused.* A law that predicts, at a switch epoch that the runs support and from a loss that they had there, a
loss outside all that were ever seen by more than `STRAY` of their range describes nothing, and is refused.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from depl.models.evaluation.traced_support import extreme_predictions
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.affine_law import (
    AffineLaw,
    Coefficients,
    Epochs,
    JumpKey,
    Position,
    Scale,
    StepKey,
    Trained,
    assembled,
    epochs_of,
    on_scale,
    pools_of,
    positions,
    told,
    with_stand_ins,
)
from depl.models.problem.counting import LARGEST_RETENTION
from depl.models.problem.laws import FloatArray
from depl.models.traces.table import Traces

LEAST = 40
"""Fewest observations that the law of an age t >= 2 is fitted to, neighbouring ages included."""

LEAST_JUMPS = 15
"""Fewest runs for which a pair of models has a jump law of its own."""

FEWEST = 6
"""With fewer observations than this nothing is fitted: three coefficients would follow the noise."""

STRAY = 0.25
"""By how much of the range of all losses seen a prediction may leave it.

By hand, of up to 400 laws fitted to schedules drawn from five shipped families the worst left it by 0.11; a
slope divided by rounding left it by 1e11.
"""


def fit_affine(
    traces: Traces,
    metric: str = "loss",
    least: int = LEAST,
    least_jumps: int = LEAST_JUMPS,
    scale: Scale = "loss",
    origins: Sequence[int | None] | None = None,
) -> AffineLaw:
    """Fit the affine law to traces.

    Parameters
    ----------
    metric : str
        ``loss``, or ``error_rate`` in its place.
    least, least_jumps : int
        As `LEAST` and `LEAST_JUMPS`.
    scale : "loss" or "log"
        Whether the law is one of the metric or of its logarithm.
    origins : sequence of (int or None), optional
        Which runs share their first epochs (`depl.models.traces.same_runs.ToldApart`); none unless given.

    Raises
    ------
    InvalidInputError
        If the traces do not hold the metric, a run has no epoch of training, ``least`` or ``least_jumps`` is
        below `FEWEST`, a loss has no logarithm where it is to be taken, or the law
        predicts losses far from all that were seen (`STRAY`).
    """
    if min(least, least_jumps) < FEWEST:
        raise InvalidInputError(f"pools of fewer than {FEWEST} observations are too small")
    observed = _losses(traces, metric)
    if scale == "log" and any((row <= 0).any() for row in observed):
        raise InvalidInputError("only positive losses have logarithms; fit the law on the scale of the loss")
    losses = [on_scale(row, scale) for row in with_stand_ins(observed)]
    places_of = {schedule: positions(schedule) for schedule in set(traces.schedules)}
    places = [places_of[schedule] for schedule in traces.schedules]
    seen = epochs_of(places, losses)
    by_step, by_jump = pools_of(seen.place)
    steps: dict[StepKey, Coefficients] = {}
    for trained, first, previous in _kinds(by_jump, places, least_jumps):
        own = {
            age: [index for key in keys for index in by_step[key]]
            for age, keys in _keys(by_step, trained, first, previous).items()
        }
        for age, fitted in _by_age(seen, own, first, least):
            steps[trained, first, age, previous] = fitted
    law = assembled(steps, _jumps(seen, by_jump, least_jumps), places, observed, scale, origins)
    _refuse_stray_predictions(law)
    return law


def constrained_step(before: FloatArray, after: FloatArray, start: FloatArray) -> tuple[float, float, float]:
    """Intercept, slope of the start and retention in [0, 1) of least squares, in closed form.

    Parameters
    ----------
    before, after, start : float array (n,)
        l(k-1), l(k) [loss] and ln s of the switch epoch. What does not vary has coefficient 0.
    """
    rest_before, rest_after = _without_start(before, start), _without_start(after, start)
    square = float(rest_before @ rest_before)
    negligible = before.size * (1e-12 * float(np.abs(before).max())) ** 2
    free = float(rest_before @ rest_after) / square if square > negligible else 0.0
    retention = min(max(free, 0.0), LARGEST_RETENTION)
    rest = after - retention * before
    slope = _slope(rest, start)
    return float(rest.mean()) - slope * float(start.mean()), slope, retention


def _refuse_stray_predictions(law: AffineLaw) -> None:
    least, greatest = law.seen
    room = STRAY * (greatest - least)
    for place, before, after in extreme_predictions(law):
        if not least - room <= after <= greatest + room:
            of = "the loss" if law.scale == "loss" else "its logarithm"
            raise InvalidInputError(
                f"the law fitted {told(place)} predicts {of} to be {after:.4g} after one of {before:.4g}, "
                f"where {least:.4g} to {greatest:.4g} were ever seen: the runs there are too few or too "
                "alike to tell how the loss goes on; record runs with other switch epochs or leave these out",
                ".run",
            )


def _losses(traces: Traces, metric: str) -> list[FloatArray]:
    """Losses by run, NaN for l(0) where a run that begins with the same stage has none."""
    table = traces.matrix(metric)
    for name, last in zip(traces.runs, traces.last_epochs, strict=True):
        if last < 1:
            raise InvalidInputError(f"run {name!r} has no epoch of training: train one, or leave the run out")
    first = [schedule[0] for schedule in traces.schedules]
    without = {trained for trained, loss in zip(first, table[:, 0], strict=True) if np.isnan(loss)}
    table[[trained in without for trained in first], 0] = np.nan
    return [row[: last + 1] for row, last in zip(table, traces.last_epochs, strict=True)]


def _kinds(
    by_jump: Mapping[JumpKey, list[int]], places: Sequence[Sequence[Position]], least: int
) -> set[tuple[Trained, bool, Trained | None]]:
    """What has steps of its own: first stages, pairs with enough runs, and models after all the rare ones."""
    firsts = {(run[0].trained, True, None) for run in places}
    later = {
        (after, False, before if len(rows) >= least else None) for (before, after), rows in by_jump.items()
    }
    return firsts | later


def _keys(
    by_step: Mapping[StepKey, list[int]], trained: Trained, first: bool, previous: Trained | None
) -> dict[int, list[StepKey]]:
    """Where the epochs of every age are; without a predecessor those after all of them."""
    found: dict[int, list[StepKey]] = defaultdict(list)
    for key in by_step:
        if key[:2] == (trained, first) and previous in (None, key[3]):
            found[key[2]].append(key)
    return found


def _by_age(
    seen: Epochs, own: Mapping[int, list[int]], first: bool, least: int
) -> Iterator[tuple[int, Coefficients]]:
    """The coefficients of every age that has enough epochs; age 1 only of a first stage."""
    greatest = max(own, default=0)
    for age in range(1 if first else 2, greatest + 1):
        lower = upper = age
        while age > 1 and sum(len(own.get(each, ())) for each in range(lower, upper + 1)) < least:
            if (lower, upper) == (2, greatest):
                break
            lower, upper = max(lower - 1, 2), min(upper + 1, greatest)
        pool = [index for each in range(lower, upper + 1) for index in own.get(each, ())]
        if len(pool) >= FEWEST:
            yield age, _fitted(seen, pool, (lower, upper), pooled=False)


def _jumps(seen: Epochs, by_jump: Mapping[JumpKey, list[int]], least: int) -> dict[JumpKey, Coefficients]:
    found = {}
    for pair, own in by_jump.items():
        pooled = len(own) < least
        pool = [index for other, rows in by_jump.items() if other[1] == pair[1] for index in rows]
        pool = pool if pooled else own
        if len(pool) >= FEWEST:
            found[pair] = _fitted(seen, pool, (1, 1), pooled)
    return found


def _fitted(seen: Epochs, pool: Sequence[int], ages: tuple[int, int], pooled: bool) -> Coefficients:
    before, after = seen.before[pool], seen.after[pool]
    return Coefficients(*constrained_step(before, after, seen.maturity[pool]), ages, pooled)


def _slope(values: FloatArray, start: FloatArray) -> float:
    """Slope of the regression on the start; 0 unless at least two starts differ.

    What is left of equal starts after their mean is taken off is rounding, and must not be divided by.
    """
    if np.ptp(start) == 0:
        return 0.0
    centred = start - start.mean()
    return float(centred @ values) / float(centred @ centred)


def _without_start(values: FloatArray, start: FloatArray) -> FloatArray:
    """What is left of values less their regression on the start and a constant."""
    return np.asarray(values - values.mean() - _slope(values, start) * (start - start.mean()))
