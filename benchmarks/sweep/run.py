"""Running a sweep: every job becomes an attempt in the file, whatever happens on the way."""

import contextlib
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, Protocol

from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.sweep.request import Job
from depl.benchmarks.sweep.store import Store

Step = Callable[[Attempt], None]


class Workers(Protocol):
    """Makes the attempts of jobs, in any order."""

    def attempts(self, jobs: Sequence[Job]) -> Generator[Attempt, None, None]:
        """One attempt of every job, each as soon as it is finished."""


class Swept(NamedTuple):
    """What a call of `sweep` did.

    Attributes
    ----------
    made : list of Attempt
        Those that this call made; they are in the file.
    kept : int
        Jobs that had an attempt there before.
    kept_of_other_commits : int
        Of these, those without an attempt of the commit that runs now.
    interrupted : bool
        Whether the user stopped it before its end.
    """

    made: list[Attempt]
    kept: int
    kept_of_other_commits: int
    interrupted: bool


def sweep(
    store: Store, jobs: Sequence[Job], workers: Workers, source: str, step: Step = lambda attempt: None
) -> Swept:
    """Make the attempts that a file does not hold yet.

    Parameters
    ----------
    store : Store
        Holds every finished attempt at once.
    jobs : sequence of Job
        A task that occurs twice is run once.
    workers : Workers
        Who makes the attempts.
    source : str
        The commit that runs, as in `depl.benchmarks.measure.provenance.Provenance.source`.
    step : callable
        Told every attempt once it is in the file.
    """
    commits = store.commits_by_task()
    unique = list({job.task: job for job in jobs}.values())
    missing = [job for job in unique if job.task not in commits]
    other = sum(job.task in commits and source not in commits[job.task] for job in unique)
    made: list[Attempt] = []
    interrupted = False
    try:
        with contextlib.closing(workers.attempts(missing)) as attempts:
            for attempt in attempts:
                store.add(attempt)
                made.append(attempt)
                step(attempt)
    except KeyboardInterrupt:
        interrupted = True
    return Swept(made, len(unique) - len(missing), other, interrupted)
