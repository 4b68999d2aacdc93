"""``depl methods``: the registered methods, what each of them proves and needs, and its options."""

import argparse

from depl.arguments.shared import add_imports, add_json


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these, with their options")
    add_imports(parser)
    add_json(parser, "the methods")
    parser.set_defaults(run="depl.commands.methods:run")
