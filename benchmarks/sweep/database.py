"""The SQLite file below a store of attempts: made whole, recognised before it is touched, recovered, locked.

A process that is killed inside a commit leaves its journal behind, with which SQLite brings the file back to
the last commit; until that is done nobody can read it. Readers do it too: in the file itself where they
may write to it, otherwise in a copy.
"""

import contextlib
import fcntl
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from depl.models.foundation.errors import InvalidInputError

MAGIC = b"SQLite format 3\x00"
_APPLICATION = b"DEPL"
_APPLICATION_AT = 68  # "Database Header Format" of SQLite: the application identifier, four bytes
_PATIENCE = 60.0
_READERS_HOLD = 0.5
"""Seconds that a writer waits for a lock: a reader that removes one of nobody holds it for an instant."""
_COPIES = 5
"""So often a copy is begun anew because somebody else changed the file meanwhile."""
_CANNOT_WRITE = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR}
)


def is_database(path: Path) -> bool:
    """Whether this is a file of SQLite, ours or not."""
    return os.path.isfile(path) and _beginning(path).startswith(MAGIC)


def require_ours(path: Path) -> None:
    """Look at the header of a file before SQLite does, which would recover, or fill, a file of others.

    Raises
    ------
    InvalidInputError
        If it is no file of ours.
    """
    beginning = _beginning(path)
    if not beginning:
        raise InvalidInputError(
            "is empty, and no file of attempts; remove it, or name another file", str(path)
        )
    if not beginning.startswith(MAGIC):
        raise InvalidInputError("is no file of attempts; 'depl bench run' and 'export' write some", str(path))
    if beginning[_APPLICATION_AT:] != _APPLICATION:
        raise InvalidInputError("is a database, but not one of attempts; name another file", str(path))


def written_to(path: Path) -> sqlite3.Connection:
    """A connection that may write to a file of ours.

    Raises
    ------
    InvalidInputError
        If it is no file of ours, which is left as it is.
    """
    require_ours(path)
    return _opened(path, "rw")


@contextlib.contextmanager
def read_from(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that reads a file of ours at its last commit.

    Raises
    ------
    InvalidInputError
        If it is no file of ours, which is left as it is; or it cannot be brought back to its last commit.
    """
    require_ours(path)
    _remove_lock_of_nobody(path)
    with contextlib.ExitStack() as stack:
        source = path
        if os.path.exists(_journal(path)):
            try:
                _recover(path)
            except sqlite3.OperationalError as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _CANNOT_WRITE:
                    raise
                source = stack.enter_context(_recovered_copy(path))
        yield stack.enter_context(contextlib.closing(_opened(source, "ro")))


def make(path: Path, tables: str, schema: int) -> None:
    """Make a file with empty tables; it appears when it is whole.

    Raises
    ------
    sqlite3.Error
        If it cannot be written.
    """
    partial = path.with_name(f".{path.name}.new")
    number = int.from_bytes(_APPLICATION, "big")
    try:
        remove(partial)
        with contextlib.closing(_opened(partial, "rwc")) as connection:
            connection.executescript(
                f"BEGIN; {tables} PRAGMA application_id = {number}; PRAGMA user_version = {schema}; COMMIT;"
            )
        # a journal of that name belongs to a file that is gone; SQLite would roll the new one back by it
        _journal(path).unlink(missing_ok=True)
        partial.replace(path)
    except OSError as error:
        raise InvalidInputError(f"cannot be written ({error.strerror or error})", str(path)) from error
    finally:
        with contextlib.suppress(OSError):
            remove(partial)


def remove(path: Path) -> None:
    """Remove a file of ours that never got its name, with the journal of a process that was killed."""
    path.unlink(missing_ok=True)
    _journal(path).unlink(missing_ok=True)


def locked(path: Path) -> IO[bytes]:
    """A lock beside a file, held until it is given to `unlock`.

    Raises
    ------
    InvalidInputError
        If another process holds it, or the folder cannot be written to.
    """
    deadline = time.monotonic() + _READERS_HOLD
    while True:
        try:
            lock = _lock_name(path).open("ab")
        except OSError as error:
            raise InvalidInputError(f"cannot be written ({error.strerror or error})", str(path)) from error
        try:
            if _taken(lock):
                return lock
        except OSError as error:
            if time.monotonic() > deadline:
                lock.close()
                raise InvalidInputError(
                    "another process is writing to it; wait until that has ended", str(path)
                ) from error
            time.sleep(_READERS_HOLD / 10)
        lock.close()


def unlock(lock: IO[bytes]) -> None:
    """Let another process write."""
    with contextlib.suppress(OSError):
        os.unlink(lock.name)
    lock.close()


@contextlib.contextmanager
def understood(path: Path) -> Iterator[None]:
    """Turn what SQLite and msgspec complain about into errors that name the file."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise InvalidInputError("holds this commit's attempt of a task already", str(path)) from error
    except (sqlite3.Error, UnicodeDecodeError) as error:  # what SQLite quotes need not be text
        raise InvalidInputError(f"cannot be used as a file of attempts ({error})", str(path)) from error
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidInputError(f"holds what is no attempt of this depl ({error})", str(path)) from error


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_PATIENCE)


def _beginning(path: Path) -> bytes:
    if os.path.exists(path) and not os.path.isfile(path):
        raise InvalidInputError("is no regular file; name another", str(path))
    try:
        with path.open("rb") as file:
            return file.read(_APPLICATION_AT + len(_APPLICATION))
    except OSError as error:
        raise InvalidInputError(f"cannot be read ({error.strerror or error})", str(path)) from error


def _recover(path: Path) -> None:
    """Read the file with the right to write, so that SQLite rolls back what was not committed."""
    with contextlib.closing(_opened(path, "rw")) as connection:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


@contextlib.contextmanager
def _recovered_copy(path: Path) -> Iterator[Path]:
    """A copy of a file and its journal, brought back to the last commit; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="depl-attempts-") as folder:
        copy = Path(folder, "attempts.sqlite")
        for _ in range(_COPIES):
            before = _state(path)
            try:
                remove(copy)
                with contextlib.suppress(FileNotFoundError):  # gone since, and then the state is another one
                    shutil.copyfile(_journal(path), _journal(copy))
                shutil.copyfile(path, copy)
            except OSError as error:
                raise InvalidInputError(f"cannot be copied ({error.strerror or error})", str(path)) from error
            if _state(path) == before:
                _recover(copy)
                yield copy
                return
        raise InvalidInputError("is being written to; try again later", str(path))


def _state(path: Path) -> tuple[tuple[int, ...] | None, ...]:
    """What changes whenever a file or its journal does."""
    return tuple(_changes(item) for item in (path, _journal(path)))


def _changes(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _journal(path: Path) -> Path:
    return path.with_name(f"{path.name}-journal")


def _lock_name(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _taken(lock: IO[bytes]) -> bool:
    """Whether the lock was taken and is still the one that others would find.

    Raises
    ------
    OSError
        If another process holds it.
    """
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        return Path(lock.name).stat().st_ino == os.fstat(lock.fileno()).st_ino
    except FileNotFoundError:  # whoever held it has just removed it
        return False


def _remove_lock_of_nobody(path: Path) -> None:
    """Remove the lock that a killed process left behind."""
    # There may be none, it may be held, or we may not.
    with contextlib.suppress(OSError), _lock_name(path).open("rb") as lock:
        if _taken(lock):
            os.unlink(lock.name)
