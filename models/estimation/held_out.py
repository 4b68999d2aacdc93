"""Which runs may judge a plan, and the final loss that each of them counts with: docs/estimation.rst.

*Refused*, with the row of the first one: runs that were used to choose the plan or that the file has twice
(`depl.models.traces.fingerprints`, `depl.models.traces.same_runs`), that trained something else, or that are
too short, coarse or flat to be told from others where most are so. *Counted as exceeding*: runs that end
before the plan does (also those stopped because they had reached the target: losses may rise again), that
diverged or were lost as the provenance says, and single ones that cannot be told. Nothing is left out
silently.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from depl.models.estimation.fit import schedule_label
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.plan import Plan
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


def _references(chosen_by: ChosenBy) -> Iterator[tuple[str, RunFingerprints | None]]:
    """What the runs are compared with, and its name; with themselves alone where there is nothing."""
    given: list[object] = [chosen_by] if isinstance(chosen_by, Traces | Instance) else list(chosen_by)
    for item in given:
        if isinstance(item, Traces):
            yield "those that chose the plan", fingerprints(item)
        elif not isinstance(item, Instance):
            message = (
                f"needs traces or instances, not {item!r}: a name does not tell whether a run is fresh; give "
                "the traces of the runs that chose the plan"
            )
            raise InvalidInputError(message, ".chosen_by")
        elif item.run_fingerprints is None:
            message = (
                f"{item.name} carries no fingerprints of the runs that it was fitted to; fit it again "
                "(depl fit), or give the traces of these runs"
            )
            raise InvalidInputError(message, "$.run_fingerprints")
        else:
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
    if plan is None:
        plan = planned(traces.provenance)
    if plan is None:
        message = (
            "say what the runs were to train (--plan): the traces do not, and runs that all end early would "
            "look like runs of a shorter plan"
        )
        raise InvalidInputError(message, ".plan")
    if isinstance(plan, Plan):
        return tuple((epoch.model, epoch.cluster) for epoch in plan.epochs)
    return tuple(plan)


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
