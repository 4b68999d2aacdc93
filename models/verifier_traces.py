r"""The loss of an instance with a traced law, worked out a second time from what the law records.

The law (`depl.models.memory.document.TracedLaw`) records runs, by their stages and losses, and the rows of an
affine recursion. A *stage* of a schedule ends where the model or its cluster changes. Epoch k, of age t in a
stage that begins after s epochs, obeys

.. code-block:: text

    l(k) = a + b ln s + rho l(k-1) + e,      the term with s absent where s = 0,

of the loss or, if the law's scale says so, of its logarithm in the place of l; all that follows is on this
scale, while recorded losses are losses. The coefficients are those of a row: for t = 1 of a later stage, that
of what was trained before and after; of a first stage, that of (model, cluster, t); else of
(model, cluster, t) after this predecessor, if any age has such a row, and after all others if not. The
residual of an observed epoch is what the row of its own place leaves of its loss.

*Per run.* If at least 19 runs begin with the whole schedule, l(K) is what one of them had after K epochs, all
equally likely, and so is the loss of a run unlike all seen, where it is given. Otherwise every stage draws a
donor of its own, which lends the residuals of all epochs of the stage, and in the first stage its l(0).
Donors of a stage of L epochs are runs with such a stage (model, cluster, first or not) of at least L epochs,
L of them with residuals; those with the same predecessor alone, if that leaves at least 20. They are
*balanced*: every whole schedule of a run lends at most as many runs as the median schedule does, or as many
as it takes for 20 in all, the first in the order of the runs.

*Independent.* Every epoch draws a residual from the pool of its row, and epoch 1 also an l(0), from the
donors of a first stage of one epoch. The pool holds the epochs of the ages that the row names, jumps apart,
after its predecessor, or after any if it names none; that of a jump holds the jumps from its predecessor, or
from all if the row says so.

What plans as such deviate by is one more draw, unless 19 runs went through the schedule.

*Support.* The loss is not defined where a row is missing, a stage ends above the convex hull of the pairs
(epochs before it, greatest length) that were seen or begins outside them, fewer than 6 donors are left, or
the mean loss leaves the losses that a row was fitted to. Seen are the stages after this predecessor where the
law has rows for it alone, else those after any.

*Scenarios.* In scenarios every increment is the quantile at one number of their stream. Per run, that of a
stage belongs to its first epoch and model, and that of whole runs to the first of all; independent, that of
an epoch to the epoch and its model, and that of l(0) to epoch 1 and the pair of the first model with itself.
What plans deviate by belongs to epoch 2 and the pair of the last model with itself.

None of this is shared with `depl.models.memory`: the loss is followed forwards here, epoch by epoch, and
neither suffix weights nor products of them occur.
"""

import functools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.laws import Empirical
from depl.models.memory.document import FittedJump, FittedStep, TracedLaw
from depl.models.verifier_laws import FloatArray, Increment, decimal

Pair = tuple[str, str]
"""A model and the cluster it is trained on."""

_WHOLE_RUNS = 19
_ENOUGH_DONORS = 20
_FEWEST_DONORS = 6
_EDGE = 1e-9
"""How far, relatively, rounding may put a mean loss beyond the losses it is the mean of."""
_NOTHING = 1e-60


class Number(NamedTuple):
    """One number per scenario: of a model at an epoch, or of a pair of models (before, after)."""

    epoch: int
    models: tuple[str, ...]


class TracedLoss(NamedTuple):
    """The final loss of a schedule, on the scale of the law.

    Attributes
    ----------
    certain : Fraction
        What is not random of it [loss].
    increments : tuple of Increment
        Independent, all discrete.
    outside : (int, str) or None
        The first epoch found for which the law has no support, and why; nothing else is then known.
    support : str
        What lends the residuals, in words.
    numbers : tuple of Number
        For every increment the number of a scenario at which its quantile is taken.
    """

    certain: Fraction
    increments: tuple[Increment, ...]
    outside: tuple[int, str] | None
    support: str
    numbers: tuple[Number, ...] = ()


class _Stage(NamedTuple):
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
class _Run:
    stages: tuple[_Stage, ...]
    losses: FloatArray


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


class _Row(NamedTuple):
    """A row of the law: a, b, rho, and the losses (least and greatest) and residuals of its pool."""

    intercept: float
    slope: float
    retention: float
    least: float
    greatest: float
    residuals: FloatArray

    def mean_after(self, switch: float, loss: float) -> float:
        return self.intercept + self.slope * switch + self.retention * loss


def traced_loss(law: TracedLaw, schedule: Sequence[Pair]) -> TracedLoss:
    """The final loss after the epochs of a schedule.

    Parameters
    ----------
    law : TracedLaw
        Only its recorded fields are read.
    schedule : sequence of (str, str)
        Model and cluster of epochs 1, ..., K; at least one.
    """
    seen = _seen(law)
    stages = _stages([(pair, len(list(same))) for pair, same in groupby(schedule)])
    outside = _outside(seen, stages)
    if outside is not None:
        return TracedLoss(Fraction(0), (), outside, "")
    whole = [run for run in seen.runs if _begins_with(run, stages)]
    together = len(whole) >= _WHOLE_RUNS
    if law.residuals == "per_run" and together:
        return _of_whole_runs(seen, whole, schedule)
    found = _per_stage(seen, stages) if law.residuals == "per_run" else _per_epoch(seen, stages)
    if law.deviations and not together:
        increments = *found.increments, _draw(1.0, np.array(law.deviations))
        last = schedule[-1][0]
        found = found._replace(increments=increments, numbers=(*found.numbers, Number(2, (last, last))))
    return found


def _of_whole_runs(seen: "_Seen", runs: Sequence[_Run], schedule: Sequence[Pair]) -> TracedLoss:
    losses = np.append([run.losses[len(schedule)] for run in runs], seen.beside)
    number = Number(1, (schedule[0][0],))
    support = f"{len(runs)} runs went through the whole plan"
    return TracedLoss(Fraction(0), (_draw(1.0, losses),), None, support, (number,))


def _per_stage(seen: "_Seen", stages: Sequence[_Stage]) -> TracedLoss:
    """One donor per stage: what it adds is followed to the end as one array per stage."""
    certain, lent, fewest = 0.0, list[FloatArray](), len(seen.runs)
    for stage in stages:
        donors = seen.donors(stage)
        fewest = min(fewest, len(donors))
        first = stage.before is None
        lent.append(np.array([seen.runs[run].losses[0] if first else 0.0 for run, _ in donors]))
        residuals = np.array([found for _, found in donors])
        for age in range(1, stage.length + 1):
            row = seen.known(stage, age)
            certain = row.mean_after(stage.switch, certain)
            lent = [row.retention * gains for gains in lent]
            lent[-1] = lent[-1] + residuals[:, age - 1]
    increments = tuple(_draw(1.0, gains) for gains in lent)
    numbers = tuple(Number(stage.start + 1, (stage.pair[0],)) for stage in stages)
    return TracedLoss(decimal(certain), increments, None, f"at least {fewest} runs lend every stage", numbers)


def _per_epoch(seen: "_Seen", stages: Sequence[_Stage]) -> TracedLoss:
    """One residual per epoch: what is left of each at the end is its weight."""
    weights, drawn = [1.0], [seen.first_losses(stages[0].pair)]
    first = stages[0].pair[0]
    certain, numbers = 0.0, [Number(1, (first, first))]
    for stage in stages:
        for age in range(1, stage.length + 1):
            row = seen.known(stage, age)
            certain = row.mean_after(stage.switch, certain)
            weights = [*(row.retention * weight for weight in weights), 1.0]
            drawn.append(row.residuals)
            numbers.append(Number(stage.start + age, (stage.pair[0],)))
    increments = tuple(_draw(weight, values) for weight, values in zip(weights, drawn, strict=True))
    support = f"at least {min(len(values) for values in drawn)} residuals for every epoch"
    return TracedLoss(decimal(certain), increments, None, support, tuple(numbers))


def _draw(weight: float, values: FloatArray) -> Increment:
    """One of ``values``, all equally likely, times ``weight``."""
    noticeable = np.where(np.abs(values) < _NOTHING, 0.0, values)
    return Increment(decimal(weight), Empirical(values=tuple(noticeable.tolist())))


def _outside(seen: "_Seen", stages: Sequence[_Stage]) -> tuple[int, str] | None:
    """The first reason found, stage by stage and then along the mean loss."""
    for stage in stages:
        name = f"{stage.pair[0]!r} on {stage.pair[1]!r}"
        for age in range(1, stage.length + 1):
            if seen.row(stage, age) is None:
                after = "" if stage.before is None else f" after {stage.before[0]!r}"
                return stage.start + age, f"the law has no row for {name}{after} at age {age}"
        longest = seen.longest(stage)
        if longest is None:
            return stage.start + 1, f"no run began {name} at a switch epoch like {stage.start}"
        if stage.length > longest:
            reached = math.floor(longest)
            message = f"no run trained {name} beyond age {reached} from a switch epoch like {stage.start}"
            return stage.start + reached + 1, message
        donors = len(seen.donors(stage))
        if donors < _FEWEST_DONORS:
            message = f"{donors} runs can lend {name} its residuals, at least {_FEWEST_DONORS} must"
            return stage.start + stage.length, message
    return _strays(seen, stages)


def _strays(seen: "_Seen", stages: Sequence[_Stage]) -> tuple[int, str] | None:
    """Where the mean loss leaves the losses before the epochs of a pool, but for rounding."""
    loss = math.fsum(seen.first_losses(stages[0].pair)) / len(seen.first_losses(stages[0].pair))
    for stage in stages:
        for age in range(1, stage.length + 1):
            row = seen.known(stage, age)
            slack = _EDGE * max(abs(row.least), abs(row.greatest))
            if not row.least - slack <= loss <= row.greatest + slack:
                mean = f"a mean {seen.told} of {loss:.6g}"
                message = f"{mean} where {row.least:.6g} to {row.greatest:.6g} were seen"
                return stage.start + age, message
            loss = row.mean_after(stage.switch, loss)
    return None


class _Seen:
    """The runs and rows of a law, arranged for look-up; all else is worked out when it is first asked for.

    Losses are on the scale of the law, ``told`` in words; ``beside`` holds that of a run unlike all seen.
    """

    def __init__(self, law: TracedLaw) -> None:
        self.told = "loss" if law.scale == "loss" else "logarithm of the loss"
        self.beside = _scaled(law, [] if law.unseen_loss is None else [law.unseen_loss])
        self.runs = tuple(
            _Run(
                _stages([((part.model, part.cluster), part.epochs) for part in run.stages]),
                _scaled(law, run.losses),
            )
            for run in law.runs
        )
        self._codes = {
            pair: code for code, pair in enumerate({s.pair for run in self.runs for s in run.stages})
        }
        self._epochs = self._columns()
        self._steps = {((row.model, row.cluster), row.first, row.age, _before(row)): row for row in law.steps}
        self._own = {(pair, before) for pair, _, _, before in self._steps if before is not None}
        self._jumps = {
            ((row.previous_model, row.previous_cluster), (row.model, row.cluster)): row for row in law.jumps
        }
        self._known: dict[FittedStep | FittedJump, _Row | None] = {}
        self._tables: dict[_Stage, FloatArray | None] = {}
        self._lending: dict[_Stage, list[tuple[int, FloatArray]]] = {}

    def row(self, stage: _Stage, age: int) -> _Row | None:
        """The row of an epoch of a stage; None if there is none, or no epoch in its pool."""
        row = self._recorded(stage, age)
        if row is None:
            return None
        if row not in self._known:
            self._known[row] = self._with_pool(row)
        return self._known[row]

    def known(self, stage: _Stage, age: int) -> _Row:
        """The same where it is known that there is one."""
        found = self.row(stage, age)
        if found is None:
            raise KeyError(stage, age)
        return found

    def longest(self, stage: _Stage) -> Fraction | None:
        """Upper boundary, at the start of the stage, of the convex hull of (start, length) of those seen.

        If there are rows for this predecessor alone, only stages after it are seen.
        """
        lengths: dict[int, int] = {}
        alone = (stage.pair, stage.before) in self._own
        for run in self.runs:
            for seen in run.stages:
                if seen.kind == stage.kind and (not alone or seen.before == stage.before):
                    lengths[seen.start] = max(lengths.get(seen.start, 0), seen.length)
        return _hull(sorted(lengths.items()), stage.start)

    def first_losses(self, pair: Pair) -> FloatArray:
        """The l(0) of the donors of one first epoch."""
        donors = self.donors(_Stage(pair, None, 0, 1))
        return np.array([self.runs[run].losses[0] for run, _ in donors])

    def donors(self, stage: _Stage) -> list[tuple[int, FloatArray]]:
        """The runs that lend residuals to a stage, and these residuals, one per epoch."""
        key = stage._replace(start=0)
        if key not in self._lending:
            able = [
                (number, *found)
                for number, run in enumerate(self.runs)
                if (found := self._lent_by(run, stage)) is not None
            ]
            alike = self._balanced([item for item in able if item[1] == stage.before])
            chosen = alike if len(alike) >= _ENOUGH_DONORS else self._balanced(able)
            self._lending[key] = [(number, residuals) for number, _, residuals in chosen]
        return self._lending[key]

    def _lent_by(self, run: _Run, wanted: _Stage) -> tuple[Pair | None, FloatArray] | None:
        """What came before the first stage of a run that can lend, and its residuals."""
        for stage in run.stages:
            if stage.kind == wanted.kind and stage.length >= wanted.length:
                table = self._table(stage._replace(start=0, length=wanted.length))
                if table is not None:
                    intercept, slope, retention = table
                    earlier = run.losses[stage.start : stage.start + wanted.length]
                    later = run.losses[stage.start + 1 : stage.start + wanted.length + 1]
                    return stage.before, later - (intercept + slope * stage.switch + retention * earlier)
        return None

    def _table(self, stage: _Stage) -> FloatArray | None:
        """a, b and rho of all epochs of a stage, shape (3, length); None if a row is missing."""
        if stage not in self._tables:
            rows = [self.row(stage, age) for age in range(1, stage.length + 1)]
            found = [(row.intercept, row.slope, row.retention) for row in rows if row is not None]
            self._tables[stage] = np.array(found).T if len(found) == len(rows) else None
        return self._tables[stage]

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

    def _recorded(self, stage: _Stage, age: int) -> FittedStep | FittedJump | None:
        before = stage.before
        if before is None:
            return self._steps.get((stage.pair, True, age, None))
        if age == 1:
            return self._jumps.get((before, stage.pair))
        own = before if (stage.pair, before) in self._own else None
        return self._steps.get((stage.pair, False, age, own))

    def _with_pool(self, row: FittedStep | FittedJump) -> _Row | None:
        pool = self._epochs.some(self._pool(row))
        if not pool.age.size:
            return None
        fitted = row.intercept + row.start_slope * pool.switch + row.retention * pool.earlier
        ends = float(pool.earlier.min()), float(pool.earlier.max())
        return _Row(row.intercept, row.start_slope, row.retention, *ends, pool.later - fitted)

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
def _seen(law: TracedLaw) -> _Seen:
    return _Seen(law)


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


def _stages(parts: Iterable[tuple[Pair, int]]) -> tuple[_Stage, ...]:
    found: list[_Stage] = []
    before, start = None, 0
    for pair, length in parts:
        found.append(_Stage(pair, before, start, length))
        before, start = pair, start + length
    return tuple(found)


def _begins_with(run: _Run, stages: Sequence[_Stage]) -> bool:
    """Whether the first epochs of a run are those of a schedule: all its stages, the last one at least."""
    *full, last = stages
    begun = run.stages[: len(stages)]
    if len(begun) < len(stages) or list(begun[:-1]) != full:
        return False
    return begun[-1].pair == last.pair and begun[-1].length >= last.length


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
