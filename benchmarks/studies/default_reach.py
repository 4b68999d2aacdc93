"""Up to which size the default proves its plan, where the bound of the loop alone is far below the optimum.

For few epochs the loop's own bound is a third to a half below the optimum: it relaxes the choice of data and
the quantile. The default searches exactly first, so that bound matters only where the search does not end.
Random instances of growing size, drawn anew at every recording, are solved by ``auto`` and by ``depl``.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.measure.solving import warm_up
from depl.instances.generator import random_instance
from depl.models.problem.instance import Instance
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve


class _Size(NamedTuple):
    """How many clusters, datasets and models an instance has, and epochs it may take."""

    clusters: int
    datasets: int
    models: int
    epochs: int

    def named(self) -> str:
        """Short, for keys of the record."""
        return f"{self.clusters}x{self.datasets}x{self.models}x{self.epochs}"


_SIZES = (
    _Size(1, 2, 3, 10),
    _Size(2, 2, 3, 10),
    _Size(3, 3, 3, 10),
    _Size(2, 2, 3, 20),
    _Size(3, 3, 3, 20),
    _Size(5, 5, 3, 10),
    _Size(2, 2, 3, 40),
)
_DRAWS = 5
_LIMIT, _LOOP_LIMIT = 10.0, 5.0
"""Seconds for the default, and for the loop alone."""
_CLAIMED = _SIZES[:2]
"""Sizes at which everything is to be proved."""


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    if not smoke:
        warm_up("auto")
        warm_up("depl")
    limits = (0.3, 0.3) if smoke else (_LIMIT, _LOOP_LIMIT)
    rows = [
        _row(size, _drawn(rng, size), *limits)
        for size in (_SIZES[:1] if smoke else _SIZES)
        for _ in range(1 if smoke else _DRAWS)
    ]
    claimed = [row for row in rows if row["size"] in {size.named() for size in _CLAIMED}]
    return {
        "limit": limits[0],
        "proved_by_size": _by_size(rows, lambda mine: sum(row["proved"] for row in mine)),
        "drawn_by_size": _by_size(rows, len),
        "median_gap_of_the_loop_by_size": _by_size(rows, _median_gap),
        "not_proved_where_claimed": sum(not row["proved"] for row in claimed),
        "rows": rows,
    }


def _drawn(rng: np.random.Generator, size: _Size) -> Instance:
    return random_instance(
        rng,
        clusters=(size.clusters,) * 2,
        datasets=(size.datasets,) * 2,
        models=(size.models,) * 2,
        maximum_epochs=(size.epochs,) * 2,
    )


def _row(size: _Size, instance: Instance, limit: float, loop_limit: float) -> dict[str, Any]:
    """What the default came to, and what the loop proves by itself of the same cost."""
    found = solve(instance, "auto", time_limit=limit)
    loop = solve(instance, "depl", time_limit=loop_limit)
    proved = found.termination in (Termination.OPTIMAL, Termination.INFEASIBLE)
    cost = found.cost or 0.0
    return {
        "size": size.named(),
        "proved": proved,
        "epochs": None if found.plan is None else len(found.plan.epochs),
        "seconds": found.wall_seconds,
        "cost": found.cost,
        "lower_bound": found.lower_bound if cost > 0 else None,
        "loop_gap": (cost - loop.lower_bound) / cost if proved and cost > 0 else None,
    }


def _by_size(rows: list[dict[str, Any]], value: Any) -> dict[str, Any]:
    names = dict.fromkeys(row["size"] for row in rows)
    return {name: value([row for row in rows if row["size"] == name]) for name in names}


def _median_gap(rows: list[dict[str, Any]]) -> float | None:
    """Of the loop's bound and the proved optimum; None where nothing with a cost was proved."""
    known = [row["loop_gap"] for row in rows if row["loop_gap"] is not None]
    return float(np.median(known)) if known else None


STUDY = Study(
    name="default-reach",
    summary="What the default proves by size, and how far the bound of the loop alone is below the optimum.",
    goals=(
        Goal("not_proved_where_claimed", "not proved with two clusters, two datasets, ten epochs", "==", 0),
    ),
    run=_run,
    seed=None,
)
