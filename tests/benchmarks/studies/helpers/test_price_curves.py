"""Price curves are bounds at every price, concave, and right where they can be worked out by hand."""

from itertools import pairwise

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.mean_value import GAIN_FACTORS, TIME_FACTORS, price_curve
from depl.instances.generator import random_instances
from depl.instances.library import load
from depl.models.foundation.errors import NotCoveredError
from depl.models.solving.solve import solve
from tests.cases.loop_cases import plain


def test_three_epochs_by_hand():
    """Nothing is random and three equal epochs are needed; x t = 8, a unit of x costs 3, and each waits .5.

    At a price lam of time an epoch costs psi = 2 sqrt(24 lam) + lam / 2, and 30 + 1.3 lam once x is at its
    capacity, 10. Gains priced so that every epoch is worth it prove 3 psi - 5 lam. The best lam is
    (3 sqrt 24 / 3.5)^2, where this is the optimum 9 * 24 / 3.5; at f times that it is 2 sqrt f - f of it.
    """
    instance = plain(target=4.0)
    optimum, best = 9 * 24 / 3.5, 9 * 24 / 3.5**2
    assert solve(instance, "enumerate").cost == pytest.approx(optimum, rel=1e-9)
    curve = price_curve(instance, optimum)
    assert curve["best"] == pytest.approx(1, rel=1e-4)
    assert curve["time_price"] == pytest.approx(best, rel=0.02)  # the maximum is flat
    for factor, share in zip(TIME_FACTORS, curve["over_time_price"], strict=True):
        price = factor * curve["time_price"]
        by_hand = 6 * np.sqrt(24 * price) - 3.5 * price if factor <= 2 else 90 - 1.1 * price
        assert share == pytest.approx(max(by_hand, 0) / optimum, abs=1e-4)


def test_every_point_is_a_bound_and_curves_are_concave():
    seen = 0
    drawn = random_instances(
        np.random.default_rng(5), 8, models=(1, 2), clusters=(1, 2), datasets=(1, 2), maximum_epochs=(2, 5)
    )
    for instance in (load("tiny"), *drawn):
        answer = solve(instance, "exact", time_limit=10)
        if instance.target.maximum_time is None or not answer.cost:
            continue
        try:
            curve = price_curve(instance, answer.cost)
        except NotCoveredError:
            continue
        for factors, name in ((TIME_FACTORS, "over_time_price"), (GAIN_FACTORS, "over_gain_price")):
            shares = curve[name]
            assert max(shares) <= curve["best"] * (1 + 1e-3) + 1e-9
            assert max(shares) <= 1 + 1e-9
            assert _concave(factors, shares)
        seen += 1
    assert seen >= 5


def test_what_has_no_price_of_time_is_refused():
    instance = load("tiny").replace(maximum_time=None, round_deadline=3.0)
    with pytest.raises(NotCoveredError, match="T_max"):
        price_curve(instance, 1.0)


def _concave(factors, shares) -> bool:
    """Where the curve is above 0, slopes do not rise by more than the tolerance of the cutting planes."""
    above = [(x, y) for x, y in zip(factors, shares, strict=True) if y > 0]
    slopes = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(above)]
    return all(later <= earlier + 0.02 for earlier, later in pairwise(slopes))
