"""The verifier reads the rules of the sites by itself: findings by altered plans, bounds by lists."""

import itertools

import msgspec
import numpy as np
import pytest

import depl
from depl.instances.generator import random_instance, random_plan
from depl.models.problem.plan import Claims, Plan
from depl.models.verifier.bounds import plan_count
from depl.models.verifier.reading import fits, may_be_last, sets_of_data
from depl.models.verifier.verify import Kind, verify
from depl.testing.problems import with_rules
from tests.cases.site_cases import keeps_rules
from tests.problems import plan as plan_of

change = msgspec.structs.replace
EQUATIONS = ["sites, residency", "sites, memory", "sites, deployment"]


@pytest.fixture
def ruled(tiny):
    """The edge has no room for ``full`` and no right to the archive; ``pruned`` has to be last."""
    archive, sensors = tiny.datasets
    cloud, edge = tiny.clusters
    full, pruned = tiny.models
    kept = tuple(row for row in tiny.transfers if row.dataset != "archive")
    return tiny.replace(
        datasets=(change(archive, clusters=("cloud",)), sensors),
        transfers=kept,
        clusters=(cloud, change(edge, memory=2.0)),
        models=(change(full, memory=2.5), change(pruned, memory=2.0)),
        deployable=("pruned",),
    )


@pytest.fixture
def plan(tiny_optimum):
    return change(tiny_optimum, instance=None, claims=None)


def of_sites(report):
    return [finding for finding in report.findings if finding.equation in EQUATIONS]


def test_a_plan_that_keeps_all_rules_is_told_so_and_what_breaks_one_is_named_with_what_it_lacks(
    tiny, ruled, plan
):
    report = verify(ruled, plan)
    assert report.ok
    assert [(item.equation, item.kind) for item in of_sites(report)] == [(e, Kind.CHECKED) for e in EQUATIONS]
    assert not of_sites(verify(tiny, plan))
    (cloud, edge), (first, second, last) = plan.data, plan.epochs
    for broken, place, amount in (
        ({"data": (cloud, change(edge, datasets=("sensors", "archive")))}, 0, None),
        ({"epochs": (first, change(second, cluster="edge"), last)}, 1, 0.5),
        ({"data": (cloud,), "epochs": (first, second)}, 2, None),
    ):
        found = verify(ruled, change(plan, **broken)).failures
        (failure,) = [item for item in found if item.equation in EQUATIONS]
        assert (failure.equation, failure.amount) == (EQUATIONS[place], amount)


@pytest.mark.parametrize(("initial", "ok"), [(None, False), ("full", False), ("pruned", True)])
def test_the_plan_without_an_epoch_ends_with_the_initial_model(ruled, initial, ok):
    met = ruled.replace(maximum_loss=16, initial_model=initial)
    found = [item.equation for item in verify(met, Plan()).failures]
    assert found == ([] if ok else EQUATIONS[2:])


@pytest.mark.parametrize("seed", range(6))
def test_random_plans_and_sets_of_data_are_judged_as_by_a_third_reading(seed):
    rng = np.random.default_rng(seed)
    instance = with_rules(rng, random_instance(rng, maximum_epochs=(2, 5)))
    for _ in range(6):
        plan = change(random_plan(rng, instance), instance=None)
        verdict = all(finding.ok for finding in of_sites(verify(instance, plan)))
        assert verdict == keeps_rules(instance, plan)
    names, rules = [item.name for item in instance.datasets], instance.rules
    every = [frozenset(s) for size in range(1, len(names) + 1) for s in itertools.combinations(names, size)]
    for place, found in zip(instance.clusters, sets_of_data(instance), strict=True):
        usable = [data for data in every if rules.may_use(data, place.name)]
        assert found == (usable if rules.models[place.name] else [])
        for model in instance.models:
            assert fits(model, place) is rules.may_train(model.name, place.name)
    for name in (None, *(model.name for model in instance.models)):
        assert may_be_last(instance, name) is rules.may_end(name)


def test_a_bound_is_not_refuted_by_a_cheaper_plan_that_breaks_a_rule(tiny):
    """With ``full`` last the optimum is 42.14; without the rule there is a plan for 28."""
    ruled = tiny.replace(deployable=("full",))
    found = depl.solve(ruled, "exact")
    claims = found.plan.claims
    assert claims.lower_bound == pytest.approx(42.142857)
    report = verify(ruled, found.plan)
    assert report.ok
    assert report.proved_bound == claims.lower_bound
    refuted = verify(tiny, change(found.plan, instance=None))
    assert [item.subject for item in refuted.failures] == ["lower_bound"]
    high = change(found.plan, claims=change(claims, cost=None, lower_bound=42.142857142857146))
    assert verify(ruled, high).ok


def test_the_plan_without_an_epoch_refutes_no_bound_where_it_is_none(tiny):
    met = tiny.replace(maximum_loss=16, deployable=("pruned",), maximum_epochs=1)
    least = plan_of(("pruned", "edge", 0.25), data=("sensors",), claims=Claims(lower_bound=0.25))
    assert verify(met, least).ok
    free = met.replace(deployable=None)
    assert [item.subject for item in verify(free, least).failures] == ["lower_bound"]


def test_plans_that_break_a_rule_are_not_counted(tiny, ruled):
    """Pairs of a sequence and an assignment, by the options of each assignment."""
    count = 0
    for cloud, edge in itertools.product(range(4), range(2)):  # three sets in the cloud, one at the edge
        options = 2 * (cloud > 0) + (edge > 0)
        count += sum(options**length for length in (1, 2, 3)) if cloud or edge else 0
    assert plan_count(ruled, 10**6) == count
    assert plan_count(tiny, 10**6) > count
