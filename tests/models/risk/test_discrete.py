"""Exact sums of atoms: binomial closed forms, ties, merging, the cap, and equality at the budget."""

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
from tests.oracles.atoms import above, written

COIN = Empirical(values=(0.0, 1.0))


def tosses(count, constant=0.0, coefficient=1.0, law=COIN):
    return FinalLoss(constant, ((Term(coefficient, law), count),))


def spread(rng, size, weighted=False):
    values = tuple(np.round(rng.normal(size=size), 12).tolist())
    return Empirical(values=values, weights=tuple(rng.integers(1, 9, size).tolist()) if weighted else None)


def heads(count, at_least):
    return sum(Fraction(math.comb(count, k), 2**count) for k in range(at_least, count + 1))


def nearly_thirds():
    """Sixty different doubles next to one third: equal by intent, so 61 atoms and not 2**60."""
    double, terms = 1 / 3, []
    for _ in range(60):
        double = math.nextafter(double, 1)
        terms.append((Term(double, COIN), 1))
    return FinalLoss(0.0, tuple(terms))


def large_parts(count):
    """300 sums each; of three of them 300 * 300 sums would have to be formed."""
    rng = np.random.default_rng(4)
    return FinalLoss(0.0, tuple((Term(1.0, spread(rng, 300)), 1) for _ in range(count)))


NOTHING = FinalLoss(3.0, ())
DECIMALS = FinalLoss(0.0, tuple((Term(1.0, Empirical(values=(v, v + 1))), 1) for v in (0.1, 0.2)))
LARGE = tosses(1, law=Empirical(values=(1e14, 1e14 + 1, 1e14 + 2)))
EIGHTHS = tosses(1, law=Empirical(values=tuple(k / 8 for k in range(25_000))))
PAIR = tosses(2, law=Empirical(values=tuple(k / 1000 for k in range(1001))))
ABOVE = Fraction(1 + 2 + 3, 1001**2)
"""Of the sums 0, 1, ..., 2000 in thousandths, 1.998, 1.999 and 2 have 3, 2 and 1 of the pairs."""
ROOTS = FinalLoss(0.0, tuple((Term(math.sqrt(k), COIN), 1) for k in range(2, 40) if math.isqrt(k) ** 2 != k))
BELL = FinalLoss(0.0, ((Term(1.0, COIN), 1), (Term(1.0, Normal(mean=0.0, variance=1.0)), 1)))


@pytest.mark.parametrize(
    ("loss", "threshold", "expected"),
    [
        pytest.param(NOTHING, 3.0, 0, id="met for certain"),
        pytest.param(NOTHING, 2.9, 1, id="missed for certain"),
        *(pytest.param(tosses(7), float(k), heads(7, k + 1), id=f"{k} of 7") for k in (0, 3, 7)),
        pytest.param(tosses(40), 17.0, heads(40, 18), id="17 of 40"),
        pytest.param(tosses(1000, 20.0, -0.01), 14.9, 1 - heads(1000, 510), id="below 510 of 1000"),
        *(
            pytest.param(
                tosses(1, law=Empirical(values=(5.0 + excess,))), 5.0, violated, id=f"{excess} above"
            )
            for excess, violated in ((0.0, 0), (0.9e-9, 0), (1.1e-9, 1), (-1e-3, 0))
        ),
        pytest.param(nearly_thirds(), 10.0, heads(60, 31), id="rounded coefficients"),
        pytest.param(LARGE, 1e14, Fraction(2, 3), id="large and one apart"),
        pytest.param(EIGHTHS, 100.0, Fraction(25_000 - 801, 25_000), id="more values than are ever formed"),
        pytest.param(PAIR, 1.9975, ABOVE, id="counted, between atoms"),
        pytest.param(PAIR, 1.998 - 0.9e-9, Fraction(3, 1001**2), id="counted, met within a billionth"),
        pytest.param(PAIR, 1.998 - 1.1e-9, ABOVE, id="counted, missed by more"),
    ],
)
def test_violations_are_those_of_whole_fractions(loss, threshold, expected):
    assert exact_violation(loss, threshold).exact == expected


@pytest.mark.parametrize(
    ("loss", "level", "expected"),
    [
        pytest.param(NOTHING, 0.5, 3, id="certain"),
        pytest.param(DECIMALS, 0.25, Fraction(3, 10), id="0.1 + 0.2 is 0.3, and more in doubles"),
        pytest.param(LARGE, 0.6, 10**14 + 1, id="large and one apart"),
        pytest.param(EIGHTHS, 0.5, Fraction(12_499, 8), id="more values than are ever formed"),
        pytest.param(PAIR, 1 - ABOVE, Fraction(1997, 1000), id="counted, at an edge"),
        pytest.param(PAIR, 1 - ABOVE + Fraction(1, 10**12), Fraction(1998, 1000), id="counted, beyond it"),
        *(
            pytest.param(tosses(2), level, quantile, id=f"{level} of 0, 1, 2 with 1/4, 1/2, 1/4")
            for level, quantile in (
                (0.1, 0),
                (0.25, 0),
                (0.2500001, 1),
                (0.75, 1),
                (0.7500001, 2),
                (0.999, 2),
            )
        ),
    ],
)
def test_the_quantile_is_the_smallest_value_that_reaches_the_level(loss, level, expected):
    assert exact_quantile(loss, level).exact == expected


@pytest.mark.parametrize(
    "loss",
    [ROOTS, BELL, large_parts(3)],
    ids=["too many sums", "continuous", "two parts beside a counted one"],
)
def test_what_has_too_many_sums_or_a_density_gets_no_answer(loss):
    assert is_discrete(loss) == (loss is not BELL)
    assert exact_violation(loss, 1.0) is None
    assert exact_quantile(loss, 0.5) is None
    assert exact_violation(large_parts(2), 0.0) is not None


def test_probability_equal_to_the_budget_is_within_it_and_the_next_one_is_not():
    found = exact_violation(tosses(1, law=Empirical(values=(1.0, 0.0), weights=(0.05, 0.95))), 0.5)
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


def by_numpy(loss):
    """All sums and their weights, in doubles."""
    sums, weights = np.array([loss.constant]), np.ones(1)
    for term, _ in loss.terms:
        part, share = term.coefficient * np.array(term.law.values), np.array(term.law.weights or 1.0)
        sums = np.add.outer(sums, part).ravel()
        weights = np.multiply.outer(weights, share * np.ones(part.size)).ravel()
    return sums, weights


@pytest.mark.parametrize(("sizes", "weighted"), [((300, 300), False), ((2, 3, 10, 400), True)])
def test_many_sums_of_two_large_parts_are_counted_exactly_in_any_order(sizes, weighted):
    """No two of them are equal, so there are far more than are ever formed."""
    rng = np.random.default_rng(sum(sizes))
    weights = zip((1.0, -0.5, 0.25, 3.0), sizes, strict=False)
    loss = FinalLoss(0.3, tuple((Term(weight, spread(rng, size, weighted)), 1) for weight, size in weights))
    sums, weights = by_numpy(loss)
    assert sums.size > 20_000
    order = np.argsort(sums)
    reached, total = np.cumsum(weights[order]), int(weights.sum())
    for level in (0.001, 0.5, 0.9):
        threshold = float(np.quantile(sums, level))
        expected = Fraction(int(weights[sums > threshold + 1e-9].sum()), total)
        for terms in (loss.terms, loss.terms[::-1]):
            assert exact_violation(FinalLoss(0.3, terms), threshold).exact == expected
        found = float(exact_quantile(loss, level).exact)
        needed = float(decimal(level) * total)
        assert found == pytest.approx(sums[order][np.argmax(reached >= needed - 1e-6)], abs=1e-9)
    for end, level, violated in ((sums.min() - 1, 1e-9, 1), (sums.max() + 1, 1 - 1e-9, 0)):
        assert exact_violation(loss, end).exact == violated
        known = sums.min() if violated else sums.max()
        assert float(exact_quantile(loss, level).exact) == pytest.approx(known, abs=1e-12)


small_laws = st.lists(
    st.tuples(st.integers(-6, 6), st.integers(1, 9)), min_size=1, max_size=4, unique_by=lambda pair: pair[0]
).map(lambda pairs: Empirical(values=tuple(v / 4 for v, _ in pairs), weights=tuple(w / 10 for _, w in pairs)))
small_losses = st.lists(
    st.tuples(st.sampled_from([-1.0, -0.5, 0.3, 2.0]), small_laws, st.integers(1, 2)), max_size=3
)


@given(small_losses, st.integers(-20, 20).map(lambda n: n / 8))
def test_violation_and_quantile_agree_with_enumeration(parts, threshold):
    loss = FinalLoss(1.5, tuple((Term(coefficient, law), count) for coefficient, law, count in parts))
    assert exact_violation(loss, threshold).exact == above(loss, written(threshold) + Fraction(1, 10**9))
    quantile = exact_quantile(loss, 0.8).exact
    assert above(loss, quantile) <= Fraction(1, 5) < above(loss, quantile - Fraction(1, 10**9))


def test_sums_of_many_atoms_are_broken_off_when_time_is_over():
    rng = np.random.default_rng(1)
    many = FinalLoss(0.0, ((Term(1.0, Empirical(values=tuple(rng.normal(size=100).tolist()))), 3),))
    with deadline(lambda: 1.0), pytest.raises(OutOfTimeError):
        exact_violation(many, 0.0)
