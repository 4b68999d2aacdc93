"""Exact methods under rules of the sites: against all plans written out, against each other, by parts."""

import math

import msgspec
import numpy as np
import pytest

from depl.models.evaluation.evaluate import evaluate
from depl.models.exact.assignments import assignments, few_assignments
from depl.models.exact.listing import enumerate_plans
from depl.models.exact.root_bounds import root_bound
from depl.models.exact.sampled import SampledProblem
from depl.models.solving.limits import Limits
from depl.models.solving.methods import Meaning, find
from depl.models.solving.result import Termination
from depl.models.verifier.dual import dual_bound
from depl.models.verifier.scenarios import given_sample
from depl.testing import problems
from tests.cases.memory_search_cases import drawn
from tests.cases.site_cases import keeps_rules
from tests.oracles.brute_force import cheapest_by_brute_force


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


def same(one, other):
    return one == other or math.isclose(one, other, rel_tol=1e-8, abs_tol=1e-12)


def test_root_bounds_are_those_of_the_verifier_at_any_prices():
    rng = np.random.default_rng(1)
    for one in problems(40, 314, meaning=Meaning.SCENARIOS):
        instance, scenarios = one.instance, one.scenarios
        problem, timed = SampledProblem(instance, scenarios), instance.target.maximum_time is not None
        sample = given_sample((scenarios.improvements, scenarios.switch_losses), scenarios.decimals)
        given = instance, sample, problem.allowed
        assert few_assignments(problem) == (len(list(assignments(problem))) <= 4096)
        for _ in range(3 if any(problem.open_subsets) else 0):
            prices = float(rng.lognormal()) * timed, float(rng.lognormal(2))
            low, high = (dual_bound(*given, *prices, cautious=side) for side in (True, False))
            assert low * (1 - 1e-9) - 1e-9 <= root_bound(problem, *prices) <= high * (1 + 1e-9) + 1e-9


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
