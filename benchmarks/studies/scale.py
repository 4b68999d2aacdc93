"""``depl`` and the default method on 1000 and 5000 clusters, drawn anew each time: gap, bound, seconds.

Instances have 1000 datasets, 50 models and 1000 epochs. Two generators draw them, whose costs have different
structures: `depl.instances.heterogeneous` (a price surface) and `depl.instances.regions` (hubs and regional
prices). Each is solved in a process of its own: only that has a peak memory of its own, and numerical
libraries read how many threads they may use (one, here) when they start. Seconds are CPU seconds of that
process, so that what else runs on the machine does not count, and include the verification of the plan.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from depl.benchmarks.measure.process import CallError, LoneProcess
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.measure.solving import peak_gibibytes, warm_up
from depl.instances.heterogeneous import heterogeneous_instance_with_plan
from depl.instances.regions import regional_instance_with_plan
from depl.models.foundation.clock import cpu_seconds
from depl.models.foundation.errors import DeplError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.defaults import DEFAULT_METHOD
from depl.models.solving.solve import solve

FAMILIES: Mapping[str, Callable[..., tuple[Instance, Plan]]] = {
    "heterogeneous": heterogeneous_instance_with_plan,
    "regions": regional_instance_with_plan,
}
_SECONDS, _LONG_SECONDS = 60.0, 120.0
_PLANNING_SECONDS, _LONG_PLANNING_SECONDS = 55.0, 112.0
"""What the method may take of them; the rest is for its last step and for the verification: two seconds and
one in the recording of 2026-11-23."""
_GRACE = 1800.0
"""Wall seconds beyond the time limit for imports, compiling, the draw, the verification, and for what else
runs on the machine, as the limit is one of CPU seconds."""
_TINY, _SMOKE_SECONDS = (3, 4, 2, 6), 0.3
_GAP = 0.01


class Task(NamedTuple):
    """What to draw, one of `FAMILIES` of |N|, |D|, |M| and K_max, and how to solve it: CPU seconds in all."""

    family: str
    sizes: tuple[int, int, int, int]
    seed: tuple[int, ...]
    method: str
    planning_seconds: float
    seconds: float


class Solved(NamedTuple):
    """What came of it: the gap and that of the bound after a third of the seconds, 1 without one.

    CPU seconds with the verification; the greatest resident memory of the process.
    """

    cost: float | None
    gap: float
    early_gap: float
    seconds: float
    gibibytes: float


class _Suite(NamedTuple):
    """A family, |N|, how many are drawn, how they are solved, and words for a reader."""

    family: str
    clusters: int
    drawn: int
    method: str
    words: str

    @property
    def long(self) -> bool:
        """Whether it has more time, and no goal for its gap, as few are drawn."""
        return self.clusters > 1000

    def task(self, seed: tuple[int, ...]) -> Task:
        """A draw of it."""
        seconds = (_LONG_PLANNING_SECONDS, _LONG_SECONDS) if self.long else (_PLANNING_SECONDS, _SECONDS)
        return Task(self.family, (self.clusters, 1000, 50, 1000), seed, self.method, *seconds)


_SUITES: Mapping[str, _Suite] = {
    "full": _Suite("heterogeneous", 1000, 10, "depl", "price surface"),
    "regions": _Suite("regions", 1000, 10, "depl", "hubs and regions"),
    "wide": _Suite("heterogeneous", 5000, 1, "depl", "5000 clusters, price surface"),
    "wide_regions": _Suite("regions", 5000, 1, "depl", "5000 clusters, hubs and regions"),
    "default": _Suite("heterogeneous", 1000, 3, DEFAULT_METHOD, "default method, price surface"),
    "default_regions": _Suite("regions", 1000, 3, DEFAULT_METHOD, "default method, hubs and regions"),
}


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    seed = int(rng.integers(2**31))
    values: dict[str, object] = {"seconds_allowed": _PLANNING_SECONDS}
    for position, (name, suite) in enumerate(_SUITES.items()):
        tasks = [suite.task((seed, position, number)) for number in range(1 if smoke else suite.drawn)]
        if smoke:
            rows = [solved(task._replace(sizes=_TINY, planning_seconds=_SMOKE_SECONDS)) for task in tasks]
        else:
            rows = [lone_solve(task) for task in tasks]
        values |= {f"{name}_{key}": value for key, value in _values(rows).items()}
    return values


def lone_solve(task: Task) -> Solved:
    """Solve in a fresh process.

    Raises
    ------
    DeplError
        If the process fails, or has not answered half an hour after the time limit; the message says how.
    """
    with LoneProcess() as process:
        try:
            found: Solved = process.call(solved, task, task.planning_seconds + _GRACE)
        except CallError as error:
            raise DeplError(f"the solve of {task} failed: {error}") from error
    return found


def solved(task: Task) -> Solved:
    """Draw and solve in this process."""
    warm_up(task.method)
    clusters, datasets, models, epochs = task.sizes
    instance, _ = FAMILIES[task.family](
        np.random.default_rng(task.seed),
        clusters=clusters,
        datasets=datasets,
        models=models,
        maximum_epochs=epochs,
    )
    early, clock = [0.0], time.process_time()
    with cpu_seconds():
        result = solve(
            instance,
            task.method,
            time_limit=task.planning_seconds,
            gap=_GAP,
            progress=lambda at, cost, bound: early.append(bound if at <= task.seconds / 3 else 0.0),
        )
    seconds = time.process_time() - clock
    gap, early_gap = (_gap(result.cost, bound) for bound in (result.lower_bound, max(early)))
    return Solved(result.cost, gap, early_gap, seconds, peak_gibibytes())


def _gap(cost: float | None, bound: float) -> float:
    """As a share of the cost; 1 without a plan or a bound."""
    if cost is None or bound <= 0:
        return 0.0 if cost == 0 else 1.0
    return 1 - bound / cost


def _values(rows: Sequence[Solved]) -> dict[str, object]:
    gaps = [row.gap for row in rows]
    return {
        "gaps": sorted(gaps),
        "median_gap": float(np.median(gaps)),
        "largest_gap": max(gaps),
        "largest_gap_at_a_third": max(row.early_gap for row in rows),
        "largest_seconds": max(row.seconds for row in rows),
        "largest_gibibytes": max(row.gibibytes for row in rows),
        "without_plan": sum(row.cost is None for row in rows),
        "without_gap": sum(not gap < 1 for gap in gaps),
    }


def _goals(name: str, suite: _Suite) -> tuple[Goal, ...]:
    if suite.long:
        return (
            Goal(f"{name}_largest_seconds", f"CPU seconds, {suite.words}", "<=", _LONG_SECONDS),
            Goal(f"{name}_without_gap", f"without a certified gap, {suite.words}", "==", 0),
        )
    return (
        Goal(f"{name}_median_gap", f"median certified gap, {suite.words}", "<=", _GAP),
        Goal(f"{name}_largest_gap", f"largest certified gap, {suite.words}", "<=", 0.03),
        Goal(f"{name}_largest_gap_at_a_third", f"gap of the bound after a third, {suite.words}", "<=", 0.1),
        Goal(f"{name}_largest_seconds", f"CPU seconds with verification, {suite.words}", "<=", _SECONDS),
        Goal(f"{name}_without_plan", f"instances without a plan, {suite.words}", "==", 0),
    )


STUDY = Study(
    name="scale",
    summary="Certified gap and seconds of `depl` and the default at 1000 and 5000 clusters, drawn anew.",
    goals=(
        *(goal for name, suite in _SUITES.items() for goal in _goals(name, suite)),
        Goal("full_largest_gibibytes", "peak memory at full size [GiB]", "<=", 8),
    ),
    run=_run,
    seed=None,
)
