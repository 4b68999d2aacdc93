"""The reset rule spends its promise again and again: an instance on which it breaks it, by hand."""

import pytest

from depl.benchmarks.studies.policies.reset_rule import reset_rule
from depl.models.policy.simulation import simulate
from depl.models.problem.instance import Switch
from depl.models.problem.laws import Deterministic, Empirical, Forbidden, Zero
from depl.models.problem.policy import STOP
from tests.cases.policy_cases import tiny


def instance(level):
    """0.6 is to be gained in two epochs; `small` gains 0.4 in four of five, `large` in all."""
    return tiny(
        Empirical(values=(0.4, 0.4, 0.4, 0.4, 0.0)),
        Deterministic(value=0.4),
        switches=(Switch(previous="small", following="large", law=Zero()),),
        other_switches=Forbidden(),
        maximum_epochs=2,
        quantile_level=level,
    )


def trained(policy, losses):
    """Models trained along losses after epochs 0, 1, ..."""
    number, found = policy.start, []
    for loss in losses:
        node = policy.nodes[number]
        index = round((loss - policy.grid.origin) / policy.grid.step)
        action = next(row.action for row in node.rows if index <= row.upto)
        if action == STOP:
            break
        found.append(node.trainings[action].model)
        number = node.trainings[action].following
    return found


def test_after_good_luck_the_rule_risks_again_what_it_had_won():
    # small, then large keeps 0.79: 0.8 for 3.5. After a gain in epoch 1 small alone reaches it with 0.8.
    policy = reset_rule(instance(0.79), (1,))
    assert trained(policy, [1.0, 0.6]) == ["small", "small"]
    assert trained(reset_rule(instance(0.81), (1,)), [1.0, 0.6]) == ["large", "large"]
    delivered = simulate(instance(0.79), policy, 20_000).reached / 20_000
    assert delivered == pytest.approx(0.8 * 0.8, abs=0.015)
    assert delivered < 0.79


def test_where_no_rest_keeps_the_promise_the_one_that_reaches_the_target_most_often_is_chosen():
    # after a first epoch without gain 0.6 is out of reach; nothing is certified, and the run goes on
    policy = reset_rule(instance(0.79), (1,))
    assert len(trained(policy, [1.0, 1.0])) == 2
    assert (policy.certificate.method, policy.certificate.reached) == ("none", 0.0)
