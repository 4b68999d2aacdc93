"""``depl replan``: old rest, new rest, costs and their sum; one JSON object; files, exit codes, refusals."""

import json

import msgspec
import pytest

from depl.instances.spent_promise import promised_plan, spent_promise
from depl.models.policy.controller import Controller
from depl.models.solving.methods import Outcome, register
from depl.models.solving.observed_state import State, planned_state
from depl.models.solving.result import Termination
from tests.depl.test_cli import KEYS


@pytest.fixture
def files(tmp_path):
    """Write an instance, a plan and a state; returns their paths."""

    def write(instance, plan, state):
        paths = []
        for name, item in (("instance", instance), ("plan", plan), ("state", state)):
            path = tmp_path / f"{name}.json"
            path.write_text(item.to_json(), encoding="utf-8")
            paths.append(path)
        return paths

    return write


@pytest.fixture
def spent(files):
    """The counterexample, seen from an unlucky or a lucky first epoch."""
    return lambda loss: files(spent_promise(), promised_plan(), State(epoch=1, loss=loss, model="full"))


def cells(out):
    return {
        name.strip(): value.strip()
        for name, _, value in (line.partition("  ") for line in out.splitlines())
        if value
    }


def test_old_and_new_rest_are_shown_with_their_probabilities_and_costs(ask, spent):
    code, out, err = ask("replan", *spent(1), "--method", "exact")
    assert (code, err) == (0, "")
    found = cells(out)
    assert found["state"] == "after epoch 1 of at most 2, loss 1"
    assert found["target"] == "0, not met yet"
    assert found["paid so far"] == "2, as planned"
    assert found["old rest"] == "1 epoch (1 distilled); cost to go 3"
    assert found["P(l(K) <= 0 | state)"] == "is 1, certified; omega is 0.95"
    assert found["P(l(K) <= 0)"].endswith("certified; asked 0.95")
    assert found["follow"] == "the new rest"
    assert found["cost to go"] == "1 for 1 epoch (1 pruned)"
    assert found["cost in all"] == "3"


def test_what_is_infeasible_given_the_state_says_so_and_the_old_rest_is_judged(ask, spent):
    code, out, _ = ask("replan", *spent(2), "--method", "exact")
    assert code == 3
    found = cells(out)
    assert found["P(l(K) <= 0 | state)"] == "is 0.81, certified; omega is 0.95"
    assert "proved infeasible" in out
    assert found["follow"] == "nothing: no rest is known that is allowed"


def test_json_is_one_object_with_the_keys_of_a_result_and_what_to_follow(ask, spent):
    code, out, err = ask("replan", *spent(1), "--method", "exact", "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer.keys() >= KEYS
    assert (answer["cost"], answer["solution"]) == (1, "proven_optimal")
    found = answer["replan"]
    assert (found["choice"], found["sunk_cost"], found["cost_to_go"], found["total_cost"]) == ("new", 2, 1, 3)
    assert found["old"]["violation"] == {"lower": 0, "upper": 0}
    assert found["old"]["keeps_omega"] is True
    assert found["plan"]["instance"] == found["remaining"] == answer["instance"]


def test_a_written_rest_is_checked_and_planned_again(ask, tmp_path, files, tiny, tiny_optimum):
    paths = files(tiny, tiny_optimum, planned_state(tiny, tiny_optimum, 1, 13.0))
    rest, plan = tmp_path / "rest.json", tmp_path / "new.json"
    code, _, err = ask("replan", *paths, "--out", plan, "--rest", rest)
    assert code == 0
    assert f"plan of the rest written to {plan}" in err
    assert ask("check", rest, plan)[0] == 0
    state = tmp_path / "later.json"
    state.write_text(State(epoch=1, loss=7, model="full", elapsed_time=1.2).to_json(), encoding="utf-8")
    code, out, _ = ask("replan", rest, plan, state)
    assert code == 0
    assert cells(out)["state"] == "after epoch 1 of at most 2, loss 7"


def test_a_target_that_is_met_means_stopping_at_no_cost(ask, files, steady, steady_plan):
    code, out, _ = ask("replan", *files(steady, steady_plan, planned_state(steady, steady_plan, 1, 5.5)))
    assert code == 0
    found = cells(out)
    assert found["target"] == "6, met: to stop now costs nothing more"
    assert found["follow"] == "stop here: the target is met"
    assert found["cost to go"] == "0 for 0 epochs"
    assert found["cost in all"] == "12"


def test_time_that_is_up_is_infeasible(ask, files, tmp_path, steady, steady_plan):
    late = msgspec.structs.replace(planned_state(steady, steady_plan, 1, 8.0), elapsed_time=6)
    paths = files(steady, steady_plan, late)
    out_path, rest_path = tmp_path / "new.json", tmp_path / "rest.json"
    code, out, err = ask("replan", *paths, "--explain", "--out", out_path, "--rest", rest_path)
    assert code == 3
    assert cells(out)["does not keep"] == "training time"
    assert "T_max = 5 was passed" in out
    assert "there is no plan" in err
    assert "there is no instance" in err
    assert not out_path.exists()
    code, out, _ = ask("replan", *paths, "--json")
    answer = json.loads(out)
    assert (code, answer["termination"], answer["cost"]) == (3, "infeasible", None)
    assert answer["replan"]["remaining"] is None
    assert answer["replan"]["old"]["cost"] == pytest.approx(12)


def test_the_explanation_puts_the_rest_to_follow_into_the_equations(ask, spent):
    _, out, _ = ask("replan", *spent(2), "--keep-promise", "--explain")
    assert "Plan of 1 epoch for 'spent-promise after epoch 1'" in out
    _, out, err = ask("replan", *spent(1), "--explain", "--json")
    json.loads(out)
    assert "(3) Loss target" in err


@pytest.mark.parametrize(
    ("termination", "code", "kept"),
    [
        (Termination.TIME_LIMIT, 5, 4),
        (Termination.INTERRUPTED, 5, 4),
        (Termination.EXHAUSTED, 5, 0),
        (Termination.INFEASIBLE, 3, 0),
        (Termination.ERROR, 70, 70),
    ],
)
def test_an_old_rest_that_may_go_on_is_an_answer(ask, spent, termination, code, kept):
    name = f"replan-{termination.value}"
    register(name, lambda instance, limits: Outcome(termination, None, reason="for a test"), shipped=True)
    assert ask("replan", *spent(2), "--method", name)[0] == code
    assert ask("replan", *spent(2), "--method", name, "--keep-promise")[0] == kept


def test_auto_plans_the_rest_by_default_and_levels_are_refused_by_methods_without_them(ask, spent):
    answer = json.loads(ask("replan", *spent(1), "--json")[1])
    assert answer["method"] == "auto"
    code, _, err = ask("replan", *spent(1), "--eta", "50")
    assert code == 2
    assert "takes no option 'eta'" in err
    code, out, _ = ask("replan", *spent(1), "--method", "depl-paper", "--eta", "50", "--json")
    assert (code, json.loads(out)["method"]) == (0, "depl-paper")


@pytest.mark.parametrize(
    ("which", "path", "value", "message"),
    [
        ("state", "model", "pruned", "state.json: $.model: is 'pruned', but the plan trains 'full'"),
        ("state", "epoch", 3, "state.json: $.epoch: is 3, but at most K_max = 2"),
        ("state", "loss", "low", "state.json: $.loss"),
        ("plan", "data", [], "plan.json: $.epochs[0].cluster"),
        ("state", "format", "depl-plan", "state.json: $.format"),
    ],
)
def test_wrong_input_is_refused_with_its_file_and_place(ask, spent, which, path, value, message):
    paths = spent(2)
    chosen = next(item for item in paths if item.stem == which)
    document = json.loads(chosen.read_text(encoding="utf-8"))
    chosen.write_text(json.dumps({**document, path: value}), encoding="utf-8")
    code, out, err = ask("replan", *paths)
    assert (code, out) == (2, "")
    assert message in err


def test_the_log_of_a_controller_that_follows_the_plan_is_a_state(ask, spent, tmp_path):
    """It says where the run stands; what it is asked of is that of the state by hand."""
    instance, plan, state = spent(1)
    log = tmp_path / "run.jsonl"
    controller = Controller(plan, log, instance=instance)
    controller.start(3.0)
    controller.observe(1.0)
    words = ("--method", "exact", "--json")
    found, wanted = (ask("replan", instance, plan, one, *words) for one in (log, state))
    assert found[0] == wanted[0] == 0
    told, by_hand = json.loads(found[1]), json.loads(wanted[1])
    for key in ("termination", "cost", "violation"):
        assert told[key] == by_hand[key]
    assert told["cost"] == 1.0


def test_a_log_of_another_plan_or_without_a_loss_is_refused(ask, spent, tmp_path):
    instance, plan, _ = spent(1)
    log = tmp_path / "run.jsonl"
    controller = Controller(plan, log, instance=instance)
    code, _, err = ask("replan", instance, plan, log)
    assert (code, "holds no loss yet" in err) == (2, True)
    controller.start(3.0)
    log.write_text(log.read_text().replace('"loss": 3.0', '"loss": -3.0'))
    code, _, err = ask("replan", instance, plan, log)
    assert (code, "run.jsonl: line 2 is not what this policy decides" in err) == (2, True)
    other = tmp_path / "other.json"
    other.write_text(plan.read_text().replace("distilled", "pruned"))
    code, _, err = ask("replan", instance, other, log)
    assert (code, "is the log of another policy" in err) == (2, True)
