"""Tolerances stand in one place, with a reason each, and the verifier promises the same by its own."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from depl.models.foundation import tolerances
from depl.models.verifier import tolerances as promised


def test_the_verifier_promises_what_the_methods_keep():
    for name in ("TIME_TOLERANCE", "ATOM_TOLERANCE", "EXACT_ATOM_TOLERANCE"):
        assert getattr(tolerances, name) == getattr(promised, name)
    assert float(promised.EXACT_ATOM_TOLERANCE) == promised.ATOM_TOLERANCE
    assert Fraction(1, 10**9) == tolerances.EXACT_ATOM_TOLERANCE


def test_a_bound_counts_as_meeting_a_value_within_a_billionth_of_its_size():
    for value in (5.0, -5.0):
        assert tolerances.counts_as_proved(value, value - 4.9e-9)
        assert not tolerances.counts_as_proved(value, value - 5.1e-9)
        assert tolerances.counts_as_proved(value, value - 0.49, 0.1)
        assert not tolerances.counts_as_proved(value, value - 0.51, 0.1)
    assert tolerances.counts_as_proved(0.0, 0.0)
    assert not tolerances.counts_as_proved(0.0, -1e-12)


def test_nothing_held_is_proved_only_by_an_infinite_bound():
    assert not tolerances.counts_as_proved(math.inf, 1e300, 0.5)
    assert tolerances.counts_as_proved(math.inf, math.inf, 0.5)


def test_a_bound_that_is_a_share_of_the_cost_has_reached_that_gap():
    for cost, gap in itertools.product(
        [28.0, 20.0593, 137.836, 0.1, 1e-7, 3e9], np.linspace(0.001, 0.999, 999)
    ):
        assert tolerances.counts_as_proved(cost, cost * (1 - gap), gap), (cost, gap)
        assert not tolerances.counts_as_proved(cost, cost * (1 - gap - 1e-14), gap), (cost, gap)


@pytest.mark.parametrize("epochs", [1, 71, 200, 1000, 20_000])
def test_a_sum_over_all_epochs_is_off_by_no_more_than_is_granted(epochs):
    """Additions that are lost one by one: 1 and as many numbers just below half of what 1 can feel."""
    lost = math.nextafter(2.0**-53, 0.0)
    total = 1.0
    for _ in range(epochs):
        total = total + lost
    truth = 1 + epochs * Fraction(lost)
    assert truth - Fraction(total) <= Fraction(tolerances.sum_rounding(epochs)) * truth
    if epochs > 10_000:
        assert truth - Fraction(total) > Fraction(1e-12) * truth
