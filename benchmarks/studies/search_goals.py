"""Whether the exact search certifies the four goal sizes to 1e-6 within 60 s, ten seeded instances each.

The instances are of `depl.benchmarks.suites.paper_like`. An instance that is not certified counts with
infinite seconds, so that a median within the limit says that at least half of them were.
"""

import math
from collections.abc import Mapping

import numpy as np

from depl.benchmarks.measure.outcome import SolveOutcome
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.exact_attempts import as_row, attempt, warm_up
from depl.benchmarks.suites.paper_like import SWITCH_SHARE, paper_like
from depl.benchmarks.suites.tiny_sampled import SampledInstance

SIZES: Mapping[str, dict[str, int]] = {
    "hundred_epochs": {"maximum_epochs": 100, "models": 3, "scenarios": 200},
    "thousand_scenarios": {"maximum_epochs": 60, "models": 3, "scenarios": 1000},
    "ten_models": {"maximum_epochs": 30, "models": 10, "scenarios": 100},
    "two_clusters_three_datasets": {
        "maximum_epochs": 40,
        "models": 3,
        "scenarios": 100,
        "clusters": 2,
        "datasets": 3,
    },
}
_METHOD, _GAP, _SECONDS = "scenario-search", 1e-6, 60.0
_SEEDS = 10


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    seed = int(rng.integers(2**31))
    seconds = 2.0 if smoke else _SECONDS
    warm_up(_METHOD)
    values: dict[str, object] = {"seconds_allowed": seconds, "gap": _GAP}
    for position, (name, size) in enumerate(SIZES.items()):
        seeds = range(1 if smoke else _SEEDS)
        items = [_item(size, [seed, position, index], smoke) for index in seeds]
        values |= _values(name, [attempt(_METHOD, item, seconds, _GAP) for item in items])
    return values


def _item(size: Mapping[str, int], seed: list[int], smoke: bool) -> SampledInstance:
    if smoke:
        size = {**size, "maximum_epochs": 4, "scenarios": 20}
    return paper_like(np.random.default_rng(seed), **size, switch_share=SWITCH_SHARE)


def _values(name: str, outcomes: list[SolveOutcome]) -> dict[str, object]:
    times = [row.planning_seconds if row.within_gap else math.inf for row in outcomes]
    return {
        f"{name}_median_seconds": float(np.median(times)),
        f"{name}_share_certified": float(np.mean([row.within_gap for row in outcomes])),
        f"{name}_largest_gap": max(row.gap for row in outcomes),
        f"{name}_rows": [as_row(row) for row in outcomes],
    }


STUDY = Study(
    name="search-goals",
    summary="The exact search on four goal sizes, ten instances each, certified to 1e-6 within 60 s.",
    goals=tuple(
        Goal(
            f"{name}_median_seconds",
            ", ".join(f"{value} {what.replace('_', ' ')}" for what, value in size.items())
            + ": median seconds",
            "<=",
            _SECONDS,
        )
        for name, size in SIZES.items()
    ),
    run=_run,
    seed=20260314,
)
