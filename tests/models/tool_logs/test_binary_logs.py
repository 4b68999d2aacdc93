"""Event files of TensorBoard and offline files of W&B: made here byte by byte, damaged, and cut off."""

import json
import struct
import zlib
from pathlib import Path

import pytest

from depl.models.foundation.errors import InvalidInputError
from depl.models.tool_logs.binary_logs import (
    BLOCK,
    HEADER,
    BrokenMessageError,
    fields,
    masked_checksum,
    signed,
)
from depl.models.tool_logs.binary_logs import read_offline as reader_of_offline_files
from depl.models.tool_logs.finding import read_logs
from depl.models.tool_logs.points import UNFINISHED, LoggedRun, runs_of
from tests.cases.tool_log_cases import EVERY, LOGS, unpacked
from tests.models.tool_logs.test_answers import read, refusal


def varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def told(number: int, content: bytes | int) -> bytes:
    """A field of bytes, or of a whole number."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content % (1 << 64))
    return varint(number << 3 | 2) + varint(len(content)) + content


def record(data: bytes) -> bytes:
    size = struct.pack("<Q", len(data))
    sums = [struct.pack("<I", masked_checksum(part)) for part in (size, data)]
    return size + sums[0] + data + sums[1]


def event(step: int, tag: str, value: bytes) -> bytes:
    return record(told(2, step) + told(5, told(1, told(1, tag.encode()) + value)))


def as_number(value: float) -> bytes:
    return varint(2 << 3 | 5) + struct.pack("<f", value)


def as_tensor(value: float, *, packed: bool = True, kind: int = 1) -> bytes:
    content = struct.pack("<f" if kind == 1 else "<d", value)
    return told(8, told(1, kind) + told(4 if packed else 4 + kind, content))


def written(folder: Path, name: str, data: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    return folder / name


def curve(scale: float = 1.0, tag: str = "loss", steps: tuple[int, ...] = (1, 2, 3)) -> bytes:
    """Events with scale / k at step k."""
    return b"".join(event(k, tag, as_number(scale / k)) for k in steps)


def events_in(folder: Path, data: bytes, number: int = 1) -> Path:
    return written(folder, f"events.out.tfevents.{number}", data)


def test_the_checksum_is_crc_32c_rotated_and_moved():
    """Of RFC 3720, section B.4: 32 bytes of zeros have 0x8a9136aa; of "123456789" it is 0xe3069283."""
    for data, crc in ((bytes(32), 0x8A9136AA), (b"123456789", 0xE3069283)):
        assert masked_checksum(data) == ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32


def test_numbers_and_tensors_of_one_number_are_scalars(tmp_path):
    values = [as_number(0.5), as_tensor(0.25), as_tensor(0.125, packed=False), as_tensor(0.1, kind=2)]
    values.append(as_tensor(0.3, packed=False, kind=2))
    data = b"".join(event(step, "loss", value) for step, value in enumerate(values))
    data += event(5, "loss", told(8, told(1, 19) + told(4, struct.pack("<e", 0.75))))
    data += event(6, "loss", told(8, told(1, 19) + told(13, varint(0x3800))))
    data += event(7, "loss", told(8, told(1, 14) + told(13, 0x3F40)))
    data += event(8, "loss", told(8, told(1, 14) + told(4, b"\x80\x3e")))
    data += event(9, "picture", told(8, told(1, 7) + told(8, b"png"))) + record(told(3, b"brain.Event:2"))
    (run,) = read_logs([events_in(tmp_path / "mine", data)]).runs
    assert [point.values["loss"] for point in run.points] == [
        *(0.5, 0.25, 0.125, 0.1, 0.3),
        *(0.75, 0.5, 0.75, 0.25),
    ]
    assert [point.values["step"] for point in run.points] == list(range(9))
    assert run.name == "mine"


def test_train_and_validation_of_keras_are_one_run(tmp_path):
    for part, loss in (("train", 0.5), ("validation", 0.25)):
        for run in "ab":
            events_in(tmp_path / "logs" / run / part, event(0, "epoch_loss", as_tensor(loss)))
    found = read_logs([tmp_path / "logs"])
    assert [run.name for run in found.runs] == ["a", "b"]
    assert found.first == 0
    assert found.runs[0].points[0].values == {
        "step": 0,
        "train/epoch_loss": 0.5,
        "validation/epoch_loss": 0.25,
    }


@pytest.mark.parametrize(("place", "what"), [(3, "length"), (9, "length"), (14, "data"), (-2, "data")])
def test_a_damaged_event_file_is_refused_with_its_record(place, what, tmp_path):
    good = event(1, "loss", as_number(0.5))
    bad = bytearray(good)
    bad[place] ^= 1
    path = events_in(tmp_path, good + bytes(bad) + good)
    with pytest.raises(InvalidInputError, match=f"the checksum of its {what} is wrong; copy") as caught:
        read_logs([path])
    assert caught.value.path == f"{path}, record 2"


def test_the_last_record_of_a_run_under_way_may_be_unfinished(tmp_path):
    good = event(1, "loss", as_number(0.5))
    path = events_in(tmp_path, good + good[:-3])
    found = read_logs([path])
    assert len(found.runs[0].points) == 1
    assert found.unread == {f"{path}, record 2": UNFINISHED}


def test_a_record_that_is_no_message_is_refused(tmp_path):
    path = events_in(tmp_path, record(b"\x2a\x7f"))
    with pytest.raises(InvalidInputError, match=r"is no event \(ends within a field\)"):
        read_logs([path])
    for data, message in (
        (b"\x0b", "unknown kind 3"),
        (b"\xff" * 11, "more than 64 bits"),
        (b"\x80", "ends"),
    ):
        with pytest.raises(BrokenMessageError, match=message):
            list(fields(data))
    assert signed(dict(fields(told(1, -5)))[1]) == -5


def offline(*records: bytes) -> bytes:
    """A log of records in blocks of 32 KiB."""
    data = b":W&B\xbe\xe1\x00"
    for content in records:
        begun = True
        while True:
            left = BLOCK - len(data) % BLOCK
            if left < HEADER:
                data += bytes(left)
                continue
            part, content = content[: left - HEADER], content[left - HEADER :]
            kind = (2 if content else 1) if begun else (3 if content else 4)
            checksum = zlib.crc32(bytes([kind]) + part)
            data += struct.pack("<IHB", checksum, len(part), kind) + part
            begun = False
            if not content:
                break
    return data


def history(**values: object) -> bytes:
    items = [told(1, key.encode()) + told(16, json.dumps(value).encode()) for key, value in values.items()]
    return told(2, b"".join(told(1, item) for item in items))


def read_offline(path: Path) -> LoggedRun:
    (run,) = runs_of(reader_of_offline_files, path)
    return run


def test_records_of_an_offline_file_may_go_over_blocks(tmp_path):
    run = told(8, b"mine") + told(4, told(1, told(1, b"lr") + told(16, b"0.5")))
    rows = [history(epoch=k, note="x" * 20_000, loss=1 / k) for k in range(1, 9)]
    path = written(tmp_path, "run-a.wandb", offline(told(17, run), *rows))
    found = read_offline(path)
    assert (found.name, dict(found.settings)) == ("mine", {"lr": "0.5"})
    assert [point.values["loss"] for point in found.points] == [1 / k for k in range(1, 9)]
    path.write_bytes(path.read_bytes()[:-50])
    assert len(read_offline(path).points) == 7
    assert set(read_offline(path).remarks.values()) == {UNFINISHED}


def test_a_record_that_a_writer_left_before_it_went_on_is_not_joined_with_the_next(tmp_path):
    head = offline(history(loss=1, note="x" * BLOCK))[:BLOCK]
    path = written(tmp_path, "run-a.wandb", head + offline(history(loss=2))[HEADER:])
    found = read_offline(path)
    assert [point.values["loss"] for point in found.points] == [2]
    assert found.remarks == {f"{path}, before record 1": UNFINISHED}


def test_a_damaged_offline_file_is_refused_with_its_record(tmp_path):
    data = bytearray(offline(history(loss=1), history(loss=2)))
    data[-1] ^= 1
    path = written(tmp_path, "run-a.wandb", bytes(data))
    with pytest.raises(InvalidInputError, match="checksum is wrong") as caught:
        read_offline(path)
    assert caught.value.path == f"{path}, record 2"
    path.write_bytes(b"something else")
    with pytest.raises(InvalidInputError, match="wandb leet inspect --json"):
        read_offline(path)


def test_what_wandb_itself_shows_of_an_offline_file_is_what_is_read(tmp_path):
    """``wandb leet inspect --json`` is a reader that shares nothing with ours."""
    own, theirs = (
        read_logs([unpacked(EVERY[name], tmp_path)]).runs for name in ("wandb-offline", "wandb-inspect")
    )
    assert [run.name for run in own] == [run.name for run in theirs]
    assert [run.settings for run in own] == [run.settings for run in theirs]
    for one, other in zip(own, theirs, strict=True):
        assert [point.values for point in one.points] == [point.values for point in other.points]


def test_a_store_of_mlflow_that_is_another_database_is_refused(tmp_path):
    path = written(tmp_path, "other.db", b"SQLite format 3\x00" + bytes(200))
    with pytest.raises(InvalidInputError, match="is no store of mlflow"):
        read_logs([path])
    assert len(read_logs([LOGS / "jsonl"]).runs) == 24


BEFORE = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
AFTER = [0.65, 0.55, 0.45]
"""Losses of epochs 1 to 7, and of 5 to 7 after a restart."""


def events(folder: Path, purge: bool) -> Path:
    """A restart at 5, with a learning rate of step 8 before it, and losses to step 8 after it."""
    first = b"".join(event(k, "loss", as_number(loss)) for k, loss in enumerate(BEFORE, start=1))
    first += event(8, "lr", as_number(0.1))
    start = record(told(2, 5) + told(7, told(1, 1))) if purge else b""
    after = b"".join(event(k, "loss", as_number(loss)) for k, loss in enumerate([*AFTER, 0.35], start=5))
    written(folder, "events.out.tfevents.1.a", first)
    written(folder, "events.out.tfevents.2.a", start + after)
    return folder


def test_a_session_that_purges_is_a_restart_that_nobody_has_to_tell(tmp_path):
    found = read(events(tmp_path / "run", purge=True))
    assert found.traces.loss == pytest.approx([*BEFORE[:4], *AFTER, 0.35], rel=1e-6)
    assert "before which 3 values from step 5 on were logged" in dict(found.facts)["files not read"]


@pytest.mark.parametrize("start", [0, 1, 50])
def test_a_session_before_the_first_loss_is_a_second_training_and_purges_no_run(start, tmp_path):
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


def test_a_stray_event_file_above_runs_does_not_make_them_one(tmp_path):
    logs, run = tmp_path / "logs", tmp_path / "run"
    events_in(logs, event(1, "config", as_number(1.0)), 0)
    for name, scale in (("a", 1.0), ("b", 0.9)):
        events_in(logs / name, curve(scale))
    found = read(logs)
    assert found.traces.runs == ("a", "b")
    assert "above the folders of runs" in dict(found.facts)["files not read"]
    events_in(logs / "c", curve(0.1, "rate", (1, 2)))
    assert "c (holds no 'loss')" in refusal(logs)  # and not a part of what lies above
    # of a run of its own, lines of one plot are parts: they are no runs
    events_in(run, curve(0.1, "rate"), 0)
    for line, scale in (("loss_train", 1.0), ("loss_val", 0.9)):
        events_in(run / line, curve(scale))
    assert "'loss_train/loss' or 'loss_val/loss': say which by --loss" in refusal(run)
    assert read(run, loss="loss_val/loss").traces.loss == pytest.approx([0.9, 0.45, 0.3], rel=1e-6)


def test_an_evaluation_within_the_folder_of_its_run_is_no_run(tmp_path):
    for name, scale in (("a", 1.0), ("a/eval", 2.0)):
        events_in(tmp_path / name, curve(scale))
    assert "say --loss eval/loss; if both are runs, leave one out, --leave-out eval" in refusal(tmp_path)
    found = read(tmp_path, loss="eval/loss").traces
    assert (found.runs, found.loss.tolist()[:2]) == (("a",), [2.0, 1.0])
    assert read(tmp_path, leave_out=("eval",)).traces.loss.tolist()[:2] == [1.0, 0.5]
