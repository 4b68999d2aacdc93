"""Promised against delivered: how often runs that no law has seen stay below the loss promised to them.

*Held-out runs*: the runs of every schedule are dealt into folds; each is judged by the laws of all others.
*Unseen plan*: all runs of one schedule are held out; schedules with few runs are dealt into folds whole.
*Known loss*: as the first, but promised `KNOWN_AGE` epochs after the last switch, from the loss of the run.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.models.estimation.affine import fit_affine
from depl.models.estimation.combinations import fit_traces, schedule_label
from depl.models.estimation.curve import Curve
from depl.models.evaluation.traced_prediction import final_atoms, final_loss, order_statistic
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.affine_law import AffineLaw, Known, positions
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


class Method(Enum):
    """What makes the promise."""

    PER_RUN = "affine, per run"
    INDEPENDENT = "affine, independent"
    PAPER = "independent increments"


class Setting(Enum):
    """What is held out, and what is known."""

    RUNS = "held-out runs"
    PLAN = "unseen plan"
    KNOWN = "known loss"


class PromiseRow(NamedTuple):
    """Of the held-out runs of a plan (or of ``others``, with few runs each) how many were promised what.

    ``runs`` got a promise, ``refused`` none, and ``kept`` ended at or below the promised loss.
    """

    plan: str
    setting: Setting
    method: Method
    level: float
    runs: int
    refused: int
    kept: int


def promised_delivered(
    traces: Traces, rng: np.random.Generator, folds: int, settings: Sequence[Setting], draws: int
) -> list[PromiseRow]:
    """Fit to some of the runs, promise, and count on the others.

    Parameters
    ----------
    rng : numpy.random.Generator
        Of the folds and of draws.
    folds : int
    settings : sequence of Setting
    draws : int
        Whose order statistics are the quantiles of the independent laws.
    """
    count = _Count(traces)
    everywhere = [setting for setting in settings if setting is not Setting.PLAN]
    if everywhere:
        _judge_held_out_runs(count, traces, folds, rng, draws, everywhere)
    if Setting.PLAN in settings:
        schedules = traces.by_schedule()
        for label, plans in _held_out_plans(schedules, folds, rng):
            away = np.isin(np.arange(len(traces.runs)), np.concatenate([schedules[plan] for plan in plans]))
            laws = _Laws(traces.select(~away), rng, draws)
            for plan in plans:
                count.judge(laws, plan, schedules[plan], Setting.PLAN, label)
    return count.rows()


class _Laws:
    """Everything that is fitted to one set of runs, and the promises that follow."""

    def __init__(self, train: Traces, rng: np.random.Generator, draws: int) -> None:
        self._train, self._rng, self._draws = train, rng, draws

    def limits(self, method: Method, plan: Schedule, known: Known | None) -> FloatArray:
        """The promised loss at every level: its logarithm, of the affine law."""
        if method is Method.PER_RUN:
            atoms = final_atoms(self._law, plan, known)
            return np.array([atoms.quantile(level) for level in LEVELS])
        if method is Method.INDEPENDENT:
            loss = final_loss(self._law, plan, known)
        else:
            loss = self._independent(plan, known)
        drawn = np.sort(sample_final_loss(loss, self._rng, self._draws))
        return np.array([order_statistic(drawn, level, next_run=False) for level in LEVELS])

    def retained(self, method: Method, plan: Schedule, epoch: int) -> float:
        """How much the promise grows with the known loss, on the scale of the method."""
        if method is Method.PAPER:
            return 1.0
        return float(np.prod([self._law.step(item).retention for item in positions(plan)[epoch:]]))

    @cached_property
    def _law(self) -> AffineLaw:
        return fit_affine(self._train, scale="log")

    @cached_property
    def _paper(self) -> tuple[dict[str, tuple[Curve, Empirical]], dict[tuple[str, str], Empirical]]:
        """Curve and ratios of every model, and the jumps of every switch."""
        fit = fit_traces(self._train, self._rng, resamples=1)
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

    def __init__(self, traces: Traces) -> None:
        self._table = traces.matrix()
        self._found: dict[tuple[str, Setting, Method], NDArray[np.int64]] = defaultdict(
            lambda: np.zeros((3, len(LEVELS)), dtype=np.int64)
        )

    def judge(
        self, laws: _Laws, plan: Schedule, runs: NDArray[np.int64], setting: Setting, label: str
    ) -> None:
        """Count how the runs of a plan end against what the laws promise."""
        final = self._table[runs, len(plan)]
        for method in Method:
            try:
                limits = self._limits(laws, method, plan, runs, setting)
            except NotCoveredError:  # outside the support, or too few runs for the level
                limits = np.full((len(runs), len(LEVELS)), np.nan)
            promised = np.isfinite(limits)
            self._found[label, setting, method] += (
                promised.sum(axis=0),
                (~promised).sum(axis=0),
                (promised & (final[:, None] <= limits)).sum(axis=0),
            )

    def rows(self) -> list[PromiseRow]:
        """All that was counted."""
        return [
            PromiseRow(*key, level, *(int(number) for number in cell[:, column]))
            for key, cell in self._found.items()
            for column, level in enumerate(LEVELS)
        ]

    def _limits(
        self, laws: _Laws, method: Method, plan: Schedule, runs: NDArray[np.int64], setting: Setting
    ) -> FloatArray:
        """Promised loss of every run and level."""
        logs = method is not Method.PAPER
        if setting is not Setting.KNOWN:
            promised = np.broadcast_to(laws.limits(method, plan, None), (len(runs), len(LEVELS)))
        else:
            epoch = min(positions(plan)[-1].start + KNOWN_AGE, len(plan) - 1)
            losses = np.log(self._table[runs, epoch]) if logs else self._table[runs, epoch]
            middle = float(np.median(losses))  # its plan is judged to lie within the support or not
            base = laws.limits(method, plan, Known(epoch, middle))
            promised = base + laws.retained(method, plan, epoch) * (losses[:, None] - middle)
        return np.exp(promised) if logs else np.asarray(promised)


def _judge_held_out_runs(
    count: _Count,
    traces: Traces,
    folds: int,
    rng: np.random.Generator,
    draws: int,
    settings: Sequence[Setting],
) -> None:
    """Deal the runs of every schedule into folds, and judge each fold by the laws of all others."""
    schedules = traces.by_schedule()
    fold = _dealt(schedules.values(), folds, rng, len(traces.runs))
    for number in range(folds):
        laws = _Laws(traces.select(fold != number), rng, draws)
        for plan, members in schedules.items():
            judged = members[fold[members] == number]
            if len(members) >= LEAST_RUNS and len(judged):
                for setting in settings:
                    count.judge(laws, plan, judged, setting, schedule_label(plan))


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
