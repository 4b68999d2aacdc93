"""Directions of an interval: ends are rounded outwards, and what is said of a number holds at both ends."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from depl.models.foundation.interval import Interval, float_above, float_below

shares = st.fractions(0, 1)


@given(st.fractions(-(10**20), 10**20))
def test_floats_next_to_a_fraction_enclose_it_and_no_float_is_nearer(value):
    below, above = float_below(value), float_above(value)
    assert below <= value <= above
    assert below == above or math.nextafter(below, math.inf) == above


@given(shares, shares, shares)
def test_images_contain_the_images_of_all_that_lies_between(one, other, at):
    lower, upper = sorted((float(one), float(other)))
    found, inside = Interval(lower, upper, "given"), Fraction(lower) + at * Fraction(upper - lower)
    inside = min(inside, Fraction(upper))
    assert found.complement().lower <= 1 - inside <= found.complement().upper
    assert found.negated().lower <= -inside <= found.negated().upper
    image = found.mapped(lambda share: one + (1 - one) * share)
    assert image.lower <= one + (1 - one) * inside <= image.upper
    assert {image.how, found.complement().how, found.negated().how} == {"given"}


@given(shares)
def test_what_is_known_exactly_stays_so_and_decides(value):
    known = Interval.around(value)
    assert (known.lowest, known.highest, known.at_most(value), known.exceeds(value)) == (
        value,
        value,
        True,
        False,
    )
    assert known.exceeds(value - Fraction(1, 10**30))
    assert not known.at_most(value - Fraction(1, 10**30))
    assert known.complement() == Interval.around(1 - value)
    assert known.negated().exact == -value


def test_between_its_ends_an_interval_decides_nothing():
    found = Interval(0.25, 0.5)
    assert [found.at_most(budget) for budget in (0.25, 0.375, 0.5)] == [False, False, True]
    assert [found.exceeds(budget) for budget in (0.125, 0.25, 0.375)] == [True, False, False]
    assert (found.width, found.middle, found.met_with(Interval(0.375, 1.0))) == (
        0.25,
        0.375,
        Interval(0.375, 0.5),
    )
    assert Interval(0.5, 1.0).complement() == Interval(0.0, 0.5)
