"""Laws against closed forms, scipy, numerical integration in 40 digits, and their own samples."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from mpmath.calculus.quadrature import GaussLegendre

from depl.models.problem.laws import (
    Empirical,
    InverseGamma,
    Lognormal,
    Moments,
)
from tests.problems import GAINS, SWITCHES, refusal, student

WEIGHTED = Empirical(values=(3, -1, 3, 0.5), weights=(1, 4, 2, 1))
TRUNCATED = [
    student(5, 0.3, 0.09, 0, 0.6),
    student(0.3, 0, 1, -8, 8),
    student(1, 0, 1, 5, 9),
    student(2, 4, 0.5, -3, 1),
    student(1000, 0, 1, -40, 40),
    student(1e6, 100, 1, 0, 101),
    student(1e6, 0, 1, 6.5, 40),
    student(3, 0, 1e-3, -1, 1),
]
EVERY = [*GAINS.values(), *SWITCHES.values(), WEIGHTED, *TRUNCATED, student(1.5, -1, 2)]


# --- moments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("law", "mean", "variance"), [
    (InverseGamma(shape=3, scale=4), 2, 4),
    (InverseGamma(shape=2, scale=3), 3, math.inf),
    (Lognormal(log_mean=0, log_variance=2), math.e, math.exp(4) - math.exp(2)),
    (WEIGHTED, 5.5 / 8, 31.25 / 8 - (5.5 / 8) ** 2),
    (student(5, 0.3, 0.1), 0.3, 0.01 * 5 / 3),
    # half a Cauchy law
    (student(1, 0, 1, 0, 1), 2 * math.log(2) / math.pi, 4 / math.pi - 1 - (2 * math.log(2) / math.pi) ** 2),
])  # fmt: skip
def test_moments_are_those_of_the_closed_form(law, mean, variance):
    assert law.moments() == pytest.approx(Moments(mean, variance), rel=1e-13, abs=1e-15)


def integrals(law, low, high):
    """Of x^0, ..., x^6 times the density up to a constant, over [low, high], in 28 digits."""
    with mpmath.workdps(28):
        degrees, location, scale = map(mpmath.mpf, (law.degrees_of_freedom, law.location, law.scale))
        marks = {location + side * scale * mpmath.mpf(2) ** k for k in range(-2, 12) for side in (-1, 0, 1)}
        edges = [mpmath.mpf(low), *sorted(mark for mark in marks if low < mark < high), mpmath.mpf(high)]
        nodes = GaussLegendre(mpmath.mp).calc_nodes(4, mpmath.mp.prec)
        sums = [mpmath.mpf(0)] * 7
        for left, right in itertools.pairwise(edges):
            for node, weight in nodes:
                x = (left + right + (right - left) * node) / 2
                density = (1 + ((x - location) / scale) ** 2 / degrees) ** (-(degrees + 1) / 2)
                mass = density * weight * (right - left) / 2
                sums = [total + mass * x**power for power, total in enumerate(sums)]
        return sums


@pytest.mark.parametrize("law", TRUNCATED)
def test_moments_quadrature_and_tails_of_a_truncated_student_t_are_integrals_in_28_digits(law):
    low, high = law.support()
    size, (whole, *moments) = max(abs(low), abs(high)), integrals(law, low, high)
    expected = [mpmath.mpf(1), *(moment / whole for moment in moments)]
    mean, variance = law.moments()
    assert abs(mean - expected[1]) <= 1e-14 * size
    assert abs(variance - (expected[2] - expected[1] ** 2)) <= 1e-14 * size**2
    points, weights = law.quadrature()
    assert weights.min() >= 0
    assert (np.diff([low, *points, high]) > 0).all()
    for power, moment in enumerate(expected):
        exact = moment / mpmath.mpf(size) ** power
        assert abs(float(weights @ (points / size) ** power) - exact) <= 1e-13
    for point in (*(low + share * (high - low) for share in (1e-6, 0.1, 0.9)), float(law.quantile(0.2))):
        exact = integrals(law, low, point)[0] / whole
        assert float(law.cdf(point)) == pytest.approx(float(exact), rel=1e-9, abs=1e-15)
        assert float(law.survival(point)) == pytest.approx(float(1 - exact), rel=1e-9, abs=1e-15)
    assert float(exact) == pytest.approx(0.2, rel=1e-9)
    assert float(law.inverse_cdf(np.array([0.2]))[0]) == pytest.approx(point, rel=1e-9, abs=1e-12)
    kernel = (1 + ((point - law.location) / law.scale) ** 2 / law.degrees_of_freedom) ** (
        -(law.degrees_of_freedom + 1) / 2
    )
    assert float(law.density(np.array([point]))[0]) == pytest.approx(kernel / float(whole), rel=1e-9)
    assert float(law.survival(law.quantile(1e-3, upper=True))) == pytest.approx(1e-3, rel=1e-9)


def test_an_untruncated_student_t_has_no_finite_quadrature():
    law = student(5, 0.3, 0.1)
    assert not law.truncated
    assert law.interval_mass() == 1
    assert "no finite quadrature" in refusal(law.quadrature).message


# --- support and distribution function -----------------------------------------------------------------


def test_distribution_functions_are_quiet_beyond_every_number_that_is_accepted():
    for law in EVERY:
        values = law.cdf([-1e300, -5e-324, 0.0, 5e-324, 1e-308, 1e300])
        assert (np.diff(values) >= 0).all()


# --- samples -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lower", "upper"), [(7, 40), (-40, -7)])
def test_samples_far_in_a_tail_keep_their_digits(lower, upper):
    """The interval has probability 1.3e-12, which is 6000 steps of rounding next to 1."""
    drawn = student(1e6, 0, 1, lower, upper).sample(np.random.default_rng(5), 20_000)
    assert len(set(drawn.tolist())) > 19_900


# --- which laws may raise the loss ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "deviations"),
    [(2.5e5, 4.01), (1e6, 3.0), (1e6, 5.65), (1e6, 30.0), (1e7, 4.01), (1e7, 12.0)],
)
def test_upper_tails_of_an_inverse_gamma_with_a_large_shape_keep_their_digits(shape, deviations):
    """scipy 1.17 leaves out 2 % of them at 1e7. By the power series, in 40 digits."""
    reciprocal = shape - deviations * math.sqrt(shape)
    with mpmath.workdps(40):
        term = total = mpmath.mpf(1)
        for count in itertools.count(1):
            term *= mpmath.mpf(reciprocal) / (shape + count)
            total += term
            if term < 1e-20 * total:
                break
        front = shape * mpmath.log(reciprocal) - reciprocal - mpmath.loggamma(mpmath.mpf(shape) + 1)
        expected = float(mpmath.exp(front) * total)
    found = InverseGamma(shape=shape, scale=1.0).survival(np.array([-1.0, 0.0, 1 / reciprocal, math.inf]))
    assert found[[0, 1, 3]].tolist() == [1.0, 1.0, 0.0]
    assert found[2] == pytest.approx(expected, rel=1e-16 * shape + 1e-11)
