"""The certified contour far from its window and in batches; and every part of its error is needed.

For that, cases exhaust one part each, with a true error known in closed form; half of the part is not enough.
"""

import dataclasses
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import acb, ctx
from scipy import stats

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma, Lognormal, Normal
from depl.models.risk import contour as module
from depl.models.risk.certify import (
    SMALLEST_BUDGET,
    certified_margin,
    certified_quantile,
    contour_violation,
)
from depl.models.risk.contour import (
    Contour,
    choose_contour,
    distribution,
    error_terms,
    label_table,
    labels_of,
    like,
    violation,
)
from depl.models.risk.cores import _Smooth
from depl.models.risk.labels import LabelSums
from depl.models.risk.verdicts import LossClasses, PreparedVerdicts
from tests.oracles.ball_arithmetic import distribution_function, mean
from tests.problems import atoms, loss

TABLE_ONE = tuple(InverseGamma(mean=m, variance=v) for m, v in ((1.02, 0.031), (1.0, 0.01), (0.98, 0.007)))
BELL, SHARP = Normal(mean=0.0, variance=1.0), InverseGamma(shape=40.0, scale=39.0)


def decaying_plan(epochs):
    return loss(20.0, *((-1 / math.sqrt(k + 1), TABLE_ONE[k % 3]) for k in range(1, epochs + 1)))


def labels_for(contour, *laws):
    """Of the sum of one of each."""
    return labels_of(loss(0.0, *((-1.0, law) for law in laws)), contour)


def bounds(contour, labels, deviations):
    many = labels[np.zeros(len(deviations), dtype=np.intp)]
    return distribution(contour, many, np.asarray(deviations, dtype=float))


# --- windows and contours ---------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [1e-9, 0.01, 0.5])
def test_far_outside_its_window_a_contour_stays_valid_and_never_promises_too_much(level):
    for law in (InverseGamma(shape=35.6, scale=34.6), Lognormal(log_mean=-3.0, log_variance=0.25)):
        contour = choose_contour([(Term(-1.0, law), 1)], level)
        spread = math.sqrt(law.moments().variance)
        deviations = spread * np.concatenate([-np.geomspace(50, 0.01, 20), np.geomspace(0.01, 1e4, 20)])
        lower, upper = bounds(contour, labels_for(contour, law), deviations)
        assert np.all((lower >= 0) & (upper <= 1))
        for low, high, deviation in zip(lower, upper, deviations, strict=True):
            with ctx.workprec(120):
                x = mean(law) + float(deviation)
                value = distribution_function(law, acb(x)).real if x > 0 else x * 0
            assert low <= float(value.upper())
            assert float(value.lower()) <= high


def test_a_contour_with_too_few_nodes_still_has_chernoffs_bound():
    """exp(c**2 V / 2 + c y) at its abscissa c, the closed form of a normal law."""
    for abscissa in (0.5, 3.0, 10.0):
        contour = Contour(abscissa, 1e-6, 12, 2 * abscissa)
        deviations = -abscissa * np.array([0.7, 1.0, 2.0])
        upper = bounds(contour, labels_for(contour, BELL), deviations)[1]
        chernoff = np.exp(abscissa**2 / 2 + abscissa * deviations)
        assert np.all(stats.norm.cdf(deviations) <= upper)
        assert np.all(upper <= np.minimum(chernoff, 1.0) * (1 + 1e-9))


@pytest.mark.parametrize(
    "law", [BELL, SHARP, InverseGamma(shape=3.0, scale=2.0), Lognormal(mean=1, variance=2)]
)
@pytest.mark.parametrize("level", [1e-8, 0.02, 0.5])
def test_a_contour_brings_every_part_below_what_is_wanted_with_no_more_nodes_than_that_takes(law, level):
    """At the level's quantile, or above it by less than one over the abscissa; up to the next candidate."""
    given = loss(0.0, (-1.0, law, 4))
    contour = choose_contour(given.terms, level)
    labels, fewer = labels_of(given, contour), dataclasses.replace(contour, count=int(contour.count / 1.25))
    chernoff = (math.log(level) - labels.transform[:, 0].real) / contour.abscissa
    deviation = np.minimum(chernoff + 3 / contour.abscissa, 0.0)
    parts = error_terms(contour, labels, deviation, np.zeros(1))[1]
    wanted = module.TOLERANCE * level * (1 + 1e-9)
    assert max(parts.high_alias, 10 * parts.low_alias, parts.truncation) <= wanted
    assert max(parts.high_alias, 10 * parts.low_alias) >= 0.99 * wanted  # a shorter period has more
    assert error_terms(fewer, labels_of(given, fewer), deviation, np.zeros(1))[1].truncation > wanted


def test_a_few_terms_stand_for_many_with_the_same_count_and_variance_and_bounds_do_not_rest_on_them():
    given = decaying_plan(400)
    few = like(given.terms)
    assert len(few) < 100
    assert like(few[:64]) == few[:64]
    for law in TABLE_ONE:
        sums = [
            np.sum([(n, n * term.coefficient**2) for term, n in terms if term.law == law], axis=0)
            for terms in (few, given.terms)
        ]
        assert sums[0] == pytest.approx(sums[1], rel=1e-12)
    exact = certified_quantile(given, Fraction(1, 20))
    from_few = certified_quantile(FinalLoss(20.0, tuple(few)), Fraction(1, 20))
    assert exact.width < 1e-9
    assert from_few.upper - 20 == pytest.approx(exact.upper - 20, rel=2e-3)


@pytest.mark.parametrize("others", [(), ((-1e-7, TABLE_ONE[0]),)], ids=["no decay", "too slow a decay"])
def test_no_contour_without_a_decaying_increment(others):
    given = loss(20.0, (-1.0, atoms(0.7, 0.9, 1.0, 1.05, 1.3), 3), *others)
    assert choose_contour(given.terms, 0.01) is None
    assert contour_violation(given, given.mean()) is None
    assert certified_margin(given, Fraction(1, 100)) is None


def test_an_underflow_is_no_proof_of_impossibility():
    law = InverseGamma(shape=3.0, scale=2.0)
    found = contour_violation(loss(0.0, (-1.0, law)), -0.002)
    with ctx.workprec(120):
        assert found.lower <= float(distribution_function(law, acb(0.002)).real.upper()) + 1e-300
    assert 0 < found.upper < 1e-200


@pytest.mark.parametrize("budget", [0, 1, SMALLEST_BUDGET / 2, Fraction(-1, 2), Fraction(3, 2)], ids=str)
def test_budgets_below_rounding_or_from_one_are_refused(budget):
    for ask in (certified_margin, certified_quantile):
        with pytest.raises(InvalidInputError, match="violation budget 1 - omega"):
            ask(decaying_plan(3), budget)


# --- labels -----------------------------------------------------------------------------------------------


def test_a_batch_gives_what_each_plan_gives_by_itself_counted_or_listed_in_any_order():
    rng, plans = np.random.default_rng(5), 1500
    terms = [Term(-1 / math.sqrt(k + 1.0), law) for k in range(1, 31) for law in TABLE_ONE]
    counts = np.zeros((plans, 90))
    counts[np.arange(plans)[:, None], 3 * np.arange(30) + rng.integers(0, 3, (plans, 30))] = 1
    counts[:, 60:] *= rng.random((plans, 1)) < 0.5  # half of the plans stop after 20 epochs
    counts[:, 0] *= 3
    contour = choose_contour([(term, int(count)) for term, count in zip(terms, counts[0], strict=True)], 0.05)
    table = label_table(terms, contour)
    labels = table.combine(counts)
    thresholds = labels.mean - 0.3 * rng.random(plans)
    lower, upper = violation(contour, labels, thresholds)
    assert np.all(lower <= upper)
    for index in range(0, plans, 97):
        listed = rng.permutation(np.repeat(np.arange(90), counts[index].astype(int)))
        for label in (
            table.combine(counts[index : index + 1]),
            table[listed].combine(np.ones((1, len(listed)))),
        ):
            alone = violation(contour, label, thresholds[index])
            assert alone[0][0] == pytest.approx(lower[index], rel=1e-12)
            assert alone[1][0] == pytest.approx(upper[index], rel=1e-12)
        plan = tuple((term, int(n)) for term, n in zip(terms, counts[index], strict=True) if n)
        own = contour_violation(FinalLoss(float(thresholds[index]), plan), 0.0)
        assert max(own.lower, lower[index]) <= min(own.upper, upper[index])
        assert upper[index] - lower[index] < 1e-10


TERMS = [
    Term(-scale, law)
    for scale in (1.0, 0.37, 1e-3)
    for law in (Normal(mean=1.0, variance=0.2), InverseGamma(shape=2.5, scale=1.5))
]
CONTOUR = Contour(abscissa=1.5, spacing=0.4, count=19, tilt=3.0)


def test_a_sum_of_rows_is_the_exact_sum_rounded_once():
    table, rng = label_table(TERMS, CONTOUR), np.random.default_rng(4)
    sums = LabelSums(table, 512.0)
    for _ in range(2):
        rows, counts = rng.integers(0, len(TERMS), 100), rng.integers(1, 5, 100).astype(float)
        found = sums.combine(counts[None], rows)
        for name in ("transform", "mean", "rounding", "tilted", "variance"):
            columns = getattr(table, name).reshape(len(table), -1).view(float)[rows].T
            exact = [
                float(sum(Fraction(n) * Fraction(v) for n, v in zip(counts, column, strict=True)))
                for column in columns
            ]
            error = 3e-16 if name in ("transform", "mean") else 1e-13
            got = np.ravel(getattr(found, name)).view(float)
            assert got == pytest.approx(exact, rel=error, abs=1e-300)


def test_without_elementary_bounds_intervals_hold_and_are_no_tighter():
    labels, wider = label_table(TERMS, CONTOUR).combine(np.eye(len(TERMS)) * 3), 0
    for threshold in (-3.0, 0.5, 2.0, 9.0, 400.0):
        lower, upper = violation(CONTOUR, labels, threshold)
        least, most = violation(CONTOUR, labels, threshold, elementary=False)
        assert (least <= lower).all()
        assert (most >= upper).all()
        wider += int((most > upper).sum() + (least < lower).sum())
    assert wider


def test_losses_are_bounded_alike_in_parts_and_all_at_once(monkeypatch):
    labels, deviation = label_table(TERMS, CONTOUR), np.linspace(-1, 1, len(TERMS))
    found = distribution(CONTOUR, labels, deviation)
    monkeypatch.setattr(module, "_CHUNK", 2 * CONTOUR.count)
    np.testing.assert_array_equal(distribution(CONTOUR, labels, deviation), found)


def test_low_aliases_are_bounded_by_all_of_them():
    """One period after another, under the tilt."""
    contour = Contour(abscissa=0.5, spacing=math.pi, count=60, tilt=0.75)
    terms = error_terms(contour, labels_for(contour, BELL), np.zeros(1), np.zeros(1))[1]
    aliases = [math.exp(0.75**2 / 2 - 0.25 * contour.period * place) for place in range(1, 200)]
    assert terms.low_alias[0] == pytest.approx(math.fsum(aliases), rel=1e-12)


def test_chernoffs_bound_is_rounded_upwards():
    labels = label_table(TERMS, CONTOUR).combine(np.eye(len(TERMS)) * 3)
    deviation, none = -np.geomspace(2.0, 300.0, len(TERMS)), np.zeros(len(TERMS))
    ceiling = module._elementary(CONTOUR, labels, deviation, none)[1]
    columns = labels.transform[:, 0].real, labels.rounding[:, 0], deviation, ceiling
    for value, rounding, away, found in zip(*columns, strict=True):
        exact = Fraction(value) + Fraction(rounding) + Fraction(CONTOUR.abscissa) * Fraction(away)
        with mpmath.workdps(40):
            bound = mpmath.exp(mpmath.mpf(exact.numerator) / exact.denominator)
            assert bound <= found <= bound * (1 + 1e-12)


# --- the parts of the error -------------------------------------------------------------------------------


PARTS = ("high_alias", "high_alias_uncertain", "low_alias", "truncation", "rounding")


def normal_cdf(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def short_period():
    """Next to nothing of the gain lies a period of two units above y: the high alias is all of A."""
    contour = Contour(abscissa=0.5, spacing=math.pi, count=60, tilt=30.0)
    # y lies between the mean and one period below the infimum, so that there is no low alias.
    return contour, labels_for(contour, SHARP), 0.9, float(SHARP.cdf(1.9))


def smeared_atoms(spread):
    """2 with probability 1/5, -1/2 with 4/5, beside a little of a normal law."""
    return atoms(-0.5, 2.0, weights=(4.0, 1.0)), Normal(mean=0.0, variance=spread**2)


def two_points():
    """The law for which Cantelli's inequality is an equality."""
    period = 2.0 - 6 * 0.01  # y = 0, so that y + P lies just below the upper point
    contour = Contour(abscissa=3.0 / period, spacing=2 * math.pi / period, count=320, tilt=30.0)
    return contour, labels_for(contour, *smeared_atoms(0.01)), 0.0, 0.8 * normal_cdf(0.5 / 0.01)


def lowest_atom():
    """Chernoff's bound is nearly an equality just above the lowest point of a law."""
    contour = Contour(abscissa=0.5, spacing=math.pi, count=3000, tilt=20.0)  # the period is 2
    return contour, labels_for(contour, *smeared_atoms(0.001)), -0.5 + 2 + 6 * 0.001, 0.8


def cut_off(side):
    """Omitted nodes of one sign: their phase is near pi/2 at the first one and turns slowly beyond."""
    contour = Contour(abscissa=1.5, spacing=0.03, count=107, tilt=6.0)
    last = contour.spacing * contour.count
    deviation = -contour.abscissa + side * math.pi / 2 / (1 + 1 / last**2) / last
    return contour, labels_for(contour, BELL), deviation, normal_cdf(deviation)


def misrounded(side):
    """Labels that are wrong by what they admit, at every node in the direction that hurts most."""
    contour = choose_contour([(Term(-1.0, SHARP), 1)], 0.05)
    labels, deviation = labels_for(contour, SHARP), -0.25
    admitted = np.full(labels.rounding.shape, 1e-4)
    contributions = np.exp(labels.transform + deviation * contour.nodes) / contour.nodes
    wrong = labels.transform + side * admitted * np.exp(-1j * np.angle(contributions))
    labels = dataclasses.replace(labels, transform=wrong, rounding=admitted)
    return contour, labels, deviation, float(SHARP.cdf(1.0 + deviation))


SITUATIONS = {
    "a short period": (short_period(), "high_alias"),
    "two points": (two_points(), "high_alias_uncertain"),
    "the lowest atom": (lowest_atom(), "low_alias"),
    "too few nodes, too high": (cut_off(1.0), "truncation"),
    "too few nodes, too low": (cut_off(-1.0), "truncation"),
    "labels wrong upwards": (misrounded(1.0), "rounding"),
    "labels wrong downwards": (misrounded(-1.0), "rounding"),
}
"""Contour, labels of a gain, the deviation asked for and the true probability; and what is exhausted."""


@pytest.mark.parametrize("name", SITUATIONS)
def test_where_one_term_is_exhausted_half_of_it_is_not_enough_and_half_of_any_other_is(monkeypatch, name):
    (contour, labels, deviation, truth), term = SITUATIONS[name]

    def contained(halved=None):
        def scaled(*arguments):
            estimate, terms = error_terms(*arguments)
            return estimate, terms._replace(**{halved: 0.5 * getattr(terms, halved)} if halved else {})

        with monkeypatch.context() as patch:
            patch.setattr(module, "error_terms", scaled)
            lower, upper = distribution(contour, labels, np.array([deviation]))
        return bool(lower[0] <= truth <= upper[0])

    assert contained()
    terms = error_terms(contour, labels, np.array([deviation]), np.zeros(1))[1]
    others = sum(float(getattr(terms, other)[0]) for other in PARTS[1:] if other != term)
    assert getattr(terms, term)[0] > 2 * others or term == "high_alias_uncertain"
    for halved in PARTS if term == "high_alias" else PARTS[1:]:
        assert contained(halved) == (halved != term)


def test_factors_that_do_not_decay_enter_the_truncation_by_their_value_on_the_axis():
    """Without any decay it is unbounded, and the interval says nothing."""
    contour, rough = Contour(1.5, 0.02, 200, 6.0), atoms(-0.3, 0.3)
    alone, both, none = (
        error_terms(contour, labels_for(contour, *laws), np.zeros(1), np.zeros(1))[1].truncation[0]
        for laws in ((BELL,), (BELL, rough), (rough,))
    )
    assert both == pytest.approx(math.cosh(0.45) * alone, rel=1e-9)
    assert none == math.inf
    assert np.ravel(bounds(contour, labels_for(contour, rough), [0.0])).tolist() == [0, 1]


@pytest.mark.parametrize("shape", [1.05, 2.0])
def test_without_a_variance_nothing_is_known_of_the_high_alias(shape):
    law = InverseGamma(shape=shape, scale=1.0)
    contour = choose_contour([(Term(-1.0, law), 2)], 0.01)
    terms = error_terms(contour, labels_for(contour, law), np.array([-0.5]), np.zeros(1))[1]
    assert terms.high_alias_uncertain == terms.high_alias


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_mean_that_is_wrong_by_what_it_admits_is_covered_and_half_of_that_is_not(side):
    contour, admitted, threshold = choose_contour([(Term(-1.0, BELL), 1)], 1e-8), 1e-5, -5.6
    labels = labels_for(contour, BELL)
    for part in (1.0, 0.5):
        wrong = dataclasses.replace(
            labels, mean=labels.mean + side * admitted, mean_rounding=np.array([part * admitted])
        )
        lower, upper = violation(contour, wrong, threshold)
        assert (lower[0] <= normal_cdf(threshold) <= upper[0]) == (part == 1)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize(("constant", "centre", "target"), [(0, -1, 1), (1, 1, 0), (-1, 0, -1)])
def test_numbers_far_greater_than_the_spread_are_rounded_and_bounds_hold(constant, centre, target, side):
    """Of one normal gain; constants, or the mean that cores are given, are wrong by some units."""
    far, spread = 2.0**20, 2.0**-17
    law, limit = Normal(mean=centre * far, variance=spread**2), target * far - 0.75 * spread
    truth = normal_cdf(float(Fraction(constant * far) - Fraction(limit) - Fraction(law.mean)) / spread)
    given, terms = loss(constant * far, (-1.0, law)), [Term(-1.0, law)]
    found, prepared = choose_contour(given.terms, 0.2), PreparedVerdicts(limit, Fraction(1, 5))
    prepared.verdict(given)
    wrong, mean = (
        np.array([constant * far]) * (1 + side * 12 * 2.0**-53),
        given.mean() * (1 + side * 8 * 2.0**-53),
    )
    many = LossClasses(terms, np.ones((1, 1), dtype=int), wrong)
    cores = _Smooth(constant * far, mean, law.variance, ((found, label_table(terms, found)),))
    for lower, upper in (
        prepared._bounds(prepared._prepared[0], prepared._increments.asked(many, Fraction(1, 5))),
        prepared.violation(given),
        cores.exceedance(np.array([limit])),
    ):
        assert lower <= truth <= upper
        assert upper - lower < 0.05
