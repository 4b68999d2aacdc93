"""A certificate of a chosen plan from held-out runs that needs no law of the losses; which runs may judge.

*Refused*, with the row of the first one: runs that were used to choose the plan or that the file has twice,
that trained something else, or that are too short, coarse or flat to be told from others where most are so.
*Counted as exceeding*: runs that end before the plan does (losses may rise again), that diverged or were lost
as the provenance says, and single ones that cannot be told. Nothing is left out silently. docs/estimation.rst
says what each number promises, why only fresh runs judge, and why once.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np
from numpy.typing import ArrayLike, NDArray

from depl.models.estimation.binomial import (
    Verdict,
    allowed_exceedances,
    binomial_p_values,
    least_runs,
    verdict,
    violation_of,
)
from depl.models.estimation.fit import schedule_label
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.interval import Interval
from depl.models.foundation.showing import Shown
from depl.models.foundation.wording import counted
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import Plan
from depl.models.risk.discrete import decimal
from depl.models.risk.sampling import both_ends, upper_end
from depl.models.traces.fingerprints import Comparison, Repeat, RunFingerprints, compare, fingerprints
from depl.models.traces.lost import LEFT_OUT, LOST, ledger
from depl.models.traces.same_runs import told_apart
from depl.models.traces.stages import planned
from depl.models.traces.table import Schedule, Traces

ChosenBy = Traces | Instance | Iterable[Traces | Instance]
"""What had a part in the choice: traces, instances that were fitted to some, several of these; or ``()``."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Runs that may judge a plan.

    Attributes
    ----------
    runs : tuple of str
        Names, those that the traces do not hold last.
    losses : float array, one per run
        l(K) in the metric chosen; infinite for runs that stopped early, diverged or are too flat [loss].
    schedule : Schedule
        Model and cluster of every epoch of the plan.
    stopped, diverged, flat : tuple of str
        The runs whose loss is infinite, and why.
    untold : tuple of str
        Runs that chose the plan, but are too short or too flat to be known again.
    left_out : mapping of str to str
        Runs that were not to count when the traces were read, and what said so.
    """

    runs: tuple[str, ...]
    losses: FloatArray
    schedule: Schedule
    stopped: tuple[str, ...] = ()
    diverged: tuple[str, ...] = ()
    flat: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class QuantileBound:
    """An order statistic of held-out losses as an upper bound.

    Attributes
    ----------
    value : float
        The bound [loss]; infinite where there is none.
    rank : int or None
        Which of the sorted losses it is, counted from 1; None where there are too few runs.
    least_runs : int
        The fewest runs that give a rank.
    """

    value: float
    rank: int | None
    least_runs: int


@dataclass(frozen=True, repr=False)
class Certificate(Shown):
    """What held-out runs prove about P(l(K) <= l_max) >= omega.

    Attributes
    ----------
    target, level, confidence : float
        l_max [loss], omega and c.
    runs, exceedances : int
        Held-out runs, and how many of them count as ending above the target.
    allowed : int or None
        The most exceedances that certify so many runs; None where not even none does.
    verdict : Verdict
    p_value : float
        P(as few exceedances or fewer) for a promise broken by a hair; certified where it is at most 1 - c.
    refuting_p_value : float
        P(as many exceedances or more) for a promise just kept: the one-sided exact binomial test.
    violation : Interval
        Of P(l(K) > l_max), Clopper-Pearson with confidence c, both sides.
    greatest_violation : float
        One-sided: with confidence c, P(l(K) > l_max) is at most this.
    quantile : QuantileBound
        With confidence c, l_omega(K) is at most this.
    conformal : QuantileBound
        The next run is at most this with probability omega, averaged over the held-out runs.
    needed : int
        The fewest runs that certify with so many exceedances; of a new sample, its size fixed before.
    stopped, diverged, flat : tuple of str
        Runs that exceed because they have no final loss, or because they cannot be told from other runs.
    """

    target: float
    level: float
    confidence: float
    runs: int
    exceedances: int
    allowed: int | None
    verdict: Verdict
    p_value: float
    refuting_p_value: float
    violation: Interval
    greatest_violation: float
    quantile: QuantileBound
    conformal: QuantileBound
    needed: int
    stopped: tuple[str, ...] = ()
    diverged: tuple[str, ...] = ()
    flat: tuple[str, ...] = ()

    @property
    def certified(self) -> bool:
        """Whether the promise is kept, with the confidence asked for."""
        return self.verdict is Verdict.CERTIFIED


def held_out(
    traces: Traces,
    chosen_by: ChosenBy,
    plan: Plan | Schedule | None = None,
    metric: str = "loss",
    diverged: Iterable[str] = (),
) -> HeldOut:
    """Final losses of the runs in ``traces``, if all of them may judge the plan.

    Parameters
    ----------
    chosen_by : Traces, Instance, or iterable of these
        What was used to choose the plan; ``()`` says that nothing was. Instances carry the fingerprints of
        their runs if `depl.models.estimation.instance.fit_instance` made them.
    plan : Plan or Schedule, optional
        What every run was to train; it may be left out where the provenance of the traces says it.
    metric : str
        ``loss`` or ``error_rate``.
    diverged : iterable of str
        Those that diverged, whether ``traces`` holds them or not, beside those that were lost when it was
        read.

    Raises
    ------
    InvalidInputError
        If a run was used to choose the plan, is there twice or follows another schedule, with its row; if the
        runs are too short or too coarsely recorded to tell; if nothing says what the plan was, an instance
        carries no fingerprints, or the traces do not hold the metric.
    """
    if isinstance(diverged, str):
        raise InvalidInputError(f"needs a list of names, not the single text {diverged!r}", ".diverged")
    lost = dict.fromkeys(map(str, diverged))
    lost |= dict.fromkeys(name for name in ledger(traces.provenance, LOST) if name not in traces.runs)
    schedule = _schedule(traces, plan)
    _refuse_other_schedules(traces, schedule)
    final = traces.target(metric)[traces.bounds[1:] - 1].copy()
    short = np.array([len(own) < len(schedule) for own in traces.schedules])
    bad = np.array([name in lost for name in traces.runs])
    flat, untold = np.zeros(len(bad), dtype=np.bool_), dict[str, None]()
    compared = []
    for label, used in _references(chosen_by):
        compared.append(compare(traces, used))
        _refuse_repeats(traces, compared[-1].repeats, label)
    _refuse_same_runs(traces)
    for found in compared:
        flat |= _too_flat(found, ~(short | bad))
        untold |= dict.fromkeys(found.untold)
    final[short | bad | flat] = np.inf
    names, absent = np.array(traces.runs), tuple(name for name in lost if name not in traces.runs)
    return HeldOut(
        runs=traces.runs + absent,
        losses=np.append(final, np.full(len(absent), np.inf)),
        schedule=schedule,
        stopped=tuple(names[short & ~bad].tolist()),
        diverged=tuple(lost),
        flat=tuple(names[flat].tolist()),
        untold=tuple(untold),
        left_out=ledger(traces.provenance, LEFT_OUT),
    )


def certificate(
    judges: HeldOut | ArrayLike, target: float, level: float, confidence: float = 0.95
) -> Certificate:
    """Certify that a plan keeps its promise, from runs of it that nobody saw when it was chosen.

    Parameters
    ----------
    judges : HeldOut or array of float
        As `depl.models.estimation.certificate.held_out` finds them; or final losses of runs that are known to
        be independent and unseen, infinite or NaN for those that have none, which exceed.
    target : float
        l_max [loss], or a bound on the error rate.
    level : float
        omega.
    confidence : float
        c, in [0.5, 1).

    Raises
    ------
    InvalidInputError
        If there is no run, a loss is minus infinity, the target is not finite, or omega or the confidence
        are out of range.
    """
    found = judges if isinstance(judges, HeldOut) else HeldOut((), np.asarray(judges, dtype=np.float64), ())
    final = _sorted(found.losses)
    if not math.isfinite(target):
        raise InvalidInputError(f"must be a finite number, not {target}", ".target")
    count, runs = int(np.count_nonzero(final > target)), final.size
    certifying, refuting = binomial_p_values(count, runs, level)
    told = verdict(count, runs, level, confidence)
    risk = float(1 - decimal(confidence))
    return Certificate(
        target=float(target),
        level=float(level),
        confidence=float(confidence),
        runs=runs,
        exceedances=count,
        allowed=allowed_exceedances(runs, level, confidence),
        verdict=told,
        p_value=certifying,
        refuting_p_value=refuting,
        violation=Interval(*both_ends(count, runs, risk)),
        greatest_violation=upper_end(count, runs, risk),
        quantile=loss_bound(final, level, confidence),
        conformal=loss_bound(final, level, None),
        needed=least_runs(level, confidence, count),
        stopped=found.stopped,
        diverged=found.diverged,
        flat=found.flat,
    )


def loss_bound(losses: ArrayLike, level: float, confidence: float | None = 0.95) -> QuantileBound:
    """The least order statistic that bounds the omega-quantile, or without a confidence the next run.

    Parameters
    ----------
    losses : array of float, one per run
        Of independent runs, NaN counts as infinite; for the next run they need be exchangeable with it only.
    confidence : float, optional
        That the bound is at least the omega-quantile. None for the *split conformal* one, which the next run
        does not exceed with probability omega, on average over the runs.

    Raises
    ------
    InvalidInputError
        If there is no run, a loss is minus infinity, or omega or the confidence are out of range.
    """
    final, omega = _sorted(losses), 1 - violation_of(level)
    if confidence is None:
        rank, least = math.ceil((final.size + 1) * omega), math.ceil(omega / (1 - omega))
    else:
        allowed = allowed_exceedances(final.size, level, confidence)
        rank = final.size + 1 if allowed is None else final.size - allowed
        least = least_runs(level, confidence)
    if rank > final.size:
        return QuantileBound(math.inf, None, least)
    return QuantileBound(float(final[rank - 1]), rank, least)


def _sorted(losses: ArrayLike) -> FloatArray:
    """Ascending, runs without a loss last."""
    column = np.asarray(losses, dtype=np.float64)
    if column.ndim != 1 or not column.size:
        raise InvalidInputError("needs one final loss per run, and at least one run", ".losses")
    if np.isneginf(column).any():
        raise InvalidInputError("minus infinity is no loss", f".losses[{int(np.argmin(column))}]")
    return np.sort(np.where(np.isnan(column), np.inf, column))


def _references(chosen_by: ChosenBy) -> Iterator[tuple[str, RunFingerprints | None]]:
    """What the runs are compared with, and its name; with themselves alone where there is nothing."""
    given: list[object] = [chosen_by] if isinstance(chosen_by, Traces | Instance) else list(chosen_by)
    for item in given:
        if isinstance(item, Traces):
            yield "those that chose the plan", fingerprints(item)
            continue
        if not isinstance(item, Instance):
            raise InvalidInputError(
                f"needs traces or instances, not {item!r}: a name does not tell whether a run is fresh; give "
                "the traces of the runs that chose the plan",
                ".chosen_by",
            )
        if item.run_fingerprints is None:
            raise InvalidInputError(
                f"{item.name} carries no fingerprints of the runs that it was fitted to; fit it again "
                "(depl fit), or give the traces of these runs",
                "$.run_fingerprints",
            )
        yield f"those that {item.name} was fitted to", item.run_fingerprints
    if not given:
        yield "", None


def _refuse_same_runs(traces: Traces) -> None:
    """Refuse runs that share their first epochs with others of the file: they are no draws of their own."""
    apart = told_apart(traces)
    _refuse_repeats(
        traces,
        [Repeat(traces.runs.index(run), other, True, epochs, epochs) for run, other, epochs in apart.repeats],
    )
    for run, other, epochs in apart.forks:
        raise InvalidInputError(
            f"run {run!r} shares its first {counted(epochs, 'epoch')} with run {other!r}: it goes on from "
            "it, or began with its seed, and is no second draw. Keep one of them",
            f".run[{int(traces.bounds[traces.runs.index(run)])}]",
        )


def _refuse_repeats(traces: Traces, repeats: Sequence[Repeat], label: str = "") -> None:
    if not repeats:
        return
    repeat, more = repeats[0], len(repeats) - 1
    run = traces.runs[repeat.run]
    same = f"its losses are the same in {repeat.agreeing} of {repeat.compared} epochs compared"
    same += f"; so are those of {counted(more, 'other run')}" if more else ""
    message = (
        f"run {run!r} was used to choose the plan, so it cannot certify it: it is run {repeat.known!r} of "
        f"{label}, and {same}. Leave it out (Traces.select), or run the plan with fresh seeds"
    )
    if repeat.among_fresh:
        message = (
            f"run {run!r} is run {repeat.known!r} of the same file once more: {same}. Keep each run once; if "
            "they are different runs, record more decimals"
        )
    raise InvalidInputError(message, f".run[{int(traces.bounds[repeat.run])}]")


def _too_flat(found: Comparison, judging: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The judges that cannot be told from other runs; refused if these are most of them."""
    untold = judging & (found.countable < (np.inf if found.needed is None else found.needed))
    if 2 * untold.sum() <= judging.sum():
        return untold
    message = "whether these runs are fresh, and different from one another, cannot be told"
    if found.needed is None:
        message += (
            f": known to {found.resolution:g}, losses of different runs agree in too many epochs. Record "
            "more decimals"
        )
    else:
        message += (
            f": that takes {found.needed} or more different losses after training; they have "
            f"{int(np.median(found.countable[judging]))}, known to {found.resolution:g}. Record more "
            "decimals; a plan so short is certified from final losses alone, if you vouch for the runs "
            "(depl.models.estimation.certificate.certificate)"
        )
    raise InvalidInputError(message, ".loss")


def _schedule(traces: Traces, plan: Plan | Schedule | None) -> Schedule:
    plan = planned(traces.provenance) if plan is None else plan
    if plan is None:
        raise InvalidInputError(
            "say what the runs were to train (--plan): the traces do not, and runs that all end early would "
            "look like runs of a shorter plan",
            ".plan",
        )
    return plan.schedule if isinstance(plan, Plan) else tuple(plan)


def _refuse_other_schedules(traces: Traces, schedule: Schedule) -> None:
    todo = f"the plan is {schedule_label(schedule) or 'not to train'}; certify each schedule on its own runs"
    for index, (run, own) in enumerate(zip(traces.runs, traces.schedules, strict=True)):
        if own == schedule[: len(own)]:
            continue
        place = next(n for n, (found, wanted) in enumerate(zip_longest(own, schedule)) if found != wanted)
        start = int(traces.bounds[index])
        column, what = "epoch", f"goes on after the {counted(len(schedule), 'epoch')} of the plan"
        if place < len(schedule):
            (model, _), (wanted, _) = own[place], schedule[place]
            number, column = (0, "model") if model != wanted else (1, "cluster")
            what = (
                f"has {own[place][number]!r} in epoch {place + 1}, where the plan has "
                f"{schedule[place][number]!r}"
            )
        row = start + int(traces.epoch[start] == 0) + place
        raise InvalidInputError(f"run {run!r} {what}; {todo}", f".{column}[{row}]")
