"""The bounds that the programs lean on hold for every feasible plan, and are attained where they say so."""

import numpy as np
import pytest

from depl.instances.generator import random_instances
from depl.models.exact.sampled import SampledProblem
from depl.models.programs.attainable import attainable
from depl.models.scenarios.draws import draw_scenarios
from tests.cases.sampled_plans import meets_all, sequences


def met_anyway(problem, bounds):
    """Scenarios that every sequence of a possible length meets; no row of (3) speaks of them."""
    return bounds.lowest_gain >= problem.needed


SIZES = {"models": (2, 2), "clusters": (1, 2), "datasets": (1, 2), "maximum_epochs": (2, 3)}


@pytest.fixture(scope="module")
def problems():
    drawn = random_instances(np.random.default_rng(31), 50, **SIZES)
    return [SampledProblem(item, draw_scenarios(item, 12, seed)) for seed, item in enumerate(drawn)]


@pytest.fixture(scope="module")
def feasible(problems):
    return [[row for row in sequences(item) if meets_all(item, row)] for item in problems]


def test_no_feasible_plan_is_excluded(problems, feasible):
    assert sum(map(bool, feasible)) >= 20
    for problem, plans in zip(problems, feasible, strict=True):
        bounds = attainable(problem)
        position = {g: index for index, g in enumerate(problem.configurations)}
        for choices in plans:
            assert bounds.possible
            assert bounds.lengths[len(choices) - 1]
            assert bounds.shortest <= len(choices) <= bounds.longest
            assert all(bounds.usable[k, position[g]] for k, g in enumerate(choices))


def test_the_constants_of_the_quantile_constraint_never_cut_a_feasible_plan(problems, feasible):
    """G_s + M_s z_s >= needed with z_s = 1 at every miss, and no z_s where the constant is not positive."""
    tight = 0
    for problem, plans in zip(problems, feasible, strict=True):
        bounds = attainable(problem)
        for choices in plans:
            gain = problem.gain(choices)
            missed = gain < problem.needed
            constant = problem.needed - bounds.lowest_gain
            assert (gain + np.maximum(constant, 0) * missed >= problem.needed).all()
            assert not (missed & met_anyway(problem, bounds)).any()
            assert (missed >= bounds.missed_anyway).all()
            assert (gain <= bounds.greatest_gain + 1e-9).all()
            tight += int((np.abs(gain - bounds.lowest_gain) < 1e-9).sum())
    assert tight > 100  # the bounds are not just small
