"""The certified contour against closed forms, ball arithmetic, other evaluators, and its own symmetries."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import FinalLoss, LossStep, Term, compose
from depl.models.problem.instance import InverseSqrtImprovement
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk.certify import SMALLEST_BUDGET, certified_margin, certified_quantile, contour_violation
from depl.models.risk.contour import (
    Contour,
    chernoff_probability,
    choose_contour,
    distribution,
    error_terms,
    label_table,
    labels_of,
    like,
    violation,
)
from tests.oracles.ball_arithmetic import BallSum, convolved, distribution_function, mean

TABLE_ONE = tuple(InverseGamma(mean=m, variance=v) for m, v in ((1.02, 0.031), (1.0, 0.01), (0.98, 0.007)))
SINGLE_LAWS = {
    **{f"inverse gamma of shape {a}": InverseGamma(shape=a, scale=a - 1) for a in (1.05, 1.5, 2.1, 5.0)},
    **{f"inverse gamma of shape {a}": InverseGamma(shape=a, scale=a - 1) for a in (35.6, 139.2, 1000.0)},
    "narrow lognormal": Lognormal(log_mean=0.0, log_variance=1e-4),
    "lognormal": Lognormal(log_mean=-3.0, log_variance=0.25),
    "wide lognormal": Lognormal(log_mean=0.0, log_variance=0.64),
    "normal": Normal(mean=1.0, variance=0.04),
}
SWITCH = StudentT(degrees_of_freedom=3, location=0.1, scale=0.05, lower=-0.2, upper=0.5)
TRACES = Empirical(values=(0.7, 0.9, 1.0, 1.05, 1.3), weights=(1.0, 3.0, 3.0, 2.0, 1.0))
PAIRS = {
    "shapes": st.tuples(*[st.floats(1.1, 6.9).map(math.exp)] * 2),
    "weights": st.tuples(*[st.floats(0.05, 1.0)] * 2),
    "share": st.floats(0.05, 0.95),
}


def gain(*terms, constant=20.0):
    """Final loss that starts at 20 and falls by count times weight * X for every (weight, law, count)."""
    return FinalLoss(constant, tuple((Term(-weight, law), count) for weight, law, count in terms))


def decaying_plan(epochs, laws=TABLE_ONE, offset=1.0):
    return gain(*((1 / math.sqrt(k + offset), laws[k % len(laws)], 1) for k in range(1, epochs + 1)))


JUMP = Normal(mean=0.1, variance=1e-3)
SWITCHING = gain((0.5, TABLE_ONE[0], 8), (-1.0, SWITCH, 1))


def bounds(loss, contour, deviations):
    labels = labels_of(loss, contour)[np.zeros(len(deviations), dtype=np.intp)]
    return distribution(contour, labels, np.asarray(deviations, dtype=float))


def exact_cdf(law, x):
    """P(X <= x) as a ball, for x given exactly."""
    with ctx.workprec(120):
        return distribution_function(law, acb(x)).real


def contains(interval, ball):
    return interval.lower <= float(ball.lower()) and float(ball.upper()) <= interval.upper


# --- one increment: closed forms ------------------------------------------------------------------------


@pytest.mark.parametrize("name", SINGLE_LAWS)
@pytest.mark.parametrize(
    "budget",
    [
        Fraction(1, 2),
        Fraction(1, 10),
        pytest.param(Fraction(1, 1000), marks=pytest.mark.slow),
        Fraction(1, 10**8),
    ],
)
def test_one_increment_has_the_quantile_of_its_distribution_function(name, budget):
    law = SINGLE_LAWS[name]
    margin = certified_margin(gain((1.0, law, 1)), budget)
    with ctx.workprec(120):
        below = distribution_function(law, acb(mean(law) - margin.upper)).real
        above = distribution_function(law, acb(mean(law) - margin.lower)).real
        share = arb(budget.numerator) / budget.denominator
        assert below <= share <= above
    assert margin.width < 1e-10 * abs(margin.middle) + 1e-13


@pytest.mark.parametrize("name", SINGLE_LAWS)
@pytest.mark.parametrize(
    "level", [1e-12, 0.03, 0.8, 0.97, *(pytest.param(level, marks=pytest.mark.slow) for level in (1e-6, 0.4))]
)
def test_one_increment_has_the_violation_of_its_distribution_function(name, level):
    law = SINGLE_LAWS[name]
    base = {InverseGamma: stats.invgamma, Lognormal: stats.lognorm, Normal: stats.norm}[type(law)]
    parameters = {
        InverseGamma: lambda: (law.shape_scale()[0], 0, law.shape_scale()[1]),
        Lognormal: lambda: (law.log_parameters()[1], 0, math.exp(law.log_parameters()[0])),
        Normal: lambda: (law.mean, math.sqrt(law.variance)),
    }[type(law)]()
    x = float(base.ppf(level, *parameters))
    threshold = 2.0 - (2.0 - x)  # what remains of x when the target is a double
    interval = contour_violation(gain((1.0, law, 1), constant=2.0), 2.0 - x)
    assert contains(interval, exact_cdf(law, threshold))
    assert interval.width < 1e-9 * level or level > 0.5
    scipy_value = float(base.cdf(threshold, *parameters))  # good to about 1e-11, relatively
    assert interval.lower * (1 - 1e-10) <= scipy_value <= interval.upper * (1 + 1e-10)


# --- several increments: ball arithmetic and quadrature ---------------------------------------------------


@settings(max_examples=3)
@given(**PAIRS)
def test_two_increments_agree_with_quadrature_of_their_convolution(shapes, weights, share):
    require_quadrature_of_the_convolution(shapes, weights, share)


@pytest.mark.slow
@settings(max_examples=30)
@given(**PAIRS)
def test_many_pairs_of_increments_agree_with_quadrature_of_their_convolution(shapes, weights, share):
    require_quadrature_of_the_convolution(shapes, weights, share)


def require_quadrature_of_the_convolution(shapes, weights, share):
    terms = tuple(Term(-w, InverseGamma(shape=a, scale=a - 1)) for w, a in zip(weights, shapes, strict=True))
    loss = FinalLoss(0.0, tuple((term, 1) for term in terms))
    deviation = share * -3 * math.sqrt(loss.variance()) / (1 + 3 * math.sqrt(loss.variance()) / sum(weights))
    with ctx.workprec(80):
        value = convolved(*terms, deviation)
        target = contour_violation(loss, loss.mean() - deviation)
        # loss.mean() - deviation and back is rounded; a few units in the last place of the density.
    slack = 1e-14
    assert target.lower * (1 - slack) - 1e-14 <= float(value.mid()) <= target.upper * (1 + slack) + 1e-14


@pytest.mark.parametrize(
    "shape", [1.05, *(pytest.param(shape, marks=pytest.mark.slow) for shape in (1.3, 1.7)), 2.0]
)
def test_without_a_variance_nothing_is_known_of_the_high_alias_and_bounds_still_hold(shape):
    loss = gain(
        (1.0, InverseGamma(shape=shape, scale=1.0), 2), (0.4, InverseGamma(shape=shape, scale=1.0), 1)
    )
    contour = choose_contour(loss.terms, 0.01)
    _, terms = error_terms(contour, labels_of(loss, contour), np.array([-0.5]), np.zeros(1))
    assert terms.high_alias_uncertain == terms.high_alias
    margin = certified_margin(loss, Fraction(1, 100))
    reference = BallSum(loss.terms, 0.01, -margin.lower, digits=18)
    assert reference.probability(-margin.upper) <= 0.01 <= reference.probability(-margin.lower)


# --- windows and contours ---------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [decaying_plan(5), decaying_plan(60), gain((1.0, TABLE_ONE[0], 1))])
def test_any_contour_gives_an_interval_that_meets_all_others(loss):
    chosen = choose_contour(loss.terms, 0.02)
    deviations = -np.array([1.0, 1.5, 2.0, 2.5, 3.0]) * math.sqrt(loss.variance())
    lowest, highest = np.zeros(5), np.ones(5)
    for c, p, j in itertools.product((0.5, 0.8, 1.0, 1.3, 2.0), (0.4, 1.0, 1.7), (0.6, 1.0, 2.5)):
        contour = Contour(
            chosen.abscissa * c,
            chosen.spacing / p,
            max(12, int(chosen.count * j * p)),
            max(chosen.tilt, 1.2 * chosen.abscissa * c),
        )
        lower, upper = bounds(loss, contour, deviations)
        assert np.all(lower <= upper)
        lowest, highest = np.maximum(lowest, lower), np.minimum(highest, upper)
    assert np.all(lowest <= highest)
    assert np.all(highest - lowest < 1e-9 * highest)


@pytest.mark.parametrize("law", [SINGLE_LAWS["inverse gamma of shape 35.6"], SINGLE_LAWS["lognormal"]])
@pytest.mark.parametrize("level", [1e-9, 0.01, 0.5])
def test_far_outside_its_window_a_contour_stays_valid_and_never_promises_too_much(law, level):
    loss = gain((1.0, law, 1))
    contour = choose_contour(loss.terms, level)
    spread = math.sqrt(law.moments().variance)
    deviations = spread * np.concatenate([-np.geomspace(50, 0.01, 60), np.geomspace(0.01, 1e4, 60)])
    lower, upper = bounds(loss, contour, deviations)
    assert np.all((lower >= 0) & (upper <= 1))
    for low, high, deviation in zip(lower, upper, deviations, strict=True):
        with ctx.workprec(120):
            x = mean(law) + float(deviation)
            value = distribution_function(law, acb(x)).real if x > 0 else x * 0
        assert low <= float(value.upper())
        assert float(value.lower()) <= high


def test_one_contour_for_plans_of_very_different_length_never_excludes_the_truth():
    loss = decaying_plan(20)
    contour = choose_contour(loss.terms, 0.01)
    for epochs in (1, 2, 5, 10, 40, 100, 400):
        other = decaying_plan(epochs)
        own = choose_contour(other.terms, 0.01)
        spread = math.sqrt(other.variance())
        deviations = spread * np.array([-4.0, -2.3, -1.0, 0.0, 1.5])
        lower, upper = bounds(other, contour, deviations)
        own_lower, own_upper = bounds(other, own, deviations)
        assert np.all(np.maximum(lower, own_lower) <= np.minimum(upper, own_upper))
    lower, upper = bounds(decaying_plan(400), contour, [0.0, 5.0])
    assert np.all(upper > 0.4)


def test_chernoff_probability_bounds_the_certified_one():
    loss = decaying_plan(8)
    for deviation in -math.sqrt(loss.variance()) * np.array([0.5, 1.0, 2.0, 4.0, 6.0]):
        interval = contour_violation(loss, loss.mean() - deviation)
        assert (
            interval.lower <= chernoff_probability(loss.terms, float(deviation)) <= 20 * interval.upper**0.8
        )
    assert chernoff_probability(loss.terms, 0.1) == 1.0


def test_a_few_terms_stand_for_many_with_the_same_count_and_variance_and_bounds_do_not_rest_on_them():
    loss = decaying_plan(400)
    few = like(loss.terms)
    assert len(few) < 100 < len(loss.terms)
    assert like(few[:64]) == few[:64]
    for law in TABLE_ONE:
        sums = [
            [(count, count * term.coefficient**2) for term, count in terms if term.law == law]
            for terms in (few, loss.terms)
        ]
        assert np.sum(sums[0], axis=0) == pytest.approx(np.sum(sums[1], axis=0), rel=1e-12)
    exact = certified_quantile(loss, Fraction(1, 20))
    from_few = certified_quantile(FinalLoss(loss.constant, tuple(few)), Fraction(1, 20))
    assert exact.width < 1e-9
    assert from_few.upper - loss.constant == pytest.approx(exact.upper - loss.constant, rel=2e-3)


def test_no_contour_without_a_decaying_increment_or_with_too_slow_a_decay():
    traces = gain((1.0, TRACES, 3))
    assert choose_contour(traces.terms, 0.01) is None
    assert certified_margin(traces, Fraction(1, 100)) is None
    assert contour_violation(traces, 18.0) is None
    slow = gain((1.0, TRACES, 3), (1e-7, TABLE_ONE[0], 1))
    assert choose_contour(slow.terms, 0.01) is None
    assert contour_violation(slow, slow.mean()) is None


@pytest.mark.parametrize(
    "budget", [Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 10**12)]
)
def test_a_law_that_decays_slowly_gets_a_valid_interval_or_none(budget):
    law = Lognormal(log_mean=0.0, log_variance=2.0)
    loss = gain((1.0, law, 1), constant=0.0)
    x = float(stats.lognorm.ppf(float(budget), math.sqrt(2.0)))
    interval = contour_violation(loss, -x)
    assert interval is None or contains(interval, exact_cdf(law, x))
    margin = certified_margin(loss, budget)
    if margin is not None:
        with ctx.workprec(120):
            ends = [
                distribution_function(law, acb(mean(law) - end)).real for end in (margin.upper, margin.lower)
            ]
        assert ends[0] <= float(budget) <= ends[1]


def test_an_underflow_is_no_proof_of_impossibility():
    loss = gain((1.0, InverseGamma(shape=3.0, scale=2.0), 1), constant=0.0)
    interval = contour_violation(loss, -0.002)
    assert interval.lower <= float(exact_cdf(loss.terms[0][0].law, 0.002).upper()) + 1e-300
    assert 0 < interval.upper < 1e-200


@pytest.mark.parametrize(
    "budget", [Fraction(0), Fraction(1), SMALLEST_BUDGET / 2, Fraction(-1, 2), Fraction(3, 2)]
)
def test_budgets_below_rounding_or_from_one_are_refused(budget):
    for ask in (certified_margin, certified_quantile):
        with pytest.raises(InvalidInputError, match="violation budget 1 - omega"):
            ask(decaying_plan(3), budget)


# --- labels -----------------------------------------------------------------------------------------------


def test_labels_do_not_depend_on_the_order_of_the_increments():
    terms = [term for term, _ in decaying_plan(50).terms]
    contour = choose_contour([(term, 1) for term in terms], 0.05)
    table, counts = label_table(terms, contour), np.arange(50)[None, :] % 4
    rng = np.random.default_rng(3)
    expected = table.combine(counts)
    for _ in range(5):
        order = rng.permutation(50)
        found = table[order].combine(counts[:, order])
        for name in ("transform", "mean"):
            ours, theirs = getattr(found, name), getattr(expected, name)
            assert np.all(np.abs(ours - theirs) <= np.spacing(np.abs(theirs)))


@pytest.mark.parametrize("first", [1, 4, 9])
def test_the_label_of_a_joined_plan_is_the_sum_of_its_parts_at_shifted_epochs_and_of_the_switch(first):
    a = InverseSqrtImprovement(scale=2.0, noise=TABLE_ONE[0], offset=1.0)
    b = InverseSqrtImprovement(scale=3.0, noise=TABLE_ONE[2], offset=4.0)
    jump = Term(1.0, Normal(mean=0.2, variance=0.01))

    def step(improvement, epoch, *switch):
        weight, law = improvement.at(epoch)
        return LossStep(1.0, 0.0, (Term(-weight, law), *switch))

    part_a = [step(a, k) for k in range(1, first + 1)]
    part_b = [step(b, k) for k in range(first + 1, 13)]
    joined = compose(20.0, [*part_a, step(b, first + 1, jump), *part_b[1:]])
    contour = choose_contour(joined.terms, 0.05)
    parts = [labels_of(compose(20.0, steps), contour) for steps in (part_a, part_b)]
    total = parts[0] + parts[1] + label_table([jump], contour)
    whole = labels_of(joined, contour)
    for field in dataclasses.fields(whole):
        assert np.allclose(getattr(total, field.name), getattr(whole, field.name), rtol=1e-14, atol=1e-15)
    threshold = 20.0 - joined.mean() - 1.0
    one, other = violation(contour, total, threshold), violation(contour, whole, threshold)
    assert max(one[0], other[0]) <= min(one[1], other[1])


def test_epochs_may_be_counted_or_listed():
    terms = [Term(-0.5, law) for law in TABLE_ONE]
    contour = choose_contour([(term, 7) for term in terms], 0.05)
    counted = label_table(terms, contour).combine(np.full((1, 3), 7))
    listed = label_table(terms * 7, contour).combine(np.ones((1, 21)))
    one, other = (distribution(contour, labels, np.array([-0.4])) for labels in (counted, listed))
    assert max(one[0], other[0]) <= min(one[1], other[1])
    assert np.allclose(one, other, rtol=1e-12)


def test_a_batch_gives_what_each_plan_gives_by_itself():
    rng = np.random.default_rng(5)
    terms = [Term(-1 / math.sqrt(k + 1.0), law) for k in range(1, 31) for law in TABLE_ONE]
    counts = np.zeros((10_000, 90))
    choice = rng.integers(0, 3, (10_000, 30))
    counts[np.arange(10_000)[:, None], 3 * np.arange(30) + choice] = 1
    counts[:, 60:] *= rng.random((10_000, 1)) < 0.5  # half of the plans stop after 20 epochs
    reference = [(term, int(count)) for term, count in zip(terms, counts[0], strict=True)]
    contour = choose_contour(reference, 0.05)
    table = label_table(terms, contour)
    labels = table.combine(counts)
    thresholds = labels.mean - 0.3 * rng.random(10_000)
    lower, upper = violation(contour, labels, thresholds)
    assert np.all(lower <= upper)
    for index in range(0, 10_000, 97):
        alone = violation(contour, table.combine(counts[index : index + 1]), thresholds[index])
        assert alone[0][0] == pytest.approx(lower[index], rel=1e-13)
        assert alone[1][0] == pytest.approx(upper[index], rel=1e-13)
    for index in range(0, 10_000, 197):
        plan = tuple((term, int(n)) for term, n in zip(terms, counts[index], strict=True) if n)
        own = contour_violation(FinalLoss(float(thresholds[index]), plan), 0.0)
        assert max(own.lower, lower[index]) <= min(own.upper, upper[index])
        assert upper[index] - lower[index] < 1e-10


# --- other evaluators -------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [decaying_plan(5), gain((1.0, InverseGamma(shape=2.1, scale=1.1), 3))])
def test_margins_grow_with_omega(loss):
    budgets = [Fraction(1, 2), Fraction(1, 4), *(Fraction(1, 10**n) for n in range(1, 13))]
    margins = [certified_margin(loss, budget) for budget in budgets]
    assert all(one.upper < other.lower for one, other in itertools.pairwise(margins))


def test_a_contour_with_too_few_nodes_still_has_chernoffs_bound():
    """exp(c**2 V / 2 + c y) at its abscissa c, the closed form of a normal law."""
    loss, variance = gain((1.0, Normal(mean=1.0, variance=0.25), 3)), 0.75
    for abscissa in (0.5, 3.0, 10.0):
        contour = Contour(abscissa, 1e-6, 12, 2 * abscissa)
        deviations = -abscissa * variance * np.array([0.7, 1.0, 2.0])
        upper = bounds(loss, contour, deviations)[1]
        chernoff = np.exp(abscissa**2 * variance / 2 + abscissa * deviations)
        assert np.all(stats.norm.cdf(deviations / math.sqrt(variance)) <= upper)
        assert np.all(upper <= np.minimum(chernoff, 1.0) * (1 + 1e-9))
