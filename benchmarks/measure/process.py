"""Calling functions in a process of its own, under a deadline: what hangs is killed, what crashes is told.

The process is kept for the next call, because to start it takes seconds; it is replaced after it was killed
or died. It leads a session, so that what a function started dies with it; Ctrl-C is for the process that
started it, and it ends when that does, however that ends. A pool of pebble, which was tried, leaves what a
function started behind at a deadline, starts nothing on a worker of dask, and prepares on the clock.
"""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Self

from depl.models.foundation.errors import DeplError

_THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM")
"""Libraries that read, when they start, how many threads they may use: one, here."""
_LONGEST_TAIL = 2000
_TICK = 0.5
_STARTING = 120.0
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)
_CHILD = "from depl.benchmarks.measure.process import serve; serve({pipe}, {parent})"


class StartError(DeplError):
    """A process could not be started, which says nothing of what it was to do."""


class CallError(DeplError):
    """A call has no answer; ``ending`` says why.

    It is ``hung`` if it did not end by its deadline, ``crashed`` if its process died (the message holds how,
    and the last lines that it wrote), ``failed`` if the function raised an exception (the message is its
    traceback).
    """

    def __init__(self, ending: str, message: str) -> None:
        super().__init__(message)
        self.ending = ending


class LoneProcess:
    """A process that functions are called in, one at a time; started at the first call.

    A context manager: what is still running at its end is killed, with all processes that it started.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in the end

    def __enter__(self) -> Self:
        """Nothing is started yet."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the process; there is no next call."""
        self.end()
        self._errors.close()

    def call(self, function: Callable[[Any], Any], argument: Any, seconds: float) -> Any:
        """Call a function of a module there and wait for what it returns; both ways by pickle.

        Parameters
        ----------
        seconds : float
            How long it may take [s]; the start of the process, if there is none yet, is not counted.

        Raises
        ------
        StartError
            If there is no process and none can be started.
        CallError
            If it takes longer, the process dies or the function raises an exception.
        """
        process, pipe = self._started()
        try:
            self._errors.seek(0)
            self._errors.truncate()  # of interest is what this call writes
            deadline = time.monotonic() + seconds
            with contextlib.suppress(BrokenPipeError):  # it has died, which its answer tells
                pipe.send((function, argument))
            failed, content = self._answer(process, pipe, deadline)
        except BaseException:  # a process that was left in the middle of a call is of no use to the next
            self.end()
            raise
        if failed:
            raise CallError("failed", content.strip())
        return content

    def kill(self) -> None:
        """Kill the process from another thread than the one that calls, whose call crashes then."""
        if self._process is not None:
            _kill_group(self._process.pid)

    def end(self) -> None:
        """Kill the process and what it started; the next call starts another one."""
        process, self._process = self._process, None
        if process is not None:
            _kill_group(process.pid)
            process.wait()
            for stream in (process.stdin, self._pipe):
                if stream is not None:
                    stream.close()

    def _started(self) -> tuple[subprocess.Popen[bytes], Connection]:
        if self._process is not None and self._process.poll() is not None:
            self.end()  # died between two calls
        if self._process is None or self._pipe is None:
            self._pipe, theirs = Pipe()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _CHILD.format(pipe=theirs.fileno(), parent=os.getpid())],
                    stdin=subprocess.PIPE,
                    stderr=self._errors,
                    stdout=self._errors,
                    pass_fds=[theirs.fileno()],
                    env=_one_thread(),
                    start_new_session=True,
                )
            try:
                self._answer(self._process, self._pipe, time.monotonic() + _STARTING)
            except BaseException as error:
                self.end()
                if isinstance(error, CallError):
                    raise StartError(f"no process could be started for solving: {error}") from error
                raise
        return self._process, self._pipe

    def _answer(
        self, process: subprocess.Popen[bytes], pipe: Connection, deadline: float
    ) -> tuple[bool, Any]:
        """What the process sends next: whether a function failed, and what it returned."""
        while not pipe.poll(max(0.0, min(_TICK, deadline - time.monotonic()))):
            # a process that it started may hold the pipe open
            if process.poll() is not None and not pipe.poll():
                raise self._crashed(process)
            if time.monotonic() >= deadline:
                raise CallError("hung", "did not end in time and was killed")
        try:
            answer: tuple[bool, Any] = pipe.recv()
        except (EOFError, OSError):
            raise self._crashed(process) from None
        return answer

    def _crashed(self, process: subprocess.Popen[bytes]) -> CallError:
        _kill_group(process.pid)
        code = process.wait()
        try:
            how = f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
        except ValueError:
            how = f"by signal {-code}"
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _LONGEST_TAIL))
        words = self._errors.read().decode(errors="replace").strip()
        return CallError("crashed", f"its process ended {how}; {words or 'it wrote nothing'}")


def _one_thread() -> dict[str, str]:
    """Environment for another Python: one thread for numerical libraries, the same folders for imports."""
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return {**os.environ, **{f"{name}_NUM_THREADS": "1" for name in _THREADS}, **path}


def serve(descriptor: int, parent: int) -> None:
    """Answer calls that come by a pipe, in a process that `LoneProcess` started; never returns."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent(parent)
    os.set_inheritable(descriptor, False)
    pipe = Connection(descriptor)
    pipe.send((False, None))  # it has started
    while True:
        order = pipe.recv_bytes()
        try:
            function, argument = pickle.loads(order)
            answer = False, function(argument)
        except BaseException:  # noqa: BLE001 - whatever it is, the caller decides
            answer = True, traceback.format_exc()
        pipe.send(answer)


def _end_with_parent(parent: int) -> None:
    """End this process and its group when the one that started it ends, which closes standard input then."""
    if sys.platform == "linux":  # by the kernel, as the thread that reads may never get to run
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended before
        os._exit(0)

    def wait() -> None:
        sys.stdin.buffer.read()
        _kill_group(os.getpid())

    threading.Thread(target=wait, daemon=True).start()


def _kill_group(leader: int) -> None:
    """Kill a process that leads a session, and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: no right to kill a zombie
        os.killpg(leader, signal.SIGKILL)
