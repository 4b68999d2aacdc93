"""``depl`` at three sizes up to 1000 clusters and datasets, 50 models and 1000 epochs: seconds, gap, memory.

Instances are those of `depl.instances.heterogeneous`, drawn before anything is solved. Each is solved in a
process of its own, one thread for numerical libraries; seconds include the verification of the plan.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from depl.benchmarks.cases.helpers.lone_solve import Measured, Task, lone_solve, measure
from depl.benchmarks.runner.registry import Case, Goal
from depl.models.solving.methods import registered


@dataclass(frozen=True)
class Size:
    """|N|, |D|, |M|, K_max, and how many instances are drawn."""

    clusters: int
    datasets: int
    models: int
    maximum_epochs: int
    count: int


SIZES: Mapping[str, Size] = {
    "small": Size(10, 10, 5, 100, 5),
    "middle": Size(100, 100, 10, 300, 5),
    "full": Size(1000, 1000, 50, 1000, 3),
}
_TINY = Size(3, 4, 2, 6, 1)
_METHOD, _SECONDS, _GAP = "depl", 60.0, 0.01
_PLANNING_SECONDS = 48.0
"""What the method may take; the rest is for the verification."""
_SMOKE_SECONDS = 0.3


_GOALS = (
    Goal("full_largest_gap", "certified gap at full size", "<=", _GAP),
    Goal("full_largest_seconds", "seconds at full size on one core, with verification", "<=", _SECONDS),
    Goal("full_largest_gibibytes", "peak memory at full size [GiB]", "<=", 8),
    Goal("full_without_plan", "feasible instances of full size without a plan", "==", 0),
)


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    seed = int(rng.integers(2**31))
    values: dict[str, object] = {"seconds_allowed": _PLANNING_SECONDS, "gap_asked_for": _GAP}
    if _METHOD not in {method.name for method in registered()}:
        return values | dict.fromkeys(goal.name for goal in _GOALS)  # a goal of an absent method is not met
    seconds = _SMOKE_SECONDS if smoke else _PLANNING_SECONDS
    for position, (name, size) in enumerate(SIZES.items()):
        if smoke and name != "full":
            continue
        drawn = _TINY if smoke else size
        rows = [
            (measure if smoke else lone_solve)(_task(drawn, (seed, position, number), seconds))
            for number in range(drawn.count)
        ]
        values |= _values(name, rows)
    return values


def _task(size: Size, seed: tuple[int, ...], seconds: float) -> Task:
    return Task(
        clusters=size.clusters,
        datasets=size.datasets,
        models=size.models,
        maximum_epochs=size.maximum_epochs,
        seed=seed,
        method=_METHOD,
        time_limit=seconds,
        gap=_GAP,
    )


def _values(name: str, rows: list[Measured]) -> dict[str, object]:
    gaps = [np.inf if row.gap is None else row.gap for row in rows]
    return {
        f"{name}_largest_gap": max(gaps),
        f"{name}_largest_seconds": max(row.seconds for row in rows),
        f"{name}_largest_planning_seconds": max(row.planning_seconds for row in rows),
        f"{name}_largest_gibibytes": max(row.peak_gibibytes for row in rows),
        f"{name}_without_plan": sum(row.cost is None for row in rows),
        f"{name}_rows": [msgspec.to_builtins(row) for row in rows],
    }


CASE = Case(
    name="scale",
    summary="Seconds, certified gap and memory of `depl` up to |N| = |D| = 1000, |M| = 50, K = 1000.",
    goals=_GOALS,
    run=_run,
    seed=1000,
)
