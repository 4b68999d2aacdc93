"""Heterogeneous instances have the trade-offs that they promise, the size asked for, and a feasible plan."""

import itertools
import math

import numpy as np
import pytest

from depl.instances.heterogeneous import (
    CHARGED_DATASETS,
    heterogeneous_instance,
    heterogeneous_instance_with_plan,
)
from depl.models.evaluation.evaluate import epoch_loads, evaluate
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.allocation import allocate
from depl.models.problem.epoch_costs import price
from depl.models.problem.epochs import load, loss_step
from depl.models.problem.instance import Instance
from depl.models.problem.laws import StudentT
from depl.models.verifier.verify import verify

SIZES = {"clusters": 60, "datasets": 40, "models": 8, "maximum_epochs": 60}


@pytest.fixture(scope="module", params=[8, pytest.param(12, marks=pytest.mark.slow)])
def sample(request) -> list:
    """Instances with their plans."""
    rng = np.random.default_rng(2402)
    return [heterogeneous_instance_with_plan(rng, **SIZES) for _ in range(request.param)]


def everything(instance: Instance) -> frozenset[str]:
    return frozenset(item.name for item in instance.datasets)


def ranks(values) -> np.ndarray:
    return np.argsort(np.argsort(values))


def rank_correlation(first, second) -> float:
    return float(np.corrcoef(ranks(first), ranks(second))[0, 1])


def cluster_offers(instance: Instance) -> list[tuple[float, float, float]]:
    """Capacity of all nodes, bandwidth and unit cost: more, more and less are better."""
    return [(item.nodes * item.capacity, item.bandwidth, item.unit_cost) for item in instance.clusters]


def dominates(first, second) -> bool:
    as_good = first[0] >= second[0] and first[1] >= second[1] and first[2] <= second[2]
    return as_good and first != second


def best_clusters(instance: Instance, model: str) -> list[str]:
    """The cluster of least weight at prices of time from low to high, for one model on all data."""
    data = everything(instance)
    loads = {item.name: load(instance, 1, model, item.name, data) for item in instance.clusters}
    # at this price sqrt(lam c / kappa) is the capacity of the first cluster
    first = next(iter(loads.values()))
    centre = first.price * first.capacity**2 / first.work
    found = []
    for multiplier in centre * np.exp(np.linspace(-6, 6, 41)):
        found.append(min(loads, key=lambda name: price(loads[name], multiplier, None)))
    return [name for name, _ in itertools.groupby(found)]


def test_at_least_half_of_the_clusters_are_dominated_by_none(sample):
    for instance, _ in sample:
        offers = cluster_offers(instance)
        undominated = [not any(dominates(other, offer) for other in offers) for offer in offers]
        assert np.mean(undominated) >= 0.5
        assert len(set(offers)) == len(offers)


def test_some_clusters_are_dominated(sample):
    dominated = 0
    for instance, _ in sample:
        offers = cluster_offers(instance)
        dominated += sum(any(dominates(other, offer) for other in offers) for offer in offers)
    assert dominated >= 0.02 * len(sample) * SIZES["clusters"]


def test_unit_costs_rise_with_capacity_and_with_bandwidth(sample):
    for instance, _ in sample:
        logs = np.log(cluster_offers(instance))
        slopes = np.linalg.lstsq(np.column_stack([logs[:, :2], np.ones(len(logs))]), logs[:, 2], rcond=None)[
            0
        ]
        assert slopes[0] > 0.03
        assert slopes[1] > 0.2


def test_the_best_cluster_changes_with_the_price_of_time_towards_larger_and_faster_ones(sample):
    for instance, _ in sample:
        found = best_clusters(instance, instance.models[len(instance.models) // 2].name)
        assert len(found) >= 4
        cheapest, most_expensive = instance.cluster(found[0]), instance.cluster(found[-1])
        assert most_expensive.nodes * most_expensive.capacity > 1.5 * cheapest.nodes * cheapest.capacity
        assert most_expensive.bandwidth > 1.5 * cheapest.bandwidth
        assert most_expensive.unit_cost > cheapest.unit_cost


def test_different_models_prefer_different_clusters_at_one_price_of_time(sample):
    several = 0
    for instance, plan in sample:
        loads = epoch_loads(instance, plan)
        multiplier = loads[0].price * loads[0].capacity ** 2 / loads[0].work
        data = everything(instance)
        chosen = {
            min(
                (item.name for item in instance.clusters),
                key=lambda name: price(load(instance, 1, model.name, name, data), multiplier, None),
            )
            for model in instance.models
        }
        several += len(chosen) >= 3
    assert several >= 0.75 * len(sample)


def test_models_go_from_fast_unsteady_and_large_to_slow_steady_and_small(sample):
    middle = SIZES["maximum_epochs"] // 2
    for instance, _ in sample:
        order = range(len(instance.models))
        data = everything(instance)
        gains, deviations, decays = [], [], []
        for model in instance.models:
            (term,) = loss_step(instance, middle, 0, None, model.name, data).terms
            (last,) = loss_step(instance, 2 * middle, 0, None, model.name, data).terms
            moments = term.law.moments()
            gains.append(-term.coefficient * moments.mean)
            deviations.append(math.sqrt(moments.variance) / moments.mean)
            decays.append(term.coefficient / last.coefficient)
        assert rank_correlation(order, gains) < -0.6
        assert rank_correlation(order, deviations) < -0.6
        assert rank_correlation(order, decays) < -0.6
        assert rank_correlation(order, [model.size for model in instance.models]) < -0.6
        assert rank_correlation(order, [model.demand for model in instance.models]) < -0.6


def test_which_model_gains_most_per_cost_changes_from_early_to_late_epochs(sample):
    """Per weight on the best cluster at the price of time of the reference plan's first cluster."""
    firsts, lasts = [], []
    for instance, plan in sample:
        data = everything(instance)
        start = epoch_loads(instance, plan)[0]
        multiplier = start.price * start.capacity**2 / start.work
        weights = [
            min(
                price(load(instance, 1, model.name, place.name, data), multiplier, None)
                for place in instance.clusters
            )
            for model in instance.models
        ]

        def best(epoch, instance=instance, data=data, weights=weights):
            gains = [
                -loss_step(instance, epoch, 0, None, model.name, data).terms[0].coefficient
                for model in instance.models
            ]
            return int(np.argmax(np.array(gains) / weights))

        firsts.append(best(1))
        lasts.append(best(SIZES["maximum_epochs"]))
    assert all(np.array(lasts) >= firsts)
    assert np.mean(np.array(lasts) > firsts) >= 0.75
    assert np.mean(lasts) >= np.mean(firsts) + 2


def test_an_epoch_of_the_fastest_model_gains_far_more_than_one_of_the_slowest(sample):
    """So a limit on the epochs asks for fast models, whatever they cost."""
    for instance, _ in sample:
        data = everything(instance)
        ends = (instance.models[0].name, instance.models[-1].name)
        middle = SIZES["maximum_epochs"] // 2
        large, small = (
            -loss_step(instance, middle, 0, None, name, data).terms[0].coefficient for name in ends
        )
        assert large > 1.5 * small


def test_datasets_differ_in_volume_and_in_quality(sample):
    for instance, _ in sample:
        volumes = np.array([item.volume for item in instance.datasets])
        qualities = volumes / [item.workload for item in instance.datasets]
        assert volumes.max() > 4 * np.median(volumes)
        assert np.quantile(qualities, 0.9) > 1.5 * np.quantile(qualities, 0.1)


def test_less_data_mean_cheaper_epochs_and_more_of_them(sample):
    """The densest half of the work holds more than half of the volume, and still leaves out some learning."""
    for instance, _ in sample:
        ordered = sorted(instance.datasets, key=lambda item: item.workload / item.volume)
        works = np.cumsum([item.workload for item in ordered])
        volumes = np.cumsum([item.volume for item in ordered])
        count = int(np.searchsorted(works, works[-1] / 2)) + 1
        assert volumes[count - 1] / volumes[-1] > works[count - 1] / works[-1]
        factor = instance.learning_factor(frozenset(item.name for item in ordered[:count]))
        assert 0.5 < factor < 0.97


def test_transfers_are_few_free_at_home_and_expensive_elsewhere(sample):
    for instance, _ in sample:
        charged = {row.dataset for row in instance.transfers}
        assert 0 < len(instance.transfers) < CHARGED_DATASETS * len(instance.clusters)
        assert len(charged) == CHARGED_DATASETS
        least = min(instance.dataset(name).volume for name in charged)
        assert all(item.volume <= least for item in instance.datasets if item.name not in charged)
        for name in charged:
            costs = [instance.transfer_cost(name, cluster.name) for cluster in instance.clusters]
            assert 0 < costs.count(0.0) < len(costs)


def test_bringing_all_data_to_a_cluster_costs_some_percent_of_training(sample):
    shares = []
    for instance, plan in sample:
        loads = epoch_loads(instance, plan)
        cost = math.fsum(
            place.price * epoch.resources for place, epoch in zip(loads, plan.epochs, strict=True)
        )
        sums = [
            sum(instance.transfer_cost(item.name, cluster.name) for item in instance.datasets)
            for cluster in instance.clusters
        ]
        shares.append(np.mean(sums) / cost)
    assert min(shares) > 0.001
    assert max(shares) < 0.08
    assert max(shares) > 2 * min(shares)


def test_every_switch_costs_loss_and_neighbours_less(sample):
    for instance, _ in sample:
        assert isinstance(instance.other_switches, StudentT)
        far = instance.other_switches.moments().mean
        near = [row.law.moments().mean for row in instance.switches]
        assert len(near) == 2 * (SIZES["models"] - 1)
        assert min(near) > 0
        assert max(near) < far


def test_the_reference_plan_keeps_every_constraint_and_uses_most_of_the_limits(sample):
    for instance, plan in sample[:: 4 if len(sample) == 8 else 1]:
        found = evaluate(instance, plan)
        target = instance.target
        assert found.feasible
        assert verify(instance, plan, most_plans=0).ok
        assert found.training_time > (1 - 1e-4) * target.maximum_time
        reached = target.initial_loss - target.maximum_loss
        assert 0 <= target.maximum_loss - found.quantile.upper < 2e-3 * reached


def test_time_is_used_up_where_there_is_no_round_deadline(sample):
    seen = 0
    for instance, plan in sample:
        if instance.target.round_deadline is None:
            best = allocate(epoch_loads(instance, plan), instance.target.maximum_time, None)
            assert best.time == pytest.approx(instance.target.maximum_time, rel=1e-9)
            assert best.multiplier > 0
            seen += 1
    assert len(sample) / 2 <= seen < len(sample)


def test_levels_lie_between_nine_and_ninety_nine_of_a_hundred(sample):
    levels = {instance.target.quantile_level for instance, _ in sample}
    assert 0.9 <= min(levels) < max(levels) <= 0.99
    assert len(levels) >= 4


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (1, 3, 2, 4), (7, 1, 1, 25), (25, 40, 12, 9)])
def test_sizes_are_exactly_those_asked_for_and_the_smallest_ones_have_a_plan_too(sizes):
    names = ("clusters", "datasets", "models", "maximum_epochs")
    for number in range(5):
        rng = np.random.default_rng([number, *sizes])
        instance, plan = heterogeneous_instance_with_plan(rng, **dict(zip(names, sizes, strict=True)))
        assert (len(instance.clusters), len(instance.datasets), len(instance.models)) == sizes[:3]
        assert instance.target.maximum_epochs == sizes[3]
        assert evaluate(instance, plan).feasible
        assert instance.target.maximum_loss < instance.target.initial_loss


@pytest.mark.parametrize("name", ["clusters", "datasets", "models", "maximum_epochs"])
def test_a_size_below_one_is_refused_by_name(name):
    with pytest.raises(InvalidInputError, match=f"{name}: must be at least 1, not 0"):
        heterogeneous_instance(np.random.default_rng(0), **{name: 0})


def test_equal_seeds_give_equal_instances_and_different_ones_differ(sample):
    rng = np.random.default_rng(2402)
    assert heterogeneous_instance(rng, **SIZES) == sample[0][0]
    assert heterogeneous_instance(rng, **SIZES) == sample[1][0]
    assert len({instance.fingerprint for instance, _ in sample}) == len(sample)


def test_the_name_tells_the_content_and_json_keeps_it(sample):
    for instance, plan in sample[:3]:
        again = Instance.from_json(instance.to_json())
        assert again == instance
        assert again.name == f"heterogeneous-{again.fingerprint[:8]}"
        assert plan.instance == again.fingerprint


def test_the_largest_size_is_built_with_few_transfers():
    instance = heterogeneous_instance(
        np.random.default_rng(7), clusters=1000, datasets=1000, models=50, maximum_epochs=50
    )
    assert (len(instance.clusters), len(instance.datasets), len(instance.models)) == (1000, 1000, 50)
    assert len(instance.transfers) <= CHARGED_DATASETS * 1000
    assert len(instance.to_json()) < 3e6
