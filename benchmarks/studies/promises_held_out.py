"""Are promises on real runs kept? Promised against delivered on runs and plans that were held out of the fit.

`depl.benchmarks.studies.helpers.collections` says what each collection may judge. Marginal promises are to
deliver omega on average, or at most two standard errors below it: of draws, or of the means of families, as
draws of one family share runs. Of promises with confidence c at most the share 1 - c + 0.05 may be refuted
by a one-sided exact test at 5 %.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.collections import OF_FAMILIES, known_runs, setup_of, shipped_runs
from depl.instances.setups import load_setup
from depl.instances.training.recorded import recorded_traces
from depl.models.estimation.affine import fit_affine
from depl.models.estimation.binomial import binomial_p_values
from depl.models.estimation.curve import Curve
from depl.models.estimation.fit import fit_traces, schedule_label
from depl.models.estimation.instance import fit_instance
from depl.models.evaluation.traced_law import independent_loss, mixture_of
from depl.models.evaluation.traced_support import outside_support
from depl.models.exact.listing import enumerate_plans
from depl.models.foundation.documents import decimal
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.affine_law import AffineLaw, Known, ends_of, positions
from depl.models.problem.epochs import FinalLoss, LossStep, Term, compose
from depl.models.problem.laws import Empirical, FloatArray
from depl.models.problem.traced_law import traced_law
from depl.models.risk.sampling import sample_final_loss
from depl.models.solving.limits import Limits
from depl.models.traces.table import Schedule, Traces

SIZES = (12, 24, 60, 300)
QUANTILES = (0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
"""The targets l_max are these quantiles of the last losses of all runs of a collection: no target is left out
because it is difficult, and the lowest are out of reach of most schedules."""
CHOSEN_LEVELS, FIXED_LEVELS = (0.8, 0.9, 0.95, 0.99), (0.9, 0.95, 0.99)
CONFIDENCES = (None, 0.8, 0.9, 0.95)
"""None of a marginal promise."""
LEAST_RUNS = 30
"""Fewest runs of a schedule that is judged on its own."""
KNOWN_AGE = 5
"""Epochs after the last switch from which a promise of a known loss is made: set by hand. With more, plans
have fewer epochs left to be promised."""
PER_RUN, INDEPENDENT, PAPER = METHODS = ("affine, per run", "affine, independent", "independent increments")
RUNS, PLAN, KNOWN = "held-out runs", "unseen plan", "known loss"
MOST_SUMS = 100_000
"""Most sums of what different runs lend: set by hand; fewer round quantiles up by more."""
_CHANCE = 0.05
"""Share of the promises that hold which a test at 5 % refutes."""
_SEED = 20261122
_KNOWN: Mapping[str, str | int] = {"few": "few", "halves": "halves", "sixty": 60}
_SAME = ["known", "confidence", "promised"]

Row = dict[str, Any]


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    """A draw of the known runs of a collection, or all promises to fixed plans.

    Each fixed plan is fitted to 100 of its 104 runs: with fewer than 99 no order statistic covers 0.99.
    """
    del rng
    if smoke:
        asked = {"confidences": [None], "levels": CHOSEN_LEVELS[:2], "quantiles": QUANTILES[3:4], "draw": 0}
        for name, known in (("tuned", "few"), ("drawn", "few"), (OF_FAMILIES[0], SIZES[0])):
            yield {"collection": name, "known": known, **asked}
        yield {"families": ["digits-alexnet"], "folds": [2, 2], "draws": 500, "seed": _SEED, "runs": 180}
        return
    for name in ("tuned", "drawn", *OF_FAMILIES):
        sizes: Sequence[str | int] = SIZES if name in OF_FAMILIES else tuple(_KNOWN)
        asked = {"confidences": (None, 0.95) if name in OF_FAMILIES else CONFIDENCES, "levels": CHOSEN_LEVELS}
        for known in sizes:
            for draw in range(10 if name in OF_FAMILIES else 20):
                yield {"collection": name, "known": known, **asked, "quantiles": QUANTILES, "draw": draw}
    families = ["digits-alexnet", "digits-mobilenet"]
    yield {"families": families, "folds": [26, 12], "draws": 20_000, "seed": _SEED, "runs": None}


def _run(task: Mapping[str, Any]) -> Row:
    return {"rows": list(judged(task) if "collection" in task else _fixed(task))}


def targets_of(traces: Traces, quantiles: Sequence[float] = QUANTILES) -> list[float]:
    """The target losses that are asked for, with three decimals."""
    return [float(target) for target in np.round(np.quantile(traces.matrix()[:, -1], quantiles), 3)]


def judged(task: Mapping[str, Any]) -> Iterator[Row]:
    """All promises of one draw: the cheapest plan under the law that is fitted to the known runs is judged.

    Of the ``judges``, which went through the plan, ``kept`` ended at the target or below; ``refuted`` says
    whether they refute the promise. A promise for a plan that no judge went through is made, and judged by
    nobody.
    """
    traces = shipped_runs(task["collection"])
    known = known_runs(traces, _KNOWN.get(task["known"], task["known"]), task["draw"])
    seen, judges = traces.select(known), traces.select(~known)
    setup = load_setup(setup_of(task["collection"]))
    trained = {model for plan in seen.schedules for model, _ in plan}
    models = tuple(model for model in setup.models if model.name in trained)
    fitted = fit_instance(seen, msgspec.structs.replace(setup, models=models, provenance=()))
    if fitted.traced_law is None:
        raise ValueError("the fitted instance has a traced law")
    for confidence, level in product(task["confidences"], task["levels"]):
        law = msgspec.structs.replace(fitted.traced_law, confidence=confidence)
        for target in targets_of(traces, task["quantiles"]):
            asked = fitted.replace(traced_law=law, quantile_level=level, maximum_loss=target)
            plan = enumerate_plans(asked, Limits()).plan
            row = {"confidence": confidence, "promised": level, "made": plan is not None}
            yield row | _counted(() if plan is None else plan.schedule, target, level, judges)


def _counted(schedule: Schedule, target: float, level: float, judges: Traces) -> Row:
    length = len(schedule)
    through = [length > 0 and other[:length] == schedule for other in judges.schedules]
    final = judges.matrix()[np.array(through), length]
    missed = len(final) - (kept := int((final <= target).sum()))
    refuted = len(final) > 0 and binomial_p_values(missed, len(final), level)[1] <= 0.05
    return {"judges": len(final), "kept": kept, "refuted": refuted}


def delivered(promises: Any) -> Row:
    """Mean share of promises kept by the draws, its standard error, and what was refuted and refused."""
    told = promises[promises["judges"] > 0]
    shares = (told["kept"] / told["judges"]).groupby(told["draw"]).mean()
    return {
        "promises": int(promises["made"].sum()),
        "judged": len(told),
        "refused": 1 - promises["made"].mean(),
        "delivered": shares.mean(),
        "standard_error": shares.sem(),
        "refuted": told["refuted"].mean(),
    }


def _fixed(task: Mapping[str, Any]) -> Iterator[Row]:
    """Promises to plans that nobody chose."""
    rng = np.random.default_rng(task["seed"])
    for name in task["families"]:
        traces = recorded_traces(name)
        traces = traces.select(np.arange(task["runs"] or len(traces.runs)))
        for settings, folds in zip(((RUNS, KNOWN), (PLAN,)), task["folds"], strict=True):
            for row in fixed_plans(traces, rng, folds, settings, task["draws"]):
                yield {"family": name, **row}


def fixed_plans(
    traces: Traces, rng: np.random.Generator, folds: int, settings: Sequence[str], draws: int
) -> list[Row]:
    """Of every plan, setting, law and level: runs held out that got a promise, share kept, and refusals.

    Promises are for runs that are held out, from a loss that is known `KNOWN_AGE` epochs after the last
    switch, and for plans of which all runs are held out (those with few runs: ``others``). ``draws`` give the
    order statistics that are the quantiles of the independent laws.
    """
    found: dict[tuple[str, str, str], Any] = defaultdict(int)
    table, schedules = traces.matrix(), traces.by_schedule()
    for away, plans, asked, label in _held_out(schedules, rng, folds, settings):
        laws = _Laws(traces.select(~away), rng, draws)
        for plan in plans:
            losses = table[schedules[plan][away[schedules[plan]]]]
            for setting, method in product(asked if len(losses) else (), METHODS):
                limits = laws.limits(method, plan, losses, setting == KNOWN)
                promised = np.isfinite(limits)
                kept = promised & (losses[:, len(plan), None] <= limits)
                counts = [cells.sum(axis=0) for cells in (promised, ~promised, kept)]
                found[label or schedule_label(plan), setting, method] += np.array(counts)
    keys = ("plan", "setting", "method")
    return [
        {**dict(zip(keys, key, strict=True)), "promised": level, "runs": runs, "refused": refused}
        | {"delivered": kept / runs if runs else None}
        for key, counts in found.items()
        for level, (runs, refused, kept) in zip(FIXED_LEVELS, counts.T.tolist(), strict=True)
    ]


def _held_out(
    schedules: Mapping[Schedule, NDArray[np.int64]],
    rng: np.random.Generator,
    folds: int,
    settings: Sequence[str],
) -> Iterator[tuple[NDArray[np.bool_], list[Schedule], Sequence[str], str]]:
    """Runs that are held out together, the plans that they judge, in which settings, and as what."""
    often = [plan for plan, runs in schedules.items() if len(runs) >= LEAST_RUNS]
    many = sum(map(len, schedules.values()))
    if everywhere := [setting for setting in settings if setting != PLAN]:
        # each schedule is spread over the folds as evenly as possible, and so are all runs
        dealt = np.concatenate([rng.permutation(runs) for runs in schedules.values()])
        for number in range(folds):
            away = np.zeros(many, dtype=bool)
            away[dealt[number::folds]] = True
            yield away, often, everywhere, ""
    if PLAN in settings:  # every plan with many runs alone, the others in folds
        few = [plan for plan in schedules if plan not in often]
        order = rng.permutation(len(few))
        parts = [([plan], "") for plan in often]
        parts += [([few[index] for index in order[number::folds]], "others") for number in range(folds)]
        for plans, label in parts:
            gone = [run for plan in plans for run in schedules[plan]]
            yield np.isin(np.arange(many), gone), plans, [PLAN], label


def sums_of(constant: float, parts: Sequence[FloatArray]) -> FloatArray:
    """All sums with one number of each part, of at most `MOST_SUMS` neighbours in groups the greatest."""
    values = np.array([constant])
    for part in parts:
        values = np.sort(np.add.outer(values, part), axis=None)
        size = math.ceil(values.size / MOST_SUMS)
        padded = np.concatenate([np.full(-values.size % size, values[0]), values])
        values = padded.reshape(-1, size).max(axis=1)
    return values


def order_statistic(values: FloatArray, level: float, next_run: bool) -> float:
    """The smallest of n ascending values that covers ``level``.

    For the next run its rank is ceil((n + 1) level), which an exchangeable next value stays below with that
    probability at least, infinite where n is too small; else ceil(n level), the quantile of the values.
    """
    rank = math.ceil((len(values) + int(next_run)) * decimal(level))
    return float(values[rank - 1]) if rank <= len(values) else math.inf


class _Laws:
    """Everything that is fitted to one set of runs, and the promises that follow."""

    def __init__(self, train: Traces, rng: np.random.Generator, draws: int) -> None:
        self._train, self._rng, self._draws = train, rng, draws
        self._law: AffineLaw = fit_affine(train, scale="log")
        self._traced = traced_law(self._law)

    def limits(self, method: str, plan: Schedule, losses: FloatArray, known: bool) -> FloatArray:
        """Promised loss of every run and level, from its loss in mid-run if known; NaN without promise."""
        moved, start = np.zeros(len(losses)), None
        try:
            if known:
                epoch = min(positions(plan)[-1].start + KNOWN_AGE, len(plan) - 1)
                seen = losses[:, epoch] if method == PAPER else np.log(losses[:, epoch])
                middle = float(np.median(seen))  # its plan is judged to lie within the support or not
                start, moved = Known(epoch, middle), seen - middle
            if method != PAPER and outside_support(self._law, plan, start):
                return np.full((len(losses), len(FIXED_LEVELS)), np.nan)
            promised = self._quantiles(method, plan, start)
            if start is not None and method != PAPER:
                ahead = positions(plan)[start.epoch :]
                moved = moved * float(np.prod([self._law.step(place).retention for place in ahead]))
        except NotCoveredError:  # the paper's law has no such epoch
            return np.full((len(losses), len(FIXED_LEVELS)), np.nan)
        found = promised + moved[:, None]
        return found if method == PAPER else np.exp(found)

    def _quantiles(self, method: str, plan: Schedule, known: Known | None) -> FloatArray:
        """The promised loss at every level: its logarithm, of the affine law."""
        together = False
        if method == PER_RUN:
            law = self._traced
            if known is not None:
                law = law.after(plan[: known.epoch], math.exp(known.loss))
            found = mixture_of(law, ends_of(plan))
            values, together = sums_of(found.constant, found.parts), found.together
        else:
            loss = (
                self._increments(plan, known) if method == PAPER else independent_loss(self._law, plan, known)
            )
            values = sample_final_loss(loss, self._rng, self._draws)
        return np.array([order_statistic(np.sort(values), level, together) for level in FIXED_LEVELS])

    @cached_property
    def _paper(self) -> tuple[dict[str, tuple[Curve, Empirical]], dict[tuple[str, str], Empirical]]:
        """Curve and ratios of every model, and the jumps of every switch."""
        fit = fit_traces(self._train, self._rng, resamples=1)
        curves = {
            key.model: (found.curve, Empirical(values=tuple(found.ratios.tolist())))
            for key, found in fit.improvements.items()
        }
        return curves, {
            pair: Empirical(values=tuple(item.jumps.tolist())) for pair, item in fit.jumps.items()
        }

    def _increments(self, plan: Schedule, known: Known | None) -> FinalLoss:
        """The paper's law with the observed ratios and jumps."""
        curves, jumps = self._paper
        models = [model for model, _ in plan]
        steps: list[LossStep] = []
        if known is None:
            begun, start = int(plan[0] in self._law.unevaluated), 0.0  # then l(1) is as it was seen
            own = [run for run in self._law.records if run.positions[0].trained == plan[0]]
            seen = Empirical(values=tuple(float(run.observed[begun]) for run in own))
            steps.append(LossStep(0.0, 0.0, (Term(1.0, seen),)))
        else:
            begun, start = known.epoch, known.loss
        for k in range(begun, len(models)):
            previous, model = models[max(k - 1, 0)], models[k]
            if model not in curves or (previous != model and (previous, model) not in jumps):
                raise NotCoveredError(f"no fit of {model!r} after {previous!r}")
            curve, ratios = curves[model]
            terms = [Term(-float(curve.at(np.array([k + 1.0]))[0]), ratios)]
            if previous != model:
                terms.append(Term(1.0, jumps[previous, model]))
            steps.append(LossStep(1.0, 0.0, tuple(terms)))
        return compose(start, steps)


def _figures(answers: Sequence[Mapping[str, Any]]) -> Row:
    import pandas as pd

    dealt = [answer for answer in answers if "collection" in answer]
    asked = [{name: answer[name] for name in ("collection", "known", "draw")} for answer in dealt]
    promises = [{**task, **row} for task, answer in zip(asked, dealt, strict=True) for row in answer["rows"]]
    keys = ["collection", *_SAME]
    groups = pd.DataFrame(promises).groupby(keys, sort=False, dropna=False)
    chosen = [{**dict(zip(keys, key, strict=True)), **delivered(own)} for key, own in groups]
    return _values(chosen, [row for answer in answers if "families" in answer for row in answer["rows"]])


def _values(chosen: Sequence[Row], fixed: Sequence[Row]) -> Row:
    import pandas as pd

    rows = pd.DataFrame(chosen)
    of_family = rows["collection"].isin(OF_FAMILIES)
    families = pooled(rows[of_family])
    return {
        "least_margin": least_margin(rows[~of_family]),
        "greatest_excess": greatest_excess(rows[~of_family]),
        "families_least_margin": least_margin(families),
        "families_greatest_excess": greatest_excess(rows[of_family]),
        "bolder_with_fewer": bolder(families),
        **_fixed_figures(pd.DataFrame(fixed)),
        "chosen": chosen,
        "pooled": families.to_dict("records"),
        "fixed": fixed,
    }


def pooled(rows: Any) -> Any:
    """One size, confidence and omega over all families: every family counts the same."""
    groups = rows.assign(number=rows["refuted"] * rows["judged"]).groupby(_SAME, sort=False, dropna=False)
    found = groups.agg(
        families=("delivered", "count"),
        delivered=("delivered", "mean"),
        standard_error=("delivered", "sem"),
        least=("delivered", "min"),
        number=("number", "sum"),
        judged=("judged", "sum"),
        refused=("refused", "mean"),
    ).reset_index()
    return found.assign(refuted=found["number"] / found["judged"]).drop(columns=["number", "judged"])


def least_margin(rows: Any) -> float:
    """How far the delivered shares of marginal promises lie above omega less two standard errors, least."""
    rows = rows[rows["confidence"].isna()]
    return float((rows["delivered"] + 2 * rows["standard_error"].fillna(0.0) - rows["promised"]).min())


def greatest_excess(rows: Any) -> float:
    """The shares of refuted promises with a confidence less what is allowed, greatest."""
    rows = rows[rows["confidence"].notna()]
    return float((rows["refuted"] - (1 - rows["confidence"] + _CHANCE)).max())


def bolder(families: Any) -> float:
    """By how much less is refused, at the most, where fewer runs are known; no promise may grow bolder."""
    refused = families.fillna({"confidence": 0.0}).set_index(_SAME)["refused"].unstack("known")
    return float(refused.diff(axis=1).max(axis=None))


def _fixed_figures(rows: Any) -> Row:
    """Greatest distance of promised from delivered, or promised less delivered, of 0.90 and 0.95."""
    rows = rows[rows["promised"] < 0.99]
    cells = rows.assign(short=rows["promised"] - rows["delivered"]).groupby(["setting", "method"])
    own, unseen, paper = (cells.get_group(key) for key in ((RUNS, PER_RUN), (PLAN, PER_RUN), (KNOWN, PAPER)))
    others = unseen["plan"] == "others"
    distances = {
        "per_run_distance": (RUNS, PER_RUN),
        "independent_residuals_distance": (RUNS, INDEPENDENT),
        "known_per_run_distance": (KNOWN, PER_RUN),
        "known_independent_residuals_distance": (KNOWN, INDEPENDENT),
        "paper_distance": (RUNS, PAPER),
    }
    return {
        "held_out_runs": int(own[own["promised"] == 0.9]["runs"].min()),
        **{name: float(cells.get_group(key)["short"].abs().max()) for name, key in distances.items()},
        "unseen_plan_shortfall": float(unseen[~others]["short"].max()),
        "unseen_others_shortfall": float(unseen[others]["short"].max()),
        "paper_known_least": float(paper[paper["promised"] == 0.9]["delivered"].min()),
    }


_MARGIN = "marginal: delivered less omega plus two standard errors, worst"
STUDY = Study(
    name="promises-held-out",
    summary="Promises of chosen and of fixed plans against what real runs delivered that were held out.",
    goals=(
        Goal("least_margin", f"two collections, {_MARGIN}", ">=", 0.0),
        Goal("greatest_excess", "with confidence c: refuted less 1 - c + 0.05, worst", "<=", 0.0),
        Goal("families_least_margin", f"all families, {_MARGIN}", ">=", 0.0),
        Goal("families_greatest_excess", "confidence 0.95: refuted less 0.10, worst family", "<=", 0.0),
        Goal("bolder_with_fewer", "refused with more runs less refused with fewer, most", "<=", 0.0),
        Goal("held_out_runs", "held-out runs of a fixed plan, fewest", ">=", 100),
        Goal("per_run_distance", "affine law per run, farthest of all plans from 0.90, 0.95", "<=", 0.05),
        Goal("independent_residuals_distance", "affine law, independent residuals, the same", "<=", 0.05),
        Goal("known_per_run_distance", "per run, from a known loss", "<=", 0.05),
        Goal("known_independent_residuals_distance", "independent residuals, from a known loss", "<=", 0.05),
        Goal("unseen_plan_shortfall", "per run, plans held out: promised less delivered, worst", "<=", 0.05),
        Goal("unseen_others_shortfall", "the same for plans of the design", "<=", 0.05),
        Goal("paper_distance", "independent increments: they fail by at least", ">=", 0.04),
        Goal("paper_known_least", "and deliver from a known loss instead of 0.90 at most", "<=", 0.6),
    ),
    tasks=_tasks,
    run=_run,
    figures=_figures,
    seed=_SEED,
)
