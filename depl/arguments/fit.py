"""``depl fit``: an instance from training traces and a setup, ready for ``depl solve``."""

import argparse

from depl.arguments.logs import add_logs, names
from depl.arguments.shared import add_imports, add_json
from depl.models.estimation.choices import CARE
from depl.models.problem.counting import MOST_DIVERGED
from depl.models.traces.metrics import TARGETS

_LAWS = ("affine", "independent")
SCALES = ("loss", "log")
_RESIDUALS = ("per_run", "independent")


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
        "--template",
        metavar="SETUP",
        required=True,
        help="clusters, sizes, costs and target: the path of a setup, as 'depl instances new --setup' prints "
        "one, or the name of a shipped one, such as digits-alexnet",
    )
    parser.add_argument("--out", metavar="INSTANCE", required=True, help="write the instance to this file")
    _add_law(parser)
    _add_counting(parser)
    parser.add_argument(
        "--metric", choices=TARGETS, default=TARGETS[0], help=f"what is bounded; default: {TARGETS[0]}"
    )
    parser.add_argument("--target", metavar="L", type=float, help="l_max instead of that of the setup")
    parser.add_argument("--name", metavar="NAME", help="of the instance; default: that of the setup")
    parser.add_argument(
        "--only-setup",
        action="store_true",
        help="leave out runs that trained a model or used a cluster that the setup does not have",
    )
    add_imports(parser)
    add_json(parser, "what was fitted")
    add_logs(parser)
    parser.set_defaults(run="depl.commands.fit:run")


def _add_counting(parser: argparse.ArgumentParser) -> None:
    """What promises ask of the runs."""
    parser.add_argument(
        "--care",
        metavar="Q",
        type=_share,
        default=CARE,
        help="plans that were never run get the margin that a share Q of plans did not exceed when they were "
        f"held out of the fit, 0 for none; default: {CARE}",
    )
    parser.add_argument(
        "--confidence",
        metavar="C",
        type=_confidence,
        help="promise only plans that enough runs went through, and count as many misses as these leave "
        "possible with confidence C, such as 0.95; default: promises are right on average over sets of runs",
    )

    parser.add_argument(
        "--diverged",
        metavar="N|NAME,...",
        type=_runs,
        help="so many runs were lost in all, or those of these names and files: each counts as a miss of "
        "every plan; default: those that are known to be lost, as they diverged, or ended before others of "
        "their schedule",
    )


def _add_law(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--law",
        choices=_LAWS,
        default=_LAWS[0],
        help="affine: a law with memory, fitted to the runs; independent: the paper's; default: affine",
    )
    parser.add_argument(
        "--residuals",
        choices=_RESIDUALS,
        default=_RESIDUALS[0],
        help="of the affine law: kept together per run, or independent of each other; default: per_run",
    )
    parser.add_argument(
        "--scale",
        choices=SCALES,
        help="whether the affine law is one of the loss or of its logarithm; default: log, where all losses "
        "are positive",
    )


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text} is no share: it must be at least 0 and below 1")
    return value


def _runs(text: str) -> int | tuple[str, ...]:
    try:
        value = int(text)
    except ValueError:
        return names(text)
    if not 0 <= value <= MOST_DIVERGED:
        raise argparse.ArgumentTypeError(f"{text} is no number of runs from 0 to {MOST_DIVERGED}")
    return value


def _confidence(text: str) -> float:
    value = float(text)
    if not 0.5 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text} is no confidence: it must be at least 0.5 and below 1")
    return value
