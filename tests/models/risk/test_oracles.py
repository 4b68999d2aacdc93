"""The oracles: closed forms, limits, directions, and agreement with each other."""

import itertools
import math

import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk.entropic import chernoff_quantile, evar_quantile
from depl.models.risk.grid import grid_quantile, grid_violation
from depl.models.risk.lower_bound.tilted import tilted_loss, tilted_term
from depl.models.risk.sampling import monte_carlo_violation, sample_final_loss
from tests.oracles.approximations import (
    chernoff_violation,
    cornish_fisher_quantile,
    normal_quantile,
    normal_violation,
    saddlepoint_violation,
)
from tests.oracles.spectral import spectral_violation

FAST = InverseGamma(mean=1.02, variance=0.031)
MIDDLE = InverseGamma(mean=1.0, variance=0.01)
STEADY = InverseGamma(mean=0.98, variance=0.007)
BELL = Normal(mean=1.0, variance=0.04)
SWITCH = StudentT(degrees_of_freedom=3, location=0.3, scale=0.1, lower=0.0, upper=0.6)
SIX = StudentT(degrees_of_freedom=6, location=0.3, scale=0.1)
COIN = Empirical(values=(0.0, 1.0))
MIXED = FinalLoss(
    20.0,
    (
        *((Term(-1 / math.sqrt(k + 5), (FAST, MIDDLE, STEADY)[k % 3]), 1) for k in range(1, 7)),
        (Term(-0.5, Lognormal(mean=1.0, variance=0.2)), 2),
        (Term(1.0, SWITCH), 1),
        (Term(-0.2, COIN), 2),
    ),
)


def single(law, count=1, coefficient=-1.0, constant=20.0):
    return FinalLoss(constant, ((Term(coefficient, law), count),))


# Spectral sum.


@pytest.mark.parametrize("law", [FAST, MIDDLE, STEADY, BELL, Lognormal(mean=1.0, variance=0.1)])
def test_spectral_sum_of_one_epoch_is_its_distribution_function(law):
    deviation = math.sqrt(law.moments().variance)
    for z in np.linspace(-4, 6, 21):
        x = law.moments().mean + z * deviation
        assert spectral_violation(single(law), 20 - x) == pytest.approx(float(law.cdf(x)), abs=1e-13)


@pytest.mark.parametrize("count", [2, 30, 300])
def test_spectral_sum_of_normals_is_normal(count):
    loss = single(BELL, count)
    for z in (-5.0, -1.0, 0.0, 2.0, 6.0):
        maximum = 20 - count + z * 0.2 * math.sqrt(count)
        assert spectral_violation(loss, maximum) == pytest.approx(float(stats.norm.sf(z)), abs=2e-13)


@pytest.mark.parametrize("scores", [(-2.0, 1.5, 4.5), pytest.param((0.0, 3.0), marks=pytest.mark.slow)])
def test_spectral_sum_with_switches_and_atoms_lies_in_the_directed_grid(scores):
    mean, deviation = MIXED.mean(), math.sqrt(MIXED.variance())
    for z in scores:
        found = grid_violation(MIXED, mean + z * deviation)
        value = spectral_violation(MIXED, mean + z * deviation, 2048)
        assert found.lower - 1e-14 <= value <= found.upper + 1e-14
        assert value == pytest.approx(spectral_violation(MIXED, mean + z * deviation, 8192), abs=1e-12)


def test_spectral_sum_of_a_student_t_and_a_normal_matches_one_integral():
    law = StudentT(degrees_of_freedom=4, location=0.3, scale=0.1)
    loss = FinalLoss(3.0, ((Term(-1.0, BELL), 1), (Term(1.0, law), 1)))
    for maximum in (2.0, 2.3, 3.1):
        true = integrate.quad(
            lambda s, m=maximum: stats.t.pdf(s, 4, 0.3, 0.1) * stats.norm.sf(m - 2 - s, 0, 0.2),
            -40,
            40,
            points=[0, 0.3, 1],
            limit=400,
            epsabs=1e-12,
        )[0]
        assert spectral_violation(loss, maximum, 2**13, tail=1e-10) == pytest.approx(true, abs=2e-10)


@pytest.mark.parametrize(("shape", "points"), [(1.5, 2**14), (2.3, 2**13), (8.0, 2**11)])
def test_spectral_sum_reaches_heavy_tails_on_the_good_side_by_tilting(shape, points):
    loss = single(InverseGamma(shape=shape, scale=1.0), 3)
    for level in (0.3, 0.9, 0.999, 1 - 1e-8):
        maximum = grid_quantile(loss, level, 2**12).middle
        found = grid_violation(loss, maximum)
        value = spectral_violation(loss, maximum, points)
        assert found.lower <= value <= found.upper
        assert value == pytest.approx(spectral_violation(loss, maximum, 2 * points), rel=1e-9, abs=1e-13)


def test_spectral_sum_far_from_the_window_is_zero_or_one():
    loss = single(FAST, 10)
    assert spectral_violation(loss, 30.0) == pytest.approx(0, abs=1e-14)
    assert spectral_violation(loss, -1e5) == pytest.approx(1, abs=1e-14)
    assert spectral_violation(FinalLoss(2.0, ()), 1.0) == 1
    assert spectral_violation(FinalLoss(2.0, ()), 2.0) == 0


def test_spectral_sum_refuses_a_tilt_that_costs_all_digits():
    heavy, light = InverseGamma(shape=4.65, scale=3.4), InverseGamma(shape=28.0, scale=16.8)
    loss = FinalLoss(20.0, ((Term(-1.0, heavy), 3), (Term(-0.4, light), 9)))
    with pytest.raises(NotCoveredError, match="costs all digits"):
        spectral_violation(loss, loss.mean() - 40.0, 8192)


def test_spectral_sum_refuses_what_it_cannot_resolve():
    with pytest.raises(NotCoveredError, match="has not decayed"):
        spectral_violation(single(COIN, 3), 18.5)
    with pytest.raises(NotCoveredError, match="resolve and cover"):
        spectral_violation(single(InverseGamma(shape=1.5, scale=1.0), 2), 18.5)


# Real log-transforms.


@pytest.mark.parametrize("shape", [1.1, 2.1, 5.0, 35.6, 102.0, 1000.0])
@pytest.mark.parametrize("rate", [1e-16, 1e-6, 0.3, 50.0])
def test_log_transform_of_the_inverse_gamma_is_a_bessel_function(shape, rate):
    law = InverseGamma(shape=shape, scale=3.0)
    with ctx.workprec(240):
        u = arb(rate) * 2 * 3
        bessel, *others = (acb(2 * u.sqrt()).bessel_k(acb(arb(shape) - j)).real for j in (0, 1, 2))
        true = (2 * u ** (arb(shape) / 2) * bessel / arb(shape).gamma()).log()
        # E X^j exp(-s X) has the Bessel function of order shape - j.
        moments = [6**j * other / bessel / u ** (arb(j) / 2) for j, other in enumerate(others, start=1)]
        found = tilted_term(Term(-2.0, law), rate)
        assert abs(found.log_transform - true) < 2e-15 * max(5, abs(float(true.mid())))
        assert abs(found.mean / -moments[0] - 1) < 1e-12
        assert abs(found.variance / (moments[1] - moments[0] ** 2) - 1) < 1e-9


def test_without_a_tilt_mean_and_variance_are_the_laws_own():
    """Scale / (shape - 1), and the square of that over shape - 2; with next to no tilt they are the same."""
    term = Term(-2.0, InverseGamma(shape=5.0, scale=3.0))
    exact = (0.0, -2 * 3 / 4, 4 * (9 / 16) / 3)
    assert tilted_term(term, 0.0) == pytest.approx(exact)
    assert tilted_term(term, 1e-9) == pytest.approx(exact, abs=1e-8)


LIGHT = [FAST, InverseGamma(shape=2.3, scale=1.0), Lognormal(mean=1.0, variance=0.5), BELL, SWITCH, COIN]


@pytest.mark.parametrize("law", LIGHT)
@pytest.mark.parametrize("rate", [0.05, 1.0, 20.0])
def test_mean_and_variance_under_the_tilt_are_derivatives_of_the_log_transform(law, rate):
    loss, step = single(law, 2, constant=1.5), 1e-4 * rate
    below, here, above = (tilted_loss(loss, rate + sign * step) for sign in (-1, 0, 1))
    assert (above.log_transform - below.log_transform) / (2 * step) == pytest.approx(here.mean, abs=1e-6)
    assert (above.mean - below.mean) / (2 * step) == pytest.approx(here.variance, rel=1e-5, abs=1e-9)


def test_the_tilt_of_a_normal_and_of_a_coin_are_in_closed_form():
    assert tilted_term(Term(-2.0, BELL), 3.0) == pytest.approx(
        (-6 + 0.5 * 36 * 0.04, -2 * (1 - 6 * 0.04), 0.16)
    )
    share = math.exp(3) / (1 + math.exp(3))
    expected = (math.log((1 + math.exp(3)) / 2), share, share * (1 - share))
    assert tilted_term(Term(1.0, COIN), 3.0) == pytest.approx(expected)


@pytest.mark.parametrize("rate", [-1e4, -3.0, 1e-3, 1.0, 100.0, 1e5])
def test_the_tilt_of_a_truncated_student_t_resolves_the_favoured_end(rate):
    law = StudentT(degrees_of_freedom=1.0, location=0.0, scale=0.5, lower=-1.0, upper=20.0)
    end = law.upper if rate > 0 else law.lower

    def integrand(depth):  # depth in units of 1 / |rate| from the end that the tilt favours
        x = end - math.copysign(depth, rate) / abs(rate)
        return math.exp(-depth) * stats.cauchy.pdf(x, 0, 0.5) / law.interval_mass() / abs(rate)

    span = 21 * abs(rate)
    stops = sorted({min(span, stop) for stop in (0.0, 1.0, 5.0, 20.0, 60.0, span / 3, span)})
    true = sum(integrate.quad(integrand, *pair, limit=200, epsabs=0)[0] for pair in itertools.pairwise(stops))
    assert tilted_term(Term(1.0, law), rate).log_transform - rate * end == pytest.approx(
        math.log(true), abs=1e-9
    )


def test_heavy_tails_that_raise_the_loss_have_no_transform():
    for law in (FAST, Lognormal(mean=1.0, variance=0.1), StudentT(degrees_of_freedom=3, location=0, scale=1)):
        loss = single(law, coefficient=1.0)
        with pytest.raises(NotCoveredError, match=r"infinite|no exponential moment"):
            evar_quantile(loss, 0.9)
        with pytest.raises(NotCoveredError):
            chernoff_violation(loss, 30.0)


# EVaR and Chernoff: upper bounds, with the ratios that the theory gives.


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99, 0.9999])
def test_evar_of_a_normal_is_mean_plus_root_two_log_deviations(level):
    loss = single(BELL, 7)
    expected = 13 + math.sqrt(-2 * math.log(1 - level)) * 0.2 * math.sqrt(7)
    assert evar_quantile(loss, level) == pytest.approx(expected, rel=1e-12)
    z = 2.5
    assert chernoff_violation(loss, 13 + z * 0.2 * math.sqrt(7)) == pytest.approx(
        math.exp(-(z**2) / 2), rel=1e-10
    )


def margin(quantile, loss):
    return quantile - loss.mean()


@pytest.mark.parametrize(("level", "ratio"), [(0.9, 1.55), (0.99, 1.24), (0.999, 1.15), (0.9999, 1.11)])
def test_evar_margins_of_five_epochs_are_too_large_by_the_factors_of_erratum_e5(level, ratio):
    loss = single(FAST, 5)
    true = grid_quantile(loss, level).middle
    assert margin(evar_quantile(loss, level), loss) / margin(true, loss) == pytest.approx(ratio, abs=0.006)


def test_the_evar_margin_ratio_tends_to_the_normal_limit():
    limit = math.sqrt(2 * math.log(100)) / float(stats.norm.ppf(0.99))
    gaps = []
    for count in (5, 50, 500):
        loss = single(FAST, count)
        ratio = margin(evar_quantile(loss, 0.99), loss) / margin(
            grid_quantile(loss, 0.99, 2**17).middle, loss
        )
        gaps.append(limit - ratio)
    assert gaps[0] > gaps[1] > gaps[2] > 0
    assert gaps[2] < 0.015


def test_one_fixed_rate_never_beats_the_best_one():
    best = evar_quantile(MIXED, 0.95)
    values = [chernoff_quantile(MIXED, 0.95, rate) for rate in np.geomspace(0.1, 100, 40)]
    assert min(values) >= best - 1e-12
    assert min(values) < best + 1e-2


def test_evar_of_a_bounded_loss_never_exceeds_its_supremum():
    # P(L = 3) = 1/8 exceeds 1 - 0.9: no finite rate is best, and the supremum is the bound.
    loss = single(COIN, 3, coefficient=1.0, constant=0.0)
    assert evar_quantile(loss, 0.9) == 3
    assert evar_quantile(loss, 0.5) < 3


laws = st.one_of(
    st.builds(
        InverseGamma,
        shape=st.floats(1.1, 200).map(lambda a: round(a, 4)),
        scale=st.floats(0.5, 20).map(lambda b: round(b, 4)),
    ),
    st.builds(Normal, mean=st.sampled_from([0.5, 1.0]), variance=st.sampled_from([0.01, 0.3])),
    st.just(COIN),
    st.builds(Lognormal, log_mean=st.just(0.0), log_variance=st.sampled_from([0.05, 1.0])),
)
losses = st.lists(st.tuples(laws, st.integers(1, 3)), min_size=1, max_size=3).map(
    lambda parts: FinalLoss(3.0, tuple((Term(-0.5, law), count) for law, count in parts))
)


@settings(deadline=None, max_examples=12)
@given(losses, st.sampled_from([0.3, 0.9, 0.99]))
def test_evar_is_at_least_the_certified_quantile_and_increases_with_the_level(loss, level):
    here, higher = evar_quantile(loss, level), evar_quantile(loss, (1 + level) / 2)
    assert here >= grid_quantile(loss, level, 256).lower - 1e-9
    assert loss.mean() - 1e-9 <= here <= higher + 1e-12
    assert chernoff_violation(loss, here) == pytest.approx(1 - level, rel=1e-6) or here >= 3.0 - 1e-6
    assert chernoff_violation(loss, here) >= grid_violation(loss, here, 256).lower - 1e-12


# Saddlepoint.


def test_the_saddlepoint_of_a_normal_is_exact():
    loss = single(BELL, 4)
    for z in (-3.0, -0.5, 1e-5, 0.0, 0.7, 4.0):
        assert saddlepoint_violation(loss, 16 + z * 0.4) == pytest.approx(float(stats.norm.sf(z)), rel=1e-9)


@pytest.mark.parametrize(("count", "accuracy"), [(1, 1e-2), (5, 1.5e-3), (30, 2e-4), (100, 5e-5)])
def test_the_saddlepoint_errs_by_a_small_share_that_falls_with_the_epochs(count, accuracy):
    loss = single(FAST, count)
    deviation = math.sqrt(loss.variance())
    for z in (0.0, 1e-4, 0.01, 1.0, 2.0, 3.0):
        true = spectral_violation(loss, loss.mean() + z * deviation)
        assert saddlepoint_violation(loss, loss.mean() + z * deviation) == pytest.approx(true, rel=accuracy)


def test_the_saddlepoint_says_where_it_has_none():
    loss = single(FAST, 5)
    with pytest.raises(NotCoveredError, match="infinite for every s > 0"):
        saddlepoint_violation(loss, loss.mean() - 0.3)
    assert saddlepoint_violation(loss, 20.0) == 0
    heavy = single(InverseGamma(shape=2.5, scale=1.0))
    with pytest.raises(NotCoveredError, match="finite third moment"):
        saddlepoint_violation(heavy, heavy.mean())
    bounded = FinalLoss(0.0, ((Term(1.0, SWITCH), 3),))
    assert saddlepoint_violation(bounded, -0.1) == 1
    assert saddlepoint_violation(bounded, 1.8) == 0
    assert saddlepoint_violation(bounded, 0.5) == pytest.approx(grid_violation(bounded, 0.5).middle, rel=0.02)
    assert saddlepoint_violation(FinalLoss(2.0, ()), 1.0) == 1


# Normal and Cornish-Fisher.


def test_the_normal_approximation_of_normals_is_exact():
    loss = single(BELL, 9)
    assert normal_quantile(loss, 0.95) == pytest.approx(11 + 0.6 * float(stats.norm.ppf(0.95)))
    assert normal_violation(loss, 11.6) == pytest.approx(float(stats.norm.sf(1)))
    assert cornish_fisher_quantile(loss, 0.95) == pytest.approx(normal_quantile(loss, 0.95))


@pytest.mark.parametrize("count", [5, 30, 100])
def test_the_normal_approximation_is_conservative_in_the_upper_tail_and_not_at_the_median(count):
    # The improvement has its long tail on the good side, so bad luck is milder than normal.
    loss = single(FAST, count)
    for level in (0.9, 0.99, 0.9999):
        excess = (
            margin(normal_quantile(loss, level), loss) / margin(grid_quantile(loss, level).middle, loss) - 1
        )
        assert 0.005 < excess < 0.2
    assert normal_quantile(loss, 0.5) < grid_quantile(loss, 0.5).lower


@pytest.mark.parametrize(("count", "accuracy"), [(5, 3e-3), (30, 2e-4), (100, 1e-4)])
def test_cornish_fisher_corrects_most_of_the_normal_error(count, accuracy):
    loss = single(FAST, count)
    for level in (0.9, 0.99, 0.999):
        found = grid_quantile(loss, level)
        ratio = margin(cornish_fisher_quantile(loss, level), loss) / margin(found.middle, loss)
        half_width = found.width / margin(found.middle, loss)
        assert abs(ratio - 1) < accuracy + half_width


@pytest.mark.parametrize("law", [FAST, Lognormal(mean=1.0, variance=0.1), SIX, SWITCH, COIN])
def test_third_and_fourth_cumulants_are_those_of_the_law(law):
    # Cornish-Fisher of a single law against the same formula from moments by numerical integration.
    if law is COIN:
        moments = [0.5] * 4
    elif law is SWITCH:
        nodes, weights = law.quadrature()
        moments = [float(weights @ nodes**order) for order in range(1, 5)]
    else:
        moments = [
            integrate.quad(lambda u, o=order: _value(law, u) ** o, 0, 1, limit=400)[0]
            for order in range(1, 5)
        ]
    one, two, three, four = moments
    variance = two - one**2
    skewness = (three - 3 * one * two + 2 * one**3) / variance**1.5
    excess = (four - 4 * one * three + 6 * one**2 * two - 3 * one**4) / variance**2 - 3
    z = float(stats.norm.ppf(0.9))
    adjusted = (
        z + (z**2 - 1) * skewness / 6 + (z**3 - 3 * z) * excess / 24 - (2 * z**3 - 5 * z) * skewness**2 / 36
    )
    found = cornish_fisher_quantile(single(law, coefficient=1.0, constant=0.0), 0.9)
    assert found == pytest.approx(one + math.sqrt(variance) * adjusted, rel=1e-5)


def _value(law, level):
    if isinstance(law, InverseGamma):
        shape, scale = law.shape_scale()
        return stats.invgamma.ppf(level, shape, scale=scale)
    if isinstance(law, StudentT):
        return stats.t.ppf(level, law.degrees_of_freedom, law.location, law.scale)
    mu, sigma = law.log_parameters()
    return math.exp(mu + sigma * stats.norm.ppf(level))


def test_infinite_moments_are_refused_by_name():
    with pytest.raises(NotCoveredError, match="infinite variance"):
        normal_quantile(single(InverseGamma(shape=1.9, scale=1.0)), 0.9)
    with pytest.raises(NotCoveredError, match="infinite fourth moment"):
        cornish_fisher_quantile(single(InverseGamma(shape=3.5, scale=1.0)), 0.9)
    with pytest.raises(NotCoveredError, match="infinite fourth moment"):
        cornish_fisher_quantile(single(StudentT(degrees_of_freedom=2.5, location=0, scale=1)), 0.9)


def test_levels_outside_the_open_unit_interval_are_refused():
    for evaluator in (evar_quantile, normal_quantile, cornish_fisher_quantile):
        for level in (0.0, 1.0):
            with pytest.raises(InvalidInputError, match="strictly between 0 and 1"):
                evaluator(single(BELL), level)


def test_a_loss_without_randomness_is_its_constant():
    loss = FinalLoss(4.0, ())
    assert evar_quantile(loss, 0.9) == cornish_fisher_quantile(loss, 0.9) == normal_quantile(loss, 0.9) == 4
    assert chernoff_violation(loss, 3.9) == normal_violation(loss, 3.9) == 1
    assert chernoff_violation(loss, 4.0) == normal_violation(loss, 4.0) == 0


# Monte Carlo.


def test_monte_carlo_counts_agree_with_the_spectral_sum():
    maximum = MIXED.mean() + math.sqrt(MIXED.variance())
    true = spectral_violation(MIXED, maximum, 2048)
    found = monte_carlo_violation(MIXED, maximum, 150_000, np.random.default_rng(11))
    assert abs(found.estimate - true) < 3 * math.sqrt(true * (1 - true) / 150_000)
    assert found.lower < true < found.upper


def test_samples_have_the_mean_and_variance_of_the_loss():
    drawn = sample_final_loss(MIXED, np.random.default_rng(3), 50_000)
    assert drawn.shape == (50_000,)
    assert drawn.mean() == pytest.approx(MIXED.mean(), abs=4 * math.sqrt(MIXED.variance() / 50_000))
    assert drawn.var() == pytest.approx(MIXED.variance(), rel=0.05)


def test_the_same_seed_gives_the_same_samples():
    one, other = (sample_final_loss(MIXED, np.random.default_rng(8), 10) for _ in range(2))
    assert (one == other).all()


def test_clopper_pearson_ends_are_binomial_quantiles():
    found = monte_carlo_violation(single(BELL), 19.0, 200, np.random.default_rng(0), confidence=0.9)
    # At either end of the interval a count this extreme has probability exactly 5 %.
    assert stats.binom.sf(found.violations - 1, 200, found.lower) == pytest.approx(0.05)
    assert stats.binom.cdf(found.violations, 200, found.upper) == pytest.approx(0.05)
    assert monte_carlo_violation(single(BELL), 99.0, 10, np.random.default_rng(0)).lower == 0
    assert monte_carlo_violation(single(BELL), -99.0, 10, np.random.default_rng(0)).upper == 1


def test_monte_carlo_counts_an_atom_at_the_maximum_as_met():
    always = Empirical(values=(1.0,))
    assert monte_carlo_violation(single(always), 19.0 - 0.9e-9, 10, np.random.default_rng(0)).violations == 0
    assert monte_carlo_violation(single(always), 19.0 - 1.1e-9, 10, np.random.default_rng(0)).violations == 10


def test_monte_carlo_refuses_unusable_arguments():
    with pytest.raises(InvalidInputError, match="samples >= 1"):
        monte_carlo_violation(MIXED, 1.0, 0, np.random.default_rng(0))
    with pytest.raises(InvalidInputError, match="0 < confidence < 1"):
        monte_carlo_violation(MIXED, 1.0, 5, np.random.default_rng(0), confidence=1.0)
