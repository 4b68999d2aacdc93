"""The commands and their parser, which understands a slip; nothing that runs a command is imported.

Plain argparse, as ``depl --help`` must take less than 0.15 CPU seconds: the libraries that add suggestions,
examples and completion to it import more than that allows, and here each of them is a page of code.
"""

import argparse
import importlib
from collections.abc import Container, Sequence
from typing import Any, NamedTuple, NoReturn

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
    "demo": Command("depl.arguments.demo", "compare methods on the paper's AlexNet instances, draw figures"),
    "solve": Command(
        "depl.arguments.solve",
        "find a cheap plan, and prove how much cheaper any plan could be at most",
    ),
    "methods": Command("depl.arguments.methods", "list the methods: what each proves, needs and takes"),
    "check": Command("depl.arguments.check", "verify a plan, independently of all solvers"),
    "explain": Command("depl.arguments.explain", "show the equations with the numbers of a plan"),
    "report": Command(
        "depl.arguments.report", "write one page on a plan for whoever pays: promise, prices, proof"
    ),
    "program": Command(
        "depl.arguments.program",
        "write the problem as a mathematical program for any solver, with its optimum",
    ),
    "front": Command(
        "depl.arguments.front",
        "the cost of certified plans against l_max, T_max or omega",
    ),
    "replan": Command("depl.arguments.replan", "plan the rest of a run again, seen from an observed state"),
    "policy": Command(
        "depl.arguments.policy",
        "plan what a run does after every epoch, with a certified promise; show it and carry it out",
    ),
    "instances": Command("depl.arguments.instances", "list, show, make or describe instances"),
    "knapsack": Command(
        "depl.arguments.knapsack", "solve a knapsack from a public file as a planning problem, and check it"
    ),
    "train": Command("depl.arguments.train", "train small networks and record their losses as traces"),
    "traces": Command("depl.arguments.traces", "read what training tools log, and write it as traces"),
    "diagnose": Command(
        "depl.arguments.diagnose", "fit the paper's laws to training traces and say whether they may be used"
    ),
    "fit": Command("depl.arguments.fit", "turn training traces and a setup into an instance"),
    "certify": Command(
        "depl.arguments.certify", "prove from held-out runs, without any law, that a plan keeps its promise"
    ),
    "warm-up": Command("depl.arguments.warm_up", "compile the kernels of methods now, and keep them"),
    "lessons": Command(
        "depl.arguments.lessons", "list the lessons, and export them as notebooks, slides, handouts and kits"
    ),
    "completion": Command(
        "depl.arguments.completion", "print a script by which bash, zsh or fish completes words"
    ),
    "figures": Command(
        "depl.arguments.figures", "draw a figure of the paper again, beside what the paper prints about it"
    ),
    "bench": Command(
        "depl.arguments.bench",
        "run benchmarks: suites and their sweeps, cases with goals, the behaviour record; report on them",
    ),
}
_EXIT_CODES = """\
exit codes: 0 answered; 2 wrong usage or input; 3 proved infeasible, or a checked plan that fails, or one
that is not certified; 4 stopped by a limit or by the user with a plan; 5 ended without a plan or a proof;
10 and 11 'policy decide' says to switch, or to stop; 70 internal error"""


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
        epilog=_EXIT_CODES,
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


def asked(words: Sequence[str]) -> Sequence[str]:
    """The command among the words, if there is one: no option before it takes a value."""
    return [word for word in words if not word.startswith("-")][:1]
