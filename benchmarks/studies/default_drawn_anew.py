"""The questions of ``default-method``, on instances that nobody can have looked at before.

The shares of time of ``auto`` were chosen while looking at the suites of ``default-method``. Here every
recording draws its instances anew, by a seed of the operating system that the record keeps: small ones with
every feature, small ones whose laws are extreme, heterogeneous ones of the least size of that suite, and the
shipped instances with a memory at random quantile levels. The record goes on listing earlier recordings.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from depl.benchmarks.measure.registry import Study
from depl.benchmarks.studies.helpers.default_rows import GOALS, Question, figures
from depl.benchmarks.suites.random_family import competitive_family
from depl.benchmarks.suites.random_laws import extreme_instance
from depl.instances.heterogeneous import heterogeneous_instance
from depl.instances.library import load

_COUNTS: Mapping[str, int] = {"random": 100, "extreme": 20, "heterogeneous": 6, "digits": 8}
_LIMIT, _LONG = 10.0, 60.0
"""Seconds, as in ``default-method``."""
_BRIEF = 0.1, 0.2
"""The limits of a smoke run [s]."""
_TRACED = ("digits-alexnet", "digits-mobilenet")
_LEVELS = (0.6, 0.995)
"""Between which quantile levels of the shipped instances are drawn."""


def _run(rng: np.random.Generator, smoke: bool) -> Mapping[str, object]:
    short, long = _BRIEF if smoke else (_LIMIT, _LONG)
    questions = _questions(rng, {"random": 1} if smoke else _COUNTS, short, long)
    return {"limit": short, **figures(questions, warm=not smoke)}


def _questions(
    rng: np.random.Generator, counts: Mapping[str, int], short: float, long: float
) -> Iterator[Question]:
    for number, instance in enumerate(competitive_family(rng, counts["random"])):
        yield Question("random", f"random-{number:03d}", instance, short, long)
    for _ in range(counts.get("extreme", 0)):
        instance = extreme_instance(int(rng.integers(2**31)))
        yield Question("extreme", instance.name, instance, short, long)
    for number in range(counts.get("heterogeneous", 0)):
        instance = heterogeneous_instance(rng, clusters=10, datasets=10, models=5, maximum_epochs=50)
        yield Question("heterogeneous", f"heterogeneous-{number}", instance, short, None)
    for number in range(counts.get("digits", 0)):
        family, level = _TRACED[number % len(_TRACED)], float(rng.uniform(*_LEVELS))
        instance = load(family).replace(quantile_level=level)
        yield Question("digits", f"{family}-{level:.3f}", instance, short, long)


STUDY = Study(
    name="default-drawn-anew",
    summary="The default against exact search and the loop on instances drawn anew at every recording.",
    goals=GOALS,
    run=_run,
    seed=None,
)
