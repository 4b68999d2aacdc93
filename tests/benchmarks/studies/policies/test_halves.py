"""Counted policies on halves of the seeds: what is kept, and a policy under another law."""

import math

import numpy as np

from depl.benchmarks.studies.policies.halves import kept, refitted
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
