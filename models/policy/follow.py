"""A policy followed on many runs at once, whose losses are drawn, combined of donors' ones or recorded.

A run stops at its row, or once its observed loss meets the target and its model may be the last. Its state is
that of a `depl.models.policy.controller.Controller`, index for index.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.deadline import keep_time
from depl.models.policy.grid import Integers, met, rounded_indices
from depl.models.problem.laws import FloatArray
from depl.models.problem.policy import STOP, LossGrid, NextEpoch, Policy

_FAR = 2.0**60
"""Steps beyond which a number counts as so many: an index of 64 bits holds them twice; grids have 2**22."""


class Runs(NamedTuple):
    """Runs at a node, of one weight: losses on the scale of the law, costs and states, each of shape (n,).

    In ``own`` stands what their source keeps of each.
    """

    losses: FloatArray
    own: tuple[NDArray[Any], ...] = ()
    weight: Fraction = Fraction(1)
    costs: FloatArray = np.zeros(0)
    states: Integers = np.zeros(0, dtype=np.int64)

    def at(self, places: NDArray[Any]) -> "Runs":
        """Those at some places, or of a mask."""
        own = tuple(item[places] for item in self.own)
        return Runs(self.losses[places], own, self.weight, self.costs[places], self.states[places])


class Source(Protocol):
    """Where losses come from."""

    def begin(self) -> Runs:
        """The runs before their first epoch; a loss that was not evaluated is NaN."""

    def train(self, node: int, training: int, runs: Runs) -> tuple[Runs, FloatArray]:
        """Runs that train an epoch, as many as there may be of them, and their losses after it."""


End = Literal["reached", "abandoned", "exhausted", "beyond"]
"""At the target; by a row; after K_max epochs; above the grid."""


class Ended(NamedTuple):
    """Runs that ended alike."""

    end: End
    epoch: int
    runs: Runs


def follow(policy: Policy, source: Source) -> Iterator[Ended]:
    """All runs of a source, each where the policy ends it."""
    grid, here, begun = policy.grid, defaultdict[int, list[Runs]](list), source.begin()
    here[policy.start].append(
        begun._replace(costs=np.zeros(begun.losses.size), states=_first_states(policy, begun.losses))
    )
    for number in sorted(range(len(policy.nodes)), key=lambda item: policy.nodes[item].epoch):
        node = policy.nodes[number]
        upto, rows = (np.array([getattr(row, name) for row in node.rows]) for name in ("upto", "action"))
        last: End = "exhausted" if node.epoch == policy.maximum_epochs else "abandoned"
        for runs in _joined(here.pop(number, ())):
            keep_time()
            actions = rows[np.searchsorted(upto, np.minimum(runs.states, grid.cells - 1))]
            low = met(runs.losses, grid.limit)
            if policy.state == "ledger":  # which knows the loss to be below its own
                low |= (actions == STOP) & (runs.states <= grid.target)
            reached = low & node.may_stop
            beyond = ~reached & (runs.states >= grid.cells)
            actions = np.where(reached | beyond, STOP - 1, actions)
            ends: dict[End, Any] = {"reached": reached, "beyond": beyond, last: actions == STOP}
            for end, chosen in ends.items():
                if chosen.any():
                    yield Ended(end, node.epoch, runs.at(chosen))
            for index, training in enumerate(node.trainings):
                if (chosen := actions == index).any():
                    found, after = source.train(number, index, runs.at(chosen))
                    states = _states(policy, training, found, after)
                    costs = found.costs + training.price
                    here[training.following].append(found._replace(losses=after, costs=costs, states=states))


def begins_unseen(policy: Policy) -> bool:
    """Whether runs may begin without their l(0): they train, and the first epoch retains nothing of it."""
    node = policy.nodes[policy.start]
    return node.rows[-1].action != STOP and all(item.retention == 0 for item in node.trainings)


def greatest_costs(policy: Policy) -> list[float]:
    """The greatest cost that a run can still have, by node."""
    found = [0.0] * len(policy.nodes)
    for number in sorted(range(len(found)), key=lambda item: -policy.nodes[item].epoch):
        nexts = policy.nodes[number].trainings
        found[number] = max((item.price + found[item.following] for item in nexts), default=0.0)
    return found


def _joined(groups: Sequence[Runs]) -> Iterator[Runs]:
    """Runs of one weight together."""
    alike: dict[Fraction, list[Runs]] = defaultdict(list)
    for group in groups:
        alike[group.weight].append(group)
    for weight, some in alike.items():
        own = tuple(map(np.concatenate, zip(*(item.own for item in some), strict=True)))
        joined = (np.concatenate([getattr(item, name) for item in some]) for name in _ARRAYS)
        losses, costs, states = joined
        yield some[0] if len(some) == 1 else Runs(losses, own, weight, costs, states)


_ARRAYS = "losses", "costs", "states"


def _first_states(policy: Policy, losses: FloatArray) -> Integers:
    """Where runs begin; not above the grid where nothing depends on l(0), which may then be unknown."""
    grid, unseen = policy.grid, np.isnan(losses)
    found = np.maximum(_indices(grid, np.where(unseen, 0.0, losses) - grid.origin), 0)
    if begins_unseen(policy) and not policy.nodes[policy.start].may_stop:
        found = np.minimum(found, grid.cells - 1)
    return np.where(unseen, grid.cells - 1, found)


def _states(policy: Policy, training: NextEpoch, before: Runs, after: FloatArray) -> Integers:
    """The ledgers after an epoch, or the losses rounded up."""
    grid = policy.grid
    if policy.state == "observed":
        return np.asarray(np.maximum(_indices(grid, after - grid.origin), 0))
    old = np.where(np.isnan(before.losses), 0.0, before.losses)  # what was not seen is multiplied by 0
    noise = after - (training.shift + training.retention * old)
    values = np.asarray(grid.origin + before.states * grid.step, dtype=np.float64)
    image = training.shift + training.retention * values - grid.origin
    return np.asarray(np.maximum(_indices(grid, image) + _indices(grid, noise), 0))


def _indices(grid: LossGrid, values: FloatArray) -> Integers:
    far = _FAR * grid.step
    return rounded_indices(np.clip(values, -far, far), grid.step, up=True)
