"""``depl explain``: the equations of the paper with the numbers of a plan in them."""

import argparse

from depl.arguments.shared import add_instance, add_plan


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_instance(parser)
    add_plan(parser)
    parser.set_defaults(run="depl.commands.explain:run")
