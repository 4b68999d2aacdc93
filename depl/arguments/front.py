"""``depl front``: the least weight of model selection against a bound on the expected loss, or the time.

Data and cluster are given. What is bounded is the *expected* loss; omega is not used, and a point promises
nothing. The probability with which its path misses the bound is certified and printed beside it.
"""

import argparse

from depl.arguments.shared import add_gap, add_instance, add_json, positive_count
from depl.heuristics.paths.readings import Against, Weight


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_instance(parser)
    parser.add_argument(
        "--against",
        choices=[kind.value for kind in Against],
        required=True,
        help="the budget that varies: a bound on the EXPECTED loss, or T_max",
    )
    parser.add_argument(
        "--points", metavar="N", type=positive_count, default=20, help="budgets, evenly spaced; default: 20"
    )
    parser.add_argument(
        "--between", metavar=("LOW", "HIGH"), type=float, nargs=2, help="the range of the budgets"
    )
    parser.add_argument(
        "--whole", action="store_true", help="every step of the front instead, N at most, from the loosest"
    )
    parser.add_argument("--cluster", metavar="C", help="where to train; default: the most capable cluster")
    parser.add_argument("--datasets", metavar="D,...", help="what to train on; default: all datasets")
    parser.add_argument(
        "--weight",
        choices=[kind.value for kind in Weight],
        help="what is added up and minimised, a reading of the cost; default: root, the sum of "
        "sqrt(kappa c), or without T_max least-resources",
    )
    add_gap(parser)
    parser.add_argument("--time-limit", metavar="S", type=float, help="seconds for all; default: none")
    parser.add_argument("--out", metavar="FILE", help="write it, as JSON if the name ends in .json, else CSV")
    parser.add_argument("--figure", metavar="NAME", help="draw it: NAME.png and NAME.svg")
    add_json(parser, "the front")
    parser.set_defaults(run="depl.commands.front:run")
