"""``depl bench behaviour``: record what every method answers, and compare it with what they answer now."""

import argparse
from pathlib import Path

from depl.arguments.shared import add_json

HELP = "record what every method answers, and compare it with what they answer now"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(dest="behaviour_action", required=True, metavar="ACTION")
    record = actions.add_parser("record", help="ask all questions, and write the answers to FILE")
    record.add_argument("file", type=Path, metavar="FILE", help="the record; an older one is replaced")
    record.add_argument(
        "--update", action="store_true", help="keep the answers in FILE that are not asked for again"
    )
    record.set_defaults(run="depl.commands.bench_behaviour:run_record")
    compare = actions.add_parser("compare", help="print what differs from the answers in FILE")
    compare.add_argument("file", type=Path, metavar="FILE", help="a record")
    compare.add_argument("new", type=Path, nargs="?", metavar="NEW", help="another record, instead of asking")
    compare.set_defaults(run="depl.commands.bench_behaviour:run_compare")
    for command, content in ((record, "how much was asked"), (compare, "the differences")):
        command.add_argument("--problems", default="*", metavar="GLOB", help="these alone, as 'small-*'")
        command.add_argument("--settings", default="*", metavar="GLOB", help="these alone, as 'depl*'")
        add_json(command, content)
