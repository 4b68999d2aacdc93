"""The most certain sequences: the lowest quantile that the time limits leave, and plans nobody else found."""

import math

import msgspec
import numpy as np
import pytest
from scipy import special

from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.requirement import calibrated_requirement, largest_variance
from depl.heuristics.data.sites import DataFactors, Sites, listed_sites
from depl.heuristics.depl.data_stage import DataStage
from depl.heuristics.depl.labels import Judge
from depl.heuristics.depl.models import ModelStage, most_certain
from depl.models.problem.laws import Normal, Zero
from depl.models.solving.limits import Limits
from depl.models.verifier.verify import verify
from tests.cases.loop_cases import dual_of, moments, plain
from tests.oracles.brute_force import every_plan
from tests.problems import drawn, gain, model


def searched(instance, limits=None):
    learning, factors, judge = Learning.of(instance), DataFactors(instance), Judge(instance)
    stage = ModelStage(instance, learning, factors, judge, limits or Limits())
    sites = Sites.of(instance, listed_sites(instance), factors)
    dual = dual_of(instance, learning, sites)
    largest = largest_variance(*learning.with_stand_ins())
    requirement = calibrated_requirement(instance, 0.0, math.sqrt(largest) / 2, largest)
    data = DataStage(sites, dual, instance.target.maximum_epochs, requirement)
    reference = judge.guess(math.sqrt(largest) / 2)
    found, quantile, _ = most_certain(stage, dual, data, reference)
    return stage, found, quantile


def test_the_lowest_quantile_of_random_instances_is_nearly_found():
    """Against all plans, with normal laws: the quantile is the mean and z standard deviations."""
    sizes = {"models": (1, 3), "clusters": (1, 2), "datasets": (1, 2), "maximum_epochs": (1, 3)}
    misses = []
    for instance in drawn([6, 14], 8, **sizes):
        hopeless = with_normal_laws(instance).replace(maximum_loss=-1e3)
        _, found, quantile = searched(hopeless)
        assert found is None
        score = float(special.ndtri(hopeless.target.quantile_level))
        pairs = [moments(hopeless, plan) for _, plan in every_plan(hopeless)]
        gain = max((mean - score * math.sqrt(variance) for mean, variance in pairs), default=-math.inf)
        assert math.isfinite(gain) == math.isfinite(quantile)
        if math.isfinite(gain):
            misses.append((quantile - hopeless.target.initial_loss + gain) / abs(gain))
    assert len(misses) > 4
    assert np.median(misses) < 0.02
    assert max(misses) < 0.35


def with_normal_laws(instance):
    models = []
    for item in instance.models:
        mean, variance = item.improvement.at(1)[1].moments()
        noise = Normal(mean=mean, variance=min(max(variance, 1e-3), mean**2))
        models.append(msgspec.structs.replace(item, improvement=gain(noise)))
    return instance.replace(models=tuple(models), switches=(), other_switches=Zero())


def test_a_plan_that_only_the_most_certain_sequence_is_meets_the_target():
    """Eight steady epochs and hardly any slack: mean 2, quantile 2.36; target 2.4."""
    base = plain(target=2.4, epochs=8, maximum_time=11.0)
    instance = base.replace(models=(model("net", Normal(mean=1, variance=0.01), 8, 0.5),))
    stage, found, quantile = searched(instance)
    plan = stage.plan(found)
    assert verify(instance, plan).ok
    assert len(plan.epochs) == 8
    assert quantile <= 2.4


def test_of_sequences_that_take_too_long_the_beginning_is_tried(bell):
    """Three epochs take 3.9 at least; two in 3.89 have the quantile 6 + z sqrt(2)."""
    for instance, limits, known in (
        (bell.replace(maximum_time=3.89, maximum_loss=0), None, 6 + float(special.ndtri(0.9)) * math.sqrt(2)),
        (plain(maximum_time=1.0), None, math.inf),
        (bell, Limits(time_limit=1e-9), math.inf),
    ):
        _, found, quantile = searched(instance, limits)
        assert found is None
        assert quantile == pytest.approx(known, rel=0.01)
