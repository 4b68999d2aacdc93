"""Runs of mlflow: the file store (a folder ``mlruns``), and SQLite (``mlflow.db``), the default now."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from depl.models.foundation.documents import read_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.plain_yaml import read_flat
from depl.models.tool_logs.points import LoggedRun, merged
from depl.models.traces.csv_files import number

SQLITE = b"SQLite format 3\x00"
"""How files of SQLite begin."""

_RUNS = "SELECT run_uuid, name FROM runs WHERE lifecycle_stage = 'active' ORDER BY start_time, run_uuid"
_METRICS = "SELECT step, key, value, is_nan FROM metrics WHERE run_uuid = ? ORDER BY step, timestamp, key"
_PARAMS = "SELECT key, value FROM params WHERE run_uuid = ?"


def read_store(folder: Path) -> LoggedRun:
    """One run of the file store: a folder with ``metrics``, ``params`` and ``meta.yaml``.

    Raises
    ------
    InvalidInputError
        If a line of a metric is not "timestamp value step".
    """
    meta = read_flat(folder / "meta.yaml")
    tag = folder / "tags" / "mlflow.runName"
    name = meta.get("run_name") or (read_text(tag).strip() if tag.is_file() else "") or folder.name
    logged = sorted(_metric_lines(folder / "metrics"), key=lambda item: (item[1], item[0]))
    settings = {
        path.relative_to(folder / "params").as_posix(): read_text(path).strip()
        for path in sorted((folder / "params").rglob("*"))
        if path.is_file()
    }
    return LoggedRun(name, str(folder), merged(logged, "step"), settings)


def is_run(folder: Path) -> bool:
    """Whether a folder is a run of the file store that was not deleted."""
    if not (folder / "metrics").is_dir() or not (folder / "meta.yaml").is_file():
        return False
    return read_flat(folder / "meta.yaml").get("lifecycle_stage", "active") == "active"


def read_database(path: Path) -> list[LoggedRun]:
    """All runs of a SQLite store that were not deleted.

    Raises
    ------
    InvalidInputError
        If the file is no store of mlflow.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as store:
            return [
                LoggedRun(
                    name or run,
                    str(path),
                    merged(_rows(store, run), "step"),
                    {key: str(value) for key, value in store.execute(_PARAMS, (run,))},
                )
                for run, name in store.execute(_RUNS).fetchall()
            ]
    except sqlite3.Error as error:
        raise InvalidInputError(f"is no store of mlflow ({error})", str(path)) from error


def _rows(store: sqlite3.Connection, run: str) -> Iterator[tuple[int, float, str, float]]:
    for row, (step, key, value, no_number) in enumerate(store.execute(_METRICS, (run,)), start=1):
        yield row, float(step), key, float("nan") if no_number else float(value)


def _metric_lines(folder: Path) -> Iterator[tuple[int, float, str, float]]:
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        key = path.relative_to(folder).as_posix()
        for row, line in enumerate(read_text(path).splitlines(), start=1):
            cells = [number(cell) for cell in line.split()]
            if len(cells) not in (2, 3) or any(cell is None for cell in cells):
                message = f"must be 'timestamp value step', not {line[:40]!r}"
                raise InvalidInputError(message, f"{path}, row {row}")
            step = cells[2] if len(cells) == 3 else 0.0
            yield row, float(step or 0.0), key, float(cells[1] or 0.0)
