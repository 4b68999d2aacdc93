"""Rungs on branches written here, the reset rule, halves, and how many promises are refuted all together."""

import math

import numpy as np
import pytest
from scipy.stats import t

from depl.benchmarks.measure.results import RESULTS, read
from depl.benchmarks.studies import closed_loop
from depl.benchmarks.studies.closed_loop import (
    clairvoyant,
    fixed,
    of_cost,
    of_promise,
    refitted,
    refuted,
    reset_rule,
    told,
)
from depl.models.policy.follow import counted
from depl.models.policy.planning import solve_policy
from depl.models.problem.laws import Forbidden, Zero
from depl.models.problem.policy import STOP
from depl.models.traces.counterfactuals import Counterfactuals
from tests.cases.memory_cases import instance_of, random_law
from tests.cases.policy_cases import tiny
from tests.problems import atoms, law, switches

TABLE = np.array(
    [
        [[3.0, 2.0, 1.0, 0.5, 0.6], [3.0, 2.0, 0.4, 0.3, 0.2]],
        [[3.0, 2.5, 2.0, 1.5, 1.0], [3.0, 2.5, 0.9, 0.8, 0.45]],
    ]
)
"""Two seeds, switches after epoch 1 and 2 of 4."""
BRANCHES = Counterfactuals(("1", "2"), (1, 2), (("big", "edge"), ("small", "far")), TABLE)
PROBLEM = BRANCHES, (2.0, 1.0), 0.5
"""With the prices of an epoch in either stage, and the target."""


@pytest.mark.parametrize(
    ("switch", "left", "found"),
    [
        (1, False, [(False, 4, 5.0), (False, 4, 5.0)]),  # the final loss counts, not that of epoch 3
        (2, False, [(True, 4, 6.0), (True, 4, 6.0)]),
        (1, True, [(True, 3, 4.0), (False, 4, 5.0)]),
        (2, True, [(True, 3, 5.0), (True, 4, 6.0)]),  # 0.4 after epoch 2 is of the first model
    ],
)
def test_a_fixed_plan_is_judged_at_its_end_or_left_at_the_first_loss_of_the_last_model(switch, left, found):
    assert list(zip(*fixed(*PROBLEM, switch, 4, left=left), strict=True)) == found


@pytest.mark.parametrize(
    ("most", "price", "found"),
    [
        (4, 100.0, [(True, 3, 4.0), (True, 4, 6.0)]),
        (4, 5.0, [(True, 3, 4.0), (False, 0, 0.0)]),
        (3, 100.0, [(True, 3, 4.0), (False, 0, 0.0)]),
    ],
)
def test_the_clairvoyant_takes_the_cheapest_branch_of_every_seed_and_leaves_what_is_not_worth_it(
    most, price, found
):
    assert list(zip(*clairvoyant(*PROBLEM, most, price), strict=True)) == found


def test_a_row_counts_misses_of_every_kind_and_what_runs_cost():
    reached, epochs = np.arange(10) < 7, np.array([5] * 7 + [9, 3, 0])
    row = told((reached, epochs, np.array([10.0] * 7 + [20.0, 6.0, 0.0])), 0.9)
    assert (row["delivered"], row["cost"]) == pytest.approx((0.7, 9.6))
    assert row["cost_error"] == pytest.approx(math.sqrt((7 * 0.16 + 108.16 + 12.96 + 92.16) / 90))
    assert row["abandoned_at_start"] == 1


def instance(level):
    """0.6 is to be gained in two epochs; `small` gains 0.4 in four of five, `large` in all."""
    return tiny(
        atoms(0.4, 0.4, 0.4, 0.4, 0.0),
        law(0.4),
        switches=switches({("small", "large"): Zero()}),
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
    # after a first epoch without gain 0.6 is out of reach; nothing is certified, and the run goes on
    assert len(trained(policy, [1.0, 1.0])) == 2
    assert (policy.certificate.method, policy.certificate.reached) == ("none", 0.0)


def test_a_policy_under_its_own_law_stays_itself_and_another_law_has_other_shifts():
    rng = np.random.default_rng(2)
    own = random_law(rng, residuals="per_run")
    other = random_law(np.random.default_rng(2), residuals="per_run")
    target = {"maximum_epochs": 4, "maximum_loss": 1.4, "quantile_level": 0.2, "maximum_time": None}
    policy = solve_policy(instance_of(own, round_deadline=6.0, **target)).policy
    assert policy is not None
    assert refitted(policy, own.law) == policy
    found = counted(refitted(policy, other.law), other)
    assert found.reached == counted(policy, own).reached
    assert 0 < found.unlike < 1


def test_holm_stops_at_the_first_promise_that_stands():
    assert refuted([]) == 0
    assert refuted([0.2, 0.04, 0.9]) == 0  # 0.04 alone would be refuted, not as the least of three
    assert refuted([0.016, 0.024, 0.9]) == 2
    assert refuted([0.017, 0.024, 0.001]) == 3


def test_a_certified_probability_is_tested_itself_and_a_certified_cost_against_the_mean_of_the_runs():
    # P(at least 12 of 120 miss), at 0.03 and not at 1 - omega
    row = {"promised": 0.97, "delivered": 108 / 120, "runs": 120}
    terms = [math.comb(120, missed) * 0.03**missed * 0.97 ** (120 - missed) for missed in range(12, 121)]
    assert of_promise(row) == pytest.approx(math.fsum(terms))
    row = {"promised_cost": 50.0, "cost": 51.0, "cost_error": 0.5, "runs": 121}
    assert of_cost(row) == pytest.approx(t.sf(2.0, 120))
    assert of_cost({**row, "cost_error": 0.0}) == 0.0
    assert of_cost({**row, "cost": 50.0, "cost_error": 0.0}) == 1.0


def test_the_figures_of_the_record_follow_from_its_rows():
    values = read(RESULTS / "closed-loop.json").values
    kinds = {"problem": "rows", "price": "prices", "half": "halves"}
    found = closed_loop._figures([{"kind": kind, "rows": values[name]} for kind, name in kinds.items()])
    shares = {name: value for name, value in found.items() if not isinstance(value, list)}
    assert shares == pytest.approx({name: values[name] for name in shares}, rel=1e-12)
