"""``depl train``: train small networks and record their losses as traces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from depl.commands import options as given
from depl.commands.answer import Answer, ExitCode
from depl.commands.inputs import inside, read_plan, require_outputs
from depl.commands.options import COUNT, SEED, Options, command, option
from depl.commands.printable import as_json, fields
from depl.instances.training.names import SHIPPED
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted, number

if TYPE_CHECKING:
    from depl.instances.training.counterfactual import Switching
    from depl.instances.training.families import Family
    from depl.instances.training.recording import Recording
    from depl.models.problem.plan import Plan
    from depl.models.traces.table import Traces


def _stages(text: str) -> tuple[tuple[str, str], ...]:
    """Two pairs of a model and a cluster."""
    parts = tuple(tuple(part.strip() for part in stage.split("@")) for stage in text.split(","))
    if len(parts) != 2 or any(len(part) != 2 or not all(part) for part in parts):
        example = "pruned-50@edge,pruned-75@far-edge"
        raise click.BadParameter(
            f"must be two stages MODEL@CLUSTER with a comma between them, such as {example}, not {text!r}"
        )
    return tuple((model, cluster) for model, cluster in parts)


def _epochs(text: str) -> tuple[int, ...]:
    """Whole numbers from 1 on, with commas between them."""
    return tuple(int(COUNT(part) or 0) for part in text.split(","))


def _families(_ctx: object, _param: object, begun: str) -> list[str]:
    return [name for name in SHIPPED if name.startswith(begun)]


@command(
    examples="""\
depl train --family digits-alexnet --runs 10 --out runs.csv
depl train --family digits-alexnet --plan plan.json --out fresh.csv   # a plan of 'depl solve --out plan.json'
depl train --family cells-perceptron --stages pruned-50@edge,pruned-75@edge --switch-epochs 4,6 --epochs 9 \
--out b.csv
"""
)
@option("--family NAME", f"what to train: {', '.join(SHIPPED)}", required=True, shell_complete=_families)
@option("--runs N", "how many runs", COUNT, default=100)
@option(
    "--seed S", "of the first run; default: 0, and with --plan or --stages a number derived from them", SEED
)
@option("--plan PLAN", "train what this plan does epoch by epoch; each cluster on all of its own data")
@option(
    "--stages MODEL@CLUSTER,MODEL@CLUSTER",
    "train the first stage for each seed, and from each of --switch-epochs on the second, as SEED/SWITCH",
    _stages,
)
@option("--switch-epochs K,K,...", "for --stages: last epochs of the first stage, ascending", _epochs)
@option("--epochs K", "for --stages: epochs of every run", COUNT)
@option(
    "--draw-switch S",
    "for --stages: train one of the switch epochs for each seed, drawn with seed S; default: all",
    SEED,
)
@option(
    "--out FILE",
    "the file of traces, .csv or .csv.gz; runs that it holds already are not trained again",
    required=True,
)
@given.as_json("what was done")
def train(options: Options) -> Answer:
    """Train small networks and record their losses as traces; a file that is there is gone on with."""
    from depl.commands.progress import Bar
    from depl.instances.training.counterfactual import record_branches
    from depl.instances.training.families import family
    from depl.instances.training.recording import record, schedule_of

    require_outputs([options.out], [options.plan])
    chosen, switching = family(options.family), _switching(options)
    plan = None if options.plan is None else read_plan(options.plan)
    with inside(options.plan or ""):
        schedule = None if plan is None else schedule_of(plan)
    first = options.seed if options.seed is not None else _first_seed(plan, switching)
    seeds = range(first, first + options.runs)
    told = _provenance(options, first)
    with Bar("training", len(seeds)) as bar:

        def step(name: str) -> None:
            bar.step(f"seed {name}")

        if switching is None:
            done = record(chosen, seeds, options.out, told, step, schedule)
        else:
            with _named_options():
                done = record_branches(chosen, switching, seeds, options.out, told, step)
    content = _content(chosen, seeds, done, options.out)
    return Answer(_text(content), _code(done), as_json(content), _aside(done, options.out))


def _switching(options: Options) -> Switching | None:
    """What ``--stages`` and the options that go with it ask for."""
    from depl.instances.training.counterfactual import Switching
    from depl.instances.training.runs import Epoch, pruning_factor

    if options.stages is None:
        for name in ("switch_epochs", "epochs", "draw_switch"):
            if getattr(options, name) is not None:
                raise InvalidInputError("goes with --stages; give both or none", _option(name))
        return None
    if options.plan is not None:
        raise InvalidInputError("and --plan both say what to train; give one of them", "--stages")
    for name in ("switch_epochs", "epochs"):
        if getattr(options, name) is None:
            raise InvalidInputError(f"needs {_option(name)}", "--stages")
    with _named_options():
        first, second = (Epoch(pruning_factor(model), cluster) for model, cluster in options.stages)
        return Switching(first, second, options.switch_epochs, options.epochs, options.draw_switch)


@contextmanager
def _named_options() -> Iterator[None]:
    """Name the option in errors that only know the place inside what it says."""
    try:
        yield
    except InvalidInputError as error:
        name = re.match(r"\.(stages|model|schedule|switch_epochs)", error.path)
        if name is None:
            raise
        option = "switch_epochs" if name[1] == "switch_epochs" else "stages"
        raise InvalidInputError(error.message, _option(option)) from error


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _first_seed(plan: Plan | None, switching: Switching | None) -> int:
    from depl.instances.training.recording import fresh_seed

    if switching is not None:
        return switching.first_seed()
    return 0 if plan is None else fresh_seed(plan)


def _provenance(options: Options, first: int) -> dict[str, str]:
    from depl.benchmarks.measure.provenance import here

    words = [f"--family {options.family}", f"--runs {options.runs}", f"--seed {first}"]
    words += [] if options.plan is None else ["--plan PLAN"]
    if options.stages is not None:
        words.append(f"--stages {','.join('@'.join(stage) for stage in options.stages)}")
        words.append(f"--switch-epochs {','.join(map(str, options.switch_epochs))} --epochs {options.epochs}")
        words += [] if options.draw_switch is None else [f"--draw-switch {options.draw_switch}"]
    commit = here().commit
    told = {"command": " ".join(["depl train", *words])}
    return (
        told if commit is None else {**told, "commit": commit.id + (" and changes" if commit.dirty else "")}
    )


def _content(chosen: Family, seeds: range, done: Recording, path: str) -> dict[str, object]:
    content: dict[str, object] = {
        "family": chosen.name,
        "summary": chosen.summary,
        "seeds": [seeds.start, seeds.stop - 1],
        "trained": done.trained,
        "kept": done.kept,
        "interrupted": done.interrupted,
        "out": path,
        "runs": 0,
    }
    return content if done.traces is None else content | _figures(done.traces)


def _figures(traces: Traces) -> dict[str, object]:
    """Final losses of all runs in the file, whatever their schedules."""
    import numpy as np

    last = traces.bounds[1:] - 1
    loss, rate = traces.loss[last], traces.target("error_rate")[last]
    return {
        "runs": len(traces.runs),
        "epochs": int(traces.last_epochs.max()),
        "median_final_loss": float(np.median(loss)),
        "largest_final_loss": float(loss.max()),
        "median_final_error_rate": float(np.median(rate)),
    }


def _text(content: dict[str, object]) -> str:
    pairs = [(str(content["family"]), str(content["summary"]))]
    pairs += [(name.replace("_", " "), _shown(content[name])) for name in list(content)[2:]]
    return fields(pairs)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list):
        return " to ".join(map(str, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _aside(done: Recording, path: str) -> str:
    said = f"{counted(done.trained, 'run')} trained, {done.kept} there already"
    if done.interrupted:
        return f"{said}; stopped before the rest. The same command goes on with {path}"
    return f"{said}; written to {path}"


def _code(done: Recording) -> ExitCode:
    if not done.interrupted:
        return ExitCode.ANSWERED
    return ExitCode.NOTHING if done.traces is None else ExitCode.STOPPED
