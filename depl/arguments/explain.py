"""``depl explain``: the equations of the paper with the numbers of a plan, or what an instance can have.

Without a plan: whether the instance has one, which limit alone would have to give way where it has none, and
the nearest values of each limit that are reached.
"""

import argparse

from depl.arguments.shared import add_figure, add_instance


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_instance(parser)
    parser.add_argument(
        "plan",
        metavar="PLAN",
        nargs="?",
        help="the path of a plan, as 'depl solve --out' writes it; without one the instance is explained",
    )
    add_figure(parser, "the plan")
    parser.set_defaults(run="depl.commands.explain:run")
