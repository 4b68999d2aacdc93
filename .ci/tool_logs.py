"""Logs as training tools write them, made by the tools themselves.

``python .ci/tool_logs.py FOLDER`` trains small networks and writes a folder for each tool, and
``PROVENANCE.md`` with the versions; words after the folder name the tools. It needs the libraries of
``.ci/tool_logs.txt`` in an environment of its own, and nothing of depl. ``tests/data/tool_logs`` was made by
it once.

What is trained is a small network on scikit-learn's digits. Half of the weights of its first layer are pruned
by magnitude (``p50``); a run that switches goes on with three quarters of them pruned (``p75``). Both of
Flower's servers run as they are, ``Strategy.start`` and the legacy ``Server.fit``; their clients are called
in this process, so that neither Ray nor a network is needed.
"""

import contextlib
import csv
import datetime
import gzip
import importlib.metadata
import io
import json
import logging
import os
import pickle
import platform
import shutil
import socket
import sqlite3
import subprocess
import sys
import tarfile
import warnings
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import torch
from sklearn.datasets import load_digits

RUNS = 24
"""Runs of each tool: a promise of 0.95 by (x + 1)/(n + 1) needs 19."""
EPOCHS = 16
SWITCH_EPOCHS = (6, 9)
"""Even seeds switch after the first, odd ones after the second, so that a log holds both."""
BATCH, RATE, HIDDEN = 32, 0.2, 16
KEPT = {"p50": 0.5, "p75": 0.25}


class Digits(NamedTuple):
    """Images and labels: x is float32 (n, 64) in [0, 1], y is int64 (n,)."""

    train_x: torch.Tensor
    train_y: torch.Tensor
    val_x: torch.Tensor
    val_y: torch.Tensor


class Losses(NamedTuple):
    """Of one run, an entry for each epoch; before the first epoch stands ``first``."""

    seed: int
    switch: int
    first: float
    val: tuple[float, ...]
    train: tuple[float, ...]


def digits():
    """Of 1,797 images, 600 to train on and 600 to evaluate on."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    x = torch.tensor(images[order] / 16.0, dtype=torch.float32)
    y = torch.tensor(labels[order], dtype=torch.int64)
    return Digits(x[:600], y[:600], x[600:1200], y[600:1200])


def switch_of(seed):
    """After which epoch a seed goes on with the other model."""
    return SWITCH_EPOCHS[seed % len(SWITCH_EPOCHS)]


def stages_of(seed):
    """Its stages, as ``depl traces import --stages`` takes them."""
    first = switch_of(seed)
    return f"p50@edge:{first},p75@far-edge:{EPOCHS - first}"


def network(seed):
    """New weights, pruned to those of p50."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(64, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 10))
    return convert(model, "p50")


def convert(model, to):
    """Prune the first layer by magnitude, and keep what is pruned at 0."""
    weight = model[0].weight.data
    kept = round(KEPT[to] * weight.numel())
    threshold = weight.abs().flatten().kthvalue(weight.numel() - kept).values
    model[0].mask = (weight.abs() > threshold).float()
    weight *= model[0].mask
    return model


def mask(model):
    """To be called after every step of the optimiser."""
    with torch.no_grad():
        model[0].weight *= model[0].mask


def evaluated(model, data):
    """The loss on the images that are not trained on."""
    with torch.no_grad():
        return float(torch.nn.functional.cross_entropy(model(data.val_x), data.val_y))


def trained_epoch(model, data, order):
    """One epoch of stochastic gradient descent; returns the mean loss of its batches."""
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    losses = []
    for indices in torch.randperm(len(data.train_y), generator=order).split(BATCH):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(data.train_x[indices]), data.train_y[indices])
        loss.backward()
        optimizer.step()
        mask(model)
        losses.append(float(loss.detach()))
    return sum(losses) / len(losses)


def run(seed, data):
    """One run of `EPOCHS` epochs in a plain loop."""
    model, order = network(seed), torch.Generator().manual_seed(seed)
    first, val, train = evaluated(model, data), [], []
    for epoch in range(EPOCHS):
        if epoch == switch_of(seed):
            convert(model, "p75")
        train.append(trained_epoch(model, data, order))
        val.append(evaluated(model, data))
    return Losses(seed, switch_of(seed), first, tuple(val), tuple(train))


# --- a framework's own training loop ------------------------------------------------------------------------


def write_lightning(folder):
    """``CSVLogger``, with ``self.log`` of the training loss (each fifth step) and of the validation loss."""
    import lightning
    from lightning.pytorch.loggers import CSVLogger

    class Classifier(lightning.LightningModule):
        def __init__(self, seed, lr, stages):
            super().__init__()
            self.save_hyperparameters()
            self.model = network(seed)

        def on_train_epoch_start(self):
            if self.current_epoch == switch_of(self.hparams.seed):
                convert(self.model, "p75")

        def training_step(self, batch, index):
            loss = torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])
            self.log("train_loss", loss)
            return loss

        def on_train_batch_end(self, *given):
            mask(self.model)

        def validation_step(self, batch, index):
            self.log("val_loss", torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1]))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), self.hparams.lr)

    data = digits()
    train = torch.utils.data.TensorDataset(data.train_x, data.train_y)
    val = torch.utils.data.TensorDataset(data.val_x, data.val_y)
    for seed in range(RUNS):
        model = Classifier(seed, RATE, stages_of(seed))
        trainer = lightning.Trainer(
            max_epochs=EPOCHS,
            logger=CSVLogger(folder),
            log_every_n_steps=5,
            accelerator="cpu",
            enable_progress_bar=False,
            enable_checkpointing=False,
            enable_model_summary=False,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaders = (
                torch.utils.data.DataLoader(train, BATCH, shuffle=True),
                torch.utils.data.DataLoader(val, len(val)),
            )
            trainer.fit(model, *loaders)


def write_keras(folder):
    """``CSVLogger`` of Keras, whose epochs begin at 0, and ``History.history`` as JSON; no run switches."""
    os.environ["KERAS_BACKEND"] = "torch"
    import keras

    data = digits()
    for name in ("csv", "history"):
        (folder / name).mkdir()
    for seed in range(RUNS):
        keras.utils.set_random_seed(seed)
        model = keras.Sequential(
            [keras.layers.Input((64,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(10, "softmax")]
        )
        model.compile(keras.optimizers.SGD(0.2), "sparse_categorical_crossentropy", metrics=["accuracy"])
        logger = keras.callbacks.CSVLogger(folder / "csv" / f"training_seed{seed:02d}.csv")
        history = model.fit(
            data.train_x.numpy(),
            data.train_y.numpy(),
            batch_size=BATCH,
            epochs=EPOCHS,
            verbose=0,
            validation_data=(data.val_x.numpy(), data.val_y.numpy()),
            callbacks=[logger],
        )
        (folder / "history" / f"history_seed{seed:02d}.json").write_text(json.dumps(history.history))


# --- Flower -------------------------------------------------------------------------------------------------


CLIENTS = 2


def write_flower(folder):
    """What is saved of `RUNS` runs, and for the first of them also what is printed."""
    data = digits()
    shares = [
        data._replace(train_x=data.train_x[index::CLIENTS], train_y=data.train_y[index::CLIENTS])
        for index in range(CLIENTS)
    ]
    for name in ("result", "history"):
        (folder / name).mkdir()
    for seed in range(RUNS):
        with _logged() as text:
            result = _result(seed, shares, data)
        saved = {
            kind: {number: dict(record) for number, record in getattr(result, kind).items()}
            for kind in (
                "train_metrics_clientapp",
                "evaluate_metrics_clientapp",
                "evaluate_metrics_serverapp",
            )
        }
        (folder / "result" / f"result_seed{seed:02d}.json").write_text(json.dumps(saved))
        if seed == 0:
            (folder / "result_seed00.txt").write_text(f"{result}\n")
            (folder / "start_seed00.log").write_text(text.getvalue())
        with _logged() as text:
            history = _history(seed, shares, data)
        (folder / "history" / f"history_seed{seed:02d}.json").write_text(json.dumps(vars(history)))
        if seed == 0:
            (folder / "history_seed00.txt").write_text(f"{history}\n")
            (folder / "history_seed00.pkl").write_bytes(pickle.dumps(history))
            (folder / "server_seed00.log").write_text(text.getvalue())


@contextlib.contextmanager
def _logged():
    """What Flower logs meanwhile."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(levelname)s :      %(message)s"))
    logger = logging.getLogger("flwr")
    before = logger.handlers[:]
    logger.handlers[:] = [handler]
    try:
        yield text
    finally:
        logger.handlers[:] = before


def _model(arrays, seed):
    model = network(seed)
    names = model.state_dict()
    model.load_state_dict({name: torch.tensor(value) for name, value in zip(names, arrays, strict=True)})
    return model


def _arrays(model):
    return [value.numpy().copy() for value in model.state_dict().values()]


def _trained(arrays, seed, share, server_round):
    """What a client sends back, and its training loss."""
    model = convert(_model(arrays, seed), "p50" if server_round <= switch_of(seed) else "p75")
    loss = trained_epoch(model, share, torch.Generator().manual_seed(1000 * seed + server_round))
    return _arrays(model), loss


def _result(seed, shares, data):
    """The ``Result`` of ``FedAvg(...).start``."""
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    from flwr.serverapp import Grid
    from flwr.serverapp.strategy import FedAvg
    from flwr.supercore.task_identity import TaskIdentity

    # What Flower's runtime sets before it calls a ServerApp; messages carry it.
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1

    class Here(Grid):
        """Calls the clients in this process."""

        def set_run(self, run):
            raise NotImplementedError

        @property
        def run(self):
            raise NotImplementedError

        def create_message(self, *given, **named):
            raise NotImplementedError

        def push_messages(self, messages):
            raise NotImplementedError

        def pull_messages(self, message_ids):
            raise NotImplementedError

        def get_node_ids(self):
            return range(1, CLIENTS + 1)

        def send_and_receive(self, messages, *, timeout=None):
            return [self._reply(message) for message in messages]

        def _reply(self, message):
            share = shares[message.metadata.dst_node_id - 1]
            arrays = message.content["arrays"].to_numpy_ndarrays()
            metrics = {"num-examples": len(share.train_y)}
            content = {"metrics": MetricRecord(metrics)}
            if message.metadata.message_type == "train":
                trained, loss = _trained(arrays, seed, share, message.content["config"]["server-round"])
                content["arrays"] = ArrayRecord(trained)
                content["metrics"]["train_loss"] = loss
            else:
                content["metrics"]["eval_loss"] = evaluated(_model(arrays, seed), share)
            return Message(content=RecordDict(content), reply_to=message)

    def evaluate(server_round, arrays):
        return MetricRecord({"loss": evaluated(_model(arrays.to_numpy_ndarrays(), seed), data)})

    return FedAvg().start(
        Here(), ArrayRecord(_arrays(network(seed))), num_rounds=EPOCHS, evaluate_fn=evaluate
    )


def _history(seed, shares, data):
    """The ``History`` of the legacy ``Server.fit``."""
    from flwr.common import (
        Code,
        EvaluateRes,
        FitRes,
        Status,
        ndarrays_to_parameters,
        parameters_to_ndarrays,
    )
    from flwr.server import Server, SimpleClientManager
    from flwr.server.client_proxy import ClientProxy
    from flwr.server.strategy import FedAvg

    done = Status(Code.OK, "")

    class Client(ClientProxy):
        """Trains in this process."""

        def get_properties(self, *given):
            raise NotImplementedError

        def get_parameters(self, *given):
            raise NotImplementedError

        def reconnect(self, *given):
            raise NotImplementedError

        def fit(self, ins, timeout, group_id):
            share = shares[int(self.cid)]
            arrays, _ = _trained(parameters_to_ndarrays(ins.parameters), seed, share, ins.config["round"])
            return FitRes(done, ndarrays_to_parameters(arrays), len(share.train_y), {})

        def evaluate(self, ins, timeout, group_id):
            share = shares[int(self.cid)]
            loss = evaluated(_model(parameters_to_ndarrays(ins.parameters), seed), share)
            return EvaluateRes(done, loss, len(share.train_y), {})

    def evaluate(server_round, parameters, config):
        return evaluated(_model(parameters, seed), data), {"seed": seed}

    strategy = FedAvg(
        evaluate_fn=evaluate,
        on_fit_config_fn=lambda number: {"round": number},
        initial_parameters=ndarrays_to_parameters(_arrays(network(seed))),
    )
    manager = SimpleClientManager()
    for index in range(CLIENTS):
        manager.register(Client(str(index)))
    return Server(client_manager=manager, strategy=strategy).fit(EPOCHS, timeout=None)[0]


# --- a plain loop, which all tools here log alike -----------------------------------------------------------


STEPS = -(-600 // BATCH)
"""Steps of the optimiser in an epoch: TensorBoard and W&B log by these, as training programs do."""
BEGAN = 1_764_000_000.0
"""Time stamps begin here, so that files differ from one making to the next by the tools alone."""


def name_of(losses):
    """What a run is called."""
    return f"digits-seed{losses.seed:02d}"


def hparams_of(losses):
    """What a run was told."""
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


# --- all of them --------------------------------------------------------------------------------------------


LIBRARIES = ("torch", "scikit-learn", "lightning", "keras", "tensorboard", "wandb", "mlflow", "flwr", "numpy")

ABOUT = Path(__file__).with_name("tool_logs_about.md")


def main(arguments=None):
    """Write the logs of all tools, or of those that are named."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given:
        sys.stderr.write("usage: python .ci/tool_logs.py FOLDER [TOOL ...]\n")
        return 2
    folder = Path(given[0]).resolve()
    for tool, write in _writers(given[1:]).items():
        place = folder / tool
        place.mkdir(parents=True)
        write(place)
        size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
        sys.stderr.write(f"{tool}: {size:,} bytes\n")
    (folder / "PROVENANCE.md").write_text(_provenance())
    return 0


def _writers(named):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    data = digits()
    runs = [run(seed, data) for seed in range(RUNS)]
    writers = {"lightning": write_lightning, "keras": write_keras, "flower": write_flower}
    for write in (write_jsonl, write_csv, write_tensorboard, write_wandb, write_mlflow, write_transformers):
        tool = write.__name__.removeprefix("write_")
        writers[tool] = lambda place, write=write: write(place, runs)
    return {tool: write for tool, write in writers.items() if tool in (named or writers)}


def _provenance():
    versions = "\n".join(f"- {name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    return ABOUT.read_text(encoding="utf-8").format(
        date=datetime.datetime.now(datetime.UTC).date(),
        python=platform.python_version(),
        versions=versions,
        runs=RUNS,
        epochs=EPOCHS,
        even=SWITCH_EPOCHS[0],
        odd=SWITCH_EPOCHS[1],
        steps=STEPS,
    )


if __name__ == "__main__":
    sys.exit(main())
