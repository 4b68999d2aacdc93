"""Limits of counted policies, against policies with any stages and any rows."""

from fractions import Fraction

import numpy as np

from depl.benchmarks.cases.policies.limits import limits
from depl.models.foundation.errors import NotCoveredError
from depl.models.policy.capped import Caps
from depl.models.policy.counted import counted
from depl.models.policy.solve import solve_policy
from tests.cases.counted_policies import of_all_ways, of_two_switches, scrambled


def test_no_counted_policy_is_beyond_them():
    instance, rng = of_two_switches(), np.random.default_rng(7)
    law, rho = instance.traced_law, 40.0
    found = limits(instance, (1, 2), rho)
    kept = 0
    for first in (1, 2):
        for later in (1, 2, 3):
            policy = of_all_ways(instance, Caps(first, later))
            for other in (policy, *(scrambled(policy, rng) for _ in range(60))):
                try:
                    done = counted(other, law)
                except NotCoveredError:
                    continue
                assert done.reached <= found.reached
                if 1 - done.reached > Fraction(instance.target.violation_budget):
                    continue
                kept += 1
                assert done.cost >= found.cost
                assert done.cost + rho * float(1 - done.reached) >= found.objective
    assert kept > 10


def test_the_best_policy_is_close_to_them():
    instance = of_two_switches()
    best = solve_policy(instance, time_limit=None)
    found = limits(instance, (1, 2), best.failure_cost)
    assert 0 < found.cost <= best.cost
    assert found.objective <= best.objective
    assert best.reached <= found.reached < 1
    assert best.objective <= 1.3 * found.objective
