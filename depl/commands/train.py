"""What ``depl train`` does; `depl.arguments.train` declares its options."""

import argparse
import functools

import numpy as np

from depl.benchmarks.runner.provenance import here
from depl.commands.answer import Answer, ExitCode
from depl.commands.json_text import as_json
from depl.commands.options import inside, read_plan, require_outputs
from depl.commands.progress import Bar
from depl.commands.table import fields
from depl.instances.training.cifar import cifar10
from depl.instances.training.families import CIFAR, Family, cifar_family, family
from depl.instances.training.recording import Recording, fresh_seed, record, schedule_of
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import counted, number
from depl.models.traces.table import Traces


def run(options: argparse.Namespace) -> Answer:
    """Train what the file lacks; stopped by the user, keep what is there."""
    require_outputs([options.out], [options.plan])
    chosen = _family(options)
    plan = None if options.plan is None else read_plan(options.plan)
    with inside(options.plan or ""):
        schedule = None if plan is None else schedule_of(plan)
    first = options.seed if options.seed is not None else 0 if plan is None else fresh_seed(plan)
    seeds = range(first, first + options.runs)
    with Bar("training", len(seeds)) as bar:
        done = record(
            chosen,
            seeds,
            options.out,
            _provenance(options, first),
            lambda name: bar.step(f"seed {name}"),
            schedule,
        )
    content = _content(chosen, seeds, done, options.out)
    return Answer(_text(content), _code(done), as_json(content), _aside(done, options.out))


def _family(options: argparse.Namespace) -> Family:
    if options.family not in CIFAR:
        for name in ("folder", "images"):
            if getattr(options, name) is not None:
                message = f"is for {' and '.join(CIFAR)} alone, not for {options.family}"
                raise InvalidInputError(message, f"--{name}")
        return family(options.family)
    if options.folder is None:
        raise InvalidInputError(f"{options.family} needs the folder of CIFAR-10", "--folder")
    return cifar_family(options.family, functools.partial(cifar10, options.folder, options.images))


def _provenance(options: argparse.Namespace, first: int) -> dict[str, str]:
    words = [f"--family {options.family}", f"--runs {options.runs}", f"--seed {first}"]
    words += [] if options.images is None else [f"--images {options.images}"]
    words += [] if options.plan is None else ["--plan PLAN"]
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
