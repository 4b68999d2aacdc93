"""The log of one run: a line of JSON after every decision, kept before the decision is acted on.

The first line names the policy by its fingerprint; each further one holds an epoch: the loss after it, what
it trained, and what was decided then. A process that is killed leaves at most its last line unfinished, and
that is dropped: its epoch counts as not yet observed.

Nothing but the standard library is imported, as training programs import this.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from depl.models.foundation.errors import InvalidInputError

FORMAT, VERSION = "depl-run", 1

Record = dict[str, Any]


class RunLog:
    """A file that lines are added to, each of which is on the disk before `append` returns.

    Parameters
    ----------
    path : str or path
    first : Record
        The first line, which is written with the line of the first decision: a run that was refused before
        it leaves no log that another one would have to go on with.
    size : int
        Bytes that the file has.

    Raises
    ------
    InvalidInputError
        If the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], first: Record, size: int = 0) -> None:
        self.path, self.size, self._first = os.fspath(path), size, first
        if not size:
            with self._opened():  # refused before the first epoch is trained, and not after it
                pass

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a line.

        Raises
        ------
        InvalidInputError
            If it cannot be written, and the file is then as before; or if someone else wrote to the file.
        """
        records = [record] if self.size else [self._first, record]
        line = "".join(json.dumps(one, allow_nan=False) + "\n" for one in records).encode()
        with self._opened() as file:
            there = file.seek(0, os.SEEK_END)
            if there != self.size:
                raise InvalidInputError(
                    f"holds {there} bytes and not the {self.size} of this run: something else has "
                    "written to it; keep one log for each run, or go on from it with Controller.resume",
                    self.path,
                )
            try:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                with contextlib.suppress(OSError):
                    file.truncate(self.size)
                raise
        self.size += len(line)

    def cut(self) -> None:
        """Take away what stands behind the last whole line.

        Raises
        ------
        InvalidInputError
            If the file cannot be written.
        """
        if os.path.getsize(self.path) > self.size:
            with self._opened() as file:
                file.truncate(self.size)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """The file, to add to."""
        try:
            with open(self.path, "ab") as file:
                yield file
        except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
            if isinstance(error, InvalidInputError):
                raise
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise InvalidInputError(f"cannot be written ({reason})", self.path) from error


def header(fingerprint: str, name: str) -> Record:
    """The first line."""
    return {"format": FORMAT, "version": VERSION, "policy": fingerprint, "name": name}


def read_lines(path: str | os.PathLike[str]) -> tuple[list[tuple[int, Record]], int]:
    """All whole lines that hold an object, with their numbers from 1; and the bytes of all whole lines.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, or a whole line is no JSON object.
    """
    try:
        with open(path, "rb") as file:
            content = file.read()
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InvalidInputError(f"cannot be read ({reason})", os.fspath(path)) from error
    whole = content[: content.rfind(b"\n") + 1]
    found = []
    for number, line in enumerate(whole.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"line {number} is not JSON: {error}", os.fspath(path)) from error
        if not isinstance(record, dict):
            raise InvalidInputError(f"line {number} is no JSON object", os.fspath(path))
        found.append((number, record))
    return found, len(whole)


def is_header(record: Record) -> bool:
    """Whether a line is the first one of a log of ours."""
    return record.get("format") == FORMAT


def require_header(record: Record, fingerprint: str, path: str) -> None:
    """Refuse a log that is not ours, or of another policy.

    Raises
    ------
    InvalidInputError
        With what to do.
    """
    if not is_header(record):
        raise InvalidInputError(
            f"line 1 does not open a {FORMAT!r} log; 'depl policy decide --log' also reads lines with epoch "
            "and loss",
            path,
        )
    if record.get("version") != VERSION:
        raise InvalidInputError(
            f"version {record.get('version')} is not known to this depl, which reads {VERSION}; update one "
            "of them",
            path,
        )
    if record.get("policy") != fingerprint:
        raise InvalidInputError(
            f"is the log of another policy, {record.get('name')!r} (fingerprint "
            f"{str(record.get('policy'))[:12]}, this one has {fingerprint[:12]}); give that policy, or "
            "another log",
            path,
        )


def read_losses(
    lines: list[tuple[int, Record]], loss_key: str, epoch_key: str, path: str, *, unseen: bool = False
) -> Iterator[tuple[int, Any, Record]]:
    """Line, loss and all else of epochs 0, 1, ..., from lines that need not be our own.

    Where l(0) may be ``unseen``, they may begin with epoch 1.

    Raises
    ------
    InvalidInputError
        If no line has the keys, or an epoch is missing or stands twice.
    """
    found = [(number, record) for number, record in lines if loss_key in record and epoch_key in record]
    if not found:
        keys = sorted({key for _, record in lines for key in record})
        has = f"its lines have {', '.join(keys[:_SHOWN])}" if keys else "it has no whole line"
        raise InvalidInputError(
            f"no line has both {epoch_key!r} and {loss_key!r}; {has}: name the keys by --epoch and --loss",
            path,
        )
    before, begun = 0, int(unseen and found[0][1][epoch_key] == 1)
    for expected, (number, record) in enumerate(found, start=begun):
        epoch = record[epoch_key]
        if epoch != expected or isinstance(epoch, bool):
            raise InvalidInputError(f"line {number}: {_out_of_order(epoch, expected, before)}", path)
        yield number, record[loss_key], record
        before = number


_SHOWN = 12
"""Keys that a message lists."""


def _out_of_order(epoch: Any, expected: int, before: int) -> str:
    if expected == 0:
        return f"begins with epoch {epoch}; the loss before the first epoch stands at epoch 0"
    if epoch == expected - 1:
        return f"epoch {epoch} stands on line {before} already; keep one of the two"
    return f"is of epoch {epoch}, and should be of epoch {expected}"
