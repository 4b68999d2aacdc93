"""``depl train``: train small networks and record their losses as traces."""

import argparse

from depl.arguments.shared import add_json, positive_count, seed
from depl.instances.training.names import SHIPPED


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    names = ", ".join(SHIPPED)
    parser.add_argument("--family", metavar="NAME", required=True, help=f"what to train: {names}")
    parser.add_argument(
        "--runs", metavar="N", type=positive_count, default=100, help="how many runs; default: 100"
    )
    parser.add_argument(
        "--seed",
        metavar="S",
        type=seed,
        help="seed of the first run, which the others follow; default: 0, and with --plan or --stages a "
        "number derived from them",
    )
    parser.add_argument(
        "--plan",
        metavar="PLAN",
        help="train what this plan does epoch by epoch; each cluster on all of its own data",
    )
    _add_switching(parser)
    parser.add_argument(
        "--out",
        metavar="FILE",
        required=True,
        help="the file of traces, .csv or .csv.gz; runs that it holds already are not trained again",
    )
    add_json(parser, "what was done")
    parser.set_defaults(run="depl.commands.train:run")


def _add_switching(parser: argparse.ArgumentParser) -> None:
    """Declare what is trained to know what every switch would have led to."""
    parser.add_argument(
        "--stages",
        metavar="MODEL@CLUSTER,MODEL@CLUSTER",
        type=_stages,
        help="train the first stage once for each seed, and from each of --switch-epochs on the second; each "
        "of these is a run of its own, SEED/SWITCH",
    )
    parser.add_argument(
        "--switch-epochs",
        metavar="K,K,...",
        type=_epochs,
        help="for --stages: last epochs of the first stage, ascending",
    )
    parser.add_argument(
        "--epochs", metavar="K", type=positive_count, help="for --stages: epochs of every run"
    )
    parser.add_argument(
        "--draw-switch",
        metavar="S",
        type=seed,
        help="for --stages: train one of the switch epochs for each seed, drawn with seed S; default: all",
    )


def _stages(text: str) -> tuple[tuple[str, str], ...]:
    """Two pairs of a model and a cluster."""
    parts = tuple(tuple(part.strip() for part in stage.split("@")) for stage in text.split(","))
    if len(parts) != 2 or any(len(part) != 2 or not all(part) for part in parts):
        example = "pruned-50@edge,pruned-75@far-edge"
        message = (
            f"must be two stages MODEL@CLUSTER with a comma between them, such as {example}, not {text!r}"
        )
        raise argparse.ArgumentTypeError(message)
    return tuple((model, cluster) for model, cluster in parts)


def _epochs(text: str) -> tuple[int, ...]:
    """Whole numbers from 1 on, with commas between them."""
    return tuple(positive_count(part) for part in text.split(","))
