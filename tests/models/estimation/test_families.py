"""Maximum likelihood and distances of fits: mpmath, and scipy as a second method."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from depl.models.estimation import families
from depl.models.estimation.families import (
    INVERSE_GAMMA,
    LEAST_DEGREES,
    LOGNORMAL,
    MOST_DEGREES,
    NORMAL,
    STUDENT_T,
    distances,
    gamma_shape,
    goodness_of_fit,
    improvement_families,
    switch_families,
)
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import Normal, StudentT
from tests.problems import refusal

TRUTH = {INVERSE_GAMMA: (8.0, 7.0), LOGNORMAL: (-0.1, 0.4), NORMAL: (1.0, 0.3), STUDENT_T: (4.0, 0.3, 0.1)}
SCIPY = {
    INVERSE_GAMMA: stats.invgamma(8.0, scale=7.0),
    LOGNORMAL: stats.lognorm(0.4, scale=math.exp(-0.1)),
    NORMAL: stats.norm(1.0, 0.3),
    STUDENT_T: stats.t(4.0, 0.3, 0.1),
}
each_family = pytest.mark.parametrize("family", TRUTH, ids=lambda item: item.name)


@given(st.floats(1e-3, 1e5))
def test_the_shape_solves_its_equation_in_fifty_digits(shape):
    with mpmath.workdps(50):
        deficit = mpmath.log(shape) - mpmath.digamma(shape)
    found = gamma_shape(np.array([float(deficit)]))
    # double rounding of psi is amplified by the shape where log a and psi(a) nearly cancel
    assert found[0] == pytest.approx(shape, rel=1e-13 + 1e-15 * shape * 20)


@pytest.mark.parametrize(("degrees", "seed"), [(2.5, 0), (4.0, 1), (12.0, 2)])
def test_the_student_t_is_at_least_as_likely_as_scipys(degrees, seed):
    sample = 0.3 + 0.1 * np.random.default_rng(seed).standard_t(degrees, size=120)
    found = STUDENT_T.fit(sample[None])
    by_scipy = stats.t.fit(sample)
    inside = (min(max(by_scipy[0], LEAST_DEGREES), MOST_DEGREES), *by_scipy[1:])
    assert STUDENT_T.log_likelihood(found, sample[None])[0] >= stats.t.logpdf(sample, *inside).sum() - 1e-6
    if LEAST_DEGREES < by_scipy[0] < 50:
        assert found[0] == pytest.approx(by_scipy, rel=2e-3)


def test_the_student_t_moves_and_stretches_with_its_sample_within_bounds_of_nu():
    sample = np.random.default_rng(7).standard_t(4, size=(2, 60))
    plain, moved = STUDENT_T.fit(sample), STUDENT_T.fit(5 - 3 * sample)
    assert moved[:, 0] == pytest.approx(plain[:, 0], rel=1e-5)
    assert moved[:, 1] == pytest.approx(5 - 3 * plain[:, 1], abs=1e-6)
    assert moved[:, 2] == pytest.approx(3 * plain[:, 2], rel=1e-6)
    heavy = np.tan(np.linspace(-1.56, 1.56, 101))  # quantiles of the Cauchy law
    found = STUDENT_T.fit(np.stack([heavy, np.linspace(-1, 1, 101)]))
    assert found[:, 0].tolist() == [LEAST_DEGREES, MOST_DEGREES]


@each_family
def test_a_family_is_that_of_scipy_and_fits_rows_on_their_own(family):
    truth, law = np.array(TRUTH[family]), SCIPY[family]
    points = np.array([[0.05, 0.3, 0.9, 1.0, 1.7]])
    assert family.cdf(truth[None], points)[0] == pytest.approx(law.cdf(points[0]), rel=1e-10, abs=1e-300)
    assert family.log_likelihood(truth[None], points)[0] == pytest.approx(law.logpdf(points).sum(), rel=1e-12)
    drawn = family.draw(truth, np.random.default_rng(11), (2, 10_000))
    assert stats.kstest(drawn[0], law.cdf).pvalue > 1e-3
    assert family.fit(drawn)[0] == pytest.approx(truth, rel=0.08, abs=0.01)
    few = family.draw(truth, np.random.default_rng(1), (5, 30))
    alone = np.concatenate([family.fit(row[None]) for row in few])
    assert family.fit(few) == pytest.approx(alone, rel=1e-9)
    assert not family.positive or family.cdf(truth[None], np.array([[-1.0, 0.0]])).tolist() == [[0.0, 0.0]]
    mine = family.law(TRUTH[family], 1.0)
    assert mine.cdf(points[0]) == pytest.approx(law.cdf(points[0]), rel=1e-9, abs=1e-12)


def test_laws_without_a_positive_mean_are_refused():
    assert "inverse gamma law has no mean" in str(refusal(INVERSE_GAMMA.law_of_ratios, (0.9, 1.0)))
    assert "normal law has no positive mean" in str(refusal(NORMAL.law_of_ratios, (-0.1, 1.0)))


def test_the_papers_families_come_first_and_a_switch_has_a_normal_limit():
    assert (improvement_families()[0], switch_families()[0]) == (INVERSE_GAMMA, STUDENT_T)
    wanted = StudentT(degrees_of_freedom=4, location=0.3, scale=0.1)
    assert STUDENT_T.law((4.0, 0.3, 0.1), 1.0) == wanted
    limit = STUDENT_T.law((MOST_DEGREES, 0.3, 0.1), 1.0)
    assert isinstance(limit, Normal)
    assert (limit.mean, limit.variance) == pytest.approx((0.3, 0.01 * 100 / 98))
    assert NORMAL.law((0.3, 0.1), 1.0) == Normal(mean=0.3, variance=0.1**2)


# --- goodness of fit -----------------------------------------------------------------------------------


def test_the_bootstrap_is_lilliefors_test_for_the_normal():
    """Critical distances at 5 % for n = 20, from Lilliefors (1967): 0.190; corrected tables: 0.192."""
    rng = np.random.default_rng(3)
    drawn = rng.normal(size=(20_000, 20))
    unbiased = NORMAL.fit(drawn) * np.array([1, np.sqrt(20 / 19)])  # as Lilliefors has the variance
    assert np.quantile(distances(NORMAL, unbiased, drawn), 0.95) == pytest.approx(0.192, abs=0.002)
    found = goodness_of_fit(NORMAL, rng.normal(size=20), rng)
    assert found.bootstrap_p_value < found.paper_p_value


def test_the_p_value_counts_itself_ties_and_every_block(monkeypatch):
    """Lognormal ratios have the least p-value there is, and a sample that is seen again the greatest."""
    sample = np.random.default_rng(5).lognormal(0, 0.5, 2000)
    monkeypatch.setattr(families, "_LARGEST_BLOCK", 2000 * 80)
    assert goodness_of_fit(INVERSE_GAMMA, sample, np.random.default_rng(6), 199).bootstrap_p_value == 1 / 200

    def same(drawn):
        return np.tile(sample, (len(drawn), 1))

    again = goodness_of_fit(INVERSE_GAMMA, sample, np.random.default_rng(6), 199, same)
    assert again.bootstrap_p_value == 1


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ([1, 2, 3, 4], "at least 5 numbers, not 4"),
        ([2.0] * 6, "all 6 numbers are 2; use a deterministic law"),
    ],
)
def test_samples_that_cannot_be_fitted_are_refused(sample, message):
    with pytest.raises(InvalidInputError, match=message):
        goodness_of_fit(NORMAL, np.array(sample, dtype=float), np.random.default_rng(0))
