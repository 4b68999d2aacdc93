"""Whether ``exact`` proves optima under the law within 60 s, on instances drawn before anything was solved.

Two families of the random generator, a hundred instances each: three models with up to 30 epochs on one
cluster with given data; and up to three models, clusters and datasets with up to ten epochs. A proof of
infeasibility counts, a plan that the verifier refuses does not. Of the smallest instances of the second
family the optimum is compared with plain enumeration.
"""

from collections.abc import Mapping

import numpy as np

from depl.benchmarks.measure.outcome import tried
from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.measure.solving import warm_up
from depl.instances.generator import random_instances

FAMILIES: Mapping[str, dict[str, tuple[int, int]]] = {
    "one_cluster": {"models": (3, 3), "clusters": (1, 1), "datasets": (1, 1), "maximum_epochs": (5, 30)},
    "whole": {"models": (2, 3), "clusters": (1, 3), "datasets": (1, 3), "maximum_epochs": (3, 10)},
}
_COUNT, _SECONDS, _COMPARED = 100, 60.0, 6
_SAME = 1e-8
"""Relative difference of costs that counts as none."""


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    seed, seconds = int(rng.integers(2**31)), 5.0 if smoke else _SECONDS
    warm_up("exact")
    values: dict[str, object] = {"seconds_allowed": _SECONDS}
    compared = disagreements = 0
    for position, (name, sizes) in enumerate(FAMILIES.items()):
        drawn = random_instances(np.random.default_rng([seed, position]), 2 if smoke else _COUNT, **sizes)
        found = [tried(instance, "exact", time_limit=seconds) for instance in drawn]
        for instance, outcome in zip(drawn, found, strict=True):
            if outcome.proved and instance.target.maximum_epochs <= _COMPARED:
                known = tried(instance, "enumerate", time_limit=_SECONDS)
                compared += known.proved
                one, other = outcome.cost or 0.0, known.cost or 0.0
                same = outcome.ending == known.ending and abs(one - other) <= _SAME * max(one, other)
                disagreements += known.proved and not same
        times = [outcome.planning_seconds for outcome in found]
        values |= {
            f"{name}_instances": len(found),
            f"{name}_proved": float(np.mean([outcome.proved for outcome in found])),
            f"{name}_median_seconds": float(np.median(times)),
            f"{name}_longest_seconds": max(times),
        }
    return values | {"compared": compared, "disagreements": disagreements}


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
