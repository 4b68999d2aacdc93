"""Ctrl-C while the process of the command line starts and ends: no traceback, and the documented exit code.

To import everything takes a second or more, in which nothing is held that a press could lose; and after its
answer a process has nothing to do but to end. In both times Python's own handler would raise an exception
that nobody can catch. Importing this module, as `depl` does before all else, prepares a process that was
started as the command ``depl`` or ``python -m depl``; any other that imports `depl` keeps its handlers.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import PurePath
from types import FrameType

NOTHING = 5
"""`depl.commands.answer.ExitCode.NOTHING`, before that is imported."""

REASON = "interrupted before there was an answer"
"""What a command says that was interrupted while it held nothing."""

JSON = (
    '{"termination":"interrupted","solution":"none","claimed":false,"cost":null,"lower_bound":null,"gap":null,"epochs":null,'
    '"training_time":null,"expected_loss":null,"reason":"interrupted before there was an answer",'
    '"violation":{"lower":null,"upper":null},"quantile":{"lower":null,"upper":null},"rests_on":null,"rows":[],'
    '"quantile_means":"law","scenarios":null,"dual":null,"decisions":[],"tolerances":{},"method":null,'
    '"instance":null,"seed":null,"versions":{},"wall_seconds":0.0,"cpu_seconds":0.0,"build_seconds":0.0,'
    '"stage_seconds":{},"phases":[],"plan":null,"path":null}'
)
"""What it says with ``--json``: `depl.commands.answer.without_result`."""

_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


def is_command(words: Sequence[str]) -> bool:
    """Whether the command line of a Python process, `sys.orig_argv`, starts ``depl``.

    `sys.argv` will not do: a process that `multiprocessing` starts inherits it, and never comes to
    `depl.cli.main`.
    """
    rest = iter(words[1:])
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            return PurePath(word).stem in ("depl", "depl-script")
        elif not word.startswith("--") and word[-1] in "cm":
            return word[-1] == "m" and next(rest, "") == "depl"
    return False


class Ending:
    """A handler of Ctrl-C that ends the process at once; unless ``answered`` it says that nothing is held."""

    def __init__(self, code: int = NOTHING, *, answered: bool = False) -> None:
        self._code, self._answered = code, answered

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        """End the process."""
        if not self._answered:
            with contextlib.suppress(OSError):  # a stream that is closed
                os.write(2, f"depl: {REASON}\n".encode())
                if "--json" in sys.argv:
                    os.write(1, f"{JSON}\n".encode())
        os._exit(self._code)


OWN_PROCESS = is_command(sys.orig_argv)
"""Whether this process was started as the command."""


def arm(ending: Callable[[int, FrameType | None], object]) -> None:
    """From now on Ctrl-C ends the process of the command at once, unless it is told to ignore it."""
    handler = signal.getsignal(signal.SIGINT)
    if OWN_PROCESS and (handler is signal.default_int_handler or isinstance(handler, Ending)):
        signal.signal(signal.SIGINT, ending)


def disarm() -> None:
    """From now on Ctrl-C raises `KeyboardInterrupt` again."""
    arm(signal.default_int_handler)


arm(Ending())
