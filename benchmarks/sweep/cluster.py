"""Several workers, on this machine or on many, by dask.distributed.

A worker keeps one process in which it solves (`depl.benchmarks.sweep.worker`), so that a task that
crashes its process does not touch the worker. Workers die of other causes: the system is out of memory, a
machine is taken away. Their tasks go to another one.

What is started here listens on loopback alone, in plain text: everybody who works on this machine can connect
(`depl.benchmarks.sweep.transport`).
"""

import contextlib
import logging
import tempfile
import uuid
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import msgspec

import depl
from depl.benchmarks.runner.provenance import here, made_at, now
from depl.benchmarks.sweep.attempt import Attempt
from depl.benchmarks.sweep.crew import Crew
from depl.benchmarks.sweep.process import StartError
from depl.benchmarks.sweep.request import Job
from depl.benchmarks.sweep.transport import HERE, security_towards
from depl.benchmarks.sweep.worker import attempt_here, require_same_depl, stop_here
from depl.models.foundation.errors import InvalidInputError

MOST_LOSSES = 10
"""After so many workers that died with a task in hand, the task has crashed."""
_CONNECTING = 15.0
_PATIENCE = 120.0
_SILENT = logging.CRITICAL + 1


class Cluster:
    """Workers of dask.distributed.

    Parameters
    ----------
    workers : int
        How many to start here, one task each; ignored if there is an address.
    address : str or None
        Of a scheduler that is running, such as ``tls://10.0.0.1:8786``.

    Raises
    ------
    InvalidInputError
        If dask.distributed is not installed, or the address is one at which strangers could take part.
    """

    def __init__(self, workers: int, address: str | None = None) -> None:
        try:
            import distributed
        except ImportError as error:
            raise InvalidInputError(
                "several workers need dask.distributed: pip install 'depl[cluster]', or leave the option out"
            ) from error
        self._distributed: Any = distributed  # it has no types
        self._workers, self._address = workers, address
        self._security: Any = security_towards(address)

    def attempts(self, jobs: Sequence[Job]) -> Generator[Attempt, None, None]:
        """One attempt of every job, each as soon as it is finished.

        Raises
        ------
        InvalidInputError
            If the scheduler cannot be reached, no worker comes to it within two minutes, or its workers
            cannot run this depl.
        StartError
            If a worker could not start a process to solve in, again and again.
        """
        if not jobs:
            return
        with contextlib.ExitStack() as stack:
            client = self._client(stack)
            self._require_workers(client)
            name, numbers = uuid.uuid4().hex, dict[Any, int]()
            try:
                yield from self._gathered(client, jobs, name, numbers)
            finally:  # what still runs would keep its worker
                with contextlib.suppress(Exception):  # the cluster may be what failed
                    client.cancel(list(numbers), force=True)
                    client.run(stop_here, name)

    def _client(self, stack: contextlib.ExitStack) -> Any:
        """A client; leaving the stack ends what was started for it."""
        stack.enter_context(_quiet())
        address = self._address or self._started(stack)
        try:
            client = self._distributed.Client(address, timeout=_CONNECTING, security=self._security)
            return stack.enter_context(client)
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"no scheduler answers ({error})", str(self._address)) from error

    def _started(self, stack: contextlib.ExitStack) -> str:
        """Address of a scheduler in this process that workers of this machine come to."""
        import dask

        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="depl-sweep-", ignore_cleanup_errors=True)
        )
        settings = {
            "distributed.scheduler.allowed-failures": 0,  # who dies is to be seen here, where it is counted
            "distributed.scheduler.http.routes": [],
        }
        with dask.config.set(settings):
            cluster = self._distributed.LocalCluster(
                n_workers=0,
                host=HERE,
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": f"{HERE}:0"},  # it listens there without any route
                local_directory=folder,
                silence_logs=_SILENT,
                security=self._security,
            )
        address: str = stack.enter_context(cluster).scheduler_address
        stack.enter_context(Crew(self._workers, address, folder))
        return address

    def _require_workers(self, client: Any) -> None:
        """Refuse workers that would fail at every task."""
        place = self._address or "--workers"
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError as error:
            raise InvalidInputError("no worker has come; start some for this scheduler", place) from error
        for losses in range(MOST_LOSSES):
            try:
                client.submit(require_same_depl, depl.__version__, key=f"check-{losses}", pure=False).result()
            except self._distributed.KilledWorker:
                continue
            except Exception as error:  # whatever a worker without depl raises
                raise InvalidInputError(f"a worker cannot run this depl: {error}", place) from error
            return
        raise InvalidInputError("workers die as soon as they have come; look into their logs", place)

    def _gathered(
        self, client: Any, jobs: Sequence[Job], name: str, numbers: dict[Any, int]
    ) -> Generator[Attempt, None, None]:
        """Attempts as they come; ``numbers`` holds the places of the jobs that are waited for."""

        def submitted(number: int) -> Any:
            key = f"{name}-{number}-{losses[number]}"
            future = client.submit(attempt_here, contents[number], name, key=key, pure=False)
            numbers[future] = number
            return future

        contents = [msgspec.json.encode(job) for job in jobs]
        losses = [0] * len(jobs)
        waiting = self._distributed.as_completed([submitted(number) for number in range(len(jobs))])
        for future in waiting:
            number = numbers.pop(future)
            try:
                content = future.result()
            except Exception as error:  # a worker that died, however dask tells it
                losses[number] += 1
                if losses[number] < MOST_LOSSES:
                    waiting.add(submitted(number))
                elif isinstance(error, StartError):
                    raise
                else:
                    yield _given_up(jobs[number], error)
                continue
            yield msgspec.json.decode(content, type=Attempt)


def _given_up(job: Job, error: Exception) -> Attempt:
    return msgspec.structs.replace(
        made_at(job.blank, here()),
        ending="crashed",
        reason=f"its worker failed {MOST_LOSSES} times, at last: {error}",
        started=now(),
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep dask's reports of workers that die from the user's screen: they are expected."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(_SILENT)
    try:
        yield
    finally:
        logger.setLevel(level)
