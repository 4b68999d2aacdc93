"""``depl front``: the cost of certified plans against l_max, T_max or omega, each with its own proof.

Each point is a plan that 'depl check' accepts at its budget, with a proved lower bound of the cost of any
plan there; budgets that no plan keeps are proved infeasible.
"""

import argparse

from depl.arguments.shared import add_figure, add_gap, add_instance, add_json, positive_count, seed
from depl.models.solving.defaults import DEFAULT_METHOD, FRONT_POINTS, FRONTS_AGAINST


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_instance(parser)
    parser.add_argument(
        "--against",
        choices=FRONTS_AGAINST,
        required=True,
        help="the budget that varies: l_max, T_max or omega",
    )
    parser.add_argument(
        "--points",
        metavar="N",
        type=positive_count,
        default=FRONT_POINTS,
        help=f"budgets, evenly spaced; for omega, 0.9, 0.95 and 0.99 are added; default: {FRONT_POINTS}",
    )
    parser.add_argument(
        "--between",
        metavar=("LOW", "HIGH"),
        type=float,
        nargs=2,
        help="the range of the budgets; default: from the loosest to the tightest that a plan is found for, "
        "and the budget of the instance",
    )
    parser.add_argument("--method", metavar="M", help=f"default: {DEFAULT_METHOD}, as for depl solve")
    add_gap(parser)
    parser.add_argument("--time-limit", metavar="S", type=float, help="seconds in all; default: none")
    parser.add_argument("--seed", metavar="N", type=seed, help="for methods that draw; default: 0")
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="write the front to this file: JSON if its name ends in .json, else CSV; a JSON file is "
        "updated after every point, and one that exists is resumed",
    )
    parser.add_argument(
        "--plans", metavar="DIR", help="write the plan of every point, and the instance with its budget"
    )
    add_figure(parser, "it")
    add_json(parser, "the front")
    parser.set_defaults(run="depl.commands.front:run")
