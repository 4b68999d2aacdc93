"""Instances with hubs and regional prices: what the page says of them."""

import numpy as np
import pytest

import depl
from depl.instances.heterogeneous import CHARGED_DATASETS
from depl.instances.regions import regional_instance, regional_instance_with_plan
from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import InvalidInputError

SIZES = {"clusters": 30, "datasets": 40, "models": 7, "maximum_epochs": 50}


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 6))]
)
def test_every_instance_has_the_plan_that_gave_it_its_limits(seed):
    instance, plan = regional_instance_with_plan(np.random.default_rng(seed), **SIZES)
    assert (len(instance.clusters), len(instance.datasets), len(instance.models)) == (30, 40, 7)
    assert instance.target.maximum_epochs == 50
    found = evaluate(instance, plan)
    assert found.feasible
    assert found.training_time == pytest.approx(instance.target.maximum_time, rel=0.01)  # the limit binds
    assert depl.check(instance, plan).ok


def test_equal_states_give_equal_instances_and_others_others():
    drawn = [regional_instance(np.random.default_rng(seed), **SIZES) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1]
    assert drawn[0].fingerprint != drawn[2].fingerprint


def test_few_datasets_hold_much_of_the_volume_and_the_largest_alone_cost_transfers():
    shares = []
    for seed in range(10):
        instance = regional_instance(np.random.default_rng(seed), **{**SIZES, "datasets": 300})
        volumes = {item.name: item.volume for item in instance.datasets}
        ordered = sorted(volumes, key=volumes.get, reverse=True)
        shares.append(sum(volumes[name] for name in ordered[:30]) / sum(volumes.values()))
        assert {row.dataset for row in instance.transfers} <= set(ordered[:CHARGED_DATASETS])
    assert np.median(shares) > 0.4  # a tenth of the datasets


def test_large_volumes_are_cheaper_by_volume_on_one_way():
    """From one region to one cluster, a price times the volume to the power of 0.8, but for rounding."""
    instance = regional_instance(np.random.default_rng(3), **SIZES)
    volumes = {item.name: item.volume for item in instance.datasets}
    several = 0
    for cluster in instance.clusters:
        rows = [row for row in instance.transfers if row.cluster == cluster.name]
        rates = [row.cost / volumes[row.dataset] ** 0.8 for row in rows]
        alike = [
            row for row, rate in zip(rows, rates, strict=True) if rate == pytest.approx(rates[0], rel=1e-3)
        ]
        if len(alike) > 1:
            least, most = (pick(alike, key=lambda row: volumes[row.dataset]) for pick in (min, max))
            several += volumes[most.dataset] > 2 * volumes[least.dataset]
            assert most.cost / volumes[most.dataset] <= least.cost / volumes[least.dataset]
    assert several > 5


def test_larger_networks_ask_for_more_and_are_sent_longer():
    models = regional_instance(np.random.default_rng(4), **SIZES).models
    sizes = [model.size for model in models]
    demands = [model.demand for model in models]
    assert sorted(range(7), key=sizes.__getitem__) == sorted(range(7), key=demands.__getitem__)
    assert max(sizes) / min(sizes) == pytest.approx(60.2 / 11.7, rel=0.3)  # give or take what is drawn
    assert max(demands) / min(demands) == pytest.approx(11.5 / 1.8, rel=0.3)


def test_a_size_below_one_is_refused():
    with pytest.raises(InvalidInputError, match="clusters"):
        regional_instance(np.random.default_rng(0), clusters=0)
