"""All studies recorded at one commit: what has been recorded at it is passed over, what was begun goes on."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from depl.benchmarks.measure import results
from depl.benchmarks.measure.attempt import Attempt, Job, Request
from depl.benchmarks.measure.catalogue import all_studies, chosen
from depl.benchmarks.measure.provenance import here
from depl.benchmarks.measure.registry import Study
from depl.benchmarks.measure.store import (
    COMPRESSED,
    RECORDED,
    SUFFIX,
    Store,
    latest,
    read_attempts,
    recorded,
    write_attempts,
)
from depl.benchmarks.measure.tasks import jobs_of
from depl.models.foundation.errors import InvalidInputError


class Recording(NamedTuple):
    """A study that is to be recorded, and the file of attempts that is written until it is."""

    study: Study
    path: Path

    def opened(self) -> Store:
        """The file, made for the study if it is new.

        Raises
        ------
        InvalidInputError
            If it holds attempts of another commit.
        """
        draw = None if self.study.sweeps else results.seed_of(self.study)
        store = Store(self.path, Request(suites=(self.study.name,), draw=draw))
        if any(row.commit != here().commit for row in store.attempts):
            store.__exit__()
            raise InvalidInputError(
                "holds attempts of another commit; remove it to begin anew", str(self.path)
            )
        return store

    def jobs(self, store: Store) -> list[Job]:
        """What is to be run, begun or not.

        Raises
        ------
        InvalidInputError
            If the file was made for something else.
        """
        made = store.request
        if made is None or made != Request(suites=(self.study.name,), draw=made.draw):
            message = "was not made for the whole study; remove it to begin anew"
            raise InvalidInputError(message, str(self.path))
        return jobs_of(made)

    def finish(self, attempts: Iterable[Attempt], jobs: Sequence[Job]) -> None:
        """Put what was recorded in the place of what was before, with its record if the study has one."""
        if not self.study.sweeps:
            results.write_recorded(self.study, attempts, jobs, self.path)
            return
        known = {row.task: row for row in latest(attempts)}
        target = self.path.parent / f"{self.study.name}{COMPRESSED}"
        write_attempts(target, [known[job.task] for job in jobs], jobs[0].request)
        self.path.unlink()


def left(names: Sequence[str] = ()) -> list[Recording]:
    """What is not recorded at this commit, of these studies or of all; sweeps that took longest come first.

    Raises
    ------
    InvalidInputError
        If a name is unknown, or the source that runs is of no commit.
    """
    commit = here().commit
    if commit is None:
        raise InvalidInputError("a recording names its commit: run it in a checkout of git")
    if commit.dirty:
        raise InvalidInputError("a recording names its commit: commit what was changed, and record then")
    studies = all_studies()
    seconds: dict[str, float] = {}
    for study in chosen(names or list(studies), studies):
        done = _done(study.name)
        begun = (_folder(study) / f"{study.name}{SUFFIX}").exists()  # or is not in its place yet
        if begun or {row.commit for row in done} != {commit}:
            seconds[study.name] = sum(row.total_seconds for row in done)
    order = sorted(seconds, key=lambda name: -seconds[name])
    return [Recording(studies[name], _folder(studies[name]) / f"{name}{SUFFIX}") for name in order]


def _done(name: str) -> list[Attempt]:
    known = recorded()
    return latest(read_attempts(known[name])) if name in known else []


def _folder(study: Study) -> Path:
    """Where the attempts of a study lie: those of a sweep beside others that the report reads."""
    known = recorded()
    return known[study.name].parent if study.name in known else RECORDED if study.sweeps else results.RESULTS
