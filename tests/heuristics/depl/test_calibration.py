"""Calibrated labels: exact at the loss they were calibrated on, and closed forms of normal losses."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from depl.heuristics.bounds.learning import Learning
from depl.heuristics.depl.labels import Cumulants, Judge, Reference, Saddle
from depl.heuristics.paths.additive_labels import best_rate
from depl.models.problem.epochs import Term
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.risk.transforms import centred_log_transform, transformable
from tests.problems import COIN, CUT, drawn, loss, student

STANDARD = Normal(mean=0, variance=1)


def sums(instance, rng, count):
    """Final losses of a few sequences on random data factors."""
    learning = Learning.of(instance)
    found = []
    while len(found) < count:
        length = int(rng.integers(1, instance.target.maximum_epochs + 1))
        models = rng.integers(len(instance.models), size=length).tolist()
        rows = [len(instance.models), *models[:-1]]
        if all(learning.allowed[p, m] for p, m in zip(rows, models, strict=True)):
            found.append(learning.loss(models, rng.choice([1.0, 0.7], size=length).tolist()))
    return found


@pytest.fixture(scope="module")
def some():
    return drawn([6, 6], 40, maximum_epochs=(4, 12))


def test_a_reference_knows_mean_and_spread_and_nearly_the_quantile_and_the_rate(some):
    """Within a tenth of the margin of the certified quantile for most sums of continuous laws."""
    rng = np.random.default_rng(1)
    errors, compared = [], 0
    for instance in some[::5]:
        judge = Judge(instance)
        [one] = sums(instance, rng, 1)
        reference = judge.reference(one)
        label = judge.label(reference, reference.deviation)
        assert label.quantile(one) == pytest.approx(reference.quantile, rel=1e-9, abs=1e-9)
        assert reference.mean == pytest.approx(one.mean(), rel=1e-12, abs=1e-12)
        assert reference.quantile == pytest.approx(reference.mean + reference.margin)
        if math.isfinite(one.variance()):
            assert reference.deviation == pytest.approx(math.sqrt(one.variance()), rel=1e-9)
        if not one.terms:
            assert (reference.deviation, reference.rate) == (0.0, None)
            continue
        assert 0 < reference.share <= 1
        exact = certified_quantile(one, judge.budget).upper
        errors.append(abs(reference.quantile - exact) / max(exact - reference.mean, 1e-9))
        if all(transformable(Term(-1.0, term.law)) for term, _ in one.terms):
            best = best_rate(one, judge.budget)
            atoms = any(isinstance(term.law, Empirical) for term, _ in one.terms)
            assert atoms or reference.rate == pytest.approx(best, rel=0.15)
            compared += not atoms
    assert len(errors) > 6
    assert np.quantile(errors, 0.75) < 0.02
    assert np.quantile(errors, 0.9) < 0.15
    assert compared > 3


@pytest.mark.parametrize(("level", "deviation"), [(0.8, 5.0), (0.999, 0.3)])
def test_a_normal_loss_has_closed_forms(bell, level, deviation):
    """With R = sqrt(2 ln 1/p): Chernoff's best rate is R / sigma, its bound R sigma, the quantile z sigma."""
    judge = Judge(bell.replace(quantile_level=level))
    reference = judge.reference(loss(7, (deviation / 2, STANDARD, 4)))
    root, score = math.sqrt(2 * math.log(1 / (1 - level))), float(special.ndtri(level))
    assert reference.deviation == pytest.approx(deviation)
    assert reference.margin == pytest.approx(score * deviation, rel=1e-2)
    assert reference.rate == pytest.approx(root / deviation, rel=0.2)  # one of a grid
    assert reference.share == pytest.approx(score / root, rel=0.02)


def test_a_loss_without_randomness_is_its_own_quantile(steady):
    judge = Judge(steady)
    reference = judge.reference(loss(5))
    assert reference == Reference(5.0, 0.0, 5.0, None, reference.share)
    assert judge.label(reference, 0.0).quantile(loss(5.5)) == 5.5
    assert judge.met(loss(6))
    assert not judge.met(loss(6.1))


def test_what_is_met_is_certified_and_tails_are_not_below_the_violation(some):
    rng = np.random.default_rng(3)
    for instance in some[:12:4]:
        [one] = sums(instance, rng, 1)
        quantile = certified_quantile(one, instance.target.violation_budget)
        for level in (quantile.lower - 1e-3, quantile.upper + 1e-3):
            judge = Judge(instance.replace(maximum_loss=level))
            known = certified_violation(one, level)
            assert judge.met(one) == (level > quantile.upper)
            assert not judge.met(one) or known.upper <= float(judge.budget) * (1 + 1e-12)
            tail = judge.tail(one)
            assert known.lower - 1e-9 <= tail
            whole = all(transformable(Term(-1.0, term.law)) for term, _ in one.terms)  # no tails cut off
            if (
                math.isfinite(tail) and whole and known.upper < 0.3
            ):  # contours are made for tails near the target
                assert tail <= known.upper * 1.01 + 1e-6


def test_atoms_are_judged_exactly_when_they_are_few(bell):
    """Ten fair coins: P(sum > 7) = 56 / 1024 and P(sum > 6) = 176 / 1024, so the 0.9 quantile is 7."""
    assert Judge(bell).reference(loss(0, (1, COIN, 10))).quantile == pytest.approx(7, abs=1e-6)


@pytest.mark.parametrize(
    ("given", "near"),
    [
        pytest.param(loss(5, (1, student(1.5)), (-1, Normal(mean=2, variance=1), 3)), 0.25, id="1.5 moments"),
        pytest.param(loss(5, (-1, Lognormal(log_mean=0, log_variance=4), 6)), 1, id="a skewed gain"),
    ],
)
def test_laws_without_exponential_moments_get_a_label_without_their_far_tails(bell, given, near):
    judge = Judge(bell)
    reference, exact = judge.reference(given), certified_quantile(given, Fraction(1, 10)).upper
    assert abs(reference.quantile - exact) <= near * abs(exact - reference.mean)
    label = judge.label(reference, reference.deviation)
    assert label.quantile(given) == pytest.approx(reference.quantile, rel=1e-9)


# --- log-transforms by interpolation -----------------------------------------------------------------------

BELL = Normal(mean=1.0, variance=0.3)
HEAVY = InverseGamma(shape=3.0, scale=2.0)
SKEW = Lognormal(mean=1.0, variance=2.0)


@pytest.mark.parametrize(
    ("law", "sign"), [(BELL, -1), (BELL, 1), (HEAVY, -1), (SKEW, -1), (CUT, 1), (CUT, -1)]
)
def test_interpolated_values_are_those_of_the_transform(law, sign):
    arguments = sign * np.geomspace(1e-3, 30, 47).reshape(47, 1)
    exact = centred_log_transform(law, -arguments.astype(complex))[0].real
    cumulants = Cumulants()
    cumulants.of(law, arguments[20:30])  # tables grow with what is asked
    assert cumulants.of(law, arguments) == pytest.approx(exact, rel=3e-5)
    assert cumulants.of(law, np.zeros(2)).tolist() == [0, 0]


def test_the_saddle_point_of_a_normal_sum_is_z_over_sigma():
    """By Lugannani and Rice the normal tail is exact: x = z sigma at s = z / sigma."""
    terms = [(Term(-0.5, BELL), 4), (Term(-2.0, BELL), 1)]
    deviation = math.sqrt((4 * 0.25 + 4) * 0.3)
    for budget in (0.2, 0.05, 1e-3):
        saddle = Saddle.of(Cumulants(), terms, deviation, budget)
        x, rate = saddle.at(budget)
        z = -float(special.ndtri(budget))
        assert x == pytest.approx(z * deviation, rel=1e-3)
        assert rate == pytest.approx(z / deviation, rel=1e-3)
    assert Saddle.of(Cumulants(), terms, deviation, 0.6) is None
