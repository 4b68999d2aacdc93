"""What a traced law says of a schedule: against every combination of runs, followed epoch by epoch."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import depl
from depl.benchmarks.figures.trajectory import trajectory
from depl.models.evaluation.evaluate import evaluate, final_loss, plan_steps
from depl.models.evaluation.loss_law import loss_law
from depl.models.evaluation.traced_law import lent
from depl.models.evaluation.traced_loss import (
    EndLaw,
    end_law,
    require_supported,
    traced_steps,
    whole,
)
from depl.models.evaluation.traced_support import outside_support
from depl.models.evaluation.traced_survival import traced_survival
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.affine_law import Position
from depl.models.problem.epochs import FinalLoss, Term, compose
from depl.models.problem.laws import Empirical
from depl.models.problem.plan import Plan
from depl.models.problem.traced_law import FittedJump, FittedStep, TracedLaw
from depl.models.solving.early_stopping import early_stopping
from tests.cases.memory_cases import CUT, FAR, FULL, every_schedule, fitted, instance_of, random_law, run_of
from tests.cases.traced_law_cases import cases, halves, plan_of
from tests.oracles.traced_law import Oracle, Schedule, Section, sections


@pytest.fixture(scope="module", params=[14, pytest.param(96, marks=pytest.mark.slow)])
def laws(request: pytest.FixtureRequest) -> list[tuple[TracedLaw, Oracle, list[Schedule]]]:
    return cases(request.param)


# --- the final loss ---------------------------------------------------------------------------------------


def test_the_cases_are_of_all_kinds(laws: list[tuple[TracedLaw, Oracle, list[Schedule]]]) -> None:
    schedules = [(oracle, schedule) for _, oracle, found in laws for schedule in found]
    assert len(schedules) > 4 * len(laws)
    assert sum(bool(oracle.whole(schedule)) for oracle, schedule in schedules) >= len(laws) / 2
    assert sum(len(set(schedule)) > 1 for _, schedule in schedules) >= 30
    assert sum(len(schedule) == 4 for _, schedule in schedules) >= 10


def test_the_final_loss_is_that_of_all_combinations(
    laws: list[tuple[TracedLaw, Oracle, list[Schedule]]],
) -> None:
    for document, oracle, schedules in laws:
        for schedule in schedules[::2]:
            assert whole(document, schedule) == bool(oracle.whole(schedule))
            found = end_law(document, schedule)
            values, weights = oracle.law(schedule)
            seen = np.isfinite(values)
            assert found.beyond == 1 - Fraction(int(weights[seen].sum()), int(weights.sum()))
            if found.beyond:
                assert (found.mean(), found.variance()) == (math.inf, math.inf)
            likely = dataclasses.replace(found, beyond=Fraction(0))
            for law, atoms in ((found.scaled, values[seen]), (likely, oracle.observed(values[seen]))):
                mean = np.average(atoms, weights=weights[seen])
                assert law.mean() == pytest.approx(mean, abs=1e-10)
                spread = np.average((atoms - mean) ** 2, weights=weights[seen])
                assert law.variance() == pytest.approx(spread, abs=1e-10)
            for maximum in oracle.observed(np.quantile(values[seen], [0.02, 0.5, 0.9, 1.0])):
                wanted = oracle.violation(schedule, float(maximum))
                assert found.violation(float(maximum)).exact == wanted
                assert found.exceedance(found.limit(float(maximum))).exact == wanted


def test_quantiles_are_those_of_all_combinations(
    laws: list[tuple[TracedLaw, Oracle, list[Schedule]]],
) -> None:
    for document, oracle, schedules in laws:
        for schedule in schedules:
            values, weights = oracle.law(schedule)
            order = np.argsort(values)
            reached = np.cumsum(weights[order])
            for budget in (Fraction(1, 20), Fraction(3, 10)):
                enough = reached >= float((1 - budget) * Fraction(int(weights.sum()))) - 1e-6
                wanted = oracle.observed(values[order][np.argmax(enough)])
                found = end_law(document, schedule).quantile(budget)
                assert found.lower - 1e-9 <= wanted <= found.upper + 1e-9
                assert found.lower == found.upper == math.inf or found.width < 1e-9


@pytest.mark.parametrize("least", [7, 19])
def test_one_run_too_few_is_combined_and_one_more_is_not(least: int) -> None:
    fields = {} if least == 19 else {"whole_runs": least}
    for count, alone in ((least - 1, False), (least, True)):
        law = halves(count, deviations=(10.0,), **fields)
        assert whole(law, (FULL, FAR)) == alone
        assert (end_law(law, (FULL, FAR)).scaled.mean() < 3) == alone


def test_deviations_are_added_where_no_run_went_through_the_whole_schedule() -> None:
    for residuals in ("per_run", "independent"):
        bare, moved = (halves(8, residuals=residuals, deviations=them) for them in ((), (1.0, 3.0)))
        schedule = (FULL, FAR)
        one, other = end_law(bare, schedule).scaled, end_law(moved, schedule).scaled
        assert other.mean() == pytest.approx(one.mean() + 2)
        assert other.variance() == pytest.approx(one.variance() + 1)


def test_a_stage_long_past_leaves_less_than_a_document_can_say() -> None:
    """After sixty epochs of retention 0.01 the first stage counts 1e-120 of itself, which is nothing."""
    swing = np.tile([1.0, 2.0], 30)
    heads, tails = ([2.5, 1.0], [3.5, 2.0])
    runs = [
        run_of(
            [(FULL, 1), (FAR, 60)], [*(heads if index % 2 else tails), *(swing if index % 2 else 3 - swing)]
        )
        for index in range(8)
    ]
    steps = [FittedStep(model="full", cluster="edge", first=True, age=1, intercept=0.0, retention=0.5)]
    steps += [
        FittedStep(model="cut", cluster="far", age=age, intercept=1.485, retention=0.01)
        for age in range(2, 61)
    ]
    names = {"previous_model": "full", "previous_cluster": "edge", "model": "cut", "cluster": "far"}
    law = TracedLaw(runs=runs, steps=steps, jumps=[FittedJump(**names, intercept=1.485, retention=0.01)])
    oracle, schedule = Oracle(law), (FULL, *(FAR,) * 60)
    assert oracle.supported(schedule)
    values = oracle.per_run(schedule)
    for maximum in (0.9, 1.5, 2.1):
        wanted = Fraction(int((values > maximum).sum()), values.size)
        assert end_law(law, schedule).exceedance(maximum).exact == wanted


# --- who lends --------------------------------------------------------------------------------------------


def after_one_or_the_other(same: int, other: int, **fields: object) -> TracedLaw:
    """So many runs full-far, and others cut-far, of random losses that fall."""
    rng = np.random.default_rng(same + 100 * other)
    designs = [[(FULL, 1), (FAR, 2)]] * same + [[(CUT, 1), (FAR, 3)]] * other
    runs = [
        run_of(
            stages, 2 * np.exp(-0.4 * np.arange(2 + stages[1][1])) * rng.uniform(0.9, 1.1, 2 + stages[1][1])
        )
        for stages in designs
    ]
    return fitted(runs, rng, **fields)


@pytest.mark.parametrize(
    ("same", "other", "donors"), [(20, 9, 20), (19, 9, 14 + 9), (18, 9, 14 + 9), (25, 30, 25)]
)
def test_twenty_runs_after_the_same_predecessor_lend_alone(same: int, other: int, donors: int) -> None:
    """Of 18 and 9 the median is 13.5, rounded up, and of 19 and 9 it is 14; whole runs are ruled out here."""
    law = after_one_or_the_other(same, other, whole_runs=1_000)
    place = Position(FAR, FULL, 2, 1)
    lending = lent(law.law, place)
    assert len(lending.donors) == donors
    oracle = Oracle(law)
    (_, part) = sections((FULL, FAR, FAR))
    assert [law.law.records[run].losses.tolist() for run, _ in oracle.donors(part)] == [
        run.losses.tolist() for run in lending.donors
    ]
    assert lending.residuals == pytest.approx(oracle.lending(part), abs=1e-12)


@pytest.mark.parametrize("runs", [5, 6])
def test_six_donors_are_enough_and_five_are_not(runs: int) -> None:
    law = halves(runs)
    assert Oracle(law).supported((FULL, FAR)) == (runs == 6)
    assert (outside_support(law.law, (FULL, FAR)) == ()) == (runs == 6)
    if runs == 5:
        assert "fewer than 6 runs were" in outside_support(law.law, (FULL,))[0]


def test_a_run_with_two_such_stages_lends_the_first() -> None:
    rng = np.random.default_rng(8)
    runs = [
        run_of([(FULL, 1), (FAR, 2), (CUT, 1), (FAR, 1)], np.round(rng.uniform(1, 2, 6), 3)) for _ in range(6)
    ] + [
        run_of([(FULL, 1), (FAR, 1), (CUT, 1), (FAR, 2)], np.round(rng.uniform(1, 2, 6), 3)) for _ in range(6)
    ]
    law = fitted(runs, rng)
    for place in (Position(FAR, FULL, 1, 1), Position(FAR, CUT, 1, 3), Position(FAR, CUT, 2, 3)):
        lending = lent(law.law, place)
        wanted = Oracle(law).lending(Section(FAR, place.previous, place.start, place.age))
        assert len(lending.donors) == 12
        assert lending.residuals == pytest.approx(wanted, abs=1e-12)


# --- steps ------------------------------------------------------------------------------------------------


def test_steps_compose_to_the_law_of_independent_residuals() -> None:
    for seed in range(6):
        document = random_law(np.random.default_rng(seed), residuals="independent")
        oracle = Oracle(document)
        for schedule in every_schedule(instance_of(document)):
            if oracle.supported(schedule):
                whole = end_law(document, schedule).scaled
                found = compose(123.0, traced_steps(document, schedule))  # the first epoch draws its own l(0)
                assert found.mean() == pytest.approx(whole.mean(), abs=1e-12)
                assert found.variance() == pytest.approx(whole.variance(), abs=1e-12)
                assert len(plan_steps(instance_of(document), plan_of(schedule))) == len(schedule)


def test_logarithms_have_no_steps_of_the_loss() -> None:
    document = random_law(np.random.default_rng(1), residuals="independent", scale="log")
    schedule = next(
        item for item in every_schedule(instance_of(document)) if Oracle(document).supported(item)
    )
    with pytest.raises(NotCoveredError, match="are those of the logarithm"):
        traced_steps(document, schedule)
    with pytest.raises(NotCoveredError, match="it is the exponential of one"):
        final_loss(instance_of(document), plan_of(schedule))


def test_no_loss_of_a_law_of_logarithms_is_zero_or_less() -> None:
    law = EndLaw(FinalLoss(0.0, ((Term(1.0, Empirical(values=(-50.0, 0.0))), 1),)), "log")
    assert [law.violation(maximum).exact for maximum in (-1.0, 0.0, 1e-30, 0.5, 1.0)] == [
        1,
        1,
        1,
        Fraction(1, 2),
        0,
    ]
    assert law.limit(0.0) == -math.inf
    assert law.mean() == pytest.approx(0.5)
    assert law.variance() == pytest.approx(0.25)
    assert law.quantile(Fraction(1, 10)).lower <= 1 <= law.quantile(Fraction(1, 10)).upper


def test_runs_kept_together_have_no_steps() -> None:
    with pytest.raises(NotCoveredError, match="have no law of their own"):
        traced_steps(halves(), (FULL, FAR))
    with pytest.raises(NotCoveredError, match="have no law of their own"):
        plan_steps(instance_of(halves()), plan_of((FULL, FAR)))


@pytest.mark.parametrize("residuals", ["per_run", "independent"])
def test_outside_the_support_everything_refuses_with_the_place(residuals: str) -> None:
    law = halves(residuals=residuals)
    for schedule in ((FAR,), (FULL, FULL), (FULL, FAR, FAR), (FULL, FAR, FULL)):
        for ask in (
            lambda plan: require_supported(law, plan),
            lambda plan: end_law(law, plan),
            lambda plan: traced_steps(law, plan),
            lambda plan: traced_survival(law, plan, 1.0),
            lambda plan: evaluate(instance_of(law), plan_of(plan)),
            lambda plan: trajectory(instance_of(law), plan_of(plan)),
            lambda plan: early_stopping(instance_of(law), plan_of(plan)),
        ):
            with pytest.raises(InvalidInputError, match="outside the support of the traces: ") as caught:
                ask(schedule)
            assert caught.value.path == "$.epochs"


# --- plans ------------------------------------------------------------------------------------------------


def test_a_plan_that_does_not_train_ends_with_the_losses_that_runs_began_with() -> None:
    """Eight runs begin at 4, and that is the law, whatever the target says of l(0)."""
    instance = instance_of(halves())
    assert final_loss(instance, Plan()).mean() == 4
    assert plan_steps(instance, Plan()) == []
    assert evaluate(instance, Plan()).violation.exact == 1
    assert early_stopping(instance, Plan()).reached.exact == 0
    assert trajectory(instance, Plan()).mean == (4,)


@pytest.mark.parametrize("lost", [0, 3])
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_before_training_one_run_unlike_all_seen_counts_as_a_miss(
    confidence: float | None, lost: int
) -> None:
    """Two of twenty runs begin above 5, one more and those that diverged are counted; or a binomial law."""
    share = Fraction(3 + lost, 21 + lost) if confidence is None else None
    runs = [run_of([(FULL, 1)], (6.0 if k < 2 else 4.0, 1.0 + k / 100)) for k in range(20)]
    step = FittedStep(model=FULL[0], cluster=FULL[1], age=1, intercept=1.0, retention=0.0, first=True)
    law = TracedLaw(runs=tuple(runs), steps=(step,), unseen_loss=7.0, confidence=confidence, diverged=lost)
    instance = instance_of(law, maximum_loss=5.0)
    found = evaluate(instance, Plan()).violation
    if share is None:
        # P(at most 2 of 20) = 0.1 at the upper end of the one-sided interval
        assert stats.binom.cdf(2 + lost, 20 + lost, found.upper) == pytest.approx(0.1, abs=1e-4)
        assert stats.binom.cdf(2 + lost, 20 + lost, found.upper) <= 0.1
    else:
        assert found.exact == share
    report = depl.check(instance, Plan())
    assert (report.violation.lower, report.violation.upper) == pytest.approx(
        (found.lower, found.upper), abs=1e-12
    )
    claims = "marginal" if confidence is None else "confidence 0.9"
    basis = str(loss_law(instance).basis(Plan()))
    assert claims in basis
    assert ("3 that diverged" in basis) == (lost == 3)


def test_the_band_of_a_plan_has_the_law_of_every_beginning(
    laws: list[tuple[TracedLaw, Oracle, list[Schedule]]],
) -> None:
    for document, oracle, schedules in (case for case in laws if case[2]):
        schedule = max(schedules, key=len)
        tail = Fraction(1, 10)
        found = trajectory(instance_of(document), plan_of(schedule), tail)
        assert found.epochs == tuple(range(len(schedule) + 1))
        for k in range(1, len(schedule) + 1):
            values, weights = oracle.law(schedule[:k])
            order = np.argsort(values)
            reached = np.cumsum(weights[order]) / weights.sum()
            mean = np.average(oracle.observed(values), weights=weights)
            assert found.mean[k] == pytest.approx(mean, abs=1e-10)
            for interval, level in ((found.lower[k], 0.1), (found.upper[k], 0.9)):
                wanted = oracle.observed(values[order][np.argmax(reached >= level - 1e-12)])
                assert interval.lower - 1e-9 <= wanted <= interval.upper + 1e-9
