"""The first plan is the cheapest on one cluster and subset with at most one switch, found among all plans."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from depl.instances.generator import random_instances
from depl.models.exact.sampled import SampledProblem
from depl.models.programs import start
from depl.models.programs.attainable import attainable
from depl.models.programs.start import first_plan
from depl.models.scenarios.draws import draw_scenarios
from tests.cases.sampled_plans import cost, meets_all, sequences


@pytest.fixture(scope="module")
def problems():
    """Every other one may begin with a switch; switches lose or gain the more, the later they are."""
    drawn = random_instances(
        np.random.default_rng(11), 60, models=(2, 3), clusters=(1, 2), datasets=(1, 2), maximum_epochs=(3, 3)
    )
    drawn = [item.replace(initial_model="m2") if seed % 2 else item for seed, item in enumerate(drawn)]
    samples = [draw_scenarios(item, 10, seed) for seed, item in enumerate(drawn)]
    for seed, sample in enumerate(samples):
        factors = (3.0, 3.0, -3.0, -3.0)[seed % 4] * np.array([1.0, 0.1, 4.0])[:, None, None]
        samples[seed] = dataclasses.replace(sample, switch_losses=factors * sample.switch_losses)
    return [SampledProblem(*pair) for pair in zip(drawn, samples, strict=True)]


def switches(choices):
    """Changes of the model after the first epoch."""
    return sum(first.model != second.model for first, second in itertools.pairwise(choices))


def found_in(problem):
    bounds = attainable(problem)
    if not bounds.possible:
        return None
    return first_plan(problem, bounds, lambda choices: cost(problem, tuple(choices)), lambda: True)


def test_no_plan_with_at_most_one_switch_on_one_cluster_is_cheaper(problems):
    later, early, edge = 0, 0, 0
    for problem in problems:
        if problem.misses([]) <= problem.allowed:
            continue
        simple = [
            row
            for row in sequences(problem)
            if len({(g.cluster, g.datasets) for g in row}) == 1
            and switches(row) <= 1
            and meets_all(problem, row)
        ]
        least = min((cost(problem, row) for row in simple), default=math.inf)
        found = found_in(problem)
        if found is None:
            assert least == math.inf
            continue
        assert tuple(found) in simple
        assert cost(problem, tuple(found)) == pytest.approx(least, rel=1e-12)
        later += switches(found)
        early += len(found) > 1 and found[0].model != found[1].model
        edge += problem.misses(found) == problem.allowed
    assert min(later, early, edge) > 0


def test_where_there_are_very_many_plans_those_with_a_switch_are_left_out(problems, monkeypatch):
    switching = [problem for problem in problems if (found := found_in(problem)) and switches(found)]
    monkeypatch.setattr(start, "_LARGEST", 0)
    for problem in switching:
        found = found_in(problem)
        assert found is None or switches(found) == 0


def test_the_search_for_a_first_plan_ends_when_it_is_told_to(problems):
    problem = next(item for item in problems if found_in(item))
    assert first_plan(problem, attainable(problem), lambda _: 1.0, lambda: False) is None
