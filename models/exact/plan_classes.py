"""All plans for given data, as classes of plans that cost the same and end in the same law of the loss.

Sequences of (model, cluster) decisions whose epochs draw the same increments and put the same loads on the
clusters, in whatever order, have the same cost and the same final loss. A forward pass over the epochs keeps
one of each class (per last model, on which the next switch depends); where nothing depends on the epoch the
classes are multisets, and their number is polynomial. Prefixes that miss a time limit even with full
resources, or cost more than a cutoff, are dropped with all their continuations: neither improves by epochs.
"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import NotCoveredError
from depl.models.foundation.memory import require_memory, require_tabulated
from depl.models.problem.affine_law import Trained
from depl.models.problem.allocation import allocate_counts
from depl.models.problem.epochs import Load, Term, load, loss_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import FloatArray
from depl.models.risk.verdicts import LossClasses

Indices = NDArray[np.intp]

_ENTRY = 24
"""Bytes of a count of a class while one epoch is added: in its block, joined, and in keys to be compared."""


@dataclass(frozen=True, eq=False)
class Level:
    """The classes with K epochs, one row each.

    ``counts`` has the columns of `Classes`; ``last`` is the last model and ``used`` the set of clusters, as
    bits; ``parent`` is a row of the level below and ``choice`` a step, from which a schedule is read back.
    """

    counts: NDArray[np.int32]
    last: Indices
    used: Indices
    parent: Indices
    choice: Indices
    costs: FloatArray

    def select(self, rows: Indices) -> "Level":
        """Some of them."""
        return Level(*(getattr(self, item.name)[rows] for item in fields(Level)))


@dataclass(frozen=True, eq=False)
class Classes:
    """All classes for one assignment of data, level k holding those with k epochs.

    ``columns`` are what epochs count up: random terms of the loss, certain shifts of it, and loads.
    """

    steps: tuple[Trained, ...]
    columns: tuple[Term | float | Load, ...]
    initial_loss: float
    levels: tuple[Level, ...]

    def schedule(self, epochs: int, row: int) -> list[Trained]:
        """Model and cluster of every epoch of one plan of a class."""
        chosen = []
        for level in reversed(self.levels[1 : epochs + 1]):
            chosen.append(self.steps[level.choice[row]])
            row = int(level.parent[row])
        return chosen[::-1]

    def cheapest_first(self, ending: NDArray[np.bool_]) -> list[tuple[float, int, int]]:
        """Cost, epochs and row of the classes that may end so and use all clusters."""
        everywhere = (1 << len({place for _, place in self.steps})) - 1
        return sorted(
            (float(level.costs[row]), epochs, int(row))
            for epochs, level in enumerate(self.levels[1:], start=1)
            for row in np.flatnonzero(ending[level.last] & (level.used == everywhere))
        )

    def losses(self, rows: list[tuple[float, int, int]]) -> LossClasses:
        """The final losses of some classes, which may be none, given as (cost, epochs, row)."""
        chosen = [self.levels[epochs].counts[row] for _, epochs, row in rows]
        counts = np.array(chosen, dtype=np.int64).reshape(len(rows), len(self.columns))
        random, certain = (_of_kind(self.columns, kind) for kind in (Term, float))
        shifts = np.array([self.columns[place] for place in certain], dtype=float)
        terms = tuple(item for item in self.columns if isinstance(item, Term))
        return LossClasses(terms, counts[:, random], self.initial_loss + counts[:, certain] @ shifts)


def plan_classes(
    instance: Instance, data: Mapping[str, frozenset[str]], *, cutoff: float, allowed: int
) -> Classes:
    """All classes of plans in which the clusters of ``data`` train on their data, for less than ``cutoff``.

    Raises
    ------
    NotCoveredError
        If there are more classes than ``allowed``, or laws depend on the time since the last switch.
    """
    moves = _Moves(instance, data)
    levels = [moves.start()]
    for epoch in range(1, instance.target.maximum_epochs + 1):
        level = moves.extend(levels[-1], epoch, cutoff, allowed)
        if not len(level.last):
            break
        allowed -= len(level.last)
        levels.append(level)
    return Classes(moves.steps, tuple(moves.columns), instance.target.initial_loss, tuple(levels))


class _Moves:
    """What one epoch can do: by (epoch, previous model, step) the columns that it counts up."""

    def __init__(self, instance: Instance, data: Mapping[str, frozenset[str]]) -> None:
        longest = instance.target.maximum_epochs
        require_tabulated(len(instance.models), "the list of all plans", longest * len(data))
        self.instance, self.data = instance, data
        self.models = [model.name for model in instance.models]
        self.steps = tuple((model, place) for place in data for model in self.models)
        self.bits = {place: 1 << index for index, place in enumerate(data)}
        self.columns: dict[Term | float | Load, int] = {}
        self.table: dict[tuple[int, int, int], list[int]] = {}
        for key in itertools.product(
            range(1, longest + 1), range(-1, len(self.models)), range(len(self.steps))
        ):
            keep_time()
            if counted := self._counted(*key):
                self.table[key] = [self.columns.setdefault(item, len(self.columns)) for item in counted]

    def start(self) -> Level:
        """The single class without epochs."""
        initial, zero = self.instance.target.initial_model, np.zeros(1, dtype=np.intp)
        counts = np.zeros((1, len(self.columns)), dtype=np.int32)
        last = np.full(1, -1 if initial is None else self.models.index(initial), dtype=np.intp)
        return Level(counts, last, zero, zero, zero, np.zeros(1))

    def extend(self, level: Level, epoch: int, cutoff: float, allowed: int) -> Level:
        """The classes with one epoch more."""
        advice = "lower maximum_epochs, fix data or clusters, or use another method"
        size = float(_ENTRY * len(level.last) * len(self.steps) * (len(self.columns) + 2))
        require_memory(size, f"the list of all plans of {epoch} epochs", advice)
        blocks = []
        for previous, choice in itertools.product(np.unique(level.last), range(len(self.steps))):
            keep_time()
            if (epoch, int(previous), choice) in self.table:
                blocks.append(self._block(level, epoch, int(previous), choice))
        if not blocks:
            return level.select(np.zeros(0, dtype=np.intp))
        rows = zip(*([getattr(block, item.name) for item in fields(Level)] for block in blocks), strict=True)
        joined = Level(*map(np.concatenate, rows))
        keep_time()
        kept = joined.select(self._distinct(joined))
        keep_time()
        if len(kept.last) > allowed:
            raise NotCoveredError(f"there are more at {epoch} epochs; {advice}")
        loads = tuple(item for item in self.columns if isinstance(item, Load))
        counts = kept.counts[:, _of_kind(self.columns, Load)]
        target = self.instance.target
        batch = allocate_counts(loads, counts, target.maximum_time, target.round_deadline)
        kept.costs[:] = batch.costs
        return kept.select(np.flatnonzero(batch.feasible & (batch.costs < cutoff)))

    def _counted(self, epoch: int, previous: int, choice: int) -> list[Term | float | Load]:
        """What a step counts up; nothing if it is not allowed."""
        model, place = self.steps[choice]
        before = None if previous < 0 else self.models[previous]
        if not (self.instance.rules.may_train(model, place) and self.instance.may_follow(before, model)):
            return []
        datasets = self.data[place]
        step = loss_step(self.instance, epoch, 0, before, model, datasets)
        if step.retention != 1 or loss_step(self.instance, epoch, epoch - 1, before, model, datasets) != step:
            raise NotCoveredError("plan classes need losses whose increments do not depend on the past")
        shifts = [step.shift] if step.shift else []
        return [*step.terms, *shifts, load(self.instance, epoch, model, place, datasets)]

    def _block(self, level: Level, epoch: int, previous: int, choice: int) -> Level:
        rows = np.flatnonzero(level.last == previous)
        counts = level.counts[rows]
        for column in self.table[epoch, previous, choice]:
            counts[:, column] += 1
        model, place = self.steps[choice]
        last, chosen = (np.full(len(rows), index, np.intp) for index in (self.models.index(model), choice))
        return Level(counts, last, level.used[rows] | self.bits[place], rows, chosen, np.zeros(len(rows)))

    def _distinct(self, level: Level) -> Indices:
        """One row of each class, in order of first appearance."""
        keys, first = np.column_stack([level.last, level.used, level.counts]), dict[bytes, int]()
        for place, key in enumerate(keys):
            keep_time()
            first.setdefault(key.tobytes(), place)
        return np.array(list(first.values()), dtype=np.intp)


def _of_kind(columns: Iterable[Term | float | Load], kind: type) -> list[int]:
    return [place for place, item in enumerate(columns) if isinstance(item, kind)]
