"""Enumeration, both programs and the search agree on random tiny instances; limits keep their promises."""

import math

import numpy as np
import pytest

import depl
from depl.instances.paper_like import paper_like
from depl.instances.tiny_sampled import tiny_sampled
from depl.models.solving.result import Solution, Termination
from tests.cases.scenario_methods import accepted, every_registered_method, judged, proven

ENDINGS = (Termination.TIME_LIMIT, Termination.OPTIMAL, Termination.INFEASIBLE)


def drawn_and_judged(count):
    """Instances with what the judge says of them; every second has two clusters or two datasets."""
    items = tiny_sampled(np.random.default_rng(20260314), count)
    return [(item.instance, item.scenarios, judged(item.instance, item.scenarios).cost) for item in items]


@pytest.fixture(scope="module", params=[5, pytest.param(8, marks=pytest.mark.slow)])
def family(request):
    return drawn_and_judged(request.param)


@pytest.fixture(scope="module")
def eight_epochs():
    """Eight epochs of the paper's kind, and what the judge says: 9840 plans."""
    item = paper_like(np.random.default_rng(8), maximum_epochs=8, scenarios=50)
    return item.instance, item.scenarios, judged(item.instance, item.scenarios).cost


def disagreements(method, family):
    """What a method and the judge say where they differ by more than 1e-9 of the cost.

    Every second instance goes through the verifier, too.
    """
    said = [
        (instance, cost, (accepted, proven)[place % 2](method, instance, scenarios).cost)
        for place, (instance, scenarios, cost) in enumerate(family)
    ]
    return [
        f"{instance.name}: {method} says {found!r}, all plans written out say {cost!r}"
        for instance, cost, found in said
        if not (found == cost or math.isclose(found, cost, rel_tol=1e-9))
    ]


@every_registered_method
def test_every_method_agrees_with_all_plans_written_out(method, family):
    assert not disagreements(method, family)


@pytest.mark.slow
@every_registered_method
def test_every_method_agrees_with_all_plans_written_out_on_200_instances(method):
    assert not disagreements(method, drawn_and_judged(200))


@every_registered_method
def test_without_time_a_method_says_so_and_its_bound_is_true(method, family):
    open_ones = [row for row in family if row[2] > 0][:6]
    for instance, scenarios, cost in open_ones:
        result = depl.solve(instance, method, scenarios=scenarios, time_limit=1e-9)
        assert result.termination is Termination.TIME_LIMIT
        assert result.lower_bound <= cost * (1 + 1e-9)
        assert result.solution in (Solution.FEASIBLE, Solution.NONE)
        assert result.cost is None or result.cost >= cost * (1 - 1e-9)


@every_registered_method
@pytest.mark.parametrize("seconds", [0.02, 0.2])
def test_with_little_time_a_method_keeps_it_and_its_bound_is_true(method, seconds, eight_epochs):
    """There are too many plans for a program in this time."""
    instance, scenarios, cost = eight_epochs
    assert 0 < cost < math.inf
    result = depl.solve(instance, method, scenarios=scenarios, time_limit=seconds)
    assert result.termination in ENDINGS
    assert result.lower_bound <= cost * (1 + 1e-9)
    assert result.cost is None or result.cost >= cost * (1 - 1e-9)
    assert result.wall_seconds < seconds + 30
