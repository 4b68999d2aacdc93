"""``depl front``: certified points, their files, going on with a front, exit codes and refusals."""

import csv
import json

import pytest

import depl
from depl.models.solving.budgets import Budget
from depl.models.solving.defaults import FRONTS_AGAINST

RANGES = {"loss": (4.0, 15.0), "time": (1.0, 12.0), "probability": (0.5, 0.9)}


def asked(against: str, *words: object) -> list[object]:
    return ["front", "tiny", "--against", against, "--between", *RANGES[against], "--points", 4, *words]


def test_the_help_names_all_budgets_that_there_are():
    assert [kind.value for kind in Budget] == list(FRONTS_AGAINST)


@pytest.mark.parametrize("against", RANGES)
def test_every_plan_that_is_written_passes_depl_check_on_the_instance_beside_it(ask, tmp_path, against):
    plans = tmp_path / "plans"
    code, out, err = ask(*asked(against, "--plans", plans, "--json"))
    assert code == 0
    front = json.loads(out)
    kept = [point for point in front["points"] if point["plan"] is not None]
    assert f"{len(kept)} plans written to {plans}" in err
    names = {path.name.removesuffix(".plan.json") for path in plans.glob("*.plan.json")}
    assert names == {f"{against}-{point['budget']:.12g}" for point in kept}
    field = Budget(against).field
    for name in names:
        instance = plans / f"{name}.instance.json"
        target = json.loads(instance.read_text(encoding="utf-8"))["target"]
        assert target[field] == float(name.partition("-")[2])
        code, out, _ = ask("check", instance, plans / f"{name}.plan.json", "--json")
        assert (code, json.loads(out)["ok"]) == (0, True)
    assert f"depl check {plans}" in err


def test_a_front_goes_on_from_its_file_and_another_instance_is_refused(ask, tmp_path, monkeypatch):
    file = tmp_path / "front.json"
    assert ask(*asked("loss", "--out", file))[0] == 0
    whole = json.loads(file.read_text(encoding="utf-8"))
    partial = {**whole, "points": whole["points"][:2], "complete": False}
    file.write_text(json.dumps(partial), encoding="utf-8")
    solved, own = [], depl.models.solving.front.solve
    monkeypatch.setattr(
        "depl.models.solving.front.solve", lambda *args, **more: (solved.append(args), own(*args, **more))[1]
    )
    code, out, _ = ask(*asked("loss", "--out", file, "--json"))
    assert code == 0
    again = json.loads(out)
    assert again == json.loads(file.read_text(encoding="utf-8"))
    assert len(solved) == 2
    shown = ("budget", "termination", "cost", "lower_bound")
    assert [[point[name] for name in shown] for point in again["points"]] == [
        [point[name] for name in shown] for point in whole["points"]
    ]
    code, _, err = ask("front", "paper-alexnet-9", "--against", "loss", "--out", file)
    assert code == 2
    assert "another instance" in err


def test_what_is_stopped_by_a_limit_says_so(ask, tmp_path):
    file = tmp_path / "front.json"
    code, out, _ = ask(*asked("loss", "--time-limit", 1e-3, "--out", file))
    assert code == 5
    assert "0 of 4 points, stopped by the time limit" in out
    assert ask(*asked("loss", "--out", file))[0] == 0
    assert len(json.loads(file.read_text(encoding="utf-8"))["points"]) == 4


def test_ctrl_c_leaves_the_points_found_by_then_in_the_file(ask, tmp_path, monkeypatch):
    file, plans, own, calls = tmp_path / "front.json", tmp_path / "plans", depl.models.solving.front.solve, []

    def interrupted(*args: object, **more: object) -> depl.Result:
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return own(*args, **more)

    monkeypatch.setattr("depl.models.solving.front.solve", interrupted)
    code, out, _ = ask(*asked("time", "--out", file, "--plans", plans))
    assert code == 4
    assert "2 of 4 points, stopped by the user" in out
    assert len(json.loads(file.read_text(encoding="utf-8"))["points"]) == 2
    assert len(list(plans.glob("*.plan.json"))) == out.count("proved cheapest")
    assert ask(*asked("time", "--out", file))[0] == 0


def test_a_table_is_written_and_the_front_drawn(ask, tmp_path):
    table, figure = tmp_path / "front.csv", tmp_path / "drawn"
    code, _, err = ask(*asked("time", "--out", table, "--figure", figure))
    assert code == 0
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert [float(row["budget"]) for row in rows][::3] == [12.0, 1.0]
    assert rows[-1]["termination"] == "infeasible"
    assert float(rows[0]["cost"]) == pytest.approx(float(rows[0]["lower_bound"]), rel=1e-9)
    assert f"front written to {table}" in err
    for ending in (".png", ".svg"):
        assert figure.with_suffix(ending).stat().st_size > 1000


def test_a_front_of_no_plan_at_all_is_infeasible(ask):
    code, out, _ = ask("front", "tiny", "--against", "loss", "--between", -100, -90, "--points", 2)
    assert code == 3
    assert out.count("proved infeasible") == 2


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["loss", "--between", 5, 4], "--between: the first, 5, must not exceed"),
        (["probability", "--between", 0.5, 1], "--between: 1 cannot be quantile_level"),
        (["loss", "--between", "nan", 4], "--between: both ends must be finite numbers"),
        (["loss", "--method", "scenario-search"], "counts scenarios"),
        (["loss", "--time-limit", -1], "time_limit"),
        (["loss", "--out", "/nowhere/else.json"], "there is no folder"),
        (["cost"], "'cost' is no choice; known are loss, time, probability"),
    ],
)
def test_what_cannot_be_used_is_refused(ask, words, complaint):
    code, out, err = ask("front", "tiny", "--against", *words)
    assert (code, out) == (2, "")
    assert complaint in err.replace("--time-limit", "time_limit")
