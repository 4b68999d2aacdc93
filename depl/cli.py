"""The command line: ``depl`` and ``python -m depl``.

Every command returns an `Answer`; this module alone prints. Answers go to standard output (with ``--json``
exactly one JSON object), everything else to standard error. Exit codes are `depl.commands.answer.ExitCode`.
"""

import argparse
import contextlib
import ctypes
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

from depl.commands.answer import Answer, ExitCode, interrupted
from depl.commands.guide import GUIDE
from depl.commands.parser import asked, parser
from depl.commands.printable import printable, printable_json
from depl.models.foundation.errors import DeplError, shortened
from depl.models.solving.interrupts import first_interrupt_ignored
from depl.starting import Ending, arm, disarm

_LONGEST_TRACE = 20_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer one command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the program's name; those of the process by default.

    Returns
    -------
    int
        The exit code.
    """
    words = sys.argv[1:] if arguments is None else arguments
    try:
        try:
            options = parser(asked(words)).parse_args(words) if words else None
        except SystemExit as stop:  # argparse has printed its message, or what --help and --version ask for
            _flush(sys.stdout)
            code = stop.code if isinstance(stop.code, int) else ExitCode.INVALID
        else:
            answer = Answer(GUIDE.rstrip("\n")) if options is None else _answer(options)
            code = _said(answer, getattr(options, "json", False))
    except KeyboardInterrupt:  # between the command and its answer, or while the answer would not go out
        arm(Ending(answered=True))
        code = _said(interrupted(), "--json" in words)
    if arguments is None:
        arm(Ending(code, answered=True))
    return code


def _said(answer: Answer, as_json: bool) -> int:
    """The exit code of an answer that is out; what may have taken an hour is not lost in its last moment."""
    with first_interrupt_ignored():
        _write(sys.stderr, printable(answer.aside))
        written = _write(sys.stdout, printable_json(answer.json) if as_json else printable(answer.text))
    return answer.code if written else ExitCode.INVALID


def _answer(options: argparse.Namespace) -> Answer:
    """The command's answer, or what became of it."""
    answer: Answer
    try:
        run = _imported(options.run)
        disarm()
        with _answer_alone(getattr(options, "json", False)):
            if getattr(options, "imports", ()):
                _imported("depl.commands.options:import_users_code")(options)
            answer = run(options)
    except KeyboardInterrupt:
        return interrupted()
    except DeplError as error:
        answer = _imported("depl.commands.endings:failure")(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a defect still gets its exit code and JSON
        _write(sys.stderr, printable(shortened(traceback.format_exc(), _LONGEST_TRACE)))
        answer = _imported("depl.commands.endings:defect")(error)
    return answer


@contextlib.contextmanager
def _answer_alone(as_json: bool) -> Iterator[None]:
    """Send what is printed on the way to an answer in JSON to standard error, also past Python's streams.

    highspy 1.16 writes its name before it can be told not to, and methods of users print.
    """
    with contextlib.ExitStack() as stack:
        if as_json:
            stack.enter_context(contextlib.redirect_stdout(sys.stderr))
            with contextlib.suppress(OSError):  # a stream that is closed: then nothing is spoilt
                answers = os.dup(1)
                stack.callback(os.close, answers)
                os.dup2(2, 1)
                stack.callback(os.dup2, answers, 1)
                stack.callback(_flush_all)
        yield


def _flush_all() -> None:
    """Bring out what was printed past ``sys.stdout``: Python's first stream and C keep it in buffers."""
    with contextlib.suppress(OSError, ValueError):  # a stream that is closed
        _flush(sys.__stdout__)
    with contextlib.suppress(OSError, AttributeError):  # a system whose library has another name
        ctypes.CDLL(None).fflush(None)


def _imported(name: str) -> Callable[[Any], Any]:
    """The function of a name ``module:function``; what takes a second to import is imported here alone."""
    module, _, function = name.partition(":")
    found: Callable[[Any], Any] = getattr(importlib.import_module(module), function)
    return found


def _write(stream: TextIO | None, text: str) -> bool:
    """Write a line; a reader that has left (``| head``) has had what it wanted."""
    if stream is None or not text:
        return True
    try:
        stream.write(_printable(text, stream.encoding) + "\n")
        stream.flush()
    except BrokenPipeError:
        _forget(stream)
    except (OSError, ValueError) as error:  # a stream that a user's code has closed is a ValueError
        _forget(stream)
        if stream is sys.stdout:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            _write(sys.stderr, f"depl: cannot print ({reason})")
        return False
    return True


def _printable(text: str, encoding: str | None) -> str:
    """``text`` with escapes for what the stream cannot encode."""
    encoding = encoding or "utf-8"
    return text.encode(encoding, errors="backslashreplace").decode(encoding)


def _flush(stream: TextIO | None) -> None:
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        _forget(stream)


def _forget(stream: TextIO) -> None:
    """Point a broken stream nowhere, so that the interpreter's last flush does not fail on it again."""
    with contextlib.suppress(OSError, ValueError):  # the stream may be none of the operating system's
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
