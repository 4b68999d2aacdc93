"""Recording counterfactuals: one beginning for each seed, and a branch of it at every switch epoch.

To judge a policy that stops, goes on or switches after every epoch, one has to know what every switch would
have led to. Here the first stage of a seed is trained once; at each switch epoch weights, mask and the state
of the generator are copied, and the copy goes on with the model of the second stage. Its losses are, bit for
bit, those of a run that is trained alone by the same seed and schedule
(`depl.instances.training.runs.train_run`). `depl.models.traces.counterfactuals` reads the table as a tree.

Runs for *fitting* should be independent of each other. For these, one switch epoch is drawn for every seed
before anything is trained, by a generator that training does not use.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from depl.instances.training.families import Family
from depl.instances.training.recording import Recipe, Recording, described, extend, seed_from
from depl.instances.training.runs import (
    Epoch,
    Run,
    Task,
    Training,
    as_traces,
    model_name,
    one_thread,
    require_schedule,
)
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.counterfactuals import branch_name
from depl.models.traces.table import Traces


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
        stages = ", then ".join(f"{model_name(item.factor)} on {item.cluster}" for item in self._stages)
        after = ", ".join(map(str, self.switch_epochs))
        which = "all of these" if self.draw is None else f"one of these, drawn with {self.draw},"
        return f"{stages} after epoch {after} of {self.epochs}; {which} for every seed"

    def first_seed(self) -> int:
        """The first of the seeds that are trained unless one is given; made of what is to be trained."""
        return seed_from(self.text())

    @property
    def _stages(self) -> tuple[Epoch, Epoch]:
        return self.first, self.second


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

    def names(seed: int) -> list[str]:
        return [branch_name(seed, switch) for switch in switching.switches(seed)]

    def train(seed: int) -> Traces:
        switches = switching.switches(seed)
        runs = train_branches(task, switching, switches, family.generator(seed))
        return as_traces(names(seed), [switching.schedule(switch) for switch in switches], runs)

    return extend(path, seeds, Recipe(known, names, train), step)


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
