"""Making attempts: in processes of this machine, or on the workers of a dask scheduler that runs elsewhere.

Whatever becomes of the process that solves, an attempt comes back, and is in the file before the next one.
"""

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from queue import SimpleQueue
from typing import Any

import msgspec

import depl
from depl.benchmarks.measure.attempt import Attempt, Job, without_folders
from depl.benchmarks.measure.process import CallError, LoneProcess, StartError
from depl.benchmarks.measure.provenance import here, now, place_of
from depl.benchmarks.measure.solving import attempt, prepare
from depl.benchmarks.measure.store import Store
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import installing

Workers = Callable[[Sequence[Job]], Generator[Attempt, None, None]]
"""Makes one attempt of every job, in any order, each as soon as it is finished."""
_PREPARING = 600.0
"""Seconds for imports and compiling; not on the clock of an attempt."""
_CONNECTING, _PATIENCE, _TICK = 15.0, 120.0, 0.1


def workers_of(number: int = 1, scheduler: str | None = None) -> Workers:
    """So many processes at a time besides this one, or the workers of a scheduler of dask that is running.

    Who may connect to that, and by which certificates, is what dask's own configuration says.

    Raises
    ------
    InvalidInputError
        If dask.distributed is needed and not installed.
    """
    if scheduler is None:
        return partial(_by_processes, number)
    try:
        import distributed
    except ImportError as error:
        raise InvalidInputError(
            f"a scheduler needs dask.distributed: {installing('cluster')}, or leave the option out"
        ) from error
    return partial(_by_dask, distributed, scheduler)


def sweep(
    store: Store,
    jobs: Sequence[Job],
    workers: Workers | None = None,
    step: Callable[[Attempt], None] = lambda made: None,
) -> tuple[dict[str, Any], list[Attempt]]:
    """Make the attempts that a file does not hold yet; what was done, and all attempts at these jobs.

    Every finished attempt is in the file before ``step`` is told, and Ctrl-C keeps it. A task that occurs
    twice is run once.

    Raises
    ------
    InvalidInputError
        If a task has no answer and its study takes answers alone; other answers stay in the file.
    """
    missing = {job.task: job for job in jobs}
    tasks = list(missing)
    for row in (there := store.held(tasks)):
        missing.pop(row.task, None)
    other = {row.task for row in there} - {row.task for row in there if row.source == here().source}
    told: dict[str, Any] = {"file": str(store.path), "tasks": len(tasks), "kept": len(tasks) - len(missing)}
    made, interrupted = 0, False
    try:
        with contextlib.closing((workers or workers_of())(list(missing.values()))) as attempts:
            for found in attempts:
                store.add(found)
                made += 1
                if found.unanswered:
                    message = f"{found.ending}: {found.reason}; correct that and go on with: "
                    again = f"{message}depl bench resume {store.path}"
                    raise InvalidInputError(again, f"task {str(found.task)!r}")
                step(found)
    except KeyboardInterrupt:
        interrupted = True
    rows = store.held(tasks)
    done = {"finished": told["kept"] + made, "made": made, "kept_of_other_commits": len(other)}
    endings = dict(Counter(row.ending for row in rows))
    return {**told, **done, "interrupted": interrupted, "endings": endings}, rows


def attempt_alone(job: Job, process: LoneProcess) -> Attempt:
    """Make the attempt of a job in another process, and kill that when its time is over.

    It is started anew if the job asks for a fresh one, or the last one hung or crashed. ``hung`` or
    ``crashed`` is an attempt without an answer; how, is its reason.

    Raises
    ------
    StartError
        If no process can be started: nothing was attempted then.
    """
    if job.request.fresh:
        process.end()
    limit = job.blank.settings["time_limit"]
    seconds = math.inf if limit is None else float(limit) + job.request.grace
    started, clock = now(), time.perf_counter()
    try:
        process.call(prepare, job, _PREPARING)
        started, clock = now(), time.perf_counter()
        found: Attempt = process.call(attempt, job, seconds)
        return found
    except CallError as error:
        taken = time.perf_counter() - clock
        hung = error.ending == "hung"
        reason = f"killed after {taken:.1f} s" if hung else without_folders(str(error))
        return _without_answer(job, error.ending, reason, started, taken)


def _without_answer(job: Job, ending: str, reason: str, started: str, seconds: float = 0.0) -> Attempt:
    told = {"ending": ending, "reason": reason, "started": started, "total_seconds": seconds}
    return msgspec.structs.replace(job.blank, **place_of(here()), **told)


def _by_processes(workers: int, jobs: Sequence[Job]) -> Generator[Attempt, None, None]:
    """What still runs at the end is killed."""
    processes = [LoneProcess() for _ in range(workers)]
    idle = SimpleQueue[LoneProcess]()
    for process in processes:
        idle.put(process)

    def made(job: Job) -> Attempt:
        process = idle.get()
        try:
            return attempt_alone(job, process)
        finally:
            idle.put(process)

    pool = ThreadPoolExecutor(workers)
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
            process.__exit__()


def _by_dask(distributed: Any, address: str, jobs: Sequence[Job]) -> Generator[Attempt, None, None]:
    # A worker is a daemon, which may start no process by multiprocessing: those that solve are plain ones.
    if not jobs:
        return
    try:
        client = distributed.Client(address, timeout=_CONNECTING)
    except (OSError, ValueError) as error:
        message = f"no scheduler answers ({error}); 'dask scheduler --host 127.0.0.1' starts one here"
        raise InvalidInputError(message, address) from error
    with client:
        _require_workers(client, address)
        futures = {client.submit(attempt_there, job, pure=False): job for job in jobs}
        try:
            for future in distributed.as_completed(list(futures)):
                yield _attempt_of(future, futures[future])
        finally:  # what still waits would take its workers
            client.cancel(list(futures), force=True)


def _require_workers(client: Any, address: str) -> None:
    """Refuse workers that would fail at every task."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
        versions = set(client.run(version_there).values())
    except TimeoutError as error:
        message = f"no worker has come; 'dask worker {address}' starts one"
        raise InvalidInputError(message, address) from error
    except Exception as error:  # whatever a worker without depl raises
        raise InvalidInputError(f"a worker cannot run this depl: {error}", address) from error
    if versions != {depl.__version__}:
        found = " and ".join(sorted(versions))
        raise InvalidInputError(f"workers have version {found}, and {depl.__version__} is needed", address)


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
        return _without_answer(job, "crashed", f"its workers failed, at last: {error}", now())
