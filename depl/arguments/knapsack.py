"""``depl knapsack``: a knapsack from a public file, solved as a planning problem, checked independently."""

import argparse

from depl.arguments.shared import add_json, seed
from depl.instances.reductions.names import REDUCTIONS

_METHODS = ("scenario-search", "exact", "milp", "enumerate", "depl")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="number of items and capacity, then value and weight per line; or kplib's or Pisinger's format; "
        "or the name of a shipped instance, such as knapPI_1_100_1000_1",
    )
    parser.add_argument(
        "--via", choices=_METHODS, help="the method that plans; default: scenario-search, with --chance exact"
    )
    described = "; ".join(f"{name}: {text}" for name, text in REDUCTIONS.items())
    parser.add_argument("--reduction", choices=tuple(REDUCTIONS), default="by-cost", help=described)
    parser.add_argument(
        "--instance", metavar="N", type=int, default=1, help="which instance of the file, counted from 1"
    )
    parser.add_argument(
        "--chance",
        action="store_true",
        help="normal weights: number of items, capacity and omega (0.95, or z=1.645, its factor of the "
        "deviation), then value, mean and variance per line",
    )
    parser.add_argument(
        "--fewer-items",
        action="store_true",
        help="with --chance: take a file as it is that has fewer items than its first line announces",
    )
    parser.add_argument("--time-limit", metavar="S", type=float, help="seconds of planning; default: none")
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="for methods that draw; default: 0")
    parser.add_argument(
        "--out", metavar="ITEMS.txt", help="write the numbers of the items taken, one per line"
    )
    add_json(parser, "the answer")
    parser.set_defaults(run="depl.commands.knapsack:run")
