"""Reading attempts, wherever they are: a sweep's file, compact files, or the recorded ones by name."""

from collections.abc import Iterable
from pathlib import Path

from depl.benchmarks.results import RESULTS
from depl.benchmarks.sweep import compact, store
from depl.benchmarks.sweep.attempt import Attempt, Task
from depl.models.errors import InvalidInputError

RECORDED = RESULTS / "attempts"
"""Folder of the committed attempts of the standard suites, in compact form."""


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
    source = _found(path)
    if source.is_dir():
        files = sorted(source.glob(f"[!.]*{compact.SUFFIX}"))
        if not files:
            raise InvalidInputError(f"holds no files of attempts (*{compact.SUFFIX})", str(path))
        return [attempt for file in files for attempt in read_attempts(file)]
    try:
        with source.open("rb") as file:
            beginning = file.read(len(store.MAGIC))
        if beginning.startswith(compact.MAGIC):
            return compact.decode_attempts(source.read_bytes(), str(path))
    except OSError as error:
        raise InvalidInputError(f"cannot be read ({error.strerror or error})", str(path)) from error
    if beginning != store.MAGIC:
        raise InvalidInputError("is no file of attempts; 'depl bench run' and 'export' write some", str(path))
    return store.stored_attempts(source)


def latest(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Of every task the attempt that began last; where tasks were first met."""
    found: dict[Task, Attempt] = {}
    for attempt in attempts:
        known = found.get(attempt.task)
        if known is None or attempt.started >= known.started:
            found[attempt.task] = attempt
    return list(found.values())


def _found(path: str | Path) -> Path:
    source = Path(path)
    if source.exists():
        return source
    recorded = RECORDED / f"{path}{compact.SUFFIX}"
    if Path(path).name == str(path) and recorded.exists():
        return recorded
    known = ", ".join(sorted(item.name.removesuffix(compact.SUFFIX) for item in RECORDED.glob("[!.]*.gz")))
    raise InvalidInputError(f"no such file, and recorded are only: {known or 'none'}", str(path))
