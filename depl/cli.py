"""The command line: ``depl`` and ``python -m depl``.

Every command returns an `Answer`; this module alone prints. Answers go to standard output (with ``--json``
exactly one JSON object), everything else to standard error. Exit codes are `depl.commands.answer.ExitCode`.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TextIO

import click

import depl
from depl.commands.answer import Answer, ExitCode, defect, failure, interrupted, without_result
from depl.commands.options import Group, Options, Run, refusal
from depl.commands.printable import printable, printable_json
from depl.models.foundation.errors import DeplError, shortened
from depl.models.solving.interrupts import first_interrupt_ignored
from depl.starting import Ending, arm, disarm

_LONGEST_TRACE = 20_000

_SCREEN = {
    "": "start instances solve:plans check:plans explain:plans front:plans report:plans "
    "fit:runs certify:runs",
    "runs and logs": "traces:runs diagnose:runs train policy replan:plans",
    "methods and measurements": "methods:tools program:plans knapsack bench figures:paper_figures",
    "learning and setting up": "demo lessons:tools warm-up:tools completion:tools",
}
"""Every command on the first screen, which explains those of no group, with its module unless that is called
like it: only what is asked for is imported."""

_GROUPS = {group: [word.partition(":") for word in words.split()] for group, words in _SCREEN.items()}
COMMANDS = {
    name: f"depl.commands.{module or name}:{name.replace('-', '_')}"
    for words in _GROUPS.values()
    for name, _, module in words
}
FIRST = tuple(name for name, *_ in _GROUPS.pop(""))

COMPLETING = "_DEPL_COMPLETE"
"""The variable of the environment by which the script of a shell asks for completions."""


class _Root(Group):
    """All commands; the first screen has room for the first ones."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a screen of at most twenty lines."""
        usage = f"Usage: {ctx.command_path} COMMAND; help and examples of each: depl COMMAND --help"
        formatter.write(f"{usage}\n{self.help}\n\n")
        found = {name: self.get_command(ctx, name) for name in FIRST}
        rows = [f"  {name:9}  {item.get_short_help_str(70)}" for name, item in found.items() if item]
        formatter.write("\n".join(rows) + "\n\n")
        for group, words in _GROUPS.items():
            formatter.write(f"{group}: {', '.join(name for name, *_ in words)}\n")
        self.format_epilog(ctx, formatter)


def _version(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(f"depl {depl.__version__}")
        ctx.exit()


ROOT = _Root(
    "depl",
    lazy=COMMANDS,
    subcommand_metavar="COMMAND",
    context_settings={
        "help_option_names": ["-h", "--help"],
        "show_default": True,
        "max_content_width": 110,
    },
    help="Plan dependable distributed training, and prove how good the plans are.",
    params=[click.Option(["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version)],
    examples="""\
depl solve paper-alexnet-9 --out plan.json
depl instances new --out mine.json    # an instance of your own, with comments to start from
""",
)


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
    words = sys.argv[1:] if arguments is None else list(arguments)
    if arguments is None and COMPLETING in os.environ:
        from click.shell_completion import shell_complete

        return shell_complete(ROOT, {}, "depl", COMPLETING, os.environ[COMPLETING])
    as_json = "--json" in takewhile(lambda word: word != "--", words)
    try:
        code = _said(_answer(words, as_json), as_json)
    except KeyboardInterrupt:  # between the command and its answer, or while the answer would not go out
        arm(Ending(answered=True))
        code = _said(interrupted(), as_json)
    if arguments is None:
        arm(Ending(code, answered=True))
    return code


def parsed(words: Sequence[str]) -> tuple[Run, Options]:
    """What a command line asks to be run, and with what; wrong usage and help are exceptions of click."""
    with ROOT.make_context("depl", list(words) or ["--help"]) as context:
        found: tuple[Run, Options] = ROOT.invoke(context)
        return found


def _said(answer: Answer, as_json: bool) -> int:
    """The exit code of an answer that is out; what may have taken an hour is not lost in its last moment."""
    with first_interrupt_ignored():
        _write(sys.stderr, printable(answer.aside))
        text = printable_json(answer.json) if as_json and answer.json else printable(answer.text)
        written = _write(sys.stdout, text)
    return answer.code if written else ExitCode.INVALID


def _answer(words: Sequence[str], as_json: bool) -> Answer:
    """The command's answer, or what became of it; help is one, too."""
    page = io.StringIO()
    try:
        with contextlib.redirect_stdout(page):
            run, options = parsed(words)
        disarm()
        with _answer_alone(as_json):
            return run(options)
    except KeyboardInterrupt:
        return interrupted()
    except DeplError as error:
        return failure(error)
    except click.exceptions.Exit:
        return Answer(page.getvalue().rstrip("\n"))
    except click.UsageError as error:
        said, path = refusal(error), "depl" if error.ctx is None else error.ctx.command_path
        told = without_result("error", said, None)
        return Answer("", ExitCode.INVALID, told, f"{said}\nHelp and examples: {path} --help")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a defect still gets its exit code and JSON
        import traceback

        _write(sys.stderr, printable(shortened(traceback.format_exc(), _LONGEST_TRACE)))
        return defect(error)


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
    with contextlib.suppress(OSError, ValueError, AttributeError):  # a stream that is closed, or none
        sys.__stdout__.flush()  # type: ignore[union-attr]
    with contextlib.suppress(OSError, AttributeError):  # a system whose library has another name
        import ctypes

        ctypes.CDLL(None).fflush(None)


def _write(stream: TextIO | None, text: str) -> bool:
    """Write a line; a reader that has left (``| head``) has had what it wanted."""
    if stream is None or not text:
        return True
    try:
        encoding = stream.encoding or "utf-8"  # with escapes for what it cannot encode
        stream.write(text.encode(encoding, errors="backslashreplace").decode(encoding) + "\n")
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


def _forget(stream: TextIO) -> None:
    """Point a broken stream nowhere, so that the interpreter's last flush does not fail on it again."""
    with contextlib.suppress(OSError, ValueError):  # the stream may be none of the operating system's
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
