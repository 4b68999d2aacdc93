"""``depl policy``: what is said of a policy, its file, its rows, decisions for a shell, and refusals."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import jsonschema
import pytest

import depl
from depl.commands.policy import epoch_numbers
from depl.models.policy import planner
from depl.models.policy.controller import Controller
from depl.models.problem.instance import Instance
from depl.models.problem.laws import Empirical
from depl.models.problem.policy import json_schema
from tests.cases.policy_cases import tiny
from tests.cases.policy_files import by_hand, document

Ask = Callable[..., tuple[int, str, str]]


@cache
def instance() -> Instance:
    """Two models; the large one is needed for .9."""
    return tiny(
        Empirical(values=(-0.1, 0.1, 0.3), weights=(1.0, 1.0, 2.0)),
        Empirical(values=(0.1, 0.4)),
        prices=(1.0, 2.1),
        maximum_loss=0.35,
        quantile_level=0.45,
        maximum_epochs=3,
    )


@pytest.fixture(autouse=True)
def few_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses of tiny instances lie on tenths, so that a small grid has them all."""
    monkeypatch.setattr(planner, "GRIDS", (128,))


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.json"
    path.write_text(instance().to_json(), encoding="utf-8")
    return path


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.json"
    path.write_text(by_hand().to_json(), encoding="utf-8")
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def pairs(out: str) -> dict[str, str]:
    """The lines of names and values."""
    rows = (line.partition("  ") for line in out.splitlines())
    return {name: value.strip() for name, _, value in rows if value.strip()}


def test_the_data_of_a_cluster_may_be_named_and_only_once(ask: Ask, mine) -> None:
    whole, named = (ask("policy", "solve", mine, "--json", *more) for more in ((), ("--data", "site=data")))
    assert named[0] == 0
    assert json.loads(named[1])["cost"] == json.loads(whole[1])["cost"]
    assert json.loads(named[1])["policy"]["data"] == [{"cluster": "site", "datasets": ["data"]}]
    for wrong, told in (
        (("--data", "site"), "must be a cluster and datasets such as edge=lidar,archive, not 'site'"),
        (("--data", "site=other"), "cluster 'site' cannot use ['other']"),
        (("--data", "site=data", "--data", "site=data"), "--data: names cluster 'site' twice"),
    ):
        code, _, error = ask("policy", "solve", mine, *wrong)
        assert code == 2
        assert told in error


def test_whoever_waits_is_told_what_is_held_after_every_grid(monkeypatch) -> None:
    monkeypatch.setattr(planner, "GRIDS", (128, 512))
    monkeypatch.setattr(planner, "_FIRST_WORK", 1)
    seen: list[tuple[float, float, float]] = []
    found = depl.solve_policy(
        instance(), gap=0.0, progress=lambda seconds, cost, bound: seen.append((seconds, cost, bound))
    )
    assert len(seen) == 3  # the fixed plan of the first grid, and what either grid has
    assert seen[-1][1:] == (found.objective, found.lower_bound)
    assert seen[0][0] <= seen[1][0]


def test_a_policy_is_planned_written_and_told_with_promise_price_and_bound(ask: Ask, mine, tmp_path) -> None:
    out = tmp_path / "policy.json"
    code, text, aside = ask("policy", "solve", mine, "--gap", "0%", "--out", out)
    found = depl.solve_policy(instance(), gap=0.0)
    assert (code, aside) == (0, f"policy written to {out}\n")
    told = pairs(text)
    assert told["tiny-policy"].startswith("a policy; stuck: more time would prove no more")
    assert told["P(loss <= 0.35 reached)"].endswith("certified under the law; asked 0.45")
    assert float(told["P(loss <= 0.35 reached)"].split()[2].rstrip(",")) <= found.reached
    assert float(told["expected cost"].split()[2]) >= found.cost
    assert "1.5 times the least expected cost of a success; a success costs [" in told["a failed run"]
    assert "also those that draw lots or remember the whole run" in told["bound holds for"]
    assert "trains at least one epoch" in told["bound holds for"]
    assert told["promise"].startswith("binds: priced at")
    kept = depl.Policy.from_json(out.read_text(encoding="utf-8"))
    assert kept == found.policy
    assert Controller(out).start(1.0).kind == "continue"


def test_one_json_object_has_the_keys_of_results_and_the_policy_itself(ask: Ask, mine) -> None:
    code, text, aside = ask("policy", "solve", mine, "--json", "--failure-cost", 50, "--explain")
    found = json.loads(text)
    assert (code, found["solution"], found["failure_cost"]) == (0, "feasible", 50.0)
    assert {"termination", "cost", "lower_bound", "gap", "violation", "quantile", "epochs"} <= found.keys()
    assert found["lower_bound"] <= found["objective"]
    assert found["violation"]["upper"] == pytest.approx(1 - found["reached"])
    assert depl.Policy.from_json(json.dumps(found["policy"])).failure_cost_rule == "given"
    assert "rho           = given" in aside
    assert "gap           = 1 - bound / J" in aside


def test_where_the_promise_binds_the_explanation_shows_at_which_price(ask: Ask, mine, tmp_path) -> None:
    assert "V(lambda) - (lambda - rho) (1 - omega)" in ask("policy", "solve", mine, "--explain")[1]
    path = tmp_path / "easy.json"
    path.write_text(instance().replace(quantile_level=0.2).to_json(), encoding="utf-8")
    text = ask("policy", "solve", path, "--explain")[1]
    assert "J of any      >= V(rho) >=" in text
    assert pairs(text)["promise"].startswith("slack: the price of failures alone")


def test_what_no_policy_can_promise_ends_with_exit_code_3_and_why(ask: Ask, tmp_path) -> None:
    path, out = tmp_path / "mine.json", tmp_path / "policy.json"
    path.write_text(instance().replace(quantile_level=0.999).to_json(), encoding="utf-8")
    code, text, aside = ask("policy", "solve", path, "--out", out)
    assert code == 3
    assert "proved infeasible: no policy keeps the promise" in text
    assert "under the law at most" in pairs(text)["reason"]
    assert f"{out} not written: there is no policy" in aside
    assert not out.exists()


def test_a_price_below_that_of_a_success_and_other_slips_are_refused_in_words(
    ask: Ask, mine, tmp_path
) -> None:
    for words, said in (
        (("--failure-cost", "0.5"), "is cheaper than the least expected cost of a success"),
        (("--failure-cost", "cheap"), "must be a positive and finite number, or ratio, not 'cheap'"),
        (("--failure-cost", "-1"), "must be a positive and finite number"),
        (("--switch-epochs", "4;6"), "must be epochs such as 4,6,8 or 4-34"),
        (("--switch-epochs", "6-4"), "6-4 is no range of epochs"),
        (("--rung", "rollout"), "'rollout' is no choice"),
        (("--out", mine), "is read"),
    ):
        code, _, err = ask("policy", "solve", mine, *words)
        assert (code, said in err) == (2, True), (words, err)
    assert ask("policy", "show", tmp_path / "none.json")[0] == 2


def test_switch_epochs_are_numbers_and_ranges() -> None:
    assert epoch_numbers("4,6,8") == (4, 6, 8)
    assert epoch_numbers("4-6, 2,5") == (2, 4, 5, 6)
    assert epoch_numbers("7") == (7,)


def test_epochs_without_a_switch_are_told_with_the_bound(ask: Ask, mine) -> None:
    _, text, _ = ask("policy", "solve", mine, "--switch-epochs", "2")
    assert "and switch only after epochs 2;" in pairs(text)["bound holds for"]


ROWS = """\
trained last  | after epoch | loss             | next
--------------+-------------+------------------+------------------------
nothing yet   | 0           | up to 1.5        | train small on site
              |             | above            | stop: give up
small on site | 1           | up to 0.8        | go on
              |             | up to 1.5        | switch to large on site
              |             | above            | stop: give up
small on site | 2           | any              | switch to large on site
large on site | 2           | up to 0.3        | stop: reached
              |             | above            | go on
large on site | 3           | up to 0.3        | stop: reached
              |             | above            | stop: no epoch is left"""


def test_a_policy_is_shown_as_rows_of_losses(ask: Ask, policy) -> None:
    code, text, aside = ask("policy", "show", policy)
    assert (code, aside) == (0, "")
    assert [line.split() for line in text.splitlines()[-12:] if "-+-" not in line] == [
        line.split() for line in ROWS.splitlines() if "-+-" not in line
    ]
    assert "P(loss <= 0.3 reached)" in text
    assert json.loads(ask("policy", "show", policy, "--json")[1]) == json.loads(by_hand().to_json())


def test_epochs_that_do_alike_are_one_row_and_details_list_each(ask: Ask, tmp_path) -> None:
    nodes = document()["nodes"]
    nodes[2]["rows"] = [{"upto": 7, "action": 0}, {"upto": 19, "action": -1}]
    nodes[3]["rows"] = [{"upto": 9, "action": 0}, {"upto": 19, "action": -1}]
    nodes[4]["rows"] = [{"upto": 5, "action": -1}, {"upto": 19, "action": -1}]
    nodes[1]["rows"] = [{"upto": 10, "action": 1}, {"upto": 19, "action": -1}]
    path = tmp_path / "policy.json"
    path.write_text(by_hand(nodes=nodes).to_json(), encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.split("|")] for line in ask("policy", "show", path)[1].splitlines()
    ]
    assert ["small on site", "1 to 2", "up to 0.7 ... 1", "switch to large on site"] in rows
    rows = [
        [cell.strip() for cell in line.split("|")]
        for line in ask("policy", "show", path, "--details")[1].splitlines()
    ]
    assert ["small on site", "1", "up to 1", "switch to large on site"] in rows
    assert ["small on site", "2", "up to 0.7", "switch to large on site"] in rows


def test_to_and_fro_at_a_boundary_is_one_bound_with_its_range(ask: Ask, tmp_path) -> None:
    nodes, grid = document()["nodes"], {**document()["grid"], "step": 0.001, "cells": 2000, "target": 300}
    for node in nodes:
        node["rows"] = [{"upto": 1999, "action": node["rows"][-1]["action"]}]
    to_and_fro = ((900, 0), (903, 1), (905, 0), (1500, 1), (1501, -1), (1502, 1), (1999, -1))
    nodes[1]["rows"] = [{"upto": upto, "action": action} for upto, action in to_and_fro]
    path = tmp_path / "policy.json"
    path.write_text(by_hand(nodes=nodes, grid=grid).to_json(), encoding="utf-8")
    text = ask("policy", "show", path)[1]
    rows = [[cell.strip() for cell in line.split("|")][2:] for line in text.splitlines()]
    assert ["up to 0.9 ... 0.905", "go on"] in rows
    assert ["up to 1.5 ... 1.502", "switch to large on site"] in rows
    assert "changes to and fro there" in text
    assert "up to 0.903" in ask("policy", "show", path, "--details")[1]


def test_a_map_is_drawn_and_runs_without_a_figure_are_refused(ask: Ask, policy, tmp_path) -> None:
    code, _, aside = ask("policy", "show", policy, "--figure", tmp_path / "map.svg")
    assert (code, aside) == (0, f"drawn in {tmp_path / 'map.svg'}\n")
    assert "<svg" in (tmp_path / "map.svg").read_text(encoding="utf-8")
    code, _, err = ask("policy", "show", policy, "--runs", "digits-alexnet")
    assert (code, "--runs: runs are drawn over a figure" in err) == (2, True)
    code, _, err = ask("policy", "show", policy, "--runs", "digits-alexnet", "--figure", tmp_path / "m.png")
    assert (code, "no run has a loss before epoch 1 and trained what the policy begins" in err) == (2, True)


def test_each_decision_has_its_exit_code_and_says_why(ask: Ask, policy, log) -> None:
    lines = ({"epoch": 0, "loss": 1.0}, {"epoch": 1, "loss": 0.82}, {"epoch": 2, "loss": 0.4})
    for count, (code, word) in enumerate(((0, "continue"), (10, "switch"), (0, "continue")), start=1):
        log.write_text("".join(json.dumps(line) + "\n" for line in lines[:count]), encoding="utf-8")
        found, text, err = ask("policy", "decide", policy, "--log", log)
        assert (found, text.split(":")[0], err) == (code, word, "")
    with log.open("a", encoding="utf-8") as file:
        file.write('{"epoch": 3, "loss": 0.31}\n{"epo')  # the last line is unfinished
    code, text, _ = ask("policy", "decide", policy, "--log", log, "--json")
    found = json.loads(text)
    assert (code, found["decision"], found["reason"], found["epoch"]) == (11, "stop", "deadline", 3)
    assert found["cost"] == 6.0


def test_the_log_of_a_controller_leads_to_its_own_decision_and_is_left_as_it_is(
    ask: Ask, policy, log
) -> None:
    controller = Controller(policy, log)
    controller.start(1.0)
    controller.observe(0.82)
    before = log.read_bytes()
    assert ask("policy", "decide", policy, "--log", log) == (10, controller.why() + "\n", "")
    assert log.read_bytes() == before


def test_a_log_of_another_logger_is_read_by_its_keys(ask: Ask, policy, log) -> None:
    log.write_text(
        '{"config": {"lr": 0.1}}\n{"step": 0, "val_loss": 1.0}\n{"step": 1, "train_loss": 0.2}\n'
        '{"step": 1, "val_loss": NaN}\n',
        encoding="utf-8",
    )
    words = ("policy", "decide", policy, "--log", log)
    code, text, _ = ask(*words, "--loss", "val_loss", "--epoch", "step")
    assert (code, text.startswith("stop, abandoned: the loss is not finite")) == (11, True)
    code, _, err = ask(*words)
    assert code == 2
    assert "no line has both 'epoch' and 'loss'; its lines have config, step, train_loss, val_loss" in err


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('{"epoch": 1, "loss": 1}\n', "line 1: begins with epoch 1; the loss before the first epoch"),
        ('{"epoch": 0, "loss": 1}\n{"epoch": 0, "loss": 1}\n', "line 2: epoch 0 stands on line 1 already"),
        (
            '{"epoch": 0, "loss": 1}\n{"epoch": 2, "loss": 1}\n',
            "line 2: is of epoch 2, and should be of epoch 1",
        ),
        (
            '{"epoch": 0, "loss": 9}\n{"epoch": 1, "loss": 1}\n',
            "line 2: the run stopped after epoch 0 (abandoned)",
        ),
        ('{"epoch": 0, "loss": "1"}\n', "line 1: a loss is a number, not '1'"),
        (
            '{"epoch": 0, "loss": 1}\n{"epoch": 1, "loss": 0.8, "model": "large"}\n',
            "line 2: the epoch trained model 'large', and the policy had decided on 'small'",
        ),
        ("[]\n", "line 1 is no JSON object"),
        ("", "holds no loss yet"),
    ],
)
def test_a_log_that_cannot_be_followed_is_refused_with_its_line(ask: Ask, policy, log, lines, words) -> None:
    log.write_text(lines, encoding="utf-8")
    code, _, err = ask("policy", "decide", policy, "--log", log)
    assert code == 2
    assert f"{log}: {words}" in err


def test_a_plan_is_followed_with_its_instance_until_the_target_is_reached(ask: Ask, tmp_path) -> None:
    """As the controller does, from a log of any loop and from its own."""
    plan, log, own = (str(tmp_path / name) for name in ("plan.json", "run.jsonl", "own.jsonl"))
    assert ask("solve", "tiny", "--method", "enumerate", "--out", plan)[0] == 0
    controller = Controller(plan, own, instance=depl.load("tiny"))
    decide = ("policy", "decide", plan, "--instance", "tiny", "--log")
    losses, codes = (15.0, 11.0, 9.0, 6.5), []
    for epoch, loss in enumerate(losses):
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"epoch": epoch, "loss": loss}) + "\n")
        controller.observe(loss) if epoch else controller.start(loss)
        code, text, err = ask(*decide, log)
        assert (text, err) == (controller.why() + "\n", "")
        assert ask(*decide, own)[0] == code
        codes.append(code)
    assert codes == [0, 0, 10, 11]
    assert json.loads(ask(*decide, log, "--json")[1])["reason"] == "reached"


def test_a_plan_without_its_instance_is_refused_with_the_command_that_helps(
    ask: Ask, policy, log, tmp_path
) -> None:
    plan = tmp_path / "plan.json"
    log.write_text('{"epoch": 0, "loss": 15}\n', encoding="utf-8")
    assert ask("solve", "tiny", "--method", "enumerate", "--out", plan)[0] == 0
    code, _, err = ask("policy", "decide", plan, "--log", log)
    assert (code, f"{plan}: $.format: this is a 'depl-plan' document" in err) == (2, True)
    assert "depl policy decide PLAN --instance INSTANCE --log RUN.jsonl" in err
    code, _, err = ask("policy", "decide", plan, "--log", log, "--target", 6)
    told = "--target: chooses the instance of a plan: name it, too, by --instance"
    assert (code, told in err) == (2, True)
    code, _, err = ask("policy", "decide", policy, "--instance", "tiny", "--log", log)
    assert (code, f"{policy}: $.format: this is a 'depl-policy' document" in err) == (2, True)
    code, _, err = ask("policy", "decide", plan, "--instance", "paper-alexnet-9", "--log", log)
    assert (code, "the plan was made for another instance" in err) == (2, True)


def test_a_log_of_ours_without_an_epoch_has_nothing_to_decide(ask: Ask, policy, log) -> None:
    Controller(policy, log)
    code, _, err = ask("policy", "decide", policy, "--log", log)
    assert (code, "holds no loss yet" in err) == (2, True)


def test_a_file_that_is_no_policy_is_refused_by_show_and_decide(ask: Ask, mine, log) -> None:
    log.write_text('{"epoch": 0, "loss": 1}\n', encoding="utf-8")
    for words in (("show", mine), ("decide", mine, "--log", log)):
        code, _, err = ask("policy", *words)
        assert code == 2
        assert (
            f"{mine}: $.format: this is a 'depl-instance' document; a 'depl-policy' one is needed here" in err
        )


def test_a_field_that_there_is_not_is_refused_with_the_command_that_lists_them(ask: Ask, policy) -> None:
    policy.write_text(json.dumps({**document(), "epochs": 3}), encoding="utf-8")
    code, _, err = ask("policy", "show", policy)
    assert (code, "the fields are listed by 'depl policy schema'" in err) == (2, True)


def test_the_schema_accepts_policies_and_refuses_others(ask: Ask) -> None:
    code, text, _ = ask("policy", "schema")
    schema = json.loads(text)
    assert (code, schema) == (0, json.loads(json.dumps(json_schema())))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(json.loads(by_hand().to_json()))
    assert validator.is_valid(document())
    assert not validator.is_valid({**document(), "version": 2})
    assert not validator.is_valid({**document(), "start": -1})
    assert not validator.is_valid({name: value for name, value in document().items() if name != "nodes"})
