"""Planning again with the same omega spends the promise: every outcome listed, in rational arithmetic."""

from fractions import Fraction

import pytest

import depl
from depl.instances.spent_promise import COSTS, VIOLATION, promised_plan, spent_promise
from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import InvalidInputError
from depl.models.solving.replanning import Choice, State, replan

FRACTIONS = [Fraction(5, 19), Fraction(9, 40), Fraction(18, 19)]


def after_one_epoch(unlucky, keep_promise=False):
    """Both outcomes of the first epoch with their probabilities, and what is planned from there."""
    instance = spent_promise(unlucky)
    outcomes = [(1 - unlucky, 1.0), (unlucky, 2.0)]
    law = instance.model("full").improvement.noise
    assert dict(zip((3 - v for v in law.values), law.weights, strict=True)) == {
        loss: float(share * unlucky.denominator) for share, loss in outcomes
    }
    states = [(share, State(epoch=1, loss=loss, model="full")) for share, loss in outcomes]
    return [
        (share, replan(instance, promised_plan(), state, "exact", keep_promise=keep_promise))
        for share, state in states
    ]


def missed(found, plan):
    """Conditional probability of missing the target if ``plan`` is followed; 1 for those who give up."""
    if plan is None:
        return Fraction(1)
    exact = evaluate(found.remaining, plan, quantile=False).violation.exact
    assert exact is not None
    return exact


@pytest.mark.parametrize("unlucky", FRACTIONS)
def test_the_cheapest_plan_keeps_its_promise_exactly(unlucky):
    instance = spent_promise(unlucky)
    for method in ("enumerate", "exact"):
        result = depl.solve(instance, method)
        assert result.termination is depl.Termination.OPTIMAL
        assert [epoch.model for epoch in result.plan.epochs] == ["full", "distilled"]
        assert result.cost == COSTS["full"] + COSTS["distilled"]
    assert evaluate(instance, promised_plan(), quantile=False).violation.exact == VIOLATION
    assert depl.check(instance, promised_plan()).ok


def delivered(found, plan_of):
    """The probability of keeping the target if both outcomes are followed by what ``plan_of`` says."""
    return 1 - sum(share * missed(item, plan_of(item)) for share, item in found)


@pytest.mark.parametrize("unlucky", FRACTIONS)
def test_planning_again_with_the_same_omega_delivers_a_closed_form_without_a_lower_limit(unlucky):
    """For u = 5/19 it is 7/10 of 19/20 for those who give up, 347/380 for those who go on."""
    found = after_one_epoch(unlucky)
    (_, lucky), (_, other) = found
    gave_up = delivered(found, lambda item: item.plan)
    assert gave_up == (1 - unlucky) * (1 - VIOLATION)
    went_on = delivered(found, lambda item: item.old.plan if item.plan is None else item.plan)
    assert went_on == (1 - unlucky) * (1 - VIOLATION) + unlucky - VIOLATION
    # one re-plan that falls back on the old rest adds at most 1 - omega to the violation
    assert 1 - 2 * VIOLATION <= went_on < 1 - VIOLATION
    if unlucky == Fraction(5, 19):
        assert (gave_up, went_on) == (Fraction(7, 10), Fraction(347, 380))
        assert [epoch.model for epoch in lucky.plan.epochs] == ["pruned"]
        assert other.result.termination is depl.Termination.INFEASIBLE


@pytest.mark.parametrize("unlucky", FRACTIONS)
def test_the_rule_keeps_the_promise_exactly_and_still_saves(unlucky):
    found = after_one_epoch(unlucky, keep_promise=True)
    (_, good), (_, bad) = found
    assert (good.choice, bad.choice) == (Choice.NEW, Choice.OLD)
    assert [epoch.model for epoch in good.plan.epochs] == ["full"]
    assert delivered(found, lambda item: item.plan) == 1 - VIOLATION
    expected = sum(share * Fraction(item.total_cost) for share, item in found)
    assert expected == 4 + unlucky < 5


@pytest.mark.parametrize("unlucky", [Fraction(8, 40), Fraction(1), Fraction(2)])
def test_a_share_that_proves_nothing_is_refused(unlucky):
    with pytest.raises(InvalidInputError, match="at least 9/40 and below 1"):
        spent_promise(unlucky)
