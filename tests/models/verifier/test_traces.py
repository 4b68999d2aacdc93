"""The verifier under a traced law: closed forms, what lends, what is outside, and recorded runs.

Random laws of all readings, for the solvers and the verifier at once, are in
`tests.models.evaluation.test_traced_loss`.
"""

import math
from fractions import Fraction

import pytest

from depl.models.problem.traced_law import ObservedRun, RecordedRun, Stage, TracedLaw
from depl.models.verifier.laws import decimal
from depl.models.verifier.losses import LossFacts, Number
from depl.models.verifier.traces import traced_loss
from tests.cases.verifier_traces_cases import (
    CUT,
    FULL,
    UNSEEN,
    Schedule,
    changed,
    exponential,
    jump,
    paired,
    run,
    schedule,
    step,
    switched,
)

THIN = ("thin", "edge")
TWICE = schedule((FULL, 2))


def exactly(loss: LossFacts, bound: float) -> Fraction:
    assert loss.outside is None
    found = loss.exceeding(decimal(bound) - loss.certain, Fraction(1, 10))
    assert found.lower == found.upper
    return Fraction(found.lower)


def outside(law: TracedLaw, plan: Schedule) -> tuple[int, str]:
    found = traced_loss(law, plan)
    assert found.outside is not None
    assert found.increments == ()
    return found.outside


# ---- one stage: l(1) = 2 + l(0) / 2 + e, l(2) = 1 + l(1) / 2 + e ----


def test_the_residuals_of_a_run_stay_together_or_are_drawn_afresh():
    """l(2) = 3 + e_1 / 2 + e_2 with both of one sign, or of any; with a retention of 0 l(2) = 3 + e_2."""
    apart = changed(paired(6), residuals="independent")
    for law, found in (
        (paired(6), ((1.4, 4), (1.6, 2), (4.4, 2), (4.6, 0))),
        (apart, ((1.4, 4), (1.6, 3), (2.6, 2), (3.6, 1), (4.6, 0))),
        (changed(apart, steps=(step(1, 2, 0.5), step(2, 3, 0))), ((1.4, 4), (1.6, 2), (4.4, 2), (4.6, 0))),
    ):
        for bound, quarters in found:
            assert exactly(traced_loss(law, TWICE), bound) == Fraction(quarters, 4)


@pytest.mark.parametrize("lost", [0, 4])
def test_a_run_unlike_all_and_every_one_that_diverged_count_as_whole_runs_or_as_donors(lost):
    for count in (18, 19):  # nine worse than 3; nine or ten better
        law = changed(paired(count), unseen_loss=9.0, diverged=lost)
        assert exactly(traced_loss(law, TWICE), 3) == Fraction(9 + lost + 1, count + lost + 1)
        assert exactly(traced_loss(law, TWICE), 8) == Fraction(lost + 1, count + lost + 1)
        offset = traced_loss(changed(paired(count), deviations=(0.0, 7.0)), TWICE)
        assert exactly(offset, 5) == (0 if count == 19 else Fraction(1, 2))  # 1.5 + 7 or 4.5 + 7
    for deviations in ((), (-2.0, 1.0)):  # which do not help where a donor misses every target
        law = changed(switched(), unseen_loss=9.0, diverged=lost, deviations=deviations)
        for target in (8.9, 9.0, 1e6):
            wanted = 1 - Fraction(6 * 12, (7 + lost) * (13 + lost))
            assert exactly(traced_loss(law, UNSEEN), target) == wanted


RISING = tuple(run([(FULL, 2)], (4, 4, 1 + index)) for index in range(20))


@pytest.mark.parametrize(
    ("fields", "bound", "above", "runs"),
    [
        ({"confidence": 0.5}, 3, 10, 20),
        ({"confidence": 0.99}, 5, 0, 20),
        ({"confidence": 0.9, "diverged": 3}, 3, 13, 23),
        ({"confidence": 0.9, "runs": RISING, "unseen_loss": 2.0}, 19.5, 1, 20),
    ],
)
def test_with_a_confidence_as_many_runs_count_as_may_miss(fields, bound, above, runs):
    """P(Bin(n, p) <= x) is what the confidence leaves, but for 3e-6 of p, where x of n runs miss or diverged.

    The last law has the loss 2 for the run unlike all, which misses the target all the same.
    """
    law = changed(paired(20), **{"unseen_loss": 9.0, **fields})
    share = exactly(traced_loss(law, TWICE), bound)
    low, high = (
        sum(math.comb(runs, x) * p**x * (1 - p) ** (runs - x) for x in range(above + 1))
        for p in (share, share - Fraction(3, 10**6))
    )
    assert low <= 1 - Fraction(repr(fields["confidence"])) <= high


def test_without_a_margin_that_was_asked_for_only_whole_runs_are_promised():
    for fields in ({"care": 0.95}, {"confidence": 0.9, "unseen_loss": 9.0, "deviations": (0.0,)}):
        assert traced_loss(changed(paired(19), **fields), TWICE).outside is None
        number, reason = outside(changed(paired(18), **fields), TWICE)
        assert (number, reason[:37]) == (2, "18 runs went through the whole plan, ")
    assert traced_loss(changed(paired(18), care=0.95, deviations=(0.0,)), TWICE).outside is None


# ---- two stages ----


def test_an_unseen_plan_combines_the_donors_of_its_stages_or_of_its_rows():
    """l(4) = 0.7 + d / 4 + f / 2; six runs lend d, twelve f, which is 0.5, -0.5 thrice each and else 0."""
    found = traced_loss(switched(), UNSEEN)
    assert float(found.certain) == pytest.approx(0.7 - 4 * 2**-4)  # l(0) = 4 is lent, and halved four times
    assert [len(item.law.values) for item in found.increments] == [6, 12]
    for bound, share in ((0.7, (1, 2)), (0.75, (1, 3)), (0.92, (12, 72)), (0.374, (1, 1))):
        assert exactly(found, bound) == Fraction(*share)  # of which d = 0.2 is a tie
    found = traced_loss(changed(switched(), residuals="independent"), UNSEEN)
    assert [len(item.law.values) for item in found.increments] == [12, 12, 6, 12, 12]  # l(0), then by epochs
    assert [float(item.coefficient) for item in found.increments] == [0.0625, 0.125, 0.25, 0.5, 1]
    assert exactly(found, 0.75) == Fraction(1, 3)


def donors_of_second_stage(counts: dict[int, int], others: int = 0) -> int:
    """How many runs lend residuals to a second stage that began after 2 epochs, of so many per start."""
    starts = [start for start, count in counts.items() for _ in range(count)]
    runs = [run([(FULL, start), (CUT, 1)], (4,) * (start + 2)) for start in starts]
    runs += [run([(THIN, 2), (CUT, 1)], (4,) * 4) for _ in range(others)]
    law = TracedLaw(
        runs=tuple(runs),
        steps=tuple(step(age, 2, 0.5) for age in range(1, max(counts) + 1)),
        jumps=(jump(2, 0.5), *([jump(2, 0.5, previous_model="thin")] if others else [])),
        residuals="per_run",
    )
    return len(traced_loss(law, schedule((FULL, 2), (CUT, 1))).increments[-1].law.values)


def test_no_schedule_lends_more_than_the_median_or_than_twenty_take_and_the_right_predecessor_is_preferred():
    assert donors_of_second_stage({1: 60, 3: 15}) == 38 + 15  # the median is 37.5
    assert donors_of_second_stage({1: 50, 3: 6}) == 28 + 6
    assert donors_of_second_stage({1: 50, 3: 6, 4: 6}) == 7 + 6 + 6  # a third of twenty, rounded up
    assert donors_of_second_stage({1: 10, 3: 10}, others=10) == 20
    assert donors_of_second_stage({1: 10, 3: 9}, others=10) == 10 + 9 + 10


@pytest.mark.parametrize(
    ("epochs", "loss", "numbers"),
    [(1, 3.0, (Number(1, ("full",)), Number(2, ("cut",)))), (2, 2.0, (Number(1, ("cut",)),))],
)
def test_a_run_under_way_counts_its_numbers_from_the_first_epoch_to_come(epochs, loss, numbers):
    """After one epoch of the first stage its second is epoch 1 of the scenarios, and the switch epoch 2.

    Without residuals l = 3 goes on to 2, at the switch to 0.3 + 0.1 + 2 / 2, and to half of that.
    """
    begun = ObservedRun(stages=(Stage(model="full", cluster="edge", epochs=epochs),), loss=loss)
    found = traced_loss(changed(switched(), observed=begun), UNSEEN[epochs:])
    assert found.numbers == numbers
    assert float(found.certain) == pytest.approx(0.7)


# ---- outside the support ----


def test_what_lies_outside_is_named_with_its_epoch():
    """Runs that switch after one epoch have 3 before it, those after four 1.5; now 10 after two epochs."""
    back = schedule((FULL, 2), (CUT, 1), (FULL, 1))
    told = "a mean logarithm of the loss of 3.5 where 1.425 to 3 were seen"
    far = "a mean loss of 10 after it, where 0.60625 to 4 were ever seen"
    for law, plan, number, reason in (
        (switched(), schedule((CUT, 1)), 1, "the law has no row for 'cut' on 'far' at age 1"),
        (switched(), back, 4, "the law has no row for 'full' on 'edge' after 'cut' at age 1"),
        (switched(), schedule((FULL, 5)), 5, "the law has no row for 'full' on 'edge' at age 5"),
        (paired(5), TWICE, 2, "5 runs can lend 'full' on 'edge' its residuals, at least 6 must"),
        (raised(switched(), 2.0), UNSEEN, 3, "a mean loss of 3.5 where 1.425 to 3 were seen"),
        (raised(switched(), 8.5), UNSEEN, 2, far),
        (raised(exponential(switched()), 2.0), UNSEEN, 3, told),
    ):
        assert outside(law, plan) == (number, reason)


def raised(law: TracedLaw, intercept: float) -> TracedLaw:
    """The law with another row of the second epoch."""
    rows = [changed(row, intercept=intercept) if row.first and row.age == 2 else row for row in law.steps]
    return changed(law, steps=tuple(rows))


def flat(*parts: tuple[tuple[str, str], int]) -> RecordedRun:
    return run(parts, (4,) * (sum(length for _, length in parts) + 1))


def test_a_stage_may_not_leave_the_convex_hull_of_starts_and_lengths():
    """Twenty runs end with (3, 2) and twenty with (1, 6): from 2 on, 4 epochs are in the hull."""
    first, later = (step(age, 2, 0.5) for age in (1, 2, 3)), (step(age, 2, 0.5, CUT) for age in range(2, 7))
    law = TracedLaw(
        runs=(flat((FULL, 3), (CUT, 2)),) * 20 + (flat((FULL, 1), (CUT, 6)),) * 20,
        steps=(*first, *later),
        jumps=(jump(2, 0.5),),
    )
    assert traced_loss(law, schedule((FULL, 2), (CUT, 4))).outside is None
    words = "no run trained 'cut' on 'far' beyond age 4 from a switch epoch like 2"
    assert outside(law, schedule((FULL, 2), (CUT, 5))) == (7, words)
    early = changed(law, runs=law.runs[:20], steps=law.steps[:4])
    words = "no run began 'cut' on 'far' at a switch epoch like 2"
    assert outside(early, schedule((FULL, 2), (CUT, 2))) == (3, words)


@pytest.mark.parametrize(
    ("start", "losses", "end", "small", "large"),
    [
        (4, (4, 4), 4, 4 * 5e-10, 4 * 2e-9),
        (4, (4, 4), 4, -4 * 5e-10, -4 * 2e-9),
        (2000, (1, 1000), 1, -5e-7, -2e-6),
        (2000, (1, 1000), 1000, 5e-7, 2e-6),
    ],
)
def test_a_mean_is_outside_only_beyond_a_billionth_of_the_greatest_loss_of_its_row(
    start, losses, end, small, large
):
    """Runs have one of two losses after one epoch; the row says one of them, but for a little."""
    runs = tuple(run([(FULL, 2)], (start, loss, 1)) for loss in losses * 3)
    for away, inside in ((small, True), (large, False)):
        law = TracedLaw(runs=runs, steps=(step(1, end + away, 0), step(2, 1, 0)))
        assert (traced_loss(law, TWICE).outside is None) == inside


# ---- recorded traces ----
