"""Every error term of the contour is needed: each case exhausts one of them, and half of it is not enough.

The cases are chosen so that the true error is known in closed form and more than half of what the
term claims. A term that were too small by a factor of two would make its case fail.
"""

import dataclasses
import math

import numpy as np
import pytest

from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Empirical, InverseGamma, Normal
from depl.models.risk import contour as contour_module
from depl.models.risk.contour import Contour, choose_contour, distribution, error_terms, labels_of, violation

TERMS = ("high_alias", "high_alias_uncertain", "low_alias", "truncation", "rounding")


@dataclasses.dataclass(frozen=True)
class Situation:
    """A contour, the label of one gain, the deviation asked for, and the true probability."""

    contour: Contour
    labels: contour_module.Labels
    deviation: float
    truth: float

    def contained(self):
        lower, upper = distribution(self.contour, self.labels, np.array([self.deviation]))
        return bool(lower[0] <= self.truth <= upper[0])

    def terms(self):
        estimate, terms = error_terms(self.contour, self.labels, np.array([self.deviation]), np.zeros(1))
        return float(estimate[0]), {name: float(getattr(terms, name)[0]) for name in TERMS}


def labels_for(contour, *parts):
    return labels_of(FinalLoss(0.0, tuple((Term(-1.0, law), 1) for law in parts)), contour)


def normal_cdf(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def short_period():
    """Next to nothing of the gain lies a period of two units above y: the high alias is all of A."""
    law = InverseGamma(shape=40.0, scale=39.0)
    contour = Contour(abscissa=0.5, spacing=math.pi, count=60, tilt=30.0)
    # y lies between the mean and one period below the infimum, so that there is no low alias.
    return Situation(contour, labels_for(contour, law), 0.9, float(law.cdf(1.9)))


def two_points():
    """The law for which Cantelli's inequality is an equality: 2 with probability 1/5, -1/2 with 4/5."""
    spread = 0.01
    laws = Empirical(values=(-0.5, 2.0), weights=(4.0, 1.0)), Normal(mean=0.0, variance=spread**2)
    period = 2.0 - 6 * spread  # y = 0, so that y + P lies just below the upper point
    contour = Contour(abscissa=3.0 / period, spacing=2 * math.pi / period, count=320, tilt=30.0)
    return Situation(contour, labels_for(contour, *laws), 0.0, 0.8 * normal_cdf(0.5 / spread))


def lowest_atom():
    """Chernoff's bound is nearly an equality just above the lowest point of a law."""
    spread = 0.001
    laws = Empirical(values=(-0.5, 2.0), weights=(4.0, 1.0)), Normal(mean=0.0, variance=spread**2)
    period = 2.0
    contour = Contour(abscissa=0.5, spacing=2 * math.pi / period, count=3000, tilt=20.0)
    return Situation(contour, labels_for(contour, *laws), -0.5 + period + 6 * spread, 0.8)


def cut_off(side):
    """Omitted nodes of one sign: their phase is near pi/2 at the first one and turns slowly beyond."""
    law = Normal(mean=0.0, variance=1.0)
    contour = Contour(abscissa=1.5, spacing=0.03, count=107, tilt=6.0)
    last = contour.spacing * contour.count
    phase = side * math.pi / 2 / (1 + 1 / last**2)
    deviation = -contour.abscissa * law.variance + phase / last
    return Situation(contour, labels_for(contour, law), deviation, normal_cdf(deviation))


def misrounded(side):
    """Labels that are wrong by what they admit, at every node in the direction that hurts most."""
    law = InverseGamma(shape=40.0, scale=39.0)
    loss = FinalLoss(0.0, ((Term(-1.0, law), 1),))
    contour = choose_contour(loss.terms, 0.05)
    labels, deviation = labels_of(loss, contour), -0.25
    admitted = np.full(labels.rounding.shape, 1e-4)
    contributions = np.exp(labels.transform + deviation * contour.nodes) / contour.nodes
    wrong = labels.transform + side * admitted * np.exp(-1j * np.angle(contributions))
    labels = dataclasses.replace(labels, transform=wrong, rounding=admitted)
    return Situation(contour, labels, deviation, float(law.cdf(1.0 + deviation)))


SITUATIONS = {
    "a short period": (short_period(), "high_alias"),
    "two points": (two_points(), "high_alias_uncertain"),
    "the lowest atom": (lowest_atom(), "low_alias"),
    "too few nodes, too high": (cut_off(1.0), "truncation"),
    "too few nodes, too low": (cut_off(-1.0), "truncation"),
    "labels wrong upwards": (misrounded(1.0), "rounding"),
    "labels wrong downwards": (misrounded(-1.0), "rounding"),
}


def scale_term(monkeypatch, name, factor):
    original = contour_module.error_terms

    def scaled(*arguments):
        estimate, terms = original(*arguments)
        return estimate, terms._replace(**{name: factor * getattr(terms, name)})

    monkeypatch.setattr(contour_module, "error_terms", scaled)


@pytest.mark.parametrize("name", SITUATIONS)
def test_where_one_term_is_exhausted_half_of_it_is_not_enough_and_half_of_any_other_is(monkeypatch, name):
    situation, term = SITUATIONS[name]
    assert situation.contained()
    _, terms = situation.terms()
    others = sum(size for other, size in terms.items() if other not in (term, "high_alias"))
    assert terms[term] > 2 * others or term == "high_alias_uncertain"
    for halved in TERMS if term == "high_alias" else TERMS[1:]:
        with monkeypatch.context() as patch:
            scale_term(patch, halved, 0.5)
            assert situation.contained() == (halved != term)


def test_factors_that_do_not_decay_enter_the_truncation_by_their_value_on_the_axis():
    smooth, rough = Normal(mean=0.0, variance=1.0), Empirical(values=(-0.3, 0.3))
    contour = Contour(1.5, 0.02, 200, 6.0)
    alone = error_terms(contour, labels_for(contour, smooth), np.zeros(1), np.zeros(1))[1]
    both = error_terms(contour, labels_for(contour, smooth, rough), np.zeros(1), np.zeros(1))[1]
    assert both.truncation[0] == pytest.approx(math.cosh(0.45) * alone.truncation[0], rel=1e-9)


def test_without_any_decay_the_truncation_is_unbounded_and_the_interval_says_nothing():
    contour = Contour(1.5, 0.02, 200, 6.0)
    labels = labels_for(contour, Empirical(values=(-0.3, 0.3)))
    _, terms = error_terms(contour, labels, np.zeros(1), np.zeros(1))
    assert terms.truncation[0] == math.inf
    lower, upper = distribution(contour, labels, np.zeros(1))
    assert lower[0] == 0
    assert upper[0] == 1


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_mean_that_is_wrong_by_what_it_admits_is_covered_and_half_of_that_is_not(side):
    law = Normal(mean=0.0, variance=1.0)
    loss = FinalLoss(0.0, ((Term(-1.0, law), 1),))
    contour = choose_contour(loss.terms, 1e-8)
    admitted, threshold = 1e-5, -5.6
    labels = labels_of(loss, contour)
    wrong = dataclasses.replace(
        labels, mean=labels.mean + side * admitted, mean_rounding=np.array([admitted])
    )
    lower, upper = violation(contour, wrong, threshold)
    assert lower[0] <= normal_cdf(threshold) <= upper[0]
    timid = dataclasses.replace(wrong, mean_rounding=np.array([admitted / 2]))
    lower, upper = violation(contour, timid, threshold)
    assert not lower[0] <= normal_cdf(threshold) <= upper[0]
