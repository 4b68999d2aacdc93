"""Student-t switches and their cores: what they cost, the brackets of the page, and tails in fifty digits."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from scipy import special, stats

from depl.models.problem.epochs import Term
from depl.models.problem.laws import InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk import contour, finite_sums, transforms
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.risk.cores import _Kind, _Split, beyond, core_term, cored_violation
from depl.models.risk.grid import grid_violation
from depl.models.risk.sampling import sample_final_loss
from depl.models.risk.verdicts import Kept, outside
from tests.problems import atoms, loss, student

BELL = Normal(mean=1.0, variance=0.2)


# --- effort -----------------------------------------------------------------------------------------------


@pytest.fixture
def work(monkeypatch):
    """Exponentials of transforms and contours so far; products of matrices count for a sixteenth."""
    counted = {"all": 0.0}

    def count(module, name, size):
        usual = getattr(module, name)

        def counting(*arguments):
            counted["all"] += size(*arguments)
            return usual(*arguments)

        monkeypatch.setattr(module, name, counting)

    count(transforms, "_line_sums", lambda variable, z, angle, points, *_: len(z) * len(points))
    count(finite_sums, "_sum_of_atoms", lambda z, offsets, masses: len(z) * len(offsets))
    count(finite_sums, "_sums_on_a_line", lambda z, step, offsets, masses: len(z) * len(offsets) / 16)
    count(contour, "error_terms", lambda found, labels, *_: found.count * len(labels))
    return counted


AFFORDABLE = 2e7
"""Exponentials; about a second on one core."""


def cut_far_out(reach, freedom):
    return loss(0.5, (-1.0, BELL, 3), (1.0, student(freedom, 0.05, 0.1, -reach, reach)))


@pytest.mark.parametrize(
    ("given", "budget", "width", "closeness"),
    [
        (cut_far_out(10.0, 2.0), Fraction(1, 50), 0.01, 2e-3),
        (cut_far_out(1e8, 0.4), Fraction(1, 50), 0.01, 2e-3),
        (
            loss(4.0, (-0.5, Lognormal(mean=1.0, variance=40.0), 4), (1.0, student(2.5, 0.0, 0.2), 3)),
            Fraction(1, 100),
            0.01,
            0.1,
        ),
    ],
    ids=["cut far out", "cut farther out", "a wide lognormal and three switches"],
)
def test_a_wide_law_has_an_affordable_certificate(given, budget, width, closeness, work):
    found, quantile = certified_violation(given, 0.0), certified_quantile(given, budget)
    assert work["all"] <= AFFORDABLE
    assert found.width <= closeness * found.upper
    assert quantile.width <= width * (abs(quantile.upper) + 1)
    assert grid_violation(given, quantile.upper + 1e-6).lower <= budget
    assert grid_violation(given, quantile.lower - 1e-6).upper >= budget


@pytest.mark.parametrize("target", [2.75, 3.125])
def test_far_from_zero_the_same_loss_has_bounds_that_hold(target):
    """It is moved by 2**30 as a constant or as a mean, exactly; what is added to that is rounded."""

    def moved(constant, mean):
        bell = Normal(mean=mean + 0.125, variance=0.01)
        terms = (-0.1, InverseGamma(mean=1.0, variance=0.03), 3), (1.0, bell), (1.0, student(3.0, 0.35, 0.1))
        return cored_violation(loss(3.0 + constant, *terms), target + constant + mean)

    near = moved(0.0, 0.0)
    for far in (moved(2.0**30, 0.0), moved(0.0, 2.0**30)):
        assert max(near.lower, far.lower) <= min(near.upper, far.upper)


@pytest.mark.parametrize("variance", [1e-12, 1e-6])
def test_a_lognormal_of_hardly_any_spread_is_not_summed_over_a_million_points(variance, work):
    given = loss(8.0, (-1.0, Lognormal(mean=1.0, variance=variance), 8))
    quantile = certified_quantile(given, Fraction(1, 1000))
    deviation = math.sqrt(8 * variance)
    assert quantile.middle == pytest.approx(deviation * -special.ndtri(1e-3), abs=10 * variance + 1e-14)
    assert certified_violation(given, 5 * deviation).upper < 1e-6
    assert work["all"] <= 1e6


def drawn_law(rng):
    """A law within what depl accepts, with parameters over many powers of ten."""

    def power(low, high):
        return float(10 ** rng.uniform(low, high))

    def cut(location, scale):
        freedom = power(-1.3, 3)
        lower, upper = location - scale * power(-1, 6), location + scale * power(-1, 6)
        return student(freedom, location, scale, lower, upper)

    kinds = (
        lambda: InverseGamma(shape=1 + power(-3, 9), scale=power(-2, 2)),
        lambda: Lognormal(log_mean=float(rng.uniform(-2, 2)), log_variance=power(-11, 1.5)),
        lambda: Normal(mean=float(rng.uniform(0, 2)), variance=power(-6, 1)),
        lambda: atoms(*rng.uniform(-1, 3, int(rng.integers(1, 30))).tolist()),
        lambda: student(1 + power(-2, 3), float(rng.uniform(-1, 1)), power(-4, 1)),
        lambda: cut(float(rng.uniform(-1, 1)), power(-4, 1)),
    )
    return kinds[int(rng.integers(0, 6))]()


@pytest.mark.parametrize("seed", [*range(4), 59])
def test_any_valid_law_has_an_affordable_certificate_that_agrees_with_the_grid(seed, work):
    """A loss of a few such increments, and a target near one of its quantiles or far beyond."""
    rng = np.random.default_rng(seed)
    laws = [drawn_law(rng) for _ in range(int(rng.integers(1, 5)))]
    weights = [1.0 if isinstance(law, StudentT) else -float(10 ** rng.uniform(-1, 1)) for law in laws]
    pairs = [(weight, law, int(rng.integers(1, 9))) for weight, law in zip(weights, laws, strict=True)]
    given = loss(float(rng.uniform(0, 20)), *pairs)
    draws = sample_final_loss(given, np.random.default_rng(0), 2000)
    level = rng.choice([0.5, 0.9, 0.99, 0.999, 1.0])
    beyond = rng.uniform(0, 3) * (draws.max() - np.median(draws)) if level == 1 else 0.0
    value = float(np.quantile(draws, level) + beyond)
    found, grid = certified_violation(given, value), grid_violation(given, value)
    assert 0 <= found.lower <= found.upper <= 1
    assert found.lower <= grid.upper
    assert grid.lower <= found.upper
    assert found.width <= max(2 * grid.width, 1e-3)
    assert work["all"] <= AFFORDABLE


# --- brackets ---------------------------------------------------------------------------------------------


def test_the_bracket_of_many_switches_holds_the_sum_of_whole_fractions():
    """(1 - o)**n p + n (1 - o)**(n - 1) e, all between two numbers; two tails at once weigh o**2."""
    rng = np.random.default_rng(8)
    for count, scale in itertools.product((1, 2, 30, 1000), (1e-20, 1e-8, 1e-4)):
        beside, tails, core = (scale, 1.5 * scale), (1e-6, 2e-6), float(rng.uniform(0.1, 0.9))
        total, both = 1.5 * scale * count, float(rng.uniform(0.0, scale))
        several = count * (total - 1.5 * scale) * both + (total**3 / 6 if count > 2 else 0.0)
        whole = SimpleNamespace(exceedance=lambda _, core=core: (np.array([core]), np.array([core])))
        kind = SimpleNamespace(
            count=count,
            outside=beside,
            tail=lambda _, tails=tails: tails,
            two_tails=lambda _, both=both: both,
        )
        lower, upper = _Split(whole, (kind,), 0.0).bounds(0.0)
        for out, tail, end in zip(beside[::-1], tails, (lower, upper), strict=True):
            kept = 1 - Fraction(out)
            exact = kept**count * Fraction(core) + count * kept ** (count - 1) * Fraction(tail)
            assert Fraction(lower) <= exact <= Fraction(upper)
            more = min(several, total**2 / 2) if end == upper else 0.0
            assert end == pytest.approx(float(exact) + more, rel=2e-10 + 1e-5 * count * scale)


SWITCH = student(1.7, 0.3, 0.5)


class Doubtful:
    """The switch with tails that are known to a few per cent only, so that their bounds can be told apart."""

    @staticmethod
    def exceedance(edges):
        """Bounds of P(S > edge)."""
        low, high = SWITCH.exceedance(edges)
        return 0.97 * low, 1.03 * high

    @staticmethod
    def shortfall(edges):
        """Bounds of P(S < edge)."""
        low, high = SWITCH.shortfall(edges)
        return 0.97 * low, 1.03 * high


def rest(values):
    """P(R > value) of a Student-t about 1."""
    return stats.t.sf(values, 1.2, 1.0)


@pytest.mark.parametrize("value", [-4.0, 9.0])
def test_with_a_few_points_the_bounds_are_the_sums_of_the_page_cell_by_cell(value):
    """Two points beyond the core on either side, and three within it, of which the outer ones matter."""
    core = SWITCH.core(0.05)
    lower, upper = core.support()
    edges = np.array([lower - 9.0, lower - 2.0, lower + 0.01, 0.0, upper - 0.01, upper + 0.5, upper + 8.0])
    low, high = 0.95 * rest(value - edges), 0.05 + 0.95 * rest(value - edges)
    least, most = Doubtful.exceedance(np.array([upper, *edges[5:]]))
    right = (
        least[0] * low[4] + least[1] * (low[5] - low[4]) + least[2] * (low[6] - low[5]),
        most[0] * high[5] + most[1] * (high[6] - high[5]) + most[2] * (1 - high[6]),
    )
    least, most = Doubtful.shortfall(np.array([*edges[:2], lower]))
    left = (
        max(least[1] - most[0], 0.0) * low[0] + max(least[2] - most[1], 0.0) * low[1],
        most[0] * high[0] + (most[1] - least[0]) * high[1] + (most[2] - least[1]) * high[2],
    )
    sides = float(stats.t.cdf((lower - 0.3) / 0.5, 1.7) + stats.t.sf((upper - 0.3) / 0.5, 1.7))
    assert beyond(Doubtful, core) == pytest.approx((0.97 * sides, 1.03 * sides), rel=1e-9)
    found = _Kind(Doubtful, core, 1, (0.0, 0.0), value - edges, low, high).tail(value)
    assert found == pytest.approx((right[0] + left[0], right[1] + left[1]), rel=1e-12)


@pytest.mark.parametrize("value", [-4.0, 300.0])
def test_two_tails_at_once_are_bounded_from_above(value):
    """E[min(1, 2 P(R > value - 2 S)); S outside of its core] by the trapezoidal rule beyond either end."""
    core, points = SWITCH.core(0.02), np.sinh(np.linspace(-20.0, 20.0, 641)) / 4
    steps = np.sinh(np.linspace(0.0, 60.0, 60_001))
    s = np.concatenate([core.upper + steps, core.lower - steps])
    weights = np.tile(np.hypot(steps, 1.0) * 1e-3 * np.where(steps > 0, 1.0, 0.5), 2)
    density = stats.t.pdf(s, 1.7, 0.3, 0.5) * weights
    truth = float(density @ np.minimum(2 * rest(value - 2 * s), 1.0))
    known = rest(1.0 - points)
    kind = _Kind(SWITCH, core, 1, (0.0, 0.0), 1.0 - points, known, known)
    assert truth * (1 - 1e-5) <= kind.two_tails(value) <= 2 * truth


# --- tails and cores of laws, against multiple precision --------------------------------------------------


def tail(law, value):
    """P(T > value) of the law without truncation, by the incomplete beta function."""
    nu, x = mpmath.mpf(law.degrees_of_freedom), (mpmath.mpf(value) - law.location) / law.scale
    half = mpmath.betainc(nu / 2, 0.5, 0, nu / (nu + x * x), regularized=True) / 2
    return half if x >= 0 else 1 - half


def exact(law, value):
    """P(S > value) of the truncated law."""
    if law.lower is None:
        return tail(law, value)
    value = min(max(value, law.lower), law.upper)
    return (tail(law, value) - tail(law, law.upper)) / (tail(law, law.lower) - tail(law, law.upper))


HEAVY = [
    student(1.3, 0.2, 0.01),
    student(60.0, -3.0, 2.0),
    student(0.3, 1.0, 0.1, -1e6, 1e4),
    student(2.5, 0.0, 1.0, 5.0, 2e3),
    student(2.5, 0.0, 1.0, -2e3, -5.0),
    student(0.5, 0.0, 1.0, -2e3, 0.0),
    student(7.0, 0.0, 1.0, -0.5, 50.0),
]


@pytest.mark.parametrize("law", HEAVY)
def test_tails_contain_the_probability_in_fifty_digits_and_those_of_a_multiple_are_the_same(law):
    rng = np.random.default_rng(0)
    reach = law.scale * 10 ** rng.uniform(-2, 6, 12)
    points = law.location + np.concatenate([reach, -reach])
    low, high = law.exceedance(points)
    below, above = law.shortfall(points)
    with mpmath.workdps(50):
        for index, point in enumerate(points.tolist()):
            assert low[index] <= exact(law, point) <= high[index]
            assert below[index] <= exact(law.scaled(-1.0), -point) <= above[index]
    assert np.all(high - low <= 1e-9 * high + 1e-10)
    for weight, same in ((-2.0, below), (0.5, low)):
        found = law.scaled(weight).exceedance(weight * points)
        assert found[0] == pytest.approx(same, rel=1e-9, abs=1e-9)


def test_a_core_leaves_out_about_the_probability_asked_for():
    for law, tails in itertools.product(HEAVY, (0.05, 1e-6)):
        core, ends = law.core(tails), law.support()
        low, high = beyond(law, core)
        assert ends[0] <= core.lower < core.upper <= ends[1]
        assert low <= high <= tails * (1 + 1e-6)
        narrow = law.core(tails, widest=0.1 * law.scale)
        assert narrow.upper - narrow.lower <= 0.2 * law.scale * (1 + 1e-9)


def test_the_tails_beyond_a_core_are_not_the_rounding_of_one_minus_the_core():
    """1 - (1 - 1e-17) is 0 in double precision; the survival function knows better."""
    switch, other = Term(1.0, student(5.0, 0.0, 0.3)), Term(-1.0, BELL)
    assert core_term(other, 1e-3) is other
    assert [outside(term, term) for term in (other, Term(1.0, HEAVY[-1]))] == [(0.0, 0.0)] * 2
    low, high = outside(switch, core_term(switch, 1e-17))
    assert 1e-17 * (1 - 1e-9) <= high <= low * (1 + 1e-9)
    assert low <= 1e-17 * (1 + 1e-9)
    kept = Kept.of([(0.0, 0.0), (low, high)], np.array([[3.0, 4.0], [2.0, 0.0]]))
    assert 4 * low <= kept.lost[0] <= 4e-17 * (1 + 1e-9)
    lower, upper = kept.whole(np.array([0.0, 0.5]), np.array([0.0, 0.5]))
    assert (lower[0], upper[0]) == (0.0, pytest.approx(4e-17, rel=1e-9, abs=0))
    assert (lower[1], upper[1]) == (0.5, 0.5)


def test_bounds_of_no_tail_at_all_contain_the_power_of_whole_fractions():
    rng = np.random.default_rng(5)
    outsides = [tuple(sorted(10 ** rng.uniform(-12, -2, 2))) for _ in range(3)]
    for row in (*rng.integers(0, 60, (20, 3)), np.zeros(3, dtype=int), np.array([100, 0, 0])):
        kept = Kept.of(outsides, row[None, :].astype(float))
        low, high = (
            math.prod((1 - Fraction(pair[side])) ** int(n) for pair, n in zip(outsides, row, strict=True))
            for side in (1, 0)
        )
        least, most, lost = (Fraction(float(part[0])) for part in (kept.least, kept.most, kept.lost))
        assert least <= low <= high <= most <= 1
        assert 1 - low <= lost
        assert most - least <= high - low + Fraction(1, 10**10)
