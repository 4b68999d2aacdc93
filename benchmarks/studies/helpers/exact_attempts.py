"""One attempt to prove an optimum under scenarios within a time limit.

Compiled kernels are compiled, or read from their cache, before anything is timed.
"""

import time

import numpy as np

from depl.benchmarks.measure.outcome import SolveOutcome, tried
from depl.benchmarks.suites.paper_like import paper_like
from depl.benchmarks.suites.tiny_sampled import SampledInstance
from depl.models.foundation.compiling import compiled_at_once
from depl.models.foundation.errors import DeplError


def attempt(method: str, item: SampledInstance, time_limit: float, gap: float = 0.0) -> SolveOutcome:
    """Try to prove the optimum to a relative gap within ``time_limit`` seconds.

    Every error of the toolkit is an ending like others.
    """
    started = time.perf_counter()
    try:
        return tried(item.instance, method, scenarios=item.scenarios, time_limit=time_limit, gap=gap)
    except DeplError as error:
        reason = f"{type(error).__name__}: {error}"
        return SolveOutcome(method, "failed", time.perf_counter() - started, reason=reason)


def as_row(outcome: SolveOutcome) -> dict[str, object]:
    """An outcome as a case keeps it; the seconds are those of the method alone."""
    return {
        "method": outcome.method,
        "ending": outcome.reason if outcome.result is None and outcome.reason else outcome.ending,
        "certified": outcome.within_gap,
        "seconds": outcome.planning_seconds,
        "cost": outcome.cost,
        "lower_bound": outcome.lower_bound,
    }


def warm_up(method: str) -> None:
    """Compile, or read from the cache, whatever a method compiles."""
    one = paper_like(np.random.default_rng(0), maximum_epochs=3, scenarios=5)
    two = paper_like(np.random.default_rng(0), maximum_epochs=3, scenarios=5, clusters=2, datasets=2)
    with compiled_at_once():
        attempt(method, one, 60.0)
        attempt(method, two, 60.0)
