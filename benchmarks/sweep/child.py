"""The process in which functions are called on behalf of another one.

``python -m depl.benchmarks.sweep.child`` reads orders from standard input and writes answers to standard
output, one JSON object a line, and calls one function after the other. What functions print goes to standard
error. It ends when the process that started it does, however that ends: the other end of standard input
closes then, and on Linux the kernel ends it at once, so that not even a function that never returns to Python
stays behind.
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


def _main(parent: int) -> None:
    answers = _keep_standard_output()
    orders: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    _end_with_parent(parent)
    threading.Thread(target=_read, args=(orders,), daemon=True).start()
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
    except (Exception, SystemExit):  # noqa: BLE001 - whatever it is, the caller decides
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


def _read(orders: queue.SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        orders.put(line)
    if os.getpgrp() == os.getpid():  # whatever it has started ends, too
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(0)


def _end_with_parent(parent: int) -> None:
    """Let the kernel end this process with its parent; the thread that reads may never get to run."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended before
        os._exit(0)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
