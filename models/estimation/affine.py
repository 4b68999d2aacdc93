r"""The affine law of the loss (`depl.models.problem.affine_law`), fitted to traces, and the margin beside it.

docs/estimation.rst (affine-law) says what is pooled with what; all such rules count runs and look at no loss.
The retention is constrained to [0, 1), where a larger loss before an epoch never means a smaller one after
it: the solvers' pruning stands on that. Among thousands of plans a solver prefers those that the law
flatters, and those that were lent runs without spikes: so `margin` holds plans out of the fit and sees by how
much they end off it.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from depl.models.estimation.choices import plans_needed
from depl.models.evaluation.traced_law import staged
from depl.models.evaluation.traced_support import extreme_predictions, outside_support
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.affine_law import (
    AffineLaw,
    AffineStep,
    Epochs,
    Position,
    RowKey,
    Scale,
    Trained,
    assembled,
    ends_of,
    on_scale,
    positions,
    told,
    with_stand_ins,
)
from depl.models.problem.counting import LARGEST_RETENTION
from depl.models.problem.laws import FloatArray
from depl.models.risk.discrete import decimal
from depl.models.traces.table import Schedule, Traces

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

FOLDS = 10
"""Parts that plans are dealt into: a convention of cross-validation. Twice as many hold out fewer plans for
each fit and take twice the time."""

AGES = (5, 10, 20)
"""Epochs after the last switch at which plans are compared, besides at their end."""

MOST_ATOMS = 40
"""Most deviations in an instance; neighbours become the greatest of them."""


def fit_affine(
    traces: Traces,
    metric: str = "loss",
    scale: Scale = "loss",
    origins: Sequence[int | None] | None = None,
) -> AffineLaw:
    """Fit the affine law to traces.

    Parameters
    ----------
    metric : str
        ``loss``, or ``error_rate`` in its place.
    scale : "loss" or "log"
        Whether the law is one of the metric or of its logarithm.
    origins : sequence of (int or None), optional
        Which runs share their first epochs (`depl.models.traces.same_runs.ToldApart`); none unless given.

    Raises
    ------
    InvalidInputError
        If the traces do not hold the metric, a run has no epoch of training, a loss has no logarithm where
        it is to be taken, or the law predicts losses far from all that were seen (`STRAY`).
    """
    observed = _losses(traces, metric)
    if scale == "log" and any((row <= 0).any() for row in observed):
        raise InvalidInputError("only positive losses have logarithms; fit the law on the scale of the loss")
    losses = [on_scale(row, scale) for row in with_stand_ins(observed)]
    places_of = {schedule: positions(schedule) for schedule in set(traces.schedules)}
    places = [places_of[schedule] for schedule in traces.schedules]
    seen = Epochs.of(places, losses)
    rows: dict[RowKey, AffineStep] = {}
    for trained, first, previous in _kinds(seen, places):
        for age, fitted in _by_age(seen, trained, first, previous):
            rows[trained, first, age, previous] = fitted
    rows |= _jumps(seen)
    law = assembled(rows, places, observed, scale, origins)
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


def margin(traces: Traces, metric: str, scale: Scale, care: float) -> tuple[float, ...]:
    """What plans never run are kept away from the target: none where too few plans tell.

    Raises
    ------
    InvalidInputError
        If ``care``, the share of plans that it is to cover, is out of range, or a law cannot be fitted.
    """
    if not 0 < care < 1:
        raise InvalidInputError(f"must lie between 0 and 1, not at {care}", ".care")
    if len(traces.by_schedule()) < max(2, plans_needed(care)):
        return ()
    # the folds are part of the method: the same traces give the same margin
    return careful(*plan_deviations(traces, np.random.default_rng(0), metric, scale), care)


def plan_deviations(
    traces: Traces, rng: np.random.Generator, metric: str = "loss", scale: Scale = "loss"
) -> tuple[FloatArray, FloatArray, int]:
    """How at least two plans, and runs of them, ended off a law that was fitted to other plans.

    Returned are the means of the runs of a plan less that of the law, at the ages of `AGES` that it reaches
    and at its end, with the chance of the runs in them, and without what lies outside the support of the
    other plans; runs less the mean of their plan, as if that were known (n runs count sqrt(n / (n - 1))
    times); and how many plans were held out: several ages of one are no independent evidence. Both ascend, on
    the scale of the law. ``rng`` deals the plans into `FOLDS`.
    """
    plans = list(traces.by_schedule().items())
    order, table = rng.permutation(len(plans)), traces.matrix(metric)
    found, within, held_out = list[float](), [np.zeros(0)], 0
    for fold in range(min(FOLDS, len(plans))):
        held = [plans[index] for index in order[fold::FOLDS]]
        away = np.isin(np.arange(len(traces.runs)), np.concatenate([runs for _, runs in held]))
        law = fit_affine(traces.select(~away), metric, scale=scale)
        for plan, runs in held:
            supported = [part for part in _beginnings(plan) if not outside_support(law, part)]
            held_out += bool(supported)
            for beginning in supported:
                mixed = staged(law, ends_of(beginning))
                expected = mixed.constant + math.fsum(float(part.mean()) for part in mixed.parts)
                seen = on_scale(table[runs, len(beginning)], scale)
                found.append(float(seen.mean()) - expected)
                if len(seen) > 1:
                    within.append((seen - seen.mean()) * math.sqrt(len(seen) / (len(seen) - 1)))
    return np.sort(found), np.sort(np.concatenate(within)), held_out


def careful(plans: FloatArray, runs: FloatArray, held_out: int, care: float) -> tuple[float, ...]:
    """What runs deviate by, around what ``care`` of the plans do not exceed: a high quantile.

    It counts the next plan beside those held out; none where fewer than `plans_needed` were. At most
    `MOST_ATOMS`, ascending, on the scale of the law.
    """
    if held_out < plans_needed(care):
        return ()
    # rank ceil((p + 1) care) of p plans, as a share of all their deviations
    share = decimal(care) * (held_out + 1) / held_out
    most = max(0.0, float(plans[math.ceil(share * plans.size) - 1]))
    runs = runs if runs.size else np.zeros(1)
    size = math.ceil(runs.size / MOST_ATOMS)
    # of every group; the lowest group takes what is left over
    greatest = runs[::-1][: runs.size // size * size : size][::-1]
    return tuple((most + greatest).tolist())


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


def _kinds(seen: Epochs, places: Sequence[Sequence[Position]]) -> set[tuple[Trained, bool, Trained | None]]:
    """What has rows of its own: first stages, pairs with enough runs, and models after all the rare ones."""
    firsts = {(run[0].trained, True, None) for run in places}
    later = {
        (trained, False, previous if len(rows) >= LEAST_JUMPS else None)
        for (trained, first, age, previous), rows in seen.by_key.items()
        if age == 1 and not first
    }
    return firsts | later


def _by_age(
    seen: Epochs, trained: Trained, first: bool, previous: Trained | None
) -> Iterator[tuple[int, AffineStep]]:
    """The coefficients of every age that has enough epochs, after all predecessors where none is named.

    Jumps are apart, so age 1 is only that of a first stage.
    """
    own: dict[int, list[int]] = defaultdict(list)
    for key, rows in seen.by_key.items():
        if key[:2] == (trained, first) and (first or key[2] > 1) and previous in (None, key[3]):
            own[key[2]] += rows
    greatest = max(own, default=0)
    for age in range(1 if first else 2, greatest + 1):
        lower = upper = age
        while age > 1 and sum(len(own[each]) for each in range(lower, upper + 1)) < LEAST:
            if (lower, upper) == (2, greatest):
                break
            lower, upper = max(lower - 1, 2), min(upper + 1, greatest)
        pool = [index for each in range(lower, upper + 1) for index in own[each]]
        if len(pool) >= FEWEST:
            yield age, _fitted(seen, pool, (lower, upper), pooled=False)


def _jumps(seen: Epochs) -> dict[RowKey, AffineStep]:
    """The rows of the first epochs after switches."""
    found: dict[RowKey, AffineStep] = {}
    for key, own in seen.by_key.items():
        if key[2] == 1 and not key[1]:
            row = AffineStep(0.0, 0.0, 0.0, (1, 1), pooled=len(own) < LEAST_JUMPS)
            pool = seen.pool(key, row)
            if len(pool) >= FEWEST:
                found[key] = _fitted(seen, pool, row.ages, row.pooled)
    return found


def _fitted(seen: Epochs, pool: Sequence[int], ages: tuple[int, int], pooled: bool) -> AffineStep:
    before, after = seen.before[pool], seen.after[pool]
    return AffineStep(*constrained_step(before, after, seen.maturity[pool]), ages, pooled)


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


def _beginnings(plan: Schedule) -> list[Schedule]:
    """The plan up to some ages of its last stage, and all of it."""
    start = ends_of(plan)[-1].start
    return [plan[: start + age] for age in AGES if start + age < len(plan)] + [plan]
