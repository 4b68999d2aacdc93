"""Log-transforms by interpolation: closed forms of normal laws, the certified quantile of the others."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from depl.heuristics.depl.labels import Cumulants, Saddle
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk.certify import certified_quantile
from depl.models.risk.cores import core_term
from depl.models.risk.transforms import centred_log_transform

BELL = Normal(mean=1.0, variance=0.3)
HEAVY = InverseGamma(shape=3.0, scale=2.0)
SKEW = Lognormal(mean=1.0, variance=2.0)
CUT = StudentT(degrees_of_freedom=2.0, location=0.1, scale=0.2, lower=-1.0, upper=2.0)


@pytest.mark.parametrize(
    ("law", "sign"), [(BELL, -1), (BELL, 1), (HEAVY, -1), (SKEW, -1), (CUT, 1), (CUT, -1)]
)
def test_interpolated_values_are_those_of_the_transform(law, sign):
    arguments = sign * np.geomspace(1e-3, 30, 47).reshape(47, 1)
    exact = centred_log_transform(law, -arguments.astype(complex))[0].real
    assert Cumulants().of(law, arguments) == pytest.approx(exact, rel=3e-5)


def test_tables_grow_with_what_is_asked_and_change_nothing():
    grown, whole = Cumulants(), np.geomspace(0.01, 10, 30)
    for part in (whole[10:20], whole[:10], whole[20:]):
        grown.of(HEAVY, -part)
    assert grown.of(HEAVY, -whole) == pytest.approx(Cumulants().of(HEAVY, -whole), rel=1e-12)
    assert grown.of(HEAVY, np.zeros(2)).tolist() == [0, 0]


def test_a_law_without_exponential_moments_is_replaced_by_its_core():
    law = StudentT(degrees_of_freedom=3.0, location=0.0, scale=0.1)
    core = core_term(Term(1.0, law), 1e-3)
    cumulants = Cumulants(lambda term: core_term(term, 1e-3) if term.law == law else term)
    exact = centred_log_transform(core.law, np.array([-2.0 + 0j]))[0].real
    assert cumulants.of(law, np.array([2.0])) == pytest.approx(exact, rel=1e-4)


def test_the_saddle_point_of_a_normal_sum_is_z_over_sigma():
    """By Lugannani and Rice the normal tail is exact: x = z sigma at s = z / sigma."""
    terms = [(Term(-0.5, BELL), 4), (Term(-2.0, BELL), 1)]
    deviation = math.sqrt((4 * 0.25 + 4) * 0.3)
    for budget in (0.2, 0.05, 1e-3):
        saddle = Saddle.of(Cumulants(), terms, deviation, budget)
        assert saddle is not None
        x, rate = saddle.at(budget)
        z = -float(special.ndtri(budget))
        assert x == pytest.approx(z * deviation, rel=1e-3)
        assert rate == pytest.approx(z / deviation, rel=1e-3)
    assert Saddle.of(Cumulants(), terms, deviation, 0.6) is None


@pytest.mark.parametrize("law", [HEAVY, SKEW])
def test_the_label_at_the_saddle_point_is_the_quantile_to_first_order(law):
    """One increment of 60 made larger by a tenth: the certified quantile moves as the label says."""
    budget, cumulants = Fraction(1, 20), Cumulants()
    terms = ((Term(-1.0, law), 30), (Term(-0.4, law), 30))
    loss = FinalLoss(0.0, terms)
    saddle = Saddle.of(cumulants, terms, math.sqrt(loss.variance()), float(budget))
    assert saddle is not None
    _, rate = saddle.at(float(budget))

    def label(coefficient: float) -> float:
        spread = float(cumulants.of(law, np.array(rate * coefficient))) / rate
        return coefficient * law.moments().mean + spread

    moved = FinalLoss(0.0, ((Term(-1.0, law), 29), (Term(-1.1, law), 1), (Term(-0.4, law), 30)))
    change = certified_quantile(moved, budget).upper - certified_quantile(loss, budget).upper
    assert label(-1.1) - label(-1.0) == pytest.approx(change, rel=0.02)
