"""Attempts in compact form: one text file per suite, compressed, the same bytes for the same attempts.

The first line says what the file is and lists where its attempts were made; each other line is an attempt, in
the order of tasks, with the number of that place instead of commit, versions and machine.
"""

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.provenance import FIELDS, Provenance, provenance_of
from depl.models.foundation.archives import inflated
from depl.models.foundation.documents import decode, write_bytes
from depl.models.foundation.errors import InvalidInputError

SUFFIX = ".jsonl.gz"
MAGIC = b"\x1f\x8b"
_LATER = ("solve_seconds", "solve_cpu_seconds")
"""Fields that older attempts have not; where they are unknown, they are not written."""
LARGEST = 2**28
"""Most bytes that a file holds uncompressed: 256 MiB are about a hundred thousand attempts, and what
these take in memory is a multiple of it. More than that is for the SQLite file."""


class _Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: Literal["depl-attempts"] = "depl-attempts"
    version: Literal[1] = 1
    suite: str
    origins: tuple[Provenance, ...]


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    origin: Annotated[int, msgspec.Meta(ge=0)]
    attempt: dict[str, object]


def encode_attempts(suite: str, attempts: Iterable[Attempt]) -> bytes:
    """The attempts of one suite in compact form.

    Raises
    ------
    InvalidInputError
        If they are more than `decode_attempts` would read.
    """
    rows = sorted(attempts, key=_order)
    origins = sorted({msgspec.json.encode(provenance_of(row)) for row in rows})
    header = _Header(
        suite=suite, origins=tuple(msgspec.json.decode(item, type=Provenance) for item in origins)
    )
    lines = [msgspec.json.encode(_with_format(header))]
    for row in rows:
        known = msgspec.to_builtins(row)
        known = {name: known[name] for name in known if name not in _LATER or known[name] is not None}
        place = origins.index(msgspec.json.encode(provenance_of(row)))
        lines.append(
            msgspec.json.encode(_Row(place, {name: known[name] for name in known if name not in FIELDS}))
        )
    text = b"".join(line + b"\n" for line in lines)
    if len(text) > LARGEST:
        raise InvalidInputError(
            f"{len(rows)} attempts of {suite!r} are too many for the compact form; keep them in SQLite"
        )
    return gzip.compress(text, mtime=0)


def decode_attempts(content: bytes, path: str) -> list[Attempt]:
    """Read what `encode_attempts` wrote; ``path`` is for messages.

    Raises
    ------
    InvalidInputError
        If it is something else, or of another version.
    """
    try:
        first, *rows = inflated(content, path, LARGEST).splitlines()
        header = decode(first, _Header)
        origins = [msgspec.to_builtins(item) for item in header.origins]
        decoded = (decode(row, _Row) for row in rows)
        return [msgspec.convert({**row.attempt, **origins[row.origin]}, Attempt) for row in decoded]
    except InvalidInputError as error:
        raise InvalidInputError(f"is no file of attempts of this depl ({error.message})", path) from error
    except (ValueError, IndexError) as error:  # msgspec's errors are ValueErrors
        raise InvalidInputError(f"is no file of attempts of this depl ({error})", path) from error


def compact_file(folder: Path, suite: str) -> Path:
    """Where the attempts of a suite are written in compact form."""
    return folder / f"{suite}{SUFFIX}"


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
        target = compact_file(folder, suite)
        write_bytes(target, encode_attempts(suite, by_suite[suite]))
        written.append(target)
    return written


def _order(attempt: Attempt) -> tuple[object, ...]:
    return (*msgspec.structs.astuple(attempt.task), attempt.started, msgspec.json.encode(attempt))


def _with_format(header: _Header) -> dict[str, object]:
    known: dict[str, object] = msgspec.to_builtins(header)
    return {"format": header.format, "version": header.version, **known}
