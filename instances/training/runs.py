"""One run: a sequence of pruned models on a sequence of clusters, evaluated after every epoch.

Sec. VI-A of the paper: clusters train one after the other, and the model is pruned further on the way. A
*schedule* says for every epoch which pruning factor the model has and which cluster trains it, also one that
goes back to a lower factor (its weights are then trained from zero again). All of a run follows from its
schedule and its generator: on one machine the same seed gives the same bits, whatever else is trained beside.
"""

import copy
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from depl.instances.training.federated import Clients, Descent, Material, federated_epoch, needed, share_out
from depl.instances.training.network import NeuralNetwork, Numbers
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import Traces

DECIMALS = 5
"""Losses and error rates are kept to so many decimals."""
_UNKNOWN = (float("nan"), float("nan"))
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


class Training:
    """A run on its way: trained epoch by epoch, and branched where several schedules go on from it.

    Nothing is checked here, and linear algebra is not limited: use it with `require_schedule` and inside
    `one_thread`.

    Parameters
    ----------
    task : Task
    rng : Generator
        Draws the first weights, which client has which examples, and the order of the examples.

    Attributes
    ----------
    probabilities : array of float
        By class, answer and held-out example, as they are now.
    """

    def __init__(self, task: Task, rng: np.random.Generator) -> None:
        classes = task.material.train.labels[0]
        dealt = share_out(classes, [task.clients] * len(task.clusters), task.concentration, rng)
        self._task, self._rng = task, rng
        self._clients: dict[str, Clients] = dict(zip(task.clusters, dealt, strict=True))
        self._weights = task.network.initial_weights(rng)
        self._mask = np.ones_like(self._weights)
        self._factor: float | None = None
        self._after: list[tuple[float, float]] = []
        self._before: list[tuple[float, float]] = []
        self.probabilities: Numbers = np.empty(0, dtype=np.float32)

    def train(self, epoch: Epoch) -> None:
        """Train one more epoch, after a switch if the pruning factor changes."""
        task = self._task
        before = self._switch(epoch.factor) if epoch.factor != self._factor else _UNKNOWN
        self._weights = federated_epoch(
            task.network,
            self._weights,
            self._mask,
            task.material.train,
            self._clients[epoch.cluster],
            task.descent,
            self._rng,
        )
        self._before.append(before)
        self._after.append(self._evaluated())

    def branch(self) -> "Training":
        """The same run once more, to go on with another schedule; neither of the two moves the other.

        It has weights, mask and the state of the generator of this one, so that it goes on bit for bit as a
        run that was trained alone with the whole schedule.
        """
        twin = copy.copy(self)
        twin._weights, twin._mask = self._weights.copy(), self._mask.copy()
        twin._rng = copy.deepcopy(self._rng)
        twin._after, twin._before = list(self._after), list(self._before)
        return twin

    def run(self) -> Run:
        """What has become of it so far; at least one epoch has been trained."""
        after, before = np.array(self._after).T, np.array(self._before).T
        return Run(after[0], after[1], before[0], before[1], self.probabilities)

    def _switch(self, factor: float) -> tuple[float, float]:
        """Prune, and give loss and error rate after it; of the first model they are those of epoch 0."""
        self._factor, self._mask = factor, self._task.network.mask(self._weights, factor)
        self._weights = self._weights * self._mask
        evaluation = self._evaluated()
        if self._after:
            return evaluation
        self._after.append(evaluation)
        self._before.append(_UNKNOWN)
        return _UNKNOWN

    def _evaluated(self) -> tuple[float, float]:
        found = self._task.network.evaluate(self._weights, *self._task.material.test)
        self.probabilities = found.probabilities
        return found.loss, found.error_rate


def model_name(factor: float) -> str:
    """Name of the model with this share of its weights pruned, ``pruned-25`` for a quarter."""
    return f"pruned-{round(100 * factor)}"


def pruning_factor(model: str) -> float:
    """The share that a name of `model_name` stands for."""
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
    require_schedule(task, schedule)
    with one_thread():
        training = Training(task, rng)
        for k, epoch in enumerate(schedule, start=1):
            training.train(epoch)
            if watch is not None:
                watch(k, training.probabilities)
        return training.run()


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


def require_schedule(task: Task, schedule: Sequence[Epoch]) -> None:
    """Refuse what cannot be trained."""
    if not schedule:
        raise InvalidInputError("a schedule needs at least one epoch", ".schedule")
    for index, epoch in enumerate(schedule):
        if epoch.cluster not in task.clusters:
            message = f"there is no cluster {epoch.cluster!r}; there are {', '.join(task.clusters)}"
            raise InvalidInputError(message, f".schedule[{index}].cluster")
        if not 0 <= epoch.factor < 1:
            message = f"a pruning factor must be in [0, 1), not {epoch.factor}"
            raise InvalidInputError(message, f".schedule[{index}].factor")


def one_thread() -> AbstractContextManager[Any]:
    """Keep linear algebra to one thread inside it; several threads may add in another order every time."""
    limits: AbstractContextManager[Any] = needed("threadpoolctl").threadpool_limits(1)
    return limits
