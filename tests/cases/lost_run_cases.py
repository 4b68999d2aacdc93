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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from depl.models.tool_logs.binary_logs import masked_checksum

EPOCHS, RUNS, LOST, TARGET = 9, 80, 16, 0.7
PLAN = (("net", "edge"),) * EPOCHS
WAYS = ("null", "nan", "cut", "early", "key")
"""Null or NaN from an epoch on, a file that is cut, a run that stopped, and no loss under its key at all."""

Losses = Sequence[float | None]


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
    keys = {name: "other" if way == "key" and is_lost(name) else "" for name, _ in runs}
    told = FORMS[form](folder, runs, keys)
    if way == "cut":
        files = [path for path in folder.rglob("*") if path.is_file() and path.name not in ("meta.yaml",)]
        for path in files:
            if any(is_lost(part.partition(".")[0]) for part in path.parts if part.startswith("seed")):
                content = path.read_bytes()
                path.write_bytes(content[: int(0.6 * len(content))])
    return told


def _file(folder: Path, name: str, content: str | bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def _shown(value: float | None) -> str:
    return "" if value is None else repr(value)


Runs = list[tuple[str, list[float | None]]]
Keys = dict[str, str]


def _history(folder: Path, runs: Runs, keys: Keys) -> Written:
    for name, losses in runs:
        content = {"loss": [1.0] * len(losses), keys[name] or "val_loss": losses}
        _file(folder, f"{name}.json", json.dumps(content))
    return Written()


def _keras(folder: Path, runs: Runs, keys: Keys) -> Written:
    for name, losses in runs:
        rows = [f"{k},1.0,{_shown(loss)}" for k, loss in enumerate(losses)]
        _file(folder, f"{name}.csv", "\n".join([f"epoch,loss,{keys[name] or 'val_loss'}", *rows, ""]))
    return Written()


def _lightning(folder: Path, runs: Runs, keys: Keys) -> Written:
    for name, losses in runs:
        rows = [
            line
            for k, loss in enumerate(losses)
            for line in (f"{k},{10 * k + 5},1.0,,", f"{k},{10 * k + 9},,{_shown(loss)},0.5")
        ]
        header = f"epoch,step,train_loss,{keys[name] or 'val_loss'},val_acc"
        _file(folder, f"{name}/metrics.csv", "\n".join([header, *rows, ""]))
        _file(folder, f"{name}/hparams.yaml", "lr: 0.1\n")
    return Written()


def _jsonl(folder: Path, runs: Runs, keys: Keys) -> Written:
    for name, losses in runs:
        lines = []
        for k, loss in enumerate(losses, start=1):
            lines += [{"epoch": k, "train_loss": 1.0}, {"epoch": k, keys[name] or "val_loss": loss}]
        _file(folder, f"{name}.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    return Written()


def _objects(folder: Path, runs: Runs, keys: Keys) -> Written:
    for name, losses in runs:
        lines = [{"epoch": k, keys[name] or "val_loss": loss} for k, loss in enumerate(losses, start=1)]
        _file(folder, f"{name}.json", json.dumps(lines))
    return Written()


def _plain(folder: Path, runs: Runs, keys: Keys) -> Written:
    for name, losses in runs:
        rows = [f"{k},1.0,{_shown(loss)}" for k, loss in enumerate(losses, start=1)]
        _file(folder, f"{name}.csv", "\n".join([f"epoch,lr,{keys[name] or 'val_loss'}", *rows, ""]))
    return Written()


def _together(folder: Path, runs: Runs, keys: Keys) -> Written:
    rows = [
        f"{name},{k},{'' if keys[name] else _shown(loss)}"
        for name, losses in runs
        for k, loss in enumerate(losses, start=1)
    ]
    _file(folder, "runs.csv", "\n".join(["run,epoch,val_loss", *rows, ""]))
    return Written()


def _chart(folder: Path, runs: Runs, keys: Keys) -> Written:
    rows = [
        ",".join([str(k), *(_shown(losses[k - 1]) if k <= len(losses) else "" for _, losses in runs)])
        for k in range(1, EPOCHS + 1)
    ]
    header = ",".join(["Step", *(f"{name} - {keys[name] or 'val_loss'}" for name, _ in runs), "x__MIN"])
    _file(folder, "chart.csv", "\n".join([header, *(f"{row}," for row in rows), ""]))
    return Written(epoch="Step")


def _wandb_history(folder: Path, runs: Runs, keys: Keys) -> Written:
    for name, losses in runs:
        rows = [f"{k},{k},{_shown(loss)}" for k, loss in enumerate(losses, start=1)]
        _file(folder, f"{name}.csv", "\n".join([f"_step,epoch,{keys[name] or 'val_loss'}", *rows, ""]))
    return Written()


def _flower(folder: Path, runs: Runs, keys: Keys) -> Written:
    for name, losses in runs:
        pairs = [[k, loss] for k, loss in enumerate(losses, start=1)]
        content = {"losses_distributed": pairs} if keys[name] else {"losses_centralized": pairs}
        _file(folder, f"{name}.json", json.dumps(content))
    return Written("centralized/loss")


def _flower_result(folder: Path, runs: Runs, keys: Keys) -> Written:
    for name, losses in runs:
        told = {str(k): {keys[name] or "loss": loss} for k, loss in enumerate(losses, start=1)}
        _file(folder, f"{name}.json", json.dumps({"evaluate_metrics_serverapp": told}))
    return Written("centralized/loss")


def _mlflow_files(folder: Path, runs: Runs, keys: Keys) -> Written:
    for name, losses in runs:
        lines = [f"{1000 + k} {loss!r} {k}" for k, loss in enumerate(losses, start=1)]
        _file(folder, f"0/{name}/meta.yaml", f"run_id: {name}\nrun_name: {name}\nlifecycle_stage: active\n")
        _file(folder, f"0/{name}/metrics/{keys[name] or 'val_loss'}", "\n".join([*lines, ""]))
    return Written()


def _mlflow(folder: Path, runs: Runs, keys: Keys) -> Written:
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(folder / "mlflow.db")) as store:
        store.execute("CREATE TABLE runs (run_uuid, name, lifecycle_stage, start_time)")
        store.execute("CREATE TABLE metrics (run_uuid, key, value, step, timestamp, is_nan)")
        store.execute("CREATE TABLE params (run_uuid, key, value)")
        for name, losses in runs:
            store.execute("INSERT INTO runs VALUES (?, ?, 'active', 0)", (name, name))
            for k, loss in enumerate(losses, start=1):
                bad = loss is not None and math.isnan(loss)
                row = (name, keys[name] or "val_loss", 0.0 if bad else loss, k, 1000 + k, int(bad))
                store.execute("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", row)
        store.commit()
    return Written()


def _transformers(folder: Path, runs: Runs, keys: Keys) -> Written:
    for name, losses in runs:
        rows: list[dict[str, object]] = []
        for k, loss in enumerate(losses, start=1):
            rows += [{"epoch": k - 0.5, "loss": 1.0, "step": 20 * k - 10}]
            rows += [{"epoch": float(k), keys[name] or "eval_loss": loss, "step": 20 * k}]
        _file(folder, f"{name}/trainer_state.json", json.dumps({"log_history": rows}))
    return Written("eval_loss")


def _varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _tensorboard(folder: Path, runs: Runs, keys: Keys) -> Written:
    for name, losses in runs:
        data = b""
        for k, loss in enumerate(losses, start=1):
            value = _field(1, (keys[name] or "val_loss").encode()) + b"\x15" + struct.pack("<f", loss)
            event = _varint(2 << 3) + _varint(k) + _field(5, _field(1, value))
            size = struct.pack("<Q", len(event))
            sums = [struct.pack("<I", masked_checksum(part)) for part in (size, event)]
            data += size + sums[0] + event + sums[1]
        _file(folder, f"{name}/events.out.tfevents.1", data)
    return Written()


def _wandb(folder: Path, runs: Runs, keys: Keys) -> Written:
    for name, losses in runs:
        data = b":W&B\xbe\xe1\x00"
        records = [_field(17, _field(8, name.encode()))]
        for k, loss in enumerate(losses, start=1):
            told = {"epoch": k, keys[name] or "val_loss": loss}
            items = (
                _field(1, _field(1, key.encode()) + _field(16, json.dumps(value).encode()))
                for key, value in told.items()
            )
            records.append(_field(2, b"".join(items)))
        for record in records:
            part = b"\x01" + record
            data += struct.pack("<IH", zlib.crc32(part), len(record)) + part
        _file(folder, f"{name}/run.wandb", data)
    return Written()


FORMS: dict[str, Callable[[Path, Runs, Keys], Written]] = {
    "keras-history": _history,
    "keras": _keras,
    "lightning": _lightning,
    "jsonl": _jsonl,
    "json-objects": _objects,
    "csv": _plain,
    "csv-together": _together,
    "wandb-chart": _chart,
    "wandb-history": _wandb_history,
    "wandb-offline": _wandb,
    "flower": _flower,
    "flower-result": _flower_result,
    "mlflow-files": _mlflow_files,
    "mlflow": _mlflow,
    "tensorboard": _tensorboard,
    "transformers": _transformers,
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
