"""``depl diagnose``: what training traces say about the paper's laws, and whether these may be used."""

import argparse

from depl.arguments.logs import add_diverged, add_logs
from depl.arguments.shared import add_figure, add_json, positive_count, seed
from depl.models.estimation.choices import RESAMPLES, FitBy
from depl.models.traces.metrics import TARGETS


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "traces",
        metavar="TRACES",
        nargs="+",
        help="the path of traces, CSV or npz, or the name of shipped ones, such as digits-alexnet; with "
        "--loss files or folders of logs",
    )
    parser.add_argument(
        "--metric", choices=TARGETS, default=TARGETS[0], help=f"what is bounded; default: {TARGETS[0]}"
    )
    parser.add_argument(
        "--by",
        choices=[item.value for item in FitBy],
        default=FitBy.MODEL.value,
        help="fit every model, every model on every cluster, or these in every schedule or run (Fig. 4)",
    )
    parser.add_argument(
        "--resamples",
        metavar="N",
        type=positive_count,
        default=RESAMPLES,
        help=f"for intervals and p-values; default: {RESAMPLES}",
    )
    parser.add_argument("--seed", metavar="S", type=seed, default=0, help="of the resamples; default: 0")
    parser.add_argument(
        "--details", action="store_true", help="fits, tests and warnings, too; --json always holds them"
    )
    add_figure(parser, "the verdict, and Figs. 2 and 4 of the paper", "NAME-verdict, NAME-loss and NAME-fits")
    add_json(parser, "fits, tests and verdict")
    add_logs(parser)
    add_diverged(parser)
    parser.set_defaults(run="depl.commands.diagnose:run")
