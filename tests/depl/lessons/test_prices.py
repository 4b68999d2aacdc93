"""The policies of the last lesson at several prices, against those worked out by hand and on a fitted law."""

import itertools
import math

import numpy as np
import pytest

from depl.fitting import fit
from depl.instances.training.recorded import recorded_traces
from depl.lessons.prices import policies_at_prices
from depl.models.problem.laws import Empirical
from tests.cases.policy_cases import tiny


def test_cost_probability_and_limits_are_those_by_hand() -> None:
    gains = Empirical(values=(1.0, 3.0))
    instance = tiny(gains, gains, prices=(1.0, 9.0), initial_loss=5.0, maximum_loss=0.5, maximum_epochs=3)
    # Going on throughout: C = 1 + 1 + 3/4, P = 7/8, so 22/7 for a success. Giving up from 4 after epoch 1
    # (C = 7/4, P = 1/2) or from 3 after epoch 2 (C = 5/2, P = 3/4) has a higher ratio.
    (policy,) = policies_at_prices(instance, [1.5], 1)
    assert policy.price == pytest.approx(1.5 * 22 / 7)
    assert (policy.cost, policy.reached, policy.never_begun) == pytest.approx((11 / 4, 7 / 8, 0))
    # From 3.5 the last epoch succeeds with 1/2, from above never. From 4.5 two epochs have C = 2 and P = 3/4;
    # from above C = 3/2 and P = 1/4, which is 6 for a success. The grid ends below the limit at the start.
    assert policy.limits == pytest.approx((math.inf, 4.5, 3.5, 0.5), abs=0.01)


def test_a_higher_price_raises_cost_and_probability_and_only_at_the_least_one_runs_are_not_begun() -> None:
    traces = recorded_traces("digits-mobilenet-fitting")
    few = traces.select(np.arange(0, len(traces.runs), 8))
    instance = fit(few, "closed-loop", residuals="independent", care=None).replace(maximum_epochs=30)
    policies = policies_at_prices(instance, (1, 1.5, 4), 12)
    for low, high in itertools.pairwise(policies):
        assert low.cost <= high.cost * (1 + 1e-9)
        assert low.reached <= high.reached + 1e-9
    assert policies[0].never_begun > 0 == policies[1].never_begun == policies[2].never_begun
    assert policies[0].limits[0] < policies[1].limits[0]
    for policy in policies:
        assert len(policy.limits) == 31
        assert math.isclose(policy.limits[-1], 0.75, rel_tol=0.01)
