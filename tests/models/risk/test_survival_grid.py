"""The survival grid: never below the truth, every rounding, every kind of tail, many epochs."""

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from depl.models.problem.epochs import LossStep, Term, compose
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk import survival as module
from depl.models.risk.certify import certified_violation
from depl.models.risk.survival import survival

NORMAL = Normal(mean=1, variance=0.5)
GAMMA = InverseGamma(mean=1, variance=0.3)


def epoch(*terms, shift=0.0):
    return LossStep(1.0, shift, tuple(Term(weight, law) for weight, law in terms))


def grid_survival(initial, steps, maximum_loss, points):
    return module.grid_survival(initial, steps, maximum_loss, points, (True,) * (len(steps) + 1))


LAWS = {
    "inverse gamma": [(-1.0, GAMMA)],
    "infinite variance": [(-1.0, InverseGamma(shape=1.5, scale=0.5))],
    "lognormal": [(-1.0, Lognormal(mean=1, variance=2))],
    "truncated": [(1.0, StudentT(degrees_of_freedom=3, location=-1, scale=1, lower=-4, upper=1))],
    "far truncated": [(1.0, StudentT(degrees_of_freedom=3, location=5, scale=1, lower=-4, upper=-1))],
    "untruncated": [(1.0, StudentT(degrees_of_freedom=1.5, location=-1, scale=0.5))],
    "narrow": [(-1.0, Normal(mean=1, variance=1e-8))],
    "wide": [(-1.0, Normal(mean=1, variance=1e4))],
    "gain and jump": [(-3.0, GAMMA), (1.0, StudentT(degrees_of_freedom=3, location=0.3, scale=0.2))],
    "two jumps": [(1.0, NORMAL), (-2.0, NORMAL)],
    "atoms off the grid": [(-1.0, Empirical(values=(0.1, 0.7310001, 3.9)))],
    "atoms and normal": [(-1.0, Empirical(values=(0.1, 2.0), weights=(1, 3))), (0.3, NORMAL)],
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("maximum_loss", [3.9, 1.0, -7.0])
def test_one_epoch_is_the_violation(name, maximum_loss):
    """All rounding, cutting and lifting at once, against the evaluators of a single loss."""
    step = epoch(*LAWS[name], shift=0.125)
    exact = certified_violation(compose(4.0, [step]), maximum_loss)
    for points in (256, 4096):
        upper = grid_survival(4.0, [step], maximum_loss, points)
        assert upper[0] == 1
        assert exact.lower <= upper[1] < exact.upper + (0.2 if points == 256 else 0.02)


@pytest.mark.parametrize("law", [GAMMA, Lognormal(mean=1, variance=0.3)])
@pytest.mark.parametrize("prefixes", [(1, 2, 5, 8, 12), pytest.param(range(1, 13), marks=pytest.mark.slow)])
def test_where_losses_only_fall_the_bounds_hold_the_violation_of_every_prefix(law, prefixes):
    steps = [epoch((-4 / (k + 1) ** 0.5, law)) for k in range(1, 13)]
    upper = grid_survival(18.0, steps, 2.0, 2**13)
    for k in prefixes:
        exact = certified_violation(compose(18.0, steps[:k]), 2.0)
        assert exact.lower <= upper[k] < exact.upper + 2.5e-3


def test_more_points_give_sharper_bounds():
    steps = [epoch((-1, NORMAL))] * 10
    fine = grid_survival(9.0, steps, 1.0, 2**18)
    found = [grid_survival(9.0, steps, 1.0, points) for points in (2**9, 2**11, 2**13, 2**15)]
    widths = [(upper - fine).max() for upper in found]
    assert all((fine <= upper).all() for upper in found)
    assert widths[0] > 3 * widths[1] > 9 * widths[2] > 27 * widths[3] > 0


def test_atoms_on_the_grid_are_not_blurred():
    """A walk in whole steps on a grid of whole steps: only what is trimmed is left."""
    walk = [epoch((-1.0, Empirical(values=(1.0, -1.0))))] * 20
    upper = grid_survival(8.0, walk, 0.0, 2**10)
    for k, value in enumerate(survival(8.0, walk, 0.0).exact):
        assert value <= upper[k] < value + Fraction(1, 10**8)


def test_the_walk_has_the_reflection_formula():
    """P(max of n fair steps < a) = P(-a < S_n <= a), a whole number away from the start."""
    walk = [epoch((-1.0, Empirical(values=(1.0, -1.0))))] * 20
    exact = survival(8.0, walk, 0.0).exact
    tails = stats.binom(20, 0.5)
    heads = [k for k in range(21) if -8 < 2 * k - 20 < 8 or 2 * k - 20 == 8]
    assert float(exact[20]) == pytest.approx(sum(tails.pmf(k) for k in heads), rel=1e-12)
    assert exact[8] == 1 - Fraction(1, 2**8)


values = st.lists(st.floats(-1.5, 3).map(lambda value: round(value, 3)), min_size=1, max_size=3)
atoms = st.builds(Empirical, values=values.map(tuple))
coefficients = st.sampled_from([-2.0, -1.0, -0.37, 0.5])
discrete_steps = st.builds(
    LossStep,
    st.just(1.0),
    st.sampled_from([0.0, -0.7, 0.25, 2.0]),
    st.lists(st.builds(Term, coefficients, atoms), max_size=2).map(tuple),
)


@given(st.lists(discrete_steps, min_size=1, max_size=5), st.floats(-2, 1.9), st.sampled_from([256, 1024]))
@settings(max_examples=50)
def test_the_fractions_of_discrete_steps_lie_within(steps, maximum_loss, points):
    """Atoms anywhere between the grid points, sure rises and falls, several terms per epoch."""
    exact = survival(2.0, steps, maximum_loss).exact
    upper = grid_survival(2.0, steps, maximum_loss, points) if any(step.terms for step in steps) else exact
    for k, value in enumerate(exact):
        assert value <= upper[k]


@pytest.mark.parametrize("rise", [0.0, 3.0, 50.0])
def test_a_sure_rise_is_followed_above_the_start(rise):
    """What left by the bottom may not come back, what a rise lifts up is not lost."""
    steps = [epoch((-1, NORMAL)), epoch((-1, NORMAL), shift=rise), epoch((-1, NORMAL), shift=-rise)]
    upper = grid_survival(4.0, steps, 1.0, 2**13)
    rng = np.random.default_rng(1)
    losses = 4 - np.cumsum(NORMAL.sample(rng, 3 * 200_000).reshape(3, -1), axis=0)
    losses[1] += rise
    share = np.cumprod(losses > 1.0, axis=0).mean(axis=1)
    assert (np.abs(upper[1:] - share) <= 5e-3).all()


@pytest.mark.parametrize(
    ("variance", "epochs"), [(0.3, 300), *(pytest.param(v, 1000, marks=pytest.mark.slow) for v in (0.3, 3.0))]
)
def test_a_thousand_epochs_take_seconds(variance, epochs, monkeypatch):
    """By default 300 of them and 2**14 points each, where the work allowed asks for so few."""
    if epochs < 1000:
        monkeypatch.setattr(module, "_MOST_WORK", epochs * 2**14)
    law = InverseGamma(mean=1, variance=variance)
    steps = [epoch((-10 / (k + 5) ** 0.5, law)) for k in range(1, epochs + 1)]
    total = sum(-step.terms[0].coefficient for step in steps)
    start = time.process_time()
    upper = grid_survival(total, steps, 0.1 * total, module.POINTS)
    assert time.process_time() - start < 0.012 * epochs  # some seconds of a quiet core for a thousand
    rng = np.random.default_rng(2)
    losses = total + np.cumsum([step.terms[0].coefficient * law.sample(rng, 4000) for step in steps], axis=0)
    share = (losses > 0.1 * total).mean(axis=1)  # losses only fall
    assert (upper[1:] >= share - 0.04).all()
    # the expected number of epochs, of about 800 in a thousand
    assert 0.7 * epochs < 1 + share.sum() < 1.002 * upper.sum() < 1.035 * (1 + share.sum())


def test_what_is_trimmed_below_stays_above():
    """Each epoch leaves out a mass of 2**-44 that stays far above the target: S is 1 for sure."""
    rare = 2.0**-44
    step = epoch((-1.0, Empirical(values=(1.0, 2.0), weights=(1 - rare, rare))))
    assert np.all(grid_survival(1000.0, [step] * 50, 0.0, 1024) >= 1)


def test_the_tolerance_of_atoms_lasts_as_long_as_nothing_else_happened():
    """2e-9 above the target; a fall of 1.5e-9 meets it up to 1e-9, unless a bell of 1e-10 comes with it."""
    fall = -1.5e-9
    coin = Empirical(values=(0.0, 1e-11))
    upper = grid_survival(2e-9, [epoch((1.0, coin), shift=fall)], 0.0, 4096)
    assert 0 <= upper[1] < 1e-6
    bell = Normal(mean=0.0, variance=1e-20)
    exact = np.mean([stats.norm.sf(-0.5e-9, value, 1e-10) for value in coin.values])
    upper = grid_survival(2e-9, [epoch((1.0, coin), (1.0, bell), shift=fall)], 0.0, 4096)
    assert exact <= upper[1] < exact + 0.01
