"""Whether counted policies that are chosen on half of the runs deliver on the other half.

Twenty random splits of the fitting seeds of a family (`depl.benchmarks.studies.policies.halves`), for a
target at which the promise of 0.95 binds. The goal is that of the issue that asked for the measurement.
"""

from collections.abc import Mapping

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.policies.halves import half_rows
from depl.benchmarks.studies.policies.problems import Family, Problem
from depl.benchmarks.studies.policies.rows import Row

_SPLITS = 20
_LEVEL = 0.95
_TARGETS = {"digits-mobilenet": 0.65}
_EPOCHS = 47
_SMOKE_EVERY = 4
_SMOKE_SWITCHES = (12,)


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    del rng  # every split has a seed of its own
    rows: list[Row] = []
    for name, target in list(_TARGETS.items())[: 1 if smoke else None]:
        family = Family(name, _SMOKE_EVERY if smoke else 1)
        problem = Problem(name, target, _EPOCHS, _LEVEL)
        rows += half_rows(family, problem, 1 if smoke else _SPLITS, _SMOKE_SWITCHES if smoke else None)
    return {**_figures(rows), "rows": rows}


def _figures(rows: list[Row]) -> Mapping[str, object]:
    """The most splits of a family whose promise was broken; those without a policy promise nothing."""
    found: dict[str, object] = {}
    for kind in ("counted", "judged"):
        broken = [
            sum(row.get(f"{kind}_kept") is False for row in rows if row["family"] == name)
            for name in dict.fromkeys(str(row["family"]) for row in rows)
        ]
        found[f"{kind}_broken"] = max(broken, default=0)
    return found | {"without_policy": sum(row["promised"] is None for row in rows)}


STUDY = Study(
    name="closed-loop-halves",
    summary="What counted policies that are planned on half of the runs deliver on the other half.",
    goals=(
        Goal(
            "counted_broken",
            "splits of 20 that deliver less than 0.95 - 2 s.e. on the other half, worse family",
            "<=",
            2,
        ),
        Goal("judged_broken", "splits of 20 that do so on the judging seeds, likewise", "<=", 2),
    ),
    run=_run,
    seed=20261124,
)
