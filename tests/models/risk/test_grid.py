"""The directed grid contains the truth: closed forms, quadrature, exact sums, and its own arithmetic."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma, Lognormal, Normal
from depl.models.risk import grid
from depl.models.risk.grid import grid_quantile, grid_violation, rounded, short_step
from tests.oracles.atoms import above
from tests.problems import atoms, loss, student

POINTS = 2**10
LAWS = {
    "inverse gamma": InverseGamma(mean=1.02, variance=0.031),
    "inverse gamma of infinite variance": InverseGamma(shape=1.3, scale=0.5),
    "lognormal": Lognormal(mean=1.0, variance=0.5),
    "normal": Normal(mean=1.0, variance=0.04),
    "student t": student(1.5, 0.3, 0.1),
    "truncated student t": student(3, 0.3, 0.1, 0.0, 0.5),
    "student t truncated to its tail": student(4, 0, 1, 3.0, 5.0),
}
DICE = atoms(0.0, 1.0, 3.0, weights=(0.5, 0.25, 0.25))


def single(law, count=1, constant=20.0):
    return loss(constant, (-1.0, law, count))


def contains(interval, value, slack=0.0):
    return interval.lower - slack <= value <= interval.upper + slack


@pytest.mark.parametrize(
    ("count", "points", "width"), [(2, 2**18, 8e-6), (30, 2**15, 1.3e-3), (1000, 2**18, 6e-3)]
)
def test_sums_of_normals_are_contained_and_tight(count, points, width):
    given, deviation = single(LAWS["normal"], count=count), 0.2 * math.sqrt(count)
    for z in (-2.0, 1.6449, 6.0):
        found = grid_violation(given, 20 - count + z * deviation)
        assert contains(found, float(stats.norm.sf(z)))
        assert found.width < width
    for level in (0.5, 1 - 1e-7):
        found = grid_quantile(given, level)
        assert contains(found, 20 - count + deviation * float(stats.norm.ppf(level)))
        assert found.width < 12 * width * deviation


def test_atoms_fall_on_the_grid_and_are_met_within_a_billionth_but_not_beside_a_continuous_epoch():
    dice = single(DICE, count=6, constant=5.0)
    for threshold in (-3.0, 0.0, 2.0):
        found = grid_violation(dice, threshold, POINTS)
        assert contains(found, float(above(dice, threshold)))
        assert found.width < 1e-10
    two = single(atoms(1.0, 2.0), constant=3.0)
    assert grid_violation(two, 2.0 - 0.9e-9).upper < 1e-12
    assert grid_violation(two, 2.0 - 1.1e-9).lower > 0.5 - 1e-12
    # A normal of standard deviation 1e-10 around the atom: half of it lies above, and is not "met".
    found = grid_violation(loss(0.0, (1.0, atoms(1.0)), (1.0, Normal(mean=0, variance=1e-20))), 1.0)
    assert contains(found, 0.5)
    certain = FinalLoss(3.0, ())
    assert [grid_violation(certain, value).exact for value in (3.0, 2.0)] == [0, 1]
    assert grid_quantile(certain, 0.9).exact == 3


def test_plans_far_from_the_target_get_certain_answers_and_never_leave_zero_to_one():
    given = single(LAWS["inverse gamma"], count=30)
    assert grid_violation(given, 21.0).upper <= 1e-9
    assert grid_violation(given, -1e6).lower >= 1 - 1e-9
    for maximum in np.linspace(-30, 25, 23):
        found = grid_violation(given, float(maximum), 64)
        assert 0 <= found.lower <= found.upper <= 1


@pytest.mark.parametrize("keep", [0.9, 0.2])
def test_windows_that_are_too_small_make_intervals_wide_and_never_wrong(keep, monkeypatch):
    """Whatever the guide says: what leaves a window is moved, and what comes round its end is bounded."""
    whole = grid._Guide.reach

    def shortened(self, counts, tail):
        low, high = whole(self, counts, tail)
        away = (1 - keep) * (high - low) / 2
        return low + away, high - away

    monkeypatch.setattr(grid._Guide, "reach", shortened)
    for given, deviation in ((single(LAWS["normal"], count=9), 0.6), (single(LAWS["normal"]), 0.2)):
        for z in (-3.0, 0.0, 4.0):
            value, level = given.mean() + z * deviation, float(stats.norm.cdf(z))
            assert contains(grid_violation(given, value, POINTS), float(stats.norm.sf(z)))
            assert contains(grid_quantile(given, level, POINTS), value, 1e-9)
    dice = single(DICE, count=6, constant=5.0)
    for threshold in (-6.0, 0.0, 2.0):
        assert contains(grid_violation(dice, threshold, 64), float(above(dice, threshold)))


# The arithmetic underneath.


@pytest.mark.parametrize(
    ("name", "coefficient"), [("normal", -0.7), *zip(LAWS, itertools.cycle([-0.7, 1.3]), strict=False)]
)
def test_rounded_laws_lie_on_their_sides_of_the_law(name, coefficient):
    law, step, first, last = LAWS[name], 2.0**-6, -150, 150

    def stored(rounded_law, upwards):
        """P(law > grid point) at all of them."""
        starts = np.maximum(np.arange(first, last + 1) + 1 - rounded_law.first, 0)
        sums = [float(rounded_law.masses[start:].sum()) for start in starts]
        return np.array(sums) + (rounded_law.escaped if upwards else 0.0)

    up, down = rounded(Term(coefficient, law), step, first, last)
    points = np.arange(first, last + 1) * step / coefficient
    true = law.survival(points) if coefficient > 0 else law.cdf(points)
    above_up, above_down = stored(up, True), stored(down, False)
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
    law = atoms(0.1, 0.5, -0.1, 9.0, weights=(1.0, 2.0, 3.0, 4.0))
    up, down = rounded(Term(1.0, law), 0.5, -4, 4)
    assert (up.first, up.escaped) == (0, pytest.approx(0.4))
    np.testing.assert_allclose(up.masses, [0.3, 0.3])
    assert (down.first, down.escaped) == (-1, 0.0)
    np.testing.assert_allclose(down.masses, [0.3, 0.1, 0.2, 0.0, 0.0, 0.4])


@pytest.mark.parametrize("count", [1, 3, 20])
def test_a_folded_power_errs_by_less_than_its_bound(count):
    """Against whole numbers: masses with few bits, added up exactly, folded at the ends of the window."""
    masses = np.array([3, 0, 1, 4]) / 8
    for upwards, first in ((True, -1), (False, -2 * count)):
        start = first - 8 * count
        fold = grid._Folded(0.5, first, 5 * count, 0.8 if upwards else -0.8)
        fold.add(grid.RoundedLaw(-2, masses, 0.0, 0.0), count)
        nothing = (np.arange(start, first + 10 * count) < 0).astype(float)  # a law that is 0
        found, exact = fold.sum(start, nothing, 0.0), {0: Fraction(1)}
        for _ in range(count):
            step = zip((-2, 0, 1), (Fraction(3, 8), Fraction(1, 8), Fraction(4, 8)), strict=True)
            parts = [(place + move, one * share) for (move, share) in step for place, one in exact.items()]
            exact = {place: Fraction(0) for place, _ in parts}
            for place, share in parts:
                exact[place] += share
        for index in range(-2 * count, count + 1):
            true = sum(share for place, share in exact.items() if place > index)
            if first <= index < first + 5 * count:
                off = Fraction(found.above(index)) - true
                assert (-off if upwards else off) <= Fraction(found.error)


def test_steps_are_rounded_up_by_little_and_to_a_power_of_two_where_there_are_only_atoms():
    terms, chances = [(Term(-1.0, LAWS["normal"]), 1)], [(Term(-1.0, DICE), 1)]
    for step in 2.0 ** np.random.default_rng(7).uniform(-30, 5, 200):
        assert step <= short_step(step, terms) <= step * (1 + 1 / grid._STEPS_PER_OCTAVE)
        assert step <= short_step(step, chances) < 2 * step
        assert math.frexp(short_step(step, chances))[0] == 0.5
