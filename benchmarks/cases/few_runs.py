"""What promises fitted to few runs deliver on runs that nobody had seen.

Draws of `depl.benchmarks.few_runs`, seeds 0 to 19 and all of them reported: *few* knows 51 runs of four
schedules (15, 12, 12, 12), *halves* 37 of every one of 16, *sixty* 60 of every one. Marginal promises are to
deliver omega on average, or at most two standard errors (over draws) below it; of promises with confidence c
at most the share 1 - c + 0.05 is to be refuted by a one-sided exact test at 5 % on the runs held out. What is
refused stands beside both.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from depl.benchmarks.few_runs import (
    CONFIDENCES,
    LEVELS,
    TARGETS,
    Promise,
    delivered,
    few,
    halves,
    judged,
    of_every_schedule,
    shipped_runs,
)
from depl.benchmarks.registry import Case, Goal
from depl.models.traces.table import Traces

_DRAWS = 20
_SIXTY = 60

_Deal = Callable[[Traces, int], Iterator[NDArray[np.bool_]]]


def _sixty(traces: Traces, draws: int) -> Iterator[NDArray[np.bool_]]:
    return of_every_schedule(traces, _SIXTY, draws)


_DEALS: Mapping[str, _Deal] = {"few": few, "halves": halves, "sixty": _sixty}


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    del rng  # every draw has a seed of its own, so that each can be made again alone
    traces = shipped_runs()
    rows: list[dict[str, object]] = []
    margins, excesses = [], []
    deals = {"few": few} if smoke else _DEALS
    for name, deal in deals.items():
        found: list[Promise] = []
        for draw, known in enumerate(deal(traces, 1 if smoke else _DRAWS)):
            targets, confidences = (TARGETS[2:3], (None,)) if smoke else (TARGETS, (None, *CONFIDENCES))
            found += judged(traces, known, draw, LEVELS[:2] if smoke else LEVELS, confidences, targets)
        for confidence in (None, *CONFIDENCES):
            for level in LEVELS:
                chosen = [p for p in found if p.confidence == confidence and p.level == level]
                if not chosen:
                    continue
                figures = delivered(chosen)
                rows.append({"known": name, "confidence": confidence, "promised": level, **figures})
                margins += _margin(level, figures) if confidence is None else []
                excesses += [] if confidence is None else _excess(confidence, figures)
    return {
        "least_margin": min(margins, default=float("nan")),
        "greatest_excess": max(excesses, default=float("nan")),
        "refused_sixty_at_90": _refused(rows),
        "rows": rows,
    }


def _margin(level: float, figures: Mapping[str, float | int | None]) -> list[float]:
    """How far the delivered share lies above omega less two standard errors."""
    share, error = figures["delivered"], figures["standard_error"]
    return [] if share is None else [share + 2 * (error or 0.0) - level]


def _excess(confidence: float, figures: Mapping[str, float | int | None]) -> list[float]:
    """The share of refuted promises less what is allowed."""
    refuted = figures["refuted"]
    return [] if refuted is None else [refuted - (1 - confidence + 0.05)]


def _refused(rows: list[dict[str, object]]) -> float:
    asked = {"known": "sixty", "confidence": None, "promised": 0.9}
    found = [row["refused"] for row in rows if all(row[name] == value for name, value in asked.items())]
    return float(found[0]) if found and isinstance(found[0], float | int) else float("nan")


CASE = Case(
    name="few-runs",
    summary="Promises from 12 to 60 runs of a plan, chosen by the toolkit and judged on real runs held out.",
    goals=(
        Goal("least_margin", "marginal: delivered less omega plus two standard errors, worst", ">=", 0.0),
        Goal("greatest_excess", "with confidence c: refuted less 1 - c + 0.05, worst", "<=", 0.0),
        Goal("refused_sixty_at_90", "problems refused with 60 runs per schedule at 0.90", "<=", 0.0),
    ),
    run=_run,
    seed=20261122,
)
