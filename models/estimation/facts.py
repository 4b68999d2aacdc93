"""The three facts of Sec. II of the paper, each with a number, from traces.

1. Test losses are stochastic: the width of the band between the 1st and 99th percentiles, over the mean.
2. They depend on the model: two schedules at one epoch, before either switches where they begin with
   different models, compared by a two-sample Kolmogorov-Smirnov test.
3. Mean and spread may go different ways: the share of pairs of epochs of one stage, at least five apart, from
   the first to the second of which the mean falls while the standard deviation rises.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import scipy

from depl.models.estimation.curve import resampling_weights
from depl.models.estimation.fit import schedule_label
from depl.models.estimation.observations import stretches
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.interval import Interval
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


def three_facts(traces: Traces, rng: np.random.Generator, metric: str = "loss") -> dict[str, Any]:
    """The facts of Sec. II for the schedules that at least `LEAST_RUNS` runs share.

    Returns
    -------
    dict
        Rows of all: ``spreads``, losses of each schedule at its last epoch; ``differences`` of two schedules
        at one epoch, ``first`` and ``second``, with the p-value for equal distributions; ``trends``, with the
        share of the pairs of epochs that were compared and its 95 % interval over resampled runs.
        ``left_out`` counts the runs of other schedules.

    Raises
    ------
    InvalidInputError
        If there is no such schedule, or the traces do not hold the metric.
    """
    matrix, by_schedule = traces.matrix(metric), traces.by_schedule()
    groups = {
        schedule: matrix[rows, 1 : len(schedule) + 1]
        for schedule, rows in by_schedule.items()
        if len(rows) >= LEAST_RUNS
    }
    if not groups:
        most = max(map(len, by_schedule.values()))
        raise InvalidInputError(f"needs a schedule with {LEAST_RUNS} runs; the most frequent has {most}")
    trends = ((schedule, losses, list(_pairs(schedule))) for schedule, losses in groups.items())
    return {
        "spreads": [_spread(schedule, losses) for schedule, losses in groups.items()],
        "differences": [_difference(*pair) for pair in combinations(groups.items(), 2)],
        "trends": [_trend(*told, rng) for told in trends if told[2]],
        "left_out": len(traces.runs) - sum(map(len, groups.values())),
    }


def _spread(schedule: Schedule, losses: FloatArray) -> dict[str, Any]:
    last = losses[:, -1]
    lower, upper = np.quantile(last, [TAIL, 1 - TAIL]).tolist()
    told = {"schedule": schedule_label(schedule), "runs": len(last), "epoch": len(schedule)}
    return {**told, "mean": float(last.mean()), "lower": lower, "upper": upper}


def _difference(one: tuple[Schedule, FloatArray], other: tuple[Schedule, FloatArray]) -> dict[str, Any]:
    schedules = one[0], other[0]
    epoch = min(map(len, schedules))
    if schedules[0][0][0] != schedules[1][0][0]:  # the models that they begin with
        epoch = min(next(stretches(model for model, _ in schedule))[2] for schedule in schedules)
    pair = [losses[:, epoch - 1] for _, losses in (one, other)]
    return {
        "first": schedule_label(schedules[0]),
        "second": schedule_label(schedules[1]),
        "epoch": epoch,
        "means": tuple(float(losses.mean()) for losses in pair),
        "deviations": tuple(float(losses.std(ddof=1)) for losses in pair),
        "p_value": float(scipy.stats.ks_2samp(*pair).pvalue),
    }


def _trend(
    schedule: Schedule, losses: FloatArray, pairs: Sequence[tuple[int, int]], rng: np.random.Generator
) -> dict[str, Any]:
    weights = resampling_weights(len(losses), rng, _RESAMPLES)
    bounds = np.quantile(_opposite_share(losses, pairs, weights), [0.025, 0.975]).tolist()
    share = float(_opposite_share(losses, pairs, np.ones((1, len(losses))))[0])
    told = {"schedule": schedule_label(schedule), "pairs": len(pairs), "share": share}
    return {**told, "bounds": Interval(*bounds)}


def _opposite_share(losses: FloatArray, pairs: Sequence[tuple[int, int]], weights: FloatArray) -> FloatArray:
    """Share of pairs of columns with a falling mean and a rising standard deviation.

    Rows of ``weights`` say how often each run counts; there is a share for each of them.
    """
    total = weights.sum(axis=1, keepdims=True)
    centred = losses - losses.mean(axis=0)
    means = weights @ centred / total
    variances = weights @ centred**2 / total - means**2
    actual = means + losses.mean(axis=0)
    early, late = (np.array(side) for side in zip(*pairs, strict=True))
    opposite = (actual[:, late] < actual[:, early]) & (variances[:, late] > variances[:, early])
    return np.asarray(opposite.mean(axis=1))


def _pairs(schedule: Schedule) -> Iterator[tuple[int, int]]:
    """Columns of two epochs of one stage, far enough apart."""
    for _, first, end in stretches(model for model, _ in schedule):
        yield from (pair for pair in combinations(range(first, end), 2) if pair[1] - pair[0] >= APART)
