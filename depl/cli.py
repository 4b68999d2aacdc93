"""The command line: ``depl`` and ``python -m depl``.

Every command returns an `Answer`; this module alone prints. Answers go to standard output (with ``--json``
exactly one JSON object), everything else to standard error. Exit codes are `depl.commands.answer.ExitCode`.
"""

import argparse
import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Container, Sequence
from typing import NamedTuple, NoReturn, TextIO

import depl
from depl.commands.answer import Answer, ExitCode, defect, failure, interrupted
from depl.commands.printable import printable, printable_json
from depl.models.foundation.errors import DeplError, shortened
from depl.models.solving.interrupts import first_interrupt_ignored
from depl.starting import Ending, arm, disarm


class _Command(NamedTuple):
    """The module that declares and runs a command, and a sentence on what it does.

    Only the command that was asked for is imported: all of them together take more than a second.
    """

    module: str
    help: str


_COMMANDS = {
    "demo": _Command("depl.commands.demo", "compare methods on the paper's AlexNet instances, draw figures"),
    "solve": _Command("depl.commands.solve", "find a cheap plan for an instance, and prove how cheap"),
    "check": _Command("depl.commands.check", "verify a plan, independently of all solvers"),
    "explain": _Command("depl.commands.explain", "put the numbers of a plan into the equations"),
    "front": _Command(
        "depl.commands.front",
        "trade the weight of model selection against a bound on the expected loss (without omega) "
        "or the time",
    ),
    "replan": _Command("depl.commands.replan", "plan the rest of a run again, seen from an observed state"),
    "instances": _Command("depl.commands.instances", "list, show, make or describe instances"),
    "knapsack": _Command(
        "depl.commands.knapsack", "solve a knapsack from a public file as a planning problem, and check it"
    ),
    "train": _Command(
        "depl.commands.train", "train small networks for real and record their losses as traces"
    ),
    "diagnose": _Command(
        "depl.commands.diagnose", "fit the paper's laws to training traces and say whether they may be used"
    ),
    "fit": _Command("depl.commands.fit", "turn training traces and a setup into an instance"),
    "certify": _Command(
        "depl.commands.certify", "prove from held-out runs, without any law, that a plan keeps its promise"
    ),
    "warm-up": _Command("depl.commands.warm_up", "compile the kernels of methods beforehand, and keep them"),
    "bench": _Command(
        "depl.commands.bench",
        "run benchmarks: suites and their sweeps, cases with goals, the behaviour record; report on them",
    ),
}
_LONGEST_TRACE = 20_000
_EPILOG = """\
exit codes: 0 answered; 2 wrong usage or input; 3 proved infeasible, or a checked plan that fails, or one
that is not certified; 4 stopped by a limit or by the user with a plan; 5 ended without a plan or a proof;
70 internal error
"""


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
            options = _parser(_asked(words)).parse_args(words)
        except SystemExit as stop:  # argparse has printed its message, or what --help and --version ask for
            _flush(sys.stdout)
            code = stop.code if isinstance(stop.code, int) else ExitCode.INVALID
        else:
            code = _said(_answer(options), getattr(options, "json", False))
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


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints can be printed, whatever was typed; those of its commands are of its kind."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(shortened(message)))


def _asked(words: Sequence[str]) -> Sequence[str]:
    """The command among the words, if there is one: no option before it takes a value."""
    return [word for word in words if not word.startswith("-")][:1]


def _parser(asked: Container[str] = tuple(_COMMANDS)) -> argparse.ArgumentParser:
    """The parser with all commands, and with the options of those that are ``asked`` for."""
    parser = _Parser(
        prog="depl",
        description="Plan dependable distributed training, and prove how good the plans are.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"depl {depl.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in _COMMANDS.items():
        inner = commands.add_parser(name, help=command.help)
        if name in asked:
            module = importlib.import_module(command.module)
            inner.description = module.__doc__
            module.add(inner)
    return parser


def _answer(options: argparse.Namespace) -> Answer:
    """The command's answer, or what became of it."""
    try:
        disarm()
        answer: Answer = options.run(options)
    except KeyboardInterrupt:
        return interrupted()
    except DeplError as error:
        return failure(error)
    except Exception as error:  # noqa: BLE001 - the last resort: a defect still gets its exit code and JSON
        _write(sys.stderr, printable(shortened(traceback.format_exc(), _LONGEST_TRACE)))
        return defect(error)
    return answer


def _write(stream: TextIO | None, text: str) -> bool:
    """Write a line; a reader that has left (``| head``) has had what it wanted."""
    if stream is None or not text:
        return True
    try:
        stream.write(_printable(text, stream.encoding) + "\n")
        stream.flush()
    except BrokenPipeError:
        _forget(stream)
    except OSError as error:
        _forget(stream)
        if stream is sys.stdout:
            _write(sys.stderr, f"depl: cannot print ({error.strerror or error})")
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
