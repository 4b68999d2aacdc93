"""Fixed plans and the clairvoyant, read off branches that are written here."""

import numpy as np
import pytest

from depl.benchmarks.studies.policies.baselines import FixedPlan, Prices, clairvoyant, first_met
from depl.models.traces.counterfactuals import Counterfactuals

PRICES = Prices(2.0, 1.0)


@pytest.fixture
def branches():
    """Two seeds, switches after epoch 1 and 2 of 4; the target is 0.5."""
    table = np.array(
        [
            [[3.0, 2.0, 1.0, 0.5, 0.6], [3.0, 2.0, 0.4, 0.3, 0.2]],
            [[3.0, 2.5, 2.0, 1.5, 1.0], [3.0, 2.5, 0.9, 0.8, 0.45]],
        ]
    )
    return Counterfactuals(("1", "2"), (1, 2), (("big", "edge"), ("small", "far")), table)


def test_a_plan_trained_to_its_end_is_judged_by_its_final_loss_and_costs_all_its_epochs(branches):
    runs = FixedPlan(1, 4).final(branches, PRICES, 0.5)
    assert [(run.end, run.epochs, run.cost) for run in runs] == [("exhausted", 4, 5.0), ("exhausted", 4, 5.0)]
    runs = FixedPlan(2, 4).final(branches, PRICES, 0.5)
    assert [(run.end, run.cost) for run in runs] == [("reached", 6.0), ("reached", 6.0)]


def test_a_plan_is_left_at_the_first_loss_that_meets_the_target_with_the_last_model(branches):
    runs = FixedPlan(1, 4).stopped(branches, PRICES, 0.5)
    assert [(run.end, run.epochs, run.cost) for run in runs] == [("reached", 3, 4.0), ("exhausted", 4, 5.0)]
    # 0.4 after epoch 2 is a loss of the first model
    assert [run.epochs for run in FixedPlan(2, 4).stopped(branches, PRICES, 0.5)] == [3, 4]
    assert first_met(np.array([1.0, 0.1, 0.1, 0.7]), 2, 3, 0.5) is None


def test_the_clairvoyant_takes_the_cheapest_branch_of_every_seed_and_leaves_what_is_not_worth_it(branches):
    runs = clairvoyant(branches, PRICES, 0.5, 4, failure_cost=100.0)
    assert [(run.switched, run.epochs, run.cost) for run in runs] == [(1, 3, 4.0), (2, 4, 6.0)]
    runs = clairvoyant(branches, PRICES, 0.5, 4, failure_cost=5.0)
    assert [(run.end, run.cost) for run in runs] == [("reached", 4.0), ("abandoned", 0.0)]
    runs = clairvoyant(branches, PRICES, 0.5, 3, failure_cost=100.0)
    assert [run.end for run in runs] == ["reached", "abandoned"]


def test_a_run_that_stops_before_its_switch_pays_for_the_first_stage_alone():
    assert (PRICES.cost(3, 2), PRICES.cost(3, 3), PRICES.cost(3, 5)) == (4.0, 6.0, 8.0)
