r"""What commands are made of: their class, options that several share, and kinds of values.

A command is one function of its options, with what it takes above it, in a file that imports nothing heavy
before it runs; the function says where the answer is from, and `depl.cli` prints it::

    bench = Group("bench", help="Run studies.", examples="depl bench list\ndepl bench run scale")

    @bench.command(examples="depl bench run scale\ndepl bench run scale --workers 2 --json")
    @argument("STUDY", "a name of 'depl bench list'")
    @option("--workers N", "so many at a time", COUNT, default=1)
    @imports
    @as_json("what was done")
    def run(options: Options) -> Answer: ...

Its docstring is the help, and what takes time to import is imported inside. Then `depl.cli.COMMANDS` names
it: ``"bench": "depl.commands.bench:bench"``. A default is shown by itself.
"""

import importlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn, TypeVar

import click

from depl.commands.answer import Answer
from depl.models.foundation.errors import shortened
from depl.models.foundation.names import advice, nearest
from depl.models.foundation.removed import removed
from depl.models.solving.defaults import DEFAULT_METHOD, DEFAULT_SCENARIOS

F = TypeVar("F", bound=Callable[..., object] | click.Command)


_WHOLE = 1000
"""Characters of a sentence that is not cut: more than any has."""


class Options(SimpleNamespace):
    """What a command was given, by the names of its options and arguments."""


Run = Callable[[Options], Answer]
"""What a command does."""


class _Helpful(click.Command):
    """A command or a group: its help ends with examples, and a slip is answered by what was meant."""

    def __init__(self, *given: Any, examples: str = "", **named: Any) -> None:
        super().__init__(*given, **named)
        self.examples = tuple(examples.splitlines())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an option that there is not before all else, as what is missing may be its fault."""
        if not ctx.resilient_parsing:
            self._require_options(ctx, args)
        try:
            return super().parse_args(ctx, args)
        except click.BadOptionUsage as error:
            error.ctx = error.ctx or ctx
            raise

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are, after what else stands at the end."""
        super().format_epilog(ctx, formatter)
        if self.examples:
            formatter.write("\nexamples:\n" + "".join(f"  {line}\n" for line in self.examples))

    def _require_options(self, ctx: click.Context, words: Sequence[str]) -> None:
        known = {
            name: param
            for param in self.get_params(ctx)
            if isinstance(param, click.Option)
            for name in (*param.opts, *param.secondary_opts)
        }
        before, values = "", 0
        for word in words:
            option, equals, _ = word.partition("=")
            named = word.startswith("-") and word != "-" and not (values and is_number(word))
            if word == "--" or (isinstance(self, click.Group) and not named):
                return
            if values and named:
                ctx.fail(f"argument {before}: needs a value; if it is {word}, write {before}={word}")
            if values:
                values -= 1
            elif named and option not in known:
                _refuse_option(ctx, option, known)
            elif named:
                before, values = option, 0 if known[option].is_flag or equals else known[option].nargs


class Command(_Helpful):
    """A command; to invoke it says what is to be run with what."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse what is left."""
        ctx.allow_extra_args = True
        left = super().parse_args(ctx, args)
        if left and not ctx.resilient_parsing:
            ctx.fail(f"{left[0]!r} is one argument too many")
        return left

    def invoke(self, ctx: click.Context) -> tuple[Run, Options]:
        """Return what is to be run, and with what; `depl.cli` runs it."""
        if self.callback is None:
            raise TypeError(f"{ctx.command_path} has no function")
        return self.callback, Options(**ctx.params)


class Group(_Helpful, click.Group):
    """A group of commands; those of ``lazy`` are imported when they are asked for."""

    command_class = Command

    def __init__(self, *given: Any, lazy: Mapping[str, str] | None = None, **named: Any) -> None:
        settings: dict[str, Any] = {"subcommand_metavar": "ACTION", "no_args_is_help": False}
        super().__init__(*given, **settings | named)
        self.lazy = {} if lazy is None else lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are declared."""
        return [*self.lazy, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import it where that was put off."""
        if cmd_name not in self.lazy:
            return self.commands.get(cmd_name)
        module, _, name = self.lazy[cmd_name].partition(":")
        found: click.Command = getattr(importlib.import_module(module), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with its whole first sentence: click cuts it at the width of a line."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, item.get_short_help_str(_WHOLE)) for name, item in found if item])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name the commands where none is asked for."""
        left = super().parse_args(ctx, args)
        if not args and not ctx.resilient_parsing:
            known = ", ".join(self.list_commands(ctx))
            ctx.fail(f"the following arguments are required: {self.subcommand_metavar}, one of {known}")
        return left

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse a command that there is not."""
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            meant = known
            if not nearest(args[0], known):  # one below another group, or an option
                meant = [" ".join(words) for words, _ in every(self)] + ["--help", "--version"]
            hint = advice(args[0], meant, known)
            gone = removed(f"{ctx.command_path} {args[0]}")
            ctx.fail(gone or f"there is no {str(self.subcommand_metavar).lower()} {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


def every(command: click.Command, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and all below it, each with its words."""
    yield words, command
    if isinstance(command, Group):
        for name in (*command.lazy, *command.commands):
            inner = command.get_command(click.Context(command), name)
            if inner is not None:
                yield from every(inner, *words, name)


def command(name: str | None = None, **named: Any) -> Callable[[Run], Command]:
    """Make a command of a function; ``examples`` are lines that run one after the other."""
    return click.command(name, cls=Command, **named)


def option(declared: str, help: str, type: Any = None, *, name: str = "", **more: Any) -> Callable[[F], F]:  # noqa: A002
    """An option as its usage shows it.

    ``--points N`` takes a value, ``--law affine|independent`` one of these words, ``--json`` is a switch.
    """
    words, _, metavar = declared.partition(" ")
    if re.fullmatch(r"[a-z0-9_]+(\|[a-z0-9_]+)*", metavar):
        type = Choice(metavar.split("|"))  # noqa: A001
    elif metavar:
        more["metavar"] = metavar
    elif type is None and "/" not in words:
        more["is_flag"] = True
    if more.get("multiple"):
        help += "; may be given several times"  # noqa: A001
    return click.option(words, *filter(None, [name]), help=help, type=type, **more)


def argument(metavar: str, help: str, type: Any = None, *, name: str = "", **more: Any) -> Callable[[F], F]:  # noqa: A002
    """An argument as its usage shows it: ``[NAME]...`` are any number of them."""
    more |= {"metavar": metavar, "nargs": -1 if metavar.endswith("...") else 1}
    name = name or re.sub(r"\W", "", metavar.lower())
    return click.argument(name, help=help, type=type, required=not metavar.startswith("["), **more)


def refusal(error: click.UsageError) -> str:
    """What is wrong with a command line, in one line."""
    ctx, said = error.ctx, error.format_message()
    if isinstance(error, click.MissingParameter) and ctx is not None:
        missing = [item for item in ctx.command.params if item.required and item.name not in ctx.params]
        said = f"the following arguments are required: {', '.join(map(_name, missing))}"
    elif isinstance(error, click.BadParameter) and error.param is not None:
        said = f"argument {_name(error.param)}: {error.message}"
    said = said[:1].lower() + said[1:]
    return shortened(f"{'depl' if ctx is None else ctx.command_path}: error: {said}")


def _name(param: click.Parameter) -> str:
    return "/".join(param.opts) if isinstance(param, click.Option) else param.human_readable_name


def _refuse_option(ctx: click.Context, option: str, known: Iterable[str]) -> NoReturn:
    """What was meant by an option; of one that is cut short those that begin so."""
    long = [name for name in known if name.startswith("--")]
    begun = [name for name in long if option.startswith("--") and name.startswith(option)]
    hint = (
        f"did you mean {' or '.join(map(repr, begun))}? Write it in full" if begun else advice(option, long)
    )
    ctx.fail(removed(f"{ctx.command_path} {option}") or f"there is no option {option}; {hint}")


def is_number(word: str) -> bool:
    """Whether Python reads a word as a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True


class Choice(click.Choice[str]):
    """One of some words; another one is answered by those that are like it, or by what took its place."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word."""
        if value in self.choices:
            return str(value)
        gone = None if ctx is None or param is None else removed(f"{ctx.command_path} {_name(param)} {value}")
        message = gone or f"{value!r} is no choice; {advice(str(value), self.choices)}"
        raise click.BadParameter(message, ctx, param)


class Whole(click.IntRange):
    """A whole number."""

    name = "whole number"


class Number(click.types.FloatParamType):
    """A number; the command says which are too small or too large, as Python asks for the same."""

    name = "number"


COUNT, SEED, NUMBER = Whole(min=1), Whole(min=0), Number()


def positive_seconds(text: str) -> float:
    """A positive number of seconds."""
    value = float(text) if is_number(text) else float("nan")
    if not 0 < value < float("inf"):
        raise click.BadParameter(f"must be positive and finite seconds, not {text!r}")
    return value


def count_or_file(text: str) -> int | str:
    """A whole number from 1 on, or the path of a file."""
    if text.endswith(".npz") or os.path.exists(text):
        return text
    try:
        return int(COUNT(text) or 0)
    except click.BadParameter as error:
        message = f"must be a whole number from 1 on, or an .npz file, not {text!r}"
        raise click.BadParameter(message) from error


def relative_gap(text: str) -> float:
    """A share in [0, 1), or a percentage."""
    percent = text.rstrip().endswith("%")
    try:
        value = float(text.rstrip().removesuffix("%"))
    except ValueError:
        message = f"must be a share such as 0.05, or a percentage such as 5%, not {text!r}"
        raise click.BadParameter(message) from None
    share = value / 100 if percent else value
    if not 0 <= share < 1:
        meant = "" if percent or not 1 <= value < 100 else f"; did you mean {text}%?"
        raise click.BadParameter(f"must be at least 0 and less than 1, or 100%, not {text}{meant}")
    return share


def key_and_value(text: str) -> tuple[str, str]:
    """A key, an equals sign and a value."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise click.BadParameter(f"must be KEY=VALUE, not {text!r}")
    return key, value


def names(text: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(name for part in text.split(",") if (name := part.strip()))


FORMATS = ("png", "svg", "pdf")
"""Endings of the files that a figure may be drawn in."""
_DOTTED = tuple(f".{kind}" for kind in FORMATS)


class FigureFiles(NamedTuple):
    """Where ``--figure`` draws: a name without its ending, and the endings."""

    name: str
    formats: tuple[str, ...] = ("png", "svg")

    def paths(self, part: str = "") -> tuple[str, ...]:
        """The files; where there are several figures, of the one with this part of a name."""
        return tuple(f"{self.name}{part}.{kind}" for kind in self.formats)


def figure_files(text: str) -> FigureFiles:
    """A name of figures: an ending of a picture chooses the format, and one of another file is refused."""
    name, ending = os.path.splitext(text)
    kind = ending[1:].lower()
    if kind in FORMATS:
        return FigureFiles(name, (kind,))
    if kind[:1].isalpha():  # 9.5 is a name
        message = f"figures are written as {', '.join(_DOTTED[:-1])} or {_DOTTED[-1]}, not as {ending}"
        raise click.BadParameter(f"{message}; end {text!r} otherwise, or leave the ending out")
    return FigureFiles(text)


def together(*parts: Callable[[F], F]) -> Callable[[F], F]:
    """Several options and arguments as one, in this order."""

    def declare(function: F) -> F:
        for part in reversed(parts):
            function = part(function)
        return function

    return declare


def shipped(module: str, function: str) -> Callable[..., list[str]]:
    """Complete a word by the names that a function returns, which is imported when a shell asks."""

    def complete(_ctx: object, _param: object, begun: str) -> list[str]:
        known = getattr(importlib.import_module(module), function)()
        names = [str(getattr(item, "name", item)) for item in known]
        return [name for name in names if name.startswith(begun)]

    return complete


INSTANCES = shipped("depl.instances.library", "full_names")
METHODS = shipped("depl", "methods")
TRACES = shipped("depl.instances.training.recorded", "recorded_names")
SETUPS = shipped("depl.instances.setups", "setup_names")
KNAPSACKS = shipped("depl.instances.knapsack_files", "shipped_knapsacks")
"""Names that a shell completes."""

imports = option(
    "--import MODULE", "a module or a .py file that registers methods or laws", multiple=True, name="imports"
)
target = option("--target L", "bound on the quantile of the final loss; chooses a family's instance")
instance = together(
    argument("INSTANCE", "a name of 'depl instances list', or the path of a file", shell_complete=INSTANCES),
    target,
    imports,
)
plan = argument("PLAN", "the path of a plan, as 'depl solve --out' writes it")
method = option(
    "--method M",
    f"one of 'depl methods'; default: {DEFAULT_METHOD}, which lets exact search and the loop take turns",
    shell_complete=METHODS,
)
gap = option("--gap G", "relative gap that is good enough, such as 0.05 or 5%", relative_gap, default="0")
time_limit = option("--time-limit S", "seconds; default: none", NUMBER)
seed = option("--seed N", "for methods that draw", SEED, default=0)
details = option("--details", "with --explain: list every decision, including those taken back")


def as_json(content: str = "the answer") -> Callable[[F], F]:
    """``--json``."""
    return option("--json", f"print {content} as one JSON object")


def figure(what: str, parts: str = "") -> Callable[[F], F]:
    """``--figure``; ``parts`` say what follows the name where there are several figures."""
    written = f"draw {what} in NAME.png and NAME.svg{f' ({parts})' if parts else ''}"
    return option(
        "--figure NAME",
        f"{written}; with one of {', '.join(_DOTTED)} at the end, in that alone",
        figure_files,
    )


def metric(what: str = "what is bounded") -> Callable[[F], F]:
    """``--metric``."""
    from depl.models.traces.metrics import TARGETS

    return option("--metric", what, Choice(TARGETS), default=TARGETS[0])


def solving(files: bool = False) -> Callable[[F], F]:
    """The method, its limits, and what some methods take besides; with ``files`` also scenarios."""
    return together(
        method,
        gap,
        time_limit,
        seed,
        option(
            "--scenarios",
            "for methods that count scenarios: how many to draw"
            f"{', or a file of them' if files else ''}; default: {DEFAULT_SCENARIOS}",
            count_or_file if files else COUNT,
            metavar="S|FILE.npz" if files else "S",
        ),
        option("--eta N", "for depl-paper: levels of time and of loss; default: 200", COUNT),
        option(
            "--option KEY=VALUE",
            "an option of the method, which 'depl methods NAME' lists",
            key_and_value,
            multiple=True,
            name="options",
        ),
    )
