"""The rules for files of loggers: runs that stop, losses that are missing, epochs that occur twice.

`depl.models.traces.logs`, which says what the rules are, makes lines of files; here they become a table.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, NamedTuple, get_args

import numpy as np

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.csv_files import Sheet, assembled, names_column, number
from depl.models.traces.lost import ENDED, LOST, with_ledgers
from depl.models.traces.restarts import Line, Repeat, Training, trainings
from depl.models.traces.table import Traces

OnMissing = Literal["refuse", "end", "drop"]
OnRepeated = Literal["refuse", "last", "first"]


class What(StrEnum):
    """What was done with something in a file that is not as the table wants it."""

    SHORTER = "shorter"
    """The run ends before the longest one; kept."""
    STOPPED = "stopped"
    """The run has no loss from here on; ended before it."""
    DIVERGED = "diverged"
    """The loss is NaN or infinite from here on; the run ended before it."""
    DROPPED = "dropped"
    """The run is left out, because of a missing loss."""
    REPEATED = "repeated"
    """The epoch was logged again, or goes as training went back before it; the line does not count."""
    SECOND = "second training"
    """The run begins again at its first epoch; what follows is a run of its own."""
    PASSED_OVER = "passed over"
    """The line or column is not read."""


class Note(NamedTuple):
    """One thing that was done.

    Attributes
    ----------
    what : What
    text : str
        A sentence.
    run : str
        Name of the run; empty where it is about a column.
    row : int, optional
        Row of the file.
    diverged : bool
        Whether a loss is NaN or infinite there.
    """

    what: What
    text: str
    run: str = ""
    row: int | None = None
    diverged: bool = False


@dataclass(frozen=True)
class LogReading:
    """Traces and the report of how they were read.

    Attributes
    ----------
    traces : Traces
    notes : tuple of Note
        Everything that is not in the traces as it stood in the file.
    """

    traces: Traces
    notes: tuple[Note, ...]

    @property
    def diverged(self) -> tuple[str, ...]:
        """Names of the runs whose loss became NaN or infinite: they miss every target."""
        return tuple(dict.fromkeys(note.run for note in self.notes if note.diverged))

    @property
    def dropped(self) -> tuple[str, ...]:
        """Names of the runs that the traces do not hold."""
        return tuple(note.run for note in self.notes if note.what is What.DROPPED)

    def report(self) -> str:
        """The notes, one a line; empty where everything is as it stood."""
        return "\n".join(note.text for note in self.notes)


@dataclass(frozen=True)
class Rules:
    """What the caller decides.

    Attributes
    ----------
    on_missing : {"refuse", "end", "drop"}
        Of a run that lacks a loss from some epoch on.
    on_repeated : {"refuse", "last", "first"}
        Of an epoch that occurs again: which branch counts, the one that was written last or first.
    order : str, optional
        A column that tells the order of writing.
    clocks : bool
        Whether numbers and times that are not read tell no lines apart, as they go on like a clock; texts do
        where they differ again and again.
    """

    on_missing: OnMissing = "refuse"
    on_repeated: OnRepeated = "refuse"
    order: str | None = None
    clocks: bool = False

    def __post_init__(self) -> None:
        for name, value, known in (
            ("on_missing", self.on_missing, get_args(OnMissing)),
            ("on_repeated", self.on_repeated, get_args(OnRepeated)),
        ):
            if value not in known:
                raise InvalidInputError(f"must be one of {', '.join(known)}, not {value!r}", f".{name}")


Runs = dict[str, list[Line]]

NO_RUN_LEFT = "no run is left; see the rules for missing losses"
"""What is said where every run was dropped."""


def settled(sheet: Sheet, runs: Runs, notes: list[Note], rules: Rules) -> LogReading:
    """Apply the rules run by run and make the table."""
    kept: Runs = {}
    for run, lines in runs.items():
        for name, found in kept_lines(sheet, run, lines, notes, rules).items():
            if kept.setdefault(name, found) is not found:
                raise sheet.error(f"run {name!r} is called like a second training of another: rename it")
    if not kept:
        raise sheet.error(NO_RUN_LEFT)
    longest = max(lines[-1].epoch for lines in kept.values())
    for run, lines in kept.items():
        if lines[-1].epoch < longest:
            text = f"run {run!r} ends at epoch {lines[-1].epoch}, the longest at {longest}; kept"
            notes.append(Note(What.SHORTER, text, run, lines[-1].row))
    traces = table_of(sheet, kept)
    return LogReading(traces.with_provenance(with_ledgers(traces.provenance, ledgers(notes))), tuple(notes))


def ledgers(notes: Sequence[Note]) -> dict[str, dict[str, str]]:
    """The runs that were lost by what was done, as the provenance keeps them (`depl.models.traces.lost`)."""
    kinds = {LOST: (What.DROPPED,), ENDED: (What.DIVERGED, What.STOPPED)}
    return {
        key: {note.run: note.text.removeprefix(f"run {note.run!r} ") for note in notes if note.what in whats}
        for key, whats in kinds.items()
    }


def kept_lines(
    sheet: Sheet, run: str, lines: Sequence[Line], notes: list[Note], rules: Rules
) -> dict[str, list[Line]]:
    """The lines of a run that count, one an epoch, by the names of its trainings. What was done is noted.

    A run is one training unless it went back to the first epoch: the one after is ``run (training 2)``. A
    training that is dropped is not among them.
    """
    found = trainings(lines)
    if rules.order is not None and any(part.repeats or part.follows for part in found):
        times = {id(line): _time(sheet, line, rules.order) for line in lines}
        found = trainings(sorted(lines, key=lambda line: times[id(line)]))
    _require_allowed(sheet, run, found, rules)
    kept = {}
    for place, part in enumerate(found, start=1):
        name = run if place == 1 else f"{run} (training {place})"
        if part.follows is not None:
            row = part.follows.line.row
            text = f"run {run!r} begins again in row {row}: from there on it is run {name!r}"
            notes.append(Note(What.SECOND, text, name, row))
        single = _single(name, part, rules.on_repeated, notes)
        if whole := _whole(sheet, name, single, rules.on_missing, notes):
            kept[name] = whole
    return kept


def _require_allowed(sheet: Sheet, run: str, found: Sequence[Training], rules: Rules) -> None:
    """Refuse what is repeated, unless it may be and is known for what it is."""
    repeats = [again for part in found for again in (part.follows, *part.repeats) if again is not None]
    if repeats and rules.on_repeated == "refuse":
        raise _refusal(sheet, run, repeats[0], any(part.beyond for part in found))
    telling = [(again, name) for again in repeats if (name := _telling(sheet, again, rules))]
    if telling and (not rules.clocks or len(telling) > 1 or telling[0][0].is_first):
        again, name = telling[0]
        here, there = (f"{line.unread[name]!r:.40}" for line in (again.line, again.there))
        way = "" if rules.clocks else f", or by order={name!r} that the greater one is the later"
        raise sheet.error(
            f"{_stands(run, again)}, with {there} in place of {here}: say which lines are meant (--where "
            f"{name}=..., in Python where={{{name!r}: ...}}){way}",
            again.line.row,
            name,
        )
    beyond = next((part.beyond for part in found if part.beyond), None)
    if beyond is not None and rules.on_repeated == "first":
        message = (
            f"epoch {beyond.epoch} of run {run!r} follows on epochs that were logged again: if these were "
            "trained again, it belongs to the last of them alone, which --on-repeated last reads"
        )
        raise sheet.error(message, beyond.row)


def _stands(run: str, again: Repeat) -> str:
    return f"epoch {again.line.epoch} of run {run!r} stands in row {again.there.row} already"


def _refusal(sheet: Sheet, run: str, again: Repeat, beyond: bool) -> InvalidInputError:
    """What a repeat looks like, and which choice reads it."""
    last = "--on-repeated last (on_repeated)"
    if again.begins_again:
        text = f"a second training begins; {last} reads each as a run of its own"
    elif not again.in_place:
        text = (
            f"a restart, which went back to it from epoch {again.reached}; {last} reads what was trained "
            "from here on, in place of the epochs that were lost"
        )
    elif beyond:
        text = f"it was trained or evaluated again; {last} lets the last one count"
    else:
        text = (
            "a repeat; --on-repeated first keeps the earlier one, as of a trainer that evaluates its best "
            "model again at the end, and last the later one, as of an epoch that was trained again"
        )
    differing = _differing(again)
    if differing and (again.in_place or again.begins_again):
        by = [name for name in differing if _is_text(again.line.unread[name])][:1]
        text += "; if these are several metrics or runs, --where KEY=VALUE or --run KEY tells them apart"
        text += "".join(f", as by {name!r}" for name in by)
    return sheet.error(f"{_stands(run, again)}: {text}", again.line.row)


def _differing(again: Repeat) -> list[str]:
    """What is not read and differs between two lines of an epoch."""
    here, there = again.line.unread, again.there.unread
    return [name for name in here if name in there and here[name] != there[name]]


def _telling(sheet: Sheet, again: Repeat, rules: Rules) -> str | None:
    """A column that may tell two lines apart as different things, and not as the earlier and the later."""
    if again.in_place and _measured(again.line) == _measured(again.there):
        return None
    if rules.clocks:
        texts = (name for name in _differing(again) if _is_text(again.line.unread[name]))
        return next(texts, None) if again.in_place or again.begins_again else None
    if rules.order is not None:
        here, there = (_time(sheet, line, rules.order) for line in (again.line, again.there))
        if here != there:
            return None
    return next(iter(_differing(again)), None)


def _is_text(value: float | str) -> bool:
    """Whether a value is neither a number nor a time."""
    return isinstance(value, str) and number(value) is None and _time_of(value) is None


def _single(run: str, part: Training, on_repeated: OnRepeated, notes: list[Note]) -> list[Line]:
    """One line per epoch, ascending: the branch that counts."""
    branch = part.branch if on_repeated == "last" or part.first_branch is None else part.first_branch
    for line in part.lines:
        counts = branch.get(line.epoch)
        if counts is line:
            continue
        what, text = What.REPEATED, f"training went back before epoch {line.epoch} of run {run!r}"
        if counts is not None:
            what = What.PASSED_OVER if line.empty else What.REPEATED
            had = "the loss of its epoch" if line.empty else f"epoch {line.epoch} of run {run!r} again"
            text = f"row {counts.row} has {had}"
        notes.append(Note(what, f"row {line.row} is passed over: {text}", run, line.row))
    return [branch[epoch] for epoch in sorted(branch)]


def _measured(line: Line) -> tuple[str, ...]:
    """What a line says, in a form in which a missing value equals another one."""
    return tuple(map(repr, (line.loss, line.model, line.cluster, sorted(line.metrics.items()))))


def _time(sheet: Sheet, line: Line, order: str) -> float:
    """What the column of the order says of a line."""
    cell = str(line.unread[order])
    value = number(cell)
    time = _time_of(cell) if value is None or math.isnan(value) else value
    if time is None:
        message = f"must be a number or a time such as 2026-01-31T09:30:00, not {cell[:40]!r}"
        raise sheet.error(message, line.row, order)
    return time


def _time_of(cell: str) -> float | None:
    """Seconds of a time in the form of ISO 8601; None if it is none."""
    try:
        return datetime.fromisoformat(cell).timestamp()
    except (ValueError, OverflowError):
        return None


def _whole(
    sheet: Sheet, run: str, lines: Sequence[Line], on_missing: OnMissing, notes: list[Note]
) -> list[Line]:
    """The lines of a run that count; none if it is dropped."""
    gap = next((index for index, line in enumerate(lines) if line.missing), None)
    if gap is None:
        return list(lines)
    line = lines[gap]
    diverged = any(not later.empty for later in lines[gap:] if later.missing)
    ends = all(later.missing for later in lines[gap:])
    if on_missing == "refuse" or (on_missing == "end" and not ends):
        way = "end or drop" if ends else "drop alone; losses follow, and a gap cannot be guessed"
        message = f"run {run!r} has no loss in epoch {line.epoch}; --on-missing (on_missing) may be {way}"
        if diverged:
            message += "; it then counts as a miss, as depl fit and depl certify are told"
        raise sheet.error(message, line.row, line.column)
    place = f"no loss in epoch {line.epoch} (row {line.row})"
    if on_missing == "drop" or gap == 0:
        text = f"run {run!r} is dropped: {place}"
        notes.append(Note(What.DROPPED, text, run, line.row, diverged))
        return []
    what = What.DIVERGED if diverged else What.STOPPED
    notes.append(Note(what, f"run {run!r} {what} and is ended: {place}", run, line.row, diverged))
    return list(lines[:gap])


def table_of(sheet: Sheet, runs: Runs) -> Traces:
    """The table of runs whose lines were kept."""
    lines = [line for kept in runs.values() for line in kept]
    names = [run for run, kept in runs.items() for _ in kept]
    rows = [line.row for line in lines]
    metrics = {name: np.array([line.metrics[name] for line in lines]) for name in lines[0].metrics}
    return assembled(
        sheet,
        rows,
        {
            "run": names_column(sheet, rows, "run", names),
            "model": names_column(sheet, rows, "model", [line.model for line in lines]),
            "cluster": names_column(sheet, rows, "cluster", [line.cluster for line in lines]),
        },
        np.array([line.epoch for line in lines], dtype=np.int64),
        {"loss": np.array([line.loss for line in lines]), **metrics},
    )


def index_of(sheet: Sheet, column: str) -> int:
    """Place of a column.

    Raises
    ------
    InvalidInputError
        If there is none of that name; the message lists those that exist.
    """
    if column not in sheet.header:
        there = ", ".join(sheet.header)
        raise sheet.error(f"there is no column {column!r}; there are {there}", sheet.header_row)
    return sheet.header.index(column)
