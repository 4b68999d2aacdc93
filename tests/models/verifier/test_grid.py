"""The grid that answers for laws of which only the distribution function is known: both sides of its bracket.

The oracles are closed forms, and for sums of a law with a far tail that the sum exceeds what one term does.
"""

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from depl.models.problem.laws import Law, Positive, StudentT, register_law
from depl.models.verifier import distribution as verifier_distribution
from depl.models.verifier.distribution import tail_probability
from depl.models.verifier.laws import FloatArray, Increment


class FarLaw(Law, frozen=True, kw_only=True, tag="far_for_the_grid"):
    """P(X > x) = (1 + x / scale)^-2: a tail so far that the grid has to leave some of it out."""

    scale: Positive = 1.0

    def distribution(self) -> Any:
        """scipy's law of Lomax."""
        return stats.lomax(2, scale=self.scale)


class EvenLaw(Law, frozen=True, kw_only=True, tag="even_for_the_grid"):
    """Uniform on an interval of length 1."""

    lower: Positive

    def distribution(self) -> Any:
        """scipy's uniform law."""
        return stats.uniform(self.lower, 1)


@pytest.fixture(autouse=True)
def both_laws(own_laws: None) -> None:
    register_law(FarLaw)
    register_law(EvenLaw)


def test_two_even_laws_are_bracketed_within_three_cells_of_a_million() -> None:
    """P(-X - Y > -10.5) for X and Y on [5, 6] is 1/8, and the density of the sum there 1/2.

    No term may be farther than 0.5 from its upper end, so the grid has 2^20 cells for both halves. Terms are
    rounded up by half a cell each on average, or down, and a third cell is for where the sum is cut.
    """
    found = tail_probability([Increment(Fraction(-1), EvenLaw(lower=5.0), 2)], Fraction(-21, 2))
    assert found.lower <= 1 / 8 <= found.upper
    assert found.upper - found.lower <= 3 / 2**20 / 2


def test_two_far_laws_are_bracketed_within_one_per_cent_on_either_side() -> None:
    """Nine tenths of their mass are in the first cell of the grid, which spans six million."""
    gap = 10_000

    def integrand(x: mpmath.mpf) -> mpmath.mpf:
        return 2 / (1 + x) ** 3 / (1 + gap - x) ** 2

    exact = float(
        mpmath.quad(integrand, [0, 1, 100, gap - 100, gap - 1, gap]) + mpmath.mpf(1) / (1 + gap) ** 2
    )
    found = tail_probability([Increment(Fraction(1), FarLaw(), 2)], Fraction(gap))
    assert 0.99 * exact <= found.lower <= exact <= found.upper <= 1.01 * exact


def test_a_bracket_of_jumps_is_the_bracket_of_a_sum_with_them() -> None:
    """Jumps that exceed everything with a probability between a quarter and three quarters."""

    def exceedance(threshold: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.full(threshold.shape, 0.25), np.full(threshold.shape, 0.75)

    terms = [Increment(Fraction(-1), EvenLaw(lower=5.0), 2)]
    found = verifier_distribution._grid_tail(terms, exceedance, 0.0, None)
    assert 0.25 - 1e-9 <= found.lower <= 0.25
    assert 0.75 <= found.upper <= 0.75 + 1e-9


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of 2^16 cells, which is quick."""
    for name in ("_SMALLEST_GRID", "_LARGEST_GRID"):
        monkeypatch.setattr(verifier_distribution, name, 2**16)


@pytest.mark.usefixtures("small")
def test_what_lies_above_the_grid_is_in_the_upper_bound() -> None:
    """Of each of ten terms the grid leaves out what exceeds 3.16e6, with probability 1e-13."""
    gap = 4_472_135
    found = tail_probability([Increment(Fraction(1), FarLaw(), 10)], Fraction(gap))
    one_term = -math.expm1(10 * math.log1p(-((1 + gap) ** -2.0)))
    assert found.lower <= one_term * 1.01
    assert one_term <= found.upper <= 1.2e-12


@pytest.mark.usefixtures("small")
def test_what_lies_above_the_grid_is_in_the_upper_bound_beside_a_student_law_too() -> None:
    """P(X > gap) = 5e-14, and the other term exceeds 1e5 with a probability below 1e-300."""
    gap = 4_472_135
    jump = StudentT(degrees_of_freedom=100, location=0.0, scale=1.0)
    terms = [Increment(Fraction(1), FarLaw(), 1), Increment(Fraction(1), jump, 1)]
    found = tail_probability(terms, Fraction(gap))
    assert found.lower <= (1 + gap - 1e5) ** -2
    assert (1 + gap + 1e5) ** -2 <= found.upper <= 3e-13
