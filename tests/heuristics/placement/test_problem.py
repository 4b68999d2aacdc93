"""Grouping of epochs, plans that the verifier accepts, rounding, and the paper's mapping."""

import math

import numpy as np
import pytest

import depl
from depl.heuristics.placement.place import place
from depl.heuristics.placement.problem import placement_plan, placement_problem
from depl.instances.generator import random_instance
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import load
from tests.cases.placement_cases import split_pair


def on_the_fastest(problem):
    """Every class on the cluster where it is fastest, which keeps the limits iff anything does."""
    found = np.zeros(problem.dimensions, dtype=np.int64)
    found[np.arange(len(found)), np.argmin(problem.costs.fastest, axis=1)] = problem.counts
    return found


def test_epochs_with_equal_loads_form_a_class(tiny):
    data = {"edge": frozenset({"sensors"}), "cloud": frozenset({"archive", "sensors"})}
    problem = placement_problem(tiny, ["full", "pruned", "full"], data)
    assert problem.counts.tolist() == [2, 1]
    assert problem.classes == ("full", "pruned")
    assert problem.members == ((0, 2), (1,))
    for g, k in ((0, 1), (1, 2)):
        for n, place_name in enumerate(data):
            assert problem.load(g, n) == load(tiny, k, problem.classes[g], place_name, data[place_name])


def test_plans_of_placements_keep_the_time_limits_of_their_instances():
    rng = np.random.default_rng(8)
    feasible = 0
    for _ in range(8):
        instance = random_instance(rng)
        names = [item.name for item in instance.datasets]
        data = {item.name: frozenset(names) for item in instance.clusters}
        model = instance.models[int(rng.integers(len(instance.models)))].name
        models = [model] * int(rng.integers(1, instance.target.maximum_epochs + 1))
        problem = placement_problem(instance, models, data)
        answer = place(problem)
        if not answer.feasible:
            assert math.isinf(problem.evaluate([on_the_fastest(problem)]).costs[0])
            continue
        feasible += 1
        plan = placement_plan(instance, models, data, problem, answer.assignment)
        report = depl.check(instance, plan)
        assert report.cost == pytest.approx(answer.cost, rel=1e-9)
        assert report.training_time <= (instance.target.maximum_time or math.inf) * (1 + 1e-9)
    assert feasible >= 2


@pytest.mark.parametrize("multiplier", [0.0, 0.25, math.inf])
def test_free_computing_takes_all_resources_at_every_price_of_time(multiplier):
    problem = split_pair(10.0).replace(price=np.array([0.0, 9.0]), work=np.array([[1.0, 4.0]]))
    # the priced one: sqrt(lam c / kappa), at most r = 10
    assert problem.resources(multiplier).tolist() == [[100.0, min(math.sqrt(multiplier * 4 / 9), 10.0)]]
    nothing = problem.replace(work=np.zeros((1, 2)), maximum_time=None)
    assert nothing.resources(multiplier).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"counts": np.array([1, 2])}, "shape"),
        ({"counts": np.array([0.5])}, "whole"),
        ({"counts": np.array([0])}, "positive"),
        ({"maximum_time": math.inf}, "finite"),
        ({"price": np.array([1.0, -1.0])}, "nonnegative"),
        ({"capacity": np.array([1.0, 0.0])}, "positive"),
        ({"work": np.array([[1.0, math.nan]])}, "finite"),
        ({"maximum_time": -1.0}, "maximum_time"),
        ({"maximum_time": None, "work": np.array([[0.5, 0.0]])}, "nothing limits time"),
    ],
)
def test_impossible_problems_are_refused(changes, message):
    with pytest.raises(InvalidInputError, match=message):
        split_pair(2.2).replace(**changes)


def test_wrong_names_and_assignments_are_refused(tiny):
    edge = {"edge": frozenset({"sensors"})}
    for models, data, message in (
        (["full"], {}, "name a cluster"),
        (["full"], {"moon": frozenset({"sensors"})}, "no cluster 'moon'"),
        (["huge"], edge, "no model 'huge'"),
        (["full"], {"edge": frozenset({"news"})}, "no dataset 'news'"),
        (["full"], {"edge": frozenset()}, "at least one dataset"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            placement_problem(tiny, models, data)
    with pytest.raises(InvalidInputError, match="placed once"):
        split_pair(2.2).evaluate([np.array([[1, 0]])])
    problem = split_pair(2.2)
    with pytest.raises(InvalidInputError, match="knows no epochs"):
        placement_plan(tiny, ["full"], edge, problem, np.array([[2, 0]]))
