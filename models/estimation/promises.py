r"""Promised against delivered: how often runs that no law has seen stay below the loss promised to them.

A law that was fitted to some runs promises, for a plan and a level omega, the loss that is not exceeded with
probability omega. Runs held out of the fit tell how often it was not. Three settings:

*Held-out runs*: the runs of every schedule are dealt into folds at random; each fold is judged by the laws of
all others. *Unseen plan*: all runs of one schedule are held out, and the laws must put the plan together from
others; schedules with few runs are dealt into folds whole. *Known loss*: folds as first, but the promise is
made `KNOWN_AGE` epochs after the last switch, from the loss of the very run at that epoch (whether the plan
lies within the support is asked for the median of these losses).

Four methods: the order statistic of the plan's own runs, the affine law with residuals per run and
independent (`depl.models.evaluation.traced_prediction`), and the paper's law of independent improvements and
jumps, with curves from `depl.models.estimation.fit` and the observed ratios and jumps as its noise. Quantiles
of the two independent laws are order statistics of draws.

A method may *refuse* (no run of the plan, outside the support, too few runs for the level): such runs are
counted apart. Intervals are those of Clopper and Pearson; they take the held-out runs of a row for
independent, though those of different folds share most of their training runs.

Runs of one plan are exchangeable, so the share that the order statistic delivers is known beforehand: dealt
again and again, its mean is ceil((n + 1) omega) / (n + 1) for n runs per fit. What the row says is how far
one deal, and thus one user, may be from it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.estimation.affine import fit_affine
from depl.models.estimation.binomial import clopper_pearson
from depl.models.estimation.combinations import fit_traces, schedule_label
from depl.models.estimation.curve import Curve
from depl.models.evaluation.traced_prediction import final_atoms, final_loss, order_statistic
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.affine_law import AffineLaw, Known, Scale, on_scale, positions
from depl.models.problem.epochs import FinalLoss, LossStep, Term, compose
from depl.models.problem.laws import Empirical, FloatArray
from depl.models.risk.sampling import sample_final_loss
from depl.models.traces.table import Schedule, Traces

LEVELS = (0.9, 0.95, 0.99)
LEAST_RUNS = 30
"""Fewest runs of a schedule that is judged on its own."""

KNOWN_AGE = 5
"""Epochs after the last switch from which a promise of a known loss is made: set by hand. With more, plans
have fewer epochs left to be promised."""

DRAWS = 20_000
"""Draws whose order statistic is a quantile: set by hand. At level 0.99 the share above is known to 7 %; four
times as many halve that, in four times the time."""


class Method(Enum):
    """What makes the promise."""

    ORDER = "order statistic"
    PER_RUN = "affine, per run"
    INDEPENDENT = "affine, independent"
    PAPER = "independent increments"


_AFFINE = (Method.PER_RUN, Method.INDEPENDENT)


class Setting(Enum):
    """What is held out, and what is known."""

    RUNS = "held-out runs"
    PLAN = "unseen plan"
    KNOWN = "known loss"


@dataclass(frozen=True)
class PromiseRow:
    """One promise and how often it was kept.

    Attributes
    ----------
    plan : str
        Label of the schedule, or ``others`` for all that have few runs.
    setting : Setting
    method : Method
    level : float
        omega.
    runs : int
        Held-out runs that got a promise.
    refused : int
        Held-out runs that got none.
    kept : int
        How many ended at or below the promised loss.
    """

    plan: str
    setting: Setting
    method: Method
    level: float
    runs: int
    refused: int
    kept: int

    @property
    def delivered(self) -> float:
        """Share of promises kept; NaN without any."""
        return self.kept / self.runs if self.runs else float("nan")

    @property
    def bounds(self) -> tuple[float, float]:
        """95 % Clopper-Pearson interval of the delivered probability; (0, 1) without runs."""
        if not self.runs:
            return 0.0, 1.0
        broken = clopper_pearson(self.runs - self.kept, self.runs, 0.95)
        return 1 - broken.upper, 1 - broken.lower


def promised_delivered(
    traces: Traces,
    rng: np.random.Generator,
    folds: int = 5,
    levels: Sequence[float] = LEVELS,
    settings: Sequence[Setting] = tuple(Setting),
    methods: Sequence[Method] = tuple(Method),
    metric: str = "loss",
    draws: int = DRAWS,
    scale: Scale = "log",
) -> tuple[PromiseRow, ...]:
    """Fit to some of the runs, promise, and count on the others.

    Parameters
    ----------
    rng : numpy.random.Generator
        Of the folds and of draws.
    folds : int
        At least 2.
    levels : sequence of float
        omega, each inside (0, 1).
    settings : sequence of Setting
    methods : sequence of Method
    metric : str
        ``loss`` or ``error_rate``.
    draws : int
        For quantiles of the independent laws.
    scale : "loss" or "log"
        Of the affine law.

    Returns
    -------
    tuple of PromiseRow
        By plan, setting, method and level.

    Raises
    ------
    InvalidInputError
        If there are fewer than two folds, no schedule has `LEAST_RUNS` runs, or a law cannot be fitted.
    """
    schedules = traces.by_schedule()
    if folds < 2 or max(map(len, schedules.values())) < LEAST_RUNS:
        raise InvalidInputError(f"needs two folds and a schedule with {LEAST_RUNS} runs")
    if not all(0 < level < 1 for level in levels) or draws < 1:
        raise InvalidInputError(f"needs levels inside (0, 1) and a draw, not {levels} and {draws}")
    count = _Count(traces, levels, methods, metric)
    options = _Options(levels, metric, rng, draws, scale)
    everywhere = [setting for setting in settings if setting is not Setting.PLAN]
    if everywhere:
        _judge_held_out_runs(count, traces, folds, options, everywhere)
    if Setting.PLAN in settings:
        _judge_held_out_plans(count, traces, folds, options)
    return count.rows()


class _Options(NamedTuple):
    """As `promised_delivered`."""

    levels: Sequence[float]
    metric: str
    rng: np.random.Generator
    draws: int
    scale: Scale


class _Laws:
    """Everything that is fitted to one set of runs, and the promises that follow."""

    def __init__(self, train: Traces, options: _Options) -> None:
        self._train = train
        self._levels, self._metric, self._rng, self._draws, self._scale = options

    def scaled(self, method: Method, losses: FloatArray) -> FloatArray:
        """Losses on the scale of a method."""
        return on_scale(losses, self._scale) if method in _AFFINE else losses

    def unscaled(self, method: Method, losses: FloatArray) -> FloatArray:
        """What was on the scale of a method, as losses."""
        return np.exp(losses) if method in _AFFINE and self._scale == "log" else losses

    def limits(self, method: Method, plan: Schedule, known: Known | None) -> FloatArray:
        """The promised loss at every level, all on the scale of the method.

        Raises
        ------
        NotCoveredError
            If the method has none.
        """
        if method is Method.PER_RUN:
            atoms = final_atoms(self._law, plan, known)
            return np.array([atoms.quantile(level) for level in self._levels])
        if method is Method.ORDER:
            if known is not None or plan not in self._finals:
                raise NotCoveredError("no run of this plan, or none with this loss")
            return np.array([order_statistic(self._finals[plan], level) for level in self._levels])
        if method is Method.INDEPENDENT:
            loss = final_loss(self._law, plan, known)
        else:
            loss = self._independent(plan, known)
        drawn = np.sort(sample_final_loss(loss, self._rng, self._draws))
        return np.array([order_statistic(drawn, level, next_run=False) for level in self._levels])

    def retained(self, method: Method, plan: Schedule, epoch: int) -> float:
        """How much the promise grows with the known loss, on the scale of the method."""
        if method is Method.PAPER:
            return 1.0
        return float(np.prod([self._law.step(item).retention for item in positions(plan)[epoch:]]))

    @cached_property
    def _law(self) -> AffineLaw:
        return fit_affine(self._train, self._metric, scale=self._scale)

    @cached_property
    def _finals(self) -> dict[Schedule, FloatArray]:
        """Final losses of the runs of every schedule, ascending."""
        table = self._train.matrix(self._metric)
        return {plan: np.sort(table[runs, len(plan)]) for plan, runs in self._train.by_schedule().items()}

    @cached_property
    def _paper(self) -> tuple[dict[str, tuple[Curve, Empirical]], dict[tuple[str, str], Empirical]]:
        """Curve and ratios of every model, and the jumps of every switch."""
        fit = fit_traces(self._train, self._rng, metric=self._metric, resamples=1)
        curves = {
            key.model: (found.curve, Empirical(values=tuple(found.ratios.tolist())))
            for key, found in fit.improvements.items()
        }
        jumps = {pair: Empirical(values=tuple(found.jumps.tolist())) for pair, found in fit.jumps.items()}
        return curves, jumps

    def _independent(self, plan: Schedule, known: Known | None) -> FinalLoss:
        """The paper's law with the observed ratios and jumps."""
        curves, jumps = self._paper
        models = [model for model, _ in plan]
        steps: list[LossStep] = []
        begun = 0 if known is None else known.epoch
        if known is None:
            begun = int(plan[0] in self._law.unevaluated)  # then l(1) is as it was seen
            seen = [run.observed[begun] for run in self._law.records if run.positions[0].trained == plan[0]]
            steps.append(LossStep(0.0, 0.0, (Term(1.0, Empirical(values=tuple(map(float, seen)))),)))
        for k, (previous, model) in enumerate(pairwise([models[0], *models]), start=1):
            if k <= begun:
                continue
            if model not in curves or (previous != model and (previous, model) not in jumps):
                raise NotCoveredError(f"no fit of {model!r} after {previous!r}")
            curve, ratios = curves[model]
            terms = [Term(-float(curve.at(np.array([float(k)]))[0]), ratios)]
            if previous != model:
                terms.append(Term(1.0, jumps[previous, model]))
            steps.append(LossStep(1.0, 0.0, tuple(terms)))
        return compose(0.0 if known is None else known.loss, steps)


class _Count:
    """Kept, judged and refused runs of every plan, setting, method and level."""

    def __init__(
        self, traces: Traces, levels: Sequence[float], methods: Sequence[Method], metric: str
    ) -> None:
        self._table, self._levels, self._methods = traces.matrix(metric), levels, methods
        self._found: dict[tuple[str, Setting, Method], NDArray[np.int64]] = defaultdict(
            lambda: np.zeros((3, len(levels)), dtype=np.int64)
        )

    def judge(
        self, laws: _Laws, plan: Schedule, runs: NDArray[np.int64], setting: Setting, label: str
    ) -> None:
        """Count how the runs of a plan end against what the laws promise."""
        final = self._table[runs, len(plan)]
        for method in self._methods:
            if setting is Setting.KNOWN and method is Method.ORDER:
                continue  # runs with this very loss there are none
            cell = self._found[label, setting, method]
            limits = self._limits(laws, method, plan, runs, setting)
            promised = np.isfinite(limits)
            cell[0] += promised.sum(axis=0)
            cell[1] += (~promised).sum(axis=0)
            cell[2] += (promised & (final[:, None] <= limits)).sum(axis=0)

    def rows(self) -> tuple[PromiseRow, ...]:
        """All that was counted."""
        return tuple(
            PromiseRow(plan, setting, method, level, *(int(number) for number in cell[:, column]))
            for (plan, setting, method), cell in self._found.items()
            for column, level in enumerate(self._levels)
        )

    def _limits(
        self, laws: _Laws, method: Method, plan: Schedule, runs: NDArray[np.int64], setting: Setting
    ) -> FloatArray:
        """Promised loss of every run and level, NaN where there is no promise; shape (runs, levels)."""
        nothing = np.full((len(runs), len(self._levels)), np.nan)
        try:
            if setting is not Setting.KNOWN:
                promised = laws.unscaled(method, laws.limits(method, plan, None))
                return np.broadcast_to(promised, nothing.shape)
            epoch = min(positions(plan)[-1].start + KNOWN_AGE, len(plan) - 1)
            losses = laws.scaled(method, self._table[runs, epoch])
            middle = float(np.median(losses))
            base = laws.limits(method, plan, Known(epoch, middle))
            moved = laws.retained(method, plan, epoch) * (losses[:, None] - middle)
            return laws.unscaled(method, np.asarray(base + moved))
        except NotCoveredError:
            return nothing


def _judge_held_out_runs(
    count: _Count, traces: Traces, folds: int, options: _Options, settings: Sequence[Setting]
) -> None:
    """Deal the runs of every schedule into folds, and judge each fold by the laws of all others."""
    schedules = traces.by_schedule()
    fold = _dealt(schedules.values(), folds, options.rng, len(traces.runs))
    for number in range(folds):
        laws = _Laws(traces.select(fold != number), options)
        for plan, members in schedules.items():
            judged = members[fold[members] == number]
            if len(members) >= LEAST_RUNS and len(judged):
                for setting in settings:
                    count.judge(laws, plan, judged, setting, schedule_label(plan))


def _judge_held_out_plans(count: _Count, traces: Traces, folds: int, options: _Options) -> None:
    """Judge all runs of a plan by laws that saw none of them."""
    schedules = traces.by_schedule()
    for label, plans in _held_out_plans(schedules, folds, options.rng):
        away = np.isin(np.arange(len(traces.runs)), np.concatenate([schedules[plan] for plan in plans]))
        laws = _Laws(traces.select(~away), options)
        for plan in plans:
            count.judge(laws, plan, schedules[plan], Setting.PLAN, label)


def _dealt(
    groups: Iterable[NDArray[np.int64]], folds: int, rng: np.random.Generator, size: int
) -> NDArray[np.int64]:
    """The fold of every run; each schedule is spread as evenly as possible, and so are the folds."""
    fold = np.empty(size, dtype=np.int64)
    first = 0
    for members in groups:
        fold[rng.permutation(members)] = (first + np.arange(len(members))) % folds
        first += len(members)
    return fold


def _held_out_plans(
    schedules: Mapping[Schedule, NDArray[np.int64]], folds: int, rng: np.random.Generator
) -> Iterator[tuple[str, list[Schedule]]]:
    """What is held out whole: every plan with many runs alone, the others in folds."""
    few = [plan for plan, runs in schedules.items() if len(runs) < LEAST_RUNS]
    yield from ((schedule_label(plan), [plan]) for plan in schedules if plan not in few)
    order = rng.permutation(len(few))
    for number in range(folds):
        chosen = [few[index] for index in order[number::folds]]
        if chosen:
            yield "others", chosen
