"""The verifier's probabilities against closed forms, numerical integration, exact sums and Monte Carlo."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk.certify import certified_violation
from depl.models.verifier import distribution as verifier_distribution
from depl.models.verifier import tilted_sums
from depl.models.verifier.distribution import tail_probability
from depl.models.verifier.laws import Bracket, Increment, decimal
from depl.models.verifier.tilted_sums import tilted_tail

UNIT = Normal(mean=1, variance=0.04)
STEADY = InverseGamma(shape=30, scale=29)
HEAVY = InverseGamma(shape=2.1, scale=1.1)
COIN = Empirical(values=(0, 1))


def increment(coefficient: float, law, count: int = 1) -> Increment:
    return Increment(decimal(float(coefficient)), law, count)


def decreasing(law, epochs: int) -> list[Increment]:
    """The increments of eq. (8) with A = 1, B = 1."""
    return [increment(-1 / math.sqrt(k + 1), law) for k in range(1, epochs + 1)]


def student(degrees: float, location: float, scale: float, lower=None, upper=None) -> StudentT:
    return StudentT(degrees_of_freedom=degrees, location=location, scale=scale, lower=lower, upper=upper)


def tail(increments: list[Increment], gap: float, budget: Fraction | None = None) -> Bracket:
    return tail_probability(increments, decimal(float(gap)), budget)


def assert_tight(found: Bracket, expected: float, relative: float) -> None:
    """The bracket contains the expected value (itself good to 1e-12) and is as narrow as promised."""
    assert found.lower <= expected * (1 + 1e-12)
    assert found.upper >= expected * (1 - 1e-12)
    assert found.upper - found.lower <= relative * expected


# ---- closed forms ----


@pytest.mark.parametrize("quantile", [-30, -6, -1, 0, 1, 2.33, 4.75, 6, 9])
def test_a_sum_of_normal_increments_is_normal(quantile):
    increments = [*decreasing(UNIT, 20), increment(0.4, UNIT, count=3)]
    mean = sum(item.count * item.factor for item in increments)
    deviation = 0.2 * math.sqrt(sum(item.count * item.factor**2 for item in increments))
    assert_tight(tail(increments, mean + quantile * deviation), stats.norm.sf(quantile), 1e-9)


@pytest.mark.parametrize("jumps", [[], [increment(1, student(3, 0.1, 0.05), 2)]], ids=["tilted", "with t"])
def test_the_thresholds_of_one_plan_are_answered_from_the_same_transforms(jumps, monkeypatch):
    """l_max, and both ends of its claimed quantile: alike as from transforms of their own, and as narrow."""
    increments = [*decreasing(STEADY, 4), *jumps]
    gaps = (-1.7, -1.7 + 1e-9, -1.7 - 1e-9)
    asked = []
    spectrum = tilted_sums._Sum.spectrum
    monkeypatch.setattr(tilted_sums._Sum, "spectrum", lambda *given: asked.append(1) or spectrum(*given))
    tilted_sums._summed.cache_clear()
    found = [tail(increments, gap) for gap in gaps]
    together = len(asked)
    tilted_sums._summed.cache_clear()
    own = tail(increments, gaps[1])
    assert len(asked) == 2 * together
    assert found[1].lower <= own.upper
    assert own.lower <= found[1].upper
    assert found[1].upper - found[1].lower <= 1.3 * (own.upper - own.lower)
    assert found[1].lower < found[0].upper < found[2].upper


def test_kept_transforms_answer_only_what_they_answer_well():
    """A sum of normal increments, by transforms that were made for other thresholds, near and far."""
    increments = decreasing(UNIT, 5)
    mean = sum(item.count * item.factor for item in increments)
    deviation = 0.2 * math.sqrt(sum(item.count * item.factor**2 for item in increments))
    for quantile in (1, 1.01, 3, -8, 9, 2, -1, 10.5, 0):
        found = tilted_tail(increments, mean + quantile * deviation)
        assert_tight(found, stats.norm.sf(quantile), 2e-9 if quantile < 10 else 2.0)


def test_moments_of_tilted_sums_are_not_taken_for_less_than_they_are():
    """Chernoff's bound of what wraps rests on it; a normal law has t mean + t^2 variance / 2."""
    total = tilted_sums._Sum(tuple(decreasing(UNIT, 75)))
    factors = np.array([item.factor for item in decreasing(UNIT, 75)])
    for tilt in np.geomspace(1e-3, 30, 40):
        exact = float((tilt * factors + 0.02 * (tilt * factors) ** 2).sum())
        found = float(total.log_moments(np.array([tilt]))[0])
        assert (
            exact - 1e-9 * abs(exact)
            <= found
            <= exact + 1e-6 + 1e-3 * float((tilt * factors) @ (tilt * factors))
        )


@pytest.mark.parametrize(
    ("law", "share"),
    [
        (InverseGamma(mean=1.0, variance=0.1), 0.3),
        pytest.param(Normal(mean=1.0, variance=0.5), 0.01, marks=pytest.mark.slow),
        pytest.param(InverseGamma(mean=1.0, variance=0.8), 0.3, marks=pytest.mark.slow),
        pytest.param(Lognormal(mean=1.0, variance=0.3), 0.01, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_long_sum_has_the_same_tail_as_with_every_factor_by_itself(law, share, monkeypatch):
    factors = [Fraction(-round(1e6 / (10 + k) ** 0.5), 10**6) for k in range(210)]
    increments = [Increment(factor, law, 1 + (k == 7)) for k, factor in enumerate(factors)]
    deviation = float(sum(f * f for f in factors)) ** 0.5 * law.moments().variance ** 0.5
    gap = float(sum(factors)) + {0.01: 2.2, 0.3: 0.5}[share] * deviation
    asked = []
    samples = tilted_sums._Waves._of_samples
    monkeypatch.setattr(tilted_sums._Waves, "_of_samples", lambda *given: asked.append(1) or samples(*given))
    quick = tilted_tail(increments, gap)
    few = len(asked)
    monkeypatch.setattr(tilted_sums, "_MANY", 10_000)
    tilted_sums._summed.cache_clear()
    slow = tilted_tail(increments, gap)
    assert few < len(asked) - few
    assert 0 < quick.lower < quick.upper < 1
    assert quick.lower <= slow.upper
    assert slow.lower <= quick.upper
    assert float(quick.upper) == pytest.approx(float(slow.upper), rel=2e-9)


@pytest.mark.parametrize(
    "law", [InverseGamma(shape=1.2, scale=1), HEAVY, STEADY, InverseGamma(mean=1, variance=1e-3)]
)
@pytest.mark.parametrize("level", [0.9, 0.5, 1e-2, 1e-6])
def test_one_inverse_gamma_epoch_is_scipys_own_distribution(law, level):
    shape = law.shape or 2 + law.mean**2 / law.variance
    scale = law.scale or law.mean * (shape - 1)
    value = stats.invgamma.ppf(level, shape, scale=scale)
    assert_tight(tail([increment(-2, law)], -2 * value), level, 1e-9)


def test_moments_of_a_lognormal_are_turned_into_its_parameters():
    law = Lognormal(mean=2, variance=3)
    spread = math.log(1 + 3 / 4)
    value = math.exp(math.log(2) - spread / 2 - 2 * math.sqrt(spread))  # two deviations below the log mean
    assert_tight(tail([increment(-1, law)], -value), stats.norm.cdf(-2), 1e-9)


def test_one_random_epoch_and_few_atoms_are_mixed_exactly():
    increments = [increment(-1, STEADY), increment(-0.5, Empirical(values=(1, 3), weights=(3, 1)))]
    values = stats.invgamma.cdf([1.3, 0.3], 30, scale=29)  # -X > -1.8 + (0.5, 1.5)
    assert_tight(tail(increments, -1.8), 0.75 * values[0] + 0.25 * values[1], 1e-9)


def test_one_untruncated_switch_is_scipys_own_distribution():
    assert_tight(tail([increment(1, student(1.5, 0.1, 0.3))], 2.1), stats.t.sf(2 / 0.3, 1.5), 1e-9)


@pytest.mark.parametrize("gap", [-0.3, 0.05, 0.4, 2.9])
def test_one_truncated_switch_is_renormalised_to_its_interval(gap):
    low, middle, high = (stats.t.sf((x - 0.1) / 0.2, 3) for x in (-0.5, gap, 3))
    expected = (middle - high) / (low - high)
    assert_tight(tail([increment(1, student(3, 0.1, 0.2, -0.5, 3))], gap), expected, 1e-9)


# ---- numerical integration ----


def convolved(density, exceedance, points: list[float]) -> float:
    """The mean of ``exceedance`` under ``density``, integrated piece by piece."""
    pieces = itertools.pairwise(points)
    return math.fsum(
        integrate.quad(lambda y: density(y) * exceedance(y), low, high, epsabs=0, epsrel=1e-12, limit=400)[0]
        for low, high in pieces
    )


def convolved_at_once(density, exceedance, points: list[float], order: int) -> float:
    """The same for functions of arrays and smooth pieces, by Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    edges = np.array(points)
    middles, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    places = middles[:, None] + halves[:, None] * nodes
    return float((halves[:, None] * weights * density(places) * exceedance(places)).sum())


@pytest.mark.parametrize(
    ("law", "gap"),
    [
        (STEADY, -2.0),
        (STEADY, -1.4),
        (HEAVY, -1.3),
        (HEAVY, -0.6),
        (InverseGamma(shape=1.2, scale=0.2), -0.5),
        (Lognormal(log_mean=0, log_variance=0.5), -1.0),
    ],
)
def test_two_epochs_agree_with_the_convolution_integral(law, gap):
    base = (
        stats.lognorm(math.sqrt(0.5))
        if isinstance(law, Lognormal)
        else stats.invgamma(law.shape, scale=law.scale)
    )
    points = [0, *(-gap * np.linspace(0.02, 1, 25))]
    expected, other = (
        convolved_at_once(base.pdf, lambda x: base.cdf((-gap - x) / 0.5), points, order) for order in (40, 60)
    )
    assert expected == pytest.approx(other, rel=1e-12)
    assert_tight(tail([increment(-1, law), increment(-0.5, law)], gap), expected, 1e-8)


def test_a_sharp_peak_with_a_far_tail_beside_a_wide_law_is_not_left_to_the_grid():
    """Most of X is near 0.001, and E X is 20 times that: P(N - 2 X > -1), integrated over ln X."""
    law = InverseGamma(shape=1.05, scale=1e-3)
    places, step = np.linspace(-12, 40, 20_000, retstep=True)
    masses = step * np.exp(places) * stats.invgamma.pdf(np.exp(places), 1.05, scale=1e-3)
    assert masses.sum() == pytest.approx(1, abs=1e-13)
    expected = float(masses @ stats.norm.sf(2 * np.exp(places) - 1))
    assert_tight(tail([increment(1, Normal(mean=0, variance=1)), increment(-2, law)], -1), expected, 1e-8)


@pytest.mark.parametrize("gap", [0.5, pytest.param(3, marks=pytest.mark.slow), 40])
def test_two_untruncated_switches_agree_with_the_convolution_integral(gap):
    first, second = stats.t(1.5, 0.1, 0.3), stats.t(3, 0.0, 0.8)
    peak = float(first.pdf(0.1))
    far = [sign * 10.0**power for power in (1, 3, 4, 6, 9) for sign in (-1, 1)]
    points = sorted([*far, -300, -30, -5, -1, 0, 0.1, 0.3, 1, 3, 30, 60, 100])
    expected = convolved(
        lambda x: peak * (1 + ((x - 0.1) / 0.3) ** 2 / 1.5) ** -1.25,
        lambda x: special.stdtr(3, (x - gap) / 0.8),  # second.sf(gap - x), in much less time
        points,
    )
    assert special.stdtr(3, -gap / 0.8) == pytest.approx(second.sf(gap), rel=1e-12)
    expected += first.sf(1e9)
    found = tail([increment(1, student(1.5, 0.1, 0.3)), increment(1, student(3, 0, 0.8))], gap)
    assert_tight(found, expected, 1e-6)


@pytest.mark.parametrize(("scale", "gap"), [(0.3, 1.0), (0.3, 6.0), (0.002, 0.5), (20.0, 70.0)])
def test_normal_epochs_and_an_untruncated_switch_agree_with_the_convolution_integral(scale, gap):
    jump, rest = stats.t(2, 0.1, scale), stats.norm(-1, 0.2 * math.sqrt(2))
    points = [-4, -2.5, -2, -1.5, -1, -0.5, 0, 0.3, 0.35, 0.38, 0.4, 0.42, 0.45, 0.5, 1, 2]
    expected = convolved(rest.pdf, lambda y: jump.sf(gap - y), points)
    increments = [
        increment(-1, Normal(mean=0.5, variance=0.04), count=2),
        increment(1, student(2, 0.1, scale)),
    ]
    assert_tight(tail(increments, gap), expected, 2e-8)


def test_an_epoch_and_a_truncated_switch_agree_with_the_convolution_integral():
    base, raw = stats.invgamma(30, scale=29), stats.t(2, 0.1, 0.2)
    mass = raw.cdf(3) - raw.cdf(-1)
    expected = convolved(
        lambda y: raw.pdf(y) / mass,
        lambda y: base.cdf(0.6 + y),
        [-1, -0.6, -0.2, 0, 0.1, 0.2, 0.4, 1, 2, 3],
    )
    increments = [increment(-1, STEADY), increment(1, student(2, 0.1, 0.2, -1, 3))]
    assert_tight(tail(increments, -0.6), expected, 1e-9)


def test_two_truncated_switches_agree_with_the_convolution_integral():
    def part(x):
        return np.clip((raw.sf(x) - raw.sf(1)) / mass, 0, 1)

    raw = stats.t(2, 0, 0.3)
    mass = raw.cdf(1) - raw.cdf(-1)
    expected = convolved(lambda y: raw.pdf(y) / mass, lambda y: part(0.9 - y), [-0.1, 0, 0.3, 0.6, 0.9, 1])
    assert_tight(tail([increment(1, student(2, 0, 0.3, -1, 1), count=2)], 0.9), expected, 1e-7)


# ---- exact sums ----


@given(st.integers(1, 60), st.data())
def test_equal_coins_are_binomial_exactly(tosses, data):
    heads = data.draw(st.integers(0, tosses))
    found = tail([increment(1, COIN, count=tosses)], heads)
    expected = Fraction(sum(math.comb(tosses, k) for k in range(heads + 1, tosses + 1)), 2**tosses)
    assert found == Bracket(expected, expected)


@given(
    st.lists(
        st.tuples(st.sampled_from([-0.7, -0.3, 0.1, 1.1]), st.sampled_from([2, 3])), min_size=1, max_size=6
    ),
    st.decimals(-6, 6, places=1),
)
def test_few_atoms_are_summed_like_every_outcome_by_hand(rows, gap):
    laws = {2: Empirical(values=(1, 2)), 3: Empirical(values=(0.1, 0.2, 2.7), weights=(0.5, 0.3, 0.2))}
    tenths, weights = {2: (10, 20), 3: (1, 2, 27)}, {2: (5, 5), 3: (5, 3, 2)}
    parts = [
        [
            (round(10 * factor) * value, weight)
            for value, weight in zip(tenths[size], weights[size], strict=True)
        ]
        for factor, size in rows
    ]  # in hundredths and in tenths, whole numbers all
    count = sum(
        math.prod(weight for _, weight in outcome)
        for outcome in itertools.product(*parts)
        if sum(value for value, _ in outcome) > 100 * gap
    )
    expected = Fraction(count, 10 ** len(rows))
    found = tail_probability([increment(factor, laws[size]) for factor, size in rows], Fraction(str(gap)))
    assert found == Bracket(expected, expected)


def test_decimals_are_summed_as_written_and_ties_count_as_met():
    tenths = [increment(-1, Empirical(values=(0.1,))), increment(-1, Empirical(values=(0.2,)))]
    assert 0.1 + 0.2 != 0.3
    assert tail(tenths, -0.3).upper == 0
    assert tail_probability(tenths, decimal(-0.3) - Fraction(1, 10**9)).upper == 0
    assert tail_probability(tenths, decimal(-0.3) - Fraction(11, 10**10)).lower == 1


def test_sums_beyond_64_bits_stay_exact():
    large = [increment(1, Empirical(values=(1e14 + 0.5, 1))), increment(1, Empirical(values=(1e14, 1e-6)))]
    assert tail(large, 2e14).lower == Fraction(1, 4)
    assert tail(large, 2e14 + 0.5).upper == 0
    weighted = [increment(1, Empirical(values=(0, 1), weights=(1e-17, 1)), count=5)]
    assert tail(weighted, 4).lower == Fraction(10**17, 10**17 + 1) ** 5


def test_a_gap_out_of_reach_is_exact_too():
    assert tail([increment(1, COIN)], 1e300) == Bracket(0, 0)
    assert tail([increment(1, COIN)], -1e300) == Bracket(1, 1)
    assert tail([], 0) == Bracket(0, 0)
    assert tail([], -1) == Bracket(1, 1)


def test_halves_that_meet_reach_what_one_list_of_atoms_could_not():
    increments = [
        increment(-1 / math.sqrt(k), Empirical(values=(0.5, 1, 2))) for k in range(1, 15)
    ]  # 3**14 sums
    found = tail(increments, -6)
    assert found.lower == found.upper
    sums = np.zeros(1)
    for item in increments:
        sums = np.add.outer(sums, item.factor * np.array([0.5, 1, 2])).ravel()
    assert float(found.lower) == pytest.approx(
        (sums > -6).mean(), abs=1e-6
    )  # only sums within rounding of -6 differ


# ---- narrow laws ----


@pytest.mark.parametrize("deviation", [1e-6, 1e-3, 0.05])
def test_atoms_on_a_lattice_are_not_smoothed_by_a_narrow_law(deviation, monkeypatch):
    """Their transforms revive at multiples of 2 pi / 0.1, however small they were in between."""
    narrow = [increment(1, Normal(mean=0, variance=deviation**2 / 2), count=2)]
    atoms = Empirical(values=(0.5, 0.9, 1.3, 2))
    increments = [increment(-1, atoms, count=6), *narrow]
    monkeypatch.setattr(verifier_distribution, "_MOST_CONDITIONED", 1)
    found = tail(increments, -6.95)
    monkeypatch.undo()
    single = increment(1, Normal(mean=0, variance=deviation**2))
    conditioned = tail([increment(-1, atoms, count=6), single], -6.95)
    assert conditioned.upper - conditioned.lower < 1e-9
    assert found.lower <= conditioned.upper
    assert found.upper >= conditioned.lower


def test_peaks_narrower_than_cells_widen_the_bracket_instead_of_deceiving_it():
    spike = student(1.1, 0.1, 0.001, -1e5, 1e5)
    found = tail([increment(1, spike, count=2)], 0.3)
    samples = np.random.default_rng(5)
    drawn = stats.t.rvs(1.1, 0.1, 0.001, size=(400_000, 2), random_state=samples).sum(axis=1)
    share = (drawn > 0.3).mean()
    assert found.lower <= share + 1e-3
    assert found.upper >= share - 1e-3


# ---- far away ----


def test_samples_of_a_narrow_law_are_summed_one_by_one_where_a_period_has_too_many_cells():
    """Folding these samples into cells of a period would take 75 GiB."""
    turns, weights, size = 0.25 + 1e-10 * np.arange(200), np.linspace(1, 2, 200), 2**13
    found = tilted_sums._transformed(turns, weights, size, uniform=True)
    for place in (0, 1, 777, size - 1):
        assert found[place] == pytest.approx(weights @ np.exp(2j * math.pi * place * turns), rel=1e-9)
    many = 0.25 + 1e-10 * np.arange(10**5)
    assert tilted_sums._transformed(many, np.ones(10**5), size, uniform=True) is None


@pytest.mark.parametrize(
    "increments",
    [
        [
            increment(-0.7, Empirical(values=(1e-4, 0.13, 3.0, 3830.0))),
            increment(-1, InverseGamma(shape=1.1, scale=1.1)),
            increment(1, student(2.2, 0.16, 3.5e-5)),
        ],
        [
            increment(1, Empirical(values=(3.6e7, 0.001, 2.6))),
            increment(-0.1, InverseGamma(shape=1.0035, scale=1.0035)),
            increment(1, student(800, 0.14, 3.6)),
        ],
    ],
    ids=["the deviation vanishes as the tilt grows", "a far tail outweighs all that is usual"],
)
def test_where_no_tilt_suits_a_sum_with_an_untruncated_switch_there_is_a_bracket_all_the_same(increments):
    rng = np.random.default_rng(5)
    drawn = sum(item.factor * item.law.sample(rng, 200_000) for item in increments)
    gap = float(np.quantile(drawn, 0.7))
    found = tail(increments, gap)
    assert found.lower < 0.3 + 0.006
    assert found.upper > 0.3 - 0.006


def test_an_inverse_gamma_law_of_large_shape_is_granted_what_its_density_cancels():
    """Certified by a contour (rational bounds of rounding): scipy's density alone is off by 2e-10."""
    steady = InverseGamma(shape=95591.30344274527, scale=95591.30344274527)
    terms = [(-1.0, Normal(mean=1.0, variance=0.24948191479055543), 4), (-1.0, steady, 2)]
    loss = FinalLoss(7.25, tuple((Term(factor, law), count) for factor, law, count in terms))
    certified = certified_violation(loss, 0.0)
    found = tail([increment(*term) for term in terms], -7.25)
    assert found.lower <= certified.upper
    assert found.upper >= certified.lower
    assert found.upper - found.lower < 1e-8


@pytest.mark.parametrize("law", [UNIT, STEADY, HEAVY, InverseGamma(shape=1.5, scale=0.5)])
def test_far_below_the_probability_is_close_to_one_and_never_above(law):
    found = tail(decreasing(law, 20), -1e4)
    assert 0.99 < found.lower <= found.upper == 1


# ---- Monte Carlo ----

MIXTURES = {
    "steady epochs, a truncated switch": [*decreasing(STEADY, 20), increment(1, student(2, 0.1, 0.2, -1, 3))],
    "heavy epochs, an untruncated switch": [*decreasing(HEAVY, 20), increment(1, student(1.5, 0.1, 0.2))],
    "normal epochs, five untruncated switches": [
        *decreasing(UNIT, 20),
        increment(1, student(2, 0.1, 0.02), 3),
        increment(1, student(3, 0.1, 0.5), 2),
    ],
    "atoms and normal epochs": [
        *decreasing(Empirical(values=(0.5, 0.9, 1.3, 2.0)), 20),
        increment(0.5, UNIT, count=2),
    ],
    "atoms, truncated and untruncated switches": [
        *decreasing(Empirical(values=(0.5, 0.9, 1.3, 2.0)), 3),
        increment(1, student(2, 0, 0.1)),
        increment(1, student(2, 0, 0.1, -1, 1)),
    ],
    "truncated switches of two kinds, and atoms": [
        *decreasing(Empirical(values=(0.5, 0.9, 1.3, 2.0)), 4),
        increment(1, student(2, 0, 0.1, -1, 1), 2),
        increment(1, student(2, 0, 0.3, -1, 1)),
    ],
    "truncated switches and untruncated ones": [
        increment(1, student(2, 0, 0.1, -1, 1), 4),
        increment(1, student(3, 0, 0.1), 2),
    ],
    "a switch truncated ten times as widely": [
        *decreasing(STEADY, 10),
        increment(1, student(2, 0.1, 0.2, -100, 300)),
    ],
}


def drawn(law, rng: np.random.Generator, size: int) -> np.ndarray:
    """Samples straight from numpy and scipy."""
    if isinstance(law, Empirical):
        return rng.choice(law.values, size)
    if isinstance(law, InverseGamma):
        return law.scale / rng.standard_gamma(law.shape, size)
    if isinstance(law, Normal):
        return rng.normal(law.mean, math.sqrt(law.variance), size)
    if isinstance(law, Lognormal):
        spread = math.log1p(law.variance / law.mean**2)
        return rng.lognormal(math.log(law.mean) - spread / 2, math.sqrt(spread), size)
    values = stats.t.rvs(law.degrees_of_freedom, law.location, law.scale, size=size, random_state=rng)
    if law.lower is None:
        return values
    while (outside := (values < law.lower) | (values > law.upper)).any():
        values[outside] = stats.t.rvs(
            law.degrees_of_freedom, law.location, law.scale, size=int(outside.sum()), random_state=rng
        )
    return values


SLOW_MIXTURES = ("a switch truncated ten times as widely", "heavy epochs, an untruncated switch")
"""Of the same kind are normal epochs with five untruncated switches."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW_MIXTURES else []) for name in MIXTURES],
)
def test_mixed_sums_agree_with_monte_carlo(name):
    increments = MIXTURES[name]
    rng = np.random.default_rng(20240214)
    size = 100_000
    sums = np.zeros(size)
    for item in increments:
        for _ in range(item.count):
            sums += item.factor * drawn(item.law, rng, size)
    gap = float(np.quantile(sums[: size // 2], 0.97))  # chosen on one half, tested on the other
    share = float((sums[size // 2 :] > gap).mean())
    found = tail(increments, gap)
    sigma = math.sqrt(share * (1 - share) / (size // 2))
    assert found.lower - 4 * sigma < share < found.upper + 4 * sigma
    assert found.upper - found.lower < 2e-3 * found.upper


# ---- properties ----

smooth_laws = st.one_of(
    st.builds(InverseGamma, shape=st.floats(1.6, 300), scale=st.floats(0.5, 2)),
    st.builds(Normal, mean=st.integers(-10, 20).map(lambda tenths: tenths / 10), variance=st.floats(0.01, 1)),
    st.builds(Lognormal, log_mean=st.sampled_from([-1.0, 0.0, 0.7]), log_variance=st.floats(0.01, 1)),
)


@settings(max_examples=12)
@given(st.lists(st.tuples(smooth_laws, st.floats(0.3, 2)), min_size=2, max_size=5), st.floats(0.05, 0.9))
def test_the_unit_of_the_loss_and_the_order_of_epochs_do_not_matter(rows, level):
    increments = [increment(-factor, law) for law, factor in rows]
    medians = [law_median(law) * -factor for law, factor in rows]
    gap = sum(medians) * level
    found = tail(increments, gap)
    scaled = tail([increment(-factor * 4, law) for law, factor in reversed(rows)], gap * 4)
    assert found.lower <= scaled.upper
    assert scaled.lower <= found.upper
    assert found.upper - found.lower <= max(1e-7 * found.upper, 1e-15)


def law_median(law) -> float:
    if isinstance(law, InverseGamma):
        return float(stats.invgamma.median(law.shape, scale=law.scale))
    return law.mean if isinstance(law, Normal) else math.exp(law.log_mean)


@settings(max_examples=12)
@given(st.lists(st.tuples(smooth_laws, st.floats(0.3, 2)), min_size=2, max_size=4), st.floats(-3, 0))
def test_a_higher_bound_is_exceeded_less_often(rows, gap):
    increments = [increment(-factor, law) for law, factor in rows]
    assert tail(increments, gap + 0.25).lower <= tail(increments, gap).upper


# ---- what an earlier verifier got wrong ----


def test_two_narrow_untruncated_switches_have_the_tail_of_their_convolution():
    """By quadrature 0.0922655890097; on a grid with 0.08 widths a step it was found 4e-8 of it lower."""
    law = student(19.42, -0.1, 0.003775)
    found = tail([increment(-1.091, law, 2)], 0.226283)
    assert_tight(found, 0.09226558900967768, 1e-9)


def test_kinks_of_truncated_switches_beside_atoms_are_resolved():
    """Equal atoms of 1/7; each adds the tail of two truncated switches, integrated piece by piece."""
    values = (0.279, 0.332, 0.329, 0.36, 0.269, 0.371, 0.324)
    one, other = student(8, 0.0506, 0.00725, 0, 0.152), student(3, 0.0594, 0.0145, 0, 0.178)
    gap, first, second = -0.1441317855327325, stats.t(8, 0.0506, 0.00725), stats.t(3, 0.0594, 0.0145)
    masses = [law.cdf(high) - law.cdf(0) for law, high in ((first, 0.152), (second, 0.178))]
    shares = []
    for value in values:

        def above(x: float, left: float = gap + value) -> float:
            end = min(max(left - x, 0.0), 0.178)
            return float(first.pdf(x) * (second.cdf(0.178) - second.cdf(end)))

        kinks = [gap + value, gap + value - 0.178]
        points = sorted({0, 0.04, 0.05, 0.06, 0.08, 0.152, *(kink for kink in kinks if 0 < kink < 0.152)})
        pieces = itertools.pairwise(points)
        shares.append(
            math.fsum(integrate.quad(above, *piece, epsabs=1e-15, limit=200)[0] for piece in pieces)
        )
    parts = [increment(-1, Empirical(values=values)), increment(1, one), increment(1, other)]
    assert_tight(tail(parts, gap), math.fsum(shares) / 7 / math.prod(masses), 3e-10)
