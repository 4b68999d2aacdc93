"""Sums of many discrete increments: brackets hold the exact share, and are narrow."""

import math
from fractions import Fraction

import numpy as np
import pytest

from depl.models.laws import Empirical
from depl.models.verifier_atoms import MOST_COPIES, tail_of_atoms
from depl.models.verifier_distribution import tail_probability
from depl.models.verifier_laws import Increment, decimal


def draw(values, weight: float = 1.0, count: int = 1) -> Increment:
    return Increment(decimal(weight), Empirical(values=tuple(float(value) for value in values)), count)


def all_sums(increments: list[Increment]) -> np.ndarray:
    sums = np.zeros(1)
    for item in increments:
        for _ in range(item.count):
            sums = np.add.outer(sums, item.factor * np.array(item.law.values)).ravel()
    return np.sort(sums)


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
@pytest.mark.parametrize("count", [8, pytest.param(25, marks=pytest.mark.slow)])
def test_the_bracket_holds_the_exact_share(kind, count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        increments = drawn(kind, rng)
        sums = all_sums(increments)
        for gap in (*rng.choice(sums, 3), *(rng.choice(sums, 3) + 1e-4), *rng.uniform(sums[0], sums[-1], 3)):
            share = (sums > gap + 1e-9).mean()
            for most in (30, 2**10):
                found = tail_of_atoms(increments, float(gap) + 1e-9, most)
                assert found.lower <= share <= found.upper


def test_few_atoms_are_not_rounded_at_all():
    increments = [draw(range(10), 10.0**-place) for place in range(1, 5)]  # 0 ... .9999, each once
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


def test_sixty_epochs_that_forget_are_bracketed_within_a_thousandth():
    """Residuals of 80 runs, a tenth forgotten in every epoch; draws agree with the bracket."""
    rng = np.random.default_rng(1)
    increments = [draw(rng.normal(size=80), 0.9**k) for k in range(60)]
    total = sum(item.factor * rng.choice(item.law.values, 200_000) for item in increments)
    for gap in (0.0, 2.0, 4.0):
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
    few = [draw(rng.normal(size=80), 0.9**k) for k in range(30)]
    assert tail_probability(few, Fraction(2)) == tail_of_atoms(few, 2.0 + 1e-9, 2**16)
    inside = Fraction(tail_of_atoms(few, 2.0 + 1e-9, 2**18).upper) - Fraction(1, 10**9)
    assert tail_probability(few, Fraction(2), inside) == tail_of_atoms(few, 2.0 + 1e-9, 2**18)
    many = [draw(rng.normal(size=3), 1 / math.sqrt(k), 3) for k in range(1, MOST_COPIES // 3 + 2)]
    found, other = tail_probability(many, Fraction(3)), tail_of_atoms(many, 3.0 + 1e-9, 2**14)
    assert max(found.lower, other.lower) <= min(found.upper, other.upper)
    assert found.upper - found.lower < 0.02
