"""Numbers and laws in words: rounding outward, infinities, plurals."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depl.models.foundation.wording import (
    counted,
    counter_probability,
    interval,
    number,
    percentage,
    probability,
    rounded_down,
    rounded_up,
)

ANY = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        *(
            (number(value), text)
            for value, text in [
                (None, "none"),
                (-math.inf, "-infinite"),
                (-0.0, "0"),
                (1e-7, "1e-07"),  # powers of ten are written as those of doubles are
            ]
        ),
        (interval(1.5e12, 2.0**400), "[1.5e+12, 2.58225e+120]"),
        # digits are added to a probability only where they are needed
        (probability(0.95), "0.95"),
        (probability(0.9999999), "0.9999999"),
        (percentage(0.996, 2), "99.6 %"),
        # percentages are no powers of ten
        (percentage(10.0), "1000 %"),
        *((counted(count, "epoch"), text) for count, text in enumerate(("0 epochs", "1 epoch", "2 epochs"))),
        # one less a violation, rounded down
        *(
            (counter_probability(violation), text)
            for violation, text in [
                (Fraction(10**9 - 1, 10**9), "1e-09"),
                (0.05, "0.9499999"),  # the double is a little more than 0.05
            ]
        ),
    ],
)
def test_numbers_intervals_probabilities_and_counts_are_written_so(said, text):
    assert said == text


@given(ANY, st.integers(2, 12))
def test_rounding_down_and_up_encloses_the_number_as_closely_as_the_digits_allow(value, digits):
    low, high = Fraction(rounded_down(value, digits)), Fraction(rounded_up(value, digits))
    assert low <= Fraction(value) <= high
    assert high - low <= abs(Fraction(value)) / 10 ** (digits - 1)


@given(ANY, ANY)
def test_a_printed_interval_contains_the_interval(first, second):
    lower, upper = sorted((first, second))
    low, high = map(Fraction, interval(lower, upper).strip("[]").split(", "))
    assert low <= Fraction(lower)
    assert Fraction(upper) <= high


@pytest.mark.parametrize("level", [0.9999, 0.99999, 0.99999995, math.nextafter(1, 0)])
def test_no_certainty_is_claimed_of_less_and_nothing_of_more_than_nothing(level):
    assert 99.9 < float(percentage(level).removesuffix(" %")) < 100
    assert 0.999 < float(probability(level)) < 1
    assert float(percentage(1 - level, 1).removesuffix(" %")) > 0
    assert float(probability(1 - level)) > 0


@given(st.fractions(0, 1))
def test_a_counterpart_is_never_promised_too_high(violation):
    shown = Fraction(counter_probability(violation))
    assert shown <= 1 - violation
    assert 1 - violation <= shown * (1 + Fraction(2, 10**6))
