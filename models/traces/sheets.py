"""Logs as text, and CSV files as cells with the numbers of their rows as spreadsheets count lines.

Regular files alone, as they are or packed by gzip, in UTF-8 or in UTF-16 with its mark.
"""

import codecs
import csv
import gzip
import io
import os
import re
import stat
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from depl.models.foundation.archives import inflated
from depl.models.foundation.documents import read_bytes, reason_of
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tables import meant
from depl.models.foundation.wording import counted

_GZIP = b"\x1f\x8b"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HANDED_OVER = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""Pipes that a shell hands over have a writer at their other end, or have had one."""
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


def unpacked(path: Path) -> Path:
    """What a file would be called without its packing."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def require_end(path: str | Path) -> None:
    """Refuse what is not there, or may never end, or never begin: a named pipe or a device."""
    try:
        kind = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"cannot be read ({reason_of(error)})", str(path)) from error
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or str(path).startswith(_HANDED_OVER)):
        raise InvalidInputError("is no file but a pipe or a device: write it into a file", str(path))


def log_bytes(path: str | Path) -> bytes:
    """The content of a file that ends."""
    require_end(path)
    return read_bytes(path)


def first_bytes(path: str | Path, count: int) -> bytes:
    """How a file begins, once it is unpacked; nothing where it cannot be read."""
    try:
        require_end(path)
        with open(path, "rb") as file:
            content = file.read(count)
        if not content.startswith(_GZIP):
            return content
        with gzip.open(path) as packed:
            return packed.read(count)
    except (OSError, EOFError, zlib.error, InvalidInputError):
        return b""


def log_text(path: str | Path) -> str:
    """The text of a file, without a mark of its encoding, every line ended by a line feed alone.

    Raises
    ------
    InvalidInputError
        If it is no text, a broken gzip file, or larger than what is read at most once it is unpacked.
    """
    content = log_bytes(path)
    if content.startswith(_GZIP):
        content = inflated(content, str(path))
    encoding = encoding_of(content)
    try:
        return content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"not {encoding.upper()[:6].rstrip('-')} text", str(path)) from error


def encoding_of(content: bytes) -> str:
    """The encoding of a text by the mark at its beginning; UTF-8 without one."""
    return "utf-16" if content.startswith(_UTF_16) else "utf-8-sig"
