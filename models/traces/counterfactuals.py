"""Counterfactual recordings: from one beginning, the switch after each of several epochs, all really trained.

Every seed trains the model of a first stage; at each *switch epoch* s a branch goes on with the model of a
second stage, to the same last epoch, so that a policy can be followed on real training (docs/traces.rst). The
file is an ordinary one (`depl.models.traces.files`) with one run per branch: ``17/12`` is the branch of seed
17 that trains its first 12 epochs in the first stage, and repeats the common beginning. Branches of one seed
are not independent of each other: the seeds are.
"""

import re
from collections.abc import Mapping, Sequence
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
        if seed not in self.seeds:
            raise InvalidInputError(f"there is no seed {seed!r}; {advice(seed, self.seeds)}", ".seed")
        if switch_epoch not in self.switch_epochs:
            there = ", ".join(map(str, self.switch_epochs))
            message = f"there is no branch of epoch {switch_epoch}; there are {there}"
            raise InvalidInputError(message, ".switch_epoch")
        branch: Numbers = self.table[self.seeds.index(seed), self.switch_epochs.index(switch_epoch)]
        return branch

    def first_stage(self, seed: str) -> Numbers:
        """Losses of a seed as long as it has not switched, shape (last switch epoch + 1,) [loss]."""
        last = self.switch_epochs[-1]
        return self.losses(seed, last)[: last + 1]


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
    told = [_branch(traces, index) for index in range(len(traces.runs))]
    places = {branch: index for index, (branch, _) in enumerate(told)}
    stages, last = told[0][1], int(traces.last_epochs[0])
    for index, (name, (_, own), end) in enumerate(zip(traces.runs, told, traces.last_epochs, strict=True)):
        if own != stages:
            trains, first = (
                ", then ".join(f"{model} on {site}" for model, site in two) for two in (own, stages)
            )
            message = f"{name!r} trains {trains}, and {traces.runs[0]!r} {first}; keep the runs of one kind"
            raise _refused(traces, index, message, "model")
        if end != last:
            message = f"{name!r} ends at epoch {end}, others at {last}; cut the longer"
            raise _refused(traces, index, message, "epoch")
    seeds = tuple(dict.fromkeys(seed for seed, _ in places))
    switches = tuple(sorted({switch for _, switch in places}))
    for seed in seeds:
        lacking = next((switch for switch in switches if (seed, switch) not in places), None)
        if lacking is not None:
            here = next(index for (name, _), index in places.items() if name == seed)
            message = f"seed {seed!r} has no branch of epoch {lacking}, as others have; add or drop branches"
            raise _refused(traces, here, message)
    table = traces.matrix(metric)[[[places[seed, switch] for switch in switches] for seed in seeds]]
    _require_one_beginning(traces, table, seeds, switches, places)
    table.flags.writeable = False
    return Counterfactuals(seeds, switches, stages, table)


def _branch(traces: Traces, index: int) -> tuple[Branch, Stages]:
    """Seed and switch epoch of a run by its name, and the two stages that it trained."""
    name, schedule = traces.runs[index], traces.schedules[index]
    match = _BRANCH.fullmatch(name)
    changes = [epoch for epoch, (one, other) in enumerate(pairwise(schedule), start=1) if one != other]
    if match is None:
        message = (
            f"{name!r} is no branch: its name must be SEED/SWITCH with the epoch after which it switches, "
            "such as '17/12'; rename the run"
        )
    elif len(changes) != 1:
        message = f"{name!r} has {counted(len(changes) + 1, 'stage')}, not 2: a branch switches once"
    elif changes[0] != int(match[2]):
        message = f"{name!r} switches after epoch {changes[0]}, not {match[2]}; rename the run"
    else:
        return (match[1], changes[0]), (schedule[0], schedule[-1])
    raise _refused(traces, index, message)


def _require_one_beginning(
    traces: Traces,
    table: Numbers,
    seeds: Sequence[str],
    switches: Sequence[int],
    places: Mapping[Branch, int],
) -> None:
    """Refuse a seed whose branches are not alike as long as they train alike."""
    stems = table[:, -1:]
    differs = (table != stems) & ~(np.isnan(table) & np.isnan(stems))
    differs &= np.arange(table.shape[2]) <= np.array(switches)[:, None]
    for seed, place, epoch in np.argwhere(differs)[:1].tolist():
        one, other = (branch_name(seeds[seed], switch) for switch in (switches[place], switches[-1]))
        message = (
            f"{one!r} and {other!r} do not begin alike: after epoch {epoch} one has "
            f"{table[seed, place, epoch]:g} and the other {stems[seed, 0, epoch]:g}; branches of one seed "
            "share every epoch before the switch, to the last digit"
        )
        raise _refused(traces, places[seeds[seed], switches[place]], message, "loss", epoch)


def _refused(
    traces: Traces, index: int, message: str, column: str = "run", epoch: int = 0
) -> InvalidInputError:
    """At the row of an epoch of a run, or at its first row."""
    first = int(traces.bounds[index])
    return InvalidInputError(message, f".{column}[{first + max(0, epoch - int(traces.epoch[first]))}]")
