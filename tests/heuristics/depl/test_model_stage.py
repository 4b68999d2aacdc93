"""Sequences on given data by their cost: every plan written out, certified by the independent verifier."""

import math

import pytest

from depl.heuristics.bounds.learning import Learning
from depl.heuristics.data.sites import DataFactors
from depl.heuristics.depl.labels import Judge
from depl.heuristics.depl.models import Candidate, Kind, ModelStage
from depl.heuristics.paths.additive_labels import expected_label
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import load
from depl.models.solving.limits import Limits
from depl.models.verifier.verify import verify
from tests.cases.loop_cases import indices, plain, require_certified
from tests.oracles.brute_force import every_plan
from tests.problems import drawn as drawings
from tests.problems import transfers

ANYTHING = 1e6  # a slack with which no sequence is left out


def staged(instance, limits=None):
    judge = Judge(instance)
    return ModelStage(instance, Learning.of(instance), DataFactors(instance), judge, limits or Limits())


def everything(instance):
    """All data on every cluster, and all kinds."""
    names = frozenset(item.name for item in instance.datasets)
    data = dict.fromkeys(range(len(instance.clusters)), names)
    return data, [Kind(n, m) for n in data for m in range(len(instance.models))]


def calibrated(stage):
    reference = stage.judge.guess(1.0)
    return stage.judge.label(reference, 1.0)


def cheapest(stage, data):
    """The cheapest plan on this data that the verifier certifies, by brute force."""
    instance = stage.instance
    clusters, models = indices(instance.clusters), indices(instance.models)
    budget, known = float(instance.target.violation_budget), {}
    for cost, plan in sorted(every_plan(instance), key=lambda pair: pair[0]):
        if any(frozenset(row.datasets) != data.get(clusters[row.cluster]) for row in plan.data):
            continue
        key = tuple((epoch.model, plan.datasets(epoch.cluster)) for epoch in plan.epochs)
        if key not in known:
            known[key] = verify(instance, plan).violation.upper <= budget * (1 + 1e-12)
        if known[key]:
            places = tuple(clusters[epoch.cluster] for epoch in plan.epochs)
            chosen = tuple(models[epoch.model] for epoch in plan.epochs)
            factors = [stage.factors.of(data[n]) for n in places]
            return Candidate(data, chosen, places, cost, stage.learning.loss(chosen, factors))
    return None


@pytest.fixture(scope="module")
def drawn():
    return list(drawings([6, 7], 6, models=(1, 3), clusters=(1, 2), datasets=(1, 2), maximum_epochs=(1, 3)))


def test_paths_at_a_price_find_certified_plans_that_cost_no_less(drawn):
    """Ranked by psi at the price of the cheapest plan and labelled by it: mostly that plan is found."""
    exact, seen = 0, 0
    for instance in drawn:
        stage = staged(instance)
        data, kinds = everything(instance)
        best = cheapest(stage, data)
        if best is None:
            assert stage.paths(data, kinds, calibrated(stage), 0.0, math.inf, 1.0)[0] is None
            continue
        reference = stage.judge.reference(best.loss)
        label = stage.judge.label(reference, reference.deviation)
        for factor in (1.0, 0.2, 5.0):
            price = factor * price_of(instance, best)
            slack = 0.2 * abs(reference.margin)
            found = stage.paths(data, kinds, label, slack, math.inf, price)[0]
            if found is not None:
                assert found.cost >= best.cost * (1 - 1e-9)
                require_certified(stage, found)
            if factor == 1:
                seen += 1
                exact += found is not None and found.cost <= best.cost * (1 + 1e-9)
    assert seen > 0.4 * len(drawn)
    assert exact >= 0.8 * seen


def price_of(instance, found):
    """The price of time of a candidate."""
    loads = [
        load(instance, k + 1, instance.models[m].name, instance.clusters[n].name, found.data[n])
        for k, (m, n) in enumerate(zip(found.models, found.clusters, strict=True))
    ]
    return allocate(loads, instance.target.maximum_time, instance.target.round_deadline).multiplier


def test_only_what_costs_less_than_the_cutoff_is_returned(drawn):
    seen = 0
    for instance in drawn:
        stage = staged(instance)
        data, kinds = everything(instance)
        label = calibrated(stage)
        found = stage.paths(data, kinds, label, ANYTHING, math.inf, 0.0)[0]
        if found is None or found.cost == 0:
            continue
        below = stage.paths(data, kinds, label, ANYTHING, found.cost, 0.0)[0]
        assert below is None or below.cost < found.cost
        again = stage.paths(data, kinds, label, ANYTHING, found.cost * (1 + 1e-6), 0.0)[0]
        assert again.cost == found.cost
        seen += 1
    assert seen > 0.4 * len(drawn)


def test_the_first_that_is_refused_is_kept_as_the_nearest(bell):
    """Two epochs have mean 6 and are cheapest under the mean, three have quantile 6.22; the target is 6.3."""
    stage = staged(bell.replace(maximum_loss=6.3))
    data, kinds = everything(bell)
    found, refused = stage.paths(data, kinds, expected_label(), 0.0, math.inf, 0.0)
    assert (len(refused.models), len(found.models)) == (2, 3)
    assert refused.cost < found.cost


def test_transfers_of_clusters_that_train_are_paid_once_and_of_idle_ones_not_at_all():
    """Two epochs of 8 in 5 - 2 / 2: lam = kappa c / t**2 = 24 / 4, cost (2 sqrt(24))**2 / 4 = 24."""
    instance = plain(clusters=((3.0, 10.0), (3.0, 10.0))).replace(transfers=transfers({("data", "c0"): 5.0}))
    stage = staged(instance)
    data, kinds = everything(instance)
    cheap = stage.paths(data, kinds, expected_label(), 0.0, math.inf, 6.0)[0]
    assert cheap.clusters == (1, 1)
    assert cheap.cost == pytest.approx(24)
    expensive = stage.paths(data, [Kind(0, 0)], expected_label(), 0.0, math.inf, 6.0)[0]
    assert expensive.cost == pytest.approx(24 + 5)
