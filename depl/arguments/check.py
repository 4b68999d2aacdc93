"""``depl check``: what the independent verifier says of a plan."""

import argparse

from depl.arguments.shared import add_figure, add_instance, add_json, add_plan


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_instance(parser)
    add_plan(parser)
    parser.add_argument(
        "--scenarios",
        metavar="FILE.npz",
        help="the scenarios that the plan was made for; needed where they are not of a seeded stream",
    )
    add_figure(parser, "the plan")
    add_json(parser, "the findings")
    parser.set_defaults(run="depl.commands.check:run")
