"""The random family has the shares that it promises, keeps its ranges, and repeats itself for a seed."""

import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depl.instances.generator import random_instance, random_instances, random_plan
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epoch_costs import minimum_resources
from depl.models.problem.epochs import compute, load
from depl.models.problem.instance import Instance, TabledImprovement

SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def sample():
    """Instances of the default family."""
    return random_instances(np.random.default_rng(2402), 200)


def plan_loads(instance, plan):
    return [
        load(instance, k, epoch.model, epoch.cluster, plan.datasets(epoch.cluster))
        for k, epoch in enumerate(plan.epochs, start=1)
    ]


def laws_that_may_apply(instance):
    pairs = itertools.permutations([model.name for model in instance.models], 2)
    return [instance.switch_law(first, second) for first, second in pairs]


def test_every_kind_of_law_shape_and_rare_feature_is_drawn_and_the_inverse_gamma_most(sample):
    shapes, noises, switches, data = set(), [], set(), set()
    for instance in sample:
        for model in instance.models:
            shapes.add(type(model.improvement).__name__)
            noises.append(type(model.improvement.at(1)[1]).__name__)
        switches |= {type(law).__name__ for law in laws_that_may_apply(instance)}
        data.add(type(instance.data_law).__name__)
    assert shapes == {"InverseSqrtImprovement", "ConstantImprovement", "TabledImprovement"}
    assert set(noises) == {"InverseGamma", "Normal", "Lognormal", "Empirical", "Deterministic"}
    assert switches == {"StudentT", "Normal", "Deterministic", "Empirical", "Zero", "Forbidden"}
    assert data == {"LogDataLaw", "InverseLogDataLaw", "PowerDataLaw", "TableDataLaw", "NoneType"}
    assert noises.count("InverseGamma") > len(noises) / 2
    assert min(noises.count(kind) for kind in set(noises)) >= len(noises) / 25
    assert any(cluster.nodes > 1 for instance in sample for cluster in instance.clusters)
    assert any(item.work is not None for instance in sample for item in instance.datasets)
    assert any(instance.target.initial_model for instance in sample)
    tables = [table for instance in sample for model in instance.models for table in model.compute or ()]
    assert {table.dataset is None for table in tables} == {True, False}
    assert any(0 in table.epochs for table in tables)
    rules = [model.improvement for instance in sample for model in instance.models]
    tabled = [row for rule in rules if isinstance(rule, TabledImprovement) for row in rule.epochs]
    assert any(row.scale < 0 for row in tabled)  # raises the loss


def test_drawn_instances_survive_their_own_json_and_are_named_by_their_content(sample):
    for instance in sample[:50]:
        again = Instance.from_json(instance.to_json())
        assert again.fingerprint == instance.fingerprint
        assert instance.name == f"random-{again.replace(name='x').fingerprint[:8]}"


def test_draws_are_those_that_records_were_made_with_each_another_however_many_follow(sample):
    """Names are fingerprints: committed attempts tell the instances of a suite by them."""
    assert [instance.name[-8:] for instance in sample[:3]] == ["eb0e52e3", "7206295b", "1241f86e"]
    told = "".join(instance.fingerprint for instance in sample[:50])
    assert hashlib.sha256(told.encode()).hexdigest()[:12] == "2985f4e0ea9f"
    assert len({instance.fingerprint for instance in sample}) == len(sample)
    assert random_instances(np.random.default_rng(2402), 20) == sample[:20]


@st.composite
def ranges(draw, greatest):
    return tuple(sorted((draw(st.integers(1, greatest)), draw(st.integers(1, greatest)))))


@settings(max_examples=30)
@given(seed=SEEDS, models=ranges(4), clusters=ranges(3), datasets=ranges(3), maximum_epochs=ranges(6))
def test_counts_lie_in_their_ranges(seed, **sizes):
    instance = random_instance(np.random.default_rng(seed), **sizes)
    for name, (least, most) in sizes.items():
        drawn = instance.target.maximum_epochs if name == "maximum_epochs" else len(getattr(instance, name))
        assert least <= drawn <= most


@pytest.mark.parametrize("sizes", [{"datasets": (1000, 1000)}, {"datasets": (24, 24)}, {"models": (60, 60)}])
def test_instances_of_any_size_are_drawn(sizes):
    """The first seeds draw a table of all sets of 1000 datasets; the eighth one of all sets of 24."""
    ((name, (size, _)),) = sizes.items()
    instances = [random_instance(np.random.default_rng(seed), **sizes) for seed in (0, 1, 7)]
    assert [len(getattr(instance, name)) for instance in instances] == [size] * 3


@pytest.mark.parametrize("bounds", [(0, 2), (3, 2)])
@pytest.mark.parametrize("name", ["models", "clusters", "datasets", "maximum_epochs"])
def test_empty_ranges_are_refused(name, bounds):
    with pytest.raises(InvalidInputError, match=name):
        random_instance(np.random.default_rng(0), **{name: bounds})


@settings(max_examples=30)
@given(seed=SEEDS)
def test_random_plans_keep_names_switches_round_deadline_and_capacities(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng)
    plan = random_plan(rng, instance)
    plan.check_names(instance)
    assert plan.instance == instance.fingerprint
    assert len(plan.epochs) <= instance.target.maximum_epochs
    previous = instance.target.initial_model
    for k, (epoch, demand) in enumerate(zip(plan.epochs, plan_loads(instance, plan), strict=True), start=1):
        assert instance.may_follow(previous, epoch.model)
        assert minimum_resources(demand, instance.target.round_deadline) <= epoch.resources <= demand.capacity
        idle = compute(instance, k, epoch.model, plan.datasets(epoch.cluster)) == 0
        assert (epoch.resources == 0) == idle
        previous = epoch.model
