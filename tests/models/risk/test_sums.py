"""Sums as users ask for them: gaps, constants, what is no sum, and far tails against multiple precision."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from depl import risk
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma, Lognormal, Normal, StudentT, Undeclared
from depl.models.risk.far_tails import beyond, jump_bound
from depl.models.risk.sums import _least_bound
from tests.problems import atoms, student

BELL = risk.Normal(mean=0.0, variance=1.0)
SKEWED = InverseGamma(shape=4.0, scale=3.0)


def test_of_a_gap_at_the_level_the_least_value_is_taken():
    """Half of the law lies in [-1, 1], half in [99, 101]: the median is 1, though 99 is as good."""
    law = student(4.0, 0.0, 1.0, -1.0, 1.0)
    terms = [law, risk.Empirical(values=(0.0, 100.0))]
    assert risk.quantile(terms, 0.4999).upper < 1.001
    median = risk.quantile(terms, 0.5)
    assert median.lower <= 1.0 <= median.upper
    assert risk.quantile(terms, 0.5001).lower > 98.9


def test_constants_zeros_and_nothing_at_all():
    fixed = risk.Deterministic(value=0.1)
    moved = risk.probability([BELL, fixed, (risk.Deterministic(value=0.2), 2.0)], 0.5)
    assert moved.lower <= 0.5 <= moved.upper <= moved.lower + 1e-9
    assert risk.probability([BELL, (BELL, 0.0), (BELL, 5.0, 0)], 1.0) == risk.probability([BELL], 1.0)
    assert [risk.probability([], value, constant=1.0).exact for value in (1.0, 0.9)] == [1, 0]
    assert risk.probability([(fixed, 1.0, 3)], 0.3).exact == 1
    assert risk.quantile([(fixed, 1.0, 3)], 0.5).exact == Fraction(3, 10)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: risk.probability([0.5], 1.0), r"terms\[0\]: must be a law, with a coefficient"),
        (lambda: risk.probability([("normal", 1.0)], 1.0), r"terms\[0\]: law: must be a Law, not str"),
        (lambda: risk.probability([(BELL, math.nan)], 1.0), "coefficient"),
        (lambda: risk.probability([(BELL, 1.0, -1)], 1.0), "count: must be"),
        (lambda: risk.probability([(BELL, 1.0, 1.5)], 1.0), "count: must be"),
        (lambda: risk.probability([], math.inf), "value: must be a finite number"),
        (lambda: risk.probability([], 1.0, constant=math.nan), "constant: must be a finite number"),
        (lambda: risk.quantile([], 0.0), "level: must lie between 1e-14"),
        (lambda: risk.quantile([], math.nan), "level: must be a number"),
        (lambda: risk.quantile([], 1.0), "level: must lie between 1e-14"),
        (lambda: risk.probability([Undeclared()], 1.0), "has no probabilities"),
    ],
)
def test_what_is_no_sum_of_laws_is_refused(ask, message):
    with pytest.raises((InvalidInputError, NotCoveredError), match=message):
        ask()


# --- far tails: mpmath down to 1e-200, one jump ----------------------------------------------------------


WIDE = Lognormal(mean=2.0, variance=1.0)
T = student(3.0, 0.5, 0.25)
CUT = student(3.0, 0.0, 1.0, -3.0, 9.0)


def truth(law, x, upper):
    """P(X > x) or P(X < x) in fifty digits, from the parameters."""
    x = mpmath.mpf(x)
    if isinstance(law, InverseGamma):
        ends = (0, 3 / x) if upper else (3 / x, mpmath.inf)
        return mpmath.gammainc(4, *ends, regularized=True)
    if isinstance(law, StudentT):
        z = (x - mpmath.mpf(law.location)) / law.scale
        half = mpmath.betainc(mpmath.mpf(3) / 2, 0.5, 0, 3 / (3 + z * z), regularized=True) / 2
        return half if (z > 0) is upper else 1 - half
    if isinstance(law, Lognormal):
        square = mpmath.log(1 + mpmath.mpf(law.variance) / law.mean**2)
        z = (mpmath.log(x / law.mean) + square / 2) / mpmath.sqrt(square)
    else:
        z = (x - mpmath.mpf(law.mean)) / mpmath.sqrt(law.variance)
    return mpmath.erfc((z if upper else -z) / mpmath.sqrt(2)) / 2


@pytest.mark.parametrize("upper", [True, False], ids=["above", "below"])
@pytest.mark.parametrize(
    "law", [WIDE, SKEWED, T, Normal(mean=2.0, variance=0.5), Normal(mean=1e9, variance=1e-6)], ids=str
)
def test_one_law_alone_is_within_a_hundredth_down_to_1e_200(law, upper):
    for level in (0.3, 1e-9, 1e-199):
        x = float(law.quantile(level, upper=upper))
        with mpmath.workdps(50):
            expected = truth(law, x, upper)
            for sign in (1.0, -1.0):
                found = risk.probability([(law, sign)], sign * x, above=upper is (sign > 0))
                assert found.lower <= expected <= found.upper <= 1.01 * expected


def test_a_cut_law_next_to_its_end_and_beyond():
    base = stats.t(3)
    mass = base.cdf(9) - base.cdf(-3)
    for distance in (1.0, 1e-3, 1e-6, 1e-10, 2.0**-49):
        value = 9.0 - distance
        with mpmath.workdps(50):
            constant = 6 * mpmath.sqrt(3) / mpmath.pi  # f(x) = constant / (3 + x**2)**2
            ends = [mpmath.mpf(value), 9]
            expected = constant * mpmath.quad(lambda x: (3 + x * x) ** -2, ends) / mass
        found = risk.probability([CUT], value, above=True)
        assert found.lower <= expected <= found.upper <= 1.01 * expected
    assert risk.probability([CUT], 9.0, above=True).upper == 0
    assert risk.probability([CUT], -3.0).upper == 0


def test_atoms_and_a_density_with_its_peak_next_to_its_end_lie_between_their_bounds():
    coin = beyond(Term(1.0, atoms(0.0, 1.0)), Fraction(1, 2))
    assert coin[0] < 0.5 < coin[1]
    with mpmath.workdps(40):  # 0.01 degrees of freedom, cut 5e-4 above the location

        def density(x):
            return (1 + 100 * x * x) ** (-mpmath.mpf("0.505"))

        near = mpmath.quad(density, [mpmath.mpf(-4e-4), 0, mpmath.mpf(5e-4)])
        expected = near / (near + mpmath.quad(density, [-3, -0.1, -0.01, mpmath.mpf(-4e-4)]))
        low, high = beyond(Term(1.0, student(0.01, 0.0, 1.0, -3.0, 5e-4)), Fraction(-4e-4))
        assert low <= expected <= high


@pytest.mark.parametrize(
    ("terms", "places"),
    [
        pytest.param([(SKEWED, 5)], 30, id="five inverse gamma"),
        pytest.param([(T, 1), (Normal(mean=0.0, variance=4.0), 1)], 7, id="cores"),
        pytest.param([(T, 2)], 7, id="two t"),
    ],
)
def test_the_bound_of_a_sum_falls_and_is_below_that_of_one_jump(terms, places):
    number, before = sum(count for _, count in terms), 1.0
    given = [(law, 1.0, count) for law, count in terms]
    for x in np.geomspace(8.0, 1e9, places):
        upper = risk.probability(given, float(x), above=True).upper
        assert upper <= before * (1 + 1e-9)
        jump = sum(count * float(law.survival(x / number)) for law, count in terms)
        assert upper <= max(jump * 1.01, 1e-280)
        before = upper
    mirrored = risk.probability([(law, -1.0, count) for law, count in terms], -1e9)
    assert mirrored.upper == pytest.approx(before, rel=1e-6)


def test_where_its_bound_ceases_to_fall_a_sum_is_above_it_with_no_more_probability():
    place, least = _least_bound(FinalLoss(0.0, ((Term(1.0, SKEWED), 5),)))
    assert float(SKEWED.survival(np.array([place]))[0]) <= least < 0.01


def test_sums_of_atoms_no_greater_than_the_tolerance_are_bounded_as_in_another_unit():
    values = np.sqrt(np.arange(2.0, 9.0))
    found = [
        risk.probability([(atoms(*unit * values), 1 / k, 2) for k in range(1, 9)], 13 * unit, above=True)
        for unit in (1.0, 1e-8)
    ]
    assert 0 < max(item.lower for item in found) <= min(item.upper for item in found) < 1


def test_one_jump_is_shared_by_quantiles():
    """With a bounded summand the other has all the rest; x_i are quantiles of one level."""
    coin = atoms(0.0, 1.0)
    loss = FinalLoss(1.0, ((Term(1.0, T), 1), (Term(1.0, coin), 3)))
    assert jump_bound(loss, 54.0) == pytest.approx(stats.t.sf((50 - 0.5) / 0.25, 3), rel=1e-5)
    assert jump_bound(loss, 1.0) == 1.0
    mixed = FinalLoss(0.0, ((Term(1.0, WIDE), 2), (Term(-2.0, T), 1)))
    level = 1e-6
    gap = 2 * float(WIDE.quantile(level, upper=True)) - 2 * float(T.quantile(level))
    assert jump_bound(mixed, gap * (1 + 1e-9)) <= 3 * level * (1 + 1e-5)
    assert jump_bound(FinalLoss(0.0, ((Term(1.0, T), 2),)), 8.0) == pytest.approx(
        2 * stats.t.sf(14.0, 3), rel=1e-5
    )


def test_an_upper_tail_that_scipy_does_not_sum_up_keeps_its_digits():
    """scipy leaves out 0.5 % of the first; the power series of the gamma law in 60 digits says so."""
    sharp = InverseGamma(shape=1e7, scale=1e7)
    for deviations, expected in ((8, 5.893732333612203e-16), (12, 1.479928153468658e-33)):
        low, high = beyond(Term(1.0, sharp), Fraction(1e7 / (1e7 - deviations * 1e7**0.5)))
        assert low <= expected <= high <= 1.00001 * low
    assert beyond(Term(1.0, sharp), Fraction(11, 10)) == (0.0, 1e-290)
    assert 0 < beyond(Term(-1.0, sharp), Fraction(-9, 10))[1] < 1e-100
