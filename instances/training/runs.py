"""One run: a sequence of pruned models on a sequence of clusters, evaluated after every epoch.

Sec. VI-A of the paper: clusters train one after the other, and the model is pruned further on the way. A
*schedule* says for every epoch which pruning factor the model has and which cluster trains it; any plan for
such models can be trained, also one that goes back to a lower factor (its weights are then trained from
zero again). All of a run follows from its schedule and its generator: on one machine the same seed gives
the same bits, whatever else is trained beside it. Linear algebra is kept to one thread meanwhile.
"""

import importlib
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.instances.training.data import Material
from depl.instances.training.federated import Clients, Descent, federated_epoch, share_out
from depl.instances.training.kernels import Numbers
from depl.instances.training.network import Assessment, NeuralNetwork
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import Traces

DECIMALS = 5
"""Losses and error rates are kept to so many decimals."""
_MODEL = re.compile(r"pruned-(\d{1,2})")

Watcher = Callable[[int, Numbers], None]
"""Told the number of an epoch and, after it, the probabilities by class, answer and held-out example."""


class Epoch(NamedTuple):
    """Share of the weights that is pruned, and the cluster that trains."""

    factor: float
    cluster: str


@dataclass(frozen=True, eq=False)
class Task:
    """What is trained on what, and how.

    Attributes
    ----------
    network : neural network
    material : Material
    descent : Descent
    clusters : tuple of str
        Names of the clusters; each has an equal part of the training examples.
    clients : int
        How many clients every cluster has.
    concentration : float
        Of the Dirichlet law that makes the clients of a cluster differ (`share_out`).
    """

    network: NeuralNetwork
    material: Material
    descent: Descent
    clusters: tuple[str, ...] = ("edge", "far-edge")
    clients: int = 3
    concentration: float = 1.0


@dataclass(frozen=True, eq=False)
class Run:
    """What became of one run of K epochs; epoch 0 is before any training.

    Attributes
    ----------
    loss, error_rate : array of float
        By epoch, K + 1 of them; on the held-out examples, after every epoch.
    start_loss, start_error_rate : array of float
        Likewise; at the start of the epochs in which the pruning factor changes, after it has; NaN elsewhere.
    probabilities : array of float
        By class, answer and held-out example, at the end.
    """

    loss: NDArray[np.float64]
    error_rate: NDArray[np.float64]
    start_loss: NDArray[np.float64]
    start_error_rate: NDArray[np.float64]
    probabilities: Numbers = field(repr=False)


def model_name(factor: float) -> str:
    """Name of the model with this share of its weights pruned, ``pruned-25`` for a quarter."""
    return f"pruned-{round(100 * factor)}"


def pruning_factor(model: str) -> float:
    """The share that a name of `model_name` stands for.

    Raises
    ------
    InvalidInputError
        If it is no such name.
    """
    match = _MODEL.fullmatch(model)
    if match is None:
        message = (
            f"{model!r} cannot be trained: models are named pruned-0 to pruned-99, after per cents removed"
        )
        raise InvalidInputError(message, ".model")
    return int(match[1]) / 100


def train_run(
    task: Task, schedule: Sequence[Epoch], rng: np.random.Generator, watch: Watcher | None = None
) -> Run:
    """Train one run.

    Parameters
    ----------
    task : Task
    schedule : sequence of Epoch
    rng : Generator
        Draws the first weights, which client has which examples, and the order of the examples. Schedules
        that begin alike give the same losses from the same generator as long as they are alike.
    watch : callable, optional
        Called after every epoch, with its number from 1 and the probabilities then.

    Raises
    ------
    InvalidInputError
        If the schedule is empty or names an unknown cluster or a factor out of [0, 1); or if threadpoolctl,
        which scikit-learn brings along, is not installed.
    """
    _require_schedule(task, schedule)
    with _one_thread():
        return _train(task, schedule, rng, watch)


def as_traces(names: Sequence[str], schedules: Sequence[Sequence[Epoch]], runs: Sequence[Run]) -> Traces:
    """Several runs as traces, rounded to `DECIMALS`."""
    lengths = [len(schedule) + 1 for schedule in schedules]
    epochs = [(schedule[0], *schedule) for schedule in schedules]
    columns = {
        name: np.round(np.concatenate([getattr(run, name) for run in runs]), DECIMALS)
        for name in ("loss", "error_rate", "start_loss", "start_error_rate")
    }
    return Traces(
        run=np.repeat(np.array(names, dtype=np.str_), lengths),
        epoch=np.concatenate([np.arange(length) for length in lengths]),
        model=np.array([model_name(epoch.factor) for rows in epochs for epoch in rows]),
        cluster=np.array([epoch.cluster for rows in epochs for epoch in rows]),
        loss=columns.pop("loss"),
        metrics=columns,
    )


def _train(task: Task, schedule: Sequence[Epoch], rng: np.random.Generator, watch: Watcher | None) -> Run:
    train = task.material.train
    dealt = share_out(train.groups, [task.clients] * len(task.clusters), task.concentration, rng)
    clients: dict[str, Clients] = dict(zip(task.clusters, dealt, strict=True))
    weights = task.network.initial_weights(rng)
    after, before = np.full((2, len(schedule) + 1), np.nan), np.full((2, len(schedule) + 1), np.nan)
    factor, mask = None, np.ones_like(weights)
    for k, epoch in enumerate(schedule, start=1):
        if epoch.factor != factor:
            factor, mask = epoch.factor, task.network.mask(weights, epoch.factor)
            weights = weights * mask
            (after if k == 1 else before)[:, 0 if k == 1 else k] = _evaluate(task, weights)[:2]
        weights = federated_epoch(
            task.network, weights, mask, train, clients[epoch.cluster], task.descent, rng
        )
        evaluation = _evaluate(task, weights)
        after[:, k] = evaluation[:2]
        if watch is not None:
            watch(k, evaluation.probabilities)
    return Run(after[0], after[1], before[0], before[1], evaluation.probabilities)


def _evaluate(task: Task, weights: Numbers) -> Assessment:
    return task.network.evaluate(weights, task.material.test.inputs, task.material.test.labels)


def _require_schedule(task: Task, schedule: Sequence[Epoch]) -> None:
    if not schedule:
        raise InvalidInputError("a schedule needs at least one epoch", ".schedule")
    for index, epoch in enumerate(schedule):
        if epoch.cluster not in task.clusters:
            message = f"there is no cluster {epoch.cluster!r}; there are {', '.join(task.clusters)}"
            raise InvalidInputError(message, f".schedule[{index}].cluster")
        if not 0 <= epoch.factor < 1:
            message = f"a pruning factor must be in [0, 1), not {epoch.factor}"
            raise InvalidInputError(message, f".schedule[{index}].factor")


def _one_thread() -> AbstractContextManager[Any]:
    try:
        pools = importlib.import_module("threadpoolctl")
    except ImportError as error:
        message = "training needs scikit-learn: install it, or depl with its extra 'train'"
        raise InvalidInputError(message) from error
    limits: AbstractContextManager[Any] = pools.threadpool_limits(1)
    return limits
