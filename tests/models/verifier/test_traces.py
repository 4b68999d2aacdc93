"""The verifier under a traced law: closed forms, whole reports, and scenarios drawn again.

Random laws of all readings, for the solvers and the verifier at once, are in
`tests.models.evaluation.test_traced_loss`.
"""

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

import msgspec
import numpy as np
import pytest

from depl.instances.training.recorded import recorded_traces
from depl.models.estimation.affine import fit_affine
from depl.models.evaluation import in_scenarios as sampling
from depl.models.evaluation.evaluate import Evaluation, evaluate
from depl.models.evaluation.in_scenarios import TracedSample
from depl.models.problem.instance import Instance, Model
from depl.models.problem.laws import Forbidden
from depl.models.problem.plan import Bounds, Claims, DualClaim, Plan, ScenarioClaim
from depl.models.problem.traced_law import (
    FittedJump,
    FittedStep,
    ObservedRun,
    RecordedRun,
    Stage,
    TracedLaw,
    traced_law,
)
from depl.models.scenarios import draws
from depl.models.scenarios.draws import allowed_misses, count_misses, draw_scenarios, scenario_losses
from depl.models.solving.result import Termination
from depl.models.solving.solve import VerificationError, solve
from depl.models.verifier import plans as verifier_requirements
from depl.models.verifier.laws import Bracket, decimal
from depl.models.verifier.losses import LossFacts, Number
from depl.models.verifier.plans import Requirement, listed
from depl.models.verifier.scenarios import (
    DrawnSample,
    Ends,
    counted,
    drawn_sample,
    given_sample,
    traced_fault,
    traced_final_losses,
    traced_thresholds,
)
from depl.models.verifier.traces import traced_loss
from depl.models.verifier.verify import Kind, verify
from depl.showing.explain import explain
from tests.cases.memory_cases import every_schedule, instance_of, random_law
from tests.cases.traced_law_cases import reading
from tests.models.verifier.test_verify import the
from tests.problems import model, site, switches
from tests.problems import plan as plan_of

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


def paired(count: int) -> TracedLaw:
    """Half of the runs are better by 1 in both epochs, half worse, from l(0) = 4."""
    signs = [1 if index % 2 else -1 for index in range(count)]
    runs = tuple(run([(FULL, 2)], (4, 4 + sign, 3 + 1.5 * sign)) for sign in signs)
    return TracedLaw(runs=runs, steps=(step(1, 2, 0.5), step(2, 1, 0.5)))


def switched() -> TracedLaw:
    """Six runs switch after 1 epoch, six after 4; only these residuals are not 0.

    In the second epoch of the later ones d = -0.3, -0.2, -0.1, 0.1, 0.2, 0.3; at the switch of earlier ones
    f = 0.5 three times, then -0.5. Without them l = 4, 3, 2, 1.5, 1.5 in the first stage. The switch adds 0.3
    after one epoch, and 0.1 for every doubling of them.
    """
    shares = np.array([1, 1 / 2, 1 / 4, 1 / 8, 1 / 16])  # that are left of d after epochs 2 to 6
    after_one = [run([(FULL, 1), (CUT, 2)], (4, 3, 1.8 + f, 0.9 + f / 2)) for f in 3 * [0.5] + 3 * [-0.5]]
    after_four = [
        run([(FULL, 4), (CUT, 2)], (4, 3, *(np.array([2, 1.5, 1.5, 1.25, 0.625]) + d * shares).tolist()))
        for d in (-0.3, -0.2, -0.1, 0.1, 0.2, 0.3)
    ]
    first = zip((1, 2, 3, 4), (1, 0.5, 0.5, 0.75), strict=True)
    return TracedLaw(
        runs=(*after_one, *after_four),
        steps=(*(step(age, intercept, 0.5) for age, intercept in first), step(2, 0, 0.5, CUT)),
        jumps=(jump(0.3, 0.5, 0.1 / math.log(2)),),
    )


UNSEEN = schedule((FULL, 2), (CUT, 2))


def exponential(law: TracedLaw) -> TracedLaw:
    """A law that says of ln l what another says of l."""
    runs = tuple(changed(item, losses=tuple(math.exp(loss) for loss in item.losses)) for item in law.runs)
    unseen = None if law.unseen_loss is None else math.exp(law.unseen_loss)
    return changed(law, runs=runs, unseen_loss=unseen, scale="log")


@functools.cache
def recorded_law() -> TracedLaw:
    """Fitted to the recorded runs of the AlexNet-like family."""
    return traced_law(fit_affine(recorded_traces("digits-alexnet")))


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


# ---- whole reports ----


def planning(steady: Instance, law: TracedLaw, **target) -> Instance:
    """Two models on two clusters; the first model's improvement would reach any target at once."""
    limits = {"initial_loss": 4.0, "maximum_epochs": 4, "maximum_time": 40.0, **target}
    models = model("full", 2), model("cut", 2, demand=1)
    return steady.replace(clusters=(site("edge"), site("far")), models=models, traced_law=law, **limits)


def planned(rows: Schedule, resources: float = 2.0, claims: Claims | None = None) -> Plan:
    return plan_of(*((*row, resources) for row in rows), claims=claims)


def test_a_plan_is_judged_by_the_traced_law_and_not_by_improvements(steady):
    instance = planning(steady, switched(), maximum_loss=0.75, quantile_level=0.6)
    report = verify(instance, planned(UNSEEN))
    assert report.ok
    assert report.violation == Bracket(Fraction(1, 3), Fraction(1, 3))
    assert report.expected_loss == pytest.approx(0.7)
    assert the(report, "traced law, support").message == "at least 6 runs lend every stage"
    assert not verify(instance.replace(quantile_level=0.7), planned(UNSEEN)).ok
    idle = verify(instance.replace(maximum_loss=4), Plan())  # which ends with the initial loss
    assert idle.ok
    assert (idle.expected_loss, idle.violation) == (4, Bracket(0, 0))
    assert not verify(instance.replace(maximum_loss=3.9), Plan()).ok


def recorded_instance(steady: Instance, law: TracedLaw) -> Instance:
    names = sorted({part.model for item in law.runs for part in item.stages})
    places = ("edge", "far-edge")
    return steady.replace(
        clusters=tuple(site(name) for name in places),
        models=tuple(Model(name=name, size=1, improvement=steady.models[0].improvement) for name in names),
        traced_law=law,
        initial_loss=2.4,
        maximum_epochs=60,
        maximum_time=1000.0,
    )


def claiming_bounds(found: Evaluation, plan: Plan) -> Plan:
    """The plan with what the evaluation says of it."""
    violation, quantile = (
        Bounds(lower=item.lower, upper=item.upper) for item in (found.violation, found.quantile)
    )
    return changed(plan, claims=Claims(cost=found.cost, violation=violation, quantile=quantile))


@pytest.mark.parametrize(
    ("residuals", "parts"),
    [
        ("per_run", (17, 43)),
        ("independent", (5, 3)),
        pytest.param("independent", (11, 6), marks=pytest.mark.slow),
    ],
)
def test_what_the_evaluation_says_of_recorded_runs_is_confirmed(steady, residuals, parts):
    """A plan of 60 epochs that 104 runs went through, and others that none did; l_max is at the quantile."""
    plan = planned(schedule((("pruned-50", "edge"), parts[0]), (("pruned-75", "far-edge"), parts[1])))
    more = {"residuals": residuals, "deviations": (-0.01, 0.0, 0.01), "unseen_loss": 2.0}
    instance = recorded_instance(steady, changed(recorded_law(), **more))
    instance = instance.replace(maximum_loss=evaluate(instance, plan).quantile.upper)
    evaluation = evaluate(instance, plan)
    report = verify(instance, claiming_bounds(evaluation, plan))
    assert not report.failures
    assert report.expected_loss == pytest.approx(evaluation.expected_loss, rel=1e-12)


def test_a_plan_outside_the_support_or_with_a_forbidden_switch_fails_whatever_it_claims(steady):
    claims = Claims(violation=Bounds(lower=0, upper=0), quantile=Bounds(lower=0, upper=0))
    instance = planning(steady, switched(), maximum_loss=6)
    report = verify(instance, planned(schedule((FULL, 2), (CUT, 1), (FULL, 1)), claims=claims))
    assert [finding.equation for finding in report.failures] == ["(3)", "traced law, support"]
    assert the(report, "(3)").message == "the loss is not defined outside the support of the traces"
    assert the(report, "traced law, support").message.startswith("epoch 4: the law has no row")
    assert np.isnan(report.expected_loss)
    assert (report.violation.lower, report.violation.upper) == (0, 1)
    report = verify(instance.replace(switches=switches({("full", "cut"): Forbidden()})), planned(UNSEEN))
    assert the(report, "Sec. III, switches").message == "epoch 3: 'full' may not be followed by 'cut'"
    assert not the(report, "(3)").ok


def with_bounds(violation: tuple | None = None, quantile: tuple | None = None) -> Plan:
    found = {"violation": violation, "quantile": quantile}
    bounds = {name: Bounds(lower=row[0], upper=row[1]) for name, row in found.items() if row}
    return planned(UNSEEN, claims=Claims(**bounds))


@pytest.mark.parametrize("scale", ["loss", "log"])
def test_claims_about_the_loss_are_compared_with_the_traced_law(steady, scale):
    """0.7 + d / 4 + f / 2 exceeds 0.75 with probability 1/3; targets and claims are losses on both scales."""
    law, atom = (switched(), 0.75) if scale == "loss" else (exponential(switched()), math.exp(0.75))
    instance = planning(steady, law, maximum_loss=atom, quantile_level=0.6)
    report = verify(instance, with_bounds((0.3333, 0.3334), (atom, atom)))
    assert report.ok
    assert report.violation == Bracket(Fraction(1, 3), Fraction(1, 3))
    assert not verify(instance, with_bounds(quantile=(-1, 3))).failures
    for wrong in (
        {"violation": (0.3, 0.333)},
        {"quantile": (atom * (1 + 4e-9), 3)},
        {"quantile": (0, atom * (1 - 4e-9))},
        {"quantile": (-1, 0)},
    ):
        failures = verify(instance, with_bounds(**wrong)).failures
        assert [finding.equation for finding in failures] == [f"claim: {name}" for name in wrong]


def test_the_expected_loss_under_a_law_of_the_logarithm_is_that_of_exponentials(steady):
    instance = planning(steady, exponential(switched()), maximum_loss=1.0)
    waves = sum(math.exp(d / 4) for d in (-0.3, -0.2, -0.1, 0.1, 0.2, 0.3)) / 6
    falls = (2 + math.exp(0.25) + math.exp(-0.25)) / 4
    expected = math.exp(0.7) * waves * falls
    assert verify(instance, planned(UNSEEN)).expected_loss == pytest.approx(expected, rel=1e-12)
    for bound in (0.0, -1.0):  # which no exponential meets
        assert verify(instance.replace(maximum_loss=bound), planned(UNSEEN)).violation == Bracket(1, 1)


def test_atoms_of_a_logarithm_are_met_within_a_billionth_of_it(steady):
    """An l_max of e^.75 (1 - x): ln l = 0.75 is a tie where x is at most 1e-9."""
    for away, share in ((5e-10, Fraction(1, 3)), (2e-9, Fraction(5, 12))):
        bound = math.exp(0.75) * (1 - away)
        instance = planning(steady, exponential(switched()), maximum_loss=bound, quantile_level=0.5)
        assert verify(instance, planned(UNSEEN)).violation == Bracket(share, share)


def test_an_expected_loss_too_large_for_a_number_is_infinite(steady):
    law = changed(paired(6), steps=(step(1, 0, 0.5), step(2, 0, 0.5)), scale="log")
    law = changed(law, runs=tuple(changed(item, losses=(1.0, 1.0, 1.0)) for item in law.runs))
    for deviations, expected, violation in (((), 1, 0), ((1400.0,), math.inf, 1)):
        instance = planning(steady, changed(law, deviations=deviations), maximum_loss=1)
        report = verify(instance, planned(schedule((FULL, 1))))
        assert report.expected_loss == pytest.approx(expected, rel=1e-12)
        assert report.violation == Bracket(violation, violation)


def test_a_lower_bound_is_proved_by_listing_the_plans_inside_the_support(steady):
    """Improvements would do with one epoch; by the traces full and then cut are the cheapest of two.

    After one epoch l = 3; after full, full l = 2 + d, after full, cut l = 1.8 + f. Works of 8 and 4 in time
    40 - 2 / 2 cost at least 3 (sqrt(8) + sqrt(4))^2 / 39, with resources as the roots.
    """
    instance = planning(steady, switched(), maximum_loss=2, quantile_level=0.5, maximum_epochs=2)
    plan, roots = planned(schedule((FULL, 1), (CUT, 1))), np.sqrt([8, 4])
    epochs = zip(plan.epochs, (roots * roots.sum() / 39).tolist(), strict=True)
    plan = changed(plan, epochs=tuple(changed(epoch, resources=x) for epoch, x in epochs))
    cost = 3 * float(roots.sum() ** 2) / 39
    for claimed in (cost, cost / 2):
        report = verify(instance, changed(plan, claims=Claims(cost=cost, lower_bound=claimed)))
        assert not report.failures
        assert the(report, "claim: lower_bound").message.endswith("none of all 32 plans costs less")
        assert report.proved_bound == claimed
    expensive = planned(schedule((FULL, 2)), resources=0.5, claims=Claims(lower_bound=2.0))
    failure = the(verify(instance, expensive), "claim: lower_bound")
    assert (failure.kind, failure.amount) == (Kind.FAILED, pytest.approx(2 - cost, rel=1e-6))


def nonsense() -> TracedLaw:
    """A law that plans ending at 1.425 at least are promised to end near -1e9 by."""
    return changed(switched(), deviations=(-1e9,))


def test_a_quantile_below_every_loss_ever_seen_is_objected_to_and_said_not_to_be_believed(steady):
    """The least loss of any run is 0.60625: a law may promise as much, and nothing below."""
    line = "NOT to be believed: the 0.6-quantile of l(K) lies below every loss that any run ever had"
    for residuals in ("per_run", "independent"):
        law = changed(nonsense(), residuals=residuals)
        instance = planning(steady, law, maximum_loss=0.75, quantile_level=0.6)
        (failure,) = verify(instance, planned(UNSEEN)).failures
        assert failure.equation == "traced law, support"
        assert failure.message == (
            "the 0.6-quantile lies below every loss that any run ever had: the law does not describe the runs"
        )
        assert line in explain(instance, planned(UNSEEN))
    believed = instance.replace(traced_law=switched())
    assert verify(believed, planned(UNSEEN)).ok
    assert line not in explain(believed, planned(UNSEEN))


def test_a_plan_promised_what_no_run_ever_had_refutes_no_lower_bound(steady):
    """It meets its target with certainty by such a law, and is none that the verifier would accept."""
    believed, refused = (
        planning(steady, law, maximum_loss=2.0, quantile_level=0.6) for law in (switched(), nonsense())
    )
    assert Requirement(believed).verdict(planned(UNSEEN)) == (True, True)
    assert Requirement(refused).verdict(planned(UNSEEN)) == (False, False)
    assert listed(believed, None, 1e3, 100_000)[1] is not None
    assert listed(refused, None, 1e3, 100_000)[1] is None


def test_the_least_loss_itself_is_not_below_all_that_were_seen(steady):
    """All runs end at 1, which no loss is below."""
    law = changed(paired(20), steps=(step(1, 1, 0), step(2, 1, 0)))
    law = changed(law, runs=tuple(changed(item, losses=(4.0, 1.0, 1.0)) for item in law.runs))
    for least, bound in ((law, 1.0), (exponential(law), math.e)):
        instance = planning(steady, least, maximum_loss=bound, quantile_level=0.9)
        assert verify(instance, planned(schedule((FULL, 2)))).ok
        assert solve(instance, "enumerate").plan is not None


@pytest.mark.parametrize("method", ["enumerate", "scenario-search"])
def test_what_the_law_promises_below_all_losses_is_not_planned(steady, method):
    instance = planning(steady, nonsense(), maximum_loss=0.01, quantile_level=0.6)
    result = solve(instance, method)
    assert (result.plan, result.termination) == (None, Termination.INFEASIBLE)
    assert "lies below 0.60625, the least loss that any run ever had" in result.reason


def sample_of(size: int, numbers: dict[tuple[int, int], list[float]]) -> DrawnSample:
    """All numbers 0.35 but those given, by epoch and model: 0 for full, 1 for cut."""
    models = np.full((size, 4, 2), 0.35)
    for (epoch, number), values in numbers.items():
        models[:, epoch - 1, number] = values
    return given_sample((models, np.full((size, 4, 2, 2), 0.35)), None)


def losses_of(instance: Instance, sample: DrawnSample, plan: Schedule) -> Ends:
    assert instance.traced_law is not None
    return traced_final_losses(instance.traced_law, instance, sample, planned(plan))


def width(found: Ends) -> float:
    """The greatest, where a run is not unlike all seen, which makes both ends infinite."""
    seen = np.isfinite(found[1])
    assert np.isposinf(found[0][~seen]).all()
    return float((found[1][seen] - found[0][seen]).max())


# ---- numbers put in by hand ----


def test_a_number_at_a_step_may_be_counted_either_way(steady):
    """Half of the residuals are -1 and half 1: at exactly one half both may be found."""
    instance = planning(steady, changed(paired(6), residuals="independent"), maximum_loss=3.0)
    sample, plan = sample_of(3, {(1, 0): [0.5 - 1e-12, 0.5, 0.5 + 1e-12]}), schedule((FULL, 1))
    assert np.round(losses_of(instance, sample, plan), 6).tolist() == [[3, 3, 5], [3, 5, 5]]
    assert counted(instance, sample, planned(plan))[:2] == (1, 2)


def test_losses_within_a_billionth_of_the_target_meet_it_and_between_two_readings_of_that_either(steady):
    """ln l(2) = 4.5, of the loss within 1e-9 or of its logarithm: l = 90, so within 9e-8."""
    law, plan = exponential(changed(paired(6), residuals="independent")), planned(schedule((FULL, 2)))
    for away, certain, possible in ((0.0, 0, 0), (5e-8, 0, 1), (2e-7, 1, 1)):
        instance = planning(steady, law, maximum_loss=math.exp(4.5) - away)
        found = counted(instance, sample_of(1, {(1, 0): [0.9], (2, 0): [0.9]}), plan)
        assert (found.certain, found.possible) == (certain, possible)
    assert traced_thresholds(switched(), 3.0) == [3.0 + 1e-9]
    assert max(traced_thresholds(law, -1.0)) == 0


# ---- the losses that solvers find ----


def redrawn(instance: Instance, size: int, seed: int) -> DrawnSample:
    claim = ScenarioClaim(size=size, seed=seed, digest="0" * 64, misses=0, allowed=0)
    found = drawn_sample(instance, claim)
    assert found is not None
    return found


@pytest.mark.parametrize("count", [6, pytest.param(24, marks=pytest.mark.slow)])
def test_random_laws_of_all_kinds_give_the_losses_of_their_scenarios(count):
    compared = 0
    for seed in range(count):
        law = random_law(np.random.default_rng(500 + seed), **reading(seed))
        instance = instance_of(law)
        sample, drawn = redrawn(instance, 60, seed), draw_scenarios(instance, 60, seed)
        np.testing.assert_array_equal(sample.improvements[0], drawn.improvements)
        np.testing.assert_array_equal(sample.switch_losses[0], drawn.switch_losses)
        for plan in every_schedule(instance)[::3]:
            if not the_support_ends(instance, planned(plan)):
                compared += 1
                assert_found(instance, sample, drawn, plan, 1e-10)
    assert compared > count


def assert_found(instance, sample, drawn, plan: Schedule, narrow: float) -> np.ndarray:
    found, expected = losses_of(instance, sample, plan), scenario_losses(instance, drawn, planned(plan))
    assert ((found[0] <= expected) & (expected <= found[1])).all()
    assert width(found) < narrow
    return expected


def the_support_ends(instance: Instance, plan: Plan) -> bool:
    return any(not finding.ok for finding in verify(instance, plan).findings if "support" in finding.equation)


# ---- claims ----


def claiming(instance: Instance, plan: Plan, size: int = 200, seed: int = 7, **changes) -> Plan:
    scenarios = draw_scenarios(instance, size, seed)
    fields = {
        "size": size,
        "seed": seed,
        "digest": scenarios.digest,
        "misses": count_misses(instance, scenario_losses(instance, scenarios, plan)),
        "allowed": allowed_misses(instance, size),
    }
    return changed(plan, claims=Claims(scenarios=ScenarioClaim(**(fields | changes))))


LOGGED = changed(exponential(switched()), residuals="independent", deviations=(-0.01, 0.03))


@pytest.mark.parametrize(("law", "bound"), [(switched(), 0.8), (LOGGED, math.exp(0.8))])
def test_a_plan_is_judged_by_the_misses_of_its_scenarios(steady, law, bound):
    """l(4), or its logarithm, is above 0.8 in about a quarter of them."""
    instance = planning(steady, law, maximum_loss=bound, quantile_level=0.6)
    plan = claiming(instance, planned(UNSEEN))
    report, misses = verify(instance, plan), plan.claims.scenarios.misses
    assert report.ok
    for equation in ("claim: scenarios", "claim: scenarios.digest"):
        assert the(report, equation).kind is Kind.CHECKED
    assert 30 < misses < 70
    strict = instance.replace(quantile_level=0.95)
    short = verify(strict, changed(claiming(strict, planned(UNSEEN)), instance=None))
    assert [(finding.equation, finding.amount) for finding in short.failures] == [("(3)", misses - 10)]


def test_claims_that_no_stream_of_a_traced_law_can_have_are_not_accepted(steady):
    law = changed(switched(), deviations=(0.1,))
    instance = planning(steady, law, maximum_loss=6)
    claim = claiming(instance, planned(UNSEEN)).claims.scenarios
    assert traced_fault(law, instance, claim) == ""
    short = instance.replace(maximum_epochs=1)
    for wrong, place, said in (
        (changed(claim, seed=None), instance, "drawn from a seed"),
        (changed(claim, decimals=3), instance, "not rounded"),
        (claim, short, "after K_max"),
    ):
        assert said in traced_fault(law, place, wrong)
        plan = planned(schedule((FULL, 1)), claims=Claims(scenarios=wrong))
        report = verify(place, plan)
        assert the(report, "claim: scenarios").kind is Kind.UNDECIDED
        assert the(report, "(3)").kind is Kind.UNDECIDED
        assert not report.ok
    assert traced_fault(switched(), short, claim) == ""


def test_scenarios_do_not_make_up_for_a_loss_that_is_not_defined_nor_a_dual_bound_for_a_law(steady):
    instance = planning(steady, switched(), maximum_loss=6)
    claims = claiming(instance, planned(UNSEEN)).claims
    outside = schedule((FULL, 2), (CUT, 1), (FULL, 1))
    forbidden = instance.replace(switches=switches({("full", "cut"): Forbidden()}))
    for place, plan, equation in (
        (instance, outside, "traced law, support"),
        (forbidden, UNSEEN, "Sec. III, switches"),
    ):
        failures = verify(place, planned(plan, claims=claims)).failures
        assert [finding.equation for finding in failures] == ["(3)", equation]
    dual = changed(claims, dual=DualClaim(bound=0.0, time_price=0.0, gain_price=0.0))
    report = verify(instance, planned(UNSEEN, claims=dual))
    assert the(report, "claim: dual bound").kind is Kind.UNDECIDED


def test_the_plan_without_epochs_has_the_greatest_first_loss_in_all_scenarios(steady):
    instance = planning(steady, exponential(switched()), maximum_loss=3.9)
    greatest = max(run.losses[0] for run in instance.traced_law.runs)
    for bound, misses in ((0.999 * greatest, 200), (greatest, 0)):
        plan = claiming(instance.replace(maximum_loss=bound), Plan())
        assert plan.claims.scenarios.misses == misses
        assert verify(instance.replace(maximum_loss=bound), plan).ok == (misses == 0)


# ---- bounds ----


def test_no_more_plans_are_counted_than_probabilities_computed(steady, monkeypatch):
    monkeypatch.setattr(verifier_requirements, "MOST_PROBABILITIES", 1)
    instance = planning(steady, switched(), maximum_loss=6)
    requirement = Requirement(instance, redrawn(instance, 20, 0))
    assert requirement.verdict(planned(schedule((CUT, 1)))) == (False, False)  # outside the support
    assert requirement.verdict(planned(UNSEEN)) == (True, True)
    assert requirement.verdict(planned(UNSEEN)) is None


# ---- whole solves ----


@functools.cache
def solvable(seed: int) -> Instance:
    """A random law of every kind, and a target that a third of the schedules meet in four of five cases."""
    for trial in range(100):  # some laws promise no plan
        law = random_law(np.random.default_rng([500 + seed, trial]), **reading(seed + 8 * trial))
        instance = instance_of(law, quantile_level=0.7, maximum_time=40.0)
        plans = map(planned, every_schedule(instance))
        inside = [plan for plan in plans if not the_support_ends(instance, plan)]
        drawn = draw_scenarios(instance, 100, 0)
        losses = [scenario_losses(instance, drawn, plan) for plan in inside]
        if met := sorted(end for found in losses if math.isfinite(end := float(np.sort(found)[80]))):
            break
    return instance.replace(maximum_loss=met[len(met) // 3])


@pytest.mark.parametrize(
    "seed", [0, 3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 4, 5, 6, 7))]
)
def test_what_solvers_find_passes(seed):
    instance = solvable(seed)
    for method, size in (("scenario-search", 100), ("enumerate", None)):
        result = solve(instance, method, scenarios=size)
        assert result.plan is not None
        report = verify(instance, result.plan)
        assert report.ok
        assert the(report, "(3)").kind is Kind.CHECKED
        assert the(report, "claim: lower_bound").kind is not Kind.FAILED


def reversed_quantiles(values, numbers, weights=None):
    ranks = np.ceil(numbers * values.size).astype(int) - 1
    return np.sort(values)[::-1][np.clip(ranks, 0, values.size - 1)]


@pytest.mark.parametrize(
    ("place", "name", "wrong"),
    [
        (sampling, "_quantiles", reversed_quantiles),
        (TracedSample, "deviating", lambda _, losses, *__: losses),
        (draws, "ATOM_TOLERANCE", 0.05),
    ],
)
def test_a_solver_with_wrong_scenarios_is_found_out(monkeypatch, place, name, wrong):
    """In at least one of four instances: the others may miss as many scenarios by chance."""
    instances = [solvable(seed) for seed in (1, 5, 21, 37)]  # runs kept together, with deviations
    monkeypatch.setattr(place, name, wrong)

    def refused(instance: Instance) -> bool:
        try:
            solve(instance, "scenario-search", scenarios=100)
        except VerificationError:
            return True
        return False

    assert any(refused(instance) for instance in instances)
