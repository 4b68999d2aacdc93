"""Calling functions in a process of its own, under a deadline: what hangs is killed, what crashes is told.

The process is kept for the next call, because to start it takes seconds; it is replaced after it was killed
or died. Numerical libraries read how many threads they may use (one, here) when they start.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import IO, Self

import msgspec

from depl.benchmarks.measure.child import Answer, Order
from depl.models.foundation.errors import DeplError

_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_LONGEST_TAIL = 2000
_TICK = 0.5
_STARTING = 120.0
_BLOCK = 2**16


class StartError(DeplError):
    """A process could not be started, which says nothing of what it was to do."""


class HungError(DeplError):
    """A call did not end by its deadline; its process was killed."""


class CrashedError(DeplError):
    """The process of a call died."""


class CallError(DeplError):
    """The function that was called raised an exception; the message is its traceback."""


def one_thread() -> dict[str, str]:
    """Environment for another Python: one thread for numerical libraries, the same folders for imports."""
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return {**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), **path}


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a session, and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: no right to kill a zombie
        os.killpg(process.pid, signal.SIGKILL)


def ignore(content: bytes) -> None:
    """Take no note of what a call tells."""


class LoneProcess:
    """A process that functions are called in, one at a time; started at the first call.

    A context manager: what is still running at its end is killed, with all processes that it started.

    Parameters
    ----------
    environment : mapping
        Variables that it has besides ours.
    """

    def __init__(self, environment: Mapping[str, str] = MappingProxyType({})) -> None:
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._unread = b""

    def __enter__(self) -> Self:
        """Nothing is started yet."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the process."""
        self.close()

    def call(
        self, function: str, content: bytes, seconds: float, told: Callable[[bytes], None] = ignore
    ) -> bytes:
        """Call a function there and wait for what it returns.

        Parameters
        ----------
        function : str
            As ``module:name``; it takes a JSON document and a `depl.benchmarks.measure.child.Tell`, and
            returns a JSON document.
        content : bytes
            The document that it is called with.
        seconds : float
            How long it may take [s]; the start of the process, if there is none yet, is not counted.
        told : callable
            Receives what it tells on its way.

        Raises
        ------
        StartError
            If there is no process and none can be started.
        HungError
            If it takes longer.
        CrashedError
            If the process dies; the message holds how, and the last lines that it wrote.
        CallError
            If the function raises an exception.
        """
        process = self._started()
        try:
            return self._called(
                process, Order(function, msgspec.Raw(content)), time.monotonic() + seconds, told
            )
        except CallError:
            raise
        except BaseException:  # a process that was left in the middle of a call is of no use to the next
            self.end()
            raise

    def kill(self) -> None:
        """Kill the process from another thread than the one that calls; the call ends with `CrashedError`."""
        if self._process is not None:
            kill_group(self._process)

    def end(self) -> None:
        """Kill the process and what it started; the next call starts another one."""
        process, self._process, self._unread = self._process, None, b""
        if process is None:
            return
        kill_group(process)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # an order that was not read
                    pipe.close()

    def close(self) -> None:
        """Kill the process; there is no next call."""
        self.end()
        self._errors.close()

    def _called(
        self,
        process: subprocess.Popen[bytes],
        order: Order,
        deadline: float,
        told: Callable[[bytes], None],
    ) -> bytes:
        self._errors.seek(0)
        self._errors.truncate()  # of interest is what this call writes
        try:
            _write_all(_pipe(process.stdin), msgspec.json.encode(order) + b"\n")
        except BrokenPipeError:
            raise self._crashed(process) from None
        while True:
            answer = msgspec.json.decode(self._line(process, deadline), type=Answer)
            if answer.kind == "done":
                return bytes(answer.content)
            if answer.kind == "failed":
                raise CallError(msgspec.json.decode(answer.content, type=str).strip())
            told(bytes(answer.content))

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self.end()  # died between two calls
        if self._process is None:
            self._process = process = subprocess.Popen(
                [sys.executable, "-m", "depl.benchmarks.measure.child", str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=one_thread() | self._environment,
                bufsize=0,
                start_new_session=True,
            )
            try:
                self._line(process, time.monotonic() + _STARTING)
            except (HungError, CrashedError) as error:
                self.end()
                raise StartError(f"no process could be started for solving: {error}") from error
            except BaseException:
                self.end()
                raise
        return self._process

    def _line(self, process: subprocess.Popen[bytes], deadline: float) -> bytes:
        """The next line that the process writes."""
        pipe = _pipe(process.stdout)
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise HungError("did not end in time and was killed")
                if selector.select(min(_TICK, remaining)):
                    block = os.read(pipe, _BLOCK)
                    if not block:
                        raise self._crashed(process)
                    self._unread += block
                elif process.poll() is not None:  # a process that it started may hold the pipe open
                    raise self._crashed(process)
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _crashed(self, process: subprocess.Popen[bytes]) -> CrashedError:
        kill_group(process)
        code = process.wait()
        how = f"with exit code {code}" if code >= 0 else f"by {_signal_name(-code)}"
        return CrashedError(f"its process ended {how}; {self._last_words() or 'it wrote nothing'}")

    def _last_words(self) -> str:
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _LONGEST_TAIL))
        return self._errors.read().decode(errors="replace").strip()


def _pipe(stream: IO[bytes] | None) -> int:
    if stream is None:
        raise CrashedError("its process was started without a pipe")
    return stream.fileno()


def _write_all(pipe: int, content: bytes) -> None:
    while content:
        content = content[os.write(pipe, content) :]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
