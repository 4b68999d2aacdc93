"""What a method of one's own says of all plans is its claim, unless the verifier proves or refutes it."""

import json

import pytest

import depl
from depl.benchmarks.measure.outcome import tried
from depl.models.solving import methods
from depl.models.solving.methods import find, register
from depl.models.solving.result import Outcome, Solution, Termination
from depl.models.solving.solve import VerificationError, solve


@pytest.fixture
def says(monkeypatch):
    """Solve by a method of one's own that gives the answer."""
    find("exact")  # all shipped methods are there before the copy is made
    monkeypatch.setattr(methods, "_REGISTRY", dict(methods._REGISTRY))

    def run(instance, outcome):
        methods._REGISTRY.pop("own", None)
        register("own", lambda instance, limits: outcome)
        return solve(instance, "own")

    return run


def greedy(instance):
    return solve(instance, "density-greedy").plan


def cost_of(instance, plan):
    return depl.evaluate(instance, plan).cost


def test_a_plan_that_the_verifier_proves_cheapest_is_proved(tiny, tiny_optimum, says):
    result = says(tiny, Outcome(Termination.OPTIMAL, tiny_optimum, 28.0))
    assert (result.solution, result.claimed) == (Solution.PROVEN_OPTIMAL, False)
    assert "proved cheapest" in str(result)


def test_a_denied_plan_is_refused_and_a_true_denial_is_proved(tiny, says):
    with pytest.raises(VerificationError, match="there is a plan that costs"):
        says(tiny, Outcome(Termination.INFEASIBLE, None))
    with pytest.raises(VerificationError, match="that no plan costs less than 29 is claimed"):
        says(tiny, Outcome(Termination.TIME_LIMIT, None, 29.0))
    result = says(tiny.replace(maximum_loss=-20), Outcome(Termination.INFEASIBLE, None))
    assert not result.claimed
    assert "proved infeasible" in str(result)


@pytest.mark.parametrize(
    ("termination", "words"),
    [
        (Termination.OPTIMAL, "claimed cheapest by 'own', not checked by depl"),
        (Termination.GAP_REACHED, "claimed within the wanted gap of the cheapest by 'own', not checked"),
        (Termination.INFEASIBLE, "claimed infeasible by 'own', not checked by depl"),
        (Termination.TIME_LIMIT, "(gap 0 %), claimed by 'own', not checked by depl"),
    ],
)
def test_what_nobody_can_check_is_told_as_a_claim(says, termination, words):
    instance = depl.load("paper-alexnet-13")
    plan = None if termination is Termination.INFEASIBLE else greedy(instance)
    cost = 0.0 if plan is None else cost_of(instance, plan)
    outcome = Outcome(termination, plan, cost)
    result = says(instance, outcome)
    assert (result.claimed, result.termination) == (True, termination)
    assert result.solution is (Solution.NONE if plan is None else Solution.FEASIBLE)
    assert words in str(result)
    assert "proved" not in str(result).replace("ended without a proof", "")
    assert json.loads(result.to_json())["claimed"] is True
    seen = tried(instance, "own")  # and the benchmarks compare nobody with it
    assert (seen.proved, seen.lower_bound) == (False, None)
