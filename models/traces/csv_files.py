"""Traces as CSV: a header line with the names of the columns, then one line per run and epoch.

::

    # command: python train.py --seeds 2
    run,epoch,model,cluster,loss,error_rate
    0,0,pruned-50,edge,2.317,0.902
    0,1,pruned-50,edge,1.944,0.613

The columns run, epoch, model, cluster and loss are needed; ``accuracy``, ``error_rate`` and the three of
``start_...`` may follow (`depl.models.traces.table`). Any order of columns and of lines will do. A cell is
empty only in a ``start_...`` column, where the metric was not evaluated. Lines in front of the header that
begin with ``#`` are the provenance, ``# key: value``. What is wrong is reported with the number of the row,
counted as editors and spreadsheets count lines. A name that a spreadsheet would take for a formula is written
with an apostrophe in front (`depl.models.foundation.csv_cells`).
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from depl.models.foundation.csv_cells import meant, shown
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted
from depl.models.traces.metrics import METRICS
from depl.models.traces.table import COLUMNS, LEFT_OUT, Numbers, Texts, Traces, first_offence
from depl.models.traces.text_files import log_text

_NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|nan|inf|infinity)", re.IGNORECASE)
_POINT = re.compile(r"[+-]?[0-9]*\.[0-9]+(e[+-]?[0-9]+)?", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(e[+-]?[0-9]+)?", re.IGNORECASE)
"""Numbers with a decimal point, and with a decimal comma."""
_QUOTED = re.compile(r'"[^"]*"')
_SEPARATORS = (",", ";", "\t")
MOST_COLUMNS = 100_000
"""Set by hand: exports of charts have three columns a run; more take minutes and are a table on its side."""

_LARGEST_WHOLE = 2**53
"""From here on floating-point numbers are no longer all whole numbers."""
_LONGEST_NAME = 1000
"""Characters of the name of a run, model or cluster: every row takes the space of the longest."""


class Row(NamedTuple):
    """One line of cells with its number in the file."""

    number: int
    cells: list[str]


class Sheet(NamedTuple):
    """What stands in a CSV file."""

    path: str
    provenance: dict[str, str]
    header: list[str]
    header_row: int
    rows: list[Row]

    def error(self, message: str, row: int | None = None, column: str | None = None) -> InvalidInputError:
        """An error at a place of the file: ``traces.csv, row 17, column loss``."""
        where = [self.path]
        if row is not None:
            where.append(f"row {row}")
        if column is not None:
            where.append(f"column {column}")
        return InvalidInputError(message, ", ".join(where))


def read_csv(path: str | Path) -> Traces:
    """Read traces from a CSV file as described above.

    Raises
    ------
    InvalidInputError
        With the row and the column of the first offence.
    """
    sheet = read_sheet(path)
    missing = [name for name in COLUMNS if name not in sheet.header]
    if missing:
        message = (
            f"there is no column {missing[0]!r}; logs of training tools are read by 'depl traces import "
            f"{Path(path).name} --loss KEY --out runs.csv', and by --loss KEY of fit and diagnose"
        )
        raise sheet.error(message, sheet.header_row)
    for name in sheet.header:
        if name not in (*COLUMNS, *METRICS):
            message = f"unknown column; {advice(name, (*COLUMNS, *METRICS))}"
            raise sheet.error(message, column=name)
    columns = dict(zip(sheet.header, zip(*(row.cells for row in sheet.rows), strict=True), strict=True))
    numbers = [row.number for row in sheet.rows]
    epochs = [
        whole_number(sheet, number, "epoch", cell)
        for number, cell in zip(numbers, columns["epoch"], strict=True)
    ]
    measured = {
        name: np.array(
            [_number(sheet, number, name, cell) for number, cell in zip(numbers, cells, strict=True)]
        )
        for name, cells in columns.items()
        if name == "loss" or name in METRICS
    }
    return assembled(
        sheet,
        numbers,
        {name: names_column(sheet, numbers, name, columns[name]) for name in ("run", "model", "cluster")},
        np.array(epochs, dtype=np.int64),
        measured,
    )


def write_csv(traces: Traces) -> str:
    """The text of the file; numbers in full, so that they are read back as they were."""
    page = io.StringIO()
    for key, value in traces.provenance.items():
        page.write(f"# {_one_line(key)}: {_one_line(value)}\n")
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow([*COLUMNS, *traces.metrics])
    columns = [traces.run, traces.epoch, traces.model, traces.cluster, traces.loss, *traces.metrics.values()]
    for row in zip(*(column.tolist() for column in columns), strict=True):
        writer.writerow(["" if cell != cell else shown(cell) for cell in row])
    return page.getvalue()


def read_sheet(path: str | Path) -> Sheet:
    """The cells of a CSV file, stripped, every row as long as the header; empty lines are passed over.

    The separator is a comma, a semicolon or a tab. With the last two numbers may have a decimal comma, which
    becomes a point unless a number of the file has a point already.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, is no CSV, has no header or no row, names a column twice, has a row of
        another length, or ends within a number.
    """
    provenance: dict[str, str] = {}
    text = log_text(path)
    skipped = 0
    while text.startswith("#"):
        line, _, text = text.partition("\n")
        key, _, value = line.removeprefix("#").partition(":")
        provenance[key.strip()] = value.strip()
        skipped += 1
    separator = _separator(str(path), text)
    rows = list(_rows(str(path), text, skipped, separator))
    if not rows:
        raise InvalidInputError("is empty; a header line is needed", str(path))
    head, *body = rows if separator == "," else _with_points(rows)
    sheet = Sheet(str(path), provenance, head.cells, head.number, body)
    if len(set(head.cells)) < len(head.cells):
        twice, _ = Counter(head.cells).most_common(1)[0]
        raise sheet.error("the header names the column twice", head.number, twice)
    for row in body:
        if len(row.cells) != len(head.cells):
            message = f"has {counted(len(row.cells), 'cell')} where the header has {len(head.cells)}"
            raise sheet.error(message, row.number)
    if not body:
        raise sheet.error("holds a header and no row", head.number)
    if not text.endswith("\n"):
        _require_whole(sheet)
    return sheet


def number(cell: str) -> float | None:
    """A cell as a number, NaN and infinite ones too; None if it is none, as ``1_000`` and ``2,5`` are."""
    return float(cell) if _NUMBER.fullmatch(cell) else None


def whole_number(sheet: Sheet, row: int, column: str, cell: str) -> int:
    """A cell as a whole number; ``3.0`` and ``3e0``, as some loggers write it, are 3.

    Raises
    ------
    InvalidInputError
        With the row and the column.
    """
    value = number(cell)
    if value is None or not value.is_integer():
        raise sheet.error(f"must be a whole number, not {cell[:40]!r}", row, column)
    if abs(value) >= _LARGEST_WHOLE:
        raise sheet.error(f"must be below 2^53, not {cell[:40]!r}", row, column)
    return int(value)


def names_column(sheet: Sheet, rows: Sequence[int], column: str, cells: Sequence[str]) -> Texts:
    """The names of a column of the table.

    Raises
    ------
    InvalidInputError
        If one of them is longer than any name.
    """
    for row, cell in zip(rows, cells, strict=True):
        if len(cell) > _LONGEST_NAME:
            message = f"must be a name of at most {_LONGEST_NAME} characters, not one of {len(cell)}"
            raise sheet.error(message, row, column)
    return np.array(cells)


def assembled(
    sheet: Sheet,
    numbers: Sequence[int],
    names: Mapping[str, Texts],
    epochs: np.ndarray,
    measured: Mapping[str, Numbers],
) -> Traces:
    """Put rows in the order of runs (by first appearance) and epochs, and check the table.

    Raises
    ------
    InvalidInputError
        With the row and the column of the first offence.
    """
    _, first, code = np.unique(names["run"], return_index=True, return_inverse=True)
    order = np.lexsort((epochs, first[code]))
    run, model, cluster = (names[name][order] for name in ("run", "model", "cluster"))
    columns = {name: column[order] for name, column in measured.items()}
    loss = columns.pop("loss")
    offence = first_offence(run, epochs[order], model, cluster, loss, columns)
    if offence is not None:
        raise sheet.error(offence.message, int(np.asarray(numbers)[order][offence.row]), offence.column)
    return Traces(run, epochs[order], model, cluster, loss, columns, sheet.provenance)


def _separator(path: str, text: str) -> str:
    """What stands between the cells: as often in the first row as in the header, and there most often.

    Raises
    ------
    InvalidInputError
        If there are too many columns.
    """
    body = text.lstrip("\n")
    lines = [_QUOTED.sub("", line) for line in body.split("\n", 2)[:2]]
    counts = {sign: [line.count(sign) for line in lines if line] for sign in _SEPARATORS}
    alike = [sign for sign in _SEPARATORS if len(set(counts[sign])) == 1 and counts[sign][0]] or _SEPARATORS
    found = max(alike, key=lambda sign: counts[sign][:1])
    if counts[found][:1] >= [MOST_COLUMNS]:
        message = f"has {counts[found][0] + 1} columns; at most {MOST_COLUMNS} are read"
        raise InvalidInputError(message, path)
    return found


def _with_points(rows: list[Row]) -> list[Row]:
    """Rows with decimal points for commas, if no number among them has a point already."""
    cells = [cell for row in rows for cell in row.cells]
    if any(map(_POINT.fullmatch, cells)) or not any(map(_COMMA.fullmatch, cells)):
        return rows
    return [
        row._replace(cells=[cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell for cell in row.cells])
        for row in rows
    ]


def _rows(path: str, text: str, skipped: int, separator: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    last = skipped
    try:
        for cells in reader:
            number, last = last + 1, skipped + reader.line_num
            if any(cell.strip() for cell in cells):
                yield Row(number, [meant(cell.strip()) for cell in cells])
    except csv.Error as error:
        raise InvalidInputError(f"is no CSV ({error})", f"{path}, row {last + 1}") from error


def _require_whole(sheet: Sheet) -> None:
    """Refuse a last number of less than half the digits of all others, where its line is not ended."""
    *others, last = [row.cells[-1] for row in sheet.rows]
    if others and number(last) is not None and 2 * len(last) < min(map(len, others)):
        message = f"ends in {last!r}, which seems to be cut: copy the file again, or end its last line"
        raise sheet.error(message, sheet.rows[-1].number, sheet.header[-1])


def _number(sheet: Sheet, row: int, column: str, cell: str) -> float:
    if not cell and column.startswith("start_"):
        return float("nan")
    value = number(cell)
    if value is None:
        raise sheet.error(f"must be a number, not {cell[:40]!r}", row, column)
    if not np.isfinite(value):
        read = "'depl traces import --on-missing end' reads runs that diverged or stopped early"
        message = f"must be a finite number, not {cell}; {read}, or {LEFT_OUT}"
        raise sheet.error(message, row, column)
    return value


def _one_line(text: str) -> str:
    return " ".join(text.split())
