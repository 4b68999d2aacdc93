"""Runs of nine epochs in every format of logs, and the ways in which some of them are lost.

64 runs end at or below 0.7; 16 would have ended above it, and their logs went wrong. `FORMS` says how a run
is written, and `IMPOSSIBLE` which ways a format cannot express: there are no nulls in binary files, and a
file of all runs cannot be cut for some of them.
"""

import json
import math
from pathlib import Path

import numpy as np

from tests.cases.written_logs import events, history, offline, stored, told

EPOCHS, RUNS, LOST, TARGET = 9, 80, 16, 0.7
PLAN = (("net", "edge"),) * EPOCHS
WAYS = ("null", "nan", "cut", "early", "key")
"""Null or NaN from an epoch on, a file that is cut, a run that stopped, and no loss under its key at all."""


def losses_of(way, rng):
    """Names and losses of all runs; those of lost ones as the way leaves them."""
    found = []
    for run in range(RUNS):
        ends = rng.uniform(0.5, 0.69) if run >= LOST else rng.uniform(0.75, 0.9)
        course = [float(ends + 1.5 * 0.6**k + 0.02 * rng.normal() * (k < EPOCHS)) for k in range(1, EPOCHS)]
        losses = [*course, float(ends)]
        stop = int(rng.integers(2, EPOCHS))
        if run < LOST and way in ("null", "nan"):
            losses[stop:] = [None if way == "null" else math.nan] * (EPOCHS - stop)
        elif run < LOST and way == "early":
            losses = losses[:stop]
        found.append((f"seed{run:02}", losses))
    return [found[index] for index in rng.permutation(RUNS)]


def is_lost(name):
    """Whether a run is one of those that are lost."""
    return int(name.removeprefix("seed")) < LOST


def write(form, way, folder):
    """Write all runs into a folder; returns the keys that have to be named to read them."""
    told = NAMED.get(form, {"loss": "val_loss"})
    loss = told["loss"].rpartition("/")[2]
    runs = losses_of(way, np.random.default_rng(0))
    keyed = [(name, x, "other" if way == "key" and is_lost(name) else loss) for name, x in runs]
    for path, content in FORMS[form](keyed):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode()
        seeds = [part.partition(".")[0] for part in Path(path).parts if part.startswith("seed")]
        if way == "cut" and any(map(is_lost, seeds)) and not path.endswith("meta.yaml"):
            data = data[: int(0.6 * len(data))]
        (folder / path).write_bytes(data)
    return told


def shown(value):
    return "" if value is None else repr(value)


def lines(*parts):
    return "\n".join([*parts, ""])


def each(name, content):
    """A file for every run, named after it, of text or bytes or what is written as JSON."""

    def files(runs):
        for run, x, key in runs:
            held = content(x, key)
            yield name.format(run), held if isinstance(held, str | bytes) else json.dumps(held)

    return files


def table(head, row, first=1):
    """A CSV file for every run: its header with the key, and a row per epoch."""
    return each(
        "{}.csv",
        lambda x, key: lines(
            head.format(key=key), *(row.format(k=k, loss=shown(loss)) for k, loss in enumerate(x, first))
        ),
    )


def rows_of(x, key):
    """An object per epoch."""
    return [{"epoch": k, key: loss} for k, loss in enumerate(x, 1)]


def between(row, **others):
    """A row of training before one of an evaluation."""
    return [{"epoch": row["epoch"], **others}, row]


def _lightning(runs):
    for name, x, key in runs:
        rows = (f"{k},{10 * k + 5},1.0,,\n{k},{10 * k + 9},,{shown(loss)},0.5" for k, loss in enumerate(x))
        yield f"{name}/metrics.csv", lines(f"epoch,step,train_loss,{key},val_acc", *rows)
        yield f"{name}/hparams.yaml", "lr: 0.1\n"


def _together(runs):
    kept = [
        (name, k, loss if key == "val_loss" else None) for name, x, key in runs for k, loss in enumerate(x, 1)
    ]
    yield "runs.csv", lines("run,epoch,val_loss", *(f"{name},{k},{shown(loss)}" for name, k, loss in kept))


def _chart(runs):
    heads = ["Step", *(f"{name} - {key}" for name, _, key in runs), "x__MIN"]
    columns = [[*map(shown, x), *[""] * EPOCHS] for _, x, _ in runs]
    rows = [[str(k + 1), *(column[k] for column in columns), ""] for k in range(EPOCHS)]
    yield "chart.csv", lines(*(",".join(row) for row in [heads, *rows]))


def _mlflow_files(runs):
    for name, x, key in runs:
        rows = (f"{1000 + k} {loss!r} {k}" for k, loss in enumerate(x, 1))
        yield f"0/{name}/meta.yaml", f"run_id: {name}\nrun_name: {name}\nlifecycle_stage: active\n"
        yield f"0/{name}/metrics/{key}", lines(*rows)


def _mlflow(runs):
    def row(step, key, loss):
        bad = loss is not None and math.isnan(loss)
        return step, key, 0.0 if bad else loss, int(bad)

    yield (
        "mlflow.db",
        stored((name, name, [row(k, key, y) for k, y in enumerate(x, 1)]) for name, x, key in runs),
    )


def _wandb(runs):
    for name, x, key in runs:
        rows = map(history, rows_of(x, key))
        yield f"{name}/run.wandb", offline(told(17, told(8, name.encode())), *rows)


def _flower(x, key):
    return {"losses_centralized" if key == "loss" else "losses_distributed": [*enumerate(x, 1)]}


def _flower_result(x, key):
    return {"evaluate_metrics_serverapp": {k: {key: loss} for k, loss in enumerate(x, 1)}}


def _transformers(x, key):
    rows = [row | {"step": 20 * k} for k, row in enumerate(rows_of(x, key), 1)]
    return {"log_history": [part for row in rows for part in between(row, loss=1.0, step=row["step"] - 10)]}


FORMS = {
    "keras-history": each("{}.json", lambda x, key: {"loss": [1.0] * len(x), key: x}),
    "keras": table("epoch,loss,{key}", "{k},1.0,{loss}", first=0),
    "lightning": _lightning,
    "jsonl": each(
        "{}.jsonl",
        lambda x, key: lines(
            *(json.dumps(part) for row in rows_of(x, key) for part in between(row, train_loss=1.0))
        ),
    ),
    "json-objects": each("{}.json", rows_of),
    "csv": table("epoch,lr,{key}", "{k},1.0,{loss}"),
    "csv-together": _together,
    "wandb-chart": _chart,
    "wandb-history": table("_step,epoch,{key}", "{k},{k},{loss}"),
    "wandb-offline": _wandb,
    "flower": each("{}.json", _flower),
    "flower-result": each("{}.json", _flower_result),
    "mlflow-files": _mlflow_files,
    "mlflow": _mlflow,
    "tensorboard": each("{}/events.out.tfevents.1", lambda x, key: events(key, x)),
    "transformers": each("{}/trainer_state.json", _transformers),
}
"""Makes paths and contents of files; a run is its name, its losses, and the key they are logged under."""
CENTRAL = {"loss": "centralized/loss"}
NAMED = {
    "flower": CENTRAL,
    "flower-result": CENTRAL,
    "transformers": {"loss": "eval_loss"},
    "wandb-chart": {"loss": "val_loss", "epoch": "Step"},
}
TOGETHER = {(form, "cut") for form in ("csv-together", "wandb-chart", "mlflow")}
IMPOSSIBLE = TOGETHER | {("mlflow-files", "null"), ("tensorboard", "null")}
"""Formats that cannot express a way: the files of all runs together, and those without nulls."""
EXPRESSED = [(form, way) for form in FORMS for way in WAYS if (form, way) not in IMPOSSIBLE]
