"""Fixed plans, the clairvoyant and the reset rule, on branches and on an instance that are written here."""

import numpy as np
import pytest

from depl.benchmarks.studies.policies.rivals import Judged, reset_rule
from depl.models.policy.simulation import simulate
from depl.models.problem.instance import Switch
from depl.models.problem.laws import Deterministic, Empirical, Forbidden, Zero
from depl.models.problem.policy import STOP
from depl.models.traces.counterfactuals import Counterfactuals
from tests.cases.policy_cases import tiny

TABLE = np.array(
    [
        [[3.0, 2.0, 1.0, 0.5, 0.6], [3.0, 2.0, 0.4, 0.3, 0.2]],
        [[3.0, 2.5, 2.0, 1.5, 1.0], [3.0, 2.5, 0.9, 0.8, 0.45]],
    ]
)
"""Two seeds, switches after epoch 1 and 2 of 4."""
BRANCHES = Counterfactuals(("1", "2"), (1, 2), (("big", "edge"), ("small", "far")), TABLE)
JUDGED = Judged(BRANCHES, (2.0, 1.0), 0.5)


@pytest.mark.parametrize(
    ("switch", "left", "found"),
    [
        (
            1,
            False,
            [("exhausted", 4, 5.0), ("exhausted", 4, 5.0)],
        ),  # the final loss counts, not that of epoch 3
        (2, False, [("reached", 4, 6.0), ("reached", 4, 6.0)]),
        (1, True, [("reached", 3, 4.0), ("exhausted", 4, 5.0)]),
        (2, True, [("reached", 3, 5.0), ("reached", 4, 6.0)]),  # 0.4 after epoch 2 is of the first model
    ],
)
def test_a_fixed_plan_is_judged_at_its_end_or_left_at_the_first_loss_of_the_last_model(switch, left, found):
    runs = JUDGED.fixed(switch, 4, left=left)
    assert [(run.end, run.epochs, run.cost) for run in runs] == found


def test_the_clairvoyant_takes_the_cheapest_branch_of_every_seed_and_leaves_what_is_not_worth_it():
    runs = JUDGED.clairvoyant(4, failure_cost=100.0)
    assert [(run.switched, run.epochs, run.cost) for run in runs] == [(1, 3, 4.0), (2, 4, 6.0)]
    runs = JUDGED.clairvoyant(4, failure_cost=5.0)
    assert [(run.end, run.cost) for run in runs] == [("reached", 4.0), ("abandoned", 0.0)]
    runs = JUDGED.clairvoyant(3, failure_cost=100.0)
    assert [run.end for run in runs] == ["reached", "abandoned"]


def test_a_run_that_stops_before_its_switch_pays_for_the_first_stage_alone():
    assert [JUDGED.cost(3, epochs) for epochs in (2, 3, 5)] == [4.0, 6.0, 8.0]


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


def test_after_good_luck_the_reset_rule_risks_again_what_it_had_won():
    # small, then large keeps 0.79: 0.8 for 3.5. After a gain in epoch 1 small alone reaches it with 0.8.
    policy = reset_rule(instance(0.79), (1,))
    assert trained(policy, [1.0, 0.6]) == ["small", "small"]
    assert trained(reset_rule(instance(0.81), (1,)), [1.0, 0.6]) == ["large", "large"]
    delivered = simulate(instance(0.79), policy, 20_000).reached / 20_000
    assert delivered == pytest.approx(0.8 * 0.8, abs=0.015)
    assert delivered < 0.79
    # after a first epoch without gain 0.6 is out of reach; nothing is certified, and the run goes on
    assert len(trained(policy, [1.0, 1.0])) == 2
    assert (policy.certificate.method, policy.certificate.reached) == ("none", 0.0)
