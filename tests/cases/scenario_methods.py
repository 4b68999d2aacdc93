"""One way to ask the judge and every method that counts scenarios, for the tests that compare them.

``written-out`` is the judge itself (`tests.oracles.brute_force`), so that every oracle is
tried on it, too; the others are whatever is registered with the meaning SCENARIOS.
"""

import math
from dataclasses import dataclass

import pytest

import depl
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.scenarios.draws import Scenarios, allowed_misses, require_fitting
from depl.models.solving.methods import Limits, Meaning, Outcome, find
from depl.models.solving.result import DualBound, Termination
from tests.oracles.brute_force import cheapest_under_scenarios, cost_and_misses

JUDGE = "written-out"
REGISTERED = [method.name for method in depl.methods() if method.meaning is Meaning.SCENARIOS]
every_method = pytest.mark.parametrize("method", [JUDGE, *REGISTERED])


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
    verifier, takes longer than the method.
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
