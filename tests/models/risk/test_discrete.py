"""Sums of atoms: exact, counted but not formed, merged, or on the grid; lenient for plans, not for sums."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from depl import risk
from depl.models.foundation.deadline import OutOfTimeError, deadline
from depl.models.problem.laws import Empirical, Normal
from depl.models.risk.discrete import decimal, exact_quantile, exact_violation, few_atoms, is_discrete
from depl.models.risk.grid import grid_quantile, grid_violation
from tests.oracles.atoms import law_of, written
from tests.problems import COIN, atoms, loss

BILLIONTH = Fraction(1, 10**9)


def tosses(count, law=COIN):
    return loss(0.0, (1.0, law, count))


def heads(count, at_least):
    return sum(Fraction(math.comb(count, k), 2**count) for k in range(at_least, count + 1))


def nearly_thirds():
    """Sixty different doubles next to one third: equal by intent, so 61 atoms and not 2**60."""
    near = itertools.accumulate(range(60), lambda double, _: math.nextafter(double, 1), initial=1 / 3)
    return loss(0.0, *((double, COIN) for double in list(near)[1:]))


def large_parts(count):
    """300 sums each; of three of them 300 * 300 sums would have to be formed."""
    rng = np.random.default_rng(4)
    values = (np.round(rng.normal(size=300), 12).tolist() for _ in range(count))
    return loss(0.0, *((1.0, atoms(*part)) for part in values))


DECIMALS = loss(0.0, *((1.0, atoms(v, v + 1)) for v in (0.1, 0.2)))
LARGE = tosses(1, atoms(1e14, 1e14 + 1, 1e14 + 2))
EIGHTHS = tosses(1, atoms(*(k / 8 for k in range(25_000))))
PAIR = tosses(2, atoms(*(k / 1000 for k in range(1001))))
ABOVE = Fraction(1 + 2 + 3, 1001**2)
"""Of the sums 0, 1, ..., 2000 in thousandths, 1.998, 1.999 and 2 have 3, 2 and 1 of the pairs."""
ROOTS = loss(0.0, *((math.sqrt(k), COIN) for k in range(2, 40) if math.isqrt(k) ** 2 != k))
BELL = loss(0.0, (1.0, COIN), (1.0, Normal(mean=0.0, variance=1.0)))


@pytest.mark.parametrize(
    ("given", "threshold", "expected"),
    [
        pytest.param(tosses(40), 17.0, heads(40, 18), id="17 of 40"),
        pytest.param(loss(20.0, (-0.01, COIN, 1000)), 14.9, 1 - heads(1000, 510), id="below 510 of 1000"),
        pytest.param(nearly_thirds(), 10.0, heads(60, 31), id="rounded coefficients"),
        pytest.param(LARGE, 1e14, Fraction(2, 3), id="large and one apart"),
        pytest.param(EIGHTHS, 100.0, Fraction(25_000 - 801, 25_000), id="more values than are ever formed"),
        pytest.param(PAIR, 1.9975, ABOVE, id="counted, between atoms"),
        pytest.param(PAIR, 1.998 - 0.9e-9, Fraction(3, 1001**2), id="counted, met within a billionth"),
        pytest.param(PAIR, 1.998 - 1.1e-9, ABOVE, id="counted, missed by more"),
    ],
)
def test_violations_are_those_of_whole_fractions(given, threshold, expected):
    found = exact_violation(given, threshold)
    assert found.exact == expected
    assert Fraction(found.lower) <= expected <= Fraction(found.upper)
    assert found.upper <= math.nextafter(found.lower, 1)


@pytest.mark.parametrize(
    ("given", "level", "expected"),
    [
        pytest.param(DECIMALS, 0.25, Fraction(3, 10), id="0.1 + 0.2 is 0.3, and more in doubles"),
        pytest.param(LARGE, 0.6, 10**14 + 1, id="large and one apart"),
        pytest.param(PAIR, 1 - ABOVE, Fraction(1997, 1000), id="counted, at an edge"),
        pytest.param(PAIR, 1 - ABOVE + Fraction(1, 10**12), Fraction(1998, 1000), id="counted, beyond it"),
    ],
)
def test_the_quantile_is_the_smallest_value_that_reaches_the_level(given, level, expected):
    assert exact_quantile(given, level).exact == expected


@pytest.mark.parametrize(
    "given",
    [ROOTS, BELL, large_parts(3)],
    ids=["too many sums", "continuous", "two parts beside a counted one"],
)
def test_what_has_too_many_sums_or_a_density_gets_no_answer(given):
    assert is_discrete(given) == (given is not BELL)
    assert exact_violation(given, 1.0) is None
    assert exact_quantile(given, 0.5) is None
    assert exact_violation(large_parts(2), 0.0) is not None


def test_probability_equal_to_the_budget_is_within_it_and_the_next_one_is_not():
    found = exact_violation(tosses(1, atoms(1.0, 0.0, weights=(0.05, 0.95))), 0.5)
    budget = 1 - decimal(0.95)
    assert found.at_most(budget)
    assert not found.exceeds(budget)
    assert found.exceeds(budget - Fraction(1, 10**30))


small_laws = st.lists(
    st.tuples(st.integers(-6, 6), st.integers(1, 9)), min_size=1, max_size=4, unique_by=lambda pair: pair[0]
).map(lambda pairs: Empirical(values=tuple(v / 4 for v, _ in pairs), weights=tuple(w / 10 for _, w in pairs)))
small_losses = st.lists(
    st.tuples(small_laws, st.sampled_from([-1.0, -0.5, 0.3, 2.0]), st.integers(0, 2)), max_size=2
)


@given(small_losses, st.floats(0, 1), st.sampled_from([Fraction(0), Fraction(1, 8), BILLIONTH * 9 / 10]))
def test_however_atoms_are_counted_it_is_as_by_enumeration(parts, place, below):
    """At an atom or below it; grids err by what they round, which is nothing for many of these atoms."""
    given = loss(1.5, *((coefficient, law, count) for law, coefficient, count in parts))
    truth = law_of(given)
    atom = sorted(truth)[round(place * (len(truth) - 1))]
    value = float(atom - below)

    def more(edge):
        return sum((share for found, share in truth.items() if found > edge), Fraction(0))

    expected, lenient = more(written(value)), more(written(value) + BILLIONTH)
    assert exact_violation(given, value).exact == lenient
    assert grid_violation(given, value, 256).lower <= lenient + Fraction(1, 10**12)
    assert lenient <= grid_violation(given, value, 256).upper + Fraction(1, 10**12)
    assert risk.probability(parts, value, constant=1.5, above=True).exact == expected
    at_most = risk.probability(parts, value, constant=1.5)
    assert at_most.exact == 1 - expected
    assert Fraction(at_most.lower) <= at_most.exact <= Fraction(at_most.upper)
    for level in (1 - more(atom), 1 - more(atom) - truth[atom] / 2):
        if 0 < level < 1:
            assert exact_quantile(given, level).exact == atom
            assert risk.quantile(parts, level, constant=1.5).exact == atom
            found = grid_quantile(given, level - BILLIONTH, 256)
            assert found.lower <= atom + BILLIONTH
            assert grid_quantile(given, level, 256).upper >= atom - BILLIONTH


def test_atoms_are_counted_without_leniency_where_there_is_no_plan():
    assert risk.probability([atoms(0.0, 1e-10)], 0.0).exact == Fraction(1, 2)
    for value, reached in ((0.3, 1), (0.29999999999999999, 1), (0.2999999999999999, 0)):
        assert risk.probability([(atoms(0.1), 1.0, 3)], value).exact == reached


def test_partial_sums_that_were_merged_leave_an_interval_and_no_wrong_number():
    """Two values 1e-16 apart are one atom of the exact sums; close to them the answer says so."""
    terms = [(atoms(1.0, 1.0000000000000002, 5.0), 1.0, 4), (COIN, 1.0)]
    truth = law_of(loss(0.0, *((weight, law, *count) for law, weight, *count in terms)))
    for near in map(float, sorted(truth)):
        at_most = sum((p for value, p in truth.items() if value <= written(near)), Fraction(0))
        found = risk.probability(terms, near)
        assert Fraction(found.lower) <= at_most <= Fraction(found.upper)
        assert found.exact in (None, at_most)
    found = risk.quantile(terms, Fraction(1, 4))
    sums = itertools.accumulate(truth[value] for value in sorted(truth))
    least = next(v for v, total in zip(sorted(truth), sums, strict=True) if total >= Fraction(1, 4))
    assert Fraction(found.lower) <= least <= Fraction(found.upper)


def test_atoms_are_moved_by_less_than_the_tolerance_at_any_scale():
    """Five tosses of 2e-10 beside a million."""
    values, _, moved = few_atoms(loss(1e6, (1.0, atoms(0.0, 2e-10), 5)), 100)
    assert len(values) == 6
    assert moved <= 1e-10


def test_sums_of_very_many_values_are_contained():
    """20 irrational values, eight times: all sums of four, twice, counted by sorting."""
    values = np.random.default_rng(2605).lognormal(size=20)
    four = np.sort([sum(part) for part in itertools.product(values.tolist(), repeat=4)])
    terms = [(atoms(*values.tolist()), 1.0, 8)]
    for value in (8.0, 12.5, 20.0):
        truth = float(np.searchsorted(four, value - four, side="right").sum()) / 20**8
        found = risk.probability(terms, value)
        assert found.how == "directed grid"
        assert found.lower - 1e-9 * truth <= truth <= found.upper + 1e-9 * truth
        assert found.width < 1e-2
        late = risk.quantile(terms, truth)
        assert late.lower <= value + 1e-6
        assert late.upper >= value - 1e-2


def test_sums_of_many_atoms_are_broken_off_when_time_is_over():
    many = tosses(3, atoms(*np.random.default_rng(1).normal(size=100).tolist()))
    with deadline(lambda: 1.0), pytest.raises(OutOfTimeError):
        exact_violation(many, 0.0)
