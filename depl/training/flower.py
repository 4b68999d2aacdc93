"""Flower: a strategy that ends ``start`` where the controller stops the run.

    guarded = guard(FedAvg(), depl.Controller("policy.json", log="run.jsonl"))
    result = guarded.start(grid, arrays, evaluate_fn=evaluate)

Flower has no hook to stop. But ``evaluate_fn`` is called before the first round and as the last step of every
round, so an exception out of it loses nothing: `guard` keeps arrays and metrics in a ``Result`` of its own,
and returns that. Without ``evaluate_fn`` it is raised after the evaluation of the clients is aggregated.
"""

import contextlib
import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np

from depl.models.foundation.errors import InvalidInputError
from depl.models.policy.controller import Controller
from depl.models.policy.decisions import Stop
from depl.training.checkpoints import Checkpoints, observe
from depl.training.following import begun, changed_model, loss_of, require_convert, require_suffix

try:
    from flwr.app import Array, ArrayRecord
    from flwr.serverapp.strategy import Result, Strategy
except ImportError as error:
    raise ImportError("this adapter needs Flower 1.22 or newer: pip install 'depl[flower]'") from error


class guard(Strategy):  # type: ignore[misc]  # noqa: N801 - it is called as a function
    """A strategy that does what another one does, until the controller stops the run.

    Model and cluster of a round stand in the configuration that the clients are sent, as ``"model"`` and
    ``"cluster"``.

    Parameters
    ----------
    strategy : flwr.serverapp.strategy.Strategy
        Whose ``start`` is that of Flower.
    controller : Controller
        Of this run.
    loss : str
        Name of the loss in what ``evaluate_fn`` returns or, without it, in what the clients' evaluations are
        aggregated to: the same evaluation that the traces held.
    convert : callable, optional
        ``convert(arrays, to)`` returns the ArrayRecord of the model ``to``; needed where the run may switch.
    nodes : mapping, optional
        The nodes that train on each cluster; all, if it is not given.
    checkpoints : Checkpoints, optional
        Where the arrays are kept, with suffix ".npz".
    first_loss : float
        Before the first round; needed without ``evaluate_fn`` where the policy decides on it.

    Raises
    ------
    InvalidInputError
        If ``convert`` or the nodes of a cluster are missing, or the strategy has a ``start`` of its own.
    """

    def __init__(
        self,
        strategy: Any,
        controller: Controller,
        *,
        loss: str = "loss",
        convert: Callable[[Any, str], Any] | None = None,
        nodes: Mapping[str, Collection[int]] | None = None,
        checkpoints: Checkpoints | None = None,
        first_loss: float = math.nan,
    ) -> None:
        require_convert(controller, convert)
        require_suffix(checkpoints, ".npz", "arrays are saved")
        missing = [cluster for cluster in controller.clusters if nodes is not None and cluster not in nodes]
        if missing:
            raise InvalidInputError(f"has no entry for the cluster {missing[0]!r}", "nodes")
        if type(strategy).start is not Strategy.start:
            message = "has a start of its own, which would not be followed; ask the controller in its loop"
            raise InvalidInputError(f"{type(strategy).__name__} {message}", "strategy")
        self.strategy, self.controller, self.loss, self.convert = strategy, controller, loss, convert
        self.nodes, self.checkpoints, self.first_loss = nodes, checkpoints, first_loss

    def start(
        self,
        grid: Any,
        initial_arrays: Any,
        num_rounds: int | None = None,
        timeout: float = 3600,
        train_config: Any = None,
        evaluate_config: Any = None,
        evaluate_fn: Callable[[int, Any], Any] | None = None,
    ) -> Any:
        """Train as Flower does, and return its ``Result`` as of the round that the run stops at.

        A run that was begun before goes on with the round after the last one of its log; the result then
        holds the rounds since.

        Raises
        ------
        InvalidInputError
            If fewer rounds are asked for than the run may take, or the first loss is not known.
        """
        last = self.controller.last_epoch
        if num_rounds is not None and num_rounds < last:
            message = f"is {num_rounds}, and the run may take {last}; leave it out"
            raise InvalidInputError(message, "num_rounds")
        self._before, self._central = self.controller.epoch, evaluate_fn is not None
        self._result = Result()
        self._arrays = self._result.arrays = _loaded(self.checkpoints, self.controller) or initial_arrays
        if self.controller.decision is None and not math.isnan(self.first_loss) and not self._central:
            self.controller.start(self.first_loss)
        elif not self._central:
            begun(self.controller, "give first_loss, as there is no evaluate_fn that would be called before")
        if not isinstance(self.controller.decision, Stop):
            wrapped = None if evaluate_fn is None else self._wrapped(evaluate_fn)
            given = last - self._before, timeout, train_config, evaluate_config, wrapped
            with contextlib.suppress(_Stopped):
                super().start(grid, self._arrays, *given)
        logging.getLogger("flwr").info("depl: %s", self.controller.why())
        return self._result

    def summary(self) -> None:
        """That of the strategy."""
        self.strategy.summary()

    def configure_train(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Any:
        """Switch model and cluster, if that was decided."""
        model, decision = changed_model(self.controller), self.controller.decision
        if model is not None and self.convert is not None:
            arrays = self.convert(arrays, model)
        if self.nodes is not None and decision is not None and not isinstance(decision, Stop):
            grid = _Nodes(grid, self.nodes[decision.cluster])
        number = self._before + server_round
        return self.strategy.configure_train(number, arrays, self._told(config), grid)

    def aggregate_train(self, server_round: int, replies: Iterable[Any]) -> tuple[Any, Any]:
        """Record arrays and metrics."""
        number = self._before + server_round
        arrays, metrics = self.strategy.aggregate_train(number, replies)
        if arrays is not None:
            self._arrays = self._result.arrays = arrays
        _note(self._result.train_metrics_clientapp, number, metrics)
        return arrays, metrics

    def configure_evaluate(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Any:
        """As the strategy does, with model and cluster."""
        number = self._before + server_round
        return self.strategy.configure_evaluate(number, arrays, self._told(config), grid)

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Any]) -> Any:
        """Record metrics, and observe the loss if nobody else does."""
        number = self._before + server_round
        metrics = self.strategy.aggregate_evaluate(number, replies)
        _note(self._result.evaluate_metrics_clientapp, number, metrics)
        if not self._central:
            self._observe(metrics)
        return metrics

    def _told(self, config: Any) -> Any:
        """The configuration with model and cluster of the round."""
        decision = self.controller.decision
        if decision is not None and not isinstance(decision, Stop):
            config["model"], config["cluster"] = decision.model, decision.cluster
        return config

    def _wrapped(self, evaluate: Callable[[int, Any], Any]) -> Callable[[int, Any], Any]:
        """``evaluate_fn`` that records, observes, and raises where the run stops."""

        def observed(server_round: int, arrays: Any) -> Any:
            number = self._before + server_round
            if server_round == 0 and self.controller.decision is not None:
                return None  # a run that goes on: this loss is in its log
            metrics = evaluate(number, arrays)
            _note(self._result.evaluate_metrics_serverapp, number, metrics)
            self._observe(metrics)
            return metrics

        return observed

    def _observe(self, metrics: Any) -> None:
        loss = loss_of(metrics, self.loss, "loss")
        if self.controller.decision is None:
            decision = self.controller.start(loss)
        else:
            decision = observe(self.controller, loss, self.checkpoints, self._save)
        if isinstance(decision, Stop):
            raise _Stopped

    def _save(self, path: str) -> None:
        arrays = dict(self._arrays.items())
        np.savez(path, *(array.numpy() for array in arrays.values()), names=np.array(list(arrays)))


class _Stopped(BaseException):
    """Ends ``Strategy.start``; not an Exception, so that nothing on the way takes it for a failure."""


class _Nodes:
    def __init__(self, grid: Any, nodes: Collection[int]) -> None:
        self._grid, self._nodes = grid, frozenset(nodes)

    def get_node_ids(self) -> list[int]:
        return [node for node in self._grid.get_node_ids() if node in self._nodes]

    def get_nodes(self) -> list[Any]:
        return [node for node in self._grid.get_nodes() if node.node_id in self._nodes]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._grid, name)


def _note(kept: dict[int, Any], number: int, metrics: Any) -> None:
    if metrics is not None:
        kept[number] = metrics


def _loaded(checkpoints: Checkpoints | None, controller: Controller) -> Any:
    if checkpoints is None:
        if controller.epoch and not isinstance(controller.decision, Stop):
            message = f"are needed to go on with a run after {controller.epoch} rounds"
            raise InvalidInputError(message, "checkpoints")
        return None
    path = checkpoints.found(controller)
    if path is None:
        return None
    with np.load(path) as kept:
        names = [str(name) for name in kept["names"]]
        return ArrayRecord({name: Array(kept[f"arr_{index}"]) for index, name in enumerate(names)})
