"""Who answers for a loss, where nothing is left to chance, and what rounding costs far from zero."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from depl.models.problem.laws import InverseGamma, Normal
from depl.models.risk import certify
from depl.models.risk.certify import (
    certified_margin,
    certified_quantile,
    certified_violation,
    contour_violation,
)
from depl.models.risk.closed_sums import closed_quantile, closed_violation
from depl.models.risk.grid import grid_quantile
from tests.problems import atoms, loss, student

PAPER = InverseGamma(mean=1.0, variance=0.03)
HUNDREDTH = Fraction(1, 100)
LETTERS = atoms(1.0, 2.0)
OPEN = student(3.0)
ROOTS = atoms(*np.sqrt(np.arange(2.0, 20.0)).tolist())
NARROW = student(8, 0.01, 0.003, 0, 0.03)


@pytest.mark.parametrize(
    "given",
    [
        loss(0.0, (1.0, OPEN, 3)),
        loss(0.0, (1.0, OPEN), (1.0, Normal(mean=0, variance=1))),
        loss(0.0, (1.0, LETTERS, 2)),
        loss(0.0, (1.0, OPEN, 2), (0.1234567, ROOTS)),
        loss(0.0, (1.0, OPEN), (1.0, student(3.0, 0.0, 1.0, 300.0, 301.0))),
    ],
    ids=["three t", "beside a normal", "atoms alone", "too many atoms", "cut far out in a tail"],
)
def test_closed_sums_leave_these_to_others(given):
    assert closed_violation(given, 1.0) is None
    assert closed_quantile(given, Fraction(1, 10)) is None


@pytest.mark.parametrize("far", [1e13, 1e30])
def test_two_laws_are_bounded_farther_out_than_doubles_can_tell_their_panels_apart(far):
    given, truth = loss(0.0, (1.0, OPEN), (-0.125, OPEN)), float(stats.t.sf(far, 3)) * (1 + 0.125**3)
    found, other = closed_violation(given, far), closed_violation(given, -far)
    assert found.lower <= truth * (1 + 1e-6)
    assert truth * (1 - 1e-6) <= found.upper <= 10 * truth
    assert 1 - 10 * truth - 1e-9 <= other.lower <= 1 <= other.upper
    assert certified_quantile(given, 1 - Fraction(1, 10**10)).upper < 0


@pytest.mark.parametrize(
    ("maximum_loss", "violation"), [(20.031, 0), (25.0, 0), (16.9, None), (20.0299, None)]
)
def test_a_target_outside_the_support_is_met_or_missed_for_sure(maximum_loss, violation):
    """Just outside and just inside: rates that grow without end would ask for gigabytes of the narrow law."""
    given = loss(20.0, (-1.0, PAPER, 3), (1.0, NARROW))
    interval = certified_violation(given, maximum_loss)
    if violation is None:
        assert 0 <= interval.lower <= interval.upper <= 1
        assert interval.how == "contour"
    else:
        assert interval.exact == interval.lower == interval.upper == violation
        assert interval.how == "support"


def test_atoms_too_many_for_fractions_have_the_quantile_of_the_grid():
    many = loss(0.0, *((1 / k, ROOTS, 2) for k in range(2, 12)))
    assert certified_quantile(many, Fraction(1, 20)) == grid_quantile(many, Fraction(19, 20))


def test_cantellis_bound_is_below_what_two_points_attain_wherever_they_are():
    """Half of the loss lies at 1e13 + 1, the other half below the target; doubles are 2e-3 apart there."""
    given = loss(1e13, (1.0, atoms(0.0, 1.0)), (1.0, Normal(mean=0.0, variance=1.5e-3**2)))
    assert contour_violation(given, 1e13 + 2.0**-7).lower <= 0.5


@pytest.mark.parametrize("constant", [0.1, 1e3 + 0.1, 1e9 + 0.1, -3e12])
def test_a_quantile_far_from_zero_covers_the_rounding_of_its_mean(constant):
    """Of a normal loss in forty digits, with means that no double holds."""
    for count, budget in ((1, Fraction(1, 3)), (7, Fraction(1, 20)), (10, Fraction(1, 1000))):
        law = Normal(mean=0.1, variance=1e-6)
        found = certified_quantile(loss(constant, (-0.3, law, count)), budget)
        with mpmath.workdps(40):
            mean = mpmath.mpf(constant) - mpmath.mpf(0.3) * mpmath.mpf(0.1) * count
            score = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(budget.numerator) / budget.denominator)
            exact = mean + score * mpmath.sqrt(mpmath.mpf(1e-6) * count) * mpmath.mpf(0.3)
            assert mpmath.mpf(found.lower) <= exact <= mpmath.mpf(found.upper)
        assert found.upper - found.lower <= 1e-14 * abs(constant) + 1e-12


@pytest.mark.parametrize("ends", [(0.0, 1e-9), (0.5, 1.0)])
def test_where_a_contour_cannot_bracket_the_quantile_the_grid_has_it(ends, monkeypatch):
    """Bounds of the distribution function that show no point above the quantile, or none below."""
    given = loss(20.0, (-1.0, PAPER, 3))
    exact = certified_quantile(given, HUNDREDTH)

    def unclear(contour, labels, deviations):
        return tuple(np.full(len(deviations), end) for end in ends)

    monkeypatch.setattr(certify, "distribution", unclear)
    assert certified_margin(given, HUNDREDTH) is None
    found = certified_quantile(given, HUNDREDTH)
    assert found.how == "directed grid"
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
