"""``depl replan``: what the rest of a plan still delivers from an observed state, and a better rest."""

import argparse

from depl.arguments.shared import add_figure, add_instance, add_json, add_plan, add_solving


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_instance(parser)
    add_plan(parser)
    parser.add_argument(
        "state",
        metavar="STATE",
        help="the path of an observed state, see docs/replanning, or of the log of a depl.Controller that "
        "follows the plan",
    )
    add_solving(parser)
    parser.add_argument(
        "--keep-promise",
        action="store_true",
        help="ask for what the old rest would deliver from here instead of omega, so that the promise made "
        "at the start holds over all runs, however often they are planned again (under a law fitted to "
        "traces only where the answer says so)",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="list the decisions, and show the equations with the numbers of the rest",
    )
    parser.add_argument(
        "--details",
        action="store_true",
        help="with --explain: list every decision, including those taken back",
    )
    parser.add_argument("--out", metavar="PLAN.json", help="write the rest to follow to this file")
    parser.add_argument("--rest", metavar="REST.json", help="write the instance of the rest to this file")
    add_figure(parser, "the rest to follow")
    add_json(parser)
    parser.set_defaults(run="depl.commands.replan:run")
