"""What promises deliver when 12, 24, 60 or 300 runs of each plan are known, on every family of real runs.

Of every family 400 runs of each of two drawn schedules were trained for this (`OF_FAMILIES` of
`depl.benchmarks.studies.promises.few_runs`, committed before the first of them was). In each of 10 draws some
of them are known, plans are chosen for six targets under the fitted law, and the runs that are left judge
them: at least 100 of each plan. The rule itself was chosen on other runs (case ``few-runs``).

Marginal promises are to deliver omega on average over draws and families, or at most two standard errors
below it; draws of one family share runs, so that the standard error is that of the means of families. Of the
promises with confidence 0.95 that a family is given at most 0.10 may be refuted by a one-sided exact test at
5 %: 0.05 are promised too boldly, and 0.05 of those that hold are refuted by chance.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.promises.few_runs import (
    LEVELS,
    OF_FAMILIES,
    Promise,
    delivered,
    judged,
    of_every_schedule,
    shipped_runs,
    targets_of,
)

SIZES = (12, 24, 60, 300)
CONFIDENCE = 0.95
_DRAWS = 10
_CHANCE = 0.05
"""Share of the promises that hold which a test at 5 % refutes."""


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    del rng  # every draw has a seed of its own, so that each can be made again alone
    rows = [row for name in (OF_FAMILIES[:1] if smoke else OF_FAMILIES) for row in _rows(name, smoke)]
    pooled = [
        _pooled([row for row in rows if (row["known"], row["confidence"], row["promised"]) == key])
        for key in dict.fromkeys((row["known"], row["confidence"], row["promised"]) for row in rows)
    ]
    return {
        "least_margin": min((x for row in pooled for x in _margin(row)), default=float("nan")),
        "greatest_excess": max((x for row in rows for x in _excess(row)), default=float("nan")),
        "bolder_with_fewer": _bolder(pooled),
        "families": list(OF_FAMILIES),
        "pooled": pooled,
        "rows": rows,
    }


def _rows(family: str, smoke: bool) -> list[dict[str, Any]]:
    """What all draws of a family deliver, by the number of known runs, confidence and omega."""
    traces, rows = shipped_runs(family), []
    levels, targets = (LEVELS[:1], targets_of(traces)[3:4]) if smoke else (LEVELS, None)
    for size in SIZES[:1] if smoke else SIZES:
        found: list[Promise] = []
        for draw, dealt in enumerate(of_every_schedule(traces, size, 1 if smoke else _DRAWS)):
            found += judged(family, traces, dealt, draw, levels, (None, CONFIDENCE), targets)
        for confidence in (None, CONFIDENCE):
            for level in levels:
                own = [item for item in found if (item.confidence, item.level) == (confidence, level)]
                told = {"family": family, "known": size, "confidence": confidence, "promised": level}
                rows.append({**told, **delivered(own)})
    return rows


def _pooled(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """One size, confidence and omega over all families: every family counts the same."""
    shares = np.array([row["delivered"] for row in rows if row["delivered"] is not None])
    judged_rows = [row for row in rows if row["judged"]]
    total = sum(row["judged"] for row in rows)
    return {
        **{name: rows[0][name] for name in ("known", "confidence", "promised")},
        "families": len(shares),
        "delivered": float(shares.mean()) if shares.size else None,
        "standard_error": float(shares.std(ddof=1) / np.sqrt(shares.size)) if shares.size > 1 else None,
        "least": float(shares.min()) if shares.size else None,
        "refuted": sum(row["refuted"] * row["judged"] for row in judged_rows) / total if total else None,
        "refused": float(np.mean([row["refused"] for row in rows])),
    }


def _margin(row: Mapping[str, Any]) -> list[float]:
    """How far the delivered share of marginal promises lies above omega less two standard errors."""
    if row["confidence"] is not None or row["delivered"] is None:
        return []
    return [row["delivered"] + 2 * (row["standard_error"] or 0.0) - row["promised"]]


def _excess(row: Mapping[str, Any]) -> list[float]:
    """The share of a family's promises with confidence that is refuted, less what is allowed."""
    if row["confidence"] is None or row["refuted"] is None:
        return []
    return [row["refuted"] - (1 - row["confidence"] + _CHANCE)]


def _bolder(pooled: list[dict[str, Any]]) -> float:
    """By how much less is refused, at the most, where fewer runs are known; no promise may grow bolder."""
    found = {(row["confidence"], row["promised"], row["known"]): row["refused"] for row in pooled}
    steps = [
        found[confidence, level, more] - found[confidence, level, fewer]
        for fewer, more in pairwise(SIZES)
        for confidence in (None, CONFIDENCE)
        for level in LEVELS
        if (confidence, level, more) in found
    ]
    return max(steps, default=float("nan"))


def _figure(values: Mapping[str, Any]) -> Figure:
    from depl.benchmarks.studies.promises.runs_per_plan_figure import runs_per_plan_figure

    return runs_per_plan_figure(values)


STUDY = Study(
    name="runs-per-plan",
    summary="Promises from 12, 24, 60 and 300 runs per plan, marginal and with confidence, on every family.",
    goals=(
        Goal("least_margin", "marginal: delivered less omega plus two standard errors, worst", ">=", 0.0),
        Goal("greatest_excess", "confidence 0.95: refuted less 0.10, worst of all families", "<=", 0.0),
        Goal("bolder_with_fewer", "refused with more runs less refused with fewer, most", "<=", 0.0),
    ),
    run=_run,
    seed=20261124,
    draw=_figure,
)
