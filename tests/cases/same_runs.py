"""Runs of one model on one cluster, of which some may be there again, and a setup that goes with them."""

import numpy as np

from depl.models.traces.table import Traces
from tests.cases.fit_cases import SETUP

RNG = np.random.default_rng(0)
LOSSES = (
    2
    * np.exp(0.1 * RNG.normal(size=(24, 1)))
    * np.cumprod(np.hstack([np.ones((24, 1)), 0.8 * np.exp(0.03 * RNG.normal(size=(24, 5)))]), axis=1)
)
"""Of 24 runs after epochs 1 to 6."""


def table(runs, first=1, pairs=(("net", "edge"),) * 6, provenance=None, **others):
    """Runs with these losses from epoch ``first`` on, of a schedule, or of one under the name of the run."""
    rows = [
        (name, epoch, *others.get(name, pairs)[max(epoch - 1, 0)], loss)
        for name, losses in runs.items()
        for epoch, loss in enumerate(losses, start=first)
    ]
    run, epoch, model, cluster, loss = zip(*rows, strict=True)
    return Traces(run, np.array(epoch), model, cluster, np.array(loss), provenance=provenance or {})


def named(losses=LOSSES, prefix="r"):
    return {f"{prefix}{index}": list(row) for index, row in enumerate(losses)}


ONE_MODEL = SETUP | {
    "clusters": SETUP["clusters"][:1],
    "models": [{"name": "net", "size": 1, "demand": 1}],
    "transfers": [],
    "target": {"maximum_loss": 0.8, "quantile_level": 0.9, "maximum_epochs": 6, "maximum_time": 60},
}
