"""Reading attempts, wherever they are: a sweep's file, compact files, or the recorded ones by name."""

import os
from collections.abc import Iterable
from pathlib import Path

from depl.benchmarks.measure.attempt import Attempt, Task
from depl.benchmarks.measure.results import RESULTS
from depl.benchmarks.sweep import compact, store
from depl.benchmarks.sweep.earlier import read_as_meant
from depl.models.foundation.documents import read_bytes
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice

RECORDED = RESULTS / "attempts"
"""Folder of the committed attempts of the standard suites, in compact form."""


@read_as_meant
def read_attempts(path: str | Path) -> list[Attempt]:
    """The attempts of a file of a sweep, of a compact file, or of all compact files of a folder.

    Parameters
    ----------
    path : str or Path
        Of a file or folder; or the name of a suite whose attempts are recorded in `RECORDED`.

    Returns
    -------
    list of Attempt
        In the order of the file; files of a folder in the order of their names. One task may have several
        attempts, of different commits: see `latest`.

    Raises
    ------
    InvalidInputError
        If there is nothing of the kind.
    """
    return [attempt for file in files_of(path) for attempt in _attempts(file)]


def files_of(path: str | Path) -> list[Path]:
    """The files that `read_attempts` reads.

    Raises
    ------
    InvalidInputError
        If there is none.
    """
    source = _found(path)
    if not source.is_dir():
        return [source]
    files = sorted(source.glob(f"[!.]*{compact.SUFFIX}"))
    if not files:
        raise InvalidInputError(f"holds no files of attempts (*{compact.SUFFIX})", str(path))
    return files


def latest(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Of every task the attempt that began last; where tasks were first met."""
    found: dict[Task, Attempt] = {}
    for attempt in attempts:
        known = found.get(attempt.task)
        if known is None or attempt.started >= known.started:
            found[attempt.task] = attempt
    return list(found.values())


def _attempts(source: Path) -> list[Attempt]:
    if store.is_database(source):
        return store.stored_attempts(source)
    content = read_bytes(source)
    if not content.startswith(compact.MAGIC):
        message = "is no file of attempts; 'depl bench run' and 'export' write some"
        raise InvalidInputError(message, str(source))
    return compact.decode_attempts(content, str(source))


def _found(path: str | Path) -> Path:
    source = Path(path)
    if os.path.exists(source):
        return source
    recorded = RECORDED / f"{path}{compact.SUFFIX}"
    if Path(path).name == str(path) and os.path.exists(recorded):
        return recorded
    known = sorted(item.name.removesuffix(compact.SUFFIX) for item in RECORDED.glob("[!.]*.gz"))
    hint = advice(str(path), known)
    raise InvalidInputError(f"no such file, and no recorded suite of that name; {hint}", str(path))
