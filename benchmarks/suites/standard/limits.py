"""Whether every method keeps its limit of time at every size and under any law, and returns what it holds."""

from collections.abc import Iterator, Mapping
from functools import partial

from depl.benchmarks.analysis.limits import BOUND_FOUND
from depl.benchmarks.suites.large_sizes import LARGE
from depl.benchmarks.suites.random_laws import extreme_instance
from depl.benchmarks.suites.suite import Configuration, Draw, Suite
from depl.models.problem.instance import Instance
from depl.models.solving.result import Result

METHODS = ("auto", "exact", "depl", "density-greedy", "scenario-search", "milp", "depl-paper")
SCENARIOS = 100
_COUNT = 20


def _draws() -> Iterator[Draw]:
    for name, build in LARGE.items():
        yield Draw(name, {"family": "large"}, build)
    for number in range(_COUNT):
        yield Draw(f"extreme-{number:04d}", {"family": "extreme"}, partial(extreme_instance, number))


def limited(time_limit: float) -> tuple[Configuration, ...]:
    """Every method that limits are measured of, under one limit [s]."""
    counting = ("scenario-search", "milp")
    return tuple(
        Configuration(method, time_limit, scenarios=SCENARIOS if method in counting else None)
        for method in METHODS
    )


def bound_found(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    """The greatest lower bound of any phase of a solve, and of its dual prices [cost]."""
    bounds = [phase.lower_bound for phase in result.phases]
    if result.dual is not None and result.plan is not None:
        bounds.append(min(result.dual.bound, result.cost or 0.0))
    return {BOUND_FOUND: max(bounds, default=None)}


SUITE = Suite(
    name="limits",
    summary="Large instances, and small ones with extreme laws, by every kind of method under 5 seconds.",
    draws=lambda: tuple(_draws()),
    configurations=limited(5.0),
    measure=bound_found,
    version=2,
)
