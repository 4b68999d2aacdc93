"""Probabilities and quantiles of sums, against closed forms, enumeration, quadrature and ball arithmetic."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import depl
from depl import risk
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Undeclared
from tests.cases.gamma_law import GammaLaw
from tests.oracles.atoms import law_of
from tests.problems import student


def contains(interval: risk.Interval, truth: float, slack: float = 1e-12) -> bool:
    """Whether a number known to a relative error of ``slack`` may lie in the interval."""
    return interval.lower - slack * abs(truth) <= truth <= interval.upper + slack * abs(truth)


def test_differences_of_exponentials_are_laplace(own_laws: None) -> None:
    """E exp(-s S) exists on neither half plane: no contour, and the grid answers."""
    depl.register_law(GammaLaw)
    terms = [(GammaLaw(shape=1.0, scale=2.0), sign) for sign in (1.0, -1.0)]
    for value in (-5.0, 0.3, 2.0):
        found = risk.probability(terms, value)
        assert contains(found, stats.laplace.cdf(value, scale=2.0))
        assert found.width < 1e-3


def test_sums_of_few_values_are_exact() -> None:
    rng = np.random.default_rng(2604)
    for _ in range(40):
        terms = []
        for _ in range(2):
            values = (rng.integers(-20, 20, int(rng.integers(1, 4))) / 10).tolist()
            coefficient, count = float(rng.integers(-9, 10)) / 4, int(rng.integers(0, 4))
            terms.append((risk.Empirical(values=tuple(values)), coefficient, count))
        loss = FinalLoss(0.0, tuple((Term(c, law), count) for law, c, count in terms))
        truth, at_most = law_of(loss), Fraction(0)
        for atom in sorted(truth):
            before, at_most = at_most, at_most + truth[atom]
            found = risk.probability(terms, float(atom))
            assert found.exact == at_most
            assert Fraction(found.lower) <= at_most <= Fraction(found.upper)
            assert risk.probability(terms, float(atom), above=True).exact == 1 - at_most
            if at_most < 1:
                assert risk.quantile(terms, at_most).exact == atom
                assert risk.quantile(terms, (before + at_most) / 2).exact == atom


def test_atoms_are_counted_without_leniency() -> None:
    """A plan forgives an atom that is 1e-9 beyond its target; a sum does not."""
    law = risk.Empirical(values=(0.0, 1e-10))
    assert risk.probability([law], 0.0).exact == Fraction(1, 2)
    assert risk.probability([(risk.Empirical(values=(0.1,)), 1.0, 3)], 0.3).exact == 1
    assert risk.probability([(risk.Empirical(values=(0.1,)), 1.0, 3)], 0.29999999999999999).exact == 1
    assert risk.probability([(risk.Empirical(values=(0.1,)), 1.0, 3)], 0.2999999999999999).exact == 0


def test_partial_sums_that_were_merged_leave_an_interval_and_no_wrong_number() -> None:
    """Two values 1e-16 apart are one atom of the exact sums; close to them the answer says so."""
    law = risk.Empirical(values=(1.0, 1.0000000000000002, 5.0))
    terms = [(law, 1.0, 4), (risk.Empirical(values=(0.0, 1.0)), 1.0)]
    truth = law_of(FinalLoss(0.0, ((Term(1.0, law), 4), (Term(1.0, risk.Empirical(values=(0.0, 1.0))), 1))))
    for atom in sorted(truth):
        near = float(atom)
        at_most = sum((p for value, p in truth.items() if value <= Fraction(str(near))), Fraction(0))
        found = risk.probability(terms, near)
        assert Fraction(found.lower) <= at_most <= Fraction(found.upper)
        assert found.exact in (None, at_most)
    found = risk.quantile(terms, Fraction(1, 4))
    sums = itertools.accumulate(truth[value] for value in sorted(truth))
    least = next(v for v, total in zip(sorted(truth), sums, strict=True) if total >= Fraction(1, 4))
    assert Fraction(found.lower) <= least <= Fraction(found.upper)


def test_sums_of_very_many_values_are_contained() -> None:
    """20 irrational values, eight times: all sums of four, twice, counted by sorting."""
    values = np.random.default_rng(2605).lognormal(size=20)
    four = np.sort([sum(part) for part in itertools.product(values.tolist(), repeat=4)])
    law = risk.Empirical(values=tuple(values.tolist()))
    for value in (8.0, 12.5, 20.0):
        truth = float(np.searchsorted(four, value - four, side="right").sum()) / 20**8
        found = risk.probability([(law, 1.0, 8)], value)
        assert found.how == "directed grid"
        assert contains(found, truth, 1e-9)
        assert found.width < 1e-2
        late = risk.quantile([(law, 1.0, 8)], truth)
        assert late.lower <= value + 1e-6
        assert late.upper >= value - 1e-2


@pytest.mark.parametrize("level", [0.003, 0.9])
def test_a_quantile_is_where_the_probability_passes_its_level(level: float) -> None:
    sums = [
        [(risk.Lognormal(mean=2.0, variance=3.0), 1.0, 5), (risk.InverseGamma(mean=1.0, variance=0.2), 0.5)],
        [(risk.Lognormal(mean=2.0, variance=3.0), -1.0, 5), risk.Normal(mean=0.0, variance=1.0)],
        [
            (student(4.0, 0.0, 1.0, -2.0, 3.0), -1.5, 3),
            risk.Empirical(values=(0.0, 2.0, 3.0)),
        ],
        [(student(4.0, 0.0, 1.0), 1.0, 2)],
    ]
    for terms in sums:
        found = risk.quantile(terms, level, constant=0.25)
        assert found.width < 2e-2
        assert risk.probability(terms, math.nextafter(found.lower, -math.inf), constant=0.25).lower <= level
        assert risk.probability(terms, math.nextafter(found.upper, math.inf), constant=0.25).upper >= level


def test_of_a_gap_at_the_level_the_least_value_is_taken() -> None:
    """Half of the law lies in [-1, 1], half in [99, 101]: the median is 1, though 99 is as good."""
    law = student(4.0, 0.0, 1.0, -1.0, 1.0)
    terms = [law, risk.Empirical(values=(0.0, 100.0))]
    assert risk.quantile(terms, 0.4999).upper < 1.001
    median = risk.quantile(terms, 0.5)
    assert median.lower <= 1.0 <= median.upper
    assert risk.quantile(terms, 0.5001).lower > 98.9


def test_constants_zeros_and_nothing_at_all() -> None:
    bell = risk.Normal(mean=0.0, variance=1.0)
    moved = risk.probability([bell, risk.Deterministic(value=0.1), (risk.Deterministic(value=0.2), 2.0)], 0.5)
    assert contains(moved, 0.5, 1e-15)
    assert moved.width < 1e-9
    same = risk.probability([bell, (bell, 0.0), (bell, 5.0, 0)], 1.0)
    assert contains(same, stats.norm.cdf(1.0))
    assert risk.probability([], 1.0, constant=1.0).exact == 1
    assert risk.probability([], 0.9, constant=1.0).exact == 0
    fixed = risk.probability([(risk.Deterministic(value=0.1), 1.0, 3)], 0.3)
    assert fixed.exact == 1
    assert risk.quantile([(risk.Deterministic(value=0.1), 1.0, 3)], 0.5).exact == Fraction(3, 10)


BELL = risk.Normal(mean=0.0, variance=1.0)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: risk.probability([0.5], 1.0), r"terms\[0\]: must be a law, with a coefficient"),
        (lambda: risk.probability([("normal", 1.0)], 1.0), r"terms\[0\]: law: must be a Law, not str"),
        (lambda: risk.probability([(BELL, math.nan)], 1.0), "coefficient"),
        (lambda: risk.probability([(BELL, 1.0, -1)], 1.0), "count: must be"),
        (lambda: risk.probability([(BELL, 1.0, 1.5)], 1.0), "count: must be"),
        (lambda: risk.probability([], math.inf), "value: must be a finite number"),
        (lambda: risk.probability([], 1.0, constant=math.nan), "constant: must be a finite number"),
        (lambda: risk.quantile([], 0.0), "level: must lie between 1e-14"),
        (lambda: risk.quantile([], math.nan), "level: must be a number"),
        (lambda: risk.quantile([], 1.0), "level: must lie between 1e-14"),
        (lambda: risk.probability([Undeclared()], 1.0), "has no probabilities"),
    ],
)
def test_what_is_no_sum_of_laws_is_refused(ask, message: str) -> None:
    with pytest.raises((InvalidInputError, NotCoveredError), match=message):
        ask()
