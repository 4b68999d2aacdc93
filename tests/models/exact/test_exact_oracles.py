"""Oracles of the exact methods under scenarios: closed forms, near-ties, signs, edges of omega S.

Nearly everything is played on one stage: ``expensive`` (c = 8) and ``cheap`` (c = 4) on one cluster with
price 3 and s / b = 1/2 per epoch. K epochs cost (sum of sqrt(3 c))**2 / (T_max - K / 2).
"""

import math

import numpy as np
import pytest

from depl.models.problem.instance import ConstantImprovement, Model, Switch
from depl.models.problem.laws import Forbidden, Normal, Zero
from depl.models.scenarios.draws import given_scenarios
from tests.cases.scenario_methods import every_method, proven

SLOW = pytest.mark.slow
WORK = {"expensive": 8.0, "cheap": 4.0}


def closed_form(*models, time=5.0):
    roots = math.fsum(math.sqrt(3 * WORK[model]) for model in models)
    return roots**2 / (time - len(models) / 2)


@pytest.fixture(scope="module")
def stage(steady):
    """Needed are 4; switches cost nothing but what the scenarios say."""
    rule = ConstantImprovement(noise=Normal(mean=2, variance=1))
    models = (
        Model(name="expensive", size=1, demand=2, improvement=rule),
        Model(name="cheap", size=1, demand=1, improvement=rule),
    )
    return steady.replace(models=models, other_switches=Normal(mean=0, variance=1), quantile_level=0.9)


@pytest.fixture(scope="module")
def single(stage):
    return stage.replace(maximum_epochs=1)


def sample(instance, expensive, cheap, switches=None, decimals=None):
    """Scenarios in which a model gains the same in every epoch; S numbers each, or one for all."""
    epochs = instance.target.maximum_epochs
    expensive, cheap = np.broadcast_arrays(np.atleast_1d(expensive), np.atleast_1d(cheap))
    gains = np.repeat(np.stack([expensive, cheap], axis=-1)[:, None, :].astype(float), epochs, axis=1)
    return given_scenarios(instance, gains, switches, decimals)


def switch_losses(instance, size):
    epochs, models = instance.target.maximum_epochs, len(instance.models)
    return np.zeros((size, epochs, models, models))


# Near-ties: the atom tolerance is 1e-9, and no solver's tolerance may widen it.

SHORT = [0, 5e-10, -1e-9, -1e-6, 1e-4, 1e-7, 2e-9, 1e-8]
SLOWLY_SHORT = [pytest.param(short_by, marks=SLOW) for short_by in (1e-5, 1e-6)]


@every_method
@pytest.mark.parametrize("short_by", SHORT + SLOWLY_SHORT)
def test_a_cheap_plan_is_returned_iff_it_meets_the_quantile_within_the_atom_tolerance(
    method, single, short_by
):
    """One miss is allowed, not two; with great losses alike."""
    expected = "cheap" if short_by <= 1e-9 else "expensive"
    answer = proven(method, single, sample(single, 5, [0, 4 - short_by, *[5] * 8]))
    assert answer.models == [expected]
    assert answer.cost == pytest.approx(closed_form(expected), rel=1e-9)
    great = single.replace(initial_loss=1000, maximum_loss=400)
    if short_by in (1e-8, 2e-9, 0):
        gains = [-500, 600 - short_by, *[900] * 8]
        assert proven(method, great, sample(great, 700, gains)).models == [expected]


@every_method
@pytest.mark.parametrize(
    "short_by",
    [1e-6, 2e-9, 5e-10, 0, *(pytest.param(short_by, marks=SLOW) for short_by in (1e-4, 1e-5, 1e-7, 1e-8))],
)
def test_a_near_tie_of_a_sum_with_a_switch_is_decided_alike(method, stage, short_by):
    """1.9 + 1.8 + 0.3 from the switch are 4; without the switch two epochs gain at most 3.8."""
    switches = switch_losses(stage, 10)
    switches[:, :, 0, 1] = -0.3
    switches[:, :, 1, 0] = 1
    answer = proven(method, stage, sample(stage, [1.9 - short_by] * 10, 1.8, switches))
    expected = ["cheap"] * 3 if short_by > 1e-9 else ["expensive", "cheap"]
    assert answer.models == expected
    assert answer.cost == pytest.approx(closed_form(*expected), rel=1e-9)


# Switches whose sampled loss is negative: they may be wanted, but they must be made.


BARRED = {
    "switches": (Switch(previous="expensive", following="cheap", law=Forbidden()),),
    "other_switches": Zero(),
}


@every_method
@pytest.mark.parametrize(
    ("changed", "gains", "of_switch", "models"),
    [
        # 2 + 1 + 1 by the switch; expensive twice would do as well, at a higher cost
        ({}, (2, 1), -1, ["expensive", "cheap"]),
        (BARRED, (2, 1), -1, ["expensive", "expensive"]),
        # expensive loses 1 and leads to cheap, which then gains 5 and 1; before it cheap gains 1 a time
        ({}, (-1, 1), -5, ["expensive", "cheap"]),
    ],
)
def test_a_switch_that_lowers_the_loss_is_made_if_it_may_be(method, stage, changed, gains, of_switch, models):
    switches = switch_losses(stage, 10)
    switches[:, :, 0, 1] = of_switch
    answer = proven(method, stage.replace(**changed), sample(stage, [gains[0]] * 10, gains[1], switches))
    assert answer.models == models
    assert answer.cost == pytest.approx(closed_form(*models), rel=1e-9)


@every_method
def test_the_gain_of_a_switch_counts_only_where_the_switch_is_made(method, stage):
    """The switch gains 100 in every epoch, but nobody can make it: expensive keeps no deadline below 1.3."""
    switches = switch_losses(stage, 10)
    switches[:, :, 0, 1] = -100
    scenarios = sample(stage, [2] * 10, 1, switches)
    assert proven(method, stage.replace(round_deadline=1.29), scenarios).cost == math.inf
    both = proven(method, stage.replace(round_deadline=1.3), scenarios)
    assert both.models == ["expensive", "cheap"]


@every_method
def test_the_gain_of_a_switch_to_a_model_does_not_count_while_the_model_stays(method, stage):
    """Cheap gains 1, expensive nothing, each switch 1.5: 1 + 1.5 + 0 + 1.5 + 1 is enough."""
    for epochs, models in ((2, None), (3, ["cheap", "expensive", "cheap"])):
        instance = stage.replace(maximum_epochs=epochs)
        switches = switch_losses(instance, 10)
        switches[:, :, 0, 1] = switches[:, :, 1, 0] = -1.5
        answer = proven(method, instance, sample(instance, [0] * 10, 1, switches))
        assert answer.cost == (pytest.approx(closed_form(*models), rel=1e-9) if models else math.inf)
        assert models is None or answer.models == models


@every_method
def test_the_switch_from_the_initial_model_counts(method, single):
    switches = switch_losses(single, 10)
    switches[:, 0, 0, 1] = -1
    instance = single.replace(initial_model="expensive")
    scenarios = sample(instance, [5] * 10, 3, switches)
    assert proven(method, instance, scenarios).models == ["cheap"]
    assert proven(method, single, scenarios).models == ["expensive"]
    switches[:, 0, 0, 1] = 1
    assert proven(method, instance, sample(instance, [5] * 10, 4.5, switches)).models == ["expensive"]


# Infeasible instances: a proof, an infinite bound and a reason.


@every_method
@pytest.mark.parametrize(
    "change",
    [
        {"maximum_loss": -3},
        {"maximum_time": 1.2},
        {"round_deadline": 0.8},
        {"maximum_epochs": 0},
        {"maximum_epochs": 1},
        {"quantile_level": 0.99},
    ],
    ids=str,
)
def test_what_cannot_be_reached_is_proved_to_be_infeasible(method, stage, change):
    """Two epochs of expensive are needed; they take 2 (8 / 10 + 1 / 2) = 2.6 at least."""
    gains = [0, *[2.5] * 9], 0.5
    assert proven(method, stage, sample(stage, *gains)).models == ["expensive", "expensive"]
    instance = stage.replace(**change)
    assert proven(method, instance, sample(instance, *gains)).cost == math.inf


@every_method
def test_where_the_initial_model_cannot_stay_and_cannot_be_left_nothing_is_feasible(method, stage):
    """Expensive takes at least 1.3 an epoch, and cheap may not follow it."""
    instance = stage.replace(
        switches=(Switch(previous="expensive", following="cheap", law=Forbidden()),), round_deadline=1.2
    )
    scenarios = sample(instance, [2] * 10, 2)
    assert proven(method, instance.replace(initial_model="expensive"), scenarios).cost == math.inf
    assert proven(method, instance.replace(initial_model="cheap"), scenarios).models == ["cheap"] * 2


@every_method
def test_a_target_that_the_start_meets_costs_nothing(method, stage):
    for change in ({"maximum_loss": 10}, {"maximum_loss": 11}, {"maximum_loss": 10, "maximum_epochs": 0}):
        instance = stage.replace(**change)
        answer = proven(method, instance, sample(instance, [2] * 10, 1))
        assert answer.cost == 0
        assert answer.plan.epochs == ()


# Integer edges of omega S: floor((1 - omega) S + 1e-9), though (1 - 0.9) * 50 is 4.999... in floats.

EDGES = [
    (0.95, 200, 10),
    (0.9, 50, 5),
    (0.95, 199, 9),
    (0.3, 10, 7),
    *(pytest.param(*edge, marks=SLOW) for edge in ((0.9, 10, 1), (0.99, 100, 1), (0.7, 10, 3))),
]


@every_method
@pytest.mark.parametrize(("level", "size", "allowed"), EDGES)
def test_exactly_as_many_scenarios_may_miss_as_omega_leaves(method, single, level, size, allowed):
    instance = single.replace(quantile_level=level)

    def chosen(misses):
        gains = np.where(np.arange(size) < misses, 3.9, 4.1)
        return proven(method, instance, sample(instance, 5, gains)).models

    assert chosen(allowed) == ["cheap"]
    assert chosen(allowed + 1) == ["expensive"]


# The numbers that are counted: the user's own, or rounded to a grid.


@every_method
def test_on_a_decimal_grid_sums_that_floats_miss_are_ties(method, stage):
    """3 times 0.1 is not 0.3 in floats, nor is 1 - 0.3 equal to 0.7 below; the tolerance closes both gaps."""
    instance = stage.replace(initial_loss=1, maximum_loss=0.7)
    answer = proven(method, instance, sample(instance, [0] * 10, 0.1, decimals=1))
    assert answer.models == ["cheap"] * 3


@every_method
@pytest.mark.parametrize(
    ("expensive", "cheap", "of_switch", "decimals", "models"),
    [
        # the user's own numbers are obeyed, though the law promises a mean of 2 with variance 1
        (0, 40, None, None, ["cheap"]),
        (40, -40, None, None, ["expensive"]),
        (0, 0, None, None, None),
        # 1.96 rounds to 2, so that two epochs gain 4; unrounded they gain 3.92
        (0, 1.96, None, 1, ["cheap"] * 2),
        (0, 1.96, None, 2, ["cheap"] * 3),
        (0, 1.96, None, None, ["cheap"] * 3),
        (2.5, 1.5, 0.04, 1, ["expensive", "cheap"]),  # 2.5 + 1.5 - 0.0
        (2.5, 1.5, 0.04, 2, ["expensive"] * 2),  # 3.96 is not enough
    ],
)
def test_the_numbers_that_are_counted_are_those_given_or_rounded_to_the_grid(
    method, stage, expensive, cheap, of_switch, decimals, models
):
    switches = None
    if of_switch is not None:
        switches = switch_losses(stage, 10)
        switches[:, :, 0, 1], switches[:, :, 1, 0] = of_switch, 9
    answer = proven(method, stage, sample(stage, [expensive] * 10, cheap, switches, decimals))
    assert answer.cost == math.inf if models is None else answer.models == models
