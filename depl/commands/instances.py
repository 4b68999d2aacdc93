"""``depl instances``: list and show what is shipped, draw random ones, print the schema and a template."""

import argparse
import os

import numpy as np

from depl.commands.answer import Answer, as_json
from depl.commands.instance_summary import instance_summary
from depl.commands.options import (
    add_imports,
    add_instance,
    add_json,
    make_folder,
    positive_count,
    read_instance,
    require_outputs,
    seed,
)
from depl.commands.table import table
from depl.instances.generator import random_instances
from depl.instances.heterogeneous import heterogeneous_instance
from depl.instances.library import describe
from depl.instances.setups import setup_template
from depl.instances.template import template
from depl.models.estimation.setup import setup_schema
from depl.models.foundation.documents import write_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted
from depl.models.problem.instance import Instance, json_schema

_FAMILIES = ("small", "heterogeneous")
_SIZES = {
    "clusters": (10, "clusters"),
    "datasets": (10, "datasets"),
    "models": (5, "models"),
    "epochs": (100, "epochs at most"),
}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options of its actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the shipped instances and families").set_defaults(run=run_list)
    show = actions.add_parser("show", help="show one instance, and where its values come from")
    add_instance(show)
    add_json(show, "the instance itself")
    show.set_defaults(run=run_show)
    make = actions.add_parser("make", help="draw random instances and write them to files")
    make.add_argument("--count", metavar="N", type=positive_count, default=1, help="how many; default: 1")
    make.add_argument("--seed", metavar="S", type=seed, default=0, help="of the generator; default: 0")
    make.add_argument("--out", metavar="DIR", required=True, help="the folder for the files")
    make.add_argument(
        "--family",
        choices=_FAMILIES,
        default=_FAMILIES[0],
        help="small: every feature, at most 10 epochs; heterogeneous: any size; default: small",
    )
    for name, (default, what) in _SIZES.items():
        text = f"how many {what}, of heterogeneous instances alone; default: {default}"
        make.add_argument(f"--{name}", metavar="N", type=positive_count, help=text)
    make.set_defaults(run=run_make)
    schema = actions.add_parser("schema", help="print the JSON Schema of instance files")
    add_imports(schema)
    schema.set_defaults(run=run_schema)
    new = actions.add_parser("new", help="print a commented instance to start from")
    for parser in (schema, new):
        parser.add_argument(
            "--setup", action="store_true", help="of a setup, which 'depl fit' takes, instead"
        )
    new.add_argument("--out", metavar="FILE", help="write it to this new file instead")
    new.set_defaults(run=run_new)


def run_list(options: argparse.Namespace) -> Answer:
    """Name, targets and first line of every shipped file."""
    rows = [(entry.name, " ".join(entry.targets), entry.summary) for entry in describe()]
    return Answer(table(("name", "targets", "summary"), rows))


def run_show(options: argparse.Namespace) -> Answer:
    """One instance; a shipped family without a target is shown at its first one."""
    targets = next((entry.targets for entry in describe() if entry.name == options.instance), ())
    aside = ""
    if options.target is None and len(targets) > 1:
        options.target = targets[0]
        aside = f"shown at target {targets[0]} of {', '.join(targets)}; choose another one with --target"
    instance = read_instance(options)
    return Answer(instance_summary(instance), json=instance.to_json().rstrip("\n"), aside=aside)


def run_make(options: argparse.Namespace) -> Answer:
    """Draw everything first, so that an error leaves no part of the set behind."""
    drawn = _drawn(options)
    folder = make_folder(options.out)
    paths = [folder / f"{instance.name}.json" for instance in drawn]
    for path, instance in zip(paths, drawn, strict=True):
        write_text(path, instance.to_json())
    return Answer("\n".join(map(str, paths)), aside=f"{counted(len(paths), 'instance')} written")


def run_schema(options: argparse.Namespace) -> Answer:
    """The JSON Schema, indented."""
    return Answer(_indented(as_json(setup_schema() if options.setup else json_schema())))


def run_new(options: argparse.Namespace) -> Answer:
    """The template, printed or written to a file that does not exist yet."""
    text = setup_template() if options.setup else template()
    if options.out is None:
        return Answer(text.rstrip("\n"))
    require_outputs([options.out])
    if os.path.exists(options.out):
        raise InvalidInputError("exists already; choose another name, or remove it first", options.out)
    write_text(options.out, text)
    return Answer("", aside=f"template written to {options.out}")


def _drawn(options: argparse.Namespace) -> tuple[Instance, ...]:
    """The instances of the family asked for; the first ones do not depend on how many follow."""
    rng = np.random.default_rng(options.seed)
    given = {name: getattr(options, name) for name in _SIZES if getattr(options, name) is not None}
    if options.family == _FAMILIES[0]:
        if given:
            raise InvalidInputError(f"sizes are those of {_FAMILIES[1]} instances", f"--{next(iter(given))}")
        return random_instances(rng, options.count)
    sizes = {name: given.get(name, default) for name, (default, _) in _SIZES.items()}
    return tuple(
        heterogeneous_instance(
            rng,
            clusters=sizes["clusters"],
            datasets=sizes["datasets"],
            models=sizes["models"],
            maximum_epochs=sizes["epochs"],
        )
        for _ in range(options.count)
    )


def _indented(text: str) -> str:
    import json

    return json.dumps(json.loads(text), indent=2)
