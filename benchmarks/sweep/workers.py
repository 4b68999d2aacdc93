"""Who makes attempts: processes of this machine, or workers of a dask scheduler that runs elsewhere."""

import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from queue import SimpleQueue
from typing import Any

import msgspec

import depl
from depl.benchmarks.measure.attempt import Attempt
from depl.benchmarks.measure.process import LoneProcess, StartError
from depl.benchmarks.measure.provenance import here, made_at, now
from depl.benchmarks.sweep.attempting import attempt_alone
from depl.benchmarks.sweep.request import Job
from depl.models.foundation.errors import InvalidInputError

_CONNECTING, _PATIENCE, _TICK = 15.0, 120.0, 0.1


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

    Who may connect, and by which certificates, is what dask's own configuration says.

    Parameters
    ----------
    address : str
        Such as ``tls://10.0.0.1:8786``.

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
            contents = [msgspec.json.encode(job) for job in jobs]
            sent = [client.submit(attempt_there, content, pure=False) for content in contents]
            futures = dict(zip(sent, jobs, strict=True))
            try:
                for future in self._distributed.as_completed(sent):
                    yield _attempt_of(future, futures[future])
            finally:  # what still waits would take its workers
                client.cancel(sent, force=True)

    def _require_workers(self, client: Any) -> None:
        """Refuse workers that would fail at every task."""
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError as error:
            raise InvalidInputError(
                "no worker has come; start some for this scheduler", self._address
            ) from error
        try:
            versions = set(client.run(version_there).values())
        except Exception as error:  # whatever a worker without depl raises
            raise InvalidInputError(f"a worker cannot run this depl: {error}", self._address) from error
        if versions != {depl.__version__}:
            raise InvalidInputError(
                f"workers have version {' and '.join(sorted(versions))}, and {depl.__version__} is needed",
                self._address,
            )


def attempt_there(content: bytes) -> bytes:
    """Make the attempt of a job on a worker; called by dask."""
    with LoneProcess() as process:
        return msgspec.json.encode(attempt_alone(msgspec.json.decode(content, type=Job), process))


def version_there() -> str:
    """Of depl on a worker; called by dask."""
    return depl.__version__


def _attempt_of(future: Any, job: Job) -> Attempt:
    """What came of a job; crashed if dask gave it up, because workers that had it died."""
    try:
        return msgspec.json.decode(future.result(), type=Attempt)
    except StartError:
        raise
    except Exception as error:  # noqa: BLE001 - a worker that died, however dask tells it
        reason = f"its workers failed, at last: {error}"
        return msgspec.structs.replace(
            made_at(job.blank, here()), ending="crashed", reason=reason, started=now()
        )
