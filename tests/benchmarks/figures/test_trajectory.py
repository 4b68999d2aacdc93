"""The band of the loss: closed form for normal increments, order, and the epochs that show a course."""

import pytest
from scipy import stats

from depl.benchmarks.figures.trajectory import milestones, trajectory
from depl.instances.library import load
from tests.problems import plan

NORMAL = load("paper-alexnet-deadline-normal", 9)
MODELS = ["fast-unsteady"] + ["intermediate"] * 2 + ["slow-steady"] * 3


def plan_of(models):
    return plan(*((model, "A") for model in models), data=("training-data",))


def test_normal_increments_have_normal_quantiles():
    start, *found = trajectory(NORMAL, plan_of(MODELS), range(7))
    assert start == (0, *[pytest.approx(NORMAL.target.initial_loss)] * 3)
    mean, variance = NORMAL.target.initial_loss, 0.0
    for k, name in enumerate(MODELS, start=1):
        improvement = NORMAL.model(name).improvement
        weight, law = improvement.at(k)
        mean -= weight * law.mean
        variance += weight**2 * law.variance
        reach = stats.norm.ppf(0.99) * variance**0.5
        assert found[k - 1] == (k, *(pytest.approx(mean + side * reach, rel=1e-9) for side in (0, -1, 1)))


def test_milestones_hold_both_ends_and_both_sides_of_every_switch():
    assert milestones(plan_of(MODELS), 2) == (0, 1, 2, 3, 4, 6)
    assert milestones(plan_of(["slow-steady"] * 20), 5) == (0, 5, 10, 15, 20)
    assert milestones(plan_of([]), 4) == (0,)
