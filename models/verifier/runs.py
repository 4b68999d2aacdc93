"""What a traced law records, arranged for the verifier: runs by their stages, rows with their pools, donors.

"What a traced law means" on the page of the verifier says it in words; nothing is shared with
`depl.models.problem.affine_law` but the recorded fields.
"""

import functools
import itertools
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeVar

import numpy as np

from depl.models.problem.traced_law import FittedJump, FittedStep, Stage, TracedLaw
from depl.models.verifier.laws import FloatArray

_Item = TypeVar("_Item")

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


class SeenRun(NamedTuple):
    """A recorded run: what it trained, losses on the scale of the law, and the number of its beginning."""

    pairs: tuple[Pair, ...]
    stages: tuple[SeenStage, ...]
    losses: FloatArray
    origin: int | None


class Donor(NamedTuple):
    """A run that lends, the first of its stages that can, and its residuals, one per epoch asked for."""

    run: SeenRun
    stage: SeenStage
    residuals: FloatArray


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
                pairs_of(run.stages),
                stages_of(pairs_of(run.stages)),
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
        self._epochs = self._columns()
        self._recorded: dict[tuple[Pair, bool, int, Pair | None], FittedStep | FittedJump] = {
            ((row.model, row.cluster), row.first, row.age, _before(row)): row for row in law.steps
        }
        self._own = {(pair, before) for pair, _, _, before in self._recorded if before is not None}
        for jump in law.jumps:
            before = jump.previous_model, jump.previous_cluster
            self._recorded[(jump.model, jump.cluster), False, 1, before] = jump
        self._rows: dict[FittedStep | FittedJump, SeenRow | None] = {}
        self._longest: dict[tuple[tuple[Pair, bool], Pair | None, int], Fraction | None] = {}
        self._lending: dict[tuple[SeenStage, int], list[Donor]] = {}

    def row(self, stage: SeenStage, age: int) -> SeenRow | None:
        """The row of an epoch of a stage; None if there is none, or no epoch in its pool."""
        alone = stage.before if age == 1 else self._alone(stage)
        row = self._recorded.get((stage.pair, stage.before is None, age, alone))
        if row is None:
            return None
        if row not in self._rows:
            self._rows[row] = self._with_pool(row)
        return self._rows[row]

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
        key = stage.kind, self._alone(stage), stage.start
        if key not in self._longest:
            lengths: dict[int, int] = {}
            for seen in (item for run in self.runs for item in run.stages):
                if seen.kind == stage.kind and key[1] in (None, seen.before):
                    lengths[seen.start] = max(lengths.get(seen.start, 0), seen.length)
            self._longest[key] = _hull(lengths, stage.start)
        return self._longest[key]

    def first_losses(self, pair: Pair) -> FloatArray:
        """The l(0) of the donors of one first epoch."""
        return np.array([donor.run.losses[0] for donor in self.donors(SeenStage(pair, None, 0, 1))])

    def donors(self, stage: SeenStage, first: int = 1) -> list[Donor]:
        """What lends residuals to a stage from age ``first`` on."""
        key = stage._replace(start=0), first
        if key not in self._lending:
            able = self._able(stage, first)
            alike = _balanced([donor for donor in able if donor.stage.before == stage.before])
            self._lending[key] = alike if len(alike) >= _ENOUGH_DONORS else _balanced(able)
        return self._lending[key]

    def _alone(self, stage: SeenStage) -> Pair | None:
        """The predecessor of a stage if it has rows of its own."""
        return stage.before if (stage.pair, stage.before) in self._own else None

    def _able(self, wanted: SeenStage, first: int) -> list[Donor]:
        """All runs with a stage that can lend."""
        tables: dict[Pair | None, FloatArray | None] = {}
        found = []
        for run in self.runs:
            for stage in run.stages:
                if stage.kind != wanted.kind or stage.length < wanted.length:
                    continue
                if stage.before not in tables:
                    tables[stage.before] = self._table(wanted._replace(before=stage.before), first)
                table = tables[stage.before]
                if table is not None:
                    intercept, slope, retention = table
                    losses = run.losses[stage.start + first - 1 : stage.start + wanted.length + 1]
                    fitted = intercept + slope * stage.switch + retention * losses[:-1]
                    found.append(Donor(run, stage, losses[1:] - fitted))
                    break
        return found

    def _table(self, stage: SeenStage, first: int) -> FloatArray | None:
        """a, b and rho of a stage from age ``first`` on, an epoch a column; None if a row is missing."""
        rows = [self.row(stage, age) for age in range(first, stage.length + 1)]
        found = [row[:3] for row in rows if row is not None]
        return np.array(found).T if len(found) == len(rows) else None

    def _with_pool(self, row: FittedStep | FittedJump) -> SeenRow | None:
        """A row with the epochs that belong to its pool."""
        ages, first, named = (1, 1), False, _before(row)
        if isinstance(row, FittedStep):
            ages, first = row.ages or (row.age, row.age), row.first
        tables = [
            table
            for (pair, before), table in self._epochs.items()
            if pair == (row.model, row.cluster) and (before is None) == first and named in (None, before)
        ]
        age, switch, earlier, later = np.concatenate([np.zeros((4, 0)), *tables], axis=1)
        pool = (age >= ages[0]) & (age <= ages[1])
        if not pool.any():
            return None
        fitted = row.intercept + row.start_slope * switch + row.retention * earlier
        ends = float(earlier[pool].min()), float(earlier[pool].max())
        return SeenRow(row.intercept, row.start_slope, row.retention, *ends, (later - fitted)[pool])

    def _columns(self) -> dict[tuple[Pair, Pair | None], FloatArray]:
        """All epochs by what is trained and was before: age, ln s, and the losses around it, shape (4, n)."""
        found = defaultdict[tuple[Pair, Pair | None], list[FloatArray]](list)
        for run in self.runs:
            for stage in run.stages:
                ages = np.arange(1, stage.length + 1)
                switches, after = np.full(stage.length, stage.switch), stage.start + ages
                rows = [ages, switches, run.losses[after - 1], run.losses[after]]
                found[stage.pair, stage.before].append(np.stack(rows))
        return {kind: np.concatenate(tables, axis=1) for kind, tables in found.items()}


@functools.lru_cache(maxsize=4)
def seen_in(law: TracedLaw) -> Seen:
    """What a law records, arranged once."""
    return Seen(law)


def pairs_of(stages: Iterable[Stage]) -> tuple[Pair, ...]:
    """What every epoch of recorded stages trained."""
    return tuple((stage.model, stage.cluster) for stage in stages for _ in range(stage.epochs))


def stages_of(pairs: Iterable[Pair]) -> tuple[SeenStage, ...]:
    """The stages of epochs, from what each of them trains."""
    found, before, start = list[SeenStage](), None, 0
    for pair, same in itertools.groupby(pairs):
        found.append(SeenStage(pair, before, start, len(list(same))))
        before, start = pair, start + found[-1].length
    return tuple(found)


def unlike(items: Iterable[_Item], origins: Iterable[int | None]) -> list[_Item]:
    """Those of some runs that do not share their first epochs with one before them."""
    seen, found = set[int](), list[_Item]()
    for item, origin in zip(items, origins, strict=True):
        if origin not in seen:
            found.append(item)
        if origin is not None:
            seen.add(origin)
    return found


def _balanced(able: list[Donor]) -> list[Donor]:
    """The first of every origin, and at most so many of every schedule, in the order of the runs."""
    able = unlike(able, [donor.run.origin for donor in able])
    counts = Counter(donor.run.stages for donor in able)
    if not counts:
        return []
    most = max(math.ceil(statistics.median(counts.values())), -(-_ENOUGH_DONORS // len(counts)))
    taken, chosen = Counter[tuple[SeenStage, ...]](), list[Donor]()
    for donor in able:
        taken[donor.run.stages] += 1
        if taken[donor.run.stages] <= most:
            chosen.append(donor)
    return chosen


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


def _hull(heights: dict[int, int], place: int) -> Fraction | None:
    """The highest of all chords between points at a place, and of a point there; None beside them."""
    before, behind = ([x for x in heights if sign * x <= sign * place] for sign in (1, -1))
    chords = [
        heights[x] + Fraction((heights[far] - heights[x]) * (place - x), max(far - x, 1))
        for x in before
        for far in behind
    ]
    return max(chords, default=None)
