"""``depl report``: one page on a plan for whoever pays."""

import argparse

from depl.arguments.shared import add_instance, add_plan, positive_seconds
from depl.models.solving.defaults import REPORT_SECONDS


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_instance(parser)
    add_plan(parser)
    parser.add_argument(
        "--out", metavar="FILE.html", default="plan.html", help="the page; default: plan.html"
    )
    parser.add_argument(
        "--prices",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="solve for the probabilities 0.90, 0.95 and 0.99, and by other methods, or leave that out",
    )
    parser.add_argument(
        "--time-limit",
        metavar="S",
        type=positive_seconds,
        default=REPORT_SECONDS,
        help="seconds of each of these solves, of the picture and of early stopping; "
        f"default: {REPORT_SECONDS:g}",
    )
    parser.set_defaults(run="depl.commands.report:run")
