"""What commands are made of: their class, options that several share, and what options stand for.

A command is one function of its options, with what it takes above it, in a file that imports nothing heavy
before it runs; it calls a door of `depl` and returns an `Answer`. Its docstring is the help, a default is
shown by itself, and `depl.cli` lists its name. What of the type `to_write`, or of ``--figure``, could not be
written, or would replace what is of the type `to_read`, is refused before the command runs.
"""

from __future__ import annotations

import importlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from itertools import pairwise, takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import click
from click.core import augment_usage_errors

import depl
from depl.commands.answer import Answer, ExitCode
from depl.models.foundation.errors import InvalidInputError, shortened
from depl.models.foundation.names import advice, nearest
from depl.models.foundation.removed import removed
from depl.models.solving.defaults import DEFAULT_METHOD, DEFAULT_SCENARIOS
from depl.models.traces.metrics import TARGETS

F = TypeVar("F", bound=Callable[..., object] | click.Command)
D = TypeVar("D", "depl.Plan", "depl.Policy")


class Options(SimpleNamespace):
    """What a command was given, by the names of its options and arguments."""

    def pick(self, *names: str) -> dict[str, Any]:
        """Some of them, as keywords."""
        return {name: getattr(self, name) for name in names}


Run = Callable[[Options], Answer]
"""What a command does."""


class _Helpful(click.Command):
    """A command or a group: its help ends with examples."""

    def __init__(self, *given: Any, examples: str = "", **named: Any) -> None:
        super().__init__(*given, **named)
        self.examples = tuple(examples.splitlines())
        self.short_help = " ".join((self.help or "").partition("\n\n")[0].split())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse what looks like an option in the place of a value, too."""
        ctx.meta["words"] = tuple(args)  # for `refusal`
        valued = [] if ctx.resilient_parsing else [*_options_of(ctx, valued=True)]
        for before, word in pairwise(takewhile(lambda word: word != "--", args)):
            if before in valued and word.startswith("-") and word != "-" and not is_number(word):
                ctx.fail(f"argument {before}: needs a value; if it is {word}, write {before}={word}")
        with augment_usage_errors(ctx):
            return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are, after what else stands at the end."""
        super().format_epilog(ctx, formatter)
        if self.examples:
            formatter.write("\nexamples:\n" + "".join(f"  {line}\n" for line in self.examples))


class Command(_Helpful):
    """A command; to invoke it says what is to be run with what."""

    def invoke(self, ctx: click.Context) -> tuple[Run, Options]:
        """Return what is to be run, and with what; `depl.cli` runs it."""
        return self._answer, Options(**ctx.params)

    def _answer(self, options: Options) -> Answer:
        """Import the user's code, refuse files that could not be written, and do what the command does."""
        for source in sources(options):
            from depl.models.foundation.users_code import import_source

            import_source(source)
        require_outputs(
            self._files(options, to_write, figure_files), self._files(options, to_read, count_or_file)
        )
        if self.callback is None:
            raise TypeError(f"{self.name} has no function")
        answer: Answer = self.callback(options)
        return answer

    def _files(self, options: Options, *kinds: Callable[[str], object]) -> list[str]:
        given = [item.name or "" for item in self.params if getattr(item.type, "func", None) in kinds]
        return [path for name in given for path in _paths(getattr(options, name))]


class Group(_Helpful, click.Group):
    """A group of commands; those of ``lazy`` are imported when they are asked for."""

    def __init__(self, *given: Any, lazy: Mapping[str, str] | None = None, **named: Any) -> None:
        super().__init__(*given, **{"subcommand_metavar": "ACTION"} | named)
        self.lazy = {} if lazy is None else lazy

    def command(self, examples: str = "", **named: Any) -> Callable[[Run], Command]:  # type: ignore[override]
        """Make a command of this group of a function."""

        def made(function: Run) -> Command:
            self.add_command(found := command(examples, **named)(function))
            return found

        return made

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


def every(command: click.Command, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and all below it, each with its words."""
    yield words, command
    if isinstance(command, Group):
        for name in command.list_commands(context := click.Context(command)):
            if (inner := command.get_command(context, name)) is not None:
                yield from every(inner, *words, name)


def command(examples: str = "", **named: Any) -> Callable[[Run], Command]:
    """Make a command of the name of a function; ``examples`` are lines that run one after the other."""

    def made(function: Run) -> Command:
        name = function.__name__.rstrip("_").replace("_", "-")
        return click.command(name, cls=Command, examples=examples, **named)(function)

    return made


def shipped(module: str, function: str) -> Callable[..., list[str]]:
    """Complete a word by names, or those that a function returns; it is imported when a shell asks."""

    def complete(_ctx: object, _param: object, begun: str) -> list[str]:
        known = getattr(importlib.import_module(module), function)
        names = [str(getattr(item, "name", item)) for item in (known() if callable(known) else known)]
        return [name for name in names if name.startswith(begun)]

    return complete


def to_read(text: str) -> str:
    """The name of a file that a command reads, or of something shipped."""
    return text


def to_write(text: str) -> str:
    """The name of a file that it writes."""
    return text


METHODS = shipped("depl", "methods")
_TRACES = shipped("depl.instances.training.recorded", "recorded_names")
_COMPLETED = {
    "INSTANCE": shipped("depl.instances.shipped", "full_names"),
    "M": METHODS,
    "SETUP": shipped("depl.instances.setups", "setup_names"),
    "RUNS": _TRACES,
    "TRACES": _TRACES,
}
"""Names that a shell completes, by what stands for them in the usage."""
_READ = ("FILE.npz", "INSTANCE", "PATH", "PLAN", "POLICY", "RUNS", "SETUP", "STATE", "TRACES")
"""What stands for a file that is read, unless a type says otherwise."""


def option(declared: str, help: str, type: Any = None, *, name: str = "", **more: Any) -> Callable[[F], F]:  # noqa: A002
    """An option as its usage shows it.

    ``--points N`` takes a value, ``--law affine|independent`` one of these words, ``--json`` is a switch.
    """
    words, _, metavar = declared.partition(" ")
    type = _named(metavar, type, more)  # noqa: A001
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
    word = re.sub(r"\W", "", metavar)
    type, name = _named(word, type, more), name or word.lower()  # noqa: A001
    return click.argument(name, help=help, type=type, required=not metavar.startswith("["), **more)


def _named(word: str, kind: Any, more: dict[str, Any]) -> Any:
    """The type of what stands for a value, unless one is given; ``more`` is told how it is completed."""
    if kind is None and word in _COMPLETED:
        more.setdefault("shell_complete", _COMPLETED[word])
    return to_read if kind is None and word in _READ else kind


def together(*parts: Callable[[F], F]) -> Callable[[F], F]:
    """Several options and arguments as one, in this order."""
    return lambda function: reduce(lambda made, part: part(made), reversed(parts), function)


def refusal(error: click.UsageError) -> str:
    """What is wrong with a command line, in one line."""
    ctx, said = error.ctx, error.format_message()
    if ctx is None:
        return shortened(f"depl: error: {said}")
    missing, what = "the following arguments are required", getattr(ctx.command, "subcommand_metavar", "")
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and isinstance(ctx.command, Group):
        said = f"{missing}: {what}, one of {', '.join(ctx.command.list_commands(ctx))}"
    elif isinstance(error, click.exceptions.NoSuchCommand):
        said = _no_command(ctx, error.command_name, what.lower())
    elif isinstance(error, click.NoSuchOption):
        said = _no_option(ctx, error.option_name)
    elif isinstance(error, click.MissingParameter):
        needed = [item for item in ctx.command.params if item.required and item.name not in ctx.params]
        said = f"{missing}: {', '.join(map(_name, needed))}"
    elif isinstance(error, click.BadParameter) and error.param is not None:
        said = f"argument {_name(error.param)}: {error.message}"
    return shortened(f"{ctx.command_path}: error: {said[:1].lower()}{said[1:]}")


def _name(param: click.Parameter) -> str:
    return "/".join(param.opts) if isinstance(param, click.Option) else param.human_readable_name


def _options_of(ctx: click.Context, valued: bool = False) -> Iterator[str]:
    for item in ctx.command.get_params(ctx):
        if isinstance(item, click.Option) and not (valued and item.is_flag):
            yield from (*item.opts, *item.secondary_opts)


def _no_command(ctx: click.Context, name: str, what: str) -> str:
    known = ctx.command.list_commands(ctx) if isinstance(ctx.command, Group) else []
    meant = known
    if not nearest(name, known):  # one below another group, or an option
        meant = [" ".join(words) for words, _ in every(ctx.command)] + ["--help", "--version"]
    gone = removed(f"{ctx.command_path} {name}")
    return gone or f"there is no {what} {name!r}; {advice(name, meant, known)}"


def _no_option(ctx: click.Context, option: str) -> str:
    """What was meant by an option, of which click may name the first letter; or by one that is cut short."""
    option = next((word for word in ctx.meta["words"] if word.startswith(option)), option).partition("=")[0]
    long = [name for name in _options_of(ctx) if name.startswith("--")]
    begun = " or ".join(repr(name) for name in long if option[:2] == "--" and name.startswith(option))
    hint = f"did you mean {begun}? Write it in full" if begun else advice(option, long)
    return removed(f"{ctx.command_path} {option}") or f"there is no option {option}; {hint}"


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


COUNT, SEED, WHOLE = click.IntRange(min=1), click.IntRange(min=0), click.IntRange()
COUNT.name = SEED.name = WHOLE.name = "whole number"
NUMBER = click.types.FloatParamType()
"""A number; the command says which are too small or too large, as Python asks for the same."""
NUMBER.name = "number"


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
    number = text.rstrip().removesuffix("%")
    if not is_number(number):
        message = f"must be a share such as 0.05, or a percentage such as 5%, not {text!r}"
        raise click.BadParameter(message)
    percent, value = text.rstrip().endswith("%"), float(number)
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


def _paths(value: object) -> tuple[str, ...]:
    if isinstance(value, FigureFiles):
        return value.paths()
    return value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()


imports = option(
    "--import MODULE", "a module or a .py file that registers methods or laws", multiple=True, name="imports"
)
target = option("--target L", "bound on the quantile of the final loss; chooses a family's instance")
instance = together(
    argument("INSTANCE", "a name of 'depl instances list', or the path of a file"), target, imports
)
plan = argument("PLAN", "the path of a plan, as 'depl solve --out' writes it")
method = option(
    "--method M",
    f"one of 'depl methods'; default: {DEFAULT_METHOD}, which lets exact search and the loop take turns",
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
    alone = f"with one of {', '.join(_DOTTED)} at the end, in that alone"
    return option("--figure NAME", f"{written}; {alone}", figure_files)


def metric(what: str = "what is bounded", default: str | None = TARGETS[0]) -> Callable[[F], F]:
    """``--metric``."""
    return option("--metric", what, Choice(TARGETS), default=default)


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


def sources(options: Any) -> tuple[str, ...]:
    """What ``--import`` names, so that workers elsewhere in the file system find it."""
    if not getattr(options, "imports", ()):
        return ()
    from depl.models.foundation.users_code import resolved

    return tuple(dict.fromkeys(map(resolved, options.imports)))


def read_instance(options: Options) -> depl.Instance:
    """The instance that INSTANCE and ``--target`` name; errors have the file in front of the place."""
    with inside(options.instance):
        return depl.load(options.instance, options.target)


def read_plan(path: str, instance: depl.Instance | None = None) -> depl.Plan:
    """The plan in a file, which names what the instance has; errors have the file in front of the place."""
    with inside(path):
        plan = read(depl.Plan, path)
        if instance is not None:
            plan.check_names(instance)
        return plan


def read(kind: type[D], path: str) -> D:
    """The document of this kind in a file."""
    from depl.models.foundation.documents import read_text

    with inside(path):
        return kind.from_json(read_text(path))


@contextmanager
def inside(source: str, told: Iterable[str] | None = None, setup: str | None = None) -> Iterator[None]:
    """Name the file, or the option, in errors that only know the place inside it (``$.clusters[1]``).

    ``told`` are the parameters that an option of the same name gives, or of the name that they are mapped to;
    with them all other places are those of runs, which ``source`` holds, or of their ``setup``.
    """
    try:
        yield
    except InvalidInputError as error:
        options = told if isinstance(told, Mapping) else {name: name for name in told or ()}

        def placed(path: str) -> str:
            inner = path.removeprefix(".")
            name, *_ = re.split(r"\W", inner)
            if name in options:
                return f"--{options[name].replace('_', '-')}"
            if path.startswith("$"):
                return f"{source}: {path}"
            if not (options and source) or (inner and not path.startswith(".")):
                return path
            if setup is not None and name in ("models", "clusters", "target"):
                return f"{setup}: ${path}"
            return f"{source}: ${path}" if inner else source

        if all(placed(mistake.path) == mistake.path for mistake in error.mistakes):
            raise
        raise error.within(placed) from error


def require_outputs(outputs: Iterable[str | None], inputs: Iterable[str | None] = ()) -> None:
    """Refuse files that could not be written, or would replace what is read, before the work that they hold.

    An output may be no folder, lie in none that is missing or closed to this user, and be no other file of
    the command, by whatever names. None is an option that is not given.
    """
    taken = [(path, "read") for path in filter(None, inputs)]
    for path in filter(None, outputs):
        _require_writable(path)
        for other, what in taken:
            if same_file(path, other):
                raise InvalidInputError(f"is the file {other}, which is {what}; name another one", path)
        taken.append((path, "written, too"))


def same_file(path: str | Path, other: str | Path) -> bool:
    """Whether two names lead to one regular file, or would to one new file; pipes and devices are none."""
    try:
        return os.path.samefile(path, other) and os.path.isfile(path)
    except (OSError, ValueError):  # at least one of them is not there
        there = os.path.exists(path) or os.path.exists(other)
        return not there and os.path.realpath(path) == os.path.realpath(other)


def _require_writable(path: str) -> None:
    from depl.models.foundation.documents import found_there, reason_of

    folder = Path(os.path.realpath(path) if os.path.islink(path) else path).parent
    if os.path.isdir(path):
        raise InvalidInputError("is a folder; name a file in it", path)
    if not os.path.isdir(folder):
        raise InvalidInputError(f"there is no folder {str(folder)!r}; make it first", path)
    try:
        found = found_there(path)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"cannot be written ({reason_of(error)})", path) from error
    if found is not None and not stat.S_ISREG(found.st_mode):  # it is written to and not replaced
        if not os.access(path, os.W_OK):
            raise InvalidInputError("cannot be written to", path)
    elif not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError(f"the folder {str(folder)!r} cannot be written to", path)


def make_folder(path: str) -> Path:
    """The folder of that name, which may be written to, made with its parents where there is none."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"cannot be made ({error.strerror or error})", path) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError("cannot be written to", path)
    return folder


def refuse_existing(folder: str, names: Iterable[str], force: bool) -> None:
    """Refuse before any work files that a folder has, which may hold others, or what is no folder."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise InvalidInputError("is no folder; name another one", folder)
    there = [str(path) for name in names if (path := Path(folder) / name).exists()]
    if there and not force:
        more = f", and so do {len(there) - 1} of the other files" if len(there) > 1 else ""
        message = f"exists already{more}; replace with --force, or name another folder"
        raise InvalidInputError(message, there[0])


def written(path: str | None, what: str, document: Any) -> str:
    """Write a document, or its text, to the file that is named for it, and say so; or that there is none."""
    from depl.models.foundation.documents import write_text

    if path is None:
        return ""
    if document is None:
        return f"{path} not written: there {'are' if what.endswith('s') else 'is'} no {what}"
    write_text(path, document if isinstance(document, str) else document.to_json())
    return f"{what} written to {path}"


def drawn(target: FigureFiles | None, what: str, draw: Any) -> str:
    """Draw what is asked for, and say where; or that there is nothing to be drawn."""
    if target is None:
        return ""
    if not draw:
        return f"{target.name} not drawn: there is no {what}"
    figure = draw().get_figure(root=True)
    return "" if figure is None else f"drawn in {' and '.join(saved(figure, target))}"


def plan_drawn(target: FigureFiles | None, instance: depl.Instance | None, plan: depl.Plan | None) -> str:
    """The same of a plan, None where a command has found none."""
    if instance is None or plan is None:
        return drawn(target, "plan", None)
    return drawn(target, "plan", lambda: depl.plot.plan(instance, plan)[0])


def saved(figure: Any, target: FigureFiles, part: str = "") -> list[str]:
    """Write a figure, or one part of several, and return its files."""
    from depl.benchmarks.figures.style import save

    place = Path(f"{target.name}{part}")
    return [str(path) for path in save(figure, place.parent, place.name, target.formats)]


@contextmanager
def asked_of_solver(options: Options, instance: depl.Instance) -> Iterator[dict[str, Any]]:
    """What `solving` declares, as keywords; meanwhile a line shows how far it is."""
    from depl.commands.progress import following
    from depl.models.solving.methods import default_method

    name = options.method or default_method(instance)
    asked = options.pick("method", "gap", "time_limit", "seed")
    asked["options"] = _further_options(options, name)
    with following(name, instance.units, time_limit=options.time_limit) as told:
        yield asked | told


def _further_options(options: Options, name: str) -> dict[str, object]:
    """What only some methods take, where it is given; refused where this one does not, or twice."""
    from depl.models.solving.methods import find, registered
    from depl.models.solving.options import read_options

    known, texts = find(name).options, {} if options.eta is None else {"eta": str(options.eta)}
    for key, value in options.options:
        if key in texts:
            raise InvalidInputError("is given twice; keep one", f"--option {key}")
        texts[key] = value
    for key in () if known else texts:
        able = [other.name for other in registered() if key in [item.name for item in other.options]]
        hint = f"of --method {' or '.join(able)} it is one" if able else "it takes none"
        raise InvalidInputError(f"method {name!r} takes no option {key!r}; {hint}")
    try:
        return read_options(name, known, texts)
    except InvalidInputError as error:
        raise InvalidInputError(error.message, f"--option {error.path}" if error.path else "") from error


def shown(
    found: object,
    ok: bool = True,
    aside: str = "",
    told: Mapping[str, Any] | None = None,
    of: Mapping[str, Any] | None = None,
) -> Answer:
    """The answer on an object: its view is ``told`` what it takes, and its facts are ``of`` something."""
    from depl.showing import json_of, view

    code = ExitCode.ANSWERED if ok else ExitCode.INFEASIBLE
    return Answer(view(found, **told or {}).text(), code, json_of(found, **of or {}), aside)


def answer(
    found: object, code: ExitCode, options: Options, explained: str, *steps: Callable[[], str]
) -> Answer:
    """The same with what was written and drawn: an answer is worth showing even if that fails."""
    said = [explained if options.json else ""]
    for step in steps:
        try:
            said.append(step())
        except InvalidInputError as error:
            code = ExitCode.INVALID
            said.append(f"depl: {error}")
    made = shown(found)
    return Answer(_joined(made.text, explained), code, made.json, _joined(*said))


def _joined(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))
