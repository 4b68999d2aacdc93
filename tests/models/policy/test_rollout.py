"""A run that is planned again after every epoch keeps the promise of its first plan, over all outcomes."""

import copy
from fractions import Fraction

import pytest

import depl
from depl.instances.spent_promise import VIOLATION, promised_plan, spent_promise
from depl.models.policy.decisions import Continue, Stop, Switch
from depl.models.policy.rollout import Rollout

UNLUCKY = Fraction(5, 19)
GAINS = {
    "full": ((2, 1 - UNLUCKY), (1, UNLUCKY)),
    "distilled": ((2, 1 - VIOLATION / UNLUCKY), (1, VIOLATION / UNLUCKY)),
    "pruned": ((1, 1 - VIOLATION), (0, VIOLATION)),
}


def outcomes(run, loss, share=Fraction(1)):
    """Probability, cost and reason of all ways that a run may go."""
    for gain, probability in GAINS[run.next_epoch.model]:
        there = copy.deepcopy(run)
        decision = there.observe(loss - gain)
        if isinstance(decision, Stop):
            yield share * probability, there.cost, decision.reason
        else:
            yield from outcomes(there, loss - gain, share * probability)


def test_the_promise_is_kept_exactly_where_planning_again_for_omega_spends_it() -> None:
    run = Rollout(spent_promise(), promised_plan(), method="exact")
    assert run.holds_over_all_runs
    assert run.start() == Continue("full", "site", 0, 3.0)
    ends = list(outcomes(run, 3.0))
    assert sum(share for share, _, _ in ends) == 1
    assert sum(share for share, _, reason in ends if reason == "reached") == 1 - VIOLATION
    assert float(sum(share * Fraction(cost) for share, cost, _ in ends)) == pytest.approx(4 + 5 / 19)


def test_a_switch_says_what_comes_next_and_a_run_that_has_stopped_takes_no_more_losses() -> None:
    run = Rollout(spent_promise(), promised_plan(), method="exact")
    run.start()
    assert run.observe(2.0) == Switch("distilled", "site", 1, 2.0)
    assert run.observe(0.0) == Stop("reached", 2, 0.0)
    with pytest.raises(depl.InvalidInputError, match="has stopped"):
        run.observe(0.0)


def test_a_run_that_took_too_long_stops_at_the_deadline() -> None:
    instance = depl.load("tiny")
    run = Rollout(instance, depl.solve(instance, "exact").plan, method="exact")
    run.start()
    assert run.observe(11.0, elapsed_time=6.0) == Stop("deadline", 1, 11.0)


def test_without_a_plan_that_keeps_it_there_is_no_promise() -> None:
    with pytest.raises(depl.InvalidInputError, match="no plan was found"):
        Rollout(depl.load("tiny").replace(maximum_loss=-50.0), method="exact")
