"""Sums of many discrete increments: brackets hold the exact share, and are narrow."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from depl.models.problem.laws import Empirical, Normal, StudentT
from depl.models.verifier.atoms import MOST_COPIES, tail_of_atoms
from depl.models.verifier.distribution import tail_probability
from depl.models.verifier.laws import Increment, decimal


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
                found = tail_of_atoms(increments, float(gap) + 1e-9, most)
                assert found.lower <= share <= found.upper


def test_few_atoms_are_not_rounded_at_all():
    increments = [draw(range(10), 10.0**-place) for place in range(1, 5)]  # 0 ... 0.9999, each once
    found = tail_of_atoms(increments, 0.12345, 10**4)
    assert found.lower == pytest.approx(0.8765, abs=3e-12)
    assert found.upper == pytest.approx(0.8765, abs=3e-12)
    single = tail_of_atoms(increments[:1], 0.35, 10)
    assert single.lower == pytest.approx(0.6, abs=3e-12)
    assert single.upper == pytest.approx(0.6, abs=3e-12)


def test_nothing_exceeds_the_greatest_sum_and_everything_what_is_below_the_least():
    increments = [draw((-1.0, 0.3, 2.0), 0.9**k) for k in range(40)]
    weights = math.fsum(0.9**k for k in range(40))
    assert tail_of_atoms(increments, 2 * weights + 1e-6, 2**10).upper < 1e-10
    assert tail_of_atoms(increments, -weights - 1e-6, 2**10).lower > 1 - 1e-10


@pytest.mark.parametrize("gaps", [(2.0,), pytest.param((0.0, 2.0, 4.0), marks=pytest.mark.slow)])
def test_sixty_epochs_that_forget_are_bracketed_within_a_thousandth(gaps):
    """Residuals of 80 runs, a tenth forgotten in every epoch; draws agree with the bracket."""
    rng = np.random.default_rng(1)
    increments = [draw(rng.normal(size=80), 0.9**k) for k in range(60)]
    total = sum(item.factor * rng.choice(item.law.values, 200_000) for item in increments)
    for gap in gaps:
        found = tail_of_atoms(increments, gap, 2**18)
        share = (total > gap).mean()
        assert found.upper - found.lower < 1e-3
        error = 4 * math.sqrt(share / 200_000)
        assert found.lower - error <= share <= found.upper + error
    wide, narrow = (tail_of_atoms(increments, 2.0, most) for most in (2**12, 2**16))
    assert wide.lower <= narrow.lower < narrow.upper <= wide.upper
    assert narrow.upper - narrow.lower < 0.2 * (wide.upper - wide.lower)


def test_the_probability_of_many_atoms_takes_this_way_and_of_very_many_copies_a_grid():
    rng = np.random.default_rng(2)
    few = [draw(rng.normal(size=80), 0.9**k) for k in range(8)]
    assert tail_probability(few, Fraction(2)) == tail_of_atoms(few, 2.0 + 1e-9, 2**16)
    inside = Fraction(tail_of_atoms(few, 2.0 + 1e-9, 2**18).upper) - Fraction(1, 10**9)
    assert tail_probability(few, Fraction(2), inside) == tail_of_atoms(few, 2.0 + 1e-9, 2**18)
    many = [draw(rng.normal(size=3), 1 / math.sqrt(k), 3) for k in range(1, MOST_COPIES // 3 + 2)]
    found, other = tail_probability(many, Fraction(3)), tail_of_atoms(many, 3.0 + 1e-9, 2**14)
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)
    assert found.upper - found.lower < 0.02


# ---- atoms beside densities: the unit of the loss must not matter ----


@pytest.fixture(scope="module")
def thousand() -> np.ndarray:
    """Values of twelve decimals, which no 64-bit unit holds exactly at every scale."""
    return np.round(np.random.default_rng(1).uniform(0, 1, 1000), 12)


@pytest.fixture(scope="module")
def share_drawn(thousand: np.ndarray) -> float:
    """Share of draws of an atom and two copies of a Student t, in their unit, that are below 0.9."""
    random = np.random.default_rng(2)
    sums = random.choice(thousand, SIZE) + 0.6 + 0.1 * random.standard_t(5, size=(2, SIZE)).sum(axis=0)
    return float((sums < 0.9).mean())


def beside(thousand: np.ndarray, others: list, unit: float, share: float = 0.9) -> tuple[float, float]:
    """P(sum < share * unit), all losses given in this unit."""
    parts = [draw(unit * thousand, -1.0), *(Increment(Fraction(-1), law) for law in others)]
    found = tail_probability(parts, decimal(-share * unit))
    return float(found.lower), float(found.upper)


SIZE = 400_000
"""Draws."""
UNITS = [1.0, 1e-10, 1e-13, 1e-20, 1e-30, 1e20]


@pytest.mark.parametrize("unit", UNITS)
def test_one_normal_law_beside_a_thousand_atoms_is_their_mixture_in_every_unit(thousand, unit):
    expected = stats.norm.cdf((0.9 - thousand - 0.5) / 0.1).mean()
    lower, upper = beside(thousand, [Normal(mean=0.5 * unit, variance=(0.1 * unit) ** 2)], unit)
    assert lower <= expected * (1 + 1e-12)
    assert upper >= expected * (1 - 1e-12)
    assert upper - lower <= 1e-9 * expected


@pytest.mark.parametrize("cut", [None, 1.0])
@pytest.mark.parametrize("unit", [UNITS[2], pytest.param(UNITS[3], marks=pytest.mark.slow), UNITS[4]])
def test_student_laws_beside_a_thousand_atoms_do_not_depend_on_the_unit(thousand, share_drawn, unit, cut):
    """The mixture of the distribution function of two copies, by draws: within four of their deviations."""
    ends = {} if cut is None else {"lower": -cut * unit, "upper": cut * unit}
    law = StudentT(degrees_of_freedom=5, location=0.3 * unit, scale=0.1 * unit, **ends)
    lower, upper = beside(thousand, [law, law], unit)
    share = share_drawn  # the cut, at seven scales, moves this by less than 1e-3 of itself
    assert abs((lower + upper) / 2 - share) < 4 * math.sqrt(share / SIZE) + 1e-3 * share
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
