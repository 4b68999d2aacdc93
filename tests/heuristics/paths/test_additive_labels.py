"""Labels that add up over the epochs: what each bounds, when it is tight, and what is refused."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from depl.heuristics.paths.additive_labels import (
    best_rate,
    entropic_label,
    evar_quantile,
    expected_label,
    normal_label,
)
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma, Normal
from depl.models.risk.certify import certified_quantile
from tests.oracles.tilted import tilted_term
from tests.problems import atoms, loss, student

P = Fraction(1, 20)
FAST = InverseGamma(mean=1.02, variance=0.031)
SLOW = InverseGamma(mean=0.98, variance=0.007)
PEAK = student(4, 0.3, 0.1, -0.5, 1.5)
MIXED = loss(20, (-1, FAST, 3), (-0.4, SLOW, 8), (1, PEAK, 2))
GAUSS = loss(10, (-1, Normal(mean=2.0, variance=0.25), 4))


@functools.cache
def mixed_quantile():
    return certified_quantile(MIXED, P).upper


@settings(max_examples=15)
@given(st.floats(0.05, 20))
def test_chernoffs_bound_never_lies_below_the_quantile(rate):
    label = entropic_label(P, rate)
    assert label.safe
    assert label.quantile(MIXED) >= mixed_quantile()
    tilted = sum(count * tilted_term(term, rate).log_transform for term, count in MIXED.terms)
    assert label.quantile(MIXED) == pytest.approx(20 + (tilted + math.log(20)) / rate, rel=1e-9)
    assert label.quantile(MIXED) >= evar_quantile(MIXED, 0.95) - 1e-9


def test_the_best_rate_gives_the_entropic_value_at_risk():
    deviation, nats = math.sqrt(GAUSS.variance()), math.sqrt(2 * math.log(20))
    assert best_rate(GAUSS, P) == pytest.approx(nats / deviation, rel=1e-4)
    assert evar_quantile(GAUSS, 0.95) == pytest.approx(GAUSS.mean() + nats * deviation, rel=1e-9)
    levels = [evar_quantile(MIXED, level) for level in (0.3, 0.9, 0.99, 0.9999)]
    assert all(one < other for one, other in itertools.pairwise([MIXED.mean(), *levels]))
    assert evar_quantile(loss(4), 0.95) == 4.0
    assert best_rate(loss(4), P) is None
    few = loss(9, (-1, atoms(2.0, 6.0), 2))
    assert entropic_label(P, best_rate(few, P)).quantile(few) >= certified_quantile(few, P).upper


@given(st.floats(0.01, 30))
def test_the_normal_label_lies_above_the_normal_quantile_and_touches_it_at_its_deviation(deviation):
    own = math.sqrt(MIXED.variance())
    exact = MIXED.mean() + float(special.ndtri(0.95)) * own
    assert normal_label(0.95, deviation).quantile(MIXED) >= exact - 1e-12
    assert normal_label(0.95, own).quantile(MIXED) == pytest.approx(exact, rel=1e-12)


def test_labels_add_up_over_the_parts_and_the_expected_one_is_the_mean():
    assert expected_label().quantile(MIXED) == pytest.approx(MIXED.mean(), rel=1e-14)
    rng = np.random.default_rng(3)
    terms = [Term(-float(rng.uniform(0.1, 2)), law) for law in (FAST, SLOW, FAST)]
    for label in (expected_label(), normal_label(0.9, 0.7), entropic_label(P, 2.0)):
        whole = label.quantile(FinalLoss(5.0, tuple((term, 2) for term in terms)))
        assert whole == pytest.approx(5 + 2 * label.values(terms).sum() + label.surcharge, rel=1e-13)


@pytest.mark.parametrize(
    ("law", "label", "words"),
    [
        (InverseGamma(shape=1.5, scale=1.0), normal_label(0.9, 1.0).quantile, "needs variances"),
        (student(3), entropic_label(P, 1.0).quantile, "no exponential"),
        (student(3), lambda given: best_rate(given, P), "no exponential"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_laws_without_what_a_label_needs_are_refused(law, label, words):
    with pytest.raises(NotCoveredError, match=words):
        label(loss(9, (1, law)))


@pytest.mark.parametrize(
    ("levels", "parameter", "words"),
    [
        *(((0.9, P), value, "positive") for value in (0.0, -1.0, math.inf, math.nan)),
        *(((level, level), 1.0, "between 0 and 1") for level in (0.0, 1.0)),
    ],
)
def test_parameters_that_cannot_be_are_refused(levels, parameter, words):
    with pytest.raises(InvalidInputError, match=words):
        normal_label(levels[0], parameter)
    with pytest.raises(InvalidInputError, match=words):
        entropic_label(levels[1], parameter)
