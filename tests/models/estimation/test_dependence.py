"""What dependence does to a promise: the double sum, closed forms, and counts on correlated draws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from depl.models.estimation.dependence import (
    Dependence,
    normal_violation,
    variance_ratio,
)
from depl.models.foundation.errors import InvalidInputError

AR1, SHARED = Dependence.AUTOREGRESSIVE, Dependence.SHARED
WEIGHTS = st.lists(st.floats(0.01, 10), min_size=1, max_size=8)


@given(WEIGHTS, st.floats(-0.95, 0.95))
def test_the_ratio_of_ar1_is_the_double_sum(weights: list[float], phi: float) -> None:
    total = sum(a * b * phi ** abs(i - j) for i, a in enumerate(weights) for j, b in enumerate(weights))
    expected = total / sum(a * a for a in weights)
    assert variance_ratio(weights, AR1, phi) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(WEIGHTS, st.floats(0, 1))
def test_the_ratio_of_a_shared_factor_is_the_double_sum(weights: list[float], rho: float) -> None:
    total = sum(a * b * (1 if i == j else rho) for i, a in enumerate(weights) for j, b in enumerate(weights))
    expected = total / sum(a * a for a in weights)
    assert variance_ratio(weights, SHARED, rho) == pytest.approx(expected, rel=1e-9)


def test_ratios_of_equal_increments_in_closed_form() -> None:
    """AR(1): (1 + phi) / (1 - phi) - 2 phi (1 - phi^K) / (K (1 - phi)^2); shared: 1 + rho (K - 1)."""
    phi, epochs = 0.3, 30
    closed = (1 + phi) / (1 - phi) - 2 * phi * (1 - phi**epochs) / (epochs * (1 - phi) ** 2)
    assert variance_ratio(np.ones(epochs), AR1, phi) == pytest.approx(closed, rel=1e-14)
    assert variance_ratio(np.ones(epochs), SHARED, 0.1) == pytest.approx(3.9, rel=1e-14)
    assert variance_ratio(np.ones(5), SHARED, 1) == 5
    assert variance_ratio([3.0], AR1, 0.9) == 1


def test_ar1_of_three_tenths_turns_one_per_cent_into_four() -> None:
    """The figure of the design: 4.2 % within 30 epochs of equal spread."""
    ratio = variance_ratio(np.ones(30), AR1, 0.3)
    assert normal_violation(0.01, ratio) == pytest.approx(0.042, abs=0.0005)
    assert normal_violation(0.01, ratio) == pytest.approx(
        stats.norm.sf(stats.norm.isf(0.01) / math.sqrt(ratio)), rel=1e-12
    )


def test_the_bounds_of_the_verdict_in_violations() -> None:
    assert normal_violation(0.01, 1.5) == pytest.approx(0.0287, abs=5e-4)
    assert normal_violation(0.01, 0.7) == pytest.approx(0.0027, abs=5e-4)
    assert normal_violation(0.5, 7) == 0.5


@given(st.floats(1e-6, 0.4), st.floats(0.1, 10))
def test_a_violation_is_planned_with_by_the_inverse(violation: float, ratio: float) -> None:
    nominal = float(stats.norm.cdf(stats.norm.ppf(violation) * math.sqrt(ratio)))
    assert normal_violation(nominal, ratio) == pytest.approx(violation, rel=1e-6)


@pytest.mark.parametrize(
    ("weights", "kind", "correlation", "message"),
    [
        ([1.0], AR1, 1.0, "ar1 must lie between -1 and 1"),
        ([1.0], SHARED, -0.1, "shared must lie between 0 and 1"),
        ([0.0, 0.0], AR1, 0.3, "not all 0"),
        ([1.0, -1.0], AR1, 0.3, "at least 0"),
        ([1.0, math.inf], AR1, 0.3, "finite"),
    ],
)
def test_numbers_out_of_range_are_refused(
    weights: list[float], kind: Dependence, correlation: float, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        variance_ratio(weights, kind, correlation)


@pytest.mark.parametrize("arguments", [(0.0, 1.0), (1.0, 1.0), (0.1, 0.0), (0.1, math.inf)])
def test_only_probabilities_and_positive_ratios_are_translated(arguments: tuple[float, float]) -> None:
    with pytest.raises(InvalidInputError, match="probability inside"):
        normal_violation(*arguments)
