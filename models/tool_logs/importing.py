"""Traces from the logs of a tool: losses, epochs and stages of every run, by what the caller says of them.

Which values are the loss and where models were trained has to be told; everything else is recognised, and
what was decided stands in `Imported.facts`. The rules for losses that are missing and epochs that occur twice
are those of `depl.models.traces.log_rules`.
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted
from depl.models.tool_logs.epochs import ROW, with_rows
from depl.models.tool_logs.finding import ToolLog, read_logs
from depl.models.tool_logs.points import LoggedRun, Point, shown
from depl.models.tool_logs.reading import Choices, RunReader, key_of
from depl.models.traces.log_rules import (
    Note,
    OnMissing,
    OnRepeated,
    What,
    counted_as_lost,
    cut_at_random,
    ledgers,
    matching,
    require_used,
)
from depl.models.traces.lost import (
    DIVERGED,
    LEAVE_OUT,
    LEFT_OUT,
    LOST,
    listed,
    with_ledgers,
)
from depl.models.traces.same_runs import SAME, Shared, told_apart
from depl.models.traces.table import Traces, joined

__all__ = ("Choices", "Imported", "import_logs")

_CLIENT = re.compile(r"(client|partition|node)([_-]?id)?|cid|rank|worker", re.IGNORECASE)
"""Keys of those who train one model together."""


@dataclass(frozen=True)
class Imported:
    """Traces, and how they were read."""

    log: ToolLog
    traces: Traces
    notes: tuple[Note, ...]  # everything that is not in the traces as it stood in a file
    facts: tuple[tuple[str, str], ...]  # what was decided, in words
    repeats: tuple[Shared, ...] = ()  # runs that are left out as others have their losses

    @property
    def diverged(self) -> tuple[str, ...]:
        """Names of the runs whose loss became NaN or infinite: they miss every target."""
        return tuple(dict.fromkeys(note.run for note in self.notes if note.diverged))

    @property
    def dropped(self) -> tuple[str, ...]:
        """Names of the runs that the traces do not hold."""
        return tuple(note.run for note in self.notes if note.what is What.DROPPED)


def import_logs(paths: Sequence[str], choices: Choices) -> Imported:
    """Read the logs of a tool into traces.

    Parameters
    ----------
    paths : sequence of str
        Files and folders.

    Raises
    ------
    InvalidInputError
        With the place, and the option that would help.
    """
    _require_sense(choices)
    log = read_logs(paths, choices.tool, choices.loss, choices.leave_out)
    runs, none_let_through = _let_through(log.runs, choices)
    if choices.epoch == ROW:
        began = (log.first if log.first is not None else 1) if choices.first is None else 0
        runs = [run if ROW in run.logged_keys() else with_rows(run, choices.loss, began) for run in runs]
    _require_names(runs)
    left_out = none_let_through | _left_out(log, runs, choices.leave_out)
    runs = [run for run in runs if run.name not in left_out]
    reader = RunReader(log, choices)
    kept = [run for run in runs if key_of(run, choices.loss) is not None]
    place = ", ".join(paths)
    if not kept:
        raise InvalidInputError(_no_loss(runs, choices.loss), place)
    lost = _counted(log, [run for run in runs if run not in kept], choices)
    notes: list[Note] = []
    tables: list[Traces] = []
    for run in kept:
        try:
            tables += reader.read(run, notes)
        except InvalidInputError as error:
            if run.name not in choices.diverged:
                raise
            lost[run.name] = str(error.message)
    if not tables:
        raise InvalidInputError("no run is left; see the rules for missing losses", place)
    provenance = {"imported": f"{log.tool}, {counted(len(kept), 'run')}, loss {choices.loss}"}
    for entries in (ledgers(notes), {LOST: lost, LEFT_OUT: left_out}):
        provenance = with_ledgers(provenance, entries)
    apart = told_apart(joined(tables, provenance))
    provenance |= {what: words for what, words in apart.said() if what == SAME}
    traces = reader.as_planned(apart.traces.with_provenance(provenance))
    others = [name for name in choices.diverged if not matching([name], *_names(lost)) and name != "*"]
    traces = cut_at_random(counted_as_lost(traces, others), choices.cut_at_random)
    facts = (*reader.facts(kept, traces), *apart.said())
    return Imported(log, traces, tuple(notes), facts, apart.repeats)


def _require_sense(choices: Choices) -> None:
    """Refuse choices that cannot be meant, whatever the logs hold."""
    for name, known in (("on_missing", get_args(OnMissing)), ("on_repeated", get_args(OnRepeated))):
        if getattr(choices, name) not in known:
            message = f"must be one of {', '.join(known)}, not {getattr(choices, name)!r}"
            raise InvalidInputError(message, f".{name}")
    if choices.run == choices.loss:
        raise InvalidInputError("names runs by their loss: give the key that tells them apart", "--run")
    if choices.run is not None and _CLIENT.fullmatch(choices.run):
        message = (
            f"the losses by {choices.run!r} are of parts of one training and no independent runs: read one "
            f"of them, --where {choices.run}=..., or their mean"
        )
        raise InvalidInputError(message, "--run")
    told = {"--cluster": choices.cluster, "--stages": choices.stages}
    other = next((option for option, value in told.items() if value), None)
    if choices.cluster_name is not None and other:
        message = f"names the one cluster, and {other} another: give one of them"
        raise InvalidInputError(message, "--cluster-name")


def _let_through(runs: Sequence[LoggedRun], choices: Choices) -> tuple[list[LoggedRun], dict[str, str]]:
    """The runs, each with the points that hold the wanted values, and what left out those that have none.

    Runs of one file are told apart by the key that is given, or by ``run`` where that is logged.
    """
    found: list[LoggedRun] = []
    aside: dict[str, str] = {}
    wanted = choices.where.items()
    why = ", ".join(f"--where {key}={value}" for key, value in wanted)
    for run in runs:
        held = [p for p in run.points if all(shown(p.values.get(key, "")) == it for key, it in wanted)]
        key = choices.run or ("run" if all("run" in p.values for p in held or run.points) else None)
        if held and key is not None:
            parts = _parts(run, held, key)
        else:  # one whose file holds nothing is lost, and not left out
            parts = [replace(run, points=tuple(held))] if held or not run.points else []
        names = {run.name} if key is None else {shown(p.values.get(key, run.name)) for p in run.points}
        aside |= dict.fromkeys(sorted(names - {part.name for part in parts}), why) if wanted else {}
        found += parts
    return found, aside


def _parts(run: LoggedRun, points: Sequence[Point], key: str) -> list[LoggedRun]:
    """The runs of a file, by the key that names them."""
    found: dict[str, list[Point]] = {}
    for point in points:
        if key not in point.values:
            raise InvalidInputError(
                f"has no {key!r}, which names runs: choose one of {', '.join(run.logged_keys())} with --run",
                f"{run.path}, row {point.row}",
            )
        found.setdefault(shown(point.values[key]), []).append(point)
    return [replace(run, name=name, points=tuple(those)) for name, those in found.items()]


def _require_names(runs: Sequence[LoggedRun]) -> None:
    paths: dict[str, str] = {}
    for run in runs:
        if run.name in paths:
            message = f"run {run.name!r} is also in {paths[run.name]}: name runs by --run, or leave one out"
            raise InvalidInputError(message, run.path)
        paths[run.name] = run.path


def _left_out(log: ToolLog, runs: Sequence[LoggedRun], patterns: Sequence[str]) -> dict[str, str]:
    """Files and runs that are left out, with the pattern; all patterns must have one."""
    found = dict(log.left_out)
    found |= {run.name: f"{LEAVE_OUT} {text}" for run in runs if (text := matching(patterns, run.name))}
    used = {why.removeprefix(f"{LEAVE_OUT} ") for why in found.values()}
    names = [run.name for run in runs]
    require_used([text for text in patterns if text not in used], names, LEAVE_OUT)
    return found


def _no_loss(runs: Sequence[LoggedRun], loss: str) -> str:
    keys = list(dict.fromkeys(key for run in runs for key in run.logged_keys()))
    if not keys:
        return "hold nothing that was logged, or nothing that --where lets through"
    return f"nothing is logged under {loss!r}; {advice(loss, keys)}: choose with --loss"


def _counted(log: ToolLog, without: Sequence[LoggedRun], choices: Choices) -> dict[str, str]:
    """Runs of which nothing is read, if all are counted; those whose losses are all null are dropped ones."""
    empty = {run.name: f"has no value of {choices.loss!r}" for run in without if run.keys_of(choices.loss)}
    lost = {**log.lost, **{run.name: f"holds no {choices.loss!r}" for run in without}, **empty}
    counted_so = empty if choices.on_missing != "refuse" else {}
    left = {
        name: why
        for name, why in lost.items()
        if name not in counted_so and not matching(choices.diverged, *_names([name]))
    }
    if left:
        name = shlex.quote(Path(next(iter(left))).name)
        raise InvalidInputError(
            f"{counted(len(left), 'run')} went wrong: {listed(left)}. Count such a run as a miss, "
            f"{DIVERGED} {name}, or leave it out, {LEAVE_OUT} {name}",
            choices.loss if len(left) > 1 else next(iter(left)),
        )
    return lost


def _names(paths: Iterable[str]) -> list[str]:
    """What runs of which nothing is read may be called: their paths, files, and these without suffix."""
    return [name for path in paths for name in (path, Path(path).name, Path(path).stem)]
