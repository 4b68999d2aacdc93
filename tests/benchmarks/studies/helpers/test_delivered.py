"""Shares with their exact interval and test, and the picture of both studies that promise."""

import pytest
from scipy.stats import binom

from depl.benchmarks.studies.helpers.delivered import delivered


def test_a_share_has_an_exact_interval_and_is_tested_exactly():
    found = delivered(3, 10, 0.9)
    assert (found["runs"], found["delivered"]) == (10, 0.7)
    assert found["p_value"] == pytest.approx(binom.sf(2, 10, 0.1))
    assert binom.sf(6, 10, found["lower"]) == pytest.approx(0.025)
    assert binom.cdf(7, 10, found["upper"]) == pytest.approx(0.025)
