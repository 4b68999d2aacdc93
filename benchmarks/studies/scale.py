"""``depl`` and the default method from 10 to 5000 clusters, drawn anew each time: gap, bound, seconds.

Large instances have 1000 datasets, 50 models and 1000 epochs; smaller ones, just above what exact search
lists, are solved by the default. Two generators draw them, whose costs have different structures:
`depl.instances.heterogeneous` (a price surface) and `depl.instances.regions` (hubs and regional prices). Each
is solved in a process of its own: only that has a peak memory of its own. Seconds are CPU seconds of that
process, so that what else runs on the machine does not count, and include the verification of the plan.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from depl.benchmarks.measure.registry import Goal, Row, Study
from depl.benchmarks.measure.solving import warm_up
from depl.instances.heterogeneous import heterogeneous_instance_with_plan
from depl.instances.regions import regional_instance_with_plan
from depl.models.foundation.deadline import cpu_seconds
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.solving.defaults import DEFAULT_METHOD
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve

FAMILIES: Mapping[str, Callable[..., tuple[Instance, Plan]]] = {
    "heterogeneous": heterogeneous_instance_with_plan,
    "regions": regional_instance_with_plan,
}
_SECONDS, _LONG_SECONDS = 60.0, 120.0
_PLANNING_SECONDS = {_SECONDS: 55.0, _LONG_SECONDS: 112.0}
"""What the method may take of them; the rest is for its last step and for the verification: two seconds and
one in the recording of 2026-11-23."""
_GRACE = 1800.0
"""Wall seconds beyond the time limit for imports, compiling, the draw, the verification, and for what else
runs on the machine, as the limit is one of CPU seconds."""
_GAP, _SMOKE_SECONDS = 0.01, 0.3


_LARGE, _MEDIUM, _SMALL, _FEW = (1000, 1000, 50, 1000), (200, 200, 20, 200), (20, 20, 5, 100), (10, 40, 5, 60)
_WIDE = (5000, 1000, 50, 1000)
_SUITES: Mapping[str, tuple[str, tuple[int, ...], int, str, str]] = {
    "full": ("heterogeneous", _LARGE, 10, "depl", "price surface"),
    "regions": ("regions", _LARGE, 10, "depl", "hubs and regions"),
    "wide": ("heterogeneous", _WIDE, 1, "depl", "5000 clusters, price surface"),
    "wide_regions": ("regions", _WIDE, 1, "depl", "5000 clusters, hubs and regions"),
    "default": ("heterogeneous", _LARGE, 3, DEFAULT_METHOD, "default method, price surface"),
    "default_regions": ("regions", _LARGE, 3, DEFAULT_METHOD, "default method, hubs and regions"),
    "medium": ("heterogeneous", _MEDIUM, 5, DEFAULT_METHOD, "200 clusters and datasets, price surface"),
    "medium_regions": ("regions", _MEDIUM, 5, DEFAULT_METHOD, "200 clusters and datasets, hubs and regions"),
    "small": ("heterogeneous", _SMALL, 5, DEFAULT_METHOD, "20 clusters and datasets, price surface"),
    "small_regions": ("regions", _SMALL, 5, DEFAULT_METHOD, "20 clusters and datasets, hubs and regions"),
    "few": ("heterogeneous", _FEW, 5, DEFAULT_METHOD, "10 clusters, 40 datasets, price surface"),
    "few_regions": ("regions", _FEW, 5, DEFAULT_METHOD, "10 clusters, 40 datasets, hubs and regions"),
}
"""A family, |N|, |D|, |M| and K_max, how many are drawn, how they are solved, and words for a reader.

The widest have more time, and no goal for the gap, as few are drawn.
"""


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    seed = int(rng.integers(2**31))
    for place, (name, (_, large, drawn, _, _)) in enumerate(_SUITES.items()):
        sizes = (3, 4, 2, 6) if smoke else large
        limit = _SMOKE_SECONDS if smoke else _PLANNING_SECONDS[_allowed(name)]
        for number in range(1 if smoke else drawn):
            yield {"suite": name, "sizes": sizes, "limit": limit, "seed": [seed, place, number]}


def _allowed(name: str) -> float:
    """CPU seconds."""
    return _LONG_SECONDS if _SUITES[name][1] == _WIDE else _SECONDS


def _run(task: Row) -> Row:
    """The gap and that of the bound after a third of the seconds, 1 without one."""
    family, _, _, method, _ = _SUITES[task["suite"]]
    third = _allowed(task["suite"]) / 3
    warm_up(method)
    sizes = dict(zip(("clusters", "datasets", "models", "maximum_epochs"), task["sizes"], strict=True))
    instance, _ = FAMILIES[family](np.random.default_rng(task["seed"]), **sizes)
    early, clock = [0.0], time.process_time()
    with cpu_seconds():
        result = solve(
            instance,
            method,
            time_limit=task["limit"],
            gap=_GAP,
            progress=lambda at, cost, bound: early.append(bound if at <= third else 0.0),
        )
    seconds = time.process_time() - clock
    gap, early_gap = (_gap(result.cost, bound) for bound in (result.lower_bound, max(early)))
    return {
        "stopped": result.termination.value,
        "cost": result.cost,
        "gap": gap,
        "early_gap": early_gap,
        "seconds": seconds,
    }


def _gap(cost: float | None, bound: float) -> float:
    """As a share of the cost; 1 without a plan or a bound."""
    if cost is None or bound <= 0:
        return 0.0 if cost == 0 else 1.0
    return 1 - bound / cost


def _figures(rows: Sequence[Row]) -> Row:
    """What has no answer, as its process was killed, has no plan."""
    values: dict[str, Any] = {"seconds_allowed": _PLANNING_SECONDS[_SECONDS]}
    killed = {"cost": None, "gap": 1.0, "early_gap": 1.0, "seconds": math.inf}
    for name in _SUITES:
        own = [{**killed, **row} for row in rows if row["suite"] == name]
        gaps = sorted(row["gap"] for row in own)
        found = {
            "gaps": gaps,
            "median_gap": float(np.median(gaps)),
            "largest_gap": gaps[-1],
            "largest_gap_at_a_third": max(row["early_gap"] for row in own),
            "largest_seconds": max(row["seconds"] for row in own),
            "largest_gibibytes": max(row["peak_gibibytes"] or 0.0 for row in own),
            "without_plan": sum(row["cost"] is None for row in own),
            "without_gap": sum(not gap < 1 for gap in gaps),
            "stuck": sum(row.get("stopped") == Termination.STUCK.value for row in own),
        }
        values |= {f"{name}_{key}": value for key, value in found.items()}
    return values


def _goals(name: str) -> tuple[Goal, ...]:
    words = _SUITES[name][-1]
    if _allowed(name) > _SECONDS:
        return (
            Goal(f"{name}_largest_seconds", f"CPU seconds, {words}", "<=", _LONG_SECONDS),
            Goal(f"{name}_without_gap", f"without a certified gap, {words}", "==", 0),
        )
    return (
        Goal(f"{name}_median_gap", f"median certified gap, {words}", "<=", _GAP),
        Goal(f"{name}_largest_gap", f"largest certified gap, {words}", "<=", 0.03),
        Goal(f"{name}_largest_gap_at_a_third", f"gap of the bound after a third, {words}", "<=", 0.1),
        Goal(f"{name}_largest_seconds", f"CPU seconds with verification, {words}", "<=", _SECONDS),
        Goal(f"{name}_without_plan", f"instances without a plan, {words}", "==", 0),
        Goal(f"{name}_stuck", f"ended above {_GAP:.0%} while time was left, {words}", "==", 0),
    )


STUDY = Study(
    name="scale",
    summary="Certified gap and seconds of `depl` and the default from 10 to 5000 clusters, drawn anew.",
    goals=(
        *(goal for name in _SUITES for goal in _goals(name)),
        Goal("full_largest_gibibytes", "peak memory at full size [GiB]", "<=", 8),
    ),
    tasks=_tasks,
    run=_run,
    figures=_figures,
    seconds=_GRACE + _LONG_SECONDS,
    fresh=True,
    seed=None,
)
