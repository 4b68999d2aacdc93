"""The verifier's probabilities against closed forms, exact sums, and what the solvers certify.

Solvers share no code with the verifier (`test_imports`); oracles judge them in `risk/test_truths.py`.
"""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from depl.models.problem.laws import (
    Empirical,
    InverseGamma,
    Law,
    Lognormal,
    Normal,
    Positive,
    register_law,
)
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.verifier import distribution as verifier_distribution
from depl.models.verifier import rounded_sums, tilted_sums
from depl.models.verifier.distribution import tail_probability
from depl.models.verifier.laws import Bracket, Increment, decimal
from depl.models.verifier.rounded_sums import bracketed, rounded_tail
from depl.models.verifier.tilted_sums import tilted_tail
from tests.problems import atoms, loss, student

UNIT = Normal(mean=1, variance=0.04)
STEADY = InverseGamma(shape=30, scale=29)
HEAVY = InverseGamma(shape=2.1, scale=1.1)
FEW = atoms(0.5, 0.9, 1.3, 2.0)


def increment(coefficient, law, count=1):
    return Increment(decimal(float(coefficient)), law, count)


def increments(*rows):
    """Of (coefficient, law) or (coefficient, law, count)."""
    return [increment(*row) for row in rows]


def decreasing(law, epochs):
    """The increments of eq. (8) with A = 1, B = 1."""
    return [increment(-1 / math.sqrt(k + 1), law) for k in range(1, epochs + 1)]


def tail(items, gap):
    return tail_probability(items, decimal(float(gap)))


def assert_tight(found, expected, relative):
    """The bracket contains the expected value (itself good to 1e-12) and is as narrow as promised."""
    assert found.lower <= expected * (1 + 1e-12)
    assert found.upper >= expected * (1 - 1e-12)
    assert found.upper - found.lower <= relative * expected


# ---- closed forms, and what is certified ----


def arctangents(sign, point):
    """P(X <= x) = (arctan((x - 1/2) / 2) - arctan(-3/4)) / (arctan 2 - arctan(-3/4))."""
    angle = math.atan((point - 0.5) / 2)
    below = (angle - math.atan(-0.75)) / (math.atan(2) - math.atan(-0.75))
    return below if sign < 0 else 1 - below


NORMALS = [*((-1 / math.sqrt(k), UNIT) for k in range(2, 22)), (0.4, UNIT, 3)]
MEAN = 1.2 - sum(1 / math.sqrt(k) for k in range(2, 22))
DEVIATION = 0.2 * math.sqrt(0.48 + sum(1 / k for k in range(2, 22)))
NARROW = InverseGamma(mean=1, variance=1e-3)
COIN, THREE, CAUCHY = atoms(0, 1), atoms(1, 3, weights=(3, 1)), student(1, 0.5, 2.0, -1.0, 4.5)
SPREAD = math.log(1 + 3 / 4)
TWO_BELOW = -2 * math.exp(-SPREAD / 2 - 2 * SPREAD**0.5)

CLOSED = [
    *((NORMALS, MEAN + q * DEVIATION, stats.norm.sf(q), 1e-9) for q in (-30, -1, 0, 2.33, 6, 9)),
    *(([(-2, HEAVY)], -2 * stats.invgamma.ppf(p, 2.1, scale=1.1), p, 1e-9) for p in (0.9, 0.5, 1e-6)),
    *(([(-2, NARROW)], -2 * stats.invgamma.ppf(p, 1002, scale=1001), p, 1e-9) for p in (0.9, 1e-6)),
    # two deviations below the mean of the logarithm
    ([(-1, Lognormal(mean=2, variance=3))], TWO_BELOW, stats.norm.cdf(-2), 1e-9),
    # -X > -1.8 + (0.5, 1.5)
    ([(-1, STEADY), (-0.5, THREE)], -1.8, stats.invgamma.cdf([1.3, 0.3], 30, scale=29) @ [0.75, 0.25], 1e-9),
    ([(1, COIN, 47)], 21, sum(math.comb(47, k) for k in range(22, 48)) / 2**47, 0),
    ([(1, student(1.5, 0.1, 0.3))], 2.1, stats.t.sf(2 / 0.3, 1.5), 1e-9),
    *(([(c, CAUCHY)], c * x, arctangents(c, x), 1e-9) for c in (-3, 3) for x in (-0.25, 0.5, 4.4)),
    # on a grid with 0.08 widths a step it was found 4e-8 of it lower
    ([(-1.091, student(19.42, -0.1, 0.003775), 2)], 0.226283, 0.09226558900967768, 1e-9),
]

THIN, WIDE = InverseGamma(shape=1.2, scale=0.2), Lognormal(log_mean=0, log_variance=0.5)
PEAK, HALVES = InverseGamma(shape=1.05, scale=1e-3), Normal(mean=-1, variance=0.08)
SEVEN = atoms(0.279, 0.332, 0.329, 0.36, 0.269, 0.371, 0.324)
TWO_T = [(1, student(3, 0, 0.8)), (1, student(1.5, 0.1, 0.3))]
TWO_CUT = [(1, student(8, 0.0506, 0.00725, 0, 0.152)), (1, student(3, 0.0594, 0.0145, 0, 0.178))]

LARGE, LARGER = (InverseGamma(shape=size, scale=size) for size in (95591.30344274527, 1e8))
CORE, BESIDE = student(2, 0, 0.1), student(2, 0, 0.1, -1, 1)
THOUSAND = np.round(np.random.default_rng(1).uniform(0, 1, 1000), 12)
"""Values of twelve decimals, which no 64-bit unit holds exactly at every scale."""

PAIRS = [
    *(([(-1, law), (-0.5, law)], gap, 1e-8) for law, gap in ((STEADY, -2.0), (HEAVY, -0.6), (THIN, -0.5))),
    ([(-1, WIDE), (-0.5, WIDE)], -1.0, 1e-8),
    ([(-2, PEAK), (1, Normal(mean=0, variance=1))], -1, 1e-8),
    (TWO_T, 0.5, 1e-6),
    (TWO_T, 40, 1e-6),
    *(([(1, HALVES), (1, student(2, 0.1, 0.3))], gap, 2e-8) for gap in (1.0, 6.0)),
    ([(1, HALVES), (1, student(2, 0.1, 0.002))], 0.5, 2e-8),
    ([(1, HALVES), (1, student(2, 0.1, 20.0))], 70, 2e-8),
    ([(1, student(2, 0.1, 0.2, -1, 3)), (-1, STEADY)], -0.6, 1e-9),
    ([(1, student(2, 0, 0.3, -1, 1)), (1, student(2, 0, 0.3, -1, 1))], 0.9, 1e-7),
    ([(-1, SEVEN), *TWO_CUT], -0.1441317855327325, 3e-10),  # which has kinks
    ([(-1, FEW), (1, CORE), (1, BESIDE)], -0.4, 1e-3),
    ([(-1, FEW), (0.5, UNIT), (1, BESIDE)], -0.2, 1e-9),
    ([(-1, atoms(*THOUSAND[:40])), *[(-1, student(5, 0.3, 0.1))] * 2], -0.9, 2e-4),
    # large shapes: scipy's density is off by 2e-10, its tail by a third at 1e8
    ([(-1, Normal(mean=1, variance=0.24948191479055543), 4), (-1, LARGE, 2)], -7.25, 1e-8),
    *(([(1, LARGER)], 1e8 / (1e8 - place * 1e4), 0.01) for place in (4.5, 5.65, 20.0)),
]


@pytest.mark.parametrize(
    ("rows", "gap", "expected", "relative"),
    [*CLOSED, *((rows, gap, None, width) for rows, gap, width in PAIRS)],
)
def test_the_bracket_is_tight_around_closed_forms_and_what_is_certified(rows, gap, expected, relative):
    found = tail(increments(*rows), gap)
    if expected is not None:
        assert_tight(found, float(expected), relative)
        return
    certified = certified_violation(loss(0.0, *rows), gap)
    assert found.lower <= certified.upper
    assert found.upper >= certified.lower
    assert found.upper - found.lower <= relative * found.upper
    assert certified.width <= max(relative, 4e-4) * found.upper + 1e-11


# ---- tilted sums ----


def test_kept_transforms_answer_only_what_they_answer_well():
    """A sum of normal increments, by transforms that were made for other thresholds, near and far."""
    items = decreasing(UNIT, 5)
    mean = sum(item.factor for item in items)
    deviation = 0.2 * math.sqrt(sum(item.factor**2 for item in items))
    for quantile in (1, 1.01, 3, -8, 9, 2, -1, 10.5, 0):
        found = tilted_tail(items, mean + quantile * deviation)
        assert_tight(found, stats.norm.sf(quantile), 2e-9 if quantile < 10 else 2.0)


def test_samples_of_a_narrow_law_are_summed_one_by_one_where_a_period_has_too_many_cells():
    """Folding these samples into cells of a period would take 75 GiB."""
    turns, weights, size = 0.25 + 1e-10 * np.arange(200), np.linspace(1, 2, 200), 2**13
    found = tilted_sums._transformed(turns, weights, size, uniform=True)
    for place in (0, 1, 777, size - 1):
        assert found[place] == pytest.approx(weights @ np.exp(2j * math.pi * place * turns), rel=1e-9)
    many = 0.25 + 1e-10 * np.arange(10**5)
    assert tilted_sums._transformed(many, np.ones(10**5), size, uniform=True) is None


# ---- exact sums ----


FACTORS = st.tuples(st.sampled_from([-0.7, -0.3, 0.1, 1.1]), st.sampled_from([2, 3]))


@settings(max_examples=40)
@given(st.lists(FACTORS, min_size=1, max_size=6), st.decimals(-6, 6, places=1))
def test_few_atoms_are_summed_like_every_outcome_by_hand_and_rounded_to_both_sides_of_it(rows, gap):
    laws = {2: atoms(1, 2), 3: atoms(0.1, 0.2, 2.7, weights=(0.5, 0.3, 0.2))}
    tenths = {2: ((10, 5), (20, 5)), 3: ((1, 5), (2, 3), (27, 2))}  # values and weights
    parts = [[(round(10 * factor) * v, w) for v, w in tenths[size]] for factor, size in rows]
    outcomes = [zip(*outcome, strict=True) for outcome in itertools.product(*parts)]  # sums in hundredths
    count = sum(math.prod(weights) for values, weights in outcomes if sum(values) > 100 * gap)
    expected, items = (
        Fraction(count, 10 ** len(rows)),
        [increment(factor, laws[size]) for factor, size in rows],
    )
    assert tail_probability(items, Fraction(str(gap))) == Bracket(expected, expected)
    for most, width in ((12, 1.0), (30, 1.0), (2**10, 2e-12)):
        found = bracketed(items, float(gap) + 1e-9, most)
        assert found.lower <= expected <= found.upper <= found.lower + width


def test_decimals_are_summed_as_written_and_ties_count_as_met():
    tenths = increments((-1, atoms(0.1)), (-1, atoms(0.2)))
    assert 0.1 + 0.2 != 0.3
    assert tail(tenths, -0.3).upper == 0
    assert bracketed(increments((1, atoms(0.1)), (1, atoms(0.2))), 0.3, 2**10).lower == 0
    assert tail_probability(tenths, decimal(-0.3) - Fraction(1, 10**9)).upper == 0
    assert tail_probability(tenths, decimal(-0.3) - Fraction(11, 10**10)).lower == 1


def test_sums_beyond_64_bits_stay_exact_and_gaps_out_of_reach_are():
    large = increments((1, atoms(1e14 + 0.5, 1)), (1, atoms(1e14, 1e-6)))
    assert tail(large, 2e14).lower == Fraction(1, 4)
    assert tail(large, 2e14 + 0.5).upper == 0
    weighted = [increment(1, atoms(0, 1, weights=(1e-17, 1)), 5)]
    assert tail(weighted, 4).lower == Fraction(10**17, 10**17 + 1) ** 5
    for items, gap, share in ((large, 1e300, 0), (large, -1e300, 1), ([], 0, 0), ([], -1, 1)):
        assert tail(items, gap) == Bracket(share, share)


# ---- narrow laws, and far away ----

GREAT = InverseGamma(shape=1.1, scale=1.1)
GREATER = InverseGamma(shape=1.0035, scale=1.0035)


@pytest.mark.parametrize("deviation", [1e-6, 1e-3])
def test_atoms_on_a_lattice_are_not_smoothed_by_a_narrow_law(deviation, monkeypatch):
    """Their transforms revive at multiples of 2 pi / 0.1, however small they were in between."""
    atoms = increment(-1, FEW, 6)
    conditioned = tail([atoms, increment(1, Normal(mean=0, variance=deviation**2))], -6.95)
    monkeypatch.setattr(verifier_distribution, "_MOST_CONDITIONED", 1)
    found = tail([atoms, increment(1, Normal(mean=0, variance=deviation**2 / 2), 2)], -6.95)
    assert conditioned.upper - conditioned.lower < 1e-9
    assert found.lower <= conditioned.upper
    assert found.upper >= conditioned.lower


@pytest.mark.parametrize(
    "items",
    [
        [(1, student(1.1, 0.1, 0.001, -1e5, 1e5), 2)],
        [(-0.7, atoms(1e-4, 0.13, 3.0, 3830.0)), (-1, GREAT), (1, student(2.2, 0.16, 3.5e-5))],
        [(1, atoms(3.6e7, 0.001, 2.6)), (-0.1, GREATER), (1, student(800, 0.14, 3.6))],
    ],
    ids=[
        "peaks narrower than cells",
        "no deviation at great tilts",
        "a far tail outweighs what is usual",
    ],
)
def test_where_no_method_suits_a_sum_its_bracket_is_wide_and_does_not_deceive(items, monkeypatch):
    for module, name, most in (
        (verifier_distribution, "_MOST_POINTS", 100_000),
        (tilted_sums, "_FREQUENCIES", (64, 2**10)),
        (rounded_sums, "_MOST", 2**14),
    ):
        monkeypatch.setattr(module, name, most)  # which only widens brackets
    rng = np.random.default_rng(5)
    drawn = sum(
        factor * law.sample(rng, 200_000) for factor, law, *more in items for _ in range(*more or [1])
    )
    found = tail(increments(*items), float(np.quantile(drawn, 0.7)))
    assert found.lower < 0.3 + 0.006
    assert found.upper > 0.3 - 0.006


def test_far_below_the_probability_is_close_to_one_and_never_above():
    for law in (UNIT, HEAVY, InverseGamma(shape=1.5, scale=0.5)):
        found = tail(decreasing(law, 20), -1e4)
        assert 0.99 < found.lower <= found.upper <= 1
        assert found.upper == 1 or law not in (UNIT, HEAVY)


# ---- sums at random ----


def random_terms(rng):
    """Up to eight epochs of two inverse gamma laws, and one more law or none."""
    shapes = np.exp(rng.uniform(math.log(2.1), math.log(1000), size=2))
    laws = [InverseGamma(shape=shape, scale=(shape - 1) * rng.uniform(0.5, 1.5)) for shape in shapes.tolist()]
    count = int(math.exp(rng.uniform(0, math.log(9))))
    terms = [(-1 / math.sqrt(epoch), laws[rng.integers(2)]) for epoch in range(1, count + 1)]
    spread, degrees = float(rng.uniform(0.02, 0.1)), float(rng.uniform(1.5, 8))
    others = [
        (1.0, Normal(mean=0.1, variance=spread**2), 2),
        (-float(rng.uniform(0.1, 1)), Lognormal(mean=1.0, variance=10 * spread**2)),
        (1.0, student(degrees, 0.1, spread, -0.2, 0.8)),
    ]
    return [*terms, *others[rng.integers(4) :][:1]]


def test_brackets_at_quantiles_of_random_sums_meet_what_is_certified():
    rng = np.random.default_rng(20261128)
    for _ in range(12):
        rows, budget = random_terms(rng), math.exp(rng.uniform(math.log(1e-8), math.log(0.5)))
        gap = certified_quantile(loss(0.0, *rows), Fraction(budget)).middle
        found, certified = tail(increments(*rows), gap), certified_violation(loss(0.0, *rows), gap)
        assert found.lower <= certified.upper
        assert certified.lower <= found.upper
        assert max(found.upper - found.lower, certified.width) <= 1e-8 * found.upper


def draw(values, weight=1.0, count=1):
    return Increment(decimal(weight), Empirical(values=tuple(float(value) for value in values)), count)


def test_few_atoms_are_not_rounded_and_ends_are_almost_certain():
    increments = [draw(range(10), 10.0**-place) for place in range(1, 5)]  # 0 ... 0.9999, each once
    for parts, gap, share in ((increments, 0.12345, 0.8765), (increments[:1], 0.35, 0.6)):
        found = bracketed(parts, gap, 10**4)
        assert (found.lower, found.upper) == pytest.approx((share, share), abs=3e-12)
    increments = [draw((-1.0, 0.3, 2.0), 0.9**k) for k in range(40)]
    weights = math.fsum(0.9**k for k in range(40))
    assert bracketed(increments, 2 * weights + 1e-6, 2**10).upper < 1e-10
    assert bracketed(increments, -weights - 1e-6, 2**10).lower > 1 - 1e-10


def test_atoms_too_many_for_exact_sums_are_rounded_and_more_finely_where_the_budget_is_open(monkeypatch):
    values = atoms(0.31, 0.77, 1.04, 2.2, weights=(1, 2, 2, 1))
    increments = [Increment(decimal(-1 / math.sqrt(k)), values) for k in range(1, 9)]
    exact = tail_probability(increments, Fraction(-4))
    monkeypatch.setattr(verifier_distribution, "_MOST_PRODUCTS", 100)
    found = tail_probability(increments, Fraction(-4))
    assert exact.lower == exact.upper
    assert found.lower <= exact.lower <= found.upper
    assert 0 < found.upper - found.lower < 1e-3
    rng = np.random.default_rng(2)
    many = [draw(rng.normal(size=3), 1 / math.sqrt(k), 3) for k in range(1, 20)]
    first = rounded_tail(many, 3.0)
    inside = Fraction((first.lower + first.upper) / 2)
    refined = rounded_tail(many, 3.0, inside)
    assert first.upper - first.lower < 0.02
    assert first.lower <= refined.lower < refined.upper <= first.upper
    assert refined.upper - refined.lower < 0.1 * (first.upper - first.lower)
    assert rounded_tail(many, 3.0, Fraction(first.upper) + Fraction(1, 100)) == first


# ---- laws of which only the distribution function is known ----


class FarLaw(Law, frozen=True, kw_only=True, tag="far_for_the_verifier"):
    """P(X > x) = (1 + x / scale)^-2: a tail so far that some of it has to be left out."""

    scale: Positive = 1.0

    def distribution(self):
        """scipy's law of Lomax."""
        return stats.lomax(2, scale=self.scale)


class EvenLaw(Law, frozen=True, kw_only=True, tag="even_for_rounded_sums"):
    """Uniform on an interval of length 1."""

    lower: Positive

    def distribution(self):
        """scipy's uniform law."""
        return stats.uniform(self.lower, 1)


@pytest.fixture
def both_laws(own_laws):
    register_law(FarLaw)
    register_law(EvenLaw)


@pytest.mark.usefixtures("both_laws")
def test_even_laws_are_bracketed_within_cells_of_a_million_and_far_ones_within_one_per_cent():
    """P(-X - Y > -10.5) for X and Y on [5, 6] is 1/8, and the density of the sum there 1/2.

    Nine tenths of the mass of far laws are in the first cell, of cells that span six million.
    """
    found = tail_probability([Increment(Fraction(-1), EvenLaw(lower=5.0), 2)], Fraction(-21, 2))
    assert found.lower <= 1 / 8 <= found.upper
    assert found.upper - found.lower <= 3 / 2**20 / 2
    gap = 10_000

    def integrand(x):
        return 2 / (1 + x) ** 3 / (1 + gap - x) ** 2

    far = mpmath.quad(integrand, [0, 1, 100, gap - 100, gap - 1, gap]) + mpmath.mpf(1) / (1 + gap) ** 2
    found = tail_probability([Increment(Fraction(1), FarLaw(), 2)], Fraction(gap))
    assert 0.99 * float(far) <= found.lower <= float(far) <= found.upper <= 1.01 * float(far)
    for law in (Normal(mean=0.0, variance=0.01), BESIDE):  # symmetric about 5.5
        found = tail(increments((1, EvenLaw(lower=5.0)), (1, law)), 5.5)
        assert 0.5 - 1e-4 <= found.lower <= 0.5 <= found.upper <= 0.5 + 1e-4


@pytest.mark.usefixtures("both_laws")
def test_what_lies_above_the_cells_is_in_the_upper_bound():
    """Of each far law the cells leave out what exceeds 3.16e6, with probability 1e-13."""
    gap, jump = 4_472_135, student(100, 0.0, 1.0)
    found = bracketed([Increment(Fraction(1), FarLaw(), 10)], gap, 2**16)
    one_term = -math.expm1(10 * math.log1p(-((1 + gap) ** -2.0)))
    assert found.lower <= one_term * 1.01
    assert one_term <= found.upper <= 1.2e-12
    # the t exceeds 1e5 with a probability below 1e-300
    found = bracketed([Increment(Fraction(1), FarLaw()), Increment(Fraction(1), jump)], gap, 2**16)
    assert found.lower <= (1 + gap - 1e5) ** -2
    assert (1 + gap + 1e5) ** -2 <= found.upper <= 3e-13


# ---- atoms beside densities: the unit of the loss must not matter ----


def in_unit(unit, kind):
    """P(sum < 0.9) of a thousand atoms and a normal law, or forty and two others, in this unit of losses."""
    ends = (-unit, unit) if kind == "cut" else ()
    values, law, count = THOUSAND[:40], student(5, 0.3 * unit, 0.1 * unit, *ends), 2
    if kind == "normal":
        values, law, count = THOUSAND, Normal(mean=0.5 * unit, variance=(0.1 * unit) ** 2), 1
    found = tail([draw(unit * values, -1.0), increment(-1, law, count)], -0.9 * unit)
    return float(found.lower), float(found.upper)


@pytest.mark.parametrize("unit", [1e-13, 1e-30, 1e20])
@pytest.mark.parametrize(("kind", "width"), [("normal", 1e-9), ("heavy", 2e-4), ("cut", 2e-4)])
def test_laws_beside_atoms_do_not_depend_on_the_unit(kind, width, unit):
    (lower, upper), (least, most) = in_unit(unit, kind), in_unit(1.0, kind)
    assert lower <= most * (1 + 1e-12)
    assert least <= upper * (1 + 1e-12)
    assert max(upper - lower, most - least) <= width * upper
    if kind == "normal":
        expected = stats.norm.cdf((0.9 - THOUSAND - 0.5) / 0.1).mean()
        assert least <= expected * (1 + 1e-12)
        assert expected <= most * (1 + 1e-12)


def test_what_atoms_lose_by_rounding_is_in_the_bracket():
    """Sums near 1e9 beside a law a thousandth wide: in doubles they are known to 1e-7 only."""
    steps = draw([1e9 / 3 + place for place in range(40)], 1.0, count=3)
    narrow = Normal(mean=0.0, variance=1e-6)
    found = tail_probability([steps, Increment(Fraction(1), narrow)], decimal(1e9 + 60.0))
    first = 3 * decimal(1e9 / 3)  # the others are whole steps above it
    copies = np.convolve(np.convolve(np.ones(40), np.ones(40)), np.ones(40)) / 40**3
    left = [float(decimal(1e9 + 60.0) - first - place) for place in range(len(copies))]
    assert found.lower <= copies @ stats.norm.sf(np.array(left) / 1e-3) <= found.upper
