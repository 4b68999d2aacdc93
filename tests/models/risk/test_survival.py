"""S(k), the probability of not having reached the target: closed forms, fractions, draws, and every path."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from depl.models.problem.epochs import FinalLoss, LossStep, Term, compose
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal
from depl.models.risk.certify import certified_violation
from depl.models.risk.survival import POINTS, _chain, survival
from tests.oracles.atoms import law_of, written
from tests.problems import HEAVY, atoms, student

GAMMA = InverseGamma(mean=1, variance=0.3)
NORMAL = Normal(mean=1, variance=0.5)
JUMP = student(2.5, 0.3, 0.2)
BOUNDED = student(4, 0.3, 0.2, 0, 1)
ROLL = atoms(0.5, 1, 3, -1)


def epoch(*terms, shift=0.0):
    return LossStep(1.0, shift, tuple(Term(weight, law) for weight, law in terms))


def upper_ends(initial, steps, maximum_loss, points=POINTS, stops=None):
    return np.array([item.upper for item in survival(initial, steps, maximum_loss, points, stops)])


def chain(initial, steps, maximum_loss, points):
    """The bound on the grid, where `survival` would give fractions, too."""
    return np.minimum.accumulate(_chain(initial, steps, maximum_loss, points, (True,) * (len(steps) + 1)))


def test_normal_epochs_have_their_closed_forms():
    """Two: P(X > a, X + Y > a) is a bivariate normal probability."""
    (before, after) = survival(3.0, [epoch((-2, NORMAL))], 1.5)
    exact = stats.norm.cdf(1.5, 2, math.sqrt(2))
    assert (before.upper, after.lower, after.exact, after.how) == (1, 0, None, "rounded chain")
    assert exact <= after.upper < exact + 2e-5
    mean, covariance = [-(2 - 1 - 0.5), -(2 - 2 - 0.5)], [[0.5, 0.5], [0.5, 1.0]]
    exact = stats.multivariate_normal(mean, covariance).cdf([0, 0])
    assert exact - 1e-7 <= upper_ends(2.0, [epoch((-1, NORMAL))] * 2, 0.5)[2] < exact + 2e-5


LAWS = {
    "inverse gamma": [(-1.0, GAMMA)],
    "infinite variance": [(-1.0, HEAVY)],
    "truncated": [(1.0, student(3, -1, 1, -4, 1))],
    "far truncated": [(1.0, student(3, 5, 1, -4, -1))],
    "untruncated": [(1.0, student(1.5, -1, 0.5))],
    "gain and jump": [(-3.0, GAMMA), (1.0, student(3, 0.3, 0.2))],
    "two jumps": [(1.0, NORMAL), (-2.0, NORMAL)],
    "atoms off the grid": [(-1.0, atoms(0.1, 0.7310001, 3.9))],
    "atoms and normal": [(-1.0, atoms(0.1, 2.0, weights=(1, 3))), (0.3, NORMAL)],
}


@pytest.mark.parametrize("name", LAWS)
def test_one_epoch_is_the_violation(name):
    """All rounding, cutting and lifting at once, against the evaluators of a single loss."""
    step = epoch(*LAWS[name], shift=0.125)
    for maximum_loss in (3.9, 1.0, -7.0):
        exact = certified_violation(compose(4.0, [step]), maximum_loss)
        for points, width in ((256, 0.2), (4096, 0.02)):
            upper = chain(4.0, [step], maximum_loss, points)
            assert upper[0] == 1
            assert exact.lower <= upper[1] < exact.upper + width


def test_where_losses_only_fall_it_is_the_violation_of_every_prefix():
    steps = [epoch((-4 / (k + 1) ** 0.5, Lognormal(mean=1, variance=0.3))) for k in range(1, 13)]
    upper = upper_ends(18.0, steps, 2.0)
    for k in (1, 5, 8, 12):
        exact = certified_violation(compose(18.0, steps[:k]), 2.0)
        assert exact.lower <= upper[k] < exact.upper + 2e-4


def test_a_walk_in_whole_steps_has_the_reflection_formula_and_is_not_blurred_on_the_grid():
    """P(max of n fair steps < a) = P(-a < S_n <= a), a whole number away from the start."""
    walk = [epoch((-1.0, atoms(1.0, -1.0)))] * 20
    exact = [item.exact for item in survival(8.0, walk, 0.0)]
    tails = stats.binom(20, 0.5)
    assert float(exact[20]) == pytest.approx(sum(tails.pmf(k) for k in range(7, 15)), rel=1e-12)
    assert exact[8] == 1 - Fraction(1, 2**8)
    for value, upper in zip(exact, chain(8.0, walk, 0.0, 2**10), strict=True):
        assert value <= upper < value + Fraction(1, 10**8)  # only what is trimmed is left


CASES = {
    "gamma, jump": [epoch((-1, GAMMA))] * 4 + [epoch((-1, GAMMA), (1, JUMP))] + [epoch((-1, GAMMA))] * 3,
    "atoms and a jump": [epoch((-1, ROLL), (1, BOUNDED))] * 6,
    "a sure rise": [epoch((-1, GAMMA))] * 3 + [epoch((-1, NORMAL), shift=2.5)] + [epoch((-1, GAMMA))] * 3,
    "far up and down": [epoch((-1, NORMAL)), epoch((-1, NORMAL), shift=50), epoch((-1, NORMAL), shift=-50)],
    "a sure fall": [epoch((-1, NORMAL), shift=-0.5)] * 3 + [epoch(shift=-1)] + [epoch((1, JUMP))],
    "nothing but jumps": [epoch((1, JUMP))] * 5 + [epoch((-1, NORMAL), shift=-3)],
    "a loss that rises": [epoch((1, NORMAL))] * 3 + [epoch((-3, NORMAL))] * 3,
}


@pytest.mark.parametrize("name", CASES)
def test_draws_lie_below_the_bound_and_close_to_it(name):
    steps, size = CASES[name], 40_000
    rng = np.random.default_rng(0)
    loss, above, share = np.full(size, 5.0), np.ones(size, dtype=bool), [1.0]
    for step in steps:
        loss = loss + step.shift + sum(term.coefficient * term.law.sample(rng, size) for term in step.terms)
        above &= loss > 1.0
        share.append(above.mean())
    share, upper = np.array(share), upper_ends(5.0, steps, 1.0, 2**14)
    noise = 4.5 * np.sqrt(np.maximum(share * (1 - share), 1e-4) / size)
    assert (share <= upper + noise).all()
    assert (upper <= share + noise + 4e-3).all()
    assert (np.diff(upper) <= 0).all()


def enumerated(initial, steps, maximum_loss):
    """S(k) by walking every path, in fractions."""
    shares = [Fraction(0)] * (len(steps) + 1)
    tables = [
        law_of(FinalLoss(step.shift, tuple((term, 1) for term in step.terms))).items() for step in steps
    ]
    target = written(maximum_loss) + Fraction(1, 10**9)
    for path in itertools.product(*tables):
        losses = itertools.accumulate((change for change, _ in path), initial=written(initial))
        above = itertools.accumulate((loss > target for loss in losses), min)
        weight = math.prod((share for _, share in path), start=Fraction(1))
        shares = [share + weight * stays for share, stays in zip(shares, above, strict=True)]
    return shares


values = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.5]) | st.floats(-1.5, 3).map(lambda value: round(value, 3))
some_atoms = st.builds(Empirical, values=st.lists(values, min_size=1, max_size=3).map(tuple))
weighted = st.just(atoms(1.0, -0.5, 2.0, weights=(1.0, 2.5, 0.7)))
discrete_steps = st.builds(
    LossStep,
    st.just(1.0),
    st.sampled_from([0.0, -0.25, -0.7, 0.5, 2.0]),
    st.lists(
        st.builds(Term, st.sampled_from([-2.0, -1.0, -0.37, 0.5, 1.0]), some_atoms | weighted), max_size=2
    ).map(tuple),
)


@given(
    st.lists(discrete_steps, max_size=3),
    st.sampled_from([0.0, 1.0, 1.5]) | st.floats(-2, 1.9),
    st.sampled_from([256, 1024]),
)
@settings(max_examples=40)
def test_finitely_many_values_are_summed_exactly_and_lie_below_the_grid(steps, maximum_loss, points):
    """Atoms on and between the points of the grid, sure rises and falls, several terms per epoch."""
    found = survival(2.0, steps, maximum_loss)
    assert [item.exact for item in found] == enumerated(2.0, steps, maximum_loss)
    for item in found:
        assert item.lower <= item.exact <= item.upper
    if any(step.terms for step in steps):
        upper = chain(2.0, steps, maximum_loss, points)
        assert all(item.exact <= end for item, end in zip(found, upper, strict=True))


def test_a_loss_on_its_target_has_met_it_atoms_up_to_the_tolerance():
    def exact(initial, steps, maximum_loss):
        return [item.exact for item in survival(initial, steps, maximum_loss)]

    steps = [epoch((-1, atoms(1.0, 2.0)))]
    assert exact(2.0, steps, 1.0) == exact(2.0, steps, 1.0 - 0.9e-9) == [1, 0]
    assert exact(2.0, steps, 1.0 - 1.1e-9) == [1, Fraction(1, 2)]
    assert exact(1.0, [epoch((-1, NORMAL))] * 3, 1.0) == [0, 0, 0, 0]
    assert (exact(1.0, [], 1.0), exact(1.1, [], 1.0)) == ([0], [1])


def test_the_tolerance_of_atoms_lasts_as_long_as_nothing_else_happened():
    """2e-9 above the target; a fall of 1.5e-9 meets it up to 1e-9, unless a bell of 1e-10 comes with it."""
    fall, coin = -1.5e-9, atoms(0.0, 1e-11)
    assert 0 <= chain(2e-9, [epoch((1.0, coin), shift=fall)], 0.0, 4096)[1] < 1e-6
    bell = Normal(mean=0.0, variance=1e-20)
    exact = np.mean([stats.norm.sf(-0.5e-9, value, 1e-10) for value in coin.values])
    upper = chain(2e-9, [epoch((1.0, coin), (1.0, bell), shift=fall)], 0.0, 4096)
    assert exact <= upper[1] < exact + 0.01


@pytest.mark.parametrize("maximum_loss", [0.0, 1e9 - 0.3])
def test_losses_far_from_zero_cover_the_rounding_of_their_sums(maximum_loss):
    law = Normal(mean=1e9 - maximum_loss, variance=1e-6)
    initial = 1e9 + 1.2
    upper = upper_ends(initial, [epoch((-1.0, law)), *([epoch(shift=-0.1)] * 12)], maximum_loss)
    above = Fraction(initial) - 12 * Fraction(0.1) - Fraction(law.mean) - Fraction(maximum_loss)
    assert stats.norm.cdf(float(above) / 1e-3) <= upper[13]


def test_what_is_trimmed_below_stays_above():
    """Each epoch leaves out a mass of 2**-44 that stays far above the target: S is 1 for sure."""
    rare = 2.0**-44
    step = epoch((-1.0, atoms(1.0, 2.0, weights=(1 - rare, rare))))
    assert np.all(_chain(1000.0, [step] * 50, 0.0, 1024, (True,) * 51) >= 1)


def test_a_run_that_falls_far_and_rises_again_is_followed_where_it_may_not_stop_below():
    """Falls by about 30, rises by about 26; only the loss after epoch 2 counts."""
    steps = [
        epoch((-1.0, Normal(mean=30.0, variance=4.0))),
        epoch((1.0, Normal(mean=0.0, variance=1.0)), shift=26.0),
    ]
    upper = upper_ends(10.0, steps, 6.0, 2**12, (True, False, True))
    wanted = stats.norm.sf(6, 6, 5**0.5)
    assert upper[1] == 1
    assert wanted <= upper[2] < wanted + 0.01
    assert upper_ends(10.0, steps, 6.0, 2**12)[2] < 1e-9
    assert upper_ends(1.0, [epoch(shift=2.0)], 2.0, stops=(False, True)).tolist() == [1, 1]
    far = epoch((1.0, Normal(mean=100.0, variance=1e-6)))  # beyond a grid that begins just above the target
    assert 0.5 <= upper_ends(0.0, [far], 100.0, stops=(False, True))[1] <= 1
