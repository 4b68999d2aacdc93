"""Whether ``exact`` proves optima under the law within 60 s, on instances drawn before anything was solved.

Two families of the random generator, a hundred instances each: three models with up to 30 epochs on one
cluster with given data; and up to three models, clusters and datasets with up to ten epochs. A proof of
infeasibility counts, a plan that the verifier refuses does not. Of the smallest instances of the second
family the optimum is compared with plain enumeration.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from depl.benchmarks.measure.outcome import tried
from depl.benchmarks.measure.registry import Goal, Row, Study
from depl.benchmarks.measure.solving import warm_up
from depl.instances.generator import random_instances
from depl.models.problem.instance import Instance

FAMILIES: Mapping[str, dict[str, tuple[int, int]]] = {
    "one_cluster": {"models": (3, 3), "clusters": (1, 1), "datasets": (1, 1), "maximum_epochs": (5, 30)},
    "whole": {"models": (2, 3), "clusters": (1, 3), "datasets": (1, 3), "maximum_epochs": (3, 10)},
}
_COUNT, _SECONDS, _COMPARED = 100, 60.0, 6
_SAME = 1e-8
"""Relative difference of costs that counts as none."""
_PROVED = ("optimal", "infeasible")


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Mapping[str, object]]:
    seed = int(rng.integers(2**31))
    for position, family in enumerate(FAMILIES):
        for number in range(2 if smoke else _COUNT):
            seconds = 5.0 if smoke else _SECONDS
            yield {"family": family, "seed": [seed, position], "number": number, "seconds_allowed": seconds}


def _run(task: Mapping[str, Any]) -> Mapping[str, object]:
    warm_up("exact")
    instance = _drawn(task["family"], tuple(task["seed"]))[task["number"]]
    outcome = tried(instance, "exact", time_limit=task["seconds_allowed"])
    agrees = None
    if outcome.proved and instance.target.maximum_epochs <= _COMPARED:
        known = tried(instance, "enumerate", time_limit=_SECONDS)
        one, other = outcome.cost or 0.0, known.cost or 0.0
        same = outcome.ending == known.ending and abs(one - other) <= _SAME * max(one, other)
        agrees = same if known.proved else None
    told = {"outcome": outcome.ending, "cost": outcome.cost, "seconds": outcome.planning_seconds}
    return {**told, "agrees": agrees}


@functools.cache
def _drawn(family: str, seed: tuple[int, ...]) -> Sequence[Instance]:
    """All of a family, as they come out of one generator."""
    return random_instances(np.random.default_rng(seed), _COUNT, **FAMILIES[family])


def _figures(rows: Sequence[Row]) -> Mapping[str, object]:
    compared = [row["agrees"] for row in rows if row["agrees"] is not None]
    values: dict[str, object] = {"seconds_allowed": _SECONDS}
    for family in FAMILIES:
        own = [row for row in rows if row["family"] == family]
        values |= {
            f"{family}_instances": len(own),
            f"{family}_proved": float(np.mean([row["outcome"] in _PROVED for row in own])),
            f"{family}_median_seconds": float(np.median([row["seconds"] for row in own])),
            f"{family}_longest_seconds": max(row["seconds"] for row in own),
        }
    return values | {"compared": len(compared), "disagreements": compared.count(False)}


STUDY = Study(
    name="exact-law",
    summary="Optima under the law proved by `exact` within 60 s on 200 instances drawn beforehand.",
    goals=(
        Goal("one_cluster_proved", "share proved, |M| = 3, K <= 30, one cluster, given data", ">=", 0.95),
        Goal("whole_proved", "share proved, |M|, |N|, |D| <= 3, K <= 10", ">=", 0.95),
        Goal("disagreements", "proved costs that differ from enumeration's", "==", 0),
        Goal("compared", "proved costs that were compared with enumeration's", ">=", 30),
    ),
    tasks=_tasks,
    run=_run,
    figures=_figures,
    seed=20260412,
)
