"""The rules for files of loggers: runs that stop, losses that are missing, epochs that occur twice.

`depl.models.traces.logs`, which says what the rules are, makes lines of files; here they become a table.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal, NamedTuple

import numpy as np

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.csv_files import Sheet, assembled, names_column, number
from depl.models.traces.lost import ENDED, LOST, with_ledgers
from depl.models.traces.table import Traces

OnMissing = Literal["refuse", "end", "drop"]
OnRepeated = Literal["refuse", "last"]


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
    """The epoch occurs again; the last line counts."""
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
class Line:
    """One epoch of one run: where it stands, and its loss (NaN with ``empty`` for an empty cell)."""

    epoch: int
    row: int
    column: str
    loss: float
    empty: bool
    model: str = ""
    cluster: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> bool:
        """Whether there is no loss to plan with."""
        return not math.isfinite(self.loss)


Runs = dict[str, list[Line]]

NO_RUN_LEFT = "no run is left; see the rules for missing losses"
"""What is said where every run was dropped."""


def settled(
    sheet: Sheet,
    runs: Runs,
    notes: list[Note],
    on_missing: OnMissing,
    on_repeated: OnRepeated,
    order: str | None = None,
) -> LogReading:
    """Apply the rules run by run and make the table."""
    for name, value, known in (
        ("on_missing", on_missing, ("refuse", "end", "drop")),
        ("on_repeated", on_repeated, ("refuse", "last")),
    ):
        if value not in known:
            raise InvalidInputError(f"must be one of {', '.join(known)}, not {value!r}", f".{name}")
    found = {
        run: kept_lines(sheet, run, lines, notes, on_missing, on_repeated, order)
        for run, lines in runs.items()
    }
    kept = {run: lines for run, lines in found.items() if lines}
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
    sheet: Sheet,
    run: str,
    lines: Sequence[Line],
    notes: list[Note],
    on_missing: OnMissing,
    on_repeated: OnRepeated,
    order: str | None = None,
) -> list[Line]:
    """The lines of a run that count, one an epoch; none if it is dropped. What was done is noted."""
    single = _single(sheet, run, lines, on_repeated, order, notes)
    return _whole(sheet, run, single, on_missing, notes)


def _single(
    sheet: Sheet,
    run: str,
    lines: Sequence[Line],
    on_repeated: OnRepeated,
    order: str | None,
    notes: list[Note],
) -> list[Line]:
    """One line per epoch, ascending."""
    by_epoch: dict[int, Line] = {}
    for line in lines:
        there = by_epoch.get(line.epoch)
        if there is None:
            by_epoch[line.epoch] = line
        elif line.empty or there.empty:
            keep, pass_over = (there, line) if line.empty else (line, there)
            by_epoch[line.epoch] = keep
            text = f"row {pass_over.row} is passed over: row {keep.row} has the loss of its epoch"
            notes.append(Note(What.PASSED_OVER, text, run, pass_over.row))
        elif on_repeated == "refuse":
            message = (
                f"epoch {line.epoch} of run {run!r} stands in row {there.row} already: if it was logged "
                "again, as after a crash, --on-repeated last lets the last one count; if these are several "
                "metrics or runs, --where KEY=VALUE or --run KEY tells them apart"
            )
            raise sheet.error(message, line.row)
        else:
            keep = _later(sheet, run, there, line, order)
            pass_over = there if keep is line else line
            by_epoch[line.epoch] = keep
            what = f"epoch {line.epoch} of run {run!r} again"
            text = f"row {pass_over.row} is passed over: row {keep.row} has {what}"
            notes.append(Note(What.REPEATED, text, run, pass_over.row))
    return [by_epoch[epoch] for epoch in sorted(by_epoch)]


def _later(sheet: Sheet, run: str, first: Line, second: Line, order: str | None) -> Line:
    """The one of two lines of an epoch that counts, by their order in the file only if nothing else tells."""
    if _measured(first) == _measured(second):
        return second
    if order is not None:
        times = [_time(sheet, line, order) for line in (first, second)]
        if times[0] != times[1]:
            return first if times[0] > times[1] else second
    differing = [name for name in first.unread if first.unread[name] != second.unread[name]]
    if not differing:
        return second
    name = differing[0]
    here, there = (f"{line.unread[name]!r:.40}" for line in (second, first))
    raise sheet.error(
        f"epoch {second.epoch} of run {run!r} stands in row {first.row} already, with {there} in place of "
        f"{here}: say which lines are meant (--where {name}=..., in Python where={{{name!r}: ...}}), or by "
        f"order={name!r} that the greater one is the later",
        second.row,
        name,
    )


def _measured(line: Line) -> tuple[str, ...]:
    """What a line says, in a form in which a missing value equals another one."""
    return tuple(map(repr, (line.loss, line.model, line.cluster, sorted(line.metrics.items()))))


def _time(sheet: Sheet, line: Line, order: str) -> float:
    """What the column of the order says of a line."""
    cell = line.unread[order]
    value = number(cell)
    if value is not None and not math.isnan(value):
        return value
    try:
        return datetime.fromisoformat(cell).timestamp()
    except (ValueError, OverflowError) as error:
        message = f"must be a number or a time such as 2026-01-31T09:30:00, not {cell[:40]!r}"
        raise sheet.error(message, line.row, order) from error


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
            message += "; then count it: depl fit --diverged N, or depl certify --diverged NAME"
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
