"""The three facts of Sec. II of the paper, each with a number, from traces.

1. Test losses are stochastic: the width of the band between the 1st and 99th percentiles, over the mean.
2. They depend on the model: two schedules at one epoch, before either switches where they begin with
   different models, compared by a two-sample Kolmogorov-Smirnov test.
3. Mean and spread may go different ways: the share of pairs of epochs of one stage, at least five apart, from
   the first to the second of which the mean falls while the standard deviation rises.

Only schedules that many runs share tell something about distributions; the others are left out, and counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby

import numpy as np
import scipy

from depl.models.estimation.combinations import schedule_label
from depl.models.estimation.curve import ConfidenceInterval, resampling_weights
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray
from depl.models.traces.table import Schedule, Traces

LEAST_RUNS = 20
"""Fewest runs of a schedule whose distribution is looked at."""

APART = 5
"""Least distance of the epochs that are compared for trends."""

TAIL = 0.01
"""Share of the runs below the lower and above the upper quantile that are told."""

_RESAMPLES = 499
"""Bootstrap resamples of an interval: a convention. Twice as many make its ends steadier by sqrt 2, in twice
the time."""


@dataclass(frozen=True)
class Spread:
    """Fact 1 for one schedule, at its last epoch [loss]."""

    schedule: str
    runs: int
    epoch: int
    mean: float
    lower: float
    upper: float

    @property
    def relative(self) -> float:
        """Width of the band over the mean."""
        return (self.upper - self.lower) / self.mean


@dataclass(frozen=True)
class Difference:
    """Fact 2 for two schedules at one epoch.

    Attributes
    ----------
    first, second : str
    epoch : int
    means, deviations : tuple of float
        Of the first and of the second [loss].
    p_value : float
        Of the two-sample Kolmogorov-Smirnov test for equal distributions.
    """

    first: str
    second: str
    epoch: int
    means: tuple[float, float]
    deviations: tuple[float, float]
    p_value: float


@dataclass(frozen=True)
class OppositeTrends:
    """Fact 3 for one schedule.

    Attributes
    ----------
    schedule : str
    pairs : int
        Pairs of epochs that were compared.
    share : float
        Share in which the mean falls and the standard deviation rises.
    bounds : ConfidenceInterval
        Its 95 % interval over resampled runs.
    """

    schedule: str
    pairs: int
    share: float
    bounds: ConfidenceInterval


@dataclass(frozen=True)
class Facts:
    """The three facts; ``left_out`` counts runs of schedules that too few runs share."""

    spreads: tuple[Spread, ...]
    differences: tuple[Difference, ...]
    trends: tuple[OppositeTrends, ...]
    left_out: int


def three_facts(
    traces: Traces, rng: np.random.Generator, metric: str = "loss", least_runs: int = LEAST_RUNS
) -> Facts:
    """The facts of Sec. II for the schedules that at least ``least_runs`` runs share.

    Raises
    ------
    InvalidInputError
        If there is no such schedule, or the traces do not hold the metric.
    """
    matrix = traces.matrix(metric)
    by_schedule = traces.by_schedule()
    groups = {
        schedule: matrix[rows, 1 : len(schedule) + 1]
        for schedule, rows in by_schedule.items()
        if len(rows) >= least_runs
    }
    if not groups:
        most = max(map(len, by_schedule.values()))
        raise InvalidInputError(f"needs a schedule with {least_runs} runs; the most frequent has {most}")
    return Facts(
        spreads=tuple(_spread(schedule, losses) for schedule, losses in groups.items()),
        differences=tuple(
            _difference(first, second, groups[first], groups[second])
            for first, second in combinations(groups, 2)
        ),
        trends=tuple(
            _trends(schedule, losses, rng) for schedule, losses in groups.items() if list(_pairs(schedule))
        ),
        left_out=len(traces.runs) - sum(map(len, groups.values())),
    )


def opposite_share(losses: FloatArray, pairs: Sequence[tuple[int, int]], weights: FloatArray) -> FloatArray:
    """Share of pairs of columns with a falling mean and a rising standard deviation.

    Parameters
    ----------
    losses : float array (r, e)
    pairs : sequence of (int, int)
        Earlier and later column.
    weights : float array (b, r)
        How often each run counts; one result per row.
    """
    total = weights.sum(axis=1, keepdims=True)
    centred = losses - losses.mean(axis=0)
    means = weights @ centred / total
    variances = weights @ centred**2 / total - means**2
    actual = means + losses.mean(axis=0)
    early, late = (np.array(side) for side in zip(*pairs, strict=True))
    opposite = (actual[:, late] < actual[:, early]) & (variances[:, late] > variances[:, early])
    return np.asarray(opposite.mean(axis=1))


def _spread(schedule: Schedule, losses: FloatArray) -> Spread:
    last = losses[:, -1]
    lower, upper = np.quantile(last, [TAIL, 1 - TAIL])
    return Spread(
        schedule_label(schedule), len(last), len(schedule), float(last.mean()), float(lower), float(upper)
    )


def _difference(first: Schedule, second: Schedule, one: FloatArray, other: FloatArray) -> Difference:
    epoch = min(len(first), len(second))
    if first[0][0] != second[0][0]:
        epoch = min(_first_stage(first), _first_stage(second))
    left, right = one[:, epoch - 1], other[:, epoch - 1]
    return Difference(
        first=schedule_label(first),
        second=schedule_label(second),
        epoch=epoch,
        means=(float(left.mean()), float(right.mean())),
        deviations=(float(left.std(ddof=1)), float(right.std(ddof=1))),
        p_value=float(scipy.stats.ks_2samp(left, right).pvalue),
    )


def _trends(schedule: Schedule, losses: FloatArray, rng: np.random.Generator) -> OppositeTrends:
    pairs = list(_pairs(schedule))
    weights = resampling_weights(len(losses), rng, _RESAMPLES)
    lower, upper = np.quantile(opposite_share(losses, pairs, weights), [0.025, 0.975])
    share = float(opposite_share(losses, pairs, np.ones((1, len(losses))))[0])
    return OppositeTrends(
        schedule_label(schedule), len(pairs), share, ConfidenceInterval(float(lower), float(upper))
    )


def _pairs(schedule: Schedule) -> Iterator[tuple[int, int]]:
    """Columns of two epochs of one stage, far enough apart."""
    column = 0
    for _, group in groupby(schedule, key=lambda pair: pair[0]):
        length = len(list(group))
        yield from (
            (column + early, column + late)
            for early in range(length)
            for late in range(early + APART, length)
        )
        column += length


def _first_stage(schedule: Schedule) -> int:
    return len(list(next(iter(groupby(schedule, key=lambda pair: pair[0])))[1]))
