"""The reference of the certified contour, against closed forms and quadrature that share nothing with it."""

import math

import pytest
from flint import acb, arb, ctx

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import Term
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal
from tests.oracles.ball_arithmetic import BallSum, convolved, distribution_function, mean, transform
from tests.problems import student


@pytest.fixture(autouse=True)
def _many_digits():
    with ctx.workprec(160):
        yield


def quantile(law, level):
    """Deviation from the mean at about ``level``, by bisection of the distribution function."""
    low, high = -30.0, float(mean(law).mid())
    for _ in range(80):
        middle = (low + high) / 2
        value = distribution_function(law, acb(mean(law) + middle)).real if middle > -mean(law) else arb(0)
        low, high = (middle, high) if value < level else (low, middle)
    return middle


@pytest.mark.parametrize(
    "law",
    [InverseGamma(shape=a, scale=a - 1) for a in (1.5, 102.0)]
    + [pytest.param(Lognormal(log_mean=-0.1, log_variance=0.04), marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("level", [0.5, 1e-8])
def test_one_increment_has_its_distribution_function(law, level):
    y = quantile(law, level)
    found = BallSum([(Term(-1.0, law), 1)], level, y, digits=18).probability(y)
    assert found.overlaps(distribution_function(law, acb(mean(law) + y)).real)
    assert found.rad() < 1e-18 * level


@pytest.mark.parametrize(
    ("second", "deviation"),
    [(InverseGamma(shape=7.0, scale=3.0), -0.45), (Normal(mean=0.2, variance=0.01), -0.1)],
    ids=str,
)
def test_two_increments_agree_with_quadrature_of_the_convolution(second, deviation):
    terms = (Term(-1.0, InverseGamma(shape=5.0, scale=4.0)), Term(-0.7, second))
    found = BallSum([(term, 1) for term in terms], 1e-3, deviation).probability(deviation)
    expected = convolved(*terms, deviation)
    assert found.overlaps(expected)
    assert max(found.rad(), expected.rad()) < 1e-20


def test_a_switch_by_a_point_mass_only_shifts_the_gain():
    law = InverseGamma(shape=20.0, scale=19.0)
    plain = BallSum([(Term(-1.0, law), 1)], 1e-3, -0.4).probability(-0.4)
    shifted = BallSum([(Term(-1.0, law), 1), (Term(1.0, Empirical(values=(0.3,))), 1)], 1e-3, -0.4)
    assert shifted.probability(-0.4).overlaps(plain)
    assert abs(shifted.expectation - (1 - arb(0.3))) < 1e-30


def test_the_density_is_the_slope_of_the_distribution():
    reference = BallSum([(Term(-1.0, InverseGamma(shape=20.0, scale=19.0)), 2)], 0.05, -0.4)
    slope = (reference.probability(arb("-0.3999999")) - reference.probability(arb("-0.4000001"))) / 2e-7
    assert math.isclose(reference.density(-0.4), float(slope.mid()), rel_tol=1e-6)


def test_what_has_no_transform_is_refused():
    with pytest.raises(NotCoveredError, match="no transform"):
        transform(student(3.0, 0.0, 1.0), acb(1))
    with pytest.raises(NotCoveredError, match="does not converge"):
        transform(InverseGamma(shape=3.0, scale=1.0), acb(arb(1, 1e-3)))
