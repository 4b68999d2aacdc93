"""``depl program``: the problem with counted scenarios as a mathematical program, in a file for any solver.

The optimum of the file is the least cost of a plan on these scenarios: the problem is solved first, and the
rows that the proof needed are put into the program. With --relaxation nothing is solved, and the optimum is a
lower bound; the first line of the file says which of the two it is.
"""

import argparse

from depl.arguments.shared import add_instance, add_json, count_or_file, seed
from depl.models.solving.defaults import DEFAULT_SCENARIOS

FORMS = ("price", "cone")
"""Of `depl.models.programs.finished`."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_instance(parser)
    parser.add_argument(
        "--out", metavar="FILE", required=True, help="the file; its ending, .lp, .mps or .nl, says the format"
    )
    parser.add_argument(
        "--form",
        choices=FORMS,
        default="price",
        help="price of time, or resources as variables and cones (.lp, .nl; not for HiGHS); default: price",
    )
    parser.add_argument(
        "--scenarios",
        metavar="S|FILE.npz",
        type=count_or_file,
        help=f"how many scenarios to draw, or a file of them; default: {DEFAULT_SCENARIOS}",
    )
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="of the scenarios; default: 0")
    parser.add_argument(
        "--relaxation", action="store_true", help="do not solve: the optimum is then a lower bound"
    )
    parser.add_argument("--time-limit", metavar="S", type=float, help="seconds for solving; default: none")
    add_json(parser, "what the file holds")
    parser.set_defaults(run="depl.commands.program:run")
