"""One answer to the question whether the paper's independent law may be used for these traces, with reasons.

The verdict rests on the variance ratio (`depl.models.estimation.independence`): for whole runs it must lie in
[0.7, 1.5], and no model may have stages whose ratio lies outside with its whole interval, because plans are
put together from stages. The fitted law must also give the final losses of its own runs the right mean and
spread, `LevelCheck`: on real runs both fail (erratum E14), as no A / sqrt(k + B) adds up to what was improved
and the first epochs, which vary most, lend their spread to all others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from depl.models.estimation.choices import RESAMPLES
from depl.models.estimation.families import LEAST_SAMPLE
from depl.models.estimation.fit import TracesFit, fit_traces, schedule_label
from depl.models.estimation.independence import USABLE, Independence, independence
from depl.models.estimation.observations import Observations, observe, stretches
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.showing import Shown
from depl.models.foundation.wording import counted, number, percentage
from depl.models.problem.laws import FloatArray
from depl.models.traces.same_runs import ToldApart, told_apart
from depl.models.traces.stages import StageRuns, stage_runs
from depl.models.traces.table import Schedule, Traces

LEAST_RUNS = 10
"""Fewest runs of a schedule whose mean is compared with the fitted law."""

LARGEST_ERROR = 0.4
"""A mean that is off by so many standard deviations turns a promised 5 % into 11 %, or 1 % into 2.7 %."""

FEW_RUNS = 30
"""With fewer runs the variance ratio is uncertain by half or more."""

NOMINAL = (0.1, 0.05, 0.01)

_SIGNIFICANCE = 0.01
"""p-value up to which a finding is told: a convention. One true hypothesis in a hundred is told against."""

_CHANCE = 0.05
"""p-value beyond which a variance ratio may be chance and is not the first reason against the law; more than
`_SIGNIFICANCE`, as 99 resamples, of which a fit is content, have no p-value below 0.02."""

_NOTABLE_MEAN = 0.1
"""Relative deviation of a mean ratio that is told: set by hand. Half of it tells smaller misfits of the
curve, and more of what is chance in few runs."""


@dataclass(frozen=True)
class LevelCheck:
    """Final losses of the runs of one schedule, by the fitted law and observed.

    Attributes
    ----------
    schedule : str
    runs : int
    predicted_mean, predicted_deviation : float
        By the fitted law [loss].
    observed_mean, observed_deviation : float
        Of the runs [loss].
    delivered : float
        Share of runs below the predicted 0.95-quantile, as of a normal law.
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


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Shown):
    """What traces say about the independent law.

    Attributes
    ----------
    fit : TracesFit
        The law of every model and switch.
    whole : Independence
        Of the increments of whole runs.
    stages : mapping of str to Independence
        Of the increments between a switch to a model and the next switch, by model.
    levels : tuple of LevelCheck
        Final losses of frequent schedules, predicted by the fitted law and observed.
    promises : tuple of dict
        What promised violations, computed under independence (``nominal``), become at the variance ratio of
        these runs (``measured``).
    usable : bool
        The verdict.
    warnings : tuple of str
        Why not, or what else stands out; empty if nothing does.
    runs, schedules : int
        How many runs the traces hold, and of how many schedules; runs of one schedule that share their first
        epochs count as one.
    most_of_one_schedule : int
        How many of them followed the schedule that most of them did.
    behind : tuple of StageRuns
        How many runs stand behind each stage.
    same_runs : tuple of (str, str)
        Which runs are there twice, are dependent, or would not be told from copies, in words.
    """

    fit: TracesFit
    whole: Independence
    stages: Mapping[str, Independence]
    levels: tuple[LevelCheck, ...]
    promises: tuple[dict[str, float], ...]
    usable: bool
    warnings: tuple[str, ...]
    runs: int
    schedules: int
    most_of_one_schedule: int
    behind: tuple[StageRuns, ...]
    same_runs: tuple[tuple[str, str], ...]


def diagnose(
    traces: Traces, rng: np.random.Generator, metric: str = "loss", resamples: int = RESAMPLES
) -> Diagnosis:
    """Fit the paper's law to traces and judge whether it may be used.

    Parameters
    ----------
    rng : numpy.random.Generator
        Of all resamples and permutations.
    metric : str
        ``loss``, or ``error_rate`` in its place.
    resamples : int
        For every interval and p-value.

    Raises
    ------
    InvalidInputError
        If fewer than three runs share their schedule with another one, or nothing varies.
    """
    apart = told_apart(traces)
    with apart.in_refusals():
        return _diagnosed(apart, rng, metric, resamples)


def level_checks(
    seen: Observations, by_schedule: Mapping[Schedule, NDArray[np.int64]], fit: TracesFit
) -> Iterator[LevelCheck]:
    """Compare final losses with the fitted law, for every schedule of enough runs that it covers.

    A law with independent increments puts the final loss at mean l(0) - sum of A / sqrt(k + B) + sum of mean
    jumps, with the variance sum of A**2 / (k + B) Var x + sum of Var jumps.
    """
    laws = {key.model: found for key, found in fit.improvements.items()}
    for schedule, rows in by_schedule.items():
        models = [model for model, _ in schedule]
        switches = [pair for pair in pairwise(models) if pair[0] != pair[1]]
        if len(rows) < LEAST_RUNS or not laws.keys() >= {*models} or not fit.jumps.keys() >= {*switches}:
            continue
        start, first = seen.before[rows, 0], 0
        if not np.isfinite(start).all():  # the evaluation before training was not kept
            start, first = seen.end[rows, 0], 1
        trained = list(enumerate(models[first:], start=first + 1))
        expected = np.array([laws[model].curve.at(np.array([float(k)]))[0] for k, model in trained])
        spread = np.array([laws[model].ratios.var() for _, model in trained])
        jumps = [fit.jumps[pair].jumps for pair in switches]
        mean = float(start.mean() - expected.sum() + sum(item.mean() for item in jumps))
        deviation = float(np.sqrt(expected**2 @ spread + sum(item.var() for item in jumps)))
        final = seen.end[rows, len(schedule) - 1]
        yield LevelCheck(
            schedule=schedule_label(schedule),
            runs=len(rows),
            predicted_mean=mean,
            predicted_deviation=deviation,
            observed_mean=float(final.mean()),
            observed_deviation=float(final.std(ddof=1)),
            delivered=float(np.mean(final <= mean + scipy.stats.norm.ppf(0.95) * deviation)),
        )


def _diagnosed(apart: ToldApart, rng: np.random.Generator, metric: str, resamples: int) -> Diagnosis:
    traces = apart.once_per_schedule
    seen = observe(traces, metric)
    groups = [np.asarray(rows) for rows in traces.by_schedule().values()]
    losses = [_kept([seen.before[rows, :1], seen.end[rows]]) for rows in groups]  # from l(1) without l(0)
    whole = independence(losses, rng, resamples)
    stages, unjudged = {}, {}
    for model in dict.fromkeys(model for model, _ in seen.combinations()):
        blocks = [block for rows in groups for block in _stages(seen, rows, model)]
        try:
            stages[model] = independence(blocks, rng, resamples)
        except InvalidInputError as error:
            unjudged[model] = str(error)
    fit = fit_traces(traces, rng, metric=metric, resamples=resamples)
    clear = [model for model, found in stages.items() if found.clearly_unusable]
    levels = tuple(level_checks(seen, traces.by_schedule(), fit))
    reasons = [_about_dependence(whole, stages, clear), _about_levels(levels)]
    if whole.variance_ratio.p_value > _CHANCE:  # what may be chance is no first reason
        reasons.reverse()
    notes = [*chain(*reasons), *_about_fits(fit)]
    notes += [f"stages of {model} are not judged: {reason}" for model, reason in unjudged.items()]
    return Diagnosis(
        fit=fit,
        whole=whole,
        stages=stages,
        levels=levels,
        promises=tuple({"nominal": p, "measured": whole.violation(p)} for p in NOMINAL),
        usable=whole.usable and not clear and all(item.acceptable for item in levels),
        warnings=tuple(notes),
        runs=len(traces.runs),
        schedules=len(groups),
        most_of_one_schedule=max(rows.size for rows in groups),
        behind=stage_runs(apart.traces, apart.origins),
        same_runs=tuple(apart.said()),
    )


def _stages(seen: Observations, rows: NDArray[np.int64], model: str) -> Iterator[FloatArray]:
    """Losses from the start to the end of every stage of at least two epochs that trains ``model``."""
    for name, first, end in stretches(seen.model[rows[0]].tolist()):
        if name == model and end - first > 1:
            yield _kept([seen.start[rows, first], seen.end[rows, first:end]])


def _kept(parts: Sequence[FloatArray]) -> FloatArray:
    """Losses side by side, without the epochs in which one of the runs was not evaluated."""
    losses = np.column_stack(parts)
    return np.asarray(losses[:, np.isfinite(losses).all(axis=0)])


def _about_dependence(
    whole: Independence, stages: Mapping[str, Independence], clear: list[str]
) -> Iterator[str]:
    ratio, bounds = whole.variance_ratio.value, whole.bounds
    if whole.runs < FEW_RUNS:
        yield f"only {whole.runs} runs share their schedule: the variance ratio is uncertain by half or more"
    if not whole.usable:
        yield (
            f"the independent law must not be used: whole runs vary {ratio:.2g} times as much as independent "
            f"increments would (95 % interval {bounds.lower:.2g} to {bounds.upper:.2g}); {_meaning(whole)}"
        )
    elif bounds.lower < USABLE[0] or bounds.upper > USABLE[1]:
        yield (
            f"the variance ratio {ratio:.2g} is usable, but its interval, {bounds.lower:.2g} to "
            f"{bounds.upper:.2g}, reaches beyond {USABLE[0]:g} to {USABLE[1]:g}: more runs are needed"
        )
    for model in clear:
        found = stages[model]
        yield (
            "the independent law must not be used after a switch or from a known loss: stages of "
            f"{model} have the variance ratio {found.variance_ratio.value:.2g}; {_meaning(found)}"
        )
    start = whole.start_correlation
    if start is not None and start.p_value <= _SIGNIFICANCE:
        yield (
            f"the first loss has a correlation of {start.value:.2f} with the improvement after it "
            f"(p = {number(start.p_value, 2)}): "
            f"losses {'forget' if start.value > 0 else 'amplify'} where they began"
        )
    first = whole.autocorrelations[0] if whole.autocorrelations else None
    if first is not None and first.p_value <= _SIGNIFICANCE:
        told = f"{first.value:.2f} (p = {number(first.p_value, 2)})"
        yield f"neighbouring increments have a correlation of {told}"


def _about_levels(levels: tuple[LevelCheck, ...]) -> Iterator[str]:
    wrong = [item for item in levels if not item.acceptable]
    if wrong:
        worst = max(wrong, key=lambda item: abs(item.error))
        yield (
            f"the independent law must not be used: it misplaces the final losses of {len(wrong)} of "
            f"{len(levels)} schedules that it was fitted to; in {worst.schedule} it has mean "
            f"{worst.predicted_mean:.3g} and deviation {worst.predicted_deviation:.3g}, the runs have "
            f"{worst.observed_mean:.3g} and {worst.observed_deviation:.3g}"
        )


def _meaning(found: Independence) -> str:
    if found.variance_ratio.value > 1:
        return f"a promised violation of 1 % is about {percentage(found.violation(0.01), 2)} in truth"
    return "it puts quantiles too far out and calls targets unreachable that are reached"


def _about_fits(fit: TracesFit) -> Iterator[str]:
    for key, found in fit.improvements.items():
        if found.nonpositive:
            share = found.nonpositive / found.ratios.size
            yield (
                f"{key}: {found.nonpositive} of {found.ratios.size} ratios ({percentage(share, 2)}) "
                "are not positive, which inverse gamma and lognormal laws exclude"
            )
        if found.laws and found.law(found.best).p_value <= _SIGNIFICANCE:
            p_value = found.law(found.best).p_value
            yield (
                f"{key}: no candidate law fits the ratios (the best, {found.best}, has p = "
                f"{number(p_value, 2)}); the empirical law keeps their distribution"
            )
        if abs(found.curve.mean_ratio - 1) > _NOTABLE_MEAN:
            yield (
                f"{key}: the mean ratio along the least-squares curve is {found.curve.mean_ratio:.2f}, not "
                "1: the improvements do not decay as A / sqrt(k + B)"
            )
    yield from (f"{name} is not fitted: {reason}" for name, reason in fit.refused.items())
    for (previous, following), jump in fit.jumps.items():
        if jump.jumps.size < LEAST_SAMPLE:
            count = jump.jumps.size
            yield f"{previous} -> {following}: {counted(count, 'jump')}, too few for a law: kept as recorded"
        if count := jump.estimated:
            yield (
                f"{previous} -> {following}: {counted(count, 'jump')} "
                f"{'is' if count == 1 else 'are'} estimated from the loss after the next epoch, "
                "which adds the spread of that epoch"
            )
