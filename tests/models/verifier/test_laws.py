"""The verifier's own laws: functions, ends, quantiles, and sums of normal increments."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from depl.models.problem.laws import (
    InverseGamma,
    Law,
    Lognormal,
    Normal,
)
from depl.models.verifier import laws as verifier_laws
from depl.models.verifier.densities import Density
from depl.models.verifier.distribution import tail_probability
from depl.models.verifier.laws import Bracket, Increment, distribution, ends, exceedance, normals_together
from depl.models.verifier.scenarios import quantiles
from depl.models.verifier.tilted_sums import tilted_tail
from tests.problems import atoms, student


@pytest.mark.parametrize(
    ("law", "other"),
    [
        (Normal(mean=0.3, variance=0.04), stats.norm(0.3, 0.2)),
        (Lognormal(log_mean=0.1, log_variance=0.3), stats.lognorm(0.3**0.5, scale=math.exp(0.1))),
        (InverseGamma(shape=1.5, scale=0.5), stats.invgamma(1.5, scale=0.5)),
        (InverseGamma(shape=30, scale=29), stats.invgamma(30, scale=29)),
        (student(1.5, 0.1, 0.2), stats.t(1.5, 0.1, 0.2)),
        (student(800, 0.1, 0.2), stats.t(800, 0.1, 0.2)),
    ],
)
def test_functions_of_the_laws_are_those_of_scipy_stats(law, other):
    """Which the verifier does not import, as that takes longer than verifying a plan."""
    base, shares = distribution(law), np.array([1e-17, 1e-9, 0.01, 0.5, 0.9, 1 - 1e-9])
    points = np.concatenate([other.ppf(shares), other.isf(shares)])
    for name in ("logpdf", "cdf", "sf"):
        expected = getattr(other, name)(points)
        assert getattr(base, name)(points) == pytest.approx(expected, rel=1e-12, abs=1e-300), name
    for name in ("ppf", "isf"):
        assert getattr(base, name)(shares) == pytest.approx(getattr(other, name)(shares), rel=1e-13), name
    assert (base.mean, base.variance) == pytest.approx((other.mean(), other.var()), rel=1e-14)
    outside = np.array([0.0, -1.0])
    for name in ("cdf", "sf"):
        assert getattr(base, name)(outside) == pytest.approx(getattr(other, name)(outside), rel=1e-12)


@pytest.mark.parametrize("shape", [1.9e5, 1e8, 1e10])
def test_upper_tails_of_an_inverse_gamma_are_those_of_the_problem_in_another_way(shape):
    """A quadrature here, an expansion there; scipy leaves out a third of them at 1e8."""
    law = InverseGamma(shape=shape, scale=2.0)
    points = 2.0 / (shape - np.array([-3.0, 2.0, 4.1, 5.0, 9.0, 30.0]) * math.sqrt(shape))
    expected = pytest.approx(law.survival(points), rel=1e-15 * shape**0.5 * 30 + 1e-11)
    assert exceedance(Increment(Fraction(1), law), points) == expected
    assert 2.9e-7 > law.survival(points)[3] > 2.6e-7


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("rest", [2**-2, 2**-20, 2**-40])
def test_quantiles_far_out_in_a_truncated_law_have_the_range_that_rounding_leaves(sign, rest):
    """Two degrees of freedom: P(X > x) = (1 - x / sqrt(2 + x^2)) / 2.

    The numbers of a stream are known to 2^-53, and so is what is inverted: near the far end a share of
    1e-3 of x.
    """
    low, high = sorted([sign * 1e-3, sign * 1e8])
    law = student(2, 0.0, 1.0, low, high)
    found = quantiles(law, np.array([1 - rest if sign > 0 else rest]))
    with mpmath.workdps(50):

        def tail(x):
            return (1 - x / mpmath.sqrt(2 + mpmath.mpf(x) ** 2)) / 2

        for rounding in (0, -(2**-53), 2**-53):
            above = tail(1e8) + (mpmath.mpf(rest) + rounding) * (tail(1e-3) - tail(1e8))
            share = 1 - 2 * above
            exact = sign * float(share * mpmath.sqrt(2 / (1 - share**2)))
            assert found[0][0] <= exact <= found[1][0]
    assert abs(found[1][0] - found[0][0]) <= (4e-15 / rest + 4e-12) * abs(exact)


def test_at_the_jump_of_an_empirical_law_its_quantile_is_the_value_before():
    found = quantiles(atoms(1.0, 2.0), np.array([0.25, 0.5, np.nextafter(0.5, 1)]))
    assert found.tolist() == [[1.0, 1.0, 2.0]] * 2


# ---- sums of normal increments ----


@pytest.mark.parametrize("power", [-60, 60])
def test_normal_increments_of_a_size_that_no_law_may_have_are_left_as_they_are(power):
    """P(2 c X > c) for a standard normal X is P(X > 1/2), however small or great c is."""
    scale = Fraction(10) ** power
    increments = [Increment(2 * scale, Normal(mean=0.0, variance=1.0))]
    assert normals_together(increments) == (tuple(increments), 0)
    found = tail_probability(increments, scale)
    assert found.lower <= math.erfc(0.5 / math.sqrt(2)) / 2 <= found.upper
    assert found.upper - found.lower <= 1e-9


# ---- laws that start at or below 0 ----


def test_losses_that_only_fall_never_exceed_where_they_began():
    """Not by a small probability either: the bracket is 0, so that it is told as such."""
    falling = [Increment(Fraction(-1), Lognormal(mean=1.0, variance=0.3), 2)]
    assert tilted_tail(falling, 0.0) == tail_probability(falling, Fraction(0)) == Bracket(0, 0)


class Even(Law, frozen=True, kw_only=True, tag="even_for_the_verifier"):
    """Uniform between two ends: a law that a maintainer has given the verifier, and nobody registered."""

    lower: float
    upper: float

    def distribution(self):
        """Not for the verifier, which has its own."""
        raise AssertionError


def test_a_shipped_law_may_have_values_below_zero_or_start_there(monkeypatch):
    """Three of X = 6 U - 3 by the law of Irwin and Hall: P(sum of U <= 19/12); -X - Y by symmetry."""
    made = {Even: lambda law: Density.of(stats.uniform(law.lower, law.upper - law.lower))}
    monkeypatch.setattr(verifier_laws, "_DISTRIBUTIONS", {**verifier_laws._DISTRIBUTIONS, **made})
    item, y = Increment(Fraction(1), Even(lower=-3.0, upper=3.0), 3), Fraction(19, 12)
    assert ends(item) == (-3.0, 3.0)
    falling = Increment(Fraction(-1), Even(lower=0.0, upper=1.0), 2)
    exact = 1 - (y**3 - 3 * (y - 1) ** 3) / 6
    for part, gap, share in ((item, Fraction(1, 2), exact), (falling, Fraction(-1), Fraction(1, 2))):
        found = tail_probability([part], gap)
        assert found.lower <= share <= found.upper
        assert found.upper - found.lower <= 1e-4
    assert tail_probability([falling], Fraction(0)).upper <= 1e-9


def test_a_law_that_the_verifier_was_not_given_is_named():
    with pytest.raises(TypeError, match="no density of Even"):
        ends(Increment(Fraction(1), Even(lower=0.0, upper=2.0)))


def test_panels_are_no_longer_than_asked_for():
    assert verifier_laws._subdivided(np.array([0.0, 1.0, 1.3]), 0.4).tolist() == pytest.approx(
        [0, 1 / 3, 2 / 3, 1, 1.3]
    )
