"""Exact sums of atoms: binomial closed forms, ties, merging, the cap, and equality at the budget."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depl.models.epochs import FinalLoss, Term
from depl.models.laws import Empirical, Normal
from depl.models.risk.discrete import decimal, exact_quantile, exact_violation, is_discrete

COIN = Empirical(values=(0.0, 1.0))


def tosses(count, constant=0.0, coefficient=1.0, law=COIN):
    return FinalLoss(constant, ((Term(coefficient, law), count),))


def binomial_tail(count, more_than, success=Fraction(1, 2)):
    return sum(
        math.comb(count, k) * success**k * (1 - success) ** (count - k)
        for k in range(more_than + 1, count + 1)
    )


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_fair_coins_give_the_binomial_law_exactly(count):
    for threshold in range(count + 1):
        assert exact_violation(tosses(count), float(threshold)).exact == binomial_tail(count, threshold)


def test_weights_are_read_as_the_decimals_that_were_written():
    law = Empirical(values=(1.0, 0.0), weights=(0.1, 0.9))
    assert exact_violation(tosses(1, law=law), 0.0).exact == Fraction(1, 10)
    assert exact_violation(tosses(3, law=law), 1.0).exact == binomial_tail(3, 1, Fraction(1, 10))


def test_a_thousand_epochs_of_two_values_are_still_exact():
    found = exact_violation(tosses(1000, constant=20.0, coefficient=-0.01), 14.9)
    # l(K) > 14.9 means fewer than 510 heads.
    assert found.exact == sum(math.comb(1000, k) for k in range(510)) / Fraction(2) ** 1000


def test_a_loss_without_randomness_is_met_or_missed_for_certain():
    assert exact_violation(FinalLoss(3.0, ()), 3.0).exact == 0
    assert exact_violation(FinalLoss(3.0, ()), 2.9).exact == 1
    assert exact_quantile(FinalLoss(3.0, ()), 0.5).exact == 3


def test_probability_equal_to_the_budget_is_within_it_and_the_next_one_is_not():
    loss = tosses(1, law=Empirical(values=(1.0, 0.0), weights=(0.05, 0.95)))
    found = exact_violation(loss, 0.5)
    budget = 1 - decimal(0.95)
    assert found.at_most(budget)
    assert not found.exceeds(budget)
    assert found.exceeds(budget - Fraction(1, 10**30))


def test_the_interval_is_the_pair_of_floats_around_the_exact_value():
    found = exact_violation(tosses(1, law=Empirical(values=(0.0, 1.0, 2.0))), 0.0)
    assert found.exact == Fraction(2, 3)
    assert Fraction(found.lower) < found.exact < Fraction(found.upper)
    assert found.upper == math.nextafter(found.lower, 1)
    half = exact_violation(tosses(1), 0.0)
    assert half.lower == half.upper == 0.5


@pytest.mark.parametrize(("excess", "violated"), [(0.0, 0), (0.9e-9, 0), (1.1e-9, 1), (-1e-3, 0)])
def test_an_atom_within_a_billionth_of_the_maximum_counts_as_met(excess, violated):
    law = Empirical(values=(5.0 + excess,))
    assert exact_violation(tosses(1, law=law), 5.0).exact == violated


def test_sums_that_are_equal_as_decimals_are_one_atom():
    # In double precision 0.1 + 0.2 > 0.3; the written decimals are equal.
    loss = FinalLoss(0.0, tuple((Term(1.0, Empirical(values=(v, v + 1))), 1) for v in (0.1, 0.2)))
    assert exact_quantile(loss, 0.25).exact == Fraction(3, 10)


def test_rounded_coefficients_do_not_multiply_the_atoms():
    # Sixty different doubles next to one third: equal by intent, so 61 atoms and not 2**60.
    third = 1 / 3
    terms = []
    for _ in range(60):
        third = math.nextafter(third, 1)
        terms.append((Term(third, COIN), 1))
    found = exact_violation(FinalLoss(0.0, tuple(terms)), 10.0)
    assert found.exact == binomial_tail(60, 30)


def test_large_integers_one_apart_stay_apart():
    loss = tosses(1, law=Empirical(values=(1e14, 1e14 + 1, 1e14 + 2)))
    assert exact_violation(loss, 1e14).exact == Fraction(2, 3)
    assert exact_quantile(loss, 0.6).exact == 10**14 + 1


def test_too_many_distinct_sums_give_no_answer():
    terms = tuple((Term(math.sqrt(k), COIN), 1) for k in range(2, 40) if math.isqrt(k) ** 2 != k)
    assert exact_violation(FinalLoss(0.0, terms), 1.0) is None
    assert exact_quantile(FinalLoss(0.0, terms), 0.5) is None


def test_a_continuous_law_gives_no_answer():
    loss = FinalLoss(0.0, ((Term(1.0, COIN), 1), (Term(1.0, Normal(mean=0.0, variance=1.0)), 1)))
    assert not is_discrete(loss)
    assert exact_violation(loss, 0.0) is None
    assert exact_quantile(loss, 0.5) is None


def test_the_quantile_is_the_smallest_value_that_reaches_the_level():
    loss = tosses(2)  # 0, 1, 2 with 1/4, 1/2, 1/4
    levels = {0.1: 0, 0.25: 0, 0.2500001: 1, 0.75: 1, 0.7500001: 2, 0.999: 2}
    assert {level: exact_quantile(loss, level).exact for level in levels} == levels


small_laws = st.lists(
    st.tuples(st.integers(-6, 6), st.integers(1, 9)), min_size=1, max_size=4, unique_by=lambda pair: pair[0]
).map(lambda pairs: Empirical(values=tuple(v / 4 for v, _ in pairs), weights=tuple(w / 10 for _, w in pairs)))
small_losses = st.lists(
    st.tuples(st.sampled_from([-1.0, -0.5, 0.3, 2.0]), small_laws, st.integers(1, 2)), max_size=3
)


def enumerated(parts, constant):
    """Every outcome with its probability, by brute force over the written decimals."""
    factors = []
    for coefficient, law, count in parts:
        total = sum(decimal(weight) for weight in law.weights)
        outcomes = [
            (decimal(coefficient) * decimal(value), decimal(weight) / total)
            for value, weight in zip(law.values, law.weights, strict=True)
        ]
        factors += [outcomes] * count
    for choice in itertools.product(*factors):
        yield (
            decimal(constant) + sum(v for v, _ in choice),
            math.prod((p for _, p in choice), start=Fraction(1)),
        )


@given(small_losses, st.integers(-20, 20).map(lambda n: n / 8))
def test_violation_and_quantile_agree_with_enumeration(parts, threshold):
    loss = FinalLoss(1.5, tuple((Term(coefficient, law), count) for coefficient, law, count in parts))
    outcomes = list(enumerated(parts, 1.5))
    expected = sum(
        (p for value, p in outcomes if value > decimal(threshold) + Fraction(1, 10**9)), Fraction(0)
    )
    assert exact_violation(loss, threshold).exact == expected
    quantile = exact_quantile(loss, 0.8).exact
    assert sum(p for value, p in outcomes if value <= quantile) >= Fraction(4, 5)
    assert sum(p for value, p in outcomes if value < quantile) < Fraction(4, 5)


@given(small_losses, st.randoms(use_true_random=False))
def test_the_order_of_the_terms_does_not_matter(parts, random):
    terms = [(Term(coefficient, law), count) for coefficient, law, count in parts]
    shuffled = random.sample(terms, len(terms))
    assert exact_violation(FinalLoss(0.0, tuple(terms)), 0.1) == exact_violation(
        FinalLoss(0.0, tuple(shuffled)), 0.1
    )
