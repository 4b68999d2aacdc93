"""Counting violations among samples."""

import numpy as np
import pytest
from scipy import stats

from depl.models.risk.sampling import monte_carlo_violation
from tests.problems import atoms, loss


@pytest.mark.parametrize("beyond", [0.0, 0.3])
def test_violations_are_counted_in_blocks_and_with_those_beyond(beyond):
    """Of a die, an atom at the limit is none; 250,000 draws are made in three blocks."""
    die = loss(0.1, (1, atoms(0, 0.1, 0.2, 0.3)))  # 0.1 + 0.2 > 0.3 in floating point
    found = monte_carlo_violation(die, 0.3, 250_000, np.random.default_rng(3), 0.99, beyond)
    truth = 0.25 + 0.75 * beyond
    assert found.samples == 250_000
    assert found.estimate == pytest.approx(truth, abs=5 * np.sqrt(0.25 / found.samples))
    interval = stats.binomtest(found.violations, found.samples).proportion_ci(0.99, "exact")
    assert (found.lower, found.upper) == pytest.approx((interval.low, interval.high), rel=1e-9)
    small = [monte_carlo_violation(die, 0.3, 1, np.random.default_rng(seed)).violations for seed in range(20)]
    assert 0 < sum(small) < 20
