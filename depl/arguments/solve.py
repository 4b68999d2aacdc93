"""``depl solve``: find a plan, say what is proved about it, and write it."""

import argparse

from depl.arguments.shared import add_figure, add_instance, add_json, add_solving
from depl.models.foundation.memory import MEMORY


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_instance(parser)
    add_solving(parser, files=True)
    parser.add_argument(
        "--explain", action="store_true", help="list the decisions, and show the equations with their numbers"
    )
    parser.add_argument(
        "--details",
        action="store_true",
        help="with --explain: list every decision, including those taken back",
    )
    parser.add_argument(
        "--memory",
        metavar="GIB",
        type=float,
        default=MEMORY,
        help=f"GiB that a table may take; what needs more is refused; default: {MEMORY:g}",
    )
    parser.add_argument("--out", metavar="PLAN.json", help="write the plan to this file")
    add_figure(parser, "the plan")
    add_json(parser, "the result")
    parser.set_defaults(run="depl.commands.solve:run")
