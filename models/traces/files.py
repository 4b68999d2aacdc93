"""Files of training traces: CSV, plain or packed by gzip; numpy's npz, which was written once, is read.

::

    # command: python train.py --seeds 2
    run,epoch,model,cluster,loss,error_rate
    0,0,pruned-50,edge,2.317,0.902
    0,1,pruned-50,edge,1.944,0.613
"""

import csv
import gzip
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.archives import read_npz_arrays
from depl.models.foundation.documents import LARGEST_FILE, decode, write_bytes
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.tables import shown
from depl.models.traces.metrics import METRICS
from depl.models.traces.sheets import Sheet, at, number, read_sheet
from depl.models.traces.table import COLUMNS, LEFT_OUT, Traces, place_of

_NAMES = ("run", "model", "cluster")
_LARGEST_WHOLE = 2**53
"""From here on floating-point numbers are no longer all whole numbers."""
_LONGEST_NAME = 1000
"""Characters of the name of a run, model or cluster: every row takes the space of the longest."""
_MISSING = -(2**31)
"""What stands for NaN in npz files among whole numbers."""


def read_traces(path: str | Path) -> Traces:
    """Read a file of the format of ours, strictly; other files are for `depl.models.tool_logs.importing`.

    Parameters
    ----------
    path : str or Path
        An npz file if its name ends in ``.npz``, otherwise a CSV file, which may be packed by gzip.
        In CSV any order of columns and of lines will do, and a cell is empty only in a ``start_...`` column,
        where the metric was not evaluated. Lines in front of the header that begin with ``#`` are the
        provenance. In npz ``model_names`` beside ``model`` (likewise for run and cluster) makes the column
        indices into the names; ``loss_decimals`` beside ``loss`` (likewise for every metric) makes it whole
        numbers in units of ten to the minus that many, -2147483648 for NaN; nothing is ever unpickled.

    Raises
    ------
    InvalidInputError
        If the file cannot be read or is not exactly of that format; the path of the error names the file,
        the row and the column.
    """
    return _of_archive(path) if Path(path).suffix == ".npz" else _of_sheet(read_sheet(path))


def write_traces(path: str | Path, traces: Traces) -> None:
    """Write traces so that a reader sees the old file or the new one, never half of it.

    Parameters
    ----------
    path : str or Path
        Of a CSV file, packed by gzip if the path ends in ``.gz``. Every number is read back as it was, and a
        name that a spreadsheet would take for a formula has an apostrophe in front.
    traces : Traces

    Raises
    ------
    InvalidInputError
        If the file cannot be written, or is to be npz.
    """
    require_csv(path)
    page = io.StringIO()
    for pair in traces.provenance.items():
        page.write(f"# {': '.join(' '.join(text.split()) for text in pair)}\n")
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow([*COLUMNS, *traces.metrics])
    columns = [*(getattr(traces, name) for name in COLUMNS), *traces.metrics.values()]
    for row in zip(*(column.tolist() for column in columns), strict=True):
        writer.writerow(["" if cell != cell else shown(cell) for cell in row])
    content = page.getvalue().encode("utf-8")
    write_bytes(path, gzip.compress(content, mtime=0) if Path(path).suffix == ".gz" else content)


def require_csv(path: str | Path) -> None:
    """Refuse a path of npz, before what is to be written there is made."""
    if Path(path).suffix == ".npz":
        message = "npz files of traces are read and no longer written: write .csv or .csv.gz"
        raise InvalidInputError(message, str(path))


def assembled(
    path: str, rows: Sequence[int], columns: Mapping[str, Sequence[Any]], provenance: Mapping[str, str]
) -> Traces:
    """The table of rows of a file, by run in the order of appearance and by epoch.

    Raises
    ------
    InvalidInputError
        With the row of the file and the column of what is wrong.
    """
    for name in _NAMES:
        for row, cell in zip(rows, columns[name], strict=True):
            if len(cell) > _LONGEST_NAME:
                message = f"must be a name of at most {_LONGEST_NAME} characters, not one of {len(cell)}"
                raise InvalidInputError(message, at(path, row, name))
    arrays = {name: np.array(column) for name, column in columns.items()}
    _, first, code = np.unique(arrays["run"], return_index=True, return_inverse=True)
    order = np.lexsort((arrays["epoch"], first[code]))
    ordered = {name: column[order] for name, column in arrays.items()}
    metrics = {name: ordered.pop(name) for name in columns if name not in COLUMNS}
    try:
        return Traces(**ordered, metrics=metrics, provenance=provenance)
    except InvalidInputError as error:
        column, place = place_of(error)
        raise InvalidInputError(error.message, at(path, rows[order[place or 0]], column)) from error


def _of_sheet(sheet: Sheet) -> Traces:
    missing = [name for name in COLUMNS if name not in sheet.header]
    if missing:
        message = (
            f"there is no column {missing[0]!r}; logs of training tools are read by 'depl traces import "
            f"{Path(sheet.path).name} --loss KEY --out runs.csv', and by --loss KEY of fit and diagnose"
        )
        raise InvalidInputError(message, at(sheet.path, sheet.header_row))
    for name in sheet.header:
        if name not in (*COLUMNS, *METRICS):
            message = f"unknown column; {advice(name, (*COLUMNS, *METRICS))}"
            raise InvalidInputError(message, at(sheet.path, column=name))
    rows = [row.number for row in sheet.rows]
    cells = dict(zip(sheet.header, zip(*(row.cells for row in sheet.rows), strict=True), strict=True))
    columns: dict[str, Sequence[Any]] = {}
    for name in ("epoch", *(name for name in cells if name != "epoch")):
        pairs = zip(rows, cells[name], strict=True)
        as_is = name in _NAMES
        columns[name] = cells[name] if as_is else [_read(sheet, row, name, cell) for row, cell in pairs]
    return assembled(sheet.path, rows, columns, sheet.provenance)


def _read(sheet: Sheet, row: int, column: str, cell: str) -> float:
    """A cell as a number, an epoch as a whole one: ``3.0`` and ``3e0``, as some loggers write it, are 3."""
    if not cell and column.startswith("start_"):
        return float("nan")
    value, whole = number(cell), column == "epoch"
    if whole and value is not None and value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return int(value)
    if value is None or whole:
        least = "below 2^53" if value is not None and value.is_integer() else "a whole number"
        message = f"must be {least if whole else 'a number'}, not {cell[:40]!r}"
    elif np.isfinite(value):
        return value
    else:
        read = "'depl traces import --on-missing end' reads runs that diverged or stopped early"
        message = f"must be a finite number, not {cell}; {read}, or {LEFT_OUT}"
    raise InvalidInputError(message, at(sheet.path, row, column))


def _of_archive(path: str | Path) -> Traces:
    """The columns of an npz file as arrays, and where it is wrong the column and the row, from 0."""
    content = read_npz_arrays(path)
    if missing := [name for name in COLUMNS if name not in content]:
        raise InvalidInputError(f"there is no column {missing[0]!r}", str(path))
    try:
        columns = {name: _unpacked(content, name) for name in (*COLUMNS, *METRICS) if name in content}
        metrics = {name: columns.pop(name) for name in METRICS if name in columns}
        provenance = decode(str(content.get("provenance", "{}")), dict[str, str])
        return Traces(**columns, metrics=metrics, provenance=provenance)
    except InvalidInputError as error:
        column, row = place_of(error)
        place = at(path, column=column.replace("$", "provenance"))
        raise InvalidInputError(error.message, place if row is None else f"{place}, row {row}") from error
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        raise InvalidInputError(f"is no npz file of columns ({error})", str(path)) from error


def _unpacked(content: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    """A column, without the two conventions by which files are smaller."""
    column, decimals = content[name], content.get(f"{name}_decimals")
    if decimals is None and f"{name}_names" not in content:
        return column
    if column.dtype.kind not in "iu":
        raise InvalidInputError(f"holds {column.dtype}, not the whole numbers that these go with", f".{name}")
    if decimals is not None:
        return np.where(column == _MISSING, np.nan, column / 10.0 ** int(decimals))
    names = content[f"{name}_names"]
    if column.size * names.dtype.itemsize > LARGEST_FILE:
        message = f"needs more than {LARGEST_FILE >> 20} MiB with its names; take shorter ones"
        raise InvalidInputError(message, f".{name}")
    if column.size and not 0 <= column.min() <= column.max() < len(names):
        raise InvalidInputError(f"must hold indices of the {len(names)} names", f".{name}")
    return np.asarray(names[column])
