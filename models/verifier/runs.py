"""What a traced law records, arranged for the verifier: runs by their stages, rows with their pools, donors.

"What a traced law means" on the page of the verifier says it in words; nothing is shared with
`depl.models.problem.affine_law` but the recorded fields.
"""

import functools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from depl.models.problem.traced_law import FittedJump, FittedStep, TracedLaw
from depl.models.verifier.laws import FloatArray

Pair = tuple[str, str]
"""A model and the cluster it is trained on."""

EDGE = 1e-9
"""How far, relatively, rounding may put a mean loss beyond the losses it is the mean of."""

_ENOUGH_DONORS = 20
"""Runs that lend residuals from which those after other predecessors are not asked: part of what a traced law
means, here for the second time on purpose."""

_NOTHING = -1
"""Code of what was trained before a first stage."""

_Able = list[tuple[int, Pair | None, FloatArray]]
"""Runs that can lend, by number: what came before their stage, and their residuals."""


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
    """A recorded run: its stages, its losses on the scale of the law, and the number of its beginning."""

    stages: tuple[SeenStage, ...]
    losses: FloatArray
    origin: int | None


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
        pairs = dict.fromkeys(stage.pair for run in self.runs for stage in run.stages)
        self._codes = {pair: code for code, pair in enumerate(pairs)}
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
        self._lending: dict[tuple[SeenStage, int], list[tuple[int, FloatArray]]] = {}

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
        donors = self.donors(SeenStage(pair, None, 0, 1))
        return np.array([self.runs[run].losses[0] for run, _ in donors])

    def donors(self, stage: SeenStage, first: int = 1) -> list[tuple[int, FloatArray]]:
        """The runs that lend residuals to a stage from age ``first`` on, and these, one per epoch."""
        key = stage._replace(start=0), first
        if key not in self._lending:
            able = self._able(stage, first)
            alike = self._balanced([item for item in able if item[1] == stage.before])
            chosen = alike if len(alike) >= _ENOUGH_DONORS else self._balanced(able)
            self._lending[key] = [(number, residuals) for number, _, residuals in chosen]
        return self._lending[key]

    def _alone(self, stage: SeenStage) -> Pair | None:
        """The predecessor of a stage if it has rows of its own."""
        return stage.before if (stage.pair, stage.before) in self._own else None

    def _able(self, wanted: SeenStage, first: int) -> _Able:
        """All runs with a stage that can lend."""
        tables: dict[Pair | None, FloatArray | None] = {}
        found = []
        for number, run in enumerate(self.runs):
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
                    found.append((number, stage.before, losses[1:] - fitted))
                    break
        return found

    def _table(self, stage: SeenStage, first: int) -> FloatArray | None:
        """a, b and rho of a stage from age ``first`` on, an epoch a column; None if a row is missing."""
        rows = [self.row(stage, age) for age in range(first, stage.length + 1)]
        found = [row[:3] for row in rows if row is not None]
        return np.array(found).T if len(found) == len(rows) else None

    def _balanced(self, able: _Able) -> _Able:
        """The first of every origin, and at most so many of every schedule, in the order of the runs."""
        left = unlike([self.runs[number].origin for number, *_ in able])
        able = [item for item, stays in zip(able, left, strict=True) if stays]
        counts = Counter(self.runs[number].stages for number, *_ in able)
        if not counts:
            return []
        most = max(math.ceil(statistics.median(counts.values())), -(-_ENOUGH_DONORS // len(counts)))
        taken = Counter[tuple[SeenStage, ...]]()
        chosen = []
        for item in able:
            schedule = self.runs[item[0]].stages
            taken[schedule] += 1
            if taken[schedule] <= most:
                chosen.append(item)
        return chosen

    def _with_pool(self, row: FittedStep | FittedJump) -> SeenRow | None:
        """A row with the epochs that belong to its pool; no pair has the code -2."""
        pair, before, age, *_ = self._epochs
        least, greatest = (1, 1) if isinstance(row, FittedJump) else row.ages or (row.age, row.age)
        first, named = not isinstance(row, FittedJump) and row.first, _before(row)
        chosen = (pair == self._codes.get((row.model, row.cluster), -2)) & ((before == _NOTHING) == first)
        chosen &= (age >= least) & (age <= greatest)
        if named is not None:
            chosen &= before == self._codes.get(named, -2)
        if not chosen.any():
            return None
        switch, earlier, later = self._epochs[3:, chosen]
        fitted = row.intercept + row.start_slope * switch + row.retention * earlier
        ends = float(earlier.min()), float(earlier.max())
        return SeenRow(row.intercept, row.start_slope, row.retention, *ends, later - fitted)

    def _columns(self) -> FloatArray:
        """All epochs of all runs: codes of what is trained and was before, age, ln s, losses around it."""
        stages = [stage for run in self.runs for stage in run.stages]
        lengths = [stage.length for stage in stages]
        of_stages = [
            [self._codes[stage.pair] for stage in stages],
            [_NOTHING if stage.before is None else self._codes[stage.before] for stage in stages],
            [stage.switch for stage in stages],
        ]
        pair, before, switch = np.repeat(np.array(of_stages, dtype=float), lengths, axis=1)
        ages = np.concatenate([np.arange(1, length + 1) for length in lengths])
        earlier = np.concatenate([run.losses[:-1] for run in self.runs])
        later = np.concatenate([run.losses[1:] for run in self.runs])
        return np.stack([pair, before, ages, switch, earlier, later])


@functools.lru_cache(maxsize=4)
def seen_in(law: TracedLaw) -> Seen:
    """What a law records, arranged once."""
    return Seen(law)


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
