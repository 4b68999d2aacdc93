"""What readers make of files of many forms: states of trainers, tables from elsewhere, lines by content."""

import gzip
import json
from pathlib import Path

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.importing import Choices, Imported, import_logs
from depl.models.traces import text_files
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

SEMICOLONS = "epoch;loss\n1;0,5\n2;0,25\n"
TABLES: dict[str, str | bytes] = {
    "semicolons and decimal commas": SEMICOLONS,
    "semicolons and points": SEMICOLONS.replace(",", "."),
    "tabs": SEMICOLONS.replace(";", "\t"),
    "quoted numbers": '"epoch","loss"\n"1","0.5"\n"2","0.25"\n',
    "names with the other separator": '"epoch","loss","a;b;c"\n1,0.5,x\n2,0.25,y\n',
    "UTF-16": SEMICOLONS.encode("utf-16"),
    "UTF-16, the other way": b"\xfe\xff" + SEMICOLONS.encode("utf-16-be"),
    "UTF-8 with its mark": SEMICOLONS.encode("utf-8-sig"),
    "gzip": gzip.compress(SEMICOLONS.encode("utf-8")),
    "gzip of UTF-16": gzip.compress(SEMICOLONS.encode("utf-16")),
}


@pytest.mark.parametrize("content", TABLES.values(), ids=TABLES)
def test_tables_of_any_separator_mark_and_packing_are_read(content: str | bytes, tmp_path: Path) -> None:
    put(tmp_path / "logs" / ("a.csv.gz" if content[:2] == b"\x1f\x8b" else "a.csv"), content)
    assert losses(read(tmp_path / "logs")) == {"a": [(1, 0.5), (2, 0.25)]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("epoch;loss;lr\n1;1,234;0.1\n", "must be a number, not '1,234'"),
        ('epoch,loss\n1,"1,234"\n', "must be a number, not '1,234'"),
        ("epoch;loss\n1;1.234,5\n", "must be a number, not '1.234,5'"),
        ("loss\n1,2\n", "has 2 cells where the header has 1"),
        (gzip.compress(b"epoch,loss\n1,2\n")[:-6], "is a broken gzip file"),
    ],
    ids=["points elsewhere", "commas between cells", "both", "no header", "cut"],
)
def test_a_comma_that_may_be_something_else_is_refused(
    content: str | bytes, message: str, tmp_path: Path
) -> None:
    assert message in refusal(put(tmp_path / "a.csv", content))


def test_what_is_unpacked_is_limited_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "a.csv.gz", gzip.compress(b"epoch,loss\n1,2\n" * 9))
    inflated = text_files.inflated
    monkeypatch.setattr(text_files, "inflated", lambda content, path: inflated(content, path, 100))
    assert "the most that is read" in refusal(path)


LINES = '{"epoch": 1, "loss": 0.5}\n{"epoch": 2, "loss": "0.25"}\n'


@pytest.mark.parametrize("name", ["a.log", "a.txt", "a.json", "a", "a.jsonl.gz", "a.ndjson"])
def test_json_lines_are_known_by_what_they_hold(name: str, tmp_path: Path) -> None:
    put(tmp_path / "logs" / name, gzip.compress(LINES.encode()) if name.endswith("gz") else LINES)
    put(tmp_path / "logs" / "train.log.old", "starting\nloss 3\n")
    put(tmp_path / "logs" / "args.txt", '{"lr": 0.1, "epochs": 3}\n')
    found = read(tmp_path / "logs")
    assert (found.log.tool, losses(found)) == ("jsonl", {"a": [(1, 0.5), (2, 0.25)]})
    assert losses(read(tmp_path / "logs" / name)) == {"a": [(1, 0.5), (2, 0.25)]}


# --- epochs that are rows -----------------------------------------------------------------------------------


def test_a_history_that_pandas_saved_has_its_index_for_epochs(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", ",loss,val_loss\n0,1,0.9\n1,0.8,0.7\n")
    assert losses(read(path, loss="val_loss")) == {"a": [(1, 0.9), (2, 0.7)]}
    batches = put(tmp_path / "b.csv", ",loss\n0,1\n1,0.8\n")
    assert "no key tells the epoch" in refusal(batches)


@pytest.mark.parametrize(("first", "begins"), [(None, 1), (0, 1), (1, 0)])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "loss,val_loss\n1,0.9\n0.8,0.7\n"),
        ("a.json", '{"loss": [1, 0.8], "val_loss": [0.9, 0.7]}'),
        ("a.jsonl", '{"val_loss": 0.9}\n{"other": 3}\n{"val_loss": 0.7}\n'),
    ],
)
def test_rows_are_epochs_where_it_is_said(
    name: str, content: str, first: int | None, begins: int, tmp_path: Path
) -> None:
    path = put(tmp_path / name, content)
    if not name.endswith(".json"):
        assert "--epoch row if there is one row an epoch, and not one a batch" in refusal(
            path, loss="val_loss"
        )
    found = read(path, loss="val_loss", epoch="row", first=first)
    assert losses(found) == {"a": [(begins, 0.9), (begins + 1, 0.7)]}


def test_mlflow_without_steps_is_counted_in_its_order(tmp_path: Path) -> None:
    path = store([(0, "loss", value, 0) for value in (0.9, 0.8, 0.7)])(tmp_path)
    told = refusal(path)
    assert "all 3 losses were logged at step 0, which tells no epochs: --epoch row counts them" in told
    assert "--on-repeated" not in told
    assert losses(read(path, epoch="row")) == {"a": [(1, 0.9), (2, 0.8), (3, 0.7)]}


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


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"run": "client_id"}, "are of parts of one training and no independent runs"),
        ({"run": "cid"}, "--where cid=..."),
        ({"cluster_name": "gpu"}, "and --stages another"),
        ({"cluster_name": "gpu", "stages": (), "cluster": "site"}, "and --cluster another"),
    ],
)
def test_choices_that_cannot_be_meant_are_refused(
    choices: dict[str, object], message: str, tmp_path: Path
) -> None:
    assert message in refusal(put(tmp_path / "a.jsonl", LINES), **choices)
