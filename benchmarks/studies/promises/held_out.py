"""The protocol *held out*: some recorded runs are known, and the others judge what was promised.

`judged`: for every target and omega the cheapest plan is chosen under the law that is fitted to the known
runs, and the judges that went through it say how often its promise was kept. `fixed_plans`: plans that nobody
chose are promised a loss by three laws, for runs that are held out, from a loss that is known `KNOWN_AGE`
epochs after the last switch, and for plans of which all runs are held out (those with few runs: ``others``).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from depl.benchmarks.studies.promises.collections import COLLECTIONS, targets_of
from depl.instances.setups import load_setup
from depl.models.estimation.affine import fit_affine
from depl.models.estimation.binomial import refuting_p_value
from depl.models.estimation.combinations import fit_traces, schedule_label
from depl.models.estimation.curve import Curve
from depl.models.estimation.instance import fit_instance
from depl.models.evaluation.traced_prediction import final_atoms, final_loss, order_statistic
from depl.models.exact.traced_search import search_under_law
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.affine_law import AffineLaw, Known, positions
from depl.models.problem.epochs import FinalLoss, LossStep, Term, compose
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Empirical, FloatArray
from depl.models.risk.sampling import sample_final_loss
from depl.models.solving.methods import Limits
from depl.models.traces.table import Schedule, Traces

CHOSEN_LEVELS = (0.8, 0.9, 0.95, 0.99)
CONFIDENCES = (0.8, 0.9, 0.95)
FIXED_LEVELS = (0.9, 0.95, 0.99)
LEAST_RUNS = 30
"""Fewest runs of a schedule that is judged on its own."""
KNOWN_AGE = 5
"""Epochs after the last switch from which a promise of a known loss is made: set by hand. With more, plans
have fewer epochs left to be promised."""
PER_RUN, INDEPENDENT, PAPER = "affine, per run", "affine, independent", "independent increments"
RUNS, PLAN, KNOWN = "held-out runs", "unseen plan", "known loss"

Row = dict[str, object]


@dataclass(frozen=True)
class Promise:
    """One problem of one draw; ``confidence`` is None for a marginal promise.

    Of the ``judges``, which went through the plan, ``kept`` ended at the target or below. A promise for a
    plan that no judge went through is made, and judged by nobody.
    """

    draw: int
    level: float
    confidence: float | None
    judges: int = 0
    kept: int = 0
    promised: bool = False

    @property
    def refuted(self) -> bool:
        """Whether the judges refute it: one-sided exact test at 5 %."""
        missed = self.judges - self.kept
        return self.judges > 0 and refuting_p_value(missed, self.judges, self.level) <= 0.05


def judged(
    collection: str,
    traces: Traces,
    known: NDArray[np.bool_],
    draw: int,
    levels: Sequence[float] = CHOSEN_LEVELS,
    confidences: Sequence[float | None] = (None, *CONFIDENCES),
    targets: Sequence[float] | None = None,
) -> list[Promise]:
    """All promises of one draw; for the targets of `targets_of` unless others are given."""
    seen, judges = traces.select(known), traces.select(~known)
    setup = load_setup(COLLECTIONS[collection].setup)
    trained = {model for plan in seen.schedules for model, _ in plan}
    models = tuple(model for model in setup.models if model.name in trained)
    fitted = fit_instance(seen, msgspec.structs.replace(setup, models=models, provenance=()))
    if fitted.traced_law is None:
        raise ValueError("the fitted instance has a traced law")
    found = []
    for confidence in confidences:
        law = msgspec.structs.replace(fitted.traced_law, confidence=confidence)
        for level in levels:
            for target in targets_of(traces) if targets is None else targets:
                asked = fitted.replace(traced_law=law, quantile_level=level, maximum_loss=target)
                found.append(_judged(Promise(draw, level, confidence), asked, judges))
    return found


def _judged(promise: Promise, asked: Instance, judges: Traces) -> Promise:
    plan = search_under_law(asked, Limits()).plan
    if plan is None:
        return promise
    length = len(plan.schedule)
    through = np.array([other[:length] == plan.schedule for other in judges.schedules])
    kept = int((judges.matrix()[through, length] <= asked.target.maximum_loss).sum())
    return replace(promise, promised=True, judges=int(through.sum()), kept=kept)


def delivered(promises: Sequence[Promise]) -> dict[str, float | int | None]:
    """Mean share of promises kept by the draws, its standard error, and what was refuted and refused."""
    told = [promise for promise in promises if promise.judges]
    by_draw: dict[int, list[float]] = {}
    for promise in told:
        by_draw.setdefault(promise.draw, []).append(promise.kept / promise.judges)
    means = np.array([np.mean(shares) for shares in by_draw.values()])
    return {
        "promises": sum(promise.promised for promise in promises),
        "judged": len(told),
        "refused": sum(not promise.promised for promise in promises) / len(promises),
        "delivered": float(means.mean()) if means.size else None,
        "standard_error": float(means.std(ddof=1) / np.sqrt(means.size)) if means.size > 1 else None,
        "refuted": sum(promise.refuted for promise in told) / len(told) if told else None,
    }


def fixed_plans(
    traces: Traces, rng: np.random.Generator, folds: int, settings: Sequence[str], draws: int
) -> list[Row]:
    """Of every plan, setting, law and level: held-out runs that got a promise, share kept, and refusals.

    ``draws`` give the order statistics that are the quantiles of the independent laws.
    """
    found: dict[tuple[str, str, str], NDArray[np.int64]] = defaultdict(
        lambda: np.zeros((3, len(FIXED_LEVELS)), dtype=np.int64)
    )
    table = traces.matrix()
    for laws, plan, judges, setting, label in _dealt_plans(traces, rng, folds, settings, draws):
        final = table[judges, len(plan)]
        for method in (PER_RUN, INDEPENDENT, PAPER):
            limits = _limits(laws, method, plan, table[judges], setting)
            promised = np.isfinite(limits)
            kept = promised & (final[:, None] <= limits)
            cells = promised.sum(axis=0), (~promised).sum(axis=0), kept.sum(axis=0)
            found[label, setting, method] += np.array(cells)
    return [
        {
            "plan": plan,
            "setting": setting,
            "method": method,
            "promised": level,
            "delivered": float(kept / runs) if runs else None,
            "runs": int(runs),
            "refused": int(refused),
        }
        for (plan, setting, method), counts in found.items()
        for level, (runs, refused, kept) in zip(FIXED_LEVELS, counts.T, strict=True)
    ]


class _Laws:
    """Everything that is fitted to one set of runs, and the promises that follow."""

    def __init__(self, train: Traces, rng: np.random.Generator, draws: int) -> None:
        self._train, self._rng, self._draws = train, rng, draws

    def limits(self, method: str, plan: Schedule, known: Known | None) -> FloatArray:
        """The promised loss at every level: its logarithm, of the affine law."""
        if method == PER_RUN:
            atoms = final_atoms(self._law, plan, known)
            return np.array([atoms.quantile(level) for level in FIXED_LEVELS])
        loss = self._independent(plan, known) if method == PAPER else final_loss(self._law, plan, known)
        drawn = np.sort(sample_final_loss(loss, self._rng, self._draws))
        return np.array([order_statistic(drawn, level, next_run=False) for level in FIXED_LEVELS])

    def retained(self, method: str, plan: Schedule, epoch: int) -> float:
        """How much the promise grows with the known loss, on the scale of the method."""
        if method == PAPER:
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


def _limits(laws: _Laws, method: str, plan: Schedule, losses: FloatArray, setting: str) -> FloatArray:
    """Promised loss of every run and level; NaN where nothing is promised."""
    try:
        if setting != KNOWN:
            promised = np.broadcast_to(laws.limits(method, plan, None), (len(losses), len(FIXED_LEVELS)))
        else:
            epoch = min(positions(plan)[-1].start + KNOWN_AGE, len(plan) - 1)
            known = losses[:, epoch] if method == PAPER else np.log(losses[:, epoch])
            middle = float(np.median(known))  # its plan is judged to lie within the support or not
            base = laws.limits(method, plan, Known(epoch, middle))
            promised = base + laws.retained(method, plan, epoch) * (known[:, None] - middle)
    except NotCoveredError:  # outside the support, or too few runs for the level
        return np.full((len(losses), len(FIXED_LEVELS)), np.nan)
    return np.asarray(promised) if method == PAPER else np.exp(promised)


def _dealt_plans(
    traces: Traces, rng: np.random.Generator, folds: int, settings: Sequence[str], draws: int
) -> Iterator[tuple[_Laws, Schedule, NDArray[np.int64], str, str]]:
    """What is fitted to the runs that are known, a plan, the runs that judge it, the setting, and a label."""
    schedules = traces.by_schedule()
    if everywhere := [setting for setting in settings if setting != PLAN]:
        fold = _dealt(list(schedules.values()), folds, rng, len(traces.runs))
        for number in range(folds):
            laws = _Laws(traces.select(fold != number), rng, draws)
            for plan, members in schedules.items():
                judges = members[fold[members] == number]
                if len(members) >= LEAST_RUNS and len(judges):
                    yield from ((laws, plan, judges, item, schedule_label(plan)) for item in everywhere)
    if PLAN in settings:  # every plan with many runs alone, the others in folds
        few = [plan for plan, runs in schedules.items() if len(runs) < LEAST_RUNS]
        away = [(schedule_label(plan), [plan]) for plan in schedules if plan not in few]
        order = rng.permutation(len(few))
        away += [("others", [few[index] for index in order[number::folds]]) for number in range(folds)]
        for label, plans in away:
            gone = [run for plan in plans for run in schedules[plan]]
            laws = _Laws(traces.select(~np.isin(np.arange(len(traces.runs)), gone)), rng, draws)
            yield from ((laws, plan, schedules[plan], PLAN, label) for plan in plans)


def _dealt(
    groups: Sequence[NDArray[np.int64]], folds: int, rng: np.random.Generator, size: int
) -> NDArray[np.int64]:
    """The fold of every run; each schedule is spread as evenly as possible, and so are the folds."""
    fold = np.empty(size, dtype=np.int64)
    first = 0
    for members in groups:
        fold[rng.permutation(members)] = (first + np.arange(len(members))) % folds
        first += len(members)
    return fold
