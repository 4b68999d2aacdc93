"""Random sums against ball arithmetic, which agrees with closed forms and with quadrature."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import Term
from depl.models.problem.laws import InverseGamma, Lognormal, Normal
from depl.models.risk.certify import certified_margin, contour_violation
from depl.models.risk.contour import choose_contour, label_table, violation
from depl.models.risk.verdicts import LossClasses, PreparedVerdicts, Verdict
from tests.oracles.ball_arithmetic import BallSum, convolved, distribution_function, mean, transform
from tests.problems import atoms, student

DIGITS, BITS = 20.0, 170
"""Of the balls, which are smaller than 1e-19 times the probability."""
PAPER = InverseGamma(shape=20.0, scale=19.0)


# --- the balls ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "law",
    [
        InverseGamma(shape=1.5, scale=0.5),
        InverseGamma(shape=102.0, scale=101.0),
        pytest.param(Lognormal(log_mean=-0.1, log_variance=0.04), marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.parametrize("level", [0.5, 1e-8])
def test_one_increment_has_its_distribution_function(law, level):
    with ctx.workprec(160):
        y = float(law.quantile(level)) - float(mean(law).mid())
        found = BallSum([(Term(-1.0, law), 1)], level, y, digits=18).probability(y)
        assert found.overlaps(distribution_function(law, acb(mean(law) + y)).real)
        assert found.rad() < 1e-18 * level


@pytest.mark.parametrize(
    ("second", "deviation"),
    [(InverseGamma(shape=7.0, scale=3.0), -0.45), (Normal(mean=0.2, variance=0.01), -0.1)],
    ids=str,
)
def test_two_increments_agree_with_quadrature_of_the_convolution(second, deviation):
    terms = (Term(-1.0, InverseGamma(shape=5.0, scale=4.0)), Term(-0.7, second))
    with ctx.workprec(160):
        found = BallSum([(term, 1) for term in terms], 1e-3, deviation).probability(deviation)
        expected = convolved(*terms, deviation)
        assert found.overlaps(expected)
        assert max(found.rad(), expected.rad()) < 1e-20


def test_a_switch_by_a_point_mass_only_shifts_the_gain():
    with ctx.workprec(160):
        plain = BallSum([(Term(-1.0, PAPER), 1)], 1e-3, -0.4)
        shifted = BallSum([(Term(-1.0, PAPER), 1), (Term(1.0, atoms(0.3)), 1)], 1e-3, -0.4)
        assert shifted.probability(-0.4).overlaps(plain.probability(-0.4))
        assert abs(shifted.expectation - (1 - arb(0.3))) < 1e-30


def test_what_has_no_transform_is_refused():
    with pytest.raises(NotCoveredError, match="no transform"):
        transform(student(3.0), acb(1))
    with pytest.raises(NotCoveredError, match="does not converge"):
        transform(InverseGamma(shape=3.0, scale=1.0), acb(arb(1, 1e-3)))


# --- random plans -------------------------------------------------------------------------------------------


def random_plans(rng, plans):
    """Three random laws with decay, a lognormal and two switches; plans of K/4 to K epochs, K up to 300."""
    epochs = int(math.exp(rng.uniform(0, math.log(301))))
    shapes = np.exp(rng.uniform(math.log(2.1), math.log(1000), 3))
    laws = [InverseGamma(shape=a, scale=(a - 1) * float(rng.uniform(0.5, 1.5))) for a in shapes.tolist()]
    terms = [Term(-1 / math.sqrt(k + 1.0), law) for k in range(1, epochs + 1) for law in laws]
    skew = Lognormal(mean=float(rng.uniform(0.5, 1.5)), variance=float(rng.uniform(0.005, 0.5)))
    jump = student(float(rng.uniform(1.5, 8.0)), 0.1, float(rng.uniform(0.02, 0.1)), -0.2, 0.8)
    terms += [Term(-0.4, skew), Term(1.0, Normal(mean=0.05, variance=0.001)), Term(1.0, jump)]
    counts = np.zeros((plans, 3 * epochs + 3), dtype=np.int16)
    counts[np.arange(plans)[:, None], 3 * np.arange(epochs) + rng.integers(0, 3, (plans, epochs))] = 1
    lengths = rng.integers(max(1, epochs // 4), epochs + 1, plans)
    counts[:, :-3] *= np.repeat(np.arange(1, epochs + 1), 3) <= lengths[:, None]
    if epochs <= 60:
        counts[:, -3:] = rng.integers(0, 3, (plans, 3)) * (rng.random((plans, 1)) < 0.5)
    return tuple(terms), counts


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_no_interval_and_no_verdict_misses_the_ball(part):
    """Next to the quantile of each plan at the budget, on either side of it, and far from it."""
    rng, plans = np.random.default_rng([20260215, part]), 5
    terms, counts = random_plans(rng, plans)
    budget = Fraction(1, int(rng.choice([2, 10, 20, 100, 1000, 10_000, 10**8])))
    losses = [LossClasses(terms, counts, np.zeros(plans)).loss(index) for index in range(plans)]
    margins = [certified_margin(loss, budget) for loss in losses]
    contour, seen = choose_contour(losses[0].terms, float(budget)), set()
    table = label_table(terms, contour).combine(counts)
    balls = [
        BallSum(loss.terms, float(budget), -margin.lower, DIGITS, BITS)
        for loss, margin in zip(losses, margins, strict=True)
    ]
    with ctx.workprec(2 * BITS):
        for ball, margin in zip(balls, margins, strict=True):
            assert ball.probability(-margin.upper) <= float(budget) <= ball.probability(-margin.lower)
    for share in (0.9, 0.999, 1.0 - 1e-6, 1.0 + 1e-6, 1.001, 1.1):
        gains = np.array([-loss.mean() - share * m.middle for loss, m in zip(losses, margins, strict=True)])
        lower, upper = violation(contour, table, gains, 0.0)
        verdicts = PreparedVerdicts(0.0, budget).many(LossClasses(terms, counts, gains))
        for index, (loss, ball) in enumerate(zip(losses, balls, strict=True)):
            own = contour_violation(loss, -float(gains[index]))
            with ctx.workprec(2 * BITS):
                truth = ball.probability(arb(float(gains[index])) - ball.expectation)
            assert max(lower[index], own.lower) <= truth.upper()
            assert truth.lower() <= min(upper[index], own.upper)
            assert verdicts[index] != Verdict.MET or truth.lower() <= float(budget)
            assert verdicts[index] != Verdict.VIOLATED or truth.upper() >= float(budget)
        seen |= set(verdicts.tolist())
    assert {Verdict.MET, Verdict.VIOLATED} <= seen
