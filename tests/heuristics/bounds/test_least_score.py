"""The least mean of a plan that meets its target, against sums whose quantiles are known exactly."""

import math

import pytest
from scipy import special, stats

from depl.heuristics.bounds.requirement import least_score


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("count", [1, 4, 40, 400, 100_000])
@pytest.mark.parametrize("budget", [0.5, 0.05, 1e-3])
def test_gamma_sums_and_their_mirrors_gain_as_much_as_the_bound_asks_for(
    budget: float, count: int, unit: float
) -> None:
    """An exponential law has E |Y - 1|**3 = 12 / e - 2; with either sign, whatever the unit of loss."""
    ratio, deviation = (12 / math.e - 2) * unit, math.sqrt(count) * unit
    asked = least_score(budget, ratio, deviation**2)
    needed = (count - stats.gamma.ppf(budget, count)) * unit
    mirrored = (stats.gamma.isf(budget, count) - count) * unit
    assert asked * deviation <= min(needed, mirrored)


def test_with_many_epochs_the_bound_tends_to_the_normal_quantile_in_every_unit() -> None:
    for unit in (1e-3, 1.0, 1e3):
        found = least_score(0.05, unit, 1e8 * unit**2)
        assert special.ndtri(0.95) - 1e-3 < found < special.ndtri(0.95)
