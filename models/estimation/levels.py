r"""What the fitted independent law says of the final losses of the very runs that it was fitted to.

A law with independent increments puts the final loss of a schedule at

    mean l(0) - sum of A / sqrt(k + B) + sum of mean jumps,

with the variance sum of A**2 / (k + B) Var x + sum of Var jumps. On real runs both fail (erratum E14): where
the ratios x fall or rise with k, the curve with mean ratio 1 does not add up to what was improved, and the
first epochs, which vary most, lend their spread to all others; and losses that forget their past spread
less than their increments add up to. The *level error* is the distance of the observed mean from the
predicted one in predicted standard deviations, the *spread* the observed variance over the predicted one;
*delivered* is the share of runs below the normal 0.95-quantile of the law.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from depl.models.estimation.combinations import Combination, TracesFit, schedule_label
from depl.models.estimation.independence import USABLE
from depl.models.estimation.observations import Observations
from depl.models.traces.table import Schedule

LEAST_RUNS = 10
"""Fewest runs of a schedule whose mean is compared."""

LARGEST_ERROR = 0.4
"""A mean that is off by so many standard deviations turns a promised 5 % into 11 %, or 1 % into 2.7 %."""

_QUANTILE = 1.6448536269514722
"""0.95-quantile of the standard normal law."""


@dataclass(frozen=True)
class LevelCheck:
    """Final losses of the runs of one schedule, predicted and observed.

    Attributes
    ----------
    schedule : str
    runs : int
    predicted_mean, predicted_deviation : float
        By the fitted law [loss].
    observed_mean, observed_deviation : float
        Of the runs [loss].
    delivered : float
        Share of runs below the predicted 0.95-quantile.
    """

    schedule: str
    runs: int
    predicted_mean: float
    predicted_deviation: float
    observed_mean: float
    observed_deviation: float
    delivered: float

    @property
    def error(self) -> float:
        """Observed less predicted mean, in predicted standard deviations."""
        if self.predicted_deviation == 0:
            return 0.0 if np.isclose(self.observed_mean, self.predicted_mean) else np.inf
        return (self.observed_mean - self.predicted_mean) / self.predicted_deviation

    @property
    def spread(self) -> float:
        """Observed over predicted variance; 1 if neither varies."""
        if self.predicted_deviation == 0:
            return 1.0 if self.observed_deviation == 0 else np.inf
        return (self.observed_deviation / self.predicted_deviation) ** 2

    @property
    def acceptable(self) -> bool:
        """Whether the level is right up to `LARGEST_ERROR`, and the spread not clearly outside `USABLE`.

        Clearly: with its whole 95 % interval, as for normal losses.
        """
        freedom = self.runs - 1
        lower = self.spread * freedom / float(scipy.stats.chi2.ppf(0.975, freedom))
        upper = self.spread * freedom / float(scipy.stats.chi2.ppf(0.025, freedom))
        return abs(self.error) <= LARGEST_ERROR and upper >= USABLE[0] and lower <= USABLE[1]


def level_checks(
    seen: Observations,
    by_schedule: Mapping[Schedule, NDArray[np.int64]],
    fit: TracesFit,
    least_runs: int = LEAST_RUNS,
) -> tuple[LevelCheck, ...]:
    """Compare final losses with the fitted law, for every schedule of enough runs that it covers.

    Parameters
    ----------
    seen : Observations
    by_schedule : mapping of Schedule to int array
        Rows of the runs of each schedule.
    fit : TracesFit
        By model.
    least_runs : int
        Schedules with fewer runs are left out.
    """
    return tuple(_checks(seen, by_schedule, fit, least_runs))


def _checks(
    seen: Observations,
    by_schedule: Mapping[Schedule, NDArray[np.int64]],
    fit: TracesFit,
    least_runs: int,
) -> Iterator[LevelCheck]:
    for schedule, rows in by_schedule.items():
        models = [model for model, _ in schedule]
        switches = [pair for pair in pairwise(models) if pair[0] != pair[1]]
        known = all(Combination(model) in fit.improvements for model in models)
        if len(rows) < least_runs or not known or not all(pair in fit.jumps for pair in switches):
            continue
        start, first = seen.before[rows, 0], 0
        if not np.isfinite(start).all():  # the evaluation before training was not kept
            start, first = seen.end[rows, 0], 1
        mean, variance = float(start.mean()), 0.0
        for k, model in enumerate(models[first:], start=first + 1):
            found = fit.improvements[Combination(model)]
            expected = float(found.curve.at(np.array([float(k)]))[0])
            mean -= expected
            variance += expected**2 * float(found.ratios.var())
        for pair in switches:
            mean += float(fit.jumps[pair].jumps.mean())
            variance += float(fit.jumps[pair].jumps.var())
        final = seen.end[rows, len(schedule) - 1]
        limit = mean + _QUANTILE * float(np.sqrt(variance))
        yield LevelCheck(
            schedule=schedule_label(schedule),
            runs=len(rows),
            predicted_mean=mean,
            predicted_deviation=float(np.sqrt(variance)),
            observed_mean=float(final.mean()),
            observed_deviation=float(final.std(ddof=1)),
            delivered=float(np.mean(final <= limit)),
        )
