"""Stages decided once each: what each of the six orders decides on instances small enough to work out."""

import numpy as np
import pytest

import depl
from depl.heuristics.baselines.one_pass import ORDERS
from depl.instances.generator import random_instances
from depl.models.problem.instance import (
    Cluster,
    ConstantImprovement,
    Dataset,
    Instance,
    InverseLogDataLaw,
    Model,
    PowerDataLaw,
    Target,
    Transfer,
)
from depl.models.problem.laws import Deterministic
from depl.models.solving.result import Termination

SMALL = random_instances(
    np.random.default_rng(82), 5, clusters=(2, 3), datasets=(2, 3), maximum_epochs=(3, 6)
)


def solved(instance, order, **limits):
    return depl.solve(instance, "one-pass", options={"order": order}, **limits)


def two_clusters(**changes):
    """One model that lowers the loss by 2 per epoch of work 4; ``large`` is more capable and more expensive.

    With T_max = 4 and two epochs, x = 2 everywhere: 2 * 1 * 2 = 4 on ``small``, 2 * 3 * 2 = 12 on ``large``.
    """
    instance = Instance(
        name="two-clusters",
        clusters=(
            Cluster(name="small", capacity=2, bandwidth=1, unit_cost=1),
            Cluster(name="large", capacity=8, bandwidth=1, unit_cost=3),
        ),
        datasets=(Dataset(name="data", volume=4),),
        models=(Model(name="net", size=0, improvement=ConstantImprovement(noise=Deterministic(value=2))),),
        target=Target(initial_loss=4, maximum_loss=0, quantile_level=0.9, maximum_epochs=4, maximum_time=4),
    )
    return instance.replace(**changes)


@pytest.mark.parametrize("order", ORDERS)
def test_resources_are_decided_knowing_their_cost_in_every_order(order):
    # Whatever is assumed for the models, two epochs are needed, and the cheap cluster just suffices.
    result = solved(two_clusters(), order)
    assert result.cost == pytest.approx(4)
    assert {epoch.cluster for epoch in result.plan.epochs} == {"small"}


def test_the_models_are_chosen_for_the_most_capable_cluster_with_all_its_resources():
    # Full resources cost the same for both models (E12), so fewer epochs win: one of ``strong``.
    instance = two_clusters(
        models=(
            Model(name="weak", size=0, improvement=ConstantImprovement(noise=Deterministic(value=2))),
            Model(
                name="strong",
                size=0,
                demand=7,
                improvement=ConstantImprovement(noise=Deterministic(value=4)),
            ),
        )
    )
    literal = solved(instance, "data-models-resources")
    assert [epoch.model for epoch in literal.plan.epochs] == ["strong"]
    # 28 in 4 at x = 7, on ``large`` alone: 21. Two epochs of ``weak`` on ``small`` cost 4.
    assert literal.cost == pytest.approx(21)
    first = solved(instance, "resources-data-models")
    assert first.cost == pytest.approx(4)
    assert depl.solve(instance, "exact").cost == pytest.approx(4)


def test_data_are_chosen_by_epochs_needed_times_time_before_the_models():
    # K^ = 1 / ln(1 + Q), T^ = Q / 8 with all resources: K^ T^ rises in Q, so one dataset of volume 1 is best.
    instance = two_clusters(
        datasets=(Dataset(name="a", volume=1), Dataset(name="b", volume=3)),
        data_law=InverseLogDataLaw(a=1),
        maximum_epochs=8,
    )
    result = solved(instance, "data-models-resources")
    assert {row.datasets for row in result.plan.data} == {("a",)}
    # h = ln 2 / ln 5 = 0.43: each epoch lowers the loss by 0.86, so that five are needed
    assert result.epochs == 5
    assert solved(instance, "models-data-resources").epochs == 2


def test_after_the_models_the_data_save_transfers():
    instance = two_clusters(
        clusters=(Cluster(name="small", capacity=2, bandwidth=1, unit_cost=1),),
        datasets=(Dataset(name="a", volume=2), Dataset(name="b", volume=2)),
        data_law=PowerDataLaw(p=0.01),
        transfers=(Transfer(dataset="b", cluster="small", cost=1),),
        maximum_loss=0.1,
    )
    result = solved(instance, "models-resources-data")
    assert {row.datasets for row in result.plan.data} == {("a",)}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "instance",
    [SMALL[0], *(pytest.param(item, marks=pytest.mark.slow) for item in SMALL[1:])],
    ids=lambda item: item.name,
)
def test_every_plan_is_verified_and_every_failure_names_its_stage(order, instance):
    result = solved(instance, order)  # solve raises if the plan is not certified
    assert result.termination is Termination.EXHAUSTED
    if result.plan is None:
        assert result.reason.split(":")[0] in ("data", "models", "resources")
    else:
        assert depl.check(instance, result.plan).ok
        assert len({row.datasets for row in result.plan.data}) <= 1


@pytest.mark.parametrize("order", ORDERS)
def test_a_target_that_is_met_at_the_start_needs_no_epoch(order):
    assert solved(two_clusters(maximum_loss=4), order).cost == 0


def test_an_unreachable_target_fails_in_the_stage_that_sees_it():
    instance = two_clusters(maximum_loss=-100)
    assert solved(instance, "data-models-resources").reason.startswith("models: ")
    assert solved(instance, "resources-data-models").reason.startswith("resources: ")


@pytest.mark.parametrize("order", ORDERS)
def test_where_no_epoch_is_in_time_a_stage_says_so(order):
    # the fastest epoch takes 4 / 8 = 0.5
    result = solved(two_clusters(maximum_time=0.4), order)
    assert result.plan is None
    assert "in time" in result.reason or "time limits" in result.reason


def test_an_order_that_is_none_is_refused():
    with pytest.raises(depl.InvalidInputError, match=r"\.order: must be one of data-models-resources"):
        solved(two_clusters(), "models-data")


def test_the_time_limit_stops_it():
    assert solved(two_clusters(), ORDERS[0], time_limit=1e-9).termination is Termination.TIME_LIMIT
