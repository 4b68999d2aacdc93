r"""The affine law of the loss, as predictions use it: training that forgets (docs/estimation, affine-law).

    l(k) = a + b ln s + retention l(k-1) + e

of the loss or its logarithm (`Scale`), with coefficients of its own for every model on its cluster, every
predecessor and every epoch t since it took over (the *age*); s is the number of epochs before. Where some run
of a first model was not evaluated before training, the law of its first epoch has retention 0, and a stand-in
takes the place of l(0). `depl.models.estimation.affine` fits the coefficients; here they meet their runs.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.laws import FloatArray
from depl.models.traces.table import Schedule

_Found = TypeVar("_Found")

Trained = tuple[str, str]
"""Model and cluster of an epoch."""

Scale = Literal["loss", "log"]
"""What the law is a law of: the loss, or its logarithm, whose residuals spread alike at all levels."""


class Position(NamedTuple):
    """What decides the law of an epoch."""

    trained: Trained  # model and cluster
    previous: Trained | None  # those before the last switch; None in a first stage
    age: int  # epochs since the switch, this one included, from 1
    start: int  # epochs before the switch


@dataclass(frozen=True)
class Known:
    """The state of a run under way."""

    epoch: int  # epochs trained so far
    loss: float  # after them, on the scale of the law [loss]

    def first_age(self, place: Position) -> int:
        """Age of the first epoch to come in the stage of a position: above 1 if the stage is under way."""
        return max(1, self.epoch - place.start + 1)


@dataclass(frozen=True, eq=False)
class AffineStep:
    """l(k) = intercept + start_slope * ln s + retention * l(k-1) + e, and what was seen in a pool of epochs.

    Coefficients alone do not make two the same: their residuals differ.
    """

    # [loss]; the slope is 0 where the switch epoch does not vary.
    intercept: float
    start_slope: float
    retention: float  # in [0, 1)
    ages: tuple[int, int]  # least and greatest age that is pooled
    # Of a jump: whether all predecessors of the model are in the pool, not its own alone.
    pooled: bool = False
    # (n,): What e was in the pooled observations [loss]; after a fit their mean is 0. None are known before.
    residuals: FloatArray = field(default_factory=lambda: np.empty(0))
    # Least and greatest l(k-1) among them [loss].
    losses: tuple[float, float] = math.nan, math.nan

    def shift(self, start: int) -> float:
        """a + b ln s [loss]."""
        return self.intercept + self.start_slope * maturity(start)


@dataclass(frozen=True, eq=False)
class RunRecord:
    """One run as the law sees it: what stays together when residuals are kept per run."""

    positions: tuple[Position, ...]  # of epochs 1, ..., K
    # (K + 1,): l(0), ..., l(K), on the scale of the law; an l(0) that was not observed is the greatest of all
    # losses.
    losses: FloatArray
    residuals: FloatArray  # (K,): e of epochs 1, ..., K, on the scale of the law; NaN where there is no law
    # (K + 1,): The losses as they were recorded, NaN for l(0) where the run was not evaluated before training
    # [loss].
    observed: FloatArray
    # Runs with the same number share their first epochs, and count as one of a plan or a stage.
    origin: int | None = None

    @cached_property
    def trained(self) -> Schedule:
        """Model and cluster of epochs 1, ..., K."""
        return tuple(item.trained for item in self.positions)

    @cached_property
    def ends(self) -> tuple[Position, ...]:
        """The last position of every stage."""
        return _ends(self.positions)

    @property
    def evaluated(self) -> bool:
        """Whether l(0) was observed."""
        return math.isfinite(self.observed[0])


RowKey = tuple[Trained, bool, int, Trained | None]
"""Model and cluster, whether it is a first stage, age, and predecessor.

At age 1 of a later stage, the jump of a switch, the predecessor is what was trained before. Elsewhere
predecessor None stands for every one that has no rows of its own, and in a first stage for there being none.
"""


@dataclass(frozen=True, eq=False)
class AffineLaw:
    """All rows of the law, and the runs they were fitted to."""

    rows: Mapping[RowKey, AffineStep]
    records: tuple[RunRecord, ...]  # in the order of the traces
    scale: Scale = "loss"  # of everything that the law says

    def find(self, position: Position) -> AffineStep | None:
        """The law of an epoch, None if too few runs were there to fit one."""
        trained, previous, age, _ = position
        own = previous if age == 1 else self.own(position)
        return self.rows.get((trained, previous is None, age, own))

    def own(self, position: Position) -> Trained | None:
        """What was trained before, if there are rows of their own for what follows it after the jump."""
        return position.previous if (position.trained, position.previous) in self._with_own else None

    def step(self, position: Position) -> AffineStep:
        """The law of an epoch.

        Raises
        ------
        NotCoveredError
            If too few runs were there to fit one.
        """
        found = self.find(position)
        if found is None:
            raise NotCoveredError(f"outside the support of the traces: too few runs were {told(position)}")
        return found

    @cached_property
    def seen(self) -> tuple[float, float]:
        """Least and greatest loss of all runs in all epochs, on the scale of the law [loss]."""
        return (
            min(float(run.losses.min()) for run in self.records),
            max(float(run.losses.max()) for run in self.records),
        )

    @cached_property
    def unevaluated(self) -> frozenset[Trained]:
        """What first stages train of which some run was not evaluated before training."""
        return frozenset(run.positions[0].trained for run in self.records if not run.evaluated)

    @cached_property
    def _with_own(self) -> frozenset[tuple[Trained, Trained]]:
        return frozenset(
            (trained, previous) for trained, _, age, previous in self.rows if previous is not None and age > 1
        )

    @cached_property
    def by_stage(self) -> Mapping[tuple[Trained, bool], tuple[tuple[int, int, int], ...]]:
        """Stages by model on cluster, and whether they come first: (record, epochs before it, its epochs)."""
        found: dict[tuple[Trained, bool], list[tuple[int, int, int]]] = defaultdict(list)
        for index, run in enumerate(self.records):
            for end in run.ends:
                found[end.trained, end.previous is None].append((index, end.start, end.age))
        return MappingProxyType({key: tuple(rows) for key, rows in found.items()})

    @cached_property
    def schedule_numbers(self) -> tuple[int, ...]:
        """Of every record the number of its schedule: quicker to compare than schedules of many epochs."""
        found: dict[Schedule, int] = {}
        return tuple(found.setdefault(run.trained, len(found)) for run in self.records)

    @cached_property
    def complete(self) -> tuple[bool, ...]:
        """Of every record whether each of its epochs has a residual."""
        return tuple(bool(np.isfinite(run.residuals).all()) for run in self.records)

    @cached_property
    def longest(self) -> Mapping[tuple[Trained, bool, Trained | None], Mapping[int, int]]:
        """Longest stage by the epochs before it, after every predecessor, and (None) after all of them."""
        found: dict[tuple[Trained, bool, Trained | None], dict[int, int]] = defaultdict(dict)
        for (trained, first), rows in self.by_stage.items():
            for index, start, length in rows:
                for before in {None, self.records[index].positions[start].previous}:
                    ends = found[trained, first, before]
                    ends[start] = max(ends.get(start, 0), length)
        return MappingProxyType(found)

    def apart(self, records: Iterable[int]) -> tuple[int, ...]:
        """These records without any that shares its first epochs with an earlier one of them.

        They are no two draws: the next run, with a beginning of its own, is exchangeable with one of them.
        """
        first: dict[tuple[bool, int], int] = {}
        for index in records:
            origin = self.records[index].origin
            first.setdefault((origin is None, index if origin is None else origin), index)
        return tuple(first.values())

    @cached_property
    def beginnings(self) -> Mapping[tuple[tuple[Trained, int], ...], tuple[int, ...]]:
        """Records by what they begin with, given as stages and their lengths; of one origin the first."""
        found: dict[tuple[tuple[Trained, int], ...], list[int]] = defaultdict(list)
        for index, run in enumerate(self.records):
            done: tuple[tuple[Trained, int], ...] = ()
            for end in run.ends:
                for age in range(1, end.age + 1):
                    found[(*done, (end.trained, age))].append(index)
                done = (*done, (end.trained, end.age))
        return MappingProxyType({key: self.apart(rows) for key, rows in found.items()})

    def once(self, key: object, work: Callable[[], _Found]) -> _Found:
        """What predictions work out once, under a key of theirs."""
        if key not in self._kept:
            self._kept[key] = work()
        found: _Found = self._kept[key]
        return found

    @cached_property
    def _kept(self) -> dict[object, Any]:
        return {}


@dataclass(frozen=True, eq=False)
class Epochs:
    """Every trained epoch of every run, in columns of equal length, with the maturity of its switch epoch."""

    place: Sequence[Position]
    before: FloatArray
    after: FloatArray
    maturity: FloatArray

    @classmethod
    def of(cls, places: Sequence[Sequence[Position]], losses: Sequence[FloatArray]) -> "Epochs":
        """The epochs of runs that stood at ``places`` and had these losses, l(0) first."""
        place = [item for run in places for item in run]
        return cls(
            place,
            np.concatenate([row[:-1] for row in losses]),
            np.concatenate([row[1:] for row in losses]),
            np.array([maturity(item.start) for item in place]),
        )

    @cached_property
    def by_key(self) -> Mapping[RowKey, list[int]]:
        """Indices of the epochs that stand at every key, later stages by their predecessor."""
        found: dict[RowKey, list[int]] = defaultdict(list)
        for index, item in enumerate(self.place):
            found[item.trained, item.previous is None, item.age, item.previous].append(index)
        return MappingProxyType(dict(found))

    @cached_property
    def _by_kind(self) -> Mapping[tuple[Trained, bool], list[tuple[int, list[int]]]]:
        """The same by model on cluster and whether it comes first: ages and indices."""
        found: dict[tuple[Trained, bool], list[tuple[int, list[int]]]] = defaultdict(list)
        for (trained, first, age, _), rows in self.by_key.items():
            found[trained, first].append((age, rows))
        return MappingProxyType(dict(found))

    def pool(self, key: RowKey, row: AffineStep) -> list[int]:
        """Indices of the epochs that lend their residuals to a row of a law; none if no run was there."""
        trained, first, age, previous = key
        least = 1 if first or age == 1 else 2  # no step of a later stage pools jumps
        ages = range(max(row.ages[0], least), row.ages[1] + 1)
        if not first and (previous is None if age > 1 else row.pooled):
            pooled = self._by_kind.get((trained, first), ())
            return [index for age, rows in pooled if age in ages for index in rows]
        return [index for age in ages for index in self.by_key.get((trained, first, age, previous), ())]


def positions(schedule: Schedule) -> tuple[Position, ...]:
    """Where epochs 1, 2, ... of a schedule stand; a stage ends where the model or its cluster changes."""
    found: list[Position] = []
    for trained in schedule:
        found.append(following(found[-1] if found else None, trained))
    return tuple(found)


def ends_of(schedule: Schedule) -> tuple[Position, ...]:
    """The last position of every stage of a schedule."""
    return _ends(positions(schedule))


def _ends(places: Sequence[Position]) -> tuple[Position, ...]:
    return tuple(
        one for one, other in zip(places, (*places[1:], None), strict=False) if not other or other.age == 1
    )


def following(last: Position | None, trained: Trained) -> Position:
    """Where the epoch after ``last`` stands if it trains this; None: nothing was trained yet."""
    if last is None:
        return Position(trained, None, 1, 0)
    if last.trained == trained:
        return last._replace(age=last.age + 1)
    return Position(trained, last.trained, 1, last.start + last.age)


def maturity(start: int) -> float:
    """ln s, the regressor of the switch epoch: the first epochs before it matter most; 0 without any."""
    return math.log(start) if start else 0.0


def told(position: Position) -> str:
    """A position in words."""
    model, cluster = position.trained
    after = f" after {position.previous[0]!r}" if position.previous else ""
    return f"at {model!r} on {cluster!r}{after}, epoch {position.age} since epoch {position.start}"


def assembled(
    rows: Mapping[RowKey, AffineStep],
    places: Sequence[tuple[Position, ...]],
    observed: Sequence[FloatArray],
    scale: Scale = "loss",
    origins: Sequence[int | None] | None = None,
) -> AffineLaw:
    """The law with these coefficients and runs.

    Parameters
    ----------
    places : sequence of tuple of Position
        Of every run.
    observed : sequence of float arrays (K + 1,)
        Of every run, l(0) first, NaN where it was not observed [loss].
    scale : "loss" or "log"
        Of the coefficients; all losses must be positive for the second.
    origins : sequence of (int or None), optional
        Of every run, as `RunRecord` has it.

    Raises
    ------
    NotCoveredError
        If no epoch of a run belongs to the pool of a row.
    """
    losses = [on_scale(row, scale) for row in with_stand_ins(observed)]
    epochs = Epochs.of(places, losses)
    law = AffineLaw(MappingProxyType({key: _step(epochs, key, row) for key, row in rows.items()}), (), scale)
    lines = {run: _lines(law, run) for run in set(places)}
    records = []
    for index, (run, row) in enumerate(zip(places, losses, strict=True)):
        shifts, retentions = lines[run]
        residuals = row[1:] - (shifts + retentions * row[:-1])
        origin = None if origins is None else origins[index]
        records.append(RunRecord(run, row, residuals, observed[index], origin))
    return replace(law, records=tuple(records))


def with_stand_ins(observed: Sequence[FloatArray]) -> Sequence[FloatArray]:
    """The same with the greatest loss of all runs for each l(0) that was not observed, NaN.

    Laws of the epoch after it have retention 0, so nothing depends on the number. It is one that was seen,
    lest the range of all losses change, and the worst of them, lest it count as met.
    """
    if all(math.isfinite(row[0]) for row in observed):
        return observed
    greatest = max(float(row[1:].max()) for row in observed)
    greatest = max([greatest, *(float(row[0]) for row in observed if math.isfinite(row[0]))])
    return [np.where(np.isnan(row), greatest, row) for row in observed]


def on_scale(losses: FloatArray, scale: Scale) -> FloatArray:
    """Losses, or their logarithms."""
    return losses if scale == "loss" else np.log(losses)


def _step(epochs: Epochs, key: RowKey, row: AffineStep) -> AffineStep:
    pool = epochs.pool(key, row)
    if not pool:
        raise NotCoveredError("a step of the law needs at least one epoch of a run in its pool")
    before, after = epochs.before[pool], epochs.after[pool]
    residuals = after - (row.intercept + row.start_slope * epochs.maturity[pool] + row.retention * before)
    residuals.flags.writeable = False
    return replace(row, residuals=residuals, losses=(float(before.min()), float(before.max())))


def _lines(law: AffineLaw, run: tuple[Position, ...]) -> tuple[FloatArray, FloatArray]:
    """Shifts and retentions of the epochs of a run; NaN where the law has no step."""
    shifts, retentions = np.full(len(run), np.nan), np.full(len(run), np.nan)
    for k, item in enumerate(run):
        if (step := law.find(item)) is not None:
            shifts[k], retentions[k] = step.shift(item.start), step.retention
    return shifts, retentions
