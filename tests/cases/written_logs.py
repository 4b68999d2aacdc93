"""What training tools write, byte by byte: events of TensorBoard, offline files of W&B, stores of mlflow."""

import contextlib
import json
import sqlite3
import struct
import zlib

from depl.models.tool_logs.binary_logs import BLOCK, HEADER, masked_checksum


def varint(value):
    """A whole number as protocol buffers have it."""
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def told(number, content):
    """A field of bytes, or of a whole number."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content % (1 << 64))
    return varint(number << 3 | 2) + varint(len(content)) + content


def record(data):
    """A record of an event file."""
    size = struct.pack("<Q", len(data))
    sums = [struct.pack("<I", masked_checksum(part)) for part in (size, data)]
    return size + sums[0] + data + sums[1]


def as_number(value):
    """A scalar as it was logged before tensors."""
    return varint(2 << 3 | 5) + struct.pack("<f", value)


def event(step, tag, value):
    """A record of a step with a number, or with the bytes of another value."""
    packed = value if isinstance(value, bytes) else as_number(value)
    return record(told(2, step) + told(5, told(1, told(1, tag.encode()) + packed)))


def events(tag, losses, first=1, width=1):
    """A record for every loss."""
    return b"".join(event(k * width, tag, loss) for k, loss in enumerate(losses, start=first))


def offline(*records):
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
            data += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
            begun = False
            if not content:
                break
    return data


def history(values):
    """A record of what was logged together."""
    items = [told(1, key.encode()) + told(16, json.dumps(value).encode()) for key, value in values.items()]
    return told(2, b"".join(told(1, item) for item in items))


def inspected(**more):
    """A record that ``wandb leet inspect --json`` shows."""
    return json.dumps({"num": 1, **more}, ensure_ascii=False) + "\n"


def stored(runs, params=(), more=""):
    """A store of mlflow, with identifiers, names and metrics of its runs; parameters are of run ``r``.

    A metric is its step, key and value, and whether the value is NaN.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE runs (run_uuid, name, start_time, lifecycle_stage)")
        base.execute("CREATE TABLE metrics (run_uuid, step, key, value, is_nan, timestamp)")
        base.execute("CREATE TABLE params (run_uuid, key, value)")
        for number, name, metrics in runs:
            base.execute("INSERT INTO runs VALUES (?, ?, 1, 'active')", (number, name))
            rows = [(number, *row) for row in metrics]
            base.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, 1)", rows)
        base.executemany("INSERT INTO params VALUES ('r', ?, ?)", params)
        base.executescript(more)
        return base.serialize()


def store(metrics=((1, "loss", 0.5, 0),), name="a", params=(), more=""):
    """How to make a store with one run in a folder."""

    def make(folder):
        (folder / "mlflow.db").write_bytes(stored([("r", name, metrics)], params, more))
        return folder / "mlflow.db"

    return make
