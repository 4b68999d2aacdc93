"""Logs as the tools themselves wrote them, which all agree; states, stores and hyperparameters."""

import functools
import gzip
import json

import numpy as np
import pytest

from depl.cli import parsed
from depl.commands.runs import TOOLS as DECLARED
from depl.commands.runs import choices_of
from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.finding import read_logs
from depl.models.tool_logs.importing import import_logs
from depl.models.tool_logs.mlflow import read_store
from depl.models.tool_logs.points import TOOLS, UNFINISHED
from depl.models.traces import sheets
from depl.models.traces.lost import ENDED, WHOLE, ledger
from tests.cases.tool_log_cases import DENSE, EVERY, LOGS, losses_of, put, read, refusal, unpacked
from tests.cases.written_logs import store

ALIKE = ("wandb-offline", "wandb-inspect", "wandb", "wandb-history", "mlflow-files", "mlflow", "transformers")


def imported(logged, folder, *more):
    path = str(unpacked(logged, folder))
    _, options = parsed(["traces", "import", path, *logged.options, *more])
    return import_logs(options.paths, choices_of(options))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What is read of a log, once."""
    return functools.cache(lambda name: imported(EVERY[name], tmp_path_factory.mktemp(name)))


def by_name(traces):
    starts = zip(traces.runs, traces.bounds[:-1], traces.bounds[1:], strict=True)
    columns = (traces.epoch, traces.model, traces.cluster, traces.loss)
    return {name: [column[a:b].tolist() for column in columns] for name, a, b in starts}


def test_the_tools_of_the_options_are_those_that_are_read():
    assert DECLARED == TOOLS
    assert {logged.tool for logged in EVERY.values()} == set(TOOLS)


@pytest.mark.parametrize("name", EVERY)
def test_every_log_is_recognised_and_has_all_runs_and_epochs(name, found, tmp_path):
    log, traces = found(name).log, found(name).traces
    assert log.tool == EVERY[name].tool
    assert log.why
    assert len(traces.runs) == 24
    assert set(traces.last_epochs.tolist()) == {16}
    assert traces.epoch.min() == (0 if name.startswith("flower") else 1)
    assert not found(name).notes
    said = imported(EVERY[name], tmp_path, "--from", EVERY[name].tool)
    assert by_name(said.traces) == by_name(traces)
    assert not said.log.why


@pytest.mark.parametrize("name", [*ALIKE, "tensorboard", "csv"])
def test_logs_of_the_same_runs_agree_to_their_last_digits(name, found):
    these, exact = (by_name(found(item).traces) for item in (name, "jsonl"))
    assert these.keys() == exact.keys()
    near, share = {"tensorboard": (1e-7, 1e-7), "csv": (5.1e-7, 0)}.get(name, (0, 0))
    for run, (*names, losses) in exact.items():
        assert these[run][:3] == names
        assert np.allclose(these[run][3], losses, rtol=share, atol=near)


def test_what_lightning_logged_is_its_validation_loss_epoch_by_epoch(found):
    """By the standard library: the last column of the lines that have one."""
    traces = found("lightning").traces
    runs = by_name(traces)
    for version in ("version_0", "version_10"):
        lines = (LOGS / "lightning/lightning_logs" / version / "metrics.csv").read_text().split()[1:]
        losses = [float(line.split(",")[3]) for line in lines if line.split(",")[3]]
        assert runs[version][3] == losses
    assert list(runs)[:3] == ["version_0", "version_1", "version_2"]
    assert [len(runs) for runs in traces.by_schedule().values()] == [12, 12]


def test_what_clients_evaluated_has_no_round_before_training():
    found = imported(EVERY["flower-result"]._replace(options=("--loss", "eval_loss", *DENSE)), LOGS)
    assert found.traces.epoch.min() == 1
    assert found.facts[0] == ("loss", "distributed/eval_loss")


def test_a_pickle_is_never_opened_and_a_folder_without_logs_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("loss 3", encoding="utf-8")
    (file,) = (LOGS / "flower").glob("*.pkl")
    for asked, words in (
        (([file],), r"\.pkl.*write JSON instead.*json.dumps\(vars\(history\)\)"),
        (([tmp_path],), "holds no log of lightning, keras"),
        (([tmp_path / "nowhere"],), "cannot be read"),
        (([tmp_path], "kera"), "did you mean 'keras'"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            read_logs(*asked)


# --- states, stores and hyperparameters -----------------------------------------------------------------


def evaluated(*pairs, per_epoch=10):
    """Rows of training and of evaluation at the ends of epochs."""
    rows = []
    for epoch, loss in pairs:
        place = {"epoch": epoch, "step": round(epoch * per_epoch)}
        rows += [{"loss": loss + 1, "learning_rate": 1e-5, **place}] if epoch else []
        rows.append({"eval_loss": loss, "eval_runtime": 0.5, **place})
    return rows


def state(rows, **more):
    return json.dumps({"epoch": 3.0, "global_step": 30, "best_metric": None, "log_history": rows, **more})


SUMMARY = {"train_loss": 1.0, "train_runtime": 3.5, "epoch": 3.0, "step": 30}
THREE = [(1.0, 0.9), (2.0, 0.6), (3.0, 0.7)]
AT_THE_END = {"epoch": 3.0, "step": 30}
STATES = {
    "epochs": (evaluated(*THREE), THREE),
    "before training": (evaluated((0, 2.0), *THREE), [(0, 2.0), *THREE]),
    "rounded": (evaluated((0.9984, 0.9), (1.9968, 0.6), (2.9952, 0.7)), THREE),
    "steps": (evaluated((0.33, 0.9), (0.66, 0.6), (0.99, 0.7), per_epoch=100), THREE),
    "best model": ([*evaluated(*THREE), SUMMARY, {"eval_loss": 0.6, **AT_THE_END}], THREE),
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
    said = refusal(tmp_path, stages=(), model="depth")
    assert "does not say which model was trained where" in said
    assert "--model KEY and --cluster KEY name keys that tell it, of " in said


def test_a_folder_of_mlflow_is_read_by_step_with_its_own_name_and_what_a_crash_cut_is_told(tmp_path):
    """All of it was logged within one second, so that the time says nothing of the order."""
    files = {
        "0/r/meta.yaml": "run_id: r\nrun_name: 'it''s the first'\nlifecycle_stage: active\n",
        "0/r/metrics/loss": "5 0.7 3\n5 0.9 1\n5 0.8 2\n5 0.6",
        "0/r/metrics/error": "5 0.1 1\n5 0.2 2\n5 0.3 3\n",
    }
    run = next(read_store(put(tmp_path, files) / "0" / "r"))
    assert run.name == "it's the first"
    assert [point.values["step"] for point in run.points] == [1.0, 2.0, 3.0]
    assert run.remarks == {f"{tmp_path}/0/r/metrics/loss, row 4": UNFINISHED}
    assert losses_of(read(tmp_path)) == {"it's the first": {1: 0.9, 2: 0.8, 3: 0.7}}


def test_a_run_shorter_than_others_ended_early_or_as_its_stages_planned(tmp_path):
    for name, epochs in (("long", 4), ("killed", 2), ("short", 3)):
        rows = "".join(f"{epoch},{len(name) / epoch}\n" for epoch in range(1, epochs + 1))
        put(tmp_path, {f"{name}.csv": f"epoch,loss\n{rows}"})
    stages = ("long=net@edge:4", "killed=net@edge:4", "short=net@edge:3")
    traces = read(tmp_path, stages=stages).traces
    assert ledger(traces.provenance, ENDED) == {"killed": "ends at epoch 2 of 4 planned"}
    assert ledger(traces.provenance, WHOLE) == {"short": "as planned"}
