"""Statements of the paper that can be tried on random cases or on the shipped traces, counted as printed.

The report (`depl.benchmarks.report`) draws its verdicts on them from this record.
"""

from collections.abc import Mapping

import numpy as np

from depl.benchmarks.measure.registry import Goal, Study
from depl.benchmarks.studies.helpers.printed_statements import added_transforms, fits, knapsacks, selections

_SMALL = ("zen-attention",)
_FAMILIES = ("digits-alexnet", "digits-mobilenet")


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    return {
        **knapsacks(rng, 1 if smoke else 150),
        **selections(rng, 1 if smoke else 100),
        **added_transforms(rng, 6 if smoke else 300),
        **fits(rng, _SMALL if smoke else _FAMILIES, 5 if smoke else 199),
    }


STUDY = Study(
    name="printed-statements",
    summary="Statements of the paper as printed: the reduction, submodularity, added transforms, good fits.",
    goals=(
        Goal("corrected_mismatches", "knapsacks answered wrongly by the corrected reduction", "==", 0),
        Goal("unsafe_bounds", "bounds from added transforms that lie below the quantile", "==", 0),
    ),
    run=_run,
    seed=20261124,
)
