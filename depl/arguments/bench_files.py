"""``depl bench export`` and ``recheck``: what is done with attempts that were made."""

import argparse

from depl.arguments.shared import add_imports, add_json, positive_seconds

_SECONDS = 60.0


def add_export(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``export``."""
    parser.add_argument("file", metavar="FILE", help="the file of a sweep")
    parser.add_argument(
        "--out", metavar="DIR", required=True, help="the folder for one SUITE.jsonl.gz per suite"
    )
    add_json(parser, "what was written")
    parser.set_defaults(run="depl.commands.bench_files:run_export")


def add_recheck(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``recheck``."""
    parser.add_argument(
        "file", metavar="FILE", help="a file of attempts, or the name of a suite with recorded ones"
    )
    parser.add_argument(
        "--seconds",
        metavar="S",
        type=positive_seconds,
        default=_SECONDS,
        help=f"rerun about so much of what was recorded; default: {_SECONDS:g}",
    )
    add_imports(parser)
    add_json(parser, "the comparison")
    parser.set_defaults(run="depl.commands.bench_files:run_recheck")
