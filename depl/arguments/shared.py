"""Options that the commands of bench share, while argparse parses them."""

import argparse

import click

from depl.commands import options


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


def add_json(parser: argparse.ArgumentParser, content: str = "the answer") -> None:
    """Declare ``--json``."""
    parser.add_argument("--json", action="store_true", help=f"print {content} as one JSON object")


def positive_count(text: str) -> int:
    """A whole number from 1 on."""
    return _read(options.COUNT, text)


def seed(text: str) -> int:
    """A whole number from 0 on."""
    return _read(options.SEED, text)


def positive_seconds(text: str) -> float:
    """A positive number of seconds."""
    try:
        return options.positive_seconds(text)
    except click.BadParameter as error:
        raise argparse.ArgumentTypeError(error.message) from error


def _read(kind: click.IntRange, text: str) -> int:
    try:
        return int(kind(text) or 0)
    except click.BadParameter as error:
        raise argparse.ArgumentTypeError(error.message) from error
