"""Files as training tools write them, read into traces with a report of everything that is not as it stood.

Every file is CSV with a header line. `read_long` reads one line per epoch of a run, with columns of any name;
`read_wide` one column per run or one line per run. The rules:

- a run that ends before the longest one is kept as it is, and noted;
- a loss that is missing (an empty cell, NaN, infinite) from some epoch on means that the run stopped or
  diverged there: refused, or the run is ended before it or dropped, as the caller decides;
- a loss that is missing in the middle of a run cannot be guessed: refused, or the run is dropped;
- an epoch that occurs twice is refused, or the branch counts that was written last or first
  (`depl.models.traces.restarts`): in the order of a column that says so, and of the file only where nothing
  else in it tells the two lines apart; of two lines for one epoch, one with an empty loss (tools that log
  training and evaluation apart write such), the other one counts;
- columns that are not asked for are passed over, and noted; so are the extremes (``__MIN``, ``__MAX``) and
  clocks (``_step``) that Weights & Biases writes beside every run, which are no runs.

In wide files of unequal lengths the empty cells at the end of a run are how the file ends it: they are never
refused. **Ending or dropping runs that diverged makes training look better than it is**; such runs miss every
target. `LogReading.diverged` names them, so that they can be counted.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.csv_files import Row, Sheet, number, read_sheet, whole_number
from depl.models.traces.log_rules import (
    LogReading,
    Note,
    OnMissing,
    OnRepeated,
    Rules,
    Runs,
    What,
    index_of,
    settled,
)
from depl.models.traces.metrics import METRICS, RATES
from depl.models.traces.restarts import Line
from depl.models.traces.table import joined

__all__ = ["LogReading", "Names", "Note", "What", "read_files", "read_long", "read_wide"]

Names = str | Sequence[str] | None
"""One name for all, one for every epoch from the first trained one on, or none."""

_EXTREMES = ("__MIN", "__MAX")
_CLOCKS = (" - _step", " - _runtime", " - _timestamp")
"""Ends of the names of columns that Weights & Biases exports beside those of the runs."""
_EMPTY = ("", "na", "n/a", "null", "none", "-")


def read_long(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    model: Names = None,
    cluster: Names = None,
    first: int = 1,
    percent: bool = False,
    where: Mapping[str, str] | None = None,
    on_missing: OnMissing = "refuse",
    on_repeated: OnRepeated = "refuse",
    order: str | None = None,
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
    where : mapping of str to str, optional
        Read the lines alone that hold these values in these columns: ``{"key": "val/loss"}`` of a file with
        one line per metric.
    on_missing : {"refuse", "end", "drop"}
        What to do with runs that lack a loss, as described above.
    on_repeated : {"refuse", "last", "first"}
        What to do with epochs that occur again: a line whose epoch occurred before begins a new branch there,
        of which the last or the first counts; one that goes back to the first epoch begins a run of its own.
    order : str, optional
        A column of numbers or of times (ISO 8601) that tells the order of writing. Without it such lines are
        refused if they differ in any column that is not read: these may be different metrics.

    Raises
    ------
    InvalidInputError
        With the row and the column.
    """
    rules = Rules(on_missing, on_repeated, order)
    sheet = read_sheet(path)
    named = _named(sheet, columns or {}, model, cluster)
    runs: Runs = {}
    unread = [name for name in sheet.header if name not in named.values() and name not in (where or {})]
    _require_unread(sheet, unread, order)
    chosen = _chosen(sheet, where or {})
    for row in chosen:
        cells = {name: row.cells[sheet.header.index(column)] for name, column in named.items()}
        rest = {name: row.cells[sheet.header.index(name)] for name in unread}
        line = _line(sheet, row.number, named, cells, first, percent)
        trained = _trained(sheet, row.number, line.epoch, model, cluster, cells)
        line = replace(line, unread=rest, model=trained[0], cluster=trained[1])
        runs.setdefault(cells.get("run", Path(path).stem), []).append(line)
    notes = [*_passed_over("column", unread), *_lines_passed_over(sheet, chosen, where or {})]
    return settled(sheet, runs, notes, rules)


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
    on_repeated: OnRepeated = "refuse",
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
        Read these runs alone, for files that hold more columns (or rows) than runs; all by default, but never
        the extremes and clocks of an export of Weights & Biases.
    model, cluster, first, on_missing, on_repeated
        As in `read_long`; model and cluster are needed.

    Raises
    ------
    InvalidInputError
        With the row and the column.
    """
    rules = Rules(on_missing, on_repeated)
    sheet = read_sheet(path)
    for name, given in (("model", model), ("cluster", cluster)):
        if given is None:
            raise InvalidInputError(f"a wide file names no {name}; give it", f".{name}")
    at = 0 if label is None else index_of(sheet, label)
    there = _wide_runs(sheet, runs_in, at)
    for run in runs or ():
        if run not in there:
            raise sheet.error(f"there is no run {run!r}; there are {', '.join(there)}")
    if runs is None and runs_in == "columns":
        _require_one_metric(sheet, there)
    named = list(dict.fromkeys(_names(sheet, runs_in, at)))
    unread = [name for name in named if name not in (there if runs is None else runs)]
    notes = _passed_over(runs_in[:-1], unread)
    found: Runs = {}
    for row in sheet.rows:
        for index, cell in enumerate(row.cells):
            run = sheet.header[index] if runs_in == "columns" else row.cells[at]
            if index != at and run not in unread:
                called = _called(sheet, runs_in, row, at, index) - first + 1
                loss, empty = _loss(sheet, row.number, sheet.header[index], cell)
                trained = _trained(sheet, row.number, called, model, cluster, {})
                line = Line(called, row.number, sheet.header[index], loss, empty, *trained)
                found.setdefault(run, []).append(line)
    kept = {run: _without_end(lines) for run, lines in found.items()}
    return settled(sheet, kept, notes, rules)


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


def _chosen(sheet: Sheet, where: Mapping[str, str]) -> list[Row]:
    """The lines that hold these values."""
    places = {index_of(sheet, column): value for column, value in where.items()}
    rows = [row for row in sheet.rows if all(row.cells[at] == value for at, value in places.items())]
    if not rows:
        raise sheet.error(f"no line has {_listed(where)}")
    return rows


def _passed_over(kind: str, names: Iterable[str]) -> list[Note]:
    return [Note(What.PASSED_OVER, f"{kind} {name!r} is passed over") for name in names]


def _lines_passed_over(sheet: Sheet, chosen: Sequence[Row], where: Mapping[str, str]) -> list[Note]:
    """A note of the lines that hold other values, if there are any."""
    others = len(sheet.rows) - len(chosen)
    text = f"{others} lines are passed over: {_listed(where)} is elsewhere"
    return [Note(What.PASSED_OVER, text)] if others else []


def _listed(where: Mapping[str, str]) -> str:
    return " and ".join(f"{value!r} in column {column!r}" for column, value in where.items())


def _names(sheet: Sheet, runs_in: str, at: int) -> list[str]:
    """Names of all columns, or lines, but that of the labels."""
    if runs_in == "columns":
        return [name for index, name in enumerate(sheet.header) if index != at]
    return [row.cells[at] for row in sheet.rows]


def _wide_runs(sheet: Sheet, runs_in: str, at: int) -> list[str]:
    """Names of the runs of a wide file."""
    names = list(dict.fromkeys(_names(sheet, runs_in, at)))
    if runs_in != "columns":
        return names
    return [name for name in names if not _is_extreme(name, names) and not name.endswith(_CLOCKS)]


def _is_extreme(name: str, names: Sequence[str]) -> bool:
    """Whether a column is the least or greatest value of another one's interval."""
    return name.endswith(_EXTREMES) and name[: -len(_EXTREMES[0])] in names


def _require_one_metric(sheet: Sheet, runs: Sequence[str]) -> None:
    """Refuse an export of Weights & Biases (columns "run - metric") that holds several metrics of a run."""
    if not any(_is_extreme(name, sheet.header) for name in sheet.header):
        return
    by_run: dict[str, str] = {}
    for name in runs:
        run, dash, _ = name.rpartition(" - ")
        if dash and run in by_run:
            message = f"is of the same run as {by_run[run]!r}; name the columns of one metric by runs"
            raise sheet.error(message, sheet.header_row, name)
        by_run[run] = name


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
        index_of(sheet, column)
    named = {name: columns.get(name, name) for name in ours}
    for name, given in (("model", model), ("cluster", cluster)):
        if given is not None:
            del named[name]
        elif named[name] not in sheet.header:
            raise sheet.error(f"there is no column {named[name]!r}; give {name}", sheet.header_row)
    for name in ("epoch", "loss"):
        index_of(sheet, named[name])
    return {name: column for name, column in named.items() if column in sheet.header}


def _line(
    sheet: Sheet, row: int, named: Mapping[str, str], cells: Mapping[str, str], first: int, percent: bool
) -> Line:
    """One line of a long file, without the names of model and cluster."""
    epoch = whole_number(sheet, row, named["epoch"], cells["epoch"]) - first + 1
    loss, empty = _loss(sheet, row, named["loss"], cells["loss"])
    metrics = {}
    for name in METRICS:
        if name in named:
            scaled, optional = percent and name != "start_loss", empty or name not in RATES
            metrics[name] = _share(sheet, row, named[name], cells[name], scaled, optional)
    return Line(epoch, row, named["loss"], loss, empty, metrics=metrics)


def _trained(
    sheet: Sheet, row: int, epoch: int, model: Names, cluster: Names, cells: Mapping[str, str]
) -> tuple[str, str]:
    """Model and cluster of an epoch: of its line where the file has such columns, otherwise as given."""
    return (
        cells["model"] if "model" in cells else _name(sheet, model, epoch, row, "model"),
        cells["cluster"] if "cluster" in cells else _name(sheet, cluster, epoch, row, "cluster"),
    )


def _require_unread(sheet: Sheet, unread: Sequence[str], order: str | None) -> None:
    """Refuse to order the lines by a column that the file lacks or that is read otherwise."""
    if order is not None and order not in unread:
        there = f"; there are {', '.join(unread)}" if unread else ", of which there is none"
        raise sheet.error(f"order must be a column that is not read otherwise{there}", sheet.header_row)


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


def _without_end(lines: Sequence[Line]) -> list[Line]:
    """A run of a wide file without the empty cells after its end; one stays if there is nothing else."""
    last = max((line.epoch for line in lines if not line.empty), default=min(line.epoch for line in lines))
    return [line for line in lines if line.epoch <= last]
