"""``depl policy``: what is said of a policy, its file, its rows, and decisions for a shell."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

import depl
from depl.commands.policy import epoch_numbers
from depl.models.policy import planning
from depl.models.policy.controller import Controller
from depl.models.problem.policy import json_schema
from tests.cases.policy_cases import TWO
from tests.cases.policy_files import by_hand, document
from tests.depl.commands.conftest import sessions

SESSIONS = """
planned, written, told, checked and simulated
$ policy solve two.json --gap 0% --out new.json
tiny-policy a policy; stuck: more time would prove no more
certified under the law; asked 0.45
promise binds: priced at
$ policy check two.json new.json
tiny-policy: everything holds
Repeated from the policy, not checked: lower_bound, ratio
$ policy simulate two.json new.json --runs 20000 --seed 3
No claim is refuted at 1e-06.
$ policy solve easy.json
slack: the price of failures alone

one JSON object, and the price of a failure that is given
$ policy solve two.json --json --failure-cost 50
{"solution": "feasible", "failure_cost": 50.0, "policy": {"failure_cost_rule": "given"}}

what no policy can promise
$ policy solve strict.json --out new.json
= 3
proved infeasible: no policy keeps the promise

epochs without a switch are told with the bound
$ policy solve two.json --switch-epochs 2
and switch only after epochs 2;

each decision has its exit code and says why
> run.jsonl {"epoch": 0, "loss": 1.0}
> run.jsonl {"epoch": 1, "loss": 0.82}
$ policy decide policy.json --log run.jsonl
= 10
switch:
> run.jsonl {"epoch": 2, "loss": 0.4}
$ policy decide policy.json --log run.jsonl
continue:
> run.jsonl {"epoch": 3, "loss": 0.31}
> run.jsonl {"epo
$ policy decide policy.json --log run.jsonl --json
= 11
{"decision": "stop", "reason": "deadline", "epoch": 3, "cost": 6.0}

a log of another logger is read by its keys
> run.jsonl {"config": {"lr": 0.1}}
> run.jsonl {"step": 0, "val_loss": 1.0}
> run.jsonl {"step": 1, "train_loss": 0.2}
> run.jsonl {"step": 1, "val_loss": NaN}
$ policy decide policy.json --log run.jsonl --loss val_loss --epoch step
= 11
stop, abandoned: the loss is not finite
$ policy decide policy.json --log run.jsonl
= 2
no line has both 'epoch' and 'loss'; its lines have config, step, train_loss, val_loss
"""


@pytest.mark.parametrize("lines", sessions(SESSIONS))
def test_what_is_typed_is_answered(follow, lines):
    follow(lines)


def test_what_is_told_is_what_was_found_and_no_bolder(ask, here):
    found = depl.solve_policy(TWO, gap=0.0)
    told = json.loads(ask("policy", "solve", "two.json", "--gap", "0%", "--out", "new.json", "--json")[1])
    assert {"termination", "cost", "lower_bound", "gap", "violation", "quantile", "epochs"} <= told.keys()
    assert told["lower_bound"] <= told["objective"] == found.objective
    assert told["violation"]["upper"] == pytest.approx(1 - told["reached"])
    kept = depl.Policy.from_json(Path("new.json").read_text(encoding="utf-8"))
    assert kept == found.policy == depl.Policy.from_json(json.dumps(told["policy"]))
    named = json.loads(ask("policy", "solve", "two.json", "--json", "--data", "site=data")[1])
    assert named["cost"] == told["cost"]
    assert named["policy"]["data"] == [{"cluster": "site", "datasets": ["data"]}]


def test_whoever_waits_is_told_what_is_held_after_every_grid(monkeypatch):
    monkeypatch.setattr(planning, "GRIDS", (128, 512))
    monkeypatch.setattr(planning, "_FIRST_WORK", 1)
    seen = []
    found = depl.solve_policy(TWO, gap=0.0, progress=lambda *held: seen.append(held))
    assert len(seen) == 4  # the fixed plan and the best policy of either grid
    assert seen[-1][1:] == (found.objective, found.lower_bound)
    assert seen[0][0] <= seen[1][0]


def test_claims_that_do_not_hold_fail_the_check_and_are_refuted_by_runs(ask, here):
    assert ask("policy", "solve", "two.json", "--out", "new.json")[0] == 0
    policy = depl.Policy.from_json(Path("new.json").read_text(encoding="utf-8"))
    certificate = msgspec.structs.replace(policy.certificate, cost=0.5, reached=0.99)
    bold = msgspec.structs.replace(policy, certificate=certificate)
    Path("new.json").write_text(bold.to_json(), encoding="utf-8")
    code, text, _ = ask("policy", "check", "two.json", "new.json", "--json")
    found = json.loads(text)
    assert (code, found["ok"], found["course"]["cost"] > 0.5) == (3, False, True)
    assert {"claim: cost", "claim: reached"} <= {row["rule"] for row in found["findings"] if not row["ok"]}
    code, text, _ = ask("policy", "simulate", "two.json", "new.json", "--runs", 20000, "--json")
    assert (code, len(json.loads(text)["refuted"])) == (3, 2)


def test_switch_epochs_are_numbers_and_ranges():
    assert [epoch_numbers(text) for text in ("4,6,8", "4-6, 2,5", "7")] == [(4, 6, 8), (2, 4, 5, 6), (7,)]


def rows_of(text):
    return [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if "|" in line][1:]


def test_a_policy_is_shown_as_rows_of_losses_those_of_epochs_that_do_alike_once_and_drawn(ask, here):
    code, text, _ = ask("policy", "show", "policy.json", "--figure", "map.svg")
    assert (code, "<svg" in Path("map.svg").read_text(encoding="utf-8")) == (0, True)
    assert rows_of(text)[1:7] == [
        ["", "", "above", "stop: give up"],
        ["small on site", "1", "up to 0.8", "go on"],
        ["", "", "up to 1.5", "switch to large on site"],
        ["", "", "above", "stop: give up"],
        ["small on site", "2", "any", "switch to large on site"],
        ["large on site", "2", "up to 0.3", "stop: reached"],
    ]
    shown = json.loads(ask("policy", "show", "policy.json", "--json")[1])
    assert shown == json.loads(by_hand().to_json())
    nodes = document()["nodes"]
    for node, ends in ((1, (10, 1)), (2, (7, 0)), (3, (9, 0)), (4, (5, -1))):
        nodes[node]["rows"] = [{"upto": upto, "action": action} for upto, action in (ends, (19, -1))]
    Path("policy.json").write_text(by_hand(nodes=nodes).to_json(), encoding="utf-8")
    brief, every = (rows_of(ask("policy", "show", "policy.json", *words)[1]) for words in ((), ["--details"]))
    assert ["small on site", "1 to 2", "up to 0.7 ... 1", "switch to large on site"] in brief
    assert ["small on site", "2", "up to 0.7", "switch to large on site"] in every


def test_a_plan_is_followed_as_the_controller_does_and_its_log_is_left_as_it_is(ask, here):
    """With its instance, until the target is reached; from a log of any loop and from its own."""
    controller, codes = Controller("plan.json", "own.jsonl", instance=depl.load("tiny")), []
    decide = ("policy", "decide", "plan.json", "--instance", "tiny", "--log")
    for epoch, loss in enumerate((15.0, 11.0, 9.0, 6.5)):
        with Path("run.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"epoch": epoch, "loss": loss}) + "\n")
        controller.observe(loss) if epoch else controller.start(loss)
        before = Path("own.jsonl").read_bytes()
        code, *told = ask(*decide, "run.jsonl")
        assert told == [controller.why() + "\n", ""]
        assert ask(*decide, "own.jsonl") == (code, *told)
        assert Path("own.jsonl").read_bytes() == before
        codes.append(code)
    assert codes == [0, 0, 10, 11]


def test_the_schema_accepts_policies_and_refuses_others():
    validator = jsonschema.Draft202012Validator(json_schema())
    good, bare = document(), {name: value for name, value in document().items() if name != "nodes"}
    assert validator.is_valid(good)
    assert not any(map(validator.is_valid, ({**good, "version": 2}, {**good, "start": -1}, bare)))
