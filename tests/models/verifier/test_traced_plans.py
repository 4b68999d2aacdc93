"""Whole reports under a traced law: what the verifier confirms of a plan, refutes, and leaves open."""

import math
from fractions import Fraction

import numpy as np
import pytest

from depl.models.evaluation.evaluate import Evaluation, evaluate
from depl.models.problem.instance import Instance, Model
from depl.models.problem.laws import Forbidden
from depl.models.problem.plan import Bounds, Claims, Plan
from depl.models.problem.traced_law import TracedLaw
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve
from depl.models.verifier.laws import Bracket
from depl.models.verifier.plans import Requirement, listed
from depl.models.verifier.verify import Finding, Kind, Report, verify
from depl.showing.explain import explain
from tests.cases.verifier_traces_cases import (
    CUT,
    FULL,
    UNSEEN,
    Schedule,
    changed,
    exponential,
    paired,
    recorded_law,
    schedule,
    step,
    switched,
)
from tests.problems import model, site, switches
from tests.problems import plan as plan_of


def planning(steady: Instance, law: TracedLaw, **target) -> Instance:
    """Two models on two clusters; the first model's improvement would reach any target at once."""
    limits = {"initial_loss": 4.0, "maximum_epochs": 4, "maximum_time": 40.0, **target}
    models = model("full", 2), model("cut", 2, demand=1)
    return steady.replace(clusters=(site("edge"), site("far")), models=models, traced_law=law, **limits)


def planned(rows: Schedule, resources: float = 2.0, claims: Claims | None = None) -> Plan:
    return plan_of(*((*row, resources) for row in rows), claims=claims)


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


def claiming(found: Evaluation, plan: Plan) -> Plan:
    """The plan with what the evaluation says of it."""
    violation, quantile = (
        Bounds(lower=item.lower, upper=item.upper) for item in (found.violation, found.quantile)
    )
    return changed(plan, claims=Claims(cost=found.cost, violation=violation, quantile=quantile))


@pytest.mark.parametrize(
    ("scale", "residuals", "parts"),
    [
        ("loss", "per_run", (17, 43)),
        ("log", "per_run", (12, 30)),
        ("log", "independent", (5, 3)),
        pytest.param("loss", "independent", (11, 6), marks=pytest.mark.slow),
    ],
)
def test_what_the_evaluation_says_of_recorded_runs_is_confirmed(steady, scale, residuals, parts):
    """A plan of 60 epochs that 104 runs went through, and others that none did; l_max is at the quantile."""
    plan = planned(schedule((("pruned-50", "edge"), parts[0]), (("pruned-75", "far-edge"), parts[1])))
    more = {"residuals": residuals, "deviations": (-0.01, 0.0, 0.01), "unseen_loss": 2.0}
    instance = recorded_instance(steady, changed(recorded_law(scale), **more))
    instance = instance.replace(maximum_loss=evaluate(instance, plan).quantile.upper)
    evaluation = evaluate(instance, plan)
    report = verify(instance, claiming(evaluation, plan))
    assert not report.failures
    assert report.expected_loss == pytest.approx(evaluation.expected_loss, rel=1e-12)


def test_what_the_evaluation_says_of_another_law_is_refuted(steady):
    """A third of the runs had larger losses, or all rows retain less."""
    recorded = recorded_law("log")
    plan = planned(schedule((("pruned-50", "edge"), 12), (("pruned-75", "far-edge"), 30)))
    instance = recorded_instance(steady, recorded)
    instance = instance.replace(maximum_loss=evaluate(instance, plan).quantile.upper)
    worse = [
        changed(item, losses=tuple(1.1 * loss for loss in item.losses)) if number % 3 == 0 else item
        for number, item in enumerate(recorded.runs)
    ]
    rows = [changed(row, retention=0.97 * row.retention) for row in recorded.steps]
    for law in (changed(recorded, runs=tuple(worse)), changed(recorded, steps=tuple(rows))):
        report = verify(instance, claiming(evaluate(instance.replace(traced_law=law), plan), plan))
        assert "claim: quantile" in {finding.equation for finding in report.failures}


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


def cheapest_of_two() -> tuple[Plan, float]:
    """Full and then cut: works of 8 and 4 in time 40 - 2 / 2, with resources as their roots."""
    plan, roots = planned(schedule((FULL, 1), (CUT, 1))), np.sqrt([8, 4])
    epochs = zip(plan.epochs, (roots * roots.sum() / 39).tolist(), strict=True)
    plan = changed(plan, epochs=tuple(changed(epoch, resources=x) for epoch, x in epochs))
    return plan, 3 * float(roots.sum() ** 2) / 39


def test_a_lower_bound_is_proved_by_listing_the_plans_inside_the_support(steady):
    """Improvements would do with one epoch; by the traces full and then cut are the cheapest of two.

    After one epoch l = 3; after full, full l = 2 + d, after full, cut l = 1.8 + f.
    """
    instance = planning(steady, switched(), maximum_loss=2, quantile_level=0.5, maximum_epochs=2)
    plan, cost = cheapest_of_two()
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
