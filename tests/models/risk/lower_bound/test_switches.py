"""Switches under a tilt against quadrature: divergence, mean, cumulants, characteristic function."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import Term
from depl.models.problem.laws import Empirical, InverseGamma, Normal
from depl.models.risk.lower_bound.switches import TiltedSwitch
from tests.oracles.tilted import tilted_numbers
from tests.problems import student

BOUNDED = (
    student(3, 0.2, 0.1, 0, 1.5),
    student(1.5, 1.0, 2.0, -3, 40),
    student(80, -0.5, 0.3, -2, 0.1),
)


@pytest.mark.parametrize(
    ("law", "rate"), list(zip(BOUNDED * 2, (0.05, 0.7, 4.0, 4.0, 0.05, 0.7), strict=True))
)
def test_a_truncated_student_t_has_the_numbers_of_quadrature(law, rate):
    found = TiltedSwitch.of(Term(1.0, law), rate)
    mean, h, w, third, fourth = tilted_numbers(law, -rate)
    assert found.loss == pytest.approx(mean, rel=1e-10, abs=1e-12)
    assert h <= found.divergence <= h * (1 + 1e-8) + 1e-12
    assert found.variance == pytest.approx(w, rel=1e-9)
    assert found.third == pytest.approx(third, rel=1e-8, abs=1e-12)
    assert found.fourth >= fourth + 6 * w**2
    assert found.widest == pytest.approx(1 / math.sqrt(w))


@pytest.mark.parametrize(("law", "rate"), list(itertools.product(BOUNDED, (0.7, 4.0))))
def test_characteristic_functions_keep_remainder_and_decay_at_random_places(law, rate):
    """By Simpson's rule on very many points; beyond W**(-1/2) only the decay counts."""
    found = TiltedSwitch.of(Term(1.0, law), rate)
    if not math.isfinite(found.fourth):
        assert law.moments().variance * rate**2 >= 2  # most switches of use have a finite one
        return
    mean, _, w, third, _ = tilted_numbers(law, -rate)
    x = np.linspace(*law.support(), 100_001)
    density = stats.t.pdf(x, law.degrees_of_freedom, law.location, law.scale) * np.exp(rate * (x - x[-1]))
    density *= np.array([1, *[4, 2] * 49_999, 4, 1])
    density /= density.sum()
    rng = np.random.default_rng([13, 1])
    for y in np.exp(rng.uniform(-3, 4, 8)) / math.sqrt(w):
        f = complex(density @ np.exp(-1j * y * rate * (x - mean)))
        decay = math.exp(-3 * w**2 / found.fourth * math.log1p(y**2 * found.fourth / (6 * w)))
        assert abs(f) <= decay + 1e-7
        if y <= found.widest:
            off = np.log(f) + w * y**2 / 2 + 1j * third * y**3 / 6
            assert abs(off) <= found.fourth * y**4 / 24 + 1e-8


@pytest.mark.parametrize("rate", [1e-3, 0.3, 3.0, 200.0])
def test_tails_that_are_cut_off_are_paid_for(rate):
    """P(gain < g) >= mass e**(-H) A: H grows by -ln mass, which is little where the tilt is weak."""
    law = student(2.5, 0.3, 0.2)
    found = TiltedSwitch.of(Term(1.0, law), rate)
    assert math.isfinite(found.loss)
    assert found.divergence > 0
    w = found.variance
    assert found.divergence <= max(w, 1.0) * 3 + 12
    if rate <= 0.3:
        assert found.loss == pytest.approx(0.3, abs=0.2)
        assert found.divergence == pytest.approx(w / 2, rel=0.3)


def test_normal_and_empirical_switches_have_closed_forms():
    normal = TiltedSwitch.of(Term(1.0, Normal(mean=0.5, variance=0.04)), 3.0)
    assert normal.loss == pytest.approx(0.5 + 3 * 0.04)
    assert normal.divergence == pytest.approx(9 * 0.04 / 2)
    assert (normal.third, normal.fourth, normal.widest) == (0, 0, math.inf)
    coin = TiltedSwitch.of(Term(1.0, Empirical(values=(0.0, 1.0), weights=(0.5, 0.5))), 2.0)
    q = math.e**2 / (1 + math.e**2)
    assert coin.loss == pytest.approx(q)
    assert coin.divergence == pytest.approx(2 * q - math.log((1 + math.e**2) / 2))
    assert coin.variance == pytest.approx(4 * q * (1 - q))
    assert coin.fourth == math.inf


def test_the_divergence_of_a_normal_switch_is_no_less_than_in_whole_fractions():
    rng = np.random.default_rng(20)
    for _ in range(200):
        coefficient, rate = (float(10.0 ** rng.uniform(-2, 3)) for _ in range(2))
        law = Normal(mean=float(rng.normal()), variance=float(10.0 ** rng.uniform(-6, 2)))
        exact = (Fraction(rate) * Fraction(coefficient)) ** 2 * Fraction(law.moments().variance) / 2
        found = Fraction(TiltedSwitch.of(Term(coefficient, law), rate).divergence)
        assert exact < found <= exact * (1 + Fraction(1, 10**11)) + Fraction(1, 10**13)


def test_divergence_and_f_of_points_are_no_less_than_in_forty_digits():
    """Rare atoms that a tilt makes likely have great divergences: up to -ln of their weights."""
    rng = np.random.default_rng(21)
    for share, count, rarest in (
        (-40.0, 12, 30),
        (-3.0, 30, 1),
        (-0.2, 12, 30),
        (0.7, 30, 1),
        (25.0, 12, 30),
        (1e3, 3, 1),
    ):
        points, weights = rng.normal(size=count), 10.0 ** rng.uniform(-rarest, 0, count)
        weights /= weights.sum()
        found = TiltedSwitch._by_points(1.0, share, points, weights)
        with mpmath.workdps(40):
            whole = mpmath.fsum(map(mpmath.mpf, weights))
            tilted = [p * mpmath.exp(-share * mpmath.mpf(x)) for x, p in zip(points, weights, strict=True)]
            total = mpmath.fsum(tilted)
            mean = mpmath.fdot(tilted, points) / total
            second, fourth = (
                share**n
                * mpmath.fsum(p * (x - mean) ** n for x, p in zip(points, tilted, strict=True))
                / total
                for n in (2, 4)
            )
            divergence, f = -mpmath.log(total / whole) - share * mean, fourth + 6 * second**2
            assert divergence <= found.divergence <= divergence * (1 + mpmath.mpf(1e-11)) + mpmath.mpf(1e-10)
            assert f - mpmath.mpf(1e-20) <= found.fourth <= f * (1 + mpmath.mpf(1e-8)) + mpmath.mpf(1e-20)


@pytest.mark.parametrize("unit", [2.0**-30, 2.0**30])
def test_the_unit_of_the_loss_changes_the_mean_alone(unit):
    for law in (*BOUNDED, student(3.0, 0.1, 0.2)):
        one, other = (TiltedSwitch.of(Term(1.0, law.scaled(u)), 0.7 / u) for u in (1.0, unit))
        assert other.loss == pytest.approx(one.loss * unit, rel=1e-9)
        for name in ("divergence", "variance", "third", "fourth", "widest"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-8)


def test_only_laws_of_switches_are_tilted():
    with pytest.raises(NotCoveredError, match="offers no tilt"):
        TiltedSwitch.of(Term(1.0, InverseGamma(mean=1.0, variance=1.0)), 1.0)
