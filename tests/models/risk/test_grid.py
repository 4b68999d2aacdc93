"""The directed grid contains the truth: closed forms, quadrature, exact sums, and its own arithmetic."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk.discrete import exact_quantile, exact_violation
from depl.models.risk.grid import _STEPS_PER_OCTAVE, _plus, grid_quantile, grid_violation, short_step
from depl.models.risk.rounded import RoundedLaw, Rounding, convolved, rounded

POINTS = 2**10

LAWS = {
    "inverse gamma": InverseGamma(mean=1.02, variance=0.031),
    "inverse gamma of infinite variance": InverseGamma(shape=1.3, scale=0.5),
    "lognormal": Lognormal(mean=1.0, variance=0.5),
    "normal": Normal(mean=1.0, variance=0.04),
    "student t": StudentT(degrees_of_freedom=1.5, location=0.3, scale=0.1),
    "truncated student t": StudentT(degrees_of_freedom=3, location=0.3, scale=0.1, lower=0.0, upper=0.5),
    "student t truncated to its tail": StudentT(
        degrees_of_freedom=4, location=0, scale=1, lower=3.0, upper=5.0
    ),
}


def single(law, coefficient=-1.0, count=1, constant=20.0):
    return FinalLoss(constant, ((Term(coefficient, law), count),))


def contains(interval, value):
    return interval.lower <= value <= interval.upper


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("level", [1e-8, 1e-3, 0.05, 0.5, 0.97])
def test_one_epoch_matches_the_distribution_function(name, level):
    law = LAWS[name]
    x = float(law.quantile(level))
    found = grid_violation(single(law), 20.0 - x, POINTS)
    # L > 20 - x means X < x; what the float 20 - x rounds to is worth a few units in the last place.
    assert contains(found, float(law.cdf(20.0 - (20.0 - x))))
    assert found.width < 1e-4 * level + 1e-9


@pytest.mark.parametrize("name", LAWS)
def test_one_switch_that_raises_the_loss_matches_the_upper_tail(name):
    law = LAWS[name]
    for level in (1e-6, 0.01, 0.5):
        x = float(law.quantile(level, upper=True))
        found = grid_violation(single(law, coefficient=1.0, constant=0.0), x, POINTS)
        assert contains(found, float(law.survival(x)))
        assert found.width < 1e-4 * level + 1e-9


@pytest.mark.parametrize(
    ("count", "width"),
    [
        (2, 1e-4),
        (30, 4e-3),
        (1000, 0.2),
        *(pytest.param(*row, marks=pytest.mark.slow) for row in ((5, 3e-4), (100, 1.5e-2))),
    ],
)
def test_sums_of_normals_are_contained_and_tight(count, width):
    loss = single(LAWS["normal"], count=count)
    deviation = 0.2 * math.sqrt(count)
    for z in (-2.0, 0.0, 1.6449, 3.0, 6.0):
        found = grid_violation(loss, 20 - count + z * deviation)
        true = float(stats.norm.sf(z))
        assert contains(found, true)
        assert found.width < width
    for level in (0.5, 0.95, 1 - 1e-7):
        found = grid_quantile(loss, level)
        true = 20 - count + deviation * float(stats.norm.ppf(level))
        assert contains(found, true)
        assert found.width < 30 * width * deviation


def test_normals_of_different_scales_are_contained():
    terms = tuple((Term(-1 / math.sqrt(k), Normal(mean=1.0, variance=0.09)), 1) for k in range(1, 13))
    loss = FinalLoss(5.0, terms)
    for level in (0.5, 0.9, 0.999):
        true = loss.mean() + math.sqrt(loss.variance()) * float(stats.norm.ppf(level))
        assert contains(grid_violation(loss, true, POINTS), 1 - level)
        assert contains(grid_quantile(loss, level, POINTS), true)


def quadrature_violation(constant, smooth, law, maximum_loss):
    """P(constant - N - S > maximum_loss) for N normal and S of any continuous law: one integral."""
    mean, deviation = smooth.mean, math.sqrt(smooth.variance)

    def integrand(level):
        return stats.norm.cdf((constant - maximum_loss - float(law.quantile(level)) - mean) / deviation)

    return integrate.quad(integrand, 0, 1, limit=400, epsabs=1e-11)[0]


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("maxima", [(1.2, 2.3), pytest.param((1.9,), marks=pytest.mark.slow)])
def test_a_normal_epoch_and_one_of_another_law_match_a_single_integral(name, maxima):
    smooth, law = Normal(mean=1.0, variance=0.04), LAWS[name]
    loss = FinalLoss(3.0, ((Term(-1.0, smooth), 1), (Term(-1.0, law), 1)))
    for maximum in maxima:
        true = quadrature_violation(3.0, smooth, law, maximum)
        found = grid_violation(loss, maximum, 2**12)
        assert found.lower - 1e-10 <= true <= found.upper + 1e-10
        assert found.width < 3e-3


@pytest.mark.parametrize("threshold", [-3.0, -1.0, 0.0, 1.0, 2.0])
def test_integer_atoms_fall_on_the_grid_and_leave_hardly_any_width(threshold):
    loss = single(Empirical(values=(0.0, 1.0, 3.0), weights=(0.5, 0.25, 0.25)), count=6, constant=5.0)
    found = grid_violation(loss, threshold, POINTS)
    assert contains(found, float(exact_violation(loss, threshold).exact))
    assert found.width < 1e-10


def test_an_atom_within_a_billionth_of_the_maximum_counts_as_met():
    loss = single(Empirical(values=(1.0, 2.0)), constant=3.0)
    assert grid_violation(loss, 2.0 - 0.9e-9).upper < 1e-12
    assert grid_violation(loss, 2.0 - 1.1e-9).lower > 0.5 - 1e-12


def test_next_to_a_continuous_epoch_an_atom_earns_no_tolerance_in_the_upper_bound():
    # A normal of standard deviation 1e-10 around the atom: half of it lies above, and is not "met".
    loss = FinalLoss(
        0.0, ((Term(1.0, Empirical(values=(1.0,))), 1), (Term(1.0, Normal(mean=0, variance=1e-20)), 1))
    )
    found = grid_violation(loss, 1.0)
    assert found.lower <= 0.5 <= found.upper


def test_without_randomness_the_answer_is_certain():
    assert grid_violation(FinalLoss(3.0, ()), 3.0).exact == 0
    assert grid_violation(FinalLoss(3.0, ()), 2.0).exact == 1
    assert grid_quantile(FinalLoss(3.0, ()), 0.9).exact == 3


def test_more_points_give_a_narrower_interval_inside_the_old_one_up_to_its_width():
    loss = FinalLoss(
        20.0, tuple((Term(-1 / math.sqrt(k + 5), LAWS["inverse gamma"]), 1) for k in range(1, 11))
    )
    maximum = loss.mean() + 2 * math.sqrt(loss.variance())
    widths = [grid_violation(loss, maximum, 2**n).width for n in (6, 9, 12, 15)]
    assert all(late < early / 6 for early, late in itertools.pairwise(widths))
    quantile_widths = [grid_quantile(loss, 0.99, 2**n).width for n in (6, 9, 12, 15)]
    assert all(late < early / 3 for early, late in itertools.pairwise(quantile_widths))


def test_the_order_of_the_epochs_does_not_matter():
    terms = [(Term(-1 / k, law), k) for k, law in enumerate(LAWS.values(), start=1)]
    forward = grid_violation(FinalLoss(9.0, tuple(terms)), 5.0, POINTS)
    backward = grid_violation(FinalLoss(9.0, tuple(terms[::-1])), 5.0, POINTS)
    assert forward.lower == pytest.approx(backward.lower, abs=1e-12)
    assert forward.upper == pytest.approx(backward.upper, abs=1e-12)


def test_plans_far_from_the_target_get_certain_answers_and_never_leave_zero_to_one():
    loss = single(LAWS["inverse gamma"], count=30)
    assert grid_violation(loss, 21.0).upper <= 1e-9
    assert grid_violation(loss, -1e6).lower >= 1 - 1e-9
    for maximum in np.linspace(-30, 25, 23):
        found = grid_violation(loss, float(maximum), 64)
        assert 0 <= found.lower <= found.upper <= 1


def test_heavy_bad_tails_keep_their_probability():
    # P(S > t) of two untruncated t with 2 degrees of freedom, by one integral over the closed-form cdf.
    law = StudentT(degrees_of_freedom=2, location=0.0, scale=1.0)
    loss = FinalLoss(0.0, ((Term(1.0, law), 2),))
    for maximum in (0.0, 3.0, 30.0):
        true = integrate.quad(
            lambda u, t=maximum: float(law.survival(t - float(law.quantile(u)))),
            0,
            1,
            limit=800,
            epsabs=1e-12,
        )[0]
        found = grid_violation(loss, maximum, 2**14)
        assert found.lower - 1e-9 <= true <= found.upper + 1e-9
        assert found.width < 0.05 * true


def test_unusable_arguments_are_refused():
    loss = single(LAWS["normal"])
    with pytest.raises(InvalidInputError, match="between 16 and"):
        grid_violation(loss, 0.0, points=4)
    with pytest.raises(InvalidInputError, match="strictly between 0 and 1"):
        grid_quantile(loss, 1.0)


def between(low, high):
    return st.floats(low, high).map(lambda number: round(number, 6))


continuous = st.one_of(
    st.builds(InverseGamma, shape=between(1.05, 300), scale=between(0.1, 50)),
    st.builds(Lognormal, log_mean=between(-1, 1), log_variance=between(0.01, 2)),
    st.builds(Normal, mean=between(-2, 2), variance=between(1e-4, 4)),
    st.builds(StudentT, degrees_of_freedom=between(1.1, 30), location=between(-1, 1), scale=between(0.01, 1)),
)
atoms = st.lists(between(-3, 3), min_size=1, max_size=4, unique=True).map(
    lambda v: Empirical(values=tuple(v))
)


@settings(deadline=None, max_examples=40)
@given(continuous, st.floats(-3, 3), st.floats(1e-6, 1 - 1e-6))
def test_any_single_epoch_is_contained(law, coefficient, level):
    assume(abs(coefficient) > 1e-3)
    threshold = coefficient * float(law.quantile(level))
    x = threshold / coefficient
    true = float(law.survival(x)) if coefficient > 0 else float(law.cdf(x))
    found = grid_violation(single(law, coefficient, constant=0.0), threshold, 256)
    assert found.lower - 1e-12 <= true <= found.upper + 1e-12
    assert found.width < 0.02


@settings(deadline=None, max_examples=20)
@given(
    st.lists(st.tuples(st.sampled_from([-1.0, -0.3, 0.7]), atoms), min_size=1, max_size=4), st.floats(-6, 6)
)
def test_any_discrete_loss_is_contained(parts, threshold):
    loss = FinalLoss(0.25, tuple((Term(coefficient, law), 1) for coefficient, law in parts))
    true = exact_violation(loss, threshold).exact
    found = grid_violation(loss, threshold, 256)
    assert found.lower - 1e-12 <= true <= found.upper + 1e-12
    middle = float(exact_quantile(loss, 0.7).exact)
    bracket = grid_quantile(loss, 0.7 - 1e-9, 256)
    assert bracket.lower <= middle + 1e-9


@settings(deadline=None, max_examples=10)
@given(
    st.lists(st.tuples(st.sampled_from([-1.0, -0.4]), continuous), min_size=1, max_size=4),
    st.floats(0.05, 0.9),
)
def test_quantiles_increase_with_the_level_and_agree_with_violations(parts, level):
    loss = FinalLoss(0.0, tuple((Term(coefficient, law), 1) for coefficient, law in parts))
    here, higher = grid_quantile(loss, level, 256), grid_quantile(loss, (1 + level) / 2, 256)
    assert here.lower <= here.upper
    assert here.lower <= higher.upper
    assert grid_violation(loss, here.upper, 256).lower <= 1 - level
    if math.isfinite(here.lower):
        assert grid_violation(loss, math.nextafter(here.lower, -math.inf), 256).upper >= 1 - level - 1e-12


# The arithmetic underneath, by hand.


def law_of(rounding, first, masses, escaped=0.0, step=0.5):
    return RoundedLaw(rounding, step, first, np.array(masses), escaped, 0.0)


def test_convolution_by_hand():
    total = law_of(Rounding.UP, 1, [0.5, 0.25], 0.25).convolve(law_of(Rounding.UP, -2, [0.5, 0.0, 0.5]))
    assert (total.first, total.step, total.rounding) == (-1, 0.5, Rounding.UP)
    np.testing.assert_allclose(total.masses, [0.25, 0.125, 0.25, 0.125])
    assert total.escaped == 0.25
    assert total.above(0) == pytest.approx(0.25 + 0.375)
    assert 0 < total.error < 1e-15


def test_mass_at_infinity_of_two_laws_is_that_of_either_escaping():
    total = law_of(Rounding.DOWN, 0, [0.8], 0.2).convolve(law_of(Rounding.DOWN, 0, [0.9], 0.1))
    assert total.escaped == pytest.approx(1 - 0.8 * 0.9)


def test_mass_leaving_the_window_moves_in_the_direction_of_rounding():
    masses = [0.1, 0.2, 0.3, 0.4]
    up = law_of(Rounding.UP, 10, masses).within(11, 12)
    assert (up.first, up.escaped) == (11, pytest.approx(0.4))
    np.testing.assert_allclose(up.masses, [0.3, 0.3])
    down = law_of(Rounding.DOWN, 10, masses).within(11, 12)
    assert (down.first, down.escaped) == (11, pytest.approx(0.1))
    np.testing.assert_allclose(down.masses, [0.2, 0.7])


@pytest.mark.parametrize(("first", "last"), [(0, 5), (20, 25)])
def test_a_window_beside_all_the_mass_keeps_the_total(first, last):
    for rounding in Rounding:
        moved = law_of(rounding, 10, [0.5, 0.5]).within(first, last)
        assert moved.masses.sum() + moved.escaped == pytest.approx(1)
        assert moved.first >= first
        assert moved.last <= last
    assert law_of(Rounding.UP, 10, [1.0]).within(0, 5).escaped == 1
    assert law_of(Rounding.DOWN, 10, [1.0]).within(20, 25).escaped == 1


def test_mixing_directions_or_grids_is_refused_with_both_values():
    up = law_of(Rounding.UP, 0, [1.0])
    with pytest.raises(InvalidInputError, match=r"rounded up and one rounded down"):
        up.convolve(law_of(Rounding.DOWN, 0, [1.0]))
    with pytest.raises(InvalidInputError, match=r"step 0\.5 and 0\.25"):
        up.convolve(law_of(Rounding.UP, 0, [1.0], step=0.25))


def test_the_transform_errs_by_less_than_its_bound():
    rng = np.random.default_rng(5)
    for length in (65, 300, 2000):
        one, other = (rng.exponential(size=length) ** 6 for _ in range(2))
        one, other = one / one.sum(), other / other.sum()
        total = law_of(Rounding.UP, 0, one).convolve(law_of(Rounding.UP, 0, other))
        exact = np.array(
            [
                math.fsum(one[max(0, k - length + 1) : k + 1] * other[max(0, k - length + 1) : k + 1][::-1])
                for k in range(2 * length - 1)
            ]
        )
        assert np.abs(total.masses - exact).sum() <= total.error < 1e-10


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("coefficient", [-0.7, 1.3])
def test_rounded_laws_lie_on_their_sides_of_the_law(name, coefficient):
    law, step, first, last = LAWS[name], 2.0**-6, -150, 150
    up, down = rounded(Term(coefficient, law), step, first, last)
    points = np.arange(first, last + 1) * step / coefficient
    true = law.survival(points) if coefficient > 0 else law.cdf(points)
    above_up = np.array([up.above(index) for index in range(first, last + 1)])
    above_down = np.array([down.above(index) for index in range(first, last + 1)])
    assert (above_up + up.error >= true).all()
    assert (above_down - down.error <= true).all()
    assert max(up.error, down.error) < 1e-14
    # P(Y rounded up > x) is P(Y > x) on the grid; rounded down it is that one step later.
    np.testing.assert_allclose(above_up, true, atol=1e-9)
    np.testing.assert_allclose(above_down[:-1], true[1:], atol=1e-9)
    for side in (up, down):
        assert side.masses.min() >= 0
        assert side.masses.sum() + side.escaped == pytest.approx(1, abs=1e-12)


def test_rounded_atoms_move_to_the_next_grid_point_in_their_direction():
    law = Empirical(values=(0.1, 0.5, -0.1, 9.0), weights=(1.0, 2.0, 3.0, 4.0))
    up, down = rounded(Term(1.0, law), 0.5, -4, 4)
    assert (up.first, up.escaped) == (0, pytest.approx(0.4))
    np.testing.assert_allclose(up.masses, [0.3, 0.3])
    assert (down.first, down.last, down.escaped) == (-1, 4, 0.0)
    np.testing.assert_allclose(down.masses, [0.3, 0.1, 0.2, 0.0, 0.0, 0.4])


@pytest.mark.parametrize("name", LAWS)
def test_density_and_upper_tail_belong_to_the_same_law(name):
    law = LAWS[name]
    low, high = float(law.quantile(0.2)), float(law.quantile(0.2, upper=True))
    assert integrate.quad(lambda x: float(law.density(x)), low, high)[0] == pytest.approx(0.6, abs=1e-8)
    np.testing.assert_allclose(law.survival([low, high]) + law.cdf([low, high]), 1, atol=1e-12)
    assert 0 < law.survival_slack(np.array([10.0])) < 1e-9


def test_quantiles_of_an_empirical_law_are_its_values():
    law = Empirical(values=(3.0, 1.0, 2.0), weights=(1.0, 2.0, 1.0))
    assert law.quantile([0.1, 0.5, 0.6, 0.99]).tolist() == [1, 1, 2, 3]
    assert law.quantile([0.9, 0.1], upper=True).tolist() == [1, 3]


def test_levels_may_be_given_as_exact_fractions():
    loss = single(LAWS["normal"])
    assert grid_quantile(loss, Fraction(99, 100), POINTS) == grid_quantile(loss, 0.99, POINTS)


def test_ends_are_rounded_outward_and_no_farther_than_the_next_number():
    rng = np.random.default_rng(12)
    for _ in range(200):
        constant = Fraction(int(rng.integers(-(10**9), 10**9)), int(rng.integers(1, 10**6)))
        value = float(rng.normal() * 10.0 ** rng.integers(-12, 6))
        exact = constant + Fraction(value)
        below, above = (_plus(constant, value, direction) for direction in (-math.inf, math.inf))
        assert Fraction(below) <= exact <= Fraction(above)
        assert above <= math.nextafter(below, math.inf)
    assert _plus(Fraction(1, 3), -math.inf, -math.inf) == -math.inf
    for direction in (-math.inf, math.inf):
        assert _plus(Fraction(1, 4), 2.5, direction) == 2.75  # a double stays as it is


@pytest.mark.parametrize(
    ("first", "second"), [((0.1,), (0.3,)), ((0.1, 0.2), (0.3, 0.7)), ((0.1,) * 3, (0.7,) * 5)]
)
def test_short_convolutions_err_by_less_than_their_bound(first, second):
    """Against whole fractions: a product of two masses is rounded already."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        one, other = rng.uniform(0.5, 1.5, len(first)) * first, rng.uniform(0.5, 1.5, len(second)) * second
        found, doubt = convolved(one, other)
        off = Fraction(0)
        for place, mass in enumerate(found.tolist()):
            pairs = ((i, place - i) for i in range(len(one)) if 0 <= place - i < len(other))
            off += abs(sum(Fraction(one[i]) * Fraction(other[j]) for i, j in pairs) - Fraction(mass))
        assert off <= Fraction(doubt)


def test_steps_are_rounded_up_by_little_and_to_a_power_of_two_where_there_are_only_atoms():
    terms = [(Term(-1.0, LAWS["normal"]), 1)]
    atoms = [(Term(-1.0, Empirical(values=(0.0, 1.0))), 1)]
    for step in 2.0 ** np.random.default_rng(7).uniform(-30, 5, 200):
        assert step <= short_step(step, terms) <= step * (1 + 1 / _STEPS_PER_OCTAVE)
        assert step <= short_step(step, atoms) < 2 * step
        assert math.frexp(short_step(step, atoms))[0] == 0.5
