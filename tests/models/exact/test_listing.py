"""All plans listed, against brute force and the verifier, the known optima, and refusals and limits."""

import itertools
import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from depl.instances.generator import random_instances
from depl.instances.library import load
from depl.models.evaluation.evaluate import evaluate
from depl.models.exact import plan_classes as plan_classes_module
from depl.models.exact.listing import data_assignments, enumerate_plans, placements
from depl.models.exact.plan_classes import plan_classes
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Cluster, Dataset
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve
from tests.oracles.brute_force import cheapest_by_brute_force, every_plan

TINY = load("tiny")
SLOW = pytest.mark.slow
SMALL = {"models": (2, 2), "clusters": (1, 2), "datasets": (1, 2), "maximum_epochs": (2, 3)}
FAMILY = {"models": (2, 3), "clusters": (1, 2), "datasets": (1, 2), "maximum_epochs": (3, 6)}

KNOWN = {
    "paper-alexnet": (17, 14, 12, 10, 8),
    "paper-mobilenet": (10.8, 9, 7.8, 6.6, 5.4),
    "paper-alexnet-deadline": (202.68, 182.96, 137.84, 91.32, 76.63),
    "paper-alexnet-deadline-normal": (220.94, 198.56, 144.13, 101.71, 94.40),
}
EPOCHS = {5: (5, 6, 20), 7: (2, 6, 19), 9: (1, 4, 18), 11: (3, 6, 9), 13: (2, 5, 7)}


def require_agreement(instance) -> Termination:
    """Solve (the verifier recomputes every claim on the way) and compare with brute force."""
    result = solve(instance, "enumerate")
    met, possible = cheapest_by_brute_force(instance, below=(result.cost or math.inf) * (1 + 1e-7))
    if result.termination is Termination.INFEASIBLE:
        assert met == math.inf
    elif result.termination is Termination.OPTIMAL:
        assert result.cost == pytest.approx(result.lower_bound, rel=1e-12)
        # the verifier may leave open what the certificate decides, never contradict it
        assert possible <= result.cost * (1 + 1e-9) + 1e-9
        assert met >= result.cost * (1 - 1e-9) - 1e-9
    else:
        assert result.termination is Termination.EXHAUSTED
        assert result.lower_bound <= possible * (1 + 1e-9)
    return result.termination


@pytest.mark.parametrize(("seed", "count"), [(5, 2), pytest.param(6, 120, marks=SLOW)])
def test_enumeration_agrees_with_brute_force_on_small_random_instances(seed, count):
    endings = [
        require_agreement(one) for one in random_instances(np.random.default_rng(seed), count, **SMALL)
    ]
    assert endings.count(Termination.OPTIMAL) >= 0.6 * count


@pytest.mark.parametrize("count", [3, pytest.param(200, marks=SLOW)])
def test_optima_of_the_random_family_are_proved_and_enough_of_them_switch_and_choose(count):
    """`solve` refuses whatever the verifier does not find again: here it never does."""
    solved = [
        (one, solve(one, "enumerate")) for one in random_instances(np.random.default_rng(3), count, **FAMILY)
    ]
    proofs = (Termination.OPTIMAL, Termination.INFEASIBLE)
    assert sum(result.termination in proofs for _, result in solved) >= 0.6 * count
    plans = [(instance, result.plan) for instance, result in solved if result.plan and result.plan.epochs]
    assert len(plans) >= 0.6 * count
    if count > 10:
        switching = sum(len({epoch.model for epoch in plan.epochs}) > 1 for _, plan in plans)
        choosing = sum(
            len(plan.data) > 1 or any(len(row.datasets) < len(instance.datasets) for row in plan.data)
            for instance, plan in plans
        )
        assert min(switching, choosing) >= 0.3 * len(plans)


def known_optima():
    """Every family and target; of the family that takes longest, most targets are slow."""
    for family, place in itertools.product(KNOWN, range(5)):
        between = family == "paper-alexnet-deadline" and place not in (2, 4)
        yield pytest.param(family, place, marks=[SLOW] * between)


@pytest.mark.parametrize(("family", "place"), list(known_optima()))
def test_known_optima_of_the_paper_families(family, place):
    target = (5, 7, 9, 11, 13)[place]
    outcome = enumerate_plans(load(family, target), Limits())
    assert outcome.termination is Termination.OPTIMAL
    cost = evaluate(load(family, target), outcome.plan).cost
    assert cost == pytest.approx(KNOWN[family][place], abs=0.005)
    if family == "paper-alexnet-deadline":
        models = [epoch.model for epoch in outcome.plan.epochs]
        counts = tuple(models.count(name) for name in ("fast-unsteady", "intermediate", "slow-steady"))
        assert counts == EPOCHS[target]


def test_the_tiny_instance_costs_what_its_hand_calculation_says():
    result = solve(TINY, "enumerate")
    assert (result.termination, result.cost, result.violation.upper) == (Termination.OPTIMAL, 28.0, 0.25)
    untrained = solve(TINY.replace(maximum_loss=15.0), "enumerate")
    assert (untrained.cost, untrained.epochs, untrained.gap) == (0.0, 0, 0.0)


def test_too_many_classes_and_assignments_are_refused_with_the_number():
    with pytest.raises(NotCoveredError, match="at most 50 plan classes: there are more at"):
        enumerate_plans(load("paper-alexnet", 5), Limits(), most=50)
    clusters = [msgspec.structs.replace(TINY.clusters[0], name=f"c{number}") for number in range(20)]
    datasets = [Dataset(name=f"d{number}", volume=1) for number in range(20)]
    many = TINY.replace(clusters=tuple(clusters), datasets=tuple(datasets), transfers=())
    with pytest.raises(NotCoveredError, match=r"there are 2\^400 assignments of data"):
        enumerate_plans(many, Limits())
    with pytest.raises(NotCoveredError, match="chooses models for given data"):
        solve(many, "expected-greedy")


def test_as_many_assignments_and_classes_as_are_accepted_are_no_obstacle():
    """One epoch of one model on any of three sets of data: three assignments with a class each."""
    instance = TINY.replace(
        clusters=TINY.clusters[:1],
        models=TINY.models[:1],
        datasets=tuple(Dataset(name=f"d{number}", volume=1) for number in range(2)),
        transfers=(),
        switches=(),
        maximum_loss=-1e6,
        maximum_epochs=1,
        maximum_time=1e6,
    )
    assert placements(instance) == 2
    assert enumerate_plans(instance, Limits(), most=3).termination is Termination.INFEASIBLE
    with pytest.raises(NotCoveredError, match="at most 2 plan classes, there are 3 assignments of data"):
        enumerate_plans(instance, Limits(), most=2)


@pytest.mark.parametrize(("clusters", "datasets"), [(1, 1), (1, 3), (2, 2), (3, 2)])
def test_assignments_are_counted_as_they_are_listed(clusters, datasets):
    shape = {"clusters": (clusters, clusters), "datasets": (datasets, datasets)}
    (instance,) = random_instances(np.random.default_rng(1), 1, **shape)
    assert 2 ** placements(instance) - 1 == len(data_assignments(instance))


def test_a_time_limit_ends_the_search_without_a_claim():
    instance = load("paper-alexnet-deadline", 5)
    outcome = enumerate_plans(instance, Limits(time_limit=1e-6))
    assert (outcome.termination, outcome.plan) == (Termination.TIME_LIMIT, None)
    assert outcome.lower_bound <= 202.67
    assert outcome.reason.startswith("stopped before")


def test_an_interrupt_returns_what_is_held(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("depl.models.exact.listing.plan_classes", interrupted)
    outcome = enumerate_plans(TINY, Limits())
    assert (outcome.termination, outcome.plan) == (Termination.INTERRUPTED, None)


def test_every_class_stands_for_every_sequence():
    data = {item.name: frozenset(d.name for d in TINY.datasets) for item in TINY.clusters}
    classes = plan_classes(TINY, data, cutoff=math.inf, allowed=10**6)
    costs = {round(cost, 9) for level in classes.levels[1:] for cost in level.costs}
    assert sum(row.cost for row in TINY.transfers if row.cluster in data) > 0
    listed = {
        round(cost - sum(TINY.transfer_cost(d, row.cluster) for row in plan.data for d in row.datasets), 9)
        for cost, plan in every_plan(TINY)
        if all(len(row.datasets) == len(TINY.datasets) for row in plan.data)
    }
    assert costs == listed


def test_a_dominated_cluster_changes_nothing():
    instance = load("paper-alexnet", 9)
    worse = Cluster(name="worse", capacity=90, bandwidth=0.5, unit_cost=2)
    more = instance.replace(clusters=(*instance.clusters, worse))
    assert len(data_assignments(more)) == len(data_assignments(instance))
    assert solve(more, "enumerate").cost == solve(instance, "enumerate").cost


@pytest.mark.parametrize("epochs", [1, 4])
def test_classes_need_increments_that_neither_forget_nor_depend_on_the_time_since_a_switch(
    epochs, monkeypatch
):
    """Epoch k comes 0 to k - 1 epochs after the last switch."""
    instance = TINY.replace(maximum_epochs=epochs)
    data = {instance.clusters[0].name: frozenset([instance.datasets[0].name])}
    kept = plan_classes_module.loss_step

    def forgetting(*arguments):
        return replace(kept(*arguments), retention=0.5)

    def ageing(instance, epoch, since, *others):
        assert 0 <= since < epoch
        step = kept(instance, epoch, since, *others)
        return replace(step, shift=step.shift + 0.1 * since)

    monkeypatch.setattr(plan_classes_module, "loss_step", forgetting)
    with pytest.raises(NotCoveredError, match="depend on the past"):
        plan_classes(instance, data, cutoff=math.inf, allowed=10**6)
    monkeypatch.setattr(plan_classes_module, "loss_step", ageing)
    if epochs == 1:
        assert len(plan_classes(instance, data, cutoff=math.inf, allowed=10**6).levels) == 2
    else:
        with pytest.raises(NotCoveredError, match="depend on the past"):
            plan_classes(instance, data, cutoff=math.inf, allowed=10**6)


def test_no_plan_is_lost_where_the_hashes_of_all_classes_meet(monkeypatch):
    """Rows with one hash count as one class only if they are equal in full: 28 is worked out by hand."""

    class Alike(plan_classes_module._Moves):
        def __init__(self, *given):
            super().__init__(*given)
            self.weights[:] = 0

    monkeypatch.setattr(plan_classes_module, "_Moves", Alike)
    assert enumerate_plans(TINY, Limits()).lower_bound == pytest.approx(28, rel=1e-9)
