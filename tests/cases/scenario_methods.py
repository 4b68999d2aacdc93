"""One way to ask the oracle and every method that counts scenarios, for the tests that compare them.

``written-out`` is the oracle itself (`tests.oracles.brute_force`), so that every case is tried on it,
too; the others are whatever is registered with the meaning SCENARIOS.
"""

import math

import pytest

import depl
from depl.models.scenarios.draws import allowed_misses
from depl.models.solving.limits import Limits
from depl.models.solving.methods import Meaning, find
from depl.models.solving.result import Outcome, Termination
from tests.oracles.brute_force import cheapest_under_scenarios, cost_and_misses

JUDGE = "written-out"
REGISTERED = [method.name for method in depl.methods() if method.meaning is Meaning.SCENARIOS]
every_method = pytest.mark.parametrize("method", [JUDGE, *REGISTERED])


def proven(method, instance, scenarios):
    """The proven optimum, infinite if there is none; plans are priced by code that no solver uses.

    The method is run by itself: what `depl.solve` adds, the numbers under the law and the verdict of the
    verifier, takes longer than the method.
    """
    given = scenarios.improvements, scenarios.switch_losses, scenarios.decimals
    if method == JUDGE:
        return cheapest_under_scenarios(instance, *given)
    outcome = find(method).run(instance, Limits(scenarios=scenarios))
    assert isinstance(outcome, Outcome)
    if outcome.plan is None:
        assert outcome.termination is Termination.INFEASIBLE
        assert outcome.reason
        return math.inf, None
    assert outcome.termination is Termination.OPTIMAL
    cost, misses = cost_and_misses(instance, outcome.plan, *given)
    assert misses <= allowed_misses(instance, len(scenarios))
    assert outcome.lower_bound == pytest.approx(cost, rel=1e-9)
    assert outcome.dual is None or outcome.dual.bound <= cost * (1 + 1e-9)
    return cost, outcome.plan
