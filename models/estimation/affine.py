r"""The affine law of the loss, fitted to traces: training that forgets.

The paper's increments are independent (Sec. III); those of real training are not (erratum E14): a loss that
is high by chance falls faster. The affine law

    l(k) = a + b s + retention l(k-1) + e

has coefficients of its own for every model on its cluster and every epoch t since it took over (the *age*); s
is the switch epoch, the number of epochs before it took over. The epoch right after a switch (t = 1, the jump
and the first training together) has a law of its own for every predecessor; so has every epoch of a first
model, which has no predecessor and s = 0.

*Fit.* Least squares in closed form. The retention is constrained to [0, 1): the sum of squares, minimised
over a and b, is a parabola in the retention, so the constrained optimum is the free one moved to the nearer
end. At 0 or above, a larger loss before an epoch never means a smaller one after it: first-order stochastic
dominance is kept, which the solvers' pruning stands on. Below 1 the past is forgotten.

*Pooling.* Ages t >= 2 of a model borrow from their neighbours: the window [t - h, t + h], within ages from 2
to the greatest, is the smallest with at least `LEAST` observations. Ages t = 1 never borrow from other ages;
a jump whose pair of models has fewer than `LEAST_JUMPS` runs borrows from the other predecessors of its
model. Both rules only count the runs that are given: no loss, and no run that is held out, has a say. The
switch epoch is a regressor wherever it varies in what is pooled.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.epochs import LossStep, Term
from depl.models.errors import InvalidInputError, NotCoveredError
from depl.models.laws import Empirical, FloatArray
from depl.models.traces.table import Schedule, Traces

Trained = tuple[str, str]
"""Model and cluster of an epoch."""

LEAST = 40
"""Fewest observations that the law of an age t >= 2 is fitted to, neighbouring ages included."""

LEAST_JUMPS = 15
"""Fewest runs for which a pair of models has a jump law of its own."""

FEWEST = 6
"""With fewer observations than this nothing is fitted: three coefficients would follow the noise."""

LARGEST_RETENTION = 1.0 - 2.0**-20


class Position(NamedTuple):
    """What decides the law of an epoch.

    Attributes
    ----------
    trained : (str, str)
        Model and cluster.
    previous : (str, str) or None
        Those before the last switch; None in a first stage.
    age : int
        Epochs since the switch, this one included, from 1.
    start : int
        Epochs before the switch.
    """

    trained: Trained
    previous: Trained | None
    age: int
    start: int


@dataclass(frozen=True, eq=False)
class AffineStep:
    """The law of one epoch: l(k) = intercept + start_slope * s + retention * l(k-1) + e.

    Attributes
    ----------
    intercept : float
        [loss]
    start_slope : float
        [loss per epoch]; 0 where the switch epoch does not vary.
    retention : float
        In [0, 1).
    residuals : float array (n,)
        What e was in the pooled observations [loss]; their mean is 0.
    runs : int
        How many runs they are from.
    ages : (int, int)
        Least and greatest age that is pooled.
    losses : (float, float)
        Least and greatest l(k-1) among them [loss].
    """

    intercept: float
    start_slope: float
    retention: float
    residuals: FloatArray
    runs: int
    ages: tuple[int, int]
    losses: tuple[float, float]

    def shift(self, start: int) -> float:
        """a + b s [loss]."""
        return self.intercept + self.start_slope * start

    def loss_step(self, start: int) -> LossStep:
        """As the step that evaluators and solvers consume, residuals independent of all others."""
        term = Term(1.0, Empirical(values=tuple(self.residuals.tolist())))
        return LossStep(self.retention, self.shift(start), (term,))


@dataclass(frozen=True, eq=False)
class RunRecord:
    """One run as the law sees it: what stays together when residuals are kept per run.

    Attributes
    ----------
    positions : tuple of Position
        Of epochs 1, ..., K.
    losses : float array (K + 1,)
        l(0), ..., l(K) [loss].
    residuals : float array (K,)
        e of epochs 1, ..., K [loss]; NaN where too few runs were there for a law.
    """

    positions: tuple[Position, ...]
    losses: FloatArray
    residuals: FloatArray


@dataclass(frozen=True, eq=False)
class AffineLaw:
    """All steps that were fitted to a set of traces, and the runs themselves.

    Attributes
    ----------
    steps : mapping of (Trained, bool, int) to AffineStep
        By model and cluster, whether it is a first stage, and age; ages from 2, and 1 in first stages.
    jumps : mapping of (Trained, Trained) to AffineStep
        The first epoch after a switch, by what was trained before and after.
    records : tuple of RunRecord
        In the order of the traces.
    """

    steps: Mapping[tuple[Trained, bool, int], AffineStep]
    jumps: Mapping[tuple[Trained, Trained], AffineStep]
    records: tuple[RunRecord, ...]

    def find(self, position: Position) -> AffineStep | None:
        """The law of an epoch, None if too few runs were there to fit one."""
        if position.previous is not None and position.age == 1:
            return self.jumps.get((position.previous, position.trained))
        return self.steps.get((position.trained, position.previous is None, position.age))

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


def positions(schedule: Schedule) -> tuple[Position, ...]:
    """Where epochs 1, 2, ... of a schedule stand; a stage ends where the model or its cluster changes."""
    found: list[Position] = []
    for trained in schedule:
        last = found[-1] if found else None
        if last is None:
            found.append(Position(trained, None, 1, 0))
        elif last.trained == trained:
            found.append(last._replace(age=last.age + 1))
        else:
            found.append(Position(trained, last.trained, 1, last.start + last.age))
    return tuple(found)


def told(position: Position) -> str:
    """A position in words."""
    model, cluster = position.trained
    after = f" after {position.previous[0]!r}" if position.previous else ""
    return f"at {model!r} on {cluster!r}{after}, epoch {position.age} since epoch {position.start}"


def fit_affine(
    traces: Traces, metric: str = "loss", least: int = LEAST, least_jumps: int = LEAST_JUMPS
) -> AffineLaw:
    """Fit the affine law to traces.

    Parameters
    ----------
    metric : str
        ``loss``, or ``error_rate`` in its place.
    least, least_jumps : int
        As `LEAST` and `LEAST_JUMPS`.

    Raises
    ------
    InvalidInputError
        If the traces do not hold the metric, a run has no epoch 0 or none after it, or ``least`` or
        ``least_jumps`` is below `FEWEST`.
    """
    if min(least, least_jumps) < FEWEST:
        raise InvalidInputError(f"pools of fewer than {FEWEST} observations are too small")
    losses = _losses(traces, metric)
    places = [positions(schedule) for schedule in traces.schedules]
    seen = _observed(places, losses)
    steps: dict[tuple[Trained, bool, int], AffineStep] = {}
    for trained, first in {(item.trained, item.previous is None) for run in places for item in run}:
        steps |= {(trained, first, age): step for age, step in _ages(seen, trained, first, least)}
    jumps = _jumps(seen, least_jumps)
    bare = AffineLaw(MappingProxyType(steps), MappingProxyType(jumps), ())
    records = tuple(_record(bare, run, row) for run, row in zip(places, losses, strict=True))
    return AffineLaw(bare.steps, bare.jumps, records)


def constrained_step(before: FloatArray, after: FloatArray, start: FloatArray) -> tuple[float, float, float]:
    """Intercept, slope of the start and retention in [0, 1) of least squares, in closed form.

    Parameters
    ----------
    before, after, start : float array (n,)
        l(k-1), l(k) [loss] and the switch epoch. What does not vary has coefficient 0.
    """
    rest_before, rest_after = _without_start(before, start), _without_start(after, start)
    square = float(rest_before @ rest_before)
    negligible = before.size * (1e-12 * float(np.abs(before).max())) ** 2
    free = float(rest_before @ rest_after) / square if square > negligible else 0.0
    retention = min(max(free, 0.0), LARGEST_RETENTION)
    rest = after - retention * before
    slope = _slope(rest, start)
    return float(rest.mean()) - slope * float(start.mean()), slope, retention


class _Seen(NamedTuple):
    """Every trained epoch of every run, in columns of equal length."""

    place: Sequence[Position]
    run: NDArray[np.int64]
    before: FloatArray
    after: FloatArray


def _losses(traces: Traces, metric: str) -> list[FloatArray]:
    table = traces.matrix(metric)
    for name, last, first in zip(traces.runs, traces.last_epochs, table[:, 0], strict=True):
        if last < 1 or not np.isfinite(first):
            raise InvalidInputError(f"run {name!r} needs its loss before training, at epoch 0, and an epoch")
    return [row[: last + 1] for row, last in zip(table, traces.last_epochs, strict=True)]


def _observed(places: Sequence[Sequence[Position]], losses: Sequence[FloatArray]) -> _Seen:
    return _Seen(
        [item for run in places for item in run],
        np.repeat(np.arange(len(places)), [len(run) for run in places]),
        np.concatenate([row[:-1] for row in losses]),
        np.concatenate([row[1:] for row in losses]),
    )


def _ages(seen: _Seen, trained: Trained, first: bool, least: int) -> Iterator[tuple[int, AffineStep]]:
    """The step of every age that has one; age 1 only of a first stage."""
    by_age: dict[int, list[int]] = defaultdict(list)
    for index, item in enumerate(seen.place):
        if item.trained == trained and (item.previous is None) == first:
            by_age[item.age].append(index)
    greatest = max(by_age)
    for age in range(1 if first else 2, greatest + 1):
        lower = upper = age
        while age > 1 and sum(len(by_age[each]) for each in range(lower, upper + 1)) < least:
            if (lower, upper) == (2, greatest):
                break
            lower, upper = max(lower - 1, 2), min(upper + 1, greatest)
        pool = np.concatenate([by_age[each] for each in range(lower, upper + 1)]).astype(np.int64)
        if pool.size >= FEWEST:
            yield age, _step(seen, pool, (lower, upper))


def _jumps(seen: _Seen, least: int) -> dict[tuple[Trained, Trained], AffineStep]:
    by_pair: dict[tuple[Trained, Trained], list[int]] = defaultdict(list)
    for index, item in enumerate(seen.place):
        if item.previous is not None and item.age == 1:
            by_pair[item.previous, item.trained].append(index)
    found = {}
    for pair, own in by_pair.items():
        everything = [index for other, rows in by_pair.items() if other[1] == pair[1] for index in rows]
        pool = own if len(own) >= least else everything
        if len(pool) >= FEWEST:
            found[pair] = _step(seen, np.array(pool, dtype=np.int64), (1, 1))
    return found


def _step(seen: _Seen, pool: NDArray[np.int64], ages: tuple[int, int]) -> AffineStep:
    before, after = seen.before[pool], seen.after[pool]
    start = np.array([seen.place[index].start for index in pool], dtype=float)
    intercept, slope, retention = constrained_step(before, after, start)
    residuals = after - (intercept + slope * start + retention * before)
    residuals.flags.writeable = False
    runs = int(np.unique(seen.run[pool]).size)
    bounds = float(before.min()), float(before.max())
    return AffineStep(intercept, slope, retention, residuals, runs, ages, bounds)


def _record(law: AffineLaw, run: tuple[Position, ...], losses: FloatArray) -> RunRecord:
    residuals = np.full(len(run), np.nan)
    for k, item in enumerate(run):
        if (step := law.find(item)) is not None:
            residuals[k] = losses[k + 1] - (step.shift(item.start) + step.retention * losses[k])
    return RunRecord(run, losses, residuals)


def _slope(values: FloatArray, start: FloatArray) -> float:
    centred = start - start.mean()
    square = float(centred @ centred)
    return float(centred @ values) / square if square > 0 else 0.0


def _without_start(values: FloatArray, start: FloatArray) -> FloatArray:
    """What is left of values less their regression on the start and a constant."""
    return np.asarray(values - values.mean() - _slope(values, start) * (start - start.mean()))
