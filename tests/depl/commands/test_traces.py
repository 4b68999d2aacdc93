"""``depl traces import``: from the files of every tool to a plan that is proved, by commands alone."""

import json
from pathlib import Path

import numpy as np
import pytest

from depl.commands import fit
from depl.models.estimation import instance as fitted
from depl.models.traces.files import read_traces
from tests.cases.fit_cases import SETUP
from tests.cases.tool_log_cases import EVERY, LOGS, SWITCHED, unpacked

SITES = {
    "clusters": [
        {"name": "edge", "capacity": 20, "bandwidth": 10, "unit_cost": 2},
        {"name": "far-edge", "capacity": 10, "bandwidth": 2, "unit_cost": 1},
    ],
    "models": [{"name": "p50", "size": 2, "demand": 2}, {"name": "p75", "size": 1, "demand": 1}],
}
ALONE = {"clusters": SITES["clusters"][:1], "models": [{"name": "dense", "size": 2, "demand": 2}]}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder; p-values of fits are of few resamples."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fit, "_RESAMPLES", 19)
    monkeypatch.setattr(fitted, "_RESAMPLES", 9)
    return tmp_path


def written_setup(folder: Path, name: str) -> None:
    logged = EVERY[name]
    sites = ALONE if "dense@edge" in logged.options else SITES
    target = {
        "maximum_loss": logged.target,
        "quantile_level": 0.85,
        "maximum_epochs": 16,
        "maximum_time": 500,
    }
    document = {**SETUP, **sites, "target": target, "transfers": []}
    (folder / "setup.json").write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["lightning", "keras", "tensorboard", "wandb", "mlflow", "flower", "jsonl", "csv"]
)
def test_from_the_logs_of_a_tool_to_a_checked_plan_by_commands_alone(ask, here: Path, name: str) -> None:
    written_setup(here, name)
    path = unpacked(EVERY[name], here)
    code, text, err = ask("traces", "import", path, *EVERY[name].options, "--out", "runs.csv")
    assert (code, err) == (0, "traces written to runs.csv\n")
    assert f"24 runs of {EVERY[name].tool}, recognised by " in text.splitlines()[0]
    assert ("before training" in text) == (name != "flower")
    assert ask("diagnose", "runs.csv", "--resamples", "9")[0] == 0
    assert ask("fit", "runs.csv", "--template", "setup.json", "--out", "mine.json")[0] == 0
    code, text, _ = ask("solve", "mine.json", "--method", "enumerate", "--out", "plan.json")
    assert code == 0
    assert "proved cheapest" in text
    assert "certified under the fitted law" in text
    assert ask("check", "mine.json", "plan.json")[0] == 0


def test_fit_and_diagnose_take_the_logs_themselves(ask, here: Path) -> None:
    written_setup(here, "jsonl")
    logs = (LOGS / "jsonl", *EVERY["jsonl"].options)
    ask("traces", "import", *logs, "--out", "runs.csv")
    for words in (logs, ("runs.csv",)):
        assert ask("fit", *words, "--template", "setup.json", "--out", f"{len(words)}.json")[0] == 0
    two = [json.loads(Path(f"{count}.json").read_text(encoding="utf-8")) for count in (1, len(logs))]
    assert two[0]["traced_law"] == two[1]["traced_law"]
    texts = [
        ask("diagnose", *words, "--resamples", "9")[1].split("\n", 1)[1] for words in (logs, ("runs.csv",))
    ]
    assert texts[0].replace(str(LOGS / "jsonl"), "runs.csv") == texts[1]


def test_logs_are_not_read_unless_their_loss_is_named(ask, here: Path) -> None:
    written_setup(here, "csv")
    fit = ("--template", "setup.json", "--out", "mine.json")
    code, _, err = ask("fit", LOGS / "csv/runs.csv", *fit)
    assert code == 2
    assert "depl traces import runs.csv --loss KEY --out" in err
    code, _, err = ask("diagnose", LOGS / "csv/runs.csv", "--first", "1")
    assert (code, "--first: says how to read logs: name their loss, too, by --loss KEY" in err) == (2, True)
    code, _, err = ask("diagnose", "a.csv", "b.csv")
    assert (code, "name their loss by --loss KEY" in err) == (2, True)


def test_without_a_file_to_write_the_table_is_shown(ask, here: Path) -> None:
    code, text, err = ask("traces", "import", LOGS / "csv/runs.csv", "--loss", "val_loss", *SWITCHED)
    assert (code, err) == (0, "")
    logs, loss, *rest = text.splitlines()
    assert logs == "logs             24 runs of csv, recognised by runs.csv"
    assert loss.startswith("loss             val_loss: median 2.2")
    assert rest == [
        "epochs           1 to 16",
        "epochs told by   epoch",
        "stages told by   --stages",
        "not read         1 key: train_loss",
        "before training  no run was evaluated: the law of l(1) is then as it was seen",
        "",
        "What was trained, in 24 runs:",
        "stages                     | runs",
        "---------------------------+-----",
        "p50@edge:6,p75@far-edge:10 |   12",
        "p50@edge:9,p75@far-edge:7  |   12",
    ]
    assert not list(here.iterdir())


def test_what_was_read_is_one_json_object(ask, here: Path) -> None:
    rows = [{"run": name, "epoch": k, "loss": 1 / k} for name in "ab" for k in (1, 2, 3)]
    rows[-1]["loss"] = float("inf")
    (here / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    words = ("traces", "import", "log.jsonl", "--loss", "loss", "--stages", "net@edge", "--on-missing", "end")
    code, text, _ = ask(*words, "--out", "runs.npz", "--json")
    content = json.loads(text)
    assert code == 0
    assert (content["tool"], content["runs"], content["epochs"], content["shortest"]) == (
        "jsonl",
        2,
        [1, 3],
        2,
    )
    assert content["schedules"] == [
        {"stages": "net@edge:3", "runs": 1},
        {"stages": "net@edge:2", "runs": 1},
    ]
    assert content["notes"] == {"shorter": 1, "diverged": 1}
    assert content["diverged"] == ["b"]
    assert content["dropped"] == []
    assert read_traces("runs.npz").runs == ("a", "b")
    assert "1: count them, depl fit --diverged 1" in ask(*words)[1]


def test_many_notes_are_counted_and_not_listed(ask, here: Path) -> None:
    """Two hundred runs that were logged twice."""
    rng = np.random.default_rng(0)
    rows = [
        {"run": f"r{run}", "epoch": k, "loss": float(loss), "extra": 1}
        for run in range(200)
        for _ in range(2)
        for k, loss in enumerate(rng.uniform(size=3), start=1)
    ]
    (here / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    words = ("traces", "import", "log.jsonl", "--loss", "loss", "--stages", "net@edge")
    assert "--on-repeated last" in ask(*words)[2]
    _, text, _ = ask(*words, "--on-repeated", "last")
    assert "repeated         600 epochs logged again, the last one counts" in text
    assert len(text.splitlines()) < 20


def test_an_output_does_not_overwrite_what_is_read(ask, here: Path) -> None:
    (here / "log.csv").write_text("epoch,loss\n1,2\n", encoding="utf-8")
    words = ("traces", "import", "log.csv", "--loss", "loss", "--stages", "net@edge", "--out", "log.csv")
    code, _, err = ask(*words)
    assert code == 2
    assert "log.csv" in err
    assert (here / "log.csv").read_text(encoding="utf-8") == "epoch,loss\n1,2\n"


@pytest.mark.parametrize(("option", "value"), [("--where", "split"), ("--first", "2"), ("--from", "excel")])
def test_slips_in_options_say_what_is_expected(ask, option: str, value: str) -> None:
    code, _, err = ask("traces", "import", "log.csv", "--loss", "loss", option, value)
    assert code == 2
    assert option in err
