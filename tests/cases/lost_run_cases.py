"""Runs of nine epochs in every format of logs, and the ways in which some of them are lost.

64 runs end at or below 0.7; 16 would have ended above it, and their logs went wrong. `FORMS` says how a run
is written, and `IMPOSSIBLE` which ways a format cannot express: there are no nulls in binary files, and a
file of all runs cannot be cut for some of them.
"""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.cases.written_logs import events, history, offline, stored, told

EPOCHS, RUNS, LOST, TARGET = 9, 80, 16, 0.7
PLAN = (("net", "edge"),) * EPOCHS
WAYS = ("null", "nan", "cut", "early", "key")
"""Null or NaN from an epoch on, a file that is cut, a run that stopped, and no loss under its key at all."""
Losses = list[float | None]
Run = tuple[str, Losses, str]
"""Its name, its losses, and the key under which they are logged."""
Files = Iterator[tuple[str, str | bytes]]


class Written(NamedTuple):
    """How logs are to be read: the key of the loss, and that of epochs where it has to be said."""

    loss: str = "val_loss"
    epoch: str | None = None


def losses_of(way: str, rng: np.random.Generator) -> list[tuple[str, Losses]]:
    """Names and losses of all runs; those of lost ones as the way leaves them."""
    found: list[tuple[str, Losses]] = []
    for run in range(RUNS):
        ends = rng.uniform(0.5, 0.69) if run >= LOST else rng.uniform(0.75, 0.9)
        course = [float(ends + 1.5 * 0.6**k + 0.02 * rng.normal() * (k < EPOCHS)) for k in range(1, EPOCHS)]
        losses: Losses = [*course, float(ends)]
        stop = int(rng.integers(2, EPOCHS))
        if run < LOST and way in ("null", "nan"):
            losses[stop:] = [None if way == "null" else math.nan] * (EPOCHS - stop)
        elif run < LOST and way == "early":
            losses = losses[:stop]
        found.append((f"seed{run:02}", losses))
    return [found[index] for index in rng.permutation(RUNS)]


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


def shown(value: float | None) -> str:
    return "" if value is None else repr(value)


def lines(*parts: str) -> str:
    return "\n".join([*parts, ""])


def each(name: str, content: Callable[[Losses, str], str | bytes]) -> Callable[[list[Run]], Files]:
    """A file for every run, named after it."""
    return lambda runs: ((name.format(run), content(losses, key)) for run, losses, key in runs)


def table(head: str, row: str, first: int = 1) -> Callable[[Losses, str], str]:
    """A CSV file of a run: its header with the key, and a row per epoch."""
    return lambda losses, key: lines(
        head.format(key=key),
        *(row.format(k=k, loss=shown(loss)) for k, loss in enumerate(losses, start=first)),
    )


def rows_of(losses: Losses, key: str) -> list[dict[str, object]]:
    """An object per epoch."""
    return [{"epoch": k, key: loss} for k, loss in enumerate(losses, start=1)]


def _lightning(runs: list[Run]) -> Files:
    for name, losses, key in runs:
        rows = [
            f"{k},{10 * k + 5},1.0,,\n{k},{10 * k + 9},,{shown(loss)},0.5" for k, loss in enumerate(losses)
        ]
        yield f"{name}/metrics.csv", lines(f"epoch,step,train_loss,{key},val_acc", *rows)
        yield f"{name}/hparams.yaml", "lr: 0.1\n"


def _jsonl(losses: Losses, key: str) -> str:
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
    heads = ["Step", *(f"{name} - {key}" for name, _, key in runs), "x__MIN"]
    columns = [[*map(shown, losses), *[""] * EPOCHS] for _, losses, _ in runs]
    rows = [[str(k + 1), *(column[k] for column in columns), ""] for k in range(EPOCHS)]
    yield "chart.csv", lines(*(",".join(row) for row in [heads, *rows]))


def _flower(losses: Losses, key: str) -> str:
    pairs = list(enumerate(losses, start=1))
    return json.dumps({"losses_centralized" if key == "loss" else "losses_distributed": pairs})


def _flower_result(losses: Losses, key: str) -> str:
    return json.dumps(
        {"evaluate_metrics_serverapp": {k: {key: loss} for k, loss in enumerate(losses, start=1)}}
    )


def _mlflow_files(runs: list[Run]) -> Files:
    for name, losses, key in runs:
        rows = (f"{1000 + k} {loss!r} {k}" for k, loss in enumerate(losses, start=1))
        yield f"0/{name}/meta.yaml", f"run_id: {name}\nrun_name: {name}\nlifecycle_stage: active\n"
        yield f"0/{name}/metrics/{key}", lines(*rows)


def _mlflow(runs: list[Run]) -> Files:
    def row(step: int, key: str, loss: float | None) -> tuple[object, ...]:
        bad = loss is not None and math.isnan(loss)
        return step, key, 0.0 if bad else loss, int(bad)

    found = [
        (name, name, [row(k, key, loss) for k, loss in enumerate(losses, 1)]) for name, losses, key in runs
    ]
    yield "mlflow.db", stored(found)


def _transformers(losses: Losses, key: str) -> str:
    rows: list[dict[str, object]] = []
    for k, loss in enumerate(losses, start=1):
        rows.append({"epoch": k - 0.5, "loss": 1.0, "step": 20 * k - 10})
        rows.append({"epoch": float(k), key: loss, "step": 20 * k})
    return json.dumps({"log_history": rows})


def _wandb(runs: list[Run]) -> Files:
    for name, losses, key in runs:
        rows = map(history, rows_of(losses, key))
        yield f"{name}/run.wandb", offline(told(17, told(8, name.encode())), *rows)


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
    "tensorboard": (each("{}/events.out.tfevents.1", lambda losses, key: events(key, losses)), Written()),
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
