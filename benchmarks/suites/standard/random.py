"""Random instances drawn before anything is solved, by exact search, DepL, best-exp and general peers."""

import functools
from collections.abc import Sequence
from functools import partial

import numpy as np

from depl.benchmarks.suites.annealing import ANNEALING
from depl.benchmarks.suites.printed_steps import printed_steps
from depl.benchmarks.suites.random_family import competitive_family
from depl.benchmarks.suites.suite import Configuration, Draw, Suite
from depl.models.problem.instance import Instance

COUNT = 120
_SEED = 240214346
"""That of the case ``ratios``: these are the first of its thousand instances."""
_METHODS = (
    *("exact", "depl", "depl-paper", "expected-greedy", "expected-cost"),
    *("density-greedy", "fastest-cluster", "random"),
)


@functools.cache
def _family() -> Sequence[Instance]:
    return competitive_family(np.random.default_rng(_SEED), COUNT)


def instance_of(number: int) -> Instance:
    """The instance of that number."""
    return _family()[number]


SUITE = Suite(
    name="random",
    summary=f"The first {COUNT} instances of the random family, by exact, DepL and its peers.",
    draws=lambda: tuple(
        Draw(f"random-{number:04d}", {"family": "random"}, partial(instance_of, number))
        for number in range(COUNT)
    ),
    configurations=(
        *(Configuration(method, time_limit=10.0) for method in _METHODS),
        Configuration("annealing", time_limit=10.0, own=ANNEALING),
    ),
    measure=printed_steps,
)
