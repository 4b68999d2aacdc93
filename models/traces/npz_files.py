"""Traces in numpy's npz: the columns of the CSV as arrays, never a pickle; shipped so, and only read.

Two conventions make files smaller: ``model_names`` beside ``model`` (likewise for run and cluster) makes the
column indices into the names; ``loss_decimals`` beside ``loss`` (likewise for every metric) makes it whole
numbers in units of ten to the minus that many, -2147483648 for NaN. ``format``, ``version`` and
``provenance`` (a JSON object of strings) are optional.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.archives import read_npz_arrays
from depl.models.foundation.documents import LARGEST_FILE, decode
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.traces.metrics import METRICS
from depl.models.traces.table import COLUMNS, Traces

FORMAT, VERSION = "depl-traces", 1
MISSING = -(2**31)
_NAMES = ("run", "model", "cluster")
_MEASURED = ("loss", *METRICS)
_KNOWN = ("format", "version", "provenance", "epoch")
_ENDS = {**dict.fromkeys(_NAMES, "_names"), **dict.fromkeys(_MEASURED, "_decimals")}


def read_npz(path: str | Path) -> Traces:
    """Read traces from an npz file as described above.

    Raises
    ------
    InvalidInputError
        If the file cannot be read or is of another format, lacks a column, or holds columns that make no
        table; the path names the file, the column and, where it is known, the row (from 0).
    """
    content = read_npz_arrays(path)
    _require_known(path, content)
    try:
        run, model, cluster = (_names(content, name) for name in _NAMES)
        loss, *metrics = (_numbers(content, name) for name in _MEASURED if name in content)
        measured = dict(zip([name for name in METRICS if name in content], metrics, strict=True))
        provenance = decode(str(content.get("provenance", "{}")), dict[str, str])
        return Traces(run, content["epoch"], model, cluster, loss, measured, provenance)
    except InvalidInputError as error:
        column, _, row = error.path.removeprefix(".").partition("[")
        column = column.replace("$", "provenance")
        place = f"column {column}" + (f", row {row.removesuffix(']')}" if row else "")
        raise InvalidInputError(error.message, f"{path}, {place}") from error


def _require_known(path: str | Path, content: Mapping[str, NDArray[Any]]) -> None:
    for name, ours in (("format", FORMAT), ("version", str(VERSION))):
        if str(content.get(name, ours)) != ours:
            message = f"is {str(content[name])!r}; {ours!r} is read here, and nothing newer"
            raise InvalidInputError(message, f"{path}, {name}")
    missing = next((name for name in COLUMNS if name not in content), None)
    if missing is not None:
        raise InvalidInputError(f"there is no column {missing!r}", str(path))
    known = [*_KNOWN, *_ENDS, *(name + end for name, end in _ENDS.items())]
    for name in content:
        if name not in known:
            raise InvalidInputError(f"unknown array; {advice(name, sorted(known))}", f"{path}, {name}")


def _names(content: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    column, names = content[name], content.get(f"{name}_names")
    if names is None:
        return column
    if names.ndim != 1 or names.dtype.kind != "U":
        raise InvalidInputError("must be a row of names", f".{name}_names")
    if column.dtype.kind not in "iu" or (column.size and not 0 <= column.min() <= column.max() < len(names)):
        raise InvalidInputError(f"must hold indices of the {len(names)} names", f".{name}")
    if column.size * names.dtype.itemsize > LARGEST_FILE:
        message = f"needs more than {LARGEST_FILE >> 20} MiB with its names; take shorter ones"
        raise InvalidInputError(message, f".{name}")
    return np.asarray(names[column])


def _numbers(content: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    column, told = content[name], content.get(f"{name}_decimals")
    if told is None:
        return column
    if str(told) not in map(str, range(16)):
        message = f"must be a whole number from 0 to 15, not {str(told)[:40]}"
        raise InvalidInputError(message, f".{name}_decimals")
    if column.dtype.kind not in "iu":
        message = f"holds {column.dtype}, not the whole numbers that decimals go with"
        raise InvalidInputError(message, f".{name}")
    return np.where(column == MISSING, np.nan, column / 10.0 ** int(str(told)))
