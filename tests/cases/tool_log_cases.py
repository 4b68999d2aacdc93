"""The committed logs of tools, as a user would name them, and how tests write and read logs of their own."""

import gzip
import shutil
import tarfile
from pathlib import Path
from typing import NamedTuple

from depl.models.tool_logs.importing import Choices, import_logs
from tests import problems

LOGS = Path(__file__).resolve().parents[1] / "data" / "tool_logs"
SWITCHED = (
    *("--stages", "*[02468]=p50@edge:6,p75@far-edge"),
    *("--stages", "*[13579]=p50@edge:9,p75@far-edge"),
)
"""The stages of the digits, whose even seeds switch after epoch 6 and whose odd ones after epoch 9."""
DENSE = ("--stages", "dense@edge")


class Logged(NamedTuple):
    """Logs by their path below `LOGS`, the tool that they are recognised as, and what has to be said."""

    path: str
    tool: str
    options: tuple[str, ...]
    target: float = 0.6


VAL = ("--loss", "val_loss")
EVERY = {
    "lightning": Logged("lightning", "lightning", VAL),
    "keras": Logged("keras/csv", "keras", (*VAL, *DENSE)),
    "keras-history": Logged("keras/history", "keras", (*VAL, *DENSE)),
    "tensorboard": Logged("tensorboard", "tensorboard", ("--loss", "loss/val")),
    "wandb-offline": Logged("wandb/offline.tar.gz", "wandb", VAL),
    "wandb-inspect": Logged("wandb/inspect.tar.gz", "wandb", VAL),
    "wandb": Logged("wandb/wandb_export.csv", "wandb", (*VAL, "--first", "0", *SWITCHED)),
    "wandb-history": Logged("wandb/history", "wandb", (*VAL, *SWITCHED)),
    "mlflow-files": Logged("mlflow/mlruns.tar.gz", "mlflow", VAL),
    "mlflow": Logged("mlflow/mlflow.db.gz", "mlflow", VAL),
    "flower": Logged("flower/history", "flower", ("--loss", "centralized/loss", *DENSE), 0.9),
    "flower-result": Logged("flower/result", "flower", ("--loss", "centralized/loss", *DENSE), 0.9),
    "transformers": Logged("transformers/states.tar.gz", "transformers", ("--loss", "eval_loss")),
    "jsonl": Logged("jsonl", "jsonl", VAL),
    "csv": Logged("csv/runs.csv", "csv", (*VAL, *SWITCHED)),
}
"""All logs that are committed, by names that begin with those of the tools."""


def unpacked(logged, folder):
    """Where the logs are: where they were committed, or unpacked in the folder."""
    path = LOGS / logged.path
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as packed:
            packed.extraction_filter = getattr(tarfile, "data_filter", None)  # there since 3.11.4
            packed.extractall(folder / "unpacked" / path.name)
        return folder / "unpacked" / path.name
    if path.suffix == ".gz":
        with gzip.open(path) as packed, (folder / path.stem).open("wb") as file:
            shutil.copyfileobj(packed, file)
        return folder / path.stem
    return path


def put(folder, files):
    """What is to be read: the file, or the folder where there are several."""
    path = folder
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder if len(files) > 1 else path


def read(path, **choices):
    """What is read of a file or folder, all of it one stage unless stages are told."""
    return import_logs([str(path)], Choices(**{"loss": "loss", "stages": ("net@edge",)} | choices))


def refusal(path, **choices):
    """What is said in place of reading it."""
    return str(problems.refusal(read, path, **choices))


def losses_of(found):
    """Losses of every run by epoch."""
    traces = found.traces
    losses = {run: {} for run in traces.runs}
    for run, epoch, loss in zip(traces.run, traces.epoch.tolist(), traces.loss.tolist(), strict=True):
        losses[run][epoch] = loss
    return losses
