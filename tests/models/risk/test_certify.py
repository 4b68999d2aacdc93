"""The dispatcher, cores and batches, against evaluators that share nothing with them."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.models.foundation.interval import Interval
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Empirical, InverseGamma, Normal, StudentT
from depl.models.risk import certify
from depl.models.risk.certify import certified_margin, certified_quantile, certified_violation
from depl.models.risk.cores import EVALUATOR as BY_CORES
from depl.models.risk.grid import grid_violation
from depl.models.risk.verdicts import LossClasses, PreparedVerdicts, certified_verdict

PAPER = InverseGamma(mean=1.0, variance=0.03)
HUNDREDTH = Fraction(1, 100)


def loss_of(*terms: tuple[float, object, int], constant: float = 20.0) -> FinalLoss:
    return FinalLoss(constant, tuple((Term(weight, law), count) for weight, law, count in terms))


def jump(nu: float) -> StudentT:
    return StudentT(degrees_of_freedom=nu, location=0.3, scale=0.1)


@pytest.mark.parametrize(
    ("loss", "evaluator"),
    [
        (loss_of(), "exact sum"),
        (loss_of((-1.0, Empirical(values=(1.0, 2.0)), 3)), "exact sum"),
        (loss_of((-1.0, PAPER, 3)), "contour"),
        (loss_of((-1.0, PAPER, 3), (1.0, Empirical(values=(0.1, 0.4)), 1)), "contour"),
        (loss_of((-1.0, PAPER, 3), (1.0, jump(3), 1)), "contour with cores"),
        (loss_of((1.0, jump(3), 1)), "closed sum"),
        (loss_of((1.0, jump(3), 2), (-1.0, Empirical(values=(1.0, 2.0)), 3)), "closed sum"),
        (loss_of((1.0, jump(3), 3)), "directed grid"),
    ],
)
def test_each_kind_of_loss_goes_to_its_evaluator(loss, evaluator):
    interval = certified_violation(loss, 18.0)
    assert evaluator in interval.how
    assert 0 <= interval.lower <= interval.upper <= 1


def test_a_loss_without_randomness_meets_its_target_up_to_the_atom_tolerance():
    assert certified_violation(loss_of(), 20.0).upper == 0
    assert certified_violation(loss_of(), 20.0 - 0.5e-9).upper == 0
    assert certified_violation(loss_of(), 20.0 - 2e-9).lower == 1


@given(st.floats(2.1, 400), st.integers(1, 60), st.sampled_from([0.5, 0.1, 0.01, 1e-4, 1e-8]))
@settings(max_examples=12, deadline=None)
def test_margin_is_certified_to_ten_digits(shape, epochs, probability):
    margin = certified_margin(
        loss_of((-1.0, InverseGamma(shape=shape, scale=shape - 1), epochs)), Fraction(str(probability))
    )
    assert margin is not None
    assert margin.width / 2 <= 1e-10 * abs(margin.middle)


def mixed_classes(rng: np.random.Generator, terms: list[Term], plans: int) -> LossClasses:
    counts = rng.integers(0, 6, size=(plans, len(terms))).astype(np.int16)
    return LossClasses(terms, counts, np.full(plans, 20.0))


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "terms",
    [
        [
            Term(-1.0, PAPER),
            Term(-0.8, InverseGamma(mean=1.0, variance=0.2)),
            Term(1.0, Empirical(values=(0.1, 0.5))),
        ],
        [Term(-1.0, PAPER), Term(-0.7, Normal(mean=1.0, variance=0.01)), Term(1.0, jump(2.5))],
    ],
)
def test_quick_verdicts_agree_with_one_by_one_and_leave_little_open(terms, step):
    rng = np.random.default_rng(11)
    classes = mixed_classes(rng, terms, 24)
    budget, target = Fraction(1, 20), 15.2
    found = PreparedVerdicts(target, budget).many(classes)
    alone = [certified_verdict(classes.loss(index), target, budget) for index in range(0, len(found), step)]
    assert set(found) >= {-1, 1}  # both answers occur, or the test would say little
    assert all(quick in (0, sure) for quick, sure in zip(found[::step], alone, strict=True))
    assert list(found).count(0) <= 6


def test_classes_in_which_no_increment_decays_are_left_to_exact_sums():
    terms = [Term(-1.0, Empirical(values=(0.7, 1.0, 1.31))), Term(-0.61, Empirical(values=(0.8, 1.27)))]
    classes = mixed_classes(np.random.default_rng(11), [*terms, Term(1.0, jump(3.0))], 24)
    assert not PreparedVerdicts(15.2, Fraction(1, 20)).many(classes).any()


@pytest.mark.parametrize("shape", [1.005, 1.05, 1.5])
def test_an_improvement_that_hardly_has_a_mean_is_certified_within_the_grids_interval(shape):
    loss = loss_of((-1.0, InverseGamma(shape=shape, scale=1.0), 3))
    interval, grid = certified_violation(loss, 17.0), grid_violation(loss, 17.0)
    assert grid.lower <= interval.upper
    assert interval.lower <= grid.upper
    assert interval.width < 1e-6


NARROW = StudentT(degrees_of_freedom=8, location=0.01, scale=0.003, lower=0, upper=0.03)


@pytest.mark.parametrize(
    ("maximum_loss", "violation"), [(20.031, 0), (25.0, 0), (16.9, None), (20.0299, None)]
)
def test_a_target_outside_the_support_is_met_or_missed_for_sure(maximum_loss, violation):
    """Just outside and just inside: rates that grow without end would ask for gigabytes of the narrow law."""
    loss = loss_of((-1.0, PAPER, 3), (1.0, NARROW, 1))
    interval = certified_violation(loss, maximum_loss)
    if violation is None:
        assert 0 <= interval.lower <= interval.upper <= 1
        assert interval.how == "contour"
    else:
        assert interval.exact == interval.lower == interval.upper == violation
        assert interval.how == "support"


@pytest.mark.parametrize("constant", [0.1, 1e3 + 0.1, 1e9 + 0.1, -3e12])
def test_a_quantile_far_from_zero_covers_the_rounding_of_its_mean(constant):
    """Of a normal loss in forty digits, with means that no double holds."""
    for count, budget in ((1, Fraction(1, 3)), (7, Fraction(1, 20)), (10, Fraction(1, 1000))):
        law = Normal(mean=0.1, variance=1e-6)
        found = certified_quantile(loss_of((-0.3, law, count), constant=constant), budget)
        with mpmath.workdps(40):
            mean = mpmath.mpf(constant) - mpmath.mpf(0.3) * mpmath.mpf(0.1) * count
            score = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(budget.numerator) / budget.denominator)
            exact = mean + score * mpmath.sqrt(mpmath.mpf(1e-6) * count) * mpmath.mpf(0.3)
            assert mpmath.mpf(found.lower) <= exact <= mpmath.mpf(found.upper)
        assert found.upper - found.lower <= 1e-14 * abs(constant) + 1e-12


@pytest.mark.parametrize("ends", [(0.0, 1e-9), (0.5, 1.0), (0.0, 1.0)])
def test_where_a_contour_cannot_bracket_the_quantile_the_grid_has_it(ends, monkeypatch):
    """Bounds of the distribution function that show no point above the quantile, none below, or neither."""
    loss = loss_of((-1.0, PAPER, 3))
    exact = certified_quantile(loss, HUNDREDTH)

    def unclear(contour, labels, deviations):
        return tuple(np.full(len(deviations), end) for end in ends)

    monkeypatch.setattr(certify, "distribution", unclear)
    assert certified_margin(loss, HUNDREDTH) is None
    found = certified_quantile(loss, HUNDREDTH)
    assert found.how == "directed grid"
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper


@pytest.mark.parametrize("constant", [-300.0, 0.0, 20.0])
@pytest.mark.parametrize("above", [2.0, -2.0])
def test_the_grid_is_asked_where_cores_are_too_wide_for_the_distance_from_the_mean(
    constant, above, monkeypatch
):
    """Wider than a thousandth of it, wherever the loss is."""
    loss, asked = loss_of((1.0, jump(3), 3), constant=constant), []
    upper = loss.mean() + above
    narrow, wide = (Interval(upper - width, upper, BY_CORES) for width in (1.9e-3, 2.1e-3))

    def asking(*arguments):
        asked.append(arguments)
        return narrow

    monkeypatch.setattr(certify, "grid_quantile", asking)
    for known, calls in ((narrow, 0), (wide, 1)):
        monkeypatch.setattr(certify, "cored_quantile", lambda *arguments, known=known: known)
        assert certified_quantile(loss, HUNDREDTH).width <= narrow.width
        assert len(asked) == calls
