"""Attempts as earlier versions wrote them: read, and written no more.

Sweeps were SQLite files, and committed attempts a compact form with their origins in the first line.
"""

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from depl.benchmarks.measure.attempt import VERSION, Attempt, Request
from depl.models.foundation.errors import InvalidInputError

MAGIC = b"SQLite format 3\x00"
COMPACT = b'{"format":"depl-attempts","version":1,'
_FIRST, _CERTIFIED = "depl-paper", "depl-paper-certified"
"""A method, and the name that attempts of its first version are read under: before it took the paper's own
references for stages 1 and 3."""
_OPTIONS = {"data": "certified", "placement": "rounding"}


def read_database(path: Path) -> tuple[Request | None, list[Attempt]]:
    """The request and the attempts of a sweep in SQLite, as it was after its last commit.

    A copy is read, with what a killed process left for SQLite to go back by; the file stays as it is.
    """
    with tempfile.TemporaryDirectory(prefix="depl-attempts-") as folder:
        copy = Path(folder, "attempts.sqlite")
        try:
            shutil.copyfile(path, copy)
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(f"{path}-journal", f"{copy}-journal")
            with contextlib.closing(sqlite3.connect(copy)) as base:
                asked = base.execute("SELECT document FROM request ORDER BY rowid DESC").fetchone()
                rows = base.execute("SELECT document FROM attempt ORDER BY rowid").fetchall()
            request = None if asked is None else msgspec.json.decode(asked[0], type=Request)
            return request, [_as_meant(msgspec.json.decode(row, type=Attempt)) for (row,) in rows]
        except (sqlite3.Error, ValueError, TypeError, OSError, RecursionError) as error:
            message = f"is no file of attempts of this depl ({error})"
            raise InvalidInputError(message, str(path)) from error


def read_compact(first: bytes, rows: Sequence[bytes]) -> list[Attempt]:
    """The attempts of a file in compact form, by its first line and the others."""
    origins = msgspec.json.decode(first, type=_Origins).origins
    known = (msgspec.json.decode(row, type=_Row) for row in rows)
    attempts = (msgspec.convert({**row.attempt, **origins[row.origin]}, Attempt) for row in known)
    return [_as_meant(attempt) for attempt in attempts]


class _Origins(msgspec.Struct):
    origins: tuple[dict[str, Any], ...]


class _Row(msgspec.Struct):
    origin: Annotated[int, msgspec.Meta(ge=0)]
    attempt: dict[str, Any]


def _as_meant(attempt: Attempt) -> Attempt:
    """The attempt, under the name that says what its method was, where that means another thing today."""
    if attempt.method != _FIRST or VERSION in attempt.settings:
        return attempt
    label = attempt.task.configuration
    settings = {**attempt.settings, "options": {**_OPTIONS, **attempt.settings.get("options", {})}}
    own = label.startswith(_FIRST)
    renamed = _CERTIFIED + label.removeprefix(_FIRST) if own else f"{label}-{_CERTIFIED}"
    task = msgspec.structs.replace(attempt.task, configuration=renamed)
    return msgspec.structs.replace(attempt, task=task, method=_CERTIFIED, settings=settings)
