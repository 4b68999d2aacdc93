"""Runs of mlflow: the file store (a folder ``mlruns``), and SQLite (``mlflow.db``), the default now."""

import contextlib
import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted
from depl.models.tool_logs.points import UNFINISHED, LoggedRun, Value, figure_of, merged, read_flat, value_of
from depl.models.traces.sheets import at, log_text, number

SQLITE = b"SQLite format 3\x00"
"""How files of SQLite begin."""
DELETED = "a run that was deleted"
"""What is said of one."""
_RUNS = "SELECT run_uuid, name, lifecycle_stage FROM runs ORDER BY start_time, run_uuid"
_METRICS = "SELECT step, key, value, is_nan FROM metrics WHERE run_uuid = ? ORDER BY timestamp, step, key"
_PARAMS = "SELECT key, value FROM params WHERE run_uuid = ?"
_TABLES = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('runs', 'metrics', 'params')"
_LONGEST_CELL = 2**20
"""Bytes of a cell that is read: a column may be computed, and then be of any length."""
_INFINITE = 1.7976931348623157e308
"""What mlflow writes into SQL for infinity."""

_Logged = tuple[int, float, str, Value]
"""Row, step, key and value."""


def read_store(folder: Path) -> Iterator[LoggedRun]:
    """One run of the file store: a folder with ``metrics``, ``params`` and ``meta.yaml``."""
    tag = folder / "tags" / "mlflow.runName"
    own = read_flat(folder / "meta.yaml").get("run_name") or (log_text(tag).strip() if tag.is_file() else "")
    remarks: dict[str, str] = {}
    lines = sorted(_metric_lines(folder / "metrics", remarks), key=lambda line: (line[0], line[1][1]))
    points = merged((logged for _, logged in lines), "step")
    settings = {key: log_text(path).strip() for key, path in _files(folder / "params")}
    why = f"{folder.name}/metrics and meta.yaml, a file store"
    yield LoggedRun("mlflow", why, own or folder.name, str(folder), points, settings, remarks)


def stage_of(folder: Path) -> str | None:
    """Whether a run of the file store, be it without any metric, is active or deleted; None if it is none."""
    if not (folder / "meta.yaml").is_file():
        return None
    meta = read_flat(folder / "meta.yaml")
    is_run = (folder / "metrics").is_dir() or meta.keys() & {"run_id", "run_uuid"}
    return meta.get("lifecycle_stage", "active") if is_run else None


def read_database(path: Path, tool: str | None = None) -> Iterator[LoggedRun]:
    """All runs of a SQLite store that were not deleted, each with remarks of the others."""
    deleted, found = dict[str, str](), 0
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as store:
            store.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_CELL)
            if store.execute(_TABLES).fetchone() != (3,):
                raise InvalidInputError("is no store of mlflow: runs, metrics and params must be tables")
            for run, name, stage in store.execute(_RUNS).fetchall():
                if stage != "active":
                    deleted[f"{path}, {name or run}"] = DELETED
                    continue
                found += 1
                settings = {str(key): str(value) for key, value in store.execute(_PARAMS, (run,))}
                points, why = merged(_rows(store, run), "step"), f"{path.name}, a SQLite store"
                yield LoggedRun("mlflow", why, str(name or run), str(path), points, settings, deleted)
    except (sqlite3.Error, UnicodeError) as error:
        raise InvalidInputError(f"is no store of mlflow ({error})") from error
    if deleted and not found:
        raise InvalidInputError(f"holds deleted runs alone ({counted(len(deleted), 'run')})")


def _rows(store: sqlite3.Connection, run: str) -> Iterator[_Logged]:
    """The metrics of a run; NULL is how SQLite keeps NaN."""
    for row, (step, key, value, no_number) in enumerate(store.execute(_METRICS, (run,)), start=1):
        told = math.nan if no_number or value is None else figure_of(value_of(value))
        place = figure_of(value_of(step))
        if place is None or told is None or not isinstance(key, str):
            wrong = f"step {step!r:.40}, key {key!r:.40}, value {value!r:.40}"
            raise InvalidInputError(f"metric {row} of run {run} must be a number at a step, not {wrong}")
        yield row, place, key, math.copysign(math.inf, told) if abs(told) >= _INFINITE else told


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files of a folder and of those within, by what they are called from there."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


def _metric_lines(folder: Path, remarks: dict[str, str]) -> Iterator[tuple[float, _Logged]]:
    """The lines "timestamp value step" of all metrics, each with its time."""
    for key, path in _files(folder):
        lines = log_text(path).split("\n")
        if len(lines[-1].split()) < len(lines[0].split()) and lines.pop():
            remarks[at(path, len(lines) + 1)] = UNFINISHED
        for row, line in enumerate(lines, start=1):
            cells = [number(cell) for cell in line.split()]
            if not cells:
                continue
            if len(cells) not in (2, 3) or None in cells:
                message = f"must be 'timestamp value step', not {line[:40]!r}"
                raise InvalidInputError(message, at(path, row))
            time, value, step = (*(float(cell or 0.0) for cell in cells), 0.0)[:3]
            yield time, (row, step, key, value)
