"""Exact methods under rules of the sites: against all plans written out, against each other, by parts."""

import functools
import math

import msgspec
import numpy as np
import pytest

import depl
from depl.instances.generator import random_instance
from depl.instances.tiny_sampled import tiny_sampled
from depl.models.evaluation.evaluate import evaluate
from depl.models.exact.listing import enumerate_plans
from depl.models.exact.root_bounds import root_bound
from depl.models.exact.sampled import SampledProblem
from depl.models.problem.instance import Instance
from depl.models.solving.methods import Limits, find
from depl.models.solving.result import Termination
from depl.models.verifier.dual import dual_bound
from depl.models.verifier.scenarios import given_sample
from tests.cases.memory_search_cases import drawn
from tests.cases.scenario_methods import proven
from tests.cases.site_cases import keeps_rules, with_rules
from tests.oracles.brute_force import cheapest_by_brute_force, cheapest_of_every_plan_under_scenarios

_LAWS, _SAMPLES = 60, 40
_LAWS_AT_ONCE, _SAMPLES_AT_ONCE = 16, 12
"""How many of them the default tests compare; `make slow` compares the others, too."""


def all_of(count, at_once):
    """Numbers of draws; those after the first ones are slow."""
    slow = (pytest.param(number, marks=pytest.mark.slow) for number in range(at_once, count))
    return [*range(at_once), *slow]


@functools.cache
def under_law(number: int) -> Instance:
    """One of the drawn instances; every seventh meets its target before it trains."""
    draw, rng = np.random.default_rng([31, number]), np.random.default_rng([32, number])
    many = 1 + number % 2
    found = random_instance(
        draw, models=(2, 3), clusters=(many, many), datasets=(1, 2), maximum_epochs=(2, 3)
    )
    if number % 7 == 0:
        found = found.replace(maximum_loss=found.target.initial_loss + 0.01)
    return with_rules(rng, found)


@functools.cache
def on_scenarios():
    items = tiny_sampled(np.random.default_rng(20260314), _SAMPLES)
    return [
        (with_rules(np.random.default_rng([33, place]), item.instance), item.scenarios)
        for place, item in enumerate(items)
    ]


def proved(instance, method):
    """Cost of the cheapest plan, infinite if it is proved that there is none; the plan keeps the rules.

    The method is run by itself: a plan that the verifier refuses is none that another method finds, too.
    """
    found = find(method).run(instance, Limits())
    assert found.termination in (Termination.OPTIMAL, Termination.INFEASIBLE)
    if found.plan is None:
        assert found.reason
        return math.inf
    assert keeps_rules(instance, found.plan)
    return evaluate(instance, found.plan, quantile=False, probability=False).cost


@functools.cache
def accepted_under_law(number, method):
    """The same of a drawn instance by `depl.solve`, which takes the plan through the verifier."""
    found = depl.solve(under_law(number), method)
    assert found.plan is None or keeps_rules(under_law(number), found.plan)
    assert found.termination is (Termination.INFEASIBLE if found.plan is None else Termination.OPTIMAL)
    return math.inf if found.plan is None else found.cost


@functools.cache
def on_scenarios_by(place, method):
    """Cost of the cheapest plan, which is priced and counted again by code that no method uses."""
    instance, scenarios = on_scenarios()[place]
    found = proven(method, instance, scenarios)
    assert found.plan is None or keeps_rules(instance, found.plan)
    return found.cost


def same(one, other):
    return one == other or math.isclose(one, other, rel_tol=1e-8, abs_tol=1e-12)


@pytest.mark.parametrize("number", all_of(_LAWS, _LAWS_AT_ONCE))
def test_enumeration_and_exact_search_agree_under_the_law(number):
    instance = under_law(number)
    assert same(proved(instance, "enumerate"), proved(instance, "exact"))


@pytest.mark.parametrize("number", all_of(16, 10))
def test_they_find_the_cheapest_of_all_plans_that_keep_the_rules(number):
    instance = under_law(number)
    met, possible = cheapest_by_brute_force(instance, rule=keeps_rules)
    assert met == possible
    assert same(accepted_under_law(number, "enumerate"), met)
    assert same(accepted_under_law(number, "exact"), met)


@pytest.mark.parametrize("place", all_of(_SAMPLES, _SAMPLES_AT_ONCE))
def test_all_methods_agree_on_scenarios(place):
    assert same(on_scenarios_by(place, "scenario-search"), on_scenarios_by(place, "milp"))


@pytest.mark.parametrize("place", all_of(12, 8))
def test_they_find_the_cheapest_of_all_plans_on_scenarios(place):
    instance, scenarios = on_scenarios()[place]
    given = scenarios.improvements, scenarios.switch_losses, scenarios.decimals
    cheapest = cheapest_of_every_plan_under_scenarios(instance, *given, rule=keeps_rules)
    assert same(on_scenarios_by(place, "scenario-search"), cheapest)


@pytest.mark.parametrize("place", all_of(_SAMPLES, 16))
def test_root_bounds_are_those_of_the_verifier_at_any_prices(place):
    instance, scenarios = on_scenarios()[place]
    problem, rng = SampledProblem(instance, scenarios), np.random.default_rng(place)
    sample = given_sample((scenarios.improvements, scenarios.switch_losses), scenarios.decimals)
    timed = instance.target.maximum_time is not None
    if not any(problem.open_subsets):
        return
    for _ in range(3):
        prices = float(rng.lognormal()) * timed, float(rng.lognormal(2))
        bound = root_bound(problem, *prices)
        low, high = (
            dual_bound(instance, sample, problem.allowed, *prices, cautious=side) for side in (True, False)
        )
        assert low * (1 - 1e-9) - 1e-9 <= bound <= high * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("memory", [1.0, 3.0, None])
@pytest.mark.parametrize("deployable", [("full",), None])
def test_a_cluster_that_holds_fewer_models_replaces_none_that_holds_more(tiny, memory, deployable):
    """It is better in all else, and comes first or last; the only data cost nothing to move."""
    archive, _ = tiny.datasets
    edge = tiny.clusters[1]
    better = msgspec.structs.replace(edge, name="better", capacity=9.0, unit_cost=0.5, memory=memory)
    full, pruned = tiny.models
    for clusters in ((better, edge), (edge, better)):
        instance = tiny.replace(
            clusters=clusters,
            datasets=(archive,),
            transfers=(),
            models=(msgspec.structs.replace(full, memory=2.0), pruned),
            maximum_loss=9.0,
            deployable=deployable,
        )
        met, _ = cheapest_by_brute_force(instance, rule=keeps_rules)
        assert math.isfinite(met)
        assert same(proved(instance, "enumerate"), met)
        assert same(proved(instance, "exact"), met)


@pytest.mark.parametrize("seed", range(0, 12, 2))
def test_schedules_of_a_traced_law_keep_the_rules(seed):
    """By parts: of those that end with each model the cheapest is cheapest; so it is without a cluster."""
    case = drawn(seed)
    limits = Limits()
    best = _cost(enumerate_plans(case.instance, limits))
    names = [model.name for model in case.instance.models]
    ends = [enumerate_plans(case.instance.replace(deployable=(name,)), limits) for name in names]
    assert same(min(map(_cost, ends)), best)
    for name, found in zip(names, ends, strict=True):
        assert found.plan is None or not found.plan.epochs or found.plan.epochs[-1].model == name
    for place in case.instance.clusters:
        ruled = case.instance.replace(
            datasets=tuple(
                msgspec.structs.replace(item, clusters=(place.name,)) for item in case.instance.datasets
            ),
            transfers=tuple(row for row in case.instance.transfers if row.cluster == place.name),
        )
        found = enumerate_plans(ruled, limits)
        assert _cost(found) >= best * (1 - 1e-9)
        if found.plan is not None:
            assert {epoch.cluster for epoch in found.plan.epochs} <= {place.name}


def _cost(outcome):
    return math.inf if outcome.plan is None else outcome.lower_bound
