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
    names = [_parts(traces, index) for index in range(len(traces.runs))]
    stages = _stages(traces, [switch for _, switch in names])
    _require_one_length(traces)
    places = {name: index for index, name in enumerate(names)}
    seeds = tuple(dict.fromkeys(seed for seed, _ in names))
    switches = tuple(sorted({switch for _, switch in names}))
    matrix = traces.matrix(metric)
    for seed in seeds:
        _require_one_beginning(traces, matrix, seed, switches, places)
    chosen = [[places[seed, switch] for switch in switches] for seed in seeds]
    table = matrix[chosen]
    table.flags.writeable = False
    return Counterfactuals(seeds, switches, stages, table)


def _parts(traces: Traces, index: int) -> Branch:
    match = _BRANCH.fullmatch(traces.runs[index])
    if match is None:
        message = (
            f"{traces.runs[index]!r} is no branch: its name must be SEED/SWITCH with the epoch after which "
            "it switches, such as '17/12'; rename the run"
        )
        raise _refused(traces, index, message)
    return match[1], int(match[2])


def _stages(traces: Traces, switches: list[int]) -> Stages:
    """Model and cluster of the two stages, which all runs share."""
    wanted = _stages_of(traces, 0, switches[0])
    for index, switch in enumerate(switches):
        found = _stages_of(traces, index, switch)
        if found != wanted:
            message = (
                f"{traces.runs[index]!r} trains {_told(found)}, and {traces.runs[0]!r} {_told(wanted)}; "
                "keep the runs of one kind"
            )
            raise _refused(traces, index, message, "model")
    return wanted


def _stages_of(traces: Traces, index: int, switch: int) -> Stages:
    schedule, name = traces.schedules[index], repr(traces.runs[index])
    changes = [k for k in range(1, len(schedule)) if schedule[k] != schedule[k - 1]]
    if len(changes) != 1:
        message = f"{name} has {counted(len(changes) + 1, 'stage')}, not 2: a branch switches once"
        raise _refused(traces, index, message, "model")
    if changes[0] != switch:
        raise _refused(
            traces, index, f"{name} switches after epoch {changes[0]}, not {switch}; rename the run"
        )
    return schedule[0], schedule[-1]


def _told(stages: Stages) -> str:
    return ", then ".join(f"{model} on {cluster}" for model, cluster in stages)


def _require_one_length(traces: Traces) -> None:
    last = traces.last_epochs
    for index in np.flatnonzero(last != last[0]):
        message = f"{traces.runs[index]!r} ends at epoch {last[index]}, others at {last[0]}; cut the longer"
        raise _refused(traces, int(index), message, "epoch")


def _require_one_beginning(
    traces: Traces, matrix: Numbers, seed: str, switches: tuple[int, ...], places: dict[Branch, int]
) -> None:
    """Refuse a seed that lacks a branch, or whose branches are not alike as long as they train alike."""
    here = [index for (name, _), index in places.items() if name == seed]
    for switch in switches:
        if (seed, switch) not in places:
            message = f"seed {seed!r} has no branch of epoch {switch}, as others have; add or drop branches"
            raise _refused(traces, here[0], message)
    stem = matrix[places[seed, switches[-1]]]
    for switch in switches[:-1]:
        index = places[seed, switch]
        epochs = slice(0, switch + 1)
        same = np.isclose(matrix[index, epochs], stem[epochs], rtol=0, atol=0, equal_nan=True)
        if not same.all():
            epoch = int(np.argmin(same))
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
