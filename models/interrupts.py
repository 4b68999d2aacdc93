"""Let a short piece of work finish although the user presses Ctrl-C."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


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
