"""Exact sums of atoms: binomial closed forms, ties, merging, the cap, and equality at the budget."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from depl.models.foundation.deadline import OutOfTimeError, deadline
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Empirical, Normal
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


# --- sums that are counted and not formed ----------------------------------------------------------------


def spread(rng, size, weighted=False):
    values = tuple(np.round(rng.normal(size=size), 12).tolist())
    return Empirical(values=values, weights=tuple(rng.integers(1, 9, size).tolist()) if weighted else None)


def by_numpy(loss):
    """All sums and their weights, in doubles."""
    sums, weights = np.array([loss.constant]), np.ones(1)
    for term, count in loss.terms:
        part, share = term.coefficient * np.array(term.law.values), np.array(term.law.weights or 1.0)
        for _ in range(count):
            sums = np.add.outer(sums, part).ravel()
            weights = np.multiply.outer(weights, share * np.ones(part.size)).ravel()
    return sums, weights


@pytest.mark.parametrize(
    ("sizes", "weighted"),
    [
        ((300, 300), False),
        ((300, 300), True),
        ((7, 40, 300), False),
        ((2, 3, 10, 400), True),
    ],
)
def test_many_sums_of_two_large_parts_are_counted_exactly(sizes, weighted):
    """No two of them are equal, so there are far more than are ever formed."""
    rng = np.random.default_rng(sum(sizes))
    coefficients = (1.0, -0.5, 0.25, 3.0)
    terms = [
        (Term(coefficient, spread(rng, size, weighted)), 1)
        for coefficient, size in zip(coefficients, sizes, strict=False)
    ]
    loss = FinalLoss(0.3, tuple(terms))
    sums, weights = by_numpy(loss)
    assert sums.size > 20_000
    order = np.argsort(sums)
    reached, total = np.cumsum(weights[order]), int(weights.sum())
    for level in (0.001, 0.05, 0.5, 0.9, 0.999):
        threshold = float(np.quantile(sums, level))
        found = exact_violation(loss, threshold)
        assert found.exact == Fraction(int(weights[sums > threshold + 1e-9].sum()), total)
        assert Fraction(found.lower) <= found.exact <= Fraction(found.upper)
        quantile = exact_quantile(loss, level)
        needed = float(decimal(level) * total)
        assert float(quantile.exact) == pytest.approx(
            sums[order][np.argmax(reached >= needed - 1e-6)], abs=1e-9
        )
    assert exact_violation(loss, sums.min() - 1).exact == 1
    assert exact_violation(loss, sums.max() + 1).exact == 0
    assert float(exact_quantile(loss, 1e-9).exact) == pytest.approx(sums.min(), abs=1e-12)
    assert float(exact_quantile(loss, 1 - 1e-9).exact) == pytest.approx(sums.max(), abs=1e-12)


def test_a_single_part_may_have_more_values_than_are_ever_formed():
    law = Empirical(values=tuple(k / 8 for k in range(25_000)))
    assert exact_violation(tosses(1, law=law), 100.0).exact == Fraction(25_000 - 801, 25_000)
    assert exact_quantile(tosses(1, law=law), 0.5).exact == Fraction(12_499, 8)


def test_a_counted_sum_within_a_billionth_of_the_maximum_counts_as_met():
    """A thousand and one values each; the sums 0, 1, ..., 2000 in thousandths have triangular weights."""
    grid = Empirical(values=tuple(k / 1000 for k in range(1001)))
    loss = FinalLoss(0.0, ((Term(1.0, grid), 2),))
    above = Fraction(1 + 2 + 3, 1001**2)  # 1.998, 1.999 and 2 have 3, 2 and 1 of the pairs
    assert exact_violation(loss, 1.9975).exact == above
    assert exact_violation(loss, 1.998 - 0.9e-9).exact == Fraction(3, 1001**2)
    assert exact_violation(loss, 1.998 - 1.1e-9).exact == above
    assert exact_quantile(loss, 1 - above).exact == Fraction(1997, 1000)
    assert exact_quantile(loss, 1 - above + Fraction(1, 10**12)).exact == Fraction(1998, 1000)


def test_the_last_summand_is_the_largest_whatever_the_order():
    rng = np.random.default_rng(3)
    terms = [(Term(1.0, spread(rng, size)), 1) for size in (300, 4, 50)]
    found = {
        exact_violation(FinalLoss(0.0, tuple(some)), 0.4).exact for some in itertools.permutations(terms)
    }
    assert len(found) == 1
    assert found.pop() is not None


def test_two_large_parts_beside_the_counted_one_are_still_too_many():
    rng = np.random.default_rng(4)
    parts = tuple(
        (Term(1.0, spread(rng, 300)), 1) for _ in range(3)
    )  # 300 * 300 sums would have to be formed
    assert exact_violation(FinalLoss(0.0, parts), 0.0) is None
    assert exact_quantile(FinalLoss(0.0, parts), 0.5) is None
    assert exact_violation(FinalLoss(0.0, parts[:2]), 0.0) is not None


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


def test_sums_of_many_atoms_are_broken_off_when_time_is_over():
    rng = np.random.default_rng(1)
    many = FinalLoss(0.0, ((Term(1.0, Empirical(values=tuple(rng.normal(size=100).tolist()))), 3),))
    with deadline(lambda: 1.0), pytest.raises(OutOfTimeError):
        exact_violation(many, 0.0)
