"""Counted policies on halves of the seeds: what is kept, and a policy under another law."""

import math

import numpy as np

from depl.benchmarks.cases.closed_loop_counted import _ratios
from depl.benchmarks.cases.policies.halves import kept, refitted
from depl.models.policy.counted import counted
from depl.models.policy.solve import solve_policy
from tests.cases.memory_cases import instance_of, random_law


def test_a_share_is_kept_if_two_standard_errors_reach_omega():
    error = math.sqrt(0.9 * 0.1 / 100)
    assert kept(0.9, 100, 0.9 + 1.99 * error)
    assert not kept(0.9, 100, 0.9 + 2.01 * error)
    assert kept(0.96, 10, 0.95)


def test_a_policy_under_its_own_law_stays_itself_and_another_law_has_other_shifts():
    rng = np.random.default_rng(2)
    law, other = (
        random_law(rng, residuals="per_run"),
        random_law(np.random.default_rng(2), residuals="per_run"),
    )
    instance = instance_of(
        law, round_deadline=6.0, maximum_time=None, maximum_epochs=4, maximum_loss=1.4, quantile_level=0.2
    )
    policy = solve_policy(instance).policy
    assert policy is not None
    again = refitted(policy, law.law)
    assert again == policy
    found = counted(refitted(policy, other.law), other)
    assert found.reached == counted(policy, law).reached
    assert 0 < found.unlike < 1


def test_ratios_are_those_of_problems_that_are_not_tight_and_have_a_policy():
    told = {"family": "a", "maximum_loss": 1.0, "maximum_epochs": 47, "omega": 0.9}
    rows = [
        {**told, "who": "fixed", "cost": 10.0, "objective": 20.0},
        {**told, "who": "optimal, counted", "promised": 0.9, "cost": 8.0, "objective": 11.0},
        {**told, "who": "clairvoyant", "cost": 6.0, "objective": 7.0},
        {**told, "maximum_loss": 2.0, "who": "fixed", "cost": 10.0, "objective": 20.0},
        {**told, "maximum_loss": 2.0, "who": "optimal, counted", "promised": None},
        {**told, "maximum_loss": 2.0, "who": "clairvoyant", "cost": 1.0, "objective": 1.0},
        {**told, "maximum_epochs": 30, "who": "fixed", "cost": 10.0, "objective": 20.0},
    ]
    assert _ratios(rows, 0.9, "optimal, counted", "cost") == [0.8]
    assert _ratios(rows, 0.9, "clairvoyant", "objective") == [0.35]
    assert _ratios(rows, 0.95, "optimal, counted", "cost") == []
