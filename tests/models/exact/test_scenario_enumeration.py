"""The judge is judged: closed forms, a second writing-out in scalars, and the family it is used on."""

import math

import numpy as np
import pytest

from depl.instances.tiny_sampled import tiny_sampled
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Cluster, ConstantImprovement, Model, Transfer
from depl.models.problem.laws import Deterministic, Forbidden, Normal
from depl.models.problem.plan import Plan
from depl.models.verifier.verify import verify
from tests.oracles.brute_force import cheapest_of_every_plan_under_scenarios
from tests.oracles.scenario_enumeration import cheapest_under_scenarios, cost_and_misses

NOTHING = np.zeros((4, 3, 1, 1))


@pytest.fixture(scope="module", params=[30, pytest.param(200, marks=pytest.mark.slow)])
def family(request):
    return list(tiny_sampled(np.random.default_rng(20260314), request.param))


@pytest.fixture(scope="module")
def answers(family):
    samples = [(item.instance, item.scenarios) for item in family]
    return [cheapest_under_scenarios(i, s.improvements, s.switch_losses, s.decimals) for i, s in samples]


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


def test_a_target_met_at_the_start_costs_nothing_and_one_out_of_reach_infinitely_much(bell):
    easy = cheapest_under_scenarios(bell.replace(maximum_loss=10), np.zeros((4, 3, 1)), NOTHING)
    assert easy == (0.0, Plan())
    assert cheapest_under_scenarios(bell, np.full((4, 3, 1), 1.3), NOTHING) == (math.inf, None)


def test_a_sampled_gain_of_a_switch_can_save_an_epoch(steady):
    """b gains 1 per epoch at half the work; 2 + 1 + 1 by the switch from a to b is enough."""
    second = Model(name="b", size=1, demand=1, improvement=ConstantImprovement(noise=Deterministic(value=1)))
    instance = steady.replace(
        models=(*steady.models, second), other_switches=Normal(mean=0, variance=1), maximum_time=5
    )
    switches = np.zeros((4, 3, 2, 2))
    draws = np.zeros((4, 3, 2))
    assert cheapest_under_scenarios(instance, draws, switches)[0] == pytest.approx(24, rel=1e-12)
    switches[:, 1, 0, 1] = -1
    cost, plan = cheapest_under_scenarios(instance, draws, switches)
    assert [epoch.model for epoch in plan.epochs] == ["net", "b"]
    assert cost == pytest.approx((math.sqrt(24) + math.sqrt(12)) ** 2 / 4, rel=1e-12)
    forbidden = instance.replace(other_switches=Forbidden())
    assert cheapest_under_scenarios(forbidden, draws, switches)[0] == pytest.approx(24, rel=1e-12)


def test_epochs_may_go_to_two_clusters(tiny):
    """The shipped instance, solved by hand: its law is four scenarios of the first two epochs."""
    pairs = [(2, 2), (2, 6), (6, 2), (6, 6)]
    draws = np.zeros((4, 3, 2))
    draws[:, :2, 0] = pairs
    draws[:, 2, 0] = 2
    switches = np.full((4, 3, 2, 2), 0.5)
    cost, plan = cheapest_under_scenarios(tiny, draws, switches)
    assert cost == pytest.approx(28, rel=1e-12)
    assert {row.cluster: set(row.datasets) for row in plan.data} == {
        "cloud": {"archive", "sensors"},
        "edge": {"sensors"},
    }


def test_too_many_plans_are_refused(steady):
    with pytest.raises(NotCoveredError, match="cannot be written out"):
        cheapest_under_scenarios(
            steady.replace(
                clusters=tuple(
                    Cluster(name=f"c{place}", capacity=1, bandwidth=1, unit_cost=1) for place in range(9)
                ),
                maximum_epochs=9,
            ),
            np.zeros((1, 9, 1)),
            np.zeros((1, 9, 1, 1)),
        )


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


def test_the_cheapest_plan_is_what_it_is_said_to_be(family, answers):
    for item, (cost, plan) in zip(family, answers, strict=True):
        if plan is not None:
            given = item.scenarios.improvements, item.scenarios.switch_losses, item.scenarios.decimals
            recomputed, misses = cost_and_misses(item.instance, plan, *given)
            report = verify(item.instance, plan)
            assert recomputed == pytest.approx(cost, rel=1e-14)
            assert report.cost == pytest.approx(cost, rel=1e-14)
            assert misses <= (1 - item.instance.target.quantile_level) * len(item.scenarios) + 1e-9
            assert {finding.equation for finding in report.failures} <= {"(3)"}


def test_the_family_holds_what_makes_the_problem_hard(family, answers):
    optima = [(item, plan) for item, (_, plan) in zip(family, answers, strict=True) if plan is not None]
    trained = [(item, plan) for item, plan in optima if plan.epochs]
    wide = [item for item in family if len(item.instance.clusters) + len(item.instance.datasets) > 2]
    assert len(wide) == len(family) / 2
    assert 0.04 <= 1 - len(optima) / len(family) <= 0.2  # infeasible
    assert len(optima) - len(trained) >= 0.01 * len(family)  # nothing to do
    assert sum(len({epoch.model for epoch in plan.epochs}) > 1 for _, plan in trained) >= 0.3 * len(trained)
    placed = [(item, plan) for item, plan in trained if item in wide]
    proper = [
        len(plan.data) > 1 or len(plan.data[0].datasets) < len(item.instance.datasets)
        for item, plan in placed
    ]
    assert sum(proper) >= 0.3 * len(placed)
    targets = [item.instance.target for item, _ in trained]
    for count in (
        sum(target.maximum_time is not None for target in targets),
        sum(target.round_deadline is not None for target in targets),
        sum(target.initial_model is not None for target in targets),
        sum(bool((item.scenarios.switch_losses < 0).any()) for item, _ in trained),
    ):
        assert count >= 0.25 * len(trained)
    assert sum(item.scenarios.decimals is not None for item, _ in trained) >= 0.15 * len(trained)
