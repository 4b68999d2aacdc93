"""What a traced law records, arranged for the verifier: runs by their stages, rows with their pools, donors.

`depl.models.verifier.traces` says what everything means; nothing is shared with
`depl.models.problem.affine_law` but the recorded fields.
"""

import functools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.problem.traced_law import FittedJump, FittedStep, TracedLaw
from depl.models.verifier.laws import FloatArray

Pair = tuple[str, str]
"""A model and the cluster it is trained on."""

EDGE = 1e-9
"""How far, relatively, rounding may put a mean loss beyond the losses it is the mean of."""

_ENOUGH_DONORS = 20
"""Runs that lend residuals from which those after other predecessors are not asked: part of what a traced law
means, here for the second time on purpose."""


class SeenStage(NamedTuple):
    """``length`` epochs of one model on one cluster, after ``start`` others that ended with ``before``."""

    pair: Pair
    before: Pair | None
    start: int
    length: int

    @property
    def switch(self) -> float:
        """What b is multiplied with: ln s."""
        return math.log(self.start) if self.start > 0 else 0.0

    @property
    def kind(self) -> tuple[Pair, bool]:
        """What is common to stages that lend each other residuals."""
        return self.pair, self.before is None


@dataclass(frozen=True, eq=False)
class SeenRun:
    """A recorded run: its stages, its losses on the scale of the law, and the number of its beginning."""

    stages: tuple[SeenStage, ...]
    losses: FloatArray
    origin: int | None = None


@dataclass(frozen=True, eq=False)
class _Epochs:
    """All epochs of all runs in columns: what is trained and was before, age, ln s, loss before and after."""

    pair: NDArray[np.int64]
    before: NDArray[np.int64]
    age: NDArray[np.int64]
    switch: FloatArray
    earlier: FloatArray
    later: FloatArray

    def some(self, chosen: NDArray[np.bool_]) -> "_Epochs":
        return _Epochs(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


class SeenRow(NamedTuple):
    """A row of the law: a, b, rho, and the losses (least and greatest) and residuals of its pool."""

    intercept: float
    slope: float
    retention: float
    least: float
    greatest: float
    residuals: FloatArray

    def mean_after(self, switch: float, loss: float) -> float:
        """The mean loss after the epoch, from that before it and ln s."""
        return self.intercept + self.slope * switch + self.retention * loss


class Seen:
    """The runs and rows of a law, arranged for look-up; all else is worked out when it is first asked for.

    Losses are on the scale of the law, ``told`` in words. An l(0) that was not observed is the worst of all;
    rows of the first stages in ``begun_blind`` multiply it by 0.
    """

    def __init__(self, law: TracedLaw) -> None:
        self.told = "loss" if law.scale == "loss" else "logarithm of the loss"
        worst = [max(max(run.losses) for run in law.runs)]
        self.runs = tuple(
            SeenRun(
                stages_of([((part.model, part.cluster), part.epochs) for part in run.stages]),
                _scaled(law, [*worst * run.first_epoch, *run.losses]),
                run.origin,
            )
            for run in law.runs
        )
        self.begun_blind = {
            (run.stages[0].model, run.stages[0].cluster) for run in law.runs if run.first_epoch
        }
        self.least = min(float(run.losses.min()) for run in self.runs)
        self.greatest = max(float(run.losses.max()) for run in self.runs)
        self.slack = EDGE * max(abs(self.least), abs(self.greatest))
        self._codes = {
            pair: code for code, pair in enumerate({s.pair for run in self.runs for s in run.stages})
        }
        self._epochs = self._columns()
        self._steps = {((row.model, row.cluster), row.first, row.age, _before(row)): row for row in law.steps}
        self._own = {(pair, before) for pair, _, _, before in self._steps if before is not None}
        self._jumps = {
            ((row.previous_model, row.previous_cluster), (row.model, row.cluster)): row for row in law.jumps
        }
        self._known: dict[FittedStep | FittedJump, SeenRow | None] = {}
        self._tables: dict[tuple[SeenStage, int], FloatArray | None] = {}
        self._lengths: dict[tuple[tuple[Pair, bool], Pair | None], dict[int, int]] = {}
        self._lending: dict[tuple[SeenStage, int], list[tuple[int, FloatArray]]] = {}

    def row(self, stage: SeenStage, age: int) -> SeenRow | None:
        """The row of an epoch of a stage; None if there is none, or no epoch in its pool."""
        row = self._recorded(stage, age)
        if row is None:
            return None
        if row not in self._known:
            self._known[row] = self._with_pool(row)
        return self._known[row]

    def known(self, stage: SeenStage, age: int) -> SeenRow:
        """The same where it is known that there is one."""
        found = self.row(stage, age)
        if found is None:
            raise KeyError(stage, age)
        return found

    def longest(self, stage: SeenStage) -> Fraction | None:
        """Upper boundary, at the start of the stage, of the convex hull of (start, length) of those seen.

        If there are rows for this predecessor alone, only stages after it are seen.
        """
        alone = stage.before if (stage.pair, stage.before) in self._own else None
        key = stage.kind, alone
        if key not in self._lengths:
            lengths = self._lengths[key] = {}
            for run in self.runs:
                for seen in run.stages:
                    if seen.kind == stage.kind and alone in (None, seen.before):
                        lengths[seen.start] = max(lengths.get(seen.start, 0), seen.length)
        return _hull(sorted(self._lengths[key].items()), stage.start)

    def first_losses(self, pair: Pair) -> FloatArray:
        """The l(0) of the donors of one first epoch."""
        donors = self.donors(SeenStage(pair, None, 0, 1))
        return np.array([self.runs[run].losses[0] for run, _ in donors])

    def donors(self, stage: SeenStage, first: int = 1) -> list[tuple[int, FloatArray]]:
        """The runs that lend residuals to a stage from age ``first`` on, and these, one per epoch."""
        key = stage._replace(start=0), first
        if key not in self._lending:
            able = [
                (number, *found)
                for number, run in enumerate(self.runs)
                if (found := self._lent_by(run, stage, first)) is not None
            ]
            alike = self._balanced(self._apart([item for item in able if item[1] == stage.before]))
            chosen = alike if len(alike) >= _ENOUGH_DONORS else self._balanced(self._apart(able))
            self._lending[key] = [(number, residuals) for number, _, residuals in chosen]
        return self._lending[key]

    def _lent_by(self, run: SeenRun, wanted: SeenStage, first: int) -> tuple[Pair | None, FloatArray] | None:
        """What came before the first stage of a run that can lend, and its residuals."""
        for stage in run.stages:
            if stage.kind == wanted.kind and stage.length >= wanted.length:
                table = self._table(stage._replace(start=0, length=wanted.length), first)
                if table is not None:
                    intercept, slope, retention = table
                    earlier = run.losses[stage.start + first - 1 : stage.start + wanted.length]
                    later = run.losses[stage.start + first : stage.start + wanted.length + 1]
                    return stage.before, later - (intercept + slope * stage.switch + retention * earlier)
        return None

    def _table(self, stage: SeenStage, first: int) -> FloatArray | None:
        """a, b and rho of a stage from age ``first`` on, an epoch a column; None if a row is missing."""
        if (stage, first) not in self._tables:
            rows = [self.row(stage, age) for age in range(first, stage.length + 1)]
            found = [(row.intercept, row.slope, row.retention) for row in rows if row is not None]
            self._tables[stage, first] = np.array(found).T if len(found) == len(rows) else None
        return self._tables[stage, first]

    def _apart(
        self, able: list[tuple[int, Pair | None, FloatArray]]
    ) -> list[tuple[int, Pair | None, FloatArray]]:
        """The first of every origin."""
        left = unlike([self.runs[number].origin for number, _, _ in able])
        return [item for item, stays in zip(able, left, strict=True) if stays]

    def _balanced(
        self, able: list[tuple[int, Pair | None, FloatArray]]
    ) -> list[tuple[int, Pair | None, FloatArray]]:
        """At most so many of every whole schedule, the first in the order of the runs."""
        counts = Counter(self.runs[number].stages for number, _, _ in able)
        if not counts:
            return []
        most = max(math.ceil(statistics.median(counts.values())), -(-_ENOUGH_DONORS // len(counts)))
        left = Counter(dict.fromkeys(counts, most))
        chosen = []
        for item in able:
            schedule = self.runs[item[0]].stages
            if left[schedule]:
                left[schedule] -= 1
                chosen.append(item)
        return chosen

    def _recorded(self, stage: SeenStage, age: int) -> FittedStep | FittedJump | None:
        before = stage.before
        if before is None:
            return self._steps.get((stage.pair, True, age, None))
        if age == 1:
            return self._jumps.get((before, stage.pair))
        own = before if (stage.pair, before) in self._own else None
        return self._steps.get((stage.pair, False, age, own))

    def _with_pool(self, row: FittedStep | FittedJump) -> SeenRow | None:
        pool = self._epochs.some(self._pool(row))
        if not pool.age.size:
            return None
        fitted = row.intercept + row.start_slope * pool.switch + row.retention * pool.earlier
        ends = float(pool.earlier.min()), float(pool.earlier.max())
        return SeenRow(row.intercept, row.start_slope, row.retention, *ends, pool.later - fitted)

    def _pool(self, row: FittedStep | FittedJump) -> NDArray[np.bool_]:
        """Which epochs belong to the pool of a row; code -1 stands for nothing before, -2 for a stranger."""
        epochs, before = self._epochs, _before(row)
        chosen = epochs.pair == self._codes.get((row.model, row.cluster), -2)
        if isinstance(row, FittedJump):
            chosen &= (epochs.age == 1) & (epochs.before != -1)
        else:
            least, greatest = row.ages or (row.age, row.age)
            chosen &= (epochs.age >= least) & (epochs.age <= greatest)
            chosen &= (epochs.before == -1) if row.first else (epochs.before != -1) & (epochs.age > 1)
        if before is not None:
            chosen &= epochs.before == self._codes.get(before, -2)
        return np.asarray(chosen)

    def _columns(self) -> _Epochs:
        stages = [stage for run in self.runs for stage in run.stages]
        lengths = [stage.length for stage in stages]
        before = [-1 if stage.before is None else self._codes[stage.before] for stage in stages]
        return _Epochs(
            np.repeat([self._codes[stage.pair] for stage in stages], lengths),
            np.repeat(before, lengths),
            np.concatenate([np.arange(1, length + 1) for length in lengths]),
            np.repeat([stage.switch for stage in stages], lengths),
            np.concatenate([run.losses[:-1] for run in self.runs]),
            np.concatenate([run.losses[1:] for run in self.runs]),
        )


@functools.lru_cache(maxsize=4)
def seen_in(law: TracedLaw) -> Seen:
    """What a law records, arranged once."""
    return Seen(law)


def _scaled(law: TracedLaw, losses: Sequence[float]) -> FloatArray:
    """Losses or, if the law is one of them, their logarithms."""
    found = np.array(losses, dtype=float)
    return found if law.scale == "loss" else np.log(found)


def _before(row: FittedStep | FittedJump) -> Pair | None:
    """What came before the epochs in the pool of a row, if it names it; a pooled jump takes all."""
    if row.previous_model is None or row.previous_cluster is None:
        return None
    pooled = isinstance(row, FittedJump) and row.pooled
    return None if pooled else (row.previous_model, row.previous_cluster)


def stages_of(parts: Iterable[tuple[Pair, int]]) -> tuple[SeenStage, ...]:
    """Stages from what is trained in each and for how many epochs."""
    found: list[SeenStage] = []
    before, start = None, 0
    for pair, length in parts:
        found.append(SeenStage(pair, before, start, length))
        before, start = pair, start + length
    return tuple(found)


def unlike(origins: Sequence[int | None]) -> list[bool]:
    """Which of some runs do not share their first epochs with one before them."""
    first = {origin: place for place, origin in reversed(list(enumerate(origins)))}
    return [origin is None or first[origin] == place for place, origin in enumerate(origins)]


def _hull(points: Sequence[tuple[int, int]], place: int) -> Fraction | None:
    """Height of the upper convex hull of points, in order of the first coordinate; None beside them."""
    upper: list[tuple[int, int]] = []
    for point in points:
        while len(upper) > 1 and _turn(upper[-2], upper[-1], point) >= 0:
            upper.pop()
        upper.append(point)
    for x, y in upper:
        if x == place:
            return Fraction(y)
    for (x, y), (far, high) in pairwise(upper):
        if x < place < far:
            return y + Fraction((high - y) * (place - x), far - x)
    return None


def _turn(one: tuple[int, int], two: tuple[int, int], three: tuple[int, int]) -> int:
    """Positive if three points turn left."""
    return (two[0] - one[0]) * (three[1] - one[1]) - (two[1] - one[1]) * (three[0] - one[0])
