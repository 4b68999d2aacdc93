"""One key, one clock, one order for all runs: shorter lists, restarts in event files and stores."""

import sqlite3
from pathlib import Path

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.importing import Choices, Imported, import_logs
from tests.models.tool_logs.test_binary_logs import as_number, event, record, told, written

BEFORE = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
AFTER = [0.65, 0.55, 0.45]
"""Losses of epochs 1 to 7, and of 5 to 7 after a restart."""


def read(*paths: Path, **choices: object) -> Imported:
    given = {"loss": "loss", "stages": ("net@edge",), "first": 1} | choices
    return import_logs([str(path) for path in paths], Choices(**given))


def refusal(*paths: Path, **choices: object) -> str:
    with pytest.raises(InvalidInputError) as caught:
        read(*paths, **choices)
    return str(caught.value)


# --- every Nth epoch --------------------------------------------------------------------------------------


# --- restarts ---------------------------------------------------------------------------------------------


def events(folder: Path, purge: bool) -> Path:
    """A restart at 5, with a learning rate of step 8 before it, and losses to step 8 after it."""
    first = b"".join(event(k, "loss", as_number(loss)) for k, loss in enumerate(BEFORE, start=1))
    first += event(8, "lr", as_number(0.1))
    start = record(told(2, 5) + told(7, told(1, 1))) if purge else b""
    after = b"".join(event(k, "loss", as_number(loss)) for k, loss in enumerate([*AFTER, 0.35], start=5))
    written(folder, "events.out.tfevents.1.a", first)
    written(folder, "events.out.tfevents.2.a", start + after)
    return folder


def test_event_files_count_in_the_order_of_writing(tmp_path: Path) -> None:
    """The rate of step 8 was logged before: the loss of step 8 does not go there."""
    folder = events(tmp_path / "run", purge=False)
    assert "a restart, which went back to it from epoch 7" in refusal(folder)
    losses = read(folder, on_repeated="last").traces.loss
    assert losses == pytest.approx([*BEFORE[:4], *AFTER, 0.35], rel=1e-6)


def test_a_session_that_purges_is_a_restart_that_nobody_has_to_tell(tmp_path: Path) -> None:
    found = read(events(tmp_path / "run", purge=True))
    assert found.traces.loss == pytest.approx([*BEFORE[:4], *AFTER, 0.35], rel=1e-6)
    assert "before which 3 values from step 5 on were logged" in dict(found.facts)["files not read"]


@pytest.mark.parametrize("start", [0, 1, 50])
def test_a_session_before_the_first_loss_is_a_second_training_and_purges_no_run(
    start: int, tmp_path: Path
) -> None:
    """Steps of 1, and of 100 with a restart within the first epoch."""
    wide = 100 if start == 50 else 1
    for number, (losses, head) in enumerate(
        [(BEFORE, b""), (AFTER, record(told(2, start) + told(7, told(1, 1))))]
    ):
        data = b"".join(event(k * wide, "loss", as_number(loss)) for k, loss in enumerate(losses, start=1))
        written(tmp_path / "run", f"events.out.tfevents.{number}.a", head + data)
    assert "a second training begins" in refusal(tmp_path / "run")
    found = read(tmp_path / "run", on_repeated="last").traces
    assert found.runs == ("run", "run (training 2)")
    assert found.loss == pytest.approx([*BEFORE, *AFTER], rel=1e-6)


def test_stores_of_mlflow_count_in_the_order_of_their_times(tmp_path: Path) -> None:
    """Killed after the sixth epoch of the second branch, so that its seventh is missing."""
    logged = [*enumerate(BEFORE, start=1), *enumerate(AFTER[:2], start=5)]
    path = tmp_path / "mlflow.db"
    with sqlite3.connect(path) as store:
        store.execute("CREATE TABLE runs (run_uuid, name, lifecycle_stage, start_time)")
        store.execute("CREATE TABLE metrics (key, value, timestamp, run_uuid, step, is_nan)")
        store.execute("CREATE TABLE params (key, value, run_uuid)")
        store.execute("INSERT INTO runs VALUES ('r', 'r', 'active', 0)")
        for time, (step, loss) in enumerate(logged):
            store.execute("INSERT INTO metrics VALUES ('loss', ?, ?, 'r', ?, 0)", (loss, time, step))
    run = tmp_path / "mlruns" / "0" / "abc"
    for name in ("metrics", "params"):
        (run / name).mkdir(parents=True)
    (run / "meta.yaml").write_text("run_id: abc\nlifecycle_stage: active\n", encoding="utf-8")
    text = "".join(f"{time} {loss} {step}\n" for time, (step, loss) in enumerate(logged))
    (run / "metrics" / "loss").write_text(text, encoding="utf-8")
    for place in (path, tmp_path / "mlruns"):
        assert "a restart" in refusal(place)
        found = read(place, on_repeated="last").traces
        assert found.loss.tolist() == [*BEFORE[:4], *AFTER[:2]]


# --- one key, one clock, one run --------------------------------------------------------------------------


def test_a_stray_event_file_above_runs_does_not_make_them_one(tmp_path: Path) -> None:
    written(tmp_path / "logs", "events.out.tfevents.0", event(1, "config", as_number(1.0)))
    for name, scale in (("a", 1.0), ("b", 0.9)):
        data = b"".join(event(k, "loss", as_number(scale / k)) for k in (1, 2, 3))
        written(tmp_path / "logs" / name, "events.out.tfevents.1", data)
    found = read(tmp_path / "logs")
    assert found.traces.runs == ("a", "b")
    assert "above the folders of runs" in dict(found.facts)["files not read"]
    lost = b"".join(event(k, "rate", as_number(0.1)) for k in (1, 2))
    written(tmp_path / "logs" / "c", "events.out.tfevents.1", lost)
    assert "c (holds no 'loss')" in refusal(tmp_path / "logs")  # and not a part of what lies above
    # of a run of its own, lines of one plot are parts: they are no runs
    own = b"".join(event(k, "rate", as_number(0.1)) for k in (1, 2, 3))
    written(tmp_path / "run", "events.out.tfevents.0", own)
    for line, scale in (("loss_train", 1.0), ("loss_val", 0.9)):
        data = b"".join(event(k, "loss", as_number(scale / k)) for k in (1, 2, 3))
        written(tmp_path / "run" / line, "events.out.tfevents.1", data)
    assert "'loss_train/loss' or 'loss_val/loss': say which by --loss" in refusal(tmp_path / "run")
    assert read(tmp_path / "run", loss="loss_val/loss").traces.loss == pytest.approx(
        [0.9, 0.45, 0.3], rel=1e-6
    )


def test_an_evaluation_within_the_folder_of_its_run_is_no_run(tmp_path: Path) -> None:
    for name, scale in (("a", 1.0), ("a/eval", 2.0)):
        data = b"".join(event(k, "loss", as_number(scale / k)) for k in (1, 2, 3))
        written(tmp_path / name, "events.out.tfevents.1", data)
    assert "say --loss eval/loss; if both are runs, leave one out, --leave-out eval" in refusal(tmp_path)
    found = read(tmp_path, loss="eval/loss").traces
    assert (found.runs, found.loss.tolist()[:2]) == (("a",), [2.0, 1.0])
    assert read(tmp_path, leave_out=("eval",)).traces.loss.tolist()[:2] == [1.0, 0.5]


def test_hyperparameters_beside_event_files_tell_the_model(tmp_path: Path) -> None:
    for name in ("a", "b"):
        data = b"".join(event(k, "loss", as_number(1 / k)) for k in (1, 2, 3))
        written(tmp_path / name, "events.out.tfevents.1", data)
        (tmp_path / name / "hparams.yaml").write_text(f"width: w{name}\nplace: here\n", encoding="utf-8")
    found = read(tmp_path, stages=(), model="width", cluster="place")
    assert [schedule[0] for schedule in found.traces.schedules] == [("wa", "here"), ("wb", "here")]
