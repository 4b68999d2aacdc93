"""Whether ``exact`` proves optima under the law within 60 s, on instances drawn before anything was solved.

Two families of the random generator, a hundred instances each: three models with up to 30 epochs on one
cluster with given data; and up to three models, clusters and datasets with up to ten epochs. A proof of
infeasibility counts, a plan that the verifier refuses does not. Of the smallest instances of the
second family the optimum is compared with plain enumeration.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from depl.benchmarks.measure.outcome import SolveOutcome, tried
from depl.benchmarks.measure.registry import Goal, Study
from depl.instances.generator import random_instances
from depl.instances.library import load
from depl.models.foundation.compiling import compiled_at_once
from depl.models.problem.instance import Instance
from depl.models.solving.solve import solve

FAMILIES: Mapping[str, dict[str, tuple[int, int]]] = {
    "one_cluster": {"models": (3, 3), "clusters": (1, 1), "datasets": (1, 1), "maximum_epochs": (5, 30)},
    "whole": {"models": (2, 3), "clusters": (1, 3), "datasets": (1, 3), "maximum_epochs": (3, 10)},
}
_COUNT, _SECONDS, _COMPARED = 100, 60.0, 6


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    seed = int(rng.integers(2**31))
    with compiled_at_once():
        solve(load("tiny"), "exact")  # compiles, or reads the compiled kernels
    values: dict[str, object] = {"seconds_allowed": _SECONDS}
    disagreements, compared = 0, 0
    for position, (name, sizes) in enumerate(FAMILIES.items()):
        drawn = random_instances(np.random.default_rng([seed, position]), 2 if smoke else _COUNT, **sizes)
        seconds = 5.0 if smoke else _SECONDS
        outcomes = [tried(instance, "exact", time_limit=seconds) for instance in drawn]
        for instance, outcome in zip(drawn, outcomes, strict=True):
            known = _enumerated(instance) if outcome.proved else None
            if known is not None:
                compared += 1
                disagreements += not _equal(outcome.cost, known.cost)
        values |= _values(name, drawn, outcomes)
    return values | {"compared": compared, "disagreements": disagreements}


def _gap(outcome: SolveOutcome) -> float:
    """(cost - bound) / cost of what is held, 0 with a proof, infinite without a plan."""
    return 0.0 if outcome.proved else outcome.gap


def _enumerated(instance: Instance) -> SolveOutcome | None:
    """What enumeration proves; None where that takes too long."""
    if instance.target.maximum_epochs > _COMPARED:
        return None
    outcome = tried(instance, "enumerate", time_limit=_SECONDS)
    return outcome if outcome.proved else None


def _equal(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= 1e-8 * max(one, other)


def _values(name: str, drawn: Sequence[Instance], outcomes: Sequence[SolveOutcome]) -> dict[str, object]:
    return {
        f"{name}_proved": float(np.mean([row.proved for row in outcomes])),
        f"{name}_median_seconds": float(np.median([row.planning_seconds for row in outcomes])),
        f"{name}_rows": [
            {
                "name": instance.name,
                "termination": row.ending,
                "proved": row.proved,
                "seconds": row.planning_seconds,
                "cost": row.cost,
                "gap": _gap(row),
            }
            for instance, row in zip(drawn, outcomes, strict=True)
        ],
    }


STUDY = Study(
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
