"""The loop and the baselines under rules of the sites: plans that keep them, bounds below the optimum."""

import functools
import math

import msgspec
import numpy as np
import pytest

import depl
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.data.sites import DataFactors, Site, Sites, listed_sites
from depl.heuristics.depl.labels import Judge
from depl.heuristics.depl.models import Kind, ModelStage
from depl.heuristics.paths.additive_labels import expected_label
from depl.heuristics.paths.additive_problem import AdditiveProblem, additive_problem
from depl.heuristics.paths.setting import least_weight
from depl.instances.library import load
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import ConstantImprovement, Dataset, Instance
from depl.models.problem.laws import Deterministic, Zero
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination
from depl.testing.problems import with_rules
from tests.cases.site_cases import keeps_rules

change = msgspec.structs.replace


@functools.cache
def certain(number: int) -> Instance:
    """Variants of ``tiny`` without chance, whose bounds are quick, with drawn rules."""
    rng, tiny = np.random.default_rng([45, number]), load("tiny")
    full, pruned = tiny.models
    sure = change(full, improvement=ConstantImprovement(scale=4, noise=Deterministic(value=1.0)))
    found = tiny.replace(
        models=(sure, pruned),
        switches=tuple(change(row, law=Deterministic(value=0.375)) for row in tiny.switches),
        maximum_loss=float(rng.choice([6.5, 8.0, 9.5, 15.5], p=[0.3, 0.3, 0.3, 0.1])),
        other_switches=Zero() if number % 2 else tiny.other_switches,
    )
    return with_rules(rng, found)


@functools.cache
def optimum(instance: Instance) -> float:
    found = depl.solve(instance, "enumerate")
    return math.inf if found.plan is None else found.cost


def check_loop(instance: Instance, looks: int | None = None) -> None:
    """Its plan is verified and keeps the rules, its bound is true, and nothing is infeasible that is not."""
    found, cheapest = depl.solve(instance, "depl", looks=looks), optimum(instance)
    assert found.lower_bound <= cheapest * (1 + 1e-9)
    assert found.termination is not Termination.INFEASIBLE or cheapest == math.inf
    if found.plan is None:
        assert cheapest == math.inf
        assert found.reason
        return
    assert keeps_rules(instance, found.plan)
    assert cheapest * (1 - 1e-9) <= found.cost <= cheapest * 1.02


def test_what_assumes_one_set_of_data_for_all_clusters_refuses(tiny):
    archive, sensors = tiny.datasets
    cloud, edge = tiny.clusters
    moved = tiny.replace(datasets=(archive, change(sensors, clusters=("cloud",))))
    small = tiny.replace(
        clusters=(cloud, change(edge, memory=1.0)),
        models=tuple(change(item, memory=2.0) for item in tiny.models),
    )
    for instance in (moved, small):
        with pytest.raises(NotCoveredError, match="use depl"):
            depl.solve(instance, "depl-paper")
    last = depl.solve(tiny.replace(deployable=("full",)), "depl-paper")
    assert last.plan is None or last.plan.epochs[-1].model == "full"


@pytest.mark.parametrize("number", range(2))
def test_many_datasets_stay_where_they_may_be(monkeypatch, number):
    """Sets are not listed any more: the frontier's sites and the exchanges of datasets keep residency."""
    monkeypatch.setattr("depl.heuristics.data.sites.LISTED_DATASETS", 1)
    monkeypatch.setattr("depl.heuristics.data.sites.FEW_LISTED", 1)
    plain = certain(number)
    third = Dataset(name="third", volume=1.5, clusters=("edge",) if number % 2 else None)
    free = tuple(change(item, clusters=None) for item in plain.datasets)
    away = change(free[0], clusters=("cloud",))
    instance = plain.replace(
        datasets=(away, *free[1:], third),
        transfers=tuple(row for row in plain.transfers if (row.dataset, row.cluster) != (away.name, "edge")),
        maximum_loss=9.5,
        deployable=None,
    )
    assert instance.rules.restrict_data
    check_loop(instance)


def test_sites_that_break_a_rule_are_not_listed_and_never_in_time(tiny):
    archive, sensors = tiny.datasets
    cloud, edge = tiny.clusters
    full, pruned = tiny.models
    ruled = tiny.replace(
        datasets=(archive, change(sensors, clusters=("cloud",))),
        clusters=(cloud, change(edge, memory=1.0)),
        models=(change(full, memory=2.0), pruned),
    )
    both, one, other = (frozenset(names) for names in (("archive", "sensors"), ("archive",), ("sensors",)))
    assert set(listed_sites(ruled)) == {Site(0, both), Site(0, one), Site(0, other), Site(1, one)}
    sites = Sites.of(ruled, [Site(0, both), Site(1, one), Site(1, both)], DataFactors(ruled))
    assert np.isfinite(sites.fastest[0]).tolist() == [[True, False, False], [True, True, False]]
    assert np.isfinite(sites.at(1.0).psi[0]).tolist() == [[True, False, False], [True, True, False]]


def test_charges_of_ends_telescope_and_put_bad_ends_out_of_reach():
    rng = np.random.default_rng(3)
    losses = rng.normal(-0.3, 0.5, (4, 4, 3))
    plain_problem = AdditiveProblem(
        models=("a", "b", "c"),
        weights=np.zeros((4, 3)),
        times=np.zeros((4, 3)),
        losses=losses,
        allowed=np.ones(losses.shape, dtype=bool),
        initial_loss=2.0,
        maximum_loss=1.0,
        maximum_time=math.inf,
    )
    ended = plain_problem.ending_with(np.array([True, False, True]), True)
    ends, start = ended.losses, ended.initial_loss
    assert start == 2.0
    for _ in range(200):
        path = rng.integers(3, size=int(rng.integers(1, 5)))
        before = [3, *path[:-1]]
        steps = [(k, p, m) for k, (p, m) in enumerate(zip(before, path, strict=True))]
        plain, charged = (start + sum(table[step] for step in steps) for table in (losses, ends))
        if path[-1] == 1:
            assert charged > 1.0
            levels = (charged - plain) / start
            assert levels == pytest.approx(round(levels))
        else:
            assert charged == pytest.approx(plain, abs=1e-9)
    every = np.ones(3, dtype=bool)
    assert plain_problem.ending_with(every, True) is plain_problem
    met = plain_problem.within(math.inf, 3.0)
    assert met.ending_with(every, False).initial_loss > 3.0


def test_searches_over_labels_end_well(tiny):
    """The path problem, against the same with another last model."""
    data, every = frozenset({"archive", "sensors"}), {}
    for last in (("full",), ("pruned",), None):
        ruled = tiny.replace(deployable=last, maximum_loss=8)
        path = least_weight(additive_problem(ruled, data, "cloud")).path
        every[last] = path.weight
        if last is not None:
            assert tiny.models[path.models[-1]].name == last[0]
    assert every[None] == pytest.approx(min(every[("full",)], every[("pruned",)]))


def test_ranked_sequences_on_several_clusters_end_well(tiny):
    data = {0: frozenset({"archive", "sensors"}), 1: frozenset({"sensors"})}
    kinds = [Kind(n, m) for n in data for m in (0, 1)]
    for last in (0, 1):
        ruled = tiny.replace(deployable=(tiny.models[last].name,), maximum_loss=8)
        stage = ModelStage(ruled, Learning.of(ruled), DataFactors(ruled), Judge(ruled), Limits())
        found = stage.paths(data, kinds, expected_label(), 0.0, math.inf, 1.0)
        assert {item.models[-1] for item in (found.found, found.nearest) if item} == {last}


def test_a_path_on_data_that_may_not_be_used_there_is_refused(tiny):
    archive, sensors = tiny.datasets
    moved = tiny.replace(datasets=(archive, change(sensors, clusters=("cloud",))))
    with pytest.raises(InvalidInputError, match="'sensors' may not be used on cluster 'edge'"):
        additive_problem(moved, frozenset({"sensors"}), "edge")


def test_learning_charges_what_a_switch_leads_to(tiny):
    plain, ruled = (Learning.of(tiny.replace(deployable=last)) for last in (None, ("pruned",)))
    assert plain.end_charge == 0
    assert not plain.end_charges.any()
    charge = ruled.end_charge
    assert charge > 12 + 12  # three epochs of ``full`` gain 12 on average, and may be lost
    assert ruled.end_charges.tolist() == [[0, -charge], [charge, 0], [charge, 0]]
    assert np.array_equal(ruled.switch_losses, plain.switch_losses)
