"""``depl train``: what it writes, and how it goes on."""

import json

import pytest

from depl.instances.training import families
from depl.models.traces.counterfactuals import read_counterfactuals
from depl.models.traces.files import read_traces
from depl.models.traces.stages import planned
from tests.cases.training_cases import small_family
from tests.problems import plan

STAGES = ("--stages", "pruned-50@edge,pruned-75@far-edge")
SWITCHES = ("--switch-epochs", "2,4", "--epochs", 6)


@pytest.fixture
def train(ask, tmp_path, monkeypatch):
    """The command on a family that is trained in no time: code, what is printed, and the file of runs."""
    monkeypatch.setitem(families.FAMILIES, "points", small_family())
    out = tmp_path / "traces.csv.gz"

    def run(*words, to=out):
        code, text, err = ask("train", "--family", "points", *words, "--out", to)
        return code, json.loads(text) if "--json" in words else text, err

    return run


def written(path, *epochs):
    path.write_text(plan(*epochs, data=("all",)).to_json(), encoding="utf-8")
    return path


def test_runs_are_trained_and_those_that_are_there_are_kept(train, tmp_path):
    out = tmp_path / "traces.csv.gz"
    assert train("--runs", 2)[0] == 0
    code, content, _ = train("--runs", 3, "--seed", 1, "--json")
    assert (code, content["trained"], content["kept"], content["runs"]) == (0, 2, 1, 4)
    assert (content["seeds"], content["epochs"]) == ([1, 3], 60)
    traces = read_traces(out)
    assert traces.runs == ("0", "1", "2", "3")
    assert traces.provenance["command"] == "depl train --family points --runs 3 --seed 1"
    assert planned(traces.provenance) is None


def test_a_plan_is_trained_epoch_by_epoch_with_seeds_made_of_the_plan(train, tmp_path):
    epochs = (("pruned-50", "edge"),) * 2 + (("pruned-75", "far-edge"),)
    firsts = set()
    for name, trained in (("all", epochs), ("fewer", epochs[1:])):
        path, out = written(tmp_path / f"{name}.json", *trained), tmp_path / f"{name}.csv"
        first, last = train("--plan", path, "--runs", 2, "--json", to=out)[1]["seeds"]
        firsts.add(first)
        traces = read_traces(out)
        assert traces.schedules[0] == planned(traces.provenance) == trained
        assert last == first + 1 > 10**6
    assert len(firsts) == 2


def test_every_switch_epoch_of_a_seed_is_trained_and_read_back_as_a_tree(train, tmp_path):
    words = (*STAGES, *SWITCHES, "--seed", 2000000, "--json")
    assert train(*words, "--runs", 2)[1]["trained"] == 4
    content = train(*words, "--runs", 3)[1]
    assert (content["trained"], content["kept"], content["seeds"]) == (2, 4, [2000000, 2000002])
    traces = read_traces(tmp_path / "traces.csv.gz")
    found = read_counterfactuals(traces)
    assert (found.seeds, found.switch_epochs) == (("2000000", "2000001", "2000002"), (2, 4))
    assert found.stages == (("pruned-50", "edge"), ("pruned-75", "far-edge"))
    assert traces.provenance["command"].endswith(f"{' '.join(STAGES)} --switch-epochs 2,4 --epochs 6")


def test_one_switch_epoch_of_each_seed_may_be_drawn(train, tmp_path):
    assert train(*STAGES, *SWITCHES, "--draw-switch", 1, "--runs", 6)[0] == 0
    traces = read_traces(tmp_path / "traces.csv.gz")
    assert sorted(len(runs) for runs in traces.by_schedule().values()) == [3, 3]
    code, _, err = train(*STAGES, *SWITCHES)
    assert (code, "its schedule is" in err, "choose another file" in err) == (2, True, True)


def test_an_interrupt_keeps_what_is_there_and_says_how_to_go_on(train, tmp_path, monkeypatch):
    def interrupt(*given):
        raise KeyboardInterrupt

    def step(self, task, *, description, **more):
        if description == "seed 1" and content["runs"] == 0:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("depl.instances.training.recording.train_run", interrupt)
        code, content, _ = train("--runs", 4, "--json")
        assert (code, content["runs"]) == (5, 0)
    monkeypatch.setattr("rich.progress.Progress.update", step)
    code, content, err = train("--runs", 4, "--json")
    assert (code, content["interrupted"]) == (4, True)
    assert "The same command goes on" in err
    assert read_traces(tmp_path / "traces.csv.gz").runs == ("0", "1")
    code, content, _ = train("--runs", 4, "--json")
    assert (code, content["kept"]) == (0, 2)
