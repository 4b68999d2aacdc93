"""Instances with hubs and regional prices: what the page says of them."""

import numpy as np
import pytest

import depl
from depl.instances.regions import regional_instance, regional_instance_with_plan
from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import InvalidInputError

SIZES = {"clusters": 30, "datasets": 40, "models": 7, "maximum_epochs": 50}


def regional(seed, **sizes):
    return regional_instance(np.random.default_rng(seed), **{**SIZES, **sizes})


@pytest.mark.parametrize(("seed", "name"), [(0, "regions-b6295f48"), (1, "regions-c2f341a7")])
def test_every_instance_has_the_plan_that_gave_it_its_limits_and_is_that_of_records(seed, name):
    instance, plan = regional_instance_with_plan(np.random.default_rng(seed), **SIZES)
    assert (len(instance.clusters), len(instance.datasets), len(instance.models)) == (30, 40, 7)
    assert instance.target.maximum_epochs == 50
    found = evaluate(instance, plan)
    assert found.feasible
    assert found.training_time == pytest.approx(instance.target.maximum_time, rel=0.01)  # the limit binds
    assert depl.check(instance, plan).ok
    assert (regional(seed), instance.name) == (instance, name)


def test_a_size_below_one_is_refused():
    with pytest.raises(InvalidInputError, match="clusters"):
        regional(0, clusters=0)
