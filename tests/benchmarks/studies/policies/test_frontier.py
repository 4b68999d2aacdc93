"""The frontier of an instance that is counted by hand."""

import pytest

from depl.benchmarks.studies.policies.frontier import fixed_plans, frontier, undominated
from depl.models.policy.grid import Expectations, Grid
from depl.models.policy.process import process
from depl.models.problem.laws import Deterministic, Empirical
from tests.cases.policy_cases import tiny

# 0.55 is to be gained; small gains 0.2 or 0.4 for 1, large 0.7 for 2.5
INSTANCE = tiny(Empirical(values=(0.2, 0.4)), Deterministic(value=0.7), maximum_loss=0.45)


def test_fixed_plans_are_trained_to_their_ends():
    chain = process(INSTANCE, switch_epochs=(1, 2))
    found = {
        (round(share, 9), round(cost, 9))
        for share, cost in fixed_plans(chain, Expectations(Grid.of(chain, 512), up=True))
    }
    assert {(0.0, 1.0), (0.75, 2.0), (1.0, 3.0), (1.0, 2.5), (1.0, 3.5)} <= found
    assert undominated(iter(found)) == [[0.75, 2.0], [1.0, 2.5]]


def test_stopping_makes_plans_cheaper_and_no_policy_is_below_the_bound():
    found = frontier(INSTANCE, (1, 2), smoke=True)
    assert found["stopped"][-1] == pytest.approx([1.0, 2.25])  # small until the target is reached
    assert found["ratio"] == pytest.approx(2.25, abs=1e-6)
    for share, cost in found["policies"]:
        for price, value in found["bound"]:
            assert cost >= value - price * (1 - share) - 1e-9
