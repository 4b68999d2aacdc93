"""``depl explain``: the equations of the paper with the numbers of a plan."""

import argparse

from depl.arguments.shared import add_figure, add_instance, add_plan


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_instance(parser)
    add_plan(parser)
    add_figure(parser, "the plan")
    parser.set_defaults(run="depl.commands.explain:run")
