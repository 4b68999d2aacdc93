"""Tails of Student-t switches and of their cores, against multiple precision."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from depl.models.problem.epochs import Term
from depl.models.problem.laws import Normal, StudentT
from depl.models.risk.cores import beyond, core_term
from depl.models.risk.verdicts import Kept, outside


def tail(law: StudentT, value: float) -> mpmath.mpf:
    """P(T > value) of the law without truncation, by the incomplete beta function."""
    nu, x = mpmath.mpf(law.degrees_of_freedom), (mpmath.mpf(value) - law.location) / law.scale
    half = mpmath.betainc(nu / 2, 0.5, 0, nu / (nu + x * x), regularized=True) / 2
    return half if x >= 0 else 1 - half


def truth(law: StudentT, value: float) -> mpmath.mpf:
    """P(S > value) of the truncated law."""
    if law.lower is None:
        return tail(law, value)
    value = min(max(value, law.lower), law.upper)
    return (tail(law, value) - tail(law, law.upper)) / (tail(law, law.lower) - tail(law, law.upper))


LAWS = [
    StudentT(degrees_of_freedom=1.3, location=0.2, scale=0.01),
    StudentT(degrees_of_freedom=60.0, location=-3.0, scale=2.0),
    StudentT(degrees_of_freedom=0.3, location=1.0, scale=0.1, lower=-1e6, upper=1e4),
    StudentT(degrees_of_freedom=2.5, location=0.0, scale=1.0, lower=5.0, upper=2e3),
    StudentT(degrees_of_freedom=2.5, location=0.0, scale=1.0, lower=-2e3, upper=-5.0),
    StudentT(degrees_of_freedom=0.5, location=0.0, scale=1.0, lower=-2e3, upper=0.0),
    StudentT(degrees_of_freedom=7.0, location=0.0, scale=1.0, lower=-0.5, upper=50.0),
]


@pytest.mark.parametrize("law", LAWS)
def test_tails_contain_the_probability_in_fifty_digits(law):
    rng = np.random.default_rng(0)
    reach = law.scale * 10 ** rng.uniform(-2, 6, 12)
    points = law.location + np.concatenate([reach, -reach])
    low, high = law.exceedance(points)
    below, above = law.shortfall(points)
    with mpmath.workdps(50):
        for index, point in enumerate(points.tolist()):
            known = truth(law, point)
            assert low[index] <= known <= high[index]
            known = truth(law.scaled(-1.0), -point)
            assert below[index] <= known <= above[index]
    assert np.all(high - low <= 1e-9 * high + 1e-10)


@pytest.mark.parametrize("weight", [-2.0, 0.5])
def test_a_multiple_of_a_switch_has_the_law_of_the_multiple(weight):
    for law in LAWS:
        moved = law.scaled(weight)
        points = law.location + law.scale * np.array([-3.0, -0.2, 0.1, 6.0, 40.0])
        same = law.exceedance(points) if weight > 0 else law.shortfall(points)
        assert moved.exceedance(weight * points)[0] == pytest.approx(same[0], rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("tails", [0.05, 1e-6])
def test_a_core_leaves_out_about_the_probability_asked_for(law, tails):
    core = law.core(tails)
    low, high = beyond(law, core)
    ends = (-math.inf if law.lower is None else law.lower, math.inf if law.upper is None else law.upper)
    assert ends[0] <= core.lower < core.upper <= ends[1]
    assert low <= high <= tails * (1 + 1e-6)
    narrow = law.core(tails, widest=0.1 * law.scale)
    assert narrow.upper - narrow.lower <= 0.2 * law.scale * (1 + 1e-9)


def test_the_tails_beyond_a_core_are_not_the_rounding_of_one_minus_the_core():
    """1 - (1 - 1e-17) is 0 in double precision; the survival function knows better."""
    switch = Term(1.0, StudentT(degrees_of_freedom=5.0, location=0.0, scale=0.3))
    low, high = outside(switch, core_term(switch, 1e-17))
    assert low <= 1e-17 * (1 + 1e-9)
    assert high >= 1e-17 * (1 - 1e-9)
    assert high == pytest.approx(low, rel=1e-9, abs=0)
    kept = Kept.of([(0.0, 0.0), (low, high)], np.array([[3.0, 4.0], [2.0, 0.0]]))
    assert kept.lost[0] == pytest.approx(4e-17, rel=1e-9, abs=0)
    assert kept.lost[0] >= 4 * low
    lower, upper = kept.whole(np.array([0.0, 0.5]), np.array([0.0, 0.5]))
    assert (lower[0], upper[0]) == (0.0, pytest.approx(4e-17, rel=1e-9, abs=0))
    assert (lower[1], upper[1]) == (0.5, 0.5)


def test_other_terms_have_no_core():
    bell = Term(-1.0, Normal(mean=1.0, variance=0.2))
    assert core_term(bell, 1e-3) is bell
    assert outside(bell, bell) == (0.0, 0.0)


def test_bounds_of_no_tail_at_all_contain_the_power_of_whole_fractions():
    rng = np.random.default_rng(5)
    outsides = [tuple(sorted(10 ** rng.uniform(-12, -2, 2))) for _ in range(3)]
    for row in (*rng.integers(0, 60, (20, 3)), np.zeros(3, dtype=int), np.array([100, 0, 0])):
        kept = Kept.of(outsides, row[None, :].astype(float))
        low, high = (
            math.prod((1 - Fraction(pair[side])) ** int(n) for pair, n in zip(outsides, row, strict=True))
            for side in (1, 0)
        )
        least, most, lost = (Fraction(float(part[0])) for part in (kept.least, kept.most, kept.lost))
        assert least <= low <= high <= most <= 1
        assert 1 - low <= lost
        assert most - least <= high - low + Fraction(1, 10**10)
