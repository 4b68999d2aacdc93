"""The committed logs of tools, as a user would name them; archives are unpacked into a folder of the test."""

import gzip
import shutil
import tarfile
from pathlib import Path
from typing import NamedTuple

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


def unpacked(logged: Logged, folder: Path) -> Path:
    """Where the logs are: where they were committed, or unpacked in the folder."""
    path = LOGS / logged.path
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as packed:
            packed.extractall(folder / "unpacked" / path.name, filter="data")
        return folder / "unpacked" / path.name
    if path.suffix == ".gz":
        with gzip.open(path) as packed, (folder / path.stem).open("wb") as file:
            shutil.copyfileobj(packed, file)
        return folder / path.stem
    return path
