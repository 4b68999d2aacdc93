"""What sums say of the variance of a plan, at the ends of what its increments allow."""

import math

import numpy as np
import pytest

from depl.models.problem.epochs import Term
from depl.models.problem.laws import InverseGamma, StudentT
from depl.models.risk.lower_bound.laws import TiltedTable
from depl.models.risk.lower_bound.spread import Spread
from depl.models.risk.lower_bound.switches import TiltedSwitch


@pytest.mark.parametrize("others", [0, 1])
def test_a_plan_of_switches_with_less_than_half_their_variance_as_divergence_is_one(others: int) -> None:
    """B < 0 where W > 2 H, beside another switch with B > 0 or without one."""
    scales = (0.2, 0.3)[: 1 + others]
    laws = [StudentT(degrees_of_freedom=6.0, location=0.1, scale=s, lower=-1.0, upper=1.0) for s in scales]
    switches = [TiltedSwitch.of(Term(1.0, law), 0.8) for law in laws]
    runs = TiltedTable.of(InverseGamma(mean=1.0, variance=0.3), -2.0, 1.0).reach(-1.5, 0.5, math.inf)
    spread = Spread.of_runs(runs, clear=True).with_switches(switches, 10)
    assert switches[0].excess < 0
    for count in (1, 5):
        h, excess, w = (
            count * value for value in (switches[0].divergence, switches[0].excess, switches[0].variance)
        )
        low, high = spread.variances((h, h), (excess, excess))
        assert low <= w <= high


def test_the_least_variance_is_the_greater_of_two_that_hold() -> None:
    """W = 2 (H - B), and B is at most a share of H: a wide interval of B says nothing, a narrow one more."""
    spread = Spread(excess_high=0.25)
    rng = np.random.default_rng([11, 12])
    for h in rng.uniform(0.5, 5.0, 20):
        assert spread.variances((h, h), (0.0, h))[0] == pytest.approx(2 * 0.75 * h, rel=1e-5)
        excess = rng.uniform(0.0, 0.2) * h
        assert spread.variances((h, h), (0.0, excess))[0] == pytest.approx(2 * (h - excess), rel=1e-5)
