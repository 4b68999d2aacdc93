"""Options and arguments that several commands share, and what a value of them may be."""

import argparse
import os
from typing import NamedTuple

from depl.models.solving.defaults import DEFAULT_METHOD, DEFAULT_SCENARIOS


def add_instance(parser: argparse.ArgumentParser) -> None:
    """Declare INSTANCE, ``--target``, and ``--import``, as an instance may have laws of the user's own."""
    parser.add_argument(
        "instance", metavar="INSTANCE", help="a name of 'depl instances list', or the path of a file"
    )
    add_target(parser)
    add_imports(parser)


def add_target(parser: argparse.ArgumentParser) -> None:
    """Declare ``--target`` of an instance."""
    parser.add_argument(
        "--target", metavar="L", help="bound on the quantile of the final loss; chooses a family's instance"
    )


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


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Declare PLAN."""
    parser.add_argument("plan", metavar="PLAN", help="the path of a plan, as 'depl solve --out' writes it")


def add_json(parser: argparse.ArgumentParser, content: str = "the answer") -> None:
    """Declare ``--json``."""
    parser.add_argument("--json", action="store_true", help=f"print {content} as one JSON object")


FORMATS = ("png", "svg", "pdf")
"""Endings of the files that a figure may be drawn in."""


class FigureFiles(NamedTuple):
    """Where ``--figure`` draws: a name without its ending, and the endings."""

    name: str
    formats: tuple[str, ...] = ("png", "svg")

    def paths(self, part: str = "") -> tuple[str, ...]:
        """The files; where there are several figures, of the one with this part of a name."""
        return tuple(f"{self.name}{part}.{kind}" for kind in self.formats)


def add_figure(parser: argparse.ArgumentParser, what: str, parts: str = "") -> None:
    """Declare ``--figure``; ``parts`` say what follows the name where there are several figures."""
    named = f" ({parts})" if parts else ""
    parser.add_argument(
        "--figure",
        metavar="NAME",
        type=figure_files,
        help=f"draw {what} in NAME.png and NAME.svg{named}; with one of {', '.join(_DOTTED)} at the end, in "
        "that alone",
    )


def figure_files(text: str) -> FigureFiles:
    """A name of figures: an ending of a picture chooses the format, and one of another file is refused."""
    name, ending = os.path.splitext(text)
    kind = ending[1:].lower()
    if kind in FORMATS:
        return FigureFiles(name, (kind,))
    if kind[:1].isalpha():  # 9.5 is a name
        message = f"figures are written as {', '.join(_DOTTED[:-1])} or {_DOTTED[-1]}, not as {ending}"
        raise argparse.ArgumentTypeError(f"{message}; end {text!r} otherwise, or leave the ending out")
    return FigureFiles(text)


_DOTTED = tuple(f".{kind}" for kind in FORMATS)


def add_solving(parser: argparse.ArgumentParser, files: bool = False) -> None:
    """Declare the method, its limits, and what some methods take besides; with ``files`` also scenarios."""
    given = ", or a file of them" if files else ""
    standard = f"default: {DEFAULT_METHOD}, which lets exact search and the loop take turns"
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
        type=positive_count,
        help="for depl-paper: levels of time and of loss; default: 200",
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
