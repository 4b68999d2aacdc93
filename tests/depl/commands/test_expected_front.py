"""``depl front --expected``: points, files, figure, exit codes and refusals."""

import csv
import json

import pytest

import depl
from depl.models.evaluation.evaluate import evaluate, final_loss
from depl.models.exact.enumeration import build_plan
from depl.models.exact.plan_classes import Configuration


def test_the_front_of_the_paper_counts_the_slowest_model_s_epochs(ask):
    code, out, err = ask(
        "front",
        "paper-alexnet-9",
        "--expected",
        "--against",
        "loss",
        "--points",
        2,
        "--between",
        9,
        20,
        "--json",
    )
    assert (code, err) == (0, "")
    front = json.loads(out)
    assert (front["instance"], front["against"], front["cluster"]) == ("paper-alexnet-9", "loss", "A")
    free, paper = front["points"]
    assert (free["budget"], free["cost"], free["epochs"], free["models"]) == (20, 0, 0, [])
    # each epoch of the slowest model improves the mean by 0.98 and costs 1: 11 / 0.98 = 11.2 epochs
    assert (paper["budget"], paper["cost"], paper["epochs"]) == (9, 12, 12)
    assert set(paper["models"]) == {"slow-steady"}
    assert 12 * (1 - 1e-9) <= paper["lower_bound"] <= paper["weight"] == 12


def test_costs_are_those_of_the_plan(ask):
    _, out, _ = ask("front", "tiny", "--expected", "--against", "loss", "--whole", "--json")
    front = json.loads(out)
    *points, last = front["points"]
    assert (last["termination"], last["cost"], last["models"]) == ("infeasible", None, None)
    instance = depl.load("tiny")
    assert len(points) == 3
    for point in points:
        steps = [Configuration(front["cluster"], name) for name in point["models"]]
        plan = build_plan(instance, {front["cluster"]: frozenset(front["datasets"])}, steps)
        evaluated = evaluate(instance, plan, quantile=False)
        assert evaluated.transfer_cost > 0
        assert point["cost"] == pytest.approx(evaluated.cost, rel=1e-12)
        assert point["expected_loss"] == pytest.approx(final_loss(instance, plan).mean())


@pytest.mark.parametrize("words", [["loss", "--between", 8.87, 10, "--points", 3], ["time", "--points", 4]])
def test_every_point_says_what_it_bounds_and_how_often_its_path_misses_that(ask, words):
    """The bound is on the expected loss: a path that just keeps it ends above it about half the time."""
    code, out, _ = ask("front", "paper-alexnet-deadline-9", "--expected", "--against", *words, "--json")
    assert code == 0
    front = json.loads(out)
    assert (front["bounded"], front["omega_used"]) == ("the expected loss", False)
    instance = depl.load("paper-alexnet-deadline-9")
    for point in front["points"]:
        bound = point["budget"] if words[0] == "loss" else instance.target.maximum_loss
        steps = [Configuration(front["cluster"], name) for name in point["models"]]
        plan = build_plan(instance, {front["cluster"]: frozenset(front["datasets"])}, steps)
        violation = evaluate(instance.replace(maximum_loss=bound), plan, quantile=False).violation
        assert point["violation"] == {"lower": float(violation.lower), "upper": float(violation.upper)}
        assert point["expected_loss"] <= bound
    if words[0] == "loss":
        tightest = front["points"][-1]
        assert tightest["cost"] == pytest.approx(80.97, abs=0.01)
        assert 0.52 < tightest["violation"]["lower"] <= tightest["violation"]["upper"] < 0.53
    _, out, _ = ask("front", "paper-alexnet-deadline-9", "--expected", "--against", *words)
    assert "omega is NOT used" in out
    assert "These are no plans that keep a promise of 0.99" in out
    assert "expected loss" in out
    assert "sum of sqrt(kappa c)" in out


@pytest.mark.parametrize("words", [["front", "--help"], ["--help"]])
def test_help_says_that_the_expected_loss_is_bounded(ask, words):
    assert "a bound on the expected loss" in " ".join(ask(*words)[1].lower().split())


def test_a_front_is_shown_written_and_drawn(ask, tmp_path):
    table, figure = tmp_path / "front.csv", tmp_path / "front"
    code, out, err = ask(
        "front",
        "paper-alexnet-9",
        "--expected",
        "--against",
        "loss",
        "--points",
        4,
        "--out",
        table,
        "--figure",
        figure,
    )
    assert code == 0
    assert "training-data on A" in out
    assert out.count("optimal") == 4
    assert f"written to {table}" in err
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert [row["epochs"] for row in rows][:2] == ["0", "7"]
    assert rows[1]["models"].split() == ["slow-steady"] * 7
    assert figure.with_suffix(".png").stat().st_size > 1000
    code, out, _ = ask(
        "front",
        "paper-alexnet-9",
        "--expected",
        "--against",
        "time",
        "--out",
        tmp_path / "front.json",
        "--json",
    )
    assert json.loads((tmp_path / "front.json").read_text(encoding="utf-8")) == json.loads(out)


def test_exit_codes_tell_infeasible_and_stopped(ask):
    code, out, _ = ask(
        "front", "tiny", "--expected", "--against", "loss", "--points", 2, "--between", -100, -90, "--json"
    )
    assert code == 3
    assert {point["termination"] for point in json.loads(out)["points"]} == {"infeasible"}
    code, out, _ = ask(
        "front",
        "tiny",
        "--expected",
        "--against",
        "time",
        "--points",
        1,
        "--between",
        9,
        9,
        "--time-limit",
        1e-9,
    )
    assert code in (0, 4)
    assert "time_limit" in out or "optimal" in out


def test_what_cannot_be_used_is_refused(ask):
    for words, complaint in (
        (("--cluster", "nowhere"), "there is no cluster 'nowhere'"),
        (("--datasets", "archive,none"), "there is no dataset 'none'"),
        (("--between", 5, 4), "must not exceed"),
        (("--out", "/nowhere/else.csv"), "there is no folder"),
    ):
        code, _, err = ask("front", "tiny", "--expected", "--against", "loss", *words)
        assert code == 2
        assert complaint in err
    assert ask("front", "tiny", "--expected")[0] == 2
