"""Runs of mlflow: the file store (a folder ``mlruns``), and SQLite (``mlflow.db``), the default now."""

import contextlib
import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted
from depl.models.tool_logs.plain_yaml import read_flat
from depl.models.tool_logs.points import LoggedRun, Value, figure_of, merged, value_of
from depl.models.tool_logs.reading import UNFINISHED, reader
from depl.models.traces.sheets import number
from depl.models.traces.text_files import log_text

SQLITE = b"SQLite format 3\x00"
"""How files of SQLite begin."""

_RUNS = "SELECT run_uuid, name, lifecycle_stage FROM runs ORDER BY start_time, run_uuid"
_METRICS = "SELECT step, key, value, is_nan FROM metrics WHERE run_uuid = ? ORDER BY timestamp, step, key"
_PARAMS = "SELECT key, value FROM params WHERE run_uuid = ?"
_TABLES = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('runs', 'metrics', 'params')"
DELETED = "a run that was deleted"
"""What is said of one."""
_LONGEST_CELL = 2**20
"""Bytes of a cell that is read: a column may be computed, and then be of any length."""
_INFINITE = 1.7976931348623157e308
"""What mlflow writes into SQL for infinity."""


@reader
def read_store(folder: Path) -> LoggedRun:
    """One run of the file store: a folder with ``metrics``, ``params`` and ``meta.yaml``.

    Raises
    ------
    InvalidInputError
        If a line of a metric is not "timestamp value step".
    """
    meta = read_flat(folder / "meta.yaml")
    tag = folder / "tags" / "mlflow.runName"
    name = meta.get("run_name") or (log_text(tag).strip() if tag.is_file() else "") or folder.name
    remarks: dict[str, str] = {}
    logged = [line for _, line in sorted(_metric_lines(folder / "metrics", remarks), key=_written)]
    settings = {
        path.relative_to(folder / "params").as_posix(): log_text(path).strip()
        for path in sorted((folder / "params").rglob("*"))
        if path.is_file()
    }
    return LoggedRun(name, str(folder), merged(logged, "step"), settings, remarks)


def is_run(folder: Path) -> bool:
    """Whether a folder is a run of the file store, be it without any metric."""
    if not (folder / "meta.yaml").is_file():
        return False
    return (folder / "metrics").is_dir() or not {"run_id", "run_uuid"}.isdisjoint(
        read_flat(folder / "meta.yaml")
    )


def is_deleted(folder: Path) -> bool:
    """Whether that run was deleted."""
    return read_flat(folder / "meta.yaml").get("lifecycle_stage", "active") != "active"


@reader
def read_database(path: Path) -> list[LoggedRun]:
    """All runs of a SQLite store that were not deleted, each with remarks of the others.

    Raises
    ------
    InvalidInputError
        If the file is no store of mlflow, or all runs were deleted.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as store:
            store.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_CELL)
            if store.execute(_TABLES).fetchone() != (3,):
                raise InvalidInputError("is no store of mlflow: runs, metrics and params must be tables")
            found, deleted = [], {}
            for run, name, stage in store.execute(_RUNS).fetchall():
                if stage != "active":
                    deleted[f"{path}, {name or run}"] = DELETED
                    continue
                settings = {str(key): str(value) for key, value in store.execute(_PARAMS, (run,))}
                points = merged(_rows(store, run), "step")
                found.append(LoggedRun(str(name or run), str(path), points, settings, deleted))
    except (sqlite3.Error, UnicodeError) as error:
        raise InvalidInputError(f"is no store of mlflow ({error})") from error
    if deleted and not found:
        raise InvalidInputError(f"holds deleted runs alone ({counted(len(deleted), 'run')})")
    return found


def _rows(store: sqlite3.Connection, run: str) -> Iterator[tuple[int, float, str, Value]]:
    """The metrics of a run; NULL is how SQLite keeps NaN."""
    for row, (step, key, value, no_number) in enumerate(store.execute(_METRICS, (run,)), start=1):
        told = math.nan if no_number or value is None else figure_of(value_of(value))
        place = figure_of(value_of(step))
        if place is None or told is None or not isinstance(key, str):
            wrong = f"step {step!r:.40}, key {key!r:.40}, value {value!r:.40}"
            raise InvalidInputError(f"metric {row} of run {run} must be a number at a step, not {wrong}")
        yield row, place, key, math.copysign(math.inf, told) if abs(told) >= _INFINITE else told


def _written(line: tuple[float, tuple[int, float, str, Value]]) -> tuple[float, float]:
    """Time and step: the order of writing."""
    return line[0], line[1][1]


def _metric_lines(
    folder: Path, remarks: dict[str, str]
) -> Iterator[tuple[float, tuple[int, float, str, Value]]]:
    """The lines of all metrics, each with its time."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        key = path.relative_to(folder).as_posix()
        lines = log_text(path).split("\n")
        if len(lines[-1].split()) < len(lines[0].split()) and lines.pop():
            remarks[f"{path}, row {len(lines) + 1}"] = UNFINISHED
        for row, line in enumerate(lines, start=1):
            cells = [number(cell) for cell in line.split()]
            if not cells:
                continue
            if len(cells) not in (2, 3) or any(cell is None for cell in cells):
                message = f"must be 'timestamp value step', not {line[:40]!r}"
                raise InvalidInputError(message, f"{path}, row {row}")
            step = cells[2] if len(cells) == 3 else 0.0
            yield float(cells[0] or 0.0), (row, float(step or 0.0), key, float(cells[1] or 0.0))
