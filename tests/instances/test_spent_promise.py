"""Planning again with the same omega spends the promise: every outcome listed, in rational arithmetic."""

from fractions import Fraction

import pytest

import depl
from depl.instances.spent_promise import COSTS, VIOLATION, promised_plan, spent_promise
from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import InvalidInputError
from depl.models.solving.observed_state import State
from depl.models.solving.replanning import Choice, Replanning, replan

FRACTIONS = [Fraction(5, 19), Fraction(9, 40), Fraction(1, 2), Fraction(18, 19)]


def after_one_epoch(unlucky: Fraction, keep_promise: bool = False) -> list[tuple[Fraction, Replanning]]:
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


def missed(found: Replanning, plan: depl.Plan | None) -> Fraction:
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


def test_planning_again_with_the_same_omega_delivers_70_of_95_percent_to_those_who_give_up():
    lucky, unlucky = after_one_epoch(Fraction(5, 19))
    assert [epoch.model for epoch in lucky[1].plan.epochs] == ["pruned"]
    assert unlucky[1].result.termination is depl.Termination.INFEASIBLE
    delivered = 1 - sum(share * missed(found, found.plan) for share, found in (lucky, unlucky))
    assert delivered == Fraction(7, 10)


def test_going_on_with_the_old_plan_where_nothing_keeps_omega_delivers_91_percent():
    found = after_one_epoch(Fraction(5, 19))
    delivered = 1 - sum(
        share * missed(item, item.old.plan if item.plan is None else item.plan) for share, item in found
    )
    assert delivered == Fraction(347, 380)
    assert delivered < 1 - VIOLATION


@pytest.mark.parametrize("unlucky", FRACTIONS)
def test_what_is_delivered_has_the_closed_form_and_no_lower_limit(unlucky):
    found = after_one_epoch(unlucky)
    gave_up = 1 - sum(share * missed(item, item.plan) for share, item in found)
    assert gave_up == (1 - unlucky) * (1 - VIOLATION)
    went_on = 1 - sum(
        share * missed(item, item.old.plan if item.plan is None else item.plan) for share, item in found
    )
    assert went_on == (1 - unlucky) * (1 - VIOLATION) + unlucky - VIOLATION
    # one re-plan that falls back on the old rest adds at most 1 - omega to the violation
    assert went_on >= 1 - 2 * VIOLATION


@pytest.mark.parametrize("unlucky", FRACTIONS)
def test_the_rule_keeps_the_promise_exactly_and_still_saves(unlucky):
    found = after_one_epoch(unlucky, keep_promise=True)
    (_, good), (_, bad) = found
    assert good.choice is Choice.NEW
    assert [epoch.model for epoch in good.plan.epochs] == ["full"]
    assert bad.choice is Choice.OLD
    assert 1 - sum(share * missed(item, item.plan) for share, item in found) == 1 - VIOLATION
    expected = sum(share * Fraction(item.total_cost) for share, item in found)
    assert expected == 4 + unlucky
    assert expected < 5


@pytest.mark.parametrize("unlucky", [Fraction(8, 40), Fraction(1), Fraction(2)])
def test_a_share_that_proves_nothing_is_refused(unlucky):
    with pytest.raises(InvalidInputError, match="at least 9/40 and below 1"):
        spent_promise(unlucky)
