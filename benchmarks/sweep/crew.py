"""Worker processes on this machine: whoever dies is replaced."""

import os
import subprocess
import sys
import threading
from typing import Self

from depl.benchmarks.sweep.process import kill_group, one_thread

_TICK = 0.5


class Crew:
    """So many workers for a scheduler of dask.distributed; a context manager.

    Parameters
    ----------
    size : int
        How many workers.
    address : str
        Of the scheduler.
    folder : str
        For their scratch files.
    """

    def __init__(self, size: int, address: str, folder: str) -> None:
        self._size = size
        self._words = [address, str(os.getpid()), folder]
        self._workers: list[subprocess.Popen[bytes]] = []
        self._over = threading.Event()
        # The kernel ends workers with the thread that started them, so that one starts all and stays.
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Self:
        """Start the workers."""
        self._keeper.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Kill them; what they solve ends with them."""
        self._over.set()
        self._keeper.join()

    @property
    def identifiers(self) -> list[int]:
        """Numbers of the processes that work now."""
        return [worker.pid for worker in self._workers]

    def _keep(self) -> None:
        while not self._over.wait(_TICK if self._workers else 0):
            for worker in self._workers:
                if worker.poll() is not None:
                    _end(worker)
            self._workers = [worker for worker in self._workers if worker.returncode is None]
            self._workers += [self._started() for _ in range(self._size - len(self._workers))]
        for worker in self._workers:
            _end(worker)

    def _started(self) -> subprocess.Popen[bytes]:
        module = "depl.benchmarks.sweep.worker"
        return subprocess.Popen(
            [sys.executable, "-m", module, *self._words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=one_thread(),
            start_new_session=True,
        )


def _end(worker: subprocess.Popen[bytes]) -> None:
    kill_group(worker)
    worker.wait()
    if worker.stdin is not None:
        worker.stdin.close()
