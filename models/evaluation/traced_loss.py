"""What the traced law of an instance says of a schedule: its final loss, and what that rests on.

A schedule is that of the epochs to come: of a whole plan, or of the rest of a run under way, whose past and
last loss the law then records (`depl.models.problem.traced_law.ObservedRun`). What no run resembles is
refused (`depl.models.evaluation.traced_support.outside_support`).
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from depl.models.evaluation.end_law import EndLaw
from depl.models.evaluation.traced_grid import LossGrid
from depl.models.evaluation.traced_law import (
    confident_weights,
    ends_ahead,
    epochs_ahead,
    independent_loss,
    lenders,
    mixture_of,
    retained_since,
    runs_through,
    stages_ahead,
    whole_runs,
)
from depl.models.evaluation.traced_support import outside_support
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.interval import Interval
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.foundation.wording import counted
from depl.models.problem.affine_law import Position, ends_of
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Empirical, FloatArray
from depl.models.problem.traced_law import TracedLaw
from depl.models.risk.discrete import decimal
from depl.models.traces.table import Schedule

CONFIDENT_REST = (
    "a confidence counts whole runs from their start, and from an observed loss on the fitted retentions "
    "enter, which it does not cover: to plan the rest of a run, fit without a confidence"
)
"""Why a law with a confidence says nothing of a run under way."""


UNEVALUATED = (
    "some runs were not evaluated before training, so nothing is known of the loss without an epoch: plan at "
    "least one"
)
"""Why a plan without an epoch is none."""


class OutsideSupportError(InvalidInputError):
    """No run resembles the schedule, or too few went through it to promise anything."""


def end_law(traced: TracedLaw, schedule: Schedule) -> EndLaw:
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
    trained = traced.from_start(schedule)
    if traced.residuals == "per_run":
        return mixture_of(traced, ends_of(trained)).law(traced.deviations, traced.scale)
    summed = independent_loss(traced.law, trained, traced.known)
    if traced.deviations:
        moved = Term(1.0, Empirical(values=traced.deviations)), 1
        summed = FinalLoss(summed.constant, (*summed.terms, moved))
    return EndLaw(summed, traced.scale)


def untrained_law(traced: TracedLaw, initial_loss: float) -> EndLaw:
    """The law of l(0), which is what a plan without epochs ends with.

    That of all runs, with those that diverged and one more unlike all seen, counted as whole runs are; of a
    run under way the loss that was observed, which the instance has as its ``initial_loss``.

    Raises
    ------
    OutsideSupportError
        If some run was not evaluated before training.
    """
    if not traced.evaluated:
        raise OutsideSupportError(UNEVALUATED, "$.epochs")
    if traced.known is not None:
        return EndLaw(FinalLoss(initial_loss, ()))
    before = np.sort([run.observed[0] for run in runs_through(traced.law, ())])
    return whole_runs(before, traced).law()


def below_all_seen(traced: TracedLaw, law: EndLaw, budget: Fraction) -> bool:
    """Whether the (1 - budget)-quantile of l(K) lies below every loss that any run ever had.

    Such a promise is a defect of the fitted law, whatever the equations say. It is clearly below: by more
    than an atom may exceed a maximum and still count as met, so that the least loss itself is not.
    """
    least = traced.law.seen[0]
    return law.exceedance(least - 2 * ATOM_TOLERANCE * max(1.0, abs(least))).at_most(budget)


def require_supported(traced: TracedLaw, schedule: Schedule) -> None:
    """Refuse a schedule that no run resembles.

    Raises
    ------
    InvalidInputError
        With the reason.
    """
    if traced.confidence is not None and traced.observed is not None:
        raise InvalidInputError(CONFIDENT_REST, "$.traced_law.confidence")
    trained = traced.from_start(schedule)
    reasons = outside_support(traced.law, trained, traced.known)
    if reasons:
        raise OutsideSupportError(f"outside the support of the traces: {reasons[0]}", "$.epochs")
    if traced.only_whole_runs and not whole(traced, schedule):
        through = counted(len(runs_through(traced.law, trained)), "run")
        raise OutsideSupportError(f"{through} went through this plan; {only_whole_runs(traced)}", "$.epochs")


def whole(traced: TracedLaw, schedule: Schedule) -> bool:
    """Whether enough runs went through the whole schedule to be its law by themselves."""
    through = len(runs_through(traced.law, traced.from_start(schedule)))
    return traced.residuals == "per_run" and through >= traced.whole_runs


def only_whole_runs(traced: TracedLaw) -> str:
    """Why plans that fewer than ``whole_runs`` runs went through are refused, and what would help."""
    if traced.confidence is not None:
        return (
            f"a promise with confidence {traced.confidence:g} counts whole runs of a plan, "
            f"{traced.whole_runs} at least: record that many, or fit without a confidence"
        )
    share = decimal(traced.care or 0.0)
    needed = math.ceil(share / (1 - share))
    plans = len({run.trained for run in traced.law.records})
    which, more = f"plans that fewer than {traced.whole_runs} runs went through", " or more runs of a plan"
    if traced.residuals == "independent":
        which, more = "plans with independent residuals", ""
    return (
        f"{which} need a margin, and one that covers {float(share):g} of such plans takes {needed} schedules "
        f"that can be held out; the traces have {plans}: record more schedules{more}, or fit with --care 0, "
        "which leaves the margin out; promises for such plans are then bold, and only fresh runs of the plan "
        "tell whether one holds (depl certify)"
    )


def basis(traced: TracedLaw, schedule: Schedule) -> str:
    """What a promise for a schedule rests on, in words: how many runs, and in which sense it holds."""
    seen, cut = "", ""
    if traced.known is not None:
        seen = f"the loss seen after {counted(traced.known.epoch, 'epoch')}"
        if not schedule:
            return seen
        seen += ", of which the law takes only the part that later epochs retain, and "
    if traced.cut_at_random:
        runs = counted(traced.cut_at_random, "run")
        cut = f"; that {runs} ended early for reasons unlike their losses was said"
    through = runs_through(traced.law, traced.from_start(schedule))
    runs = counted(len(through), "run")
    if not schedule:
        return _counted_as(traced, f"the loss of {runs} before training") + cut
    if not whole(traced, schedule):
        return seen + _stage_by_stage(traced, schedule, runs) + cut
    last = len(traced.trained_before) + len(schedule)
    settled = min(traced.settled_epochs, len(schedule))
    told = f"{runs} of this plan"
    if settled > 1 and any(len(run.losses) > last + 1 for run in through):
        told += (
            f" (as some trained on, the misses are counted after each of the last {settled} epochs, and the "
            "most count)"
        )
    return seen + _counted_as(traced, told) + cut


def _stage_by_stage(traced: TracedLaw, schedule: Schedule, runs: str) -> str:
    """What a promise rests on where too few runs went through the whole schedule."""
    ends = last_positions(traced, schedule)
    donors = [len(stage.donors) for stage in lenders(traced.law, ends, traced.known)]
    lost = ", one more counted as a miss in each"
    if traced.diverged:
        lost = f" and, counted as misses in each, {traced.diverged} that diverged or were lost and one more"
    if not traced.beside or traced.residuals == "independent":
        lost = ", taken for the whole law, as no run unlike them counts"
    return (
        f"the fitted law, as only {runs} went through this plan: residuals of "
        f"{' and '.join(map(str, donors))} runs, stage by stage{lost}, "
        f"{'with' if traced.deviations else 'WITHOUT'} a margin for plans never run"
    )


def _counted_as(traced: TracedLaw, runs: str) -> str:
    """In which sense a count of whole runs is a promise."""
    lost = f"{traced.diverged} that diverged or were lost"
    if traced.confidence is not None:
        runs += f", {lost} counted as misses" if traced.diverged else ""
        return (
            f"{runs}, with confidence {traced.confidence:g}: of promises made so at most "
            f"{1 - traced.confidence:.2g} are too bold, for plans that these runs did not choose"
        )
    if not traced.beside:
        return f"{runs}, taken for the whole law"
    misses = f"{lost} and one more, counted as misses" if traced.diverged else "one more counted as a miss"
    return (
        f"{runs} and {misses}: marginal, that is right on average over all sets of runs, for a plan that "
        "they did not choose; one that they chose may keep less, the more so the fewer they are, and only "
        "fresh runs tell (depl certify)"
    )


def last_positions(traced: TracedLaw, schedule: Schedule) -> list[Position]:
    """The last positions of the stages that have epochs to come."""
    return ends_ahead(ends_of(traced.from_start(schedule)), traced.known)


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
    lending = lenders(law, [stage[-1] for stage in stages], known)
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
