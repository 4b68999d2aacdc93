"""Whether ``exact`` proves optima under the law within 60 s, on instances drawn before anything was solved.

Two families of the random generator, a hundred instances each: three models with up to 30 epochs on one
cluster with given data; and up to three models, clusters and datasets with up to ten epochs. A proof of
infeasibility counts, a plan that the verifier refuses would be an error. Of the smallest instances of the
second family the optimum is compared with plain enumeration.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from depl.benchmarks.runner.registry import Case, Goal
from depl.instances.generator import random_instances
from depl.instances.library import load
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.solving.interrupts import uninterrupted
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve

FAMILIES: Mapping[str, dict[str, tuple[int, int]]] = {
    "one_cluster": {"models": (3, 3), "clusters": (1, 1), "datasets": (1, 1), "maximum_epochs": (5, 30)},
    "whole": {"models": (2, 3), "clusters": (1, 3), "datasets": (1, 3), "maximum_epochs": (3, 10)},
}
_COUNT, _SECONDS, _COMPARED = 100, 60.0, 6


@dataclass(frozen=True)
class Row:
    """One instance.

    Attributes
    ----------
    proved : bool
        Optimal or infeasible, with proof.
    gap : float
        (cost - bound) / cost of what is held, infinite without a plan.
    """

    name: str
    termination: str
    proved: bool
    seconds: float
    cost: float | None
    gap: float


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    seed = int(rng.integers(2**31))
    solve(load("tiny"), "exact")  # compiles, or reads the compiled kernels
    values: dict[str, object] = {"seconds_allowed": _SECONDS}
    disagreements, compared = 0, 0
    for position, (name, sizes) in enumerate(FAMILIES.items()):
        drawn = random_instances(np.random.default_rng([seed, position]), 2 if smoke else _COUNT, **sizes)
        rows = [_attempt(instance, 5.0 if smoke else _SECONDS) for instance in drawn]
        for instance, row in zip(drawn, rows, strict=True):
            known = _enumerated(instance) if row.proved else None
            if known is not None:
                compared += 1
                disagreements += not _equal(row.cost, known[0])
        values |= _values(name, rows)
    return values | {"compared": compared, "disagreements": disagreements}


def _attempt(instance: Instance, seconds: float) -> Row:
    result = uninterrupted(solve(instance, "exact", time_limit=seconds))
    proved = result.termination in (Termination.OPTIMAL, Termination.INFEASIBLE)
    gap = 0.0 if proved else math.inf
    if not proved and result.cost:
        gap = (result.cost - result.lower_bound) / result.cost
    return Row(instance.name, result.termination.value, proved, result.wall_seconds, result.cost, gap)


def _enumerated(instance: Instance) -> tuple[float | None] | None:
    """The optimal cost by enumeration, None inside if there is no plan; None where that takes too long."""
    if instance.target.maximum_epochs > _COMPARED:
        return None
    try:
        result = uninterrupted(solve(instance, "enumerate", time_limit=_SECONDS))
    except NotCoveredError:
        return None
    if result.termination not in (Termination.OPTIMAL, Termination.INFEASIBLE):
        return None
    return (result.cost,)


def _equal(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= 1e-8 * max(one, other)


def _values(name: str, rows: list[Row]) -> dict[str, object]:
    return {
        f"{name}_proved": float(np.mean([row.proved for row in rows])),
        f"{name}_infeasible": sum(row.termination == "infeasible" for row in rows),
        f"{name}_median_seconds": float(np.median([row.seconds for row in rows])),
        f"{name}_largest_gap": max(row.gap for row in rows),
        f"{name}_rows": [asdict(row) for row in rows],
    }


CASE = Case(
    name="exact-law",
    summary="Optima under the law proved by `exact` within 60 s on 200 instances drawn beforehand.",
    goals=(
        Goal("one_cluster_proved", "share proved, |M| = 3, K <= 30, one cluster, given data", ">=", 0.95),
        Goal("whole_proved", "share proved, |M|, |N|, |D| <= 3, K <= 10", ">=", 0.95),
        Goal("disagreements", "proved costs that differ from enumeration's", "==", 0),
        Goal("compared", "proved costs that were compared with enumeration's", ">=", 30),
    ),
    run=_run,
    seed=20260412,
)
