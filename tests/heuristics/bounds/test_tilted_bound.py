"""The bound over all classes: never above the optimum, at no prices; nor above plans of larger instances."""

import itertools
import math

import msgspec
import numpy as np
import pytest
from scipy import stats

import depl
from depl.heuristics.bounds.cutting_planes import Part, Prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.lower_bound import LowerBound, Proof
from depl.heuristics.bounds.tilted_bound import Classes
from depl.heuristics.bounds.tilted_learning import COARSE, FINE, Fineness, TiltedLearning
from depl.heuristics.data import sites
from depl.heuristics.data.sites import DataFactors, Sites, listed_sites
from depl.heuristics.depl.labels import Judge
from depl.instances.generator import random_instances
from depl.instances.heterogeneous import heterogeneous_instance_with_plan
from depl.models.problem.epochs import FinalLoss
from depl.models.problem.instance import Instance, Switch
from depl.models.problem.laws import Empirical, Normal
from depl.models.problem.learning import ConstantImprovement, PowerDataLaw
from depl.models.solving.result import Termination
from tests.cases.loop_cases import crowded, plain

LARGER = ((3, 3, 2, 12, 0), (3, 3, 3, 30, 0), (8, 9, 3, 40, 1))
"""Clusters, datasets, models, epochs and seed of what takes seconds."""


def bound(instance: Instance) -> LowerBound:
    return Proof.of(instance, Learning.of(instance), DataFactors(instance)).bound()


def covered(instance: Instance) -> bool:
    """The tilt covers it, and it takes an epoch."""
    met = Judge(instance).met(FinalLoss(instance.target.initial_loss, ()))
    return not met and TiltedLearning.covers(instance, Learning.of(instance))


def classes_of(instance: Instance, fineness: Fineness) -> Classes:
    learning, factors = Learning.of(instance), DataFactors(instance)
    known = Sites.of(instance, listed_sites(instance), factors)
    part = Part(known.transfers / instance.target.maximum_epochs)
    tables = TiltedLearning(instance, learning, float(known.low.min()), float(known.high.max()), fineness)
    return Classes(tables, known, part, instance.target.maximum_time, 1e9, tables.tilts())


def small(seed: int, count: int, most: int) -> list[Instance]:
    rng = np.random.default_rng([16, seed])
    sizes = {"models": (1, 3), "clusters": (1, 2), "datasets": (1, 2), "maximum_epochs": (2, most)}
    return [instance for instance in random_instances(rng, count, **sizes) if covered(instance)]


@pytest.mark.parametrize(("count", "draws"), [(4, 3), pytest.param(8, 8, marks=pytest.mark.slow)])
def test_no_prices_prove_more_than_the_optimum(count: int, draws: int) -> None:
    """At random prices of every size and sign, in all classes, coarse and fine."""
    rng = np.random.default_rng([16, 0])
    seen = 0
    for index, instance in enumerate(small(1, count, 4)):
        proven = depl.solve(instance, "enumerate")
        if not proven.cost:
            continue
        classes = classes_of(instance, (COARSE, FINE)[index % 2])
        for _ in range(draws):
            time, gain, variance, excess, rough = np.exp(rng.normal(0, 2, 5)) * proven.cost / 5
            prices = Prices(
                0.0 if instance.target.maximum_time is None else time, gain, variance * rng.choice([-1, 0, 1])
            )
            prices = prices._replace(
                excess=-excess * (rng.random() < 0.5), roughness=-rough * (rng.random() < 0.5)
            )
            values = [dual.values(classes.part, dual.tilt.requirement, prices) for dual in classes.duals]
            assert min(map(min, values)) <= proven.cost * (1 + 1e-9)
        seen += 1
    assert seen > 1


@pytest.mark.parametrize("count", [3, pytest.param(7, marks=pytest.mark.slow)])
def test_the_bound_is_never_above_the_optimum_of_small_instances(count: int) -> None:
    better = 0
    for instance in small(2, count, 4):
        proven = depl.solve(instance, "enumerate")
        found = bound(instance)
        if proven.cost is None:
            assert proven.termination is Termination.INFEASIBLE
            continue
        assert found.value <= proven.cost * (1 + 1e-9)
        better += found.value > 0
    assert better > 1


@pytest.mark.slow
def test_the_bound_is_never_above_the_optimum_of_a_hundred_instances() -> None:
    rng, checked, gaps = np.random.default_rng([16, 3]), 0, list[float]()
    sizes = {"models": (2, 4), "clusters": (1, 3), "datasets": (1, 4), "maximum_epochs": (3, 10)}
    for instance in random_instances(rng, 220, **sizes):
        if checked == 100 or not covered(instance):
            continue
        proven = depl.solve(instance, "exact", time_limit=5)
        if proven.cost is None:
            continue
        found = bound(instance)
        assert found.value <= proven.cost * (1 + 1e-9)
        assert not found.infeasible
        if proven.termination is Termination.OPTIMAL and proven.cost:
            gaps.append(1 - found.value / proven.cost)
        checked += 1
    assert checked > 80
    assert np.mean(gaps) < 0.45


def test_switches_with_atoms_do_not_spoil_the_bound_of_plans_without() -> None:
    """No roughness of theirs is known: in one range with plans without them the bound falls below 0."""
    rng = np.random.default_rng(0)
    instance, _ = heterogeneous_instance_with_plan(rng, clusters=3, datasets=3, models=3, maximum_epochs=40)
    unit = float(np.abs(Learning.of(instance).gains).mean())
    law = Empirical(values=(-unit, 3 * unit), weights=(0.5, 0.5))
    pairs = itertools.permutations([model.name for model in instance.models], 2)
    switches = tuple(Switch(previous=a, following=b, law=law) for a, b in pairs)
    instance = msgspec.structs.replace(instance, switches=switches)
    proof = Proof.of(instance, Learning.of(instance), DataFactors(instance))
    by_moments = proof._by_moments(proof.requirement, lambda: False)
    assert max(proof._by_tilts(lambda: False)) > 2.5 * by_moments > 0


@pytest.mark.parametrize(
    ("clusters", "datasets", "models", "epochs", "seed"),
    [(2, 2, 2, 6, 0), *(pytest.param(*size, marks=pytest.mark.slow) for size in LARGER)],
)
def test_plans_of_the_heterogeneous_family_cost_at_least_the_bound(clusters, datasets, models, epochs, seed):
    instance, plan = heterogeneous_instance_with_plan(
        np.random.default_rng(seed),
        clusters=clusters,
        datasets=datasets,
        models=models,
        maximum_epochs=epochs,
    )
    found = bound(instance)
    cost = depl.evaluate(instance, plan).cost
    assert depl.evaluate(instance, plan).feasible
    assert 0 < found.value <= cost
    assert math.isfinite(found.value)


def test_many_normal_epochs_have_a_bound_of_nearly_their_least_number() -> None:
    """K / 10 - z (K)**(1/2) / 10 >= 10; every epoch costs 3 * 8 / (2 - 0.5) = 16 at its deadline."""
    law = ConstantImprovement(noise=Normal(mean=0.1, variance=0.01))
    base = plain(maximum_time=None, round_deadline=2.0, epochs=150, target=0.0)
    model = msgspec.structs.replace(base.models[0], improvement=law)
    instance = base.replace(models=(model,))
    z = float(stats.norm.isf(0.1))
    least = ((z + math.sqrt(z**2 + 400)) / 2) ** 2
    found = bound(instance)
    assert 0.997 * 16 * least <= found.value <= 16 * math.ceil(least)
    assert depl.solve(instance, "depl").cost == pytest.approx(16 * math.ceil(least))


@pytest.mark.parametrize(
    "size", [None, *(pytest.param(size, marks=pytest.mark.slow) for size in ((3, 6, 2, 12), (8, 9, 3, 40)))]
)
def test_plans_cost_at_least_the_bound_in_whatever_shares_transfers_are_charged(size, monkeypatch):
    """If the first epoch pays all of them, or several do; not every site of six datasets is listed."""
    monkeypatch.setattr(sites, "FEW_LISTED", 0)
    if size is None:
        rng = np.random.default_rng([16, 5, 1])
        instance = crowded(rng, PowerDataLaw(p=0.5), datasets=6, clusters=2, epochs=6)
        cost = depl.solve(instance, "density-greedy").cost
    else:
        sizes = dict(zip(("clusters", "datasets", "models", "maximum_epochs"), size, strict=True))
        instance, plan = heterogeneous_instance_with_plan(np.random.default_rng(1), **sizes)
        cost = depl.evaluate(instance, plan).cost
    proof = Proof.of(instance, Learning.of(instance), DataFactors(instance))
    values, epochs = [], instance.target.maximum_epochs
    for first in (1, 4):
        late = (np.arange(epochs) >= first).astype(np.int64)
        proof.outlook.charged = np.array([[epochs / first], [0.0]]), late
        values.append(proof.bound().value)
        assert 0 < values[-1] <= cost
    assert len(set(values)) > 1
