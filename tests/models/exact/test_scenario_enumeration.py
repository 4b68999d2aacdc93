"""The judge is judged: closed forms, and a second writing-out in scalars."""

import math

import numpy as np
import pytest

from depl.instances.tiny_sampled import tiny_sampled
from depl.models.problem.instance import Transfer
from tests.oracles.brute_force import cheapest_of_every_plan_under_scenarios
from tests.oracles.scenario_enumeration import cheapest_under_scenarios

NOTHING = np.zeros((4, 3, 1, 1))


@pytest.fixture(scope="module", params=[30, pytest.param(200, marks=pytest.mark.slow)])
def family(request):
    return list(tiny_sampled(np.random.default_rng(20260314), request.param))


BROUGHT = (Transfer(dataset="data", cluster="site", cost=5),)
ROWS = [  # two epochs with x = 4 at price 3; see the fixture
    ({}, 24),
    # they take 2 (8 / 10 + 1 / 2) = 2.6 with all resources
    ({"maximum_time": 2.59}, math.inf),
    ({"maximum_time": 2.6}, 60),
    ({"maximum_time": 2.6 * (1 - 9e-10)}, 60),
    ({"maximum_time": 2.6 * (1 - 2e-9)}, math.inf),
    ({"maximum_time": None, "round_deadline": 1.5}, 48),  # x = 8 / (1.5 - 0.5) = 8
    ({"transfers": BROUGHT}, 29),  # data on the expensive side is paid once
]


@pytest.mark.parametrize(("changed", "wanted"), ROWS)
def test_certain_improvements_cost_what_is_worked_out_by_hand_whatever_the_draws(steady, changed, wanted):
    cost, plan = cheapest_under_scenarios(steady.replace(**changed), np.full((4, 3, 1), -99.0), NOTHING)
    assert cost == pytest.approx(wanted, rel=1e-14)
    assert (plan is None) == math.isinf(wanted)
    if not changed:
        assert [epoch.resources for epoch in plan.epochs] == pytest.approx([4, 4], rel=1e-14)


@pytest.mark.parametrize(("level", "epochs"), [(0.9, 3), (0.75, 2), (0.5, 2), (0.25, 1)])
def test_as_many_scenarios_may_miss_as_the_level_leaves(bell, level, epochs):
    """Needed is 4; gains 1.5, 2, 2.5 and 4.5 per epoch reach it after 3, 2, 2 and 1 epochs."""
    gains = np.repeat([[1.5], [2.0], [2.5], [4.5]], 3, axis=1)[:, :, None]
    instance = bell.replace(quantile_level=level)
    cost, plan = cheapest_under_scenarios(instance, gains, NOTHING)
    roots = epochs * math.sqrt(3 * 8)
    assert len(plan.epochs) == epochs
    assert cost == pytest.approx(roots**2 / (5 - epochs / 2), rel=1e-12)


def test_two_ways_of_writing_all_plans_out_agree(family):
    def choices(instance):
        return (len(instance.models) * len(instance.clusters)) ** instance.target.maximum_epochs

    small = [item for item in family if choices(item.instance) <= 81]  # few enough for scalars
    assert sum(len(item.instance.datasets) > 1 for item in small) >= 0.1 * len(family)
    assert sum(len(item.instance.clusters) > 1 for item in small) >= 0.05 * len(family)
    for item in small:
        sample = item.scenarios
        given = item.instance, sample.improvements, sample.switch_losses, sample.decimals
        assert cheapest_under_scenarios(*given)[0] == pytest.approx(
            cheapest_of_every_plan_under_scenarios(*given), rel=1e-12
        )
