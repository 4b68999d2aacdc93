"""The bounds that the programs lean on hold for every feasible plan, and are attained where they say so."""

import numpy as np
import pytest

from depl.instances.generator import random_instances
from depl.models.exact.sampled import SampledProblem
from depl.models.problem.instance import Switch
from depl.models.problem.laws import Forbidden
from depl.models.programs.attainable import attainable
from depl.models.scenarios.draws import draw_scenarios, given_scenarios
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


def test_one_path_is_bounded_by_itself(bell):
    """One model, K = 3: needed is 4, gains are 1, 2 and 3 per epoch, of which one may miss."""
    instance = bell.replace(quantile_level=0.6)
    gains = np.repeat([[1.0], [2.0], [3.0]], 3, axis=1)[:, :, None]
    problem = SampledProblem(instance, given_scenarios(instance, gains))
    bounds = attainable(problem)
    assert bounds.lengths.tolist() == [False, True, True]
    assert bounds.allowed == 0  # the first scenario reaches 3 at most
    assert bounds.missed_anyway.tolist() == [True, False, False]
    assert met_anyway(problem, bounds).tolist() == [False, True, True]
    assert bounds.lowest_gain == pytest.approx([2, 4, 6])
    assert bounds.greatest_gain == pytest.approx([3, 6, 9])


@pytest.mark.parametrize("short_by", [1e-7, 1e-5, -1e-9])
def test_a_scenario_that_falls_short_by_little_is_not_met_anyway(bell, short_by):
    """Needed are 4 - 1e-9; the bonus of the last epoch decides in the first scenario."""
    gains = np.array([[0, 0, 4 - short_by], [0, 0, 9.0]])[:, :, None]
    problem = SampledProblem(bell.replace(quantile_level=0.5), given_scenarios(bell, gains))
    bounds = attainable(problem)
    assert met_anyway(problem, bounds).tolist() == [short_by < 0, True]


def test_an_epoch_that_raises_the_loss_lowers_what_can_be_reached(bell):
    """Gains 5, -9 and 6: after one epoch the target is met, after two it is not, after three not either."""
    gains = np.tile(np.array([5.0, -9.0, 6.0])[None, :, None], (4, 1, 1))
    bounds = attainable(SampledProblem(bell, given_scenarios(bell, gains)))
    assert bounds.lengths.tolist() == [True, False, False]
    assert bounds.lowest_gain == pytest.approx([5] * 4)


def test_time_limits_the_epochs(steady):
    """An epoch takes 8 / 10 + 1 / 2 = 1.3 at least, so two of them 2.6."""
    problem = SampledProblem(steady, given_scenarios(steady, np.zeros((2, 3, 1))))
    assert attainable(problem).lengths.tolist() == [False, True, True]
    short = SampledProblem(steady.replace(maximum_time=2.59), problem.scenarios)
    assert not attainable(short).possible
    near = SampledProblem(steady.replace(maximum_time=2.59, maximum_loss=8), problem.scenarios)
    assert attainable(near).lengths.tolist() == [True, False, False]


def test_a_forbidden_switch_is_no_path(tiny):
    names = [model.name for model in tiny.models]
    barred = tuple(
        Switch(previous=a, following=b, law=Forbidden())
        for a, b in ((names[0], names[1]), (names[1], names[0]))
    )
    instance = tiny.replace(switches=barred, initial_model=names[1])
    bounds = attainable(SampledProblem(instance, draw_scenarios(instance, 5)))
    steady_gain = 3 * tiny.models[1].improvement.at(1)[1].value
    assert bounds.greatest_gain == pytest.approx([steady_gain] * 5)
    free = attainable(SampledProblem(tiny, draw_scenarios(tiny, 5)))
    assert free.greatest_gain.max() > 2 * steady_gain
