"""The verifier under a traced law: closed forms, the predictions of recorded traces, and what it refuses."""

import math
from fractions import Fraction

import numpy as np
import pytest

from depl.models.evaluation.traced_loss import end_law
from depl.models.evaluation.traced_support import outside_support
from depl.models.problem.traced_law import ObservedRun, RecordedRun, Stage, TracedLaw
from depl.models.verifier.laws import Bracket, decimal
from depl.models.verifier.losses import LossFacts, Number
from depl.models.verifier.traces import traced_loss
from tests.cases.verifier_traces_cases import (
    CUT,
    FIRST_STEPS,
    FULL,
    UNSEEN,
    Schedule,
    changed,
    exponential,
    jump,
    paired,
    recorded_law,
    run,
    schedule,
    step,
    switched,
)


def exceeding(loss: LossFacts, bound: float) -> Bracket:
    assert loss.outside is None
    return loss.exceeding(decimal(bound) - loss.certain, Fraction(1, 10))


def exactly(loss: LossFacts, bound: float) -> Fraction:
    found = exceeding(loss, bound)
    assert found.lower == found.upper
    return Fraction(found.lower)


# ---- one stage: l(1) = 2 + l(0) / 2 + e, l(2) = 1 + l(1) / 2 + e ----


def test_the_residuals_of_a_run_stay_together_or_are_drawn_afresh():
    """l(2) = 3 + e_1 / 2 + e_2 with both of one sign, or of any."""
    law, plan = paired(6), schedule((FULL, 2))
    together, apart = traced_loss(law, plan), traced_loss(changed(law, residuals="independent"), plan)
    for bound, quarters in ((1.4, 4), (1.6, 2), (4.4, 2), (4.6, 0)):
        assert exactly(together, bound) == Fraction(quarters, 4)
    for bound, quarters in ((1.4, 4), (1.6, 3), (2.6, 2), (3.6, 1), (4.6, 0)):
        assert exactly(apart, bound) == Fraction(quarters, 4)


def test_an_unseen_run_counts_as_one_whole_run_or_as_one_donor():
    few, many = paired(18), paired(19)  # nine worse, nine or ten better
    plan = schedule((FULL, 2))
    for law in (few, many):
        plain = traced_loss(law, plan)
        unseen = traced_loss(changed(law, unseen_loss=9.0), plan)
        offset = traced_loss(changed(law, deviations=(0.0, 7.0)), plan)
        count, whole = len(law.runs), len(law.runs) == 19
        assert exactly(plain, 3) == Fraction(9, count)
        assert exactly(unseen, 3) == Fraction(10, count + 1)
        assert exactly(unseen, 8) == Fraction(1, count + 1)
        assert exactly(offset, 5) == (0 if whole else Fraction(1, 2))  # 1.5 + 7 or 4.5 + 7


@pytest.mark.parametrize("lost", [1, 4])
def test_every_run_that_diverged_counts_as_one_more_whole_run_or_donor(lost):
    few, many, plan = paired(18), paired(19), schedule((FULL, 2))
    for law in (few, many):  # nine worse than 3
        found = traced_loss(changed(law, unseen_loss=9.0, diverged=lost), plan)
        count = len(law.runs)
        assert exactly(found, 3) == Fraction(9 + lost + 1, count + lost + 1)
        assert exactly(found, 8) == Fraction(lost + 1, count + lost + 1)
    found = traced_loss(changed(switched(), unseen_loss=9.0, diverged=lost), UNSEEN)
    assert exactly(found, 8.9) == 1 - Fraction(6 * 12, (7 + lost) * (13 + lost))


def test_deviations_are_drawn_beside_independent_residuals_however_many_runs_there_are():
    for count in (18, 19):
        law = changed(paired(count), residuals="independent", deviations=(0.0, 9.0))
        assert exactly(traced_loss(law, schedule((FULL, 2))), 6) == Fraction(1, 2)


@pytest.mark.parametrize("deviations", [(), (-2.0, 1.0), (0.5,)])
def test_an_unseen_donor_of_any_stage_misses_every_target(deviations):
    """Of 7 times 13 combinations all but 6 times 12 have one; deviations against the target do not help."""
    law = changed(switched(), unseen_loss=9.0, deviations=deviations)
    found = traced_loss(law, UNSEEN)
    for target in (8.9, 9.0, 1e6):
        assert exactly(found, target) == 1 - Fraction(6 * 12, 7 * 13)


def test_above_a_loss_count_as_many_whole_runs_as_after_the_worst_of_the_settled_epochs():
    """l(1) = 3 or 5, then l(2) = 4.5 or 1.5: after both half are above 3; l(0) = 4 does not count."""
    runs = tuple(run([(FULL, 3)], losses) for losses in ((4, 3, 4.5, 1), (4, 5, 1.5, 1))) * 10
    for epochs in (2, 3, 50):
        steps = (*FIRST_STEPS, step(3, 0, 0.5))
        law = TracedLaw(runs=runs, steps=steps, settled_epochs=epochs)
        for plan, halves in ((2, (2, 1, 1, 0)), (1, (2, 1, 1, 0))):
            found = traced_loss(law, schedule((FULL, plan)))
            for bound, half in zip((2.9, 3.1, 4.9, 5), halves, strict=True):
                assert exactly(found, bound) == Fraction(half, 2)
        # after epoch 3 all runs end, and none of them is above 1
        assert exactly(traced_loss(law, schedule((FULL, 3))), 1) == 0


RISING = tuple(run([(FULL, 2)], (4, 4, 1 + index)) for index in range(20))


@pytest.mark.parametrize(
    ("fields", "bound", "above", "runs"),
    [
        *(
            ({"confidence": c}, bound, above, 20)
            for c in (0.5, 0.9, 0.99)
            for bound, above in ((3, 10), (5, 0))
        ),
        ({"confidence": 0.9, "diverged": 3}, 3, 13, 23),
        ({"confidence": 0.9, "diverged": 3}, 5, 3, 23),
        ({"confidence": 0.9, "runs": RISING, "unseen_loss": 2.0}, 19.5, 1, 20),
    ],
)
def test_with_a_confidence_as_many_runs_count_as_may_miss(fields, bound, above, runs):
    """P(Bin(n, p) <= x) is what the confidence leaves, but for 3e-6 of p, where x of n runs miss or diverged.

    The last law has the loss 2 for the run unlike all, which misses the target all the same.
    """
    law = changed(paired(20), **{"unseen_loss": 9.0, **fields})
    share = exactly(traced_loss(law, schedule((FULL, 2))), bound)
    low, high = (
        sum(math.comb(runs, x) * p**x * (1 - p) ** (runs - x) for x in range(above + 1))
        for p in (share, share - Fraction(3, 10**6))
    )
    assert low <= 1 - Fraction(repr(fields["confidence"])) <= high


def test_without_a_margin_that_was_asked_for_only_whole_runs_are_promised():
    for fields in ({"care": 0.95}, {"confidence": 0.9, "unseen_loss": 9.0, "deviations": (0.0,)}):
        assert traced_loss(changed(paired(19), **fields), schedule((FULL, 2))).outside is None
        number, reason = outside(changed(paired(18), **fields), schedule((FULL, 2)))
        assert (number, reason[:37]) == (2, "18 runs went through the whole plan, ")
    assert traced_loss(changed(paired(18), care=0.95, deviations=(0.0,)), schedule((FULL, 2))).outside is None


def test_the_runs_of_a_longer_plan_lend_their_losses_on_the_way():
    law = paired(20)
    assert exactly(traced_loss(law, schedule((FULL, 1))), 4) == Fraction(1, 2)
    assert len(traced_loss(law, schedule((FULL, 1))).increments) == 1


def test_a_retention_of_zero_forgets_all_that_was_drawn_before():
    """A retention of 0 leaves the last epoch alone; the increments before it vanish."""
    law = changed(paired(6), steps=(step(1, 2, 0.5), step(2, 3, 0)), residuals="independent")
    found = traced_loss(law, schedule((FULL, 2)))
    for bound, halves in ((1.4, 2), (1.6, 1), (4.4, 1), (4.6, 0)):
        assert exactly(found, bound) == Fraction(halves, 2)


# ---- two stages ----


def test_an_unseen_plan_combines_the_donors_of_its_stages():
    """l(4) = 0.7 + d / 4 + f / 2; six runs lend d, twelve f, which is 0.5, -0.5 thrice each and else 0."""
    found = traced_loss(switched(), UNSEEN)
    assert float(found.certain) == pytest.approx(0.7 - 4 * 2**-4)  # l(0) = 4 is lent, and halved four times
    assert [len(item.law.values) for item in found.increments] == [6, 12]
    assert exactly(found, 0.7) == Fraction(1, 2)
    assert exactly(found, 0.75) == Fraction(1, 3)  # d = 0.2 is a tie
    assert exactly(found, 0.92) == Fraction(3, 12) * Fraction(4, 6)
    assert exactly(found, 0.374) == 1


def test_independent_residuals_of_an_unseen_plan_come_from_the_pools_of_its_rows():
    """Six residuals d of the second epoch, twelve f of the switch; those of other epochs are 0."""
    found = traced_loss(changed(switched(), residuals="independent"), UNSEEN)
    sizes = [len(item.law.values) for item in found.increments]
    assert sizes == [12, 12, 6, 12, 12]  # l(0), then epoch by epoch
    assert [float(item.coefficient) for item in found.increments] == [0.0625, 0.125, 0.25, 0.5, 1]
    assert exactly(found, 0.75) == Fraction(1, 3)


def test_pooled_ages_lend_residuals_to_the_row_that_names_them():
    """The row of age 2 with ages 2 to 3: six d, and six that are 0 with the same coefficients."""
    rows = [changed(row, ages=(2, 3)) if row.first and row.age == 2 else row for row in switched().steps]
    law = changed(switched(), steps=tuple(rows), residuals="independent")
    found = traced_loss(law, UNSEEN)
    values = sorted(np.round(found.increments[2].law.values, 12))
    assert values == [-0.3, -0.2, -0.1, *(6 * [0]), 0.1, 0.2, 0.3]


def test_a_pooled_jump_takes_those_of_all_predecessors():
    other = ("thin", "edge")
    third = run([(other, 1), (CUT, 1)], (4, 3, 2.3))  # 0.3 + 1.5 + 0.5
    law = changed(switched(), runs=(*switched().runs, third), residuals="independent")
    law = changed(law, steps=(*law.steps, step(1, 1, 0.5, other, first=True)))
    alone = traced_loss(law, UNSEEN)
    pooled = traced_loss(changed(law, jumps=(changed(law.jumps[0], pooled=True),)), UNSEEN)
    assert len(alone.increments[3].law.values) == 12
    assert sorted(np.round(pooled.increments[3].law.values, 12)) == 3 * [-0.5] + 6 * [0] + 4 * [0.5]


def test_a_row_for_one_predecessor_comes_before_that_for_all_at_every_age():
    """After thin, age 2 has coefficients of its own, and no row at age 3; after full those for all."""
    thin = ("thin", "edge")
    own = {"previous_model": "thin", "previous_cluster": "edge"}
    runs = [
        run([(before, 1), (CUT, 3)], (4, 3, 2, last, 0.5))
        for before, last in (*((FULL, 1.1),) * 8, *((thin, 1.5),) * 8)
    ]
    law = TracedLaw(
        runs=tuple(runs),
        steps=(
            step(1, 1, 0.5),
            changed(step(1, 1, 0.5), model="thin"),
            step(2, 0, 0.5, CUT),
            step(2, 0.5, 0.5, CUT, **own),
            step(3, 0, 0.5, CUT),
        ),
        jumps=(jump(0.5, 0.5), jump(0.5, 0.5, previous_model="thin")),
        residuals="independent",
    )
    shared = traced_loss(law, schedule((FULL, 1), (CUT, 2))).increments[-1].law.values
    assert sorted(np.round(shared, 12)) == [*(8 * [0.1]), *(8 * [0.5])]  # also what came after thin
    alone = traced_loss(law, schedule((thin, 1), (CUT, 2))).increments[-1].law.values
    assert np.round(alone, 12).tolist() == 8 * [0]
    assert outside(law, schedule((thin, 1), (CUT, 3)))[0] == 4
    assert traced_loss(law, schedule((FULL, 1), (CUT, 2))).outside is None


def donors_of_second_stage(counts: dict[int, int], others: int = 0) -> int:
    """How many runs lend residuals to a second stage that began after 2 epochs, of so many per start."""
    starts = [start for start, count in counts.items() for _ in range(count)]
    runs = [run([(FULL, start), (CUT, 1)], (4,) * (start + 2)) for start in starts]
    runs += [run([(("thin", "edge"), 2), (CUT, 1)], (4,) * 4) for _ in range(others)]
    law = TracedLaw(
        runs=tuple(runs),
        steps=tuple(step(age, 2, 0.5) for age in range(1, max(counts) + 1)),
        jumps=(jump(2, 0.5), *([jump(2, 0.5, previous_model="thin")] if others else [])),
        residuals="per_run",
    )
    return len(traced_loss(law, schedule((FULL, 2), (CUT, 1))).increments[-1].law.values)


def test_no_schedule_lends_more_runs_than_the_median_or_than_it_takes_for_twenty():
    assert donors_of_second_stage({1: 60, 3: 15}) == 38 + 15  # the median is 37.5
    assert donors_of_second_stage({1: 50, 3: 6}) == 28 + 6
    assert donors_of_second_stage({1: 50, 3: 6, 4: 6}) == 7 + 6 + 6  # a third of twenty, rounded up


def test_the_right_predecessor_is_preferred_if_that_leaves_enough():
    assert donors_of_second_stage({1: 10, 3: 10}, others=10) == 20
    assert donors_of_second_stage({1: 10, 3: 9}, others=10) == 10 + 9 + 10


# ---- laws of the logarithm ----


def test_a_law_of_the_logarithm_says_of_ln_l_what_another_says_of_l():
    """Runs whose losses are exponentials, and the same rows: sums of the same parts, but for rounding."""
    long, short = schedule((FULL, 2)), schedule((FULL, 1))
    cases = [(switched(), UNSEEN), (paired(6), long), (changed(paired(20), unseen_loss=9.0), short)]
    cases += [(changed(law, residuals="independent", deviations=(-0.1, 0.4)), plan) for law, plan in cases]
    for law, plan in cases:
        plain, logged = traced_loss(law, plan), traced_loss(exponential(law), plan)
        assert float(logged.certain) == pytest.approx(float(plain.certain), abs=1e-12)
        for one, other in zip(plain.increments, logged.increments, strict=True):
            assert other.coefficient == one.coefficient
            assert other.law.values == pytest.approx(one.law.values, abs=1e-12)
        assert (logged.support, logged.numbers, logged.alike) == (plain.support, plain.numbers, plain.alike)


# ---- a run under way ----


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


def outside(law: TracedLaw, plan: Schedule) -> tuple[int, str]:
    found = traced_loss(law, plan)
    assert found.outside is not None
    assert found.increments == ()
    return found.outside


def test_a_missing_row_is_named_with_its_epoch():
    assert outside(switched(), schedule((CUT, 1))) == (1, "the law has no row for 'cut' on 'far' at age 1")
    number, reason = outside(switched(), schedule((FULL, 2), (CUT, 1), (FULL, 1)))
    assert (number, reason) == (4, "the law has no row for 'full' on 'edge' after 'cut' at age 1")
    assert outside(switched(), schedule((FULL, 5)))[0] == 5


def test_a_stage_may_not_leave_the_convex_hull_of_starts_and_lengths():
    """Twenty runs end with (3, 2) and twenty with (1, 6): from 2 on, 4 epochs are in the hull."""

    def flat(start: int, length: int) -> RecordedRun:
        return run([(FULL, start), (CUT, length)], (4,) * (start + length + 1))

    law = TracedLaw(
        runs=(*(flat(3, 2) for _ in range(20)), *(flat(1, 6) for _ in range(20))),
        steps=(
            *(step(age, 2, 0.5) for age in (1, 2, 3)),
            *(step(age, 2, 0.5, CUT) for age in (2, 3, 4, 5, 6)),
        ),
        jumps=(jump(2, 0.5),),
    )
    assert traced_loss(law, schedule((FULL, 2), (CUT, 4))).outside is None
    number, reason = outside(law, schedule((FULL, 2), (CUT, 5)))
    assert (number, reason) == (7, "no run trained 'cut' on 'far' beyond age 4 from a switch epoch like 2")
    early = changed(law, runs=law.runs[:20], steps=law.steps[:4])
    assert outside(early, schedule((FULL, 2), (CUT, 2))) == (
        3,
        "no run began 'cut' on 'far' at a switch epoch like 2",
    )


def test_the_hull_is_that_of_a_predecessor_with_rows_of_its_own():
    """From 2 on, cut went on for 1 epoch after full, for 3 after thin; from 1 on, for 3 after full."""
    thin = ("thin", "edge")
    parts = [[(FULL, 1), (CUT, 3)], [(FULL, 2), (CUT, 1)], [(thin, 2), (CUT, 3)]]
    own = {"previous_model": "full", "previous_cluster": "edge"}
    shared = TracedLaw(
        runs=tuple(run(item, (4,) * (sum(length for _, length in item) + 1)) for item in parts * 10),
        steps=(
            *(changed(step(age, 2, 0.5), model=model) for age in (1, 2) for model in ("full", "thin")),
            *(step(age, 2, 0.5, CUT) for age in (2, 3)),
        ),
        jumps=(jump(2, 0.5), jump(2, 0.5, previous_model="thin")),
    )
    alone = changed(shared, steps=(*shared.steps, *(step(age, 2, 0.5, CUT, **own) for age in (2, 3))))
    plan = schedule((FULL, 2), (CUT, 2))
    assert traced_loss(shared, plan).outside is None
    number, reason = outside(alone, plan)
    assert (number, reason) == (4, "no run trained 'cut' on 'far' beyond age 1 from a switch epoch like 2")
    for law in (shared, alone):
        assert traced_loss(law, schedule((thin, 1), (CUT, 3))).outside is None
        assert traced_loss(law, schedule((FULL, 1), (CUT, 3))).outside is None


def test_fewer_than_six_donors_are_too_few():
    assert outside(paired(5), schedule((FULL, 2)))[1] == (
        "5 runs can lend 'full' on 'edge' its residuals, at least 6 must"
    )


def test_a_mean_loss_that_no_run_had_is_outside():
    """The runs that switch after one epoch have 3 before it, those after four 1.5; now 10 after two."""
    assert outside(raised(switched(), 2.0), UNSEEN) == (3, "a mean loss of 3.5 where 1.425 to 3 were seen")
    far = "a mean loss of 10 after it, where 0.60625 to 4 were ever seen"
    assert outside(raised(switched(), 8.5), UNSEEN) == (2, far)
    told = "a mean logarithm of the loss of 3.5 where 1.425 to 3 were seen"
    assert outside(raised(exponential(switched()), 2.0), UNSEEN) == (3, told)


def raised(law: TracedLaw, intercept: float) -> TracedLaw:
    """The law with another row of the second epoch."""
    rows = [changed(row, intercept=intercept) if row.first and row.age == 2 else row for row in law.steps]
    return changed(law, steps=tuple(rows))


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
        assert (traced_loss(law, schedule((FULL, 2))).outside is None) == inside


def test_runs_that_all_begin_with_one_loss_are_not_outside_by_rounding():
    """The mean of nine times 0.1 is not 0.1 in floating point, nor that of ten; after it 0.1 is expected."""
    for count in range(6, 40):
        runs = tuple(run([(FULL, 1)], (0.1, 0.1 * index)) for index in range(count))
        assert traced_loss(TracedLaw(runs=runs, steps=(step(1, 0.05, 0.5),)), (FULL,)).outside is None


# ---- against the predictions, on recorded traces ----


@pytest.fixture(scope="module", params=["loss", "log"])
def recorded(request) -> TracedLaw:
    return recorded_law(request.param)


def drawn_schedules(law: TracedLaw, count: int) -> list[Schedule]:
    """Schedules of the runs, and others of one to three stages, mostly with switches that were run."""
    rng = np.random.default_rng(0)
    models = sorted({part.model for item in law.runs for part in item.stages})
    found = [schedule(*(((part.model, part.cluster), part.epochs) for part in law.runs[0].stages))]
    while len(found) < count:
        one, two, three = rng.choice(models, 3)
        parts = [((one, "edge"), int(rng.integers(1, 30))), ((two, "far-edge"), int(rng.integers(1, 40)))]
        parts += [((three, "far-edge"), 3)] if rng.random() < 0.1 else []
        found.append(schedule(*parts[: 1 if rng.random() < 0.1 else 3]))
    return found


@pytest.mark.parametrize("more", [{}, {"unseen_loss": 2.0, "deviations": (-0.02, 0.0, 0.01)}])
@pytest.mark.parametrize("count", [5, pytest.param(40, marks=pytest.mark.slow)])
def test_recorded_runs_give_the_predicted_probabilities(recorded, more, count):
    law = changed(recorded, **more)
    defined = 0
    for plan in drawn_schedules(law, count):
        found = traced_loss(law, plan)
        assert (found.outside is not None) == bool(outside_support(law.law, plan))
        if found.outside is None:
            defined += 1
            predicted = end_law(law, plan)
            spread = predicted.scaled.variance() ** 0.5
            for bound in predicted.scaled.mean() + spread * np.linspace(-2, 3, 11):
                share = exactly(found, float(bound))
                certified = predicted.exceedance(float(bound))
                assert certified.lower <= share <= certified.upper
                assert certified.upper - certified.lower < 1e-12
    assert defined > 0.375 * count


def test_recorded_runs_give_the_predicted_means_and_variances_of_independent_residuals(recorded):
    law = changed(recorded, residuals="independent", deviations=(-0.02, 0.0, 0.02))
    defined = 0
    for plan in drawn_schedules(law, 12):
        found = traced_loss(law, plan)
        if found.outside is None:
            defined += 1
            predicted = end_law(law, plan).scaled
            values = [float(item.coefficient) * np.array(item.law.values) for item in found.increments]
            assert float(found.certain) + sum(map(np.mean, values)) == pytest.approx(predicted.mean())
            assert sum(map(np.var, values)) == pytest.approx(predicted.variance())
    assert defined > 4
