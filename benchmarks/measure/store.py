"""Attempts in a file: a line of JSON for each, synced as soon as it is finished; compressed where committed.

The first line says what the file is and what was asked for. A last line without its end is what a crash left:
readers pass it over, and it is cut off before another one is written. A lock on the file, which the system
releases with the process, keeps a second writer out; who only reads needs none.
"""

import fcntl
import gzip
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, Self

import msgspec

from depl.benchmarks.measure import old_forms
from depl.benchmarks.measure.attempt import Attempt, Request, Task
from depl.benchmarks.measure.registry import ANSWERED
from depl.models.foundation.archives import inflated
from depl.models.foundation.documents import read_bytes, reason_of, write_bytes
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice

SUFFIX, COMPRESSED = ".jsonl", ".jsonl.gz"
RESULTS = Path(__file__).resolve().parents[1] / "results"
RECORDED = RESULTS / "attempts"
"""Folder of the committed attempts of the shipped studies that the report reads."""
LARGEST = 2**28
"""Most bytes that are read of a file: 256 MiB are some hundred thousand attempts."""
_GZIP = b"\x1f\x8b"
_START = b'{"format":"depl-attempts","version":2,'
_NOT_WRITTEN = (
    "is compressed, of an older form or no file of attempts, and none of these is written to; begin another "
    "file with 'depl bench run', and 'depl bench report' reads both"
)


class _Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: Literal["depl-attempts"]
    version: Literal[2]
    request: Request | None = None


class Store:
    """The attempts of a file, opened for writing, which is made for a request if it is new.

    Raises
    ------
    InvalidInputError
        If it is no file of ours or one of an older form, another process writes to it, or it cannot be
        written.
    """

    def __init__(self, path: str | Path, request: Request | None = None) -> None:
        self.path = Path(path)
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise InvalidInputError("is no regular file; name another", str(path))
        try:
            self._file = os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), "r+b")
        except OSError as error:
            raise InvalidInputError(f"cannot be written ({reason_of(error)})", str(path)) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            content = self._file.read()
            if content[: len(_START)] != _START[: len(content)]:
                raise InvalidInputError(_NOT_WRITTEN, str(path))
            whole = _whole(content)
            self.request, self.attempts = request, list[Attempt]()
            if whole:
                self.request, self.attempts = _parsed(content, self.path)
            if whole < len(content):  # or a file that is only looked at would seem to be changed
                self._file.truncate(whole)
            self._file.seek(whole)
            if not whole and request is not None:
                self._write(_head(request))
        except BaseException as error:
            self._file.close()
            if not isinstance(error, OSError):
                raise
            busy = "another process is writing to it; wait until that has ended"
            message = busy if isinstance(error, BlockingIOError) else f"cannot be read ({reason_of(error)})"
            raise InvalidInputError(message, str(path)) from error

    def __enter__(self) -> Self:
        """It is open."""
        return self

    def __exit__(self, *error: object) -> None:
        """Let another process write."""
        self._file.close()

    def held(self, tasks: Iterable[Task]) -> list[Attempt]:
        """The attempts at some tasks that need not be made again."""
        wanted = set(tasks)
        return [row for row in self.attempts if row.task in wanted and not row.unanswered]

    def add(self, attempt: Attempt) -> None:
        """Keep an attempt for good."""
        self._write(attempt)
        self.attempts.append(attempt)

    def _write(self, line: _Header | Attempt) -> None:
        try:
            self._file.write(msgspec.json.encode(line) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise InvalidInputError(f"cannot be written ({reason_of(error)})", str(self.path)) from error


def read_file(path: Path) -> tuple[Request | None, list[Attempt]]:
    """What a file of attempts was made for, if it says so, and its attempts, in the order of the file.

    Raises
    ------
    InvalidInputError
        If it cannot be read, or is no file of attempts of this depl or of an older form.
    """
    content = read_bytes(path, LARGEST)
    if content.startswith(old_forms.MAGIC):
        return old_forms.read_database(path)
    if b'"depl-behaviour"' in content.partition(b"\n")[0]:
        message = "is a behaviour record of an older form; 'depl bench compare behaviour' asks today's again"
        raise InvalidInputError(message, str(path))
    return _parsed(inflated(content, str(path), LARGEST) if content.startswith(_GZIP) else content, path)


def read_attempts(path: str | Path) -> list[Attempt]:
    """The attempts of a file, of all compressed files of a folder, or of a study of which some are recorded.

    They are in the order of the file, and files in the order of their names. One task may have several
    attempts, of different commits: see `latest`.

    Raises
    ------
    InvalidInputError
        If there is nothing of the kind.
    """
    return [attempt for file in files_of(path) for attempt in read_file(file)[1]]


def write_attempts(path: Path, attempts: Iterable[Attempt], request: Request | None = None) -> None:
    """Write a file whole or not at all; compressed if its name says so."""
    content = b"".join(msgspec.json.encode(item) + b"\n" for item in (_head(request), *attempts))
    write_bytes(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def update(path: str, found: Sequence[Attempt]) -> None:
    """Put attempts in the place of those at the same tasks, in the one file of that name."""
    files = files_of(path)
    if len(files) > 1:
        raise InvalidInputError("is several files; --update changes one", path)
    if any(row.ending == ANSWERED for row in found):
        message = "has a record made of these answers, which --update cannot change: run the study again"
        raise InvalidInputError(message, path)
    request, known = read_file(files[0])
    write_attempts(files[0], {row.task: row for row in (*known, *found)}.values(), request)


def files_of(path: str | Path) -> list[Path]:
    """The files that `read_attempts` reads; refused if there is none."""
    source = Path(path)
    if not os.path.exists(source):
        known = recorded()
        if str(path) not in known:
            message = f"no such file, and no recorded study of that name; {advice(str(path), sorted(known))}"
            if os.path.isfile(RESULTS / f"{path}.json"):  # no name is too long for it
                message = "was recorded before attempts were kept; its next recording can be compared"
            raise InvalidInputError(message, str(path))
        return [known[str(path)]]
    files = sorted(source.glob(f"[!.]*{COMPRESSED}")) if source.is_dir() else [source]
    if not files:
        raise InvalidInputError(f"holds no files of attempts (*{COMPRESSED})", str(path))
    return files


def recorded() -> dict[str, Path]:
    """By the name of a study the file of its committed attempts."""
    files = [file for folder in (RECORDED, RESULTS) for file in folder.glob(f"[!.]*{COMPRESSED}")]
    return {file.name.removesuffix(COMPRESSED): file for file in files}


def latest(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Of every task the attempt that began last; where tasks were first met."""
    found: dict[Task, Attempt] = {}
    for attempt in attempts:
        known = found.get(attempt.task)
        if known is None or attempt.started >= known.started:
            found[attempt.task] = attempt
    return list(found.values())


def _head(request: Request | None) -> _Header:
    return _Header(format="depl-attempts", version=2, request=request)


def _whole(content: bytes) -> int:
    """How many bytes the lines are that end."""
    return content.rfind(b"\n") + 1


def _parsed(content: bytes, path: Path) -> tuple[Request | None, list[Attempt]]:
    first, *rows = content[: _whole(content)].splitlines() or [b""]
    place = "line 1"
    try:
        if first.startswith(old_forms.COMPACT):
            return None, old_forms.read_compact(first, rows)
        header = msgspec.json.decode(first, type=_Header)
        attempts = []
        for number, row in enumerate(rows, start=2):
            place = f"line {number}"
            attempts.append(msgspec.json.decode(row, type=Attempt))
    except (ValueError, IndexError, RecursionError) as error:  # msgspec's errors are ValueErrors
        message = f"is no file of attempts of this depl ({place}: {error}); 'depl bench run' writes some"
        raise InvalidInputError(message, str(path)) from error
    return header.request, attempts
