"""Traces as numpy's npz: the columns of the CSV as arrays, never a pickle.

The archive holds ``run``, ``epoch``, ``model``, ``cluster``, ``loss`` and further metrics, all of one length;
``np.savez("traces.npz", run=..., epoch=..., ...)`` makes one. Files that depl writes are smaller by two
conventions, which any archive may use:

- ``model_names`` beside ``model`` (likewise for run and cluster): the column holds indices into the names;
- ``loss_decimals`` beside ``loss`` (likewise for every metric): the column holds whole numbers in units of
  ten to the minus that many; -2147483648 stands for NaN.

``format``, ``version`` and ``provenance`` (a JSON object of strings) are optional.
"""

import io
import json
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
from depl.models.traces.table import COLUMNS, Numbers, Traces

FORMAT = "depl-traces"
VERSION = 1
"""Version of the format."""

MISSING = -(2**31)
_NAMES = ("run", "model", "cluster")
_MOST_DECIMALS = 15
"""Decimals that a double keeps of numbers below 1."""


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
        names = {name: _names(content, name) for name in _NAMES}
        measured = {name: _numbers(content, name) for name in ("loss", *METRICS) if name in content}
        loss = measured.pop("loss")
        columns = (names["run"], content["epoch"], names["model"], names["cluster"])
        return Traces(*columns, loss, measured, _provenance(content))
    except InvalidInputError as error:
        raise InvalidInputError(error.message, f"{path}, {_place(error.path)}") from error


def write_npz(traces: Traces, decimals: int | None = None) -> bytes:
    """The content of the file: compressed, equal bytes for equal traces.

    Parameters
    ----------
    traces : Traces
    decimals : int, optional
        Round losses and metrics to so many decimals, which saves most of the space; in full without it.

    Raises
    ------
    InvalidInputError
        If there cannot be so many decimals: a number would need more than 31 bits.
    """
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION, "epoch": _small(traces.epoch)}
    content["provenance"] = json.dumps(dict(traces.provenance), ensure_ascii=False, sort_keys=True)
    for name in _NAMES:
        unique, first, code = np.unique(getattr(traces, name), return_index=True, return_inverse=True)
        order = np.argsort(first)  # names in the order in which they first occur
        content[f"{name}_names"] = unique[order]
        content[name] = _small(np.argsort(order)[code])
    for name, column in {"loss": traces.loss, **traces.metrics}.items():
        content |= {name: column} if decimals is None else _rounded(name, column, decimals)
    page = io.BytesIO()
    np.savez_compressed(page, **content)
    return page.getvalue()


def _rounded(name: str, column: Numbers, decimals: int) -> dict[str, Any]:
    if not 0 <= decimals <= _MOST_DECIMALS:
        raise InvalidInputError(f"must be from 0 to {_MOST_DECIMALS}, not {decimals}", ".decimals")
    units = np.round(column * 10.0**decimals)
    if np.nanmax(np.abs(units), initial=0.0) >= -MISSING:
        raise InvalidInputError(f"{name} does not fit with {decimals} decimals; take fewer", ".decimals")
    whole = np.where(np.isnan(units), MISSING, units).astype(np.int32)
    return {name: whole, f"{name}_decimals": decimals}


def _small(column: NDArray[np.int64]) -> NDArray[Any]:
    return column.astype(np.uint16 if column.max() < 2**16 else np.int64)


def _require_known(path: str | Path, content: Mapping[str, NDArray[Any]]) -> None:
    if "format" in content and str(content["format"]) != FORMAT:
        message = f"is {str(content['format'])!r}; a {FORMAT!r} file is needed here"
        raise InvalidInputError(message, f"{path}, format")
    if "version" in content and str(content["version"]) != str(VERSION):
        message = f"{content['version']} is not known to this depl, which reads {VERSION}; update one of them"
        raise InvalidInputError(message, f"{path}, version")
    for name in COLUMNS:
        if name not in content:
            raise InvalidInputError(f"there is no column {name!r}", str(path))
    known = {"format", "version", "provenance", "epoch", *_NAMES, *(f"{name}_names" for name in _NAMES)}
    known |= {f"{name}{end}" for name in ("loss", *METRICS) for end in ("", "_decimals")}
    for name in content:
        if name not in known:
            raise InvalidInputError(f"unknown array; {advice(name, sorted(known))}", f"{path}, {name}")


def _names(content: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    column = content[name]
    names = content.get(f"{name}_names")
    if names is None:
        return column
    if names.ndim != 1 or names.dtype.kind != "U":
        raise InvalidInputError("must be a row of names", f".{name}_names")
    if column.dtype.kind not in "iu":
        raise InvalidInputError(f"holds {column.dtype}, not indices of names", f".{name}")
    if column.size and not 0 <= column.min() <= column.max() < len(names):
        raise InvalidInputError(f"holds an index without a name; there are {len(names)}", f".{name}")
    if column.size * names.dtype.itemsize > LARGEST_FILE:
        message = f"needs more than {LARGEST_FILE >> 20} MiB with its names; take shorter ones"
        raise InvalidInputError(message, f".{name}")
    return np.asarray(names[column])


def _numbers(content: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    column = content[name]
    if f"{name}_decimals" not in content:
        return column
    text = str(content[f"{name}_decimals"])
    if not (text.isascii() and text.isdigit() and len(text) <= 2 and int(text) <= _MOST_DECIMALS):
        message = f"must be a whole number from 0 to {_MOST_DECIMALS}, not {text[:40]}"
        raise InvalidInputError(message, f".{name}_decimals")
    if column.dtype.kind not in "iu":
        raise InvalidInputError(
            f"holds {column.dtype}, not the whole numbers that decimals go with", f".{name}"
        )
    return np.where(column == MISSING, np.nan, column / 10.0 ** int(text))


def _provenance(content: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    try:
        return decode(str(content.get("provenance", "{}")), dict[str, str])
    except InvalidInputError as error:
        message = f"must be a JSON object of strings ({error.message})"
        raise InvalidInputError(message, f".provenance{error.path.removeprefix('$')}") from error


def _place(path: str) -> str:
    """``.loss[3]`` as ``column loss, row 3``."""
    column, _, row = path.removeprefix(".").partition("[")
    return f"column {column}" + (f", row {row.removesuffix(']')}" if row else "")
