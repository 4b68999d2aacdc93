"""A setup and runs that go with it, and runs drawn from known laws by numpy alone, whose truth is known."""

import copy
import json

import numpy as np

from depl.models.estimation.setup import Setup
from depl.models.traces.table import Traces

STARTS = (2, 3, 4)
EPOCHS = 7

SETUP = {
    "format": "depl-setup",
    "version": 1,
    "name": "cut-net",
    "description": "A net, cut on the way.",
    "clusters": [
        {"name": "edge", "capacity": 10, "bandwidth": 5, "unit_cost": 2, "nodes": 2},
        {"name": "far", "capacity": 4, "bandwidth": 2, "unit_cost": 1},
    ],
    "datasets": [{"name": "all", "volume": 3, "work": 4}],
    "models": [{"name": "full", "size": 4, "demand": 2}, {"name": "cut", "size": 1}],
    "target": {"maximum_loss": 1.2, "quantile_level": 0.9, "maximum_epochs": 7, "maximum_time": 60},
    "transfers": [{"dataset": "all", "cluster": "far", "cost": 1.5}],
    "provenance": [{"path": "$", "source": "assumed", "note": "made up"}],
}


def setup(**changes):
    """The setup with some of its fields replaced by documents."""
    document = copy.deepcopy(SETUP) | changes
    return Setup.from_json(json.dumps(document))


def drawn(runs=20, seed=0, prefix="r", noise=0.05):
    """``runs`` runs of every switch epoch; losses fall to 0.6 and jump by about 0.4 at the switch."""
    rng = np.random.default_rng(seed)
    rows = []
    for index, start in enumerate(start for start in STARTS for _ in range(runs)):
        loss = float(rng.uniform(2.8, 3.2))
        rows.append((f"{prefix}{index}", 0, "full", "edge", round(loss, 5), np.nan))
        for epoch in range(1, EPOCHS + 1):
            begun = loss + (float(rng.normal(0.4, 0.05)) if epoch == start + 1 else 0.0)
            loss = 0.3 + 0.5 * begun + noise * float(rng.normal())
            place = ("full", "edge") if epoch <= start else ("cut", "far")
            rows.append((f"{prefix}{index}", epoch, *place, round(loss, 5), round(begun, 5)))
    run, epoch, model, cluster, loss, begun = map(np.array, zip(*rows, strict=True))
    return Traces(run, epoch, model, cluster, loss, {"start_loss": begun})


def traces_of(losses, models="net", cluster="site", prefix=""):
    """A run for every row of losses, from epoch 0 on; the model of all epochs, or of each of them."""
    runs, count = losses.shape
    names = [models] * count if isinstance(models, str) else [models[0], *models]
    run, epoch = np.repeat([f"{prefix}{row}" for row in range(runs)], count), np.tile(np.arange(count), runs)
    return Traces(run, epoch, np.tile(names, runs), [cluster] * losses.size, losses.ravel())


def without_first_epoch(traces):
    """The same runs as a logger writes them that does not evaluate before training."""
    kept = traces.epoch > 0
    columns = (getattr(traces, name)[kept] for name in ("run", "epoch", "model", "cluster", "loss"))
    return Traces(*columns, {name: column[kept] for name, column in traces.metrics.items()})


OFFSETS = {"full": 1.0, "cut": 4.0}
SHAPE = 2 + 1 / 0.03


def draw_traces(models, runs, rng, clusters=(), prefix=""):
    """Runs from a loss of 10 by eq. (8), a model per epoch; ``start_loss`` is the loss right after a switch.

    A is 2, B that of the model, X has an inverse gamma law of mean 1 and variance 0.03; after a switch the
    loss jumps by 0.4 with a standard deviation of 0.1.
    """
    losses, starts = [np.full(runs, 10.0)], [np.full(runs, np.nan)]
    for epoch, model in enumerate(models, start=1):
        switched = epoch > 1 and model != models[epoch - 2]
        starts.append(losses[-1] + (rng.normal(0.4, 0.1, runs) if switched else 0.0))
        ratio = (SHAPE - 1) / rng.standard_gamma(SHAPE, runs)
        losses.append(starts[-1] - 2 / np.sqrt(epoch + OFFSETS[model]) * ratio)
    places, count = list(clusters) or ["site"] * len(models), len(losses)
    return Traces(
        np.repeat([f"{prefix}{index}" for index in range(runs)], count),
        np.tile(np.arange(count), runs),
        np.tile([models[0], *models], runs),
        np.tile([places[0], *places], runs),
        np.array(losses).T.ravel(),
        {"start_loss": np.array(starts).T.ravel()},
    )
