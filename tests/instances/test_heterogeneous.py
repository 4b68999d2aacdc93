"""Heterogeneous instances have the trade-offs that they promise, the size asked for, and a feasible plan."""

import math

import numpy as np
import pytest

from depl.instances.heterogeneous import heterogeneous_instance, heterogeneous_instance_with_plan
from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import loss_step
from depl.models.problem.instance import Instance
from depl.models.verifier.verify import verify

SIZES = {"clusters": 60, "datasets": 40, "models": 8, "maximum_epochs": 60}
MIDDLE = SIZES["maximum_epochs"] // 2


@pytest.fixture(scope="module")
def sample():
    """Instances with their plans."""
    rng = np.random.default_rng(2402)
    return [heterogeneous_instance_with_plan(rng, **SIZES) for _ in range(8)]


def everything(instance):
    return frozenset(item.name for item in instance.datasets)


def falls(values):
    """Whether the ranks of values mostly fall."""
    ranks = np.argsort(np.argsort(values))
    return float(np.corrcoef(np.arange(len(ranks)), ranks)[0, 1]) < -0.6


def gain(instance, epoch, model):
    """By how much an epoch lowers the loss, as a coefficient of its noise."""
    return -loss_step(instance, epoch, 0, None, model, everything(instance)).terms[0].coefficient


def test_models_go_from_fast_unsteady_and_large_to_slow_steady_and_small(sample):
    """And one epoch of the first gains far more than one of the last: a limit on epochs asks for it."""
    for instance, _ in sample:
        gains, deviations, decays = [], [], []
        for model in instance.models:
            (term,) = loss_step(instance, MIDDLE, 0, None, model.name, everything(instance)).terms
            moments = term.law.moments()
            gains.append(-term.coefficient * moments.mean)
            deviations.append(math.sqrt(moments.variance) / moments.mean)
            decays.append(-term.coefficient / gain(instance, 2 * MIDDLE, model.name))
        sizes, demands = zip(*((model.size, model.demand) for model in instance.models), strict=True)
        assert all(falls(values) for values in (gains, deviations, decays, sizes, demands))
        first, *_, last = (gain(instance, MIDDLE, model.name) for model in instance.models)
        assert first > 1.5 * last


def test_the_reference_plan_keeps_every_constraint_and_uses_most_of_the_limits(sample):
    for instance, plan in sample[::4]:
        found, target = evaluate(instance, plan), instance.target
        assert found.feasible
        assert verify(instance, plan, most_plans=0).ok
        assert found.training_time > (1 - 1e-4) * target.maximum_time
        reached = target.initial_loss - target.maximum_loss
        assert 0 <= target.maximum_loss - found.quantile.upper < 2e-3 * reached


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (1, 3, 2, 4), (7, 1, 1, 25), (25, 40, 12, 9)])
def test_sizes_are_exactly_those_asked_for_and_the_smallest_ones_have_a_plan_too(sizes):
    for number in range(2):
        rng = np.random.default_rng([number, *sizes])
        instance, plan = heterogeneous_instance_with_plan(rng, **dict(zip(SIZES, sizes, strict=True)))
        assert (len(instance.clusters), len(instance.datasets), len(instance.models)) == sizes[:3]
        assert instance.target.maximum_epochs == sizes[3]
        assert evaluate(instance, plan).feasible
        assert instance.target.maximum_loss < instance.target.initial_loss


@pytest.mark.parametrize("name", SIZES)
def test_a_size_below_one_is_refused_by_name(name):
    with pytest.raises(InvalidInputError, match=f"{name}: must be at least 1, not 0"):
        heterogeneous_instance(np.random.default_rng(0), **{name: 0})


def test_equal_seeds_give_the_instances_that_records_were_made_with_whose_names_tell_their_content(sample):
    rng = np.random.default_rng(2402)
    assert [heterogeneous_instance(rng, **SIZES) for _ in range(2)] == [
        instance for instance, _ in sample[:2]
    ]
    assert [instance.name[-8:] for instance, _ in sample[:3]] == ["97993540", "b5174817", "217bdaef"]
    assert len({instance.fingerprint for instance, _ in sample}) == len(sample)
    for instance, plan in sample[:3]:
        again = Instance.from_json(instance.to_json())
        assert again == instance
        assert again.name == f"heterogeneous-{again.fingerprint[:8]}"
        assert plan.instance == again.fingerprint
