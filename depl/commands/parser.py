"""The commands that argparse still parses, until they are written as `depl.commands.options` says."""

import argparse
import importlib
from collections.abc import Container, Sequence
from typing import Any, NamedTuple, NoReturn

import click

import depl
from depl.commands.examples import EXAMPLES, examples
from depl.commands.printable import printable
from depl.models.foundation.errors import shortened
from depl.models.foundation.names import advice, nearest
from depl.models.foundation.removed import removed


class Command(NamedTuple):
    """The module that declares a command, with its description as docstring, and a sentence on what it does.

    Only that of the command which was asked for is imported: all would add 0.01 s to the 0.07 of a start.
    """

    module: str
    help: str


COMMANDS = {
    "bench": Command(
        "depl.arguments.bench",
        "run benchmarks: suites and their sweeps, cases with goals, the behaviour record; report on them",
    ),
}


class _Layout(argparse.HelpFormatter):
    """Paragraphs are filled to the width of the terminal; those with indented lines keep theirs."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Fill, as `argparse` asks its formatters to."""
        blocks = []
        for block in text.strip().split("\n\n"):
            kept = "\n  " in block
            blocks.append(block if kept else super()._fill_text(block, width, indent))
        return "\n\n".join(blocks)


class Parser(argparse.ArgumentParser):
    """A parser that says what was meant, in characters that can be printed; so do those of its commands."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **{"formatter_class": _Layout, **named})

    def format_help(self) -> str:
        """Return the help, which ends with examples."""
        description, epilog = self.description, self.epilog
        self.description = None if description is None else description.replace("``", "'")
        self.epilog = "\n\n".join(filter(None, (epilog, examples(self.prog.partition(" ")[2]))))
        try:
            return super().format_help()
        finally:
            self.description, self.epilog = description, epilog

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse; an option that there is not is refused first, as what is missing may be its fault."""
        words = list(args or ())
        self._refuse_unknown_options(words)
        namespace, left = super().parse_known_args(words, namespace)
        if left:
            option = left[0].startswith("-")
            self.error(f"there is no option {left[0]}" if option else f"{left[0]!r} is one argument too many")
        return namespace, left

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and end with exit code 2."""
        commands = self._commands()
        if commands is not None and message.startswith("the following arguments are required"):
            message += f", which is one of {', '.join(commands)}"
        text = printable(shortened(f"{self.prog}: error: {message}"))
        self.exit(2, f"{text}\nHelp and examples: {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is not among the choices, as `argparse` asks its parsers to."""
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            elsewhere = known if nearest(value, known) else [*known, *self._deeper()]
            hint = advice(value, elsewhere, known)
            gone = removed(f"{self.prog} {value}")
            missing = f"there is no {str(action.metavar).lower()} {value!r}; {hint}"
            raise argparse.ArgumentError(None, gone or missing)
        gone = removed(f"{self.prog} {'/'.join(action.option_strings)} {value}")
        raise argparse.ArgumentError(action, gone or f"{value!r} is no choice; {advice(str(value), known)}")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Read a value, as `argparse` asks its parsers to; what is no number is called so."""
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            if action.type is not float and action.type is not int:
                raise
            wanted = "a number" if action.type is float else "a whole number"
            raise argparse.ArgumentError(action, f"must be {wanted}, not {arg_string!r}") from error

    def _deeper(self) -> list[str]:
        """Commands of groups by all their words below this one, and options: none is loaded for that."""
        own = self.prog.partition(" ")[2]
        paths = [path.removeprefix(own).strip() for path in EXAMPLES if path.startswith(own)]
        options = [name for action in self._actions for name in action.option_strings if name[:2] == "--"]
        return [*(path for path in paths if " " in path), *options]

    def _commands(self) -> list[str] | None:
        """The names of the commands below this one, None if there are none."""
        found = [action for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        return [name for action in found for name in action.choices] if found else None

    def _refuse_unknown_options(self, words: Sequence[str]) -> None:
        """Refuse an option that there is not; what follows the name of a command is the command's affair."""
        known = [name for action in self._actions for name in action.option_strings]
        grouped = self._commands() is not None
        for word in words:
            if word == "--" or (grouped and not word.startswith("-")):
                return
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            named = word.startswith("--") or (name[:1] == "-" and name[1:].isalpha())
            if named and not any(option.startswith(name) for option in known):
                long = [option for option in known if option.startswith("--")]
                option = word.partition("=")[0]
                gone = removed(f"{self.prog} {option}")
                self.error(gone or f"there is no option {option}; {advice(option, long)}")


def parser(asked: Container[str] = tuple(COMMANDS)) -> Parser:
    """The parser with all commands, and with the options of those that are ``asked`` for."""
    found = Parser(
        prog="depl",
        description="Plan dependable distributed training, and prove how good the plans are.",
    )
    found.add_argument("--version", action="version", version=f"depl {depl.__version__}")
    commands = found.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        inner = commands.add_parser(name, help=command.help)
        if name in asked:
            module = importlib.import_module(command.module)
            inner.description = module.__doc__
            module.add(inner)
    return found


class Bridge(click.Command):
    """A command whose words argparse parses."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words."""
        ctx.args = list(args)
        return ctx.args

    def invoke(self, ctx: click.Context) -> tuple[Any, Any]:
        """Return what is to be run, and with what."""
        found = parser([str(ctx.info_name)]).parse_args([str(ctx.info_name), *ctx.args])
        module, _, function = found.run.partition(":")
        return getattr(importlib.import_module(module), function), found


bench = Bridge("bench", help="Run studies of methods, and report on them.")
