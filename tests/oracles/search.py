"""Every plan of a tiny sampled problem, written out; used by the tests of the exact search only."""

import dataclasses
import itertools
import math
from collections.abc import Iterator

import numpy as np

from depl.instances.generator import random_instances
from depl.models.exact.choices import Configuration
from depl.models.exact.sampled import SampledProblem
from depl.models.problem.instance import Instance
from depl.models.scenarios.draws import draw_scenarios


def tiny_problems(seed: int, count: int, **changes: object) -> list[SampledProblem]:
    """Random instances with up to two models, clusters and datasets and three epochs; 3 to 14 scenarios."""
    rng = np.random.default_rng(seed)
    options = {"models": (1, 2), "clusters": (1, 2), "datasets": (1, 2), "maximum_epochs": (2, 3)}
    found = []
    for drawn in random_instances(rng, count, **options):
        instance = drawn.replace(quantile_level=float(rng.choice([0.5, 0.7, 0.8, 0.9])), **changes)
        found.append(sampled(instance, int(rng.integers(3, 15))))
    return found


def sampled(instance: Instance, size: int, seed: int = 0, decimals: int | None = None) -> SampledProblem:
    """An instance with scenarios drawn from its laws."""
    return SampledProblem(instance, draw_scenarios(instance, size, seed, decimals))


def with_negative_switches(problem: SampledProblem) -> SampledProblem:
    """The same problem, but every switch wins what it lost."""
    scenarios = dataclasses.replace(problem.scenarios, switch_losses=-problem.scenarios.switch_losses)
    return SampledProblem(problem.instance, scenarios)


def sequences(problem: SampledProblem) -> Iterator[tuple[Configuration, ...]]:
    """All with at least one epoch that are `consistent`."""
    for length in range(1, problem.epochs + 1):
        every = itertools.product(problem.configurations, repeat=length)
        yield from (choices for choices in every if consistent(problem, choices))


def feasible_plans(problem: SampledProblem) -> Iterator[tuple[float, tuple[Configuration, ...]]]:
    """(cost, configurations) of every feasible plan."""
    if problem.misses(()) <= problem.allowed:
        yield 0.0, ()
    for choices in sequences(problem):
        if problem.misses(choices) <= problem.allowed:
            allocation = problem.allocation(choices)
            if allocation.feasible:
                yield allocation.cost + problem.transfers(choices), choices


def consistent(problem: SampledProblem, choices: tuple[Configuration, ...]) -> bool:
    """One subset of data per cluster, and only switches that are allowed."""
    if len({(g.cluster, g.datasets) for g in choices}) > len({g.cluster for g in choices}):
        return False
    before = problem.initial_model
    for chosen in choices:
        if before is not None and not problem.may_follow[before, chosen.model]:
            return False
        before = chosen.model
    return True


def cheapest(problem: SampledProblem) -> float:
    """Cost of a cheapest feasible plan; infinite if there is none."""
    return min((cost for cost, _ in feasible_plans(problem)), default=math.inf)
