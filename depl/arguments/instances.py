"""``depl instances``: list and show what is shipped, draw random ones, print the schema and a template."""

import argparse

from depl.arguments.shared import add_imports, add_instance, add_json, positive_count, seed

FAMILIES = {
    "small": "every feature, at most 10 epochs, no sizes to choose",
    "heterogeneous": "clusters that differ in everything, any size",
    "regions": "hubs and regional prices, any size",
}
"""The families, with what they are like; the first is the default. `depl.commands.instances` draws them."""

SIZES = {
    "clusters": (10, "clusters"),
    "datasets": (10, "datasets"),
    "models": (5, "models"),
    "epochs": (100, "epochs at most"),
}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options of its actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the shipped instances and families").set_defaults(
        run="depl.commands.instances:run_list"
    )
    show = actions.add_parser("show", help="show one instance, and where its values come from")
    add_instance(show)
    add_json(show, "the instance itself")
    show.set_defaults(run="depl.commands.instances:run_show")
    make = actions.add_parser("make", help="draw random instances and write them to files")
    make.add_argument("--count", metavar="N", type=positive_count, default=1, help="how many; default: 1")
    make.add_argument("--seed", metavar="S", type=seed, default=0, help="of the generator; default: 0")
    make.add_argument("--out", metavar="DIR", required=True, help="the folder for the files")
    make.add_argument(
        "--family",
        choices=FAMILIES,
        default=next(iter(FAMILIES)),
        help="; ".join(f"{name}: {like}" for name, like in FAMILIES.items())
        + f"; default: {next(iter(FAMILIES))}",
    )
    for name, (default, what) in SIZES.items():
        text = f"how many {what}, but of small instances; default: {default}"
        make.add_argument(f"--{name}", metavar="N", type=positive_count, help=text)
    make.set_defaults(run="depl.commands.instances:run_make")
    schema = actions.add_parser("schema", help="print the JSON Schema of instance files")
    add_imports(schema)
    schema.set_defaults(run="depl.commands.instances:run_schema")
    new = actions.add_parser("new", help="print a commented instance to start from")
    for parser in (schema, new):
        parser.add_argument(
            "--setup",
            action="store_true",
            help="print a setup, which 'depl fit' takes, instead of an instance",
        )
    new.add_argument("--out", metavar="FILE", help="write it to this new file instead of printing it")
    new.set_defaults(run="depl.commands.instances:run_new")
