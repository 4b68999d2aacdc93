"""One way to ask the judge and every method that counts scenarios, for the tests that compare them.

``written-out`` is the judge itself (`tests.oracles.scenario_enumeration`), so that every oracle is
tried on it, too; the others are whatever is registered with the meaning SCENARIOS.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
import pytest

import depl
from depl.instances.tiny_sampled import tiny_sampled
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import Scenarios, allowed_misses, require_fitting
from depl.models.solving.methods import Limits, Meaning, Outcome, find
from depl.models.solving.result import DualBound, Solution, Termination
from tests.oracles.scenario_enumeration import cheapest_under_scenarios, cost_and_misses

JUDGE = "written-out"
REGISTERED = [method.name for method in depl.methods() if method.meaning is Meaning.SCENARIOS]
every_method = pytest.mark.parametrize("method", [JUDGE, *REGISTERED])
every_registered_method = pytest.mark.parametrize("method", REGISTERED)
two_or_four = pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
"""How many of `four_instances` a relation is asked on: by default the plain one and the one with both."""


@dataclass(frozen=True)
class Answer:
    """A proven optimum, or a proof that there is none: infinite cost and no plan."""

    cost: float
    plan: Plan | None

    @property
    def models(self) -> list[str]:
        assert self.plan is not None
        return [epoch.model for epoch in self.plan.epochs]


def judged(instance: Instance, scenarios: Scenarios) -> Answer:
    """What the judge says."""
    given = scenarios.improvements, scenarios.switch_losses, scenarios.decimals
    return Answer(*cheapest_under_scenarios(instance, *given))


def proven(method: str, instance: Instance, scenarios: Scenarios) -> Answer:
    """What a method proves; its plan is priced and counted again by code that no solver uses.

    The method is run by itself: what `depl.solve` adds, the numbers under the law and the verdict of the
    verifier, takes longer than the method. `accepted` asks for that, too.
    """
    if method == JUDGE:
        return judged(instance, scenarios)
    require_fitting(instance, scenarios)
    outcome = find(method).run(instance, Limits(scenarios=scenarios))
    assert isinstance(outcome, Outcome)
    if outcome.termination is Termination.INFEASIBLE:
        assert outcome.plan is None
        assert outcome.reason
        return Answer(math.inf, None)
    assert outcome.termination is Termination.OPTIMAL
    return _counted_again(outcome.plan, outcome.lower_bound, outcome.dual, instance, scenarios)


def accepted(method: str, instance: Instance, scenarios: Scenarios) -> Answer:
    """What a method proves, once `depl.solve` has taken it through the verifier."""
    if method == JUDGE:
        return judged(instance, scenarios)
    result = depl.solve(instance, method, scenarios=scenarios)
    if result.termination is Termination.INFEASIBLE:
        assert result.solution is Solution.NONE
        assert (result.plan, result.cost, result.lower_bound) == (None, None, math.inf)
        assert result.reason
        return Answer(math.inf, None)
    assert result.termination is Termination.OPTIMAL
    assert result.solution is Solution.PROVEN_OPTIMAL
    answer = _counted_again(result.plan, result.lower_bound, result.dual, instance, scenarios)
    assert answer.cost == pytest.approx(result.cost, rel=1e-12)
    return answer


def _counted_again(
    plan: Plan | None, bound: float, dual: DualBound | None, instance: Instance, scenarios: Scenarios
) -> Answer:
    """A plan said to be optimal, with its cost; it keeps the limits, and the bounds are those of a proof."""
    assert plan is not None
    cost, misses = cost_and_misses(
        instance, plan, scenarios.improvements, scenarios.switch_losses, scenarios.decimals
    )
    assert misses <= allowed_misses(instance, len(scenarios))
    assert bound == pytest.approx(cost, rel=1e-9)
    assert dual is None or dual.bound <= cost * (1 + 1e-9)
    return Answer(cost, plan)


@functools.cache
def four_instances() -> tuple[tuple[Instance, Scenarios], ...]:
    """A plain tiny instance, one with two clusters and two datasets, and one with either; no cost is 0.

    The samples are given as numbers of the user's own: no seed would draw them again for a changed instance.
    """
    found: dict[tuple[int, int], tuple[Instance, Scenarios]] = {}
    for item in tiny_sampled(np.random.default_rng(77), 80):
        instance, drawn = item.instance, item.scenarios
        shape = len(instance.clusters), len(instance.datasets)
        plain = drawn.decimals is None and len(instance.models) > 1
        if plain and shape not in found and 0 < judged(instance, drawn).cost < math.inf:
            found[shape] = instance, Scenarios(drawn.improvements, drawn.switch_losses)
        if len(found) == 4:
            break
    assert sorted(found) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    return tuple(found[shape] for shape in ((1, 1), (2, 2), (1, 2), (2, 1)))


def solved(method: str, count: int) -> list[tuple[Instance, Scenarios, float]]:
    """The first of `four_instances`, each with the optimum that the method proves of it as it is."""
    return [(*four_instances()[place], _cost_as_it_is(method, place)) for place in range(count)]


@functools.cache
def _cost_as_it_is(method: str, place: int) -> float:
    return proven(method, *four_instances()[place]).cost
