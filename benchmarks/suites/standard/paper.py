"""The paper's instances, as printed and with a deadline, by every method (Figs. 5 to 9)."""

from collections.abc import Iterator, Mapping
from functools import partial

from depl.benchmarks.suites.annealing import ANNEALING
from depl.benchmarks.suites.measures import plan_measures
from depl.benchmarks.suites.printed_steps import printed_steps
from depl.benchmarks.suites.suite import Configuration, Draw, Label, Suite
from depl.instances.library import describe, load
from depl.models.problem.instance import Instance
from depl.models.solving.result import Result

_METHODS = (
    *("exact", "enumerate", "depl", "depl-paper", "expected-cost", "expected-greedy"),
    *("density-greedy", "fastest-cluster", "random"),
)


def paper_draws() -> tuple[Draw, ...]:
    """Every shipped family of the paper at all its targets."""
    return tuple(_draws())


def _draws() -> Iterator[Draw]:
    for entry in describe():
        if entry.name.startswith("paper-"):
            for target in entry.targets:
                labels: dict[str, Label] = {"family": entry.name, "target": float(target)}
                yield Draw(f"{entry.name}-{target}", labels, partial(load, entry.name, target))


def _measures(draw: Draw, instance: Instance, result: Result) -> Mapping[str, float | None]:
    return {**plan_measures(draw, instance, result), **printed_steps(draw, instance, result)}


SUITE = Suite(
    name="paper",
    summary="The paper's AlexNet and MobileNet instances at all their targets, by every method.",
    draws=paper_draws,
    configurations=(
        *(Configuration(method, time_limit=60.0) for method in _METHODS),
        Configuration("annealing", time_limit=60.0, own=ANNEALING),
    ),
    measure=_measures,
)
