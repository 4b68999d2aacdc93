"""Binomial certificates: enumeration of what may happen, rational numbers, and what is decided exactly."""

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy import stats

from depl.models.estimation.binomial import (
    Verdict,
    allowed_exceedances,
    binomial_p_values,
    binomial_tail,
    design,
    least_runs,
    verdict,
)
from depl.models.estimation.certificate import certificate, loss_bound
from tests.problems import refusal

LEVELS = (0.5, 0.9, 0.95, 0.99)


def mass(count, runs, violation):
    return comb(runs, count) * violation**count * (1 - violation) ** (runs - count)


def certifies(*asked):
    return verdict(*asked) is Verdict.CERTIFIED


def refutes(*asked):
    return verdict(*asked) is Verdict.REFUTED


def test_sample_sizes_are_those_of_wilks_and_of_a_search_in_rational_numbers():
    """Orders 1 to 6 of the 95/95 and 90/95 limits, as nuclear safety knows them."""
    assert [least_runs(0.95, 0.95, order) for order in range(6)] == [59, 93, 124, 153, 181, 208]
    assert [least_runs(0.9, 0.95, order) for order in range(6)] == [29, 46, 61, 76, 89, 103]
    for level, confidence, exceedances in product(LEVELS, (0.5, 0.9, 0.95), (0, 1, 3)):
        violation, risk = 1 - Fraction(str(level)), 1 - Fraction(str(confidence))
        runs = least_runs(level, confidence, exceedances)
        assert binomial_tail(exceedances, runs, violation) <= risk
        assert runs - 1 == exceedances or binomial_tail(exceedances, runs - 1, violation) > risk
        assert allowed_exceedances(runs, level, confidence) == exceedances


@pytest.mark.parametrize(
    ("certified", "asked"),
    [
        (True, (0, 1, 0.05, 0.95)),  # its tail is 0.05 exactly, but 0.05000000000000004 in floating point
        (True, (0, 1, 0.1, 0.9)),
        (True, (0, 2, 0.5, 0.75)),
        (False, (0, 2, 0.5, 0.7500000001)),
        (True, (1, 4, 0.5, 0.6875)),  # 5 / 16
    ],
)
def test_ties_between_tail_and_risk_are_decided_exactly(certified, asked):
    assert certifies(*asked) == certified
    count, runs, level, confidence = asked
    assert refutes(runs - count, runs, round(1 - level, 4), confidence) == certified


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("runs", [1, 60, 300])
def test_broken_promises_are_certified_and_kept_ones_refuted_no_more_often_than_allowed(level, runs):
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
def test_p_values_are_those_of_the_exact_binomial_test(level):
    for count, runs in ((0, 1), (0, 59), (4, 200), (7, 7), (31, 300)):
        tests = (stats.binomtest(count, runs, 1 - level, alternative=side) for side in ("less", "greater"))
        found = binomial_p_values(count, runs, level)
        assert found == pytest.approx([test.pvalue for test in tests], rel=1e-9)
        exact = binomial_tail(count, runs, 1 - Fraction(str(level)))
        assert found[0] == pytest.approx(float(exact), rel=1e-9)
        assert exact == Fraction(1, 20) or certifies(count, runs, level, 0.95) == (exact < Fraction(1, 20))


def test_a_design_certifies_as_often_as_it_says_and_the_sizes_below_do_not():
    found = design(0.95, 0.95, 0.02)
    assert (found.runs, found.exceedances) == (311, 9)
    assert found.probability == pytest.approx(float(binomial_tail(9, 311, Fraction(1, 50))), rel=1e-9)
    assert design(0.95, 0.95, 0) == (59, 0, 1.0)  # a plan that never misses
    assert design(0.5, 0.95, 0.4999) is None  # and one on the edge
    for runs in range(59, 311):
        allowed = allowed_exceedances(runs, 0.95, 0.95)
        assert binomial_tail(allowed, runs, Fraction(1, 50)) < Fraction(9, 10)


REFUSED = """
verdict 0 0 0.9 0.95
verdict -1 4 0.9 0.95
verdict 5 4 0.9 0.95
verdict 0 4 1.0 0.95
verdict 0 4 0.0 0.95
verdict 0 4 NaN 0.95
verdict 0 4 0.9 1.0
verdict 0 4 0.9 0.49
verdict 0 4 0.9 NaN
least_runs 0.9999999 0.95
least_runs 0.9 0.95 -1
design 0.9 0.95 0.1
design 0.9 0.95 -0.1
design 0.9 0.95 0.01 1
binomial_p_values 0 3 2
binomial_p_values 0 3 -1
binomial_p_values 4 3 0.5
certificate [] 1 0.9
certificate [[1.0]] 1 0.9
certificate [1.0,-Infinity] 1 0.9
certificate [1.0] NaN 0.9
certificate [1.0] Infinity 0.9
loss_bound [1.0] 1 null
"""


@pytest.mark.parametrize("row", REFUSED.strip().splitlines())
def test_numbers_outside_their_range_are_refused(row):
    name, *numbers = row.split()
    refusal(globals()[name], *map(json.loads, numbers))


# A law with atoms, the greatest is "no final loss": P(l <= 0) = 0.3, P(l <= 1) = 0.6, P(l <= 2) = 0.9.
ATOMS = {0.0: Fraction(3, 10), 1.0: Fraction(3, 10), 2.0: Fraction(3, 10), math.inf: Fraction(1, 10)}


def chance(outcome):
    return math.prod((ATOMS[loss] for loss in outcome), start=Fraction(1))


@pytest.mark.parametrize("level", [0.3, 0.6, 0.61, 0.95])
def test_the_quantile_bound_covers_with_its_confidence_also_with_ties_and_infinities(level):
    """All 4**5 outcomes of five runs, each with its probability; of all orders of the same runs one."""
    orders = Counter(tuple(sorted(outcome)) for outcome in product(ATOMS, repeat=5))
    wanted = min(
        loss for loss in ATOMS if sum(w for x, w in ATOMS.items() if x <= loss) >= Fraction(str(level))
    )
    for confidence in (0.5, 0.75, 0.9):
        covered = sum(
            times * chance(outcome)
            for outcome, times in orders.items()
            if loss_bound(outcome[::2] + outcome[1::2], level, confidence).value >= wanted
        )
        assert covered >= Fraction(str(confidence))


@pytest.mark.parametrize("level", [0.3, 0.6, 0.8])
def test_the_conformal_bound_covers_the_next_run_on_average(level):
    covered = sum(
        chance(outcome)
        for outcome in product(ATOMS, repeat=5)
        if outcome[-1] <= loss_bound(outcome[:-1], level, None).value
    )
    assert covered >= Fraction(str(level))


def test_the_rank_of_a_conformal_bound_is_not_rounded_up():
    assert 100 * 0.07 > 7  # (n + 1) omega is 7 exactly, and 7.000000000000001 in floating point
    assert loss_bound(np.arange(99), 0.07, None).rank == 7


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_certified_is_the_same_as_a_quantile_bound_within_the_target(level):
    rng = np.random.default_rng(1)
    for runs in (3, 30, 61):
        losses = rng.integers(0, 12, runs).astype(float)
        for target in np.arange(-0.5, 13, 0.5):
            found = certificate(losses, float(target), level, 0.9)
            assert found.certified == (found.quantile.value <= target)
            assert found.certified == (found.allowed is not None and found.exceedances <= found.allowed)
            assert found.certified == (found.greatest_violation <= 1 - level)


def test_the_verdict_of_counts_worked_out_by_hand():
    none, one, both = (
        certificate(losses, 0.5, 0.95) for losses in (np.zeros(59), [*np.zeros(58), 1], [1, 1])
    )
    assert [found.verdict for found in (none, one, both)] == list(Verdict)
    assert none.p_value == pytest.approx(0.95**59)
    assert none.greatest_violation == pytest.approx(1 - 0.05 ** (1 / 59))
    assert (one.exceedances, one.allowed, one.needed) == (1, 0, 93)
    assert one.refuting_p_value == pytest.approx(1 - 0.95**59)
    assert (both.refuting_p_value, both.allowed) == (pytest.approx(0.05**2), None)


def test_a_loss_at_the_target_keeps_it_and_a_missing_one_does_not():
    found = certificate([0.5, 0.5, math.nan, math.inf], 0.5, 0.5, 0.5)
    assert (found.runs, found.exceedances) == (4, 2)
