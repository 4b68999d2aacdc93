"""Recording the runs of a family, and branches of them, into a file: resumable, whole at any time.

Runs are named by their seeds, branches by seed and switch epoch. What the file holds already is not trained
again, and it is written anew after every few runs. *Branches*: to judge a policy that stops, goes on or
switches after every epoch, the first stage of a seed is trained once; at each switch epoch weights, mask and
the state of the generator are copied, and the copy goes on with the second stage, bit for bit as a run that
is trained alone. Runs for *fitting* should be independent: one switch epoch is drawn for every seed before
anything is trained, by a generator that training does not use.
"""

import hashlib
import importlib.metadata
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from depl.instances.training.families import Family
from depl.instances.training.runs import (
    Epoch,
    Run,
    Task,
    Training,
    as_traces,
    model_name,
    one_thread,
    pruning_factor,
    require_schedule,
    train_run,
)
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.plan import Plan
from depl.models.traces.counterfactuals import branch_name
from depl.models.traces.files import read_traces, require_csv, write_traces
from depl.models.traces.stages import PLAN, plan_text
from depl.models.traces.table import Traces, joined

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

    def train(seed: int) -> Traces:
        epochs = family.schedule(seed) if schedule is None else schedule
        return as_traces([str(seed)], [epochs], [train_run(task, epochs, family.generator(seed))])

    known = {**described(family, task, schedule), **(provenance or {})}
    return _extended(path, {seed: (str(seed),) for seed in seeds}, known, train, step)


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
    trained = {} if schedule is None else {PLAN: plan_text(tuple((model_name(f), n) for f, n in schedule))}
    return {
        "family": family.name,
        "summary": family.summary,
        "data": task.material.source,
        "setup": hashlib.sha256(setup.encode()).hexdigest()[:16],
        "schedule": "of the family" if schedule is None else _told(schedule),
        **trained,
        "versions": ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES),
    }


@dataclass(frozen=True)
class Switching:
    """Two stages, and the epochs after which runs go from the first one to the second.

    Attributes
    ----------
    first, second : Epoch
        What every epoch of the stage trains.
    switch_epochs : tuple of int
        Ascending, from 1 to one less than K.
    epochs : int
        K, the last epoch of every branch.
    draw : int, optional
        Train one switch epoch of each seed, drawn with this seed, instead of all of them.
    """

    first: Epoch
    second: Epoch
    switch_epochs: tuple[int, ...]
    epochs: int
    draw: int | None = None

    def __post_init__(self) -> None:
        """Check the switch epochs."""
        if self.first == self.second:
            message = "are the same twice, so that nothing switches; name another model or cluster"
            raise InvalidInputError(message, ".stages")
        if not self.switch_epochs:
            raise InvalidInputError("names no epoch; give at least one", ".switch_epochs")
        for switch in self.switch_epochs:
            if not 1 <= switch < self.epochs:
                message = (
                    f"{switch} leaves one of the stages without an epoch; switch after epoch 1 to "
                    f"{self.epochs - 1} of {self.epochs}"
                )
                raise InvalidInputError(message, ".switch_epochs")
        for one, other in pairwise(self.switch_epochs):
            if one >= other:
                message = f"{other} follows on {one}; give each epoch once, in ascending order"
                raise InvalidInputError(message, ".switch_epochs")

    def schedule(self, switch_epoch: int) -> tuple[Epoch, ...]:
        """What the branch of a switch epoch trains, epoch by epoch."""
        return (self.first,) * switch_epoch + (self.second,) * (self.epochs - switch_epoch)

    def switches(self, seed: int) -> tuple[int, ...]:
        """The switch epochs that are trained of a seed.

        Where one is drawn, seeds are taken in blocks of as many as there are switch epochs, the first of
        which begins at seed 0; a random permutation gives every seed of a block another epoch.
        """
        if self.draw is None:
            return self.switch_epochs
        block, place = divmod(seed, len(self.switch_epochs))
        order = np.random.default_rng([self.draw, block]).permutation(self.switch_epochs)
        return (int(order[place]),)

    def text(self) -> str:
        """In words, as the provenance has it."""
        stages = (f"{model_name(item.factor)} on {item.cluster}" for item in (self.first, self.second))
        after = ", ".join(map(str, self.switch_epochs))
        which = "all of these" if self.draw is None else f"one of these, drawn with {self.draw},"
        return f"{', then '.join(stages)} after epoch {after} of {self.epochs}; {which} for every seed"

    def first_seed(self) -> int:
        """The first of the seeds that are trained unless one is given; made of what is to be trained."""
        return seed_from(self.text())


def record_branches(
    family: Family,
    switching: Switching,
    seeds: Sequence[int],
    path: str | Path,
    provenance: Mapping[str, str] | None = None,
    step: Callable[[str], None] = lambda done: None,
) -> Recording:
    """Train the branches of some seeds into a file, those that it does not hold yet.

    Parameters
    ----------
    family, path, provenance
        As in `depl.instances.training.recording.record`.
    switching : Switching
    seeds : sequence of int
    step : callable, optional
        Told every seed once all of its branches are there.

    Returns
    -------
    Recording
        It counts branches.

    Raises
    ------
    InvalidInputError
        As `depl.instances.training.recording.record`.
    """
    task = family.task()
    require_schedule(task, switching.schedule(switching.switch_epochs[0]))
    known = {**described(family, task), "schedule": switching.text(), **(provenance or {})}

    names = {seed: [branch_name(seed, switch) for switch in switching.switches(seed)] for seed in seeds}

    def train(seed: int) -> Traces:
        switches = switching.switches(seed)
        runs = train_branches(task, switching, switches, family.generator(seed))
        return as_traces(names[seed], [switching.schedule(switch) for switch in switches], runs)

    return _extended(path, names, known, train, step)


def train_branches(
    task: Task, switching: Switching, switches: Sequence[int], rng: np.random.Generator
) -> list[Run]:
    """Train one seed: the first stage once, and a branch of it for each switch epoch, ascending.

    Parameters
    ----------
    task : Task
    switching : Switching
    switches : sequence of int
        Some of its switch epochs.
    rng : Generator
        As in `depl.instances.training.runs.train_run`.
    """
    require_schedule(task, switching.schedule(switching.switch_epochs[0]))
    with one_thread():
        trunk, trained, runs = Training(task, rng), 0, []
        for switch in switches:
            for _ in range(switch - trained):
                trunk.train(switching.first)
            trained, branch = switch, trunk.branch()
            for _ in range(switching.epochs - switch):
                branch.train(switching.second)
            runs.append(branch.run())
    return runs


def _extended(
    path: str | Path,
    names: Mapping[int, Sequence[str]],
    known: Mapping[str, str],
    train: Callable[[int], Traces],
    step: Callable[[str], None],
) -> Recording:
    """Train what a file of traces lacks of the runs of some seeds, by whose names they are sorted."""
    require_csv(path)
    held = _held(Path(path), known)
    there = set(held.runs) if held else set()
    missing = [seed for seed, runs in names.items() if not there.issuperset(runs)]
    kept = sum(name in there for runs in names.values() for name in runs)
    trained, size = 0, max(1, CHUNK // max(map(len, names.values()), default=1))
    try:
        for seed, runs in names.items():
            if there.issuperset(runs):
                step(str(seed))
        for start in range(0, len(missing), size):
            fresh: list[Traces] = []
            try:
                for seed in missing[start : start + size]:
                    new = train(seed)
                    fresh.append(new.select([name not in there for name in new.runs]))
                    step(str(seed))
            finally:
                if fresh:
                    held = _ordered([held, *fresh] if held else fresh, known)
                    trained += sum(len(part.runs) for part in fresh)
                    write_traces(path, held)
    except KeyboardInterrupt:
        if held is not None and trained:  # it may have come while the file was being written
            write_traces(path, held)
        return Recording(held, trained, kept, True)
    return Recording(held, trained, kept, False)


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


def _told(schedule: Sequence[Epoch]) -> str:
    """The stages of a schedule in words: ``17 x pruned-50 on edge, 43 x pruned-75 on far-edge``."""
    stages = [(epoch, len(list(epochs))) for epoch, epochs in groupby(schedule)]
    return ", ".join(f"{count} x {model_name(epoch.factor)} on {epoch.cluster}" for epoch, count in stages)


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "missing"
