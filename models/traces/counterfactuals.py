"""Counterfactual recordings: from one beginning, the switch after each of several epochs, all really trained.

Every seed trains the model of a first stage; at each *switch epoch* s a branch goes on with the model of a
second stage, to the same last epoch. A policy that decides after every epoch when to switch and when to stop
can then be followed on real training: the losses that it sees and those that come of its decision are there.

The file is an ordinary one (`depl.models.traces.files`) with one run per branch, named ``SEED/SWITCH``:
``17/12`` is the branch of seed 17 that trains its first 12 epochs in the first stage. Branches of one seed
repeat their common beginning, so that each of them is a whole run to every reader; compressed, the repeated
part takes hardly any space. They are not independent of each other: the seeds are.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.names import advice
from depl.models.foundation.wording import counted
from depl.models.traces.table import Numbers, Traces

Stages = tuple[tuple[str, str], tuple[str, str]]
"""Model and cluster of the first and of the second stage."""
Branch = tuple[str, int]
"""Seed and switch epoch."""
_BRANCH = re.compile(r"(.+)/([1-9]\d*)")


@dataclass(frozen=True, eq=False)
class Counterfactuals:
    """The branches of some seeds; `read_counterfactuals` makes them of traces.

    Attributes
    ----------
    seeds : tuple of str
        As the names of the runs have them, in the order in which they first occur.
    switch_epochs : tuple of int
        Ascending; every seed has a branch of each.
    stages : tuple
        Model and cluster of the first and of the second stage.
    table : array of float, shape (seeds, switch epochs, K + 1)
        Loss after epochs 0, ..., K [loss]; NaN at epoch 0 where it was not evaluated. Cannot be written to.
    """

    seeds: tuple[str, ...]
    switch_epochs: tuple[int, ...]
    stages: Stages
    table: Numbers

    @property
    def epochs(self) -> int:
        """K, the last epoch of every branch."""
        return int(self.table.shape[2]) - 1

    def losses(self, seed: str, switch_epoch: int) -> Numbers:
        """Losses of one branch, shape (K + 1,) [loss].

        Raises
        ------
        InvalidInputError
            If there is no such seed or switch epoch.
        """
        if switch_epoch not in self.switch_epochs:
            there = ", ".join(map(str, self.switch_epochs))
            message = f"there is no branch of epoch {switch_epoch}; there are {there}"
            raise InvalidInputError(message, ".switch_epoch")
        branch: Numbers = self.table[self._place(seed), self.switch_epochs.index(switch_epoch)]
        return branch

    def first_stage(self, seed: str) -> Numbers:
        """Losses of a seed as long as it has not switched, shape (last switch epoch + 1,) [loss].

        Raises
        ------
        InvalidInputError
            If there is no such seed.
        """
        return self.table[self._place(seed), -1, : self.switch_epochs[-1] + 1]

    def _place(self, seed: str) -> int:
        if seed not in self.seeds:
            raise InvalidInputError(f"there is no seed {seed!r}; {advice(seed, self.seeds)}", ".seed")
        return self.seeds.index(seed)


def branch_name(seed: int | str, switch_epoch: int) -> str:
    """Name of the run that trains its first ``switch_epoch`` epochs in the first stage."""
    return f"{seed}/{switch_epoch}"


def read_counterfactuals(traces: Traces, metric: str = "loss") -> Counterfactuals:
    """Read branches from a table that has one run for each of them.

    Parameters
    ----------
    traces : Traces
        Of depl or anybody's; the runs may come in any order.
    metric : str
        One of `depl.models.traces.metrics.TARGETS`.

    Raises
    ------
    InvalidInputError
        If a run is not named ``SEED/SWITCH``, does not have two stages, the first of them of SWITCH epochs,
        or has other stages or another last epoch than the first run; if a seed lacks a branch that another
        one has; or if branches of one seed differ before their switch. The path names column and row.
    """
    places: dict[Branch, int] = {}
    stages, last = _branch(traces, 0)[1], int(traces.last_epochs[0])
    for index, (name, end) in enumerate(zip(traces.runs, traces.last_epochs.tolist(), strict=True)):
        branch, own = _branch(traces, index)
        if own != stages:
            trains, first = (
                ", then ".join(f"{model} on {site}" for model, site in two) for two in (own, stages)
            )
            message = f"{name!r} trains {trains}, and {traces.runs[0]!r} {first}; keep the runs of one kind"
            raise _refused(traces, index, message, "model")
        if end != last:
            message = f"{name!r} ends at epoch {end}, others at {last}; cut the longer"
            raise _refused(traces, index, message, "epoch")
        places[branch] = index
    seeds = tuple(dict.fromkeys(seed for seed, _ in places))
    switches = tuple(sorted({switch for _, switch in places}))
    matrix = traces.matrix(metric)
    for seed in seeds:
        _require_one_beginning(traces, matrix, seed, switches, places)
    table = matrix[[[places[seed, switch] for switch in switches] for seed in seeds]]
    table.flags.writeable = False
    return Counterfactuals(seeds, switches, stages, table)


def _branch(traces: Traces, index: int) -> tuple[Branch, Stages]:
    """Seed and switch epoch of a run by its name, and the two stages that it trained."""
    name, schedule = traces.runs[index], traces.schedules[index]
    match = _BRANCH.fullmatch(name)
    if match is None:
        message = (
            f"{name!r} is no branch: its name must be SEED/SWITCH with the epoch after which it switches, "
            "such as '17/12'; rename the run"
        )
        raise _refused(traces, index, message)
    changes = [epoch for epoch, (one, other) in enumerate(pairwise(schedule), start=1) if one != other]
    if len(changes) != 1:
        message = f"{name!r} has {counted(len(changes) + 1, 'stage')}, not 2: a branch switches once"
        raise _refused(traces, index, message, "model")
    if changes[0] != int(match[2]):
        message = f"{name!r} switches after epoch {changes[0]}, not {match[2]}; rename the run"
        raise _refused(traces, index, message)
    return (match[1], int(match[2])), (schedule[0], schedule[-1])


def _require_one_beginning(
    traces: Traces, matrix: Numbers, seed: str, switches: tuple[int, ...], places: dict[Branch, int]
) -> None:
    """Refuse a seed that lacks a branch, or whose branches are not alike as long as they train alike."""
    lacking = next((switch for switch in switches if (seed, switch) not in places), None)
    if lacking is not None:
        here = next(index for (name, _), index in places.items() if name == seed)
        message = f"seed {seed!r} has no branch of epoch {lacking}, as others have; add or drop branches"
        raise _refused(traces, here, message)
    stem = matrix[places[seed, switches[-1]]]
    for switch in switches[:-1]:
        index = places[seed, switch]
        differs = (matrix[index] != stem) & ~(np.isnan(matrix[index]) & np.isnan(stem))
        if differs[: switch + 1].any():
            epoch = int(np.argmax(differs))
            message = (
                f"{branch_name(seed, switch)!r} and {branch_name(seed, switches[-1])!r} do not begin alike: "
                f"after epoch {epoch} one has {matrix[index, epoch]:g} and the other {stem[epoch]:g}; "
                "branches of one seed share every epoch before the switch, to the last digit"
            )
            raise _refused(traces, index, message, "loss", epoch)


def _refused(
    traces: Traces, index: int, message: str, column: str = "run", epoch: int = 0
) -> InvalidInputError:
    """At the row of an epoch of a run, or at its first row."""
    first = int(traces.bounds[index])
    return InvalidInputError(message, f".{column}[{first + max(0, epoch - int(traces.epoch[first]))}]")
