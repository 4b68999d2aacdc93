"""``depl train``: train small networks and record their losses as traces."""

import argparse

from depl.arguments.shared import add_json, positive_count, seed
from depl.instances.training.names import BROUGHT, SHIPPED


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    names = ", ".join((*SHIPPED, *BROUGHT))
    parser.add_argument("--family", metavar="NAME", required=True, help=f"what to train: {names}")
    parser.add_argument(
        "--runs", metavar="N", type=positive_count, default=100, help="how many runs; default: 100"
    )
    parser.add_argument(
        "--seed",
        metavar="S",
        type=seed,
        help="seed of the first run, which the others follow; default: 0, and with --plan a number "
        "derived from the plan",
    )
    parser.add_argument(
        "--plan",
        metavar="PLAN",
        help="train what this plan does epoch by epoch; each cluster on all of its own data",
    )
    parser.add_argument(
        "--folder", metavar="DIR", help="folder of CIFAR-10, for the families that begin with cifar"
    )
    parser.add_argument(
        "--images", metavar="N", type=positive_count, help="number of CIFAR-10 images to keep; default: all"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        required=True,
        help="the file of traces, npz or CSV; runs that it holds already are not trained again",
    )
    add_json(parser, "what was done")
    parser.set_defaults(run="depl.commands.train:run")
