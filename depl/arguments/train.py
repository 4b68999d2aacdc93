"""``depl train``: train small networks for real and record their losses as traces."""

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
        help="of the first run, the others follow; default: 0, with --plan a number made of the plan",
    )
    parser.add_argument(
        "--plan",
        metavar="PLAN",
        help="train what this plan does epoch by epoch; each cluster on all of its own data",
    )
    parser.add_argument(
        "--folder", metavar="DIR", help="where CIFAR-10 lies, for the families that begin with cifar"
    )
    parser.add_argument(
        "--images", metavar="N", type=positive_count, help="of CIFAR-10, keep so many; default: all"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        required=True,
        help="the file of traces, npz or CSV; runs that it holds already are not trained again",
    )
    add_json(parser, "what was done")
    parser.set_defaults(run="depl.commands.train:run")
