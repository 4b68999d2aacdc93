"""``depl train``: what it writes, how it goes on, and what it refuses."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from depl.instances.training import families
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.traces.counterfactuals import read_counterfactuals
from depl.models.traces.files import read_traces
from depl.models.traces.planned import planned
from tests.cases.training_cases import small_family

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A family that is trained in no time."""
    monkeypatch.setitem(families.FAMILIES, "points", small_family())


@pytest.fixture
def plan(tmp_path):
    def write(*epochs):
        made = Plan(
            data=tuple(ClusterData(cluster=name, datasets=("all",)) for name in {c for _, c in epochs}),
            epochs=tuple(
                PlannedEpoch(model=model, cluster=cluster, resources=1.0) for model, cluster in epochs
            ),
        )
        path = tmp_path / "plan.json"
        path.write_text(made.to_json(), encoding="utf-8")
        return path

    return write


def test_runs_are_trained_and_those_that_are_there_are_kept(ask, tmp_path):
    out = tmp_path / "traces.csv.gz"
    code, text, err = ask("train", "--family", "points", "--runs", 2, "--out", out)
    assert code == 0
    assert "points" in text
    assert f"2 runs trained, 0 there already; written to {out}" in err
    code, text, err = ask("train", "--family", "points", "--runs", 3, "--seed", 1, "--out", out, "--json")
    content = json.loads(text)
    assert (code, content["trained"], content["kept"], content["runs"]) == (0, 2, 1, 4)
    assert content["seeds"] == [1, 3]
    traces = read_traces(out)
    assert traces.runs == ("0", "1", "2", "3")
    assert traces.provenance["command"] == "depl train --family points --runs 3 --seed 1"
    assert content["epochs"] == 60
    assert planned(traces.provenance) is None


def test_a_plan_is_trained_epoch_by_epoch_with_seeds_made_of_the_plan(ask, tmp_path, plan):
    path = plan(("pruned-50", "edge"), ("pruned-50", "edge"), ("pruned-75", "far-edge"))
    out = tmp_path / "traces.csv"
    code, text, _ = ask("train", "--family", "points", "--plan", path, "--runs", 2, "--out", out, "--json")
    assert code == 0
    first, last = json.loads(text)["seeds"]
    assert first >= 10**6
    assert last == first + 1
    traces = read_traces(out)
    assert traces.schedules[0] == (("pruned-50", "edge"),) * 2 + (("pruned-75", "far-edge"),)
    assert planned(traces.provenance) == traces.schedules[0]
    other = plan(("pruned-50", "edge"), ("pruned-75", "far-edge"))
    again = ask(
        "train", "--family", "points", "--plan", other, "--runs", 2, "--out", tmp_path / "b.csv", "--json"
    )
    assert json.loads(again[1])["seeds"][0] != first


def test_a_plan_of_other_models_or_clusters_is_refused(ask, tmp_path, plan):
    words = ("train", "--family", "points", "--out", tmp_path / "traces.csv", "--plan")
    path = plan(("pruned-50", "edge"), ("full", "edge"))
    code, _, err = ask(*words, path)
    assert code == 2
    assert f"{path}: $.epochs[1].model: 'full' cannot be trained" in err
    code, _, err = ask(*words, plan(("pruned-50", "cloud")))
    assert code == 2
    assert "there is no cluster 'cloud'" in err


STAGES = ("--stages", "pruned-50@edge,pruned-75@far-edge")
SWITCHES = ("--switch-epochs", "2,4", "--epochs", "6")


def test_every_switch_epoch_of_a_seed_is_trained_and_read_back_as_a_tree(ask, tmp_path):
    out = tmp_path / "branches.csv.gz"
    words = ("train", "--family", "points", *STAGES, *SWITCHES, "--seed", 2000000, "--out", out, "--json")
    content = json.loads(ask(*words, "--runs", 2)[1])
    assert (content["trained"], content["kept"], content["runs"], content["epochs"]) == (4, 0, 4, 6)
    content = json.loads(ask(*words, "--runs", 3)[1])
    assert (content["trained"], content["kept"], content["seeds"]) == (2, 4, [2000000, 2000002])
    traces = read_traces(out)
    found = read_counterfactuals(traces)
    assert (found.seeds, found.switch_epochs) == (("2000000", "2000001", "2000002"), (2, 4))
    assert found.stages == (("pruned-50", "edge"), ("pruned-75", "far-edge"))
    assert traces.provenance["command"] == (
        "depl train --family points --runs 3 --seed 2000000 --stages pruned-50@edge,pruned-75@far-edge "
        "--switch-epochs 2,4 --epochs 6"
    )


def test_one_switch_epoch_of_each_seed_may_be_drawn(ask, tmp_path):
    out = tmp_path / "runs.csv"
    words = ("train", "--family", "points", *STAGES, *SWITCHES, "--draw-switch", 1, "--runs", 6, "--out", out)
    assert ask(*words)[0] == 0
    traces = read_traces(out)
    assert len(traces.runs) == 6
    assert sorted(len(runs) for runs in traces.by_schedule().values()) == [3, 3]
    assert traces.provenance["command"].endswith("--switch-epochs 2,4 --epochs 6 --draw-switch 1")
    code, _, err = ask(*words[: words.index("--draw-switch")], "--out", out)
    assert code == 2
    assert f"{out}: its schedule is" in err
    assert "choose another file" in err


def test_without_a_seed_branches_get_seeds_made_of_the_stages(ask, tmp_path):
    firsts = set()
    for switches in ("2,4", "2,3"):
        words = (*STAGES, "--switch-epochs", switches, "--epochs", 6, "--runs", 1, "--out")
        text = ask("train", "--family", "points", *words, tmp_path / f"{switches}.csv.gz", "--json")[1]
        firsts.add(json.loads(text)["seeds"][0])
    assert len(firsts) == 2
    assert min(firsts) >= 10**6


def test_an_interrupt_keeps_what_is_there_and_says_how_to_go_on(ask, tmp_path, monkeypatch):
    stopped = []

    def step(self, done):
        if done == "seed 1" and not stopped:
            stopped.append(done)
            raise KeyboardInterrupt

    monkeypatch.setattr("depl.commands.progress.Bar.step", step)
    out = tmp_path / "traces.csv.gz"
    code, text, err = ask("train", "--family", "points", "--runs", 4, "--out", out, "--json")
    assert code == 4
    assert json.loads(text)["interrupted"] is True
    assert "The same command goes on" in err
    assert read_traces(out).runs == ("0", "1")
    code, text, _ = ask("train", "--family", "points", "--runs", 4, "--out", out, "--json")
    assert (code, json.loads(text)["kept"]) == (0, 2)


def test_an_interrupt_before_anything_is_done_holds_nothing(ask, tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("depl.instances.training.recording.train_run", interrupt)
    code, text, _ = ask("train", "--family", "points", "--runs", 4, "--out", tmp_path / "t.csv.gz", "--json")
    assert code == 5
    assert json.loads(text)["runs"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--family", "none"), "there is no family 'none'"),
        (("--family", "zen-attention"), "zen-attention is no longer trained"),
        (("--family", "points", "--runs", "0"), "0 is not in the range"),
        (("--family", "points", "--seed", "-1"), "-1 is not in the range x>=0"),
        (("--family", "points", "--plan", "nowhere.json"), "cannot be read"),
        ((), "--family"),
        (("--family", "points", *STAGES), "--stages: needs --switch-epochs"),
        (("--family", "points", *STAGES, "--switch-epochs", "2"), "--stages: needs --epochs"),
        (("--family", "points", *SWITCHES[2:]), "--epochs: goes with --stages"),
        (("--family", "points", "--draw-switch", "1"), "--draw-switch: goes with --stages"),
        (("--family", "points", *STAGES, *SWITCHES, "--plan", "p.json"), "--stages: and --plan both say"),
        (("--family", "points", "--stages", "pruned-50@edge", *SWITCHES), "must be two stages MODEL@CLUSTER"),
        (("--family", "points", "--stages", "pruned-50,full@edge", *SWITCHES), "must be two stages"),
        (
            ("--family", "points", "--stages", "full@edge,pruned-75@edge", *SWITCHES),
            "--stages: 'full' cannot",
        ),
        (
            ("--family", "points", "--stages", "pruned-50@edge,pruned-75@cloud", *SWITCHES),
            "--stages: there is no cluster 'cloud'; there are edge, far-edge",
        ),
        (
            ("--family", "points", "--stages", "pruned-50@edge,pruned-50@edge", *SWITCHES),
            "--stages: are the same twice",
        ),
        (("--family", "points", *STAGES, "--switch-epochs", "2,x"), "'x' is not a valid whole number"),
        (
            ("--family", "points", *STAGES, "--switch-epochs", "0,2", "--epochs", "6"),
            "0 is not in the range x>=1",
        ),
        (
            ("--family", "points", *STAGES, "--switch-epochs", "2,6", "--epochs", "6"),
            "--switch-epochs: 6 leaves one of the stages without an epoch; switch after epoch 1 to 5 of 6",
        ),
        (
            ("--family", "points", *STAGES, "--switch-epochs", "4,2", "--epochs", "6"),
            "--switch-epochs: 2 follows on 4; give each epoch once, in ascending order",
        ),
    ],
)
def test_wrong_usage_is_refused_before_anything_is_trained(ask, tmp_path, words, message):
    code, _, err = ask("train", "--out", tmp_path / "traces.csv.gz", *words)
    assert code == 2
    assert message in err
    assert not list(tmp_path.glob("traces*"))


def test_a_file_that_cannot_be_written_or_holds_other_runs_is_refused(ask, tmp_path):
    code, _, err = ask("train", "--family", "points", "--out", tmp_path / "none" / "traces.csv.gz")
    assert code == 2
    assert "make it first" in err
    out = tmp_path / "traces.csv"
    out.write_text("run,epoch,model,cluster,loss\n0,1,m,c,1\n", encoding="utf-8")
    code, _, err = ask("train", "--family", "points", "--out", out)
    assert code == 2
    assert "choose another file" in err


@pytest.mark.parametrize(
    ("sent", "code"),
    [pytest.param(signal.SIGINT, 4, marks=pytest.mark.slow), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_a_process_that_is_stopped_leaves_a_file_that_another_one_goes_on_with(ask, tmp_path, sent, code):
    out = tmp_path / "traces.csv.gz"
    command = [sys.executable, "-m", "depl", "train", "--family", "cells-perceptron", "--runs", "100000"]
    child = subprocess.Popen(
        [*command, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT
    )
    try:
        deadline = time.monotonic() + 100
        while not out.exists() and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(sent)
        assert child.wait(timeout=100) == code
    finally:
        child.kill()
        child.wait()
    held = len(read_traces(out).runs)
    assert held >= 10
    words = ("train", "--family", "cells-perceptron", "--runs", held + 1, "--out", out, "--json")
    content = json.loads(ask(*words)[1])
    assert (content["trained"], content["kept"]) == (1, held)
