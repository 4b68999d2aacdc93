"""``depl instances``: list and show what is shipped, draw random ones, print the schema and a template."""

from __future__ import annotations

import json
import os

import depl
from depl.commands import options as given
from depl.commands.answer import Answer
from depl.commands.options import COUNT, SEED, Options, option
from depl.commands.printable import table
from depl.models.foundation.errors import InvalidInputError

FAMILIES = {
    "small": "every feature, at most 10 epochs, no sizes to choose",
    "heterogeneous": "clusters that differ in everything, any size",
    "regions": "hubs and regional prices, any size",
}
"""The families that are drawn, with what they are like."""

SIZES = {
    "clusters": (10, "clusters"),
    "datasets": (10, "datasets"),
    "models": (5, "models"),
    "epochs": (100, "epochs at most"),
}

_setup = option("--setup", "a setup, which 'depl fit' takes, instead of an instance")
_sizes = given.together(
    *(
        option(f"--{name} N", f"how many {what}, but of small ones; default: {default}", COUNT)
        for name, (default, what) in SIZES.items()
    )
)

instances = given.Group(
    "instances",
    help="List, show, make or describe instances.",
    examples="""\
depl instances list
depl instances show paper-alexnet-9
depl instances new --out mine.json           # with comments, to start from
""",
)


@instances.command("""\
depl instances list
depl solve paper-mobilenet-9                 # a family's name and one of its targets
""")
def list_(options: Options) -> Answer:
    """List the shipped instances and families."""
    from depl.instances.shipped import describe

    rows = [(entry.name, " ".join(entry.targets), entry.summary) for entry in describe()]
    return Answer(table(("name", "targets", "summary"), rows))


@instances.command("""\
depl instances show paper-alexnet-9
depl instances show paper-alexnet --target 9 --json
""")
@given.instance
@given.as_json("the instance itself")
def show(options: Options) -> Answer:
    """Show one instance, and where its values come from; a family without a target at its first one."""
    from depl.instances.shipped import describe

    targets = next((entry.targets for entry in describe() if entry.name == options.instance), ())
    aside = ""
    if options.target is None and len(targets) > 1:
        options.target = targets[0]
        aside = f"shown at target {targets[0]} of {', '.join(targets)}; choose another one with --target"
    instance = given.read_instance(options)
    return Answer(str(instance), json=instance.to_json().rstrip("\n"), aside=aside)


@instances.command("""\
depl instances new --out mine.json
depl instances check mine.json
""")
@given.argument("PATH", "a file that holds an instance, a family or a setup")
@given.imports
@given.as_json("what the file holds, or its mistakes")
def check(options: Options) -> Answer:
    """List all mistakes of a file at once, or say what it holds."""
    from depl.instances.library import Family, parse
    from depl.instances.setups import parse_setup
    from depl.instances.shipped import strip_comments
    from depl.models.foundation.documents import format_of, read_text
    from depl.showing.instances import instance_brief

    text = read_text(options.path)
    with given.inside(options.path):
        setup = "setup" in str(format_of(strip_comments(text)))
        found = parse_setup(text) if setup else parse(text)
    of, targets = (found.instance, [*found.targets]) if isinstance(found, Family) else (found, [])
    what = instance_brief(of).strip("<>") + (f"; a family at l_max = {', '.join(targets)}" if targets else "")
    told = {"file": options.path, "format": found.format, "name": of.name, "targets": targets, "mistakes": []}
    return Answer(f"{options.path}: no mistakes\n{what}", json=json.dumps(told))


@instances.command("""\
depl instances make --count 3 --seed 7 --out drawn
depl instances make --family heterogeneous --clusters 5 --epochs 20 --out drawn
""")
@option("--count N", "how many", COUNT, default=1)
@option("--seed S", "of the generator", SEED, default=0)
@option("--out DIR", "the folder for the files", required=True)
@option(
    "--family",
    "; ".join(f"{name}: {like}" for name, like in FAMILIES.items()),
    given.Choice(tuple(FAMILIES)),
    default=next(iter(FAMILIES)),
)
@_sizes
def make(options: Options) -> Answer:
    """Draw random instances and write them to files."""
    from depl.models.foundation.wording import counted

    drawn = _drawn(options)  # all of them first, so that an error leaves no part of the set behind
    folder = given.make_folder(options.out)
    paths = [str(folder / f"{instance.name}.json") for instance in drawn]
    for path, instance in zip(paths, drawn, strict=True):
        given.written(path, "instance", instance)
    return Answer("\n".join(paths), aside=f"{counted(len(paths), 'instance')} written")


@instances.command("""\
depl instances schema
depl instances schema --setup
""")
@given.imports
@_setup
def schema(options: Options) -> Answer:
    """Print the JSON Schema of instance files, or of setups."""
    from depl.models.estimation.setup import setup_schema
    from depl.models.problem.instance import json_schema

    return Answer(json.dumps(setup_schema() if options.setup else json_schema(), indent=2))


@instances.command("""\
depl instances new --out mine.json
depl solve mine.json
depl instances new --setup --from digits-alexnet --out setup.json  # for depl fit
""")
@_setup
@option("--from RUNS", "fill the setup's models, clusters, epochs and target in from traces", name="runs")
@option("--out FILE", "write it to this new file instead of printing it", given.to_write)
def new(options: Options) -> Answer:
    """Print a commented instance to start from, or a setup."""
    from depl.instances.setups import setup_template
    from depl.instances.template import template

    text, said = setup_template() if options.setup else template(), ""
    if options.runs is not None:
        text, said = _of_runs(options)
    if options.out is None:
        return Answer(text.rstrip("\n"), aside=said)
    if os.path.exists(options.out):
        raise InvalidInputError("exists already; choose another name, or remove it first", options.out)
    return Answer("", aside=given.written(options.out, "template", text) + said)


def _of_runs(options: Options) -> tuple[str, str]:
    from depl.instances.setups import setup_of
    from depl.instances.training.recorded import named_traces
    from depl.models.estimation.advice import reachable

    if not options.setup:
        raise InvalidInputError("is for a setup: say --setup, too", "--from")
    reach = reachable(traces := named_traces(options.runs))
    target = "" if reach is None else f", and a target that all schedules reach with {reach.level:g}"
    said = f"\nof the runs: models, clusters, epochs{target}; all else is an example to be replaced"
    return setup_of(traces, reach, {}, "an example to be replaced").to_json(), said


def _drawn(options: Options) -> tuple[depl.Instance, ...]:
    """The instances of the family asked for; the first ones do not depend on how many follow."""
    import numpy as np

    from depl.instances.generator import random_instances
    from depl.instances.heterogeneous import heterogeneous_instance
    from depl.instances.regions import regional_instance

    rng = np.random.default_rng(options.seed)
    asked = {name: size for name, size in options.pick(*SIZES).items() if size is not None}
    of_any_size = {"heterogeneous": heterogeneous_instance, "regions": regional_instance}
    if options.family not in of_any_size:
        if asked:
            others = " and ".join(of_any_size)
            raise InvalidInputError(f"sizes are those of {others} instances", f"--{next(iter(asked))}")
        return random_instances(rng, options.count)
    sizes = {name: default for name, (default, _) in SIZES.items()} | asked
    sizes["maximum_epochs"] = sizes.pop("epochs")
    return tuple(of_any_size[options.family](rng, **sizes) for _ in range(options.count))
