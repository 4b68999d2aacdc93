"""Kolmogorov-Smirnov distances by hand, p-values by scipy, and what the two kinds of p-values are worth."""

import numpy as np
import pytest
from scipy import stats

from depl.models.estimation.families import INVERSE_GAMMA, NORMAL, STUDENT_T
from depl.models.estimation.goodness import (
    block_sizes,
    checked_sample,
    distances,
    exceedance,
    goodness_of_fit,
    paper_p_value,
)
from depl.models.foundation.errors import InvalidInputError


def test_the_distance_of_three_numbers_by_hand() -> None:
    """Phi(-1) = 0.1587, Phi(0) = 0.5, Phi(1) = 0.8413; the steps are at 1/3 and 2/3: D = 1/3 - 0.1587."""
    found = distances(NORMAL, np.array([[0.0, 1.0]]), np.array([[1.0, -1.0, 0.0]]))
    assert found[0] == pytest.approx(1 / 3 - stats.norm.cdf(-1), rel=1e-12)


@pytest.mark.parametrize("size", [499, 500, 501, 515, 516, 517, 3000])
@pytest.mark.parametrize("shift", [0.0, 0.02, 0.5])
def test_leaving_out_what_cannot_be_farthest_changes_nothing(size: int, shift: float) -> None:
    samples = np.random.default_rng(size).normal(shift, 1, (6, size))
    samples[0] = np.round(samples[0], 1)  # ties
    parameters = np.array([[0.0, 1.0], [0.01, 1.1]] * 3)
    found = distances(NORMAL, parameters, samples)
    for row, (mean, deviation), distance in zip(samples, parameters, found, strict=True):
        assert distance == pytest.approx(
            stats.kstest(row, stats.norm(mean, deviation).cdf).statistic, rel=1e-12
        )


def test_distance_and_paper_p_value_are_those_of_scipy() -> None:
    sample = stats.invgamma.rvs(20, scale=19, size=77, random_state=np.random.default_rng(0))
    parameters = INVERSE_GAMMA.fit(sample[None])
    found = goodness_of_fit(INVERSE_GAMMA, sample, np.random.default_rng(1), resamples=99)
    by_scipy = stats.kstest(sample, stats.invgamma(parameters[0, 0], scale=parameters[0, 1]).cdf)
    assert found.statistic == pytest.approx(by_scipy.statistic, rel=1e-10)
    assert found.paper_p_value == pytest.approx(by_scipy.pvalue, rel=1e-8)
    assert paper_p_value(found.statistic, 77) == found.paper_p_value


def test_the_bootstrap_is_lilliefors_test_for_the_normal() -> None:
    """Critical distances at 5 % for n = 20, from Lilliefors (1967): 0.190; corrected tables: 0.192."""
    rng = np.random.default_rng(3)
    drawn = rng.normal(size=(20_000, 20))
    unbiased = NORMAL.fit(drawn) * np.array([1, np.sqrt(20 / 19)])  # as Lilliefors has the variance
    critical = np.quantile(distances(NORMAL, unbiased, drawn), 0.95)
    assert critical == pytest.approx(0.192, abs=0.002)
    sample = rng.normal(size=20)
    found = goodness_of_fit(NORMAL, sample, rng)
    assert found.bootstrap_p_value < found.paper_p_value


def test_two_thousand_ratios_that_are_lognormal_refute_the_inverse_gamma() -> None:
    sample = np.random.default_rng(5).lognormal(0, 0.5, 2000)
    found = goodness_of_fit(INVERSE_GAMMA, sample, np.random.default_rng(6), resamples=199)
    assert found.bootstrap_p_value == 1 / 200


def test_the_p_value_counts_ties_against_the_fit() -> None:
    assert exceedance(np.array([0.1, 0.2, 0.3]), 0.2) == 3 / 4
    assert exceedance(np.array([0.1, 0.2, 0.3]), 1.0) == 1 / 4


def test_the_same_generator_gives_the_same_p_value() -> None:
    sample = np.random.default_rng(8).standard_t(4, 40)
    first, second = (goodness_of_fit(STUDENT_T, sample, np.random.default_rng(9), 99) for _ in range(2))
    assert first == second


def test_blocks_hold_all_resamples_and_not_too_much_at_once() -> None:
    assert block_sizes(100, 999) == [999]
    assert block_sizes(1_000_000, 5) == [2, 2, 1]
    assert block_sizes(10**9, 2) == [1, 1]


@pytest.mark.parametrize(
    ("sample", "positive", "message"),
    [
        ([1, 2, 3, 4], False, "at least 5 numbers, not 4"),
        ([1, 2, 3, 4, np.nan], False, "finite"),
        ([2.0] * 6, False, "all 6 numbers are 2; use a deterministic law"),
        ([1, 2, 3, 4, 0, -1], True, "2 of 6 numbers are not positive"),
    ],
)
def test_samples_that_cannot_be_fitted_are_refused(sample: list[float], positive: bool, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        checked_sample(np.array(sample, dtype=float), positive=positive)


@pytest.mark.slow
@pytest.mark.parametrize("family", [INVERSE_GAMMA, STUDENT_T], ids=lambda item: item.name)
def test_the_honest_test_rejects_five_per_cent_of_true_laws_and_the_papers_hardly_any(family: object) -> None:
    """Size at 5 % over 1000 samples of 77 ratios (Fig. 4: K1 + K2 = 17 + 60) or 100 jumps; E7."""
    rng = np.random.default_rng(20261121)
    truth, size = ((35.6, 34.6), 77) if family is INVERSE_GAMMA else ((5.0, 0.3, 0.1), 100)
    samples = family.draw(np.array(truth), rng, (1000, size))
    found = [goodness_of_fit(family, sample, rng, resamples=199) for sample in samples]
    rejected = np.mean([item.bootstrap_p_value <= 0.05 for item in found])
    assert 0.03 <= rejected <= 0.07
    assert np.mean([item.paper_p_value <= 0.05 for item in found]) <= 0.005
