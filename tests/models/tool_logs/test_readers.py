"""What readers make of files of many forms: states of trainers, tables from elsewhere, lines by content."""

import gzip
import json
from pathlib import Path

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.importing import Choices, Imported, import_logs
from depl.models.traces import sheets
from tests.cases.hostile_logs import store

Row = dict[str, object]


def read(path: Path, **choices: object) -> Imported:
    return import_logs([str(path)], Choices(**{"loss": "loss", "stages": ("net@edge",)} | choices))


def refusal(path: Path, **choices: object) -> str:
    with pytest.raises(InvalidInputError) as caught:
        read(path, **choices)
    return str(caught.value)


def losses(found: Imported) -> dict[str, list[tuple[int, float]]]:
    table = zip(
        found.traces.run.tolist(), found.traces.epoch.tolist(), found.traces.loss.tolist(), strict=True
    )
    runs: dict[str, list[tuple[int, float]]] = {}
    for run, epoch, loss in table:
        runs.setdefault(run, []).append((epoch, loss))
    return runs


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


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
    return put(path / "trainer_state.json", json.dumps(content, indent=2))


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
def test_a_state_of_a_trainer_is_read_with_whole_epochs(
    rows: list[Row], wanted: list[tuple[float, float]], tmp_path: Path
) -> None:
    state(tmp_path / "seed1", rows)
    found = read(tmp_path, loss="eval_loss")
    assert (found.log.tool, losses(found)) == ("transformers", {"seed1": wanted})
    alone = put(tmp_path / "b.json", json.dumps({"log_history": rows}))
    assert losses(read(alone, loss="eval_loss")) == {"b": wanted}


def test_the_longest_state_of_a_run_counts_and_side_files_are_passed_over(tmp_path: Path) -> None:
    for seed in (1, 2):
        out = tmp_path / f"seed{seed}"
        state(out, [*evaluated(*THREE), SUMMARY], trial_params={"width": 64 * seed})
        for epoch in (1, 2, 3):
            state(out / f"checkpoint-{10 * epoch}", evaluated(*THREE[:epoch]))
        put(out / "all_results.json", '{"epoch": 3.0, "eval_loss": 0.7, "train_loss": 1.0}')
        put(out / "config.json", '{"architectures": ["A"], "id2label": {"0": "a"}, "vocab_size": 10}')
        put(out / "training_args.bin", b"PK\x03\x04")
    found = read(tmp_path, loss="eval_loss", stages=(), model="width", cluster_name="gpu")
    assert losses(found) == {"seed1": THREE, "seed2": THREE}
    assert set(found.traces.model.tolist()) == {"64", "128"}
    assert set(found.traces.cluster.tolist()) == {"gpu"}
    assert len(found.log.unread) == 6


def test_a_state_that_an_earlier_training_left_is_refused(tmp_path: Path) -> None:
    state(tmp_path / "run", evaluated(*THREE))
    state(tmp_path / "run" / "checkpoint-20", evaluated((1.0, 0.9), (2.0, 0.5)))
    told = refusal(tmp_path, loss="eval_loss")
    assert "checkpoint-20" in told
    assert "is no beginning of" in told


def test_a_trainer_that_was_killed_has_checkpoints_alone(tmp_path: Path) -> None:
    state(tmp_path / "run" / "checkpoint-10", evaluated((1.0, 0.9)))
    state(tmp_path / "run" / "checkpoint-20", evaluated((1.0, 0.9), (2.0, float("nan"))))
    assert "has no loss in epoch 2" in refusal(tmp_path, loss="eval_loss")
    found = read(tmp_path, loss="eval_loss", on_missing="end")
    assert losses(found) == {"run": [(1, 0.9)]}


# --- text of all kinds --------------------------------------------------------------------------------------


def test_what_is_unpacked_is_limited_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "a.csv.gz", gzip.compress(b"epoch,loss\n1,2\n" * 9))
    inflated = sheets.inflated
    monkeypatch.setattr(sheets, "inflated", lambda content, path: inflated(content, path, 100))
    assert "the most that is read" in refusal(path)


# --- epochs that are rows -----------------------------------------------------------------------------------


def test_deleted_runs_of_a_store_are_named(tmp_path: Path) -> None:
    more = "INSERT INTO runs VALUES ('s', 'b', 2, 'deleted');"
    path = store(more=more)(tmp_path)
    assert read(path).log.unread == {f"{path}, b": "a run that was deleted"}
    (tmp_path / "all").mkdir()
    path = store(more="UPDATE runs SET lifecycle_stage = 'deleted';")(tmp_path / "all")
    assert "holds deleted runs alone (1 run)" in refusal(path)


# --- models and clusters ------------------------------------------------------------------------------------


def test_model_and_cluster_are_hyperparameters_as_well_as_columns(tmp_path: Path) -> None:
    for version, width in ((0, 64), (1, 128)):
        folder = tmp_path / f"version_{version}"
        put(folder / "metrics.csv", "epoch,step,loss\n0,1,0.9\n1,2,0.8\n")
        put(folder / "hparams.yaml", f"width: {width}\nsite: edge\n")
    found = read(tmp_path, stages=(), model="width", cluster="site")
    assert set(zip(found.traces.model.tolist(), found.traces.cluster.tolist(), strict=True)) == {
        ("64", "edge"),
        ("128", "edge"),
    }
    assert dict(found.facts)["stages told by"] == "the hyperparameter 'width' and the hyperparameter 'site'"
    named = read(tmp_path, stages=(), model="width", cluster_name="gpu").traces
    assert set(named.cluster.tolist()) == {"gpu"}
    assert "does not say which model was trained where" in refusal(tmp_path, stages=(), model="depth")
