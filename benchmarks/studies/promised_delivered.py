"""Are promises on real runs kept? Promised against delivered frequency on runs and plans held out of the fit.

The two main families of shipped traces, 600 runs each: the affine law with residuals per run (of a plan that
was run, the order statistic of its runs) and independent, and the paper's law of independent increments. Runs
are dealt into 26 folds, so that each plan is fitted to 100 of its 104 runs: with fewer than 99 no order
statistic covers 0.99. Plans are then held out whole: one by one, or in 12 folds where few runs followed them.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.promises.held_out_promises import (
    LEAST_RUNS,
    Method,
    PromiseRow,
    Setting,
    promised_delivered,
)
from depl.instances.training.recorded import recorded_traces
from depl.models.traces.table import Traces

_FAMILIES = ("digits-alexnet", "digits-mobilenet")
_FOLDS, _PLAN_FOLDS, _DRAWS = 26, 12, 20_000
_SMOKE_RUNS, _SMOKE_OTHERS = 200, 20
"""Of so many first runs those of the plans that were run most often are taken, and so many of others."""
_MIDDLE = (0.9, 0.95)

Named = tuple[str, PromiseRow]


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    found: list[Named] = []
    for family in _FAMILIES[:1] if smoke else _FAMILIES:
        traces = recorded_traces(family)
        if smoke:
            traces = traces.select(_few_runs(traces))
        for settings, folds in (((Setting.RUNS, Setting.KNOWN), _FOLDS), ((Setting.PLAN,), _PLAN_FOLDS)):
            draws = 500 if smoke else _DRAWS
            rows = promised_delivered(traces, rng, 2 if smoke else folds, settings, draws)
            found += [(family, row) for row in rows]
    return {"held_out_runs": _judged(found), **_figures(found), "rows": [_told(*item) for item in found]}


def _few_runs(traces: Traces) -> NDArray[np.int64]:
    """The first runs of the plans that were run most often, and some of others that begin as these do."""
    first = {plan: runs[runs < _SMOKE_RUNS] for plan, runs in traces.by_schedule().items()}
    often = {plan: runs for plan, runs in first.items() if len(runs) >= LEAST_RUNS}
    begun = {plan[0] for plan in often}
    others = [runs for plan, runs in first.items() if plan not in often and plan[0] in begun]
    return np.sort(np.concatenate([*often.values(), np.concatenate(others)[:_SMOKE_OTHERS]]))


def _judged(found: list[Named]) -> int:
    """Fewest held-out runs that residuals per run were judged on in a plan, at 0.90."""
    return min(runs for _, runs, _ in _cells(found, Setting.RUNS, Method.PER_RUN, (0.9,)))


def _figures(found: list[Named]) -> dict[str, float]:
    def distance(setting: Setting, method: Method) -> float:
        return _worst(_cells(found, setting, method, _MIDDLE), abs)

    def shortfall(others: bool) -> float:
        rows = [item for item in found if (item[1].plan == "others") == others]
        return _worst(_cells(rows, Setting.PLAN, Method.PER_RUN, _MIDDLE), float)

    known = _cells(found, Setting.KNOWN, Method.PAPER, (0.9,))
    return {
        "per_run_distance": distance(Setting.RUNS, Method.PER_RUN),
        "independent_residuals_distance": distance(Setting.RUNS, Method.INDEPENDENT),
        "known_per_run_distance": distance(Setting.KNOWN, Method.PER_RUN),
        "known_independent_residuals_distance": distance(Setting.KNOWN, Method.INDEPENDENT),
        "unseen_plan_shortfall": shortfall(others=False),
        "unseen_others_shortfall": shortfall(others=True),
        "paper_distance": distance(Setting.RUNS, Method.PAPER),
        "paper_known_least": min(kept / runs for _, runs, kept in known if runs),
    }


def _cells(
    found: list[Named], setting: Setting, method: Method, levels: tuple[float, ...]
) -> list[tuple[float, int, int]]:
    """Level, judged and kept runs of every family, plan and level."""
    return [
        (row.level, row.runs, row.kept)
        for _, row in found
        if row.setting is setting and row.method is method and row.level in levels
    ]


def _worst(cells: list[tuple[float, int, int]], measure: Callable[[float], float]) -> float:
    """Greatest of promised less delivered, or of its size; NaN where nothing was judged."""
    return max((measure(level - kept / runs) for level, runs, kept in cells if runs), default=float("nan"))


def _told(family: str, row: PromiseRow) -> dict[str, object]:
    return {
        "family": family,
        "plan": row.plan,
        "setting": row.setting.value,
        "method": row.method.value,
        "promised": row.level,
        "delivered": row.kept / row.runs if row.runs else None,
        "runs": row.runs,
        "refused": row.refused,
    }


STUDY = Study(
    name="promised-delivered",
    summary="Promised against delivered frequency on held-out runs and plans of the shipped digits families.",
    goals=(
        Goal("held_out_runs", "held-out runs of a plan, fewest", ">=", 100),
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
