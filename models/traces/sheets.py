"""CSV files as cells: a header, and rows of as many cells with their numbers as spreadsheets count lines."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from depl.models.foundation.csv_cells import meant
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted
from depl.models.traces.text_files import log_text

_NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|nan|inf|infinity)", re.IGNORECASE)
_POINT = re.compile(r"[+-]?[0-9]*\.[0-9]+(e[+-]?[0-9]+)?", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(e[+-]?[0-9]+)?", re.IGNORECASE)
"""Numbers with a decimal point, and with a decimal comma."""
_QUOTED = re.compile(r'"[^"]*"')
MOST_COLUMNS = 100_000
"""Set by hand: exports of charts have three columns a run; more take minutes and are a table on its side."""


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


def at(path: object, row: int | None = None, column: str | None = None) -> str:
    """A place in a file: ``traces.csv, row 17, column loss``."""
    place = str(path) if row is None else f"{path}, row {row}"
    return place if column is None else f"{place}, column {column}"


def number(cell: str) -> float | None:
    """A cell as a number, NaN and infinite ones too; None if it is none, as ``1_000`` and ``2,5`` are."""
    return float(cell) if _NUMBER.fullmatch(cell) else None


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
    text, skipped = log_text(path), 0
    while text.startswith("#"):
        line, _, text = text.partition("\n")
        key, _, value = line.removeprefix("#").partition(":")
        provenance[key.strip()] = value.strip()
        skipped += 1
    separator = _separator(path, text)
    rows = list(_rows(path, text, skipped, separator))
    if not rows:
        raise InvalidInputError("is empty; a header line is needed", str(path))
    (row, header), *body = rows if separator == "," else _with_points(rows)
    twice, times = Counter(header).most_common(1)[0]
    if times > 1:
        raise InvalidInputError("the header names the column twice", at(path, row, twice))
    for place, cells in body:
        if len(cells) != len(header):
            message = f"has {counted(len(cells), 'cell')} where the header has {len(header)}"
            raise InvalidInputError(message, at(path, place))
    if not body:
        raise InvalidInputError("holds a header and no row", at(path, row))
    *others, last = [cells[-1] for _, cells in body]
    open_end = others and not text.endswith("\n") and number(last) is not None
    if open_end and 2 * len(last) < min(map(len, others)):
        message = f"ends in {last!r}, which seems to be cut: copy the file again, or end its last line"
        raise InvalidInputError(message, at(path, body[-1].number, header[-1]))
    return Sheet(str(path), provenance, header, row, body)


def _separator(path: str | Path, text: str) -> str:
    """What stands between the cells: as often in the first row as in the header, and there most often."""
    lines = [_QUOTED.sub("", line) for line in text.lstrip("\n").split("\n", 2)[:2]]
    counts = {sign: [line.count(sign) for line in lines if line] for sign in ",;\t"}
    alike = [sign for sign in counts if len(set(counts[sign])) == 1 and counts[sign][0]] or counts
    found = max(alike, key=lambda sign: counts[sign][:1])
    if counts[found][:1] >= [MOST_COLUMNS]:
        message = f"has {counts[found][0] + 1} columns; at most {MOST_COLUMNS} are read"
        raise InvalidInputError(message, str(path))
    return found


def _with_points(rows: list[Row]) -> list[Row]:
    """Rows with decimal points for commas, if no number among them has a point already."""
    if any(_POINT.fullmatch(cell) for row in rows for cell in row.cells):
        return rows
    return [
        Row(place, [cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell for cell in cells])
        for place, cells in rows
    ]


def _rows(path: str | Path, text: str, skipped: int, separator: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    last = skipped
    try:
        for cells in reader:
            place, last = last + 1, skipped + reader.line_num
            if any(cell.strip() for cell in cells):
                yield Row(place, [meant(cell.strip()) for cell in cells])
    except csv.Error as error:
        raise InvalidInputError(f"is no CSV ({error})", at(path, last + 1)) from error
