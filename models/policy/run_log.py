"""The log of one run: a line of JSON after every decision, kept before the decision is acted on.

The first line names the policy by its fingerprint; each further one holds an epoch: the loss after it, what
it trained, and what was decided then. A process that is killed leaves at most its last line unfinished, and
that is dropped: its epoch counts as not yet observed.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from depl.models.foundation.documents import reason_of
from depl.models.foundation.errors import InvalidInputError

try:
    import fcntl
except ImportError:  # not on Windows, where the size of the file alone tells of another writer
    fcntl = None  # type: ignore[assignment]

FORMAT, VERSION = "depl-run", 1
_SHOWN = 12
"""Keys that a message lists."""

Record = dict[str, Any]


class RunLog:
    """A file that lines are added to, each of which is on the disk before `append` returns.

    Its first line is written with that of the first decision: a run that was refused before it leaves no log
    that another one would have to go on with. ``size`` are the bytes of its whole lines, and ``unfinished``
    those of one behind them, which is taken away.
    """

    def __init__(self, path: str, first: Record, size: int = 0, unfinished: int = 0) -> None:
        self.path, self.size, self._first = path, size, first
        with self._opened() as file:  # refused before the first epoch is trained, and not after it
            if unfinished and file.seek(0, os.SEEK_END) == size + unfinished:
                file.truncate(size)

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a line, or refuse where it cannot be written, or where someone else wrote to the file."""
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

    @contextlib.contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """The file, to add to; while it is open, another writer waits."""
        try:
            with open(self.path, "ab") as file:
                if fcntl is not None:
                    with contextlib.suppress(OSError):  # of a file system without locks
                        fcntl.flock(file, fcntl.LOCK_EX)
                yield file
        except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(f"cannot be written ({reason_of(error)})", self.path) from error


def header(fingerprint: str, name: str) -> Record:
    """The first line."""
    return {"format": FORMAT, "version": VERSION, "policy": fingerprint, "name": name}


def read_lines(path: str) -> tuple[list[tuple[int, Record]], tuple[int, int]]:
    """All whole lines, with their numbers from 1; the bytes of these, and of what stands behind them."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
        raise InvalidInputError(f"cannot be read ({reason_of(error)})", path) from error
    whole = content[: content.rfind(b"\n") + 1]
    found = []
    for number, line in enumerate(whole.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"line {number} is not JSON: {error}", path) from error
        if not isinstance(record, dict):
            raise InvalidInputError(f"line {number} is no JSON object", path)
        found.append((number, record))
    return found, (len(whole), len(content) - len(whole))


def require_header(record: Record, fingerprint: str, path: str) -> None:
    """Refuse a log that is not ours, or of another policy, with what to do."""
    version, policy = record.get("version"), str(record.get("policy"))
    message = ""
    if record.get("format") != FORMAT:
        message = (
            f"line 1 does not open a {FORMAT!r} log; 'depl policy decide --log' also reads lines with epoch "
            "and loss"
        )
    elif version != VERSION:
        message = f"version {version} is not known to this depl, which reads {VERSION}; update one of them"
    elif policy != fingerprint:
        message = (
            f"is the log of another policy, {record.get('name')!r} (fingerprint {policy[:12]}, this one has "
            f"{fingerprint[:12]}); give that policy, or another log"
        )
    if message:
        raise InvalidInputError(message, path)


def read_losses(
    lines: list[tuple[int, Record]], loss_key: str, epoch_key: str, path: str, *, unseen: bool
) -> Iterator[tuple[int, Any, Record]]:
    """Line, loss and all else of epochs 0, 1, ..., or from 1 on where l(0) may be ``unseen``, of any log."""
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
            why = f"is of epoch {epoch}, and should be of epoch {expected}"
            if expected == 0:
                why = f"begins with epoch {epoch}; the loss before the first epoch stands at epoch 0"
            elif epoch == expected - 1:
                why = f"epoch {epoch} stands on line {before} already; keep one of the two"
            raise InvalidInputError(f"line {number}: {why}", path)
        yield number, record[loss_key], record
        before = number
