"""Attempts as earlier versions wrote them: read, and written no more.

Sweeps were SQLite files, committed attempts a compact form with their origins in the first line, and what
methods answer a record of its own.
"""

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from depl.benchmarks.measure.attempt import VERSION, Attempt, without_folders
from depl.benchmarks.measure.provenance import Commit, Machine, Provenance, provenance_of
from depl.benchmarks.measure.tasks import Request
from depl.models.foundation.errors import InvalidInputError

_MAGIC = b"SQLite format 3\x00"
_COMPACT = b'{"format":"depl-attempts","version":1,'
_FIRST: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    # before it took the paper's own references for stages 1 and 3
    "depl-paper": ("depl-paper-certified", {"data": "certified", "placement": "rounding"}),
}
"""By method: the name that attempts of its first version are read under, and the options that they had."""


def is_database(path: Path) -> bool:
    """Whether this is a file of SQLite, ours or not."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def read_database(path: Path) -> tuple[Request | None, list[Attempt]]:
    """The request and the attempts of a sweep in SQLite, as it was after its last commit.

    A copy is read, with what a killed process left for SQLite to go back by; the file stays as it is.

    Raises
    ------
    InvalidInputError
        If it is another database.
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


def is_compact(first: bytes) -> bool:
    """Whether this is the first line of the compact form."""
    return first.startswith(_COMPACT)


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


def read_answers(content: bytes, path: Path) -> list[Attempt]:
    """The answers of a behaviour record, as attempts of the study ``behaviour``.

    Raises
    ------
    InvalidInputError
        If it is no such record.
    """
    try:
        record = msgspec.json.decode(content, type=_Answers)
        return [
            _answered(record, problem, label, answer)
            for problem, row in record.answers.items()
            for label, answer in row.items()
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInputError(f"is no behaviour record of this depl ({error})", str(path)) from error


class _Answers(Provenance, kw_only=True, frozen=True, forbid_unknown_fields=False):
    format: Literal["depl-behaviour"]
    version: Literal[1, 2]
    commit: Commit | None = None
    python: str = ""
    machine: Machine | None = None
    date: str = ""
    looks: int
    instances: dict[str, str]
    findings: dict[str, str]
    answers: dict[str, dict[str, dict[str, Any]]]


_REFUSALS = {"NotCoveredError": "refused", "VerificationError": "rejected"}


def _answered(record: _Answers, problem: str, label: str, answer: dict[str, Any]) -> Attempt:
    """One answer; those that were refused had class and text of the error, and ``crash`` before a crash."""
    seconds = answer.pop("seconds", 0.0)
    kept = {name: answer.pop(name, None) for name in ("solution", "reason", "cost", "miss")}
    ending, bound = answer.pop("termination", None), answer.pop("lower_bound", None)
    if (refused := answer.pop("refused", None)) is not None:
        kind, _, text = refused.removeprefix("crash: ").partition(": ")
        ending = _REFUSALS.get(kind, "failed")
        kept["reason"] = text if kind in _REFUSALS else without_folders(f"{kind}: {text}")
    if isinstance(bound, str):  # infinite
        answer["bound"] = bound
    if "findings" in answer:
        answer["findings"] = record.findings[answer["findings"]]
    return msgspec.convert(
        {
            **msgspec.to_builtins(provenance_of(record)),
            "task": {"suite": "behaviour", "version": 1, "instance": problem, "configuration": label},
            "method": label,
            "meaning": "",
            "settings": {"looks": record.looks},
            "instance_hash": record.instances[problem],
            "ending": ending,
            "solution": kept["solution"] or "none",
            "reason": kept["reason"],
            "cost": kept["cost"],
            "lower_bound": None if isinstance(bound, str) else bound,
            "violation": kept["miss"],
            "total_seconds": seconds,
            "solve_cpu_seconds": seconds,
            "started": record.date,
            "answer": answer,
        },
        Attempt,
    )


def _as_meant(attempt: Attempt) -> Attempt:
    """The attempt, under the name that says what its method was, where that means another thing today."""
    if attempt.method not in _FIRST or VERSION in attempt.settings:
        return attempt
    name, options = _FIRST[attempt.method]
    label = attempt.task.configuration
    settings = {**attempt.settings, "options": {**options, **attempt.settings.get("options", {})}}
    own = label.startswith(attempt.method)
    renamed = name + label.removeprefix(attempt.method) if own else f"{label}-{name}"
    task = msgspec.structs.replace(attempt.task, configuration=renamed)
    return msgspec.structs.replace(attempt, task=task, method=name, settings=settings)
