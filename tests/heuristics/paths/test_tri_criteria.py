"""The schemes that relax time and cost but keep the loss."""

import dataclasses
import math

import numpy as np
import pytest

from depl.heuristics.paths import tri_criteria
from depl.heuristics.paths.additive_problem import AdditiveProblem, additive_problem
from depl.heuristics.paths.readings import Clock
from depl.heuristics.paths.tri_criteria import least_cost_relaxed, least_weight_relaxed
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import load
from depl.models.problem.instance import Cluster, Dataset, Instance, Model, Target
from depl.models.problem.laws import Deterministic, Zero
from depl.models.problem.learning import ConstantImprovement
from tests.cases.additive_cases import all_paths, brute_force, random_problem

SEEDS = range(60)


def problem_of(seed: int) -> AdditiveProblem:
    rng = np.random.default_rng(seed)
    return random_problem(rng, int(rng.integers(1, 6)), int(rng.integers(1, 4)), timed=seed % 3 > 0)


@pytest.mark.parametrize("eps", [1.0, 0.3, 0.05])
def test_the_scheme_keeps_the_loss_and_exceeds_time_and_cost_by_at_most_eps(eps):
    compared = 0
    for seed in SEEDS:
        problem = problem_of(seed)
        best, found = brute_force(problem), least_weight_relaxed(problem, eps)
        if found is None:
            assert best == math.inf
            continue
        weight, time, loss = problem.totals(found.path.models)
        assert loss <= problem.maximum_loss + 1e-9
        assert time <= (1 + eps) * problem.maximum_time * (1 + 1e-9)
        assert found.value == weight
        if math.isfinite(best):
            compared += 1
            assert weight <= (1 + eps) * best * (1 + 1e-9)
            assert found.lower_bound <= best * (1 + 1e-9)
    assert compared >= 20


def cheapest_cost(problem: AdditiveProblem) -> float:
    """Least S**2 / (T - V) over all paths that keep the loss."""
    costs = []
    for path in all_paths(problem):
        weight, time, loss = problem.totals(path)
        if loss <= problem.maximum_loss + 1e-9 and time < problem.maximum_time:
            costs.append(weight**2 / (problem.maximum_time - time))
    return min(costs, default=math.inf)


@pytest.mark.parametrize("eps", [1.0, 0.3, 0.05])
def test_with_resources_optimised_the_cost_is_within_the_square(eps):
    compared = 0
    for seed in (seed for seed in SEEDS if seed % 3):
        problem = problem_of(seed)
        best, found = cheapest_cost(problem), least_cost_relaxed(problem, eps)
        if found is None:
            assert best == math.inf
            continue
        assert problem.totals(found.path.models)[2] <= problem.maximum_loss + 1e-9
        if math.isfinite(best):
            compared += 1
            assert found.value <= (1 + eps) ** 2 * best * (1 + 1e-9)
            assert found.lower_bound <= best * (1 + 1e-9)
    assert compared >= 15


def two_models() -> Instance:
    """Gains 3 and 2 for work 9 and 4, communication 0.5 and 0.25; nothing clips."""
    models = [
        Model(
            name=name, size=size, demand=work, improvement=ConstantImprovement(noise=Deterministic(value=g))
        )
        for name, size, work, g in (("fast", 0.5, 9.0, 3.0), ("slow", 0.25, 4.0, 2.0))
    ]
    return Instance(
        name="two-models",
        clusters=(Cluster(name="site", capacity=1e6, bandwidth=1, unit_cost=1),),
        datasets=(Dataset(name="data", volume=1),),
        models=tuple(models),
        target=Target(
            initial_loss=10, maximum_loss=3, quantile_level=0.9, maximum_epochs=5, maximum_time=4.0
        ),
        other_switches=Zero(),
    )


def test_the_cost_of_the_pair_is_what_the_allocation_charges():
    instance = two_models()
    problem = additive_problem(instance, frozenset({"data"}), "site", clock=Clock.COMMUNICATION)
    found = least_cost_relaxed(problem, 0.1)
    names = problem.names(found.path.models)
    loads = [load(instance, k, name, "site", frozenset({"data"})) for k, name in enumerate(names, start=1)]
    assert allocate(loads, 1.1 * 4.0, None).cost == pytest.approx(found.value, rel=1e-9)
    # a drop of 7: fast, slow, slow has S = 7 and V = 1; fast, fast, slow S = 8, V = 1.25; four slow S = 8
    assert cheapest_cost(problem) == pytest.approx(49 / 3)
    assert sorted(names) == ["fast", "slow", "slow"]


def test_epochs_that_cost_nothing_are_found_as_such():
    problem = problem_of(4)
    free = dataclasses.replace(problem, weights=np.zeros_like(problem.weights))
    assert least_weight_relaxed(free, 0.5).value == 0
    assert least_cost_relaxed(free, 0.5).value == 0
    met = problem.within(problem.maximum_time, 50.0)
    assert least_weight_relaxed(met, 0.5).path.models == ()


@pytest.mark.parametrize("eps", [0.0, -1.0, 1.5, math.nan])
def test_an_accuracy_out_of_range_is_refused(eps):
    for scheme in (least_weight_relaxed, least_cost_relaxed):
        with pytest.raises(InvalidInputError, match="between 0 and 1"):
            scheme(problem_of(4), eps)


def test_what_the_schemes_do_not_cover_is_refused(monkeypatch):
    problem = problem_of(4)
    with pytest.raises(InvalidInputError, match="needs a T_max"):
        least_cost_relaxed(problem.within(math.inf, 1.0), 0.5)
    monkeypatch.setattr(tri_criteria, "MOST_BUCKETS", 10)
    with pytest.raises(NotCoveredError, match="too many buckets"):
        least_weight_relaxed(problem, 0.01)
