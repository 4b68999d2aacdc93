"""Sizes of prediction sets of fresh runs: against the loss, and after expected and dependable training.

The runs that judge have seeds of their own and trained no plan that was chosen on them
(`depl.benchmarks.studies.set_sizes.set_size_trainings`). Every seed goes through every plan, with the same
first weights and the same share of data for every client, so trainings are compared seed by seed. Intervals
resample the seeds (percentiles, 95 %). They are about runs; the held-out examples are the same in all of
them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from depl.benchmarks.studies.set_sizes.prediction_sets import Score, class_scores, mean_prediction_sets
from depl.benchmarks.studies.set_sizes.set_size_trainings import Choice, Curves, Training
from depl.instances.training.families import Family
from depl.instances.training.kernels import Numbers
from depl.instances.training.runs import train_run
from depl.models.estimation.curve import ConfidenceInterval
from depl.models.problem.laws import FloatArray

LEVELS = (0.9, 0.95, 0.99)
"""Coverages of the sets."""
CALIBRATING = 0.75
"""Share of the held-out examples that calibrate; the least number that works for 0.99 is 99."""
UPPER = 0.95
"""Of the runs: the quantile that is compared beside the mean."""
_TAIL = 0.025


class Kind(NamedTuple):
    """Score and coverage of the sets."""

    score: Score
    level: float


KINDS = tuple(Kind(score, level) for score in Score for level in LEVELS)
HEADLINE = Kind(Score.LABEL, 0.95)


@dataclass(frozen=True, eq=False)
class Judges:
    """Fresh runs of p plans, s seeds of each.

    Attributes
    ----------
    seeds : int
    classes, calibration : int
        Of the held-out examples: how many classes, and how many examples calibrate.
    loss : float array (p, s, K + 1)
    sizes, coverage : mapping of Kind to float array (p, s, K + 1)
        Mean size of the sets and their coverage; NaN before the earliest epoch to stop after.
    """

    seeds: int
    classes: int
    calibration: int
    loss: FloatArray
    sizes: Mapping[Kind, FloatArray]
    coverage: Mapping[Kind, FloatArray]

    def loss_after(self, training: Training) -> FloatArray:
        """Loss of every seed."""
        return self.loss[training.plan, :, training.epoch]

    def sizes_after(self, training: Training, kind: Kind) -> FloatArray:
        """Mean set size of every seed."""
        return self.sizes[kind][training.plan, :, training.epoch]

    def coverage_after(self, training: Training, kind: Kind) -> FloatArray:
        """Mean coverage of every seed."""
        return self.coverage[kind][training.plan, :, training.epoch]


class Change(NamedTuple):
    """A figure after one training and after another, and the difference with its interval."""

    before: float
    after: float
    interval: ConfidenceInterval

    @property
    def verdict(self) -> str:
        """``smaller`` or ``larger`` where the interval lies on one side of zero, else ``undecided``."""
        if self.interval.upper < 0:
            return "smaller"
        return "larger" if self.interval.lower > 0 else "undecided"


class Comparison(NamedTuple):
    """Set sizes after expected (before) and dependable training (after).

    ``expected_reached`` and ``dependable_reached`` are the shares of runs at or below the target.
    """

    choice: Choice
    mean: Change
    upper: Change
    expected_reached: float
    dependable_reached: float


class Stopped(NamedTuple):
    """Runs that each stop once their own loss reaches a target, at the latest after the last epoch.

    Mean number of epochs, mean set size, and the share of runs at or below the target.
    """

    epochs: float
    size: float
    reached: float


class Association(NamedTuple):
    """Final loss and set size over the runs of one plan.

    Correlation (Pearson's and of the ranks) and the ratio of mean set size of the tenth of the runs with the
    largest losses to that of the others.
    """

    correlation: float
    correlation_interval: ConfidenceInterval
    rank_correlation: float
    worst_tenth: float
    worst_tenth_interval: ConfidenceInterval


def judge(
    family: Family,
    plans: Sequence[Curves],
    seeds: Sequence[int],
    step: Callable[[int, int], None] = lambda plan, seed: None,
) -> Judges:
    """Train every plan with every seed and measure the sets after every epoch from which it may stop.

    Parameters
    ----------
    family : one of `depl.instances.training.families`
        With one answer per example.
    plans : sequence of Curves
        All of one length.
    seeds : sequence of int
    step : callable, optional
        Told plan and seed of every run that is done.

    Raises
    ------
    InvalidInputError
        As `depl.instances.training.runs.train_run`.
    """
    task = family.task()
    labels = task.material.test.labels[0]
    calibration = math.floor(CALIBRATING * labels.size)
    shape = len(plans), len(seeds), len(plans[0].schedule) + 1
    loss = np.empty(shape)
    sizes = {kind: np.full(shape, np.nan) for kind in KINDS}
    coverage = {kind: np.full(shape, np.nan) for kind in KINDS}
    for place, plan in enumerate(plans):
        for row, seed in enumerate(seeds):

            def watch(epoch: int, probabilities: Numbers, at: tuple[int, int] = (place, row)) -> None:
                if epoch >= plans[at[0]].first:
                    _measure(probabilities[:, 0], labels, calibration, (*at, epoch), sizes, coverage)

            loss[place, row] = train_run(task, plan.schedule, family.generator(seed), watch).loss
            step(place, seed)
    return Judges(len(seeds), task.material.classes, calibration, loss, sizes, coverage)


def compare(judges: Judges, choice: Choice, kind: Kind, rng: np.random.Generator, draws: int) -> Comparison:
    """Expected against dependable training, seed by seed, with ``draws`` resamples of the seeds."""
    before, after = (judges.sizes_after(training, kind) for training in choice[1:])
    reached = [float(np.mean(judges.loss_after(training) <= choice.target)) for training in choice[1:]]
    drawn = rng.integers(judges.seeds, size=(draws, judges.seeds))
    return Comparison(
        choice,
        _change(before, after, drawn, lambda sizes: sizes.mean(axis=-1)),
        _change(before, after, drawn, _upper),
        *reached,
    )


def difference(
    judges: Judges, one: Training, other: Training, kind: Kind, rng: np.random.Generator, draws: int
) -> Change:
    """Mean set size after two trainings, seed by seed."""
    drawn = rng.integers(judges.seeds, size=(draws, judges.seeds))
    before, after = judges.sizes_after(one, kind), judges.sizes_after(other, kind)
    return _change(before, after, drawn, lambda sizes: sizes.mean(axis=-1))


def stopped(judges: Judges, plan: int, target: float, kind: Kind) -> Stopped:
    """Runs of a plan, each stopped once its own loss is at most the target, past the last switch.

    The loss that stops a run is that of the examples its sets are measured on.
    """
    sizes, loss = judges.sizes[kind][plan], judges.loss[plan]
    hits = np.isfinite(sizes) & (loss <= target)
    ends = np.where(hits.any(axis=1), hits.argmax(axis=1), loss.shape[1] - 1)
    own = np.take_along_axis(sizes, ends[:, None], axis=1)
    return Stopped(float(ends.mean()), float(own.mean()), float(hits.any(axis=1).mean()))


def association(losses: FloatArray, sizes: FloatArray, rng: np.random.Generator, draws: int) -> Association:
    """How set size goes with final loss over runs.

    Parameters
    ----------
    losses, sizes : array of float, one per run
        Final loss and mean set size of every run.
    rng : Generator
        For the intervals, with ``draws`` resamples of the runs.
    draws : int
    """
    drawn = rng.integers(losses.size, size=(draws, losses.size))
    ranks = [np.asarray(stats.rankdata(values)) for values in (losses, sizes)]
    return Association(
        correlation=float(correlation(losses, sizes)),
        correlation_interval=_interval(correlation(losses[drawn], sizes[drawn])),
        rank_correlation=float(correlation(*ranks)),
        worst_tenth=float(worst_tenth(losses, sizes)),
        worst_tenth_interval=_interval(worst_tenth(losses[drawn], sizes[drawn])),
    )


def correlation(one: FloatArray, other: FloatArray) -> FloatArray:
    """Pearson's, along the last axis; NaN where one does not vary."""
    one, other = (values - values.mean(axis=-1, keepdims=True) for values in (one, other))
    product = np.sqrt((one**2).sum(axis=-1) * (other**2).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((one * other).sum(axis=-1) / product)


def worst_tenth(losses: FloatArray, sizes: FloatArray) -> FloatArray:
    """Mean size in the tenth (rounded up) with the largest losses over that of the others; last axis."""
    order = np.argsort(losses, axis=-1, kind="stable")
    sizes = np.take_along_axis(sizes, order, axis=-1)
    others = losses.shape[-1] - math.ceil(losses.shape[-1] / 10)
    return np.asarray(sizes[..., others:].mean(axis=-1) / sizes[..., :others].mean(axis=-1))


def _measure(
    probabilities: Numbers,
    labels: NDArray[np.int64],
    calibration: int,
    at: tuple[int, int, int],
    sizes: Mapping[Kind, FloatArray],
    coverage: Mapping[Kind, FloatArray],
) -> None:
    for score in Score:
        scores = class_scores(probabilities, score)
        for level in LEVELS:
            found = mean_prediction_sets(scores, labels, level, calibration)
            sizes[Kind(score, level)][at], coverage[Kind(score, level)][at] = found.size, found.coverage


def _change(
    before: FloatArray,
    after: FloatArray,
    drawn: NDArray[np.int64],
    figure: Callable[[FloatArray], FloatArray],
) -> Change:
    return Change(
        float(figure(before)), float(figure(after)), _interval(figure(after[drawn]) - figure(before[drawn]))
    )


def _upper(sizes: FloatArray) -> FloatArray:
    return np.asarray(np.quantile(sizes, UPPER, axis=-1, method="inverted_cdf"))


def _interval(values: FloatArray) -> ConfidenceInterval:
    """NaN where a resample has no value, which is said rather than hidden."""
    lower, upper = np.quantile(values, [_TAIL, 1 - _TAIL])
    return ConfidenceInterval(float(lower), float(upper))
