"""States of the Trainer, what is unpacked, stores with deleted runs, and hyperparameters as stages."""

import gzip
import json

import pytest

from depl.models.traces import sheets
from tests.cases.tool_log_cases import losses_of, put, read, refusal
from tests.cases.written_logs import store

Row = dict[str, object]


def evaluated(*pairs: tuple[float, float], per_epoch: int = 10) -> list[Row]:
    """Rows of training and of evaluation at the ends of epochs."""
    rows: list[Row] = []
    for epoch, loss in pairs:
        place: Row = {"epoch": epoch, "step": round(epoch * per_epoch)}
        rows += [{"loss": loss + 1, "learning_rate": 1e-5, **place}] if epoch else []
        rows.append({"eval_loss": loss, "eval_runtime": 0.5, **place})
    return rows


def state(rows: list[Row], **more: object) -> str:
    return json.dumps({"epoch": 3.0, "global_step": 30, "best_metric": None, "log_history": rows, **more})


SUMMARY: Row = {"train_loss": 1.0, "train_runtime": 3.5, "epoch": 3.0, "step": 30}
THREE = [(1.0, 0.9), (2.0, 0.6), (3.0, 0.7)]
AT_THE_END: Row = {"epoch": 3.0, "step": 30}
STATES = {
    "epochs": (evaluated(*THREE), THREE),
    "before training": (evaluated((0, 2.0), *THREE), [(0, 2.0), *THREE]),
    "rounded": (evaluated((0.9984, 0.9), (1.9968, 0.6), (2.9952, 0.7)), THREE),
    "steps": (evaluated((0.33, 0.9), (0.66, 0.6), (0.99, 0.7), per_epoch=100), THREE),
    "summary": ([*evaluated(*THREE), SUMMARY], THREE),
    "best model": ([*evaluated(*THREE), SUMMARY, {"eval_loss": 0.6, **AT_THE_END}], THREE),
    "last model": ([*evaluated(*THREE), SUMMARY, {"eval_loss": 0.7, **AT_THE_END}], THREE),
    "once": ([SUMMARY | {"epoch": 1.0}, {"eval_loss": 0.6, "epoch": 1.0, "step": 30}], [(1, 0.6)]),
}


@pytest.mark.parametrize(("rows", "wanted"), STATES.values(), ids=STATES)
def test_a_state_of_a_trainer_is_read_with_whole_epochs(rows, wanted, tmp_path):
    put(tmp_path, {"seed1/trainer_state.json": state(rows)})
    found = read(tmp_path, loss="eval_loss")
    assert (found.log.tool, losses_of(found)) == ("transformers", {"seed1": dict(wanted)})
    alone = put(tmp_path, {"b.json": json.dumps({"log_history": rows})})
    assert losses_of(read(alone, loss="eval_loss")) == {"b": dict(wanted)}


def test_the_longest_state_of_a_run_counts_and_side_files_are_passed_over(tmp_path):
    for seed in (1, 2):
        files = {
            "trainer_state.json": state([*evaluated(*THREE), SUMMARY], trial_params={"width": 64 * seed}),
            "all_results.json": '{"epoch": 3.0, "eval_loss": 0.7, "train_loss": 1.0}',
            "config.json": '{"architectures": ["A"], "id2label": {"0": "a"}, "vocab_size": 10}',
            "training_args.bin": b"PK\x03\x04",
        }
        for epoch in (1, 2, 3):
            files[f"checkpoint-{10 * epoch}/trainer_state.json"] = state(evaluated(*THREE[:epoch]))
        put(tmp_path / f"seed{seed}", files)
    found = read(tmp_path, loss="eval_loss", stages=(), model="width", cluster_name="gpu")
    assert losses_of(found) == {"seed1": dict(THREE), "seed2": dict(THREE)}
    assert set(found.traces.model.tolist()) == {"64", "128"}
    assert set(found.traces.cluster.tolist()) == {"gpu"}
    assert len(found.log.unread) == 6


def test_a_state_that_an_earlier_training_left_is_refused(tmp_path):
    left = state(evaluated((1.0, 0.9), (2.0, 0.5)))
    states = {
        "run/trainer_state.json": state(evaluated(*THREE)),
        "run/checkpoint-20/trainer_state.json": left,
    }
    told = refusal(put(tmp_path, states), loss="eval_loss")
    assert "checkpoint-20" in told
    assert "is no beginning of" in told


def test_what_is_unpacked_is_limited_too(tmp_path, monkeypatch):
    path = put(tmp_path, {"a.csv.gz": gzip.compress(b"epoch,loss\n1,2\n" * 9)})
    inflated = sheets.inflated
    monkeypatch.setattr(sheets, "inflated", lambda content, path: inflated(content, path, 100))
    assert "the most that is read" in refusal(path)


def test_deleted_runs_of_a_store_are_named(tmp_path):
    path = store(more="INSERT INTO runs VALUES ('s', 'b', 2, 'deleted');")(tmp_path)
    assert read(path).log.unread == {f"{path}, b": "a run that was deleted"}


def test_model_and_cluster_are_hyperparameters_as_well_as_columns(tmp_path):
    for version, width in ((0, 64), (1, 128)):
        table, told = "epoch,step,loss\n0,1,0.9\n1,2,0.8\n", f"width: {width}\nsite: edge\n"
        put(tmp_path / f"version_{version}", {"metrics.csv": table, "hparams.yaml": told})
    found = read(tmp_path, stages=(), model="width", cluster="site")
    pairs = zip(found.traces.model.tolist(), found.traces.cluster.tolist(), strict=True)
    assert set(pairs) == {("64", "edge"), ("128", "edge")}
    assert dict(found.facts)["stages told by"] == "the hyperparameter 'width' and the hyperparameter 'site'"
    assert "does not say which model was trained where" in refusal(tmp_path, stages=(), model="depth")
