"""What is trained for the logs of `tests.checks.tool_logs`: a small network on scikit-learn's digits.

Half of the weights of its first layer are pruned by magnitude (``p50``); a run that switches goes on with
three quarters of them pruned (``p75``). Nothing of depl is imported here.
"""

from typing import NamedTuple

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
