"""Every plan of a tiny problem, written out; used by the tests of the exact searches and of the programs."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from depl.instances.generator import random_instances
from depl.models.exact.choices import Configuration
from depl.models.exact.counted import required_mean, scenario_search
from depl.models.exact.sampled import SampledProblem
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.limits import Limits
from depl.models.solving.result import Termination


def tiny_problems(seed, count, **changes):
    """Random instances with up to two models, clusters and datasets and three epochs; 3 to 14 scenarios."""
    rng = np.random.default_rng(seed)
    options = {"models": (1, 2), "clusters": (1, 2), "datasets": (1, 2), "maximum_epochs": (2, 3)}
    found = []
    for drawn in random_instances(rng, count, **options):
        instance = drawn.replace(quantile_level=float(rng.choice([0.5, 0.7, 0.8, 0.9])), **changes)
        found.append(sampled(instance, int(rng.integers(3, 15))))
    return found


def sampled(instance, size, seed=0, decimals=None):
    """An instance with scenarios drawn from its laws."""
    return SampledProblem(instance, draw_scenarios(instance, size, seed, decimals))


def with_negative_switches(problem):
    """The same problem, but every switch wins what it lost."""
    scenarios = dataclasses.replace(problem.scenarios, switch_losses=-problem.scenarios.switch_losses)
    return SampledProblem(problem.instance, scenarios)


def sequences(problem):
    """All with at least one epoch that are `consistent`."""
    for length in range(1, problem.epochs + 1):
        every = itertools.product(problem.configurations, repeat=length)
        yield from (choices for choices in every if consistent(problem, choices))


def feasible_plans(problem):
    """(cost, configurations) of every feasible plan."""
    if problem.misses(()) <= problem.allowed:
        yield 0.0, ()
    for choices in sequences(problem):
        if problem.misses(choices) <= problem.allowed:
            allocation = problem.allocation(choices)
            if allocation.feasible:
                yield allocation.cost + problem.transfers(choices), choices


def kinds_of(problem, assignment, length):
    """Every sequence of so many kinds of an assignment with allowed switches."""
    for kinds in itertools.product(range(len(assignment.models)), repeat=length):
        if switches_allowed(problem, (int(assignment.models[kind]) for kind in kinds)):
            yield kinds


def switches_allowed(problem, models):
    """Whether every model may follow the one before it."""
    pairs = itertools.pairwise((problem.first_model, *models))
    return all(problem.may_follow[before, after] for before, after in pairs)


def choices_of(problem, assignment, kinds):
    """The first configuration of each kind."""
    return [problem.configurations[assignment.options[kind][0]] for kind in kinds]


def required_by(sample):
    """Mean gain of every plan that meets the target, at least, where any kind may be used."""
    means = {name: getattr(sample, name).mean(axis=-1, keepdims=True) for name in ("gains", "switch_losses")}
    return required_mean(sample, sample._replace(**means), np.ones(sample.gains.shape[:2], dtype=bool))


def consistent(problem, choices):
    """One subset of data per cluster, and only switches that are allowed."""
    if len({(g.cluster, g.datasets) for g in choices}) > len({g.cluster for g in choices}):
        return False
    return switches_allowed(problem, (chosen.model for chosen in choices))


def cheapest(problem):
    """Cost of a cheapest feasible plan; infinite if there is none."""
    return min((cost for cost, _ in feasible_plans(problem)), default=math.inf)


def require_agreement(problem):
    """`scenario-search` proves what writing out all plans shows."""
    known = cheapest(problem)
    outcome = scenario_search(problem.instance, Limits(scenarios=problem.scenarios))
    if known == math.inf:
        assert (outcome.termination, outcome.plan) == (Termination.INFEASIBLE, None)
        assert outcome.lower_bound == math.inf
        assert "target" in outcome.reason or "epoch" in outcome.reason
    else:
        assert outcome.termination is Termination.OPTIMAL
        choices = read_back(problem, outcome.plan)
        assert problem.misses(choices) <= problem.allowed
        found = problem.allocation(choices).cost + problem.transfers(choices)
        assert found == pytest.approx(known, rel=1e-9)
        assert known * (1 - 1e-9) <= outcome.lower_bound <= known
        assert outcome.dual.bound <= known * (1 + 1e-9)
    return outcome.termination


def read_back(problem, plan):
    """The configurations of a plan."""
    clusters = [item.name for item in problem.instance.clusters]
    models = [item.name for item in problem.instance.models]
    return [
        Configuration(clusters.index(row.cluster), plan.datasets(row.cluster), models.index(row.model))
        for row in plan.epochs
    ]
