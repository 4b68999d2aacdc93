"""The shipped instances whose law with memory was fitted to real training of pruned networks (Sec. VI-A)."""

import functools
from functools import partial

from depl.benchmarks.suites.measures import plan_measures
from depl.benchmarks.suites.suite import Configuration, Draw, Suite
from depl.instances.library import load
from depl.models.problem.instance import Instance

_FAMILIES = ("digits-alexnet", "digits-mobilenet")
_LEVELS = (0.8, 0.9, 0.95, 0.99)


@functools.cache
def _fitted(family: str) -> Instance:
    return load(family)


def _instance(family: str, level: float) -> Instance:
    return _fitted(family).replace(quantile_level=level)


SUITE = Suite(
    name="digits",
    summary="Instances fitted to real training of pruned networks, at four quantile levels.",
    draws=lambda: tuple(
        Draw(f"{family}-{level}", {"family": family, "omega": level}, partial(_instance, family, level))
        for family in _FAMILIES
        for level in _LEVELS
    ),
    configurations=(
        Configuration("enumerate", time_limit=30.0),
        Configuration("scenario-search", time_limit=30.0, scenarios=200),
    ),
    measure=plan_measures,
)
