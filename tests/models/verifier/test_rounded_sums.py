"""Sums put together by rounding: brackets hold the exact share and closed forms, and are narrow."""

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from depl.models.problem.laws import Empirical, Law, Normal, Positive, StudentT, register_law
from depl.models.verifier import distribution as verifier_distribution
from depl.models.verifier.distribution import tail_probability
from depl.models.verifier.laws import Increment, decimal
from depl.models.verifier.rounded_sums import bracketed, rounded_tail
from tests.problems import atoms, student


def draw(values, weight: float = 1.0, count: int = 1) -> Increment:
    return Increment(decimal(weight), Empirical(values=tuple(float(value) for value in values)), count)


def all_sums(increments: list[Increment]) -> np.ndarray:
    sums = np.zeros(1)
    for item in increments:
        for _ in range(item.count):
            sums = np.add.outer(sums, item.factor * np.array(item.law.values)).ravel()
    return sums


def drawn(kind: str, rng: np.random.Generator) -> list[Increment]:
    """Four to six increments of up to seven atoms each, some of them twice."""
    found = []
    for index in range(rng.integers(4, 7)):
        size = int(rng.integers(2, 8))
        values = {
            "spread alike": rng.normal(size=size),
            "spread over scales": rng.normal(size=size) * 10.0 ** -rng.integers(0, 5),
            "on a lattice": rng.integers(-5, 6, size=size) * 0.5**index,
            "with heavy tails": rng.standard_t(1.5, size=size) * 0.7**index,
        }[kind]
        found.append(draw(values, count=int(rng.integers(1, 3))))
    return found


@pytest.mark.parametrize("kind", ["spread alike", "spread over scales", "on a lattice", "with heavy tails"])
@pytest.mark.parametrize("count", [4, pytest.param(25, marks=pytest.mark.slow)])
def test_the_bracket_holds_the_exact_share(kind, count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        increments = drawn(kind, rng)
        sums = all_sums(increments)
        ends = sums.min(), sums.max()
        for gap in (*rng.choice(sums, 3), *(rng.choice(sums, 3) + 1e-4), *rng.uniform(*ends, 3)):
            share = np.count_nonzero(sums > gap + 1e-9) / len(sums)
            for most in (30, 2**10):
                found = bracketed(increments, float(gap) + 1e-9, most)
                assert found.lower <= share <= found.upper


def test_few_atoms_are_not_rounded_and_ends_are_almost_certain():
    increments = [draw(range(10), 10.0**-place) for place in range(1, 5)]  # 0 ... 0.9999, each once
    for parts, gap, share in ((increments, 0.12345, 0.8765), (increments[:1], 0.35, 0.6)):
        found = bracketed(parts, gap, 10**4)
        assert (found.lower, found.upper) == pytest.approx((share, share), abs=3e-12)
    increments = [draw((-1.0, 0.3, 2.0), 0.9**k) for k in range(40)]
    weights = math.fsum(0.9**k for k in range(40))
    assert bracketed(increments, 2 * weights + 1e-6, 2**10).upper < 1e-10
    assert bracketed(increments, -weights - 1e-6, 2**10).lower > 1 - 1e-10


def test_forty_epochs_that_forget_are_bracketed_within_a_thousandth():
    """Residuals of 80 runs, a tenth forgotten in every epoch; draws agree with the bracket."""
    rng = np.random.default_rng(1)
    increments = [draw(rng.normal(size=80), 0.9**k) for k in range(40)]
    total = sum(item.factor * rng.choice(item.law.values, 200_000) for item in increments)
    found, share = bracketed(increments, 2.0, 2**18), (total > 2.0).mean()
    assert found.upper - found.lower < 1e-3
    error = 4 * math.sqrt(share / 200_000)
    assert found.lower - error <= share <= found.upper + error
    wide, narrow = (bracketed(increments, 2.0, most) for most in (2**12, 2**16))
    assert wide.lower <= narrow.lower < narrow.upper <= wide.upper
    assert narrow.upper - narrow.lower < 0.2 * (wide.upper - wide.lower)


def test_atoms_too_many_for_exact_sums_are_rounded_and_more_finely_where_the_budget_is_open(monkeypatch):
    values = atoms(0.31, 0.77, 1.04, 2.2, weights=(1, 2, 2, 1))
    increments = [Increment(decimal(-1 / math.sqrt(k)), values) for k in range(1, 9)]
    exact = tail_probability(increments, Fraction(-4))
    monkeypatch.setattr(verifier_distribution, "_MOST_PRODUCTS", 100)
    found = tail_probability(increments, Fraction(-4))
    assert exact.lower == exact.upper
    assert found.lower <= exact.lower <= found.upper
    assert 0 < found.upper - found.lower < 1e-3
    rng = np.random.default_rng(2)
    many = [draw(rng.normal(size=3), 1 / math.sqrt(k), 3) for k in range(1, 30)]
    first = rounded_tail(many, 3.0)
    inside = Fraction((first.lower + first.upper) / 2)
    refined = rounded_tail(many, 3.0, inside)
    assert first.upper - first.lower < 0.02
    assert first.lower <= refined.lower < refined.upper <= first.upper
    assert refined.upper - refined.lower < 0.1 * (first.upper - first.lower)
    assert rounded_tail(many, 3.0, Fraction(first.upper) + Fraction(1, 100)) == first


# ---- laws of which only the distribution function is known ----


class FarLaw(Law, frozen=True, kw_only=True, tag="far_for_the_verifier"):
    """P(X > x) = (1 + x / scale)^-2: a tail so far that some of it has to be left out."""

    scale: Positive = 1.0

    def distribution(self) -> Any:
        """scipy's law of Lomax."""
        return stats.lomax(2, scale=self.scale)


class EvenLaw(Law, frozen=True, kw_only=True, tag="even_for_rounded_sums"):
    """Uniform on an interval of length 1."""

    lower: Positive

    def distribution(self) -> Any:
        """scipy's uniform law."""
        return stats.uniform(self.lower, 1)


@pytest.fixture
def both_laws(own_laws: None) -> None:
    register_law(FarLaw)
    register_law(EvenLaw)


@pytest.mark.usefixtures("both_laws")
def test_even_laws_are_bracketed_within_cells_of_a_million_and_far_ones_within_one_per_cent():
    """P(-X - Y > -10.5) for X and Y on [5, 6] is 1/8, and the density of the sum there 1/2.

    Nine tenths of the mass of far laws are in the first cell, of cells that span six million.
    """
    found = tail_probability([Increment(Fraction(-1), EvenLaw(lower=5.0), 2)], Fraction(-21, 2))
    assert found.lower <= 1 / 8 <= found.upper
    assert found.upper - found.lower <= 3 / 2**20 / 2
    gap = 10_000

    def integrand(x: mpmath.mpf) -> mpmath.mpf:
        return 2 / (1 + x) ** 3 / (1 + gap - x) ** 2

    far = mpmath.quad(integrand, [0, 1, 100, gap - 100, gap - 1, gap]) + mpmath.mpf(1) / (1 + gap) ** 2
    found = tail_probability([Increment(Fraction(1), FarLaw(), 2)], Fraction(gap))
    assert 0.99 * float(far) <= found.lower <= float(far) <= found.upper <= 1.01 * float(far)


@pytest.mark.usefixtures("both_laws")
def test_what_lies_above_the_cells_is_in_the_upper_bound():
    """Of each far law the cells leave out what exceeds 3.16e6, with probability 1e-13."""
    gap, jump = 4_472_135, student(100, 0.0, 1.0)
    found = bracketed([Increment(Fraction(1), FarLaw(), 10)], gap, 2**16)
    one_term = -math.expm1(10 * math.log1p(-((1 + gap) ** -2.0)))
    assert found.lower <= one_term * 1.01
    assert one_term <= found.upper <= 1.2e-12
    # the t exceeds 1e5 with a probability below 1e-300
    found = bracketed([Increment(Fraction(1), FarLaw()), Increment(Fraction(1), jump)], gap, 2**16)
    assert found.lower <= (1 + gap - 1e5) ** -2
    assert (1 + gap + 1e5) ** -2 <= found.upper <= 3e-13


# ---- atoms beside densities: the unit of the loss must not matter ----


THOUSAND = np.round(np.random.default_rng(1).uniform(0, 1, 1000), 12)
"""Values of twelve decimals, which no 64-bit unit holds exactly at every scale."""


def beside(values: np.ndarray, others: list, unit: float) -> tuple[float, float]:
    """P(sum < 0.9), all losses given in this unit."""
    parts = [draw(unit * values, -1.0), *(Increment(Fraction(-1), law) for law in others)]
    found = tail_probability(parts, decimal(-0.9 * unit))
    return float(found.lower), float(found.upper)


@pytest.mark.parametrize("unit", [1.0, 1e-13, 1e-30, 1e20])
def test_one_normal_law_beside_a_thousand_atoms_is_their_mixture_in_every_unit(unit):
    expected = stats.norm.cdf((0.9 - THOUSAND - 0.5) / 0.1).mean()
    lower, upper = beside(THOUSAND, [Normal(mean=0.5 * unit, variance=(0.1 * unit) ** 2)], unit)
    assert lower <= expected * (1 + 1e-12)
    assert upper >= expected * (1 - 1e-12)
    assert upper - lower <= 1e-9 * expected


@pytest.mark.parametrize(("unit", "cut"), [(1e-13, None), (1e-30, 1.0)])
def test_student_laws_beside_a_hundred_atoms_do_not_depend_on_the_unit(unit, cut):
    """The share of draws of an atom and two copies below 0.9, within four of their deviations."""
    random, size = np.random.default_rng(2), 400_000
    sums = random.choice(THOUSAND[:100], size) + 0.6 + 0.1 * random.standard_t(5, size=(2, size)).sum(axis=0)
    share = float((sums < 0.9).mean())  # the cut, at seven scales, moves this by less than 1e-3 of itself
    ends = {} if cut is None else {"lower": -cut * unit, "upper": cut * unit}
    law = StudentT(degrees_of_freedom=5, location=0.3 * unit, scale=0.1 * unit, **ends)
    lower, upper = beside(THOUSAND[:100], [law, law], unit)
    assert abs((lower + upper) / 2 - share) < 4 * math.sqrt(share / size) + 1e-3 * share
    assert upper - lower < 2e-4 * upper


def test_what_atoms_lose_by_rounding_is_in_the_bracket():
    """Sums near 1e9 beside a law a thousandth wide: in doubles they are known to 1e-7 only."""
    steps = draw([1e9 / 3 + place for place in range(40)], 1.0, count=3)
    narrow = Normal(mean=0.0, variance=1e-6)
    found = tail_probability([steps, Increment(Fraction(1), narrow)], decimal(1e9 + 60.0))
    first = 3 * decimal(1e9 / 3)  # the others are whole steps above it
    copies = np.convolve(np.convolve(np.ones(40), np.ones(40)), np.ones(40)) / 40**3
    left = [float(decimal(1e9 + 60.0) - first - place) for place in range(len(copies))]
    assert found.lower <= copies @ stats.norm.sf(np.array(left) / 1e-3) <= found.upper
