"""What a plan needs under a tilt, against known laws of sums: no claim is false, normal ones are tight.

Under a tilt by s, a plan with P(G < g) = p has Delta = s (mu - g). So for every plan and every g, Delta* for
that p may not be above Delta; here the plan sits on the boundary of the target.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma, Lognormal, Normal
from depl.models.risk.certify import certified_violation
from depl.models.risk.lower_bound.bound import plane, tilted_margins
from depl.models.risk.lower_bound.laws import Reach, TiltedTable
from depl.models.risk.lower_bound.spread import Spread
from depl.models.risk.lower_bound.switches import TiltedSwitch
from depl.models.risk.lower_bound.transform import (
    _HUGE,
    _lost,
    _misread,
    _points,
    _remainders,
    circles,
    largest_shifts,
)
from tests.oracles.tilted import tilted_numbers
from tests.problems import student

BOUNDS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.45)


def cell(rng, value, widest):
    """A cell that contains a value, near one of its ends or anywhere."""
    share, width = rng.choice([0.0, 1.0, rng.random()]), widest * rng.random()
    return np.array([value * (1 - share * width), value * (1 + (1 - share) * width) + 1e-12])


def claimed(budget, divergence, excess, spread):
    return float(tilted_margins(budget, divergence, excess, spread)[0, 0])


def spread_of(*parts):
    """Of sums of increments with these H, W, T and F."""
    h, w, third, fourth = np.repeat(np.array(parts, dtype=float).T, 2, axis=1)
    nothing = np.zeros(len(h))
    return Spread.of_runs(Reach(h, h - w / 2, third, fourth, nothing, nothing, nothing), clear=True)


def gamma_numbers(w):
    """H, W, T, F of a gamma law of shape 1 under a tilt with u / (t + u) = w: closed forms."""
    return -math.log1p(-w) - w, w**2, 2 * w**3, 6 * w**4


# --- normal increments: Phi itself ---------------------------------------------------------------------


def test_margins_of_normal_sums_are_right_and_nearly_tight():
    rng = np.random.default_rng([11, 1])
    losses = [0.0]
    for _ in range(300):
        budget = float(rng.choice(BOUNDS))
        score = float(stats.norm.isf(budget))  # g = mean - score
        rate = score * rng.uniform(0.7, 1.4) if score > 0.5 else rng.uniform(0.5, 1.2)
        exact = rate * (score - rate)  # s (mu - g), mu = mean - s
        assert exact < 1.9
        ends = cell(rng, rate**2 / 2, 0.02)
        found = claimed(budget, ends, np.array([0.0, 1e-9]), Spread())
        assert found <= exact
        if budget * math.exp(ends[1]) < 0.55:
            losses.append(exact - found - 2 * (ends[1] - ends[0]))  # a cell asks for what its ends ask for
    assert len(losses) > 200
    assert max(losses) < 0.01


# --- gamma increments: GGC with closed forms and known sums --------------------------------------------


def test_margins_of_gamma_sums_are_right_in_very_many_cases():
    """n equal increments; the number of them, the tilt, the target and the cells are random."""
    rng = np.random.default_rng([11, 2])
    near, cases = 0, 400
    for _ in range(cases):
        count = math.exp(rng.uniform(math.log(0.5), math.log(400)))
        goal = rng.uniform(0.15, 3.5)  # H
        w = min(math.sqrt(2 * goal / count), 0.9)
        for _ in range(30):  # Newton's rule for H(w) = goal / count
            w = min(max(w - (gamma_numbers(w)[0] - goal / count) * (1 - w) / w, w / 2), (1 + w) / 2)
        h, variance, _, _ = (count * value for value in gamma_numbers(w))
        excess, spread = h - variance / 2, spread_of(gamma_numbers(w))
        share = w / (1 - w)  # u = s c with t = 1
        delta = rng.uniform(-3.0, 1.0)
        below = count * (1 - w) - delta / share  # E_Q of the sum is n / (1 + u); g = mu - Delta / s
        budget = float(special.gammainc(count, below)) if below > 0 else 0.0
        if not 1e-6 < budget < 0.6:
            continue
        found = claimed(budget, cell(rng, h, 0.03), cell(rng, excess, 0.1), spread)
        assert found <= delta + 1e-9
        assert claimed(budget, cell(rng, h, 0.03), np.array([excess, math.inf]), spread) <= delta
        near += found > delta - 0.15
    assert near > 0.12 * cases


# --- inverse gamma and lognormal increments: certified probabilities -----------------------------------


@pytest.mark.parametrize("kind", [InverseGamma, Lognormal])
def test_margins_of_inverse_gamma_and_lognormal_sums_are_right(kind):
    rng = np.random.default_rng([11, 4])
    checked, near, cases = 0, 0, 6
    while checked < cases:
        laws = [kind(mean=1.0, variance=float(rng.uniform(0.05, 0.8))) for _ in range(2)]
        counts = [int(n) for n in rng.integers(1, 40, 2)]
        sizes = rng.uniform(0.3, 2.0, 2)
        rate = math.exp(rng.uniform(-2, 1.5)) / math.sqrt(sum(counts))
        parts = [np.array(tilted_numbers(law, rate * c)) for law, c in zip(laws, sizes, strict=True)]
        _, h, variance, _, _ = sum(n * part for n, part in zip(counts, parts, strict=True))
        if not 0.15 < h < 3.5:
            continue
        mu = sum(n * c * part[0] for n, c, part in zip(counts, sizes, parts, strict=True))
        delta = rng.uniform(-1.5, 0.5)
        loss = FinalLoss(
            0.0, tuple((Term(-c, law), n) for n, c, law in zip(counts, sizes, laws, strict=True))
        )
        violation = certified_violation(loss, -(mu - delta / rate))
        if not 1e-5 < violation.upper < 0.6:
            continue
        spread = spread_of(*(part[1:] for part in parts))
        found = claimed(violation.upper, cell(rng, h, 0.02), cell(rng, h - variance / 2, 0.08), spread)
        assert found <= delta + 1e-6
        checked += 1
        near += found > delta - 0.2
        assert variance <= 2 * h
    assert near > cases / 6


def test_intervals_contain_the_numbers_of_random_sums_with_switches():
    """W, T and F of runs by scipy's quadrature, from tables of laws over many shares."""
    rng = np.random.default_rng([11, 9])
    laws = [kind(mean=1.0, variance=float(rng.uniform(0.05, 0.8))) for kind in (InverseGamma, Lognormal) * 2]
    shares = rng.uniform(-1.5, 0.5, (4, 3))
    runs = [
        [np.array(tilted_numbers(law, math.exp(x)))[1:] for x in row]
        for law, row in zip(laws, shares, strict=True)
    ]
    reaches = [TiltedTable.of(law, -2.0, 1.0).reach(-1.5, 0.5, math.inf) for law in laws]
    terms = [Term(1.0, student(6.0, 0.1, s, -1.0, 1.0)) for s in (0.2, 0.3)]
    switches = [TiltedSwitch.of(term, 0.8) for term in terms]
    assert all(math.isfinite(item.fourth) for item in switches)
    assert switches[0].excess < 0 < switches[1].excess  # W > 2 H, and the reverse
    widths = []
    for _ in range(300):
        parts = [rng.poisson(rng.exponential(2.0)) * numbers_ for row in runs for numbers_ in row]
        counts = rng.integers(0, 3, 2)
        own = [(item.divergence, item.variance, item.third, item.fourth) for item in switches]
        parts += [n * np.array(numbers_) for n, numbers_ in zip(counts, own, strict=True)]
        rough = float(sum(n * item.roughness for n, item in zip(counts, switches, strict=True)))
        spread = Spread.of_runs(Reach.joined(reaches), clear=True)
        spread = spread.with_switches(switches, 10, rough * rng.uniform(1, 1.5))
        h, w, third, fourth = sum(parts)
        divergences, excesses = cell(rng, h, 0.02), np.sort(cell(rng, h - w / 2, 0.05))
        low, high = spread.variances(tuple(divergences), tuple(excesses))
        assert low <= w <= high
        least, most = spread.thirds(divergences[1], tuple(excesses))
        assert least <= third <= most
        widths.append((most - least) / (1 + abs(third)))
        least, most = spread.fourths(divergences[1], tuple(excesses))
        assert least <= fourth <= most
    assert np.median(widths) < 0.4


# --- parts ---------------------------------------------------------------------------------------------


def test_wider_cells_and_larger_budgets_claim_less():
    ends, excesses = np.array([1.2, 1.22]), np.array([0.11, 0.115])
    numbers_ = gamma_numbers(0.2)
    spread, other = spread_of(numbers_), spread_of(numbers_, gamma_numbers(0.5))
    base = claimed(0.05, ends, excesses, spread)
    assert base > -1
    assert claimed(0.06, ends, excesses, spread) <= base
    assert claimed(0.05, np.array([1.15, 1.25]), excesses, spread) <= base
    assert claimed(0.05, ends, np.array([0.1, 0.12]), spread) <= base
    assert claimed(0.05, ends, excesses, replace(spread, widest=0.0)) <= base - 0.5
    assert claimed(0.05, ends, excesses, other) < base


def test_no_plan_has_more_excess_than_its_increments():
    numbers_ = gamma_numbers(0.2)
    steep = 1 - numbers_[1] / (2 * numbers_[0])
    ends = np.array([1.0, 1.02])
    found = tilted_margins(0.05, ends, np.array([0.0, 0.9, 1.1, 1.3]) * steep * 1.02, spread_of(numbers_))
    assert np.isfinite(found[:2]).all()
    assert np.isposinf(found[2]).all()


def test_planes_lie_below_all_cells_pass_over_those_without_plans_and_do_not_lean_on_an_infinite_end():
    rng = np.random.default_rng([11, 10])
    for _ in range(300):
        size, rows = rng.integers(1, 6, 2)
        ends, excesses = np.cumsum(rng.random(size + 1)), np.cumsum(rng.random(rows + 1)) - 0.5
        values = rng.normal(size=(rows, size)) + 2 * ends[:-1]
        values[rng.random((rows, size)) < rng.choice([0.0, 0.3, 0.8])] = math.inf
        endless = rows == 1 and rng.random() < 0.5
        if endless:
            excesses[-1] = math.inf
        corner, slope, other = plane(ends, excesses, values)
        assert not (endless and other)
        above = []
        for i, j in np.argwhere(np.isfinite(values)):
            for h, b in itertools.product(ends[j : j + 2], excesses[i : i + 2]):
                beyond = other * (b - excesses[0]) if other else 0.0
                above.append(values[i, j] - (corner + slope * (h - ends[0]) + beyond))
        assert min(above, default=0.0) >= -1e-9
        if np.isfinite(values).all():
            assert min(above) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("value", "claim"), [(-math.inf, -math.inf), (math.inf, 1.5)])
def test_over_a_cell_that_is_not_finite_nothing_or_more_than_any_plan_needs_is_claimed(value, claim):
    corner, slope, other = plane(np.array([0.5, 1.0]), np.array([0.0, 1.0]), np.array([[value]]))
    assert corner == claim if claim < 0 else corner > 1
    assert claim < 0 or slope == other == 0


def test_without_a_clear_characteristic_function_jensen_is_left():
    h, w, third, fourth = (50 * value for value in gamma_numbers(0.2))
    runs = Reach(*(np.full(2, value) for value in (h, h - w / 2, third, fourth, 0.0, 0.0, 0.0)))
    clear, unclear = (Spread.of_runs(runs, clear=side) for side in (True, False))
    ends, excesses = np.array([h, h * 1.01]), np.array([(h - w / 2) * 0.99, h - w / 2])
    assert unclear.excess_high == 1
    assert -math.inf < claimed(0.05, ends, excesses, unclear) < claimed(0.05, ends, excesses, clear) - 0.5
    assert claimed(0.05, ends, np.array([h, 1.2 * h]), unclear) < math.inf


@pytest.mark.parametrize("widest", [0.0, 12.0], ids=["f not known", "f known"])
@pytest.mark.parametrize("h", [0.1, 0.3, 1.0])
def test_where_w_may_be_nothing_the_margin_is_the_least_of_jensen(h, widest):
    """c**2 / (W + c**2) e**(-W / c) = p e**H, W = 2 (H - B) at most, up to the ratio of what is tried."""
    ends, excesses = np.array([0.0, h]), np.array([0.0, 1e-3])
    found = claimed(0.95 * math.exp(-h), ends, excesses, Spread(widest=widest))
    root = optimize.brentq(lambda c: c**2 / (2 * h + c**2) * math.exp(-2 * h / c) - 0.95, 1e-3, 1e3)
    assert -root * 1.02 <= found <= -root


@pytest.mark.parametrize("place", range(3))
def test_where_w_t_or_f_has_no_value_no_plan_is(place):
    known = np.array([[[1.0, 1.1]], [[0.1, 0.2]], [[0.5, 0.6]]])
    assert math.isfinite(largest_shifts(np.array([0.1]), *known, 0.0, 12.0)[0])
    known[place] = known[place][:, ::-1]
    assert largest_shifts(np.array([0.1]), *known, 0.0, 12.0)[0] == math.inf


@pytest.mark.parametrize("allowed", [0.05, 0.5])
def test_numbers_known_exactly_give_what_a_normal_law_has_and_ranges_the_least_of_it(allowed):
    """W is 1, 4 or between; A(Delta) = e**(W / 2) Phi(-Delta / sqrt(W) - sqrt(W))."""

    def shift(w):
        root = math.sqrt(w)
        share = allowed * math.exp(-w / 2)
        return -root * (float(special.ndtri(share)) + root)

    exact = np.array([shift(1.0), shift(4.0), min(shift(1.0), shift(4.0))])
    variances, nothing = np.array([[1.0, 1.0], [4.0, 4.0], [1.0, 4.0]]), np.zeros((3, 2))
    each = np.full(3, allowed)
    found = largest_shifts(each, variances, nothing, nothing, 0.0, 12.0)
    assert (exact - 0.02 < found).all()
    assert (found < exact).all()
    known = np.array([[2.0, 2.0], [0.0, 2.0], [0.0, 0.0]])  # the less of F there is, and the better known
    found = largest_shifts(each, variances[[0, 0, 0]], nothing, known, 0.0, 12.0)
    assert found[1] < found[0] < found[2]


def test_cells_are_empty_below_the_least_excess_and_not_above_it():
    """B of plans is at least -H / 5."""
    spread = replace(Spread(), excess_low=-0.2)
    for most, empty in ((-0.9, True), (-0.5, False)):
        least, greatest = spread.variances((3.9, 4.0), (most - 0.1, most))
        assert (least > greatest) is empty


def test_intercepts_are_rounded_up_by_less_than_a_200th_and_nothing_stays_nothing():
    runs = TiltedTable.of(Normal(mean=1.0, variance=0.2), -2.0, 1.0).reach(-1.5, 0.5, math.inf)
    assert Spread.of_runs(runs, clear=True) == Spread()
    for value in (0.005, 0.125, 1.0, 3.0 + 1e-4):
        switch = TiltedSwitch(0.0, 1.0, 2.0 - 2 * value, value, 0.0, 5.0)
        spread = Spread().with_switches([switch], 3)
        for found in (spread.switch_excess[1], spread.switch_third[1]):
            assert value - 1e-9 <= found < value + 0.005 - 1e-9
    for fourth, power in ((0.0, 0.0), (1e-9, 1 / 64), (0.25, 1.0), (1.1, 4.0), (math.inf, math.inf)):
        calm = TiltedSwitch(0.0, 1.0, 2.0, 0.0, fourth, 5.0)
        assert Spread().with_switches([calm], 3).switch_fourth == power


def test_what_stands_beside_w_and_t_lies_in_its_circle_whatever_switches_add():
    """Random measures m(dw) for runs, and any theta F y**4 / 24 for switches."""
    rng, (centres, radii) = np.random.default_rng([11, 11]), circles.__wrapped__()
    nearest = 0.0
    for _ in range(800):
        w = rng.random(3) ** rng.choice([0.2, 1, 3])
        m = np.exp(rng.normal(-2, 2, 3))
        runs, own = float(6 * (m * w**2).sum()), float(rng.choice([0.0, 0.3, 3.0]))
        fourths = np.array([runs * rng.uniform(0.5, 1), runs * rng.uniform(1, 1.5) + own])
        half = float(rng.uniform(0.05, 0.42))
        offsets, spreads = _remainders(half, 8, fourths, own, centres, radii)
        p = int(rng.integers(8))
        x = 2 * half * (p + rng.random()) * w
        series = sum((1j * x) ** k / (k + 4) for k in range(40))
        with np.errstate(all="ignore"):
            closed = (-np.log(1 - 1j * x) - 1j * x + x**2 / 2 + 1j * x**3 / 3) / x**4
        rest = (m * w**2 * np.where(x < 0.5, series, closed)).sum()
        theta = np.exp(2j * math.pi * rng.random())
        away = abs(rest + theta * own / 24 - offsets[p])
        assert away <= spreads[p] * (1 + 1e-9)
        nearest = max(nearest, away / spreads[p])
    assert nearest > 0.95


def integral_from(start, variance, fourth):
    """Of a bound of |f| / |1 - i y| / pi up to infinity, by the docstring of the module."""

    def integrand(y):
        power = -3 * variance**2 / fourth * math.log1p(y**2 * fourth / (6 * variance))
        return math.exp(power) / math.sqrt(1 + y**2) / math.pi

    far = start + 40 / math.sqrt(variance)
    near = integrate.quad(integrand, start, far, epsabs=1e-14, limit=400)[0]
    return near + integrate.quad(integrand, far, math.inf, epsabs=1e-14)[0]


def test_what_panels_lose_is_their_integral_of_what_the_integrand_may_be_off_and_the_best_end_is_taken():
    """By a rule of 40 points on every panel; what the one of twelve points may err by is added."""
    rng, (nodes, weights) = np.random.default_rng(21), np.polynomial.legendre.leggauss(40)
    ends, shares = set(), []
    for _ in range(25):
        low, count = math.exp(rng.uniform(-1, 3.5)), 12
        half, high, away = min(0.3 / math.sqrt(low), 0.4), low * rng.uniform(1, 1.02), rng.uniform(0, 0.01)
        fourth = float(rng.choice([1e-3, 0.3, 2.0])) * low**2
        offsets = fourth / 24 * (rng.uniform(-0.5, 0.2, count) + 1j * rng.uniform(-0.5, 0.5, count))
        spreads = fourth / 24 * 10.0 ** rng.uniform(-3, 0) * rng.uniform(0.5, 1, count)
        rule = _points(half, count)
        found, used = _lost(low, high, away, 0.1, fourth, 1e3, half, count, offsets, spreads, rule)
        y = half * (2 * np.arange(count)[:, None] + 1 + nodes)
        size = np.exp(offsets.real[:, None] * y**4 - low * y**2 / 2) / np.sqrt(1 + y**2) / math.pi
        off = np.expm1(spreads[:, None] * y**4) + (high - low) * y**2 / 4 + away * y**3 / 6
        misread = [_misread(p, low, high, away, 0.1, half, offsets[p], spreads[p]) for p in range(count)]
        near = np.append(0.0, np.cumsum((size * off) @ weights * half + misread))
        beyond = np.array([integral_from(2 * half * p, low, fourth) for p in range(count + 1)])
        p, z = 6 * low**2 / fourth, (2 * half * count) ** 2 * fourth / (6 * low)
        last = (1 + 1 / z) * (1 + z) ** (-p / 2) / p / math.pi
        most = near * (1 + 1e-5) + 1.2 * (beyond - beyond[-1]) + last
        wild = (spreads + abs(offsets)) * (2 * half * np.arange(1, count + 1)) ** 4 > _HUGE
        usable = int(np.argmax(wild)) if wild.any() else count
        assert used <= usable
        assert near[used] + beyond[used] < found <= most[: usable + 1].min() + 1e-6
        ends.add(used)
        shares.append(near[used] / found)
    assert len(ends) > 3
    assert min(shares) < 0.3
    assert max(shares) > 0.7
