"""The logs of `tests.checks.tool_logs` that Flower's users save: ``History`` and ``Result``.

Both of Flower's servers run as they are, ``Strategy.start`` and the legacy ``Server.fit``. Their clients are
called in this process, so that neither Ray nor a network is needed.
"""

import contextlib
import io
import json
import logging
import pickle

import torch

from tests.checks.tool_logs_digits import (
    EPOCHS,
    RUNS,
    convert,
    digits,
    evaluated,
    network,
    switch_of,
    trained_epoch,
)

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
