"""Ctrl-C: let a short piece of work finish although it comes, and end a loop over many answers.

A method that is registered, or a command, turns Ctrl-C into an answer with what is held by then. What they
call lets it pass, so that nothing goes on after a press.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:  # the command line starts with this module, and results come with SciPy
    from depl.models.solving.result import Outcome


@contextmanager
def first_interrupt_ignored() -> Iterator[None]:
    """Ignore one Ctrl-C inside the block; a second one interrupts it as always.

    For work that takes a second or two and turns what was found into an answer. Without effect outside
    the main thread, where Python delivers no signals, and where someone else handles them.
    """
    usual = signal.getsignal(signal.SIGINT)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or usual is not signal.default_int_handler:
        yield
        return

    def ignore_once(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, usual)

    signal.signal(signal.SIGINT, ignore_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


_Answer = TypeVar("_Answer", bound="Outcome")


def uninterrupted(answer: _Answer) -> _Answer:
    """An answer that Ctrl-C did not end; for whoever asks many questions and shall stop at the first press.

    Methods turn Ctrl-C into an answer with what they hold (`Termination.INTERRUPTED`), which ends a command
    that asks one question. In a loop over many, only that one would end.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C ended it.
    """
    from depl.models.solving.result import Termination

    if answer.termination is Termination.INTERRUPTED:
        raise KeyboardInterrupt
    return answer
