"""``depl warm-up``: compile the kernels now and keep them, so that no later solve waits for them."""

import argparse

from depl.arguments.shared import add_imports, add_json

METHODS = ("exact", "density-greedy", "depl", "scenario-search")
"""What the default methods call, under laws and on scenarios."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--method",
        action="append",
        metavar="M",
        help=f"a method to prepare; may be repeated (default: {', '.join(METHODS)})",
    )
    add_imports(parser)
    add_json(parser)
    parser.set_defaults(run="depl.commands.warm_up:run")
