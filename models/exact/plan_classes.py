"""All plans for given data, as classes of plans that cost the same and end in the same law of the loss.

Two sequences of (model, cluster) decisions whose epochs draw the same increments and put the same
loads on the clusters, in whatever order, have the same cost and the same final loss. A forward pass
over the epochs keeps one representative of each class (per last model, on which the next switch
depends). Where nothing depends on the epoch the classes are multisets, and their number is polynomial.
Prefixes that miss a time limit even with full resources, or cost more than a cutoff, are dropped with
all their continuations: neither improves when epochs are added.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.memory import require_memory
from depl.models.problem.allocation import allocate_counts
from depl.models.problem.epochs import Load, LossStep, Term, load, loss_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.problem.pairs import require_tabulated

Counts = NDArray[np.int32]
Indices = NDArray[np.intp]


_ENTRY = 24
"""Bytes of a count of a class while one epoch is added: in its block, joined, and in keys to be compared."""

_ROWS = 1_000
"""Classes that are told apart between two looks at the clock: with ten thousand counts each, some dozens of
milliseconds."""


@dataclass(frozen=True)
class Configuration:
    """One choice for an epoch."""

    cluster: str
    model: str


@dataclass(frozen=True, eq=False)
class Level:
    """The classes with K epochs, one row each.

    ``terms``, ``shifts`` and ``loads`` count the columns of the same names in `Classes`; ``parent`` is a
    row of the level below and ``choice`` a configuration, from which a sequence is read back.
    """

    terms: Counts
    shifts: Counts
    loads: Counts
    last: Indices
    used: Indices
    parent: Indices
    choice: Indices
    costs: FloatArray


@dataclass(frozen=True, eq=False)
class Classes:
    """All classes for one assignment of data, level k holding those with k epochs."""

    configurations: tuple[Configuration, ...]
    terms: tuple[Term, ...]
    shifts: tuple[float, ...]
    loads: tuple[Load, ...]
    levels: tuple[Level, ...]

    def sequence(self, epochs: int, row: int) -> list[Configuration]:
        """A sequence of decisions of one class."""
        chosen = []
        for level in reversed(self.levels[1 : epochs + 1]):
            chosen.append(self.configurations[level.choice[row]])
            row = int(level.parent[row])
        return chosen[::-1]


def plan_classes(
    instance: Instance,
    data: Mapping[str, frozenset[str]],
    *,
    cutoff: float,
    allowed: int,
    proceed: Callable[[], bool] = lambda: True,
) -> Classes | None:
    """All classes of plans in which the clusters of ``data`` train on their data.

    Parameters
    ----------
    data : mapping
        The datasets of every cluster that may be used.
    cutoff : float
        Resource costs from which on a class is of no interest [cost].
    allowed : int
        Most classes to keep.
    proceed : callable
        Asked before every epoch; False stops the pass, which then returns None.

    Raises
    ------
    NotCoveredError
        If there are more classes than ``allowed``, or laws depend on the time since the last switch.
    """
    moves = _Moves(instance, data)
    levels = [moves.start()]
    total = 0
    for epoch in range(1, instance.target.maximum_epochs + 1):
        if not proceed():
            return None
        level = moves.extend(levels[-1], epoch, cutoff, allowed - total)
        if not len(level.last):
            break
        total += len(level.last)
        levels.append(level)
    return Classes(
        moves.configurations, tuple(moves.terms), tuple(moves.shifts), tuple(moves.loads), tuple(levels)
    )


@dataclass(frozen=True)
class _Move:
    """The columns that one epoch counts up."""

    terms: list[int]
    shifts: list[int]
    load: int


class _Moves:
    """What one epoch can do, tabulated by (epoch, previous model, configuration)."""

    def __init__(self, instance: Instance, data: Mapping[str, frozenset[str]]) -> None:
        require_tabulated(instance, "the list of all plans", instance.target.maximum_epochs * len(data))
        self.instance = instance
        self.models = [model.name for model in instance.models]
        self.configurations = tuple(Configuration(place, model) for place in data for model in self.models)
        self.places = {place: index for index, place in enumerate(data)}
        self.terms: dict[Term, int] = {}
        self.shifts: dict[float, int] = {}
        self.loads: dict[Load, int] = {}
        self.table: dict[tuple[int, int, int], _Move] = {}
        for epoch in range(1, instance.target.maximum_epochs + 1):
            for previous in range(-1, len(self.models)):
                for choice in range(len(self.configurations)):
                    keep_time()
                    self._tabulate(epoch, previous, choice, data)
        rng = np.random.default_rng(
            20240214
        )  # hash weights only: rows are compared in full where hashes meet
        columns = len(self.terms) + len(self.shifts) + len(self.loads) + 2
        self.weights = rng.integers(-(2**62), 2**62, size=columns, dtype=np.int64)

    def start(self) -> Level:
        """The single class without epochs."""
        initial = self.instance.target.initial_model
        zero = np.zeros(1, dtype=np.intp)
        return Level(
            terms=np.zeros((1, len(self.terms)), dtype=np.int32),
            shifts=np.zeros((1, len(self.shifts)), dtype=np.int32),
            loads=np.zeros((1, len(self.loads)), dtype=np.int32),
            last=np.full(1, -1 if initial is None else self.models.index(initial), dtype=np.intp),
            used=zero,
            parent=zero,
            choice=zero,
            costs=np.zeros(1),
        )

    def extend(self, level: Level, epoch: int, cutoff: float, allowed: int) -> Level:
        """The classes with one epoch more."""
        require_memory(
            float(_ENTRY * len(level.last) * len(self.configurations) * len(self.weights)),
            f"the list of all plans of {epoch} epochs",
            "lower maximum_epochs, fix data or clusters, or use another method",
        )
        blocks = []
        for previous, choice in itertools.product(np.unique(level.last), range(len(self.configurations))):
            keep_time()
            if (epoch, int(previous), choice) in self.table:
                blocks.append(self._block(level, epoch, int(previous), choice))
        if not blocks:
            return _selected(level, np.zeros(0, dtype=np.intp))
        joined = Level(
            *(
                np.concatenate([getattr(block, name) for block in blocks])
                for name in Level.__dataclass_fields__
            )
        )
        keep_time()
        kept = _selected(joined, self._distinct(joined))
        keep_time()
        if len(kept.last) > allowed:
            raise NotCoveredError(
                f"there are more at {epoch} epochs; lower maximum_epochs, fix data or clusters, "
                "or use another method"
            )
        target = self.instance.target
        batch = allocate_counts(tuple(self.loads), kept.loads, target.maximum_time, target.round_deadline)
        kept.costs[:] = batch.costs
        return _selected(kept, np.flatnonzero(batch.feasible & (batch.costs < cutoff)))

    def _tabulate(self, epoch: int, previous: int, choice: int, data: Mapping[str, frozenset[str]]) -> None:
        chosen = self.configurations[choice]
        if not self.instance.rules.may_train(chosen.model, chosen.cluster):
            return
        before = None if previous < 0 else self.models[previous]
        if not self.instance.may_follow(before, chosen.model):
            return
        datasets = data[chosen.cluster]
        step = loss_step(self.instance, epoch, 0, before, chosen.model, datasets)
        self._require_memoryless(step, epoch, before, chosen.model, datasets)
        place = load(self.instance, epoch, chosen.model, chosen.cluster, datasets)
        self.table[epoch, previous, choice] = _Move(
            [self.terms.setdefault(term, len(self.terms)) for term in step.terms],
            [self.shifts.setdefault(step.shift, len(self.shifts))] if step.shift else [],
            self.loads.setdefault(place, len(self.loads)),
        )

    def _require_memoryless(
        self, step: LossStep, epoch: int, before: str | None, model: str, datasets: frozenset[str]
    ) -> None:
        later = loss_step(self.instance, epoch, epoch - 1, before, model, datasets)
        if step.retention != 1 or later != step:
            raise NotCoveredError("plan classes need losses whose increments do not depend on the past")

    def _block(self, level: Level, epoch: int, previous: int, choice: int) -> Level:
        move = self.table[epoch, previous, choice]
        rows = np.flatnonzero(level.last == previous)
        terms, shifts, loads = level.terms[rows], level.shifts[rows], level.loads[rows]
        for column in move.terms:
            terms[:, column] += 1
        shifts[:, move.shifts] += 1
        loads[:, move.load] += 1
        chosen = self.configurations[choice]
        return Level(
            terms=terms,
            shifts=shifts,
            loads=loads,
            last=np.full(len(rows), self.models.index(chosen.model), dtype=np.intp),
            used=level.used[rows] | (1 << self.places[chosen.cluster]),
            parent=rows,
            choice=np.full(len(rows), choice, dtype=np.intp),
            costs=np.zeros(len(rows)),
        )

    def _distinct(self, level: Level) -> Indices:
        """One row of each class, in order of first appearance."""
        keys = np.column_stack([level.last, level.used, level.terms, level.shifts, level.loads])
        hashes = np.empty(len(keys), dtype=np.int64)
        for first in range(0, len(keys), _ROWS):
            keep_time()
            hashes[first : first + _ROWS] = keys[first : first + _ROWS].astype(np.int64) @ self.weights
        order = np.argsort(hashes, kind="stable")
        same = np.diff(hashes[order]) == 0
        met = np.flatnonzero(same)  # few rows are compared where few hashes meet
        for first in range(0, len(met), _ROWS):
            keep_time()
            rows = met[first : first + _ROWS]
            same[rows] = (keys[order[rows + 1]] == keys[order[rows]]).all(axis=1)
        return np.sort(order[np.concatenate([[True], ~same])])


def _selected(level: Level, rows: Indices) -> Level:
    return Level(*(getattr(level, name)[rows] for name in Level.__dataclass_fields__))
