"""What ``depl instances`` does; `depl.arguments.instances` declares its options."""

import argparse
import os
from collections.abc import Callable

import numpy as np

from depl.arguments.instances import SIZES
from depl.commands.answer import Answer
from depl.commands.json_text import as_json
from depl.commands.options import make_folder, read_instance, require_outputs
from depl.commands.table import table
from depl.instances.generator import random_instances
from depl.instances.heterogeneous import heterogeneous_instance
from depl.instances.library import describe
from depl.instances.regions import regional_instance
from depl.instances.setups import setup_template
from depl.instances.template import template
from depl.models.estimation.setup import setup_schema
from depl.models.foundation.documents import write_text
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted
from depl.models.problem.instance import Instance, json_schema

_OF_ONE_SIZE: dict[str, Callable[[np.random.Generator, int], tuple[Instance, ...]]] = {
    "small": random_instances,
}
_OF_ANY_SIZE: dict[str, Callable[..., Instance]] = {
    "heterogeneous": heterogeneous_instance,
    "regions": regional_instance,
}
"""What draws the families of `depl.arguments.instances`: a number of instances, or one of given sizes."""


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
    return Answer(str(instance), json=instance.to_json().rstrip("\n"), aside=aside)


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
    given = {name: getattr(options, name) for name in SIZES if getattr(options, name) is not None}
    if options.family in _OF_ONE_SIZE:
        if given:
            others = " and ".join(_OF_ANY_SIZE)
            raise InvalidInputError(f"sizes are those of {others} instances", f"--{next(iter(given))}")
        return _OF_ONE_SIZE[options.family](rng, options.count)
    sizes = {name: given.get(name, default) for name, (default, _) in SIZES.items()}
    draw = _OF_ANY_SIZE[options.family]
    return tuple(
        draw(
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
