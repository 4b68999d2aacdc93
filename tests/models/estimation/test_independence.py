"""The variance ratio by hand, and runs that are independent or autoregressive; refusals."""

import math

import numpy as np
import pytest
from scipy import stats

from depl.models.estimation.independence import (
    LAGS,
    USABLE,
    independence,
    normal_violation,
)
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import FloatArray


def losses_of(increments: FloatArray, start: FloatArray | float = 10.0) -> FloatArray:
    """l(k) = l(0) less the first k increments."""
    begin = np.broadcast_to(start, len(increments))[:, None]
    return np.concatenate([begin, begin - np.cumsum(increments, axis=1)], axis=1)


def autoregressive(rng: np.random.Generator, runs: int, epochs: int, phi: float) -> FloatArray:
    noise = rng.normal(size=(runs, epochs))
    found = noise.copy()
    for k in range(1, epochs):
        found[:, k] = phi * found[:, k - 1] + np.sqrt(1 - phi**2) * noise[:, k]
    return 1 + 0.1 * found


def test_the_ratio_of_three_runs_by_hand() -> None:
    """Increments (1, 1), (-1, 1), (0, -2): columns have sums of squares 2 and 6, rows sum to 2, 0, -2."""
    found = independence([losses_of(np.array([[1.0, 1], [-1, 1], [0, -2]]))], np.random.default_rng(0), 99)
    assert found.variance_ratio.value == pytest.approx(8 / 8, rel=1e-12)
    assert (found.runs, found.epochs) == (3, 2)
    assert found.deviations == pytest.approx((1, np.sqrt(3)))
    assert found.autocorrelations[0].value == pytest.approx(0, abs=1e-12)
    assert found.start_correlation is None
    # a mean that differs between epochs and schedules is no dependence
    block = np.array([[1.0, 1], [-1, 1], [0, -2]])
    moved = [losses_of(block + np.array([5.0, 9])), losses_of(block - np.array([2.0, 3]), start=4.0)]
    found = independence(moved, np.random.default_rng(0), 99)
    assert found.variance_ratio.value == pytest.approx(1, rel=1e-12)
    assert found.runs == 6


def test_independent_increments_may_be_used() -> None:
    rng = np.random.default_rng(2)
    found = independence([losses_of(rng.gamma(9, 0.1, (200, 30)), rng.normal(9, 1, 200))], rng)
    assert USABLE[0] < found.bounds.lower < 1 < found.bounds.upper < USABLE[1]
    assert found.usable
    assert found.start_correlation is not None
    for item in (found.variance_ratio, found.start_correlation, *found.autocorrelations):
        assert item.p_value > 0.01
    assert len(found.autocorrelations) == LAGS


def test_autoregressive_increments_are_told_by_their_correlations() -> None:
    rng = np.random.default_rng(3)
    found = independence([losses_of(autoregressive(rng, 300, 30, 0.3))], rng, 199)
    assert found.variance_ratio.value == pytest.approx(1.82, rel=0.15)
    assert not found.usable
    assert [item.value for item in found.autocorrelations[:2]] == pytest.approx([0.3, 0.09], abs=0.03)
    assert found.autocorrelations[0].p_value == 2 / 200


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ([np.ones((1, 5)), np.ones((1, 5))], "0 of them are too few"),
        ([np.ones((2, 5))], "2 of them are too few"),
        ([np.array([[1, 2], [1, np.nan], [1, 3]])], "finite"),
        ([np.tile([3.0, 2, 1.7], (4, 1))], "nothing varies"),
    ],
)
def test_runs_that_tell_nothing_are_refused(losses: list[FloatArray], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        independence(losses, np.random.default_rng(0), 9)


@pytest.mark.slow
def test_permutation_tests_reject_five_per_cent_of_independent_runs() -> None:
    """1000 sets of 25 runs with 8 lognormal increments; the p-values are exact up to their 99 steps."""
    rng = np.random.default_rng(20261121)
    rejected = np.zeros(3)
    for _ in range(1000):
        increments = rng.lognormal(0, 0.7, (25, 8)) / np.sqrt(np.arange(1, 9))
        found = independence([losses_of(increments, rng.normal(9, 1, 25))], rng, 199)
        assert found.start_correlation is not None
        items = (found.variance_ratio, found.start_correlation, found.autocorrelations[0])
        rejected += [item.p_value <= 0.05 for item in items]
    assert ((rejected / 1000 >= 0.03) & (rejected / 1000 <= 0.07)).all()


# --- what dependence does to a promise -----------------------------------------------------------------


def test_a_violation_at_a_ratio_is_a_tail_of_the_normal_law() -> None:
    """4.2 % in place of 1 % within 30 epochs of equal spread: the figure of the design."""
    ratio = (0.3 ** abs(np.subtract.outer(range(30), range(30)))).sum() / 30
    assert normal_violation(0.01, ratio) == pytest.approx(0.042, abs=0.0005)
    exact = stats.norm.sf(stats.norm.isf(0.01) / math.sqrt(ratio))
    assert normal_violation(0.01, ratio) == pytest.approx(exact, rel=1e-12)
    assert normal_violation(0.01, 1.5) == pytest.approx(0.0287, abs=5e-4)
    assert normal_violation(0.01, 0.7) == pytest.approx(0.0027, abs=5e-4)
    assert normal_violation(0.5, 7) == 0.5


@pytest.mark.parametrize("asked", [(0.0, 1.0), (1.0, 1.0), (0.1, 0.0), (0.1, math.inf), (0.1, math.nan)])
def test_only_probabilities_and_positive_ratios_are_translated(asked: tuple[float, float]) -> None:
    with pytest.raises(InvalidInputError, match=r"probability inside \(0, 1\) and a positive ratio"):
        normal_violation(*asked)
