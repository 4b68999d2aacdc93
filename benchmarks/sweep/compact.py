"""Attempts in compact form: one text file per suite, compressed, the same bytes for the same attempts.

The first line says what the file is and lists where its attempts were made; each other line is an attempt, in
the order of tasks, with the number of that place instead of commit, versions and machine.
"""

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from depl.benchmarks.sweep.attempt import Attempt
from depl.benchmarks.sweep.origin import Origin, origin_of
from depl.models.errors import InvalidInputError
from depl.models.structure import write_bytes

SUFFIX = ".jsonl.gz"
MAGIC = b"\x1f\x8b"


class _Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: Literal["depl-attempts"] = "depl-attempts"
    version: Literal[1] = 1
    suite: str
    origins: tuple[Origin, ...]


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    origin: int
    attempt: dict[str, object]


_SHARED = Origin.__struct_fields__


def encode_attempts(suite: str, attempts: Iterable[Attempt]) -> bytes:
    """The attempts of one suite in compact form."""
    rows = sorted(attempts, key=_order)
    origins = sorted({msgspec.json.encode(origin_of(row)) for row in rows})
    header = _Header(suite=suite, origins=tuple(msgspec.json.decode(item, type=Origin) for item in origins))
    lines = [msgspec.json.encode(_with_format(header))]
    for row in rows:
        known = msgspec.to_builtins(row)
        place = origins.index(msgspec.json.encode(origin_of(row)))
        lines.append(
            msgspec.json.encode(_Row(place, {name: known[name] for name in known if name not in _SHARED}))
        )
    return gzip.compress(b"".join(line + b"\n" for line in lines), mtime=0)


def decode_attempts(content: bytes, path: str) -> list[Attempt]:
    """Read what `encode_attempts` wrote; ``path`` is for messages.

    Raises
    ------
    InvalidInputError
        If it is something else, or of another version.
    """
    try:
        first, *rows = gzip.decompress(content).splitlines()
        header = msgspec.json.decode(first, type=_Header)
        origins = [msgspec.to_builtins(item) for item in header.origins]
        decoded = (msgspec.json.decode(row, type=_Row) for row in rows)
        return [msgspec.convert({**row.attempt, **origins[row.origin]}, Attempt) for row in decoded]
    except (OSError, EOFError, ValueError, IndexError) as error:  # msgspec's errors are ValueErrors
        raise InvalidInputError(f"is no file of attempts of this depl ({error})", path) from error


def write_compact(attempts: Iterable[Attempt], folder: Path) -> list[Path]:
    """Write the attempts of every suite to ``folder/SUITE.jsonl.gz``, each file whole or not at all.

    Raises
    ------
    InvalidInputError
        If a file cannot be written.
    """
    by_suite: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        by_suite.setdefault(attempt.task.suite, []).append(attempt)
    written = []
    for suite in sorted(by_suite):
        target = folder / f"{suite}{SUFFIX}"
        write_bytes(target, encode_attempts(suite, by_suite[suite]))
        written.append(target)
    return written


def _order(attempt: Attempt) -> tuple[object, ...]:
    return (*msgspec.structs.astuple(attempt.task), attempt.started, msgspec.json.encode(attempt))


def _with_format(header: _Header) -> dict[str, object]:
    known: dict[str, object] = msgspec.to_builtins(header)
    return {"format": header.format, "version": header.version, **known}
