"""Whether ``exact`` proves optima under the law within 60 s, on instances drawn before anything was solved.

Two families of the random generator, a hundred instances each: three models with up to 30 epochs on one
cluster with given data; and up to three models, clusters and datasets with up to ten epochs. A proof of
infeasibility counts, a plan that the verifier refuses does not. Of the smallest instances of the second
family the optimum is compared with plain enumeration.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from depl.benchmarks.measure.registry import Goal, Row, Study
from depl.benchmarks.studies.helpers.answers import answer
from depl.instances.generator import Range, random_instance

FAMILIES: Mapping[str, dict[str, Range]] = {
    "one_cluster": {"models": (3, 3), "clusters": (1, 1), "datasets": (1, 1), "maximum_epochs": (5, 30)},
    "whole": {"models": (2, 3), "clusters": (1, 3), "datasets": (1, 3), "maximum_epochs": (3, 10)},
}
_COUNT, _SECONDS, _COMPARED = 100, 60.0, 6
_SAME = 1e-8
"""Relative difference of costs that counts as none."""


def _tasks(rng: np.random.Generator, smoke: bool) -> Iterator[Row]:
    seed = int(rng.integers(2**31))
    for family in FAMILIES:
        for number in range(2 if smoke else _COUNT):
            yield {"family": family, "draw": [seed, number], "limit": 5.0 if smoke else _SECONDS}


def _run(task: Row) -> Row:
    """``agrees``: with the proof of enumeration; None where that is not asked, or proves nothing."""
    instance = random_instance(np.random.default_rng(task["draw"]), **FAMILIES[task["family"]])
    found, agrees = answer(instance, "exact", task["limit"]), None
    if found["proved"] and instance.target.maximum_epochs <= _COMPARED:
        known = answer(instance, "enumerate", _SECONDS)
        same = math.isclose(found["cost"] or 0.0, known["cost"] or 0.0, rel_tol=_SAME)
        agrees = same and found["ending"] == known["ending"] if known["proved"] else None
    return {**found, "agrees": agrees}


def _figures(rows: Sequence[Row]) -> Row:
    values = {"seconds_allowed": _SECONDS}
    for family in FAMILIES:
        own = [row for row in rows if row["family"] == family]
        values[f"{family}_instances"] = len(own)
        values[f"{family}_proved"] = float(np.mean([row["proved"] for row in own]))
        values[f"{family}_median_seconds"] = float(np.median([row["planning_seconds"] for row in own]))
        values[f"{family}_longest_seconds"] = max(row["planning_seconds"] for row in own)
    agrees = [row["agrees"] for row in rows if row["agrees"] is not None]
    return values | {"compared": len(agrees), "disagreements": agrees.count(False)}


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
