"""The part of `.ci/adapters.py` that runs in the environment of the libraries.

``loss FILE`` prints the loss of the weights in a file, by numpy; ``flower POLICY FOLDER`` compares the
results of the guarded strategy and of the strategy alone.
"""

import io
import random
import sys
import zipfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

ROWS = slice(600, 1200)


def loss(path):
    """Mean cross-entropy of rows 600 to 1199 of the digits, in double precision."""
    images, labels = load_digits(return_X_y=True)
    scores = images[ROWS] / 16
    weights = WEIGHTS[path.suffix](path)
    for number, (kernel, bias) in enumerate(weights):
        scores = (np.maximum(scores, 0) if number else scores) @ kernel + bias
    scores = scores - scores.max(1, keepdims=True)
    chosen = np.take_along_axis(scores, labels[ROWS][:, None], 1)[:, 0]
    return float((np.log(np.exp(scores).sum(1)) - chosen).mean())


def _of_torch(path):
    import torch

    held = torch.load(path, weights_only=False)
    held = {
        name.removeprefix("model."): item.double().numpy()
        for name, item in held.get("state_dict", held).items()
    }
    first = held["0.weight_orig"] * held["0.weight_mask"]
    return [(first.T, held["0.bias"]), (held["2.weight"].T, held["2.bias"])]


def _of_keras(path):
    import h5py

    with zipfile.ZipFile(path) as packed, h5py.File(io.BytesIO(packed.read("model.weights.h5"))) as file:
        layers = [file["layers"][name]["vars"] for name in ("dense", "dense_1")]
        return [tuple(layer[key][()].astype(float) for key in "01") for layer in layers]


def _of_flower(path):
    with np.load(path) as kept:
        return [(kept["arr_0"][:-1], kept["arr_0"][-1])]


WEIGHTS = {".pt": _of_torch, ".ckpt": _of_torch, ".keras": _of_keras, ".npz": _of_flower}


def same_result(policy, folder):
    """Whether ``Result`` is that of a run of just so many rounds, of the strategy without a guard."""
    import flower_digits as example
    from flwr.serverapp.strategy import FedAvg
    from grid_here import GridHere

    folder.mkdir(parents=True)
    random.seed(1)  # Flower draws the order of the clients
    guarded, controller = example.server(GridHere(example.client, nodes=4), policy, folder)
    models = [record.get("model") for record in controller.records]

    class Alone(FedAvg):
        def configure_train(self, server_round, arrays, config, grid):
            if models[server_round] != models[max(1, server_round - 1)]:
                arrays = example.convert(arrays, models[server_round])
            if models[server_round] == "p75":
                grid = GridHere(example.client, nodes=4)
                grid.nodes = [2, 3]
            return super().configure_train(server_round, arrays, config, grid)

    weights = np.random.default_rng(1).normal(0, 0.1, (65, 10))
    random.seed(1)
    alone = Alone(fraction_evaluate=0.0).start(
        GridHere(example.client, nodes=4),
        example.convert(example.ArrayRecord([weights]), "p50"),
        num_rounds=controller.epoch,
        evaluate_fn=example.evaluate,
    )
    return guarded == alone and len(guarded.evaluate_metrics_serverapp) == controller.epoch + 1


if __name__ == "__main__":
    if sys.argv[1] == "loss":
        sys.stdout.write(f"{loss(Path(sys.argv[2]))!r}\n")
    else:
        same = same_result(sys.argv[2], Path(sys.argv[3]))
        sys.stderr.write(f"Flower's Result is that of the strategy alone: {same}\n")
        sys.exit(0 if same else 1)
