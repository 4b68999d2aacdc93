"""Verdicts of batches and of kept labels are those of the evaluator made for each loss; unusual sums."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

import depl.models.risk.verdicts as module
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.interval import Interval
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import InverseGamma, Lognormal, Normal
from depl.models.risk import contour
from depl.models.risk.certify import certified_margin, certified_quantile, certified_violation
from depl.models.risk.contour import choose_contour, label_table
from depl.models.risk.grid import grid_quantile, grid_violation
from depl.models.risk.verdicts import LossClasses, PreparedVerdicts, Verdict, certified_verdict
from tests import problems
from tests.problems import DICE, JUMP, atoms, loss, student

BELL, HEAVY = Term(-1.0, problems.BELL), Term(-1.0, InverseGamma(shape=2.5, scale=1.5))
WIDE = Term(-0.7, Normal(mean=1.2, variance=1.5))
SKEW = Term(-0.5, Lognormal(mean=2.0, variance=1.0))
ATOMS, CUT, OPEN = Term(-1.0, DICE), Term(1.0, problems.CUT), Term(1.0, JUMP)
KINDS = (BELL, WIDE, HEAVY, SKEW, ATOMS, CUT, OPEN)
BUDGET = Fraction(1, 20)
UNITS = {
    "normal": problems.BELL,
    "inverse gamma": InverseGamma(shape=3.0, scale=2.0),
    "lognormal": problems.SKEW,
    "student t": student(3.0, 0.1, 0.2),
    "cut student t": problems.CUT,
    "atoms": DICE,
}


def random_losses(seed, count, terms):
    """Sums of a few increments whose mean is below 0 by about as much as the target may ask."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        chosen = [item for item in terms if rng.random() < 0.6] or [terms[0]]
        pairs = tuple((item, int(rng.integers(1, 4))) for item in chosen)
        draft = FinalLoss(0.0, pairs)
        spread = math.sqrt(min(draft.variance(), 9.0))
        found.append(FinalLoss(float(-draft.mean() - rng.uniform(0.0, 3.0) * spread), pairs))
    return found


def verdicts(losses, maximum_loss):
    """By the batch, by kept labels, and one by one."""
    quick = PreparedVerdicts(maximum_loss, BUDGET).many(LossClasses.of(losses))
    prepared = PreparedVerdicts(maximum_loss, BUDGET)
    return [
        (Verdict(fast), prepared.verdict(loss), certified_verdict(loss, maximum_loss, BUDGET))
        for fast, loss in zip(quick, losses, strict=True)
    ]


# --- agreement ------------------------------------------------------------------------------------------


GROUPS = (KINDS[:5], KINDS[:6], KINDS[3:6], (BELL, WIDE, OPEN), (ATOMS, CUT))
BUDGETS = (BUDGET, Fraction(1, 1000), Fraction(2, 5))


@pytest.mark.parametrize(
    ("terms", "budget", "count"),
    [
        *((GROUPS[group], BUDGET, 8) for group in (0, 3, 4)),
        *((GROUPS[group], BUDGETS[group], 4) for group in (1, 2)),
    ],
)
def test_kept_labels_and_batches_decide_as_the_evaluator_for_one_loss_does(terms, budget, count):
    maximum_loss = 2.5
    losses = [
        FinalLoss(drawn.constant + maximum_loss, drawn.terms) for drawn in random_losses(1, count, terms)
    ]
    known = [certified_verdict(loss, maximum_loss, budget) for loss in losses]
    prepared = PreparedVerdicts(maximum_loss, budget)
    assert [prepared.verdict(loss) for loss in losses] == known
    quick = PreparedVerdicts(maximum_loss, budget).many(LossClasses.of(losses))
    assert all(fast in (0, sure) for fast, sure in zip(quick, known, strict=True))
    assert Verdict.UNDECIDED not in known
    if budget == BUDGET:
        assert set(known) == {Verdict.MET, Verdict.VIOLATED}


RARE = atoms(0.0, 9.0, weights=(19.0, 1.0))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(loss(1.0 + 5e-10), Verdict.MET, id="certain, within a billionth"),
        pytest.param(loss(1.0 + 2e-9), Verdict.VIOLATED, id="certain, beyond it"),
        pytest.param(loss(0.0, (1.0, RARE)), Verdict.MET, id="with probability 1 - omega exactly"),
        pytest.param(loss(0.0, (1.0, RARE, 2)), Verdict.VIOLATED, id="with more"),
        pytest.param(
            loss(0.0, (1.0, RARE), (1.0, Normal(mean=0.0, variance=1e-8))),
            Verdict.UNDECIDED,
            id="with exactly 1 - omega, smeared: the interval contains the budget",
        ),
    ],
)
def test_what_is_exact_is_compared_exactly(given, expected):
    assert PreparedVerdicts(1.0, BUDGET).verdict(given) is expected


@pytest.mark.parametrize(("heavy", "seeds"), [(False, 4), (True, 1)])
def test_no_plan_is_accepted_that_its_own_certificate_leaves_open(heavy, seeds):
    """With l_max at the quantile of a loss, where one evaluator may say so and another one not."""
    switch = student(3.0, 0.1, 0.1) if heavy else Normal(mean=0.5, variance=0.1)
    for seed in range(seeds):
        rng = np.random.default_rng([seed, heavy])
        budget = Fraction(int(rng.integers(1, 60)), 100)
        values = atoms(*(rng.integers(0, 7, 4) / 2).tolist())
        parts = (-1.0, values), (1.0, switch), (-1.0, Normal(mean=1.0, variance=0.3))
        losses = [loss(constant, *parts) for constant in (9.0, 8.0, 9.5)]
        limit = certified_quantile(losses[0], budget).upper
        for above in (0.0, 1e-15, 1e-12, 1e-6) if seeds > 1 else (0.0, 1e-12):
            maximum = limit + above * abs(limit)
            prepared = PreparedVerdicts(maximum, budget)
            batch = PreparedVerdicts(maximum, budget).many(LossClasses.of([*losses, *losses]))
            for given, quick in zip(losses, batch[: len(losses)], strict=True):
                own = certified_verdict(given, maximum, budget)
                assert prepared.verdict(given) in (own, Verdict.VIOLATED)
                assert own is Verdict.MET or quick != Verdict.MET


# --- work that is kept ------------------------------------------------------------------------------------


def test_losses_of_very_different_spread_need_few_contours_and_labels_and_no_other_evaluator(monkeypatch):
    """A contour made for one spread leaves wide intervals for others: one more is made, and kept."""
    evaluated, chosen, labelled = [], [], []

    def remembered(loss, maximum_loss, budget):
        evaluated.append(loss)
        return certified_verdict(loss, maximum_loss, budget)

    def choosing(*arguments):
        chosen.append(choose_contour(*arguments))
        return chosen[-1]

    def labelling(terms, contour):
        labelled.extend((term, contour) for term in terms)
        return label_table(terms, contour)

    monkeypatch.setattr(module, "certified_verdict", remembered)
    monkeypatch.setattr(module, "choose_contour", choosing)
    monkeypatch.setattr(module, "label_table", labelling)
    prepared = PreparedVerdicts(0.0, BUDGET)
    spread = np.sqrt([term.law.variance * term.coefficient**2 for term in (BELL, WIDE)])
    for narrow, wide in itertools.product((1, 8, 60), (0, 1, 8, 60)):
        deviation = math.hypot(math.sqrt(narrow) * spread[0], math.sqrt(wide) * spread[1])
        mean = narrow * 1.0 + wide * 0.84
        for score, known in ((-1.8, Verdict.MET), (-1.5, Verdict.VIOLATED)):  # z = -1.645
            loss = FinalLoss(mean + score * deviation, ((BELL, narrow), (WIDE, wide)))
            assert prepared.verdict(loss) is known
    assert not evaluated
    assert 1 < len(chosen) <= 6
    assert len(labelled) == len(set(labelled)) <= 2 * len(chosen)


def test_the_violation_by_the_kept_contour_agrees_with_the_evaluator_for_one_loss():
    prepared = PreparedVerdicts(2.5, BUDGET)
    draft = random_losses(3, 1, (BELL, HEAVY))[0]
    loss = FinalLoss(draft.constant + 2.5, draft.terms)
    assert prepared.violation(loss) is None  # nothing was judged yet
    prepared.verdict(loss)
    for moved in (0.0, -0.3, 0.3):
        tried = FinalLoss(loss.constant + moved, loss.terms)
        lower, upper = prepared.violation(tried)
        assert lower <= upper <= lower + 1e-6
        known = certified_violation(tried, 2.5)
        assert lower <= known.upper
        assert known.lower <= upper
        assert (Fraction(upper) <= BUDGET) == (certified_verdict(tried, 2.5, BUDGET) is Verdict.MET)


# --- unusual sums -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [32_768, 1_000_000])
def test_equal_terms_may_be_more_than_sixteen_bits_can_count(count):
    """Of n normals with mean 1 and variance 0.2 the sum is normal."""
    edge = count + math.sqrt(0.2 * count) * float(special.ndtri(0.05))
    offsets = (-2.0, -0.1, 0.1, 2.0, -1.0, 1.0)
    losses = [FinalLoss(edge + offset, ((BELL, count),)) for offset in offsets]
    for offset, found in zip(offsets, verdicts(losses, 0.0), strict=True):
        assert set(found) == {Verdict.MET if offset < 0 else Verdict.VIOLATED}


def test_terms_that_are_listed_twice_count_twice_and_those_without_count_or_weight_change_nothing():
    """For one normal of the two P would be 0.998, for both it is 0.017."""
    once, twice = loss(4.5, (-1.0, BELL.law, 7)), FinalLoss(4.5, ((BELL, 3), (BELL, 4)))
    assert LossClasses.of([twice]).loss(0) == once
    assert all(set(found) == {Verdict.MET} for found in verdicts([twice] * 5, 0.0))
    absent = tuple(pair for law in UNITS.values() for pair in ((Term(-1.0, law), 0), (Term(0.0, law), 2)))
    alone, more = FinalLoss(3.5, ((BELL, 5),)), FinalLoss(3.5, (*absent, (BELL, 5)))
    assert certified_violation(more, 0.0) == certified_violation(alone, 0.0)
    assert certified_quantile(more, BUDGET) == certified_quantile(alone, BUDGET)
    assert certified_margin(more, BUDGET) == certified_margin(alone, BUDGET)
    assert verdicts([more], 0.0) == verdicts([alone], 0.0)
    assert certified_violation(twice, 0.0) == certified_violation(once, 0.0)
    nothing = FinalLoss(3.5, absent)
    assert (certified_violation(nothing, 3.5).exact, certified_violation(nothing, 3.4).exact) == (0, 1)
    assert certified_quantile(nothing, BUDGET).exact == Fraction(7, 2)
    assert verdicts([nothing], 3.5)[0][1:] == (Verdict.MET, Verdict.MET)


def test_a_negative_count_is_refused():
    loss = FinalLoss(3.5, ((BELL, 5), (BELL, -1)))
    for evaluate in (certified_violation, lambda item, _: certified_quantile(item, BUDGET)):
        with pytest.raises(InvalidInputError, match="occurs -1 times"):
            evaluate(loss, 0.0)


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("exponent", [-300, -160, 160, 300])
@pytest.mark.filterwarnings("error")
def test_losses_beyond_double_precision_are_refused_or_exact(name, exponent):
    """Each factor may be within the limits of a file while their products are not."""
    unit = 10.0**exponent
    loss = FinalLoss(5 * unit, ((Term(-unit, UNITS[name]), 3),))
    if name == "atoms":  # sums of atoms are rational, at any size
        assert certified_violation(loss, 6 * unit).exact == 0 or exponent < 0
        return
    for evaluate in (
        lambda: certified_violation(loss, 3 * unit),
        lambda: certified_quantile(loss, BUDGET),
        lambda: PreparedVerdicts(3 * unit, BUDGET).verdict(loss),
        lambda: certified_verdict(loss, 3 * unit, BUDGET),
    ):
        with pytest.raises(InvalidInputError, match="rescale"):
            evaluate()


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("exponent", [-219, 219])
def test_the_unit_of_the_loss_does_not_matter(name, exponent):
    """Powers of two of about 1e-66 and 1e66: the same digits; atoms have an absolute tolerance of 1e-9."""

    def answers(unit):
        one = loss(5 * unit, (-unit, UNITS[name], 3), (-unit, BELL.law, 2))
        two = loss(0.0, (unit, UNITS[name], 2))
        yield certified_violation(one, 1.5 * unit)
        yield grid_violation(one, 1.5 * unit, 2**10)
        for found in (
            grid_quantile(one, 0.95, 2**10),
            certified_quantile(two if "student" in name else one, BUDGET),
        ):
            yield Interval(found.lower / unit, found.upper / unit, found.how)

    for known, found in zip(answers(1.0), answers(2.0**exponent), strict=True):
        assert found.how == known.how
        assert found.lower <= known.upper
        assert known.lower <= found.upper
        assert found.width <= 1.3 * known.width + 1e-14


def test_losses_with_an_increment_that_has_no_transform_are_left_to_others():
    """A lognormal that raises the loss has no exponential moment; without it the batch decides."""
    rise = Term(1.0, UNITS["lognormal"])
    for times in (1, 2):
        losses = [FinalLoss(constant, ((BELL, 7), (rise, n))) for constant in (1.0, 9.0) for n in (0, times)]
        found = PreparedVerdicts(0.0, BUDGET).many(LossClasses.of(losses * 5)).reshape(5, 2, 2)
        assert np.all(found[:, 0, 0] == Verdict.MET)
        assert np.all(found[:, 1, 0] == Verdict.VIOLATED)
        assert np.all(found[:, :, 1] == Verdict.UNDECIDED)


def test_very_many_switches_share_what_their_cores_leave_out():
    """Of 500 the loss is clear by ten spreads; what lies outside of all cores is a share of the budget."""
    few = [
        loss(constant, (-1.0, BELL.law, 900), (1.0, student(4.0, 0.0, 0.01), 500))
        for constant in (700.0, 1100.0)
    ]
    found = PreparedVerdicts(0.0, BUDGET).many(LossClasses.of(few * 3))
    assert found.tolist() == [Verdict.MET, Verdict.VIOLATED] * 3


def test_a_batch_leaves_losses_whose_labels_are_much_work_to_others(monkeypatch):
    for place in (module, contour):
        monkeypatch.setattr(place, "work_of", lambda _, terms: 1e9 * (ATOMS in terms))
    cheap, costly = loss(6.0, (-1.0, BELL.law, 9)), FinalLoss(3.5, ((BELL, 9), (ATOMS, 1)))
    found = PreparedVerdicts(0.0, BUDGET).many(LossClasses.of([cheap, costly] * 6))
    assert found.tolist() == [Verdict.MET, Verdict.UNDECIDED] * 6
    monkeypatch.setattr(module, "work_of", lambda *_: 1e9)  # those that the contour was chosen for had less
    assert not PreparedVerdicts(0.0, BUDGET).many(LossClasses.of([cheap] * 12)).any()
