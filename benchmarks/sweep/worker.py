"""A worker of dask.distributed that ends with the process that started it.

``python -m depl.benchmarks.sweep.worker ADDRESS PARENT FOLDER`` joins a scheduler of
this machine and takes one task at a time. It listens on loopback alone.
"""

import asyncio
import contextlib
import logging
import sys
import threading
from typing import Any

import msgspec

import depl
from depl.benchmarks.sweep.attempting import attempt_alone
from depl.benchmarks.sweep.child import end_with_parent
from depl.benchmarks.sweep.process import LoneProcess
from depl.benchmarks.sweep.request import Job
from depl.benchmarks.sweep.transport import HERE, security_towards
from depl.models.foundation.errors import InvalidInputError


class _Thread(threading.local):
    """What a thread of this worker keeps: the process that it solves in, made for its first job."""

    process: LoneProcess | None = None


_THREAD = _Thread()
_RUNNING: dict[LoneProcess, str] = {}


def attempt_here(content: bytes, name: str) -> bytes:
    """Make the attempt of a job of the sweep ``name`` on this worker; called by dask."""
    process = _THREAD.process = _THREAD.process or LoneProcess()
    _RUNNING[process] = name
    try:
        return msgspec.json.encode(attempt_alone(msgspec.json.decode(content, type=Job), process))
    finally:
        del _RUNNING[process]


def stop_here(name: str) -> None:
    """Kill what solves for the sweep ``name`` on this worker; called by dask."""
    for process, sweep in list(_RUNNING.items()):
        if sweep == name:
            process.kill()


def require_same_depl(version: str) -> None:
    """Called by dask on a worker.

    Raises
    ------
    InvalidInputError
        If the worker has another version of depl.
    """
    if depl.__version__ != version:
        raise InvalidInputError(f"it has version {depl.__version__}, and {version} is needed")


async def _work(address: str, folder: str) -> None:
    import dask
    import distributed

    with dask.config.set({"distributed.worker.http.routes": []}):
        worker: Any = distributed.Worker(
            address,
            host=HERE,
            nthreads=1,
            memory_limit=0,
            dashboard=False,
            dashboard_address=f"{HERE}:0",  # it listens there without any route
            local_directory=folder,
            security=security_towards(None),
        )
        async with worker:
            await worker.finished()


def _main(address: str, parent: int, folder: str) -> None:
    end_with_parent(parent)
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    with contextlib.suppress(OSError, asyncio.TimeoutError):  # the scheduler has gone
        asyncio.run(_work(address, folder))


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
