"""Runs, stages, states of the Trainer and stores; what is said of what was decided."""

import gzip
import json
from pathlib import Path

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.importing import Imported
from depl.models.tool_logs.stages import read_stages, schedule_of, stages_by_pattern, stages_for, told
from depl.models.traces import sheets
from depl.models.traces.log_rules import What
from tests.cases.hostile_logs import store
from tests.models.tool_logs.test_answers import losses_of, read, refusal

Row = dict[str, object]


def listed(found: Imported) -> dict[str, list[tuple[int, float]]]:
    return {run: list(losses.items()) for run, losses in losses_of(found).items()}


def table(path: Path, *rows: str) -> Path:
    return write(path, "\n".join(rows) + "\n")


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# --- stages -----------------------------------------------------------------------------------------------


def test_stages_of_all_runs_and_of_some_that_match():
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
def test_stages_of_another_form_are_refused(text, message):
    with pytest.raises(InvalidInputError, match=message):
        read_stages(text)


def test_files_that_are_no_logs_say_where(tmp_path):
    broken = table(tmp_path / "a.jsonl", '{"epoch": 1}', "{")
    assert refusal(broken).startswith(f"{broken}, row 2: ")
    assert "must be a JSON object, not list" in refusal(table(tmp_path / "b.jsonl", "[1]"))
    assert "holds no line" in refusal(table(tmp_path / "c.jsonl", ""))
    other = table(tmp_path / "d.json", '{"a": 1}')
    assert "json.dumps(history.history) at Keras" in refusal(other)
    history = table(tmp_path / "e.json", '{"loss": [1, "high"]}')
    assert "loss must hold numbers, not 'high'" in refusal(history)


# --- what is said of what was decided ---------------------------------------------------------------------


LONG = """\
seed,epoch,val/loss,acc
a,0,2.5,10
a,1,1.5,50
a,2,1.25,75
b,0,2.25,12.5
b,1,1.75,50
"""


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
def test_facts_say_what_was_decided(content, choices, what, words, tmp_path):
    path = tmp_path / ("a.csv" if content.startswith("Step") else "a.json")
    path.write_text(content, encoding="utf-8")
    assert dict(read(path, **choices).facts)[what].startswith(words)


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
def test_a_run_that_is_ended_or_dropped_is_noted(changes, way, note, diverged, tmp_path):
    text = LONG
    for old, new in changes.items():
        text = text.replace(old, new)
    path = table(tmp_path / "log.csv", text.rstrip())
    found = read(path, loss="val/loss", run="seed", first=1, on_missing=way)
    assert [(item.what, item.run, item.row) for item in found.notes] == [note]
    assert (found.diverged, found.dropped) == (diverged, (note[1],) if note[0] == What.DROPPED else ())
    if note[0] == What.DIVERGED:
        assert found.notes[0].text == "run 'a' diverged and is ended: no loss in epoch 1 (row 3)"


# --- the Trainer of transformers ----------------------------------------------------------------------------


def evaluated(*pairs: tuple[float, float], per_epoch: int = 10) -> list[Row]:
    """Rows of training and of evaluation at the ends of epochs."""
    rows: list[Row] = []
    for epoch, loss in pairs:
        place: Row = {"epoch": epoch, "step": round(epoch * per_epoch)}
        rows += [{"loss": loss + 1, "learning_rate": 1e-5, **place}] if epoch else []
        rows.append({"eval_loss": loss, "eval_runtime": 0.5, **place})
    return rows


def state(path: Path, rows: list[Row], **more: object) -> Path:
    content = {"epoch": 3.0, "global_step": 30, "best_metric": None, "log_history": rows, **more}
    return write(path / "trainer_state.json", json.dumps(content, indent=2))


SUMMARY: Row = {"train_loss": 1.0, "train_runtime": 3.5, "epoch": 3.0, "step": 30}
THREE = [(1.0, 0.9), (2.0, 0.6), (3.0, 0.7)]


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        (evaluated(*THREE), THREE),
        (evaluated((0, 2.0), *THREE), [(0, 2.0), *THREE]),
        (evaluated((0.9984, 0.9), (1.9968, 0.6), (2.9952, 0.7)), THREE),
        (evaluated((0.33, 0.9), (0.66, 0.6), (0.99, 0.7), per_epoch=100), THREE),
        ([*evaluated(*THREE), SUMMARY], THREE),
        ([*evaluated(*THREE), SUMMARY, {"eval_loss": 0.6, "epoch": 3.0, "step": 30}], THREE),
        ([*evaluated(*THREE), SUMMARY, {"eval_loss": 0.7, "epoch": 3.0, "step": 30}], THREE),
        ([SUMMARY | {"epoch": 1.0}, {"eval_loss": 0.6, "epoch": 1.0, "step": 30}], [(1, 0.6)]),
    ],
    ids=["epochs", "before training", "rounded", "steps", "summary", "best model", "last model", "once"],
)
def test_a_state_of_a_trainer_is_read_with_whole_epochs(rows, wanted, tmp_path):
    state(tmp_path / "seed1", rows)
    found = read(tmp_path, loss="eval_loss")
    assert (found.log.tool, listed(found)) == ("transformers", {"seed1": wanted})
    alone = write(tmp_path / "b.json", json.dumps({"log_history": rows}))
    assert listed(read(alone, loss="eval_loss")) == {"b": wanted}


def test_the_longest_state_of_a_run_counts_and_side_files_are_passed_over(tmp_path):
    for seed in (1, 2):
        out = tmp_path / f"seed{seed}"
        state(out, [*evaluated(*THREE), SUMMARY], trial_params={"width": 64 * seed})
        for epoch in (1, 2, 3):
            state(out / f"checkpoint-{10 * epoch}", evaluated(*THREE[:epoch]))
        write(out / "all_results.json", '{"epoch": 3.0, "eval_loss": 0.7, "train_loss": 1.0}')
        write(out / "config.json", '{"architectures": ["A"], "id2label": {"0": "a"}, "vocab_size": 10}')
        write(out / "training_args.bin", b"PK\x03\x04")
    found = read(tmp_path, loss="eval_loss", stages=(), model="width", cluster_name="gpu")
    assert listed(found) == {"seed1": THREE, "seed2": THREE}
    assert set(found.traces.model.tolist()) == {"64", "128"}
    assert set(found.traces.cluster.tolist()) == {"gpu"}
    assert len(found.log.unread) == 6


def test_a_state_that_an_earlier_training_left_is_refused(tmp_path):
    state(tmp_path / "run", evaluated(*THREE))
    state(tmp_path / "run" / "checkpoint-20", evaluated((1.0, 0.9), (2.0, 0.5)))
    told = refusal(tmp_path, loss="eval_loss")
    assert "checkpoint-20" in told
    assert "is no beginning of" in told


def test_what_is_unpacked_is_limited_too(tmp_path, monkeypatch):
    path = write(tmp_path / "a.csv.gz", gzip.compress(b"epoch,loss\n1,2\n" * 9))
    inflated = sheets.inflated
    monkeypatch.setattr(sheets, "inflated", lambda content, path: inflated(content, path, 100))
    assert "the most that is read" in refusal(path)


def test_deleted_runs_of_a_store_are_named(tmp_path):
    more = "INSERT INTO runs VALUES ('s', 'b', 2, 'deleted');"
    path = store(more=more)(tmp_path)
    assert read(path).log.unread == {f"{path}, b": "a run that was deleted"}
    (tmp_path / "all").mkdir()
    path = store(more="UPDATE runs SET lifecycle_stage = 'deleted';")(tmp_path / "all")
    assert "holds deleted runs alone (1 run)" in refusal(path)


# --- models and clusters ------------------------------------------------------------------------------------


def test_model_and_cluster_are_hyperparameters_as_well_as_columns(tmp_path):
    for version, width in ((0, 64), (1, 128)):
        folder = tmp_path / f"version_{version}"
        write(folder / "metrics.csv", "epoch,step,loss\n0,1,0.9\n1,2,0.8\n")
        write(folder / "hparams.yaml", f"width: {width}\nsite: edge\n")
    found = read(tmp_path, stages=(), model="width", cluster="site")
    assert set(zip(found.traces.model.tolist(), found.traces.cluster.tolist(), strict=True)) == {
        ("64", "edge"),
        ("128", "edge"),
    }
    assert dict(found.facts)["stages told by"] == "the hyperparameter 'width' and the hyperparameter 'site'"
    named = read(tmp_path, stages=(), model="width", cluster_name="gpu").traces
    assert set(named.cluster.tolist()) == {"gpu"}
    assert "does not say which model was trained where" in refusal(tmp_path, stages=(), model="depth")
