"""Attempts in one SQLite file: each is committed as soon as it is finished, by one process at a time.

SQLite's own journal brings the file back to its last commit when a process or a machine ends in the middle
of a write. A lock beside the file, which the system releases with the process, keeps a second sweep out; who
only reads needs none. Both are the business of `depl.benchmarks.sweep.database`.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import msgspec

from depl.benchmarks.measure.attempt import Attempt, Task
from depl.benchmarks.sweep import database
from depl.benchmarks.sweep.database import understood
from depl.benchmarks.sweep.request import Request
from depl.models.foundation.errors import InvalidInputError

MAGIC = database.MAGIC
is_database = database.is_database
SCHEMA = 1
_TABLES = """
CREATE TABLE request (document TEXT NOT NULL UNIQUE);
CREATE TABLE attempt (
    suite TEXT NOT NULL,
    version INTEGER NOT NULL,
    instance TEXT NOT NULL,
    configuration TEXT NOT NULL,
    seed INTEGER NOT NULL,
    instance_hash TEXT NOT NULL,
    method TEXT NOT NULL,
    ending TEXT NOT NULL,
    cost REAL,
    lower_bound REAL,
    wall_seconds REAL,
    cpu_seconds REAL,
    build_seconds REAL,
    total_seconds REAL NOT NULL,
    "commit" TEXT NOT NULL,
    started TEXT NOT NULL,
    document TEXT NOT NULL,
    UNIQUE (suite, version, instance, configuration, seed, "commit")
);
"""


class Store:
    """The attempts of a file, opened for writing; a context manager.

    Attributes
    ----------
    path : Path
    """

    def __init__(self, path: str | Path) -> None:
        """Open a file, or make it.

        Raises
        ------
        InvalidInputError
            If it is no file of ours or of another schema, another process writes to it, or it cannot be
            opened.
        """
        self.path = Path(path)
        if os.path.exists(self.path):  # False, too, for a name that is too long
            database.require_ours(self.path)  # before there is a lock beside a file of others
        self._lock = database.locked(self.path)
        try:
            self._connection = _connected(self.path)
        except BaseException:
            database.unlock(self._lock)
            raise

    def __enter__(self) -> Self:
        """It is open."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Let another process write."""
        self._connection.close()
        database.unlock(self._lock)

    def add(self, attempt: Attempt) -> None:
        """Keep an attempt for good.

        Raises
        ------
        InvalidInputError
            If the same commit's attempt of its task is there already, or the file cannot be written.
        """
        row = _row(attempt)
        with self.in_one_commit():
            self._connection.execute(f"INSERT INTO attempt VALUES ({', '.join('?' * len(row))})", row)

    def begin(self, request: Request) -> None:
        """Keep what a file without attempts is for, instead of what it was for before."""
        document = msgspec.json.encode(request).decode()
        with self.in_one_commit():
            self._connection.execute("DELETE FROM request")
            self._connection.execute("INSERT INTO request VALUES (?)", (document,))

    @contextlib.contextmanager
    def in_one_commit(self) -> Iterator[None]:
        """Commit what is added in the block at its end, or nothing of it if it fails."""
        if self._connection.in_transaction:  # an outer block commits
            yield
            return
        with understood(self.path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield

    def attempts(self) -> list[Attempt]:
        """All attempts, in the order in which they were added."""
        return list(_attempts(self._connection, self.path))

    def requests(self) -> list[Request]:
        """All that was asked for."""
        with understood(self.path):
            return _requests(self._connection)

    def commits_by_task(self) -> dict[Task, list[str]]:
        """The commits that every task has attempts of, each in one word (`Attempt.source`)."""
        found: dict[Task, list[str]] = {}
        with understood(self.path):
            rows = self._connection.execute(
                'SELECT suite, version, instance, configuration, seed, "commit" FROM attempt ORDER BY rowid'
            )
            for suite, version, instance, configuration, seed, commit in rows:
                task = Task(
                    suite=suite, version=version, instance=instance, configuration=configuration, seed=seed
                )
                found.setdefault(task, []).append(commit)
        return found


def stored_attempts(path: str | Path) -> list[Attempt]:
    """The attempts of a file, without keeping anybody from writing to it.

    Raises
    ------
    InvalidInputError
        If it is no file of ours or of another schema.
    """
    source = Path(path)
    with understood(source), database.read_from(source) as connection:
        _require_schema(connection, source)
        return list(_attempts(connection, source))


def stored_requests(path: str | Path) -> list[Request]:
    """What a sweep's file was made for; nothing for files of another kind.

    Raises
    ------
    InvalidInputError
        If it cannot be read.
    """
    source = Path(path)
    if not is_database(source):
        return []
    with understood(source), database.read_from(source) as connection:
        _require_schema(connection, source)
        return _requests(connection)


def _row(attempt: Attempt) -> tuple[object, ...]:
    task = attempt.task
    return (
        task.suite,
        task.version,
        task.instance,
        task.configuration,
        task.seed,
        attempt.instance_hash,
        attempt.method,
        attempt.ending,
        attempt.cost,
        attempt.lower_bound,
        attempt.wall_seconds,
        attempt.cpu_seconds,
        attempt.build_seconds,
        attempt.total_seconds,
        attempt.source,
        attempt.started,
        msgspec.json.encode(attempt).decode(),
    )


def _attempts(connection: sqlite3.Connection, path: Path) -> Iterator[Attempt]:
    with understood(path):
        for (document,) in connection.execute("SELECT document FROM attempt ORDER BY rowid"):
            yield msgspec.json.decode(_document(document), type=Attempt)


def _requests(connection: sqlite3.Connection) -> list[Request]:
    rows = connection.execute("SELECT document FROM request ORDER BY rowid").fetchall()
    return [msgspec.json.decode(_document(document), type=Request) for (document,) in rows]


def _connected(path: Path) -> sqlite3.Connection:
    """The file, opened for writing; it is made if there is none."""
    with understood(path):
        if not os.path.exists(path):
            database.make(path, _TABLES, SCHEMA)
        connection = database.written_to(path)
        try:
            _require_schema(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def _require_schema(connection: sqlite3.Connection, path: Path) -> None:
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    if schema != SCHEMA:
        raise InvalidInputError(
            f"has schema {schema}, and this depl knows {SCHEMA}; update one of them", str(path)
        )


def _document(value: object) -> str:
    """What stands in a column of documents, if it is a text."""
    if not isinstance(value, str):
        raise msgspec.ValidationError(f"a document is {type(value).__name__} instead of text")
    return value
