"""``depl certify``: whether held-out runs prove that a plan keeps its promise, without any law."""

import argparse

from depl.arguments.shared import add_imports, add_json
from depl.models.traces.metrics import TARGETS

EPILOG = """\
Runs are recognised by their losses, not by their names. Those used to choose the plan are refused under any
name, also if saved with less precision, truncated, or altered in some epochs; so is a run that the file
contains twice. Not detected are
  runs altered in half of their epochs or more, by more than a hundredth or two of the spread between runs;
  epochs in another order, left out, or renumbered by more than one; a larger constant added to all;
  averages of runs;
  runs used to choose the plan but not given by --chosen-by, and runs that were made but withheld.
Runs with fewer than about six different losses after training are refused as too short or too coarsely
recorded: with so few, a match cannot be distinguished from chance.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = EPILOG
    parser.add_argument(
        "traces",
        metavar="TRACES",
        help="runs of the plan that had no part in its choice: a file of traces, CSV or npz",
    )
    parser.add_argument("--target", metavar="X", type=float, required=True, help="l_max, what is promised")
    parser.add_argument(
        "--omega", metavar="P", type=float, required=True, help="promised probability of keeping the target"
    )
    parser.add_argument(
        "--confidence", metavar="C", type=float, default=0.95, help="of the certificate; default: 0.95"
    )
    parser.add_argument(
        "--chosen-by",
        metavar="FILE",
        action="append",
        default=[],
        help="traces that were used to choose the plan, or the instance (json) that 'depl fit' made of them; "
        "none of their runs may be among the others. May be given several times",
    )
    parser.add_argument(
        "--plan",
        metavar="PLAN",
        help="what the runs were to train; needed unless the traces say so, as those of depl train --plan do",
    )
    parser.add_argument(
        "--diverged",
        metavar="NAME,...",
        default="",
        help="runs that diverged: they exceed the target, also where the file does not hold them",
    )
    parser.add_argument(
        "--metric", choices=TARGETS, default=TARGETS[0], help=f"what is bounded; default: {TARGETS[0]}"
    )
    add_imports(parser)
    add_json(parser, "the certificate")
    parser.set_defaults(run="depl.commands.certify:run")
