"""Epochs, stages and runs of logs, and what every refusal says to do."""

import json
from pathlib import Path

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.importing import Choices, Imported, import_logs
from depl.models.tool_logs.json_text import read_flat
from depl.models.tool_logs.stages import read_stages, schedule_of, stages_by_pattern, stages_for, told
from depl.models.traces.log_rules import What

STAGES = ("net@edge",)


def lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def table(path: Path, *rows: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def read(*paths: Path, **choices: object) -> Imported:
    return import_logs([str(path) for path in paths], Choices(**{"loss": "loss", "stages": STAGES} | choices))


def refusal(*paths: Path, **choices: object) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        read(*paths, **choices)
    return caught.value


# --- epochs -----------------------------------------------------------------------------------------------


# --- losses -----------------------------------------------------------------------------------------------


# --- runs -------------------------------------------------------------------------------------------------


def test_runs_of_one_file_without_the_loss_are_lost(tmp_path: Path) -> None:
    rows = [{"run": "a", "epoch": 1, "loss": 1.0}, {"run": "b", "epoch": 1, "other": 1.0}]
    path = lines(tmp_path / "log.jsonl", rows)
    assert "b (holds no 'loss')" in refusal(path).message
    assert read(path, diverged=("b",)).traces.lost == {"b": "holds no 'loss'"}
    left = read(path, leave_out=("b",))
    assert dict(left.facts)["left out"] == "1: b (--leave-out b)"


# --- stages -----------------------------------------------------------------------------------------------


def test_stages_of_all_runs_and_of_some_that_match() -> None:
    found = stages_by_pattern(["a@e:2,b@f", "seed1*=a@e:1,b@f:3", "seed13=c@g"])
    for run, epochs, wanted in (
        ("other", 5, "a@e:2,b@f:3"),
        ("seed12", 5, "a@e:1,b@f:3"),
        ("seed13", 5, "c@g:5"),
        ("other", 1, "a@e:1"),
    ):
        assert told(schedule_of(stages_for(run, found), epochs)) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "must be MODEL@CLUSTER:EPOCHS,MODEL@CLUSTER, not 'a'"),
        ("a@e,b@f", "needs its number of epochs, as another stage follows: a@e:10"),
        ("a@e:0", "must be MODEL@CLUSTER"),
        ("", "must be MODEL@CLUSTER"),
    ],
)
def test_stages_of_another_form_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_stages(text)


def test_model_and_cluster_of_every_epoch_may_be_logged(tmp_path: Path) -> None:
    rows = [{"epoch": k, "loss": 1.0, "net": "p50" if k < 3 else "p75", "site": "edge"} for k in (1, 2, 3)]
    path = lines(tmp_path / "a.jsonl", rows)
    found = read(path, stages=(), model="net", cluster="site")
    assert told(found.traces.schedules[0]) == "p50@edge:2,p75@edge:1"
    del rows[1]["site"]
    path = lines(tmp_path / "b.jsonl", rows)
    assert "must be logged with every loss" in refusal(path, stages=(), model="net", cluster="site").message


def test_hyperparameters_of_lightning_are_the_flat_lines_of_its_yaml(tmp_path: Path) -> None:
    path = table(
        tmp_path / "hparams.yaml", "lr: 0.2", "name: 'it''s'", "list:", "- 1", "deep: {a: 1}", "stages: a@e"
    )
    assert read_flat(path) == {"lr": "0.2", "name": "it's", "stages": "a@e"}


def test_files_that_are_no_logs_say_where(tmp_path: Path) -> None:
    broken = table(tmp_path / "a.jsonl", '{"epoch": 1}', "{")
    assert refusal(broken).path == f"{broken}, row 2"
    assert "must be a JSON object, not list" in refusal(table(tmp_path / "b.jsonl", "[1]")).message
    assert "holds no line" in refusal(table(tmp_path / "c.jsonl", "")).message
    other = table(tmp_path / "d.json", '{"a": 1}')
    assert "json.dumps(history.history) at Keras" in refusal(other).message
    history = table(tmp_path / "e.json", '{"loss": [1, "high"]}')
    assert "loss must hold numbers, not 'high'" in refusal(history).message


# --- what is said of what was decided ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "choices", "what", "words"),
    [
        (
            '{"step": 9, "loss": 1}\n{"step": 19, "loss": 1}\n',
            {},
            "epochs told by",
            "step, 10 steps an epoch",
        ),
        ('{"loss": 1}\n{"loss": 1}\n', {"epoch": "row"}, "epochs told by", "row"),
        ('{"loss": [1, 2, 3, 4]}', {"every": 1}, "an epoch", "here is 1 of the logs"),
        ("Step,a - loss,a - loss__MIN\n1,3,3\n2,2,1\n", {}, "no runs", "1 column: a - loss__MIN"),
        ('{"epoch": 1, "loss": 1, "lr": 3}\n' * 2, {"on_repeated": "last"}, "not read", "1 key: lr"),
    ],
)
def test_facts_say_what_was_decided(
    content: str, choices: dict[str, object], what: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / ("a.csv" if content.startswith("Step") else "a.json")
    path.write_text(content, encoding="utf-8")
    assert dict(read(path, **choices).facts)[what].startswith(words)


LONG = """\
seed,epoch,val/loss,acc
a,0,2.5,10
a,1,1.5,50
a,2,1.25,75
b,0,2.25,12.5
b,1,1.75,50
"""


@pytest.mark.parametrize(
    ("changes", "way", "note", "diverged"),
    [
        ({"a,2,1.25": "a,2,"}, "end", (What.STOPPED, "a", 4), ()),
        ({"a,1,1.5": "a,1,inf", "a,2,1.25": "a,2,NaN"}, "end", (What.DIVERGED, "a", 3), ("a",)),
        ({"a,1,1.5": "a,1,nan"}, "drop", (What.DROPPED, "a", 3), ("a",)),
        ({"a,2,1.25": "a,2,"}, "drop", (What.DROPPED, "a", 4), ()),
        ({"a,1,1.5": "a,1,inf", "a,2,1.25": "a,2,NaN"}, "drop", (What.DROPPED, "a", 3), ("a",)),
        ({"b,0,2.25": "b,0,nan", "b,1,1.75": "b,1,nan"}, "end", (What.DROPPED, "b", 5), ("b",)),
    ],
)
def test_a_run_that_is_ended_or_dropped_is_noted(
    changes: dict[str, str], way: str, note: tuple[object, ...], diverged: tuple[str, ...], tmp_path: Path
) -> None:
    text = LONG
    for old, new in changes.items():
        text = text.replace(old, new)
    path = table(tmp_path / "log.csv", text.rstrip())
    found = read(path, loss="val/loss", run="seed", first=1, on_missing=way)
    assert [(item.what, item.run, item.row) for item in found.notes] == [note]
    assert (found.diverged, found.dropped) == (diverged, (note[1],) if note[0] == What.DROPPED else ())
    if note[0] == What.DIVERGED:
        assert found.notes[0].text == "run 'a' diverged and is ended: no loss in epoch 1 (row 3)"


def test_an_accuracy_in_per_cent_is_kept_beside_the_loss(tmp_path: Path) -> None:
    path = table(tmp_path / "log.csv", LONG.rstrip())
    traces = read(path, loss="val/loss", run="seed", first=1, accuracy="acc", percent=True).traces
    assert traces.target("error_rate").tolist() == [0.9, 0.5, 0.25, 0.875, 0.5]


def test_before_training_the_model_is_that_of_the_first_epoch(tmp_path: Path) -> None:
    rows = [{"epoch": k, "loss": 3.0 - k, "model": f"m{k}", "cluster": "c"} for k in range(3)]
    del rows[0]["model"], rows[0]["cluster"]
    found = read(lines(tmp_path / "run.jsonl", rows), first=1, stages=()).traces
    assert found.schedules == ((("m1", "c"), ("m2", "c")),)
    assert found.model.tolist() == ["m1", "m1", "m2"]
