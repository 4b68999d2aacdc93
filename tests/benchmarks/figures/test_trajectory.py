"""The band of the loss: closed form for normal increments, order, and the epochs that show a course."""

from fractions import Fraction

import pytest
from scipy import stats

from depl.benchmarks.figures.trajectory import milestones, trajectory
from depl.instances.library import load
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch

NORMAL = load("paper-alexnet-deadline-normal", 9)
MODELS = ["fast-unsteady"] + ["intermediate"] * 2 + ["slow-steady"] * 3


def plan_of(models):
    data = (ClusterData(cluster="A", datasets=("training-data",)),) if models else ()
    return Plan(data=data, epochs=tuple(PlannedEpoch(model=m, cluster="A", resources=1) for m in models))


def test_normal_increments_have_normal_quantiles():
    found = trajectory(NORMAL, plan_of(MODELS))
    mean, variance = NORMAL.target.initial_loss, 0.0
    for k, name in enumerate(MODELS, start=1):
        improvement = NORMAL.model(name).improvement
        weight, law = improvement.at(k)
        mean -= weight * law.mean
        variance += weight**2 * law.variance
        reach = stats.norm.ppf(0.99) * variance**0.5
        assert found.mean[k] == pytest.approx(mean)
        assert found.lower[k].middle == pytest.approx(mean - reach, rel=1e-9)
        assert found.upper[k].middle == pytest.approx(mean + reach, rel=1e-9)


def test_a_wider_band_contains_a_narrower_one_for_heavy_tails():
    instance = load("paper-alexnet-deadline", 9)
    narrow = trajectory(instance, plan_of(MODELS), Fraction(1, 10), epochs=(2, 6))
    wide = trajectory(instance, plan_of(MODELS), Fraction(1, 100), epochs=(2, 6))
    assert narrow.epochs == wide.epochs == (2, 6)
    for index in range(2):
        assert wide.lower[index].upper < narrow.lower[index].lower < narrow.mean[index]
        assert narrow.mean[index] < narrow.upper[index].upper < wide.upper[index].lower


def test_milestones_hold_both_ends_and_both_sides_of_every_switch():
    assert milestones(plan_of(MODELS), 2) == (0, 1, 2, 3, 4, 6)
    assert milestones(plan_of(["slow-steady"] * 20), 5) == (0, 5, 10, 15, 20)
    assert milestones(plan_of([]), 4) == (0,)
