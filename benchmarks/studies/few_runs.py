"""What promises fitted to few runs deliver on runs that nobody had seen.

Draws of `depl.benchmarks.studies.promises.few_runs`, seeds 0 to 19 and all of them reported, of two
collections: *drawn* judges rules that were chosen before it was trained, *tuned* is the one on which they
were chosen. *few* knows 51 runs of four schedules (15, 12, 12, 12), *halves* 37 of every one of 16, *sixty*
60 of every one. Marginal promises are to deliver omega on average, or at most two standard errors (over
draws) below it; of promises with confidence c at most the share 1 - c + 0.05 is to be refuted by a one-sided
exact test at 5 % on the runs held out. What is refused stands beside both, and beside what the rule before
refused. The goal for it is judged on *drawn* alone, because the number of settled epochs was chosen on
*tuned*; there, at 60 runs and 0.90, more is refused than before, and the record says how much.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.promises.few_runs import (
    CONFIDENCES,
    LEVELS,
    Promise,
    delivered,
    few,
    halves,
    judged,
    of_every_schedule,
    shipped_runs,
    targets_of,
)
from depl.models.traces.table import Traces

COLLECTIONS = ("tuned", "drawn")
_DRAWS = 20
_SIXTY = 60

_Deal = Callable[[Traces, int], Iterator[NDArray[np.bool_]]]


def _sixty(traces: Traces, draws: int) -> Iterator[NDArray[np.bool_]]:
    return of_every_schedule(traces, _SIXTY, draws)


_DEALS: Mapping[str, _Deal] = {"few": few, "halves": halves, "sixty": _sixty}


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    del rng  # every draw has a seed of its own, so that each can be made again alone
    rows = _smoke_rows() if smoke else [row for name in COLLECTIONS for row in _rows(name)]
    return {
        "least_margin": min((x for row in rows for x in _margin(row)), default=float("nan")),
        "greatest_excess": max((x for row in rows for x in _excess(row)), default=float("nan")),
        "more_refused_sixty_at_90": _more_refused(rows, "drawn"),
        "more_refused_sixty_at_90_tuned": _more_refused(rows, "tuned"),
        "targets": {} if smoke else {name: targets_of(shipped_runs(name)) for name in COLLECTIONS},
        "rows": rows,
    }


def _rows(collection: str) -> list[dict[str, object]]:
    """What all draws of a collection deliver, by what is known, confidence and omega."""
    traces, rows = shipped_runs(collection), []
    for known, deal in _DEALS.items():
        found: list[Promise] = []
        for draw, dealt in enumerate(deal(traces, _DRAWS)):
            found += judged(collection, traces, dealt, draw)
        for confidence in (None, *CONFIDENCES):
            for level in LEVELS:
                rows.append(_row(collection, known, confidence, level, found))
    return rows


def _more_refused(rows: list[dict[str, object]], collection: str) -> float:
    """The share of problems refused less that refused before: 60 runs of every schedule, marginal, 0.90."""
    asked = {"collection": collection, "known": "sixty", "confidence": None, "promised": 0.9}
    for row in rows:
        if all(row[name] == value for name, value in asked.items()):
            return _number(row["refused"]) - _number(row["refused_before"])
    return float("nan")


def _smoke_rows() -> list[dict[str, object]]:
    """One draw of 51 runs of each collection, one target, marginal promises of 0.80 and 0.90."""
    rows = []
    for collection in COLLECTIONS:
        traces = shipped_runs(collection)
        (dealt,) = few(traces, 1)
        middle = targets_of(traces)[3:4]
        found = judged(collection, traces, dealt, 0, LEVELS[:2], (None,), middle)
        rows += [_row(collection, "few", None, level, found) for level in LEVELS[:2]]
    return rows


def _row(
    collection: str, known: str, confidence: float | None, level: float, found: list[Promise]
) -> dict[str, object]:
    chosen = [promise for promise in found if (promise.confidence, promise.level) == (confidence, level)]
    told = {"collection": collection, "known": known, "confidence": confidence, "promised": level}
    return {**told, **delivered(chosen)}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


def _margin(row: Mapping[str, object]) -> list[float]:
    """How far the delivered share of marginal promises lies above omega less two standard errors."""
    if row["confidence"] is not None or row["delivered"] is None:
        return []
    error = 0.0 if row["standard_error"] is None else _number(row["standard_error"])
    return [_number(row["delivered"]) + 2 * error - _number(row["promised"])]


def _excess(row: Mapping[str, object]) -> list[float]:
    """The share of refuted promises with a confidence less what is allowed."""
    if row["confidence"] is None or row["refuted"] is None:
        return []
    return [_number(row["refuted"]) - (1 - _number(row["confidence"]) + 0.05)]


STUDY = Study(
    name="few-runs",
    summary="Promises from 12 to 60 runs of a plan, chosen by the toolkit and judged on real runs held out.",
    goals=(
        Goal("least_margin", "marginal: delivered less omega plus two standard errors, worst", ">=", 0.0),
        Goal("greatest_excess", "with confidence c: refuted less 1 - c + 0.05, worst", "<=", 0.0),
        Goal(
            "more_refused_sixty_at_90",
            "60 runs per schedule, 0.90, drawn: share of problems refused less that refused before",
            "<=",
            0.0,
        ),
    ),
    run=_run,
    seed=20261122,
)
