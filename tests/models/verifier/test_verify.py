"""The verifier's report: hand-computed plans, every kind of violation by its amount, every claim altered."""

import math
from fractions import Fraction

import pytest
from scipy import stats

from depl.models.problem.instance import (
    ComputeTable,
    Model,
)
from depl.models.problem.laws import Normal
from depl.models.problem.plan import Bounds, Claims, ClusterData, Plan, PlannedEpoch
from depl.models.verifier.bounds import MOST_PLANS, bound_without_plan
from depl.models.verifier.laws import Bracket
from depl.models.verifier.losses import LossFacts
from depl.models.verifier.verify import Kind, verify
from tests.cases.verifier_scenarios_cases import changed, the
from tests.problems import atoms, model


def with_resources(plan, *resources):
    """One number for all epochs, or one for each."""
    given = resources * len(plan.epochs) if len(resources) == 1 else resources
    rows = zip(plan.epochs, given, strict=True)
    return changed(plan, epochs=tuple(changed(epoch, resources=x) for epoch, x in rows))


def only_failure(report):
    assert not report.ok
    assert len(report.failures) == 1
    return report.failures[0]


# ---- plans worked out by hand ----


def test_the_plan_without_randomness_is_recomputed_exactly(steady, steady_plan):
    report = verify(steady, steady_plan)
    assert verify(steady, changed(steady_plan, instance=steady.fingerprint)).ok
    assert report.ok
    assert (report.cost, report.training_time, report.expected_loss) == (24, 5, 6)
    assert report.violation.lower == report.violation.upper == 0
    named = [f"({number})" for number in (2, 3, 4, 1, 5, 6)]
    assert [item.equation for item in report.findings] == [*named, "Sec. III, K_max", "Sec. III, switches"]


def test_the_tiny_optimum_is_recomputed_exactly(tiny, tiny_optimum):
    report = verify(tiny, tiny_optimum)
    assert report.ok
    assert report.cost == pytest.approx(28, rel=1e-15)  # 27 of resources, 1 of transfers
    assert report.training_time == pytest.approx(5, rel=1e-15)
    assert report.violation.lower == report.violation.upper == Fraction(1, 4)
    assert report.expected_loss == pytest.approx(15 - 2 * 4 + 0.375 - 1.25, rel=1e-15)
    assert "transfers 1 (once, E2)" in the(report, "(2)").message
    longer = changed(tiny_optimum, epochs=(*tiny_optimum.epochs, tiny_optimum.epochs[-1]))
    # one more epoch of x = 3 on edge, and no transfer
    assert verify(tiny.replace(maximum_epochs=9), longer).cost == pytest.approx(31, rel=1e-14)


def test_a_probability_of_exactly_one_minus_omega_is_feasible(steady, steady_plan, tiny, tiny_optimum):
    """0.9 of twenty equal outcomes: 1 - 0.9 is not 0.1 in floating point, and 2 / 20 exceed the bound."""
    assert verify(tiny.replace(quantile_level=0.75), tiny_optimum).ok
    failure = only_failure(verify(tiny.replace(quantile_level=0.7500001), tiny_optimum))
    assert (failure.equation, failure.amount) == ("(3)", pytest.approx(1e-7, rel=1e-6))
    instance = noisy(steady, atoms(*[2] * 18, 1, 1)).replace(maximum_loss=8)
    one_epoch = changed(steady_plan, epochs=steady_plan.epochs[:1])
    assert verify(instance, one_epoch).ok
    assert the(verify(instance, one_epoch), "(3)").amount == 0
    assert not verify(instance.replace(quantile_level=0.901), one_epoch).ok


# ---- every equation, violated by a known amount ----


def noisy(steady, law):
    return steady.replace(models=(model("net", law),))


def tabled(steady, *work):
    improvement, table = steady.models[0].improvement, ComputeTable(epochs=work)
    return steady.replace(models=(Model(name="net", size=1, improvement=improvement, compute=(table,)),))


@pytest.mark.parametrize(
    ("target", "resources", "equation", "amount", "message"),
    [
        ({}, (3.2, 3.2), "(4)", 1, "sum of T(k) = 6 exceeds T_max = 5 by 1"),
        ({"round_deadline": 2.4}, (4, 4.5), "(1)", 0.1, "epoch 1: T(k) = 2.5 exceeds tau = 2.4 by 0.1"),
        (
            {"maximum_time": None, "round_deadline": 9},
            (0, 4),
            "(1)",
            math.inf,
            "epoch 1: work 8 without resources never ends",
        ),
        ({}, (10.5, 10), "(5)", 0.5, "epoch 1: x = 10.5 exceeds r(n) = 10 by 0.5"),
        ({"maximum_epochs": 1}, (4, 4), "Sec. III, K_max", 1, "K = 2, K_max = 1"),
    ],
)
def test_an_equation_that_is_broken_is_named_with_the_amount(
    steady, steady_plan, target, resources, equation, amount, message
):
    failure = only_failure(verify(steady.replace(**target), with_resources(steady_plan, *resources)))
    assert (failure.equation, failure.kind, failure.message) == (equation, Kind.FAILED, message)
    assert failure.amount == pytest.approx(amount, rel=1e-12)


LIMIT = 5 / (1 + 1e-9)
"""Times 1 + 1e-9 it is 5 to the last digit, which is what the plan takes."""


@pytest.mark.parametrize(
    ("target", "resources", "ok"),
    [
        ({}, 4 * (1 - 1e-9), True),
        ({}, 4 * (1 - 2e-9), False),
        ({"maximum_time": LIMIT}, 4, True),
        ({"maximum_time": math.nextafter(LIMIT, 0)}, 4, False),
        ({"round_deadline": 2.5}, 4, True),
        ({"round_deadline": 2.5 * (1 - 2e-9)}, 4, False),
        ({}, 10 * (1 + 9e-13), True),
        ({}, 10 * (1 + 2e-12), False),
    ],
)
def test_limits_may_be_exceeded_by_rounding_only(steady, steady_plan, target, resources, ok):
    assert LIMIT * (1 + 1e-9) == 5
    assert verify(steady.replace(**target), with_resources(steady_plan, resources)).ok is ok


def test_tables_of_compute_limit_resources_and_epochs(steady, steady_plan):
    failure = only_failure(verify(tabled(steady, 8, 0, 0), steady_plan))
    assert (failure.equation, failure.amount) == ("(1)", 4)
    assert failure.message.startswith("epoch 2")
    rested = (steady_plan.epochs[0], changed(steady_plan.epochs[1], resources=0))
    report = verify(tabled(steady, 8, 0, 0), changed(steady_plan, epochs=rested))
    assert (report.ok, report.cost, report.training_time) == (True, 12, 3)
    longer = changed(steady_plan, epochs=steady_plan.epochs * 2)
    # What is missing is what the tables lack, also where they go beyond K_max.
    for most in (3, 1):
        failure = only_failure(verify(tabled(steady, 8, 8, 8).replace(maximum_epochs=most), longer))
        assert (failure.equation, failure.amount) == ("Sec. III, K_max", 1)


def test_data_without_training_and_training_without_data_name_equation_6(tiny, tiny_optimum):
    plan = changed(tiny_optimum, epochs=tiny_optimum.epochs[:2])
    failure = the(verify(tiny, plan), "(6)")
    assert failure.amount == 1
    assert "'edge'" in failure.message
    assert "E1" in failure.message
    report = verify(tiny, changed(tiny_optimum, data=tiny_optimum.data[:1]))
    failure = only_failure(report)
    assert (failure.equation, failure.amount) == ("(6)", 1)
    assert failure.message == "epoch 3: cluster 'edge' trains without data"
    assert math.isnan(report.cost)
    assert (report.violation.lower, report.violation.upper) == (0, 1)


def test_a_loss_that_is_too_likely_or_not_defined_names_equation_3(bell, steady_plan, tiny, tiny_optimum):
    level = 6 + math.sqrt(2) * float(stats.norm.isf(0.1))
    assert verify(bell.replace(maximum_loss=level + 1e-9), steady_plan).ok
    for away, kind in ((-0.01, Kind.FAILED), (0.01, Kind.CHECKED)):
        finding = the(verify(bell.replace(maximum_loss=level + away), steady_plan), "(3)")
        expected = stats.norm.sf((level + away - 6) / math.sqrt(2)) - 0.1
        assert (finding.kind, finding.amount) == (kind, pytest.approx(expected, rel=1e-6))
    plan = changed(tiny_optimum, epochs=tiny_optimum.epochs[::-1])
    failures = {finding.equation: finding.message for finding in verify(tiny, plan).failures}
    assert failures["Sec. III, switches"] == "epoch 2: 'pruned' may not be followed by 'full'"
    assert failures["(3)"] == "the loss is not defined after a forbidden switch"
    idle = verify(bell.replace(maximum_loss=10), Plan())
    assert (idle.ok, idle.cost, idle.training_time, idle.expected_loss) == (True, 0, 0, 10)
    failure = only_failure(verify(bell, Plan()))
    assert (failure.equation, failure.amount) == ("(3)", pytest.approx(0.9, rel=1e-15))


# ---- plans that do not speak of the instance ----


def given(cluster, *datasets):
    return (ClusterData(cluster=cluster, datasets=datasets),)


def trained(model, cluster):
    return (PlannedEpoch(model=model, cluster=cluster, resources=4),)


@pytest.mark.parametrize(
    ("alteration", "equation", "words"),
    [
        ({"instance": "0" * 64}, "instance", "another instance"),
        ({"data": given("attic", "data")}, "Sec. III, clusters", "no cluster 'attic'"),
        ({"data": given("site", "data", "rumours")}, "Sec. III, data", "no dataset 'rumours'"),
        ({"data": given("site", "data", "data")}, "Sec. III, data", "a dataset twice"),
        ({"data": given("site", "data") * 2}, "Sec. III, data", "listed twice"),
        ({"epochs": trained("web", "site")}, "Sec. III, models", "epoch 1: there is no model 'web'"),
        ({"epochs": trained("net", "attic")}, "Sec. III, clusters", "epoch 1: there is no cluster 'attic'"),
    ],
)
def test_a_plan_for_something_else_fails_by_name(steady, steady_plan, alteration, equation, words):
    report = verify(steady, changed(steady_plan, **alteration))
    assert not report.ok
    assert math.isnan(report.cost)
    found = {finding.equation: finding.message for finding in report.failures}
    assert words in found[equation]


# ---- claims ----


def true_claims(report, quantile):
    return Claims(
        cost=report.cost,
        training_time=report.training_time,
        violation=Bounds(lower=float(report.violation.lower), upper=float(report.violation.upper)),
        quantile=Bounds(lower=quantile, upper=quantile),
        cheapest_resources=True,
        lower_bound=report.cost,
        method="by hand",
    )


@pytest.fixture
def claimed(tiny, tiny_optimum):
    """The tiny optimum with true claims: the loss is 15 - G, G = 4, 8 or 12, plus 1.25 - (0.25 or 0.5)."""
    quantile = 15 - 8 - 1.25 + 0.5  # P(l > 6.25) = 1/4, and P(l >= 6.25) = 1/4 + 1/4
    return changed(tiny_optimum, claims=true_claims(verify(tiny, tiny_optimum), quantile))


@pytest.mark.parametrize(
    ("claim", "value", "amount"),
    [
        ("cost", 28 * (1 + 1e-8), 28e-8),
        ("cost", 28 * (1 - 1e-8), -28e-8),
        ("cost", 28 * (1 + 0.9e-9), None),
        ("training_time", 5 * (1 + 1e-8), 5e-8),
        ("training_time", 5 * (1 - 1e-8), -5e-8),
        ("lower_bound", 28 * (1 + 1e-8), 28e-8),
        ("lower_bound", 28 * (1 + 0.9e-9), None),
        ("lower_bound", 20.0, None),
        ("violation", (0.25 + 1e-9, 1), 1e-9),
        ("violation", (0, 0.25 - 1e-9), 1e-9),
        ("violation", (None, 0.2), 0.05),
        ("violation", (0.3, None), 0.05),
        ("violation", (0.3, 0.2), 0.1),
        ("violation", (-0.5, 0.3), 0.5),
        ("violation", (0.2, 1.75), 0.75),
        ("violation", (None, 7), 6),
        ("violation", (-7, None), 7),
        ("violation", (0.2, 0.3), None),
        ("violation", (0, 1), None),
        ("violation", (None, None), None),
        ("quantile", (6.2500001, 7), 0.05),
        ("quantile", (6, 6.2499999), 0.2),
        ("quantile", (6.3, 6.2), math.nan),
        ("quantile", (6.2, 6.3), None),
        ("quantile", (None, 6.25), None),
        ("quantile", (6.25, None), None),
        ("cheapest_resources", False, None),
    ],
)
def test_every_claim_altered_is_refused_by_its_name_and_what_says_less_is_not(
    tiny, claimed, claim, value, amount
):
    """By the amounts of the first; all plans are listed for a lower bound alone, as that takes long."""
    report = verify(tiny, claimed, most_plans=0)
    assert report.ok
    assert sum(finding.equation.startswith("claim") for finding in report.findings) == 6
    said = Bounds(lower=value[0], upper=value[1]) if isinstance(value, tuple) else value
    altered = changed(claimed, claims=changed(claimed.claims, **{claim: said}))
    report = verify(tiny, altered, most_plans=MOST_PLANS if claim == "lower_bound" else 0)
    assert report.ok is (amount is None)
    if amount is not None:
        failure = only_failure(report)
        assert failure.equation == f"claim: {claim}"
        assert math.isnan(amount) or failure.amount == pytest.approx(amount, rel=1e-6)


@pytest.mark.parametrize(("lower", "fine"), [(6.25, True), (6.3, False)])
def test_a_quantile_is_the_least_loss_that_keeps_its_level_also_with_equality(tiny, claimed, lower, fine):
    """P(l > 6.25) = P(l > 6.3) = 1/4 = 1 - omega."""
    claims = changed(claimed.claims, quantile=Bounds(lower=lower, upper=7), violation=None)
    report = verify(tiny.replace(quantile_level=0.75), changed(claimed, claims=claims), most_plans=0)
    assert {item.equation for item in report.failures} == (set() if fine else {"claim: quantile"})


def test_claims_about_a_smooth_loss_are_confirmed_up_to_the_accuracy_of_the_verifier(bell, steady_plan):
    instance = bell.replace(quantile_level=0.4)
    quantile = 6 + math.sqrt(2) * float(stats.norm.ppf(0.4))
    honest = true_claims(verify(instance, steady_plan), quantile)
    assert verify(instance, changed(steady_plan, claims=honest)).ok
    for claim, value in (("quantile", quantile), ("violation", 0.5)):
        for off in (value - 1e-7, value + 1e-7):
            claims = changed(honest, **{claim: Bounds(lower=off, upper=off)})
            failure = only_failure(verify(instance, changed(steady_plan, claims=claims)))
            assert failure.equation == f"claim: {claim}"


@pytest.mark.parametrize(
    ("mean", "deviation", "initial", "bound", "rounding", "excess"),
    [(2e-5, 1e-5, 1e-4, 9e-5, -1e-16, 1e-9), (5e5, 1e-4, 1e6, 1.0, 5e-7, 5e-6)],
)
def test_a_quantile_may_be_claimed_too_high_by_what_rounding_takes_off_its_loss_alone(
    bell, steady_plan, mean, deviation, initial, bound, rounding, excess
):
    """A loss of 6e-5, told from one a billionth higher; and one near 0 that a million is taken from."""
    instance = noisy(bell, Normal(mean=mean, variance=deviation**2))
    instance = instance.replace(initial_loss=initial, maximum_loss=bound)
    quantile = initial - 2 * mean + float(stats.norm.ppf(0.9)) * math.sqrt(2) * deviation
    for more, equations in ((rounding, []), (excess, ["claim: quantile"])):
        claims = Claims(quantile=Bounds(lower=quantile + more, upper=2 * quantile))
        found = verify(instance, changed(steady_plan, claims=claims)).failures
        assert [finding.equation for finding in found] == equations


def test_resources_that_cost_more_than_others_would_are_refused(tiny, tiny_optimum, steady, steady_plan):
    """The optimum has x = 3 throughout; shifting time between epochs keeps (4) and costs more."""

    def shifted(amount):
        """An epoch of full takes 4 / x longer or shorter by ``amount``."""
        uneven = with_resources(tiny_optimum, 1 / (1 / 3 + amount / 4), 1 / (1 / 3 - amount / 4), 3.0)
        return changed(uneven, claims=Claims(cheapest_resources=True))

    assert verify(tiny, shifted(0)).ok
    assert verify(tiny, shifted(1e-5)).ok  # more expensive by a relative 4e-11 only
    failure = only_failure(verify(tiny, shifted(1e-2)))
    assert failure.equation == "claim: cheapest_resources"
    costlier = 4 * (1 / (1 / 3 + 0.0025) + 1 / (1 / 3 - 0.0025)) + 3 - 27
    assert failure.amount == pytest.approx(costlier, rel=1e-6)
    wasteful = changed(with_resources(steady_plan, 4.001), claims=Claims(cheapest_resources=True))
    assert only_failure(verify(steady, wasteful)).amount == pytest.approx(2 * 3 * 0.001, rel=1e-6)


# ---- what the verifier cannot decide ----


def test_an_undecided_probability_fails_only_if_the_plan_claims_to_be_feasible(
    tiny, tiny_optimum, monkeypatch
):
    known, budget = tiny.replace(quantile_level=0.75), Fraction(1, 4)
    monkeypatch.setattr(LossFacts, "exceeding", lambda *_, **__: Bracket(budget / 2, budget * 2))
    for claimed, ok in ((None, True), (1.1, True), (1.0, False), (0.6, False)):
        bounds = None if claimed is None else Bounds(lower=None, upper=float(budget) * claimed)
        report = verify(known, changed(tiny_optimum, claims=Claims(violation=bounds)))
        finding = the(report, "(3)")
        assert (finding.ok, finding.kind, report.ok) == (ok, Kind.UNDECIDED, ok)
        assert finding.amount == pytest.approx(float(budget))


@pytest.mark.parametrize(
    ("claimed", "most_plans", "ok", "kind", "words"),
    [
        (28 * (1 + 1e-10), 10**6, True, Kind.CHECKED, "plans were listed"),
        (28 * (1 + 1e-6), 10**6, False, Kind.FAILED, "there is a plan that costs 28"),
        (28.0, 1, True, Kind.REPEATED, "nothing here proves it"),
        (0.0, 1, True, Kind.CHECKED, "never negative"),
    ],
)
def test_a_bound_without_a_plan_is_proved_by_listing_or_only_repeated(
    tiny, claimed, most_plans, ok, kind, words
):
    finding = bound_without_plan(tiny, claimed, most_plans)
    assert (finding.ok, finding.kind) == (ok, kind)
    assert words in finding.message
