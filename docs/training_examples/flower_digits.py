"""Flower, led by a policy: python flower_digits.py policy.json FOLDER.

`server` is the main function of a ServerApp and `client` the train function of a ClientApp. Here both run in
one process (`grid_here.py`); with `flwr run` they stand in the two apps.
"""

import sys

import numpy as np
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.serverapp.strategy import FedAvg
from grid_here import GridHere
from sklearn.datasets import load_digits

import depl
from depl.training.checkpoints import Checkpoints
from depl.training.flower import guard

images, labels = load_digits(return_X_y=True)
x, y = np.hstack([images / 16, np.ones((len(images), 1))]), np.eye(10)[labels]


def convert(arrays, to):
    (weights,) = arrays.to_numpy_ndarrays()
    least = np.quantile(abs(weights), {"p50": 0.5, "p75": 0.75}[to])
    return ArrayRecord([np.where(abs(weights) >= least, weights, 0)])


def predicted(weights, rows):
    scores = np.exp(x[rows] @ weights)
    return scores / scores.sum(1, keepdims=True)


def client(message):
    (weights,) = message.content["arrays"].to_numpy_ndarrays()
    kept, rows = weights != 0, np.arange(message.metadata.dst_node_id, 600, 4)
    for _ in range(20):
        weights = weights - kept * (x[rows].T @ (predicted(weights, rows) - y[rows])) / len(rows)
    content = {"arrays": ArrayRecord([weights]), "metrics": MetricRecord({"num-examples": len(rows)})}
    return Message(content=RecordDict(content), reply_to=message)


def evaluate(server_round, arrays):
    rows = np.arange(600, 1200)
    chosen = (predicted(*arrays.to_numpy_ndarrays(), rows) * y[rows]).sum(1)
    return MetricRecord({"loss": -np.log(chosen).mean().item()})


def server(grid, policy, folder):
    controller = depl.Controller.resume(policy, f"{folder}/run.jsonl")  # a new run, or one that was killed
    strategy = guard(
        FedAvg(fraction_evaluate=0.0),
        controller,
        convert=convert,
        nodes={"edge": [0, 1, 2, 3], "far-edge": [2, 3]},
        checkpoints=Checkpoints(f"{folder}/weights", ".npz"),
    )
    weights = np.random.default_rng(1).normal(0, 0.1, (65, 10))
    return strategy.start(grid, convert(ArrayRecord([weights]), "p50"), evaluate_fn=evaluate), controller


if __name__ == "__main__":
    result, controller = server(GridHere(client, nodes=4), *sys.argv[1:])
    print(controller.why())
