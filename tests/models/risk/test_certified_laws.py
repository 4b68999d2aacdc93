"""Certified probabilities of sums of every law, against ball arithmetic or rigorous quadrature."""

import math
from fractions import Fraction

import flint
import pytest
from flint import acb, arb

from depl.models.foundation.interval import Interval
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import (
    Empirical,
    InverseGamma,
    Law,
    Lognormal,
    Normal,
    StudentT,
    register_law,
)
from depl.models.risk.certify import certified_quantile, certified_violation
from tests.cases.gamma_law import BareGammaLaw, GammaLaw
from tests.oracles.ball_arithmetic import BallSum

BELL = Term(-1.0, Normal(mean=0.3, variance=0.01))
BITS = 140


def contains(interval: Interval, ball: arb) -> bool:
    return bool(arb(interval.lower) <= ball) and bool(ball <= arb(interval.upper))


@pytest.fixture(autouse=True)
def _registered(own_laws: None) -> None:
    register_law(GammaLaw)
    register_law(BareGammaLaw)


@pytest.mark.parametrize("law", [
    InverseGamma(mean=1.0, variance=0.04),
    Lognormal(mean=1.0, variance=0.04),
    Normal(mean=1.0, variance=0.04),
    Empirical(values=(0.5, 1.0, 2.0)),
    StudentT(degrees_of_freedom=5.0, location=1.0, scale=0.1, lower=0.5, upper=1.6),
], ids=lambda law: type(law).__name__)  # fmt: skip
@pytest.mark.parametrize("below_mean", [(1.0, 0.0), pytest.param((0.4,), marks=pytest.mark.slow)])
def test_sums_of_a_law_of_the_toolkit_and_a_normal_one_are_contained(
    law: Law, below_mean: tuple[float, ...]
) -> None:
    terms = ((Term(-1.0, law), 3), (BELL, 1))
    mean = 3 * law.moments().mean + 0.3
    for gain in (mean - distance for distance in below_mean):
        ball = BallSum(terms, 0.05, gain - mean, digits=14.0)
        with flint.ctx.workprec(BITS):
            truth = ball.probability(arb(gain) - ball.expectation)
        found = certified_violation(FinalLoss(10.0, terms), 10.0 - gain)
        assert found.lower - 1e-14 <= float(truth.mid()) <= found.upper + 1e-14
        assert found.width < 1e-6


def below(law: Law, count: int, gain: float) -> arb:
    """P(X_1 + ... + X_count < gain) of independent gamma variables: a gamma distribution function."""
    assert isinstance(law, GammaLaw | BareGammaLaw)
    shape, scale = count * arb(law.shape), arb(law.scale)
    return 1 - acb(arb(gain) / scale).gamma_upper(acb(shape), regularized=1).real


GAMMAS = [(25.0, 0.04, 4), (4.0, 0.5, 6), (0.7, 2.0, 3)]


@pytest.mark.parametrize("kind", [GammaLaw, BareGammaLaw])
@pytest.mark.parametrize(("shape", "scale", "count"), GAMMAS)
@pytest.mark.parametrize("share", [0.4, 1.2, *(pytest.param(s, marks=pytest.mark.slow) for s in (0.7, 1.0))])
def test_sums_of_gamma_laws_contain_ball_arithmetic(
    kind: type[GammaLaw] | type[BareGammaLaw], shape: float, scale: float, count: int, share: float
) -> None:
    law = kind(shape=shape, scale=scale)
    gain = share * count * shape * scale
    found = certified_violation(FinalLoss(gain, ((Term(-1.0, law), count),)), 0.0)
    with flint.ctx.workprec(BITS):
        assert contains(found, below(law, count, gain))
    assert found.width < (1e-8 if kind is GammaLaw and count * shape > 20 else 2e-3)


@pytest.mark.parametrize("kind", [GammaLaw, BareGammaLaw])
def test_a_gamma_law_that_raises_the_loss_is_certified_too(
    kind: type[GammaLaw] | type[BareGammaLaw],
) -> None:
    law = kind(shape=4.0, scale=0.05)
    found = certified_violation(FinalLoss(1.0, ((Term(1.0, law), 2),)), 1.6)
    with flint.ctx.workprec(BITS):
        assert contains(found, 1 - below(law, 2, 0.6) + arb(0, 1e-15))
    assert found.width < 2e-3


def convolved(law: GammaLaw, gain: float) -> arb:
    """P(X + N < gain), N normal with mean 0.3 and variance 0.01, by rigorous integration over x."""
    shape, scale = arb(law.shape), arb(law.scale)

    def integrand(x: acb, analytic: bool) -> acb:
        density = ((shape - 1) * x.log(analytic=analytic) - x / scale - shape.lgamma()).exp()
        density = density / (scale.log() * shape).exp()
        return density * ((arb(0.3) - (gain - x)) / (arb(2) * arb(0.01)).sqrt()).erfc() / 2

    total = acb.integral(integrand, arb("1e-12"), arb(8), eval_limit=10**5).real
    left_out = below(law, 1, 1e-12) + 1 - below(law, 1, 8.0)
    return total + arb(0).union(left_out)


@pytest.mark.parametrize("gain", [0.6, 0.9, 1.3])
def test_gamma_and_normal_together_contain_ball_arithmetic(gain: float) -> None:
    law = GammaLaw(shape=25.0, scale=0.04)
    found = certified_violation(FinalLoss(gain, ((Term(-1.0, law), 1), (BELL, 1))), 0.0)
    with flint.ctx.workprec(BITS):
        truth = convolved(law, gain)
        assert float(truth.rad()) < 1e-11
        assert found.lower <= float(truth.upper())
        assert float(truth.lower()) <= found.upper
    assert found.width < 1e-9


@pytest.mark.parametrize("kind", [GammaLaw, BareGammaLaw])
def test_quantiles_of_gamma_sums_are_contained(kind: type[GammaLaw] | type[BareGammaLaw]) -> None:
    law = kind(shape=9.0, scale=0.1)
    found = certified_quantile(FinalLoss(10.0, ((Term(-1.0, law), 5),)), Fraction(1, 20))
    with flint.ctx.workprec(BITS):  # P(loss > quantile) = P(gain < 10 - quantile)
        assert below(law, 5, 10.0 - found.lower) >= arb("0.05") - arb("1e-13")
        assert below(law, 5, 10.0 - found.upper) <= arb("0.05") + arb("1e-13")
    assert found.width < (1e-9 if kind is GammaLaw else 1e-2)


@pytest.mark.parametrize("kind", [GammaLaw, BareGammaLaw])
def test_beside_a_heavy_switch_both_ways_agree(kind: type[GammaLaw] | type[BareGammaLaw]) -> None:
    """The t is whole: the gamma law with a transform is conditioned, the one without goes to the grid."""
    jump = Term(1.0, StudentT(degrees_of_freedom=3.0, location=0.1, scale=0.05))
    law = kind(shape=25.0, scale=0.04)
    found = certified_violation(FinalLoss(5.0, ((Term(-1.0, law), 4), (jump, 1))), 1.8)
    sharp = certified_violation(
        FinalLoss(5.0, ((Term(-1.0, GammaLaw(shape=25.0, scale=0.04)), 4), (jump, 1))), 1.8
    )
    assert found.lower <= sharp.upper
    assert sharp.lower <= found.upper
    assert math.isclose(found.middle, sharp.middle, rel_tol=0.05)
