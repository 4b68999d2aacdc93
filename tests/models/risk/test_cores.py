"""Student-t switches and their cores, against integrals that share nothing with them."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from scipy import optimize, special, stats

from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk import contour, cores, finite_sums, transforms
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.risk.cores import _Kind, _Split, beyond, core_term, cored_violation
from depl.models.risk.grid import grid_violation
from depl.models.risk.sampling import sample_final_loss
from depl.models.risk.verdicts import Kept, LossClasses, PreparedVerdicts, Verdict, certified_verdict, outside
from tests.problems import atoms, student

BELL = Term(-1.0, Normal(mean=1.0, variance=0.2))
EXTREME = [Fraction(1, 10**12), Fraction(1, 10**13), Fraction(1, 10**14)]


def jump(freedom: float, scale: float = 0.3) -> Term:
    return Term(1.0, student(freedom, 0.0, scale))


# --- verdicts -------------------------------------------------------------------------------------------


def violation(constant: float, bells: int, switch: Term) -> float:
    """P(constant - G + T > 0) for a sum G of ``bells`` normals: the integral of f_T(s) P(G < constant + s).

    The trapezoidal rule in x with s = scale sinh(x); the integrand is positive, so the digits are relative.
    """
    law, spread = switch.law, math.sqrt(0.2 * bells)
    x = np.linspace(-12.0, 90.0 / law.degrees_of_freedom + 12.0, 60_001)
    s = np.sinh(x)
    half = (law.degrees_of_freedom + 1) / 2
    logarithm = math.lgamma(half) - math.lgamma(half - 0.5) - math.log(math.pi * law.degrees_of_freedom) / 2
    density = np.exp(logarithm - half * np.log1p(s**2 / law.degrees_of_freedom)) * np.cosh(x)
    return float((density * special.ndtr((constant - bells + law.scale * s) / spread)).sum() * (x[1] - x[0]))


def constant_of(probability: float, bells: int, switch: Term) -> float:
    """The constant at which the loss exceeds 0 with this probability."""
    target = math.log(probability)
    return float(
        optimize.brentq(lambda c: math.log(violation(c, bells, switch)) - target, -40, bells, xtol=1e-13)
    )


@pytest.mark.parametrize(
    ("budget", "switch", "shares"),
    [
        (Fraction(1, 10**12), jump(20.0), (0.95, 1.0014, 1.05)),
        (Fraction(1, 10**13), jump(12.0), (0.95, 1.003, 1.05)),
        (Fraction(1, 10**14), jump(50.0), (0.95, 1.0001, 1.005, 1.05)),
        (Fraction(1, 50), jump(1.5, 0.05), (0.9995, 1.0004)),
        *(
            pytest.param(b, jump(f), (0.5, 0.95, 1.05, 2.0), marks=pytest.mark.slow)
            for b in EXTREME
            for f in (12.0, 50.0)
        ),
    ],
)
def test_batch_prepared_and_single_verdicts_never_contradict_each_other_or_the_integral(
    budget, switch, shares
):
    """Nearer to an extreme budget than what lies beyond a core and than rounding in 1 - omega, too.

    Of 1 / 50 the core alone keeps the budget, or breaks it, by less than what is beyond the core.
    """
    losses = [
        FinalLoss(constant_of(float(budget) * share, 3, switch), ((BELL, 3), (switch, 1))) for share in shares
    ]
    prepared = PreparedVerdicts(0.0, budget)
    batches = PreparedVerdicts(0.0, budget).many(LossClasses.of(losses * 2))
    for share, loss, batch in zip(shares, losses, batches, strict=False):
        truth = Verdict.MET if share < 1 else Verdict.VIOLATED
        found = {Verdict(batch), prepared.verdict(loss), certified_verdict(loss, 0.0, budget)}
        assert found <= {truth, Verdict.UNDECIDED}
        assert truth in found or (budget in EXTREME and abs(share - 1) < 0.04)


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


@pytest.mark.parametrize(
    ("reach", "freedom"), [(10.0, 2.0), (1e8, 0.4), pytest.param(1e3, 2.0, marks=pytest.mark.slow)]
)
def test_a_switch_cut_far_out_is_certified_at_the_cost_of_one_cut_near(reach, freedom, work):
    law = student(freedom, 0.05, 0.1, -reach, reach)
    loss = FinalLoss(0.5, ((BELL, 3), (Term(1.0, law), 1)))
    found, quantile = certified_violation(loss, 0.0), certified_quantile(loss, Fraction(1, 50))
    assert work["all"] <= AFFORDABLE
    assert found.width <= 2e-3 * found.upper
    assert quantile.width <= 0.01 * (abs(quantile.upper) + 1)
    budget = Fraction(1, 50)
    assert certified_violation(loss, quantile.upper + 1e-9).lower <= budget
    assert certified_violation(loss, quantile.lower - 1e-9).upper >= budget


@pytest.mark.parametrize("variance", [1e-12, 1e-6])
def test_a_lognormal_of_hardly_any_spread_is_not_summed_over_a_million_points(variance, work):
    loss = FinalLoss(8.0, ((Term(-1.0, Lognormal(mean=1.0, variance=variance)), 8),))
    quantile = certified_quantile(loss, Fraction(1, 1000))
    deviation = math.sqrt(8 * variance)
    assert quantile.middle == pytest.approx(deviation * -special.ndtri(1e-3), abs=10 * variance + 1e-14)
    assert certified_violation(loss, 5 * deviation).upper < 1e-6
    assert work["all"] <= 1e6


def test_a_wide_lognormal_with_a_student_t_has_an_affordable_quantile(work):
    law = student(2.5, 0.0, 0.2)
    loss = FinalLoss(4.0, ((Term(-0.5, Lognormal(mean=1.0, variance=40.0)), 4), (Term(1.0, law), 3)))
    budget = Fraction(1, 100)
    quantile = certified_quantile(loss, budget)
    assert work["all"] <= AFFORDABLE
    assert grid_violation(loss, quantile.upper + 1e-6).lower <= budget
    assert grid_violation(loss, quantile.lower - 1e-6).upper >= budget
    assert quantile.width <= 0.01


def test_two_switches_that_leave_their_cores_together_are_counted():
    """Far above the spread of the rest, P(loss > 0) is that of T_1 + T_2 > distance, up to a share of 1e-5.

    Cores are as narrow as the rest makes them affordable, and both switches may be outside at once.
    """
    law, distance = student(1.5, 0.0, 1.5), 450.0
    x = np.linspace(-25.0, 25.0, 200_001)
    s = np.sinh(x)
    density = stats.t.pdf(s, 1.5) * np.cosh(x) * (x[1] - x[0])
    truth = float(density @ stats.t.sf(distance / 1.5 - s, 1.5))
    found = cored_violation(FinalLoss(1.0 - distance, ((BELL, 1), (Term(1.0, law), 2))), 0.0)
    assert found is not None
    assert found.lower <= truth * (1 + 2e-5)
    assert truth * (1 - 2e-5) <= found.upper
    alone = 2 * float(stats.t.sf(distance / 1.5, 1.5))
    assert truth > 1.0003 * alone
    assert found.width <= 0.1 * found.upper


def drawn_law(rng: np.random.Generator):
    """A law within what depl accepts, with parameters over many powers of ten."""

    def power(low: float, high: float) -> float:
        return float(10 ** rng.uniform(low, high))

    def cut(location: float, scale: float) -> StudentT:
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


def drawn_loss(seed: int) -> tuple[FinalLoss, float]:
    """A loss of a few such increments, and a target near one of its quantiles or far beyond."""
    rng = np.random.default_rng(seed)
    laws = [drawn_law(rng) for _ in range(int(rng.integers(1, 5)))]
    weights = [1.0 if isinstance(law, StudentT) else -float(10 ** rng.uniform(-1, 1)) for law in laws]
    pairs = [(Term(weight, law), int(rng.integers(1, 9))) for weight, law in zip(weights, laws, strict=True)]
    loss = FinalLoss(float(rng.uniform(0, 20)), tuple(pairs))
    draws = sample_final_loss(loss, np.random.default_rng(0), 2000)
    level = rng.choice([0.5, 0.9, 0.99, 0.999, 1.0])
    beyond = rng.uniform(0, 3) * (draws.max() - np.median(draws)) if level == 1 else 0.0
    return loss, float(np.quantile(draws, level) + beyond)


@pytest.mark.parametrize(
    "seed",
    [*range(4), 59, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 59))],
)
def test_any_valid_law_has_an_affordable_certificate_that_agrees_with_the_grid(seed, work):
    loss, value = drawn_loss(seed)
    found, grid = certified_violation(loss, value), grid_violation(loss, value)
    assert 0 <= found.lower <= found.upper <= 1
    assert found.lower <= grid.upper
    assert grid.lower <= found.upper
    assert found.width <= max(2 * grid.width, 1e-3)
    assert work["all"] <= AFFORDABLE


# --- brackets ---------------------------------------------------------------------------------------------


def test_the_bracket_of_many_switches_holds_the_sum_of_whole_fractions():
    """(1 - o)**n p + n (1 - o)**(n - 1) e, all numbers given; two tails at once weigh o**2."""
    rng = np.random.default_rng(8)
    for count in (1, 30, 1000):
        outside, core, tail = 1e-20, float(rng.uniform(0.1, 0.9)), 1e-6
        whole = SimpleNamespace(exceedance=lambda _, core=core: (np.array([core]), np.array([core])))
        kind = SimpleNamespace(
            count=count,
            outside=(outside,) * 2,
            tail=lambda _, tail=tail: (tail, tail),
            two_tails=lambda _: 0.0,
        )
        lower, upper = _Split(whole, (kind,), 0.0).bounds(0.0)
        kept = 1 - Fraction(outside)
        exact = kept**count * Fraction(core) + count * kept ** (count - 1) * Fraction(tail)
        assert Fraction(lower) <= exact <= Fraction(upper)


SWITCH = student(1.7, 0.3, 0.5)


def expectation(law, core, function):
    """E[function(S); S outside of its core], by Gauss's rule on pieces that grow from the core."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    edges = np.concatenate([[0.0], np.geomspace(1e-3, 1e40, 6000)])
    half = np.diff(edges)[:, None] / 2
    steps, masses = (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()
    both = np.concatenate([core.upper + steps, core.lower - steps])
    density = stats.t.pdf(both, law.degrees_of_freedom, law.location, law.scale) / law.interval_mass()
    lower, upper = law.support()
    density[(both < lower) | (both > upper)] = 0.0
    return float(np.tile(masses, 2) * density @ function(both))


def kind_of(law, core, exceedance, doubt=0.0) -> _Kind:
    """The switch beside a rest that has this law, known at points and up to a few per cent."""
    points = (1.0 + cores._KNOTS)[::-1]
    exact = exceedance(points)
    return _Kind(law, core, 1, (0.0, 0.0), points, (1 - doubt) * exact, exact + doubt * (1 - exact))


def rest(values):
    """P(R > value) of a Student-t about 1."""
    return stats.t.sf(values, 1.2, 1.0)


@pytest.mark.parametrize("value", [-4.0, 1.0, 9.0, 300.0])
@pytest.mark.parametrize(("tails", "doubt"), [(0.5, 0.0), (0.02, 0.04)])
def test_both_tails_are_enclosed_and_closely_where_the_rest_is_known(value, tails, doubt):
    core = SWITCH.core(tails)
    truth = expectation(SWITCH, core, lambda s: rest(value - s))
    low, high = kind_of(SWITCH, core, rest, doubt).tail(value)
    assert low <= truth * (1 + 1e-8)
    assert truth * (1 - 1e-8) <= high
    assert high - low <= 0.08 * high + doubt * beyond(SWITCH, core)[1]


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_what_lies_beyond_the_last_point_counts_in_full(sign):
    """R is 1 -+ Y with P(Y > y) = (1 + y)**-0.05: a third of it is beyond all points."""
    ends = (0.0, 1e30) if sign < 0 else (-1e30, 0.0)
    law = student(0.05, 0.0, 1.0, ends[0], ends[1])

    def exceedance(values):
        far = (1 + np.maximum(sign * (values - 1.0), 0.0)) ** -0.05
        return far if sign > 0 else 1 - far

    core = law.core(0.5, widest=3.0)
    truth = expectation(law, core, lambda s: exceedance(2.0 - s))
    low, high = kind_of(law, core, exceedance).tail(2.0)
    assert low <= truth <= high
    assert high >= truth + 0.01 * abs(truth)


@pytest.mark.parametrize("value", [-4.0, 300.0])
def test_two_tails_at_once_are_bounded_from_above(value):
    core = SWITCH.core(0.02)
    truth = expectation(SWITCH, core, lambda s: np.minimum(2 * rest(value - 2 * s), 1.0))
    assert truth * (1 - 1e-8) <= kind_of(SWITCH, core, rest).two_tails(value) <= 2 * truth


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
    found = _Kind(Doubtful, core, 1, (0.0, 0.0), value - edges, low, high).tail(value)
    assert found == pytest.approx((right[0] + left[0], right[1] + left[1]), rel=1e-12)


@pytest.mark.parametrize("budget", [Fraction(1, 50), Fraction(1, 2), Fraction(9, 10)])
def test_quantiles_on_both_sides_of_the_mean_are_those_of_the_integral(budget):
    """At a budget above P(loss > mean) the lower end lies below the mean, too."""
    switch = jump(3.0)
    found = certified_quantile(FinalLoss(0.0, ((BELL, 30), (switch, 1))), budget)
    assert found.how == "contour with cores"
    assert violation(-found.upper, 30, switch) <= float(budget) <= violation(-found.lower, 30, switch)
    assert found.width < 1e-2


# --- tails and cores of laws, against multiple precision --------------------------------------------------


def tail(law: StudentT, value: float) -> mpmath.mpf:
    """P(T > value) of the law without truncation, by the incomplete beta function."""
    nu, x = mpmath.mpf(law.degrees_of_freedom), (mpmath.mpf(value) - law.location) / law.scale
    half = mpmath.betainc(nu / 2, 0.5, 0, nu / (nu + x * x), regularized=True) / 2
    return half if x >= 0 else 1 - half


def exact(law: StudentT, value: float) -> mpmath.mpf:
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
def test_tails_contain_the_probability_in_fifty_digits(law):
    rng = np.random.default_rng(0)
    reach = law.scale * 10 ** rng.uniform(-2, 6, 12)
    points = law.location + np.concatenate([reach, -reach])
    low, high = law.exceedance(points)
    below, above = law.shortfall(points)
    with mpmath.workdps(50):
        for index, point in enumerate(points.tolist()):
            known = exact(law, point)
            assert low[index] <= known <= high[index]
            known = exact(law.scaled(-1.0), -point)
            assert below[index] <= known <= above[index]
    assert np.all(high - low <= 1e-9 * high + 1e-10)


def test_a_multiple_of_a_switch_has_the_law_of_the_multiple():
    for law, weight in itertools.product(HEAVY, (-2.0, 0.5)):
        points = law.location + law.scale * np.array([-3.0, -0.2, 0.1, 6.0, 40.0])
        same = law.exceedance(points) if weight > 0 else law.shortfall(points)
        found = law.scaled(weight).exceedance(weight * points)
        assert found[0] == pytest.approx(same[0], rel=1e-9, abs=1e-14)


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
    switch = Term(1.0, student(5.0, 0.0, 0.3))
    low, high = outside(switch, core_term(switch, 1e-17))
    assert low <= 1e-17 * (1 + 1e-9)
    assert high >= 1e-17 * (1 - 1e-9)
    assert high == pytest.approx(low, rel=1e-9, abs=0)
    kept = Kept.of([(0.0, 0.0), (low, high)], np.array([[3.0, 4.0], [2.0, 0.0]]))
    assert kept.lost[0] == pytest.approx(4e-17, rel=1e-9, abs=0)
    assert kept.lost[0] >= 4 * low
    lower, upper = kept.whole(np.array([0.0, 0.5]), np.array([0.0, 0.5]))
    assert (lower[0], upper[0]) == (0.0, pytest.approx(4e-17, rel=1e-9, abs=0))
    assert (lower[1], upper[1]) == (0.5, 0.5)


def test_other_terms_have_no_core():
    assert core_term(BELL, 1e-3) is BELL
    assert outside(BELL, BELL) == (0.0, 0.0)


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
