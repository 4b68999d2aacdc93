"""Cost over the proven optimum of ``depl`` and the paper's method on 1000 random instances.

The instances (`depl.benchmarks.suites.random_family`) are drawn before anything is solved. ``exact`` gives
each its proven optimum, a proof that it has no plan, or a certified lower bound when its time is up; the
latter stay in the table with their ratio to that bound, apart from the others. Two processes share the
instances, so seconds are those of a machine with both cores at work.
"""

import math
import multiprocessing
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from depl.benchmarks.measure.outcome import tried
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.ratios import Row, compared, figures_of
from depl.benchmarks.suites.random_family import competitive_family
from depl.instances.library import load
from depl.models.foundation.compiling import compiled_at_once
from depl.models.problem.instance import Instance

METHODS: tuple[tuple[str, float, float], ...] = (("depl", 30.0, 0.0), ("depl-paper", 30.0, 0.0))
"""Name, time limit [s] and gap of what is compared."""

_COUNT, _REFERENCE_SECONDS, _WORKERS = 1000, 10.0, 2
_GOALS = (
    Goal("depl_compared", "plans of `depl` compared with proven optima", ">=", 900),
    Goal("depl_mean_ratio", "mean cost of `depl` over the optimum", "<=", 1.005),
    Goal("depl_largest_ratio", "largest cost of `depl` over the optimum", "<=", 1.05),
    Goal("depl_false_infeasible", "feasible instances that `depl` calls infeasible", "==", 0),
    Goal("depl_missed", "feasible instances without a plan of `depl`", "==", 0),
    Goal("depl_rejected", "plans of `depl` that the verifier rejects", "==", 0),
    Goal("depl_wrong_bounds", "lower bounds of `depl` above the optimum", "==", 0),
    Goal("depl_below_optimum", "plans of `depl` cheaper than a proven optimum", "==", 0),
    Goal("optima_that_switch_share", "share of optima that switch the model", ">=", 0.3),
    Goal(
        "optima_with_less_data_or_more_clusters_share",
        "share of optima with less than all data or several clusters",
        ">=",
        0.3,
    ),
)


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    instances = competitive_family(rng, 1 if smoke else _COUNT)
    rows = _rows(instances, METHODS, smoke)
    values: dict[str, object] = {
        "instances": len(rows),
        "seconds_allowed": {name: limit for name, limit, _ in METHODS},
        **_reference(instances, rows),
    }
    for method, _, _ in METHODS:
        values |= figures_of(method, rows)
    return values


def _rows(
    instances: Sequence[Instance], methods: Sequence[tuple[str, float, float]], smoke: bool
) -> list[Row]:
    """The rows in the order of the instances, by as many processes as there are workers."""
    names = ["exact", *(name for name, _, _ in methods)]
    if smoke:
        _warm_up(names[:1])
        return [_row(instance, methods, smoke) for instance in instances]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_WORKERS, context, _warm_up, (names,)) as pool:
        waiting = [pool.submit(_row, instance, methods, smoke) for instance in instances]
        return [item.result() for item in waiting]


def _warm_up(names: Sequence[str]) -> None:
    """Compile, or read from the cache, whatever methods compile."""
    with compiled_at_once():
        for name in names:
            tried(load("tiny"), name, time_limit=60)


def _row(instance: Instance, methods: Sequence[tuple[str, float, float]], smoke: bool) -> Row:
    most = 0.2 if smoke else math.inf
    limited = [(name, min(limit, most), gap) for name, limit, gap in methods]
    return compared(instance, tried(instance, "exact", time_limit=min(_REFERENCE_SECONDS, most)), limited)


def _reference(instances: tuple[Instance, ...], rows: list[Row]) -> dict[str, object]:
    """What ``exact`` proved, and how varied its optima are."""
    optima = [
        (instance, row.reference.result)
        for instance, row in zip(instances, rows, strict=True)
        if row.reference.proved_optimal and row.reference.result is not None
    ]
    plans = [(instance, result.plan) for instance, result in optima if result.plan is not None]
    switching = [len({epoch.model for epoch in plan.epochs}) > 1 for _, plan in plans]
    chosen = [
        len(plan.data) > 1 or any(len(item.datasets) < len(instance.datasets) for item in plan.data)
        for instance, plan in plans
    ]
    return {
        "proved_optimal": sum(row.reference.proved_optimal for row in rows),
        "proved_infeasible": sum(row.reference.proved_infeasible for row in rows),
        "unproved": sum(not row.reference.proved for row in rows),
        "optima_that_switch_share": float(np.mean(switching)) if plans else None,
        "optima_with_less_data_or_more_clusters_share": float(np.mean(chosen)) if plans else None,
    }


STUDY = Study(
    name="competitive-ratio",
    summary="Cost over the proven optimum of `depl` and `depl-paper` on 1000 random instances.",
    goals=_GOALS,
    run=_run,
    seed=240214346,
)
