"""Maximum likelihood of ratios and jumps: closed conditions, mpmath, and scipy's fits as a second method."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from depl.models.estimation.families import (
    IMPROVEMENT_FAMILIES,
    INVERSE_GAMMA,
    LEAST_DEGREES,
    LOGNORMAL,
    MOST_DEGREES,
    NORMAL,
    STUDENT_T,
    SWITCH_FAMILIES,
    gamma_shape,
)
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws import InverseGamma, Normal, StudentT

ALL = (*IMPROVEMENT_FAMILIES, STUDENT_T)
TRUTH = {
    "inverse_gamma": (8.0, 7.0),
    "lognormal": (-0.1, 0.4),
    "normal": (1.0, 0.3),
    "student_t": (4.0, 0.3, 0.1),
}


def density(name: str, parameters: tuple[float, ...]) -> object:
    """The same law by scipy."""
    if name == "inverse_gamma":
        return stats.invgamma(parameters[0], scale=parameters[1])
    if name == "lognormal":
        return stats.lognorm(parameters[1], scale=math.exp(parameters[0]))
    return stats.norm(*parameters) if name == "normal" else stats.t(*parameters)


@given(st.floats(1e-3, 1e5))
def test_the_shape_solves_its_equation_in_fifty_digits(shape: float) -> None:
    with mpmath.workdps(50):
        deficit = mpmath.log(shape) - mpmath.digamma(shape)
    found = gamma_shape(np.array([float(deficit)]))
    # double rounding of psi is amplified by the shape where log a and psi(a) nearly cancel
    assert found[0] == pytest.approx(shape, rel=1e-13 + 1e-15 * shape * 20)


@pytest.mark.parametrize("shape", [1.3, 3, 35.6, 102, 139.2])
def test_the_inverse_gamma_is_the_gamma_fit_of_the_reciprocals_by_scipy(shape: float) -> None:
    samples = stats.invgamma.rvs(shape, scale=2, size=(3, 70), random_state=np.random.default_rng(4))
    for row, (found, scale) in zip(samples, INVERSE_GAMMA.fit(samples), strict=True):
        of_reciprocals, _, gamma_scale = stats.gamma.fit(1 / row, floc=0)
        assert (found, scale) == pytest.approx((of_reciprocals, 1 / gamma_scale), rel=1e-6)
        direct, _, direct_scale = stats.invgamma.fit(row, floc=0)
        assert (found, scale) == pytest.approx((direct, direct_scale), rel=1e-3)
        ours = INVERSE_GAMMA.log_likelihood(np.array([[found, scale]]), row[None])[0]
        assert ours >= stats.invgamma.logpdf(row, direct, scale=direct_scale).sum() - 1e-9


def test_the_score_of_the_inverse_gamma_vanishes() -> None:
    sample = np.array([[0.5, 0.8, 1.0, 1.3, 2.9]])
    ((shape, scale),) = INVERSE_GAMMA.fit(sample)
    assert shape / scale == pytest.approx((1 / sample).mean(), rel=1e-14)
    score = math.log(scale) - float(mpmath.digamma(shape)) - np.log(sample).mean()
    assert abs(score) < 1e-14


def test_lognormal_and_normal_are_moments() -> None:
    logs = np.array([[-1.0, 0.0, 4.0]])
    assert NORMAL.fit(logs).tolist() == [[1.0, math.sqrt(14 / 3)]]
    assert LOGNORMAL.fit(np.exp(logs))[0] == pytest.approx([1.0, math.sqrt(14 / 3)], rel=1e-14)


@pytest.mark.parametrize("degrees", [2.5, 4.0, 12.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_student_t_is_at_least_as_likely_as_scipys(degrees: float, seed: int) -> None:
    sample = 0.3 + 0.1 * np.random.default_rng(seed).standard_t(degrees, size=120)
    found = STUDENT_T.fit(sample[None])
    by_scipy = stats.t.fit(sample)
    inside = (min(max(by_scipy[0], LEAST_DEGREES), MOST_DEGREES), *by_scipy[1:])
    assert STUDENT_T.log_likelihood(found, sample[None])[0] >= stats.t.logpdf(sample, *inside).sum() - 1e-6
    if LEAST_DEGREES < by_scipy[0] < 50:
        assert found[0] == pytest.approx(by_scipy, rel=2e-3)


def test_the_student_t_moves_and_stretches_with_its_sample() -> None:
    sample = np.random.default_rng(7).standard_t(4, size=(2, 60))
    plain, moved = STUDENT_T.fit(sample), STUDENT_T.fit(5 - 3 * sample)
    assert moved[:, 0] == pytest.approx(plain[:, 0], rel=1e-5)
    assert moved[:, 1] == pytest.approx(5 - 3 * plain[:, 1], abs=1e-6)
    assert moved[:, 2] == pytest.approx(3 * plain[:, 2], rel=1e-6)


def test_the_degrees_of_freedom_stay_within_their_bounds() -> None:
    heavy = np.tan(np.linspace(-1.56, 1.56, 101))  # quantiles of the Cauchy law
    thin = np.linspace(-1, 1, 101)
    found = STUDENT_T.fit(np.stack([heavy, thin]))
    assert found[:, 0].tolist() == [LEAST_DEGREES, MOST_DEGREES]


@pytest.mark.parametrize("family", ALL, ids=lambda item: item.name)
def test_distribution_function_and_likelihood_are_those_of_scipy(family: object) -> None:
    parameters = np.array([TRUTH[family.name]])
    points = np.array([[0.05, 0.3, 0.9, 1.0, 1.7]])
    law = density(family.name, TRUTH[family.name])
    assert family.cdf(parameters, points)[0] == pytest.approx(law.cdf(points[0]), rel=1e-10, abs=1e-300)
    expected = law.logpdf(points[0]).sum()
    assert family.log_likelihood(parameters, points)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("family", ALL, ids=lambda item: item.name)
def test_draws_follow_the_law_and_a_large_fit_returns_to_it(family: object) -> None:
    truth = np.array(TRUTH[family.name])
    drawn = family.draw(truth, np.random.default_rng(11), (2, 20_000))
    assert stats.kstest(drawn[0], density(family.name, TRUTH[family.name]).cdf).pvalue > 1e-3
    assert family.fit(drawn)[0] == pytest.approx(truth, rel=0.08, abs=0.01)


@pytest.mark.parametrize("family", ALL, ids=lambda item: item.name)
def test_rows_are_fitted_on_their_own(family: object) -> None:
    drawn = family.draw(np.array(TRUTH[family.name]), np.random.default_rng(1), (5, 30))
    together = family.fit(drawn)
    alone = np.concatenate([family.fit(row[None]) for row in drawn])
    assert together == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize("family", [INVERSE_GAMMA, LOGNORMAL], ids=lambda item: item.name)
def test_laws_of_positive_numbers_give_nothing_below_zero(family: object) -> None:
    assert family.positive
    assert family.cdf(np.array([[2.0, 1.0]]), np.array([[-1.0, 0.0]])).tolist() == [[0.0, 0.0]]


# --- laws of an instance -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "parameters", "mean"),
    [(INVERSE_GAMMA, (5.0, 8.0), 2.0), (LOGNORMAL, (0.2, 0.5), math.exp(0.325)), (NORMAL, (2.0, 0.5), 2.0)],
    ids=lambda item: getattr(item, "name", ""),
)
def test_an_improvement_has_mean_one_and_the_scale_takes_the_rest(
    family: object, parameters: tuple[float, ...], mean: float
) -> None:
    factor, law = family.law_of_ratios(np.array(parameters))
    assert factor == pytest.approx(mean, rel=1e-14)
    assert law.moments().mean == pytest.approx(1, rel=1e-14)
    points = np.array([0.4, 0.9, 1.0, 1.6])
    assert law.cdf(points) == pytest.approx(family.cdf(np.array([parameters]), factor * points[None])[0])


def test_laws_without_a_mean_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"shape 0\.9 <= 1"):
        INVERSE_GAMMA.law_of_ratios(np.array([0.9, 1.0]))
    with pytest.raises(InvalidInputError, match="no positive mean"):
        NORMAL.law_of_ratios(np.array([-0.1, 1.0]))
    with pytest.raises(InvalidInputError, match="student_t"):
        STUDENT_T.law_of_ratios(np.array([4.0, 0.1, 1.0]))


def test_a_switch_is_a_student_t_or_its_normal_limit() -> None:
    assert STUDENT_T.law_of_jumps(np.array([4.0, 0.3, 0.1])) == StudentT(
        degrees_of_freedom=4, location=0.3, scale=0.1
    )
    limit = STUDENT_T.law_of_jumps(np.array([MOST_DEGREES, 0.3, 0.1]))
    assert isinstance(limit, Normal)
    assert limit.mean == 0.3
    assert limit.variance == pytest.approx(0.01 * 100 / 98)
    assert NORMAL.law_of_jumps(np.array([0.3, 0.1])) == Normal(mean=0.3, variance=0.1**2)
    with pytest.raises(InvalidInputError, match="lognormal"):
        LOGNORMAL.law_of_jumps(np.array([0.3, 0.1]))


def test_the_papers_families_come_first() -> None:
    assert IMPROVEMENT_FAMILIES[0] is INVERSE_GAMMA
    assert SWITCH_FAMILIES[0] is STUDENT_T
    assert isinstance(INVERSE_GAMMA.law_of_ratios(np.array([5.0, 8.0]))[1], InverseGamma)
