"""``depl demo``: methods side by side on the paper's instances, as tables with ratios, and as figures."""

import argparse


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--out", metavar="DIR", default="demo", help="folder for the figures; default: demo, in this folder"
    )
    parser.set_defaults(run="depl.commands.demo:run")
