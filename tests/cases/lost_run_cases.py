"""Runs of nine epochs in every format of logs, and the ways in which some of them are lost.

64 runs end at or below 0.7; 16 would have ended above it, and their logs went wrong. `WAYS` says what a way
leaves of the losses, `FORMS` how a run is written, and `IMPOSSIBLE` which ways a format cannot express: there
are no nulls in binary files, and a file of all runs cannot be cut for some of them.
"""

import contextlib
import json
import math
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from depl.models.tool_logs.binary_logs import masked_checksum

EPOCHS, RUNS, LOST, TARGET = 9, 80, 16, 0.7
PLAN = (("net", "edge"),) * EPOCHS
WAYS = ("null", "nan", "cut", "early", "key")
"""Null or NaN from an epoch on, a file that is cut, a run that stopped, and no loss under its key at all."""


class Written(NamedTuple):
    """How logs are to be read: the key of the loss, and that of epochs where it has to be said."""

    loss: str = "val_loss"
    epoch: str | None = None


def losses_of(way: str, rng: np.random.Generator) -> list[tuple[str, list[float | None]]]:
    """Names and losses of all runs; those of lost ones as the way leaves them."""
    found: list[tuple[str, list[float | None]]] = []
    for run in range(RUNS):
        ends = rng.uniform(0.5, 0.69) if run >= LOST else rng.uniform(0.75, 0.9)
        course = [float(ends + 1.5 * 0.6**k + 0.02 * rng.normal() * (k < EPOCHS)) for k in range(1, EPOCHS)]
        losses: list[float | None] = [*course, float(ends)]
        stop = int(rng.integers(2, EPOCHS))
        if run < LOST and way in ("null", "nan"):
            losses[stop:] = [None if way == "null" else math.nan] * (EPOCHS - stop)
        elif run < LOST and way == "early":
            losses = losses[:stop]
        found.append((f"seed{run:02}", losses))
    order = rng.permutation(RUNS)
    return [found[index] for index in order]


def is_lost(name: str) -> bool:
    """Whether a run is one of those that are lost."""
    return int(name.removeprefix("seed")) < LOST


def write(form: str, way: str, folder: Path) -> Written:
    """Write all runs into a folder."""
    runs = losses_of(way, np.random.default_rng(0))
    written, told = FORMS[form]
    loss = told.loss.rpartition("/")[2]
    keyed = [(name, losses, "other" if way == "key" and is_lost(name) else loss) for name, losses in runs]
    for path, content in written(keyed):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    if way == "cut":
        files = [path for path in folder.rglob("*") if path.is_file() and path.name not in ("meta.yaml",)]
        for path in files:
            if any(is_lost(part.partition(".")[0]) for part in path.parts if part.startswith("seed")):
                content = path.read_bytes()
                path.write_bytes(content[: int(0.6 * len(content))])
    return told


Files = Iterator[tuple[str, str | bytes]]
Run = tuple[str, list[float | None], str]
"""Its name, its losses, and the key under which they are logged."""


def shown(value: float | None) -> str:
    return "" if value is None else repr(value)


def lines(*parts: str) -> str:
    return "\n".join([*parts, ""])


def each(
    name: str, content: Callable[[list[float | None], str], str | bytes]
) -> Callable[[list[Run]], Files]:
    """A file for every run, named after it."""
    return lambda runs: ((name.format(run), content(losses, key)) for run, losses, key in runs)


def table(head: str, row: str, first: int = 1) -> Callable[[list[float | None], str], str]:
    """A CSV file of a run: its header with the key, and a row per epoch."""
    return lambda losses, key: lines(
        head.format(key=key),
        *(row.format(k=k, loss=shown(loss)) for k, loss in enumerate(losses, start=first)),
    )


def rows_of(losses: list[float | None], key: str) -> list[dict[str, object]]:
    """An object per epoch."""
    return [{"epoch": k, key: loss} for k, loss in enumerate(losses, start=1)]


def _lightning(runs: list[Run]) -> Files:
    for name, losses, key in runs:
        rows = []
        for k, loss in enumerate(losses):
            rows += [f"{k},{10 * k + 5},1.0,,", f"{k},{10 * k + 9},,{shown(loss)},0.5"]
        yield f"{name}/metrics.csv", lines(f"epoch,step,train_loss,{key},val_acc", *rows)
        yield f"{name}/hparams.yaml", "lr: 0.1\n"


def _jsonl(losses: list[float | None], key: str) -> str:
    pairs = (({"epoch": row["epoch"], "train_loss": 1.0}, row) for row in rows_of(losses, key))
    return lines(*(json.dumps(row) for pair in pairs for row in pair))


def _together(runs: list[Run]) -> Files:
    rows = [
        f"{name},{k},{shown(loss) if key == 'val_loss' else ''}"
        for name, losses, key in runs
        for k, loss in enumerate(losses, start=1)
    ]
    yield "runs.csv", lines("run,epoch,val_loss", *rows)


def _chart(runs: list[Run]) -> Files:
    rows = [
        ",".join([str(k), *(shown(losses[k - 1]) if k <= len(losses) else "" for _, losses, _ in runs), ""])
        for k in range(1, EPOCHS + 1)
    ]
    yield (
        "chart.csv",
        lines(",".join(["Step", *(f"{name} - {key}" for name, _, key in runs), "x__MIN"]), *rows),
    )


def _flower(losses: list[float | None], key: str) -> str:
    pairs = [[k, loss] for k, loss in enumerate(losses, start=1)]
    return json.dumps({"losses_centralized" if key == "loss" else "losses_distributed": pairs})


def _flower_result(losses: list[float | None], key: str) -> str:
    told = {str(k): {key: loss} for k, loss in enumerate(losses, start=1)}
    return json.dumps({"evaluate_metrics_serverapp": told})


def _mlflow_files(runs: list[Run]) -> Files:
    for name, losses, key in runs:
        yield f"0/{name}/meta.yaml", f"run_id: {name}\nrun_name: {name}\nlifecycle_stage: active\n"
        yield (
            f"0/{name}/metrics/{key}",
            lines(*(f"{1000 + k} {loss!r} {k}" for k, loss in enumerate(losses, start=1))),
        )


def _mlflow(runs: list[Run]) -> Files:
    with contextlib.closing(sqlite3.connect(":memory:")) as store:
        store.execute("CREATE TABLE runs (run_uuid, name, lifecycle_stage, start_time)")
        store.execute("CREATE TABLE metrics (run_uuid, key, value, step, timestamp, is_nan)")
        store.execute("CREATE TABLE params (run_uuid, key, value)")
        for name, losses, key in runs:
            store.execute("INSERT INTO runs VALUES (?, ?, 'active', 0)", (name, name))
            for k, loss in enumerate(losses, start=1):
                bad = loss is not None and math.isnan(loss)
                row = (name, key, 0.0 if bad else loss, k, 1000 + k, int(bad))
                store.execute("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", row)
        store.commit()
        yield "mlflow.db", store.serialize()


def _transformers(losses: list[float | None], key: str) -> str:
    told: list[dict[str, object]] = []
    for k, loss in enumerate(losses, start=1):
        told += [
            {"epoch": k - 0.5, "loss": 1.0, "step": 20 * k - 10},
            {"epoch": float(k), key: loss, "step": 20 * k},
        ]
    return json.dumps({"log_history": told})


def varint(value: int) -> bytes:
    """A whole number as protocol buffers have it."""
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def field(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer that holds bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def _tensorboard(losses: list[float | None], key: str) -> bytes:
    data = b""
    for k, loss in enumerate(losses, start=1):
        value = field(1, key.encode()) + b"\x15" + struct.pack("<f", loss)
        event = varint(2 << 3) + varint(k) + field(5, field(1, value))
        size = struct.pack("<Q", len(event))
        sums = [struct.pack("<I", masked_checksum(part)) for part in (size, event)]
        data += size + sums[0] + event + sums[1]
    return data


def _wandb(runs: list[Run]) -> Files:
    for name, losses, key in runs:
        records = [field(17, field(8, name.encode()))]
        for row in rows_of(losses, key):
            items = (
                field(1, field(1, k.encode()) + field(16, json.dumps(v).encode())) for k, v in row.items()
            )
            records.append(field(2, b"".join(items)))
        parts = (b"\x01" + record for record in records)
        packed = (struct.pack("<IH", zlib.crc32(part), len(part) - 1) + part for part in parts)
        yield f"{name}/run.wandb", b":W&B\xbe\xe1\x00" + b"".join(packed)


FORMS: dict[str, tuple[Callable[[list[Run]], Files], Written]] = {
    "keras-history": (
        each("{}.json", lambda losses, key: json.dumps({"loss": [1.0] * len(losses), key: losses})),
        Written(),
    ),
    "keras": (each("{}.csv", table("epoch,loss,{key}", "{k},1.0,{loss}", first=0)), Written()),
    "lightning": (_lightning, Written()),
    "jsonl": (each("{}.jsonl", _jsonl), Written()),
    "json-objects": (each("{}.json", lambda losses, key: json.dumps(rows_of(losses, key))), Written()),
    "csv": (each("{}.csv", table("epoch,lr,{key}", "{k},1.0,{loss}")), Written()),
    "csv-together": (_together, Written()),
    "wandb-chart": (_chart, Written(epoch="Step")),
    "wandb-history": (each("{}.csv", table("_step,epoch,{key}", "{k},{k},{loss}")), Written()),
    "wandb-offline": (_wandb, Written()),
    "flower": (each("{}.json", _flower), Written("centralized/loss")),
    "flower-result": (each("{}.json", _flower_result), Written("centralized/loss")),
    "mlflow-files": (_mlflow_files, Written()),
    "mlflow": (_mlflow, Written()),
    "tensorboard": (each("{}/events.out.tfevents.1", _tensorboard), Written()),
    "transformers": (each("{}/trainer_state.json", _transformers), Written("eval_loss")),
}
IMPOSSIBLE = {
    ("csv-together", "cut"),
    ("wandb-chart", "cut"),
    ("mlflow", "cut"),
    ("mlflow-files", "null"),
    ("tensorboard", "null"),
}
"""Formats that cannot express a way: the files of all runs together, and those without nulls."""
EXPRESSED = [(form, way) for form in FORMS for way in WAYS if (form, way) not in IMPOSSIBLE]
