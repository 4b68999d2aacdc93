"""Event files of TensorBoard and offline files of W&B: made here byte by byte, damaged, and cut off."""

import struct

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs import binary_logs
from depl.models.tool_logs.binary_logs import BLOCK, HEADER, BrokenMessageError
from depl.models.tool_logs.finding import read_logs
from depl.models.tool_logs.points import UNFINISHED, runs_of
from tests import problems
from tests.cases.tool_log_cases import put, read, refusal
from tests.cases.written_logs import as_number, event, events, history, offline, record, told, varint


def as_tensor(value, *, packed=True, kind=1):
    content = struct.pack("<f" if kind == 1 else "<d", value)
    return told(8, told(1, kind) + told(4 if packed else 4 + kind, content))


def events_in(folder, data, number=1):
    return put(folder, {f"events.out.tfevents.{number}": data})


def test_numbers_and_tensors_of_one_number_are_scalars(tmp_path):
    half = told(8, told(1, 19) + told(13, varint(0x3800)))
    values = {
        "number": (as_number(0.5), 0.5),
        "packed": (as_tensor(0.25), 0.25),
        "listed": (as_tensor(0.125, packed=False), 0.125),
        "double": (as_tensor(0.1, kind=2), 0.1),
        "double, listed": (as_tensor(0.3, packed=False, kind=2), 0.3),
        "half, packed": (told(8, told(1, 19) + told(4, struct.pack("<e", 0.75))), 0.75),
        "half, listed": (half, 0.5),
        "bfloat, listed": (told(8, told(1, 14) + told(13, 0x3F40)), 0.75),
        "bfloat, packed": (told(8, told(1, 14) + told(4, b"\x80\x3e")), 0.25),
    }
    data = b"".join(event(step, "loss", value) for step, (value, _) in enumerate(values.values()))
    data += event(9, "picture", told(8, told(1, 7) + told(8, b"png"))) + record(told(3, b"brain.Event:2"))
    (run,) = read_logs([events_in(tmp_path / "mine", data)]).runs
    assert [point.values["loss"] for point in run.points] == [wanted for _, wanted in values.values()]
    assert [point.values["step"] for point in run.points] == list(range(9))
    assert run.name == "mine"


def test_train_and_validation_of_keras_are_one_run(tmp_path):
    for part, loss in (("train", 0.5), ("validation", 0.25)):
        for run in "ab":
            events_in(tmp_path / "logs" / run / part, event(0, "epoch_loss", as_tensor(loss)))
    found = read_logs([tmp_path / "logs"])
    assert [run.name for run in found.runs] == ["a", "b"]
    assert found.first == 0
    losses = {"train/epoch_loss": 0.5, "validation/epoch_loss": 0.25}
    assert found.runs[0].points[0].values == {"step": 0, **losses}


GOOD = event(1, "loss", 0.5)


@pytest.mark.parametrize(("place", "what"), [(3, "length"), (9, "length"), (14, "data"), (-2, "data")])
def test_a_damaged_event_file_is_refused_with_its_record(place, what, tmp_path):
    bad = bytearray(GOOD)
    bad[place] ^= 1
    path = events_in(tmp_path, GOOD + bytes(bad) + GOOD)
    caught = problems.refusal(read_logs, [path])
    assert f"the checksum of its {what} is wrong; copy" in caught.message
    assert caught.path == f"{path}, record 2"


def test_the_last_record_of_a_run_under_way_may_be_unfinished(tmp_path):
    path = events_in(tmp_path, GOOD + GOOD[:-3])
    found = read_logs([path])
    assert len(found.runs[0].points) == 1
    assert found.unread == {f"{path}, record 2": UNFINISHED}


def test_a_record_that_is_no_message_is_refused(tmp_path):
    path = events_in(tmp_path, record(b"\x2a\x7f"))
    with pytest.raises(InvalidInputError, match=r"is no event \(ends within a field\)"):
        read_logs([path])
    for data, message in ((b"\x0b", "kind 3"), (b"\xff" * 11, "more than 64 bits"), (b"\x80", "ends")):
        with pytest.raises(BrokenMessageError, match=message):
            list(binary_logs.fields(data))
    assert binary_logs.signed(dict(binary_logs.fields(told(1, -5)))[1]) == -5


def read_offline(path):
    (run,) = runs_of(binary_logs.read_offline, path)
    return run


def test_records_of_an_offline_file_may_go_over_blocks(tmp_path):
    run = told(8, b"mine") + told(4, told(1, told(1, b"lr") + told(16, b"0.5")))
    rows = [history({"epoch": k, "note": "x" * 20_000, "loss": 1 / k}) for k in range(1, 9)]
    path = put(tmp_path, {"run-a.wandb": offline(told(17, run), *rows)})
    found = read_offline(path)
    assert (found.name, dict(found.settings)) == ("mine", {"lr": "0.5"})
    assert [point.values["loss"] for point in found.points] == [1 / k for k in range(1, 9)]
    path.write_bytes(path.read_bytes()[:-50])
    assert len(read_offline(path).points) == 7
    assert set(read_offline(path).remarks.values()) == {UNFINISHED}


def test_a_record_that_a_writer_left_before_it_went_on_is_not_joined_with_the_next(tmp_path):
    head = offline(history({"loss": 1, "note": "x" * BLOCK}))[:BLOCK]
    path = put(tmp_path, {"run-a.wandb": head + offline(history({"loss": 2}))[HEADER:]})
    found = read_offline(path)
    assert [point.values["loss"] for point in found.points] == [2]
    assert found.remarks == {f"{path}, before record 1": UNFINISHED}


def test_a_damaged_offline_file_is_refused_with_its_record(tmp_path):
    data = bytearray(offline(history({"loss": 1}), history({"loss": 2})))
    data[-1] ^= 1
    path = put(tmp_path, {"run-a.wandb": bytes(data)})
    caught = problems.refusal(read_offline, path)
    assert "checksum is wrong" in caught.message
    assert caught.path == f"{path}, record 2"


def test_a_store_of_mlflow_that_is_another_database_is_refused(tmp_path):
    path = put(tmp_path, {"other.db": b"SQLite format 3\x00" + bytes(200)})
    with pytest.raises(InvalidInputError, match="is no store of mlflow"):
        read_logs([path])


BEFORE = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
AFTER = [0.65, 0.55, 0.45]
"""Losses of epochs 1 to 7, and of 5 to 7 after a restart."""


def begun_at(step):
    """The start of a session, which purges what was logged from a step on."""
    return record(told(2, step) + told(7, told(1, 1)))


def test_a_session_that_purges_is_a_restart_that_nobody_has_to_tell(tmp_path):
    """A restart at 5, with a learning rate of step 8 before it, and losses to step 8 after it."""
    events_in(tmp_path / "run", events("loss", BEFORE) + event(8, "lr", 0.1), 1)
    events_in(tmp_path / "run", begun_at(5) + events("loss", [*AFTER, 0.35], 5), 2)
    found = read(tmp_path / "run")
    assert found.traces.loss == pytest.approx([*BEFORE[:4], *AFTER, 0.35], rel=1e-6)
    assert "before which 3 values from step 5 on were logged" in dict(found.facts)["files not read"]


@pytest.mark.parametrize("start", [0, 1, 50])
def test_a_session_before_the_first_loss_is_a_second_training_and_purges_no_run(start, tmp_path):
    """Steps of 1, and of 100 with a restart within the first epoch."""
    wide = 100 if start == 50 else 1
    events_in(tmp_path / "run", events("loss", BEFORE, 1, wide), 0)
    events_in(tmp_path / "run", begun_at(start) + events("loss", AFTER, 1, wide), 1)
    assert "a second training begins" in refusal(tmp_path / "run")
    found = read(tmp_path / "run", on_repeated="last").traces
    assert found.runs == ("run", "run (training 2)")
    assert found.loss == pytest.approx([*BEFORE, *AFTER], rel=1e-6)


CURVE, OTHER = (events("loss", (scale, scale / 2, scale / 4)) for scale in (1.0, 0.75))
RATE = events("rate", (0.1, 0.2))


def test_a_stray_event_file_above_runs_does_not_make_them_one(tmp_path):
    logs, run = tmp_path / "logs", tmp_path / "run"
    events_in(logs, event(1, "config", 1.0), 0)
    for name, curve in (("a", CURVE), ("b", OTHER)):
        events_in(logs / name, curve)
    found = read(logs)
    assert found.traces.runs == ("a", "b")
    assert "above the folders of runs" in dict(found.facts)["files not read"]
    events_in(logs / "c", RATE)
    assert "c (holds no 'loss')" in refusal(logs)  # and not a part of what lies above
    # of a run of its own, lines of one plot are parts: they are no runs
    events_in(run, RATE, 0)
    for line, curve in (("loss_train", CURVE), ("loss_val", OTHER)):
        events_in(run / line, curve)
    assert "'loss_train/loss' or 'loss_val/loss': say which by --loss" in refusal(run)
    assert read(run, loss="loss_val/loss").traces.loss.tolist() == [0.75, 0.375, 0.1875]


def test_an_evaluation_within_the_folder_of_its_run_is_no_run(tmp_path):
    events_in(tmp_path / "a", CURVE)
    events_in(tmp_path / "a/eval", OTHER)
    assert "say --loss eval/loss; if both are runs, leave one out, --leave-out eval" in refusal(tmp_path)
    found = read(tmp_path, loss="eval/loss").traces
    assert (found.runs, found.loss[0]) == (("a",), 0.75)
    assert read(tmp_path, leave_out=("eval",)).traces.loss[0] == 1
