"""Binomial certificates: enumeration of what may happen, rational numbers, and what is decided exactly."""

from fractions import Fraction
from itertools import product
from math import comb

import pytest
from scipy import special, stats

from depl.models.estimation.binomial import (
    Verdict,
    allowed_exceedances,
    binomial_p_values,
    binomial_tail,
    design,
    least_runs,
    verdict,
)
from depl.models.foundation.errors import InvalidInputError

LEVELS = (0.5, 0.9, 0.95, 0.99)


def mass(count: int, runs: int, violation: Fraction) -> Fraction:
    return comb(runs, count) * violation**count * (1 - violation) ** (runs - count)


def certifies(*asked: float) -> bool:
    return verdict(*asked) is Verdict.CERTIFIED


def refutes(*asked: float) -> bool:
    return verdict(*asked) is Verdict.REFUTED


def test_the_tail_is_what_enumerating_all_outcomes_gives() -> None:
    violation = Fraction(2, 7)
    for runs in (1, 2, 5):
        chances = [Fraction(0)] * (runs + 1)
        for outcome in product((False, True), repeat=runs):
            chance = Fraction(1)
            for exceeds in outcome:
                chance *= violation if exceeds else 1 - violation
            chances[sum(outcome)] += chance
        for count in range(runs + 1):
            assert binomial_tail(count, runs, violation) == sum(chances[: count + 1])
    ends = [
        binomial_tail(*asked) for asked in ((0, 5, Fraction(0)), (4, 5, Fraction(1)), (5, 5, Fraction(1)))
    ]
    assert ends == [1, 0, 1]


def test_sample_sizes_are_those_that_wilks_found_for_tolerance_limits() -> None:
    """Orders 1 to 6 of the 95/95 and 90/95 limits, as nuclear safety knows them."""
    assert [least_runs(0.95, 0.95, order) for order in range(6)] == [59, 93, 124, 153, 181, 208]
    assert [least_runs(0.9, 0.95, order) for order in range(6)] == [29, 46, 61, 76, 89, 103]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95])
def test_sample_sizes_are_those_of_a_search_in_rational_numbers(level: float, confidence: float) -> None:
    violation, risk = 1 - Fraction(str(level)), 1 - Fraction(str(confidence))
    for exceedances in (0, 1, 3):
        runs = least_runs(level, confidence, exceedances)
        assert binomial_tail(exceedances, runs, violation) <= risk
        assert runs - 1 == exceedances or binomial_tail(exceedances, runs - 1, violation) > risk
        assert allowed_exceedances(runs, level, confidence) == exceedances


def test_ties_between_tail_and_risk_are_decided_exactly() -> None:
    # one run at a violation of 0.95: its tail is 0.05 exactly, but 0.05000000000000004 in floating point
    assert special.bdtr(0, 1, 0.95) > 0.05
    assert certifies(0, 1, 0.05, 0.95)
    assert refutes(1, 1, 0.95, 0.95)
    assert certifies(0, 1, 0.1, 0.9)
    assert certifies(0, 2, 0.5, 0.75)
    assert not certifies(0, 2, 0.5, 0.7500000001)
    assert certifies(1, 4, 0.5, 0.6875)  # 5 / 16
    assert refutes(1, 1, 0.9, 0.9)
    assert not refutes(1, 1, 0.9, 0.9000000001)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("runs", [1, 20, 60, 300])
def test_broken_promises_are_certified_and_kept_ones_refuted_no_more_often_than_allowed(
    level: float, runs: int
) -> None:
    """The probability of all counts that do, at violations just above the promised one, at it, and beyond."""
    promised = 1 - Fraction(str(level))
    passing = [count for count in range(runs + 1) if certifies(count, runs, level, 0.95)]
    failing = [count for count in range(runs + 1) if refutes(count, runs, level, 0.95)]
    assert passing == list(range(len(passing)))
    for factor in (Fraction(1000001, 1000000), Fraction(3, 2), Fraction(2)):
        violation = min(promised * factor, Fraction(1))
        assert sum(mass(count, runs, violation) for count in passing) <= Fraction(1, 20)
    for factor in (Fraction(1, 3), Fraction(1)):
        assert sum(mass(count, runs, promised * factor) for count in failing) <= Fraction(1, 20)
    if passing and passing[-1] < runs:  # the next count would be too many
        assert sum(mass(count, runs, promised) for count in [*passing, passing[-1] + 1]) > Fraction(1, 20)


@pytest.mark.parametrize("level", LEVELS)
def test_p_values_are_those_of_the_exact_binomial_test(level: float) -> None:
    for count, runs in ((0, 1), (0, 59), (4, 200), (7, 7), (31, 300)):
        less, more = (
            stats.binomtest(count, runs, 1 - level, alternative=side).pvalue for side in ("less", "greater")
        )
        found = binomial_p_values(count, runs, level)
        assert found == pytest.approx((less, more), rel=1e-9)
        exact = binomial_tail(count, runs, 1 - Fraction(str(level)))
        assert found[0] == pytest.approx(float(exact), rel=1e-9)
        if exact != Fraction(1, 20):
            assert certifies(count, runs, level, 0.95) == (exact < Fraction(1, 20))


def test_a_design_certifies_as_often_as_it_says_and_the_sizes_below_do_not() -> None:
    found = design(0.95, 0.95, 0.02)
    assert found is not None
    assert (found.runs, found.exceedances) == (311, 9)
    assert found.probability == pytest.approx(float(binomial_tail(9, 311, Fraction(1, 50))), rel=1e-9)
    for runs in range(59, 311):
        allowed = allowed_exceedances(runs, 0.95, 0.95)
        assert allowed is not None
        assert binomial_tail(allowed, runs, Fraction(1, 50)) < Fraction(9, 10)


def test_a_plan_that_never_misses_needs_the_least_runs_and_one_on_the_edge_endlessly_many() -> None:
    assert design(0.95, 0.95, 0) == (59, 0, 1.0)
    assert design(0.5, 0.95, 0.4999) is None


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        *((verdict, asked) for asked in ((0, 0, 0.9, 0.95), (-1, 4, 0.9, 0.95), (5, 4, 0.9, 0.95))),
        *((verdict, (0, 4, level, 0.95)) for level in (1.0, 0.0, float("nan"))),
        *((verdict, (0, 4, 0.9, confidence)) for confidence in (1.0, 0.49, float("nan"))),
        *((least_runs, asked) for asked in ((0.9999999, 0.95), (0.9, 0.95, -1))),
        (binomial_tail, (0, 1, Fraction(3, 2))),
        *((design, asked) for asked in ((0.9, 0.95, 0.1), (0.9, 0.95, -0.1), (0.9, 0.95, 0.01, 1))),
        *((binomial_p_values, asked) for asked in ((0, 3, 2), (0, 3, -1), (4, 3, 0.5))),
    ],
)
def test_numbers_outside_their_range_are_refused(function, arguments) -> None:
    with pytest.raises(InvalidInputError):
        function(*arguments)
