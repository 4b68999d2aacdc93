"""Verdicts with kept labels are those of the evaluator made for each loss, one after another."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

import depl.models.risk.verdicts as module
from depl.models.foundation.interval import Interval
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.risk.contour import choose_contour
from depl.models.risk.verdicts import LossClasses, PreparedVerdicts, Verdict, certified_verdict

BELL = Term(-1.0, Normal(mean=1.0, variance=0.2))
WIDE = Term(-0.7, Normal(mean=1.2, variance=1.5))
HEAVY = Term(-1.0, InverseGamma(shape=2.5, scale=1.5))
SKEW = Term(-0.5, Lognormal(mean=2.0, variance=1.0))
ATOMS = Term(-1.0, Empirical(values=(0.0, 1.0, 3.0), weights=(1.0, 2.0, 1.0)))
CUT = Term(1.0, StudentT(degrees_of_freedom=2.0, location=0.1, scale=0.2, lower=-1.0, upper=2.0))
OPEN = Term(1.0, StudentT(degrees_of_freedom=3.0, location=0.1, scale=0.05))
KINDS = (BELL, WIDE, HEAVY, SKEW, ATOMS, CUT, OPEN)
BUDGET = Fraction(1, 20)


def random_losses(seed: int, count: int, terms: tuple[Term, ...]) -> list[FinalLoss]:
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


@pytest.mark.parametrize("share", [2, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("budget", [BUDGET, Fraction(1, 1000), Fraction(2, 5)])
@pytest.mark.parametrize("terms", [KINDS[:5], KINDS[:6], KINDS[3:6], (BELL, WIDE, OPEN), (ATOMS, CUT)])
def test_kept_labels_decide_as_the_evaluator_for_one_loss_does(terms, budget, share):
    """By default fewer losses are asked about, above all where budgets are unusual."""
    few = (6 if OPEN in terms else 12) * 2 // (3 if budget == BUDGET else 6) if share > 1 else 12
    maximum_loss, seen = 2.5, set()
    prepared = PreparedVerdicts(maximum_loss, budget)
    for drawn in random_losses(1, few, terms):
        loss = FinalLoss(drawn.constant + maximum_loss, drawn.terms)
        known = certified_verdict(loss, maximum_loss, budget)
        assert prepared.verdict(loss) is known
        seen.add(known)
    assert Verdict.UNDECIDED not in seen
    if budget == BUDGET:
        assert seen == {Verdict.MET, Verdict.VIOLATED}


@pytest.mark.parametrize("distance", [1e-3, 1e-6, 1e-9, 1e-12])
def test_losses_on_both_sides_of_the_budget_are_told_apart_or_left_undecided(distance):
    """l(K) = c - G, G normal with mean 3 and variance 0.6, and a contour chosen for something else."""
    prepared = PreparedVerdicts(0.0, BUDGET)
    prepared.verdict(FinalLoss(1.0, ((HEAVY, 2), (SKEW, 1))))
    edge = 3.0 + math.sqrt(0.6) * float(special.ndtri(0.05))
    for constant, wrong in ((edge - distance, Verdict.VIOLATED), (edge + distance, Verdict.MET)):
        found = prepared.verdict(FinalLoss(constant, ((BELL, 3),)))
        assert found is not wrong
        if distance >= 1e-6:
            assert found is not Verdict.UNDECIDED


@pytest.mark.parametrize("share", [0.9995, 1.0004])
def test_an_untruncated_switch_is_weighed_with_its_tails(share):
    """Its core alone keeps the budget, or breaks it, by less than what is beyond the core."""
    law = StudentT(degrees_of_freedom=1.5, location=0.0, scale=0.05)
    peak = float(stats.t.pdf(0.0, 1.5, 0.0, 0.05))

    def violation(constant: float) -> float:
        """P(constant - G + T > 0), G normal with mean 3 and variance 0.6."""

        def integrand(t: float) -> float:
            density = peak * (1 + (t / 0.05) ** 2 / 1.5) ** -1.25
            return density * 0.5 * math.erfc((3.0 - constant - t) / math.sqrt(1.2))

        edges = (-math.inf, -50.0, -2.0, -0.2, 0.0, 0.2, 2.0, 50.0, math.inf)
        return math.fsum(integrate.quad(integrand, *pair)[0] for pair in itertools.pairwise(edges))

    budget = Fraction(1, 50)
    constant = optimize.brentq(lambda c: violation(c) - share / 50, 0.5, 2.5, xtol=1e-12)
    found = PreparedVerdicts(0.0, budget).verdict(FinalLoss(constant, ((BELL, 3), (Term(1.0, law), 1))))
    assert found is (Verdict.MET if share < 1 else Verdict.VIOLATED)


def test_a_loss_without_anything_random_is_compared_exactly():
    prepared = PreparedVerdicts(1.0, BUDGET)
    assert prepared.verdict(FinalLoss(1.0 + 5e-10, ())) is Verdict.MET
    assert prepared.verdict(FinalLoss(1.0 + 2e-9, ())) is Verdict.VIOLATED


def test_atoms_that_meet_the_budget_exactly_are_met():
    coin = Term(1.0, Empirical(values=(0.0, 9.0), weights=(19.0, 1.0)))
    assert PreparedVerdicts(1.0, BUDGET).verdict(FinalLoss(0.0, ((coin, 1),))) is Verdict.MET
    assert PreparedVerdicts(1.0, BUDGET).verdict(FinalLoss(0.0, ((coin, 2),))) is Verdict.VIOLATED


def test_what_nothing_decides_stays_undecided(monkeypatch):
    """An atom of exactly 1 - omega that a normal law only smears: the interval contains the budget."""
    coin = Term(1.0, Empirical(values=(0.0, 900.0), weights=(19.0, 1.0)))
    loss = FinalLoss(0.0, ((coin, 1), (Term(1.0, Normal(mean=0.0, variance=1e-4)), 1)))
    assert PreparedVerdicts(1.0, BUDGET).verdict(loss) is Verdict.UNDECIDED
    wide = Interval(0.0, 1.0, "nobody")
    monkeypatch.setattr("depl.models.risk.verdicts.certified_violation", lambda *_: wide)
    prepared = PreparedVerdicts(1.0, BUDGET)
    monkeypatch.setattr(PreparedVerdicts, "_quick", lambda *_: Verdict.UNDECIDED)
    assert prepared.verdict(FinalLoss(0.0, ((BELL, 3),))) is Verdict.UNDECIDED


def test_the_order_in_which_losses_come_does_not_matter():
    losses = random_losses(5, 12, KINDS[:6])
    forward, backward = PreparedVerdicts(0.0, BUDGET), PreparedVerdicts(0.0, BUDGET)
    one = [forward.verdict(loss) for loss in losses]
    two = [backward.verdict(loss) for loss in reversed(losses)]
    assert one == two[::-1]
    assert [forward.verdict(loss) for loss in losses] == one


def test_labels_are_made_once_for_every_increment(monkeypatch):
    made: list[Term] = []
    usual = module.label_table

    def counted(terms, contour):
        made.extend(terms)
        return usual(terms, contour)

    monkeypatch.setattr(module, "label_table", counted)
    prepared = PreparedVerdicts(0.0, BUDGET)
    for loss in random_losses(6, 15, KINDS[:6]):
        prepared.verdict(loss)
    assert len(made) == len(set(made)) <= 6


def test_losses_of_very_different_spread_need_few_contours_and_no_other_evaluator(monkeypatch):
    """A contour made for one spread leaves wide intervals for others: one more is made, and kept."""
    evaluated, chosen = [], []

    def remembered(loss, maximum_loss, budget):
        evaluated.append(loss)
        return certified_verdict(loss, maximum_loss, budget)

    def choosing(*arguments):
        chosen.append(choose_contour(*arguments))
        return chosen[-1]

    monkeypatch.setattr(module, "certified_verdict", remembered)
    monkeypatch.setattr(module, "choose_contour", choosing)
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


def test_the_violation_by_the_kept_contour_agrees_with_the_evaluator_for_one_loss():
    prepared = PreparedVerdicts(2.5, BUDGET)
    draft = random_losses(3, 1, (BELL, HEAVY))[0]
    loss = FinalLoss(draft.constant + 2.5, draft.terms)
    assert prepared.violation(loss) is None  # nothing was judged yet
    prepared.verdict(loss)
    for moved in (0.0, -0.3, 0.3):
        tried = FinalLoss(loss.constant + moved, loss.terms)
        bounds, exact = prepared.violation(tried), module.certified_verdict(tried, 2.5, BUDGET)
        assert bounds is not None
        lower, upper = bounds
        assert lower <= upper <= lower + 1e-6
        known = certified_violation(tried, 2.5)
        assert lower <= known.upper
        assert known.lower <= upper
        assert (Fraction(upper) <= BUDGET) == (exact is Verdict.MET)


@pytest.mark.parametrize(
    ("heavy", "seeds"),
    [
        (False, 5),
        (True, 1),
        pytest.param(False, 25, marks=pytest.mark.slow),
        pytest.param(True, 10, marks=pytest.mark.slow),
    ],
)
def test_no_plan_is_accepted_that_its_own_certificate_leaves_open(heavy: bool, seeds: int) -> None:
    """With l_max at the quantile of a loss, where one evaluator may say so and another one not."""
    switch = (
        StudentT(degrees_of_freedom=3.0, location=0.1, scale=0.1) if heavy else Normal(mean=0.5, variance=0.1)
    )
    for seed in range(seeds):
        rng = np.random.default_rng([seed, heavy])
        budget = Fraction(int(rng.integers(1, 60)), 100)
        values = tuple(float(value) for value in rng.integers(0, 7, 4) / 2)
        bell = Normal(mean=1.0, variance=0.3)
        parts = [(Term(-1.0, Empirical(values=values)), 1), (Term(1.0, switch), 1), (Term(-1.0, bell), 1)]
        losses = [FinalLoss(constant, tuple(parts)) for constant in (9.0, 8.0, 9.5)]
        limit = certified_quantile(losses[0], budget).upper
        for above in (0.0, 1e-15, 1e-12, 1e-6) if seeds > 1 else (0.0, 1e-12):
            maximum = limit + above * abs(limit)
            prepared = PreparedVerdicts(maximum, budget)
            batch = PreparedVerdicts(maximum, budget).many(LossClasses.of([*losses, *losses]))
            for loss, quick in zip(losses, batch[: len(losses)], strict=True):
                own = certified_verdict(loss, maximum, budget)
                assert prepared.verdict(loss) in (own, Verdict.VIOLATED)
                assert own is Verdict.MET or quick != Verdict.MET
