"""The verifier under a traced law: closed forms, the predictions of recorded traces, and what it refuses."""

import math
from collections.abc import Sequence
from fractions import Fraction

import msgspec
import numpy as np
import pytest

from depl.instances.training.recorded import recorded_traces
from depl.models.errors import InvalidInputError
from depl.models.estimation.affine import fit_affine
from depl.models.evaluation import evaluate
from depl.models.laws import Forbidden
from depl.models.memory.document import FittedJump, FittedStep, RecordedRun, Stage, TracedLaw, traced_law
from depl.models.memory.prediction import outside_support
from depl.models.memory.traced import traced_final_loss
from depl.models.plan import Bounds, Claims, ClusterData, Plan, PlannedEpoch, ScenarioClaim
from depl.models.problem import Cluster, Instance, Model, Switch
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.verifier import Finding, Kind, Report, verify
from depl.models.verifier_distribution import tail_probability
from depl.models.verifier_laws import Bracket, decimal
from depl.models.verifier_traces import TracedLoss, traced_loss

FULL, CUT = ("full", "edge"), ("cut", "far")
Schedule = tuple[tuple[str, str], ...]


def schedule(*parts: tuple[tuple[str, str], int]) -> Schedule:
    return tuple(pair for pair, epochs in parts for _ in range(epochs))


def run(parts: Sequence[tuple[tuple[str, str], int]], losses: Sequence[float]) -> RecordedRun:
    stages = tuple(Stage(model=pair[0], cluster=pair[1], epochs=epochs) for pair, epochs in parts)
    return RecordedRun(stages=stages, losses=tuple(round(loss, 12) for loss in losses))


def step(age: int, intercept: float, retention: float, pair: tuple[str, str] = FULL, **more) -> FittedStep:
    more = {"first": pair == FULL, **more}
    return FittedStep(
        model=pair[0], cluster=pair[1], age=age, intercept=intercept, retention=retention, **more
    )


def jump(intercept: float, retention: float, slope: float = 0.0, **more) -> FittedJump:
    more = {"previous_model": "full", "previous_cluster": "edge", **more}
    return FittedJump(
        model="cut", cluster="far", intercept=intercept, retention=retention, start_slope=slope, **more
    )


def changed(data, **fields):
    return msgspec.structs.replace(data, **fields)


def exceeding(loss: TracedLoss, bound: float) -> Bracket:
    assert loss.outside is None
    return tail_probability(loss.increments, decimal(bound) - loss.certain)


def exactly(loss: TracedLoss, bound: float) -> Fraction:
    found = exceeding(loss, bound)
    assert found.lower == found.upper
    return Fraction(found.lower)


# ---- one stage: l(1) = 2 + l(0) / 2 + e, l(2) = 1 + l(1) / 2 + e ----

FIRST_STEPS = (step(1, 2, 0.5), step(2, 1, 0.5))


def paired(count: int) -> TracedLaw:
    """Half of the runs are better by 1 in both epochs, half worse, from l(0) = 4."""
    signs = [1 if index % 2 else -1 for index in range(count)]
    runs = tuple(run([(FULL, 2)], (4, 4 + sign, 3 + 1.5 * sign)) for sign in signs)
    return TracedLaw(runs=runs, steps=FIRST_STEPS)


def test_the_residuals_of_a_run_stay_together_or_are_drawn_afresh():
    """l(2) = 3 + e_1 / 2 + e_2 with both of one sign, or of any."""
    law, plan = paired(6), schedule((FULL, 2))
    together, apart = traced_loss(law, plan), traced_loss(changed(law, residuals="independent"), plan)
    for bound, quarters in ((1.4, 4), (1.6, 2), (4.4, 2), (4.6, 0)):
        assert exactly(together, bound) == Fraction(quarters, 4)
    for bound, quarters in ((1.4, 4), (1.6, 3), (2.6, 2), (3.6, 1), (4.6, 0)):
        assert exactly(apart, bound) == Fraction(quarters, 4)


def test_whole_runs_lend_their_losses_and_an_unseen_run_counts_as_one():
    few, many = paired(18), paired(19)  # nine worse, nine or ten better
    plan = schedule((FULL, 2))
    for law in (few, many):
        plain = traced_loss(law, plan)
        unseen = traced_loss(changed(law, unseen_loss=9.0), plan)
        offset = traced_loss(changed(law, deviations=(0.0, 7.0)), plan)
        count, whole = len(law.runs), len(law.runs) == 19
        assert exactly(plain, 3) == Fraction(9, count)
        assert exactly(unseen, 3) == (Fraction(10, 20) if whole else Fraction(9, 18))
        assert exactly(unseen, 8) == (Fraction(1, 20) if whole else 0)
        assert exactly(offset, 5) == (0 if whole else Fraction(1, 2))  # 1.5 + 7 or 4.5 + 7


def test_deviations_are_drawn_beside_independent_residuals_of_plans_that_few_runs_went_through():
    for count, share in ((18, Fraction(1, 2)), (19, 0)):
        law = changed(paired(count), residuals="independent", deviations=(0.0, 9.0))
        assert exactly(traced_loss(law, schedule((FULL, 2))), 6) == share


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


def switched() -> TracedLaw:
    """Six runs switch after 1 epoch, six after 4; only these residuals are not 0.

    In the second epoch of the later ones d = -.3, -.2, -.1, .1, .2, .3; at the switch of the earlier ones
    f = .5 three times, then -.5. Without them l = 4, 3, 2, 1.5, 1.5 in the first stage. The switch adds .3
    after one epoch, and .1 for every doubling of them.
    """
    after_one = [
        run([(FULL, 1), (CUT, 2)], (4, 3, 1.8 + f, 0.9 + f / 2)) for f in (0.5, 0.5, 0.5, -0.5, -0.5, -0.5)
    ]
    after_four = [
        run(
            [(FULL, 4), (CUT, 2)],
            (4, 3, 2 + d, 1.5 + d / 2, 1.5 + d / 4, 1.25 + d / 8, 0.625 + d / 16),
        )
        for d in (-0.3, -0.2, -0.1, 0.1, 0.2, 0.3)
    ]
    first = zip((1, 2, 3, 4), (1, 0.5, 0.5, 0.75), strict=True)
    return TracedLaw(
        runs=(*after_one, *after_four),
        steps=(*(step(age, intercept, 0.5) for age, intercept in first), step(2, 0, 0.5, CUT)),
        jumps=(jump(0.3, 0.5, 0.1 / math.log(2)),),
    )


UNSEEN = schedule((FULL, 2), (CUT, 2))


def test_an_unseen_plan_combines_the_donors_of_its_stages():
    """l(4) = .7 + d / 4 + f / 2; six runs lend d, twelve f, which is .5, -.5 three times each and else 0."""
    found = traced_loss(switched(), UNSEEN)
    assert float(found.certain) == pytest.approx(0.7 - 4 * 2**-4)  # l(0) = 4 is lent, and halved four times
    assert [len(item.law.values) for item in found.increments] == [6, 12]
    assert exactly(found, 0.7) == Fraction(1, 2)
    assert exactly(found, 0.75) == Fraction(1, 3)  # d = .2 is a tie
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
    third = run([(other, 1), (CUT, 1)], (4, 3, 2.3))  # .3 + 1.5 + .5
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
        run([(before, 1), (CUT, 3)], (4, 3, 2, last, last))
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


def test_fewer_than_six_donors_are_too_few():
    assert outside(paired(5), schedule((FULL, 2)))[1] == (
        "5 runs can lend 'full' on 'edge' its residuals, at least 6 must"
    )


def test_a_mean_loss_that_no_run_had_is_outside():
    """The runs that switch after one epoch have 3 before it, those after four 1.5; now 10 after two."""
    rows = [changed(row, intercept=8.5) if row.first and row.age == 2 else row for row in switched().steps]
    law = changed(switched(), steps=tuple(rows))
    number, reason = outside(law, UNSEEN)
    assert (number, reason) == (3, "a mean loss of 10 where 1.425 to 3 were seen")


def test_runs_that_all_begin_with_one_loss_are_not_outside_by_rounding():
    """The mean of nine times .1 is not .1 in floating point, nor that of ten."""
    for count in range(6, 40):
        runs = tuple(run([(FULL, 1)], (0.1, 0.1 * index)) for index in range(count))
        assert traced_loss(TracedLaw(runs=runs, steps=(step(1, 2, 0.5),)), (FULL,)).outside is None


# ---- against the predictions, on recorded traces ----


@pytest.fixture(scope="module")
def recorded() -> TracedLaw:
    return traced_law(fit_affine(recorded_traces("digits-alexnet")))


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
def test_recorded_runs_give_the_predicted_probabilities(recorded, more):
    law = changed(recorded, **more)
    defined = 0
    for plan in drawn_schedules(law, 40):
        found = traced_loss(law, plan)
        assert (found.outside is not None) == bool(outside_support(law.law, plan))
        if found.outside is None:
            defined += 1
            predicted = traced_final_loss(law, plan)
            spread = predicted.variance() ** 0.5
            for bound in predicted.mean() + spread * np.linspace(-2, 3, 11):
                share = exactly(found, float(bound))
                certified = certified_violation(predicted, float(bound))
                assert certified.lower <= share <= certified.upper
                assert certified.upper - certified.lower < 1e-12
    assert defined > 15


def test_recorded_runs_give_the_predicted_means_and_variances_of_independent_residuals(recorded):
    law = changed(recorded, residuals="independent", deviations=(-0.02, 0.0, 0.02))
    defined = 0
    for plan in drawn_schedules(law, 12):
        found = traced_loss(law, plan)
        if found.outside is None:
            defined += 1
            predicted = traced_final_loss(law, plan)
            values = [float(item.coefficient) * np.array(item.law.values) for item in found.increments]
            assert float(found.certain) + sum(map(np.mean, values)) == pytest.approx(predicted.mean())
            assert sum(map(np.var, values)) == pytest.approx(predicted.variance())
    assert defined > 4


def test_a_law_that_is_altered_gives_another_loss(recorded):
    """A wrong retention of one late epoch, a seventh of the runs shifted by one epoch."""
    plan = schedule((("pruned-50", "edge"), 12), (("pruned-75", "far-edge"), 30))
    right = traced_loss(recorded, plan)
    retained = [
        changed(row, retention=0.99 * row.retention)
        if (row.model, row.cluster, row.age) == ("pruned-75", "far-edge", 30)
        else row
        for row in recorded.steps
    ]
    shifted = [
        changed(item, losses=(item.losses[0], *item.losses[:-1])) if number % 7 == 0 else item
        for number, item in enumerate(recorded.runs)
    ]
    for law in (changed(recorded, steps=tuple(retained)), changed(recorded, runs=tuple(shifted))):
        bounds = certified_quantile(traced_final_loss(law, plan), Fraction(1, 10))
        above, below = (exactly(right, end) for end in (bounds.lower - 2e-9, bounds.upper))
        assert not below <= Fraction(1, 10) <= above


# ---- whole reports ----


def planning(steady: Instance, law: TracedLaw, **target) -> Instance:
    """Two models on two clusters; the first model's improvement would reach any target at once."""
    clusters = tuple(Cluster(name=name, capacity=10, bandwidth=2, unit_cost=3) for name in ("edge", "far"))
    models = tuple(
        Model(name=name, size=1, demand=demand, improvement=steady.models[0].improvement)
        for name, demand in (("full", 2), ("cut", 1))
    )
    limits = {"initial_loss": 4.0, "maximum_epochs": 4, "maximum_time": 40.0, **target}
    return steady.replace(clusters=clusters, models=models, traced_law=law, **limits)


def planned(plan: Schedule, resources: float = 2.0, claims: Claims | None = None) -> Plan:
    clusters = dict.fromkeys(cluster for _, cluster in plan)
    return Plan(
        data=tuple(ClusterData(cluster=name, datasets=("data",)) for name in clusters),
        epochs=tuple(PlannedEpoch(model=m, cluster=c, resources=resources) for m, c in plan),
        claims=claims,
    )


def the(report: Report, equation: str) -> Finding:
    found = [finding for finding in report.findings if finding.equation == equation]
    assert len(found) == 1
    return found[0]


def test_a_plan_is_judged_by_the_traced_law_and_not_by_improvements(steady):
    instance = planning(steady, switched(), maximum_loss=0.75, quantile_level=0.6)
    report = verify(instance, planned(UNSEEN))
    assert report.ok
    assert report.violation == Bracket(Fraction(1, 3), Fraction(1, 3))
    assert report.expected_loss == pytest.approx(0.7)
    assert the(report, "traced law, support").message == "at least 6 runs lend every stage"
    assert not verify(instance.replace(quantile_level=0.7), planned(UNSEEN)).ok


def test_a_plan_without_epochs_ends_with_the_initial_loss(steady):
    instance = planning(steady, switched(), maximum_loss=4)
    report = verify(instance, Plan())
    assert report.ok
    assert (report.expected_loss, report.violation) == (4, Bracket(0, 0))
    assert not verify(instance.replace(maximum_loss=3.9), Plan()).ok


def recorded_instance(steady: Instance, law: TracedLaw) -> Instance:
    names = sorted({part.model for item in law.runs for part in item.stages})
    return steady.replace(
        clusters=tuple(
            Cluster(name=name, capacity=10, bandwidth=2, unit_cost=3) for name in ("edge", "far-edge")
        ),
        models=tuple(Model(name=name, size=1, improvement=steady.models[0].improvement) for name in names),
        traced_law=law,
        initial_loss=2.4,
        maximum_epochs=60,
        maximum_time=1000.0,
    )


def claiming(instance: Instance, plan: Plan) -> Plan:
    """The plan with what the evaluation says of it."""
    found = evaluate(instance, plan)
    violation, quantile = (
        Bounds(lower=item.lower, upper=item.upper) for item in (found.violation, found.quantile)
    )
    return changed(plan, claims=Claims(cost=found.cost, violation=violation, quantile=quantile))


@pytest.mark.parametrize(
    ("residuals", "parts"), [("per_run", (17, 43)), ("per_run", (12, 30)), ("independent", (11, 6))]
)
def test_what_the_evaluation_says_of_recorded_runs_is_confirmed(steady, recorded, residuals, parts):
    """A plan of 60 epochs that 104 runs went through, and others that none did; l_max is at the quantile."""
    plan = planned(schedule((("pruned-50", "edge"), parts[0]), (("pruned-75", "far-edge"), parts[1])))
    law = changed(recorded, residuals=residuals, deviations=(-0.01, 0.0, 0.01), unseen_loss=2.0)
    instance = recorded_instance(steady, law)
    instance = instance.replace(maximum_loss=evaluate(instance, plan).quantile.upper)
    assert not verify(instance, claiming(instance, plan)).failures


def test_what_the_evaluation_says_of_another_law_is_refuted(steady, recorded):
    """A third of the runs had larger losses, or all rows retain less."""
    plan = planned(schedule((("pruned-50", "edge"), 12), (("pruned-75", "far-edge"), 30)))
    instance = recorded_instance(steady, recorded)
    instance = instance.replace(maximum_loss=evaluate(instance, plan).quantile.upper)
    worse = [
        changed(item, losses=tuple(1.1 * loss for loss in item.losses)) if number % 3 == 0 else item
        for number, item in enumerate(recorded.runs)
    ]
    rows = [changed(row, retention=0.97 * row.retention) for row in recorded.steps]
    for law in (changed(recorded, runs=tuple(worse)), changed(recorded, steps=tuple(rows))):
        report = verify(instance, claiming(instance.replace(traced_law=law), plan))
        assert "claim: quantile" in {finding.equation for finding in report.failures}


def test_a_plan_outside_the_support_fails_whatever_it_claims(steady):
    claims = Claims(violation=Bounds(lower=0, upper=0), quantile=Bounds(lower=0, upper=0))
    instance = planning(steady, switched(), maximum_loss=6)
    report = verify(instance, planned(schedule((FULL, 2), (CUT, 1), (FULL, 1)), claims=claims))
    assert [finding.equation for finding in report.failures] == ["(3)", "traced law, support"]
    assert the(report, "(3)").message == "the loss is not defined outside the support of the traces"
    assert the(report, "traced law, support").message.startswith("epoch 4: the law has no row")
    assert np.isnan(report.expected_loss)
    assert (report.violation.lower, report.violation.upper) == (0, 1)


def test_a_switch_that_the_instance_forbids_fails_under_a_traced_law_too(steady):
    rows = (Switch(previous="full", following="cut", law=Forbidden()),)
    instance = planning(steady, switched(), maximum_loss=4).replace(switches=rows)
    report = verify(instance, planned(UNSEEN))
    assert the(report, "Sec. III, switches").message == "epoch 3: 'full' may not be followed by 'cut'"
    assert not the(report, "(3)").ok


def test_claims_about_the_loss_are_compared_with_the_traced_law(steady):
    instance = planning(steady, switched(), maximum_loss=0.75, quantile_level=0.6)
    right = Claims(violation=Bounds(lower=0.3333, upper=0.3334), quantile=Bounds(lower=0.75, upper=0.75))
    assert verify(instance, planned(UNSEEN, claims=right)).ok
    for wrong in (
        Claims(violation=Bounds(lower=0.3, upper=0.333)),
        Claims(quantile=Bounds(lower=0.7501, upper=0.76)),
        Claims(quantile=Bounds(lower=0.7, upper=0.7499)),
    ):
        report = verify(instance, planned(UNSEEN, claims=wrong))
        assert [finding.equation[:5] for finding in report.failures] == ["claim"]


def test_scenarios_of_a_traced_law_are_left_undecided(steady):
    claim = ScenarioClaim(size=10, seed=1, digest="0" * 64, misses=0, allowed=1)
    instance = planning(steady, switched(), maximum_loss=6)
    report = verify(instance, planned(UNSEEN, claims=Claims(scenarios=claim)))
    for equation in ("claim: scenarios", "(3)"):
        assert the(report, equation).kind is Kind.UNDECIDED
    assert not report.ok


def test_a_lower_bound_is_proved_by_listing_the_plans_inside_the_support(steady):
    """Improvements would do with one epoch; by the traces full and then cut are the cheapest of two.

    After one epoch l = 3; after full, full l = 2 + d, after full, cut l = 1.8 + f. Works of 8 and 4 in time
    40 - 2 / 2 cost at least 3 (sqrt(8) + sqrt(4))^2 / 39, with resources as the roots.
    """
    instance = planning(steady, switched(), maximum_loss=2, quantile_level=0.5, maximum_epochs=2)
    plan = planned(schedule((FULL, 1), (CUT, 1)))
    roots = np.sqrt([8, 4])
    epochs = zip(plan.epochs, roots * roots.sum() / 39, strict=True)
    plan = changed(plan, epochs=tuple(changed(epoch, resources=float(x)) for epoch, x in epochs))
    cost = 3 * float(roots.sum() ** 2) / 39
    for claimed in (cost, cost / 2):
        report = verify(instance, changed(plan, claims=Claims(cost=cost, lower_bound=claimed)))
        assert not report.failures
        assert the(report, "claim: lower_bound").message.endswith("none of all 32 plans costs less")
        assert report.proved_bound == claimed
    dear = planned(schedule((FULL, 2)), resources=0.5, claims=Claims(lower_bound=2.0))
    failure = the(verify(instance, dear), "claim: lower_bound")
    assert failure.kind is Kind.FAILED
    assert failure.amount == pytest.approx(2 - cost, rel=1e-6)


def test_the_instance_refuses_what_no_verifier_can_read():
    with pytest.raises(InvalidInputError):
        TracedLaw(runs=paired(6).runs, steps=(step(3, 1, 0.5),))
