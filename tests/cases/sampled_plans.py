"""Every sequence of configurations of a tiny sampled problem, one by one, for the tests of the programs."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pyomo.environ as pyo

from depl.instances.generator import random_instance
from depl.models.evaluation.evaluate import INTENT, Reading
from depl.models.exact.choices import Configuration
from depl.models.exact.sampled import SampledProblem
from depl.models.programs.attainable import attainable
from depl.models.programs.price_space import PriceSpace
from depl.models.scenarios.draws import draw_scenarios

HARD_OPTIMUM = 28.968559573246672
"""Of `hard_problem`, proved by two programs in a longer run."""


def hard_problem(scenarios: int = 100) -> SampledProblem:
    """Twelve epochs, three models and 100 scenarios, of which HiGHS needs many seconds."""
    rng = np.random.default_rng(7)
    sizes = {"models": (3, 3), "clusters": (1, 1), "datasets": (1, 1), "maximum_epochs": (12, 12)}
    instance = random_instance(rng, **sizes)
    return SampledProblem(instance, draw_scenarios(instance, scenarios, seed=1))


def price_space(problem: SampledProblem) -> pyo.ConcreteModel:
    """The program of the form ``price`` with its first cuts: a relaxation."""
    return PriceSpace(problem, attainable(problem)).model


def sequences(problem: SampledProblem) -> Iterator[tuple[Configuration, ...]]:
    """All with at least one epoch that the switches allow and that give every cluster one subset."""
    for length in range(1, problem.epochs + 1):
        for choices in itertools.product(problem.configurations, repeat=length):
            before = [problem.initial_model, *(g.model for g in choices)]
            steps = [step for step in itertools.pairwise(before) if step[0] is not None]
            held = {(g.cluster, g.datasets) for g in choices}
            if len({cluster for cluster, _ in held}) == len(held) and all(
                problem.may_follow[step] for step in steps
            ):
                yield choices


def meets_all(problem: SampledProblem, choices: tuple[Configuration, ...]) -> bool:
    """Whether a sequence meets the target often enough and can keep the time limits."""
    return problem.misses(choices) <= problem.allowed and problem.allocation(choices).feasible


def cheapest(problem: SampledProblem, reading: Reading = INTENT) -> float:
    """Least cost under a reading; infinite if nothing is feasible."""
    if problem.misses([]) <= problem.allowed:
        return 0.0
    return min(
        (cost(problem, row, reading) for row in sequences(problem) if meets_all(problem, row)),
        default=math.inf,
    )


def cost(problem: SampledProblem, choices: tuple[Configuration, ...], reading: Reading = INTENT) -> float:
    """Cost of a sequence under a reading; infinite where the letter of (6) forbids it."""
    if reading.data_requires_every_epoch and len({g.cluster for g in choices}) > 1:
        return math.inf
    charges = len(choices) if reading.transfer_every_epoch else 1
    return charges * problem.transfers(choices) + problem.allocation(choices).cost
