"""Making attempts: in processes of this machine, or on the workers of a dask scheduler that runs elsewhere.

Whatever becomes of the process that solves, an attempt comes back, and is in the file before the next one.
"""

import contextlib
import math
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol

import msgspec

import depl
from depl.benchmarks.measure.attempt import Attempt, without_folders
from depl.benchmarks.measure.process import CallError, CrashedError, HungError, LoneProcess, StartError
from depl.benchmarks.measure.provenance import here, made_at, now
from depl.benchmarks.measure.solving import attempt, prepare
from depl.benchmarks.measure.store import Store
from depl.benchmarks.measure.tasks import Job
from depl.models.foundation.errors import InvalidInputError

_PREPARING = 600.0
"""Seconds for imports and compiling; not on the clock of an attempt."""
_CONNECTING, _PATIENCE, _TICK = 15.0, 120.0, 0.1


class Workers(Protocol):
    """Makes the attempts of jobs, in any order."""

    def attempts(self, jobs: Sequence[Job]) -> Generator[Attempt, None, None]:
        """One attempt of every job, each as soon as it is finished."""


class Swept(NamedTuple):
    """What a call of `sweep` did.

    ``made`` are the attempts that it made, which are in the file. ``kept`` jobs had one there before;
    ``kept_of_other_commits`` of these have none of the commit that runs now.
    """

    made: list[Attempt]
    kept: int
    kept_of_other_commits: int
    interrupted: bool


def sweep(
    store: Store, jobs: Sequence[Job], workers: Workers, step: Callable[[Attempt], None] = lambda made: None
) -> Swept:
    """Make the attempts that a file does not hold yet; Ctrl-C keeps what is finished.

    Parameters
    ----------
    store : Store
        Holds every finished attempt at once.
    jobs : sequence of Job
        A task that occurs twice is run once.
    workers : Workers
        Who makes the attempts.
    step : callable
        Told every attempt once it is in the file.
    """
    kept = [row for row in store.attempts if not row.unanswered]
    known = {row.task for row in kept}
    of_this_commit = {row.task for row in kept if row.source == here().source}
    unique = {job.task: job for job in jobs}
    missing = [job for task, job in unique.items() if task not in known]
    other = len((unique.keys() & known) - of_this_commit)
    made: list[Attempt] = []
    interrupted = False
    try:
        with contextlib.closing(workers.attempts(missing)) as attempts:
            for found in attempts:
                store.add(found)
                made.append(found)
                step(found)
    except KeyboardInterrupt:
        interrupted = True
    return Swept(made, len(unique) - len(missing), other, interrupted)


def attempt_alone(job: Job, process: LoneProcess) -> Attempt:
    """Make the attempt of a job in another process, and kill that when its time is over.

    Parameters
    ----------
    job : Job
    process : LoneProcess
        Where to solve. It is started anew if the job asks for a fresh one, or the last one hung or crashed.

    Returns
    -------
    Attempt
        ``hung`` or ``crashed`` if the process did not answer; how, is its reason.

    Raises
    ------
    StartError
        If no process can be started: nothing was attempted then.
    """
    if job.fresh:
        process.end()
    limit = job.blank.settings["time_limit"]
    seconds = math.inf if limit is None else float(limit) + job.grace
    hashes: list[str] = []
    started, clock = now(), time.perf_counter()
    try:
        process.call(prepare, job, _PREPARING)
        started, clock = now(), time.perf_counter()
        found: Attempt = process.call(attempt, job, seconds, hashes.append)
        return found
    except HungError:
        ending, reason = "hung", f"killed after {time.perf_counter() - clock:.1f} s"
    except CrashedError as error:
        ending, reason = "crashed", without_folders(str(error))
    except CallError as error:
        ending, reason = "failed", without_folders(str(error))
    return msgspec.structs.replace(
        made_at(job.blank, here()),
        ending=ending,
        reason=reason,
        instance_hash=hashes[0] if hashes else "",
        started=started,
        total_seconds=time.perf_counter() - clock,
    )


class Processes:
    """Makes so many attempts at a time, each in a process besides this one."""

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers

    def attempts(self, jobs: Sequence[Job]) -> Generator[Attempt, None, None]:
        """One attempt of every job, each as soon as it is finished; what still runs at the end is killed.

        Raises
        ------
        StartError
            If no process can be started to solve in.
        """
        processes = [LoneProcess() for _ in range(self._workers)]
        idle = SimpleQueue[LoneProcess]()
        for process in processes:
            idle.put(process)

        def made(job: Job) -> Attempt:
            process = idle.get()
            try:
                return attempt_alone(job, process)
            finally:
                idle.put(process)

        pool = ThreadPoolExecutor(self._workers)
        futures = [pool.submit(made, job) for job in jobs]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            while not all(future.done() for future in futures):
                for process in processes:  # one may start between two rounds
                    process.kill()
                time.sleep(_TICK)
            for process in processes:
                process.close()


class Scheduler:
    """Hands attempts to the workers of a scheduler of dask.distributed that is running.

    Who may connect, and by which certificates, is what dask's own configuration says. A worker is a daemon,
    which may start no process by multiprocessing: those that solve are plain ones.

    Raises
    ------
    InvalidInputError
        If dask.distributed is not installed.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError as error:
            raise InvalidInputError(
                "a scheduler needs dask.distributed: pip install 'depl[cluster]', or leave the option out"
            ) from error
        self._distributed: Any = distributed  # it has no types
        self._address = address

    def attempts(self, jobs: Sequence[Job]) -> Generator[Attempt, None, None]:
        """One attempt of every job, each as soon as it is finished.

        Raises
        ------
        InvalidInputError
            If the scheduler cannot be reached, no worker comes to it within two minutes, or its workers
            cannot run this depl.
        StartError
            If a worker cannot start a process to solve in.
        """
        if not jobs:
            return
        try:
            client = self._distributed.Client(self._address, timeout=_CONNECTING)
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"no scheduler answers ({error})", self._address) from error
        with client:
            self._require_workers(client)
            futures = {client.submit(attempt_there, job, pure=False): job for job in jobs}
            try:
                for future in self._distributed.as_completed(list(futures)):
                    yield _attempt_of(future, futures[future])
            finally:  # what still waits would take its workers
                client.cancel(list(futures), force=True)

    def _require_workers(self, client: Any) -> None:
        """Refuse workers that would fail at every task."""
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
            versions = set(client.run(version_there).values())
        except TimeoutError as error:
            message = "no worker has come; start some for this scheduler"
            raise InvalidInputError(message, self._address) from error
        except Exception as error:  # whatever a worker without depl raises
            raise InvalidInputError(f"a worker cannot run this depl: {error}", self._address) from error
        if versions != {depl.__version__}:
            raise InvalidInputError(
                f"workers have version {' and '.join(sorted(versions))}, and {depl.__version__} is needed",
                self._address,
            )


def attempt_there(job: Job) -> Attempt:
    """Make the attempt of a job on a worker; called by dask."""
    with LoneProcess() as process:
        return attempt_alone(job, process)


def version_there() -> str:
    """Of depl on a worker; called by dask."""
    return depl.__version__


def _attempt_of(future: Any, job: Job) -> Attempt:
    """What came of a job; crashed if dask gave it up, because workers that had it died."""
    try:
        found: Attempt = future.result()
        return found
    except StartError:
        raise
    except Exception as error:  # noqa: BLE001 - a worker that died, however dask tells it
        return msgspec.structs.replace(
            made_at(job.blank, here()),
            ending="crashed",
            reason=f"its workers failed, at last: {error}",
            started=now(),
        )
