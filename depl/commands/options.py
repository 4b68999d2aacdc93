"""Options and arguments that several commands share, and files that a user names."""

import argparse
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from depl.instances.library import load
from depl.instances.training.recorded import recorded_traces
from depl.models.foundation.documents import found_there, read_text, reason_of
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.users_code import import_source, resolved
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import Scenarios, draw_scenarios
from depl.models.scenarios.files import load_scenarios
from depl.models.solving.methods import (
    DEFAULT_METHOD,
    DEFAULT_SCENARIOS,
    default_method,
    find,
    registered,
    require_counting,
)
from depl.models.solving.options import read_options
from depl.models.traces.files import read_traces
from depl.models.traces.table import Traces

_LAST_DIGITS = 1e-9  # quantile functions of two machines differ by less, relatively


def add_instance(parser: argparse.ArgumentParser) -> None:
    """Declare INSTANCE, ``--target``, and ``--import``, as an instance may have laws of the user's own."""
    parser.add_argument(
        "instance", metavar="INSTANCE", help="a name of 'depl instances list', or the path of a file"
    )
    parser.add_argument(
        "--target", metavar="L", help="bound on the quantile of the final loss; chooses a family's instance"
    )
    add_imports(parser)


def add_imports(parser: argparse.ArgumentParser) -> None:
    """Declare ``--import``."""
    parser.add_argument(
        "--import",
        dest="imports",
        metavar="MODULE",
        action="append",
        default=[],
        help="a module or a .py file that registers methods or laws, or defines SUITE; may be given several "
        "times",
    )


def sources(options: argparse.Namespace) -> tuple[str, ...]:
    """What ``--import`` names, so that workers elsewhere in the file system find it."""
    return tuple(dict.fromkeys(map(resolved, options.imports)))


def import_users_code(options: argparse.Namespace) -> None:
    """Import what ``--import`` names, for commands that have it.

    Raises
    ------
    InvalidInputError
        As `depl.models.foundation.users_code.import_source`.
    """
    for source in getattr(options, "imports", ()):
        import_source(resolved(source))


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Declare PLAN."""
    parser.add_argument("plan", metavar="PLAN", help="the path of a plan, as 'depl solve --out' writes it")


def add_json(parser: argparse.ArgumentParser, content: str = "the answer") -> None:
    """Declare ``--json``."""
    parser.add_argument("--json", action="store_true", help=f"print {content} as one JSON object")


def add_solving(parser: argparse.ArgumentParser, files: bool = False) -> None:
    """Declare the method, its limits, and what some methods take besides; with ``files`` also scenarios."""
    given = ", or a file of them" if files else ""
    standard = f"default: {DEFAULT_METHOD}, exact search and a loop in turn"
    parser.add_argument("--method", metavar="M", help=standard)
    add_gap(parser)
    parser.add_argument("--time-limit", metavar="S", type=float, help="seconds; default: none")
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="for methods that draw; default: 0")
    parser.add_argument(
        "--scenarios",
        metavar="S|FILE.npz" if files else "S",
        type=count_or_file if files else positive_count,
        help=f"for methods that count scenarios: how many to draw{given}; default: {DEFAULT_SCENARIOS}",
    )
    parser.add_argument(
        "--eta",
        metavar="N",
        type=levels,
        help="for graph and depl-paper: levels of time and of loss; for graph also auto, which derives them "
        "from --gap",
    )
    parser.add_argument(
        "--option",
        dest="options",
        metavar="KEY=VALUE",
        type=_key_and_value,
        action="append",
        default=[],
        help="an option of the method, which 'depl methods NAME' lists; may be given several times",
    )


def add_gap(parser: argparse.ArgumentParser) -> None:
    """Declare ``--gap``."""
    text = "relative gap that is good enough, such as 0.05 or 5%%; default: 0"
    parser.add_argument("--gap", metavar="G", type=relative_gap, default=0.0, help=text)


def further_options(options: argparse.Namespace, instance: Instance) -> dict[str, object]:
    """What `add_solving` declares and only some methods take, where it is given.

    Raises
    ------
    InvalidInputError
        If the method does not take an option, or not with this value, or one is given twice.
    """
    method = find(options.method or default_method(instance))
    if not method.options:
        _refuse_options(method.name, options)
    texts: dict[str, str] = {}
    if options.eta is not None:
        texts["eta"] = str(options.eta)
    for name, value in options.options:
        if name in texts:
            raise InvalidInputError("is given twice; keep one", f"--option {name}")
        texts[name] = value
    try:
        return read_options(method.name, method.options, texts)
    except InvalidInputError as error:
        place = f"--option {error.path}" if error.path else ""
        raise InvalidInputError(error.message, place) from error


def _refuse_options(method: str, options: argparse.Namespace) -> None:
    """Refuse options where the method takes none, and name the methods that take the first one."""
    given = [*([] if options.eta is None else ["eta"]), *(name for name, _ in options.options)]
    for name in given:
        able = [other.name for other in registered() if name in [item.name for item in other.options]]
        hint = f"; of --method {' or '.join(able)} it is one" if able else "; it takes none"
        raise InvalidInputError(f"method {method!r} takes no option {name!r}{hint}")


def read_instance(options: argparse.Namespace) -> Instance:
    """The instance that INSTANCE and ``--target`` name.

    Raises
    ------
    InvalidInputError
        As `depl.instances.library.load`, with the file in front of the place inside it.
    """
    with inside(options.instance):
        return load(options.instance, options.target)


def read_plan(path: str) -> Plan:
    """The plan in a file.

    Raises
    ------
    InvalidInputError
        With the file in front of the place inside it.
    """
    with inside(path):
        return Plan.from_json(read_text(path))


def named_traces(name: str) -> Traces:
    """The traces in a file, or those of a shipped family.

    Raises
    ------
    InvalidInputError
        As `depl.models.traces.files.read_traces` and `depl.instances.training.recorded.recorded_traces`.
    """
    written = Path(name).suffix in (".csv", ".npz") or os.path.exists(name)
    return read_traces(name) if written else recorded_traces(name)


@contextmanager
def inside(source: str) -> Iterator[None]:
    """Name the file in errors that only know the place inside it (``$.clusters[1]``)."""
    try:
        yield
    except InvalidInputError as error:
        if not error.path.startswith("$"):
            raise
        raise type(error)(error.message, f"{source}: {error.path}") from error


def require_outputs(outputs: Iterable[str | None], inputs: Iterable[str | None] = ()) -> None:
    """Refuse files that could not be written, or would replace what is read, before the work that they hold.

    Parameters
    ----------
    outputs, inputs : iterable of str or None
        What a command writes and reads; None for an option that is not given. An input may be a name of
        something shipped.

    Raises
    ------
    InvalidInputError
        If an output is a folder, lies in one that is missing or closed to this user, or is the same file as
        an input or another output, by whatever names.
    """
    read = list(filter(None, inputs))
    written: list[str] = []
    for path in filter(None, outputs):
        _require_writable(path)
        for others, what in ((read, "read"), (written, "written, too")):
            for other in others:
                if same_file(path, other):
                    raise InvalidInputError(f"is the file {other}, which is {what}; name another one", path)
        written.append(path)


def same_file(path: str | Path, other: str | Path) -> bool:
    """Whether two names lead to one regular file, or would to one new file; pipes and devices are none."""
    try:
        return os.path.samefile(path, other) and os.path.isfile(path)
    except (OSError, ValueError):  # at least one of them is not there
        there = os.path.exists(path) or os.path.exists(other)
        return not there and os.path.realpath(path) == os.path.realpath(other)


def _require_writable(path: str) -> None:
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


def figure_files(name: str | None) -> tuple[str, ...]:
    """The files of a figure of that name, none for None."""
    return () if name is None else (f"{name}.png", f"{name}.svg")


def make_folder(path: str) -> Path:
    """The folder of that name, made with its parents where there is none.

    Raises
    ------
    InvalidInputError
        If it cannot be made or written to.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"cannot be made ({error.strerror or error})", path) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError("cannot be written to", path)
    return folder


def positive_count(text: str) -> int:
    """A whole number from 1 on."""
    value = _whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {value}")
    return value


def count_or_file(text: str) -> int | str:
    """A whole number from 1 on, or the path of a file."""
    try:
        int(text)
    except ValueError:
        if text.endswith(".npz") or os.path.exists(text):
            return text
        message = f"must be a whole number, or an .npz file, not {text!r}"
        raise argparse.ArgumentTypeError(message) from None
    return positive_count(text)


def read_scenarios(options: argparse.Namespace, instance: Instance) -> int | Scenarios | None:
    """The scenarios that ``--scenarios`` names: how many, or those of a file.

    Raises
    ------
    InvalidInputError
        As `depl.models.scenarios.files.load_scenarios`, and if the method counts no scenarios.
    """
    given: int | str | None = options.scenarios
    if not isinstance(given, str):
        return given
    require_counting(options.method or default_method(instance))
    scenarios = load_scenarios(given, instance)
    if scenarios.seed is not None:
        drawn = draw_scenarios(instance, len(scenarios), scenarios.seed, scenarios.decimals)
        for numbers, stream in (
            (scenarios.improvements, drawn.improvements),
            (scenarios.switch_losses, drawn.switch_losses),
        ):
            if not np.allclose(numbers, stream, rtol=_LAST_DIGITS, atol=0.0):
                raise InvalidInputError(
                    f"is {scenarios.seed}, whose stream has other numbers; leave the seed out of the file",
                    f"{given}: seed",
                )
    return scenarios


def relative_gap(text: str) -> float:
    """A share in [0, 1), or a percentage."""
    percent = text.rstrip().endswith("%")
    try:
        value = float(text.rstrip().removesuffix("%"))
    except ValueError:
        message = f"must be a share such as 0.05, or a percentage such as 5%, not {text!r}"
        raise argparse.ArgumentTypeError(message) from None
    share = value / 100 if percent else value
    if not 0 <= share < 1:
        meant = "" if percent or not 1 <= value < 100 else f"; did you mean {text}%?"
        raise argparse.ArgumentTypeError(f"must be at least 0 and less than 1, or 100%, not {text}{meant}")
    return share


def _key_and_value(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise argparse.ArgumentTypeError(f"must be KEY=VALUE, not {text!r}")
    return name, value


def positive_seconds(text: str) -> float:
    """A positive number of seconds."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number of seconds, not {text!r}") from None
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be positive and finite, not {text}")
    return value


def levels(text: str) -> int | str:
    """A whole number from 1 on, or ``auto``."""
    return text if text == "auto" else positive_count(text)


def seed(text: str) -> int:
    """A whole number from 0 on."""
    value = _whole(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"must not be negative, as {value} is")
    return value


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}") from None
