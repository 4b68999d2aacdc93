"""Files as training tools write them, read into traces with a report of everything that is not as it stood.

Every file is CSV with a header line. `read_long` reads one line per epoch of a run, with columns of any name;
`read_wide` one column per run or one line per run. The rules:

- a run that ends before the longest one is kept as it is, and noted;
- a loss that is missing (an empty cell, NaN, infinite) from some epoch on means that the run stopped or
  diverged there: refused, or the run is ended before it or dropped, as the caller decides;
- a loss that is missing in the middle of a run cannot be guessed: refused, or the run is dropped;
- an epoch that occurs twice is refused, or the later line counts; of two lines for one epoch of which one
  has an empty loss (tools that log training and evaluation apart write such), the other one counts;
- columns that are not asked for are passed over, and noted.

In wide files of unequal lengths the empty cells at the end of a run are how the file ends it: they are never
refused. **Ending or dropping runs that diverged makes training look better than it is**; such runs miss every
target. `LogReading.diverged` names them, so that they can be counted.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from depl.models.errors import InvalidInputError
from depl.models.traces.csv_files import Row, Sheet, assembled, number, read_sheet, whole_number
from depl.models.traces.table import METRICS, RATES, Traces, joined

OnMissing = Literal["refuse", "end", "drop"]
OnRepeated = Literal["refuse", "last"]
Names = str | Sequence[str] | None
"""One name for all, one for every epoch from the first trained one on, or none."""

_EMPTY = ("", "na", "n/a", "null", "none", "-")


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
class _Line:
    """One epoch of one run: where it stands, and its loss (NaN with ``empty`` for an empty cell)."""

    epoch: int
    row: int
    column: str
    loss: float
    empty: bool
    model: str = ""
    cluster: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)

    @property
    def missing(self) -> bool:
        return not math.isfinite(self.loss)


_Runs = dict[str, list[_Line]]


def read_long(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    model: Names = None,
    cluster: Names = None,
    first: int = 1,
    percent: bool = False,
    on_missing: OnMissing = "refuse",
    on_repeated: OnRepeated = "refuse",
) -> LogReading:
    """Read a CSV file with one line per epoch of a run.

    Parameters
    ----------
    path : str or Path
    columns : mapping of str to str, optional
        What the file calls our columns, ``{"run": "seed", "epoch": "step", "loss": "val/loss"}``; a column
        that is not mentioned has our name. Only epoch and loss are needed: without a column of runs the file
        is one run, named after the file.
    model, cluster : str or sequence of str, optional
        Where the file has no such column: one name for all, or one for every trained epoch.
    first : int
        What the file calls the first trained epoch; the one before is the evaluation before training.
    percent : bool
        Accuracies and error rates are given in per cent.
    on_missing : {"refuse", "end", "drop"}
        What to do with runs that lack a loss, as described above.
    on_repeated : {"refuse", "last"}
        What to do with epochs that occur twice.

    Raises
    ------
    InvalidInputError
        With the row and the column.
    """
    sheet = read_sheet(path)
    columns = dict(columns or {})
    named = _named(sheet, columns, model, cluster)
    runs: _Runs = {}
    for row in sheet.rows:
        cells = {name: row.cells[sheet.header.index(column)] for name, column in named.items()}
        line = _line(sheet, row.number, named, cells, first, percent)
        names = [
            cells[name] if name in cells else _name(sheet, given, line.epoch, row.number, name)
            for name, given in (("model", model), ("cluster", cluster))
        ]
        line = replace(line, model=names[0], cluster=names[1])
        runs.setdefault(cells.get("run", Path(path).stem), []).append(line)
    unread = [name for name in sheet.header if name not in named.values()]
    notes = [Note(What.PASSED_OVER, f"column {name!r} is passed over") for name in unread]
    return _settled(sheet, runs, notes, on_missing, on_repeated)


def read_wide(
    path: str | Path,
    runs_in: Literal["columns", "rows"] = "columns",
    *,
    label: str | None = None,
    runs: Sequence[str] | None = None,
    model: Names = None,
    cluster: Names = None,
    first: int = 1,
    on_missing: OnMissing = "refuse",
) -> LogReading:
    """Read a CSV file with one column per run, or with one line per run.

    Parameters
    ----------
    path : str or Path
    runs_in : {"columns", "rows"}
        With runs in columns, the header names the runs and one column holds the epochs; with runs in rows,
        the header holds the epochs and one column the names of the runs.
    label : str, optional
        Name of that one column; the first column by default.
    runs : sequence of str, optional
        Read these runs alone, for files that hold more columns (or rows) than runs; all by default.
    model, cluster, first, on_missing
        As in `read_long`; model and cluster are needed.

    Raises
    ------
    InvalidInputError
        With the row and the column.
    """
    sheet = read_sheet(path)
    for name, given in (("model", model), ("cluster", cluster)):
        if given is None:
            raise InvalidInputError(f"a wide file names no {name}; give it", f".{name}")
    at = 0 if label is None else _index(sheet, label)
    there = _wide_runs(sheet, runs_in, at)
    for run in runs or ():
        if run not in there:
            raise sheet.error(f"there is no run {run!r}; there are {', '.join(there)}")
    unread = [] if runs is None else [run for run in there if run not in runs]
    notes = [Note(What.PASSED_OVER, f"{runs_in[:-1]} {run!r} is passed over") for run in unread]
    found: _Runs = {}
    for row in sheet.rows:
        for index, cell in enumerate(row.cells):
            run = sheet.header[index] if runs_in == "columns" else row.cells[at]
            if index != at and run not in unread:
                called = _called(sheet, runs_in, row, at, index) - first + 1
                loss, empty = _loss(sheet, row.number, sheet.header[index], cell)
                names = [
                    _name(sheet, given, called, row.number, what)
                    for what, given in (("model", model), ("cluster", cluster))
                ]
                line = _Line(called, row.number, sheet.header[index], loss, empty, names[0], names[1])
                found.setdefault(run, []).append(line)
    kept = {run: _without_end(lines) for run, lines in found.items()}
    return _settled(sheet, kept, notes, on_missing, "refuse")


def read_files(paths: Iterable[str | Path], read: Callable[[str | Path], LogReading]) -> LogReading:
    """Read several files one after the other, such as a folder with one file per run.

    Parameters
    ----------
    paths : iterable of str or Path
        In the order in which the runs are to stand: ``sorted(Path("logs").glob("*.csv"))``.
    read : callable
        Reads one of them: ``lambda path: read_long(path, {"epoch": "Step", "loss": "Value"}, ...)``.

    Raises
    ------
    InvalidInputError
        As ``read``; or if there is no file, a run occurs in two files, or the files hold different metrics.
    """
    readings = [(str(path), read(path)) for path in paths]
    notes = [
        note._replace(text=f"{path}: {note.text}") for path, reading in readings for note in reading.notes
    ]
    return LogReading(joined([reading.traces for _, reading in readings]), tuple(notes))


def _wide_runs(sheet: Sheet, runs_in: str, at: int) -> list[str]:
    """Names of the runs of a wide file."""
    if runs_in == "columns":
        return [name for index, name in enumerate(sheet.header) if index != at]
    return list(dict.fromkeys(row.cells[at] for row in sheet.rows))


def _called(sheet: Sheet, runs_in: str, row: Row, at: int, index: int) -> int:
    """What a wide file calls the epoch of a cell."""
    if runs_in == "columns":
        return whole_number(sheet, row.number, sheet.header[at], row.cells[at])
    return whole_number(sheet, sheet.header_row, sheet.header[index], sheet.header[index])


def _named(sheet: Sheet, columns: Mapping[str, str], model: Names, cluster: Names) -> dict[str, str]:
    """What the file calls those of our columns that it has."""
    ours = ("run", "epoch", "model", "cluster", "loss", *METRICS)
    for name, column in columns.items():
        if name not in ours:
            raise InvalidInputError(f"must be one of {', '.join(ours)}, not {name!r}", ".columns")
        _index(sheet, column)
    named = {name: columns.get(name, name) for name in ours}
    for name, given in (("model", model), ("cluster", cluster)):
        if given is not None:
            del named[name]
        elif named[name] not in sheet.header:
            raise sheet.error(f"there is no column {named[name]!r}; give {name}", sheet.header_row)
    for name in ("epoch", "loss"):
        _index(sheet, named[name])
    return {name: column for name, column in named.items() if column in sheet.header}


def _line(
    sheet: Sheet, row: int, named: Mapping[str, str], cells: Mapping[str, str], first: int, percent: bool
) -> _Line:
    """One line of a long file, without the names of model and cluster."""
    epoch = whole_number(sheet, row, named["epoch"], cells["epoch"]) - first + 1
    loss, empty = _loss(sheet, row, named["loss"], cells["loss"])
    metrics = {}
    for name in METRICS:
        if name in named:
            scaled, optional = percent and name != "start_loss", empty or name not in RATES
            metrics[name] = _share(sheet, row, named[name], cells[name], scaled, optional)
    return _Line(epoch, row, named["loss"], loss, empty, metrics=metrics)


def _index(sheet: Sheet, column: str) -> int:
    if column not in sheet.header:
        there = ", ".join(sheet.header)
        raise sheet.error(f"there is no column {column!r}; there are {there}", sheet.header_row)
    return sheet.header.index(column)


def _name(sheet: Sheet, given: Names, epoch: int, row: int, what: str) -> str:
    """The name for an epoch; the evaluation before training has that of the first epoch."""
    if isinstance(given, str):
        return given
    names = list(given or ())
    if not 1 <= max(epoch, 1) <= len(names):
        raise sheet.error(f"there is no {what} for epoch {epoch}; {len(names)} are given", row)
    return names[max(epoch, 1) - 1]


def _loss(sheet: Sheet, row: int, column: str, cell: str) -> tuple[float, bool]:
    """The loss, and whether its cell is empty."""
    if cell.lower() in _EMPTY:
        return math.nan, True
    value = number(cell)
    if value is None:
        raise sheet.error(f"must be a number, not {cell[:40]!r}", row, column)
    return value, False


def _share(sheet: Sheet, row: int, column: str, cell: str, percent: bool, optional: bool) -> float:
    value, empty = _loss(sheet, row, column, cell)
    if empty and not optional:
        raise sheet.error("must be a number, not empty where there is a loss", row, column)
    return value / 100 if percent else value


def _without_end(lines: Sequence[_Line]) -> list[_Line]:
    """A run of a wide file without the empty cells after its end; one stays if there is nothing else."""
    ordered = sorted(lines, key=lambda line: line.epoch)
    while len(ordered) > 1 and ordered[-1].empty:
        ordered.pop()
    return ordered


def _settled(
    sheet: Sheet, runs: _Runs, notes: list[Note], on_missing: OnMissing, on_repeated: OnRepeated
) -> LogReading:
    """Apply the rules run by run and make the table."""
    for name, value, known in (
        ("on_missing", on_missing, ("refuse", "end", "drop")),
        ("on_repeated", on_repeated, ("refuse", "last")),
    ):
        if value not in known:
            raise InvalidInputError(f"must be one of {', '.join(known)}, not {value!r}", f".{name}")
    kept: _Runs = {}
    for run, lines in runs.items():
        single = _single(sheet, run, lines, on_repeated, notes)
        whole = _whole(sheet, run, single, on_missing, notes)
        if whole:
            kept[run] = whole
    if not kept:
        raise sheet.error("no run is left; see the rules for missing losses")
    longest = max(lines[-1].epoch for lines in kept.values())
    for run, lines in kept.items():
        if lines[-1].epoch < longest:
            text = f"run {run!r} ends at epoch {lines[-1].epoch}, the longest at {longest}; kept"
            notes.append(Note(What.SHORTER, text, run, lines[-1].row))
    return LogReading(_table(sheet, kept), tuple(notes))


def _single(
    sheet: Sheet, run: str, lines: Sequence[_Line], on_repeated: OnRepeated, notes: list[Note]
) -> list[_Line]:
    """One line per epoch, ascending."""
    by_epoch: dict[int, _Line] = {}
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
            message = f"epoch {line.epoch} of run {run!r} stands in row {there.row} already"
            raise sheet.error(message, line.row)
        else:
            by_epoch[line.epoch] = line
            text = (
                f"row {there.row} is passed over: row {line.row} has epoch {line.epoch} of run {run!r} again"
            )
            notes.append(Note(What.REPEATED, text, run, there.row))
    return [by_epoch[epoch] for epoch in sorted(by_epoch)]


def _whole(
    sheet: Sheet, run: str, lines: Sequence[_Line], on_missing: OnMissing, notes: list[Note]
) -> list[_Line]:
    """The lines of a run that count; none if it is dropped."""
    gap = next((index for index, line in enumerate(lines) if line.missing), None)
    if gap is None:
        return list(lines)
    line = lines[gap]
    diverged = any(not later.empty for later in lines[gap:] if later.missing)
    ends = all(later.missing for later in lines[gap:])
    if on_missing == "refuse" or (on_missing == "end" and not ends):
        way = '"end" or "drop"' if ends else '"drop"; losses follow, and a gap cannot be guessed'
        message = f"run {run!r} has no loss in epoch {line.epoch}; on_missing may be {way}"
        raise sheet.error(message, line.row, line.column)
    place = f"no loss in epoch {line.epoch} (row {line.row})"
    if on_missing == "drop" or gap == 0:
        text = f"run {run!r} is dropped: {place}"
        notes.append(Note(What.DROPPED, text, run, line.row, diverged))
        return []
    what = What.DIVERGED if diverged else What.STOPPED
    notes.append(Note(what, f"run {run!r} {what} and is ended: {place}", run, line.row, diverged))
    return list(lines[:gap])


def _table(sheet: Sheet, runs: _Runs) -> Traces:
    lines = [line for kept in runs.values() for line in kept]
    names = [run for run, kept in runs.items() for _ in kept]
    metrics = {name: np.array([line.metrics[name] for line in lines]) for name in lines[0].metrics}
    return assembled(
        sheet,
        [line.row for line in lines],
        {
            "run": np.array(names),
            "model": np.array([line.model for line in lines]),
            "cluster": np.array([line.cluster for line in lines]),
        },
        np.array([line.epoch for line in lines], dtype=np.int64),
        {"loss": np.array([line.loss for line in lines]), **metrics},
    )
