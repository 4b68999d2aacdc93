"""Recording the runs of a family into a file of traces: resumable, whole at any time.

Runs are named by their seeds, branches of a run by seed and switch epoch. What the file holds already is not
trained again; the file is written anew after every few runs, so that a process that is killed loses no more
than those.
"""

import hashlib
import importlib.metadata
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from depl.instances.training.families import Family
from depl.instances.training.runs import (
    Epoch,
    Task,
    as_traces,
    model_name,
    pruning_factor,
    train_run,
)
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.plan import Plan
from depl.models.traces.files import read_traces, require_csv, write_traces
from depl.models.traces.stages import PLAN, plan_text
from depl.models.traces.table import Schedule, Traces, joined

CHUNK = 10
"""Runs between two writings of the file, or one seed where a seed has more runs."""
_LIBRARIES = ("numpy", "numba", "scikit-learn")
_FRESH = 10**6
"""Seeds from here on are for runs of plans; those below are the families' own."""
_FIXED = ("family", "data", "setup", "schedule", "versions")


class Recording(NamedTuple):
    """What a call of `record` did.

    Attributes
    ----------
    traces : Traces
        What the file holds now; None where nothing was trained before an interrupt.
    trained, kept : int
        Runs that were trained, and runs asked for that were there already.
    interrupted : bool
    """

    traces: Traces | None
    trained: int
    kept: int
    interrupted: bool


class Recipe(NamedTuple):
    """What is recorded of a seed.

    Attributes
    ----------
    known : mapping of str to str
        The provenance; what fixes the runs (see `described`) must be that of a file that is added to.
    names : callable
        Names of the runs of a seed: whole numbers with ``/`` between them, by which the runs are sorted.
    train : callable
        Trains all runs of a seed.
    """

    known: Mapping[str, str]
    names: Callable[[int], Sequence[str]]
    train: Callable[[int], Traces]


def record(
    family: Family,
    seeds: Sequence[int],
    path: str | Path,
    provenance: Mapping[str, str] | None = None,
    step: Callable[[str], None] = lambda done: None,
    schedule: Sequence[Epoch] | None = None,
) -> Recording:
    """Train the runs of some seeds into a file, those that it does not hold yet.

    Parameters
    ----------
    family : one of `depl.instances.training.families`
    seeds : sequence of int
    path : str or Path
        Of the file; it is made or added to.
    provenance : mapping of str to str, optional
        More to say about where the traces come from, such as the command.
    step : callable, optional
        Told the name of every run once it is there, the ones that were there already first.
    schedule : sequence of Epoch, optional
        What every run trains, such as the epochs of a plan; by default what the family has for its seed.

    Raises
    ------
    InvalidInputError
        If the file is there and holds something else (other traces, or runs of another setup or schedule or
        of other versions of the libraries, which would not be the same training), cannot be read or written;
        if the data is not there; or if the schedule cannot be trained.
    """
    task = family.task()
    recipe = Recipe(
        {**described(family, task, schedule), **(provenance or {})},
        lambda seed: (str(seed),),
        lambda seed: _trained(family, task, seed, schedule),
    )
    return extend(path, seeds, recipe, step)


def extend(
    path: str | Path,
    seeds: Sequence[int],
    recipe: Recipe,
    step: Callable[[str], None] = lambda done: None,
) -> Recording:
    """Train what a file of traces lacks of the runs of some seeds; see `record`."""
    require_csv(path)
    held = _held(Path(path), recipe.known)
    there = set(held.runs) if held else set()
    names = {seed: recipe.names(seed) for seed in seeds}
    whole = [seed for seed, runs in names.items() if there.issuperset(runs)]
    missing = [seed for seed, runs in names.items() if not there.issuperset(runs)]
    kept = sum(name in there for runs in names.values() for name in runs)
    trained, size = 0, max(1, CHUNK // max(map(len, names.values()), default=1))
    try:
        for seed in whole:
            step(str(seed))
        for start in range(0, len(missing), size):
            fresh: list[Traces] = []
            try:
                for seed in missing[start : start + size]:
                    fresh.append(_without(recipe.train(seed), there))
                    step(str(seed))
            finally:
                if fresh:
                    held = _ordered([held, *fresh] if held else fresh, recipe.known)
                    trained += sum(len(part.runs) for part in fresh)
                    write_traces(path, held)
    except KeyboardInterrupt:
        if held is not None and trained:  # it may have come while the file was being written
            write_traces(path, held)
        return Recording(held, trained, kept, True)
    return Recording(held, trained, kept, False)


def schedule_of(plan: Plan) -> tuple[Epoch, ...]:
    """The pruning factor and the cluster of every epoch of a plan."""
    epochs = []
    for index, epoch in enumerate(plan.epochs):
        try:
            epochs.append(Epoch(pruning_factor(epoch.model), epoch.cluster))
        except InvalidInputError as error:
            raise InvalidInputError(error.message, f"$.epochs[{index}].model") from error
    return tuple(epochs)


def fresh_seed(plan: Plan) -> int:
    """The first of the seeds that a plan is trained with afterwards.

    Made of the plan, so that nobody can have seen the runs when the plan was chosen.
    """
    return seed_from(plan.to_json())


def seed_from(text: str) -> int:
    """A first seed made of what is to be trained; at least a million, which no family's own seeds reach."""
    digest = hashlib.sha256(text.encode()).digest()
    return _FRESH * (1 + int.from_bytes(digest[:4], "big"))


def described(family: Family, task: Task, schedule: Sequence[Epoch] | None = None) -> dict[str, str]:
    """What fixes runs of a family: its name, data and setup, the schedule, and the libraries that train."""
    network, clients = task.network, (task.clusters, task.clients, task.concentration)
    setup = repr((network.given, network.layers, task.descent, clients))
    return {
        "family": family.name,
        "summary": family.summary,
        "data": task.material.source,
        "setup": hashlib.sha256(setup.encode()).hexdigest()[:16],
        "schedule": "of the family" if schedule is None else _told(schedule),
        **({} if schedule is None else {PLAN: plan_text(_trained_where(schedule))}),
        "versions": ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES),
    }


def _trained_where(schedule: Sequence[Epoch]) -> Schedule:
    return tuple((model_name(epoch.factor), epoch.cluster) for epoch in schedule)


def _trained(family: Family, task: Task, seed: int, schedule: Sequence[Epoch] | None) -> Traces:
    epochs = family.schedule(seed) if schedule is None else schedule
    return as_traces([str(seed)], [epochs], [train_run(task, epochs, family.generator(seed))])


def _told(schedule: Sequence[Epoch]) -> str:
    """The stages of a schedule in words: ``17 x pruned-50 on edge, 43 x pruned-75 on far-edge``."""
    stages = [(epoch, len(list(epochs))) for epoch, epochs in groupby(schedule)]
    return ", ".join(f"{count} x {model_name(epoch.factor)} on {epoch.cluster}" for epoch, count in stages)


def _held(path: Path, known: Mapping[str, str]) -> Traces | None:
    if not os.path.exists(path):
        return None
    traces = read_traces(path)
    for name in _FIXED:
        if traces.provenance.get(name) != known[name]:
            there = traces.provenance.get(name, "nothing")
            message = f"its {name} is {there!r}, not {known[name]!r}; choose another file"
            raise InvalidInputError(message, str(path))
    return traces


def _ordered(parts: Sequence[Traces], provenance: Mapping[str, str]) -> Traces:
    traces = joined(parts, provenance)
    places = [tuple(map(int, name.split("/"))) for name in traces.runs]
    return traces.select(np.array(sorted(range(len(places)), key=places.__getitem__)))


def _without(traces: Traces, there: set[str]) -> Traces:
    """The runs that are not there yet."""
    return traces.select([name not in there for name in traces.runs])


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "missing"
