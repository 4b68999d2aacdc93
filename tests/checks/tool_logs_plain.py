"""The logs of `tests.checks.tool_logs` from a plain loop: all tools here log the same runs."""

import contextlib
import csv
import gzip
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tarfile
from pathlib import Path
from unittest import mock

from tests.checks.tool_logs_digits import BATCH, EPOCHS, stages_of

STEPS = -(-600 // BATCH)
"""Steps of the optimiser in an epoch: TensorBoard and W&B log by these, as training programs do."""
BEGAN = 1_764_000_000.0
"""Time stamps begin here, so that files differ from one making to the next by the tools alone."""


def name_of(losses):
    return f"digits-seed{losses.seed:02d}"


def hparams_of(losses):
    return {"seed": losses.seed, "lr": 0.2, "stages": stages_of(losses.seed)}


def write_jsonl(folder, runs):
    """One file for each run, a line of JSON for each epoch; the first line holds the hyperparameters."""
    for losses in runs:
        lines = [{"hparams": hparams_of(losses)}]
        for epoch, (train, val) in enumerate(zip(losses.train, losses.val, strict=True), start=1):
            lines.append({"epoch": epoch, "train_loss": train, "val_loss": val})
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name_of(losses)}.jsonl").write_text(text)


def write_csv(folder, runs):
    """One file for all runs."""
    with (folder / "runs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["run", "epoch", "train_loss", "val_loss"])
        for losses in runs:
            for epoch, (train, val) in enumerate(zip(losses.train, losses.val, strict=True), start=1):
                writer.writerow([name_of(losses), epoch, f"{train:.6f}", f"{val:.6f}"])


def write_tensorboard(folder, runs):
    """``SummaryWriter.add_scalar`` by global steps, and ``add_hparams``."""
    from torch.utils.tensorboard import SummaryWriter

    for losses in runs:
        # The name of this machine would stand in the names of the files.
        with mock.patch.object(socket, "gethostname", return_value="host"):
            writer = SummaryWriter(str(folder / name_of(losses)))
            for epoch in range(EPOCHS):
                step, time = (epoch + 1) * STEPS, BEGAN + epoch
                writer.add_scalar("loss/train", losses.train[epoch], step, walltime=time)
                writer.add_scalar("loss/val", losses.val[epoch], step, walltime=time)
            writer.add_hparams(hparams_of(losses), {"hparam/final_loss": losses.val[-1]}, run_name=".")
            writer.close()


def write_wandb(folder, runs):
    """Runs offline, their records in JSON, and what the web page and `Run.history` export as documented."""
    os.environ.update(
        WANDB_MODE="offline", WANDB_SILENT="true", WANDB_CONSOLE="off", WANDB_DISABLE_GIT="true"
    )
    import wandb

    settings = wandb.Settings(
        x_disable_meta=True, x_disable_stats=True, x_disable_machine_info=True, host="host", root_dir="."
    )
    with contextlib.chdir(folder):
        for losses in runs:
            run = wandb.init(
                project="digits", name=name_of(losses), config=hparams_of(losses), settings=settings
            )
            for epoch in range(EPOCHS):
                metrics = {"train_loss": losses.train[epoch], "val_loss": losses.val[epoch]}
                run.log({"epoch": epoch + 1, **metrics})
            run.finish()
        for name in ("offline", "inspect"):
            Path(name).mkdir()
        for log in Path("wandb").rglob("*.wandb"):
            log = log.rename(Path("offline") / log.name)
            _inspected(log, Path("inspect", f"{log.stem}.jsonl"))
        shutil.rmtree("wandb")
        _packed("offline")
        _packed("inspect")
    _web_export(folder / "wandb_export.csv", runs)
    _histories(folder / "history", runs)


def _inspected(log, path):
    """Everything that an offline run holds, by W&B's own command, which needs no server."""
    with path.open("wb") as file:
        command = [Path(sys.executable).with_name("wandb"), "leet", "inspect", "--json", log]
        subprocess.run(command, stdout=file, check=True)


def _web_export(path, runs):
    """The panel of val_loss by "Step", as its menu *Download CSV* gives it: all quoted, empty where none."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        columns = [f"{name_of(losses)} - val_loss" for losses in runs]
        writer.writerow(["Step", *(name + end for name in columns for end in ("", "__MIN", "__MAX"))])
        for epoch in range(EPOCHS):
            writer.writerow([epoch, *(losses.val[epoch] for losses in runs for _ in range(3))])


def _histories(folder, runs):
    """``run.history().to_csv(name)`` of every run: pandas writes its index as a column without a name."""
    folder.mkdir()
    for losses in runs:
        with (folder / f"{name_of(losses)}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["", "_step", "epoch", "train_loss", "val_loss", "_runtime", "_timestamp"])
            for epoch in range(EPOCHS):
                held = [epoch, epoch, epoch + 1, losses.train[epoch], losses.val[epoch]]
                writer.writerow([*held, epoch + 0.5, BEGAN + epoch])


def write_transformers(folder, runs):
    """The state of each run and of a checkpoint in the middle, as ``TrainerState.save_to_json`` has it."""
    for losses in runs:
        rows = []
        for epoch, (train, val) in enumerate(zip(losses.train, losses.val, strict=True), start=1):
            place = {"epoch": float(epoch), "step": epoch * STEPS}
            rows += [{**place, "loss": train}, {**place, "eval_loss": val, "eval_runtime": 0.1}]
        place = {"epoch": float(EPOCHS), "step": EPOCHS * STEPS}
        after = [{**place, "train_loss": losses.train[-1], "train_runtime": 1.5}]
        after += [{**place, "eval_loss": losses.val[-1], "eval_runtime": 0.2}]
        middle = [row for row in rows if row["epoch"] <= EPOCHS // 2]
        run = folder / "states" / name_of(losses)
        for place, history in ((run / f"checkpoint-{EPOCHS // 2 * STEPS}", middle), (run, rows + after)):
            place.mkdir(parents=True, exist_ok=True)
            state = {"log_history": history, "max_steps": EPOCHS * STEPS, "trial_params": hparams_of(losses)}
            text = json.dumps(state, indent=2, sort_keys=True)
            (place / "trainer_state.json").write_text(text + "\n")
    with contextlib.chdir(folder):
        _packed("states")


def write_mlflow(folder, runs):
    """The file store and the database, each with all runs."""
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    with contextlib.chdir(folder):
        _mlflow_runs("sqlite:///mlflow.db", runs)
        _scrub_database("mlflow.db")
        with open("mlflow.db", "rb") as whole, gzip.GzipFile("mlflow.db.gz", "wb", mtime=0) as packed:
            shutil.copyfileobj(whole, packed)
        Path("mlflow.db").unlink()
        _mlflow_runs("file:mlruns", runs)
        here = os.getcwd()
        for meta in Path("mlruns").rglob("meta.yaml"):
            meta.write_text(meta.read_text().replace(here, "/home/user/digits"))
        _packed("mlruns")


def _mlflow_runs(address, runs):
    import mlflow

    mlflow.set_tracking_uri(address)
    mlflow.set_experiment("digits")
    for losses in runs:
        tags = {"mlflow.user": "user", "mlflow.source.name": "train.py"}
        with mlflow.start_run(run_name=name_of(losses), tags=tags):
            mlflow.log_params(hparams_of(losses))
            for epoch in range(EPOCHS):
                metrics = {"train_loss": losses.train[epoch], "val_loss": losses.val[epoch]}
                mlflow.log_metrics(metrics, step=epoch + 1)


def _scrub_database(path):
    """Put another folder in the place of this machine's, and give back what is empty."""
    here = os.getcwd()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as base:
        for table, column in (("experiments", "artifact_location"), ("runs", "artifact_uri")):
            base.execute(f"UPDATE {table} SET {column} = replace({column}, ?, '/home/user/digits')", (here,))
        base.execute("VACUUM")


def _packed(name):
    """Put a folder's archive in its place."""
    with tarfile.open(f"{name}.tar.gz", "w:gz") as packed:
        packed.add(name, filter=_nobody)
    shutil.rmtree(name)


def _nobody(entry):
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry
