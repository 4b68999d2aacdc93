"""Binomial certificates: closed forms, enumeration of what may happen, and two ways to every number."""

from fractions import Fraction
from itertools import product
from math import comb

import pytest
from scipy import special, stats

from depl.models.estimation.binomial import (
    allowed_exceedances,
    binomial_tail,
    certifies,
    certifying_p_value,
    clopper_pearson,
    design,
    greatest_violation,
    least_runs,
    refutes,
    refuting_p_value,
)
from depl.models.foundation.errors import InvalidInputError

LEVELS = (0.5, 0.9, 0.95, 0.99)


def mass(count: int, runs: int, violation: Fraction) -> Fraction:
    return comb(runs, count) * violation**count * (1 - violation) ** (runs - count)


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


def test_the_tail_at_the_ends_of_the_probability() -> None:
    assert binomial_tail(0, 5, Fraction(0)) == 1
    assert binomial_tail(4, 5, Fraction(1)) == 0
    assert binomial_tail(5, 5, Fraction(1)) == 1


def test_the_maximum_covers_from_29_59_and_299_runs_on() -> None:
    assert [least_runs(level, 0.95) for level in (0.9, 0.95, 0.99)] == [29, 59, 299]
    for level, runs in ((0.9, 29), (0.95, 59), (0.99, 299)):
        assert Fraction(str(level)) ** runs <= Fraction(1, 20) < Fraction(str(level)) ** (runs - 1)
        assert allowed_exceedances(runs, level, 0.95) == 0
        assert allowed_exceedances(runs - 1, level, 0.95) is None


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
def test_a_broken_promise_is_certified_no_more_often_than_allowed(level: float, runs: int) -> None:
    """The probability of all counts that certify, at violations just above the promised one and beyond."""
    promised = 1 - Fraction(str(level))
    counts = [count for count in range(runs + 1) if certifies(count, runs, level, 0.95)]
    assert counts == list(range(len(counts)))
    for factor in (Fraction(1000001, 1000000), Fraction(3, 2), Fraction(2)):
        violation = min(promised * factor, Fraction(1))
        assert sum(mass(count, runs, violation) for count in counts) <= Fraction(1, 20)
    if counts and counts[-1] < runs:  # the next count would be too many
        assert sum(mass(count, runs, promised) for count in [*counts, counts[-1] + 1]) > Fraction(1, 20)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("runs", [1, 20, 60, 300])
def test_a_kept_promise_is_refuted_no_more_often_than_allowed(level: float, runs: int) -> None:
    promised = 1 - Fraction(str(level))
    counts = [count for count in range(runs + 1) if refutes(count, runs, level, 0.95)]
    for factor in (Fraction(1, 3), Fraction(1)):
        assert sum(mass(count, runs, promised * factor) for count in counts) <= Fraction(1, 20)
    assert not any(certifies(count, runs, level, 0.95) for count in counts)


@pytest.mark.parametrize("level", LEVELS)
def test_p_values_are_those_of_the_exact_binomial_test(level: float) -> None:
    for count, runs in ((0, 1), (0, 59), (4, 200), (7, 7), (31, 300)):
        less, more = (
            stats.binomtest(count, runs, 1 - level, alternative=side).pvalue for side in ("less", "greater")
        )
        assert certifying_p_value(count, runs, level) == pytest.approx(less, rel=1e-9)
        assert refuting_p_value(count, runs, level) == pytest.approx(more, rel=1e-9)
        exact = binomial_tail(count, runs, 1 - Fraction(str(level)))
        assert certifying_p_value(count, runs, level) == pytest.approx(float(exact), rel=1e-9)
        if exact != Fraction(1, 20):
            assert certifies(count, runs, level, 0.95) == (exact < Fraction(1, 20))


def test_the_interval_is_that_of_scipy_and_its_ends_have_the_right_tails() -> None:
    for count, runs in ((0, 10), (1, 10), (10, 10), (17, 300)):
        found = clopper_pearson(count, runs, 0.95)
        wanted = stats.binomtest(count, runs).proportion_ci(0.95, method="exact")
        assert (found.lower, found.upper) == pytest.approx((wanted.low, wanted.high), abs=1e-12)
        if count < runs:
            assert float(binomial_tail(count, runs, Fraction(found.upper))) == pytest.approx(0.025, rel=1e-9)
        if count:
            below = binomial_tail(count - 1, runs, Fraction(found.lower))
            assert float(1 - below) == pytest.approx(0.025, rel=1e-9)
    assert clopper_pearson(0, 10, 0.95).upper == pytest.approx(1 - 0.025**0.1, rel=1e-12)
    assert clopper_pearson(10, 10, 0.95).lower == pytest.approx(0.025**0.1, rel=1e-12)
    assert (clopper_pearson(0, 10, 0.95).lower, clopper_pearson(10, 10, 0.95).upper) == (0, 1)


@pytest.mark.parametrize("runs", [1, 8, 40])
def test_the_interval_covers_every_probability_often_enough(runs: int) -> None:
    ends = [clopper_pearson(count, runs, 0.9) for count in range(runs + 1)]
    for violation in (Fraction(n, 37) for n in range(38)):
        inside = [n for n, end in enumerate(ends) if end.lower <= violation <= end.upper]
        assert sum(mass(count, runs, violation) for count in inside) >= Fraction(9, 10)


@pytest.mark.parametrize("level", LEVELS)
def test_certified_means_that_the_one_sided_interval_ends_below_the_promise(level: float) -> None:
    for runs in (29, 59, 120):
        for count in range(8):
            end = greatest_violation(count, runs, 0.95)
            assert certifies(count, runs, level, 0.95) == (end <= 1 - level)


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
    "call",
    [
        lambda: certifies(0, 0, 0.9, 0.95),
        lambda: certifies(-1, 4, 0.9, 0.95),
        lambda: certifies(5, 4, 0.9, 0.95),
        lambda: certifies(0, 4, 1.0, 0.95),
        lambda: certifies(0, 4, 0.0, 0.95),
        lambda: certifies(0, 4, float("nan"), 0.95),
        lambda: certifies(0, 4, 0.9, 1.0),
        lambda: certifies(0, 4, 0.9, 0.49),
        lambda: certifies(0, 4, 0.9, float("nan")),
        lambda: least_runs(0.9999999, 0.95),
        lambda: least_runs(0.9, 0.95, -1),
        lambda: binomial_tail(0, 1, Fraction(3, 2)),
        lambda: design(0.9, 0.95, 0.1),
        lambda: design(0.9, 0.95, -0.1),
        lambda: design(0.9, 0.95, 0.01, power=1),
        lambda: clopper_pearson(0, 3, 1.5),
        lambda: greatest_violation(4, 3, 0.95),
        lambda: refuting_p_value(0, 3, 2),
        lambda: certifying_p_value(0, 3, -1),
    ],
)
def test_numbers_outside_their_range_are_refused(call) -> None:
    with pytest.raises(InvalidInputError):
        call()
