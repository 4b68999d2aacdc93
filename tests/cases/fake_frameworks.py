"""Just as much of Lightning, Keras and Flower as their adapters meet, in the order of the real ones.

The real ones are run by ``python .ci/adapters.py``. Models hold the names of what their epochs
trained, and the loss after each epoch comes from a list.
"""

import json
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np


class Network:
    """Its weights are the list of the models that trained it."""

    def __init__(self, losses, name="p50"):
        self.losses, self.name, self.trained = losses, name, []
        self.stop_training = False

    def loss(self):
        return self.losses[len(self.trained)]

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.trained, file)

    def load(self, path):
        with open(path, encoding="utf-8") as file:
            self.trained = json.load(file)
        return self

    def fit(self, callback, initial_epoch, epochs, metric="val_loss"):
        """The loop of Keras: the first epoch is trained whatever ``stop_training`` was."""
        callback.model = self
        self.stop_training = False
        callback.on_train_begin()
        for epoch in range(initial_epoch, epochs):
            callback.on_epoch_begin(epoch)
            self.trained.append(self.name)
            callback.on_epoch_end(epoch, {"loss": 9.0, metric: self.loss()})
            if self.stop_training:
                break


class Trainer:
    """The loop of Lightning."""

    def __init__(self, callback, max_epochs=16, **limits):
        self.callback, self.max_epochs, self.world_size = callback, max_epochs, limits.get("world_size", 1)
        self.fit_loop = SimpleNamespace(min_epochs=limits.get("min_epochs"), min_steps=None)
        self.every = limits.get("check_val_every_n_epoch", 1)
        self.state = SimpleNamespace(fn=None)
        self.sanity_checking = self.should_stop = False
        self.callback_metrics = {}
        self.current_epoch = self.global_step = self.optimizers = 0
        self.strategy = SimpleNamespace(setup_optimizers=self._setup_optimizers)

    def _setup_optimizers(self, trainer):
        self.optimizers += 1

    def save_checkpoint(self, path, weights_only):
        assert not weights_only
        self.module.save(path)

    def validate(self, module):
        self.state.fn = "validate"
        self._validated(module, module.loss())

    def _validated(self, module, loss):
        self.callback_metrics = {"val_loss": loss}
        self.callback.on_validation_end(self, module)

    def fit(self, module, ckpt_path=None):
        self.module = module
        self.state.fn, self.should_stop = "fit", False
        self.callback.setup(self, module, "fit")
        if ckpt_path is not None:
            module.load(ckpt_path)
            self.current_epoch = self.global_step = len(module.trained)
        self.sanity_checking = True
        self._validated(module, 0.0)
        self.sanity_checking = False
        self.callback.on_train_start(self, module)
        while not self.should_stop and self.current_epoch < self.max_epochs:
            self.callback.on_train_epoch_start(self, module)
            module.trained.append(module.name)
            self.global_step += 1
            if (self.current_epoch + 1) % self.every == 0:
                self._validated(module, module.loss())
            self.callback.on_train_epoch_end(self, module)
            self.current_epoch += 1


class Array:
    """An array of numpy."""

    def __init__(self, ndarray):
        self.ndarray = ndarray

    def numpy(self):
        return self.ndarray


class ArrayRecord(dict[str, Array]):
    """Arrays by name."""


@dataclass
class Result:
    """What a run of Flower returns."""

    arrays: ArrayRecord = field(default_factory=ArrayRecord)
    train_metrics_clientapp: dict[int, Any] = field(default_factory=dict)
    evaluate_metrics_clientapp: dict[int, Any] = field(default_factory=dict)
    evaluate_metrics_serverapp: dict[int, Any] = field(default_factory=dict)


class Strategy:
    """The loop of Flower."""

    def start(
        self, grid, initial_arrays, num_rounds=3, timeout=3600,
        train_config=None, evaluate_config=None, evaluate_fn=None,
    ):  # fmt: skip
        self.summary()
        train_config, evaluate_config, result = train_config or {}, evaluate_config or {}, Result()
        arrays = initial_arrays
        self._keep(result.evaluate_metrics_serverapp, 0, evaluate_fn and evaluate_fn(0, arrays))
        for number in range(1, num_rounds + 1):
            replies = grid.send_and_receive(self.configure_train(number, arrays, train_config, grid))
            aggregated, metrics = self.aggregate_train(number, replies)
            if aggregated is not None:
                result.arrays = arrays = aggregated
            self._keep(result.train_metrics_clientapp, number, metrics)
            replies = grid.send_and_receive(self.configure_evaluate(number, arrays, evaluate_config, grid))
            self._keep(result.evaluate_metrics_clientapp, number, self.aggregate_evaluate(number, replies))
            self._keep(result.evaluate_metrics_serverapp, number, evaluate_fn and evaluate_fn(number, arrays))
        return result

    def _keep(self, place, number, metrics):
        if metrics is not None:
            place[number] = metrics


class Federation(Strategy):
    """Two nodes, each of which adds 1 for p50 and 100 for p75; the arrays hold the sum and its rounds."""

    def __init__(self, losses):
        self.losses, self.asked, self.summaries = losses, [], 0

    def summary(self):
        self.summaries += 1

    def evaluate(self, number, arrays):
        return {"loss": self.losses[number]}

    def configure_train(self, number, arrays, config, grid):
        self.asked.append((number, config["model"], config["cluster"], tuple(grid.get_node_ids())))
        return [(arrays, config["model"], node) for node in grid.get_node_ids()]

    def aggregate_train(self, number, replies):
        return replies[0], {"train_loss": self.losses[number] + 1}

    def configure_evaluate(self, number, arrays, config, grid):
        return [(arrays, None, node) for node in grid.get_node_ids()]

    def aggregate_evaluate(self, number, replies):
        return {"loss": self.losses[number]}


class Nodes:
    """A grid of two nodes."""

    def get_node_ids(self):
        return [0, 1]

    def send_and_receive(self, messages):
        added = {"p50": 1.0, "p75": 100.0, None: 0.0}
        return [
            ArrayRecord({"w": Array(np.asarray(arrays["w"].numpy() + added[model]))})
            for arrays, model, _ in messages
        ]


def modules():
    """What to put into ``sys.modules``."""
    names = "keras keras.callbacks lightning lightning.pytorch flwr flwr.app flwr.serverapp"
    found = {name: ModuleType(name) for name in [*names.split(), "flwr.serverapp.strategy"]}
    callback = type("Callback", (), {})
    vars(found["keras.callbacks"]).update(Callback=callback)
    vars(found["lightning.pytorch"]).update(Callback=callback)
    vars(found["flwr.app"]).update(Array=Array, ArrayRecord=ArrayRecord)
    vars(found["flwr.serverapp.strategy"]).update(Result=Result, Strategy=Strategy)
    return found
