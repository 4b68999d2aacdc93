"""S(k), the probability of not having reached the target: closed forms, fractions, draws, and every path."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import LossStep, Term, compose
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk import survival as survival_module
from depl.models.risk.certify import certified_violation
from depl.models.risk.contour import violation
from depl.models.risk.survival import survival

GAMMA = InverseGamma(mean=1, variance=0.3)
NORMAL = Normal(mean=1, variance=0.5)
JUMP = StudentT(degrees_of_freedom=2.5, location=0.3, scale=0.2)
BOUNDED = StudentT(degrees_of_freedom=4, location=0.3, scale=0.2, lower=0, upper=1)
DICE = Empirical(values=(0.5, 1, 3, -1))


def epoch(*terms, shift=0.0):
    return LossStep(1.0, shift, tuple(Term(weight, law) for weight, law in terms))


def drawn(initial, steps, maximum_loss, size=40_000):
    """Share of runs that have not reached the target yet, for k = 0, ..., K."""
    rng = np.random.default_rng(0)
    loss, above = np.full(size, float(initial)), np.full(size, initial > maximum_loss)
    shares = [above.mean()]
    for step in steps:
        loss = loss + step.shift + sum(term.coefficient * term.law.sample(rng, size) for term in step.terms)
        above &= loss > maximum_loss
        shares.append(above.mean())
    return np.array(shares)


def test_one_normal_epoch_has_its_closed_form():
    found = survival(3.0, [epoch((-2, NORMAL))], 1.5)
    exact = stats.norm.cdf(1.5, 2, math.sqrt(2))
    assert found.upper[0] == 1
    assert exact <= found.upper[1] < exact + 1e-9
    assert found.at(1).lower == 0


def test_two_normal_epochs_have_their_double_integral():
    """P(X > a, X + Y > a) for the two losses, a bivariate normal probability."""
    found = survival(2.0, [epoch((-1, NORMAL)), epoch((-1, NORMAL))], 0.5)
    mean, covariance = [-(2 - 1 - 0.5), -(2 - 2 - 0.5)], [[0.5, 0.5], [0.5, 1.0]]
    exact = stats.multivariate_normal(mean, covariance).cdf([0, 0])
    assert exact - 1e-7 <= found.upper[2] < exact + 2e-5


def test_a_symmetric_walk_obeys_the_reflection_bound():
    """Without drift in very many small steps, P(no return below 0) is at least erf by reflection."""
    steps = [epoch((1.0, Normal(mean=0, variance=0.01)))] * 100
    found = survival(1.0, steps, 0.0)
    continuous = 2 * stats.norm.cdf(1.0) - 1
    assert found.upper[-1] > continuous
    # seen only at 100 epochs the barrier acts as one 0.5826 standard deviations of a step lower
    corrected = 2 * stats.norm.cdf(1.0 + 0.5826 * 0.1) - 1
    assert abs(found.upper[-1] - corrected) <= 2e-3


@pytest.mark.parametrize("law", [GAMMA, Lognormal(mean=1, variance=0.3)])
@pytest.mark.parametrize("prefixes", [(1, 2, 5, 8), pytest.param(range(1, 9), marks=pytest.mark.slow)])
def test_where_no_loss_rises_it_is_the_violation_of_every_prefix(law, prefixes):
    steps = [epoch((-4 / math.sqrt(k + 1), law)) for k in range(1, 9)]
    found = survival(12.0, steps, 2.0)
    assert found.how == "contour"
    for k in prefixes:
        marginal = certified_violation(compose(12.0, steps[:k]), 2.0)
        assert marginal.lower <= found.upper[k] < marginal.upper + 1e-6


CASES = {
    "normal": [epoch((-1, NORMAL))] * 8,
    "gamma, jump": [epoch((-1, GAMMA))] * 4 + [epoch((-1, GAMMA), (1, JUMP))] + [epoch((-1, GAMMA))] * 3,
    "gamma, bounded jumps": [epoch((-1, GAMMA), (1, BOUNDED))] * 5,
    "one heavy epoch with a jump": [epoch((-4, GAMMA), (1, JUMP))],
    "atoms and a jump": [epoch((-1, DICE), (1, BOUNDED))] * 6,
    "a sure rise": [epoch((-1, GAMMA))] * 3 + [epoch((-1, NORMAL), shift=2.5)] + [epoch((-1, GAMMA))] * 3,
    "a sure fall": [epoch((-1, NORMAL), shift=-0.5)] * 3 + [epoch(shift=-1)] + [epoch((1, JUMP))],
    "nothing but jumps": [epoch((1, JUMP))] * 5 + [epoch((-1, NORMAL), shift=-3)],
    "a loss that rises": [epoch((1, NORMAL))] * 3 + [epoch((-3, NORMAL))] * 3,
}


@pytest.mark.parametrize("name", CASES)
def test_draws_lie_below_the_bound_and_close_to_it(name):
    steps = CASES[name]
    found = survival(5.0, steps, 1.0)
    share = drawn(5.0, steps, 1.0)
    noise = 4.5 * np.sqrt(np.maximum(share * (1 - share), 1e-4) / 40_000)
    assert (share <= found.upper + noise).all()
    assert (found.upper <= share + noise + 4e-3).all()
    assert (np.diff(found.upper) <= 0).all()


def test_reached_is_more_likely_than_final_where_losses_rise():
    steps = CASES["atoms and a jump"]
    found = survival(5.0, steps, 1.0)
    assert found.upper[-1] < certified_violation(compose(5.0, steps), 1.0).lower - 0.01


def enumerated(initial, steps, maximum_loss):
    """S(k) by walking every path, in fractions."""
    shares = [Fraction(0)] * (len(steps) + 1)
    tables = []
    for step in steps:
        laws = [term.law for term in step.terms]
        tables.append(
            [
                (
                    Fraction(repr(step.shift))
                    + sum(
                        Fraction(repr(term.coefficient)) * Fraction(repr(law.values[place]))
                        for term, law, place in zip(step.terms, laws, places, strict=True)
                    ),
                    math.prod(
                        Fraction(repr((law.weights or (1.0,) * len(law.values))[place]))
                        / sum(map(Fraction, map(repr, law.weights or (1.0,) * len(law.values))))
                        for law, place in zip(laws, places, strict=True)
                    ),
                )
                for places in itertools.product(*(range(len(law.values)) for law in laws))
            ]
        )
    target = Fraction(repr(maximum_loss)) + Fraction(1, 10**9)
    for path in itertools.product(*tables):
        loss, weight = Fraction(repr(initial)), math.prod((share for _, share in path), start=Fraction(1))
        shares_of_path = [loss > target]
        for change, _ in path:
            loss += change
            shares_of_path.append(shares_of_path[-1] and loss > target)
        for k, above in enumerate(shares_of_path):
            shares[k] += weight * above
    return tuple(shares)


atoms = st.builds(
    Empirical,
    values=st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.5]), min_size=1, max_size=3).map(tuple),
)
weighted = st.builds(Empirical, values=st.just((1.0, -0.5, 2.0)), weights=st.just((1.0, 2.5, 0.7)))
discrete_steps = st.builds(
    LossStep,
    st.just(1.0),
    st.sampled_from([0.0, -0.25, 0.5]),
    st.lists(st.builds(Term, st.sampled_from([-1.0, -0.5, 1.0]), atoms | weighted), max_size=2).map(tuple),
)


@given(st.lists(discrete_steps, max_size=3), st.sampled_from([0.0, 1.0, 1.5]))
@settings(max_examples=60)
def test_finitely_many_values_are_summed_exactly(steps, maximum_loss):
    found = survival(2.0, steps, maximum_loss)
    assert found.exact == enumerated(2.0, steps, maximum_loss)
    for k, value in enumerate(found.exact):
        assert value <= found.upper[k]
        assert found.at(k).lower <= value <= found.at(k).upper
        assert found.at(k).exact == value


def test_atoms_on_the_target_count_as_reached_up_to_the_tolerance():
    steps = [epoch((-1, Empirical(values=(1.0, 2.0))))]
    assert survival(2.0, steps, 1.0).exact == (1, 0)
    assert survival(2.0, steps, 1.0 - 0.9e-9).exact == (1, 0)
    assert survival(2.0, steps, 1.0 - 1.1e-9).exact == (1, Fraction(1, 2))


def test_a_loss_that_starts_on_its_target_is_there():
    found = survival(1.0, [epoch((-1, NORMAL))] * 3, 1.0)
    assert found.exact == (0, 0, 0, 0)
    assert survival(1.0, [], 1.0).exact == (0,)
    assert survival(1.1, [], 1.0).exact == (1,)


def test_a_step_that_forgets_is_refused():
    with pytest.raises(NotCoveredError, match="early stopping"):
        survival(1.0, [LossStep(0.5, 0.0, ())], 0.5)


@pytest.mark.parametrize("maximum_loss", [0.0, 1e9 - 0.3])
def test_losses_far_from_zero_cover_the_rounding_of_their_sums(maximum_loss, monkeypatch):
    """Shifts are added to the loss, and the target is taken off: either may round the sum in its own size."""
    sizes = []

    def seen(contour, labels, threshold, size):
        sizes.append((threshold, size))
        return violation(contour, labels, threshold, size)

    monkeypatch.setattr(survival_module, "violation", seen)
    law = Normal(mean=1e9 - maximum_loss, variance=1e-6)
    steps = [epoch((-1.0, law)), *([epoch(shift=-0.1)] * 12)]
    initial = 1e9 + 1.2
    found = survival(initial, steps, maximum_loss).at(13)
    above = Fraction(initial) - 12 * Fraction(0.1) - Fraction(law.mean) - Fraction(maximum_loss)
    assert stats.norm.cdf(float(above) / 1e-3) <= found.upper
    for threshold, size in sizes:
        constants = threshold + maximum_loss
        assert np.all(size >= np.abs(constants) + np.abs(threshold))
    assert sizes
