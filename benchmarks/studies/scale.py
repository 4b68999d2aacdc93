"""``depl`` and the default method on 1000 and 5000 clusters, drawn anew each time: gap, bound, seconds.

Instances have 1000 datasets, 50 models and 1000 epochs. Two generators draw them, whose costs have different
structures: `depl.instances.heterogeneous` (a price surface) and `depl.instances.regions` (hubs and regional
prices). The seed is that of the operating system; the record keeps it, with the gap of every instance, and
goes on listing earlier recordings. Each instance is solved in a process of its own, one thread for numerical
libraries. Seconds are CPU seconds of that process, so that what else runs on the machine does not count, and
include the verification of the plan.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.lone_solve import Measured, Task, lone_solve, measure
from depl.models.solving.defaults import DEFAULT_METHOD


@dataclass(frozen=True)
class Suite:
    """A family, |N|, |D|, |M|, K_max, how many are drawn, seconds of planning and in all, and the method."""

    family: str
    clusters: int
    datasets: int
    models: int
    maximum_epochs: int
    count: int
    planning_seconds: float
    seconds: float
    method: str = "depl"


_SECONDS, _LONG_SECONDS = 60.0, 120.0
_PLANNING_SECONDS, _LONG_PLANNING_SECONDS = 55.0, 112.0
"""What the method may take of them; the rest is for its last step and for the verification: two seconds and
one in the recording of 2026-11-23."""
SUITES: Mapping[str, Suite] = {
    "full": Suite("heterogeneous", 1000, 1000, 50, 1000, 10, _PLANNING_SECONDS, _SECONDS),
    "regions": Suite("regions", 1000, 1000, 50, 1000, 10, _PLANNING_SECONDS, _SECONDS),
    "wide": Suite("heterogeneous", 5000, 1000, 50, 1000, 1, _LONG_PLANNING_SECONDS, _LONG_SECONDS),
    "wide_regions": Suite("regions", 5000, 1000, 50, 1000, 1, _LONG_PLANNING_SECONDS, _LONG_SECONDS),
    "default": Suite("heterogeneous", 1000, 1000, 50, 1000, 3, _PLANNING_SECONDS, _SECONDS, DEFAULT_METHOD),
    "default_regions": Suite("regions", 1000, 1000, 50, 1000, 3, _PLANNING_SECONDS, _SECONDS, DEFAULT_METHOD),
}
_TINY = 3, 4, 2, 6
_GAP = 0.01
_SMOKE_SECONDS = 0.3


def _goals(name: str, words: str) -> tuple[Goal, ...]:
    return (
        Goal(f"{name}_median_gap", f"median certified gap, {words}", "<=", _GAP),
        Goal(f"{name}_largest_gap", f"largest certified gap, {words}", "<=", 0.03),
        Goal(f"{name}_largest_gap_at_a_third", f"largest gap of the bound after a third, {words}", "<=", 0.1),
        Goal(f"{name}_largest_seconds", f"CPU seconds with verification, {words}", "<=", _SECONDS),
        Goal(f"{name}_without_plan", f"instances without a plan, {words}", "==", 0),
    )


_GOALS = (
    *_goals("full", "price surface"),
    *_goals("regions", "hubs and regions"),
    *_goals("default", "default method, price surface"),
    *_goals("default_regions", "default method, hubs and regions"),
    Goal("wide_largest_seconds", "CPU seconds, 5000 clusters, price surface", "<=", _LONG_SECONDS),
    Goal("wide_without_gap", "5000 clusters without a certified gap, price surface", "==", 0),
    Goal("wide_regions_largest_seconds", "CPU seconds, 5000 clusters, hubs and regions", "<=", _LONG_SECONDS),
    Goal("wide_regions_without_gap", "5000 clusters without a certified gap, hubs and regions", "==", 0),
    Goal("full_largest_gibibytes", "peak memory at full size [GiB]", "<=", 8),
)


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    seed = int(rng.integers(2**31))
    values: dict[str, object] = {"seconds_allowed": _PLANNING_SECONDS}
    for position, (name, suite) in enumerate(SUITES.items()):
        count = 1 if smoke else suite.count
        tasks = [_task(suite, (seed, position, number), smoke=smoke) for number in range(count)]
        rows = [(measure if smoke else lone_solve)(task) for task in tasks]
        values |= _values(name, rows, tasks)
    return values


def _task(suite: Suite, seed: tuple[int, ...], *, smoke: bool) -> Task:
    sizes = suite.clusters, suite.datasets, suite.models, suite.maximum_epochs
    clusters, datasets, models, maximum_epochs = _TINY if smoke else sizes
    return Task(
        family=suite.family,
        clusters=clusters,
        datasets=datasets,
        models=models,
        maximum_epochs=maximum_epochs,
        seed=seed,
        method=suite.method,
        time_limit=_SMOKE_SECONDS if smoke else suite.planning_seconds,
        gap=_GAP,
        cpu_clock=True,
        early_seconds=suite.seconds / 3,
    )


def _values(name: str, rows: list[Measured], tasks: list[Task]) -> dict[str, object]:
    gaps = [1.0 if row.gap is None else row.gap for row in rows]
    return {
        f"{name}_gaps": sorted(gaps),
        f"{name}_median_gap": float(np.median(gaps)),
        f"{name}_largest_gap": max(gaps),
        f"{name}_largest_gap_at_a_third": max(row.early_gap for row in rows),
        f"{name}_largest_seconds": max(row.solving_cpu_seconds for row in rows),
        f"{name}_largest_gibibytes": max(row.peak_gibibytes for row in rows),
        f"{name}_without_plan": sum(row.cost is None for row in rows),
        f"{name}_without_gap": sum(not gap < 1 for gap in gaps),
        f"{name}_rows": [
            {"seed": list(task.seed), **msgspec.to_builtins(row)}
            for task, row in zip(tasks, rows, strict=True)
        ],
    }


STUDY = Study(
    name="scale",
    summary="Certified gap and seconds of `depl` and the default at 1000 and 5000 clusters, drawn anew.",
    goals=_GOALS,
    run=_run,
    seed=None,
)
