"""Calibrated labels: exact at the loss they were calibrated on, and closed forms of normal losses."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from depl.heuristics.bounds.learning import Learning
from depl.heuristics.depl.labels import Judge, Reference
from depl.heuristics.paths.additive_labels import best_rate
from depl.instances.generator import random_instances
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.risk.transforms import transformable

STANDARD = Normal(mean=0, variance=1)


def sums(instance: Instance, rng: np.random.Generator, count: int) -> list[FinalLoss]:
    """Final losses of a few sequences on random data factors."""
    learning = Learning.of(instance)
    found = []
    while len(found) < count:
        length = int(rng.integers(1, instance.target.maximum_epochs + 1))
        models = rng.integers(len(instance.models), size=length).tolist()
        rows = [len(instance.models), *models[:-1]]
        if all(learning.allowed[p, m] for p, m in zip(rows, models, strict=True)):
            found.append(learning.loss(models, rng.choice([1.0, 0.7], size=length).tolist()))
    return found


@pytest.fixture(scope="module")
def drawn() -> tuple[Instance, ...]:
    return random_instances(np.random.default_rng([6, 6]), 40, maximum_epochs=(4, 12))


def test_the_label_is_the_quantile_of_its_reference_at_its_own_spread(drawn: tuple[Instance, ...]) -> None:
    rng = np.random.default_rng(0)
    for instance in drawn[::8]:
        judge = Judge(instance)
        for loss in sums(instance, rng, 2):
            reference = judge.reference(loss)
            label = judge.label(reference, reference.deviation)
            assert label.quantile(loss) == pytest.approx(reference.quantile, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_a_reference_knows_mean_and_spread_and_nearly_the_quantile(
    drawn: tuple[Instance, ...], step: int
) -> None:
    """Within a tenth of the margin of the certified quantile for most sums of continuous laws."""
    rng = np.random.default_rng(1)
    errors = []
    for instance in drawn[::step]:
        judge = Judge(instance)
        for loss in sums(instance, rng, 1):
            reference = judge.reference(loss)
            assert reference.mean == pytest.approx(loss.mean(), rel=1e-12, abs=1e-12)
            assert reference.quantile == pytest.approx(reference.mean + reference.margin)
            if math.isfinite(loss.variance()):
                assert reference.deviation == pytest.approx(math.sqrt(loss.variance()), rel=1e-9)
            if not loss.terms:
                assert (reference.deviation, reference.rate) == (0.0, None)
                continue
            assert 0 < reference.share <= 1
            exact = certified_quantile(loss, judge.budget).upper
            errors.append(abs(reference.quantile - exact) / max(exact - reference.mean, 1e-9))
    assert len(errors) > 30 / step
    assert np.quantile(errors, 0.75) < 0.02
    assert np.quantile(errors, 0.9) < 0.15


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("deviation", [0.3, 5.0])
def test_a_normal_loss_has_closed_forms(bell: Instance, level: float, deviation: float) -> None:
    """With R = sqrt(2 ln 1/p): Chernoff's best rate is R / sigma, its bound R sigma, the quantile z sigma."""
    judge = Judge(bell.replace(quantile_level=level))
    loss = FinalLoss(7.0, ((Term(deviation / 2, STANDARD), 4),))
    reference = judge.reference(loss)
    root, score = math.sqrt(2 * math.log(1 / (1 - level))), float(special.ndtri(level))
    assert reference.deviation == pytest.approx(deviation)
    assert reference.margin == pytest.approx(score * deviation, rel=1e-2)
    assert reference.rate == pytest.approx(root / deviation, rel=0.2)  # one of a grid
    assert reference.share == pytest.approx(score / root, rel=0.02)


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_the_rate_is_close_to_that_of_chernoffs_bound(drawn: tuple[Instance, ...], step: int) -> None:
    rng = np.random.default_rng(2)
    compared = 0
    for instance in drawn[::step]:
        judge = Judge(instance)
        for loss in sums(instance, rng, 1):
            if loss.terms and all(transformable(Term(-1.0, term.law)) for term, _ in loss.terms):
                best, rate = best_rate(loss, judge.budget), judge.reference(loss).rate
                assert best is not None
                assert rate is not None
                atoms = any(isinstance(term.law, Empirical) for term, _ in loss.terms)
                assert atoms or rate == pytest.approx(best, rel=0.15)
                compared += not atoms
    assert compared > 15 / step


def test_a_label_for_another_spread_scales_the_rate(bell: Instance) -> None:
    """For normal laws: mean + rho (s V / 2 + ln(1 / p) / s) with s in inverse proportion to the spread."""
    judge = Judge(bell)
    loss = FinalLoss(0.0, ((Term(1.0, STANDARD), 1),))
    reference = judge.reference(loss)
    assert reference.rate is not None
    for deviation in (0.5, 1.0, 3.0):
        label = judge.label(reference, deviation)
        s = reference.rate / deviation
        for variance in (0.25, 4.0):
            other = FinalLoss(2.0, ((Term(math.sqrt(variance), STANDARD), 1),))
            wanted = 2 + reference.share * (s * variance / 2 + math.log(10) / s)
            assert label.quantile(other) == pytest.approx(wanted, rel=1e-9)
        assert not label.safe


def test_a_loss_without_randomness_is_its_own_quantile(steady: Instance) -> None:
    judge = Judge(steady)
    reference = judge.reference(FinalLoss(5.0, ()))
    assert reference == Reference(5.0, 0.0, 5.0, None, reference.share)
    assert judge.label(reference, 0.0).quantile(FinalLoss(5.5, ())) == 5.5
    assert judge.met(FinalLoss(6.0, ()))
    assert not judge.met(FinalLoss(6.1, ()))


def test_before_anything_was_seen_the_guess_is_the_normal_quantile(bell: Instance) -> None:
    judge = Judge(bell)
    guess = judge.guess(2.0)
    assert guess.margin == pytest.approx(2 * float(special.ndtri(0.9)))
    assert guess.quantile == 6.0
    label = judge.label(guess, 2.0)
    loss = FinalLoss(1.0, ((Term(2.0, STANDARD), 1),))
    chernoff = 2 * math.sqrt(2 * math.log(10))
    assert label.quantile(loss) == pytest.approx(1 + guess.share * chernoff)


def test_what_was_refused_closely_is_remembered_with_its_certified_quantile(bell: Instance) -> None:
    """A quantile that the approximation has below l_max although the certificate has it above."""
    loss = FinalLoss(0.0, ((Term(2.0, STANDARD), 1),))
    exact = 2 * float(special.ndtri(0.9))
    rough = Judge(bell).reference(loss).quantile
    near = Judge(bell.replace(maximum_loss=max(rough, exact))).refused(loss)
    assert near.quantile == pytest.approx(exact, rel=1e-6)
    assert near.share == pytest.approx(Judge(bell).reference(loss).share * exact / rough, rel=1e-6)
    judge = Judge(bell.replace(maximum_loss=max(rough, exact)))
    assert judge.label(near, near.deviation).quantile(loss) == pytest.approx(near.quantile)
    far = Judge(bell.replace(maximum_loss=rough - 1))
    assert far.refused(loss) == far.reference(loss)


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_what_is_met_is_certified(drawn: tuple[Instance, ...], step: int) -> None:
    rng = np.random.default_rng(3)
    met = 0
    for instance in drawn[:8:step]:
        for loss in sums(instance, rng, 1):
            quantile = certified_quantile(loss, instance.target.violation_budget)
            for shift in (-1e-3, 1e-3):
                level = quantile.upper + shift if shift > 0 else quantile.lower + shift
                judge = Judge(instance.replace(maximum_loss=level))
                violation = certified_violation(loss, level)
                assert not judge.met(loss) or violation.upper <= float(judge.budget) * (1 + 1e-12)
                met += judge.met(loss)
                assert judge.met(loss) == (shift > 0)
    assert met == 8 / step


def test_atoms_are_judged_exactly_when_they_are_few(bell: Instance) -> None:
    """Ten fair coins: P(sum > 7) = 56 / 1024 and P(sum > 6) = 176 / 1024, so the 0.9 quantile is 7."""
    coin = Empirical(values=(0, 1))
    reference = Judge(bell).reference(FinalLoss(0.0, ((Term(1.0, coin), 10),)))
    assert reference.quantile == pytest.approx(7, abs=1e-6)


@pytest.mark.parametrize(
    "law",
    [
        StudentT(degrees_of_freedom=2.5, location=0, scale=1),
        StudentT(degrees_of_freedom=1.5, location=0, scale=1),
    ],
)
def test_laws_without_exponential_moments_get_a_label_without_their_far_tails(
    bell: Instance, law: StudentT
) -> None:
    judge = Judge(bell)
    loss = FinalLoss(5.0, ((Term(1.0, law), 1), (Term(-1.0, Normal(mean=2, variance=1)), 3)))
    reference = judge.reference(loss)
    exact = certified_quantile(loss, Fraction(1, 10))
    assert math.isfinite(reference.quantile)
    assert reference.margin == pytest.approx(exact.upper - reference.mean, rel=0.25)
    label = judge.label(reference, reference.deviation)
    assert label.quantile(loss) == pytest.approx(reference.quantile, rel=1e-9)


@pytest.mark.parametrize("law", [InverseGamma(shape=1.5, scale=1), Lognormal(log_mean=0, log_variance=4)])
def test_improvements_with_far_tails_are_harmless(bell: Instance, law: InverseGamma | Lognormal) -> None:
    loss = FinalLoss(5.0, ((Term(-1.0, law), 6),))
    reference = Judge(bell).reference(loss)
    exact = certified_quantile(loss, Fraction(1, 10))
    assert reference.quantile <= 5
    assert abs(reference.quantile - exact.upper) <= abs(exact.upper - reference.mean)


def test_references_are_alike_if_they_make_nearly_the_same_label() -> None:
    seen = Reference(mean=1.0, deviation=0.5, quantile=1.8, rate=4.0, share=0.7)
    assert not seen.unlike(Reference(mean=9.0, deviation=0.25, quantile=9.8, rate=8.0, share=0.7))
    assert seen.unlike(Reference(mean=1.0, deviation=0.5, quantile=1.8, rate=5.0, share=0.7))
    assert seen.unlike(Reference(mean=1.0, deviation=0.5, quantile=1.8, rate=4.0, share=0.9))
    assert seen.unlike(Reference(mean=1.0, deviation=0.5, quantile=1.8, rate=None, share=0.7))
    nothing = Reference(mean=1.0, deviation=0.0, quantile=1.0, rate=None, share=0.7)
    assert not nothing.unlike(nothing)


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_the_tail_of_a_judged_loss_is_not_below_its_certified_violation(
    drawn: tuple[Instance, ...], step: int
) -> None:
    seen = 0
    for instance in drawn[:20:step]:
        judge = Judge(instance)
        for loss in sums(instance, np.random.default_rng(8), 2):
            judge.met(loss)
            tail = judge.tail(loss)
            if math.isfinite(tail):
                known = certified_violation(loss, instance.target.maximum_loss)
                assert known.lower - 1e-9 <= tail
                whole = all(
                    transformable(Term(-1.0, term.law)) for term, _ in loss.terms
                )  # no tails were cut off
                if whole and known.upper < 0.3:  # contours are made for tails near the target
                    assert tail <= known.upper * 1.01 + 1e-6
                seen += 1
    assert seen > 10 / step
