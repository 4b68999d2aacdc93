"""Options and arguments that several commands share, and files that a user names."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from depl.instances.library import load
from depl.instances.training.recorded import recorded_traces
from depl.models.errors import InvalidInputError
from depl.models.methods import DEFAULT_METHOD, DEFAULT_SCENARIOS, DEFAULT_WITH_MEMORY
from depl.models.plan import Plan
from depl.models.problem import Instance
from depl.models.structure import read_text
from depl.models.traces.files import read_traces
from depl.models.traces.table import Traces


def add_instance(parser: argparse.ArgumentParser) -> None:
    """Declare INSTANCE and ``--target``."""
    parser.add_argument(
        "instance", metavar="INSTANCE", help="a name of 'depl instances list', or the path of a file"
    )
    parser.add_argument(
        "--target", metavar="L", help="bound on the quantile of the final loss; chooses a family's instance"
    )


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Declare PLAN."""
    parser.add_argument("plan", metavar="PLAN", help="the path of a plan, as 'depl solve --out' writes it")


def add_json(parser: argparse.ArgumentParser, content: str = "the answer") -> None:
    """Declare ``--json``."""
    parser.add_argument("--json", action="store_true", help=f"print {content} as one JSON object")


def add_solving(parser: argparse.ArgumentParser) -> None:
    """Declare the method, its limits, and what some methods take besides."""
    standard = f"default: {DEFAULT_METHOD}, or {DEFAULT_WITH_MEMORY} if the law of the loss has memory"
    parser.add_argument("--method", metavar="M", help=standard)
    parser.add_argument(
        "--gap", metavar="G", type=float, default=0.0, help="relative gap that is good enough; default: 0"
    )
    parser.add_argument("--time-limit", metavar="S", type=float, help="seconds; default: none")
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="for methods that draw; default: 0")
    parser.add_argument(
        "--scenarios",
        metavar="S",
        type=positive_count,
        help=f"for methods that count scenarios: how many to draw; default: {DEFAULT_SCENARIOS}",
    )
    parser.add_argument(
        "--eta",
        metavar="N",
        type=levels,
        help="for graph and depl-paper: levels of time and of loss; for graph also auto, which derives them "
        "from --gap",
    )


def further_options(options: argparse.Namespace) -> dict[str, object]:
    """What `add_solving` declares and only some methods take, where it is given."""
    return {} if options.eta is None else {"eta": options.eta}


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
    written = Path(name).suffix in (".csv", ".npz") or Path(name).exists()
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


def require_writable(path: str | None) -> None:
    """Refuse a file that could not be written, before the work that it is to hold.

    Raises
    ------
    InvalidInputError
        If it is a folder, or lies in one that is missing or closed to this user.
    """
    if path is None:
        return
    target = Path(path)
    folder = target.parent
    if target.is_dir():
        raise InvalidInputError("is a folder; name a file in it", path)
    if not folder.is_dir():
        raise InvalidInputError(f"there is no folder {str(folder)!r}; make it first", path)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError(f"the folder {str(folder)!r} cannot be written to", path)


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
