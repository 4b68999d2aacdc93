"""``depl traces import``: from the files of every tool to a plan that is proved, by commands alone."""

import itertools
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from depl.commands import fit
from depl.models.estimation import instance as fitted
from depl.models.traces.files import read_traces
from tests.cases.fit_cases import SETUP
from tests.cases.same_runs import ONE_MODEL, named
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
    given = " ".join(map(str, logs))
    assert texts[0].replace(given, "runs.csv").replace(str(LOGS / "jsonl"), "runs.csv") == texts[1]


def typed(line: str) -> list[str]:
    """The words of a line that is pasted into a shell, without the program's name."""
    program, *words = shlex.split(line, comments=True)
    assert program == "depl"
    return words


def following(text: str) -> list[str]:
    """The lines under *What comes next*."""
    lines = text.partition("What comes next:\n")[2].splitlines()
    return [line.strip() for line in itertools.takewhile(lambda line: line.startswith("  "), lines)]


@pytest.mark.parametrize("name", ["csv", "wandb"])
def test_the_next_command_of_a_diagnosis_of_logs_can_be_pasted(ask, here: Path, name: str) -> None:
    """Patterns of runs hold characters of the shell, and the folder a space."""
    written_setup(here, name)
    (here / "my logs").mkdir()
    path = Path("my logs", unpacked(EVERY[name], here).name)
    path.write_bytes(unpacked(EVERY[name], here).read_bytes())
    _, text, _ = ask("diagnose", path, *EVERY[name].options, "--resamples", "9")
    (line,) = re.findall(r"(?m)^next +(depl .*)$", text)
    assert typed(line)[0] == "fit"
    code, text, err = ask(*typed(line))
    assert code == 0, err
    (details,) = re.findall(r"depl diagnose .* --details", ask("diagnose", path, *EVERY[name].options)[1])
    assert ask(*typed(details), "--resamples", "9")[0] == 0
    solving, importing, certifying = following(text)
    assert ask(*typed(solving), "--method", "enumerate")[0] == 0
    stages = "p50@edge:6,p75@far-edge:10"
    told = importing.replace("FRESH-LOGS", shlex.quote(str(path))).replace("STAGES-OF-THE-PLAN", stages)
    assert ask(*typed(told))[0] == 0
    code, _, err = ask(*typed(certifying))
    assert (code, "the plan is " in err) == (2, True), err  # these runs are no fresh ones of the plan


def test_the_next_commands_of_an_import_can_be_pasted(ask, here: Path) -> None:
    written_setup(here, "jsonl")
    words = (LOGS / "jsonl", *EVERY["jsonl"].options)
    text = ask("traces", "import", *words, "--out", "my runs.csv")[1]
    diagnosing, new_setup, fitting = following(text)
    assert ask(*typed(diagnosing), "--resamples", "9")[0] == 0
    assert typed(new_setup)[:3] == ["instances", "new", "--setup"]
    assert ask(*typed(fitting))[0] == 0
    *_, warned, judging = text.splitlines()
    assert "Fresh runs of a plan are not fitted" in warned  # the last line is nothing that spends them
    assert typed(judging)[:2] == ["certify", "my runs.csv"]


def test_every_option_of_logs_is_repeated_and_the_metric_too(ask, here: Path) -> None:
    told = {
        "--from": "jsonl",
        "--run": "who",
        "--epoch": "when",
        "--first": "0",
        "--model": "net",
        "--cluster": "site",
        "--where": "split=val",
        "--accuracy": "acc",
        "--on-missing": "end",
        "--on-repeated": "last",
        "--leave-out": "r1",
        "--diverged": "r2,r3",
    }
    rng = np.random.default_rng(0)
    rows = [
        {"who": f"r{run}", "when": k, "loss": 3 / (k + 1) + rng.uniform(), "acc": 50 + k + rng.uniform()}
        | {"net": "a", "site": "edge", "split": "val"}
        for run in range(12)
        for k in range(5)
    ]
    (here / "log.txt.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    said = [word for pair in told.items() for word in pair]
    words = ["log.txt.jsonl", "--loss", "loss", *said, "--percent"]
    code, text, err = ask("diagnose", *words, "--metric", "error_rate", "--resamples", "9")
    assert code == 0, err
    (line,) = re.findall(r"(?m)^next +(depl .*)$", text)
    found = typed(line)
    for option, value in told.items():
        assert found[found.index(option) + 1] == value
    assert "--percent" in found
    assert found[found.index("--metric") + 1] == "error_rate"


def test_every_option_of_logs_asks_for_their_loss(ask, here: Path) -> None:
    written_setup(here, "csv")
    for option, value in (("--first", "0"), ("--on-missing", "end"), ("--stages", "a@b"), ("--where", "a=b")):
        code, _, err = ask("fit", "a.csv", option, value, "--template", "setup.json", "--out", "mine.json")
        assert (code, f"{option}: says how to read logs: name their loss" in err) == (2, True)


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
        "before training  no run was evaluated: the law of l(1) is then as it was seen, and policies "
        "decide from epoch 1 on",
        "policies         2 schedules, too few for the margin of plans that were never run, which takes 19; "
        "fit --care 0 leaves it out, for promises that fresh runs are to certify",
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
    code, text, _ = ask(*words, "--out", "runs.csv.gz", "--json")
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
    assert read_traces("runs.csv.gz").runs == ("a", "b")
    assert content["lost"] == {"b": "diverged and is ended: no loss in epoch 3 (row 6)"}
    assert (
        "lost             1, which fit and certify count as misses: b (diverged and is ended"
        in ask(*words)[1]
    )


def test_many_notes_are_counted_and_not_listed(ask, here: Path) -> None:
    """Two hundred runs whose last two epochs were trained again, and a hundred that began again then."""
    rng = np.random.default_rng(0)
    rows = [
        {"run": f"r{run}", "epoch": k, "loss": float(loss), "extra": 1}
        for run in range(200)
        for k, loss in zip((1, 2, 3, 2, 3, 1, 2)[: 5 + run % 2 * 2], rng.uniform(size=7), strict=False)
    ]
    (here / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    words = ("traces", "import", "log.jsonl", "--loss", "loss", "--stages", "net@edge")
    assert "--on-repeated last" in ask(*words)[2]
    _, text, _ = ask(*words, "--on-repeated", "last")
    assert "logs             300 runs" in text
    assert "repeated         400 of epochs that were logged again, not counted" in text
    assert "second training  100 begun again at the first epoch, each of which is a run of its own" in text
    assert len(text.splitlines()) < 20


@pytest.mark.parametrize("way", ["import and fit", "fit of the folder"])
def test_the_same_run_counts_once_however_often_it_is_in_the_folder(ask, here, way: str) -> None:
    """24 runs, 30 files: copies, a beginning, and one with fewer decimals."""
    runs = named()
    runs |= {f"copy{number}": runs["r3"] for number in range(4)}
    runs |= {"begun": runs["r5"][:3], "rounded": [round(loss, 4) for loss in runs["r5"]]}
    (here / "logs").mkdir()
    for name, losses in runs.items():
        (here / "logs" / f"{name}.json").write_text(json.dumps({"val_loss": losses}), encoding="utf-8")
    (here / "setup.json").write_text(json.dumps(ONE_MODEL), encoding="utf-8")
    told = ("--loss", "val_loss", "--stages", "net@edge")
    logs: tuple[object, ...] = ("logs", *told)
    if way == "import and fit":
        code, text, _ = ask("traces", "import", *logs, "--out", "runs.csv")
        assert (code, "24 runs of keras" in text) == (0, True)
        assert "'begun' shares 3 first epochs with 'r5', and 5 others likewise; counted once" in text
        content = json.loads(ask("traces", "import", *logs, "--json")[1])
        copies = dict.fromkeys(("copy1", "copy2", "copy3", "r3"), "copy0")
        assert content["same_runs"] == {"begun": "r5", "rounded": "r5"} | copies
        logs = ("runs.csv",)
    words = ("--template", "setup.json", "--out", "mine.json")
    code, text, _ = ask("fit", *logs, *words)
    assert code == 0
    assert "24, of 1 schedule" in text
    assert "9 runs of one plan carry 0.9, here at most 24 went through one" in text
    assert "counted once" in text
    assert "counted once" in Path("mine.json").read_text(encoding="utf-8")
    assert "counted once" in ask("diagnose", *logs, "--resamples", 9)[1]
