"""Which runs may judge a plan, and the final loss that each of them counts with.

Runs are identified by their names. What becomes of them:

===========================================  ===========================================================
a run that was used to choose the plan       refused, with its row
a run under a new name, all losses the same  refused, with its row (see `LEAST_DISTINCT`)
another model or cluster than the plan's,    refused, with the first row where it differs
or epochs after the plan's last one
it ends before the plan does                 counts as exceeding every target: there is no l(K)
it diverged                                  counts as exceeding every target
===========================================  ===========================================================

Nothing is left out silently: a run that is missing because it went badly makes every estimate too good. Also
a run that was stopped *because* it had reached the target counts as exceeding: the promise is about l(K), and
losses may rise again. Readers of logs end or drop runs that diverged (`depl.models.traces.logs`); those that
they ended are short, those that they dropped are handed over by name.

A trace holds models and clusters. That its runs used the plan's datasets and drew their seeds afresh, and
that no other runs had a part in the choice, is for the user to vouch.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from depl.models.errors import InvalidInputError
from depl.models.estimation.combinations import schedule_label
from depl.models.laws import FloatArray
from depl.models.plan import Plan
from depl.models.problem import Instance, Provenance
from depl.models.traces.table import Schedule, Traces
from depl.models.wording import counted

ChosenBy = Iterable[str] | Traces | Instance
"""Runs that had a part in the choice: their names, their traces, or the instance that was fitted to them."""

LEAST_DISTINCT = 8
"""Runs with fewer different losses are not compared by their losses, because they may agree by chance."""

_FITTED = "fitted to the runs "


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Runs that may judge a plan.

    Attributes
    ----------
    runs : tuple of str
        Names, those that the traces do not hold last.
    losses : float array, one per run
        l(K) in the metric chosen; infinite for runs that stopped early or diverged [loss].
    schedule : Schedule
        Model and cluster of every epoch of the plan.
    stopped, diverged : tuple of str
        The runs whose loss is infinite, and why.
    """

    runs: tuple[str, ...]
    losses: FloatArray
    schedule: Schedule
    stopped: tuple[str, ...] = ()
    diverged: tuple[str, ...] = ()


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
    chosen_by : iterable of str, Traces or Instance
        The runs that were used to choose the plan; ``()`` says that none were. An instance names them if it
        was made with `fitted_from`.
    plan : Plan or Schedule, optional
        What every run must have trained; by default the longest schedule in ``traces``.
    metric : str
        ``loss`` or ``error_rate``.
    diverged : iterable of str
        Those that diverged, whether ``traces`` holds them or not.

    Raises
    ------
    InvalidInputError
        If a run was used to choose the plan or follows another schedule, with its row; if the instance does
        not say which runs it was fitted to, or the traces do not hold the metric.
    """
    lost = _names(diverged, "diverged")
    _refuse_used(traces, lost, chosen_by)
    schedule = _schedule(traces, plan)
    _refuse_other_schedules(traces, schedule)
    final = traces.target(metric)[traces.bounds[1:] - 1].copy()
    short = np.array([len(own) < len(schedule) for own in traces.schedules])
    bad = np.array([name in lost for name in traces.runs])
    final[short | bad] = np.inf
    absent = tuple(name for name in lost if name not in traces.runs)
    return HeldOut(
        runs=traces.runs + absent,
        losses=np.append(final, np.full(len(absent), np.inf)),
        schedule=schedule,
        stopped=tuple(traces.runs[index] for index in np.flatnonzero(short & ~bad)),
        diverged=tuple(lost),
    )


def fitted_from(runs: Iterable[str] | Traces, path: str = "$.models") -> Provenance:
    """What an instance says of the runs that it was fitted to, so that they cannot certify its plans."""
    names = runs.runs if isinstance(runs, Traces) else tuple(_names(runs, "runs"))
    return Provenance(path=path, source="measured", note=_FITTED + json.dumps(names, ensure_ascii=False))


def runs_behind(instance: Instance) -> tuple[str, ...]:
    """Names of the runs that an instance was fitted to, in the order of its provenance.

    Raises
    ------
    InvalidInputError
        If it does not say so.
    """
    notes = [row.note for row in instance.provenance if row.note.startswith(_FITTED)]
    try:
        found = [name for note in notes for name in json.loads(note.removeprefix(_FITTED))]
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"names of runs must be a list in JSON ({error})", "$.provenance") from error
    if not found:
        message = f"{instance.name} does not say which runs it was fitted to; name them, or give their traces"
        raise InvalidInputError(message, "$.provenance")
    return tuple(dict.fromkeys(map(str, found)))


def _names(runs: Iterable[str], what: str) -> dict[str, None]:
    if isinstance(runs, str):
        raise InvalidInputError(f"needs a list of names, not the single text {runs!r}", f".{what}")
    return dict.fromkeys(map(str, runs))


def _refuse_used(traces: Traces, lost: Iterable[str], chosen_by: ChosenBy) -> None:
    seen: dict[bytes, str] = {}
    if isinstance(chosen_by, Traces):
        used = dict.fromkeys(chosen_by.runs)
        seen = {key: name for name, key in _fingerprints(chosen_by) if key}
    else:
        used = _names(runs_behind(chosen_by) if isinstance(chosen_by, Instance) else chosen_by, "chosen_by")
    places = [(name, f".run[{row}]") for name, row in zip(traces.runs, traces.bounds.tolist(), strict=False)]
    for name, place in [*places, *((name, ".diverged") for name in lost)]:
        if name in used:
            message = (
                f"run {name!r} was used to choose the plan, so it cannot certify it; leave it out "
                "(Traces.select), or run the plan with fresh seeds"
            )
            raise InvalidInputError(message, place)
    for (name, key), (_, place) in zip(_fingerprints(traces), places, strict=True):
        if key and key in seen:
            message = (
                f"run {name!r} has the losses of run {seen[key]!r} in every epoch, so it is the same run "
                "under another name; leave it out"
            )
            raise InvalidInputError(message, place)
        seen[key] = name


def _fingerprints(traces: Traces) -> list[tuple[str, bytes]]:
    """Every run with its losses after training as bytes; empty where they may agree by chance."""
    found = []
    for index, name in enumerate(traces.runs):
        rows = slice(int(traces.bounds[index]), int(traces.bounds[index + 1]))
        losses = traces.loss[rows][traces.epoch[rows] > 0]
        found.append((name, losses.tobytes() if len(np.unique(losses)) >= LEAST_DISTINCT else b""))
    return found


def _schedule(traces: Traces, plan: Plan | Schedule | None) -> Schedule:
    if plan is None:
        return max(traces.schedules, key=len)
    if isinstance(plan, Plan):
        return tuple((epoch.model, epoch.cluster) for epoch in plan.epochs)
    return tuple(plan)


def _refuse_other_schedules(traces: Traces, schedule: Schedule) -> None:
    for index, own in enumerate(traces.schedules):
        if own == schedule[: len(own)]:
            continue
        pairs = zip_longest(own, schedule)
        place = next(place for place, (found, wanted) in enumerate(pairs) if found != wanted)
        start = int(traces.bounds[index])
        row = start + int(traces.epoch[start] == 0) + place
        raise _other_schedule(traces.runs[index], own, schedule, place, row)


def _other_schedule(run: str, own: Schedule, schedule: Schedule, place: int, row: int) -> InvalidInputError:
    todo = f"the plan is {schedule_label(schedule) or 'not to train'}; certify each schedule on its own runs"
    if place >= len(schedule):
        message = f"run {run!r} goes on after the {counted(len(schedule), 'epoch')} of the plan; {todo}"
        return InvalidInputError(message, f".epoch[{row}]")
    differs = 0 if own[place][0] != schedule[place][0] else 1
    column = ("model", "cluster")[differs]
    message = (
        f"run {run!r} has {own[place][differs]!r} in epoch {place + 1}, where the plan has "
        f"{schedule[place][differs]!r}; {todo}"
    )
    return InvalidInputError(message, f".{column}[{row}]")
