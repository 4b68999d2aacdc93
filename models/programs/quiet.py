"""HiGHS objects that write nothing: standard output belongs to whoever called."""

import functools
from typing import Any

import highspy


def quiet_highs() -> Any:
    """A fresh HiGHS object with its log off; highspy leaves its own constructor without types."""
    silence_greeting()
    engine = highspy.Highs()  # type: ignore[no-untyped-call]
    engine.setOptionValue("output_flag", False)
    return engine


@functools.cache
def silence_greeting() -> None:
    """Let HiGHS greet where nobody sees it; to be called before a library makes a HiGHS object of its own.

    highspy 1.16 writes its version and licence once in a process, while the first object is made and so
    before that can be told anything. The object below it can: it greets here, at its first callback.
    """
    below: Any = highspy.Highs.__base__
    core = below()
    core.setOptionValue("log_to_console", False)
    core.setCallback(None, None)
