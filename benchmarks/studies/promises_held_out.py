"""Are promises on real runs kept? Promised against delivered on runs and plans that were held out of the fit.

The page ``docs/estimation.rst`` states the protocols and what each collection may judge. Marginal promises
are to deliver omega on average, or at most two standard errors below it: of draws, or of the means of
families, as draws of one family share runs. Of promises with confidence c at most the share 1 - c + 0.05 may
be refuted by a one-sided exact test at 5 %.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.promises.collections import (
    OF_FAMILIES,
    few,
    halves,
    of_every_schedule,
    shipped_runs,
    targets_of,
)
from depl.benchmarks.studies.promises.held_out import (
    CHOSEN_LEVELS,
    CONFIDENCES,
    INDEPENDENT,
    KNOWN,
    LEAST_RUNS,
    PAPER,
    PER_RUN,
    PLAN,
    RUNS,
    delivered,
    fixed_plans,
    judged,
)
from depl.instances.training.recorded import recorded_traces
from depl.models.traces.table import Traces

SIZES = (12, 24, 60, 300)
CONFIDENCE = 0.95
"""Of the promises on every family."""
_COLLECTIONS, _COLLECTION_DRAWS, _FAMILY_DRAWS = ("tuned", "drawn"), 20, 10
_CHANCE = 0.05
"""Share of the promises that hold which a test at 5 % refutes."""
_FIXED, _FOLDS, _PLAN_FOLDS, _LAW_DRAWS = ("digits-alexnet", "digits-mobilenet"), 26, 12, 20_000
"""Each plan is fitted to 100 of its 104 runs: with fewer than 99 no order statistic covers 0.99."""
_SMOKE_RUNS, _SMOKE_OTHERS = 200, 20
"""Of so many first runs those of the plans that were run most often are taken, and so many of others."""

Row = dict[str, Any]
Deal = Callable[..., Iterator[NDArray[np.bool_]]]
_DEALS: Mapping[str | int, Deal] = {
    "few": few,
    "halves": halves,
    "sixty": partial(of_every_schedule, size=60),
}
_SIZED: Mapping[str | int, Deal] = {size: partial(of_every_schedule, size=size) for size in SIZES}


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    few_known = [
        row
        for name in _COLLECTIONS
        for row in _chosen(name, _DEALS, _COLLECTION_DRAWS, (None, *CONFIDENCES), smoke)
    ]
    by_family = [
        row
        for name in (OF_FAMILIES[:1] if smoke else OF_FAMILIES)
        for row in _chosen(name, _SIZED, _FAMILY_DRAWS, (None, CONFIDENCE), smoke)
    ]
    fixed = [row for name in (_FIXED[:1] if smoke else _FIXED) for row in _fixed(name, rng, smoke)]
    pooled = [_pooled(rows) for rows in _grouped(by_family).values()]
    figures = _figures(few_known, by_family, pooled) | _fixed_figures(fixed)
    return {**figures, "chosen": few_known + by_family, "pooled": pooled, "fixed": fixed}


def _chosen(
    name: str,
    deals: Mapping[str | int, Deal],
    draws: int,
    confidences: Sequence[float | None],
    smoke: bool,
) -> Iterator[Row]:
    """What all draws of a collection deliver, by what is known, confidence and omega."""
    traces = shipped_runs(name)
    levels, targets = (CHOSEN_LEVELS[:2], targets_of(traces)[3:4]) if smoke else (CHOSEN_LEVELS, None)
    confidences = confidences[:1] if smoke else confidences
    for known, deal in list(deals.items())[: 1 if smoke else None]:
        found = [
            promise
            for draw, dealt in enumerate(deal(traces, draws=1 if smoke else draws))
            for promise in judged(name, traces, dealt, draw, levels, confidences, targets)
        ]
        for confidence in confidences:
            for level in levels:
                own = [item for item in found if (item.confidence, item.level) == (confidence, level)]
                told = {"collection": name, "known": known, "confidence": confidence, "promised": level}
                yield {**told, **delivered(own)}


def _grouped(rows: Sequence[Row]) -> dict[tuple[object, ...], list[Row]]:
    found: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        found.setdefault((row["known"], row["confidence"], row["promised"]), []).append(row)
    return found


def _pooled(rows: Sequence[Row]) -> Row:
    """One size, confidence and omega over all families: every family counts the same."""
    shares = np.array([row["delivered"] for row in rows if row["delivered"] is not None])
    total = sum(row["judged"] for row in rows)
    refuted = sum(row["refuted"] * row["judged"] for row in rows if row["judged"])
    return {
        **{name: rows[0][name] for name in ("known", "confidence", "promised")},
        "families": len(shares),
        "delivered": float(shares.mean()) if shares.size else None,
        "standard_error": float(shares.std(ddof=1) / np.sqrt(shares.size)) if shares.size > 1 else None,
        "least": float(shares.min()) if shares.size else None,
        "refuted": refuted / total if total else None,
        "refused": float(np.mean([row["refused"] for row in rows])),
    }


def _figures(few_known: Sequence[Row], by_family: Sequence[Row], pooled: Sequence[Row]) -> Row:
    return {
        "least_margin": min(_margins(few_known), default=float("nan")),
        "greatest_excess": max(_excesses(few_known), default=float("nan")),
        "families_least_margin": min(_margins(pooled), default=float("nan")),
        "families_greatest_excess": max(_excesses(by_family), default=float("nan")),
        "bolder_with_fewer": _bolder(pooled),
    }


def _margins(rows: Sequence[Row]) -> Iterator[float]:
    """How far the delivered shares of marginal promises lie above omega less two standard errors."""
    for row in rows:
        if row["confidence"] is None and row["delivered"] is not None:
            yield row["delivered"] + 2 * (row["standard_error"] or 0.0) - row["promised"]


def _excesses(rows: Sequence[Row]) -> Iterator[float]:
    """The shares of refuted promises with a confidence less what is allowed."""
    for row in rows:
        if row["confidence"] is not None and row["refuted"] is not None:
            yield row["refuted"] - (1 - row["confidence"] + _CHANCE)


def _bolder(pooled: Sequence[Row]) -> float:
    """By how much less is refused, at the most, where fewer runs are known; no promise may grow bolder."""
    found = {(row["confidence"], row["promised"], row["known"]): row["refused"] for row in pooled}
    steps = [
        found[confidence, level, more] - found[confidence, level, fewer]
        for fewer, more in pairwise(SIZES)
        for confidence in (None, CONFIDENCE)
        for level in CHOSEN_LEVELS
        if (confidence, level, more) in found
    ]
    return max(steps, default=float("nan"))


def _fixed(name: str, rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    """Promises to plans that nobody chose."""
    traces = recorded_traces(name)
    if smoke:
        traces = traces.select(_first_runs(traces))
    for settings, folds in (((RUNS, KNOWN), _FOLDS), ((PLAN,), _PLAN_FOLDS)):
        rows = fixed_plans(traces, rng, 2 if smoke else folds, settings, 500 if smoke else _LAW_DRAWS)
        yield from ({"family": name, **row} for row in rows)


def _first_runs(traces: Traces) -> NDArray[np.int64]:
    """The first runs of the plans that were run most often, and some of others that begin as these do."""
    first = {plan: runs[runs < _SMOKE_RUNS] for plan, runs in traces.by_schedule().items()}
    often = {plan: runs for plan, runs in first.items() if len(runs) >= LEAST_RUNS}
    begun = {plan[0] for plan in often}
    others = [runs for plan, runs in first.items() if plan not in often and plan[0] in begun]
    return np.sort(np.concatenate([*often.values(), np.concatenate(others)[:_SMOKE_OTHERS]]))


def _fixed_figures(rows: Sequence[Row]) -> Row:
    """Greatest distance of promised from delivered, or promised less delivered, of 0.90 and 0.95."""

    def cells(setting: str, method: str, levels: Sequence[float] = (0.9, 0.95)) -> list[Row]:
        own = [row for row in rows if (row["setting"], row["method"]) == (setting, method)]
        return [row for row in own if row["promised"] in levels]

    def worst(found: Sequence[Row], measure: Callable[[float], float] = abs) -> float:
        short = [row["promised"] - row["delivered"] for row in found if row["runs"]]
        return max(map(measure, short), default=float("nan"))

    unseen = cells(PLAN, PER_RUN)
    known = [row["delivered"] for row in cells(KNOWN, PAPER, (0.9,)) if row["runs"]]
    return {
        "held_out_runs": min(row["runs"] for row in cells(RUNS, PER_RUN, (0.9,))),
        "per_run_distance": worst(cells(RUNS, PER_RUN)),
        "independent_residuals_distance": worst(cells(RUNS, INDEPENDENT)),
        "known_per_run_distance": worst(cells(KNOWN, PER_RUN)),
        "known_independent_residuals_distance": worst(cells(KNOWN, INDEPENDENT)),
        "unseen_plan_shortfall": worst([row for row in unseen if row["plan"] != "others"], float),
        "unseen_others_shortfall": worst([row for row in unseen if row["plan"] == "others"], float),
        "paper_distance": worst(cells(RUNS, PAPER)),
        "paper_known_least": min(known, default=float("nan")),
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
    run=_run,
    seed=20261122,
)
