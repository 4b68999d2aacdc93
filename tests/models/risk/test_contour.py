"""The certified contour against ball arithmetic, other contours, and its own symmetries."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, ctx
from scipy import stats

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal
from depl.models.risk.certify import (
    SMALLEST_BUDGET,
    certified_margin,
    certified_quantile,
    contour_violation,
    has_contour,
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
from depl.models.risk.labels import LabelSums
from depl.models.risk.verdicts import PreparedVerdicts
from tests.oracles.ball_arithmetic import BallSum, distribution_function, mean
from tests.problems import atoms, student

TABLE_ONE = tuple(InverseGamma(mean=m, variance=v) for m, v in ((1.02, 0.031), (1.0, 0.01), (0.98, 0.007)))


def gain(*terms, constant=20.0):
    """Final loss that starts at 20 and falls by count times weight * X for every (weight, law, count)."""
    return FinalLoss(constant, tuple((Term(-weight, law), count) for weight, law, count in terms))


def decaying_plan(epochs, laws=TABLE_ONE, offset=1.0):
    return gain(*((1 / math.sqrt(k + offset), laws[k % len(laws)], 1) for k in range(1, epochs + 1)))


def bounds(loss, contour, deviations):
    labels = labels_of(loss, contour)[np.zeros(len(deviations), dtype=np.intp)]
    return distribution(contour, labels, np.asarray(deviations, dtype=float))


# --- windows and contours ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [1.05, 2.0])
def test_without_a_variance_nothing_is_known_of_the_high_alias_and_bounds_still_hold(shape):
    law = InverseGamma(shape=shape, scale=1.0)
    loss = gain((1.0, law, 2), (0.4, law, 1))
    contour = choose_contour(loss.terms, 0.01)
    _, terms = error_terms(contour, labels_of(loss, contour), np.array([-0.5]), np.zeros(1))
    assert terms.high_alias_uncertain == terms.high_alias
    margin = certified_margin(loss, Fraction(1, 100))
    reference = BallSum(loss.terms, 0.01, -margin.lower, digits=18)
    assert reference.probability(-margin.upper) <= 0.01 <= reference.probability(-margin.lower)


@pytest.mark.parametrize("level", [1e-9, 0.01, 0.5])
def test_far_outside_its_window_a_contour_stays_valid_and_never_promises_too_much(level):
    for law in (InverseGamma(shape=35.6, scale=34.6), Lognormal(log_mean=-3.0, log_variance=0.25)):
        loss = gain((1.0, law, 1))
        contour = choose_contour(loss.terms, level)
        spread = math.sqrt(law.moments().variance)
        deviations = spread * np.concatenate([-np.geomspace(50, 0.01, 20), np.geomspace(0.01, 1e4, 20)])
        lower, upper = bounds(loss, contour, deviations)
        assert np.all((lower >= 0) & (upper <= 1))
        for low, high, deviation in zip(lower, upper, deviations, strict=True):
            with ctx.workprec(120):
                x = mean(law) + float(deviation)
                value = distribution_function(law, acb(x)).real if x > 0 else x * 0
            assert low <= float(value.upper())
            assert float(value.lower()) <= high


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


def test_a_few_terms_stand_for_many_with_the_same_count_and_variance_and_bounds_do_not_rest_on_them():
    loss = decaying_plan(400)
    few = like(loss.terms)
    assert len(few) < 100 < len(loss.terms)
    assert like(few[:64]) == few[:64]
    for law in TABLE_ONE:
        sums = [
            np.sum([(n, n * term.coefficient**2) for term, n in terms if term.law == law], axis=0)
            for terms in (few, loss.terms)
        ]
        assert sums[0] == pytest.approx(sums[1], rel=1e-12)
    exact = certified_quantile(loss, Fraction(1, 20))
    from_few = certified_quantile(FinalLoss(loss.constant, tuple(few)), Fraction(1, 20))
    assert exact.width < 1e-9
    assert from_few.upper - loss.constant == pytest.approx(exact.upper - loss.constant, rel=2e-3)


def test_no_contour_without_a_decaying_increment_or_with_too_slow_a_decay():
    traces = gain((1.0, Empirical(values=(0.7, 0.9, 1.0, 1.05, 1.3), weights=(1.0, 3.0, 3.0, 2.0, 1.0)), 3))
    slow = FinalLoss(20.0, (*traces.terms, (Term(-1e-7, TABLE_ONE[0]), 1)))
    for loss in (traces, slow):
        assert choose_contour(loss.terms, 0.01) is None
        assert contour_violation(loss, loss.mean()) is None
        assert certified_margin(loss, Fraction(1, 100)) is None


def test_an_underflow_is_no_proof_of_impossibility():
    law = InverseGamma(shape=3.0, scale=2.0)
    found = contour_violation(gain((1.0, law, 1), constant=0.0), -0.002)
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
    choice = rng.integers(0, 3, (plans, 30))
    counts[np.arange(plans)[:, None], 3 * np.arange(30) + choice] = 1
    counts[:, 60:] *= rng.random((plans, 1)) < 0.5  # half of the plans stop after 20 epochs
    counts[:, 0] *= 3
    reference = [(term, int(count)) for term, count in zip(terms, counts[0], strict=True)]
    contour = choose_contour(reference, 0.05)
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
            assert np.all(
                np.abs(label.transform[0] - labels.transform[index]) <= np.spacing(np.abs(label.transform[0]))
            )
            alone = violation(contour, label, thresholds[index])
            assert alone[0][0] == pytest.approx(lower[index], rel=1e-12)
            assert alone[1][0] == pytest.approx(upper[index], rel=1e-12)
        plan = tuple((term, int(n)) for term, n in zip(terms, counts[index], strict=True) if n)
        own = contour_violation(FinalLoss(float(thresholds[index]), plan), 0.0)
        assert max(own.lower, lower[index]) <= min(own.upper, upper[index])
        assert upper[index] - lower[index] < 1e-10


# --- sums of labels are those of exact arithmetic, rounded once ------------------------------------------


TERMS = [
    Term(-scale, law)
    for scale in (1.0, 0.37, 1e-3)
    for law in (Normal(mean=1.0, variance=0.2), InverseGamma(shape=2.5, scale=1.5))
]
CONTOUR = Contour(abscissa=1.5, spacing=0.4, count=19, tilt=3.0)


def exact_sum(counts: np.ndarray, values: np.ndarray) -> float:
    products = [Fraction(count) * Fraction(value) for count, value in zip(counts, values, strict=True)]
    return float(sum(products, Fraction(0)))


def test_a_sum_of_rows_is_the_exact_sum_rounded_once() -> None:
    table, rng = label_table(TERMS, CONTOUR), np.random.default_rng(4)
    sums = LabelSums(table, 512.0)
    for _ in range(2):
        rows = rng.integers(0, len(TERMS), 100)
        counts = rng.integers(1, 5, 100).astype(float)
        found = sums.of_rows(rows, counts)
        for name in ("transform", "mean", "rounding", "tilted", "variance"):
            column = getattr(table, name).reshape(len(table), -1)
            parts = [column.real, column.imag] if np.iscomplexobj(column) else [column]
            got = getattr(found, name).reshape(-1)
            halves = [got.real, got.imag] if np.iscomplexobj(got) else [got]
            for part, half in zip(parts, halves, strict=True):
                exact = [exact_sum(counts, part[rows, place]) for place in range(part.shape[1])]
                rounded_once = name in ("transform", "mean")
                assert half == pytest.approx(exact, rel=3e-16 if rounded_once else 1e-13, abs=1e-300)


def test_without_elementary_bounds_intervals_hold_and_are_no_tighter() -> None:
    labels = label_table(TERMS, CONTOUR).combine(np.eye(len(TERMS)) * 3)
    wider = 0
    for threshold in (-3.0, 0.5, 2.0, 9.0, 400.0):
        lower, upper = violation(CONTOUR, labels, threshold)
        least, most = violation(CONTOUR, labels, threshold, elementary=False)
        assert (least <= lower).all()
        assert (most >= upper).all()
        wider += int((most > upper).sum() + (least < lower).sum())
    assert wider


def test_increments_answer_by_bits_whether_a_loss_has_a_contour() -> None:
    coin = Term(-1.0, atoms(0.0, 1.0))
    wide = Term(1.0, student(2.0, 0.1, 0.2))
    cut = Term(1.0, student(2.0, 0.1, 0.2, -1.0, 2.0))
    growing = Term(1.0, InverseGamma(shape=2.5, scale=1.5))
    kinds = (TERMS[0], TERMS[1], coin, wide, cut, growing)
    prepared, answers = PreparedVerdicts(0.0, Fraction(1, 20)), []
    for index in range(1 << len(kinds)):
        chosen = [kind for place, kind in enumerate(kinds) if index >> place & 1]
        loss = FinalLoss(0.0, tuple((term, 2) for term in chosen))
        asked = prepared._increments.asked(loss, prepared.budget)
        cores = FinalLoss(0.0, tuple(zip(asked.cores, asked.counts, strict=True)))
        assert asked.has_contour == has_contour(cores)
        answers.append(asked.has_contour)
    assert 8 <= sum(answers) <= len(answers) - 8


def test_terms_are_equal_by_value_and_travel_without_their_kept_hash() -> None:
    one, other = Term(-0.5, Normal(mean=1.0, variance=0.2)), Term(-0.5, Normal(mean=1.0, variance=0.2))
    assert hash(one) == hash(other)
    assert {one: 7}[other] == 7
    sent = pickle.dumps(one)
    assert b"_hash" not in sent
    assert pickle.loads(sent) == one
