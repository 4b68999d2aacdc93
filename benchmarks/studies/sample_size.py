"""How optimistic plans on scenarios are, against the number of scenarios.

Random instances are solved to optimality on samples of several sizes; of every plan the law says how often it
misses. The share of plans that break their promise has to fall with S; that it is not zero at small S is the
reason why no result on scenarios comes without the law's word.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.study import StudyRow, sample_size_study
from depl.instances.generator import random_instances
from depl.models.problem.instance import Instance

_SIZES = (25, 50, 100, 200, 400, 800)
_INSTANCES = 20
_REPEATS = 4
_SECONDS = 20.0


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    count, sizes, repeats = (2, _SIZES[:2], 1) if smoke else (_INSTANCES, _SIZES, _REPEATS)
    instances = random_instances(
        rng, count, models=(2, 3), clusters=(1, 2), datasets=(1, 2), maximum_epochs=(4, 8)
    )
    pairs = [
        (instance, row)
        for instance in instances
        for row in sample_size_study(instance, "scenario-search", sizes, repeats, time_limit=_SECONDS)
    ]
    held = [(instance, row) for instance, row in pairs if row.violation is not None]
    broken = {size: _share([_breaks(*pair) for pair in held if pair[1].size == size]) for size in sizes}
    return {
        "broken_share_by_size": {str(size): broken[size] for size in sizes},
        "fall_of_broken_share": broken[sizes[0]] - broken[sizes[-1]],
        "too_many_misses": sum((row.misses or 0) > (row.allowed or 0) for _, row in held),
        "fresh_intervals_beside_the_law": _share([_beside(row) for _, row in held]),
    }


def _breaks(instance: Instance, row: StudyRow) -> bool:
    """Whether the plan certainly misses its target too often under the law."""
    return row.violation is not None and row.violation.lower > instance.target.violation_budget


def _beside(row: StudyRow) -> bool:
    if row.violation is None or row.fresh is None:
        return False
    return row.fresh.lower > row.violation.upper or row.fresh.upper < row.violation.lower


def _share(flags: Sequence[bool]) -> float:
    return float(np.mean(flags)) if flags else 0.0


STUDY = Study(
    name="sample-size",
    summary="True violation of optimal plans on 25 to 800 scenarios, 20 random instances, 4 samples each.",
    goals=(
        Goal(
            "fall_of_broken_share",
            "by how much the share of plans that break their promise falls from 25 to 800 scenarios",
            ">=",
            0.05,
        ),
        Goal("too_many_misses", "plans that miss more of their own scenarios than allowed", "==", 0),
        Goal(
            "fresh_intervals_beside_the_law",
            "share of Clopper-Pearson intervals (99 %) from fresh draws that miss the certified probability",
            "<=",
            0.03,
        ),
    ),
    run=_run,
    seed=20261121,
)
