"""A run that is planned again after every epoch keeps the promise of its first plan, over all outcomes."""

import copy
import math
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest

import depl
from depl.instances.spent_promise import VIOLATION, promised_plan, spent_promise
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy import replanned
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Continue, Stop, Switch
from depl.models.policy.rules import DIVERGED
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from tests import problems
from tests.problems import refusal

UNLUCKY = Fraction(5, 19)
GAINS = {
    "full": ((2, 1 - UNLUCKY), (1, UNLUCKY)),
    "distilled": ((2, 1 - VIOLATION / UNLUCKY), (1, VIOLATION / UNLUCKY)),
    "pruned": ((1, 1 - VIOLATION), (0, VIOLATION)),
}


def promised(log: Path | None = None) -> Controller:
    return Controller(promised_plan(), log, instance=spent_promise(), replan=True, method="exact")


def outcomes(run, loss, share=Fraction(1)):
    """Probability, cost and reason of all ways that a run may go."""
    for gain, probability in GAINS[run.decision.model]:
        there = copy.deepcopy(run)
        decision = there.observe(loss - gain)
        if isinstance(decision, Stop):
            yield share * probability, there.cost, decision.reason
        else:
            yield from outcomes(there, loss - gain, share * probability)


def test_the_promise_is_kept_exactly_where_planning_again_for_omega_spends_it():
    run = promised()
    assert run.start() == Continue("full", "site", 0, 3.0)
    ends = list(outcomes(run, 3.0))
    assert sum(share for share, _, _ in ends) == 1
    assert sum(share for share, _, reason in ends if reason == "reached") == 1 - VIOLATION
    assert float(sum(share * Fraction(cost) for share, cost, _ in ends)) == pytest.approx(4 + 5 / 19)


def test_a_run_goes_on_from_its_log_without_solving_anything_again(tmp_path, monkeypatch):
    log, short = tmp_path / "run.jsonl", tmp_path / "short.jsonl"
    run = promised(log)
    run.start()
    assert run.observe(2.0) == Switch("distilled", "site", 1, 2.0)
    assert run.rest is not None
    assert (run.rest.schedule, run.replanning.holds_over_all_runs) == ((("distilled", "site"),), True)
    assert "as the old rest says" in run.why()
    text, begun = log.read_text(encoding="utf-8"), run.rest
    assert run.observe(0.0) == Stop("reached", 2, 0.0)
    assert "stopped after epoch 2" in str(refusal(run.observe, 0.0))
    monkeypatch.setattr(replanned, "solve", None)
    monkeypatch.setattr(replanned, "replan", None)
    given = {"instance": spent_promise(), "replan": True, "method": "exact"}
    again = Controller.resume(promised_plan(), log, **given)
    assert (again.decision, again.records, again.cost) == (run.decision, run.records, run.cost)
    short.write_text(text, encoding="utf-8")
    again = Controller.resume(promised_plan(), short, **given)
    assert (again.rest, again.replanning) == (begun, None)
    monkeypatch.undo()
    assert again.observe(0.0) == run.decision
    assert short.read_text(encoding="utf-8") == log.read_text(encoding="utf-8")


def test_a_log_with_another_plan_is_refused(tmp_path):
    log = tmp_path / "run.jsonl"
    promised(log).start()
    begun, plan, rest = log.read_text(encoding="utf-8").partition('"plan": {')
    log.write_text(begun + plan + rest.replace('"full"', '"pruned"'), encoding="utf-8")
    told = str(refusal(Controller.resume, promised_plan(), log, instance=spent_promise(), replan=True))
    assert "line 2 is not what this policy decides: next_model is 'full' and would be" in told


def test_a_run_of_an_instance_begins_with_the_plan_that_is_found_and_counts_on_the_time_it_took(tmp_path):
    log, instance = tmp_path / "run.jsonl", depl.load("tiny")
    run = Controller(instance, log, method="exact")
    assert run.start(15.0).kind == "continue"
    assert run.rest.schedule == depl.solve(instance, "exact").plan.schedule
    assert run.last_epoch == instance.target.maximum_epochs
    assert run.models == tuple(sorted(item.name for item in instance.models))
    assert run.clusters == tuple(sorted(item.name for item in instance.clusters))
    assert "elapsed_time" in str(refusal(run.observe, 11.0, elapsed_time=-1.0))
    assert run.observe(11.0, elapsed_time=6.0) == Stop("deadline", 1, 11.0)
    assert Controller.resume(instance, log, method="exact").records == run.records


@pytest.mark.parametrize(
    ("loss", "stop"), [(1.0, Stop("reached", 0, 1.0)), (math.inf, Stop("abandoned", 0, math.inf, DIVERGED))]
)
def test_a_run_that_stops_before_its_first_epoch_is_read_from_its_log(loss, stop, tmp_path):
    instance = depl.load("tiny").replace(initial_model="full")
    assert Controller(instance, tmp_path / "run.jsonl", method="exact").start(loss) == stop
    assert Controller.resume(instance, tmp_path / "run.jsonl").decision == stop
    late = Controller(depl.Plan(), instance=instance.replace(initial_loss=15.0), replan=True)
    assert late.start() == Stop("deadline", 0, 15.0)


def test_what_is_not_known_of_a_run_is_refused_with_what_to_do():
    assert "no plan was found" in str(
        refusal(Controller(depl.load("tiny").replace(maximum_loss=-50.0), method="exact").start)
    )
    assert "are for replan=True; leave them out" in str(
        refusal(Controller, promised_plan(), instance=spent_promise(), method="exact")
    )
    followed = Controller(promised_plan(), instance=spent_promise())
    followed.start(3.0)
    assert "elapsed_time: is for runs that are planned again" in str(refusal(followed.observe, 2.0, 1.0))


@pytest.fixture(scope="module")
def instance() -> Instance:
    return depl.load("tiny")


@pytest.fixture(scope="module")
def plan(instance: Instance) -> Plan:
    """Three epochs, on the cloud and then on the edge."""
    (first, second), (one, *_, other) = [item.name for item in instance.clusters][:2], instance.models
    rows = (one.name, first, 2.0), (other.name, first, 2.0), (other.name, second, 2.0)
    return problems.plan(*rows, data=[instance.datasets[0].name])


def test_a_run_stops_as_soon_as_its_target_is_reached_and_pays_for_its_epochs_alone(instance, plan):
    controller, target = Controller(plan, instance=instance), instance.target.maximum_loss
    controller.start(50.0)
    assert controller.observe(math.nextafter(target + 1e-3, math.inf)).kind == "switch"
    assert controller.observe(target) == Stop("reached", 2, target)
    begun = Plan(data=plan.data[:1], epochs=plan.epochs[:2])
    assert math.isclose(controller.cost, depl.evaluate(instance, begun).cost, rel_tol=1e-12)
    assert "from" not in controller.why()


def test_a_model_that_may_not_be_the_last_is_trained_on_below_the_target(instance, plan):
    target = msgspec.structs.replace(instance.target, deployable=(plan.epochs[-1].model,))
    instance = msgspec.structs.replace(instance, target=target)
    controller = Controller(plan, instance=instance)
    assert [controller.start(1.0).kind, controller.observe(1.0).kind] == ["continue", "switch"]
    assert controller.observe(1.0) == Stop("reached", 2, 1.0)
    other = msgspec.structs.replace(target, deployable=(plan.epochs[0].model,))
    with pytest.raises(InvalidInputError, match=r"ends with '.*', which may not be the last model"):
        Controller(plan, instance=msgspec.structs.replace(instance, target=other))


def test_a_plan_without_its_instance_and_with_another_one_is_refused(instance, plan, tmp_path):
    for given in (plan, plan.to_json()):
        assert "Controller(plan, instance=instance)" in str(refusal(Controller, given))
    assert "made for another instance" in str(
        refusal(Controller, msgspec.structs.replace(plan, instance="0" * 64), instance=instance)
    )
    assert "must be Plan, the path of its file or its JSON text, not dict" in str(
        refusal(Controller, {}, instance=instance)
    )
    assert "cannot be read" in str(refusal(Controller, tmp_path / "none.json", instance=instance))
