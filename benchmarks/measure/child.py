"""The process in which functions are called on behalf of another one.

``python -m depl.benchmarks.measure.child`` reads orders from standard input and writes answers to standard
output, one JSON object a line, and calls one function after the other. What functions print goes to standard
error. It ends when the process that started it does, however that ends: the other end of standard input
closes then, and on Linux the kernel ends it at once, so that not even a function that never returns to Python
stays behind. Ctrl-C is for the process that started it, and is ignored here: else a function could turn it
into an answer, which would be taken for a finished one.
"""

import importlib
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import BinaryIO, Literal

import msgspec

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)

Tell = Callable[[bytes], None]
"""Passes a JSON document on to the caller while a function still works."""


class Order(msgspec.Struct, frozen=True):
    """A function as ``module:name`` and the JSON document that it is called with."""

    function: str
    content: msgspec.Raw


class Answer(msgspec.Struct, frozen=True):
    """What comes back: any number of ``told``, then ``done`` or, with a traceback, ``failed``."""

    kind: Literal["told", "done", "failed"]
    content: msgspec.Raw


def end_with_parent(parent: int, line: Callable[[bytes], None] = lambda line: None) -> None:
    """End this process, and its group if it leads one, when the process that started it ends.

    Parameters
    ----------
    parent : int
        The number of that process, which must hold the other end of standard input.
    line : callable
        Receives, in another thread, every line of standard input.
    """
    if sys.platform == "linux":  # by the kernel, as the thread that reads may never get to run
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended before
        os._exit(0)
    threading.Thread(target=_read, args=(line,), daemon=True).start()


def _main(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = _keep_standard_output()
    orders: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    end_with_parent(parent, orders.put)
    _write(answers, Answer("told", msgspec.Raw(b"null")))  # it has started
    while True:
        order = msgspec.json.decode(orders.get(), type=Order)
        _write(answers, _answered(order, answers))


def _answered(order: Order, answers: BinaryIO) -> Answer:
    module, _, name = order.function.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
        content = function(
            bytes(order.content), lambda told: _write(answers, Answer("told", msgspec.Raw(told)))
        )
    except BaseException:  # noqa: BLE001 - whatever it is, the caller decides
        return Answer("failed", msgspec.Raw(msgspec.json.encode(traceback.format_exc())))
    return Answer("done", msgspec.Raw(content))


def _write(answers: BinaryIO, answer: Answer) -> None:
    answers.write(msgspec.json.encode(answer) + b"\n")
    answers.flush()


def _keep_standard_output() -> BinaryIO:
    """Standard output for answers alone; whoever prints writes to standard error from now on."""
    kept = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(kept, "wb")


def _read(line: Callable[[bytes], None]) -> None:
    for text in sys.stdin.buffer:
        line(text)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
